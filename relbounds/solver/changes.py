"""Polytopes that differ from a common one in a few columns: probes of features that own several variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relbounds.solver.columns import Columns, put_columns, stack_columns
from relbounds.solver.engines.dispatch import push_columns, ranges
from relbounds.solver.polytope import Polytope, Ranges
from relbounds.solver.races import Gone, push_several, without_several
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
    found: list[Ranges | None] = [None] * len(changes)
    if len({len(change.variables) for change in changes}) == 1:
        together = _together(polytope, changes, without if isinstance(without, Gone) else None)
        size = PROMISED * polytope.size
        found = [one if one is not None and np.all(one.gap <= size) else None for one in together]
    for i in [i for i, one in enumerate(found) if one is None]:
        own = replace(polytope, model=put_columns(polytope.model, changes[i]))
        found[i] = ranges(own, changes[i].variables, solver)
    return [one for one in found if one is not None]


def leave_out(polytope: Polytope, index: np.ndarray) -> Without | Gone | None:
    """Return what is left of a set without the variables of each feature (F, k), for :func:`push_changes`.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> sorted(leave_out(tope, np.zeros((1, 1), dtype=int)).proofs)
    [0]
    """
    if polytope.model.inner is not None:
        return without_several(polytope, index)
    return without_each(polytope, index[:, 0].tolist()) if index.shape[1] == 1 else None


def _together(polytope: Polytope, changes: Sequence[Columns], gone: Gone | None) -> list[Ranges | None]:
    """Answer changes of equally many variables in one batch; None where that did not settle one."""
    columns = stack_columns(changes, polytope.model).filled(polytope.model)
    found = push_several(polytope, columns, columns.index, gone)
    if found is None:
        return [None] * len(changes)
    width = columns.index.shape[1]
    return [_entry(found, slice(i * width, (i + 1) * width)) for i in range(len(changes))]


def _entry(found: Ranges, here: slice) -> Ranges:
    return Ranges(
        found.lower[here], found.upper[here], found.gap[here], found.feasible[here], found.solver[here]
    )
