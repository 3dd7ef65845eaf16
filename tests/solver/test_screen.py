"""Screening bounds hold, and are sharp enough to be of use."""

import numpy as np
import pytest
from problems import random_polytope

import relbounds as rb
from relbounds.solver.engines.dispatch import ranges
from relbounds.solver.screen import screen


@pytest.mark.parametrize("tolerance", ["split", "joint"])
@pytest.mark.parametrize("kind", ["noisy", "separable", "copied columns", "wide", "weights"])
def test_no_model_exceeds_its_screening_bound(kind, tolerance):
    for seed in range(4):
        polytope, solution = random_polytope(seed, "ordinal", "explicit", kind, 0.01, tolerance)
        features = np.flatnonzero(polytope.model.penalty > 0)
        bound = screen(polytope, solution)[features]
        found = ranges(polytope, features, "auto")
        largest = np.maximum(np.abs(found.lower), np.abs(found.upper))
        assert np.all(largest <= bound + 1e-9 * polytope.size)


def test_most_of_many_features_are_settled_without_a_program():
    polytope, solution = random_polytope(0, "ordinal", "explicit", "noisy", 0.001, n=80, d=300)
    bound = screen(polytope, solution)[:300] / solution.penalty
    assert np.mean(bound < 0.1) > 0.5


@pytest.mark.parametrize("delta", ["1se", 0.001])
@pytest.mark.parametrize("seed", range(1))
def test_classes_are_those_without_screening(seed, delta):
    simulated = rb.simulate.draw("ordinal", 120, 3, 4, 40, noise=0.3, seed=seed)
    options = {"C": 0.1, "delta": delta, "probes": 20, "control": "published"}
    without, with_ = (
        rb.relbounds(simulated.formula, simulated.data, screen=screen, **options) for screen in (False, True)
    )
    assert with_.table["relevance"].tolist() == without.table["relevance"].tolist()
    if "screened" in with_.table:
        skipped = with_.table["screened"].to_numpy()
        assert np.all(with_.table["upper"][skipped] >= without.table["upper"][skipped] - 1e-6)
        assert np.allclose(with_.table["upper"][~skipped], without.table["upper"][~skipped], atol=1e-6)
    if delta == 0.001:
        assert with_.table["screened"].sum() >= 10
