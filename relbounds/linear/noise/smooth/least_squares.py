"""Numbers: least squares, with the residuals' normal scores."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from relbounds.linear.noise.smooth.facts import FloatArray, Smooth, nothing
from relbounds.linear.noise.smooth.newton import RIDGE, solve, whiten

# Weights below this share of the median residual's scale count as outliers in the first fit of a numeric response.
HUBER = 1.345


def least_squares(y: FloatArray, K: FloatArray, c: FloatArray, scores: str) -> Smooth:
    """Fit numbers by least squares; residuals as they are or by their normal scores."""
    n, k = K.shape
    design = np.concatenate([np.ones((n, 1)), K], axis=1)
    total = float(c.sum())
    beta = _weighted(design, y, c)
    error = y - design @ beta
    scale2 = float(c @ error**2) / total
    if scale2 <= 1e-24 * max(float(c @ y**2) / total, 1e-300):
        return nothing(n, k)
    loglik = -0.5 * total * (np.log(2 * np.pi * scale2) + 1)
    residuals = c * error / np.sqrt(scale2)
    if scores == "normal":
        robust = _huber(design, y, c, beta) if k else beta
        residuals = c * _normal_scores(y - design @ robust, c)
    inner = design.T @ (c[:, None] * design)
    residuals, scaled = whiten(residuals, c[:, None] * design, inner, design.T @ residuals)
    # the scores' own variance, so that a column's statistic is a standard normal without relation
    variance = float(np.sum(residuals**2)) / float(np.sum(c**2)) * n / max(n - 1 - k, 1)
    if variance <= 0:
        return nothing(n, k)
    residuals = residuals / np.sqrt(variance)
    return Smooth(
        residuals[:, None], c[:, None, None], scaled[:, None, :], beta[1:, None], float(loglik), True
    )


def _weighted(design: FloatArray, y: FloatArray, c: FloatArray) -> FloatArray:
    inner = design.T @ (c[:, None] * design)
    inner[1:, 1:] += RIDGE * float(c.sum()) * np.eye(design.shape[1] - 1)
    return solve(inner, design.T @ (c * y))


def _huber(design: FloatArray, y: FloatArray, c: FloatArray, beta: FloatArray) -> FloatArray:
    """Return a fit that a few wild values do not move, from a few reweighted least squares."""
    for _ in range(10):
        error = np.abs(y - design @ beta)
        scale = 1.4826 * float(np.median(error))
        if scale <= 0:
            break
        new = _weighted(design, y, c * np.minimum(1.0, HUBER * scale / np.maximum(error, 1e-300)))
        done = float(np.max(np.abs(design @ (new - beta)))) < 1e-4 * scale
        beta = new
        if done:
            break
    return beta


def _normal_scores(values: FloatArray, c: FloatArray) -> FloatArray:
    """Return normal quantiles of the (weighted) ranks; ties share the mean rank."""
    # rounding: residuals that are equal in exact arithmetic must tie
    step = 1e-10 * max(float(np.max(np.abs(values))), 1e-300)
    _, place = np.unique(np.round(values / step), return_inverse=True)
    mass = np.bincount(place, weights=c)
    middle = np.cumsum(mass) - mass / 2
    return ndtri(middle / mass.sum())[place]
