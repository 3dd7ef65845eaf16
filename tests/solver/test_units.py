"""Nothing depends on units: margins, prices, norms and columns of any size, and responses far from 0."""

from dataclasses import replace

import numpy as np
import pytest
from problems import (
    FAMILIES,
    feature_directions,
    plain_baseline,
    plain_max,
    polytope_of,
    random_model,
    with_free_columns,
)

from relbounds.linear.families import make_rows
from relbounds.linear.plain import plain_model
from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.largest import push_largest
from relbounds.solver.least import largest_contrast, least_values
from relbounds.solver.optimum import fit_baseline, fit_weighted
from relbounds.solver.smallest import smallest_C

# By what a model in other units is solved at another C, and what its variables are multiplied by.
UNITS = {
    "margins": lambda m, k: (replace(m, h=m.h * k, a=m.a * k), 1.0, k),
    "prices": lambda m, k: (replace(m, c=m.c * k), 1.0 / k, 1.0),
    "norm": lambda m, k: (replace(m, penalty=m.penalty * k), k, 1.0),
    "columns and norm": lambda m, k: (replace(m, G=m.G * k, A=m.A * k, penalty=m.penalty * k), 1.0, 1 / k),
    "columns": lambda m, k: (replace(m, G=m.G * k, A=m.A * k), 1.0 / k, 1.0 / k),
}


def problem(seed):
    family, order = FAMILIES[seed % 4]
    kind = ("noisy", "separable", "weights", "lopsided", "copied columns")[seed % 5]
    model = random_model(seed, family, order, kind)
    if seed % 3 == 2:
        model = with_free_columns(model, seed)
    C = smallest_C(model) * (1e3 if kind == "separable" else 10.0)
    return model, C, (0.001, 0.03, 0.3)[seed % 3], ("split", "joint")[(seed // 2) % 2]


@pytest.mark.parametrize(
    "factor", [1e-12, *(pytest.param(k, marks=pytest.mark.slow) for k in (1e-5, 1e6)), 1e12]
)
@pytest.mark.parametrize("unit", UNITS)
def test_the_same_in_other_units(unit, factor):
    for seed in (0, 3, 6, 11):
        model, C, delta, tolerance = problem(seed)
        polytope = polytope_of(model, fit_baseline(model, C), delta, tolerance)
        directions = feature_directions(model)[::3]
        expected = np.array([plain_max(polytope, d) for d in directions])
        form = largest_contrast(np.flatnonzero(model.penalty > 0), model.q)
        least = least_values(polytope, [form])[0].value
        other, price, times = UNITS[unit](model, factor)
        assert smallest_C(other) == pytest.approx(price * smallest_C(model), rel=1e-5)
        solution = fit_baseline(other, C * price)
        assert solution.certified <= 1e-7
        twin = polytope_of(other, solution, delta, tolerance)
        pushed = push_many(twin, directions, "auto")
        assert np.abs(pushed.value / times - expected).max() <= 1e-6 * polytope.size
        assert pushed.gap.max() / times <= 1e-6 * polytope.size
        assert abs(least_values(twin, [form])[0].value / times - least) <= 2e-6 * polytope.size
        assert push_largest(twin, directions).gap / times <= 1e-6 * polytope.size
        refit = fit_weighted(other, C * price, other.c[None, :])[0]
        assert other.objective_of(refit, C * price) <= solution.objective * (1 + 1e-4)


@pytest.mark.parametrize("far", [1e2, 1e5, 1e8])
def test_a_response_far_from_zero(far):
    for seed in (3, 7, 11):
        model = random_model(seed, "regression", "explicit", "noisy")
        C = 10 * smallest_C(model)
        # the response plus a constant: the intercept, whose column is -1 for rows of sign +, takes it up
        sign = -model.G[:, -1]
        moved = replace(model, h=model.h + far * sign)
        assert smallest_C(moved) == pytest.approx(smallest_C(model), rel=1e-4)
        solution, there = fit_baseline(model, C), fit_baseline(moved, C)
        assert there.objective == pytest.approx(solution.objective, rel=1e-7)
        polytope, other = (polytope_of(m, s, 0.03, "split") for m, s in ((model, solution), (moved, there)))
        directions = feature_directions(model)
        found = push_many(other, directions, "auto")
        expected = np.array([plain_max(polytope, d) for d in directions])
        # a response of 1e8 is itself known only up to 1e-8
        assert np.abs(found.value - expected).max() <= (1e-6 + 1e-14 * far) * polytope.size


@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-6])
@pytest.mark.parametrize("tolerance", ["split", "joint"])
def test_hardly_any_tolerance_or_none(tolerance, delta):
    for seed, kind in enumerate(
        ("noisy", "copied columns", "separable", "copied rows", "weights", "lopsided")
    ):
        family, order = FAMILIES[seed % 4]
        model = random_model(seed, family, order, kind)
        C = smallest_C(model) * (1e4 if kind == "separable" else 10.0)
        polytope = polytope_of(model, fit_baseline(model, C), delta, tolerance)
        directions = feature_directions(model)
        pushed = push_many(polytope, directions, "auto")
        expected = np.array([plain_max(polytope, d) for d in directions])
        assert pushed.feasible.all()
        assert np.abs(pushed.value - expected).max() <= 1e-6 * polytope.size
        assert pushed.gap.max() <= 1e-6 * polytope.size


@pytest.mark.parametrize("factor", [1e-12, 1e9, 1e12])
@pytest.mark.parametrize("unit", UNITS)
def test_no_tolerance_in_other_units(unit, factor):
    # sets without interior: a simplex, whose tolerances are absolute, is all that is left
    for seed, kind in enumerate(("noisy", "copied columns", "weights")):
        model = random_model(seed, *FAMILIES[seed], kind)
        C = 10.0 * smallest_C(model)
        polytope = polytope_of(model, fit_baseline(model, C), 0.0, "split")
        directions = feature_directions(model)[:6]
        expected = np.array([plain_max(polytope, d) for d in directions])
        other, price, times = UNITS[unit](model, factor)
        twin = polytope_of(other, fit_baseline(other, C * price), 0.0, "split")
        pushed = push_many(twin, directions, "auto")
        assert np.abs(pushed.value / times - expected).max() <= 1e-6 * polytope.size
        assert pushed.gap.max() / times <= 1e-6 * polytope.size


def test_rows_in_pairs_without_any_loss():
    # as many columns as rows: the regression meets every row exactly, and the loss budget is 0
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 9)), rng.standard_normal(6)
    model = plain_model(X, make_rows(y, "regression", epsilon=0.0))
    C = 1e4 * smallest_C(model)
    solution = fit_baseline(model, C)
    assert solution.objective == pytest.approx(plain_baseline(model, C), rel=1e-7)
    polytope = polytope_of(model, replace(solution, loss=0.0), 0.1, "split")
    directions = feature_directions(model)
    pushed = push_many(polytope, directions, "auto")
    expected = np.array([plain_max(polytope, d) for d in directions])
    assert np.abs(pushed.value - expected).max() <= 1e-6 * polytope.size
    assert pushed.gap.max() <= 1e-6 * polytope.size


def test_the_gap_of_a_baseline_is_proved():
    for seed in range(24):
        family, order = FAMILIES[seed % 4]
        model = random_model(seed, family, order, ("noisy", "separable", "copied columns")[seed % 3])
        C = 10 * smallest_C(model)
        if not np.isfinite(C):
            continue
        # held, fixed and free variables all count in the proof
        lower, upper = np.full(model.q, -np.inf), np.full(model.q, np.inf)
        if seed % 2:
            lower[0] = upper[0] = 0.1
            lower[1], upper[1] = -0.05, 0.02
            model = replace(model, lower=lower, upper=upper)
        solution, expected = fit_baseline(model, C), plain_baseline(model, C)
        assert solution.certified <= 1e-7
        assert solution.objective - solution.gap <= expected * (1 + 1e-9)
        worse = replace(model, c=1.5 * model.c)
        assert fit_baseline(worse, C).objective >= expected
