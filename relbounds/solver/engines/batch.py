"""All directions of a fit in a few vectorised interior-point runs on active rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.active_rows import FEW, Smaller, crossed_rows, smaller
from relbounds.solver.centre import ahead_of, aimed, centred
from relbounds.solver.certificates import repaired
from relbounds.solver.core import Core, State
from relbounds.solver.engines.answer import Answer, empty_answer
from relbounds.solver.engines.registry import Engine
from relbounds.solver.engines.simplex import push_simplex
from relbounds.solver.few_columns import (
    LOOK,
    ask_to_join,
    is_wide,
    needed_columns,
    on_few_columns,
    uses_few,
    with_columns,
)
from relbounds.solver.goals import Goals
from relbounds.solver.hard_rows import near_hard_rows, ready_with
from relbounds.solver.near_rows import is_large, push_near
from relbounds.solver.newton import reach_of_rows
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals, Reduced, is_lossless, reduce
from relbounds.solver.starts import Ready, balanced, prepare
from relbounds.solver.tolerances import FINE, PROMISED, TOUCHING
from relbounds.solver.wide_sets import WideSet, push_wide, wide_set

# Entries of one array that fit the caches, and directions that keep a matrix product busy.
ENTRIES = 100_000
FEWEST, MOST = 8, 128
# Rows count as active within this many standard widths of the set: fewer are solved for again, more cost time in every
# iteration. Beyond this share of rows, all do.
WIDTHS, MOST_ACTIVE = 0.4, 0.6
# Where the start uses more of the columns than this, leaving out the others saves less than adding some of them costs.
MOST_NEEDED = 0.8
# Entries of the hard rows from which on it pays to look for those that the set comes near.
MANY = 60_000
# With so few rows, and few directions or many columns, leaving rows out saves less than solving again with more of them
# costs.
FEW_ROWS, FEW_DIRECTIONS, MANY_COLUMNS = 1000, 12, 64


def chunk_size(rows: int) -> int:
    """Return how many directions to run together.

    Examples
    --------
    >>> chunk_size(1000), chunk_size(100_000)
    (100, 8)
    """
    return int(np.clip(ENTRIES // max(rows, 1), FEWEST, MOST))


def guess_active(ready: Ready, least: float = 0.0) -> np.ndarray:
    """Return the rows that the set is wide enough to move across their kink.

    The Hessian of the barrier at the start says how far the set reaches along each row, up to a factor of about
    the square root of the number of rows. At least the share `least` of the rows is taken, the nearest first.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> guess_active(prepare(Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7])))).tolist()
    [True]
    """
    polytope, core = ready.polytope, ready.reduced.core
    R = polytope.model.h.size
    if polytope.active is not None and (not least or polytope.active.mean() >= least):
        return polytope.active.copy()
    every = np.ones(R, dtype=bool)
    if FEW >= R or is_lossless(polytope):
        return every
    v = ready.v[None, :]
    count = 2 * core.pen.size + 2 * core.h.size + core.a.size + core.B.size
    with np.errstate(all="ignore"):
        state = balanced(core, v, np.array([float(count)]), None)
        reach = reach_of_rows(core, state)
    margin = np.abs(core.G @ ready.v - core.h)
    active = np.zeros(R, dtype=bool)
    with np.errstate(all="ignore"):
        distance = np.nan_to_num(margin / (np.sqrt(R) * reach), nan=0.0)
    active[ready.reduced.rows] = distance <= max(WIDTHS, float(np.quantile(distance, least)))
    return active if active.mean() <= MOST_ACTIVE else every


def share_active(polytope: Polytope) -> Polytope:
    """Return the polytope with its active rows worked out once for all pushes to come.

    Of many columns a push uses few, and sees for itself which of not too many rows these move.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> share_active(Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))).active.tolist()
    [True]
    """
    if polytope.model.h.size <= FEW:
        # all of them are active: that takes no point inside
        return replace(polytope, active=np.ones(polytope.model.h.size, dtype=bool))
    if is_wide(polytope) and polytope.model.h.size <= FEW_ROWS:
        return polytope
    ready = prepare(polytope)
    return replace(polytope, active=guess_active(ready)) if ready.feasible and ready.interior else polytope


def run_centred(
    core: Core, d: np.ndarray, v: np.ndarray, gap: float, stop: interior.Stop | None = None
) -> State:
    """Push along `d` from the middle of the set that holds the point `v` (1, q), all in core units."""
    start = aimed(core, centred(core, v, None), np.zeros(len(d), dtype=int), d, None)
    return interior.solve(core, d, start, np.full(len(d), gap), stop=stop)


def farthest(polytope: Polytope, directions: np.ndarray) -> np.ndarray | None:
    """Return about how far each direction goes, as the middle of the set tells; None where it has no room inside.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.array([[1.0, 0.1]]), np.ones(1), np.ones(1), np.ones(2))
    >>> ahead = farthest(Polytope(model, norm=1.5, loss=0.5, start=np.array([1.0, 0.0])), np.eye(2))
    >>> bool(ahead[0] > ahead[1])
    True
    """
    ready = prepare(polytope)
    if not (ready.feasible and ready.interior):
        return None
    small = smaller(ready.polytope, guess_active(ready))
    reduced = ready.reduced if small.active.all() else reduce(small.polytope)
    core, v = reduced.core, reduced.into(ready.reduced.back(ready.v[None, :]))
    d = directions[:, reduced.free] * reduced.unit
    found: np.ndarray = ahead_of(core, centred(core, v, None), d, None)[0] + directions @ reduced.origin
    return found


def push_batch(
    polytope: Polytope,
    directions: np.ndarray,
    goals: Goals | None = None,
    gap: float | None = None,
    looked: Duals | None = None,
) -> Answer:
    """Return points and multipliers for many directions; those that reach their goals may be left unfinished.

    A direction is finished when its gap is this share of the norm, the usual one by default. `looked` are multipliers
    of a rough look at the directions with the columns of the start and their own, where there are many.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> np.round(push_batch(tope, np.array([[1.0], [-1.0]])).points.ravel(), 5).tolist()
    [1.0, 0.5]
    """
    if uses_few(polytope) and needed_columns(polytope).mean() <= MOST_NEEDED:
        answer = None
        race = goals is None or goals.is_race
        wide = wide_set(polytope) if gap is None and race else None
        if wide is not None:
            looked = _look(polytope, directions) if looked is None else looked
            pull = wide.pulls(directions, looked)
            if not wide.is_shared(directions, pull):
                answer = _push_each(wide, directions, goals, pull)
        if answer is None:
            answer = _push_few(polytope, directions, goals, looked)
        if answer is not None:
            return answer
    if gap is None:
        gap = FINE if goals is None else FINE * goals.accuracy / PROMISED
    return _push_all(polytope, directions, goals, gap)


def _look(polytope: Polytope, directions: np.ndarray) -> Duals:
    """Return multipliers of a rough look at directions with the columns of the start and their own."""
    chosen = needed_columns(polytope) | (directions != 0).any(axis=0)
    return _push_all(with_columns(polytope, chosen), directions[:, chosen], None, LOOK).duals


def _push_each(wide: WideSet, directions: np.ndarray, goals: Goals | None, pull: np.ndarray) -> Answer:
    """Push each direction on columns of its own, and those that do not end well on all of them."""
    polytope = wide.polytope
    points, duals, settled = push_wide(
        wide, directions, pull, lambda: _push_all(polytope, directions, None, LOOK).duals, goals
    )
    anchor = np.repeat(wide.reduced.back(wide.begin), len(directions), axis=0)
    left = np.flatnonzero(~settled)
    if left.size:
        own = None if goals is None else goals.take(left)
        accuracy = PROMISED if goals is None else goals.accuracy
        rest = _push_all(polytope, directions[left], own, FINE * accuracy / PROMISED)
        if goals is not None and own is not None:
            goals.put(left, own)
        points[left] = rest.points
        duals.put(left, rest.duals)
    return Answer(points, duals, anchor, np.ones(len(directions), dtype=bool))


def _push_few(
    polytope: Polytope, directions: np.ndarray, goals: Goals | None, looked: Duals | None
) -> Answer | None:
    """Push with few columns; None where these alone leave the set empty."""
    anchor = np.zeros((1, polytope.model.q))
    empty, active = False, polytope.active

    def solve(some: np.ndarray, chosen: np.ndarray, gap: float) -> tuple[np.ndarray, Duals]:
        nonlocal empty, active
        few = directions[np.ix_(some, np.flatnonzero(chosen))]
        own = None if goals is None else goals.take(some)
        fewer = replace(with_columns(polytope, chosen), active=active)
        answer = _push_all(fewer, few, own, gap)
        # rows that were seen to move move again when columns join
        crossed = crossed_rows(fewer, answer.points)
        active = active if crossed is None or active is None else active | crossed
        if goals is not None and own is not None:
            goals.put(some, own)
        anchor[:, chosen] = answer.anchor[:1]
        empty = empty or not answer.feasible.all()
        return answer.points, answer.duals

    def settled(some: np.ndarray, duals: Duals) -> tuple[np.ndarray, Duals]:
        if goals is not None and goals.below is not None:
            enough = goals.below[some]
            duals, bound = repaired(polytope, directions[some], duals, enough=enough)
            return bound <= enough, duals
        if goals is not None and goals.past < np.inf:
            return goals.stopped[some], duals
        return np.zeros(some.size, dtype=bool), duals

    accuracy = PROMISED if goals is None else goals.accuracy
    ends = None if goals is None else settled
    first = None
    if looked is not None:
        chosen = needed_columns(polytope) | (directions != 0).any(axis=0)
        first = ask_to_join(polytope, directions, looked, chosen, accuracy)[0]
    points, duals = on_few_columns(polytope, directions, solve, None, ends, accuracy, first)
    B = len(directions)
    return None if empty else Answer(points, duals, np.repeat(anchor, B, axis=0), np.ones(B, dtype=bool))


def _push_all(
    polytope: Polytope, directions: np.ndarray, goals: Goals | None = None, gap: float = FINE
) -> Answer:
    """Push with all columns, until the gap is this share of the norm."""
    ready = prepare(polytope)
    B = len(directions)
    if not ready.feasible:
        return empty_answer(polytope, B, ready.proof)
    if not ready.interior:
        return push_simplex(polytope, directions)
    anchor = ready.reduced.back(ready.v[None, :])
    if is_large(ready.polytope):
        points, duals = push_near(ready.polytope, directions, anchor[0])
        return Answer(points, duals, np.repeat(anchor, B, axis=0), np.ones(B, dtype=bool))

    model = polytope.model
    points = np.empty((B, model.q))
    K = polytope.budgets[2].size
    duals = Duals(np.empty((B, K)), np.empty((B, model.h.size)), np.zeros((B, model.a.size)))
    rows, pending = np.arange(model.a.size), np.arange(B)
    if model.A.size >= MANY:
        rows, ready = near_hard_rows(ready)
    while pending.size:
        own = None if goals is None else goals.take(pending)
        found, part = _push_ready(ready_with(ready, rows), directions[pending], own, gap)
        points[pending], duals.lam[pending], duals.beta[pending] = found, part.lam, part.beta
        duals.alpha[np.ix_(pending, rows)] = part.alpha
        if goals is not None and own is not None:
            goals.put(pending, own)
        if rows.size == model.a.size:
            break
        broken = found @ model.A.T < model.a - TOUCHING * model.height
        if own is not None:
            # what fewer rows prove to fall short falls short with all of them
            broken[own.stopped] = False
        rows, pending = np.union1d(rows, np.flatnonzero(broken.any(axis=0))), pending[broken.any(axis=1)]
    return Answer(points, duals, np.repeat(anchor, B, axis=0), np.ones(B, dtype=bool))


def _push_ready(
    ready: Ready, directions: np.ndarray, goals: Goals | None, gap: float
) -> tuple[np.ndarray, Duals]:
    """Return points and multipliers, on the loss rows that matter."""
    anchor = ready.reduced.back(ready.v[None, :])

    def solve(some: np.ndarray, small: Smaller, reduced: Reduced) -> tuple[np.ndarray, Duals]:
        d = directions[some][:, reduced.free] * reduced.unit
        stop = None if goals is None else goals.stop(some, d, directions[some] @ reduced.origin)
        # from the middle all directions take fewer steps, and free variables balance: bounds are proved early
        state = run_centred(reduced.core, d, reduced.into(anchor), gap * ready.polytope.size, stop)
        return reduced.back(state.v), reduced.duals(state.z4, state.alpha, state.lam)

    return on_active_rows(
        ready,
        len(directions),
        solve,
        lambda some, v: v @ ready.polytope.model.G.T,
        None if goals is None else goals.stopped,
        # what rows left out take is told as well as the gap, which is finer than what it stands for
        rough=gap * PROMISED / FINE if gap > FINE else 0.0,
    )


def on_active_rows(
    ready: Ready,
    count: int,
    solve: Callable[[np.ndarray, Smaller, Reduced], tuple[np.ndarray, Duals]],
    products: Callable[[np.ndarray, np.ndarray], np.ndarray],
    stopped: np.ndarray | None = None,
    rough: float = 0.0,
) -> tuple[np.ndarray, Duals]:
    """Return points and multipliers of `count` problems, solved on active rows until no other row matters.

    Parameters
    ----------
    ready : Ready
        The whole set.
    count : int
        Number of problems.
    solve : callable
        ``solve(some, small, reduced)`` gives points and multipliers of the problems `some` on fewer rows.
    products : callable
        ``products(some, points)`` gives ``G v`` on all rows.
    stopped : ndarray of bool, optional
        Problems that ended early, kept up to date by `solve`.
    rough : float, optional
        Rows left out do not matter where their loss takes no more than this share of the budget's room.
    """
    model = ready.polytope.model
    p, l, B = ready.polytope.budgets
    inner = ready.reduced.back(ready.v[None, :])[0]
    room = B[-1] - p[-1] * model.penalty_of(inner) - l[-1] * model.loss_of(inner)
    points = np.empty((count, model.q))
    duals = Duals(np.empty((count, B.size)), np.empty((count, model.h.size)), np.empty((count, model.a.size)))
    few = model.h.size <= FEW_ROWS and (
        count <= FEW_DIRECTIONS or (model.q >= MANY_COLUMNS and stopped is None)
    )
    active = np.ones(model.h.size, dtype=bool) if few else guess_active(ready)
    pending = np.arange(count)
    while pending.size:
        small = smaller(ready.polytope, active)
        reduced = ready.reduced if active.all() else reduce(small.polytope)
        most = chunk_size(reduced.core.h.size + reduced.core.a.size)
        step = -(-pending.size // -(-pending.size // most))
        again, wrong_rows = [], np.zeros(model.h.size, dtype=bool)
        for first in range(0, pending.size, step):
            some = pending[first : first + step]
            found, own = solve(some, small, reduced)
            full = small.duals(own, own.lam @ l, model.c)
            points[some] = found
            for name in ("lam", "beta", "alpha"):
                getattr(duals, name)[some] = getattr(full, name)
            if not active.all():
                Gv = products(some, found)
                wrong = small.wrong_at(ready.polytope, Gv)
                if rough:
                    missed = l[-1] * (np.abs(Gv - model.h) * wrong) @ model.c
                    wrong[missed <= rough * room] = False
                if stopped is not None:
                    # what fewer rows prove to fall short falls short with all of them
                    wrong[stopped[some]] = False
                wrong_rows |= wrong.any(axis=0)
                again.append(some[wrong.any(axis=1)])
        active = active | wrong_rows
        if not active.size or active.mean() > MOST_ACTIVE:
            active[:] = True
        pending = np.concatenate(again) if again else pending[:0]
    return points, duals


def join(parts: list[Duals]) -> Duals:
    """Return the multipliers of several runs as one."""
    return Duals(*(np.vstack([getattr(part, name) for part in parts]) for name in ("lam", "beta", "alpha")))


# a set too thin for one interior point is too thin for another; a vertex of it is a vertex
ENGINE = Engine("batch", push_batch, then=("simplex", "cvxopt"))
