"""Scores of many observations: the mean weight, one pass for all models."""

from dataclasses import replace

import numpy as np
import pytest

from relbounds.linear.noise import even, score
from relbounds.linear.noise.beside import partial_values
from relbounds.linear.noise.even import PLACES, fit_model, make_table, move, observed_values
from relbounds.linear.noise.levels import level_test
from relbounds.linear.noise.moves import make_moves, stay
from relbounds.linear.noise.own import own_test
from relbounds.linear.noise.score import score_test
from relbounds.linear.noise.smooth import Response, fit_smooth
from relbounds.linear.noise.standins import standin_test
from relbounds.linear.noise.statistics import (
    Moved,
    make_loads,
    make_terms,
    score_values,
    take_terms,
)

KINDS = ["ordinal", "binary", "regression", "nominal", "survival"]


def _data(kind, n, seed, effect=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[:, 1] += X[:, 0]
    codes = rng.integers(4, size=n)
    latent = effect * (X[:, 0] + 0.6 * X[:, 2] + 0.5 * (codes == 2)) + rng.logistic(size=n)
    y = {
        "ordinal": np.digitize(latent, [-1.0, 1.0]),
        "nominal": np.digitize(latent, [-1.0, 1.0]),
        "binary": latent > 0,
        "regression": latent,
        "survival": np.exp(-latent),
    }[kind]
    blocks = [*X.T, (codes[:, None] == np.arange(4)).astype(float)]
    return blocks, Response(kind, np.asarray(y, dtype=float))


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_are_hardly_other_than_with_each_observations_own_weight(kind):
    n = 4000
    blocks, response = _data(kind, n, 0, effect=0.3)
    adjust = np.random.default_rng(1).normal(size=(n, 1)) + blocks[3][:, None]
    terms = make_terms(blocks, adjust)
    table = make_table(terms, adjust)
    left = [1, 2, 3, 4, 5]
    model = fit_model(table, response, table.kept([0]), left, together=True)
    columns = np.column_stack([adjust, blocks[0]])
    loads = make_loads(fit_smooth(response, columns), columns)
    moved = move(table, [model], 3, 20).values(0, slice(None))
    assert moved.shape == (20, 5)
    moves = make_moves(np.concatenate([stay(n).maps, _maps(n, 3, 20)]))
    given, some = Moved(loads, moves), take_terms(terms, left)
    expected = np.maximum(score_values(some, given), np.abs(partial_values(some, given)))
    found = np.concatenate([observed_values(table, model), moved])
    # a share of about one over the root of n
    np.testing.assert_allclose(found[1:], expected[1:], rtol=0.1, atol=0.1)
    np.testing.assert_allclose(found[0], expected[0], rtol=0.05, atol=0.1)


def _maps(n, seed, draws):
    """Row maps of the same draws, written out."""
    rng = np.random.default_rng(seed)
    rounds = n // PLACES
    places = n // rounds
    order = rng.permutation(n)
    dealt = order[: rounds * places].reshape(rounds, places)
    maps = np.tile(np.arange(n), (draws, 1))
    for one, step in zip(maps, 1 + rng.permutation(places - 1)[:draws], strict=True):
        one[dealt] = np.roll(dealt, -step, axis=1)
    return maps


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1500, 5003])
def test_products_are_those_of_columns_with_rows_in_other_places(kind, n):
    blocks, response = _data(kind, n, 5)
    table = make_table(make_terms(blocks), None)
    models = [
        fit_model(table, response, table.kept(kept), [t for t in range(6) if t not in kept], together=True)
        for kept in ([], [5], [0, 3])
    ]
    moved = move(table, models, 7, 12)
    for b, order in enumerate(_maps(n, 7, 12)):
        X = table.terms.columns[order]
        sides = np.column_stack([*(one.residuals for one in models), table.columns[:, moved.used]])
        np.testing.assert_allclose(moved.found[b], sides.T @ X, atol=1e-9 * np.sqrt(n))


@pytest.mark.parametrize("kind", KINDS)
def test_observed_and_permuted_statistics_are_the_same_function(kind):
    n = 3000
    blocks, response = _data(kind, n, 5)
    terms = make_terms(blocks)
    table = make_table(terms, None)
    left = [1, 2, 4, 5]
    models = [fit_model(table, response, table.kept([0, 3]), left, together=True)]
    moved = move(table, models, 1, 3)
    for b, order in enumerate(_maps(n, 1, 3)):
        # permuted columns of the terms that are left, those of the model where they are
        columns = terms.columns.copy()
        places = table.terms.places(left)
        columns[:, places] = columns[order][:, places]
        there = make_table(replace(terms, columns=columns), None)
        model = fit_model(there, response, table.kept([0, 3]), left, together=True)
        np.testing.assert_allclose(moved.values(0, slice(b, b + 1)), observed_values(there, model), rtol=1e-7)


def test_steps_taken_ahead_are_the_steps_taken_one_by_one(monkeypatch):
    blocks, response = _data("ordinal", 2500, 2, effect=1.0)
    ahead = score_test(blocks, response, draws=199)
    monkeypatch.setattr(score, "CLEAR", np.inf)
    one_by_one = score_test(blocks, response, draws=199)
    assert ahead.order == one_by_one.order == (0, 2, 5)
    np.testing.assert_array_equal(ahead.p_adjusted, one_by_one.p_adjusted)
    np.testing.assert_allclose(ahead.statistic, one_by_one.statistic)


def test_rejects_as_often_as_promised_and_says_the_same_in_any_coding():
    rejected = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        X = rng.exponential(size=(2001, 3)) ** 2
        response = Response("binary", rng.integers(2, size=2001))
        rejected += bool(score_test(list(X.T), response, draws=99, alpha=0.1, rng=seed).order)
    assert 3 <= rejected <= 22  # 12 are expected; less or more have a chance below 1 in 200
    blocks, response = _data("ordinal", 2500, 3)
    plain = score_test(blocks, response, draws=99)
    other = score_test(
        [1000 * blocks[0] + 3, *blocks[1:5], blocks[5] @ np.eye(4)[:, ::-1]], response, draws=99
    )
    assert plain.order == other.order
    np.testing.assert_allclose(plain.p_adjusted, other.p_adjusted)


def test_copies_stand_in_and_have_no_effect_of_their_own():
    blocks, response = _data("ordinal", 2500, 4)
    blocks = [blocks[0], 2 * blocks[0] + 1, *blocks[2:5]]
    found = score_test(blocks, response, draws=99)
    assert found.order == (0, 2)
    assert found.p_adjusted[1] == 1.0
    stands = standin_test(blocks, response, found.order, draws=199)
    assert stands.left == (1, 3, 4)
    assert (stands.p_adjusted <= 0.01).tolist() == [True, False, False]
    assert stands.place[0] == (0,)


def test_clusters_change_places_as_wholes():
    # a term that is constant in clusters, and a response that is alike in them: no relation beyond that
    naive = honest = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        cluster = np.repeat(np.arange(60), 40)
        X = rng.normal(size=(60, 2))[cluster]
        y = (rng.normal(size=60)[cluster] + rng.normal(size=2400) > 0).astype(float)
        response = Response("binary", y)
        honest += bool(score_test(list(X.T), response, draws=99, alpha=0.1, cluster=cluster).order)
        naive += bool(score_test(list(X.T), response, draws=99, alpha=0.1).order)
    assert honest <= 6 < naive


def test_effects_of_their_own_are_those_of_terms_that_no_other_stands_for():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(2500, 3))
    reading = x[:, 1] + 0.5 * rng.normal(size=2500)
    factor = (rng.integers(3, size=2500)[:, None] == np.arange(3)).astype(float)
    y = np.digitize(0.4 * x[:, 0] + 0.4 * x[:, 1] + 0.6 * factor[:, 1] + rng.logistic(size=2500), [-1.0, 1.0])
    blocks = [x[:, 0], x[:, 1], reading, factor, 2 * x[:, 2], 1 - x[:, 2]]
    beside = {t: [k for k in range(6) if k != t] for t in range(6)}
    found = own_test(blocks, Response("ordinal", y.astype(float)), beside)
    # nothing is left of copies
    assert set(found) == {0, 1, 2, 3}
    assert [found[t] <= 0.01 for t in range(4)] == [True, True, False, True]
    assert own_test(blocks, Response("ordinal", y.astype(float)), beside, asked=[2])[0] == 1.0
    # beyond as many draws as there are observations, rows change places one by one
    more = own_test(blocks, Response("ordinal", y.astype(float)), beside, asked=[2], draws=2999, level=1e-4)
    assert abs(more[2] - found[2]) < 0.1


def test_levels_have_the_p_values_of_permuted_factors(monkeypatch):
    blocks, response = _data("ordinal", 2500, 8, effect=0.3)
    codes = np.argmax(blocks[5], axis=1)
    found = level_test(codes, response, kept=blocks[0][:, None])
    monkeypatch.setattr(even, "MANY_ROWS", 10**9)
    one_by_one = level_test(codes, response, kept=blocks[0][:, None])
    np.testing.assert_allclose(found.statistic, one_by_one.statistic, rtol=0.02, atol=0.02)
    np.testing.assert_allclose(found.p, one_by_one.p, atol=0.06)
