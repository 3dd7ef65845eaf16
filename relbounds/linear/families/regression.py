"""Numbers: errors beyond a tube of half-width epsilon cost their size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from relbounds.errors import OptionError
from relbounds.linear.families.family import Family, Metric, Prediction, weighted_mean
from relbounds.linear.families.rows import Answers, FloatArray, ModelKind, Rows


def regression_rows(answers: Answers, kind: ModelKind, weights: FloatArray) -> Rows:
    """Return ``w.x + b + xi >= y - epsilon`` and ``-(w.x + b) + xi >= -y - epsilon``; b is minus the threshold."""
    if kind.epsilon < 0:
        raise OptionError(f"epsilon={kind.epsilon} is negative: give half the width of the tube, 0 or more.")
    y = np.asarray(answers.y, dtype=float)
    n = y.size
    once = np.arange(n)
    return Rows(
        sample=np.concatenate([once, once]),
        sign=np.repeat([1.0, -1.0], n),
        threshold=np.zeros(2 * n, dtype=int),
        h=np.concatenate([y - kind.epsilon, -y - kind.epsilon]),
        weight=np.concatenate([weights, weights]),
        n_thresholds=1,
        ordered=False,
    )


def explained(answers: Answers, prediction: Prediction, weights: FloatArray) -> float:
    """Return the share of the variance explained, 1 - SS(residual) / SS(total)."""
    y, guess = np.asarray(answers.y, dtype=float), prediction.guess
    centred = y - weighted_mean(y, weights)
    total, residual = float(weights @ centred**2), float(weights @ (y - guess) ** 2)
    if total == 0.0:
        return 1.0 if residual == 0.0 else 0.0
    return 1.0 - residual / total


def spearman(answers: Answers, score: FloatArray, weights: FloatArray) -> float:
    """Return Spearman's rank correlation of scores and response.

    Examples
    --------
    >>> spearman(Answers(np.array([1.0, 2.0, 3.0])), np.array([0.1, 0.4, 9.0]), np.ones(3))
    1.0
    """
    return float(spearman_of_orders(answers, score, np.arange(len(score))[None, :])[0])


def spearman_of_orders(answers: Answers, score: FloatArray, orders: NDArray) -> FloatArray:
    """Return Spearman's rank correlation of the response and the scores in each of many orders.

    Examples
    --------
    >>> answers = Answers(np.array([1.0, 2.0, 3.0]))
    >>> spearman_of_orders(answers, np.array([0.1, 0.4, 9.0]), np.array([[0, 1, 2], [2, 1, 0]])).tolist()
    [1.0, -1.0]
    """
    one, two = (_ranks(np.asarray(x, dtype=float)) for x in (answers.y, score))
    size = float(np.sqrt((one @ one) * (two @ two)))
    return two[orders] @ one / size if size > 0 else np.zeros(len(orders))


def _ranks(x: FloatArray) -> FloatArray:
    """Return ranks, ties sharing their mean, less the mean of all: their products are exact numbers."""
    ordered = np.sort(x)
    both = np.searchsorted(ordered, x, side="left") + np.searchsorted(ordered, x, side="right")
    return 0.5 * (both.astype(float) - x.size)


def _line(scores: FloatArray, thresholds: FloatArray) -> NDArray:
    return scores[:, 0] - thresholds[0]


REGRESSION = Family(
    name="regression",
    rows=regression_rows,
    decide=_line,
    metric=Metric("R2", True, explained),
    rank=spearman,
    rank_name="Spearman correlation",
    smooth="regression",
    thresholds=False,
    ranks=spearman_of_orders,
)
