"""Equal rows are one row with the sum of their prices: programs as large as the number of different rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.families.rows import FloatArray, Rows
from relbounds.solver.merge import merge_rows

# Rows are merged where that leaves at most this share of them; otherwise the bookkeeping costs more than it saves.
WORTH_MERGING = 0.9


@dataclass(frozen=True)
class MergedRows:
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
        return np.asarray(np.bincount(self.of, weights=weight, minlength=len(self.rows)), dtype=float)


def merge(rows: Rows, features: FloatArray) -> MergedRows:
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
    if not features.shape[1] or not len(rows):
        return MergedRows(rows, None)
    # observations first: where no two are alike, no two rows are
    alike = merge_rows(features)
    if alike.first.size > WORTH_MERGING * len(features):
        return MergedRows(rows, None)
    keys = [alike.which[rows.sample], rows.threshold, rows.sign, rows.h]
    found = merge_rows(*keys, *([] if rows.other is None else [rows.other]))
    if found.first.size > WORTH_MERGING * len(rows):
        return MergedRows(rows, None)
    few = rows.take(found.first)
    return MergedRows(replace(few, weight=found.sums(rows.weight)), found.which)
