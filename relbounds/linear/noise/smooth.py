"""Small smooth models of a response on a few kept columns, and what is left over: score residuals.

The score part of the block test asks whether a term says something about the response that the kept terms do not say.
It needs no model with the term in it: only the model without, and the derivative of its log-likelihood by the linear
predictor, one value (nominal: one vector) an observation. Permuting the term changes neither.

==============  ==================================================================================================
response        model
==============  ==================================================================================================
ordinal         proportional odds, ``P(y <= l) = F(theta_l - eta)`` with F logistic; levels may be censored
binary          logistic regression: proportional odds with two levels
regression      least squares; the residuals' normal scores (default) or the residuals themselves
nominal         multinomial logit, one linear predictor a level but the first
survival        Cox's model, Breslow's way with ties; martingale residuals
==============  ==================================================================================================

Every model is fitted by Newton's method with step halving and a ridge so small that it only shows where the data
leave a coefficient open (separable, collinear). None raises on such data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

FloatArray = NDArray[np.float64]

# Penalty on half the squared coefficients, relative to the total weight, columns being standardised: 1e-6 moves a
# coefficient by about 1e-5 of itself, and stops a separable fit where the fitted probabilities are about 1e-5.
RIDGE = 1e-6
# Weight of the one pseudo-observation that each level gets where levels are censored, relative to the total weight:
# keeps a level that no observation must have from vanishing, which would make the information singular.
PSEUDO = 1e-5
# Newton steps at most; concave likelihoods need about six, separable ones about twenty.
STEPS = 50
# Convergence: the Newton decrement relative to the total weight. The square root of it is about the relative error of
# the linear predictor; what is left of the gradient is projected out of the residuals afterwards.
DECREMENT = 1e-12
# Halvings of a step at most before the fit is taken as it is.
HALVINGS = 30
# Pieces of the baseline hazard that the information of Cox's model allows for: with as many as there are event times
# it is Cox's own; beyond a dozen the pieces change nothing but the cost.
PIECES = 12
# Logarithm of the least risk in Cox's model, relative to the greatest: its inverse is still a number.
LEAST_RISK = -600.0
# Weights below this share of the median residual's scale count as outliers in the first fit of a numeric response.
HUBER = 1.345


@dataclass(frozen=True)
class Response:
    """What the kept columns are to explain, as arrays.

    Parameters
    ----------
    kind : {"ordinal", "binary", "regression", "nominal", "survival"}
    y : array
        Levels as whole numbers (any codes, in order), numbers, or times.
    weights : array or None
        Case weights; None: 1 each.
    high : array or None
        Ordinal: the highest level that an observation may have, where it is only known to lie between `y` and this.
    event : array of bool or None
        Survival: whether the time is that of an event (True) or of censoring.

    Examples
    --------
    >>> Response("binary", np.array([0, 1, 1])).n
    3
    """

    kind: str
    y: FloatArray
    weights: FloatArray | None = None
    high: FloatArray | None = None
    event: NDArray[np.bool_] | None = None

    @property
    def n(self) -> int:
        """The number of observations."""
        return len(self.y)

    @property
    def case_weights(self) -> FloatArray:
        """The weights, ones if none were given."""
        return np.ones(self.n) if self.weights is None else np.asarray(self.weights, dtype=float)


@dataclass(frozen=True)
class Smooth:
    """A fitted smooth model, reduced to what a score test needs. s is the number of linear predictors.

    For a column x that is not in the model, ``x @ residuals`` is its score, and its information, given everything
    that was estimated, is ``sum_i x_i^2 information_i - sum_m (x @ cross_m)^2``.

    Attributes
    ----------
    residuals : array (n, s)
        Derivative of the log-likelihood by the linear predictors; orthogonal to what was estimated.
    information : array (n, s, s)
        Expected second derivative (observed, where a level is censored).
    cross : array (n, s, m)
        Information shared with the m estimated parameters, scaled so that theirs is the identity.
    coefficients : array (k, s)
        Of the kept columns.
    loglik : float
        Log-likelihood (regression: of the normal model).
    converged : bool
    """

    residuals: FloatArray
    information: FloatArray
    cross: FloatArray
    coefficients: FloatArray
    loglik: float
    converged: bool


def fit_smooth(response: Response, columns: FloatArray | None = None, scores: str = "normal") -> Smooth:
    """Fit the standard model of a response on the given columns.

    Parameters
    ----------
    response : Response
    columns : array (n, k) or None
        Kept columns, adjusting covariates included; an intercept (thresholds, a baseline hazard) is always there.
    scores : {"normal", "plain"}
        Regression only: residuals by their normal scores (ranks; keeps its power where errors have heavy tails) or
        as they are.

    Examples
    --------
    >>> x = np.array([[-1.0], [-0.5], [0.0], [0.5], [1.0], [1.5]])
    >>> found = fit_smooth(Response("binary", np.array([0, 1, 0, 1, 0, 1])), x)
    >>> found.coefficients.round(2).tolist(), bool(abs(found.residuals.sum()) < 1e-8)
    ([[0.72]], True)
    """
    n = response.n
    raw = np.zeros((n, 0)) if columns is None else np.asarray(columns, dtype=float).reshape(n, -1)
    c = response.case_weights
    mean = np.average(raw, axis=0, weights=c) if raw.shape[1] else np.zeros(0)
    spread = np.sqrt(np.average((raw - mean) ** 2, axis=0, weights=c)) if raw.shape[1] else np.zeros(0)
    spread = np.where(spread > 1e-12 * np.maximum(1.0, np.abs(mean)), spread, np.inf)
    K = (raw - mean) / spread
    if response.kind in ("ordinal", "binary"):
        found = _proportional_odds(response, K, c)
    elif response.kind == "regression":
        found = _least_squares(np.asarray(response.y, dtype=float), K, c, scores)
    elif response.kind == "nominal":
        found = _multinomial(response, K, c)
    else:
        found = _cox(response, K, c)
    return Smooth(
        found.residuals,
        found.information,
        found.cross,
        found.coefficients / spread[:, None],
        found.loglik,
        found.converged,
    )


def _newton(
    start: FloatArray, parts: Callable[[FloatArray], tuple[float, FloatArray, FloatArray]], total: float
) -> tuple[FloatArray, bool]:
    """Climb a concave function given by its value, gradient and negative Hessian."""
    point = start
    value, gradient, hessian = parts(point)
    for _ in range(STEPS):
        step = _solve(hessian, gradient)
        decrement = float(gradient @ step)
        if not np.isfinite(decrement) or decrement <= DECREMENT * total:
            return point, np.isfinite(decrement)
        size = 1.0
        for _ in range(HALVINGS):
            new = parts(point + size * step)
            if np.isfinite(new[0]) and new[0] >= value + 1e-4 * size * decrement - 1e-12 * abs(value):
                break
            size /= 2
        else:
            return point, False
        point = point + size * step
        value, gradient, hessian = new
    return point, False


def _solve(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    try:
        return np.asarray(np.linalg.solve(hessian, gradient), dtype=float)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(hessian, hermitian=True) @ gradient, dtype=float)


def _half_inverse(matrix: FloatArray) -> FloatArray:
    """Return H with H H' the inverse, open directions left out."""
    if not len(matrix):
        return matrix
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    good = values > 1e-12 * max(float(values[-1]), 0.0)
    return vectors[:, good] / np.sqrt(values[good])


def _whiten(
    residuals: FloatArray, cross: FloatArray, inner: FloatArray, gradient: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Scale the shared information, and take out of the residuals what is left of the parameters' gradient."""
    half = _half_inverse(inner)
    scaled = cross @ half
    return residuals - scaled @ (half.T @ gradient), scaled


# ---------------------------------------------------------------------------------------------- ordered levels


def _proportional_odds(response: Response, K: FloatArray, c: FloatArray) -> Smooth:
    lo, hi, levels = _codes(response)
    censored = response.high is not None and bool(np.any(lo != hi))
    n, k = K.shape
    L = levels
    if L < 2:
        return _nothing(n, k)
    total = float(c.sum())
    pseudo = PSEUDO * total if censored else 0.0

    def parts(v: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        theta, beta = v[: L - 1], v[L - 1 :]
        if np.any(np.diff(theta) <= 0):
            return -np.inf, v, np.zeros((len(v), len(v)))
        value, gradient, hessian = _interval_parts(theta, K @ beta, K, c, (lo, hi))
        if pseudo:
            each = np.arange(L)
            extra = _interval_parts(theta, np.zeros(L), np.zeros((L, k)), np.full(L, pseudo), (each, each))
            value, gradient, hessian = value + extra[0], gradient + extra[1], hessian + extra[2]
        value -= 0.5 * RIDGE * total * float(beta @ beta)
        gradient[L - 1 :] -= RIDGE * total * beta
        hessian[L - 1 :, L - 1 :] += RIDGE * total * np.eye(k)
        return value, gradient, hessian

    # thresholds at the shares; an observation between levels counts as its middle
    middle = np.minimum((lo + hi) // 2, L - 1)
    share = np.cumsum(np.bincount(middle, weights=c, minlength=L) + 0.5 * total / n) / (
        total * (1 + 0.5 * L / n)
    )
    start = np.concatenate([np.log(share[:-1] / (1 - share[:-1])), np.zeros(k)])
    v, converged = _newton(start, parts, total)
    theta, beta = v[: L - 1], v[L - 1 :]
    eta = K @ beta
    value, gradient, _ = _interval_parts(theta, eta, K, c, (lo, hi))
    info, with_theta, inner = _expected(theta, eta, K, c, (lo, hi))
    upper, lower = _edges(theta, eta, lo, hi)
    residuals = c * (expit(upper) + expit(lower) - 1)
    cross = np.concatenate([with_theta, info[:, None] * K], axis=1)
    residuals, scaled = _whiten(residuals, cross, inner, gradient)
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


def _nothing(n: int, k: int, s: int = 1) -> Smooth:
    """Return the model of a response that does not vary: no residuals, no information."""
    return Smooth(np.zeros((n, s)), np.zeros((n, s, s)), np.zeros((n, s, 0)), np.zeros((k, s)), 0.0, True)


def _edges(
    theta: FloatArray, eta: FloatArray, lo: NDArray[np.intp], hi: NDArray[np.intp]
) -> tuple[FloatArray, FloatArray]:
    """Return upper and lower end of each observation's interval on the latent scale."""
    ends = np.concatenate([[-np.inf], theta, [np.inf]])
    return ends[hi + 1] - eta, ends[lo] - eta


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
    Fu, Fl = expit(upper), expit(lower)
    # F(u) - F(l) without cancellation
    with np.errstate(invalid="ignore"):
        gap = np.where(np.isinf(upper) | np.isinf(lower), 1.0, -np.expm1(lower - upper))
    P = np.maximum(Fu * expit(-lower) * gap, 1e-300)
    fu, fl = Fu * expit(-upper), Fl * expit(-lower)
    gu, gl = fu / P, -fl / P
    huu = c * (gu * gu - fu * (1 - 2 * Fu) / P)
    hll = c * (gl * gl + fl * (1 - 2 * Fl) / P)
    hul = c * gu * gl
    w = c * (fu + fl)
    gradient = np.zeros(m + k)
    hessian = np.zeros((m + k, m + k))
    T = hessian[:m, :m]
    up, low = hi < m, lo > 0
    gradient[:m] = np.bincount(hi[up], weights=(c * gu)[up], minlength=m)[:m]
    gradient[:m] += np.bincount(lo[low] - 1, weights=(c * gl)[low], minlength=m)[:m]
    T[np.diag_indices(m)] = np.bincount(hi[up], weights=huu[up], minlength=m)[:m]
    T[np.diag_indices(m)] += np.bincount(lo[low] - 1, weights=hll[low], minlength=m)[:m]
    both = up & low
    pairs = np.bincount(hi[both] * m + lo[both] - 1, weights=hul[both], minlength=m * m).reshape(m, m)
    T += pairs + pairs.T
    if k:
        gradient[m:] = K.T @ (c * (Fu + Fl - 1))
        hessian[m:, m:] = K.T @ (w[:, None] * K)
        side = np.zeros((m, k))
        # d(gradient by theta)/d(eta) is minus the row sum of the thresholds' part
        np.add.at(side, hi[up], (-(huu + hul)[up])[:, None] * K[up])
        np.add.at(side, lo[low] - 1, (-(hll + hul)[low])[:, None] * K[low])
        hessian[:m, m:] = side
        hessian[m:, :m] = side.T
    return float(c @ np.log(P)), gradient, hessian


def _expected(
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


# ---------------------------------------------------------------------------------------------- numbers


def _least_squares(y: FloatArray, K: FloatArray, c: FloatArray, scores: str) -> Smooth:
    n, k = K.shape
    design = np.concatenate([np.ones((n, 1)), K], axis=1)
    total = float(c.sum())
    beta = _weighted(design, y, c)
    error = y - design @ beta
    scale2 = float(c @ error**2) / total
    if scale2 <= 1e-24 * max(float(c @ y**2) / total, 1e-300):
        return _nothing(n, k)
    loglik = -0.5 * total * (np.log(2 * np.pi * scale2) + 1)
    residuals = c * error / np.sqrt(scale2)
    if scores == "normal":
        robust = _huber(design, y, c, beta) if k else beta
        residuals = c * _normal_scores(y - design @ robust, c)
    inner = design.T @ (c[:, None] * design)
    residuals, scaled = _whiten(residuals, c[:, None] * design, inner, design.T @ residuals)
    # the scores' own variance, so that a column's statistic is a standard normal without relation
    variance = float(np.sum(residuals**2)) / float(np.sum(c**2)) * n / max(n - 1 - k, 1)
    if variance <= 0:
        return _nothing(n, k)
    residuals = residuals / np.sqrt(variance)
    return Smooth(
        residuals[:, None], c[:, None, None], scaled[:, None, :], beta[1:, None], float(loglik), True
    )


def _weighted(design: FloatArray, y: FloatArray, c: FloatArray) -> FloatArray:
    inner = design.T @ (c[:, None] * design)
    inner[1:, 1:] += RIDGE * float(c.sum()) * np.eye(design.shape[1] - 1)
    return _solve(inner, design.T @ (c * y))


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


# ---------------------------------------------------------------------------------------------- levels without order


def _multinomial(response: Response, K: FloatArray, c: FloatArray) -> Smooth:
    values, codes = np.unique(np.asarray(response.y), return_inverse=True)
    n, k = K.shape
    L = len(values)
    if L < 2:
        return _nothing(n, k)
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
    v, converged = _newton(start.ravel(), parts, total)
    P, log = chances(v)
    residuals = c[:, None] * (seen - P[:, 1:])
    info = -P[:, 1:, None] * P[:, None, 1:]
    info[:, np.arange(s), np.arange(s)] += P[:, 1:]
    info *= c[:, None, None]
    cross = (info[:, :, :, None] * design[:, None, None, :]).reshape(n, s, s * m)
    gradient = (residuals.T @ design).ravel()
    residuals, scaled = _whiten(residuals, cross, hessian_at(P), gradient)
    return Smooth(residuals, info, scaled, v.reshape(s, m)[:, 1:].T, float(c @ log), converged)


# ---------------------------------------------------------------------------------------------- times


def _cox(response: Response, K: FloatArray, c: FloatArray) -> Smooth:
    time = np.asarray(response.y, dtype=float)
    event = (
        np.ones(response.n, dtype=bool) if response.event is None else np.asarray(response.event, dtype=bool)
    )
    n, k = K.shape
    if not event.any():
        return _nothing(n, k)
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

    beta, converged = _newton(np.zeros(k), parts, total) if k else (np.zeros(0), True)
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
    residuals, scaled = _whiten(residuals, cross, inner, gradient)
    return Smooth(
        residuals[:, None], lambda_i[:, None, None], scaled[:, None, :], beta[:, None], value, converged
    )
