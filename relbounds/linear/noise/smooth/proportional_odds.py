"""Ordered levels, which may be censored: proportional odds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from relbounds.linear.noise.smooth.facts import FloatArray, Response, Smooth, nothing
from relbounds.linear.noise.smooth.newton import RIDGE, Parts, half_inverse, newton, whiten

# Weight of the one pseudo-observation that each level gets where levels are censored, relative to the total weight:
# keeps a level that no observation must have from vanishing, which would make the information singular.
PSEUDO = 1e-5
# Rows whose parts are computed at a time, so that they stay close to the processor.
ROWS = 8192
# With more rows than this the fit starts from that of every tenth row, which saves half of the steps.
MANY = 20_000


def proportional_odds(response: Response, K: FloatArray, c: FloatArray, shared: bool = True) -> Smooth:
    """Fit ordered levels, censored ones by what is known of them; without `shared` no `cross` is worked out."""
    lo, hi, levels = _codes(response)
    censored = response.high is not None and bool(np.any(lo != hi))
    n, k = K.shape
    L = levels
    if L < 2:
        return nothing(n, k)
    total = float(c.sum())

    def beside(v: FloatArray, total: float) -> Parts:
        """What is added to the likelihood: the ridge, and pseudo-observations of levels that may be censored."""
        theta, beta = v[: L - 1], v[L - 1 :]
        value, gradient, hessian = 0.0, np.zeros(len(v)), np.zeros((len(v), len(v)))
        if censored:
            each, pseudo = np.arange(L), np.full(L, PSEUDO * total)
            value, gradient, hessian = _interval_parts(
                theta, np.zeros(L), np.zeros((L, k)), pseudo, (each, each)
            )
        value -= 0.5 * RIDGE * total * float(beta @ beta)
        gradient[L - 1 :] -= RIDGE * total * beta
        hessian[L - 1 :, L - 1 :] += RIDGE * total * np.eye(k)
        return value, gradient, hessian

    def parts(v: FloatArray, some: slice, total: float) -> Parts:
        theta, beta = v[: L - 1], v[L - 1 :]
        if (theta[1:] <= theta[:-1]).any():
            return -np.inf, v, np.zeros((len(v), len(v)))
        value, gradient, hessian = _sums(theta, beta, K[some], c[some], (lo[some], hi[some]))
        more = beside(v, total)
        return value + more[0], gradient + more[1], hessian + more[2]

    # thresholds at the shares; an observation between levels counts as its middle
    middle = np.minimum((lo + hi) // 2, L - 1)
    share = np.cumsum(np.bincount(middle, weights=c, minlength=L) + 0.5 * total / n) / (
        total * (1 + 0.5 * L / n)
    )
    start = np.concatenate([np.log(share[:-1] / (1 - share[:-1])), np.zeros(k)])
    if n > MANY and k:
        some = slice(None, None, 10)
        near, good, _ = newton(start, lambda v: parts(v, some, float(c[some].sum())), float(c[some].sum()))
        start = near if good else start
    v, converged, (value, gradient, _) = newton(start, lambda v: parts(v, slice(None), total), total)
    added = beside(v, total)
    value, gradient = value - added[0], gradient - added[1]
    theta, beta = v[: L - 1], v[L - 1 :]
    eta = K @ beta
    info, with_theta, inner = _expected(theta, eta, K, c, (lo, hi))
    upper, lower = _edges(theta, eta, lo, hi)
    residuals = c * (expit(upper) + expit(lower) - 1)
    if shared:
        cross = np.concatenate([with_theta, info[:, None] * K], axis=1)
        residuals, scaled = whiten(residuals, cross, inner, gradient)
    else:
        # the same projection, without the products that nobody asked for
        half = half_inverse(inner)
        move = half @ (half.T @ gradient)
        residuals = residuals - with_theta @ move[: L - 1] - info * (K @ move[L - 1 :])
        scaled = np.zeros((n, 0))
    return Smooth(
        residuals[:, None], info[:, None, None], scaled[:, None, :], beta[:, None], value, converged
    )


def _codes(response: Response) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Return lowest and highest level of each observation as 0..L-1; thresholds nobody can see are left out."""
    low = np.asarray(response.y)
    high = low if response.high is None else np.asarray(response.high)
    if response.high is None:
        values, codes = np.unique(low, return_inverse=True)
        return codes, codes, len(values)
    # a threshold lies below every lowest level and above every highest one but the extremes
    below, above = np.unique(low)[1:], np.unique(high)[:-1]
    cuts = np.unique(np.concatenate([below - 0.5, above + 0.5]))
    return np.searchsorted(cuts, low), np.searchsorted(cuts, high), len(cuts) + 1


def _edges(
    theta: FloatArray, eta: FloatArray, lo: NDArray[np.intp], hi: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """Return upper and lower end of each observation's interval on the latent scale."""
    ends = np.concatenate([[-np.inf], theta, [np.inf]])
    return ends[hi + 1] - eta, ends[lo] - eta


def _sums(
    theta: FloatArray,
    beta: FloatArray,
    K: FloatArray,
    c: FloatArray,
    codes: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> tuple[float, FloatArray, FloatArray]:
    """Log-likelihood, gradient and negative Hessian of all rows, some rows at a time."""
    lo, hi = codes
    found = []
    for first in range(0, len(c), ROWS):
        at = slice(first, first + ROWS)
        found.append(_interval_parts(theta, K[at] @ beta, K[at], c[at], (lo[at], hi[at])))
    value, gradient, hessian = found[0]
    for more in found[1:]:
        value, gradient, hessian = value + more[0], gradient + more[1], hessian + more[2]
    return value, gradient, hessian


def _interval_parts(
    theta: FloatArray,
    eta: FloatArray,
    K: FloatArray,
    c: FloatArray,
    codes: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> tuple[float, FloatArray, FloatArray]:
    """Log-likelihood of intervals, its gradient and negative Hessian by (theta, beta)."""
    lo, hi = codes
    m, k = len(theta), K.shape[1]
    upper, lower = _edges(theta, eta, lo, hi)
    (Fu, Gu), (Fl, Gl) = _both_tails(upper), _both_tails(lower)
    # F(u) - F(l) without cancellation; what the width of the interval says of it is the same for all of one interval
    ends = np.concatenate([[-np.inf], theta, [np.inf]])
    gaps = -np.expm1(np.minimum(ends[:-1, None] - ends[None, 1:], 0.0))
    P = np.maximum(Fu * Gl * gaps[lo, hi], 1e-300)
    fu, fl = Fu * Gu, Fl * Gl
    gu, gl = fu / P, -fl / P
    huu = c * (gu * (gu - (Gu - Fu)))
    hll = c * (gl * (gl - (Gl - Fl)))
    hul = c * gu * gl
    gradient = np.zeros(m + k)
    hessian = np.zeros((m + k, m + k))
    T = hessian[:m, :m]

    # the last upper end and the first lower one are no thresholds
    def of_upper(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(hi, values, m + 1)[:m], dtype=float)

    def of_lower(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(lo, values, m + 1)[1:], dtype=float)

    gradient[:m] = of_upper(c * gu) + of_lower(c * gl)
    T[np.diag_indices(m)] = of_upper(huu) + of_lower(hll)
    pairs = np.bincount(hi * (m + 1) + lo, weights=hul, minlength=(m + 1) ** 2).reshape(m + 1, m + 1)[:m, 1:]
    T += pairs + pairs.T
    if k:
        gradient[m:] = K.T @ (c * (Fu - Gl))
        half = np.sqrt(c * (fu + fl))[:, None] * K
        hessian[m:, m:] = half.T @ half
        # d(gradient by theta)/d(eta) is minus the row sum of the thresholds' part
        rows = np.zeros((len(c), m + 2))
        each = np.arange(len(c))
        rows[each, hi + 1] = -(huu + hul)
        rows[each, lo] -= hll + hul
        side = rows[:, 1:-1].T @ K
        hessian[:m, m:] = side
        hessian[m:, :m] = side.T
    return float(c @ np.log(P)), gradient, hessian


def _both_tails(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the logistic distribution function and its complement, both to the last digit."""
    small = np.exp(-np.abs(x))
    large = 1.0 / (1.0 + small)
    small *= large
    above = x >= 0
    return np.where(above, large, small), np.where(above, small, large)


def _expected(
    theta: FloatArray,
    eta: FloatArray,
    K: FloatArray,
    c: FloatArray,
    codes: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Expected information of all rows, some rows at a time: of eta, of eta with the thresholds, of all parameters."""
    lo, hi = codes
    m = len(theta)
    info, with_theta = np.empty(len(c)), np.empty((len(c), m))
    inner = np.zeros((m + K.shape[1], m + K.shape[1]))
    for first in range(0, len(c), ROWS):
        at = slice(first, first + ROWS)
        info[at], with_theta[at], more = _expected_parts(theta, eta[at], K[at], c[at], (lo[at], hi[at]))
        inner += more
    return info, with_theta, inner


def _expected_parts(
    theta: FloatArray,
    eta: FloatArray,
    K: FloatArray,
    c: FloatArray,
    codes: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Expected information: of eta, of eta with the thresholds, and of all parameters together."""
    lo, hi = codes
    m, k = len(theta), K.shape[1]
    n = len(eta)
    latent = theta[None, :] - eta[:, None]
    F = np.concatenate([np.zeros((n, 1)), expit(latent), np.ones((n, 1))], axis=1)
    f = F * (1 - F)
    P = np.maximum(np.diff(F, axis=1), 1e-300)
    slope = np.diff(f, axis=1)
    info = np.sum(slope * slope / P, axis=1)
    inside = f[:, 1:-1]
    with_theta = -inside * (slope[:, :-1] / P[:, :-1] - slope[:, 1:] / P[:, 1:])
    own = inside**2 * (1 / P[:, :-1] + 1 / P[:, 1:])
    next_to = -inside[:, :-1] * inside[:, 1:] / P[:, 1:-1]
    partly = lo != hi
    if np.any(partly):
        upper, lower = _edges(theta, eta[partly], lo[partly], hi[partly])
        info[partly], with_theta[partly], own[partly] = _observed(upper, lower, lo[partly], hi[partly], m)
        next_to[partly] = 0.0
    inner = np.zeros((m + k, m + k))
    inner[np.arange(m), np.arange(m)] = c @ own
    if m > 1:
        inner[np.arange(m - 1), np.arange(1, m)] = inner[np.arange(1, m), np.arange(m - 1)] = c @ next_to
    if np.any(partly):
        inner[:m, :m] += _observed_pairs(theta, eta[partly], c[partly], (lo[partly], hi[partly]))
    info, with_theta = c * info, c[:, None] * with_theta
    inner[:m, m:] = with_theta.T @ K
    inner[m:, :m] = inner[:m, m:].T
    inner[m:, m:] = K.T @ (info[:, None] * K)
    return info, with_theta, inner


def _observed(
    upper: FloatArray, lower: FloatArray, lo: NDArray[np.intp], hi: NDArray[np.intp], m: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Observed information of censored observations: of eta, of eta with each threshold, of each threshold."""
    Fu, Fl = expit(upper), expit(lower)
    fu, fl = Fu * (1 - Fu), Fl * (1 - Fl)
    P = np.maximum(Fu - Fl, 1e-300)
    huu = (fu / P) ** 2 - fu * (1 - 2 * Fu) / P
    hll = (fl / P) ** 2 + fl * (1 - 2 * Fl) / P
    hul = -fu * fl / P**2
    with_theta, own = np.zeros((len(lo), m)), np.zeros((len(lo), m))
    rows = np.arange(len(lo))
    up, low = hi < m, lo > 0
    with_theta[rows[up], hi[up]] -= (huu + hul)[up]
    with_theta[rows[low], lo[low] - 1] -= (hll + hul)[low]
    own[rows[up], hi[up]] += huu[up]
    own[rows[low], lo[low] - 1] += hll[low]
    return fu + fl, with_theta, own


def _observed_pairs(
    theta: FloatArray, eta: FloatArray, c: FloatArray, codes: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> FloatArray:
    """Observed information between the two thresholds of censored observations."""
    lo, hi = codes
    m = len(theta)
    upper, lower = _edges(theta, eta, lo, hi)
    Fu, Fl = expit(upper), expit(lower)
    P = np.maximum(Fu - Fl, 1e-300)
    both = (hi < m) & (lo > 0)
    value = -c * Fu * (1 - Fu) * Fl * (1 - Fl) / P**2
    pairs: FloatArray = np.bincount(hi[both] * m + lo[both] - 1, value[both], m * m).astype(float)
    return pairs.reshape(m, m) + pairs.reshape(m, m).T
