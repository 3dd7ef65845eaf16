"""Equal rows as one: the program is then as large as the number of distinct rows.

Counts, factors and grouped data repeat their rows. Rows with the same coefficients and margin have the same slack
everywhere, so one row with the sum of their prices is the same loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Rows hashed at a time, so that no second copy of a large matrix is made.
BLOCK = 1 << 16


@dataclass(frozen=True)
class Merged:
    """Which rows are equal.

    Parameters
    ----------
    first : ndarray of int, shape (k,)
        One row of each kind, the first, in the order of their appearance.
    which : ndarray of int, shape (R,)
        The kind of every row: row r equals row ``first[which[r]]``.

    Examples
    --------
    >>> found = merge_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    >>> found.first.tolist(), found.which.tolist(), found.sums(np.ones(3)).tolist()
    ([0, 1], [0, 1, 0], [2.0, 1.0])
    """

    first: np.ndarray
    which: np.ndarray

    def sums(self, prices: np.ndarray) -> np.ndarray:
        """Return the summed prices of each kind; `prices` is (R,) or (B, R)."""
        prices = np.asarray(prices, dtype=float)
        if prices.ndim == 1:
            return np.bincount(self.which, weights=prices, minlength=self.first.size)
        return np.array([self.sums(one) for one in prices]).reshape(len(prices), self.first.size)


def merge_rows(*keys: np.ndarray) -> Merged:
    """Return which rows are equal in every one of several arrays, each with an entry or a row per row.

    Rows are compared by their bytes: in time proportional to their number and length, but for the sorting of one
    number a row.

    Examples
    --------
    >>> merge_rows(np.array([[1.0], [1.0], [1.0]]), np.array([0, 1, 0])).which.tolist()
    [0, 1, 0]
    """
    parts = [np.asarray(key).reshape(len(key), -1) for key in keys]
    marks = np.zeros(len(parts[0]), dtype=np.uint64)
    for number, part in enumerate(parts):
        _mix(marks, part, number)
    _, first, which = np.unique(marks, return_index=True, return_inverse=True)
    which = which.ravel()
    if not all(_equal(part, first[which]) for part in parts):
        # two different rows with one mark: as good as never, but then the slow way is the right one
        table = np.hstack([part.astype(float) for part in parts])
        _, first, which = np.unique(table, axis=0, return_index=True, return_inverse=True)
        which = which.ravel()
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return Merged(first[order], place[which])


def _mix(marks: np.ndarray, part: np.ndarray, number: int) -> None:
    """Mix the bytes of each row into its mark, in place."""
    rng = np.random.default_rng(number)
    factors = rng.integers(1, 2**63, part.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    for begin in range(0, len(part), BLOCK):
        # adding 0 turns minus zero into zero
        words = np.ascontiguousarray(part[begin : begin + BLOCK].astype(float) + 0.0).view(np.uint64)
        words = (words ^ (words >> np.uint64(29))) * factors
        words ^= words >> np.uint64(32)
        marks[begin : begin + BLOCK] += words.sum(axis=1, dtype=np.uint64)


def _equal(part: np.ndarray, other: np.ndarray) -> bool:
    """Return whether every row equals another one."""
    return all(
        np.array_equal(part[begin : begin + BLOCK], part[other[begin : begin + BLOCK]])
        for begin in range(0, len(part), BLOCK)
    )
