"""What is known of many directions over many sets: a value that is reached, one that is not exceeded, what is open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# What the best model uses of a variable that it does not use, relative to its norm.
UNUSED = 1e-6


@dataclass(frozen=True)
class Glance:
    """A first look at directions with few of very many columns: those near the best model.

    Parameters
    ----------
    lead : int
        So many of those that lead go on with all columns.
    accuracy : float
        Relative to the norm.
    """

    lead: int
    accuracy: float


@dataclass(frozen=True)
class Likely:
    """Which of many directions are pushed, and how accurately.

    Parameters
    ----------
    ahead, near : int
        So many of those that go farthest as the middle of the set tells, and of the others so many of the largest
        bounds; where the middle tells nothing of some, of those.
    needed : int
        So many of those that the best model goes farthest against.
    accuracy : float
        Accuracy of the largest value, relative to the norm.
    glance : Glance or None
        A first look at these with the columns near the best model, where there are very many columns.
    """

    ahead: int
    near: int
    needed: int
    accuracy: float
    glance: Glance | None = None


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


def worth_it(ahead: np.ndarray, top: np.ndarray, most: int, near: int) -> np.ndarray:
    """Return the directions of each set that go farthest as its middle tells, and some of those with large bounds.

    Parameters
    ----------
    ahead : ndarray, shape (P, k)
        About how far directions go, minus infinity where the middle does not tell.
    top : ndarray, shape (P, k)
        What they do not exceed.
    most, near : int
        So many of the former; so many more of the largest bounds, where there are directions of which the middle tells
        nothing, of these. A variable that is not used at the middle may be worth more than it tells.

    Examples
    --------
    >>> worth_it(np.array([[3.0, 2.0, 1.0, 0.0]]), np.array([[4.0, 4.0, 4.0, 5.0]]), 1, 1).tolist()
    [[True, False, False, True]]
    """
    out = first_of(ahead, most)
    untold = ahead == -np.inf
    rest = np.where(untold.any(axis=1, keepdims=True), untold, ~out)
    return out | first_of(np.where(rest, top, -np.inf), near)


def likeliest(found: Found, ahead: np.ndarray, value: np.ndarray, size: np.ndarray, likely: Likely) -> Found:
    """Return the same with nothing open but what is likely to be largest.

    `ahead` tells about how far directions go, minus infinity where that is not known; `value` is where the best models
    are.
    """
    tiny = UNUSED * size[:, None]
    against = first_of(np.where(found.paired & (value < -tiny), -value, -np.inf), likely.needed) & (
        found.seen < 0
    )
    some = against | worth_it(ahead, found.top, likely.ahead, likely.near)
    tolerance = np.where(against, found.tolerance, likely.accuracy * size[:, None])
    return Found(found.seen, np.where(some, found.top, -np.inf), against, tolerance)
