"""What a non-linear relevance analysis finds, whichever method found it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from relbounds.noise_intervals import Interval
from relbounds.progress import Hook

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Settings:
    """How the work is done; the numbers depend on all of it but `n_jobs` and `progress`."""

    probes: int = 30
    level: float = 0.999
    folds: int = 5
    repeats: int = 2
    tolerance: float = 0.01
    stand_in: float = 0.5
    trees: int = 100
    params: tuple[tuple[str, Any], ...] = ()
    n_jobs: int = 1
    seed: int = 0
    progress: bool | Hook | None = None

    _not_stored: ClassVar[tuple[str, ...]] = ("progress",)  # a file does not keep it

    def __getstate__(self) -> dict[str, Any]:
        # what goes to another process leaves the bar behind
        return {**self.__dict__, "progress": False}


@dataclass(frozen=True)
class Group:
    """Features that stand in for each other: removing all costs `loss`, removing one costs nothing."""

    members: tuple[int, ...]
    loss: float
    similarity: float


@dataclass(frozen=True)
class Found:
    """One entry per feature (NaN where it was ruled out before that test), and what stands behind it."""

    importance: Array
    removal: Array
    alone: Array
    replaceable: Array
    relevance: NDArray[np.str_]
    importance_noise: Interval
    removal_noise: Interval
    groups: tuple[Group, ...]
    loss: float
    constant: float
    learner: str
    notes: tuple[str, ...] = ()
