"""What noise can look like, and what that rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from relbounds.linear.asked import RowKey
from relbounds.linear.families.rows import FloatArray
from relbounds.noise_intervals import Interval


@dataclass(frozen=True)
class NoiseKey:
    """Whose noise: that of a part's features, or of one term with several columns."""

    part: str
    term: str | None = None

    def __str__(self) -> str:
        return self.part if self.term is None else f"{self.part}, {self.term}"


@dataclass(frozen=True)
class Population:
    """Relevance of features that are noise by construction: the least and the greatest use made of each."""

    lower: FloatArray
    upper: FloatArray
    draws: int
    infeasible: int = 0


@dataclass(frozen=True)
class Noise:
    """What counts as zero.

    Parameters
    ----------
    control : {"fwer", "fdr", "published", "none"}
    intervals : mapping
        The prediction intervals of the least and of the greatest relevance of noise, as shares of the norm.
    populations : mapping
        The values behind them.
    permutations, refits : int
        Permutations of the score test, and models fitted to permuted noise.
    block : tuple of (part, term)
        The terms that were permuted together in these refits.
    own : mapping
        For relevant terms that every equivalent model needs: the p-value of an effect of their own beside all other
        terms, adjusted. Strong are those where it is at most alpha.
    notes : tuple of str
    """

    control: str
    intervals: Mapping[NoiseKey, tuple[Interval, Interval]] = field(default_factory=dict)
    populations: Mapping[NoiseKey, Population] = field(default_factory=dict)
    permutations: int = 0
    refits: int = 0
    block: tuple[tuple[str, str], ...] = ()
    own: Mapping[RowKey, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def least_end(self) -> float:
        """What the least use of noise reaches."""
        ends = [low.upper for low, _ in self.intervals.values()]
        return max(ends, default=0.0) if np.isfinite(ends).all() else 0.0
