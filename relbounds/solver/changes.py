"""Polytopes that differ from a common one in a few columns: probes of features that own several variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relbounds.solver.columns import Columns, join_columns, new_columns, put_columns, stack_columns
from relbounds.solver.engines.dispatch import push_columns, ranges
from relbounds.solver.model import Model
from relbounds.solver.polytope import Polytope, Ranges
from relbounds.solver.races import Begun, Gone, begin_several, push_several, without_several
from relbounds.solver.replaced import Without, without_each
from relbounds.solver.tolerances import PROMISED


def push_changes(
    polytope: Polytope,
    changes: Sequence[Columns],
    solver: str = "cvxopt",
    without: Without | Gone | None = None,
) -> list[Ranges]:
    """Return the ranges of the changed variables, for each change on its own; the budgets are kept.

    They serve to tell how far from 0 the variables of a change can be: for models with correcting functions, ends
    that are nearer to 0 than another one of the same change may not be driven all the way
    (:func:`relbounds.solver.races.push_several`).

    Examples
    --------
    >>> from relbounds.solver.columns import new_columns
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.5]))
    >>> found = push_changes(tope, [new_columns((0,), np.ones((1, 1))), new_columns((0,), np.zeros((1, 1)))])
    >>> [part.feasible.tolist() for part in found]
    [[True], [False]]
    """
    single = all(len(change.variables) == 1 and change.linear is None for change in changes)
    # few variables and many hard rows: the batch serves such models best, whichever engine is asked for first
    if single and polytope.model.inner is None:
        assert not isinstance(without, Gone)
        pushed = push_columns(polytope, stack_columns(changes, polytope.model), solver, without)
        return [_entry(pushed, slice(i, i + 1)) for i in range(len(changes))]
    if len({len(change.variables) for change in changes}) == 1:
        begun = begin_changes(polytope, changes, without if isinstance(without, Gone) else None)
        if begun is not None:
            return push_begun(polytope, begun, solver)
    return [_alone(polytope, change, solver) for change in changes]


def begin_changes(polytope: Polytope, changes: Sequence[Columns], gone: Gone | None) -> Begun | None:
    """Return which changes of equally many variables leave a point, and where pushes begin; None if that is not told.

    Examples
    --------
    >>> from relbounds.solver.columns import new_columns
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1), inner=np.zeros(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> changes = [new_columns((0,), np.ones((1, 1))), new_columns((0,), np.zeros((1, 1)))]
    >>> begin_changes(tope, changes, leave_out(tope, np.zeros((1, 1), dtype=int))).feasible.tolist()
    [True, False]
    """
    columns = stack_columns(changes, polytope.model).filled(polytope.model)
    return begin_several(polytope, columns, gone)


def push_begun(polytope: Polytope, begun: Begun, solver: str = "cvxopt") -> list[Ranges]:
    """Return the ranges of the changed variables, as :func:`push_changes` does."""
    together, size = push_several(polytope, begun), PROMISED * polytope.size
    index = begun.replaced.index
    counts = (polytope.model.penalty[index] > 0).sum(axis=1).tolist()
    width = index.shape[1]
    found = [_entry(together, slice(i * width, i * width + count)) for i, count in enumerate(counts)]
    return [
        one if np.all(one.gap <= size) else _alone(polytope, _own(begun.replaced, i, counts[i]), solver)
        for i, one in enumerate(found)
    ]


def _own(columns: Columns, i: int, count: int) -> Columns:
    """Return the first columns of one problem."""
    assert columns.linear is not None
    one = np.array([i])
    return Columns(
        columns.index[one, :count],
        columns.G[one, :count],
        columns.hard[one, :count],
        columns.linear[one, :count],
    )


def widened(columns: Columns, model: Model, width: int) -> Columns:
    """Return columns of so many variables: free ones hold the places of those that are missing.

    Examples
    --------
    >>> from relbounds.solver.columns import new_columns
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.array([1.0, 0.0]))
    >>> widened(new_columns((0,), np.zeros((1, 1))), model, 2).variables
    (0, 1)
    """
    free = widened_index(columns.index[:1], model, width)[0, columns.index.shape[1] :]
    if not free.size:
        return columns
    more = new_columns(free.tolist(), model.G.T[free], model.A.T[free], model.linear[free])
    return join_columns([columns.filled(model), more.take(np.zeros(len(columns), dtype=int))])


def widened_index(index: np.ndarray, model: Model, width: int) -> np.ndarray:
    """Return the variables of several features (F, k) with free ones added.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.array([1.0, 0.0]))
    >>> widened_index(np.array([[0]]), model, 2).tolist()
    [[0, 1]]
    """
    free = np.flatnonzero(model.penalty <= 0)[: width - index.shape[1]]
    return np.hstack([index, np.tile(free, (len(index), 1))])


def _alone(polytope: Polytope, change: Columns, solver: str) -> Ranges:
    """Answer one change by a program of its own."""
    return ranges(replace(polytope, model=put_columns(polytope.model, change)), change.variables, solver)


def leave_out(polytope: Polytope, index: np.ndarray, rows: np.ndarray | None = None) -> Without | Gone | None:
    """Return what is left of a set without the variables of each feature (F, k), for :func:`push_changes`.

    Of many hard rows those numbered in `rows` are looked at first, where they are given.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> sorted(leave_out(tope, np.zeros((1, 1), dtype=int)).proofs)
    [0]
    """
    if polytope.model.inner is not None:
        return without_several(polytope, index, rows)
    return without_each(polytope, index[:, 0].tolist()) if index.shape[1] == 1 else None


def _entry(found: Ranges, here: slice) -> Ranges:
    return Ranges(
        found.lower[here], found.upper[here], found.gap[here], found.feasible[here], found.solver[here]
    )
