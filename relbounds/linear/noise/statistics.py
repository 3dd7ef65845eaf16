"""Score statistics: what terms say about a response that a smooth model does not, observed and permuted.

The score of a term is the derivative of the log-likelihood of a model without it, standardised by its information given
what that model estimated. Permuting the term's rows changes neither the model nor its residuals, so thousands of
permutations are a few matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relbounds.linear.noise.moves import TOGETHER, IntArray, Moves, moved
from relbounds.linear.noise.smooth import FloatArray, Smooth

# Values equal up to this, relative to the observed one, are ties: rounding must not decide.
TIE = 1e-9
# Added to a term's information, relative to what it would have without kept terms: makes the statistic of a copy of a
# kept term 0 instead of 0 / 0. Far below the 1 / n by which chance moves it.
FLOOR = 1e-9
# The same for all terms together: terms that are copies of one another, or of kept ones, then say nothing by
# themselves. Well above rounding, whose square root is lost in a correlation matrix this close to singular.
TOGETHER_FLOOR = 1e-6
# Singular values of a term's columns below this, relative to the largest before adjustment, are none.
RANK = 1e-8
# Weights that vary less than this, relative to their mean, are constant, which saves a product each.
EVEN = 1e-10
# Directions that carry less than this share of a column's information are left out of what kept terms take from it:
# moves a statistic by half as much, and saves a product each.
SLIGHT = 1e-3
# Numbers that one chunk of statistics may hold: a matter of memory (about 50 MB) and of nothing else.
CHUNK = 6_000_000
# Columns of a term above which its information uses the mean weight: pairs of columns grow with the square.
WIDE = 40


@dataclass(frozen=True)
class Terms:
    """Columns of terms as orthonormal bases: what they can say, whatever their coding."""

    columns: FloatArray
    starts: IntArray
    widths: IntArray

    @property
    def count(self) -> int:
        """The number of terms."""
        return len(self.widths)


def make_terms(blocks: Sequence[FloatArray], adjust: FloatArray | None = None) -> Terms:
    """Return an orthonormal basis for each block, free of a constant and of the adjusting columns.

    The efficient score does not see what lies in the span of the adjusting columns. So permuting the residuals, and
    adding the fit back, is permuting the residuals.

    Parameters
    ----------
    blocks : sequence of arrays (n, p) or (n,)
    adjust : array (n, a) or None

    Examples
    --------
    >>> make_terms([np.array([1.0, 2.0, 4.0]), np.eye(3)]).widths.tolist()
    [1, 2]
    """
    if not blocks:
        return Terms(np.zeros((0, 0)), np.zeros(0, dtype=np.intp), np.zeros(0, dtype=np.intp))
    arrays = [np.asarray(block, dtype=float).reshape(len(block), -1) for block in blocks]
    n = len(arrays[0])
    fixed = basis_of(np.ones((n, 1)) if adjust is None else np.column_stack([np.ones(n), adjust]), 0.0)
    widths = np.array([block.shape[1] for block in arrays], dtype=np.intp)
    whole = np.concatenate(arrays, axis=1)
    whole = whole - whole.mean(axis=0)
    sizes = np.linalg.norm(whole, axis=0)
    left = whole - fixed @ (fixed.T @ whole)
    ends = np.cumsum(widths)
    pieces: list[FloatArray] = []
    norms = np.linalg.norm(left, axis=0)
    for t, (end, width) in enumerate(zip(ends, widths, strict=True)):
        if width == 1:
            good = norms[end - 1] > RANK * max(sizes[end - 1], 1e-300)
            pieces.append(left[:, end - 1 : end] / norms[end - 1] if good else np.zeros((n, 0)))
        else:
            span = slice(end - width, end)
            pieces.append(basis_of(left[:, span], RANK * float(np.linalg.norm(whole[:, span]))))
        widths[t] = pieces[-1].shape[1]
    columns = np.concatenate(pieces, axis=1)
    return Terms(columns, np.cumsum(widths) - widths, widths)


def basis_of(columns: FloatArray, floor: float = 0.0) -> FloatArray:
    """Return an orthonormal basis of what columns span; directions smaller than the floor are none.

    Examples
    --------
    >>> basis_of(np.array([[1.0, 2.0], [1.0, 2.0]])).shape
    (2, 1)
    """
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, values > max(floor, RANK * float(values.max(initial=0.0)))]


def take_terms(terms: Terms, chosen: Sequence[int]) -> Terms:
    """Return some of the terms.

    Examples
    --------
    >>> take_terms(make_terms([np.arange(3.0), np.eye(3)]), [1]).widths.tolist()
    [2]
    """
    picked = np.asarray(chosen, dtype=np.intp)
    widths = terms.widths[picked]
    places = [np.arange(terms.starts[t], terms.starts[t] + terms.widths[t]) for t in picked]
    columns = np.concatenate(places) if places else np.zeros(0, dtype=np.intp)
    return Terms(terms.columns[:, columns], np.cumsum(widths) - widths, widths)


@dataclass(frozen=True)
class Loads:
    """A smooth model as weights that columns are multiplied with; varying parts only, since columns are centred."""

    residuals: FloatArray  # (n, s)
    mean: FloatArray  # (s, s): mean information
    varying: FloatArray | None  # (n, s, s): information minus its mean
    cross: FloatArray  # (n, s, m)
    kept: FloatArray  # (n, k): orthonormal basis of the centred kept columns


def make_loads(smooth: Smooth, columns: FloatArray | None = None) -> Loads:
    """Prepare a smooth model for the products of a score test.

    Parameters
    ----------
    smooth : Smooth
    columns : array (n, k) or None
        The columns that are in the model; only `partial_values` needs them.

    Examples
    --------
    >>> from relbounds.linear.noise.smooth import Response, fit_smooth
    >>> make_loads(fit_smooth(Response("binary", np.array([0, 1, 1, 0])))).varying is None
    True
    """
    mean = smooth.information.mean(axis=0)
    varying = smooth.information - mean
    scale = float(np.abs(mean).max(initial=0.0))
    even = float(np.abs(varying).max(initial=0.0)) <= EVEN * scale
    n, s, m = smooth.cross.shape
    cross = (smooth.cross - smooth.cross.mean(axis=0)).reshape(n * s, m)
    # few directions carry all of it
    if m:
        values, vectors = np.linalg.eigh(cross.T @ cross)
        cross = cross @ vectors[:, values > SLIGHT * max(scale, 1e-300)]
    kept = np.zeros((n, 0)) if columns is None else basis_of(columns - columns.mean(axis=0), 0.0)
    return Loads(smooth.residuals, mean, None if even else varying, cross.reshape(n, s, -1), kept)


@dataclass(frozen=True)
class Moved:
    """A smooth model whose observations changed places, instead of the columns: weights, (draws, n) each."""

    draws: int
    mean: FloatArray
    residuals: list[FloatArray]
    cross: list[list[FloatArray]]
    curved: dict[tuple[int, int], FloatArray]
    kept: list[FloatArray]

    @property
    def idle(self) -> bool:
        """Whether nothing is left to explain."""
        return not np.any(self.mean) or not any(np.any(one) for one in self.residuals)


def move_loads(loads: Loads, moves: Moves) -> Moved:
    """Move the weights of a smooth model by row maps.

    Examples
    --------
    >>> from relbounds.linear.noise.moves import make_moves
    >>> from relbounds.linear.noise.smooth import Response, fit_smooth
    >>> loads = make_loads(fit_smooth(Response("binary", np.array([0, 1, 1, 0]))))
    >>> move_loads(loads, make_moves(np.array([[1, 0, 2, 3]]))).residuals
    [array([[ 0.5, -0.5,  0.5, -0.5]])]
    """
    s, m = loads.mean.shape[0], loads.cross.shape[2]
    pairs = [(a, b) for a in range(s) for b in range(a, s)] if loads.varying is not None else []
    varying = loads.varying if loads.varying is not None else np.zeros((0, s, s))
    return Moved(
        moves.draws,
        loads.mean,
        [moved(loads.residuals[:, a], moves) for a in range(s)],
        [[moved(loads.cross[:, a, e], moves) for e in range(m)] for a in range(s)],
        {(a, b): moved(varying[:, a, b], moves) for a, b in pairs},
        # only where the information of several linear predictors is looked at together
        [moved(loads.kept[:, e], moves) for e in range(loads.kept.shape[1])] if s > 1 else [],
    )


def score_values(terms: Terms, given: Moved) -> FloatArray:
    """Return the score statistic of each term in each permuted data set, as an absolute normal value.

    Parameters
    ----------
    terms : Terms
    given : Moved
        The smooth model, moved by row maps.

    Returns
    -------
    array (draws, terms)
        The root of a chi-square value with as many degrees of freedom as columns (times linear predictors), turned
        into the normal value with the same tail, so that terms of different width can be compared.

    Examples
    --------
    >>> from relbounds.linear.noise.moves import stay
    >>> from relbounds.linear.noise.smooth import Response, fit_smooth
    >>> y = np.array([0, 0, 1, 1, 0, 1])
    >>> loads = make_loads(fit_smooth(Response("binary", y)))
    >>> terms = make_terms([y.astype(float)])
    >>> score_values(terms, move_loads(loads, stay(6))).round(3)
    array([[2.449]])
    """
    draws, s = given.draws, given.mean.shape[0]
    out = np.zeros((draws, terms.count))
    if given.idle:
        return out
    m = len(given.cross[0])
    for width in np.unique(terms.widths[terms.widths > 0]):
        chosen = np.flatnonzero(terms.widths == width)
        q = int(width) * s
        most = max(1, CHUNK // max(1, draws * q * (q + m + 1)))
        for first in range(0, len(chosen), most):
            some = chosen[first : first + most]
            places = terms.starts[some][:, None] + np.arange(width)[None, :]
            X = terms.columns[:, places.ravel()]
            u = np.stack([one @ X for one in given.residuals], axis=1).reshape(draws, s, len(some), width)
            V = _information(X, (len(some), int(width)), given)
            out[:, some] = to_normal(quadratic(u.transpose(0, 2, 1, 3).reshape(draws, len(some), q), V), q)
    return out


def _information(X: FloatArray, shape: tuple[int, int], given: Moved) -> FloatArray:
    """Efficient information of terms of one width: (draws or 1, terms, q, q), predictors outer, columns inner."""
    terms, width = shape
    mean, shared, curved, draws = given.mean, given.cross, given.curved, given.draws
    s, m = len(mean), len(shared[0])
    base = np.kron(mean, np.eye(width)) * (1 + FLOOR)
    if not m and not curved:
        return np.broadcast_to(base, (1, terms, s * width, s * width))
    V = (
        np.broadcast_to(base, (draws, terms, s * width, s * width))
        .reshape(draws, terms, s, width, s, width)
        .copy()
    )
    if curved and width <= WIDE:
        columns = X.reshape(len(X), terms, width)
        for i in range(width):
            for j in range(i, width):
                pair = columns[:, :, i] * columns[:, :, j]
                for (a, b), weight in curved.items():
                    value = weight @ pair
                    for one, other in {(a, b), (b, a)}:
                        V[:, :, one, i, other, j] += value
                        if i != j:
                            V[:, :, one, j, other, i] += value
    for e in range(m):
        c = np.stack([shared[a][e] @ X for a in range(s)], axis=1).reshape(draws, s, terms, width)
        V -= np.einsum("dati,dbtj->dtaibj", c, c)
    return V.reshape(draws, terms, s * width, s * width)


def quadratic(u: FloatArray, V: FloatArray) -> FloatArray:
    """Return u' V^-1 u for stacks of vectors and matrices."""
    if u.shape[-1] == 1:
        return u[..., 0] ** 2 / np.maximum(V[..., 0, 0], 1e-300)
    if len(V) == 1 < len(u):
        # one information for all draws is that of a model without kept terms: the same for all terms too
        half = np.linalg.pinv(V[0, 0], hermitian=True)
        return np.einsum("dti,ij,dtj->dt", u, half, u)
    try:
        solved = np.linalg.solve(V, u[..., None])[..., 0]
    except np.linalg.LinAlgError:
        solved = (np.linalg.pinv(V, hermitian=True) @ u[..., None])[..., 0]
    return np.maximum(np.sum(u * solved, axis=-1), 0.0)


def partial_values(terms: Terms, given: Moved) -> FloatArray:
    """Return the statistic of each term given all other terms, in one step from the model without them.

    Score and information of all columns together give each term's coefficients in one Newton step; the statistic is
    their quadratic form, on the scale of `score_values`. Terms of one column have a sign if there is one linear
    predictor. The information uses the mean weight, which leaves one inverse for all draws but for the kept columns.

    Parameters
    ----------
    terms, given
        As in `score_values`.

    Examples
    --------
    >>> from relbounds.linear.noise.moves import stay
    >>> from relbounds.linear.noise.smooth import Response, fit_smooth
    >>> y = np.array([0, 0, 1, 1, 0, 1])
    >>> loads = make_loads(fit_smooth(Response("binary", y)))
    >>> terms = make_terms([y.astype(float), np.arange(6.0)])
    >>> np.abs(partial_values(terms, move_loads(loads, stay(6)))).round(3)
    array([[2.138, 0.   ]])
    """
    draws, s = given.draws, given.mean.shape[0]
    out = np.zeros((draws, terms.count))
    if given.idle or not terms.columns.size:
        return out
    X = terms.columns
    values, vectors = np.linalg.eigh(given.mean)
    half = vectors / np.sqrt(np.maximum(values, 1e-12 * values[-1]))
    u = np.einsum("dsD,st->dtD", np.stack([one @ X for one in given.residuals], axis=1), half)
    inverse: FloatArray = np.asarray(np.linalg.inv(_together(X, given)), dtype=float)
    beta = u @ inverse
    for t in np.flatnonzero(terms.widths > 0):
        own = slice(terms.starts[t], terms.starts[t] + terms.widths[t])
        V = inverse[:, own, own]
        if s == 1 and terms.widths[t] == 1:
            out[:, t] = beta[:, 0, own.start] / np.sqrt(np.maximum(V[:, 0, 0], 1e-300))
        else:
            V = np.broadcast_to(V[:, None], (draws, s, V.shape[1], V.shape[2]))
            Q = quadratic(beta[:, :, own], V).sum(axis=1)
            out[:, t] = to_normal(Q, s * int(terms.widths[t]))
    return out


def _together(X: FloatArray, given: Moved) -> FloatArray:
    """Information of all columns together, given what was estimated, relative to the mean: (draws or 1, D, D)."""
    D = X.shape[1]
    G = (X.T @ X + TOGETHER_FLOOR * np.eye(D))[None]
    scale = float(given.mean[0, 0])
    # several linear predictors: the mean weight, so that the information is a product
    several = len(given.mean) > 1
    if given.curved and not several:
        rows, columns = np.triu_indices(D)
        G = np.repeat(G, given.draws, axis=0)
        G[:, rows, columns] += (given.curved[0, 0] @ (X[:, rows] * X[:, columns])) / scale
        G[:, columns, rows] = G[:, rows, columns]
    shared = (
        [one @ X for one in given.kept] if several else [one @ X / np.sqrt(scale) for one in given.cross[0]]
    )
    if shared:
        C = np.stack(shared, axis=1)
        G = G - C.transpose(0, 2, 1) @ C
    return G


def to_normal(Q: FloatArray, q: int) -> FloatArray:
    """Turn chi-square values with q degrees of freedom into absolute normal values with the same tail."""
    root = np.sqrt(np.maximum(Q, 0.0))
    if q == 1:
        return root
    from scipy import stats  # slow to load

    # a table, since exact tails of many values are slow; beyond it parallel, so that order is kept
    grid = np.linspace(0.0, np.sqrt(q) + 33.0, 600)
    log_tail = stats.chi2.logsf(grid**2, q)
    good = log_tail > -650
    value = stats.norm.isf(np.exp(log_tail[good]) / 2)
    value[0] = 0.0
    out = np.interp(root, grid[good], value)
    last = grid[good][-1]
    return np.where(root > last, value[-1] + root - last, out)


def kept_columns(
    arrays: Sequence[FloatArray], order: Sequence[int], adjust: FloatArray | None, n: int
) -> FloatArray:
    """Return the adjusting columns and a full-rank basis of each kept term, on a common scale.

    Examples
    --------
    >>> kept_columns([np.eye(3)], [0], None, 3).shape
    (3, 2)
    """
    own = [basis_of(arrays[t] - arrays[t].mean(axis=0), 0.0) * np.sqrt(n) for t in order]
    fixed = [] if adjust is None else [np.asarray(adjust, dtype=float).reshape(n, -1)]
    return np.concatenate([np.zeros((n, 0)), *fixed, *own], axis=1)


def chunk_of(loads: Loads, more: int = 0) -> int:
    """Return how many draws are computed together: a matter of memory and of nothing else.

    Examples
    --------
    >>> from relbounds.linear.noise.smooth import Response, fit_smooth
    >>> chunk_of(make_loads(fit_smooth(Response("binary", np.arange(1000) % 2))))
    2000
    """
    n, s, m = loads.cross.shape
    each = n * (s * (1 + m) + s * s + 1) + more
    return max(1, CHUNK // (each * TOGETHER)) * TOGETHER
