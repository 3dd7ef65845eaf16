"""Factors of the normal equations: units, ridges, one for several directions, low precision far from the end."""

from dataclasses import replace

import numpy as np
import pytest
from problems import feature_directions, plain_max, random_polytope

from relbounds.linear.families import make_rows
from relbounds.linear.plain import plain_model
from relbounds.solver import predictor_corrector as interior
from relbounds.solver.centre import aimed, centred
from relbounds.solver.engines.batch import run_centred
from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.factors import Factor, Shared, Wide
from relbounds.solver.folded_stack import folded_stack
from relbounds.solver.model import make_model
from relbounds.solver.newton import Linear, factor_of
from relbounds.solver.own_columns import take_few
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import reduce
from relbounds.solver.stack import Stack
from relbounds.solver.starts import balanced, prepare


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

    def seen(core, columns, at, single=False, dense=False):
        used.append(single)
        return whole(core, columns, at, single, dense)

    monkeypatch.setattr(interior, "COARSE", coarse)
    monkeypatch.setattr(interior, "Linear", seen)
    directions = feature_directions(polytope.model)[::30]
    pushed = push_many(polytope, directions, "batch")
    assert any(used)
    assert (pushed.gap <= 1e-6 * polytope.size).all()
    for value, d in zip(pushed.value, directions, strict=True):
        assert abs(value - plain_max(polytope, d)) <= 1.5e-6 * polytope.size


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(
    "family, order", [("ordinal", "implicit"), ("ordinal", "explicit"), ("regression", "explicit")]
)
def test_systems_of_more_columns_than_observations_are_solved_from_the_rows(family, order, single):
    polytope, _ = random_polytope(4, family, order, n=70, d=260, delta=0.3)
    # so many columns leave no loss, and rows would all be hard
    polytope = replace(polytope, loss=polytope.loss + 0.2 * float(polytope.model.c.sum()))
    core = reduce(polytope).core
    at = centred(core, prepare(polytope).v[None, :], None)
    linear = Linear(core, None, at, single)
    assert isinstance(linear.factor, Wide)
    # every observation once, and in the regression, or with all thresholds, it has several rows
    assert len(linear.factor.parts[0].S) <= 70 + core.a.size
    D1, D2, D3, D4, Da, _ = (linear.D[:, cut] for cut in at.cuts)
    M = np.einsum("r,ri,rj->ij", (D3 * D4 / (D3 + D4))[0], core.G, core.G)
    M += np.einsum("r,ri,rj->ij", Da[0], core.A, core.A)
    s = core.pen.size
    M[np.arange(s), np.arange(s)] += (4 * D1 * D2 / (D1 + D2))[0]
    rhs = np.random.default_rng(0).normal(size=(core.q, 3))
    want = np.linalg.solve(M, rhs)
    found = linear.factor.solve(rhs[None])[0]
    assert np.abs(found - want).max() <= (1e-3 if single else 1e-9) * np.abs(want).max()


@pytest.mark.parametrize("order", ["implicit", "explicit"])
def test_directions_on_columns_of_their_own_are_solved_from_the_rows(order):
    polytope, _ = random_polytope(4, "ordinal", order, n=70, d=260, delta=0.3)
    polytope = replace(polytope, loss=polytope.loss + 0.2 * float(polytope.model.c.sum()))
    core, rng = reduce(polytope).core, np.random.default_rng(0)
    one = np.zeros(2, dtype=int)
    whole = folded_stack(core, Stack(core.G.T[None], None, one[:1])).of(one)
    few = take_few(core, whole, one, rng.random((2, core.pen.size)), 200)
    v = np.zeros((2, few.core.q))
    v[:, 200:] = np.linspace(-0.5, 0.5, few.core.q - 200)
    at = balanced(replace(few.core, B=50.0 * few.core.B), v, np.full(2, 1.0), few.stack)
    linear = Linear(few.core, few.stack, at)
    dense = Linear(few.core, few.stack, at, dense=True)
    assert isinstance(linear.factor, Wide) and isinstance(dense.factor, Factor)
    rhs = rng.normal(size=(2, few.core.q, 3))
    want = dense.factor.solve(rhs)
    assert np.abs(linear.factor.solve(rhs) - want).max() <= 1e-8 * np.abs(want).max()
    # best models have no budget, and are solved from the side of the variables
    assert isinstance(Linear(replace(few.core, p=np.zeros(0)), few.stack, at).factor, Factor)


def test_rows_once_with_hard_rows_of_all_variables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 300))
    y = 1 + rng.integers(0, 4, size=80)
    plain = plain_model(X, make_rows(y, "ordinal", "implicit"))
    # the first variable is not to be negative, and a sum of two is limited
    A = np.zeros((2, plain.q))
    A[0, 0], A[1, :2] = 1.0, -1.0
    model = make_model(plain.G, plain.h, plain.c, plain.penalty, A=A, a=np.array([0.0, -5.0]))
    polytope = Polytope(model, norm=3.0, loss=float(plain.c.sum()), start=np.eye(plain.q)[0] * 0.1)
    directions = np.eye(plain.q)[[0, 1, 7]]
    pushed = push_many(polytope, directions, "batch")
    assert (pushed.gap <= 1e-6 * polytope.size).all()
    for value, d in zip(pushed.value, directions, strict=True):
        assert abs(value - plain_max(polytope, d)) <= 2e-6 * polytope.size


def test_far_from_any_optimum_and_close_to_it_many_columns_end_where_the_plain_program_does():
    polytope, _ = random_polytope(6, "ordinal", "implicit", n=60, d=240, delta=0.4)
    polytope = replace(polytope, loss=polytope.loss + 0.1 * float(polytope.model.c.sum()))
    directions = feature_directions(polytope.model)[::160]
    pushed = push_all_columns(polytope, directions)
    for value, d in zip(pushed, directions, strict=True):
        assert abs(value - plain_max(polytope, d)) <= 1.5e-6 * polytope.size


def push_all_columns(polytope, directions):
    reduced = reduce(polytope)
    d = directions[:, reduced.free] * reduced.unit
    found = run_centred(reduced.core, d, prepare(polytope).v[None, :], 1e-7 * polytope.size)
    return np.einsum("bq,bq->b", found.v, d)


@pytest.mark.parametrize("last", [0, 14])
def test_what_breaks_off_from_the_side_of_the_rows_ends_from_that_of_the_columns(monkeypatch, last):
    polytope, _ = random_polytope(6, "ordinal", "implicit", n=60, d=240, delta=0.4)
    polytope = replace(polytope, loss=polytope.loss + 0.1 * float(polytope.model.c.sum()))
    directions = feature_directions(polytope.model)[::160]
    inner, count = Wide.solve, [0]

    def breaking(self, rhs):
        out = inner(self, rhs)
        if len(self) == len(directions):
            count[0] += 1
            if count[0] > last:
                out[1] = np.nan
        return out

    monkeypatch.setattr(Wide, "solve", breaking)
    pushed = push_all_columns(polytope, directions)
    assert count[0] > last
    for value, d in zip(pushed, directions, strict=True):
        assert abs(value - plain_max(polytope, d)) <= 1.5e-6 * polytope.size
