"""Models of many columns, fitted on few: the same optimum as scipy's linear programming finds on all of them."""

import numpy as np
import pytest
from problems import plain_baseline, random_model

from relbounds.solver import optimum, pricing, smallest
from relbounds.solver.model import make_model
from relbounds.solver.pricing import (
    LOOKING,
    Problems,
    first_columns,
    fit_few,
    fit_grown,
    join_columns,
    overpull,
    without_loss,
)


@pytest.fixture
def always_few(monkeypatch):
    for module in (optimum, smallest):
        monkeypatch.setattr(module, "has_many", lambda model: int(np.sum(model.penalty > 0)) > 60)
    monkeypatch.setattr(optimum, "more_than_few", lambda model: int(np.sum(model.penalty > 0)) > 60)


@pytest.mark.parametrize(
    "family, order", [("ordinal", "explicit"), ("ordinal", "implicit"), ("regression", "explicit")]
)
@pytest.mark.parametrize("seed", range(2))
def test_the_optimum_is_that_of_all_columns(always_few, family, order, seed):
    model = random_model(seed, family, order, n=30, d=220)
    C = 4 * smallest.smallest_C(model)
    found = optimum.fit_baseline(model, C)
    assert found.certified <= 1e-7
    assert found.objective == pytest.approx(plain_baseline(model, C), rel=1e-7)


def test_the_smallest_useful_C_is_that_of_all_columns(always_few):
    for seed in range(3):
        model = random_model(seed, n=30, d=200)
        assert smallest.smallest_C(model) == pytest.approx(smallest._smallest(model)[0], rel=1e-5)


def test_copies_share_their_weight(always_few):
    model = random_model(1, n=30, d=100)
    d = int(np.sum(model.penalty > 0))
    # every column twice: the middle of the optimal face gives both halves
    twice = make_model(
        np.hstack([model.G[:, :d], model.G]),
        model.h,
        model.c,
        np.concatenate([model.penalty[:d], model.penalty]),
        A=np.hstack([np.zeros((len(model.a), d)), model.A]),
        a=model.a,
    )
    C = 4 * smallest.smallest_C(model)
    v = optimum.fit_baseline(twice, C).v
    assert np.abs(v[:d]).sum() > 0
    assert np.allclose(v[:d], v[d : 2 * d], atol=1e-6 * np.abs(v[: 2 * d]).sum())


def test_other_prices_and_a_path(always_few):
    model = random_model(2, n=30, d=200)
    rng = np.random.default_rng(0)
    prices = np.repeat(model.c * rng.exponential(size=(2, model.h.size)), 5, axis=0)
    Cs = np.tile(smallest.smallest_C(model) * np.geomspace(1.5, 2e4, 5), 2)
    few = optimum.fit_weighted(model, Cs, prices)
    for v, C, c in zip(few, Cs, prices, strict=True):
        priced = make_model(model.G, model.h, c, model.penalty, A=model.A, a=model.a)
        assert priced.objective_of(v, C) <= plain_baseline(priced, C) * (1 + 3e-3)


def test_a_model_without_loss_ends_the_path():
    model = make_model(np.array([[1.0], [2.0]]), np.ones(2), np.ones(2), np.ones(1))
    solved = []

    def solve(some, chosen, gap, near):
        solved.extend(some.tolist())
        return np.ones((len(some), 1)), np.tile([0.5, 0.0], (len(some), 1)), np.zeros((len(some), 0))

    found = fit_few(model, Problems(np.array([1.0, 10.0, 100.0]), np.ones((3, 2))), solve, 1e-4)
    assert found.ravel().tolist() == [1.0, 1.0, 1.0] and set(solved) == {0}
    assert without_loss(model, np.ones(2), np.array([0.5]), 1e-3) is None


def test_rounds_go_on_from_the_last_one_with_all_columns_that_are_nearly_of_use(monkeypatch):
    model = make_model(np.array([[1.0, 0.9, 0.85, *[0.1] * 5]]), np.ones(1), np.ones(1), np.ones(8))
    asked = []

    def solve(some, chosen, gap, near):
        asked.append((np.flatnonzero(chosen).tolist(), gap, None if near is None else near.tolist()))
        return np.full((1, chosen.sum()), 0.25), np.full((1, 1), 0.5), np.zeros((1, 0))

    found, handed = fit_grown(model, 0, np.arange(8) == 0, solve, 1e-4)
    assert asked == [([0], LOOKING, None), ([0, 1, 2], 1e-4, [0.25, *[0.0] * 7])]
    assert found.tolist() == [0.25, 0.25, 0.25, *[0.0] * 5]
    # those most in demand are handed on, no more than so many
    assert np.flatnonzero(handed).tolist() == [0, 1, 2]
    monkeypatch.setattr(pricing, "HANDED_ON", 2)
    assert np.flatnonzero(fit_grown(model, 0, np.arange(8) == 0, solve, 1e-4)[1]).tolist() == [0, 1]


def test_columns_join_by_what_their_lack_costs():
    model = make_model(np.array([[1.0, 3.0, 2.0]]), np.ones(1), np.ones(1), np.ones(3))
    assert first_columns(model, 1).tolist() == [False, True, False]
    chosen = np.array([False, True, False])
    over = overpull(model, np.full((1, 1), 0.3), np.zeros((1, 0)))[0]
    assert np.allclose(over, [-0.4, 0.8, 0.2])
    assert join_columns(chosen, over, 1e-3) == 1 and chosen.tolist() == [False, True, True]
    assert join_columns(chosen, over, 1e-3) == 0
