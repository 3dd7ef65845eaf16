"""Directions of wide sets, each on columns of its own, give the numbers of all columns together."""

import numpy as np
import pytest
from problems import FAMILIES, feature_directions, plain_max, random_polytope

from relbounds.solver import few_columns, wide_sets
from relbounds.solver.engines import batch
from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.largest import push_largest, push_likeliest
from relbounds.solver.wide_sets import wide_set


@pytest.fixture
def narrow(monkeypatch):
    """Small sets count as wide, and every direction has columns of its own; how directions ended is noted."""
    monkeypatch.setattr(few_columns, "WIDE", 5)
    monkeypatch.setattr(wide_sets, "FEWEST", 5)
    monkeypatch.setattr(wide_sets, "FEW_IN_ALL", 0)
    monkeypatch.setattr(wide_sets, "MOST_AT_START", 1.0)
    ended, inner = [], batch.push_wide

    def noted(*args):
        ended.append(inner(*args)[2])
        return inner(*args)

    monkeypatch.setattr(batch, "push_wide", noted)
    return ended


@pytest.mark.parametrize("tolerance", ["split", "joint"])
@pytest.mark.parametrize("delta", [0.01, 0.3])
@pytest.mark.parametrize(("family", "order"), FAMILIES)
def test_extremes_are_those_of_a_plain_linear_program(family, order, delta, tolerance, narrow):
    polytope, _ = random_polytope(2, family, order, "noisy", delta, tolerance, n=60, d=40)
    directions = feature_directions(polytope.model)[::7]
    found = push_many(polytope, directions, "batch")
    exact = np.array([plain_max(polytope, d) for d in directions])
    assert np.max(np.abs(found.value - exact)) <= 1.5e-6 * polytope.size
    assert np.all(found.gap <= 1e-6 * polytope.size) and set(found.solver) == {"batch"}
    assert len(narrow) == 1 and narrow[0].all()


@pytest.mark.parametrize(
    "changed",
    [{"FEW_OF_USE": 0.0}, {"FEW_ASKED": 0}, {"FEW_ASKED": 100}, {"JOINING_AT_FIRST": 1, "JOINING": 2}],
    ids=["a look at all", "a second look", "one look", "few join at a time"],
)
def test_it_does_not_matter_how_columns_are_found(changed, narrow, monkeypatch):
    for name, value in changed.items():
        monkeypatch.setattr(wide_sets, name, value)
    polytope, _ = random_polytope(6, "ordinal", "implicit", "noisy", 0.1, n=60, d=50)
    directions = feature_directions(polytope.model)[::9]
    found = push_many(polytope, directions, "batch")
    exact = np.array([plain_max(polytope, d) for d in directions])
    assert np.max(np.abs(found.value - exact)) <= 1.5e-6 * polytope.size
    assert np.all(found.gap <= 1e-6 * polytope.size)


@pytest.mark.parametrize("changed", [{"ROUNDS": 0}, {"ENDED": 0.0}], ids=["no time", "no end"])
def test_what_is_not_settled_is_pushed_with_all_columns(changed, narrow, monkeypatch):
    for name, value in changed.items():
        monkeypatch.setattr(wide_sets, name, value)
    polytope, _ = random_polytope(6, "ordinal", "implicit", "noisy", 0.1, n=60, d=50)
    directions = feature_directions(polytope.model)[::19]
    found = push_many(polytope, directions, "batch")
    assert not narrow[0].any()
    assert (
        np.max(np.abs(found.value - [plain_max(polytope, d) for d in directions])) <= 1.5e-6 * polytope.size
    )


def test_races_end_with_the_largest(narrow):
    polytope, _ = random_polytope(7, "ordinal", "implicit", "noisy", 0.1, n=60, d=50)
    directions = feature_directions(polytope.model)[::5]
    exact = max(plain_max(polytope, d) for d in directions)
    assert abs(push_largest(polytope, directions, "batch").value - exact) <= 1.5e-6 * polytope.size
    assert abs(push_largest(polytope, directions, "batch", rough=1e-3).value - exact) <= 1e-3 * polytope.size
    assert abs(push_likeliest(polytope, directions, 1e-3, most=5).value - exact) <= 1e-3 * polytope.size
    assert len(narrow) == 3


def test_sets_it_is_not_for(narrow, monkeypatch):
    lossless, _ = random_polytope(2, "ordinal", "implicit", "separable", 0.0, n=20, d=40)
    assert wide_set(lossless) is None
    # where all directions have a use for the same few columns these serve them all
    polytope, _ = random_polytope(2, "ordinal", "implicit", "noisy", 0.01, n=60, d=20)
    monkeypatch.setattr(wide_sets, "FEW_IN_ALL", 64)
    push_many(polytope, feature_directions(polytope.model), "batch")
    assert not narrow
