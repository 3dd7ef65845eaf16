"""The baseline against the plain program, along paths, in folds, and where it is degenerate."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problems import FAMILIES, KINDS, plain_baseline, random_model

from relbounds.solver import optimum, predictor_corrector
from relbounds.solver.optimum import fit_baseline, fit_folds, fit_path, fit_weighted
from relbounds.solver.priced import priced_core
from relbounds.solver.smallest import smallest_C

VECTORS = ("penalty", "linear", "lower", "upper")

QUICK = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
STEADY = tuple(kind for kind in KINDS if kind != "scales")


@pytest.mark.parametrize(("family", "order"), FAMILIES)
@pytest.mark.parametrize("kind", STEADY)
@QUICK
@given(seed=st.integers(0, 10**6), factor=st.sampled_from([1.5, 10.0, 1e3]))
def test_objective_equals_the_plain_program(kind, family, order, seed, factor):
    model = random_model(seed, family, order, kind)
    C = smallest_C(model) * factor
    if not np.isfinite(C):
        return
    solution = fit_baseline(model, C)
    expected = plain_baseline(model, C)
    assert solution.objective == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert solution.objective == pytest.approx(model.objective_of(solution.v, C), rel=1e-12)
    assert -1e-9 <= solution.gap / solution.objective <= 1e-7
    assert np.all(solution.dual >= 0)
    assert np.all(solution.dual <= C * model.c)


@pytest.mark.parametrize(("family", "order"), FAMILIES)
def test_below_the_smallest_C_nothing_is_used(family, order):
    for seed in range(5):
        model = random_model(seed, family, order, "noisy")
        C = smallest_C(model)
        below, above = fit_path(model, [0.98 * C, 1.02 * C])
        assert below.penalty <= 1e-6
        assert above.penalty > 1e-3


def test_no_C_is_useful_for_features_that_say_nothing():
    model = random_model(0, "binary", "explicit", "noisy")
    assert smallest_C(replace(model, G=np.where(model.penalty > 0, 0.0, model.G))) == np.inf


def test_separable_data_have_no_loss_at_large_C():
    model = random_model(2, "ordinal", "explicit", "separable")
    solution = fit_baseline(model, smallest_C(model) * 1e5)
    assert solution.loss <= 1e-10
    assert solution.penalty > 0.1


@pytest.mark.parametrize("seed", range(8))
def test_the_support_is_exact(seed):
    model = random_model(seed, "ordinal", "explicit", "noisy", n=40, d=5)
    solution = fit_baseline(model, 10 * smallest_C(model))
    margin = np.abs(model.G @ solution.v - model.h)
    inner = (solution.dual > 1e-6 * solution.C) & (solution.dual < (1 - 1e-6) * solution.C)
    # rows whose multiplier lies between its limits are met exactly, and what is nearly zero is zero
    assert margin[inner].max() <= 1e-12
    weights = np.abs(solution.v[model.penalty > 0])
    assert not np.any((weights > 0) & (weights < 1e-7))


def test_folds_are_the_model_without_their_rows():
    model = random_model(7, "ordinal", "explicit", "noisy", n=40, d=4)
    Cs = smallest_C(model) * np.array([2.0, 20.0])
    left_out = np.arange(model.h.size) % 3 == 0
    prices = np.array([np.where(left_out, 0.0, model.c), model.c])
    rough = fit_folds(model, Cs, prices)
    fewer = replace(model, G=model.G[~left_out], h=model.h[~left_out], c=model.c[~left_out])
    for path, reference in zip(rough, (fewer, model), strict=True):
        for v, C in zip(path, Cs, strict=True):
            assert reference.objective_of(v, C) == pytest.approx(plain_baseline(reference, C), rel=1e-3)


def test_the_answer_does_not_depend_on_the_rest_of_the_path():
    model = random_model(11, "ordinal", "explicit", "noisy", n=60, d=5)
    C = 10 * smallest_C(model)
    alone, among = fit_baseline(model, C), fit_path(model, [C / 5, C, 5 * C])[1]
    assert np.allclose(alone.v, among.v, atol=1e-9)


@pytest.mark.parametrize(("family", "order"), FAMILIES)
def test_other_prices_in_one_run(family, order):
    for seed in range(3):
        model = random_model(seed, family, order, "noisy")
        C = 10 * smallest_C(model)
        prices = np.random.default_rng(seed).exponential(size=(5, model.h.size))
        prices[0, ::3] = 0.0
        for price, v in zip(prices, fit_weighted(model, C, prices), strict=True):
            some = price > 0
            own = replace(model, G=model.G[some], h=model.h[some], c=price[some])
            assert own.objective_of(v, C) == pytest.approx(plain_baseline(own, C), rel=1e-4)


def test_other_prices_and_another_linear_loss():
    model = random_model(3, "binary", "explicit", "noisy")
    rng = np.random.default_rng(0)
    prices = rng.exponential(size=(3, model.h.size))
    linear = 0.1 * rng.uniform(0, 1, (3, model.q)) * (model.penalty > 0)
    C = 10 * smallest_C(model)
    for price, slope, v in zip(prices, linear, fit_weighted(model, C, prices, linear=linear), strict=True):
        own = replace(model, c=price, linear=slope)
        assert own.objective_of(v, C) == pytest.approx(plain_baseline(own, C), rel=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_copies_share_their_weight_where_a_simplex_is_asked_too(seed):
    model = random_model(seed, "ordinal", "explicit", "noisy")
    # the first column three times: any mixture of them is as good
    G, A = (np.hstack([M[:, :1], M[:, :1], M]) for M in (model.G, model.A))
    first = {name: np.append(getattr(model, name)[[0, 0]], getattr(model, name)) for name in VECTORS}
    inner = None if model.inner is None else np.append(model.inner[[0, 0]], model.inner)
    copied = replace(model, G=G, A=A, inner=inner, **first)
    C = 10.0 * smallest_C(model)
    middle = fit_baseline(copied, C)
    # a vertex is better by rounding only
    rounded = replace(middle, objective=(1 + 1e-11) * middle.objective)
    found = optimum._by_simplex(copied, priced_core(copied), C, rounded)
    assert found.certified <= 1e-9
    np.testing.assert_allclose(found.v[:3], found.v[:3].mean(), atol=1e-6 * np.abs(found.v).max())


@pytest.mark.parametrize(
    ("order", "kind", "seed", "factor"),
    [("explicit", "separable", 8, 1e4), ("implicit", "scales", 10, 30.0), ("implicit", "scales", 10, 1e3)],
)
def test_no_run_goes_on_where_nothing_is_left_to_gain(monkeypatch, order, kind, seed, factor):
    """Rounding may leave more of a residual than is asked for, and long steps may jam at a wall."""
    model = random_model(seed, "ordinal", order, kind)
    C = factor * smallest_C(model)
    steps = []
    before = predictor_corrector._advance
    monkeypatch.setattr(predictor_corrector, "_advance", lambda *all_: steps.append(1) or before(*all_))
    solution = fit_baseline(model, C)
    assert len(steps) < 0.5 * predictor_corrector.MOST
    assert solution.certified <= 1e-5
