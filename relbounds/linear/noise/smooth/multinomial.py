"""Levels without order: multinomial logit."""

from __future__ import annotations

import numpy as np

from relbounds.linear.noise.smooth.facts import FloatArray, Response, Smooth, nothing
from relbounds.linear.noise.smooth.newton import RIDGE, newton, whiten


def multinomial(response: Response, K: FloatArray, c: FloatArray) -> Smooth:
    """Fit levels without order, one linear predictor a level but the first."""
    values, codes = np.unique(np.asarray(response.y), return_inverse=True)
    n, k = K.shape
    L = len(values)
    if L < 2:
        return nothing(n, k)
    s, m = L - 1, k + 1
    design = np.concatenate([np.ones((n, 1)), K], axis=1)
    total = float(c.sum())
    seen = (codes[:, None] == np.arange(1, L)[None, :]).astype(float)
    penalty = np.tile(np.r_[0.0, np.full(k, RIDGE * total)], s)
    # intercepts are open too where a level is sure; they are not drawn to zero
    ridge = np.diag(penalty + 1e-9 * total)

    def chances(v: FloatArray) -> tuple[FloatArray, FloatArray]:
        eta = np.concatenate([np.zeros((n, 1)), design @ v.reshape(s, m).T], axis=1)
        eta -= eta.max(axis=1, keepdims=True)
        mass = np.exp(eta)
        sums = mass.sum(axis=1)
        return mass / sums[:, None], eta[np.arange(n), codes] - np.log(sums)

    def parts(v: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        P, log = chances(v)
        gradient = ((c[:, None] * (seen - P[:, 1:])).T @ design).ravel() - penalty * v
        return float(c @ log) - 0.5 * float(penalty @ v**2), gradient, hessian_at(P) + ridge

    def hessian_at(P: FloatArray) -> FloatArray:
        out = np.zeros((s * m, s * m))
        for a in range(s):
            for b in range(a, s):
                weight = c * (P[:, a + 1] * ((a == b) - P[:, b + 1]))
                piece = design.T @ (weight[:, None] * design)
                out[a * m : (a + 1) * m, b * m : (b + 1) * m] = piece
                out[b * m : (b + 1) * m, a * m : (a + 1) * m] = piece.T
        return out

    share = np.bincount(codes, weights=c) / total
    start = np.zeros((s, m))
    start[:, 0] = np.log(share[1:] / share[0])
    v, converged, _ = newton(start.ravel(), parts, total)
    P, log = chances(v)
    residuals = c[:, None] * (seen - P[:, 1:])
    info = -P[:, 1:, None] * P[:, None, 1:]
    info[:, np.arange(s), np.arange(s)] += P[:, 1:]
    info *= c[:, None, None]
    cross = (info[:, :, :, None] * design[:, None, None, :]).reshape(n, s, s * m)
    gradient = (residuals.T @ design).ravel()
    residuals, scaled = whiten(residuals, cross, hessian_at(P), gradient)
    return Smooth(residuals, info, scaled, v.reshape(s, m)[:, 1:].T, float(c @ log), converged)
