"""Scores become probabilities: proportional odds of ordered levels, a multinomial model of classes.

Arrays only. Scores should be held-out ones: those of the rows a model was fitted on look too sure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

FloatArray = NDArray[np.float64]
# Penalty on half the squared slope of standardised scores, relative to the total weight: too small to be seen, but it
# stops a separable fit where probabilities are about 1e-5 instead of letting the slope run away.
RIDGE = 1e-6
# Weight of the one pseudo-observation of a level that no held-out observation has.
PSEUDO = 0.5
# Probabilities are kept this far from 0 and 1 inside logarithms.
TINY = 1e-300


@dataclass(frozen=True)
class Probabilities:
    """How scores become probabilities of levels.

    Parameters
    ----------
    ordered : bool
        Proportional odds of one score, or a multinomial model of one score a class.
    slope : float
        Of the score.
    offsets : ndarray
        The L - 1 thresholds on the scale of the log odds, or one offset a class, the first being 0.

    Examples
    --------
    >>> Probabilities(True, 2.0, np.array([-1.0, 1.0])).levels(np.zeros((1, 1))).round(3)
    array([[0.269, 0.462, 0.269]])
    """

    ordered: bool
    slope: float
    offsets: FloatArray

    def levels(self, scores: FloatArray) -> FloatArray:
        """Return the probability of each level (columns) for scores of shape (n, 1) or (n, classes)."""
        if self.ordered:
            below = expit(self.offsets - self.slope * scores[:, :1])
            return np.diff(below, axis=1, prepend=0.0, append=1.0)
        logits = self.offsets + self.slope * scores
        return np.exp(logits - logsumexp(logits, axis=1, keepdims=True))

    def above(self, scores: FloatArray) -> FloatArray:
        """Return the probability of lying above each threshold; survival: of surviving each cut time."""
        return expit(self.slope * scores[:, :1] - self.offsets)


def _scale(scores: FloatArray) -> tuple[float, float]:
    """Return centre and spread of scores; a spread of 1 where there is none."""
    spread = float(np.std(scores))
    return float(np.mean(scores)), spread if spread > 0 else 1.0


def fit_proportional_odds(
    low: NDArray[np.int64], high: NDArray[np.int64], L: int, score: FloatArray, weights: FloatArray
) -> Probabilities:
    """Fit P(y <= l) = F(theta_l - slope * score) by maximum likelihood; levels may be known as an interval only."""
    from scipy.optimize import minimize  # slow to load

    centre, spread = _scale(score)
    z = (score - centre) / spread
    missing = [level for level in range(1, L + 1) if not np.any((low == level) & (high == level))]
    low, high = np.concatenate([low, missing]).astype(int), np.concatenate([high, missing]).astype(int)
    z, weights = (
        np.concatenate([z, np.zeros(len(missing))]),
        np.concatenate([weights, np.full(len(missing), PSEUDO)]),
    )
    total = float(weights.sum())

    def value(v: FloatArray) -> tuple[float, FloatArray]:
        theta = np.cumsum(np.concatenate([v[:1], np.exp(v[1:-1])]))
        edges = np.concatenate([[-np.inf], theta, [np.inf]])
        a, b = edges[high] - v[-1] * z, edges[low - 1] - v[-1] * z
        # differences of tails, taken on the side where they are small
        p = np.maximum(np.where(b > 0, expit(-b) - expit(-a), expit(a) - expit(b)), TINY)
        fa, fb = _density(a), _density(b)
        by_theta = np.bincount(high, weights * fa / p, minlength=L + 1)
        by_theta = by_theta - np.bincount(low - 1, weights * fb / p, minlength=L + 1)[: L + 1]
        inner = by_theta[1:L]
        tail = np.cumsum(inner[::-1])[::-1]
        gradient = np.concatenate(
            [tail[:1], tail[1:] * np.exp(v[1:-1]), [-float(weights @ ((fa - fb) / p * z))]]
        )
        loss = -float(weights @ np.log(p)) + 0.5 * RIDGE * total * v[-1] ** 2
        gradient = -gradient
        gradient[-1] += RIDGE * total * v[-1]
        return loss / total, gradient / total

    shares = np.cumsum(np.bincount(low, weights, minlength=L + 1)[1:])[:-1] / total
    shares = np.clip(shares, 1e-3, 1 - 1e-3)
    theta = np.log(shares / (1 - shares))
    gaps = np.log(np.maximum(np.diff(theta), 1e-2))
    start = np.concatenate([theta[:1], gaps, [0.0]])
    found = minimize(value, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 1000}).x
    theta = np.cumsum(np.concatenate([found[:1], np.exp(found[1:-1])]))
    slope = float(found[-1]) / spread
    return Probabilities(True, slope, theta + slope * centre)


def _density(x: FloatArray) -> FloatArray:
    """Return the logistic density, 0 at the ends."""
    return expit(x) * expit(-x)


def fit_multinomial(y: NDArray[np.int64], scores: FloatArray, weights: FloatArray) -> Probabilities:
    """Fit P(k) ~ exp(a_k + slope * score_k): one slope for all classes, one offset each."""
    from scipy.optimize import minimize  # slow to load

    K = scores.shape[1]
    spread = _scale(scores - scores.mean(axis=1, keepdims=True))[1]
    z = scores / spread
    missing = [k for k in range(K) if not np.any(y == k + 1)]
    codes = np.concatenate([y - 1, missing]).astype(int)
    z = np.vstack([z, np.tile(z.mean(axis=0), (len(missing), 1))])
    weights = np.concatenate([weights, np.full(len(missing), PSEUDO)])
    own = np.eye(K)[codes]
    total = float(weights.sum())

    def value(v: FloatArray) -> tuple[float, FloatArray]:
        logits = np.concatenate([[0.0], v[:-1]]) + v[-1] * z
        norm = logsumexp(logits, axis=1)
        loss = float(weights @ (norm - logits[np.arange(len(z)), codes])) + 0.5 * RIDGE * total * v[-1] ** 2
        off = weights[:, None] * (np.exp(logits - norm[:, None]) - own)
        gradient = np.concatenate([off.sum(axis=0)[1:], [float((off * z).sum()) + RIDGE * total * v[-1]]])
        return loss / total, gradient / total

    found = minimize(value, np.zeros(K), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 1000}).x
    return Probabilities(False, float(found[-1]) / spread, np.concatenate([[0.0], found[:-1]]))
