"""Ordered levels, parted by thresholds; also levels known only to lie between two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.families.family import (
    Family,
    Metric,
    Prediction,
    by_thresholds,
    somers_d,
    somers_d_of_orders,
    weighted_mean,
)
from relbounds.linear.families.rows import Answers, FloatArray, ModelKind, Rows


def ordinal_rows(answers: Answers, kind: ModelKind, weights: FloatArray) -> Rows:
    """Return ``-(w.x - b_j) + xi >= 1`` for observations below threshold j and the opposite for those above.

    Explicit order: each threshold parts its two neighbouring levels only, and constraints keep the thresholds in
    order. Implicit order: each threshold parts all observations, and the order follows by itself. An observation
    known to lie between two levels has no row at the thresholds inside that interval.
    """
    least, most = answers.least.astype(int), answers.most.astype(int)
    explicit = kind.order == "explicit" or answers.n_levels == 2
    sample, sign, threshold = [], [], []
    for j in range(answers.n_levels - 1):
        if explicit:
            below, above = np.flatnonzero(most == j + 1), np.flatnonzero(least == j + 2)
            own, side = np.concatenate([below, above]), np.repeat([-1.0, 1.0], [below.size, above.size])
        else:
            own = np.flatnonzero((most <= j + 1) | (least >= j + 2))
            side = np.where(least[own] >= j + 2, 1.0, -1.0)
        sample.append(own)
        sign.append(side)
        threshold.append(np.full(own.size, j))
    owner = np.concatenate(sample)
    return Rows(
        sample=owner,
        sign=np.concatenate(sign),
        threshold=np.concatenate(threshold),
        h=np.ones(owner.size),
        weight=weights[owner],
        n_thresholds=answers.n_levels - 1,
        ordered=explicit and answers.n_levels > 2,
    )


def mean_over_levels(answers: Answers, prediction: Prediction, weights: FloatArray) -> float:
    """Return the mean over levels of each level's own mean absolute error; censored levels err outside only.

    Examples
    --------
    >>> answers = Answers(np.array([1, 1, 2]), 2)
    >>> mean_over_levels(answers, Prediction(np.zeros((3, 1)), np.array([1, 2, 2])), np.ones(3))
    0.25
    """
    guess = prediction.guess
    off = np.maximum(np.maximum(answers.least - guess, guess - answers.most), 0).astype(float)
    exact = np.flatnonzero(answers.least == answers.most)
    if not exact.size:
        return weighted_mean(off, weights)
    level, weight, error = answers.y[exact].astype(int), weights[exact], off[exact]
    if not np.any(weight > 0):
        weight = np.ones_like(weight)
    total = np.bincount(level, weight)
    return float(np.mean((np.bincount(level, weight * error)[total > 0]) / total[total > 0]))


def level_rank(answers: Answers, score: FloatArray, weights: FloatArray) -> float:
    """Return Somers' D of the scores among observations whose level is known."""
    known = np.flatnonzero(answers.least == answers.most)
    return somers_d(answers.y[known], score[known])


def level_ranks(answers: Answers, score: FloatArray, orders: NDArray) -> FloatArray:
    """Return Somers' D of the scores in many orders among observations whose level is known."""
    known = np.flatnonzero(answers.least == answers.most)
    return somers_d_of_orders(answers.y[known], score, orders[:, known])


ORDINAL = Family(
    name="ordinal",
    rows=ordinal_rows,
    decide=by_thresholds,
    metric=Metric("MMAE", False, mean_over_levels),
    rank=level_rank,
    rank_name="Somers' D",
    smooth="ordinal",
    ranks=level_ranks,
)
