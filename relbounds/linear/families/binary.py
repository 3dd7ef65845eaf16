"""Two levels: the L1 support vector machine, the case of one threshold."""

from __future__ import annotations

import numpy as np

from relbounds.linear.families.family import Family, Metric, Prediction, by_thresholds
from relbounds.linear.families.ordinal import level_rank, level_ranks, ordinal_rows
from relbounds.linear.families.rows import Answers, FloatArray


def f1(answers: Answers, prediction: Prediction, weights: FloatArray) -> float:
    """Return F1 of each class, averaged with the weights of the classes.

    Examples
    --------
    >>> answers = Answers(np.array([1, 1, 2, 2]), 2)
    >>> round(f1(answers, Prediction(np.zeros((4, 1)), np.array([1, 2, 2, 2])), np.ones(4)), 4)
    0.7333
    """
    y, guess = answers.y, prediction.guess
    total = 0.0
    for label in np.unique(y):
        support, said = weights[y == label].sum(), weights[guess == label].sum()
        hit = weights[(y == label) & (guess == label)].sum()
        total += support * 2 * hit / (support + said) if support + said > 0 else 0.0
    return float(total / weights.sum())


BINARY = Family(
    name="binary",
    rows=ordinal_rows,
    decide=by_thresholds,
    metric=Metric("F1", True, f1),
    rank=level_rank,
    rank_name="Somers' D",
    smooth="binary",
    ranks=level_ranks,
)
