"""Factors of the normal equations: units, ridges, one for several directions, low precision far from the end."""

import numpy as np
import pytest
from problems import feature_directions, plain_max, random_polytope

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.centre import aimed, centred
from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.factors import Factor, Shared
from relbounds.solver.newton import factor_of
from relbounds.solver.reduced import reduce
from relbounds.solver.starts import prepare


def test_a_factor_does_not_hang_on_the_units_of_variables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    units = 10.0 ** np.array([-6, -3, 0, 1, 3, 6])
    M, rhs = X.T @ X, rng.normal(size=(1, 6, 2))
    plain = Factor(M[None].copy()).solve(rhs)
    scaled = Factor((M * units[:, None] * units)[None]).solve(rhs * units[None, :, None])
    assert np.allclose(plain, np.linalg.solve(M, rhs[0])[None])
    assert np.allclose(scaled * units[None, :, None], plain, rtol=1e-12)


def test_a_singular_matrix_gets_a_ridge():
    X = np.ones((3, 2))
    found = Factor((X.T @ X)[None]).solve(np.ones((1, 2, 1)))
    assert np.allclose(found.sum(), 1 / 3, rtol=1e-6)


def test_directions_that_begin_together_share_a_factor():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2, 20, 5))
    M = np.einsum("pij,pik->pjk", X, X)
    which, times = np.array([0, 1, 0, 1, 1]), rng.uniform(0.5, 2.0, 5)
    rhs = rng.normal(size=(5, 5, 3))
    shared = Shared(Factor(M.copy()), which, times)
    want = np.linalg.solve(times[:, None, None] * M[which], rhs)
    assert np.allclose(shared.solve(rhs), want)
    assert np.allclose(shared.take(times > 1).solve(rhs[times > 1]), want[times > 1])


@pytest.mark.parametrize("tolerance", ["split", "joint"])
def test_the_factor_of_a_start_is_that_of_its_own_system(tolerance):
    polytope, _ = random_polytope(3, delta=0.2, tolerance=tolerance)
    reduced = reduce(polytope)
    d = feature_directions(polytope.model)[:, reduced.free] * reduced.unit
    centre = centred(reduced.core, prepare(polytope).v[None, :], None)
    start = aimed(reduced.core, centre, np.zeros(len(d), dtype=int), d, None)
    known, rhs = start.metric, d[:, :, None]
    start.metric = None
    assert np.allclose(known.solve(rhs), factor_of(reduced.core, start, None).solve(rhs), rtol=1e-9)


def test_a_run_leaves_no_factor_behind():
    polytope, _ = random_polytope(3, delta=0.2)
    reduced = reduce(polytope)
    d = feature_directions(polytope.model)[:, reduced.free] * reduced.unit
    centre = centred(reduced.core, prepare(polytope).v[None, :], None)
    start = aimed(reduced.core, centre, np.zeros(len(d), dtype=int), d, None)
    assert interior.solve(reduced.core, d, start, np.full(len(d), 1e-9)).metric is None


def test_a_factor_in_single_precision():
    rng = np.random.default_rng(0)
    X, rhs = rng.normal(size=(80, 6)), rng.normal(size=(1, 6, 2))
    M = (X.T @ X)[None]
    found = Factor(M.astype(np.float32)).solve(rhs)
    assert found.dtype == np.float64
    assert np.allclose(found, Factor(M).solve(rhs), rtol=1e-4)
    assert not np.array_equal(found, Factor(M).solve(rhs))


@pytest.mark.parametrize("coarse", [0.0, 1e-2])
@pytest.mark.parametrize("family", ["ordinal", "regression"])
def test_low_precision_on_the_way_does_not_change_where_it_ends(family, coarse, monkeypatch):
    polytope, _ = random_polytope(5, family, n=70, d=60, delta=0.1)
    used = []
    whole = interior.Linear

    def seen(core, columns, at, single=False):
        used.append(single)
        return whole(core, columns, at, single)

    monkeypatch.setattr(interior, "COARSE", coarse)
    monkeypatch.setattr(interior, "Linear", seen)
    directions = feature_directions(polytope.model)[::30]
    pushed = push_many(polytope, directions, "batch")
    assert any(used)
    assert (pushed.gap <= 1e-6 * polytope.size).all()
    for value, d in zip(pushed.value, directions, strict=True):
        assert abs(value - plain_max(polytope, d)) <= 1.5e-6 * polytope.size
