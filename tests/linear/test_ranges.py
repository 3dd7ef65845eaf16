"""Relevance intervals against the definitions and against fri; laws that hold for every data set."""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from measuring import relevance, signed_ranges
from reference import Reference

import relbounds as rb
from relbounds.design import design_from_arrays
from relbounds.linear.equivalent import equivalent_models
from relbounds.linear.families.rows import ModelKind
from relbounds.linear.model import build
from relbounds.linear.tolerance import standard_error
from relbounds.solver.optimum import fit_baseline
from relbounds.solver.smallest import smallest_C

QUICK = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
FIXTURE = Path(__file__).parents[1] / "fixtures" / "fri_ordinal.json"


def random_problem(seed, family, n=None, d=None):
    rng = np.random.default_rng(seed)
    n, d = n or int(rng.integers(12, 30)), d or int(rng.integers(2, 6))
    X = rng.normal(size=(n, d))
    score = X @ rng.normal(size=d) * (rng.random() < 0.9) + rng.normal(size=n) * rng.choice([0.0, 0.5, 1.5])
    if family == "regression":
        y, levels = score, 0
    else:
        levels = 2 if family == "binary" else int(rng.integers(3, 5))
        y = 1 + np.argsort(np.argsort(score)) * levels // n
    return X, y, levels, np.round(rng.uniform(0.5, 2.0, size=n), 1)


def intervals(X, y, family, levels, *, order="explicit", C=None, delta=0.05, tolerance="split", weights=None):
    names = [f"x{k}" for k in range(X.shape[1])]
    design = design_from_arrays(
        X, y, names=names, family=family, levels=list(range(1, levels + 1)) if levels else None,
        weights=weights, standardize=False,
    )  # fmt: skip
    spec = build(design, ModelKind(order=order, epsilon=0.1))
    least = smallest_C(spec.model)
    C = (20 * least if np.isfinite(least) else 1.0) if C is None else C
    solution = fit_baseline(spec.model, C)
    polytope = equivalent_models(spec, solution, delta, tolerance)
    return solution, polytope, signed_ranges(polytope, range(X.shape[1]))


def standardised(y, weights):
    centred = y - np.average(y, weights=weights)
    return centred / np.sqrt(np.average(centred**2, weights=weights))


@pytest.mark.parametrize("tolerance", ["split", "joint"])
@pytest.mark.parametrize(
    ("family", "order"),
    [("ordinal", "explicit"), ("ordinal", "implicit"), ("binary", "explicit"), ("regression", "explicit")],
)
@QUICK
@given(seed=st.integers(0, 10**6), delta=st.sampled_from([0.001, 0.02, 0.2]))
def test_equal_to_three_plain_programs(family, order, tolerance, seed, delta):
    X, y, levels, weights = random_problem(seed, family)
    solution, polytope, found = intervals(
        X, y, family, levels, order=order, delta=delta, tolerance=tolerance, weights=weights
    )
    if family == "regression":
        y = (y - y.mean()) / y.std() if weights is None else standardised(y, weights)
    plain = Reference(X, y, family, order=order, n_levels=levels, weights=weights, epsilon=0.1)
    assert solution.objective == pytest.approx(plain.baseline(solution.C), rel=1e-7, abs=1e-9)
    mu = solution.penalty
    assume(mu > 1e-3)  # a model that uses no feature has no bounds
    lower, upper = relevance(found.lower, found.upper)
    budgets = (
        {"joint": polytope.joint} if tolerance == "joint" else {"norm": polytope.norm, "loss": polytope.loss}
    )
    for k in range(X.shape[1]):
        low, high = plain.three_programs(k, **budgets)
        assert lower[k] == pytest.approx(low, abs=1e-6 * mu)
        assert upper[k] == pytest.approx(high, abs=1e-6 * mu)
    assert np.all(found.gap <= 1e-6 * mu)
    w = solution.v[: X.shape[1]]
    assert np.all(lower <= np.abs(w) + 1e-6 * mu) and np.all(np.abs(w) <= upper + 1e-6 * mu)


@pytest.mark.parametrize("case", range(3))
def test_equal_to_fri(case):
    frozen = json.loads(FIXTURE.read_text())[case]
    X, y = np.array(frozen["X"]), np.array(frozen["y"])
    solution, _, found = intervals(X, y, "ordinal", 4, C=frozen["C"], delta=frozen["delta"])
    lower, upper = relevance(found.lower, found.upper)
    assert solution.penalty == pytest.approx(frozen["norm"], abs=1e-6)
    assert solution.loss == pytest.approx(frozen["loss"], abs=1e-6)
    np.testing.assert_allclose(lower, frozen["lower"], atol=1e-6)
    np.testing.assert_allclose(upper, frozen["upper"], atol=1e-6)


@QUICK
@given(seed=st.integers(0, 10**6))
def test_two_levels_are_binary_in_either_order(seed):
    X, y, _, weights = random_problem(seed, "binary")
    one = intervals(X, y, "binary", 2, weights=weights)[2]
    for order in ("explicit", "implicit"):
        two = intervals(X, y, "ordinal", 2, order=order, weights=weights)[2]
        np.testing.assert_allclose([one.lower, one.upper], [two.lower, two.upper], atol=1e-6)


@QUICK
@given(seed=st.integers(0, 10**6), delta=st.sampled_from([0.001, 0.05]))
def test_split_lies_inside_joint(seed, delta):
    X, y, levels, _ = random_problem(seed, "ordinal")
    split = intervals(X, y, "ordinal", levels, delta=delta)[2]
    joint = intervals(X, y, "ordinal", levels, delta=delta, tolerance="joint")[2]
    assert np.all(joint.lower <= split.lower + 1e-6) and np.all(split.upper <= joint.upper + 1e-6)


@QUICK
@given(seed=st.integers(0, 10**6), scale=st.floats(0.01, 100.0))
def test_order_of_features_and_scale_with_standardising_change_nothing(seed, scale):
    X, y, _, _ = random_problem(seed, "ordinal", n=24, d=4)
    data = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    moved = data[["d", "b", "y", "a", "c"]].assign(b=lambda f: scale * f["b"] + 3)
    options = {"C": 0.5, "delta": 0.05, "family": "ordinal", "control": "fdr"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rb.RelboundsWarning)
        one = rb.relbounds("y ~ a + b + c + d", data, **options).table
        two = rb.relbounds("y ~ d + c + b + a", moved, **options).table.loc[one.index]
    np.testing.assert_allclose(one[["lower", "upper"]], two[["lower", "upper"]], atol=1e-6)


@QUICK
@given(seed=st.integers(0, 10**6))
def test_weights_are_repeated_rows(seed):
    X, y, levels, _ = random_problem(seed, "ordinal")
    times = np.random.default_rng(seed).integers(1, 4, size=len(y))
    weighted = intervals(X, y, "ordinal", levels, C=0.3, weights=times.astype(float))[2]
    repeated = intervals(np.repeat(X, times, axis=0), np.repeat(y, times), "ordinal", levels, C=0.3)[2]
    np.testing.assert_allclose(weighted.lower, repeated.lower, atol=1e-6)
    np.testing.assert_allclose(weighted.upper, repeated.upper, atol=1e-6)


@QUICK
@given(seed=st.integers(0, 10**6))
def test_a_copied_column_makes_both_weak(seed):
    X, y, levels, _ = random_problem(seed, "ordinal", d=3)
    _, _, alone = intervals(X, y, "ordinal", levels, C=0.5)
    solution, _, copied = intervals(np.column_stack([X, X[:, 0]]), y, "ordinal", levels, C=0.5)
    mu = solution.penalty
    lower, upper = relevance(copied.lower, copied.upper)
    assert lower[0] <= 1e-6 * mu and lower[3] <= 1e-6 * mu
    # each copy can do all the work the feature did alone
    assert upper[0] >= relevance(alone.lower, alone.upper)[1][0] - 1e-6 * mu
    assert upper[0] == pytest.approx(upper[3], abs=2e-6 * mu)


def test_delta_in_standard_errors():
    losses = np.array([0.0, 2.0, 1.0, 0.0, 3.0, 0.0])
    one = np.sqrt(6) * np.std(losses, ddof=1) / 6.0
    assert standard_error("1se", losses) == pytest.approx(one)
    assert standard_error("2se", losses) == pytest.approx(2 * one)
    assert standard_error("1se", np.zeros(5)) == 0.001
    assert standard_error("1se", np.full(5, 0.3)) == 0.001


@pytest.mark.parametrize("solver", ["auto", "cvxopt"])
def test_an_exact_linear_relation_leaves_one_model(solver):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    data["y"] = 2 * data["a"] - data["b"]
    fit = rb.relbounds("y ~ .", data, C=10.0, epsilon=0.0, delta=0.001, solver=solver)
    assert fit.table["relevance"].tolist() == ["strong", "strong", "irrelevant"]
    np.testing.assert_allclose(fit.table["lower"], fit.table["weight"].abs(), atol=2e-6)
    np.testing.assert_allclose(fit.table["upper"], fit.table["weight"].abs(), atol=2e-6)
