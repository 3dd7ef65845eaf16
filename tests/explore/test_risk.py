"""The risk bound: its formula, and its honesty."""

from __future__ import annotations

import math

import numpy as np
import pytest
from explored import copies, regression, severity

import relbounds as rb


def test_two_classes_by_hand():
    fit = copies()
    n, d = fit.design.X.shape
    tope = fit._fitted.polytope
    R = np.abs(fit.design.X).max()
    by_hand = (
        tope.loss / n
        + 2 * tope.norm * R * math.sqrt(2 * math.log(2 * d) / n)
        + math.sqrt(2 * math.log(2 / 0.1) / n)
    )
    found = fit.risk_bound(0.1)
    assert float(found) == pytest.approx(by_hand)
    assert found.value == pytest.approx(found.loss + found.complexity + found.confidence)
    assert tope.norm == pytest.approx((1 + fit.delta) * fit.baseline.mu)


def test_levels_by_hand():
    fit = severity()
    n, d = fit.design.X.shape
    L = 4
    tope = fit._fitted.polytope
    R = np.abs(fit.design.X).max()
    by_hand = L * (
        tope.loss / n
        + 4 * tope.norm * R * math.sqrt(2 * math.log(2 * d) / n)
        + 2 * math.sqrt(2 * math.log(2 / 0.05) / n)
    )
    assert float(fit.risk_bound()) == pytest.approx(by_hand)


def test_a_vacuous_bound_says_so():
    found = severity().risk_bound()
    assert found.vacuous and "vacuous" in repr(found) and "rows" in repr(found)


def test_a_joint_budget_is_spent_where_it_hurts_most():
    fit = severity("joint")
    C, J = fit._fitted.polytope.joint
    found = fit.risk_bound()
    n = fit.design.X.shape[0]
    assert found.loss in (pytest.approx(0.0), pytest.approx(4 * J / C / n))
    assert found.value > 0


@pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")
def test_more_rows_shrink_it_and_can_make_it_say_something():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 20000)
    data = {"y": np.where(x + 0.01 * rng.normal(size=len(x)) > 0, "b", "a"), "x": x}
    bounds = []
    for n in (500, 20000):
        fit = rb.relbounds("y ~ x", {k: v[:n] for k, v in data.items()}, C=2 / n, probes=5, solver="auto")
        bounds.append(fit.risk_bound())
    assert bounds[1].value < bounds[0].value
    assert not bounds[1].vacuous and "vacuous" not in repr(bounds[1])


def test_refusals():
    with pytest.raises(rb.OptionError, match="regression"):
        regression().risk_bound()
    with pytest.raises(rb.OptionError, match="tau"):
        copies().risk_bound(0.0)
