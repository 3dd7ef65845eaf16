"""Stacked problems whose rows are, but for their sign, the same in all penalised columns: each of them once.

An observation has a row at every threshold, and one for either side of a tube.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from relbounds.solver.grams import alike_rows
from relbounds.solver.predictor_corrector import Core
from relbounds.solver.stack import Stack


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

    def sums(self, y: np.ndarray) -> np.ndarray:
        """Return the sums of ``y`` (..., R) over the rows of each."""
        found: np.ndarray = np.add.reduceat(y[..., self.order], self.starts, axis=-1)
        return found


@dataclass(frozen=True)
class FoldedStack(Stack):
    """A stack whose `G` (P, c, U) has each different row once, in the penalised columns."""

    fold: Fold = field(kw_only=True)

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

    def gram(self, D: np.ndarray, hard: bool = False) -> np.ndarray:
        """Return the lower triangles of ``G' diag(D_b) G`` for every direction, shape (B, q, q)."""
        c, free = self.G.shape[1], self.fold.free
        out = np.zeros((len(D), c + len(free), c + len(free)))
        out[:, :c, :c] = super().gram(self.fold.sums(D))
        weighted = D[:, None, :] * free
        out[:, c:, c:] = weighted @ free.T
        weighted *= self.fold.sign
        out[:, c:, :c] = np.matmul(self.fold.sums(weighted), self.G[self.owner].transpose(0, 2, 1))
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
    s = core.pen.size
    found = alike_rows(core.G[:, :s])
    if found is None or stack.A is not None or stack.linear is not None:
        return stack
    first, which, sign = found
    free = np.ascontiguousarray(core.G[:, s:].T)
    X = stack.G[:, :s, first] * sign[first]
    for G, own in zip(stack.G, X, strict=True):
        if not (np.array_equal(G[:s], own[:, which] * sign) and np.array_equal(G[s:], free)):
            return stack
    order = np.argsort(which, kind="stable")
    starts = np.searchsorted(which[order], np.arange(first.size))
    return FoldedStack(X, None, stack.owner, fold=Fold(which, sign, order, starts, free))
