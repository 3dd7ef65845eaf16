"""Starts of problems with prices: inside, and as far from every wall as from any other."""

import numpy as np
import pytest
from problems import FAMILIES, plain_baseline, random_model

from relbounds.solver import optimum, smallest
from relbounds.solver.priced import priced_core, priced_start
from relbounds.solver.tolerances import LEFT_OUT


@pytest.mark.parametrize(("family", "order"), FAMILIES)
def test_products_of_slacks_and_multipliers_begin_alike(family, order):
    model = random_model(0, family, order, "noisy", n=30, d=5)
    reduced = priced_core(model)
    core = reduced.core
    rng = np.random.default_rng(0)
    own = rng.exponential(size=(2, core.rows)) * core.c
    # rows that a fold leaves out
    own[0, ::5] = LEFT_OUT * own[0].mean()
    at = priced_start(core, reduced, np.array([0.1, 7.0]), np.full(2, 0.5), np.full(2, np.inf), own)
    assert (at.S > 0).all() and (at.Z > 0).all()
    products = at.S * at.Z
    np.testing.assert_allclose(products, np.broadcast_to(products[:, :1], products.shape), rtol=1e-6)
    np.testing.assert_allclose(at.z1 + at.z2, np.broadcast_to(0.5 * core.pen, at.z1.shape))
    np.testing.assert_allclose(at.z3 + at.z4, at.price[:, None] * own)
    kept = own[1] > 0
    np.testing.assert_allclose((at.f - at.xi)[1, kept], (at.v @ core.G.T - core.h)[1, kept], atol=1e-9)


@pytest.mark.parametrize(("family", "order"), FAMILIES)
def test_a_start_near_a_model_is_inside_and_leads_to_the_optimum(family, order):
    model = random_model(1, family, order, "noisy", n=40, d=6)
    C = 5.0 * smallest.smallest_C(model)
    near = optimum.fit_baseline(model, 2.0 * C).v
    reduced = priced_core(model)
    at = priced_start(reduced.core, reduced, np.full(1, C), np.full(1, 0.5), np.full(1, np.inf), near=near)
    assert (at.S > 0).all() and (at.Z > 0).all()
    products = at.S * at.Z
    np.testing.assert_allclose(products, np.broadcast_to(products[:, :1], products.shape), rtol=1e-6)
    # hard rows that the model touches keep it from the start, loss rows do not
    if not reduced.core.a.size:
        np.testing.assert_allclose(reduced.back(at.v)[0], near, atol=1e-12)
    found = optimum._fit_all(model, np.full(1, C), 1e-9, True, near)[0]
    assert found.certified <= 1e-7
    assert found.objective == pytest.approx(plain_baseline(model, C), rel=1e-7)
