"""Stacked problems whose rows are, but for their sign, the same in all penalised columns: each of them once.

An observation has a row at every threshold, and one for either side of a tube.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from relbounds.solver.core import Core
from relbounds.solver.grams import MOST_LAST, alike_rows
from relbounds.solver.stack import HALF, Stack

# Sums over the columns of rows that are the same differ by no more than this share of their size.
SAME = 1e-12


@dataclass(frozen=True)
class Fold:
    """Which of the different rows each row is, its sign, and the rows in the order of the different ones.

    Parameters
    ----------
    which, order : ndarray of int, shape (R,)
    sign : ndarray, shape (R,)
    starts : ndarray of int, shape (U,)
        Where the rows of each begin in that order.
    free : ndarray, shape (t, R)
        The rows' entries of free variables, the same for all problems.
    """

    which: np.ndarray
    sign: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    free: np.ndarray

    @property
    def first(self) -> np.ndarray:
        """One row of each."""
        found: np.ndarray = self.order[self.starts]
        return found

    def sums(self, y: np.ndarray) -> np.ndarray:
        """Return the sums of ``y`` (..., R) over the rows of each."""
        found: np.ndarray = np.add.reduceat(y[..., self.order], self.starts, axis=-1)
        return found


@dataclass(frozen=True)
class FoldedStack(Stack):
    """A stack whose `G` (P, c, U) has each different row once, in the penalised columns."""

    fold: Fold = field(kw_only=True)

    def some(self, problems: np.ndarray) -> FoldedStack:
        """Return some of the problems, each its own direction."""
        G = self.G if len(problems) == len(self.G) else self.G[problems]
        return replace(self, G=G, owner=np.arange(len(G)))

    def whole(self) -> np.ndarray:
        """Return all loss rows of each problem, shape (P, q, R)."""
        return self.rows_of(np.tile(np.arange(self.fold.which.size), (len(self.G), 1)))

    def rows_of(self, order: np.ndarray) -> np.ndarray:
        """Return some loss rows of each problem, `order` (P, r), shape (P, q, r)."""
        c, fold = self.G.shape[1], self.fold
        out = np.empty((len(self.G), c + len(fold.free), order.shape[1]))
        for one, G, some in zip(out, self.G, order, strict=True):
            np.take(G, fold.which[some], axis=1, out=one[:c], mode="clip")
            one[:c] *= fold.sign[some]
            one[c:] = fold.free[:, some]
        return out

    def columns(self, owner: np.ndarray, place: np.ndarray, unit: np.ndarray) -> Stack:
        """Return the rows of some problems in penalised columns of their own and all free ones."""
        c = place.shape[1] - len(self.fold.free)
        G = self.G[owner[:, None], place[:, :c]]
        G *= unit[:, :c, None]
        return FoldedStack(G, None, np.arange(owner.size), fold=self.fold)

    def times(self, v: np.ndarray, hard: bool = False) -> np.ndarray:
        """Return ``G v`` for every direction, shape (B, R)."""
        c = self.G.shape[1]
        out = super().times(v[:, :c])[:, self.fold.which]
        out *= self.fold.sign
        out += v[:, c:] @ self.fold.free
        return out

    def times_t(self, y: np.ndarray, hard: bool = False) -> np.ndarray:
        """Return ``G' y`` for every direction, shape (B, q)."""
        return np.hstack([super().times_t(self.fold.sums(y * self.fold.sign)), y @ self.fold.free.T])

    def parts(self, D: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the weights of the different rows (B, U), and what free variables add for weights of all rows.

        That is their products with the different rows (B, U, t) and with one another (B, t, t).
        """
        free = self.fold.free
        weighted = D[:, None, :] * free
        T = weighted @ free.T
        weighted *= self.fold.sign
        return self.fold.sums(D), self.fold.sums(weighted).transpose(0, 2, 1), T

    def gram(self, D: np.ndarray, hard: bool = False) -> np.ndarray:
        """Return the upper triangles of ``G' diag(D_b) G`` for every direction, shape (B, q, q)."""
        c, (S, R, T) = self.G.shape[1], self.parts(D)
        out = np.zeros((len(D), c + T.shape[1], c + T.shape[1]), dtype=D.dtype)
        out[:, :c, :c] = super().gram(S)
        out[:, :c, c:] = np.matmul(self.G[self.owner], R)
        out[:, c:, c:] = T
        return out


@dataclass(frozen=True)
class ActiveStack(Stack):
    """A stack of some rows of each problem whose Gram matrices have each different row once.

    Parameters
    ----------
    X : ndarray, shape (P, c, U)
        The different rows of each problem in the penalised columns.
    fold : Fold
        Which rows are the same but for their sign.
    which : ndarray of int, shape (P, r)
        Which of the different ones each row is.
    """

    X: np.ndarray = field(kw_only=True)
    fold: Fold = field(kw_only=True)
    which: np.ndarray = field(kw_only=True)

    @cached_property
    def rows(self) -> Stack:
        """The different rows as problems of their own."""
        return Stack(self.X, None, self.owner)

    def take(self, some: np.ndarray | slice) -> Stack:
        """Return the same for some of the directions."""
        if not self._each:
            return self.of(self.owner[some])
        linear = None if self.linear is None else self.linear[some]
        return self._with(self.G[some], linear, self.X[some], self.which[some])

    def of(self, owner: np.ndarray) -> Stack:
        """Return the same problems with other directions, whose problems are given."""
        out = super().of(owner)
        if "rows" in self.__dict__:
            out.__dict__["rows"] = self.rows.of(owner)
        return out

    def columns(self, owner: np.ndarray, place: np.ndarray, unit: np.ndarray) -> Stack:
        """Return the rows of some problems in penalised columns of their own and all free ones."""
        few = super().columns(owner, place, unit)
        c = place.shape[1] - len(self.fold.free)
        X = self.X[owner[:, None], place[:, :c]]
        X *= unit[:, :c, None]
        return self._with(few.G, few.linear, X, self.which[owner])

    def _with(self, G: np.ndarray, linear: np.ndarray | None, X: np.ndarray, which: np.ndarray) -> Stack:
        """Return other problems, one direction each, whose different rows are known."""
        return replace(self, G=G, linear=linear, owner=np.arange(len(G)), which=which, X=X)

    def clear(self, some: slice) -> None:
        """Set some columns to 0."""
        super().clear(some)
        self.X[:, some] = 0.0

    def gram(self, D: np.ndarray, hard: bool = False) -> np.ndarray:
        """Return the upper triangles of ``G' diag(D_b) G`` for every direction, shape (B, q, q)."""
        B, q, c, U = len(D), self.G.shape[1], *self.X.shape[1:]
        place = self.which[self.owner] + U * np.arange(B)[:, None]
        sums = (
            np.bincount(place.ravel(), weights=D.ravel(), minlength=B * U)
            .reshape(B, U)
            .astype(D.dtype, copy=False)
        )
        out = np.empty((B, q, q), dtype=D.dtype)
        few = self._each or c < HALF
        out[:, :c, :c] = self.rows.gram(sums) if few else self.rows.by_half(sums, self.X)
        for p, first, last in self._runs:
            weighted = (D[first:last, None, :] * self.G[p, c:]).reshape(-1, D.shape[1])
            across = np.matmul(weighted, self.G[p].T).reshape(last - first, q - c, q)
            out[first:last, :, c:] = across.transpose(0, 2, 1)
        return out


def folded_stack(core: Core, stack: Stack) -> Stack:
    """Return a stack with each different row once, or as it is where too many are different.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> from relbounds.solver.priced import priced_core
    >>> core = priced_core(make_model(np.array([[1.0, 2.0], [-1.0, -2.0]]), np.ones(2), np.ones(2), np.ones(2))).core
    >>> one = Stack(core.G.T[None], None, np.zeros(1, dtype=int))
    >>> two = folded_stack(core, one)
    >>> two.G.shape, bool(np.allclose(two.times(np.ones((1, 2))), one.times(np.ones((1, 2)))))
    ((1, 2, 1), True)
    """
    fold = fold_of(core)
    if fold is None or stack.A is not None or stack.linear is not None:
        return stack
    found = different_rows(core, fold, stack.G)
    return stack if found is None else FoldedStack(found, None, stack.owner, fold=fold)


def fold_of(core: Core) -> Fold | None:
    """Return which of the rows are the same but for their sign; None where too many are different.

    Nor where free variables are many: the rows of all thresholds are then multiplied apart, each by its own.
    """
    s = core.pen.size
    if core.q - s > MOST_LAST:
        return None
    found = alike_rows(core.G[:, :s])
    if found is None:
        return None
    first, which, sign = found
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(first.size))
    return Fold(which, sign, order, starts, np.ascontiguousarray(core.G[:, s:].T))


def different_rows(core: Core, fold: Fold, problems: Iterable[np.ndarray]) -> np.ndarray | None:
    """Return each different row of some problems (q, R) once, (P, s, U); None where theirs are not the same ones.

    Problems may be made one after the other, so that their rows are never there all at once.
    """
    s, first, sign = core.pen.size, fold.first, fold.sign
    # any weights tell rows apart, and rounding is all that may be between those that are the same
    telling = np.random.default_rng(0).uniform(0.5, 1.5, s)
    size = np.abs(core.G[:, :s]).sum(axis=1)
    out = []
    for G in problems:
        sums = telling @ G[:s]
        apart = np.abs(sums - (sums[first] * sign[first])[fold.which] * sign) > SAME * size
        if apart.any() or not np.array_equal(G[s:], fold.free):
            return None
        out.append(np.take(G[:s], first, axis=1, mode="clip"))
        out[-1] *= sign[first]
    return np.stack(out)
