"""Which engine answers which push, and what happens when its answer cannot be certified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relbounds.solver.certificates import dual_bound, inside
from relbounds.solver.columns import Columns
from relbounds.solver.copies import push_apart
from relbounds.solver.engines.answer import Answer
from relbounds.solver.engines.batch import push_batch
from relbounds.solver.engines.registry import engines_for, find_engine
from relbounds.solver.goals import make_goals
from relbounds.solver.polytope import Polytope, Pushed, Ranges
from relbounds.solver.reduced import Duals
from relbounds.solver.replaced import Starts, Without, push_replaced, starts_for, swapped, without_each
from relbounds.solver.tolerances import PROMISED

# Entries of all loss rows and directions that are proved at a time: a matter of memory and of nothing else.
AT_A_TIME = 2_000_000


def certified(
    polytope: Polytope,
    directions: np.ndarray,
    answer: Answer,
    columns: Columns | None,
    name: str,
    enough: np.ndarray | None = None,
) -> Pushed:
    """Return what an engine's answer proves: values at points inside, and bounds from repaired multipliers.

    Bounds that are at most `enough` are not made any better.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> answer = find_engine("batch").push(tope, np.eye(1))
    >>> bool(certified(tope, np.eye(1), answer, None, "batch").gap[0] < 1e-6)
    True
    """
    points, good, bound = _proved(polytope, directions, answer, columns, enough)
    value = np.einsum("bq,bq->b", points, directions)
    # a point that keeps the budgets only up to rounding still tells where the optimum is
    value = np.where(good, value, np.minimum(np.einsum("bq,bq->b", answer.points, directions), bound))
    feasible = answer.feasible.copy()
    value, bound = np.where(feasible, value, np.nan), np.where(feasible, bound, np.nan)
    points = np.where(feasible[:, None], points, np.nan)
    # rounding may put a reached value a hair above its bound
    gap = np.where(feasible, np.maximum(bound - value, 0.0), 0.0)
    return Pushed(value, np.maximum(bound, value), points, gap, feasible, (name,) * len(value))


def _proved(
    polytope: Polytope,
    directions: np.ndarray,
    answer: Answer,
    columns: Columns | None,
    enough: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points inside, whether they are, and bounds; some directions at a time where rows are very many."""
    each = max(1, AT_A_TIME // max(1, len(polytope.model.h)))
    if columns is not None or len(directions) <= each:
        points, good = inside(polytope, answer.points, answer.anchor, columns)
        return points, good, dual_bound(polytope, directions, answer.duals, columns, enough)
    pieces = []
    for first in range(0, len(directions), each):
        some = slice(first, first + each)
        points, good = inside(polytope, answer.points[some], answer.anchor[some])
        duals = Duals(answer.duals.lam[some], answer.duals.beta[some], answer.duals.alpha[some])
        limit = None if enough is None else enough[some]
        pieces.append((points, good, dual_bound(polytope, directions[some], duals, enough=limit)))
    points, good, bound = (np.concatenate(each) for each in zip(*pieces, strict=True))
    return points, good, bound


def push_many(
    polytope: Polytope,
    directions: np.ndarray,
    solver: str = "cvxopt",
    *,
    below: float | np.ndarray | None = None,
) -> Pushed:
    """Return extreme values of ``direction . v`` over the polytope, with certificates.

    Parameters
    ----------
    polytope : Polytope
        The set.
    directions : ndarray, shape (k, q)
        Directions.
    solver : str, optional
        The engine to ask first.
    below : float or ndarray, shape (k,), optional
        A direction may stop as soon as its maximum is proved to be at most this; `stopped` says which did.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.array([0.5]))
    >>> bool(abs(push_many(tope, np.eye(1)).value[0] - 1) < 1e-6)
    True
    >>> found = push_many(tope, np.eye(1), "batch", below=5.0)
    >>> bool(found.bound[0] <= 5), found.stopped.tolist()
    (True, [True])
    """
    engines = engines_for(solver)
    directions = np.atleast_2d(np.asarray(directions, dtype=float))
    if below is not None and engines[0].name == "batch":
        return _push_below(polytope, directions, solver, np.broadcast_to(below, len(directions)))
    first, *others = engines
    pushed = certified(polytope, directions, push_apart(first.push, polytope, directions), None, first.name)
    for other in others:
        open_ = np.flatnonzero(pushed.gap > PROMISED * polytope.size)
        if not open_.size:
            break
        answer = other.push(polytope, directions[open_])
        again = certified(polytope, directions[open_], answer, None, other.name)
        pushed = merge(pushed, open_, again)
    return pushed


def push_roughly(polytope: Polytope, directions: np.ndarray, gap: float) -> Pushed:
    """Return values of ``direction . v`` at points of the polytope, about this share of the norm from the extremes.

    `bound` and `gap` say what is proved, as ever; where that is less than asked for, no other engine is tried.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.array([0.5]))
    >>> bool(abs(push_roughly(tope, np.eye(1), 1e-3).value[0] - 1) < 1e-2)
    True
    """
    directions = np.atleast_2d(np.asarray(directions, dtype=float))
    return certified(polytope, directions, push_batch(polytope, directions, None, gap), None, "batch")


def _push_below(polytope: Polytope, directions: np.ndarray, solver: str, below: np.ndarray) -> Pushed:
    """Push until directions are proved to stay below a value; those that are not go all the way."""
    goals = make_goals(len(directions), below)
    answer = push_batch(polytope, directions, goals)
    pushed = certified(polytope, directions, answer, None, "batch", below)
    stopped = (pushed.bound <= below) & (pushed.gap > PROMISED * polytope.size)
    rest = np.flatnonzero((pushed.gap > PROMISED * polytope.size) & ~stopped)
    if rest.size:
        pushed = merge(pushed, rest, push_many(polytope, directions[rest], solver))
    return replace(pushed, stopped=stopped)


def push_past(polytope: Polytope, directions: np.ndarray, enough: float, solver: str = "cvxopt") -> Pushed:
    """Push directions until they reach more than a given value; those that do not go all the way.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> found = push_past(tope, np.array([[1.0], [-1.0]]), 0.0, "batch").value
    >>> bool(found[0] > 0), round(float(found[1]), 5)
    (True, -0.5)
    """
    if find_engine(solver).name != "batch":
        return push_many(polytope, directions, solver)
    answer = push_batch(polytope, directions, make_goals(len(directions), past=enough))
    pushed = certified(polytope, directions, answer, None, "batch")
    rest = np.flatnonzero((pushed.value <= enough) & (pushed.gap > PROMISED * polytope.size))
    return merge(pushed, rest, push_many(polytope, directions[rest], solver)) if rest.size else pushed


def merge(pushed: Pushed, where: np.ndarray, again: Pushed) -> Pushed:
    """Return the better of two certificates for each direction solved again: values and bounds both count.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> a = Pushed(one, 3 * one, one[:, None], 2 * one, one > 0, ("batch",))
    >>> b = Pushed(0 * one, 2 * one, one[:, None], 2 * one, one > 0, ("cvxopt",))
    >>> merge(a, np.array([0]), b).gap.tolist()
    [1.0]
    """
    value, bound, point = pushed.value.copy(), pushed.bound.copy(), pushed.point.copy()
    gap, solver = pushed.gap.copy(), list(pushed.solver)
    for i, k in enumerate(where):
        if not again.feasible[i]:
            continue
        if again.value[i] > value[k]:
            value[k], point[k] = again.value[i], again.point[i]
        bound[k] = min(bound[k], again.bound[i])
        if again.gap[i] < gap[k]:
            solver[k] = again.solver[i]
        gap[k] = max(bound[k] - value[k], 0.0)
    return Pushed(value, bound, point, gap, pushed.feasible, tuple(solver), pushed.stopped)


def push_columns(
    polytope: Polytope, replaced: Columns, solver: str = "cvxopt", without: Without | None = None
) -> Ranges:
    """Return the signed range of a variable for each problem in which its column is replaced.

    Parameters
    ----------
    polytope : Polytope
        The polytope of the unchanged data; its budgets are kept.
    replaced : Columns
        One column for each problem.
    solver : str, optional
        Engine.
    without : Without, optional
        What :func:`relbounds.solver.replaced.without_each` found for these variables; worked out here if not given.

    Returns
    -------
    Ranges
        `feasible` is False, and the range nan, where no model keeps the budgets.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> two = Columns(np.zeros((2, 1), dtype=int), np.array([[[1.0]], [[0.0]]]))
    >>> push_columns(tope, two).feasible.tolist()
    [True, False]
    """
    engine, k = find_engine(solver), len(replaced)
    index = replaced.index[:, 0]
    if without is None:
        without = without_each(polytope, index.tolist())
    if without.active is not None:
        polytope = replace(polytope, active=without.active)
    starts = starts_for(polytope, replaced, without)
    some = np.flatnonzero(starts.good)
    lower, upper, gap = np.full(k, np.nan), np.full(k, np.nan), np.zeros(k)
    names = ["none"] * k
    if some.size:
        chosen = np.repeat(some, 2)
        directions = np.zeros((chosen.size, polytope.model.q))
        directions[np.arange(chosen.size), index[chosen]] = np.tile([-1.0, 1.0], some.size)
        push = _together if engine.name == "batch" else _one_by_one
        pushed = push(polytope, starts, chosen, replaced, directions, solver)
        for i in np.flatnonzero(pushed.gap > PROMISED * polytope.size):
            single = swapped(polytope, replaced, int(chosen[i]), starts.points[chosen[i]])
            other = push_many(single, directions[i : i + 1], "cvxopt")
            pushed = merge(pushed, np.array([i]), other)
        lower[some], upper[some] = -pushed.value[0::2], pushed.value[1::2]
        gap[some] = np.maximum(pushed.gap[0::2], pushed.gap[1::2])
        for j, i in enumerate(some):
            names[i] = pushed.solver[2 * j]
    return Ranges(lower, upper, gap, starts.good, tuple(names))


def _together(
    polytope: Polytope, starts: Starts, which: np.ndarray, replaced: Columns, directions: np.ndarray, _: str
) -> Pushed:
    """Push all problems in one batch."""
    part = replaced.take(which)
    answer = push_replaced(polytope, starts, which, part, directions)
    return certified(polytope, directions, answer, part, "batch")


def _one_by_one(
    polytope: Polytope,
    starts: Starts,
    which: np.ndarray,
    replaced: Columns,
    directions: np.ndarray,
    solver: str,
) -> Pushed:
    """Push every problem on its own, both directions of it together."""
    pieces = [
        push_many(
            swapped(polytope, replaced, int(i), starts.points[i]), directions[2 * j : 2 * j + 2], solver
        )
        for j, i in enumerate(which[0::2])
    ]
    value, bound, point, gap, feasible = (
        np.concatenate([getattr(piece, name) for piece in pieces]) for name in PARTS
    )
    return Pushed(
        value, bound, point, gap, feasible, tuple(name for piece in pieces for name in piece.solver)
    )


PARTS = ("value", "bound", "point", "gap", "feasible")


def ranges(
    polytope: Polytope, variables: Sequence[int], solver: str = "cvxopt", *, below: float | None = None
) -> Ranges:
    """Return the signed range of each of some variables over the polytope.

    With `below`, a variable whose absolute value is proved to be at most this need not be driven to its ends: the
    ends given are then proved limits, and `at_most` says so.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> found = ranges(Polytope(model, norm=2.0, loss=0.5, start=np.array([1.0])), [0])
    >>> np.round(found.lower, 5).tolist(), np.round(found.upper, 5).tolist()
    ([0.5], [2.0])
    """
    index = np.asarray(variables, dtype=int)
    k = index.size
    directions = np.zeros((2 * k, polytope.model.q))
    directions[2 * np.arange(k), index] = -1.0
    directions[2 * np.arange(k) + 1, index] = 1.0
    pushed = push_many(polytope, directions, solver, below=below)
    if pushed.stopped is not None:
        # a variable that exceeds the limit at one end is given in full
        half = np.flatnonzero(pushed.stopped & ~pushed.stopped.reshape(-1, 2)[:, ::-1].ravel())
        if half.size:
            stopped = pushed.stopped.copy()
            stopped[half] = False
            pushed = merge(pushed, half, push_many(polytope, directions[half], solver))
            pushed = replace(pushed, stopped=stopped)
    ends, at_most = pushed.value, None
    if pushed.stopped is not None:
        ends = np.where(pushed.stopped, pushed.bound, ends)
        at_most = pushed.stopped[0::2] & pushed.stopped[1::2]
        pushed = replace(pushed, gap=np.where(pushed.stopped, 0.0, pushed.gap))
    return Ranges(
        lower=-ends[0::2],
        upper=ends[1::2],
        gap=np.maximum(pushed.gap[0::2], pushed.gap[1::2]),
        feasible=pushed.feasible[0::2] & pushed.feasible[1::2],
        solver=pushed.solver[0::2],
        at_most=at_most,
    )
