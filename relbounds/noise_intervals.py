"""Prediction intervals of noise: how relevant a feature may look that tells nothing, and what follows from that.

Whatever measures relevance hands over the values that permuted features reached; here they become an interval for
one more such feature, a chance for each observed value, and classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

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
    ends: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))
    independent: float = 0.0

    @property
    def m(self) -> int:
        """The number of feasible probes behind it."""
        return len(self.values)


def prediction_interval(
    values: FloatArray,
    level: float,
    kind: str = "t",
    ends: FloatArray | None = None,
    independent: float = 0.0,
) -> Interval:
    """Return the interval in which one more noise value lies, with one-sided confidence `level`.

    Parameters
    ----------
    values : array
        Relevance of the feasible probes.
    level : float
        The confidence of the upper end.
    kind : {"t", "order", "refit"}
        "t" uses Student's t distribution; "order" the order statistics of the values, free of any assumption on
        their distribution, and as far as their number reaches; "refit" Student's t distribution of the `ends`,
        if these are given.
    ends : array of shape (m, 2), or None
        How far each probe goes in either direction, the greater being its value. The greater of two is never normal
        and has a longer tail than Student's t distribution allows for; each end by itself is nearly so.
    independent : float
        With `ends`: how many independent values are worth as much as these. Correlated noise rises and falls together
        in a model, which takes degrees of freedom away. 0 counts every value.

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
    if kind == "refit" and ends is not None and len(ends) == m:
        centre, spread = _centre(values, ends)
        half = float(special.stdtrit(max(independent or m, 2) - 1, (1 + level) / 2)) * spread
        return Interval(max(0.0, centre - half), centre + half, level, kind, values, ends, independent)
    centre, spread = _centre(values)
    half = float(special.stdtrit(m - 1, level)) * spread
    return Interval(max(0.0, centre - half), centre + half, level, kind, values)


def _centre(values: FloatArray, ends: FloatArray | None = None) -> tuple[float, float]:
    """Return the mean of the values, or of their ends, and the standard error of predicting one more."""
    m = len(values)
    numbers = values if ends is None else ends.ravel()
    return float(np.mean(numbers)), float(np.std(numbers, ddof=1) * np.sqrt(1 + 1 / m))


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
    sides = 2 if len(interval.ends) else 1
    centre, spread = _centre(values, interval.ends if sides == 2 else None)
    if spread < ZERO / 10:
        return np.where(relevance > centre + ZERO, 0.0, 1.0)
    freedom = max(interval.independent or m, 2) - 1
    return np.minimum(1.0, sides * special.stdtr(freedom, (centre - relevance) / spread))


def classify(lower: FloatArray, upper: FloatArray, low: Interval, high: Interval) -> NDArray[np.str_]:
    """Return "strong", "weak" or "irrelevant" for each feature.

    Relevant: the most an equivalent model uses it exceeds what noise can reach. Strong: so does the least.

    Examples
    --------
    >>> nothing = prediction_interval(np.array([0.0, 0.01, 0.02]), 0.9)
    >>> classify(np.array([0.3, 0.0, 0.0]), np.array([0.4, 0.2, 0.01]), nothing, nothing).tolist()
    ['strong', 'weak', 'irrelevant']
    """
    relevant = upper > high.upper + ZERO
    strong = relevant & (lower > low.upper + ZERO)
    return np.where(strong, "strong", np.where(relevant, "weak", "irrelevant"))
