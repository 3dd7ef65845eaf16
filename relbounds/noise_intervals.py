"""Prediction intervals of noise: how relevant a feature may look that tells nothing, and what follows from that.

Whatever measures relevance hands over the values that permuted features reached; here they become an interval for
one more such feature, and a chance for each observed value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

FloatArray = NDArray[np.float64]
# Differences this small are none: relevance is measured in shares of the model's norm, to this accuracy. A larger
# value hides features that are used a little, a smaller one lets rounding pass for relevance.
ZERO = 1e-6


@dataclass(frozen=True)
class Interval:
    """A prediction interval for the relevance of one more feature that is pure noise."""

    lower: float
    upper: float
    level: float
    kind: str
    values: FloatArray

    @property
    def m(self) -> int:
        """The number of feasible probes behind it."""
        return len(self.values)


def prediction_interval(values: FloatArray, level: float, kind: str = "t") -> Interval:
    """Return the interval in which one more noise value lies, with one-sided confidence `level`.

    Parameters
    ----------
    values : array
        Relevance of the feasible probes.
    level : float
        The confidence of the upper end.
    kind : {"t", "order"}
        "t" uses Student's t distribution; "order" the order statistics of the values, free of any assumption on
        their distribution, and as far as their number reaches.

    Examples
    --------
    >>> interval = prediction_interval(np.array([0.01, 0.02, 0.03]), 0.95)
    >>> round(interval.upper, 4)
    0.0537
    """
    values = np.asarray(values, dtype=float)
    m = len(values)
    if m < 2:
        return Interval(0.0, 0.0, level, kind, values)
    if kind == "order":
        ordered = np.sort(values)
        rank = min(m, int(np.ceil(level * (m + 1))))
        return Interval(float(ordered[0]), float(ordered[rank - 1]), level, kind, values)
    centre, spread = _centre(values)
    half = float(special.stdtrit(m - 1, level)) * spread
    return Interval(max(0.0, centre - half), centre + half, level, kind, values)


def _centre(values: FloatArray) -> tuple[float, float]:
    """Return the mean of the values and the standard error of predicting one more."""
    return float(np.mean(values)), float(np.std(values, ddof=1) * np.sqrt(1 + 1 / len(values)))


def tail_probability(relevance: FloatArray, interval: Interval) -> FloatArray:
    """Return the chance that pure noise looks at least as relevant as each value.

    Examples
    --------
    >>> interval = prediction_interval(np.array([0.01, 0.02, 0.03]), 0.95)
    >>> tail_probability(np.array([0.02, 0.2]), interval).round(3)
    array([0.5  , 0.002])
    """
    values, m = interval.values, interval.m
    if m < 2:
        return np.where(relevance > ZERO, 0.0, 1.0)
    if interval.kind == "order":
        return (1 + np.sum(values[None, :] >= relevance[:, None] - ZERO, axis=1)) / (m + 1)
    centre, spread = _centre(values)
    if spread < ZERO / 10:
        return np.where(relevance > centre + ZERO, 0.0, 1.0)
    return np.minimum(1.0, special.stdtr(m - 1, (centre - relevance) / spread))
