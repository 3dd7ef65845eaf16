"""Best models of several programs of one shape, against scipy's linprog and one by one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from relbounds.design import design_from_arrays
from relbounds.linear.families.rows import ModelKind
from relbounds.linear.privileged.models import build_slack
from relbounds.solver import alike
from relbounds.solver.alike import fit_alike
from relbounds.solver.optimum import fit_baseline


def least_objective(model, C):
    """The same program in the form that linprog takes: v = v+ - v-, a slack for every loss row."""
    R = model.h.size
    cost = np.concatenate(
        [0.5 * model.penalty + C * model.linear, 0.5 * model.penalty - C * model.linear, C * model.c]
    )
    loss = np.hstack([-model.G, model.G, -np.eye(R)])
    hard = np.hstack([-model.A, model.A, np.zeros((model.a.size, R))])
    found = linprog(
        cost, A_ub=np.vstack([loss, hard]), b_ub=-np.concatenate([model.h, model.a]), method="highs"
    )
    return found.fun


def models(residual, part):
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(60, 4)), rng.normal(size=(60, 3))
    y = 1 + (X[:, 0] + 0.8 * Z[:, 0] > 0).astype(int) + (X[:, 0] + 0.8 * Z[:, 0] > 1)
    out = []
    for _ in range(4):
        order = rng.permutation(60)
        own = {"X": X[order] if part == "X" else X, "Z": Z[order] if part == "Z" else Z}
        design = design_from_arrays(own["X"], y, Z=own["Z"], priv_names=["p", "q", "r"])
        out.append(build_slack(design, ModelKind(slack=True, residual=residual), merged=False).model)
    return out


@pytest.mark.parametrize("residual", [np.inf, 2.0])
@pytest.mark.parametrize("part", ["X", "Z"])
def test_the_best_models_are_those_of_linprog(residual, part, monkeypatch):
    several = models(residual, part)
    single = [fit_baseline(model, 0.7) for model in several]
    monkeypatch.setattr(alike, "fit_baseline", lambda *_, **__: pytest.fail("not in one run"))
    for model, one, found in zip(several, single, fit_alike(several, 0.7, accuracy=1e-8), strict=True):
        expected = least_objective(model, 0.7)
        assert found.objective == pytest.approx(expected, rel=1e-7)
        assert found.certified <= 1e-7
        assert found.objective == pytest.approx(one.objective, rel=1e-7)
        assert model.violation_of(found.v) <= 1e-9


def test_models_that_are_not_alike_are_fitted_one_by_one(monkeypatch):
    first, second, *_ = models(2.0, "Z")
    other = replace(second, c=2.0 * second.c)
    seen = []
    monkeypatch.setattr(alike, "fit_baseline", lambda model, *_, **__: seen.append(model))
    fit_alike([first, other], 0.7, accuracy=1e-8)
    assert seen == [first, other]
