"""Equal rows are one row with the sum of their prices: programs as large as the number of different rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.families.rows import FloatArray, Rows

# Multipliers of the row hash come from this seed: the same in every run and process.
HASH_SEED = 20_260
# Rows are merged where that leaves at most this share of them; otherwise the bookkeeping costs more than it saves.
WORTH_MERGING = 0.9


@dataclass(frozen=True)
class Merged:
    """Loss rows with equal ones put together.

    Parameters
    ----------
    rows : Rows
        One row for each different one; `sample` is the first observation that has it.
    of : ndarray of int, shape (number of rows before,)
        The merged row of each row before; None where no two rows are equal.
    """

    rows: Rows
    of: NDArray[np.intp] | None

    def prices(self, weight: FloatArray) -> FloatArray:
        """Return the prices of the merged rows, given those of the rows before."""
        if self.of is None:
            return weight
        return np.bincount(self.of, weights=weight, minlength=len(self.rows))


def merge(rows: Rows, features: FloatArray) -> Merged:
    """Put rows together that agree in features, threshold, side and margin.

    Parameters
    ----------
    rows : Rows
    features : ndarray, shape (n, k)
        Everything of an observation that a row reads.

    Examples
    --------
    >>> from relbounds.linear.families import make_rows
    >>> found = merge(make_rows(np.array([1, 2, 2, 2]), "binary"), np.array([[0.0], [1.0], [1.0], [2.0]]))
    >>> found.rows.weight.tolist(), found.of.tolist()
    ([1.0, 2.0, 1.0], [0, 1, 1, 2])
    """
    cell = cells(features)
    if cell is None:
        return Merged(rows, None)
    columns = [cell[rows.sample], rows.threshold, (rows.sign > 0).astype(np.int64), _codes(rows.h)]
    if rows.other is not None:
        columns.append(rows.other)
    key = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        key = key * (int(column.max(initial=0)) + 1) + column
    _, first, of = np.unique(key, return_index=True, return_inverse=True)
    if first.size > WORTH_MERGING * len(rows):
        return Merged(rows, None)
    # in the order in which they first appear
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    of = place[of.ravel()]
    few = rows.take(first[order])
    return Merged(replace(few, weight=np.bincount(of, weights=rows.weight)), of)


def cells(features: FloatArray) -> NDArray[np.intp] | None:
    """Number the different rows of a matrix; None where all differ.

    Examples
    --------
    >>> cells(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])).tolist()
    [0, 1, 0]
    """
    n, k = features.shape
    if n == 0 or k == 0:
        return np.zeros(n, dtype=np.intp)
    # 0.0 and -0.0 are the same number and must be the same bits
    bits = np.ascontiguousarray(features + 0.0).view(np.uint64)
    odd = np.random.default_rng(HASH_SEED).integers(1, 2**63, size=k, dtype=np.uint64) * 2 + 1
    hashed = np.zeros(n, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for j in range(k):
            # high bits are mixed into the low ones, which a product alone never reaches
            mixed = bits[:, j] ^ (bits[:, j] >> np.uint64(29))
            hashed = (hashed ^ (mixed * odd[j])) * odd[(j + 1) % k] + (hashed >> np.uint64(31))
    _, first, of = np.unique(hashed, return_index=True, return_inverse=True)
    if first.size == n:
        return None
    of = of.ravel()
    if not np.array_equal(bits[first[of]], bits):
        # two different rows with one hash: number them by their bytes
        _, of = np.unique(bits, axis=0, return_inverse=True)
        of = of.ravel()
    return of


def _codes(h: FloatArray) -> NDArray[np.intp]:
    if h.size == 0 or np.all(h == h[0]):
        return np.zeros(h.size, dtype=np.intp)
    return np.unique(h, return_inverse=True)[1].ravel()
