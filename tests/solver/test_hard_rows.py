"""Hard rows that are left out: what is proved of the whole set stays what linprog finds."""

import numpy as np
import pytest
from scipy.optimize import linprog

import relbounds as rb
from relbounds.linear.equivalent import equivalent_models
from relbounds.linear.families.rows import ModelKind
from relbounds.linear.privileged.models import build_slack
from relbounds.solver import hard_rows
from relbounds.solver.engines import batch
from relbounds.solver.engines.dispatch import certified
from relbounds.solver.largest import push_largest
from relbounds.solver.optimum import fit_baseline
from relbounds.solver.starts import prepare
from relbounds.solver.whole_program import full_lp


def equally_good(residual=np.inf, delta=0.001):
    known = rb.simulate.paper_privileged_set(3, seed=1)
    fit = rb.relbounds(known.formula, known.data, bounds=False, C=1.0, privileged="slack", progress=False)
    spec = build_slack(fit._fitted.design, ModelKind(slack=True, residual=residual, gamma=0.1))
    return equivalent_models(spec, fit_baseline(spec.model, 1.0), delta, "split")


@pytest.mark.parametrize("widths", [0.02, 0.3, 1.4])
@pytest.mark.parametrize("residual", [np.inf, 3.0])
def test_pushes_agree_with_linprog_whichever_rows_are_left_out(widths, residual, monkeypatch):
    polytope = equally_good(residual)
    monkeypatch.setattr(batch, "MANY", 0)
    monkeypatch.setattr(hard_rows, "WIDTHS", widths)
    q = polytope.model.q
    directions = np.vstack([np.eye(q)[[0, 5, 17, 30]], -np.eye(q)[[0, 5, 17, 30]]])
    pushed = certified(polytope, directions, batch.push_batch(polytope, directions), None, "batch")
    lp = full_lp(polytope)
    box = np.column_stack([lp.lower, lp.upper])
    width = lp.lhs.shape[1]
    for d, value, gap in zip(directions, pushed.value, pushed.gap, strict=True):
        cost = np.zeros(width)
        cost[:q] = -d
        exact = linprog(cost, A_ub=lp.lhs, b_ub=lp.rhs, bounds=box, method="highs")
        assert value == pytest.approx(-exact.fun, abs=2e-6 * polytope.size)
        assert gap <= 1e-6 * polytope.size
    # races, whose directions may be given up with the rows they have
    assert push_largest(polytope, directions, "batch").value == pytest.approx(
        pushed.value.max(), abs=2e-6 * polytope.size
    )


def test_a_thin_set_comes_near_a_part_of_its_rows():
    ready = prepare(equally_good())
    rows, middle = hard_rows.near_hard_rows(ready)
    assert rows.size < 0.8 * ready.polytope.model.a.size
    assert hard_rows.ready_with(middle, rows).reduced.core.a.size == rows.size
