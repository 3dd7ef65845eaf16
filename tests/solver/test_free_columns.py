"""Variables that cost nothing, beside the thresholds: adjusting covariates."""

from dataclasses import replace

import numpy as np
import pytest
from problems import (
    FAMILIES,
    feature_directions,
    plain_baseline,
    plain_least,
    plain_max,
    polytope_of,
    random_model,
    with_free_columns,
)

from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.least import least_values, sum_of_sizes
from relbounds.solver.optimum import fit_baseline, fit_weighted
from relbounds.solver.screen import screen
from relbounds.solver.smallest import smallest_C


@pytest.mark.parametrize("how", ["noise", "constant", "copy", "large"])
def test_baseline_bounds_and_screening(how):
    for seed in range(15):
        family, order = FAMILIES[seed % 4]
        kind = ("noisy", "separable", "copied rows", "weights", "lopsided")[seed % 5]
        model = with_free_columns(random_model(seed, family, order, kind), seed, how, 1 + seed % 3)
        C = smallest_C(model) * (1e3 if kind == "separable" else 10.0)
        if not np.isfinite(C):
            continue
        solution, expected = fit_baseline(model, C), plain_baseline(model, C)
        assert solution.objective == pytest.approx(expected, rel=1e-7)
        assert solution.gap <= 1e-7 * expected
        if solution.penalty < 1e-6:
            continue
        polytope = polytope_of(model, solution, (0.001, 0.03, 0.3)[seed % 3], ("split", "joint")[seed % 2])
        directions = feature_directions(model)
        pushed = push_many(polytope, directions, "auto")
        largest = np.array([plain_max(polytope, d) for d in directions])
        assert np.abs(pushed.value - largest).max() <= 1e-6 * polytope.size
        assert pushed.gap.max() <= 2e-6 * polytope.size
        features = model.penalty > 0
        reach = np.maximum(*np.split(largest, 2))
        assert np.all(screen(polytope, solution)[features] >= reach - 1e-6 * polytope.size)
        form = sum_of_sizes(np.flatnonzero(features), model.q)
        found = least_values(polytope, [form])[0]
        assert abs(found.value - plain_least(polytope, form.E, form.F, form.cost)) <= 1e-6 * polytope.size


def test_refits_with_free_columns():
    model = with_free_columns(random_model(4, "ordinal"), 4)
    C = 10 * smallest_C(model)
    prices = np.random.default_rng(0).exponential(size=(3, model.h.size))
    for price, v in zip(prices, fit_weighted(model, C, prices), strict=True):
        own = replace(model, c=price)
        assert own.objective_of(v, C) == pytest.approx(plain_baseline(own, C), rel=1e-4)
