"""Score statistics of terms given all others, in one Newton step from a model without any of them."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtrtri

from relbounds.linear.noise.moves import IntArray
from relbounds.linear.noise.smooth import FloatArray
from relbounds.linear.noise.statistics import Moved, Seen, Terms, pairs_of, quadratic, see, to_normal

# Added to the information of all terms together, relative to what they would have without kept terms: terms that are
# copies of one another, or of kept ones, then say nothing by themselves. Well above rounding, whose square root is lost
# in a correlation matrix this close to singular.
TOGETHER_FLOOR = 1e-6


def partial_values(terms: Terms, given: Moved, seen: Seen | None = None) -> FloatArray:
    """Return the statistic of each term given all other terms, in one step from the model without them.

    Score and information of all columns together give each term's coefficients in one Newton step; the statistic is
    their quadratic form, on the scale of `score_values`. Terms of one column have a sign if there is one linear
    predictor. The information uses the mean weight, which leaves one inverse for all draws but for the kept columns.

    Parameters
    ----------
    terms, given, seen
        As in `score_values`.

    Examples
    --------
    >>> from relbounds.linear.noise.moves import stay
    >>> from relbounds.linear.noise.smooth import Response, fit_smooth
    >>> from relbounds.linear.noise.statistics import make_loads, make_terms
    >>> y = np.array([0, 0, 1, 1, 0, 1])
    >>> loads = make_loads(fit_smooth(Response("binary", y)))
    >>> terms = make_terms([y.astype(float), np.arange(6.0)])
    >>> np.abs(partial_values(terms, Moved(loads, stay(6)))).round(3)
    array([[2.138, 0.   ]])
    """
    mean = given.loads.mean
    if given.idle or not terms.columns.size:
        return np.zeros((given.draws, terms.count))
    X = terms.columns
    values, vectors = np.linalg.eigh(mean)
    half = vectors / np.sqrt(np.maximum(values, 1e-12 * values[-1]))
    if seen is None:
        even = len(mean) > 1 or given.loads.varying is None
        seen = see(X, given, None if even else pairs_of(X))
    u = np.einsum("dsD,st->dtD", seen.residuals, half)
    among, taken = _together(X, given, seen)
    if seen.curved is None:
        return beside_kept(terms.widths, u, among[0], taken)
    square = taken.swapaxes(1, 2) @ taken
    return beside_others(terms.widths, u, inverse_root(np.subtract(among, square, out=square)))


def beside_kept(widths: IntArray, u: FloatArray, among: FloatArray, taken: FloatArray) -> FloatArray:
    """Return the statistic of each term given all others, where draws differ in what kept columns take alone.

    These are few: the inverse of the rest serves all draws.

    Parameters
    ----------
    widths, u
        As in `beside_others`.
    among : array (D, D)
        Information of all columns together, without kept ones.
    taken : array (draws or 1, k, D)
        The information that kept columns take is ``taken' taken``.

    Examples
    --------
    >>> beside_kept(np.array([1, 1]), np.array([[[2.0, 1.0]]]), np.eye(2), np.array([[[0.6, 0.0]]]))
    array([[2.5, 1. ]])
    """
    rest = np.asarray(np.linalg.inv(among), dtype=float)
    said = taken @ rest
    root = inverse_root(np.eye(taken.shape[1]) - said @ taken.swapaxes(1, 2)) @ said
    return beside_others(widths, u, root, rest)


def beside_others(
    widths: IntArray, u: FloatArray, root: FloatArray, fixed: FloatArray | None = None
) -> FloatArray:
    """Return the statistic of each term given all others, from the inverse information of all columns.

    Parameters
    ----------
    widths : array of int
        The terms' numbers of columns.
    u : array (draws, s, D)
        Scores, in units of the mean information.
    root : array (draws or 1, r, D)
        The inverse information is ``root' root``.
    fixed : array (D, D), optional
        What is added to it, the same for all draws.

    Examples
    --------
    >>> beside_others(np.array([1, 1]), np.array([[[2.0, 1.0]]]), np.eye(2)[None])
    array([[2., 1.]])
    """
    draws, s, D = u.shape
    out = np.zeros((draws, len(widths)))
    fixed = np.zeros((D, D)) if fixed is None else fixed
    starts = np.cumsum(widths) - widths
    beta = (u @ root.swapaxes(1, 2)) @ root + u @ fixed
    single = widths == 1 if s == 1 else np.zeros(len(widths), dtype=bool)
    variance = np.einsum("drD,drD->dD", root, root) + np.diag(fixed)
    own = starts[single]
    out[:, single] = beta[:, 0, own] / np.sqrt(np.maximum(variance[:, own], 1e-300))
    for t in np.flatnonzero(~single & (widths > 0)):
        some = slice(starts[t], starts[t] + widths[t])
        V = root[:, :, some].swapaxes(1, 2) @ root[:, :, some] + fixed[some, some]
        V = np.broadcast_to(V[:, None], (draws, s, V.shape[1], V.shape[2]))
        Q = quadratic(beta[:, :, some], V).sum(axis=1)
        out[:, t] = to_normal(Q, s * int(widths[t]))
    return out


def inverse_root(matrices: FloatArray) -> FloatArray:
    """Return R with R' R the inverse of each of some positive matrices.

    Examples
    --------
    >>> inverse_root(np.array([[[4.0]]]))
    array([[[0.5]]])
    """
    try:
        out = np.asarray(np.linalg.cholesky(matrices), dtype=float)
    except np.linalg.LinAlgError:
        # rounding leaves a matrix short of positive: what is below it is as good as nothing
        values, vectors = np.linalg.eigh(matrices)
        least = np.maximum(np.finfo(float).eps * values[:, -1:], 1e-300)
        out = vectors.swapaxes(1, 2) / np.sqrt(np.maximum(values, least))[:, :, None]
        return np.asarray(out, dtype=float)
    for one in out if out.shape[1] else ():
        # a lower factor in rows is an upper one in columns, and is inverted where it stands
        dtrtri(one.T, 0, 0, 1)
    return out


def _together(X: FloatArray, given: Moved, seen: Seen) -> tuple[FloatArray, FloatArray]:
    """Information of all columns together, relative to the mean, and what was estimated takes of it.

    Returns (draws or 1, D, D), of which only the lower triangles count, and (draws or 1, k, D): the second's square is
    taken off.
    """
    D = X.shape[1]
    G = (X.T @ X + TOGETHER_FLOOR * np.eye(D))[None]
    scale = float(given.loads.mean[0, 0])
    if len(given.loads.mean) > 1:
        # several linear predictors: the mean weight, so that the information is a product
        kept = range(given.loads.kept.shape[1])
        return G, np.stack([given.kept(e) @ X for e in kept], axis=1) if kept else np.zeros((1, 0, D))
    if seen.curved is not None:
        curved = seen.curved * (1 / scale)
        G = np.add(curved, G, out=curved)
    return G, seen.cross[:, 0] / np.sqrt(scale)
