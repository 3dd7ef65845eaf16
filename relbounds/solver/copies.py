"""Variables whose columns are the same up to their sign: what one of them reaches the others do, in its place.

Exchanging two of them maps the set onto itself, the signs of their values turned where the columns have opposite ones.
So a push along one answers those along all others; the certificate of each is still its own. And a set loses
nothing when one of those that no direction asks for stands for all of these: their weights add up in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from relbounds.solver.engines.answer import Answer
from relbounds.solver.few_columns import model_with
from relbounds.solver.model import Model
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals

# Rows that columns are told apart by; those that agree there are compared in all rows.
TELLING = 1000
# What sums over equal columns may differ by, relative to them: the order of the terms need not be the same.
SUMMED = 1e-12

Push = Callable[[Polytope, np.ndarray], Answer]
# The variable that stands for each and its copies, and the sign between the two columns.
Alike = tuple[np.ndarray, np.ndarray]


def copies(model: Model) -> Alike:
    """Return, for every variable, one that stands for it and all its copies, and the sign between the two columns.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.array([[1.0, 3.0, -1.0], [2.0, 1.0, -2.0]]), np.ones(2), np.ones(2), np.ones(3))
    >>> first, sign = copies(model)
    >>> first.tolist(), sign.tolist()
    ([0, 1, 0], [1.0, 1.0, -1.0])
    """
    key = np.zeros(model.q)
    for rows in (model.G, model.A):
        some = rows[:: max(1, len(rows) // TELLING)]
        key += np.sqrt(np.arange(2.0, 2.0 + len(some))) @ some
    key = np.abs(key)
    order = np.argsort(key, kind="stable")
    first, sign = np.arange(model.q), np.ones(model.q)
    near = (np.diff(key[order]) <= SUMMED * key[order[1:]]) & (key[order[1:]] > 0)
    for place in np.flatnonzero(near):
        j, k = int(first[order[place]]), int(order[place + 1])
        found = _sign_between(model, j, k)
        if found:
            first[k], sign[k] = j, found
    return first, sign


def _sign_between(model: Model, j: int, k: int) -> float:
    """Return the sign by which the column of `k` is that of `j`; 0 where it is another one."""
    rows = model.G if model.G[:, j].any() else model.A
    top = int(np.argmax(np.abs(rows[:, j])))
    sign = float(np.sign(rows[top, j]) * np.sign(rows[top, k]))
    low, high = (model.lower[j], model.upper[j]) if sign > 0 else (-model.upper[j], -model.lower[j])
    same = (
        model.penalty[k] == model.penalty[j]
        and (model.lower[k], model.upper[k]) == (low, high)
        and abs(model.linear[k] - sign * model.linear[j]) <= SUMMED * abs(model.linear[j])
        and np.array_equal(model.G[:, k], sign * model.G[:, j])
        and np.array_equal(model.A[:, k], sign * model.A[:, j])
    )
    return sign if same else 0.0


@dataclass(frozen=True)
class Fewer:
    """A set in which one of several copies stands for others: their weights add up in it.

    Parameters
    ----------
    polytope : Polytope
        The smaller set.
    chosen : ndarray of bool, shape (q,)
        The variables it has.
    """

    polytope: Polytope
    chosen: np.ndarray

    def back(self, points: np.ndarray) -> np.ndarray:
        """Return points of the whole set."""
        out = np.zeros((len(points), self.chosen.size))
        out[:, self.chosen] = points
        return out


def without_copies(polytope: Polytope, kept: np.ndarray, alike: Alike | None = None) -> Fewer | None:
    """Return a set without the copies that can be done without; None where there are none.

    Parameters
    ----------
    polytope : Polytope
        The set.
    kept : ndarray of bool, shape (q,)
        Variables that stay.
    alike : pair of ndarray, optional
        Its copies, where these are known.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.array([[1.0, 3.0, -1.0]]), np.ones(1), np.ones(1), np.ones(3))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.array([0.1, 0.0, -0.2]))
    >>> without_copies(tope, np.zeros(3, dtype=bool)).polytope.start.round(9).tolist()
    [0.3, 0.0]
    """
    model = polytope.model
    first, sign = copies(model) if alike is None else alike
    # weights add up where nothing but the norm limits them
    alone = ~(np.isinf(model.lower) & np.isinf(model.upper) & (model.penalty > 0))
    # one that stays may be used against the others, so these are not added to it but to one of themselves
    groups = np.where(kept | alone, model.q + np.arange(model.q), first)
    _, stands, of = np.unique(groups, return_index=True, return_inverse=True)
    into = stands[of.ravel()]
    chosen = into == np.arange(model.q)
    if chosen.all() or polytope.start.size != model.q:
        return None
    turned = sign * sign[into]

    def added(v: np.ndarray) -> np.ndarray:
        return np.bincount(into, turned * v, model.q)[chosen]

    inner = None if model.inner is None else added(model.inner)
    fewer = replace(model_with(model, chosen), inner=inner)
    return Fewer(replace(polytope, model=fewer, start=added(polytope.start)), chosen)


def fit_for_changes(polytope: Polytope) -> tuple[Polytope, np.ndarray]:
    """Return a set for problems that each change the columns of some variables, and which variable stands for each.

    Where a variable has copies, it does not matter which of them changes.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.array([[1.0, 3.0, -1.0, 1.0]]), np.ones(1), np.ones(1), np.ones(4))
    >>> small, place = fit_for_changes(Polytope(model, norm=1.0, loss=1.0, start=np.zeros(4)))
    >>> small.model.q, place.tolist()
    (3, [0, 1, 0, 0])
    """
    alike = first, _ = copies(polytope.model)
    kept = np.zeros(polytope.model.q, dtype=bool)
    kept[first] = True
    fewer = without_copies(polytope, kept, alike)
    if fewer is None:
        return polytope, np.arange(polytope.model.q)
    return fewer.polytope, (np.cumsum(fewer.chosen) - 1)[first]


@dataclass(frozen=True)
class Distinct:
    """What has to be pushed to answer some directions.

    Parameters
    ----------
    directions : ndarray, shape (m, q)
        Directions of which none is the image of another.
    of : ndarray of int, shape (k,)
        Which of these answers each direction.
    own, other : ndarray of int, shape (k,)
        The variables whose values are exchanged in its answer.
    sign : ndarray, shape (k,)
        The sign that these get.
    """

    directions: np.ndarray
    of: np.ndarray
    own: np.ndarray
    other: np.ndarray
    sign: np.ndarray

    def spread(self, answer: Answer) -> Answer:
        """Return the answers of all directions from those of the distinct ones."""
        points = answer.points[self.of]
        each = np.arange(len(points))
        ends = points[each, self.own], points[each, self.other]
        points[each, self.own], points[each, self.other] = self.sign * ends[1], self.sign * ends[0]
        duals = Duals(*(x[self.of] for x in (answer.duals.lam, answer.duals.beta, answer.duals.alpha)))
        return Answer(points, duals, answer.anchor[self.of], answer.feasible[self.of])


def distinct(alike: Alike, directions: np.ndarray) -> Distinct | None:
    """Return what has to be pushed to answer some directions, given the copies; None where there are none.

    Only directions along single variables are exchanged.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.array([[1.0, 3.0, -1.0]]), np.ones(1), np.ones(1), np.ones(3))
    >>> len(distinct(copies(model), np.vstack([np.eye(3), -np.eye(3)])).directions)
    4
    """
    first, sign = alike
    if (first == np.arange(first.size)).all():
        return None
    each = np.arange(len(directions))
    single = np.count_nonzero(directions, axis=1) == 1
    own = np.where(single, np.argmax(directions != 0, axis=1), 0)
    other, turned = np.where(single, first[own], 0), np.where(single, sign[own], 1.0)
    size = turned * directions[each, own]
    # a direction along several variables has a name of its own
    names = np.column_stack([np.where(single, other, -1 - each), size])
    _, kept, of = np.unique(names, axis=0, return_index=True, return_inverse=True)
    asked = directions.copy()
    asked[single] = 0.0
    asked[each[single], other[single]] = size[single]
    return Distinct(asked[kept], of.ravel(), own, other, turned)


def push_apart(push: Push, polytope: Polytope, directions: np.ndarray) -> Answer:
    """Return an engine's answers, one push serving the directions along all copies of a variable.

    Examples
    --------
    >>> from relbounds.solver.engines.batch import push_batch
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.array([[1.0, -1.0]]), np.ones(1), np.ones(1), np.ones(2))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7, 0.0]))
    >>> push_apart(push_batch, tope, -np.eye(2)).points.round(5).tolist()
    [[-0.25, -0.75], [0.0, -1.0]]
    """
    alike = copies(polytope.model)
    apart = distinct(alike, directions)
    if apart is None:
        return push(polytope, directions)
    fewer = without_copies(polytope, (apart.directions != 0).any(axis=0), alike)
    if fewer is None:
        return apart.spread(push(polytope, apart.directions))
    answer = push(fewer.polytope, apart.directions[:, fewer.chosen])
    points, anchor = fewer.back(answer.points), fewer.back(answer.anchor)
    return apart.spread(Answer(points, answer.duals, anchor, answer.feasible))
