"""Row maps: which row's block values each observation gets in a permuted data set.

A block that is noise is exchangeable: its rows may change places, all its columns together, so that their correlations
stay. Observations of one cluster belong together, so there whole clusters change places: each cluster gets the rows of
another of about the same size, in random order. Values that are constant in a cluster then move from cluster to
cluster; what differs inside clusters moves inside and between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# Draws that share a stream of random numbers. A draw depends on its number alone, whatever is computed together.
TOGETHER = 10
# Maps of no more entries than this are remembered, for the tests of a fit: a teacher and its student ask for the same.
MOST_REMEMBERED = 250_000
# Clusters of one size that suffice to change places among themselves; fewer are joined with those of the next size. A
# cluster that gets rows of a smaller one repeats them, which is exact only for values constant in clusters.
ENOUGH = 8


@dataclass(frozen=True)
class Rows:
    """How rows may change places.

    Attributes
    ----------
    n : int
    strata : tuple of (members, sizes), or empty
        For clusters: rows of each cluster of the stratum, padded with -1, and the clusters' sizes.
    exact : bool
        Whether only clusters of the same size change places (or nothing differs inside clusters).
    """

    n: int
    strata: tuple[tuple[IntArray, IntArray], ...] = ()
    exact: bool = True
    one_to_one: bool = True


def make_rows(n: int, cluster: NDArray | None = None, columns: FloatArray | None = None) -> Rows:
    """Say how rows may change places, given clusters and the columns that move.

    Parameters
    ----------
    n : int
        Observations.
    cluster : array or None
        The cluster of each observation.
    columns : array (n, p) or None
        The columns of the block; where all are constant in clusters, clusters of any size change places.

    Examples
    --------
    >>> make_rows(4).strata
    ()
    >>> len(make_rows(5, cluster=np.array([0, 0, 1, 1, 2])).strata)
    1
    """
    if cluster is None:
        return Rows(n)
    _, codes, sizes = np.unique(np.asarray(cluster), return_inverse=True, return_counts=True)
    if sizes.max() == 1:
        return Rows(n)
    by_cluster = np.argsort(codes, kind="stable")
    starts = np.cumsum(sizes) - sizes
    constant = columns is not None and constant_in(codes, np.asarray(columns))
    labels = np.zeros(len(sizes), dtype=int) if constant else _strata(sizes)
    strata = []
    for label in np.unique(labels):
        chosen = np.flatnonzero(labels == label)
        widest = int(sizes[chosen].max())
        place = starts[chosen][:, None] + np.arange(widest)[None, :]
        inside = np.arange(widest)[None, :] < sizes[chosen][:, None]
        members = np.where(inside, by_cluster[np.minimum(place, n - 1)], -1)
        strata.append((members, sizes[chosen]))
    equal = all(len(np.unique(own)) == 1 for _, own in strata)
    return Rows(n, tuple(strata), equal or constant, equal)


def constant_in(codes: IntArray, columns: FloatArray) -> bool:
    """Return whether no column varies inside a cluster.

    Examples
    --------
    >>> constant_in(np.array([0, 0, 1]), np.array([[1.0], [1.0], [2.0]]))
    True
    """
    first = np.zeros((codes.max() + 1, columns.shape[1]))
    first[codes] = columns
    scale = np.abs(columns).max(axis=0, initial=0.0) + 1e-300
    return bool(np.all(np.abs(columns - first[codes]) <= 1e-9 * scale))


def _strata(sizes: IntArray) -> IntArray:
    """Join neighbouring sizes until each stratum has enough clusters."""
    values, counts = np.unique(sizes, return_counts=True)
    label, held = 0, 0
    of_size = {}
    for value, count in zip(values, counts, strict=True):
        if held >= ENOUGH:
            label, held = label + 1, 0
        of_size[int(value)] = label
        held += int(count)
    if held < ENOUGH and label:
        # what is left over at the top joins the stratum below
        of_size = {size: min(one, label - 1) for size, one in of_size.items()}
    return np.array([of_size[int(size)] for size in sizes])


def draw_rows(rows: Rows, rng: np.random.Generator, count: int = 1) -> IntArray:
    """Draw row maps: in draw b observation i gets the block values of row ``maps[b, i]``.

    Examples
    --------
    >>> maps = draw_rows(make_rows(3), np.random.default_rng(0), count=2)
    >>> np.sort(maps, axis=1).tolist()
    [[0, 1, 2], [0, 1, 2]]
    """
    if not rows.strata:
        return rng.permuted(np.tile(np.arange(rows.n), (count, 1)), axis=1)
    maps = np.empty((count, rows.n), dtype=np.intp)
    for members, sizes in rows.strata:
        clusters, widest = members.shape
        inside = np.arange(widest)[None, :] < sizes[:, None]
        for b in range(count):
            donor = rng.permutation(clusters)
            keys = np.where(inside, rng.random(members.shape), 2.0)
            shuffled = np.take_along_axis(members, np.argsort(keys, axis=1), axis=1)[donor]
            turn = np.arange(widest)[None, :] % sizes[donor][:, None]
            maps[b, members[inside]] = np.take_along_axis(shuffled, turn, axis=1)[inside]
    return maps


def maps_of(rows: Rows, seed: int, draws: range) -> IntArray:
    """Return the maps of some draws, each by its number alone.

    Examples
    --------
    >>> rows = make_rows(5)
    >>> bool((maps_of(rows, 1, range(4, 16))[8] == maps_of(rows, 1, range(12, 13))[0]).all())
    True
    """
    if not rows.strata and rows.n * len(draws) <= MOST_REMEMBERED:
        return _remembered(rows.n, seed, draws.start, draws.stop)
    return _drawn(rows, seed, draws)


@lru_cache(maxsize=16)
def _remembered(n: int, seed: int, start: int, stop: int) -> IntArray:
    """Return maps that tests of other terms of the same observations ask for, too."""
    found = _drawn(Rows(n), seed, range(start, stop))
    found.flags.writeable = False
    return found


def _drawn(rows: Rows, seed: int, draws: range) -> IntArray:
    pieces = []
    for group in range(draws.start // TOGETHER, -(-draws.stop // TOGETHER)):
        first = group * TOGETHER
        piece = draw_rows(
            rows, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(group,))), TOGETHER
        )
        pieces.append(piece[max(draws.start - first, 0) : draws.stop - first])
    return np.concatenate(pieces) if pieces else np.zeros((0, rows.n), dtype=np.intp)


@dataclass(frozen=True)
class Moves:
    """Row maps of some draws, and the way back where there is one."""

    maps: IntArray
    back: IntArray | None

    @property
    def draws(self) -> int:
        """The number of maps."""
        return len(self.maps)

    def take(self, some: slice | NDArray[np.bool_]) -> Moves:
        """Return some of the maps."""
        return Moves(self.maps[some], None if self.back is None else self.back[some])


def make_moves(maps: IntArray, one_to_one: bool = True) -> Moves:
    """Prepare row maps for `moved`.

    Parameters
    ----------
    maps : array (draws, n)
    one_to_one : bool
        Whether these are permutations, which is faster.

    Examples
    --------
    >>> make_moves(np.array([[2, 0, 1]])).back
    array([[1, 2, 0]])
    """
    if not one_to_one:
        return Moves(maps, None)
    draws, n = maps.shape
    back = np.empty_like(maps)
    back[np.arange(draws)[:, None], maps] = np.arange(n)[None, :]
    return Moves(maps, back)


def stay(n: int) -> Moves:
    """Return the map that leaves every row where it is.

    Examples
    --------
    >>> stay(3).maps
    array([[0, 1, 2]])
    """
    return make_moves(np.arange(n)[None, :])


def moved(values: FloatArray, moves: Moves) -> FloatArray:
    """Return weights m with ``m[b] @ x == values @ x[maps[b]]`` for every column x.

    Moving the other side of a product by the inverse map makes thousands of permutations one matrix product.

    Parameters
    ----------
    values : array (..., n)
    moves : Moves

    Returns
    -------
    array (..., draws, n)

    Examples
    --------
    >>> moved(np.array([1.0, 2.0, 3.0]), make_moves(np.array([[2, 2, 0]]), one_to_one=False))
    array([[3., 0., 3.]])
    """
    if moves.back is not None:
        # places are all there: not looking at each takes a third of the time
        return np.take(np.ascontiguousarray(values), moves.back, axis=-1, mode="clip")
    if values.ndim > 1:
        return np.stack([moved(one, moves) for one in values])
    draws, n = moves.maps.shape
    place = (np.arange(draws)[:, None] * n + moves.maps).ravel()
    sums: FloatArray = np.bincount(place, np.tile(values, draws), draws * n).astype(float)
    return sums.reshape(draws, n)
