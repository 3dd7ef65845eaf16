"""Equal rows as one: the same loss, the same optimum, the same bounds."""

from dataclasses import replace

import numpy as np
import pytest
from problems import feature_directions, plain_baseline, plain_max, polytope_of, random_model

from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.merge import merge_rows
from relbounds.solver.optimum import fit_baseline
from relbounds.solver.smallest import smallest_C


def test_kinds_are_those_of_numpy():
    rng = np.random.default_rng(0)
    for rows, columns, values in ((1, 1, 2), (500, 3, 3), (300, 8, 2), (200, 1, 5)):
        table = rng.integers(0, values, (rows, columns)) - 1.0
        table[table == 0] *= rng.choice([-1.0, 1.0], (table == 0).sum())
        _, expected = np.unique(table, axis=0, return_inverse=True)
        found = merge_rows(table)
        assert found.first.size == expected.max() + 1
        assert np.array_equal(table[found.first][found.which], table)
        assert np.all(np.diff(found.first) > 0)


def test_several_keys():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 3, (100, 2)).astype(float), rng.integers(0, 2, 100)
    found = merge_rows(a, b)
    assert found.first.size == len(np.unique(np.column_stack([a, b]), axis=0))
    prices = rng.random((4, 100))
    assert found.sums(prices).sum() == pytest.approx(prices.sum())


@pytest.mark.parametrize("family", ["ordinal", "binary", "regression"])
def test_the_merged_model_is_the_same_model(family):
    model = random_model(6, family, "explicit", "copied rows", n=40)
    merged = merge_rows(model.G, model.h)
    fewer = replace(model, G=model.G[merged.first], h=model.h[merged.first], c=merged.sums(model.c))
    assert fewer.h.size < model.h.size
    C = 10 * smallest_C(model)
    assert smallest_C(fewer) == pytest.approx(C / 10, rel=1e-5)
    solution = fit_baseline(fewer, C)
    assert solution.objective == pytest.approx(plain_baseline(model, C), rel=1e-8)
    assert model.loss_of(solution.v) == pytest.approx(solution.loss, rel=1e-12)
    assert np.array_equal(solution.losses[merged.which], model.hinge(solution.v))
    polytope, whole = (polytope_of(one, solution, 0.03, "split") for one in (fewer, model))
    directions = feature_directions(model)
    found = push_many(polytope, directions, "auto")
    expected = np.array([plain_max(whole, d) for d in directions])
    assert np.abs(found.value - expected).max() <= 1e-6 * polytope.size
