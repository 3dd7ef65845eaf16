"""Solving with few rows and proving that the others do not matter.

At a point, the slack of a row is either 0, or linear, or the row sits near its kink. Rows far from their kink are
held on the piece they have at the start: those on the linear piece are summed into one dense vector of the loss,
those on the zero piece are left out. Either piece is at most the true slack, so the smaller problem is a relaxation;
when its answer has every row on the piece assumed, it is exact. Otherwise the rows that changed sides join and it is
solved again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals, is_lossless
from relbounds.solver.tolerances import TOUCHING

# Below this many rows nothing is gained.
FEW = 400
# Share of the rows, the ones nearest their kink at the start, that have a slack from the beginning.
SHARE = 0.25
# Sets with more active rows are solved direction by direction, each on rows of its own.
MOST_SHARED = 6000
# Rows that come this near to their kink, as a share of how far they move, are active: other points may cross it.
NEAR = 0.03


@dataclass(frozen=True)
class Smaller:
    """A relaxation with fewer rows.

    Parameters
    ----------
    polytope : Polytope
        The smaller polytope.
    active : ndarray of bool, shape (R,)
        Rows kept.
    linear : ndarray of bool, shape (R,)
        Rows held on their linear piece.
    """

    polytope: Polytope
    active: np.ndarray
    linear: np.ndarray

    def wrong(self, whole: Polytope, v: np.ndarray) -> np.ndarray:
        """Return the rows, left out here, that `v` moves to the other piece."""
        return self.wrong_at(whole, whole.model.G @ v)

    def wrong_at(self, whole: Polytope, Gv: np.ndarray) -> np.ndarray:
        """Return the same for points with known products ``G v``, the last axis over rows."""
        margin = Gv - whole.model.h
        tiny = TOUCHING * whole.model.height
        return ~self.active & np.where(self.linear, margin > tiny, margin < -tiny)

    def duals(self, duals: Duals, price: np.ndarray, c: np.ndarray) -> Duals:
        """Return the multipliers with those of the rows left out: all or nothing of the price."""
        beta = np.where(self.linear, price[:, None] * c, 0.0)
        beta[:, self.active] = duals.beta
        return Duals(duals.lam, beta, duals.alpha)


def first_active(polytope: Polytope) -> np.ndarray:
    """Return the rows to begin with: the hint the polytope carries, or the rows nearest their kinks.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> first_active(Polytope(model, norm=1.0, loss=1.0, start=np.ones(1))).tolist()
    [True]
    """
    model = polytope.model
    R = model.h.size
    if polytope.active is not None and not polytope.active.all():
        return polytope.active.copy()
    if FEW >= R or is_lossless(polytope):
        return np.ones(R, dtype=bool)
    margin = np.abs(model.G @ polytope.start - model.h)
    return nearest_rows(model.G[:, model.penalty <= 0], margin, max(int(SHARE * R), 4 * model.q))


def nearest_rows(free: np.ndarray, distance: np.ndarray, count: int) -> np.ndarray:
    """Return about as many rows as asked for, the nearest ones.

    Parameters
    ----------
    free : ndarray, shape (R, k)
        The rows' entries of the free variables. Each of these keeps rows on either side, or a relaxation could run
        away along it.
    distance : ndarray, shape (R,)
        How far each row is from its kink.
    count : int

    Examples
    --------
    >>> nearest_rows(np.ones((12, 1)), np.arange(12.0), 2).sum()
    np.int64(10)
    """
    chosen = np.zeros(distance.size, dtype=bool)
    chosen[np.argsort(distance, kind="stable")[:count]] = True
    for column in free.T:
        for sign in (1.0, -1.0):
            side = np.flatnonzero(sign * column > 0)
            chosen[side[np.argsort(distance[side], kind="stable")[:10]]] = True
    return chosen


def smaller(polytope: Polytope, active: np.ndarray) -> Smaller:
    """Return the relaxation that keeps only some rows.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((2, 1)), np.array([1.0, -1.0]), np.ones(2), np.ones(1))
    >>> tope = Polytope(model, norm=2.0, loss=1.0, start=np.array([0.5]))
    >>> small = smaller(tope, np.array([False, False]))
    >>> small.polytope.model.linear.tolist(), small.polytope.loss
    ([-1.0], 0.0)
    """
    if active.all():
        return Smaller(polytope, active, np.zeros(active.size, dtype=bool))
    model = polytope.model
    return held(polytope, active, model.G @ polytope.start < model.h)


def held(polytope: Polytope, active: np.ndarray, below: np.ndarray) -> Smaller:
    """Return the relaxation whose other rows are held: those `below` their kink on the linear piece.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((2, 1)), np.array([1.0, -1.0]), np.ones(2), np.ones(1))
    >>> tope = Polytope(model, norm=2.0, loss=1.0, start=np.array([0.5]))
    >>> held(tope, np.array([False, True]), np.array([False, False])).polytope.model.h.tolist()
    [-1.0]
    """
    model = polytope.model
    linear = ~active & below
    weights = np.where(linear, model.c, 0.0)
    constant = float(weights @ model.h)
    fewer = replace(
        model,
        G=model.G[active],
        h=model.h[active],
        c=model.c[active],
        linear=model.linear - weights @ model.G,
    )
    return Smaller(polytope.on_rows(fewer, -constant), active, linear)


def crossed_rows(polytope: Polytope, points: np.ndarray) -> np.ndarray | None:
    """Return the rows that some points of a set put on, or beyond, their kink as seen from its start.

    None where the set carries no hint that could be made better by them: it has few rows, or so many active ones that
    every direction is solved on rows of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((2, 1)), np.array([1.0, -1.0]), np.ones(2), np.ones(1))
    >>> tope = Polytope(model, norm=2.0, loss=1.0, start=np.array([0.5]), active=np.array([False, False]))
    >>> crossed_rows(tope, np.array([[0.7], [1.2]])).tolist()
    [True, False]
    """
    hint, model = polytope.active, polytope.model
    if hint is None or hint.all() or hint.sum() >= MOST_SHARED:
        return None
    least = model.G @ polytope.start - model.h
    most = least.copy()
    for first in range(0, len(points), 16):
        margin = points[first : first + 16] @ model.G.T - model.h
        np.minimum(least, margin.min(axis=0), out=least)
        np.maximum(most, margin.max(axis=0), out=most)
    near = NEAR * (most - least)
    return (least <= near) & (most >= -near)


Solve = Callable[[Polytope, np.ndarray], tuple[np.ndarray, Duals] | None]


def push_active(
    polytope: Polytope, directions: np.ndarray, make: Callable[[Polytope], Solve]
) -> tuple[np.ndarray, Duals, np.ndarray]:
    """Return points and multipliers for each direction, solved on active rows that all directions share.

    Parameters
    ----------
    polytope : Polytope
        The whole polytope.
    directions : ndarray, shape (k, q)
        Directions.
    make : callable
        ``make(small)`` returns a function of (small, direction) that gives a point and its multipliers, each with a
        leading axis of one, or None when it fails.

    Returns
    -------
    points : ndarray, shape (k, q)
    duals : Duals
    solved : ndarray of bool, shape (k,)
    """
    model = polytope.model
    p, l, _ = polytope.budgets
    active = first_active(polytope)
    small = smaller(polytope, active)
    solve = make(small.polytope)
    points, parts, solved = [], [], []
    nothing = Duals(np.zeros((1, p.size)), np.zeros((1, model.h.size)), np.zeros((1, model.a.size)))
    for direction in directions:
        found = None
        for _ in range(20):
            found = solve(small.polytope, direction)
            if found is None:
                if active.all():
                    break
                wrong = ~active
            else:
                wrong = small.wrong(polytope, found[0])
            if not wrong.any():
                break
            active = active | wrong
            small = smaller(polytope, active)
            solve = make(small.polytope)
        if found is None:
            points.append(polytope.start)
            parts.append(nothing)
            solved.append(False)
        else:
            v, duals = found
            points.append(v)
            parts.append(small.duals(duals, duals.lam @ l, model.c))
            solved.append(True)
    stacked = Duals(
        *(np.vstack([getattr(part, name) for part in parts]) for name in ("lam", "beta", "alpha"))
    )
    return np.array(points), stacked, np.array(solved)
