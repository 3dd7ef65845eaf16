"""Rubin's rules: against formulas written out, and the error rate that averages of p-values do not keep."""

import numpy as np
import pytest
from scipy import stats

from relbounds.linear.rubin import Effect, combined, pooled_effects


def test_effects_are_those_of_least_squares_and_the_increase_is_rubins():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 80, 2))
    e = X[:, :, :1] * 0.5 + rng.normal(size=(3, 80, 1))
    found = pooled_effects(list(e), list(X), [[0], [1]])[0]
    beta, variance = [], []
    for one, y in zip(X, e[:, :, 0], strict=True):
        own = stats.linregress(one[:, 0], y)
        full = np.linalg.inv(np.cov(one.T) * 79)
        slope = full @ ((one - one.mean(axis=0)).T @ y)
        left = y - y.mean() - (one - one.mean(axis=0)) @ slope
        beta.append((own.slope, slope[0]))
        variance.append((own.stderr**2, full[0, 0] * left @ left / 77))
    beta, variance = np.array(beta), np.array(variance)
    values = np.abs(beta) / np.sqrt(variance)
    view = int(np.argmax(values.mean(axis=0)))
    np.testing.assert_allclose(found.normal, values[:, view], rtol=1e-6)
    wanted = (1 + 1 / 3) * beta[:, view].var(ddof=1) / variance[:, view].mean()
    assert found.increase == pytest.approx(wanted, rel=1e-6)


def test_pooled_p_values_by_hand():
    effect = Effect(np.array([3.0, 2.0, 4.0]), 0.4)
    p = np.array([0.01, 0.04, 0.002])
    z = stats.norm.isf(p / 2).mean() / np.sqrt(1.4)
    assert combined(p, effect, 1e-4) == pytest.approx(2 * stats.t.sf(z, 2 * (1 + 1 / 0.4) ** 2))
    # as small as can be shown: the effect says how small it would be
    floor = combined([0.002, 0.002, 0.002], Effect(np.array([9.0, 9.0, 9.0]), 0.4), 0.002)
    assert floor == 0.002 < combined([0.002, 0.002, 0.002], effect, 1e-4)
    assert combined(p, effect, 1e-4, tests=5) > combined(p, effect, 1e-4)
    assert np.isnan(combined([np.nan, np.nan], effect, 0.001))


def test_the_level_is_kept_where_averages_of_p_values_do_not():
    # an effect known from 60 % of the rows, the others drawn from what it makes likely: each data set alone is too sure
    rng = np.random.default_rng(1)
    pooled, doubled = [], []
    for _ in range(400):
        x, y = rng.normal(size=(2, 100))
        sets = []
        for _ in range(5):
            known = np.arange(60)
            fit = stats.linregress(y[known], x[known])
            spread = np.sqrt(fit.stderr**2 * 60)
            slope = fit.slope + fit.stderr * rng.normal()
            sets.append(np.concatenate([x[known], slope * y[60:] + spread * rng.normal(size=40)])[:, None])
        effect = pooled_effects([y[:, None]] * 5, sets, [[0]])[0]
        p = [stats.linregress(one[:, 0], y).pvalue for one in sets]
        pooled.append(combined(p, effect, 1e-6))
        doubled.append(np.median(p))
    assert np.mean(np.array(pooled) <= 0.05) <= 0.07
    assert np.mean(np.array(doubled) <= 0.05) > 0.08


def test_factors_wide_data_and_several_predictors():
    rng = np.random.default_rng(2)
    sets = [rng.normal(size=(30, 20)) for _ in range(4)]
    found = pooled_effects([rng.normal(size=(30, 2))] * 4, sets, [[0], [1, 2, 3], list(range(4, 20))])
    assert [one.normal.shape for one in found] == [(4,)] * 3
    assert all(one.increase > 0 and np.isfinite(one.normal).all() for one in found)
    same = pooled_effects([np.ones((5, 1))] * 2, [np.zeros((5, 2))] * 2, [[0], [1]])
    assert all(np.isfinite(one.normal).all() and one.increase == 0 for one in same)
