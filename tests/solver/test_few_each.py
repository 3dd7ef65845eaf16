"""Many models with many columns, each on few of its own in one run, against scipy's linear programs one by one."""

from dataclasses import replace

import numpy as np
import pytest
from problems import plain_baseline, random_model

from relbounds.linear.families import make_rows
from relbounds.linear.plain import plain_model
from relbounds.solver import few_each
from relbounds.solver.best_refitted import Refits
from relbounds.solver.columns import Columns, put_columns
from relbounds.solver.few_each import best_each, fit_priced, fits_each
from relbounds.solver.folded_stack import ActiveStack, FoldedStack, folded_stack
from relbounds.solver.optimum import fit_folds, fit_weighted
from relbounds.solver.priced import priced_core
from relbounds.solver.smallest import smallest_C
from relbounds.solver.stack import Stack

ORDERS = [
    ("ordinal", "explicit"),
    ("ordinal", "implicit"),
    ("binary", "explicit"),
    ("regression", "explicit"),
]


def record_widths(monkeypatch):
    inner, widths = few_each.take_few, []

    def recorded(core, stack, owner, wanted, count):
        widths.append(count)
        return inner(core, stack, owner, wanted, count)

    monkeypatch.setattr(few_each, "take_few", recorded)
    return widths


@pytest.mark.parametrize(("family", "order"), ORDERS)
def test_models_with_other_prices(monkeypatch, family, order):
    widths = record_widths(monkeypatch)
    model = random_model(1, family, order, "noisy", n=40, d=170)
    prices = model.c * np.random.default_rng(0).exponential(size=(4, model.h.size))
    C = 3 * smallest_C(model)
    found = fit_weighted(model, C, prices, 1e-8)
    assert widths and max(widths) < 0.6 * 170
    for v, own in zip(found, prices, strict=True):
        one = replace(model, c=own)
        assert one.violation_of(v) <= 1e-9
        assert one.objective_of(v, C) == pytest.approx(plain_baseline(one, C), rel=1e-6)


@pytest.mark.parametrize(("family", "order"), ORDERS)
def test_folds_walk_a_path_of_C_together(monkeypatch, family, order):
    widths = record_widths(monkeypatch)
    model = random_model(5, family, order, "noisy", n=40, d=170)
    prices = model.c * (np.arange(model.h.size) % 3 != np.arange(3)[:, None])
    path = smallest_C(model) * np.array([30.0, 3.0, 1e4])
    found = fit_folds(model, path, prices, 1e-6)
    assert widths
    for own, vs in zip(prices, found, strict=True):
        one = replace(model, c=own)
        for C, v in zip(path, vs, strict=True):
            assert one.violation_of(v) <= 1e-9
            assert one.objective_of(v, C) == pytest.approx(plain_baseline(one, C), rel=2e-5)


def test_most_columns_of_use_are_all_taken(monkeypatch):
    widths = record_widths(monkeypatch)
    monkeypatch.setattr(few_each, "MOST_OF_USE", 0.1)
    model = random_model(2, "ordinal", "explicit", "noisy", n=40, d=60)
    reduced, C = priced_core(model), 30 * smallest_C(model)
    prices = np.tile(model.c, (2, 1))
    found = fit_priced(reduced, C, prices, 1e-8)
    assert max(widths) == 60
    assert model.objective_of(found[0], C) == pytest.approx(plain_baseline(model, C), rel=1e-6)


@pytest.mark.parametrize(("family", "order"), ORDERS[:2])
def test_models_with_other_columns(family, order):
    model = random_model(3, family, order, "noisy", n=40, d=165)
    rng = np.random.default_rng(3)
    index = np.arange(5, 165)
    # a row's sign stays where it is, as when observations change places
    sign = np.sign(model.G[:, 0]) * np.sign(rng.normal(size=model.h.size))
    own = np.stack([(model.G[rng.permutation(model.h.size)] * sign[:, None])[:, index].T for _ in range(3)])
    columns, C = Columns(np.tile(index, (3, 1)), own), 3 * smallest_C(model)
    best = best_each(Refits(model, columns), C)
    reduced = priced_core(model)
    for i, v in enumerate(reduced.back(best.v)):
        one = put_columns(model, columns, i)
        least = plain_baseline(one, C)
        assert one.objective_of(v, C) == pytest.approx(least, rel=1e-7)
        # what multipliers prove holds for all columns
        half = 0.5 * reduced.core.pen
        assert np.max(np.abs(best.pushed[i, : half.size]) / half) <= 1 + 1e-6
        assert best.value[i] == pytest.approx(least, rel=1e-6)


def test_folded_rows_are_the_same_rows():
    model = random_model(4, "ordinal", "implicit", "noisy", n=30, d=30)
    core = priced_core(model).core
    rng = np.random.default_rng(0)
    whole = Stack(np.stack([core.G.T] * 3), None, np.arange(3))
    fold = folded_stack(core, whole)
    assert isinstance(fold, FoldedStack) and fold.G.shape[2] == 30 < core.rows
    place = np.hstack([rng.permutation(30)[:12].reshape(3, 4), np.tile(np.arange(30, core.q), (3, 1))])
    unit = np.hstack([rng.uniform(0.5, 2, size=(3, 4)), np.ones((3, core.q - 30))])
    for one, two in (
        (whole, fold),
        (whole.columns(np.arange(3), place, unit), fold.columns(np.arange(3), place, unit)),
    ):
        q = one.G.shape[1]
        v, y, D = rng.normal(size=(3, q)), rng.normal(size=(3, core.rows)), rng.random((3, core.rows))
        np.testing.assert_allclose(two.times(v), one.times(v), atol=1e-12)
        np.testing.assert_allclose(two.times_t(y), one.times_t(y), atol=1e-12)
        np.testing.assert_allclose(np.triu(two.gram(D)), np.triu(one.gram(D)), atol=1e-12)
        some = np.array([0, 2])
        np.testing.assert_allclose(two.take(some).times(v[some]), one.take(some).times(v[some]), atol=1e-12)


def test_rows_of_many_thresholds_are_not_folded():
    # with 30 thresholds an observation's rows have as many columns apart, each used by one of them
    rng = np.random.default_rng(0)
    y = 1 + np.arange(60) % 31
    core = priced_core(plain_model(rng.normal(size=(60, 30)), make_rows(y, "ordinal", "implicit"))).core
    stack = Stack(core.G.T[None], None, np.zeros(1, dtype=int), apart=30)
    assert folded_stack(core, stack) is stack
    few = priced_core(
        plain_model(rng.normal(size=(60, 30)), make_rows(1 + y % 5, "ordinal", "implicit"))
    ).core
    assert folded_stack(few, Stack(few.G.T[None], None, np.zeros(1, dtype=int))).G.shape[2] == 60


def test_rows_that_are_different_are_not_folded():
    core = priced_core(random_model(5, "ordinal", "implicit", "noisy", n=20, d=12)).core
    other = core.G.T.copy()
    other[3, 5] += 1.0
    stack = Stack(np.stack([core.G.T, other]), None, np.arange(2))
    assert folded_stack(core, stack) is stack


def test_bounds_on_penalised_variables_are_left_to_others():
    model = random_model(6, "ordinal", "explicit", "noisy", n=20, d=12)
    lower = model.lower.copy()
    assert fits_each(priced_core(model))
    lower[0] = -0.1
    assert not fits_each(priced_core(replace(model, lower=lower)))


def test_gram_matrices_of_active_rows_have_each_different_row_once():
    core = priced_core(random_model(7, "ordinal", "implicit", "noisy", n=30, d=30)).core
    rng = np.random.default_rng(1)
    whole = Stack(np.stack([core.G.T * s for s in (1.0, 1.0, 1.0)]), None, np.arange(3))
    once = folded_stack(core, whole)
    fold = once.fold
    order = np.sort(np.array([rng.permutation(core.rows)[:60] for _ in range(3)]), axis=1)
    G = np.take_along_axis(whole.G, order[:, None, :], axis=2)
    which = fold.which[order]
    one = Stack(G, None, np.arange(3))
    two = ActiveStack(G, None, np.arange(3), X=once.G, fold=fold, which=which)
    place = np.hstack([rng.permutation(30)[:12].reshape(3, 4), np.tile(np.arange(30, core.q), (3, 1))])
    unit = np.hstack([rng.uniform(0.5, 2, size=(3, 4)), np.ones((3, core.q - 30))])
    owner = np.array([0, 0, 1, 2, 2])
    pairs = [(one, two), (one.of(owner), two.of(owner))]
    pairs += [tuple(stack.columns(owner, place[owner], unit[owner]) for stack in (one, two))]
    for plain, folded in pairs:
        D = rng.random((plain.owner.size, 60))
        np.testing.assert_allclose(np.triu(folded.gram(D)), np.triu(plain.gram(D)), atol=1e-11)
        some = np.array([0, 2])
        left, right = folded.take(some), plain.take(some)
        np.testing.assert_allclose(np.triu(left.gram(D[some])), np.triu(right.gram(D[some])), atol=1e-11)
        left.clear(slice(0, 2))
        right.clear(slice(0, 2))
        np.testing.assert_allclose(np.triu(left.gram(D[some])), np.triu(right.gram(D[some])), atol=1e-11)
