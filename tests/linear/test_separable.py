"""Data that a model separates without any loss: nothing to be relative to, yet bounds are well defined."""

import numpy as np
import pytest
from scipy.optimize import linprog

import relbounds as rb


def plain_bounds(X, y, norm):
    """Least and greatest weights with no loss at all and the norm within its budget, by scipy."""
    n, d = X.shape
    # variables: positive parts, negative parts, threshold
    rows = -np.column_stack([y[:, None] * X, -y[:, None] * X, -y])
    A = np.vstack([rows, np.r_[np.ones(2 * d), 0.0]])
    b = np.r_[-np.ones(n), norm]
    limits = [(0, None)] * (2 * d) + [(None, None)]
    out = np.empty((d, 2))
    for k in range(d):
        for side, sign in enumerate((1.0, -1.0)):
            c = np.zeros(2 * d + 1)
            c[k], c[d + k] = sign, -sign
            out[k, side] = sign * linprog(c, A, b, bounds=limits, method="highs").fun
    return out


@pytest.mark.parametrize("solver", ["cvxopt", "batch", "highs"])
def test_bounds_without_any_loss(solver):
    if solver == "highs":
        pytest.importorskip("highspy")
    sim = rb.simulate.binary(60, 2, 2, 2, seed=3)
    fit = rb.relbounds(sim.formula, sim.data, C=1000.0, probes=10, solver=solver)
    assert fit.baseline.rho < 1e-6
    assert fit.delta == 0.001
    y = np.where(fit.design.y == 2, 1.0, -1.0)
    bounds = plain_bounds(fit.design.X, y, 1.001 * fit.baseline.mu) / fit.baseline.mu
    assert fit.table["signed_lower"].to_numpy() == pytest.approx(bounds[:, 0], abs=1e-5)
    assert fit.table["signed_upper"].to_numpy() == pytest.approx(bounds[:, 1], abs=1e-5)


def test_tuning_may_end_at_a_separating_model():
    sim = rb.simulate.paper_binary_set(2, seed=0)
    fit = rb.relbounds(sim.formula, sim.data, probes=10, solver="auto")
    assert np.isfinite(fit.table[["lower", "upper", "p_noise"]].to_numpy()).all()
    assert (fit.table.loc[sim.truth == "strong", "relevance"] == "strong").all()
