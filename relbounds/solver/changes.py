"""Polytopes that differ from a common one in a few columns: probes of features that own several variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from relbounds.solver.engines.dispatch import push_columns, ranges
from relbounds.solver.model import Model
from relbounds.solver.polytope import Polytope, Ranges
from relbounds.solver.races import push_several
from relbounds.solver.replaced import Without
from relbounds.solver.tolerances import PROMISED


@dataclass(frozen=True)
class Change:
    """New columns of some variables.

    Parameters
    ----------
    variables : tuple of int, length K
        Whose columns change; their ranges are asked for, unless `asked` says otherwise.
    G : ndarray, shape (K, R)
        Their columns of the loss rows.
    A : ndarray, shape (K, m), or None
        Their columns of the hard rows; None where these stay.
    linear : ndarray, shape (K,), or None
        Their entries in the linear part of the loss; None where these stay.
    asked : tuple of int, or None
        The variables whose ranges are asked for, where these are not all of `variables`.

    Examples
    --------
    >>> Change((0,), np.ones((1, 3))).A is None
    True
    """

    variables: tuple[int, ...]
    G: np.ndarray
    A: np.ndarray | None = None
    linear: np.ndarray | None = None
    asked: tuple[int, ...] | None = None


def join_changes(changes: Sequence[Change], asked: tuple[int, ...]) -> Change:
    """Return several changes as one, of which only some variables are asked for.

    Examples
    --------
    >>> both = join_changes([Change((0,), np.ones((1, 3))), Change((2,), np.zeros((1, 3)))], asked=(2,))
    >>> both.variables, both.G.shape, both.asked
    ((0, 2), (2, 3), (2,))
    """

    def stack(parts: list[np.ndarray | None]) -> np.ndarray | None:
        return None if parts[0] is None else np.concatenate([part for part in parts if part is not None])

    return Change(
        variables=tuple(j for change in changes for j in change.variables),
        G=np.concatenate([change.G for change in changes]),
        A=stack([change.A for change in changes]),
        linear=stack([change.linear for change in changes]),
        asked=asked,
    )


def changed(model: Model, change: Change) -> Model:
    """Return the model with the new columns in place.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.ones(2))
    >>> changed(model, Change((1,), np.array([[5.0]]))).G.tolist()
    [[1.0, 5.0]]
    """
    where = list(change.variables)
    G = model.G.copy()
    G[:, where] = change.G.T
    out = replace(model, G=G)
    if change.A is not None:
        A = model.A.copy()
        A[:, where] = change.A.T
        out = replace(out, A=A)
    if change.linear is not None:
        linear = model.linear.copy()
        linear[where] = change.linear
        out = replace(out, linear=linear)
    return out


def push_changes(
    polytope: Polytope, changes: Sequence[Change], solver: str = "cvxopt", without: Without | None = None
) -> list[Ranges]:
    """Return the ranges of the changed variables, for each change on its own; the budgets are kept.

    They serve to tell how far from 0 the variables of a change can be: for models with correcting functions, ends
    that are nearer to 0 than another one of the same change may not be driven all the way
    (:func:`relbounds.solver.races.push_several`).

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.5]))
    >>> found = push_changes(tope, [Change((0,), np.ones((1, 1))), Change((0,), np.zeros((1, 1)))])
    >>> [part.feasible.tolist() for part in found]
    [[True], [False]]
    """
    single = all(len(change.variables) == 1 and change.linear is None for change in changes)
    # few variables and many hard rows: the batch serves such models best, whichever engine is asked for first
    if single and polytope.model.inner is None:
        columns = [
            (change.variables[0], change.G[0])
            if change.A is None
            else (change.variables[0], change.G[0], change.A[0])
            for change in changes
        ]
        pushed = push_columns(polytope, columns, solver, without)
        return [_entry(pushed, slice(i, i + 1)) for i in range(len(changes))]
    alone = list(range(len(changes)))
    found: list[Ranges | None] = [None] * len(changes)
    if len({(len(c.variables), len(c.asked or c.variables)) for c in changes}) == 1:
        together = _together(polytope, changes)
        size = PROMISED * polytope.size
        found = [one if one is not None and np.all(one.gap <= size) else None for one in together]
        alone = [i for i, one in enumerate(found) if one is None]
    for i in alone:
        own = replace(polytope, model=changed(polytope.model, changes[i]))
        found[i] = ranges(own, changes[i].asked or changes[i].variables, solver)
    return [one for one in found if one is not None]


def _together(polytope: Polytope, changes: Sequence[Change]) -> list[Ranges | None]:
    """Answer changes of equally many variables in one batch; None where that did not settle one."""
    model = polytope.model
    index = np.array([change.variables for change in changes])
    asked = np.array([change.asked or change.variables for change in changes])
    G = np.array([change.G for change in changes]).reshape(*index.shape, model.h.size)
    A = np.array([model.A.T[list(c.variables)] if c.A is None else c.A for c in changes])
    linear = np.array([model.linear[list(c.variables)] if c.linear is None else c.linear for c in changes])
    found = push_several(polytope, index, G, A.reshape(*index.shape, model.a.size), linear, asked)
    if found is None:
        return [None] * len(changes)
    width = asked.shape[1]
    return [_entry(found, slice(i * width, (i + 1) * width)) for i in range(len(changes))]


def _entry(found: Ranges, here: slice) -> Ranges:
    return Ranges(
        found.lower[here], found.upper[here], found.gap[here], found.feasible[here], found.solver[here]
    )
