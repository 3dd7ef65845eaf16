"""Rubin's rules for tests: one p-value of a hypothesis from several completed data sets.

The p-value of one completed data set takes imputed values for known. Where a third of the values is missing it can be
far too small, and so can every one of them and any average. Rubin's rules add the variance *between* the data sets to
the variance that each knows of. For that a term needs an effect with a variance in each data set: a linear regression
of the score residuals of the model without any term, by itself and given all other terms, whichever says more.
Section "Clusters, imputations" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from relbounds.linear.families.rows import FloatArray

# Tails that are taken for this small ones, so that normal values stay finite.
TINY = 1e-300
# Share of the observations that columns may use up; beyond it terms are regressed on by themselves only.
ROOM = 0.5
# Directions in which columns vary by less than this, relative to the most, are none: collinear columns, constant ones.
RANK = 1e-9


@dataclass(frozen=True)
class Effect:
    """How clear a term's effect is in each data set, and how much more it varies for want of the missing values.

    Attributes
    ----------
    normal : ndarray, shape (m,)
        The effect over its standard error in each data set; of several columns the normal value with the same tail.
    increase : float
        Variance between data sets, relative to that inside; 0 where nothing was missing.
    """

    normal: FloatArray
    increase: float


def pooled_effects(
    residuals: Sequence[FloatArray], columns: Sequence[FloatArray], terms: Sequence[Sequence[int]]
) -> list[Effect]:
    """Return the effect of every term.

    Parameters
    ----------
    residuals : sequence of arrays (n, s)
        Score residuals, for each data set; s linear predictors.
    columns : sequence of arrays (n, d)
        The columns of all terms, likewise.
    terms : sequence of sequences of int
        The columns of each term, without those that the others of the term imply.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(50, 2))
    >>> effect = pooled_effects([x[:, :1], x[:, :1]], [x, x], [[0], [1]])[1]
    >>> effect.increase
    0.0
    """
    wide = columns[0].shape[1] > ROOM * len(columns[0])
    alone = [_each(residuals, [X[:, list(own)] for X in columns]) for own in terms]
    views = [[Effect(*_summed(one))] for one in alone]
    if not wide and len(terms) > 1:
        together = _each(residuals, columns)
        for view, own in zip(views, terms, strict=True):
            places = np.array(own)
            part = [(beta[:, places], V[:, places[:, None], places]) for beta, V in together]
            view.append(Effect(*_summed(part)))
    return [max(view, key=lambda effect: float(effect.normal.mean())) for view in views]


Fit = tuple[FloatArray, FloatArray]


def _each(residuals: Sequence[FloatArray], columns: Sequence[FloatArray]) -> list[Fit]:
    """Regress each linear predictor's residuals: for each, coefficients (m, q) and covariances (m, q, q)."""
    found: list[list[Fit]] = []
    for e, X in zip(residuals, columns, strict=True):
        centred = X - X.mean(axis=0)
        inverse = np.linalg.pinv(centred.T @ centred, rcond=RANK, hermitian=True)
        beta = inverse @ (centred.T @ e)
        left = e - e.mean(axis=0) - centred @ beta
        spread = np.sum(left**2, axis=0) / max(len(e) - X.shape[1] - 1, 1)
        found.append([(beta[:, k], spread[k] * inverse) for k in range(e.shape[1])])
    predictors = range(residuals[0].shape[1])
    return [
        (np.array([one[k][0] for one in found]), np.array([one[k][1] for one in found])) for k in predictors
    ]


def _summed(parts: Sequence[Fit]) -> tuple[FloatArray, float]:
    """Return each data set's normal value over all linear predictors, and the mean relative increase in variance."""
    m = len(parts[0][0])
    square, freedom, between = np.zeros(m), 0, 0.0
    for beta, V in parts:
        inside = np.linalg.pinv(V.mean(axis=0), rcond=RANK, hermitian=True)
        own = np.linalg.pinv(V, rcond=RANK, hermitian=True)
        square = square + np.einsum("mi,mij,mj->m", beta, own, beta)
        freedom += beta.shape[1]
        apart = beta - beta.mean(axis=0)
        between += float(np.einsum("mi,ij,mj->", apart, inside, apart)) / max(m - 1, 1)
    tail = np.maximum(special.chdtrc(freedom, square), TINY)
    return -special.ndtri(tail / 2), (1 + 1 / m) * between / freedom


def combined(p: Sequence[float] | FloatArray, effect: Effect, smallest: float, tests: int = 1) -> float:
    """Pool the p-values of one hypothesis in several completed data sets.

    Each is a normal value (of a single test, where it was adjusted for `tests` of them); one that is as small as the
    permutations can show is as large as the term's effect there. Their mean, over the root of one plus the increase
    of variance, is compared with Student's t distribution. Nothing missing gives the p-value that all agree on.

    Parameters
    ----------
    p : sequence of float
        One p-value a data set.
    effect : Effect
    smallest : float
        The smallest p-value that can be shown.
    tests : int
        How many hypotheses `p` is adjusted for.

    Examples
    --------
    >>> known, missing = Effect(np.array([4.0, 4.0]), 0.0), Effect(np.array([4.5, 3.5]), 0.5)
    >>> combined([0.01, 0.01], known, 0.001), round(combined([0.01, 0.01], missing, 0.001), 3)
    (0.01, 0.065)
    """
    values = np.asarray(p, dtype=float)
    if np.isnan(values).any() or (np.ptp(values) == 0 and effect.increase == 0):
        return float(values[0])
    normal = -special.ndtri(np.maximum(values / tests, TINY) / 2)
    normal = np.where(values <= smallest * (1 + 1e-9), np.maximum(normal, effect.normal), normal)
    statistic = float(normal.mean()) / np.sqrt(1 + effect.increase)
    freedom = (len(values) - 1) * (1 + 1 / max(effect.increase, 1e-12)) ** 2
    pooled = 2 * tests * float(special.stdtr(min(freedom, 1e12), -statistic))
    return float(min(1.0, max(values.min(), pooled)))
