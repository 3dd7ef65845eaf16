"""What a non-linear relevance analysis finds, whichever method found it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relbounds.noise_intervals import Interval

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Group:
    """Terms that stand in for each other: removing all costs `loss`, removing one costs nothing."""

    members: tuple[int, ...]
    loss: float
    similarity: float


@dataclass(frozen=True)
class BlockTest:
    """The p-values of the terms, and how many forests on permuted data they rest on.

    `p`: each against its own permuted values; `p_adjusted`: against the largest of all that are not yet found.
    """

    p: Array
    p_adjusted: Array
    forests: int


@dataclass(frozen=True)
class Found:
    """One entry per term (NaN where it was ruled out before that test), and what stands behind it."""

    importance: Array
    removal: Array
    alone: Array
    replaceable: Array
    relevance: NDArray[np.str_]
    p: Array
    p_adjusted: Array
    importance_noise: Interval
    removal_noise: Interval
    groups: tuple[Group, ...]
    loss: float
    constant: float
    linear: bool
    forests: int = 0
    notes: tuple[str, ...] = ()
