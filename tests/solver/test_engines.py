"""Every engine against scipy's HiGHS on the plain program, and every certificate checked on its own."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problems import FAMILIES, KINDS, feature_directions, plain_max, random_model, random_polytope, stacked

from relbounds.errors import OptionError
from relbounds.solver import goals, starts
from relbounds.solver import predictor_corrector as interior
from relbounds.solver.centre import aimed, centred
from relbounds.solver.engines import dispatch
from relbounds.solver.engines.answer import Answer
from relbounds.solver.engines.dispatch import push_columns, push_many, ranges
from relbounds.solver.model import make_model
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals, reduce
from relbounds.solver.smallest import smallest_C

ENGINES = ("batch", "cvxopt", "highs", "auto")
QUICK = settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
STEADY = tuple(kind for kind in KINDS if kind != "scales")


def useful(seed, family, order, kind):
    return np.isfinite(smallest_C(random_model(seed, family, order, kind)))


def excess(polytope, v):
    """By how much a point breaks the set, straight from the definition."""
    model = polytope.model
    slack = [max(0.0, h - row @ v) for row, h in zip(model.G, model.h, strict=True)]
    loss, norm = model.linear @ v + model.c @ slack, model.penalty @ np.abs(v)
    if polytope.joint is None:
        over = [norm / polytope.norm - 1, (loss - polytope.loss) / max(polytope.loss, 1.0)]
    else:
        C, J = polytope.joint
        over = [(0.5 * norm + C * loss) / J - 1]
    hard = model.a - model.A @ v
    return max([*over, *hard, *(model.lower - v), *(v - model.upper), 0.0])


def check(polytope, directions, pushed, exact=True):
    scale = polytope.size
    for k, d in enumerate(directions):
        assert pushed.feasible[k]
        assert excess(polytope, pushed.point[k]) <= 1e-12
        assert pushed.value[k] == pytest.approx(d @ pushed.point[k], abs=1e-12 * scale)
        assert pushed.gap[k] <= 1e-6 * scale
        assert pushed.bound[k] - pushed.value[k] <= 1e-6 * scale
        if exact:
            assert abs(pushed.value[k] - plain_max(polytope, d)) <= 1.5e-6 * scale


@pytest.mark.parametrize("tolerance", ["split", "joint"])
@pytest.mark.parametrize(("family", "order"), FAMILIES)
@pytest.mark.parametrize("kind", STEADY)
@settings(QUICK, max_examples=3)
@given(seed=st.integers(0, 10**6), delta=st.sampled_from([0.001, 0.03, 0.3]))
def test_batch_equals_the_plain_program(kind, family, order, tolerance, seed, delta):
    if not useful(seed, family, order, kind):
        return
    polytope, _ = random_polytope(seed, family, order, kind, delta, tolerance)
    directions = feature_directions(polytope.model)[:: 2 if polytope.model.q < 10 else 9]
    check(polytope, directions, push_many(polytope, directions, "batch"))


@pytest.mark.parametrize("solver", ENGINES)
@pytest.mark.parametrize("kind", STEADY)
def test_all_engines_give_the_same_numbers(kind, solver):
    for seed, (family, order) in enumerate(FAMILIES):
        if not useful(seed, family, order, kind):
            continue
        tolerance = ("split", "joint")[seed % 2]
        polytope, _ = random_polytope(seed, family, order, kind, 0.02, tolerance)
        directions = feature_directions(polytope.model)[::3]
        check(polytope, directions, push_many(polytope, directions, solver))


@pytest.mark.parametrize("solver", ["batch", "cvxopt", "highs"])
@pytest.mark.parametrize("delta", [0.001, 0.05])
def test_engines_agree_where_active_rows_are_few(solver, delta):
    polytope, _ = random_polytope(3, "ordinal", "explicit", "noisy", delta, n=220, d=6)
    directions = feature_directions(polytope.model)[:6]
    expected = push_many(polytope, directions, "batch")
    found = push_many(polytope, directions, solver)
    assert np.abs(found.value - expected.value).max() <= 1e-6 * polytope.size
    check(polytope, directions[:2], found)
    assert set(found.solver) == {solver}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tolerance", ["split", "joint"])
def test_features_of_very_different_scale(seed, tolerance):
    polytope, _ = random_polytope(seed, "ordinal", "explicit", "scales", 0.05, tolerance)
    directions = feature_directions(polytope.model)
    pushed = push_many(polytope, directions, "auto")
    for k, point in enumerate(pushed.point):
        assert excess(polytope, point) <= 1e-12
        assert pushed.value[k] <= pushed.bound[k] + 1e-15 * polytope.size
    assert np.median(pushed.gap) <= 1e-7 * polytope.size


def test_no_tolerance_at_all():
    polytope, solution = random_polytope(1, "ordinal", "explicit", "noisy", 0.0)
    directions = feature_directions(polytope.model)
    pushed = push_many(polytope, directions, "auto")
    expected = np.array([plain_max(polytope, d) for d in directions])
    assert pushed.feasible.all()
    assert np.abs(pushed.value - expected).max() <= 1e-4 * polytope.size
    assert np.abs(pushed.value - directions @ solution.v).max() <= 1e-3 * polytope.size


def test_every_engine_says_when_a_set_is_empty():
    model = make_model(np.eye(2), np.ones(2), np.ones(2), np.ones(2))
    polytope = Polytope(model, norm=0.5, loss=0.1, start=np.zeros(2))
    for solver in ENGINES:
        pushed = push_many(polytope, np.eye(2), solver)
        assert not pushed.feasible.any()
        assert np.isnan(pushed.value).all()


@pytest.mark.parametrize("solver", ["batch", "cvxopt"])
@QUICK
@given(seed=st.integers(0, 10**6))
def test_bounds_on_variables(solver, seed):
    polytope, solution = random_polytope(seed, "ordinal", "explicit", "noisy", 0.05)
    model = polytope.model
    k = int(np.argmax(np.abs(solution.v[model.penalty > 0])))
    lower, upper = np.full(model.q, -np.inf), np.full(model.q, np.inf)
    full = ranges(polytope, [k], "batch")
    middle = 0.5 * (full.lower[0] + full.upper[0])
    directions = feature_directions(model)
    # fixed at a value, and kept within an interval that leaves the start out
    for low, high in ((middle, middle), (middle, full.upper[0] + 1.0)):
        lower[k], upper[k] = low, high
        cut = polytope.bounded(lower, upper)
        check(cut, directions, push_many(cut, directions, solver))
    lower[k], upper[k] = full.upper[0] + 0.1 * polytope.size, np.inf
    assert not push_many(polytope.bounded(lower, upper), directions[:1], solver).feasible[0]


@pytest.mark.parametrize("solver", ["batch", "cvxopt", "highs"])
@pytest.mark.parametrize("kind", ["noisy", "separable", "weights"])
def test_replaced_columns(solver, kind):
    for seed in range(3):
        polytope, _ = random_polytope(seed, "ordinal", "explicit", kind, 0.05)
        rng = np.random.default_rng(seed)
        model = polytope.model
        columns = []
        for _ in range(5):
            j = int(rng.integers((model.penalty > 0).sum()))
            columns.append((j, rng.choice([-1.0, 1.0], model.h.size) * np.abs(model.G[:, j])))
        found = push_columns(polytope, stacked(polytope.model, columns), solver)
        for i, (j, column) in enumerate(columns):
            G = model.G.copy()
            G[:, j] = column
            swapped = Polytope(
                make_model(G, model.h, model.c, model.penalty, A=model.A, a=model.a),
                norm=polytope.norm,
                loss=polytope.loss,
                start=polytope.start,
            )
            expected = [plain_max(swapped, sign * np.eye(model.q)[j]) for sign in (-1.0, 1.0)]
            assert found.feasible[i] == (expected[0] is not None)
            if found.feasible[i]:
                assert found.gap[i] <= 1e-6 * polytope.size
                assert abs(found.lower[i] + expected[0]) <= 1.5e-6 * polytope.size
                assert abs(found.upper[i] - expected[1]) <= 1.5e-6 * polytope.size


def test_unknown_solver_is_named():
    polytope, _ = random_polytope(0)
    with pytest.raises(OptionError, match="Did you mean 'cvxopt'"):
        push_many(polytope, np.eye(polytope.model.q)[:1], "cvxpot")


def stress(count, first=0):
    failures = []
    for i in range(first, first + count):
        family, order = FAMILIES[i % 4]
        kind = STEADY[(i // 4) % len(STEADY)]
        if not useful(i, family, order, kind):
            continue
        delta, tolerance = (0.001, 0.01, 0.1)[i % 3], ("split", "joint")[i % 2]
        polytope, solution = random_polytope(i, family, order, kind, delta, tolerance)
        directions = feature_directions(polytope.model)
        pushed = push_many(polytope, directions, "auto")
        if pushed.gap.max() > 1e-6 * polytope.size or not pushed.feasible.all():
            failures.append((i, family, order, kind, pushed.gap.max() / polytope.size))
        if solution.gap > 1e-7 * abs(solution.objective):
            failures.append((i, family, order, kind, "baseline", solution.gap))
    return failures


def test_stress_in_a_small_number():
    assert stress(150) == []


@pytest.mark.slow
def test_stress():
    assert stress(2000, first=1000) == []


def test_proofs_of_some_directions_at_a_time_are_those_of_all_together(monkeypatch):
    rng = np.random.default_rng(4)
    model = make_model(rng.normal(size=(40, 3)), np.ones(40), np.ones(40), np.array([1.0, 1.0, 0.0]))
    tope = Polytope(model, norm=2.0, loss=60.0, start=np.zeros(3))
    directions = np.vstack([np.eye(3), -np.eye(3)])
    whole = push_many(tope, directions, "batch")
    monkeypatch.setattr(dispatch, "AT_A_TIME", 80)
    parts = push_many(tope, directions, "batch")
    assert (whole.gap <= 1e-6 * tope.size).all()
    np.testing.assert_allclose(parts.bound, whole.bound, rtol=1e-12)
    np.testing.assert_allclose(parts.point, whole.point, rtol=1e-12)


def test_a_residual_of_rounding_does_not_keep_a_direction_going(monkeypatch):
    model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    core = reduce(Polytope(model, norm=1.0, loss=0.5)).core
    d = np.ones((1, 1))
    start = aimed(core, centred(core, np.array([[0.7]]), None), np.zeros(1, dtype=int), d, None)
    inner, seen = interior.residual_of, []

    def rounded(core, at, d, columns):
        seen.append(at.v[0, 0])
        # rounding comes anew with every look
        return inner(core, at, d, columns) + 1e-9 * (-1) ** len(seen)

    monkeypatch.setattr(interior, "residual_of", rounded)
    found = interior.solve(core, d, start, np.full(1, 1e-10))
    assert len(seen) < 40
    assert found.v[0, 0] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("tolerance", ["split", "joint"])
@pytest.mark.parametrize("seed", range(4))
def test_what_an_iterate_leaves_open_is_never_exceeded(seed, tolerance):
    polytope, _ = random_polytope(seed, delta=0.2, tolerance=tolerance)
    reduced = reduce(polytope)
    d = feature_directions(polytope.model)
    most = np.array([plain_max(polytope, one) for one in d])
    own = d[:, reduced.free] * reduced.unit
    inside = starts.prepare(polytope).v[None, :]
    centre = centred(reduced.core, inside, None)
    start = aimed(reduced.core, centre, np.zeros(len(d), dtype=int), own, None)
    lifted = []

    def rule(at, gap, lack):
        value = np.einsum("bq,bq->b", at.v, own[at.which])
        assert (value + gap + goals.OPEN * lack >= most[at.which] - 1e-9 * polytope.size).all()
        lifted.append(np.max(at.lift))
        return np.zeros(len(value), dtype=bool)

    found = interior.solve(reduced.core, own, start, np.full(len(d), 1e-9 * polytope.size), stop=rule)
    assert max(lifted) > 1.2
    value = np.einsum("bq,bq->b", found.v, own)
    np.testing.assert_allclose(value, most, atol=1e-6 * polytope.size)
    # what was lifted when a direction ended is so in its state
    assert np.max(np.abs(interior.residual_of(reduced.core, found, own, None))) < 1e-6


def test_proofs_of_very_many_rows_are_made_for_a_few_directions_at_a_time():
    """All directions at once take twelve times the memory of the rows."""
    rng = np.random.default_rng(0)
    G = np.column_stack([rng.normal(size=(200_000, 12)), np.ones(200_000)])
    penalty = np.append(np.ones(12), 0.0)
    tope = Polytope(
        make_model(G, np.ones(len(G)), np.full(len(G), 1e-5), penalty),
        norm=1.0,
        loss=2.0,
        start=np.append(np.full(12, 0.05), 0.5),
    )
    directions = np.vstack([np.eye(13)[:12], -np.eye(13)[:12]])
    B = len(directions)
    anchor = np.tile(tope.start, (B, 1))
    duals = Duals(np.ones((B, 2)), np.full((B, len(G)), 1e-6), np.zeros((B, 0)))
    answer = Answer(anchor + 0.01 * directions, duals, anchor, np.ones(B, dtype=bool))
    tracemalloc.start()
    try:
        found = dispatch.certified(tope, directions, answer, None, "batch")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.feasible.all() and np.isfinite(found.bound).all()
    assert peak < 8 * G.nbytes
