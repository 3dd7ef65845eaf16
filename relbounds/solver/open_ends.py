"""What is known of many directions over many sets: a value that is reached, one that is not exceeded, what is open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# What the best model uses of a variable that it does not use, relative to its norm.
UNUSED = 1e-6


@dataclass(frozen=True)
class Likely:
    """Which of many directions are pushed, and how accurately.

    Parameters
    ----------
    used : int
        So many of those that the best model goes farthest along, or against.
    near : int
        So many of those that it does not use, but is closest to using.
    lead : int
        So many of those that lead with the columns near the best model go on with all columns.
    glance, accuracy : float
        Accuracy of that first look, and of the largest value, relative to the norm.
    """

    used: int
    near: int
    lead: int
    glance: float
    accuracy: float


@dataclass(frozen=True)
class Found:
    """What is known of k directions over P sets: a value that is reached, and one that is not exceeded.

    Parameters
    ----------
    seen, top : ndarray, shape (P, k)
    paired : ndarray of bool, shape (P, k)
        Directions whose opposite is among them.
    tolerance : ndarray, shape (P, k)
        What may be left open.
    """

    seen: np.ndarray
    top: np.ndarray
    paired: np.ndarray
    tolerance: np.ndarray

    @property
    def largest(self) -> np.ndarray:
        """The largest value reached in each set."""
        found: np.ndarray = self.seen.max(axis=1)
        return found

    @property
    def bound(self) -> np.ndarray:
        """What no direction exceeds."""
        found: np.ndarray = self.top.max(axis=1)
        return found

    @property
    def least(self) -> np.ndarray:
        """The largest of the least absolute values, as far as points show them."""
        found: np.ndarray = np.max(np.where(self.paired, -self.seen, 0.0), axis=1, initial=0.0)
        return found

    @property
    def floor(self) -> np.ndarray:
        """The largest of the least absolute values, as far as it is proved."""
        found: np.ndarray = np.max(np.where(self.paired, -self.top, 0.0), axis=1, initial=0.0)
        return found

    def open(self) -> np.ndarray:
        """Return the directions that may still change the largest value or the largest least one."""
        ahead = self.top > self.largest[:, None] + self.tolerance
        return ahead | self.paired & (-self.seen > self.floor[:, None] + self.tolerance)

    def closed(self, tolerance: np.ndarray) -> np.ndarray:
        """Return the sets in which no more than this, or than may be, is left open."""
        left = np.maximum(self.bound - self.largest, self.least - self.floor)
        return np.isfinite(left) & (left <= np.maximum(tolerance, self.tolerance.max(axis=1)))


def first_of(key: np.ndarray, count: int) -> np.ndarray:
    """Return, for each set, its directions of the largest keys, none of which is infinitely small."""
    order = np.argsort(-key, axis=1, kind="stable")[:, :count]
    out = np.zeros(key.shape, dtype=bool)
    np.put_along_axis(out, order, True, axis=1)
    return out & (key > -np.inf)


def likeliest(found: Found, value: np.ndarray, size: np.ndarray, likely: Likely) -> Found:
    """Return the same with nothing open but what is likely to be largest; `value` is where the best models are."""
    tiny = UNUSED * size[:, None]
    against = first_of(np.where(found.paired & (value < -tiny), -value, -np.inf), likely.used) & (
        found.seen < 0
    )
    some = against | first_of(np.where(value > tiny, value, -np.inf), likely.used)
    some |= first_of(np.where(np.abs(value) <= tiny, found.top, -np.inf), likely.near)
    tolerance = np.where(against, found.tolerance, likely.accuracy * size[:, None])
    return Found(found.seen, np.where(some, found.top, -np.inf), against, tolerance)
