"""Least values of convex functions and the largest of several pushes, against the plain program."""

import numpy as np
import pytest
from problems import (
    FAMILIES,
    KINDS,
    feature_directions,
    plain_least,
    plain_max,
    random_model,
    random_polytope,
)

from relbounds.solver import few_columns
from relbounds.solver.engines.dispatch import push_many, push_past
from relbounds.solver.largest import push_largest, push_largest_each, push_likeliest, push_on_few
from relbounds.solver.least import largest_contrast, least_value, least_values, sum_of_sizes
from relbounds.solver.model import make_model
from relbounds.solver.polytope import Polytope
from relbounds.solver.smallest import smallest_C

STEADY = tuple(kind for kind in KINDS if kind != "scales")


def some_polytopes(count):
    for seed in range(count):
        family, order = FAMILIES[seed % 4]
        kind = STEADY[seed % len(STEADY)]
        if np.isfinite(smallest_C(random_model(seed, family, order, kind))):
            delta, tolerance = (0.001, 0.03, 0.3)[seed % 3], ("split", "joint")[(seed // 4) % 2]
            yield random_polytope(seed, family, order, kind, delta, tolerance)[0]


def forms_of(polytope):
    q, features = polytope.model.q, np.flatnonzero(polytope.model.penalty > 0)
    forms = [sum_of_sizes(features[:2], q), sum_of_sizes(features, q), largest_contrast(features, q)]
    return [*forms, largest_contrast(features[:3], q)]


def test_least_values_equal_the_plain_program():
    for polytope in some_polytopes(16):
        forms = forms_of(polytope)
        for form, found in zip(forms, least_values(polytope, forms), strict=True):
            expected = plain_least(polytope, form.E, form.F, form.cost)
            assert abs(found.value - expected) <= 1e-6 * polytope.size
            assert found.bound <= expected + 1e-8 * polytope.size
            assert found.gap <= 1e-6 * polytope.size
            assert form.value_at(found.point)[0] == pytest.approx(found.value, abs=1e-9 * polytope.size)


@pytest.mark.parametrize("solver", ["batch", "cvxopt", "highs", "auto"])
def test_least_value_by_every_engine(solver):
    polytope, _ = random_polytope(5, delta=0.05)
    form = largest_contrast([0, 1], polytope.model.q)
    found = least_value(polytope, form.E, form.F, form.cost, solver)
    assert abs(found.value - plain_least(polytope, form.E, form.F, form.cost)) <= 1e-6 * polytope.size


@pytest.mark.parametrize("wide", [False, True])
def test_pushes_past_a_value_end_beyond_it_or_at_the_optimum(wide, monkeypatch):
    monkeypatch.setattr(few_columns, "WIDE", 0 if wide else 1000)
    early = 0
    for polytope in some_polytopes(12):
        directions = feature_directions(polytope.model)
        exact = np.array([plain_max(polytope, d) for d in directions])
        found = push_past(polytope, directions, 0.0, "batch")
        assert (found.value <= exact + 1e-7 * polytope.size).all()
        short = found.value <= 0
        assert (exact[short] <= 1e-6 * polytope.size).all()
        np.testing.assert_allclose(found.value[short], exact[short], atol=1e-6 * polytope.size)
        early += int(np.sum(found.value < exact - 1e-3 * polytope.size))
    assert early


def test_an_empty_set_has_no_least_and_no_largest_value():
    model = make_model(np.eye(2), np.ones(2), np.ones(2), np.ones(2))
    polytope = Polytope(model, norm=0.5, loss=0.1, start=np.zeros(2))
    assert np.isnan(least_values(polytope, [sum_of_sizes([0], 2)])[0].value)
    assert np.isnan(push_largest(polytope, np.eye(2)).value)


def test_a_rough_race_ends_near_the_largest_of_all_pushes():
    for polytope in some_polytopes(12):
        directions = feature_directions(polytope.model)
        expected = max(plain_max(polytope, d) for d in directions)
        found = push_largest(polytope, directions, rough=1e-3)
        assert -1e-3 * polytope.size <= found.value - expected <= 1e-8 * polytope.size


@pytest.mark.parametrize("tolerance", ["split", "joint"])
def test_leading_directions_are_found_with_few_columns(monkeypatch, tolerance):
    monkeypatch.setattr(few_columns, "WIDE", 5)
    for seed in range(4):
        polytope, _ = random_polytope(seed, "ordinal", "explicit", "noisy", 0.05, tolerance, n=60, d=40)
        directions = feature_directions(polytope.model)
        expected = np.array([plain_max(polytope, d) for d in directions])
        few = push_on_few(polytope, directions, 1e-4)
        assert np.all(few <= expected + 1e-8 * polytope.size)
        found = push_likeliest(polytope, directions, 1e-3)
        reached = expected[found.which]
        assert -1e-3 * polytope.size <= found.value - reached <= 1e-8 * polytope.size
        every = push_likeliest(polytope, directions, 1e-3, most=len(directions)).value
        assert every == pytest.approx(expected.max(), abs=1e-3 * polytope.size)


def test_the_largest_of_all_pushes():
    for polytope in some_polytopes(12):
        directions = feature_directions(polytope.model)
        expected = max(plain_max(polytope, d) for d in directions)
        found = push_largest(polytope, directions)
        assert abs(found.value - expected) <= 1e-6 * polytope.size
        assert expected - 1e-8 * polytope.size <= found.bound <= expected + 1e-6 * polytope.size
        assert abs(plain_max(polytope, directions[found.which]) - expected) <= 1e-6 * polytope.size
        assert push_largest(polytope, directions, enough=0.5 * expected).value > 0.5 * expected
        above = push_largest(polytope, directions, enough=2 * expected)
        assert abs(above.value - expected) <= 1e-6 * polytope.size


def test_known_bounds_only_save_work():
    polytope, _ = random_polytope(3, delta=0.05, n=60, d=6)
    directions = feature_directions(polytope.model)
    bounds = push_many(polytope, directions, "batch").bound
    found = push_largest(polytope, directions, known=bounds)
    assert found.which == int(np.argmax(bounds))
    assert found.value == pytest.approx(bounds.max(), abs=1e-6 * polytope.size)


def test_several_races_at_once_are_as_many_single_ones():
    for polytope in some_polytopes(6):
        directions = feature_directions(polytope.model)
        group = np.arange(len(directions)) % 2
        expected = [max(plain_max(polytope, d) for d in directions[group == k]) for k in range(2)]
        for known in (None, push_many(polytope, directions, "batch").bound):
            found = push_largest_each(polytope, directions, group, known=known)
            for one, value in zip(found, expected, strict=True):
                assert abs(one.value - value) <= 1e-6 * polytope.size
                assert value - 1e-8 * polytope.size <= one.bound <= value + 1e-6 * polytope.size
                assert directions[one.which] @ one.point == pytest.approx(one.value, abs=1e-9 * polytope.size)


def test_a_race_that_is_known_to_be_won_needs_no_push():
    polytope, _ = random_polytope(3, delta=0.05, n=60, d=6)
    directions = feature_directions(polytope.model)
    pushed = push_many(polytope, directions, "batch")
    group = np.zeros(len(directions), dtype=int)
    (found,) = push_largest_each(
        polytope, directions, group, known=pushed.bound, reached=np.array([pushed.value.max()])
    )
    assert found.point is None and found.gap <= 1e-6 * polytope.size
