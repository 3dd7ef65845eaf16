"""Best models near a known one, solved on the rows near their kinks, against scipy's linear programs on all rows."""

from dataclasses import replace

import numpy as np
import pytest
from problems import FAMILIES, plain_baseline, random_model

from relbounds.solver import best_refitted, optimum, working_rows
from relbounds.solver.columns import Columns, put_columns
from relbounds.solver.optimum import fit_baseline, fit_folds, fit_weighted
from relbounds.solver.smallest import smallest_C
from relbounds.solver.stack import Stack, count_apart

MANY_LEVELS = [(family, order) for family, order in FAMILIES if family == "ordinal"]


@pytest.fixture(autouse=True)
def every_model_has_many_rows(monkeypatch):
    for module in (optimum, best_refitted):
        monkeypatch.setattr(module, "MANY", 10)


def problem(seed, family="ordinal", order="implicit", strong=20.0):
    model = random_model(seed, family, order, "noisy", n=60, d=4)
    return model, strong * smallest_C(model)


@pytest.mark.parametrize(("family", "order"), FAMILIES)
@pytest.mark.parametrize("share", [0.02, 0.2])
def test_resampled_prices(monkeypatch, family, order, share):
    monkeypatch.setattr(working_rows.WorkingRows.__init__, "__defaults__", (share,))
    for seed in range(3):
        model, C = problem(seed, family, order)
        prices = model.c * np.random.default_rng(seed).exponential(size=(6, model.h.size))
        prices[0, ::5] = 0.0
        best = fit_baseline(model, C).v
        # a model far from all of them is no hint, and does no harm
        for near in (best, np.full(model.q, 3.0)):
            for price, v in zip(prices, fit_weighted(model, C, prices, 1e-8, near=near), strict=True):
                own = replace(model, c=price)
                assert own.objective_of(v, C) == pytest.approx(plain_baseline(own, C), rel=1e-6)


def test_fewer_rows_are_worked_on(monkeypatch):
    model, C = problem(1)
    seen = []
    before = optimum._weighted
    monkeypatch.setattr(
        optimum, "_weighted", lambda m, *rest, **more: seen.append(m.h.size) or before(m, *rest, **more)
    )
    fit_weighted(model, C, model.c * np.linspace(0.9, 1.1, 3)[:, None], near=fit_baseline(model, C).v)
    assert seen
    assert max(seen) < 0.8 * model.h.size


@pytest.mark.parametrize(("family", "order"), MANY_LEVELS)
def test_folds(family, order):
    model, C = problem(2, family, order)
    prices = np.array([np.where(np.arange(model.h.size) % 5 == f, 0.0, model.c) for f in range(5)])
    for price, path in zip(prices, fit_folds(model, [C, 10 * C], prices, 1e-8), strict=True):
        for own, v in zip((C, 10 * C), path, strict=True):
            one = replace(model, c=price)
            assert one.objective_of(v, own) == pytest.approx(plain_baseline(one, own), rel=1e-6)


@pytest.mark.parametrize(("family", "order"), MANY_LEVELS)
def test_permuted_columns(family, order):
    model, C = problem(3, family, order)
    rng = np.random.default_rng(3)
    own = np.stack([rng.permutation(model.G[:, [2, 3]]).T for _ in range(3)])
    columns = Columns(np.tile([2, 3], (3, 1)), own)
    reduced = optimum.priced_core(model)
    found = reduced.back(
        best_refitted.best_refitted(best_refitted.Refits(model, columns), C, fit_baseline(model, C).v).v
    )
    for i, v in enumerate(found):
        one = put_columns(model, columns, i)
        assert one.objective_of(v, C) == pytest.approx(plain_baseline(one, C), rel=1e-7)


def test_products_of_thresholds_are_left_out():
    rng = np.random.default_rng(4)
    G = np.zeros((2, 13, 40))
    G[:, :3] = rng.normal(size=(2, 3, 40))
    G[:, 3 + np.arange(40) % 10, np.arange(40)] = rng.choice([-1.0, 1.0], (2, 40))
    assert count_apart(G[0].T, np.array([0])) == 10
    assert count_apart(G[0].T, np.array([12])) == 0
    D, owner = rng.random((3, 40)), np.array([0, 1, 1])
    plain = np.triu(Stack(G, None, owner).gram(D))
    np.testing.assert_allclose(np.triu(Stack(G, None, owner, apart=10).gram(D)), plain, atol=1e-12)
