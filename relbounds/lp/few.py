"""Few variables, many hard rows: only rows that may bind are worked on, and every answer is checked on all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relbounds.lp.engines import push_many, ranges
from relbounds.lp.problem import Polytope, Ranges

# Rows to begin with, per variable; fewer rows than this are not worth the trouble.
FIRST, WORTH = 4, 8
MOST_ROUNDS = 6
# How far a point may break a row that was left out, relative to the row's size.
KEPT = 1e-10


def nearest_rows(polytope: Polytope) -> np.ndarray | None:
    """Return the hard rows with least room at the start, None where leaving out the others is not worth it.

    Examples
    --------
    >>> from relbounds.lp.problem import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1), A=np.ones((9, 1)), a=-np.arange(9.0))
    >>> nearest_rows(Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))).tolist()
    [0, 1, 2, 3]
    """
    model = polytope.model
    if model.a.size <= WORTH * model.q:
        return None
    room = model.A @ polytope.start - model.a
    return np.sort(np.argsort(room, kind="stable")[: FIRST * model.q])


def with_rows(polytope: Polytope, rows: np.ndarray) -> Polytope:
    """Return the polytope with some of its hard rows only: a set that holds the whole one."""
    model = polytope.model
    return replace(polytope, model=replace(model, A=model.A[rows], a=model.a[rows]))


def broken(polytope: Polytope, points: np.ndarray) -> np.ndarray:
    """Return which hard rows (columns) each point (rows) breaks."""
    model = polytope.model
    return points @ model.A.T < model.a - KEPT * (1.0 + np.abs(model.a))


def ranges_few(polytope: Polytope, variables: Sequence[int], solver: str) -> Ranges:
    """Return signed ranges as :func:`relbounds.lp.engines.ranges` does, from as few hard rows as prove enough.

    Bounds of the larger set hold for the whole one; values count once their points keep every row.

    Examples
    --------
    >>> from relbounds.lp.problem import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1), A=np.ones((9, 1)), a=-np.arange(9.0))
    >>> ranges_few(Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7])), [0], "batch").upper.round(5).tolist()
    [1.0]
    """
    rows = nearest_rows(polytope)
    if rows is None:
        return ranges(polytope, variables, solver)
    index = np.asarray(variables, dtype=int)
    k = index.size
    directions = np.zeros((2 * k, polytope.model.q))
    directions[np.arange(k), index] = -1.0
    directions[k + np.arange(k), index] = 1.0
    value, gap = np.zeros(2 * k), np.zeros(2 * k)
    feasible, names = np.zeros(2 * k, dtype=bool), ["none"] * (2 * k)
    pending = np.arange(2 * k)
    for round_ in range(MOST_ROUNDS):
        last = round_ == MOST_ROUNDS - 1
        small = polytope if last else with_rows(polytope, rows)
        pushed = push_many(small, directions[pending], solver)
        wrong = broken(polytope, np.nan_to_num(pushed.point))
        wrong[~pushed.feasible] = False
        value[pending], gap[pending], feasible[pending] = pushed.value, pushed.gap, pushed.feasible
        for i, name in zip(pending, pushed.solver, strict=True):
            names[i] = name
        if last or not wrong.any():
            break
        rows = np.union1d(rows, np.flatnonzero(wrong.any(axis=0)))
        pending = pending[wrong.any(axis=1)]
    pairs = zip(names[:k], names[k:], strict=True)
    return Ranges(
        lower=-value[:k],
        upper=value[k:],
        gap=np.maximum(gap[:k], gap[k:]),
        feasible=feasible[:k] & feasible[k:],
        solver=tuple(one if one == two else f"{one}+{two}" for one, two in pairs),
    )
