"""Score statistics of many observations: with the mean weight, all models and all draws in one pass.

With few observations a permuted term's information is summed observation by observation. It lies within a share of
about one over the root of n of its mean over all permutations, in which every observation has the mean weight. So
with many observations that weight is taken, for observed and permuted terms alike: the test stays exact, and a
statistic needs inner products only, of the term's columns with residuals and with the columns that are kept.

Any group of permutations makes an exact test. Here rows are dealt at random into rounds of some thousand places, and in
a draw the rows of every round move on by the same number of places, the last ones to the front. All draws together
are then a correlation, which Fourier transforms compute at the price of a few draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from relbounds.linear.noise.beside import TOGETHER_FLOOR, beside_kept
from relbounds.linear.noise.moves import IntArray, Rows
from relbounds.linear.noise.smooth import FloatArray, Response, fit_smooth
from relbounds.linear.noise.statistics import (
    FLOOR,
    Terms,
    to_normal,
)
from relbounds.parallel import chunks

# With more observations than this, as many as there are draws, the mean weight is taken, unless terms have more columns
# than this.
MANY_ROWS, MANY_COLUMNS = 999, 250
# Places of a round at least.
PLACES = 1024
# Numbers that are transformed at a time, so that they stay close to the processor, and that statistics are made of.
CHUNK, CACHED = 500_000, 100_000
# Directions of kept columns smaller than this, as squares and relative to the largest, are none.
NONE = 1e-10
# What others leave of a direction of a term is nothing below this, as a square.
NOTHING = 1e-10
# Terms are looked at together up to this many columns: an inverse a draw.
TOGETHER = 100


@dataclass(frozen=True)
class Table:
    """Columns that may be kept: adjusting ones, then those of terms.

    Attributes
    ----------
    terms : Terms
    columns : array (n, a + D)
        Centred adjusting columns and the terms' columns.
    fixed : int
        The number of adjusting columns.
    gram : array (a + D, a + D)
        Products of all columns with one another.
    """

    terms: Terms
    columns: FloatArray
    fixed: int
    gram: FloatArray

    def kept(self, chosen: Sequence[int]) -> IntArray:
        """Return where the adjusting columns and those of some terms stand."""
        return np.concatenate([np.arange(self.fixed), self.fixed + self.terms.places(chosen)])


def make_table(terms: Terms, adjust: FloatArray | None) -> Table:
    """Put terms beside the adjusting columns.

    Examples
    --------
    >>> from relbounds.linear.noise.statistics import make_terms
    >>> make_table(make_terms([np.arange(3.0)]), np.array([1.0, 0.0, 1.0])[:, None]).kept([0]).tolist()
    [0, 1]
    """
    if adjust is None:
        columns = np.ascontiguousarray(terms.columns)
        return Table(terms, columns, 0, columns.T @ columns)
    fixed = adjust - adjust.mean(axis=0)
    fixed = fixed / np.maximum(np.linalg.norm(fixed, axis=0), 1e-300)
    columns = np.concatenate([fixed, terms.columns], axis=1)
    return Table(terms, columns, fixed.shape[1], columns.T @ columns)


@dataclass(frozen=True)
class Model:
    """A smooth model beside which terms are scored.

    Attributes
    ----------
    residuals : array (n, s)
        In units of the mean information.
    kept : array of int
        Where the columns of the model stand.
    left : tuple of int
        The terms that are scored.
    half : array (k, r)
        Makes the kept columns orthonormal.
    shared : array (k, D)
        Their products with the terms' columns as they are.
    among : array (L, L) or None
        Products of the columns that are left, where these are looked at together.
    """

    residuals: FloatArray
    kept: IntArray
    left: tuple[int, ...]
    half: FloatArray
    shared: FloatArray
    among: FloatArray | None


def fit_model(
    table: Table,
    response: Response,
    kept: IntArray,
    left: Sequence[int],
    *,
    scores: str = "normal",
    together: bool = False,
) -> Model:
    """Fit the smooth model of some columns, beside which terms are scored.

    Parameters
    ----------
    table : Table
    response : Response
    kept : array of int
        Where the columns of the model stand in the table, see `Table.kept`.
    left : sequence of int
        The terms that are scored.
    scores : {"normal", "plain"}
        See `fit_smooth`.
    together : bool
        Whether each term's statistic given all others counts if it is larger.

    Examples
    --------
    >>> from relbounds.linear.noise.statistics import make_terms
    >>> table = make_table(make_terms([np.arange(8.0)]), None)
    >>> fit_model(table, Response("binary", np.arange(8) % 2), table.kept([]), (0,)).residuals.shape
    (8, 1)
    """
    smooth = fit_smooth(response, table.columns[:, kept] * np.sqrt(response.n), scores, shared=False)
    values, vectors = np.linalg.eigh(smooth.information.mean(axis=0))
    good = values > 1e-12 * max(float(values[-1]), 1e-300)
    shared = table.gram[kept]
    places = table.terms.places(left)
    among = None
    if together and 1 < len(places) <= TOGETHER:
        own = table.fixed + places
        among = table.gram[np.ix_(own, own)] + TOGETHER_FLOOR * np.eye(len(places))
    return Model(
        smooth.residuals @ (vectors[:, good] / np.sqrt(values[good])),
        kept,
        tuple(left),
        _half_inverse(shared[:, kept]),
        shared[:, table.fixed :],
        among,
    )


def observed_values(table: Table, model: Model) -> FloatArray:
    """Return the statistics of a model's terms as they are, shape (1, terms)."""
    return _values(table, model, (model.residuals.T @ table.terms.columns)[None], model.shared[None])


def is_even(terms: Terms, rows: Rows) -> bool:
    """Say whether the statistics of this module serve: many rows that may all change places, not too many columns."""
    return rows.n > MANY_ROWS and not rows.strata and terms.columns.shape[1] <= MANY_COLUMNS


@dataclass(frozen=True)
class Moved:
    """Inner products of some models' residuals, and of kept columns, with the terms' columns in permuted data.

    Attributes
    ----------
    table : Table
    models : tuple of Model
    used : array of int
        The kept columns of all models.
    found : array (draws, residuals of all models + used, D)
    """

    table: Table
    models: tuple[Model, ...]
    used: IntArray
    found: FloatArray

    @property
    def draws(self) -> int:
        """The number of draws there are."""
        return len(self.found)

    def values(self, which: int, draws: slice) -> FloatArray:
        """Return the statistics of one model's terms in some draws, shape (draws, terms)."""
        one = self.models[which]
        ends = np.cumsum([each.residuals.shape[1] for each in self.models])
        own = slice(ends[which] - one.residuals.shape[1], ends[which])
        kept = ends[-1] + np.searchsorted(self.used, one.kept)
        found = self.found[draws]
        step = max(1, CACHED // ((kept.size + 1) * found.shape[2] + 1))
        out = np.empty((len(found), len(one.left)))
        for first in range(0, len(found), step):
            some = found[first : first + step]
            out[first : first + step] = _values(self.table, one, some[:, own], some[:, kept])
        return out


def move(table: Table, models: Sequence[Model], seed: int, draws: int) -> Moved:
    """Permute the terms' rows, for all models and draws together.

    Parameters
    ----------
    table : Table
    models : sequence of Model
    seed : int
    draws : int
        At most; there is one less than there are observations.

    Examples
    --------
    >>> from relbounds.linear.noise.statistics import make_terms
    >>> table = make_table(make_terms([np.arange(8.0)]), None)
    >>> models = [fit_model(table, Response("binary", np.arange(8) % 2), table.kept([]), (0,))]
    >>> move(table, models, 0, 3).values(0, slice(None)).shape
    (3, 1)
    """
    rng = np.random.default_rng(seed)
    n = len(table.columns)
    rounds = max(1, n // max(PLACES, draws + 1))
    places = n // rounds
    order = rng.permutation(n)
    steps = 1 + rng.permutation(places - 1)[:draws]
    used = np.unique(np.concatenate([one.kept for one in models]))
    sides = np.concatenate([*(one.residuals for one in models), table.columns[:, used]], axis=1)
    found = _correlation(sides, table.terms.columns, order[: rounds * places].reshape(rounds, places), steps)
    # a few rows are left over when rounds are dealt: they stay
    rest = order[rounds * places :]
    found += sides[rest].T @ table.terms.columns[rest]
    return Moved(table, tuple(models), used, found)


def _correlation(sides: FloatArray, X: FloatArray, rounds: IntArray, steps: IntArray) -> FloatArray:
    """Return the products of columns with those of X whose rows moved on by so many places in every round.

    Parameters
    ----------
    sides : array (n, P)
    X : array (n, D)
    rounds : array (rounds, places)
        Rows.
    steps : array of int
        How many places.

    Examples
    --------
    >>> side, x = np.array([[1.0], [0.0], [0.0]]), np.array([[5.0], [6.0], [7.0]])
    >>> _correlation(side, x, np.array([[0, 1, 2]]), np.array([0, 2])).ravel().round(9).tolist()
    [5.0, 7.0]
    """
    places = rounds.shape[1]
    P, D = sides.shape[1], X.shape[1]
    found = np.empty((steps.size, P, D))
    # some columns of X at a time: arrays of all of them would be fetched from the system page by page
    for columns in chunks(D, max(1, CHUNK // (places * P + 1))):
        some = slice(columns.start, columns.stop)
        out = np.zeros((places // 2 + 1, P, len(columns)), dtype=complex)
        each = max(1, CHUNK // (places * (P + len(columns))))
        for first in range(0, len(rounds), each):
            rows = rounds[first : first + each]
            one, other = (np.fft.rfft(values[rows], axis=1) for values in (sides, X[:, some]))
            out += np.conj(one).transpose(1, 2, 0) @ other.transpose(1, 0, 2)
        found[:, :, some] = np.fft.irfft(out, n=places, axis=0)[steps]
    return found


def _values(table: Table, model: Model, scores: FloatArray, shared: FloatArray) -> FloatArray:
    """Return a model's statistics from inner products of all terms' columns with residuals and with kept columns.

    Parameters
    ----------
    table, model
    scores : array (draws, s, D)
    shared : array (draws, k, D)
    """
    places, widths = table.terms.places(model.left), table.terms.widths[list(model.left)]
    u, c = scores[:, :, places], model.half.T @ shared[:, :, places]
    draws, s, D = u.shape
    out = np.zeros((draws, len(widths)))
    if not s or not D:
        return out
    starts = np.cumsum(widths) - widths
    for width in np.unique(widths[widths > 0]):
        some = np.flatnonzero(widths == width)
        where = starts[some][:, None] + np.arange(width)[None, :]
        if width == 1:
            own = where[:, 0]
            Q = np.sum(u[:, :, own] ** 2, axis=1) / np.maximum(1 - np.sum(c[:, :, own] ** 2, axis=1), FLOOR)
        else:
            mine = c[:, :, where].transpose(0, 2, 3, 1)
            V = (1 + FLOOR) * np.eye(width) - mine @ mine.swapaxes(2, 3)
            side = u[:, :, where].transpose(0, 2, 3, 1)
            Q = np.sum(side * np.linalg.solve(V, side), axis=(2, 3))
        out[:, some] = to_normal(Q, int(width) * s)
    if model.among is not None:
        out = np.maximum(out, np.abs(beside_kept(widths, u, model.among, c)))
    return out


def beside_each(table: Table, beside: Mapping[int, Sequence[int]]) -> tuple[Table, dict[int, IntArray]]:
    """Return what some terms say beyond others, as terms of their own, and where the columns of these others stand.

    Parameters
    ----------
    table : Table
    beside : mapping
        For each term in question the other ones.

    Returns
    -------
    Table
        Terms in the order of the mapping, without columns where the others leave nothing; all columns of the given
        table are adjusting ones.
    dict

    Examples
    --------
    >>> from relbounds.linear.noise.statistics import make_terms
    >>> x = np.random.default_rng(0).normal(size=(30, 2))
    >>> table = make_table(make_terms([x[:, 0], x[:, 1], x[:, 0] + x[:, 1]]), None)
    >>> beside_each(table, {0: [1], 2: [0, 1]})[0].terms.widths.tolist()
    [1, 0]
    """
    pieces, kept = [], {}
    for t, others in beside.items():
        kept[t], own = table.kept(others), table.kept([t])[table.fixed :]
        half = _half_inverse(table.gram[np.ix_(kept[t], kept[t])])
        # all columns, so that none are copied
        said = np.zeros((len(table.gram), len(own)))
        said[kept[t]] = half @ (half.T @ table.gram[np.ix_(kept[t], own)])
        left = table.columns[:, own] - table.columns @ said
        # directions of a basis: one that the others say is none
        values, vectors = np.linalg.eigh(left.T @ left)
        good = values > NOTHING
        pieces.append(left @ (vectors[:, good] / np.sqrt(values[good])))
    widths = np.array([piece.shape[1] for piece in pieces], dtype=np.intp)
    columns = np.concatenate([np.zeros((len(table.columns), 0)), *pieces], axis=1)
    terms = Terms(columns, np.cumsum(widths) - widths, widths)
    whole = np.concatenate([table.columns, columns], axis=1)
    return Table(terms, whole, table.columns.shape[1], whole.T @ whole), kept


def _half_inverse(gram: FloatArray) -> FloatArray:
    """Return H with H H' the inverse, open directions left out."""
    if not len(gram):
        return gram
    values, vectors = np.linalg.eigh(gram)
    good = values > NONE * max(float(values[-1]), 0.0)
    return vectors[:, good] / np.sqrt(values[good])
