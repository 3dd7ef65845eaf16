"""The score part: exact under the hypothesis, equal to permuting by hand, blind to coding, units, order and chunks."""

import numpy as np
import pytest
from scipy import stats

from relbounds.linear.noise import statistics as module
from relbounds.linear.noise.beside import partial_values
from relbounds.linear.noise.many import many_test, step_up
from relbounds.linear.noise.moves import draw_rows, make_moves, make_rows, maps_of, stay
from relbounds.linear.noise.score import score_test
from relbounds.linear.noise.smooth import Response, fit_smooth
from relbounds.linear.noise.statistics import (
    Moved,
    make_loads,
    make_terms,
    score_values,
)

KINDS = ["ordinal", "binary", "regression", "nominal", "survival"]


def _response(kind, eta, rng):
    noisy = eta + rng.logistic(size=len(eta))
    if kind == "regression":
        return Response(kind, noisy)
    if kind == "survival":
        return Response(kind, np.exp(-noisy), event=rng.random(len(eta)) < 0.7)
    cuts = [0.3] if kind == "binary" else [-0.5, 1.5]
    return Response(kind, np.digitize(noisy, cuts))


def _factor(codes, levels):
    return (codes[:, None] == np.arange(levels)[None, :]).astype(float)


@pytest.mark.parametrize("kind", KINDS)
def test_statistics_equal_those_of_columns_permuted_by_hand(kind):
    rng = np.random.default_rng(0)
    n = 80
    kept = rng.normal(size=(n, 2))
    codes = rng.integers(4, size=n)
    blocks = [rng.normal(size=(n, 1)) + kept[:, :1], _factor(codes, 4), rng.normal(size=(n, 3))]
    response = _response(kind, kept[:, 0], rng)
    smooth = fit_smooth(response, kept)
    maps = maps_of(make_rows(n), 5, range(4))
    values = score_values(make_terms(blocks), Moved(make_loads(smooth), make_moves(maps)))
    for row, order in zip(values, maps, strict=True):
        for t, block in enumerate(blocks):
            X = block[order]
            X = X[:, 1:] if t == 1 else X
            s = smooth.residuals.shape[1]
            u = (X.T @ smooth.residuals).T.ravel()
            V = np.einsum("ia,ist,ib->satb", X, smooth.information, X)
            C = np.einsum("ia,ism->sam", X, smooth.cross)
            V = (V - np.einsum("sam,tbm->satb", C, C)).reshape(s * X.shape[1], -1)
            tail = stats.chi2.sf(u @ np.linalg.solve(V, u), len(u))
            assert stats.norm.isf(tail / 2) == pytest.approx(row[t], abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_finds_effects_and_class_agrees_with_p(kind):
    rng = np.random.default_rng(1)
    n = 200
    X = rng.normal(size=(n, 6))
    codes = rng.integers(3, size=n)
    blocks = [*X.T, _factor(codes, 3)]
    response = _response(kind, 1.2 * X[:, 1] - X[:, 4] + 1.2 * (codes == 2), rng)
    found = score_test(blocks, response, alpha=0.025)
    assert set(found.order) == {1, 4, 6}
    assert (found.kept == (found.p_adjusted <= 0.025)).all()
    assert (found.p_step >= found.p - 1e-12).all()
    assert found.p_adjusted.min() >= 1 / 1000


def test_level_is_kept_without_relation():
    """Shares of p-values below a level, at a fixed set of seeds, within binomial error."""
    p = []
    for seed in range(250):
        rng = np.random.default_rng([2, seed])
        n = 40
        base = rng.normal(size=(n, 1))
        X = 0.7 * base + rng.normal(size=(n, 4))
        heavy = rng.standard_t(1.5, size=n)
        blocks = [*X.T, heavy, rng.poisson(0.3, size=n), _factor(rng.integers(3, size=n), 3)]
        y = rng.choice(3, p=[0.6, 0.3, 0.1], size=n)
        p.append(score_test(blocks, Response("ordinal", y), draws=99, rng=seed, alpha=0.2).p_step.min())
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(np.array(p) <= level) - level) <= 3 * np.sqrt(level * (1 - level) / 250)


def test_level_is_kept_beside_relations():
    false = 0
    for seed in range(120):
        rng = np.random.default_rng([3, seed])
        X = rng.normal(size=(120, 6))
        X[:, 1] += X[:, 0]
        response = _response("ordinal", 1.5 * X[:, 0] + 1.0 * X[:, 1], rng)
        found = score_test(list(X.T), response, draws=99, rng=seed, alpha=0.1)
        false += bool(set(found.order) - {0, 1})
    assert false <= 0.1 * 120 + 3 * np.sqrt(120 * 0.09)


def test_coding_units_order_and_chunks_do_not_matter(monkeypatch):
    rng = np.random.default_rng(4)
    n = 150
    X = rng.normal(size=(n, 3))
    codes = rng.integers(5, size=n)
    spline = np.column_stack([X[:, 2], X[:, 2] ** 2, X[:, 2] ** 3])
    response = _response("ordinal", 0.8 * X[:, 0] + 0.9 * (codes == 1) + 0.5 * X[:, 2] ** 2, rng)
    blocks = [X[:, 0], X[:, 1], _factor(codes, 5), spline]
    plain = score_test(blocks, response)
    relabelled = _factor((codes * 3 + 1) % 5, 5)
    centred = relabelled[:, :4] @ rng.normal(size=(4, 4))
    mixed = spline @ rng.normal(size=(3, 3)) + 7
    other = score_test([1000 * X[:, 0] + 3, -X[:, 1], centred, mixed], response)
    assert plain.order == other.order
    np.testing.assert_array_equal(plain.p_adjusted, other.p_adjusted)
    np.testing.assert_array_equal(plain.p, other.p)
    np.testing.assert_allclose(plain.statistic, other.statistic, rtol=1e-6)
    turned = score_test(blocks[::-1], response)
    np.testing.assert_array_equal(plain.p_adjusted, turned.p_adjusted[::-1])
    monkeypatch.setattr(module, "CHUNK", 4000)
    small = score_test(blocks, response)
    np.testing.assert_array_equal(plain.p_adjusted, small.p_adjusted)
    np.testing.assert_array_equal(plain.p, small.p)


def test_copies_have_no_effect_of_their_own():
    rng = np.random.default_rng(5)
    x = rng.normal(size=200)
    response = _response("ordinal", 2 * x, rng)
    found = score_test([x, 2 * x + 1, rng.normal(size=200)], response)
    assert found.order == (0,)
    assert found.statistic[1] < 1e-3 and found.p[1] == 1.0


def test_a_suppressed_effect_is_found_after_its_partner():
    rng = np.random.default_rng(6)
    a = rng.normal(size=400)
    b = 0.8 * a + 0.6 * rng.normal(size=400)
    found = score_test([a, b], _response("regression", 1.5 * a - 1.2 * b, rng))
    assert set(found.order) == {0, 1}


def test_adjusting_columns_take_their_shadow_away():
    """A feature that is a shadow of age is found without age, and is noise given age."""
    rejected = 0
    for seed in range(120):
        rng = np.random.default_rng([7, seed])
        age = rng.normal(size=100)
        shadow = 0.7 * age + 0.7 * rng.normal(size=100)
        response = _response("ordinal", 1.5 * age, rng)
        if seed < 5:
            assert score_test([shadow], response, draws=199).order == (0,)
        found = score_test([shadow, rng.normal(size=100)], response, draws=99, alpha=0.1, adjust=age[:, None])
        rejected += bool(found.order)
    assert rejected <= 0.1 * 120 + 2 * np.sqrt(120 * 0.09)


def test_clusters_keep_the_level_where_rows_would_not():
    honest = naive = 0
    for seed in range(100):
        rng = np.random.default_rng([8, seed])
        sizes = np.full(30, 5) if seed % 2 else rng.integers(2, 8, size=30)
        cluster = np.repeat(np.arange(30), sizes)
        own = rng.normal(size=(30, 3))[cluster]
        X = np.c_[own[:, :2], own[:, 2] + rng.normal(size=len(cluster)), rng.normal(size=len(cluster))]
        latent = 2 * rng.normal(size=30)[cluster] + rng.logistic(size=len(cluster))
        response = Response("ordinal", np.digitize(latent, [-1, 1]))
        honest += bool(score_test(list(X.T), response, draws=99, alpha=0.1, cluster=cluster, rng=seed).order)
        naive += bool(score_test(list(X.T), response, draws=99, alpha=0.1, rng=seed).order)
    assert honest <= 0.1 * 100 + 2 * np.sqrt(100 * 0.09)
    assert naive > 0.3 * 100


def test_clusters_of_one_are_no_clusters():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 3))
    response = _response("ordinal", X[:, 0], rng)
    one = score_test(list(X.T), response, cluster=np.arange(60)[::-1])
    np.testing.assert_array_equal(one.p_adjusted, score_test(list(X.T), response).p_adjusted)


def test_effects_inside_and_between_clusters_are_found():
    rng = np.random.default_rng(10)
    cluster = np.repeat(np.arange(60), 4)
    between = rng.normal(size=60)[cluster]
    inside = np.tile([0.0, 0.0, 1.0, 1.0], 60)
    eta = 2 * between + 2 * inside + rng.normal(size=60)[cluster]
    found = score_test(
        [between, inside, rng.normal(size=240)], _response("ordinal", eta, rng), cluster=cluster
    )
    assert set(found.order) == {0, 1}


def test_rows_of_clusters_move_together():
    rng = np.random.default_rng(11)
    cluster = np.repeat(np.arange(12), rng.integers(1, 4, size=12))
    constant = rng.normal(size=12)[cluster]
    rows = make_rows(len(cluster), cluster, constant[:, None])
    assert rows.exact
    for order in draw_rows(rows, rng, 20):
        moved = constant[order]
        for k in range(12):
            assert len(set(moved[cluster == k])) == 1
        assert sorted(moved[np.unique(cluster, return_index=True)[1]]) == sorted(set(constant))


def test_whole_weights_order_terms_as_repeated_rows_do():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(80, 4))
    base = _response("ordinal", X[:, 0] - X[:, 1], rng)
    c = rng.integers(1, 4, size=80)
    weighted = Response("ordinal", base.y, weights=c.astype(float))
    long = np.repeat(np.arange(80), c)
    loads = [
        make_loads(fit_smooth(one, np.zeros((one.n, 0))))
        for one in (weighted, Response("ordinal", base.y[long]))
    ]
    one = X.T @ loads[0].residuals
    other = X[long].T @ loads[1].residuals
    np.testing.assert_allclose(one, other, rtol=1e-6)
    assert set(score_test(list(X.T), weighted).order) == {0, 1}


def test_hopeless_data_give_p_values_of_one():
    rng = np.random.default_rng(13)
    X = rng.normal(size=(30, 3))
    X[:, 2] = 4.0
    constant = score_test(list(X.T), Response("ordinal", np.ones(30)))
    assert constant.order == () and (constant.p == 1).all()
    # a response that one term gives away
    sure = score_test(list(X.T), Response("binary", (X[:, 0] > 0).astype(int)))
    assert sure.order[0] == 0 and sure.p[2] == 1.0
    assert not score_test([], Response("binary", np.array([0, 1]))).order


def test_terms_kept_from_the_start():
    rng = np.random.default_rng(14)
    X = rng.normal(size=(200, 3))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    response = _response("regression", 2 * X[:, 0], rng)
    found = score_test(list(X.T), response, kept=[0])
    assert found.order == () and found.p[1] > 0.01


def test_many_terms():
    rng = np.random.default_rng(15)
    X = rng.normal(size=(150, 400))
    response = _response("ordinal", 1.5 * X[:, 0] + 1.5 * X[:, 1], rng)
    found = many_test(list(X.T), response)
    assert {0, 1} <= set(np.flatnonzero(found.p_adjusted <= 0.05)) and (found.p_adjusted <= 0.05).sum() <= 4
    np.testing.assert_allclose(found.p_adjusted, stats.false_discovery_control(found.p), rtol=1e-12)
    # without relation p-values are uniform
    nothing = many_test(list(X.T), _response("ordinal", np.zeros(150), rng))
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(nothing.p <= level) - level) < 0.05


def test_step_up_equals_scipy():
    p = np.random.default_rng(16).random(30) ** 2
    np.testing.assert_allclose(step_up(p), stats.false_discovery_control(p))


def test_terms_that_hide_one_another_are_found():
    """Correlated, with effects of opposite sign: neither shows by itself."""
    found = 0
    for seed in range(10):
        rng = np.random.default_rng([17, seed])
        base = rng.normal(size=300)
        X = 0.95 * base[:, None] + 0.3 * rng.normal(size=(300, 2))
        response = _response("ordinal", 1.6 * (X[:, 0] - X[:, 1]), rng)
        blocks = [*X.T, *rng.normal(size=(300, 4)).T]
        alone = score_values(make_terms(blocks), Moved(make_loads(fit_smooth(response)), stay(300)))[0]
        found += set(score_test(blocks, response, draws=199).order) >= {0, 1}
        assert alone.max() < 4.5
    assert found >= 9


def test_statistics_given_all_others_are_those_of_one_newton_step():
    rng = np.random.default_rng(18)
    kept = rng.normal(size=(100, 1))
    X = rng.normal(size=(100, 3)) + kept
    response = _response("binary", kept[:, 0], rng)
    smooth = fit_smooth(response, kept)
    values = partial_values(make_terms(list(X.T)), Moved(make_loads(smooth, kept), stay(100)))[0]
    G = (
        X.T @ (smooth.information[:, 0, 0, None] * X)
        - (X.T @ smooth.cross[:, 0]) @ (X.T @ smooth.cross[:, 0]).T
    )
    inverse = np.linalg.inv(G)
    expected = inverse @ X.T @ smooth.residuals[:, 0] / np.sqrt(np.diag(inverse))
    np.testing.assert_allclose(values, expected, rtol=1e-3)


@pytest.mark.parametrize("kind", ["ordinal", "regression", "nominal", "survival"])
def test_observed_and_permuted_statistics_are_the_same_function(kind):
    # of several columns or linear predictors, where each term has an information of its own
    rng = np.random.default_rng(12)
    n = 80
    kept = rng.normal(size=(n, 2))
    y = (
        np.digitize(rng.logistic(size=n), [-1.0, 1.0])
        if kind in ("ordinal", "nominal")
        else rng.exponential(size=n)
    )
    rare = (rng.random(n) < 0.1).astype(int) + (rng.random(n) < 0.1)
    terms = make_terms(
        [_factor(rare, 3), _factor(rng.integers(3, size=n), 3), rng.normal(size=n), rng.normal(size=n)]
    )
    for columns in (None, kept):
        loads = make_loads(fit_smooth(Response(kind, y.astype(float)), columns))
        alone = score_values(terms, Moved(loads, stay(n)))[0]
        twice = score_values(terms, Moved(loads, make_moves(np.tile(np.arange(n), (2, 1)))))
        np.testing.assert_allclose(twice, [alone, alone], rtol=1e-9)
