"""What a family is: its rows, how scores become predictions, how predictions are scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.families.rows import Answers, FloatArray, ModelKind, Rows


@dataclass(frozen=True)
class Prediction:
    """Scores of some observations (one column a weight vector) and what they were turned into."""

    scores: FloatArray
    guess: NDArray


# Entries of one table of counts.
COUNTED = 200_000

Measure = Callable[[Answers, Prediction, FloatArray], float]


@dataclass(frozen=True)
class Metric:
    """The score a family is tuned and judged by: its name, whether larger is better, and the function."""

    name: str
    larger: bool
    measure: Measure


@dataclass(frozen=True)
class Family:
    """One kind of response.

    Parameters
    ----------
    name : str
    rows : callable
        From :class:`Answers`, a :class:`ModelKind` and case weights to :class:`Rows`.
    decide : callable
        From scores, shape (n, K), and thresholds to predictions.
    metric : Metric
    rank : callable
        From :class:`Answers`, scores and weights to a measure of how well the scores are ordered, 0 for chance
        and 1 for perfect, and its name.
    smooth : str
        The smooth model whose score residuals tell own effects from noise (:mod:`relbounds.linear.noise.smooth`).
    thresholds : bool
        Whether responses are levels parted by thresholds.
    ranks : callable, optional
        From :class:`Answers`, scores and many orders of them to what `rank` says of the scores in each order, where
        that can be had faster than one by one.

    Examples
    --------
    >>> from relbounds.linear.families import family_of
    >>> family_of("ordinal").metric.name
    'MMAE'
    """

    name: str
    rows: Callable[[Answers, ModelKind, FloatArray], Rows]
    decide: Callable[[FloatArray, FloatArray], NDArray]
    metric: Metric
    rank: Callable[[Answers, FloatArray, FloatArray], float]
    rank_name: str
    smooth: str
    thresholds: bool = True
    ranks: Callable[[Answers, FloatArray, NDArray], FloatArray] | None = None


def by_thresholds(scores: FloatArray, thresholds: FloatArray) -> NDArray:
    """Return the level whose interval between thresholds holds the score; missing scores give missing levels.

    Examples
    --------
    >>> by_thresholds(np.array([[-1.0], [0.5], [2.0]]), np.array([0.0, 1.0])).tolist()
    [1, 2, 3]
    """
    one = scores[:, 0]
    codes = 1 + np.searchsorted(np.sort(thresholds), one, side="right")
    return np.where(np.isnan(one), np.nan, codes) if np.isnan(one).any() else codes


def somers_d(levels: NDArray, score: FloatArray) -> float:
    """Return Somers' D of scores for ordered levels: concordant minus discordant pairs, as a share of pairs.

    Pairs are those that differ in the level. With two levels it is twice the area under the ROC curve minus 1.

    Examples
    --------
    >>> round(somers_d(np.array([1, 2, 3]), np.array([0.1, 0.5, 0.4])), 3)
    0.333
    """
    agree = pairs = 0.0
    for level in np.unique(levels)[1:]:
        lower, own = np.sort(score[levels < level]), score[levels == level]
        below = np.searchsorted(lower, own, side="left")
        above = lower.size - np.searchsorted(lower, own, side="right")
        agree += float(np.sum(below) - np.sum(above))
        pairs += lower.size * own.size
    return agree / pairs if pairs else 0.0


def somers_d_of_orders(levels: NDArray, score: FloatArray, orders: NDArray) -> FloatArray:
    """Return Somers' D of the scores in other orders, ``somers_d(levels, score[order])`` for each row of `orders`.

    Only the scores' ranks count, so pairs are counted from tables of levels and ranks, many orders at once.

    Examples
    --------
    >>> somers_d_of_orders(np.array([1, 2, 3]), np.array([0.1, 0.5, 0.4]), np.array([[0, 1, 2], [0, 2, 1]])).round(3)
    array([0.333, 1.   ])
    """
    _, rank = np.unique(score, return_inverse=True)
    _, level = np.unique(levels, return_inverse=True)
    m, L = int(rank.max(initial=-1)) + 1, int(level.max(initial=-1)) + 1
    counts = np.bincount(level, minlength=L)
    pairs = float((counts * (np.cumsum(counts) - counts)).sum())
    if not pairs:
        return np.zeros(len(orders))
    agree = np.empty(len(orders))
    step = max(1, COUNTED // max(L * m, 1))
    for first in range(0, len(orders), step):
        some = rank.ravel()[orders[first : first + step]]
        place = (np.arange(len(some))[:, None] * L + level.ravel()) * m + some
        table = np.bincount(place.ravel(), minlength=len(some) * L * m).reshape(len(some), L, m)
        lower = np.cumsum(table, axis=1) - table
        upto = np.cumsum(lower, axis=2)
        # lower levels at smaller scores, minus those at larger ones
        ahead = 2 * upto - lower - upto[:, :, -1:]
        agree[first : first + step] = np.einsum("blm,blm->b", table, ahead)
    return agree / pairs


def weighted_mean(values: FloatArray, weights: FloatArray) -> float:
    """Return the mean with weights; the plain mean where all weights are 0.

    Examples
    --------
    >>> weighted_mean(np.array([1.0, 3.0]), np.array([3.0, 1.0]))
    1.5
    """
    total = float(weights.sum())
    return float(values @ weights) / total if total > 0 else float(values.mean())
