"""Levels without an order: one weight vector a level, each observation's own level above every other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.families.binary import f1
from relbounds.linear.families.family import Family, Metric, somers_d
from relbounds.linear.families.rows import Answers, FloatArray, ModelKind, Rows


def nominal_rows(answers: Answers, kind: ModelKind, weights: FloatArray) -> Rows:
    """Return ``(f_y - f_l) + xi >= 1`` for every level l other than the observation's own, y."""
    own = answers.y.astype(int) - 1
    n, L = own.size, answers.n_levels
    sample = np.repeat(np.arange(n), L - 1)
    others = np.tile(np.arange(L - 1), n)
    others = others + (others >= own[sample])
    return Rows(
        sample=sample,
        sign=np.ones(sample.size),
        threshold=own[sample],
        h=np.ones(sample.size),
        weight=weights[sample],
        n_thresholds=L,
        ordered=False,
        other=others,
        n_classes=L,
    )


def largest(scores: FloatArray, thresholds: FloatArray) -> NDArray:
    """Return the level with the largest score above its threshold; missing scores give missing levels.

    Examples
    --------
    >>> largest(np.array([[0.0, 1.0, 0.5]]), np.array([0.0, 0.9, 0.0])).tolist()
    [3]
    """
    above = scores - thresholds
    gone = np.isnan(above).any(axis=1)
    codes = 1 + np.argmax(np.where(np.isnan(above), -np.inf, above), axis=1)
    return np.where(gone, np.nan, codes) if gone.any() else codes


def one_against_rest(answers: Answers, score: FloatArray, weights: FloatArray) -> float:
    """Return Somers' D of each level's score for that level against the rest, averaged over levels."""
    columns = score.reshape(len(answers.y), -1)
    each = [somers_d(answers.y == k + 1, columns[:, k]) for k in range(columns.shape[1])]
    return float(np.mean(each))


NOMINAL = Family(
    name="nominal",
    rows=nominal_rows,
    decide=largest,
    metric=Metric("F1", True, f1),
    rank=one_against_rest,
    rank_name="mean Somers' D",
    smooth="nominal",
    thresholds=False,
)
