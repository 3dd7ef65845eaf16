"""Variables whose columns are the same up to their sign: what one of them reaches the others do, in its place.

Exchanging two of them maps the set onto itself, the signs of their values turned where the columns have opposite ones.
So a push along one answers those along all others; the certificate of each is still its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relbounds.solver.engines.answer import Answer
from relbounds.solver.model import Model
from relbounds.solver.reduced import Duals

# Rows that columns are told apart by; those that agree there are compared in all rows.
TELLING = 1000
# What sums over equal columns may differ by, relative to them: the order of the terms need not be the same.
SUMMED = 1e-12


def copies(model: Model) -> tuple[np.ndarray, np.ndarray]:
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
class Distinct:
    """Which of some directions have to be pushed.

    Parameters
    ----------
    kept : ndarray of int, shape (m,)
        Directions of which none is the image of another.
    of : ndarray of int, shape (k,)
        Which of these answers each direction.
    own, other : ndarray of int, shape (k,)
        The variables whose values are exchanged in its answer.
    sign : ndarray, shape (k,)
        The sign that these get.
    """

    kept: np.ndarray
    of: np.ndarray
    own: np.ndarray
    other: np.ndarray
    sign: np.ndarray

    def spread(self, answer: Answer) -> Answer:
        """Return the answers of all directions from those of the kept ones."""
        points = answer.points[self.of]
        each = np.arange(len(points))
        ends = points[each, self.own], points[each, self.other]
        points[each, self.own], points[each, self.other] = self.sign * ends[1], self.sign * ends[0]
        duals = Duals(*(x[self.of] for x in (answer.duals.lam, answer.duals.beta, answer.duals.alpha)))
        return Answer(points, duals, answer.anchor[self.of], answer.feasible[self.of])


def distinct(model: Model, directions: np.ndarray) -> Distinct | None:
    """Return which of some directions have to be pushed; None where all have.

    Only directions along single variables are looked at.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.array([[1.0, 3.0, -1.0]]), np.ones(1), np.ones(1), np.ones(3))
    >>> distinct(model, np.vstack([np.eye(3), -np.eye(3)])).kept.size
    4
    """
    first, sign = copies(model)
    if (first == np.arange(model.q)).all():
        return None
    each = np.arange(len(directions))
    single = np.count_nonzero(directions, axis=1) == 1
    own = np.where(single, np.argmax(directions != 0, axis=1), 0)
    turned = np.where(single, sign[own], 1.0)
    # a direction along several variables has a name of its own
    names = np.column_stack([np.where(single, first[own], -1 - each), turned * directions[each, own]])
    _, kept, of = np.unique(names, axis=0, return_index=True, return_inverse=True)
    if kept.size == len(directions):
        return None
    of = of.ravel()
    asked = kept[of]
    return Distinct(kept, of, own, own[asked], turned * turned[asked])
