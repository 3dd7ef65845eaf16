"""Censored times: levels are intervals between event times, a censored one is known only to be later.

A higher score means longer survival.
"""

from __future__ import annotations

import numpy as np

from relbounds.linear.families.family import Family, Metric, Prediction, by_thresholds
from relbounds.linear.families.ordinal import ordinal_rows
from relbounds.linear.families.rows import Answers, FloatArray


def harrell(answers: Answers, prediction: Prediction, weights: FloatArray) -> float:
    """Return Harrell's C: of pairs whose order in time is known, the share whose scores have that order.

    Examples
    --------
    >>> answers = Answers(np.array([1, 2, 2]), 2, time=np.array([1.0, 2.0, 3.0]), event=np.array([True, True, False]))
    >>> harrell(answers, Prediction(np.array([[0.1], [0.5], [0.4]]), np.zeros(3)), np.ones(3))
    0.6666666666666666
    """
    assert answers.time is not None and answers.event is not None
    score, time, event = prediction.scores[:, 0], answers.time, answers.event.astype(bool)
    agree = pairs = 0.0
    for i in np.flatnonzero(event):
        later = (time > time[i]) | ((time == time[i]) & ~event)
        weight = weights[i] * weights[later]
        pairs += float(weight.sum())
        agree += float(weight @ ((score[later] > score[i]) + 0.5 * (score[later] == score[i])))
    return agree / pairs if pairs else 0.5


def survival_rank(answers: Answers, score: FloatArray, weights: FloatArray) -> float:
    """Return twice Harrell's C minus 1."""
    return 2 * harrell(answers, Prediction(score[:, None], score), weights) - 1


SURVIVAL = Family(
    name="survival",
    rows=ordinal_rows,
    decide=by_thresholds,
    metric=Metric("C-index", True, harrell),
    rank=survival_rank,
    rank_name="Somers' D",
    smooth="survival",
)
