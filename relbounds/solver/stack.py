"""Problems of one shape, each with a matrix of its own, in one run.

Replaced columns (:mod:`relbounds.solver.columns`) suit problems that differ in one or two of them. Where a whole block
of columns differs, every problem brings all of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from relbounds.solver.grams import blocks_of, in_place, places_of, runs_of_pairs, scaled

# With so many directions a problem on average, products of two columns are made once and serve all Gram matrices,
# as long as there are no more of them than this.
SEVERAL, MOST_PAIRS = 4, 5_000_000
# From so many columns on it pays that BLAS forms half of a symmetric product, which it does for one at a time.
# In single precision, of which only that can be had, it pays sooner.
HALF, HALF_SINGLE = 64, 48
# Fewer columns than this are not worth being told apart.
FEW_APART = 8


def count_apart(matrix: np.ndarray, own: np.ndarray) -> int:
    """Return how many of the last columns no row uses two of, none of them among the columns `own`; 0 for a few.

    Examples
    --------
    >>> count_apart(np.hstack([np.ones((9, 2)), np.eye(9)]), np.array([0]))
    9
    """
    used = np.zeros(len(matrix), dtype=bool)
    q = matrix.shape[1]
    count = 0
    while count < q and q - 1 - count not in own:
        column = matrix[:, q - 1 - count] != 0
        if (used & column).any():
            break
        used |= column
        count += 1
    return count if count >= FEW_APART else 0


@dataclass(frozen=True)
class Part:
    """Rows that use only some of the columns.

    Parameters
    ----------
    rows : ndarray of int or slice
        Which rows.
    columns : ndarray of int, shape (c,)
        The columns they use.
    matrix : ndarray, shape (P, c, r)
        Their entries there, problem by problem.
    places : list of pairs
        Where the products of these columns belong among those of all, and which of them.
    """

    rows: np.ndarray | slice
    columns: np.ndarray
    matrix: np.ndarray
    places: list[tuple[Any, Any]]


def _parts_of(matrix: np.ndarray) -> list[Part]:
    """Return the rows of (P, q, R) in blocks by the columns that they use in any of the problems."""
    found = blocks_of(np.abs(matrix).max(axis=0, initial=0.0).T)
    return [
        Part(
            one.rows,
            one.columns,
            np.ascontiguousarray(matrix[:, one.columns][:, :, one.rows]),
            places_of(one.columns),
        )
        for one in found
        if one.columns.size
    ]


@dataclass(frozen=True)
class Stack:
    """The rows of P problems, and which problem each of B directions belongs to.

    Parameters
    ----------
    G : ndarray, shape (P, q, R)
        The columns of the loss rows, problem by problem.
    A : ndarray, shape (P, q, m), or None
        Those of the hard rows; None where all problems have the common ones.
    owner : ndarray of int, shape (B,)
        The problem of each direction, in ascending order.
    linear : ndarray, shape (P, q), or None
        The linear part of each problem's loss; None where there is none.
    apart : int, optional
        No loss row uses two of so many of the last columns, as it is with thresholds: their products need not be
        formed.
    blocks : dict, optional
        Loss rows (False) and hard rows (True) by the columns they use, where they use so few of them that most products
        are 0: a correcting function is used by its own rows only.

    Attributes
    ----------
    pairs : dict
        Products of two columns of each problem's loss rows or hard rows, once they were needed.

    Examples
    --------
    >>> two = Stack(np.array([[[1.0, 2.0]], [[3.0, 4.0]]]), None, np.array([0, 1, 1]))
    >>> two.times(np.array([[1.0], [1.0], [2.0]])).tolist()
    [[1.0, 2.0], [3.0, 4.0], [6.0, 8.0]]
    >>> two.times_t(np.ones((3, 2))).tolist()
    [[3.0], [7.0], [7.0]]
    >>> two.gram(np.ones((3, 2))).ravel().tolist()
    [5.0, 25.0, 25.0]
    """

    G: np.ndarray
    A: np.ndarray | None
    owner: np.ndarray
    linear: np.ndarray | None = None
    apart: int = 0
    blocks: dict[bool, list[Part]] | None = None
    pairs: dict[bool, np.ndarray] = field(init=False, default_factory=dict, compare=False, repr=False)

    @property
    def slopes(self) -> np.ndarray | None:
        """The linear part of the loss, direction by direction."""
        return None if self.linear is None else self.linear[self.owner]

    def take(self, some: np.ndarray | slice) -> Stack:
        """Return the same for some of the directions (ascending numbers or a mask)."""
        if not self._each or self.blocks is not None:
            return self.of(self.owner[some])
        A, linear = (None if x is None else x[some] for x in (self.A, self.linear))
        G = self.G[some]
        return replace(self, G=G, A=A, linear=linear, owner=np.arange(len(G)))

    def of(self, owner: np.ndarray) -> Stack:
        """Return the same problems with other directions, whose problems are given."""
        out = replace(self, owner=owner)
        out.pairs.update(self.pairs)
        return out

    def whole(self) -> np.ndarray:
        """Return all loss rows of each problem, shape (P, q, R)."""
        return self.G

    def rows_of(self, order: np.ndarray) -> np.ndarray:
        """Return some loss rows of each problem, `order` (P, r), shape (P, q, r)."""
        return np.take_along_axis(self.G, order[:, None, :], axis=2)

    def columns(self, owner: np.ndarray, place: np.ndarray, unit: np.ndarray) -> Stack:
        """Return the loss rows of some problems in columns of their own, (B, c) each, in other units."""
        G = self.G[owner[:, None], place]
        G *= unit[:, :, None]
        linear = None if self.linear is None else self.linear[owner[:, None], place] * unit
        return Stack(G, None, np.arange(owner.size), linear=linear)

    def clear(self, some: slice) -> None:
        """Set some columns to 0."""
        self.G[:, some] = 0.0
        if self.linear is not None:
            self.linear[:, some] = 0.0

    def times(self, v: np.ndarray, hard: bool = False) -> np.ndarray:
        """Return ``G v`` (or ``A v``) for every direction, shape (B, rows)."""
        matrix = self._matrix(hard)
        if self.blocks is not None and self._are_several:
            out = np.zeros((len(v), matrix.shape[2]))
            for part in self.blocks[hard]:
                few = v[:, part.columns]
                for p, first, last in self._runs:
                    out[first:last, part.rows] = few[first:last] @ part.matrix[p]
            return out
        if self._each:
            return np.matmul(v[:, None, :], matrix)[:, 0]
        out = np.empty((len(v), matrix.shape[2]))
        for p, first, last in self._runs:
            np.matmul(v[first:last], matrix[p], out=out[first:last])
        return out

    def times_t(self, y: np.ndarray, hard: bool = False) -> np.ndarray:
        """Return ``G' y`` (or ``A' y``) for every direction, shape (B, q)."""
        matrix = self._matrix(hard)
        if self.blocks is not None and self._are_several:
            out = np.zeros((len(y), matrix.shape[1]))
            for part in self.blocks[hard]:
                few = np.empty((len(y), part.columns.size))
                for p, first, last in self._runs:
                    np.matmul(y[first:last, part.rows], part.matrix[p].T, out=few[first:last])
                out[:, part.columns] += few
            return out
        if self._each:
            return np.matmul(matrix, y[:, :, None])[:, :, 0]
        out = np.empty((len(y), matrix.shape[1]))
        for p, first, last in self._runs:
            np.matmul(y[first:last], matrix[p].T, out=out[first:last])
        return out

    def gram(self, D: np.ndarray, hard: bool = False) -> np.ndarray:
        """Return ``G' diag(D_b) G`` (or that of ``A``) for every direction, shape (B, q, q).

        At least the upper triangles are filled. Weights in single precision give matrices in single precision where
        each is a product of its own.
        """
        matrix = self._matrix(hard)
        q = matrix.shape[1]
        if self.apart and not hard:
            return self._gram_apart(D)
        if self.blocks is not None:
            return self._from_blocks(D, self.blocks[hard], q)
        if q >= (HALF if D.dtype == np.float64 else HALF_SINGLE):
            return self.by_half(D, matrix)
        if self._each:
            return np.matmul(matrix * D[:, None, :], matrix.transpose(0, 2, 1))
        if self._are_several and matrix.size * (q + 1) // 2 <= MOST_PAIRS:
            return self._from_pairs(D, hard)
        out = np.empty((len(D), q, q))
        for p, first, last in self._runs:
            weighted = (matrix[p] * D[first:last, None, :]).reshape(-1, matrix.shape[2])
            np.matmul(weighted, matrix[p].T, out=out[first:last].reshape(-1, q))
        return out

    def by_half(self, D: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """Return the same as products of a matrix with its own transpose, one after the other."""
        out = np.empty((len(D), matrix.shape[1], matrix.shape[1]), dtype=D.dtype)
        for one, p, root in zip(out, self.owner, np.sqrt(D), strict=True):
            part = scaled(matrix[p], root)
            np.matmul(part, part.T, out=one)
        return out

    def _from_blocks(self, D: np.ndarray, blocks: list[Part], q: int) -> np.ndarray:
        """Return the same, block by block."""
        out = np.zeros((len(D), q, q))
        for part in blocks:
            product = self.by_half(D[:, part.rows], part.matrix)
            for whole, few in part.places:
                out[:, *whole] += product[:, *few]
        return out

    def in_blocks(self) -> Stack:
        """Return the same with rows in blocks by the columns they use, where that saves work.

        Examples
        --------
        >>> G = np.kron(np.eye(2), np.ones((900, 3))).T[None]
        >>> one = Stack(G, G[:, :, :0], np.zeros(1, dtype=int)).in_blocks()
        >>> len(one.blocks[False]), one.gram(np.ones((1, 1800)))[0, 0].tolist()
        (2, [900.0, 900.0, 900.0, 0.0, 0.0, 0.0])
        """
        assert self.A is not None
        blocks = {hard: _parts_of(matrix) for hard, matrix in ((False, self.G), (True, self.A))}
        return replace(self, blocks=blocks) if max(map(len, blocks.values())) > 1 else self

    def _gram_apart(self, D: np.ndarray) -> np.ndarray:
        """Return the same where the last columns are used one at a time."""
        q, s = self.G.shape[1], self.G.shape[1] - self.apart
        out = np.zeros((len(D), q, q))
        for p, first, last in self._runs:
            matrix = self.G[p]
            weighted = (matrix[:s] * D[first:last, None, :]).reshape(-1, matrix.shape[1])
            out[first:last, :s] = np.matmul(weighted, matrix.T).reshape(-1, s, q)
            out.reshape(-1, q * q)[first:last, s * (q + 1) :: q + 1] = D[first:last] @ np.square(matrix[s:]).T
        return out

    def _from_pairs(self, D: np.ndarray, hard: bool) -> np.ndarray:
        """Return the upper triangles of the Gram matrices."""
        matrix = self._matrix(hard)
        q = matrix.shape[1]
        if hard not in self.pairs:
            self.pairs[hard] = _pairs_of(matrix)
        flat = np.empty((len(D), q * (q + 1) // 2))
        for p, begin, end in self._runs:
            np.matmul(D[begin:end], self.pairs[hard][p].T, out=flat[begin:end])
        return in_place(flat, q)

    def _matrix(self, hard: bool) -> np.ndarray:
        if not hard:
            return self.G
        assert self.A is not None
        return self.A

    @cached_property
    def _each(self) -> bool:
        """Whether every problem has exactly one direction."""
        return self.owner.size == len(self.G) and bool((np.diff(self.owner) == 1).all())

    @cached_property
    def _are_several(self) -> bool:
        """Whether a problem has several directions on average."""
        return self.owner.size >= SEVERAL * len(self._runs)

    @cached_property
    def _runs(self) -> list[tuple[int, int, int]]:
        """The directions of each problem: its number, its first and the one after its last."""
        first = np.flatnonzero(np.diff(self.owner, prepend=-1))
        last = np.append(first[1:], self.owner.size)
        return [(int(self.owner[i]), int(i), int(j)) for i, j in zip(first, last, strict=True)]


def _pairs_of(matrix: np.ndarray) -> np.ndarray:
    """Return the products of two columns of (P, q, R), the upper triangle row by row, shape (P, q (q + 1) / 2, R)."""
    P, q, R = matrix.shape
    out = np.empty((P, q * (q + 1) // 2, R))
    for i, run in enumerate(runs_of_pairs(q)):
        np.multiply(matrix[:, i : i + 1], matrix[:, i:], out=out[:, run])
    return out
