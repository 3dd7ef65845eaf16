"""Gram matrices with many weight vectors at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

# Products of pairs of columns are kept when they take less than this many bytes.
KEPT_PAIRS = 64 * 2**20
BLOCK = 2**20
# Products of smaller matrices take less time than looking for rows that do not count.
SMALL = 2**14
# Rows are told apart by the columns they use, if they do so in at most this many ways.
MOST_PATTERNS = 160
# From so many rows and columns on the search pays for a single weight vector.
MANY_ROWS, MANY_COLUMNS = 150, 24
# Fewer rows than this are not worth the search.
FEW_ROWS = 64
# Rows are folded where that leaves at most this share of them, apart from the last columns, at most so many, that rows
# use by turns.
FOLDED, MOST_LAST = 0.75, 16
# A second matrix beside one of more entries than this would cost more memory than it saves time.
MOST_FOLDED = 20_000_000
# Columns that rows are told apart by; two rows that agree in all of these are compared in every column.
TELLING = 8
# What a block of its own costs, and what putting one product in its place does, in rows of a matrix product.
OWN, SCATTER = 4000, 70
# Products of no more columns than this are put in their place one by one, in a single step.
FEW_PLACES = 40
# Products of columns that follow one another are put in their place together, unless there are more runs of them.
MOST_RUNS = 6


@dataclass
class Block:
    """Rows that use only some of the columns, and where the products of their columns belong."""

    rows: np.ndarray | slice
    columns: np.ndarray
    first: np.ndarray
    second: np.ndarray
    pairs: np.ndarray | None = None
    values: np.ndarray | None = None
    places: list[tuple[Any, Any]] = field(default_factory=list)


def blocks_of(matrix: np.ndarray) -> list[Block]:
    """Return the rows in blocks, by the columns they use, where that saves work; else in one block.

    A correcting function touches only its own rows, so most products of two of its columns with others are 0.

    Examples
    --------
    >>> import numpy as np
    >>> sorted(block.columns.tolist() for block in blocks_of(np.kron(np.eye(2), np.ones((900, 3)))))
    [[0, 1, 2], [3, 4, 5]]
    """
    rows, q = matrix.shape
    used = matrix != 0
    if rows < FEW_ROWS:
        # a few rows, as those that hold thresholds in order, use few columns
        return [_block(slice(0, rows), np.flatnonzero(used.any(axis=0)))]
    whole = [_block(slice(0, rows), np.arange(q))]
    if used.sum() > 0.8 * used.size:
        return whole
    # whole numbers sort faster than rows of bits, and random weights tell any two sets of columns apart
    weights = np.random.default_rng(0).integers(1, 2**40, q).astype(float)
    _, first, which, counts = np.unique(
        used @ weights, return_index=True, return_inverse=True, return_counts=True
    )
    if len(first) > MOST_PATTERNS or not (used == used[first[which]]).all():
        return whole
    columns = used[first].astype(float)
    owner = np.arange(len(first))

    def cost(size: np.ndarray, n: np.ndarray) -> np.ndarray:
        return size * (size + 1) / 2 * (n + SCATTER) + OWN

    while len(columns) > 1:
        # join the two blocks that gain most, or lose least, by it
        size = columns.sum(axis=1)
        apart = cost(size, counts)
        joined = size[:, None] + size - columns @ columns.T
        more = cost(joined, counts[:, None] + counts) - apart[:, None] - apart
        np.fill_diagonal(more, np.inf)
        i, j = sorted(int(k) for k in np.unravel_index(np.argmin(more), more.shape))
        if more[i, j] > 0:
            break
        columns[i] = np.maximum(columns[i], columns[j])
        counts[i] += counts[j]
        columns, counts = np.delete(columns, j, axis=0), np.delete(counts, j)
        owner = np.where(owner == j, i, owner)
        owner[owner > j] -= 1
    if cost(columns.sum(axis=1), counts).sum() > 0.7 * q * (q + 1) / 2 * (rows + SCATTER):
        return whole
    owner = owner[which.ravel()]
    return [_block(_run(np.flatnonzero(owner == b)), np.flatnonzero(k)) for b, k in enumerate(columns)]


def _run(rows: np.ndarray) -> np.ndarray | slice:
    """Return rows that follow one another as a slice, which costs no copy."""
    first, last = int(rows[0]), int(rows[-1]) + 1
    return slice(first, last) if last - first == rows.size else rows


def _block(rows: np.ndarray | slice, columns: np.ndarray) -> Block:
    # the upper triangle row by row: a run of products belongs into a run of its row
    first, second = np.triu_indices(columns.size)
    return Block(rows, columns, columns[first], columns[second])


@dataclass(frozen=True)
class Folded:
    """Rows that are the same up to their sign in all but the last columns, each of them once.

    An observation has a row at every threshold, and one for either side of a tube.

    Parameters
    ----------
    order : ndarray of int, shape (R,)
        The rows, those that belong together side by side.
    starts : ndarray of int, shape (U,)
        Where each group begins.
    grams : Grams
        Of the first columns, one row a group.
    last : ndarray, shape (t, R)
        The last columns in that order, with the signs that make the first ones equal.
    which : ndarray of int, shape (R,)
        The group of each row.
    sign : ndarray, shape (R,)
        These signs.
    """

    order: np.ndarray
    starts: np.ndarray
    grams: Grams
    last: np.ndarray
    which: np.ndarray
    sign: np.ndarray

    def parts(self, D: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows in the first columns (U, k), their weights (B, U), and what the last columns add.

        That is their products with these weights (B, U, t) and with one another (B, t, t).
        """
        D = D[:, self.order]
        weighted = D[:, None, :] * self.last
        S = np.add.reduceat(D, self.starts, axis=1)
        R = np.add.reduceat(weighted, self.starts, axis=2).transpose(0, 2, 1)
        return self.grams.matrix, S, R, weighted @ self.last.T

    def times(self, v: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Return what all rows, whose last columns (R, t) are given, make of variables (B, q)."""
        X = self.grams.matrix
        out: np.ndarray = (v[:, : X.shape[1]] @ X.T)[:, self.which]
        out *= self.sign
        out += v[:, X.shape[1] :] @ last.T
        return out

    def times_t(self, y: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Return what multipliers (B, R) of all rows make in every column."""
        X = self.grams.matrix
        out = np.empty((len(y), X.shape[1] + last.shape[1]))
        sums = np.add.reduceat((y * self.sign)[:, self.order], self.starts, axis=1)
        np.matmul(sums, X, out=out[:, : X.shape[1]])
        out[:, X.shape[1] :] = y @ last
        return out

    def __call__(self, D: np.ndarray) -> np.ndarray:
        """Return the Gram matrices, the upper triangle of them."""
        D = D[:, self.order]
        t, k = len(self.last), self.grams.matrix.shape[1]
        inner = self.grams(np.add.reduceat(D, self.starts, axis=1))
        if not t:
            return inner
        out = np.zeros((len(D), k + t, k + t), dtype=D.dtype)
        out[:, :k, :k] = inner
        weighted = D[:, None, :] * self.last
        across = np.add.reduceat(weighted, self.starts, axis=2) @ self.grams.matrix
        out[:, :k, k:] = across.transpose(0, 2, 1)
        out[:, k:, k:] = weighted @ self.last.T
        return out


def folded(matrix: np.ndarray) -> Folded | None:
    """Return the rows folded, or None where too few of them belong together.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(90, 30))
    >>> folded(np.vstack([X, -X])).starts.size
    90
    """
    rows, q = matrix.shape
    if rows < FEW_ROWS or q < MANY_COLUMNS or matrix.size > MOST_FOLDED:
        return None
    t = 0
    while t <= MOST_LAST and np.count_nonzero(matrix[:, q - 1 - t]) < 0.7 * rows:
        t += 1
    if t > MOST_LAST:
        return None
    found = alike_rows(matrix[:, : q - t])
    if found is None:
        return None
    first, which, sign = found
    own = matrix[first, : q - t] * sign[first, None]
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(first.size))
    last = np.ascontiguousarray((matrix[:, q - t :] * sign[:, None])[order].T)
    return Folded(order, starts, Grams(own, fold=False), last, which, sign)


def alike_rows(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return rows that are different but for their sign, which of them each row is, and signs; None if too many are.

    Examples
    --------
    >>> import numpy as np
    >>> first, which, sign = alike_rows(np.array([[1.0, 2.0], [-1.0, -2.0], [1.0, 2.0], [3.0, 1.0]]))
    >>> first.tolist(), which.tolist(), sign.tolist()
    ([0, 3], [0, 0, 0, 1], [1.0, -1.0, 1.0, 1.0])
    """
    rows = len(matrix)
    telling = matrix[:, :TELLING]
    telling = telling * (1.0 + np.sqrt(np.arange(1, telling.shape[1] + 1)))
    # sums of the same numbers in the same order: rows that are equal up to their sign have the very same
    key, side = np.zeros(rows), np.zeros(rows)
    for column in telling.T:
        key += np.abs(column)
        side += column
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    if first.size > FOLDED * rows:
        return None
    sign = np.where(side < 0, -1.0, 1.0)
    own = matrix[first] * sign[first, None]
    return (first, which, sign) if np.array_equal(matrix, own[which] * sign[:, None]) else None


def places_of(columns: np.ndarray) -> list[tuple[Any, Any]]:
    """Return where the products of some columns belong among those of all, and which of them; upper triangle at least.

    Slices of runs cost a fraction of what single entries do.

    Examples
    --------
    >>> import numpy as np
    >>> places_of(np.array([3, 4]))
    [((slice(3, 5, None), slice(3, 5, None)), (slice(0, 2, None), slice(0, 2, None)))]
    """
    cuts = np.flatnonzero(np.diff(columns) != 1) + 1
    ends = [0, *cuts.tolist(), columns.size]
    if len(ends) - 1 > MOST_RUNS:
        return [(np.ix_(columns, columns), np.s_[:, :])]
    own = [slice(i, j) for i, j in pairwise(ends)]
    whole = [slice(int(columns[one.start]), int(columns[one.stop - 1]) + 1) for one in own]
    return [((whole[i], whole[j]), (own[i], own[j])) for i in range(len(own)) for j in range(i, len(own))]


@lru_cache(maxsize=64)
def runs_of_pairs(q: int) -> tuple[slice, ...]:
    """Return where the pairs of each of q columns with itself and the later ones stand among all pairs.

    Examples
    --------
    >>> runs_of_pairs(2)
    (slice(0, 2, None), slice(2, 3, None))
    """
    starts = np.cumsum([0, *range(q, 0, -1)]).tolist()
    return tuple(slice(first, last) for first, last in pairwise(starts))


@lru_cache(maxsize=64)
def _places_of_pairs(q: int) -> np.ndarray:
    out = np.empty((q, q), dtype=np.intp)
    out[np.triu_indices(q)] = out.T[np.triu_indices(q)] = np.arange(q * (q + 1) // 2)
    return out.ravel()


def in_place(flat: np.ndarray, q: int) -> np.ndarray:
    """Return the matrices (B, q, q) that have the products of all pairs (B, q (q + 1) / 2) in their upper triangles.

    Examples
    --------
    >>> np.triu(in_place(np.array([[1.0, 2.0, 3.0]]), 2)).tolist()
    [[[1.0, 2.0], [0.0, 3.0]]]
    """
    if q <= FEW_PLACES:
        return flat.take(_places_of_pairs(q), axis=1, mode="clip").reshape(len(flat), q, q)
    out = np.zeros((len(flat), q, q))
    for i, run in enumerate(runs_of_pairs(q)):
        out[:, i, i:] = flat[:, run]
    return out


def scaled(matrix: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return a matrix times factors, in the precision of these.

    Examples
    --------
    >>> import numpy as np
    >>> scaled(np.ones((1, 2)), np.array([2.0, 3.0], dtype=np.float32)).dtype
    dtype('float32')
    """
    return np.multiply(matrix, by, dtype=by.dtype, casting="same_kind")


def _weighted(matrix: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return ``matrix' diag(weights) matrix``."""
    root = np.sqrt(weights)
    if matrix.size <= SMALL:
        part = scaled(matrix, root[:, None])
        return part.T @ part
    # rows whose weight is negligible against the largest one cannot be seen in the result
    seen = np.flatnonzero(root > 1e-9 * root.max(initial=0.0))
    q = matrix.shape[1]
    step = max(1, BLOCK // max(q, 1))
    total = np.zeros((q, q), dtype=root.dtype)
    if seen.size == len(matrix) <= step:
        part = scaled(matrix, root[:, None])
        return part.T @ part
    for first in range(0, seen.size, step):
        chosen = seen[first : first + step]
        part = scaled(matrix[chosen], root[chosen, None])
        total += part.T @ part
    return total


class Grams:
    """``matrix' diag(D_b) matrix`` for many weight vectors ``D_b`` at once; only the upper triangle is filled.

    For few columns all products of two columns are made once, and one matrix product serves every weight vector;
    for many columns each weight vector has a rank-k update of its own, in single precision where the weights are.

    Examples
    --------
    >>> import numpy as np
    >>> np.triu(Grams(np.array([[1.0, 2.0]]))(np.array([[4.0]]))).tolist()
    [[[4.0, 8.0], [0.0, 16.0]]]
    """

    def __init__(self, matrix: np.ndarray, fold: bool = True) -> None:
        self.matrix = matrix
        self.fold = fold
        self.folded: Folded | None = None
        self.few = matrix.shape[1] <= 96
        self.blocks: list[Block] | None = None
        self.kept = False

    @property
    def rows_once(self) -> Folded | None:
        """The rows that are different but for their sign; None where these are most of them."""
        if self.fold:
            self.fold, self.folded = False, folded(self.matrix)
        return self.folded

    def padded(self) -> Grams:
        """Return the same with one more column of zeros, sharing what is kept."""
        return _Padded(self)

    def __call__(self, D: np.ndarray) -> np.ndarray:
        """Return the Gram matrices, shape (len(D), q, q)."""
        if self.rows_once is not None:
            return self.rows_once(D)
        B = D.shape[0]
        q = self.matrix.shape[1]
        if self.few and (B >= 6 or self._sparse()):
            return self._from_pairs(D)
        if not self._sparse():
            return np.array([_weighted(self.matrix, one) for one in D]).reshape(B, q, q)
        assert self.blocks is not None
        out = np.zeros((B, q, q), dtype=D.dtype)
        for block in self.blocks:
            if block.values is None:
                block.values = np.ascontiguousarray(self.matrix[block.rows][:, block.columns])
                block.places = places_of(block.columns)
            for one, weights in zip(out, D[:, block.rows], strict=True):
                product = _weighted(block.values, weights)
                for whole, own in block.places:
                    one[whole] += product[own]
        return out

    def _sparse(self) -> bool:
        """Return whether rows use so few of the columns that blocks pay for a single weight vector, too."""
        rows, q = self.matrix.shape
        if self.blocks is None and rows >= MANY_ROWS and q >= MANY_COLUMNS:
            self.blocks = blocks_of(self.matrix)
        return self.blocks is not None and len(self.blocks) > 1

    def _from_pairs(self, D: np.ndarray) -> np.ndarray:
        if self.blocks is None:
            self.blocks = blocks_of(self.matrix)
        if not self.kept:
            self.kept = sum(D[0, b.rows].size * b.first.size * 8 for b in self.blocks) <= KEPT_PAIRS
        q = self.matrix.shape[1]
        if len(self.blocks) == 1 and self.blocks[0].columns.size == q:
            return in_place(self._of(self.blocks[0], D), q)
        out = np.zeros((D.shape[0], q, q))
        self._put(D, out)
        return out

    def _put(self, D: np.ndarray, out: np.ndarray) -> None:
        """Add the upper triangles of the Gram matrices to `out`."""
        assert self.blocks is not None
        whole = out.reshape(len(out), out.shape[1] ** 2)
        for block in self.blocks:
            flat = self._of(block, D)
            if block.columns.size == out.shape[1]:
                out += in_place(flat, out.shape[1])
            else:
                # there and back is several times quicker than adding in place
                place = block.first * out.shape[1] + block.second
                flat += whole.take(place, axis=1)
                whole[:, place] = flat

    def add(self, D: np.ndarray, out: np.ndarray) -> None:
        """Add the Gram matrices to `out`, shape (len(D), q, q); at least the upper triangle."""
        if len(self.matrix) < FEW_ROWS:
            if self.blocks is None:
                self.blocks = blocks_of(self.matrix)
            self.kept = True
            self._put(D, out)
        else:
            out += self(D)

    def _of(self, block: Block, D: np.ndarray) -> np.ndarray:
        """Return the products of a block's columns, by pair."""
        weights = D[:, block.rows]
        if block.pairs is not None:
            return weights @ block.pairs
        part = self.matrix[block.rows]
        if self.kept:
            block.pairs = part[:, block.first] * part[:, block.second]
            return weights @ block.pairs
        step = max(64, BLOCK // block.first.size)
        flat = np.zeros((D.shape[0], block.first.size))
        for first in range(0, len(part), step):
            some = part[first : first + step]
            flat += weights[:, first : first + step] @ (some[:, block.first] * some[:, block.second])
        return flat


class _Padded(Grams):
    def __init__(self, inner: Grams) -> None:
        self.inner, self.matrix = inner, inner.matrix
        self.fold, self.folded = False, None

    def add(self, D: np.ndarray, out: np.ndarray) -> None:
        """Add the Gram matrices to `out`."""
        out[:, :-1, :-1] += self.inner(D)

    def __call__(self, D: np.ndarray) -> np.ndarray:
        small = self.inner(D)
        out = np.zeros((len(D), small.shape[1] + 1, small.shape[1] + 1))
        out[:, :-1, :-1] = small
        return out
