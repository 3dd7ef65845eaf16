"""Directions solved with few columns give the numbers of all columns together."""

import numpy as np
import pytest
from problems import FAMILIES, feature_directions, plain_max, random_polytope, stacked

import relbounds as rb
from relbounds.solver import few_columns as wide
from relbounds.solver.certificates import dual_bound, repaired
from relbounds.solver.engines import batch
from relbounds.solver.engines.batch import push_batch
from relbounds.solver.engines.dispatch import push_columns, push_many, ranges
from relbounds.solver.model import make_model
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals


@pytest.mark.parametrize("tolerance", ["split", "joint"])
@pytest.mark.parametrize(("family", "order"), FAMILIES)
def test_the_same_as_with_all_columns(family, order, tolerance, monkeypatch):
    polytope, _ = random_polytope(2, family, order, "noisy", 0.03, tolerance, n=60, d=40)
    directions = feature_directions(polytope.model)[::5]
    whole = push_many(polytope, directions, "batch")
    monkeypatch.setattr(wide, "WIDE", 5)
    few = push_many(polytope, directions, "batch")
    assert set(few.solver) == {"batch"}
    assert np.all(few.gap <= 1e-6 * polytope.size)
    assert np.max(np.abs(few.value - whole.value)) <= 1e-6 * polytope.size
    assert abs(few.value[0] - plain_max(polytope, directions[0])) <= 1.5e-6 * polytope.size


def test_columns_to_begin_with_change_no_answer(monkeypatch):
    monkeypatch.setattr(wide, "WIDE", 5)
    polytope, _ = random_polytope(6, "ordinal", "implicit", "noisy", 0.05, n=50, d=40)
    directions = feature_directions(polytope.model)[::9]
    exact = [plain_max(polytope, d) for d in directions]

    def solve(some, chosen, gap):
        answer = batch._push_all(wide.with_columns(polytope, chosen), directions[some][:, chosen], None, gap)
        return answer.points, answer.duals

    for first in (None, np.arange(polytope.model.q) % 3 == 0, np.ones(polytope.model.q, dtype=bool)):
        points, _ = wide.on_few_columns(polytope, directions, solve, first=first)
        value = np.einsum("bq,bq->b", points, directions)
        assert np.max(np.abs(value - exact)) <= 1.5e-6 * polytope.size


@pytest.mark.parametrize(("most", "looks"), [(0.8, 1), (0.0, 0)], ids=["few of use", "most of use"])
def test_columns_are_chosen_at_a_first_look(monkeypatch, most, looks):
    monkeypatch.setattr(wide, "WIDE", 5)
    monkeypatch.setattr(wide, "MOST_OF_USE", most)
    polytope, _ = random_polytope(6, "ordinal", "implicit", "noisy", 0.05, n=50, d=40)
    directions = feature_directions(polytope.model)[::9]
    gaps, inner = [], batch._push_all

    def noted(fewer, d, goals, gap):
        gaps.append((gap, fewer.model.q))
        return inner(fewer, d, goals, gap)

    monkeypatch.setattr(batch, "_push_all", noted)
    found = push_many(polytope, directions, "batch")
    exact = [plain_max(polytope, d) for d in directions]
    assert np.max(np.abs(found.value - exact)) <= 1.5e-6 * polytope.size
    # what directions have a use for is seen roughly, once, and with all columns there is nothing to see
    assert [gap > 1e-3 for gap, _ in gaps].count(True) == looks and gaps[-1][0] <= 1e-6
    assert (gaps[0][1] < polytope.model.q) == bool(looks)


def test_bounds_that_are_good_enough_are_left_alone(monkeypatch):
    monkeypatch.setattr(wide, "WIDE", 5)
    polytope, _ = random_polytope(6, "ordinal", "implicit", "noisy", 0.05, n=50, d=40)
    directions = feature_directions(polytope.model)[::4]
    exact = np.array([plain_max(polytope, d) for d in directions])
    # multipliers of few columns, which leave others without hold
    few = wide.needed_columns(polytope) | (directions != 0).any(axis=0)
    duals = push_batch(wide.with_columns(polytope, few), directions[:, few]).duals
    best = dual_bound(polytope, directions, duals)
    plain = dual_bound(polytope, directions, duals, enough=np.full(len(exact), np.inf))
    enough = np.median(plain) * np.ones(len(exact))
    mended, bound = repaired(polytope, directions, duals, enough=enough)
    assert np.all(best >= exact - 1e-6 * polytope.size) and np.all(best <= plain)
    assert np.any(plain > best + 0.1 * polytope.size)
    assert np.max(np.abs(bound - np.where(plain <= enough, plain, best))) <= 1e-9 * polytope.size
    # they are multipliers as they stand
    again = dual_bound(polytope, directions, mended, enough=np.full(len(exact), np.inf))
    assert np.max(np.abs(again - bound)) <= 1e-6 * polytope.size


def test_columns_join_that_are_asked_for_or_nearly():
    model = make_model(np.array([[1.0, 2.0, 0.95, 0.5]]), np.ones(1), np.ones(1), np.ones(4))
    polytope = Polytope(model, norm=2.0, loss=0.5, start=np.array([1.0, 0.0, 0.0, 0.0]))
    duals = Duals(np.array([[1.0, 1.0]]), np.ones((1, 1)), np.zeros((1, 0)))
    chosen = np.array([True, False, False, False])
    joining, more = wide.ask_to_join(polytope, np.zeros((1, 4)), duals, chosen, 1e-6)
    assert joining.tolist() == [False, True, True, False] and more.tolist() == [True]
    # nobody asks: nobody joins
    joining, more = wide.ask_to_join(
        polytope, np.zeros((1, 4)), duals, np.array([True, True, False, False]), 1e-6
    )
    assert not joining.any() and not more.any()


def test_more_columns_than_rows(monkeypatch):
    monkeypatch.setattr(wide, "WIDE", 5)
    for kind in ("wide", "separable", "copied columns"):
        polytope, _ = random_polytope(4, "ordinal", "explicit", kind, 0.01, n=30, d=12)
        directions = feature_directions(polytope.model)
        found = push_many(polytope, directions, "batch")
        assert np.all(found.gap <= 1e-6 * polytope.size)


def test_far_more_columns_than_rows(monkeypatch):
    polytope, _ = random_polytope(1, "ordinal", "explicit", "noisy", 0.02, n=25, d=120)
    directions = feature_directions(polytope.model)[::17]
    assert polytope.model.q > wide.MUCH_WIDER * polytope.model.h.size
    whole = push_many(polytope, directions, "batch")
    monkeypatch.setattr(wide, "WIDE", 5)
    few = push_many(polytope, directions, "batch")
    assert np.all(few.gap <= 1e-6 * polytope.size)
    assert np.max(np.abs(few.value - whole.value)) <= 1e-6 * polytope.size


def test_probes_with_few_columns(monkeypatch):
    polytope, solution = random_polytope(3, "ordinal", "explicit", "noisy", 0.02, n=80, d=30)
    rng = np.random.default_rng(1)
    used = np.flatnonzero(solution.v[:30])
    columns = [(int(j), rng.permutation(polytope.model.G[:, j])) for j in [*used[:2], 20, 25, 29]]
    whole = push_columns(polytope, stacked(polytope.model, columns), "batch")
    monkeypatch.setattr(wide, "WIDE", 5)
    few = push_columns(polytope, stacked(polytope.model, columns), "batch")
    assert few.feasible.tolist() == whole.feasible.tolist()
    for name in ("lower", "upper"):
        difference = np.abs(getattr(few, name) - getattr(whole, name))
        assert np.nanmax(difference) <= 1e-6 * polytope.size


def test_a_whole_fit_is_the_same(monkeypatch):
    simulated = rb.simulate.draw("ordinal", 70, 2, 2, 12, noise=0.3, seed=1)
    options = {"C": 0.1, "probes": 6, "control": "published"}
    whole = rb.relbounds(simulated.formula, simulated.data, **options)
    monkeypatch.setattr(wide, "WIDE", 5)
    few = rb.relbounds(simulated.formula, simulated.data, **options)
    columns = ["lower", "upper", "signed_lower", "signed_upper"]
    assert np.max(np.abs(whole.table[columns] - few.table[columns]).to_numpy()) <= 1e-6
    assert whole.table["relevance"].tolist() == few.table["relevance"].tolist()


def test_columns_with_bounds_are_never_left_out():
    polytope, _ = random_polytope(0, d=6)
    lower = np.full(polytope.model.q, -np.inf)
    lower[5] = 0.1
    assert wide.needed_columns(polytope.bounded(lower, np.full(polytope.model.q, np.inf)))[5]


@pytest.mark.parametrize("size", [{"n": 30, "d": 4}, {"n": 24, "d": 170}])
def test_directions_below_a_value_stop_early_and_say_so(size):
    polytope, _ = random_polytope(3, "ordinal", "explicit", "noisy", 0.05, **size)
    features = list(range(0, size["d"], max(1, size["d"] // 8)))
    exact = ranges(polytope, features, "auto")
    largest = np.maximum(np.abs(exact.lower), np.abs(exact.upper))
    for limit in np.quantile(largest, [0.3, 0.8, 1.0]) * 1.2:
        found = ranges(polytope, features, "auto", below=limit)
        reach = np.maximum(np.abs(found.lower), np.abs(found.upper))
        sure = found.at_most
        # what is called "at most" is proved to be below, and the rest is exact
        assert np.all(reach[sure] <= limit)
        assert np.all(reach >= largest - 1e-6 * polytope.size)
        assert np.abs(found.lower - exact.lower)[~sure].max(initial=0.0) <= 2e-6 * polytope.size
        assert np.abs(found.upper - exact.upper)[~sure].max(initial=0.0) <= 2e-6 * polytope.size
        assert np.all(largest[sure] <= limit)
    assert sure.any()
