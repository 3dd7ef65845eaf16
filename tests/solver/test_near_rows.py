"""Directions solved on the rows near their own solutions give the numbers of all rows together."""

import numpy as np
import pytest
from problems import FAMILIES, feature_directions, plain_max, random_polytope, stacked

import relbounds as rb
from relbounds.solver import near_rows as near
from relbounds.solver.engines.batch import push_batch
from relbounds.solver.engines.dispatch import certified, push_columns, push_many


def pushed_near(polytope, directions, monkeypatch):
    monkeypatch.setattr(near, "MOST_SHARED", 100)
    found = push_many(polytope, directions, "batch")
    # rounding, which differs between processors, may end a run before its proof: the next engine is asked then
    assert found.solver.count("batch") >= len(directions) - 1
    return found


@pytest.mark.parametrize("tolerance", ["split", "joint"])
@pytest.mark.parametrize("delta", [0.001, 0.03])
@pytest.mark.parametrize(("family", "order"), FAMILIES)
def test_the_same_as_with_all_rows(family, order, delta, tolerance, monkeypatch):
    monkeypatch.setattr(near, "LEAST", 150)
    polytope, _ = random_polytope(3, family, order, "noisy", delta, tolerance, n=600, d=5)
    directions = feature_directions(polytope.model)
    whole = certified(polytope, directions, push_batch(polytope, directions), None, "batch")
    found = pushed_near(polytope, directions, monkeypatch)
    assert np.all(found.gap <= 1e-6 * polytope.size)
    assert np.max(np.abs(found.value - whole.value)) <= 1e-6 * polytope.size
    assert abs(found.value[0] - plain_max(polytope, directions[0])) <= 1.5e-6 * polytope.size


@pytest.mark.parametrize("width", [0.1, 1.0])
def test_too_few_rows_to_begin_with_are_made_up_for(width, monkeypatch):
    monkeypatch.setattr(near, "LEAST", 60)
    monkeypatch.setattr(near, "SAMPLED", 0.01)
    monkeypatch.setattr(near, "ERROR", width)
    polytope, _ = random_polytope(5, "ordinal", "explicit", "noisy", 0.05, n=800, d=6)
    directions = feature_directions(polytope.model)
    found = pushed_near(polytope, directions, monkeypatch)
    assert np.all(found.gap <= 1e-6 * polytope.size)


def test_probes_of_a_large_set(monkeypatch):
    polytope, _ = random_polytope(7, "ordinal", "explicit", "noisy", 0.03, n=500, d=5)
    rng = np.random.default_rng(0)
    columns = [(j, rng.permutation(polytope.model.G[:, j])) for j in (3, 4, 4, 0)]
    together = push_columns(polytope, stacked(polytope.model, columns), "batch")
    monkeypatch.setattr(near, "MOST_SHARED", 100)
    alone = push_columns(polytope, stacked(polytope.model, columns), "batch")
    assert alone.feasible.tolist() == together.feasible.tolist()
    for name in ("lower", "upper"):
        difference = np.abs(getattr(alone, name) - getattr(together, name))
        assert np.nanmax(difference) <= 1e-6 * polytope.size
    assert np.nanmax(alone.gap) <= 1e-6 * polytope.size


def test_a_whole_fit_is_the_same(monkeypatch):
    simulated = rb.simulate.paper_set(5, noise=0.5, seed=1)
    options = {"C": 0.05, "probes": 10, "control": "published"}
    together = rb.relbounds(simulated.formula, simulated.data, **options)
    monkeypatch.setattr(near, "MOST_SHARED", 100)
    alone = rb.relbounds(simulated.formula, simulated.data, **options)
    columns = ["lower", "upper", "signed_lower", "signed_upper"]
    assert np.max(np.abs(together.table[columns] - alone.table[columns]).to_numpy()) <= 1e-6
    assert together.table["relevance"].tolist() == alone.table["relevance"].tolist()
    assert alone.certificate <= 1e-6


def test_sets_without_a_loss_budget_are_never_taken_for_large(monkeypatch):
    monkeypatch.setattr(near, "MOST_SHARED", 1)
    separable, _ = random_polytope(0, "ordinal", "explicit", "separable", 0.01)
    noisy, _ = random_polytope(0, "ordinal", "explicit", "noisy", 0.01)
    assert near.is_large(noisy) and not near.is_large(separable)
