"""When directions of several sets may end early: only what is largest in each set counts."""

from __future__ import annotations

import numpy as np

from relbounds.solver.core import State
from relbounds.solver.goals import OPEN
from relbounds.solver.own_columns import Narrow

# A direction ends when its gap is less than this share of what columns left out cost its bound.
PRICED = 0.2


class Race:
    """Stops directions that can change neither the largest value of their set nor its largest least one.

    Parameters
    ----------
    owner : ndarray of int, shape (B,)
        The set of each direction.
    paired : ndarray of bool, shape (B,)
        Directions whose opposite is among them: together they tell the least absolute value.
    d : ndarray, shape (B, q)
        The directions.
    seen : ndarray, shape (P, k)
        What is known to be reached in each set.
    top : ndarray, shape (B,)
        What each direction is known not to exceed.
    tolerance : ndarray, shape (B,)
        By so much the largest value may be exceeded.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> one = np.ones(2)
    >>> race = Race(np.zeros(2, dtype=int), one < 0, np.eye(2), np.zeros((1, 1)), 9 * one, 0.1 * one)
    >>> race(SimpleNamespace(v=np.array([[3.0, 0.0], [0.0, 1.0]]), which=np.arange(2)), one, 0 * one).tolist()
    [False, True]
    """

    def __init__(
        self,
        owner: np.ndarray,
        paired: np.ndarray,
        d: np.ndarray,
        seen: np.ndarray,
        top: np.ndarray,
        tolerance: np.ndarray,
    ) -> None:
        self.owner, self.paired, self.d, self.tolerance = owner, paired, d, tolerance
        self.best = seen.max(axis=1)
        self.floor = np.zeros(len(seen))
        self.top = top.copy()
        self.few: Narrow | None = None
        self.priced = True

    def __call__(self, at: State, gap: np.ndarray, lack: np.ndarray) -> np.ndarray:
        """Return which of the directions at work may stop."""
        here = at.which
        own = self.owner[here]
        d = self.d if self.few is None else self.few.d
        value = np.einsum("bq,bq->b", at.v, d[here])
        left = gap + OPEN * lack
        price = self.few.price(at) if self.few is not None and self.priced else np.zeros_like(gap)
        self.top[here] = top = np.fmin(self.top[here], value + left + price)
        np.fmax.at(self.best, own, value)
        needed = self.paired[here] & (value < 0)
        np.maximum.at(self.floor, own[needed], -top[needed])
        idle = ~needed | (-value <= self.floor[own])
        # what columns left out cost does not fall with the gap: they have to join
        beaten = top < self.best[own] + self.tolerance[here]
        done: np.ndarray = beaten & idle | (left < PRICED * price)
        return done
