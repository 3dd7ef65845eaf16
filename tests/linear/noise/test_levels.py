"""Rows under a term: levels against noise of the same level, pairs, columns."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from relbounds.linear.noise.levels import codes_of, column_test, holm, level_test, pair_test
from relbounds.linear.noise.smooth import Response

SHARES = [0.6, 0.3, 0.07, 0.03]


def _data(seed, effect, n=200):
    rng = np.random.default_rng(seed)
    codes = rng.choice(4, p=SHARES, size=n)
    x = rng.normal(size=n)
    latent = x + np.array(effect)[codes] + rng.logistic(size=n)
    return codes, x[:, None], Response("ordinal", np.digitize(latent, [-0.5, 1.5]))


def test_holm_equals_statsmodels():
    p = np.random.default_rng(0).random(20) ** 3
    np.testing.assert_allclose(holm(p), multipletests(p, method="holm")[1])
    assert len(holm(np.zeros(0))) == 0


def test_codes_from_centred_columns():
    codes = np.random.default_rng(1).choice(4, p=SHARES, size=300)
    columns = (codes[:, None] == np.arange(4)).astype(float)
    scaled = (columns - columns.mean(axis=0)) / 0.37
    assert (codes_of(scaled) == codes).all()


def test_levels_of_noise_keep_the_level_whatever_their_size():
    """A rare level is held against its own chance: each level's own p-value is honest."""
    p = np.array([level_test(*_args(seed), count=4, draws=99).p for seed in range(300)])
    for level in (0.05, 0.2):
        share = (p <= level).mean(axis=0)
        assert (share <= level + 3 * np.sqrt(level * (1 - level) / 300)).all()
    # the common levels are not held back
    assert (p[:, 0] <= 0.2).mean() > 0.12


def _args(seed):
    codes, _, response = _data([2, seed], [0, 0, 0, 0], n=100)
    return codes, response


def test_a_level_that_differs_is_found_and_signed():
    codes, x, response = _data(3, [0, 0, 2.5, 0], n=400)
    found = level_test(codes, response, kept=x)
    assert found.p_adjusted[2] <= 0.01 and found.statistic[2] > 0
    assert found.p_adjusted[3] > 0.05
    assert (found.p_adjusted >= found.p).all() and found.p.min() >= 1 / 1000


def test_pairs_of_levels():
    codes, x, response = _data(14, [0, 1.2, 1.2, 0], n=500)
    found = pair_test(codes, response, kept=x)
    pairs = [(a, b) for a in range(1, 4) for b in range(a)]
    p = dict(zip(pairs, found.p_adjusted, strict=True))
    sign = dict(zip(pairs, np.sign(found.statistic), strict=True))
    assert p[1, 0] <= 0.01 and p[2, 0] <= 0.05 and sign[1, 0] == 1
    assert p[2, 1] > 0.1 and p[3, 0] > 0.1
    # the other way round
    turned = pair_test(codes, response, kept=x, pairs=[(0, 1)])
    assert turned.statistic[0] == pytest.approx(-found.statistic[0])
    # against a reference fewer are compared, so they are adjusted less
    reference = pair_test(codes, response, kept=x, pairs=[(1, 0), (2, 0), (3, 0)])
    assert (reference.p_adjusted <= found.p_adjusted[[0, 1, 3]]).all()


def test_equal_levels_keep_the_level_beside_others_that_differ():
    p = []
    for seed in range(150):
        codes, x, response = _data([5, seed], [0, 0, 3, -3], n=100)
        p.append(pair_test(codes, response, kept=x, pairs=[(1, 0)], draws=99).p[0])
    for level in (0.05, 0.2):
        share = np.mean(np.array(p) <= level)
        assert abs(share - level) <= 3 * np.sqrt(level * (1 - level) / 150)


def test_names_of_levels_do_not_matter():
    codes, x, response = _data(6, [0, 1, 0, 2])
    order = np.array([2, 0, 3, 1])
    one, other = level_test(codes, response, kept=x), level_test(order[codes], response, kept=x)
    np.testing.assert_allclose(one.p, other.p[order])
    np.testing.assert_allclose(one.statistic, other.statistic[order])


def test_two_levels_mirror_each_other():
    codes, x, response = _data(7, [0, 1, 0, 1])
    codes = codes % 2
    levels, pair = level_test(codes, response, kept=x), pair_test(codes, response, kept=x)
    assert levels.statistic[0] == pytest.approx(-levels.statistic[1])
    assert levels.p[0] == levels.p[1] == pair.p[0]


def test_columns_are_judged_given_one_another():
    rng = np.random.default_rng(8)
    x = rng.normal(size=300)
    columns = np.column_stack([x, x + 0.5 * rng.normal(size=300), rng.normal(size=300)])
    response = Response("ordinal", np.digitize(1.5 * columns[:, 1] + rng.logistic(size=300), [-1, 1]))
    found = column_test(columns, response)
    assert found.p_adjusted[1] <= 0.01 and found.p_adjusted[0] > 0.05 and found.p_adjusted[2] > 0.05
    units = column_test(columns * [1, -10, 3] + 5, response)
    np.testing.assert_array_equal(found.p, units.p)
    np.testing.assert_allclose(units.statistic, found.statistic * [1, -1, 1], rtol=1e-6)
    doubled = column_test(np.column_stack([columns, x]), response)
    assert doubled.p[0] > 0.05 and doubled.p[3] > 0.05


def test_clusters_adjustment_and_other_families():
    rng = np.random.default_rng(9)
    cluster = np.repeat(np.arange(40), 5)
    codes = rng.integers(3, size=40)[cluster]
    age = rng.normal(size=200)
    latent = age + 2.5 * (codes == 2) + rng.normal(size=40)[cluster] + rng.logistic(size=200)
    for response in (
        Response("binary", (latent > 0.5).astype(int)),
        Response("regression", latent),
        Response("nominal", np.digitize(latent, [0, 1])),
        Response("survival", np.exp(-latent), event=rng.random(200) < 0.8),
    ):
        found = level_test(codes, response, adjust=age[:, None], cluster=cluster, draws=399)
        pairs = pair_test(codes, response, adjust=age[:, None], cluster=cluster, draws=399)
        assert found.p_adjusted[2] <= 0.05
        assert (pairs.p_adjusted[1:] <= 0.05).all() and pairs.p_adjusted[0] > 0.05


def test_levels_that_do_not_occur_are_left_open():
    codes = np.array([0, 0, 2, 2, 0, 2])
    response = Response("binary", np.array([0, 1, 1, 1, 0, 0]))
    assert level_test(codes, response, draws=19).p[1] == 1.0
    assert pair_test(codes, response, pairs=[(1, 0)], draws=19).p[0] == 1.0
