"""Times: Cox's model."""

from __future__ import annotations

import numpy as np

from relbounds.linear.noise.smooth.facts import FloatArray, Response, Smooth, nothing
from relbounds.linear.noise.smooth.newton import RIDGE, newton, whiten

# Pieces of the baseline hazard that the information of Cox's model allows for: with as many as there are event times
# it is Cox's own; beyond a dozen the pieces change nothing but the cost.
PIECES = 12
# Logarithm of the least risk in Cox's model, relative to the greatest: its inverse is still a number.
LEAST_RISK = -600.0


def cox(response: Response, K: FloatArray, c: FloatArray) -> Smooth:
    """Fit times by Cox's model, ties by Breslow's way; residuals are martingale residuals."""
    time = np.asarray(response.y, dtype=float)
    event = (
        np.ones(response.n, dtype=bool) if response.event is None else np.asarray(response.event, dtype=bool)
    )
    n, k = K.shape
    if not event.any():
        return nothing(n, k)
    times, place = np.unique(time[event], return_inverse=True)
    deaths = np.bincount(place, weights=c[event])
    # an observation is at risk at the first `reach` event times
    reach = np.searchsorted(times, time, side="right")
    total = float(c.sum())
    moved = c[event] @ K[event]

    def at_risk(weights: FloatArray) -> FloatArray:
        sums = np.zeros((len(times) + 1, *weights.shape[1:]))
        np.add.at(sums, reach, weights)
        return np.cumsum(sums[::-1], axis=0)[::-1][1:]

    def hazards(eta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        shift = float(eta.max()) if len(eta) else 0.0
        # nobody's risk vanishes: those left at the end may all be far from the greatest one
        risk = c * np.exp(np.maximum(eta - shift, LEAST_RISK))
        S0 = at_risk(risk)
        steps = deaths / S0
        return risk, S0, steps, float(c[event] @ (eta[event] - shift) - deaths @ np.log(S0))

    def parts(beta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        risk, S0, steps, value = hazards(K @ beta)
        means = at_risk(risk[:, None] * K) / S0[:, None]
        cumulative = risk * np.r_[0.0, np.cumsum(steps)][reach]
        gradient = moved - deaths @ means - RIDGE * total * beta
        hessian = K.T @ (cumulative[:, None] * K) - means.T @ (deaths[:, None] * means)
        return value - 0.5 * RIDGE * total * float(beta @ beta), gradient, hessian + RIDGE * total * np.eye(k)

    beta, converged = newton(np.zeros(k), parts, total)[:2] if k else (np.zeros(0), True)
    risk, _, steps, value = hazards(K @ beta)
    cumulative = np.r_[0.0, np.cumsum(steps)]
    lambda_i = risk * cumulative[reach]
    residuals = c * event - lambda_i
    # the baseline hazard in pieces, each free
    pieces = min(PIECES, len(times))
    ends = np.unique(
        np.searchsorted(np.cumsum(deaths), np.arange(1, pieces + 1) / pieces * deaths.sum() - 1e-9)
    )
    ends = np.append(ends[ends < len(times) - 1] + 1, len(times))
    starts = np.r_[0, ends[:-1]]
    inside = cumulative[np.clip(reach[:, None], starts, ends)] - cumulative[starts]
    exposure = risk[:, None] * inside
    cross = np.concatenate([exposure, lambda_i[:, None] * K], axis=1)
    g = len(ends)
    inner = np.zeros((g + k, g + k))
    inner[np.arange(g), np.arange(g)] = exposure.sum(axis=0)
    inner[:g, g:] = exposure.T @ K
    inner[g:, :g] = inner[:g, g:].T
    inner[g:, g:] = K.T @ (lambda_i[:, None] * K)
    gradient = np.r_[np.zeros(g), K.T @ residuals]
    residuals, scaled = whiten(residuals, cross, inner, gradient)
    return Smooth(
        residuals[:, None], lambda_i[:, None, None], scaled[:, None, :], beta[:, None], value, converged
    )
