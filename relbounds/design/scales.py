"""Centres and scales of columns: numbers by their standard deviation, a factor's levels by one common scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

CONSTANT = 1e-12  # a column whose spread is this small beside its size is rounding noise


def varying(values: FloatArray, sd: FloatArray) -> NDArray[np.bool_]:
    """Tell which columns vary, by their values and by their weighted standard deviations.

    Examples
    --------
    >>> varying(np.array([[1.0, 5.0], [2.0, 5.0]]), np.array([0.5, 0.0]))
    array([ True, False])
    """
    if not values.size:
        return np.zeros(values.shape[1], dtype=bool)
    size = np.abs(values).max(axis=0)
    spread = values.max(axis=0) / 2 - values.min(axis=0) / 2  # halves, so that huge values do not overflow
    return np.asarray((spread > CONSTANT * size) & (sd > CONSTANT * size))


def moments(values: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Return the weighted mean and standard deviation of each column.

    Weights that are all the same give, digit for digit, what no weights give.

    Examples
    --------
    >>> moments(np.array([[1.0], [3.0]]))
    (array([2.]), array([1.]))
    >>> moments(np.array([[0.0], [4.0]]), np.array([3.0, 1.0]))[0]
    array([1.])
    """
    # Column by column in memory, so that a sum does not depend on which other columns there are.
    values = np.asfortranarray(values)
    # Relative to the largest value, so that squares neither overflow nor vanish.
    size = np.abs(values).max(axis=0, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    relative = values / size
    if weights is None or np.ptp(weights) == 0:
        mean = relative.mean(axis=0)
        return mean * size, np.sqrt(((relative - mean) ** 2).mean(axis=0)) * size
    share = weights / weights.max()
    share = share / share.sum()
    mean = (share[:, None] * relative).sum(axis=0)
    return mean * size, np.sqrt((share[:, None] * (relative - mean) ** 2).sum(axis=0)) * size


def factor_scale(sd: FloatArray) -> float:
    """Return the common scale of a factor's levels from the standard deviations of their 0/1 columns.

    With two levels it is the standard deviation of either.

    Examples
    --------
    >>> float(factor_scale(np.array([0.5, 0.5])))
    0.5
    """
    return float(np.sqrt(0.5 * np.sum(sd**2)))


def shared_scale(sd: FloatArray, numbers: Sequence[int]) -> FloatArray:
    """Return the scales of products of numbers with levels: one for all the columns that hold the same number.

    A number that is cut into levels has about the scale of the number itself.

    Examples
    --------
    >>> shared_scale(np.array([3.0, 4.0, 2.0]), [0, 0, 1])
    array([5., 5., 2.])
    """
    out = np.empty(len(sd))
    which = np.asarray(numbers)
    for number in np.unique(which):
        mine = which == number
        largest = sd[mine].max()
        out[mine] = largest * np.sqrt(np.sum((sd[mine] / largest) ** 2)) if mine.sum() > 1 else sd[mine]
    return out
