"""Score statistics: what terms say about a response that a smooth model does not, observed and permuted.

The score of a term is the derivative of the log-likelihood of a model without it, standardised by its information given
what that model estimated. Permuting the term's rows changes neither the model nor its residuals, so thousands of
permutations are a few matrix products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, ndtri

from relbounds.linear.noise.moves import TOGETHER, IntArray, Moves, moved
from relbounds.linear.noise.smooth import FloatArray, Smooth

# Values equal up to this, relative to the observed one, are ties: rounding must not decide.
TIE = 1e-9
# Added to a term's information, relative to what it would have without kept terms: makes the statistic of a copy of a
# kept term 0 instead of 0 / 0. Far below the 1 / n by which chance moves it.
FLOOR = 1e-9
# Singular values of a term's columns below this, relative to the largest before adjustment, are none.
RANK = 1e-8
# Weights that vary less than this, relative to their mean, are constant, which saves a product each.
EVEN = 1e-10
# Directions that carry less than this share of a column's information are left out of what kept terms take from it:
# moves a statistic by half as much, and saves a product each.
SLIGHT = 1e-3
# Numbers that one chunk of statistics may hold: a matter of memory (8 MB) and of nothing else.
CHUNK = 1_000_000
# Bytes of products of single columns that are made at once: what is made of them finds them in the processor's cache.
CACHED = 2_000_000
# Columns of a term above which its information uses the mean weight: pairs of columns grow with the square.
WIDE = 40
# In single precision information below this share of what it is on average is not known well enough.
KNOWN = 0.05


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

    def places(self, chosen: Sequence[int]) -> IntArray:
        """Return where the columns of some terms stand among those of all terms."""
        some = np.asarray(chosen, dtype=np.intp)
        widths = self.widths[some]
        before = np.cumsum(widths) - widths
        out: IntArray = np.repeat(self.starts[some] - before, widths) + np.arange(widths.sum())
        return out


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
    widths = np.array([block.shape[1] for block in arrays], dtype=np.intp)
    whole = np.concatenate(arrays, axis=1)
    whole = whole - whole.mean(axis=0)
    sizes = np.linalg.norm(whole, axis=0)
    left = whole
    if adjust is not None:
        fixed = basis_of(np.column_stack([np.ones(n), adjust]), 0.0)
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
    if columns.shape[1] == 1:
        size = float(np.linalg.norm(columns))
        return columns / size if size > floor else columns[:, :0]
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, values > max(floor, RANK * float(values.max(initial=0.0)))]


def take_terms(terms: Terms, chosen: Sequence[int]) -> Terms:
    """Return some of the terms.

    Examples
    --------
    >>> take_terms(make_terms([np.arange(3.0), np.eye(3)]), [1]).widths.tolist()
    [2]
    """
    widths = terms.widths[np.asarray(chosen, dtype=np.intp)]
    return Terms(terms.columns[:, terms.places(chosen)], np.cumsum(widths) - widths, widths)


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
    """A smooth model whose observations change places, instead of the columns.

    Its weights, (draws, n) each, are moved when a product asks for them: arrays of a few hundred draws that are used at
    once stay in the processor's cache.

    Examples
    --------
    >>> from relbounds.linear.noise.moves import make_moves
    >>> from relbounds.linear.noise.smooth import Response, fit_smooth
    >>> loads = make_loads(fit_smooth(Response("binary", np.array([0, 1, 1, 0]))))
    >>> Moved(loads, make_moves(np.array([[1, 0, 2, 3]]))).residuals(0)
    array([[ 0.5, -0.5,  0.5, -0.5]])
    """

    loads: Loads
    moves: Moves

    @property
    def draws(self) -> int:
        """The number of permuted data sets."""
        return self.moves.draws

    @property
    def idle(self) -> bool:
        """Whether nothing is left to explain."""
        return not np.any(self.loads.mean) or not np.any(self.loads.residuals)

    def residuals(self, a: int) -> FloatArray:
        """Score residuals of a linear predictor."""
        return moved(self.loads.residuals[:, a], self.moves)

    def cross(self, a: int, e: int) -> FloatArray:
        """What a linear predictor shares with a direction of the estimated parameters."""
        return moved(self.loads.cross[:, a, e], self.moves)

    def curved(self, a: int, b: int) -> FloatArray:
        """What varies of the information of two linear predictors."""
        assert self.loads.varying is not None
        return moved(self.loads.varying[:, a, b], self.moves)

    def kept(self, e: int) -> FloatArray:
        """A direction of the kept columns."""
        return moved(self.loads.kept[:, e], self.moves)


@dataclass(frozen=True)
class Seen:
    """A moved model's products with columns: made once for both statistics of a term.

    Attributes
    ----------
    residuals : array (draws, s, D)
    cross : array (draws, s, m, D)
    curved : array (draws, D, D) or None
        With pairs of columns, weighted by what varies of the information; of one linear predictor only. Only the
        lower triangles are filled.
    """

    residuals: FloatArray
    cross: FloatArray
    curved: FloatArray | None = None


def pairs_of(X: FloatArray) -> FloatArray:
    """Return the products of all pairs of columns, row by row of the lower triangle.

    Examples
    --------
    >>> pairs_of(np.array([[1.0, 2.0, 3.0]]))
    array([[1., 2., 4., 3., 6., 9.]])
    """
    n, D = X.shape
    out = np.empty((n, D * (D + 1) // 2))
    for i in range(D):
        np.multiply(X[:, : i + 1], X[:, i : i + 1], out=out[:, i * (i + 1) // 2 : (i + 1) * (i + 2) // 2])
    return out


def see(X: FloatArray, given: Moved, pairs: FloatArray | None = None) -> Seen:
    """Multiply a moved model with columns, and with pairs of them where these are given.

    Examples
    --------
    >>> from relbounds.linear.noise.moves import stay
    >>> from relbounds.linear.noise.smooth import Response, fit_smooth
    >>> loads = make_loads(fit_smooth(Response("binary", np.array([0, 1, 1, 0]))))
    >>> see(np.eye(4)[:, :2], Moved(loads, stay(4))).residuals
    array([[[-0.5,  0.5]]])
    """
    D, draws = X.shape[1], given.draws
    _, s, m = given.loads.cross.shape
    residuals, cross = np.empty((draws, s, D)), np.empty((draws, s, m, D))
    for a in range(s):
        residuals[:, a] = given.residuals(a) @ X
        for e in range(m):
            cross[:, a, e] = given.cross(a, e) @ X
    if pairs is None:
        return Seen(residuals, cross)
    curved = np.zeros((draws, D, D))
    flat = given.curved(0, 0) @ pairs
    for i in range(D):
        curved[:, i, : i + 1] = flat[:, i * (i + 1) // 2 : (i + 1) * (i + 2) // 2]
    return Seen(residuals, cross, curved)


def score_values(terms: Terms, given: Moved, seen: Seen | None = None) -> FloatArray:
    """Return the score statistic of each term in each permuted data set, as an absolute normal value.

    Parameters
    ----------
    terms : Terms
    given : Moved
        The smooth model, moved by row maps.
    seen : Seen, optional
        Its products with all columns, where they are known.

    Returns
    -------
    array (draws, terms)
        The root of a chi-square value with as many degrees of freedom as columns (times linear predictors), turned
        into the normal value with the same tail, so that terms of different width can be compared. Of columns in
        single precision those that are not known well are nan.

    Examples
    --------
    >>> from relbounds.linear.noise.moves import stay
    >>> from relbounds.linear.noise.smooth import Response, fit_smooth
    >>> y = np.array([0, 0, 1, 1, 0, 1])
    >>> loads = make_loads(fit_smooth(Response("binary", y)))
    >>> terms = make_terms([y.astype(float)])
    >>> score_values(terms, Moved(loads, stay(6))).round(3)
    array([[2.449]])
    """
    draws, (_, s, m) = given.draws, given.loads.cross.shape
    out = np.zeros((draws, terms.count))
    if given.idle:
        return out
    if seen is None and s == 1 and terms.widths.max(initial=0) <= 1:
        out[:, terms.widths > 0] = single_values(terms.columns, given)
        return out
    if seen is None and draws * s * (1 + m) * terms.columns.shape[1] <= CHUNK:
        seen = see(terms.columns, given)
    for width in np.unique(terms.widths[terms.widths > 0]):
        chosen = np.flatnonzero(terms.widths == width)
        q = int(width) * s
        most = max(1, CHUNK // max(1, draws * q * (q + m + 1)))
        for first in range(0, len(chosen), most):
            some = chosen[first : first + most]
            places = (terms.starts[some][:, None] + np.arange(width)[None, :]).ravel()
            own = _at(terms, places, given, seen)
            u = own.residuals.reshape(draws, s, len(some), width)
            V = _information(terms.columns, places, (len(some), int(width)), given, own)
            out[:, some] = to_normal(quadratic(u.transpose(0, 2, 1, 3).reshape(draws, len(some), q), V), q)
    return out


def single_values(X: FloatArray, given: Moved) -> FloatArray:
    """Return the statistics of single columns beside one linear predictor, as `score_values` does.

    All that columns are multiplied with stands in one array, of so many draws that the products stay in the cache.

    Examples
    --------
    >>> from relbounds.linear.noise.moves import stay
    >>> from relbounds.linear.noise.smooth import Response, fit_smooth
    >>> y = np.array([0, 0, 1, 1, 0, 1])
    >>> given = Moved(make_loads(fit_smooth(Response("binary", y))), stay(6))
    >>> single_values(make_terms([y.astype(float)]).columns, given).round(3)
    array([[2.449]])
    """
    loads = given.loads
    n, D = X.shape
    own = np.ascontiguousarray(np.concatenate([loads.residuals, loads.cross[:, 0]], axis=1).T)
    uneven = None if loads.varying is None else loads.varying[:, 0, 0]
    squares = X**2 if uneven is not None else X
    base = loads.mean[0, 0] * (1 + FLOOR)
    out = np.empty((given.draws, D))
    step = max(1, min(given.draws, CACHED // (len(own) * D * X.itemsize)))
    room = np.empty((len(own) * step, D), X.dtype)
    for first in range(0, given.draws, step):
        moves = given.moves.take(slice(first, first + step))
        products = np.matmul(moved(own, moves).reshape(-1, n), X, out=room[: len(own) * moves.draws])
        score, cross = products[: moves.draws], products[moves.draws :].reshape(-1, moves.draws, D)
        taken = np.square(cross, out=cross).sum(axis=0)
        information = base - taken if uneven is None else moved(uneven, moves) @ squares + (base - taken)
        if X.dtype == np.float32:
            information[information < KNOWN * base] = np.nan
        out[first : first + step] = np.abs(score) / np.sqrt(np.maximum(information, 1e-300))
    return out


def _at(terms: Terms, places: IntArray, given: Moved, seen: Seen | None) -> Seen:
    """Return the products with some columns."""
    if seen is None:
        return see(terms.columns[:, places], given)
    if len(places) == terms.columns.shape[1] and np.all(places == np.arange(len(places))):
        return seen
    curved = None if seen.curved is None else seen.curved[:, places[:, None], places]
    return Seen(seen.residuals[:, :, places], seen.cross[:, :, :, places], curved)


def _information(
    X: FloatArray, places: IntArray, shape: tuple[int, int], given: Moved, own: Seen
) -> FloatArray:
    """Efficient information of terms of one width: (draws or 1, terms, q, q), predictors outer, columns inner."""
    terms, width = shape
    loads, draws = given.loads, given.draws
    _, s, m = loads.cross.shape
    uneven = loads.varying is not None and width <= WIDE
    base = np.kron(loads.mean, np.eye(width)) * (1 + FLOOR)
    if not m and not uneven:
        return np.broadcast_to(base, (1, terms, s * width, s * width))
    if s * width == 1:
        single = base[0, 0] - np.einsum("demt,demt->dt", own.cross, own.cross)
        if uneven:
            single += (
                given.curved(0, 0) @ (X[:, places] ** 2)
                if own.curved is None
                else np.einsum("dtt->dt", own.curved)
            )
        return np.asarray(single[:, :, None, None], dtype=float)
    V = (
        np.broadcast_to(base, (draws, terms, s * width, s * width))
        .reshape(draws, terms, s, width, s, width)
        .copy()
    )
    if uneven:
        columns = X[:, places].reshape(len(X), terms, width)
        weights = {(a, b): given.curved(a, b) for a in range(s) for b in range(a, s)}
        for i in range(width):
            for j in range(i, width):
                pair = columns[:, :, i] * columns[:, :, j]
                for (a, b), weight in weights.items():
                    value = weight @ pair
                    for one, other in {(a, b), (b, a)}:
                        V[:, :, one, i, other, j] += value
                        if i != j:
                            V[:, :, one, j, other, i] += value
    for e in range(m):
        c = own.cross[:, :, e].reshape(draws, s, terms, width)
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


def to_normal(Q: FloatArray, q: int) -> FloatArray:
    """Turn chi-square values with q degrees of freedom into absolute normal values with the same tail."""
    root = np.sqrt(np.maximum(Q, 0.0))
    if q == 1:
        return root
    # a table, since exact tails of many values are slow; beyond it parallel, so that order is kept
    grid = np.linspace(0.0, np.sqrt(q) + 33.0, 600)
    tail = chdtrc(q, grid**2)
    good = tail > 1e-282
    value = -ndtri(tail[good] / 2)
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
    330
    """
    n, s, m = loads.cross.shape
    each = n * (s * (1 + m) + s * s + 1) + more
    return max(1, CHUNK // (each * TOGETHER)) * TOGETHER
