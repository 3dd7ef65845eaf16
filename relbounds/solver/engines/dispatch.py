"""Which engine answers which push, and what happens when its answer cannot be certified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from relbounds.solver.certificates import Replaced, dual_bound, inside
from relbounds.solver.engines.answer import Answer
from relbounds.solver.engines.batch import push_batch
from relbounds.solver.engines.cvxopt import push_cvxopt
from relbounds.solver.engines.highs import push_highs
from relbounds.solver.engines.simplex import push_simplex
from relbounds.solver.polytope import Polytope, Pushed, Ranges, check_solver
from relbounds.solver.replaced import Without, push_replaced, starts_for, swapped, without_each
from relbounds.solver.tolerances import PROMISED

Engine = Callable[[Polytope, np.ndarray], Answer]
# The first engine answers; the others are asked where its certificate leaves a gap.
ORDER: dict[str, tuple[str, ...]] = {
    "auto": ("batch", "cvxopt", "simplex"),
    "batch": ("batch", "cvxopt", "simplex"),
    "cvxopt": ("cvxopt", "batch", "simplex"),
    "highs": ("highs", "batch", "cvxopt", "simplex"),
}


def engines_for(solver: str) -> tuple[str, ...]:
    """Return the engines to ask, the first one first.

    Examples
    --------
    >>> engines_for("highs")
    ('highs', 'batch', 'cvxopt', 'simplex')
    """
    check_solver(solver)
    return ORDER[solver]


def engine_of(name: str) -> Engine:
    """Return the engine of a name.

    Examples
    --------
    >>> engine_of("batch") is push_batch
    True
    """
    return {"batch": push_batch, "cvxopt": push_cvxopt, "highs": push_highs, "simplex": push_simplex}[name]


def certified(
    polytope: Polytope, directions: np.ndarray, answer: Answer, columns: Replaced | None, name: str
) -> Pushed:
    """Return what an engine's answer proves: values at points inside, and bounds from repaired multipliers.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> answer = push_batch(tope, np.eye(1))
    >>> bool(certified(tope, np.eye(1), answer, None, "batch").gap[0] < 1e-6)
    True
    """
    points, good = inside(polytope, answer.points, answer.anchor, columns)
    bound = dual_bound(polytope, directions, answer.duals, columns)
    value = np.einsum("bq,bq->b", points, directions)
    # a point that keeps the budgets only up to rounding still tells where the optimum is
    value = np.where(good, value, np.minimum(np.einsum("bq,bq->b", answer.points, directions), bound))
    feasible = answer.feasible.copy()
    value, bound = np.where(feasible, value, np.nan), np.where(feasible, bound, np.nan)
    points = np.where(feasible[:, None], points, np.nan)
    # rounding may put a reached value a hair above its bound
    gap = np.where(feasible, np.maximum(bound - value, 0.0), 0.0)
    return Pushed(value, np.maximum(bound, value), points, gap, feasible, (name,) * len(value))


def push_many(polytope: Polytope, directions: np.ndarray, solver: str = "cvxopt") -> Pushed:
    """Return extreme values of ``direction . v`` over the polytope, with certificates.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.array([0.5]))
    >>> bool(abs(push_many(tope, np.eye(1)).value[0] - 1) < 1e-6)
    True
    """
    check_solver(solver)
    directions = np.atleast_2d(np.asarray(directions, dtype=float))
    first, *others = ORDER[solver]
    pushed = certified(polytope, directions, engine_of(first)(polytope, directions), None, first)
    for name in others:
        open_ = np.flatnonzero(pushed.gap > PROMISED * polytope.size)
        if not open_.size:
            break
        again = certified(
            polytope, directions[open_], engine_of(name)(polytope, directions[open_]), None, name
        )
        pushed = merge(pushed, open_, again)
    return pushed


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
    return Pushed(value, bound, point, gap, pushed.feasible, tuple(solver))


def push_columns(
    polytope: Polytope, columns: Sequence[tuple], solver: str = "cvxopt", without: Without | None = None
) -> Ranges:
    """Return the signed range of variable j for each problem whose column j of ``G`` is replaced.

    Parameters
    ----------
    polytope : Polytope
        The polytope of the unchanged data; its budgets are kept.
    columns : sequence of (int, ndarray of shape (R,)) or (int, ndarray, ndarray of shape (m,))
        Which variable, its new column of ``G`` and, where hard rows change too, of ``A``.
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
    >>> push_columns(tope, [(0, np.ones(1)), (0, np.zeros(1))]).feasible.tolist()
    [True, False]
    """
    check_solver(solver)
    model, k = polytope.model, len(columns)
    index = np.array([int(entry[0]) for entry in columns])
    G = np.array([np.asarray(entry[1], dtype=float) for entry in columns]).reshape(k, model.h.size)
    A = None
    if any(len(entry) > 2 for entry in columns):
        A = np.array([entry[2] if len(entry) > 2 else model.A[:, entry[0]] for entry in columns], dtype=float)
    replaced = Replaced(index, G, A)
    if without is None:
        without = without_each(polytope, index.tolist())
    if without.active is not None:
        polytope = replace(polytope, active=without.active)
    starts = starts_for(polytope, replaced, without)
    good = starts.good
    lower, upper, gap = np.full(k, np.nan), np.full(k, np.nan), np.zeros(k)
    names = ["none"] * k
    some = np.flatnonzero(good)
    if some.size:
        chosen = np.repeat(some, 2)
        directions = np.zeros((chosen.size, model.q))
        directions[np.arange(chosen.size), index[chosen]] = np.tile([-1.0, 1.0], some.size)
        part = replaced.take(chosen)
        if ORDER[solver][0] == "batch":
            answer = push_replaced(polytope, starts, chosen, part, directions)
            pushed = certified(polytope, directions, answer, part, "batch")
        else:
            pieces = [
                push_many(
                    swapped(polytope, replaced, int(i), starts.points[i]),
                    directions[2 * j : 2 * j + 2],
                    solver,
                )
                for j, i in enumerate(some)
            ]
            value, bound, point, gap_, feasible = (
                np.concatenate([getattr(x, name) for x in pieces]) for name in PARTS
            )
            names_ = tuple(name for x in pieces for name in x.solver)
            pushed = Pushed(value, bound, point, gap_, feasible, names_)
        open_ = np.flatnonzero(pushed.gap > PROMISED * polytope.size)
        for i in open_:
            single = swapped(polytope, replaced, int(chosen[i]), starts.points[chosen[i]])
            other = push_many(single, directions[i : i + 1], "cvxopt")
            pushed = merge(pushed, np.array([i]), other)
        lower[some], upper[some] = -pushed.value[0::2], pushed.value[1::2]
        gap[some] = np.maximum(pushed.gap[0::2], pushed.gap[1::2])
        for j, i in enumerate(some):
            names[i] = pushed.solver[2 * j]
    return Ranges(lower, upper, gap, good, tuple(names))


PARTS = ("value", "bound", "point", "gap", "feasible")


def ranges(polytope: Polytope, variables: Sequence[int], solver: str = "cvxopt") -> Ranges:
    """Return the signed range of each of some variables over the polytope.

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
    pushed = push_many(polytope, directions, solver)
    return Ranges(
        lower=-pushed.value[0::2],
        upper=pushed.value[1::2],
        gap=np.maximum(pushed.gap[0::2], pushed.gap[1::2]),
        feasible=pushed.feasible[0::2] & pushed.feasible[1::2],
        solver=pushed.solver[0::2],
    )
