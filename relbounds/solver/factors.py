"""Factors of the normal equations of many directions: one each, from the side of the rows, or one for several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, spotrf, spotrs

from relbounds.solver.grams import scaled
from relbounds.solver.tolerances import RIDGE, RIDGE_SINGLE

# A ridge is raised this many times at most.
MOST_RIDGE = 1e16
# Columns this heavy against their diagonal entry are treated as free ones.
DENSE = 1e3
# Weights below this are rounding of 0.
TINY = 1e-300


class Factor:
    """Cholesky factors of matrices (B, q, q), each with the least ridge that makes it positive.

    Only their upper triangles are read. Those of matrices in single precision are in single precision, too.

    Examples
    --------
    >>> import numpy as np
    >>> Factor(np.array([[[4.0, 2.0], [0.0, 2.0]]])).solve(np.array([[[6.0], [4.0]]])).ravel().round(9).tolist()
    [1.0, 1.0]
    """

    def __init__(self, M: np.ndarray) -> None:
        diagonal = np.einsum("bii->bi", M)
        floor = 1e-30 * np.maximum.reduce(diagonal, axis=1, initial=0.0, keepdims=True) + 1e-300
        # relative to each diagonal entry, so that the units of variables do not matter
        self.single = M.dtype == np.float32
        ridge = (RIDGE_SINGLE if self.single else RIDGE) * np.maximum(diagonal, floor)
        diagonal += ridge
        # the upper triangle by rows is a lower one by columns, the order of LAPACK, which factors it twice as fast
        potrf = spotrf if self.single else dpotrf
        self.parts = []
        for one, own in zip(M, ridge, strict=True) if M.size else ():
            factor, info = potrf(one.T, 1, 0)
            self.parts.append(_raised(one, own, potrf) if info else factor)

    def __len__(self) -> int:
        return len(self.parts)

    def join(self, other: Factor) -> None:
        """Take the factors of more matrices along, after its own."""
        self.parts += other.parts

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Return the solutions for right-hand sides of shape (B, q, k)."""
        # by rows, so that LAPACK finds its columns and solves where they stand
        x = rhs.transpose(0, 2, 1).astype(np.float32 if self.single else np.float64, order="C")
        potrs = spotrs if self.single else dpotrs
        for factor, one in zip(self.parts, x, strict=True) if x.size else ():
            potrs(factor, one.T, 1, 1)
        return x.transpose(0, 2, 1).astype(np.float64, copy=False)


def _raised(M: np.ndarray, ridge: np.ndarray, potrf: Callable[..., tuple[np.ndarray, int]]) -> np.ndarray:
    """Return the factor of a matrix whose ridge is not enough, raised as far as that takes."""
    times, info = 1.0, 1
    factor = M
    while info and times < MOST_RIDGE:
        times *= 100.0
        M.flat[:: len(M) + 1] += 0.99 * times * ridge
        factor, info = potrf(M.T, 1, 0)
    return factor


@dataclass(frozen=True)
class Rows:
    """The rows of a system ``[X, .]' D [X, .]``, each different one once in the columns of `X`.

    Parameters
    ----------
    X : ndarray, shape (U, k)
    S : ndarray, shape (U,)
        Their weights.
    R : ndarray, shape (U, t)
        Their weighted entries in t more columns, in which rows that are one here may differ.
    T : ndarray, shape (t, t)
        The system of these columns.
    """

    X: np.ndarray
    S: np.ndarray
    R: np.ndarray
    T: np.ndarray

    def times(self, x: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        """Return the system, with a diagonal (k,) in the columns of `X`, times `x` (k + t, m)."""
        k = self.X.shape[1]
        y = self.X @ x[:k]
        above = self.X.T @ (self.S[:, None] * y + self.R @ x[k:]) + diagonal[:, None] * x[:k]
        return np.vstack([above, self.R.T @ y + self.T @ x[k:]])


class Wide:
    """Factors of systems of more columns than rows, with a diagonal ``E`` beside the products of the rows.

    The system of the rows is solved instead of that of the columns: with ``V = S^1/2 X E^-1/2`` it is ``I + V V'``.
    Columns whose entry of ``E`` is small against their weight would spoil it; these, as many as a sparse solution
    uses, and the free columns make up a small dense system of their own. Refinement makes up for the rest.

    Parameters
    ----------
    parts : list of Rows
        One for every direction.
    E : ndarray, shape (B, k)
        The diagonal, 0 for free columns.
    single : bool, optional
        Whether to form and factor in single precision.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows(np.ones((1, 2)), np.ones(1), np.zeros((1, 0)), np.zeros((0, 0)))
    >>> Wide([rows], np.ones((1, 2))).solve(np.ones((1, 2, 1))).ravel().round(6).tolist()
    [0.333333, 0.333333]
    """

    def __init__(self, parts: list[Rows], E: np.ndarray, single: bool = False) -> None:
        self.parts, self.E = parts, E
        self.dtype = np.float32 if single else np.float64
        squares: dict[int, np.ndarray] = {}
        self.kept = []
        for part, e in zip(parts, E, strict=True):
            if id(part.X) not in squares:
                squares[id(part.X)] = np.square(part.X)
            self.kept.append(_from_rows(part, e, part.S @ squares[id(part.X)], self.dtype))

    def __len__(self) -> int:
        return len(self.parts)

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Return the solutions for right-hand sides of shape (B, k + t, m)."""
        out = np.empty_like(rhs)
        for one, part, kept, e, r in zip(out, self.parts, self.kept, self.E, rhs, strict=True):
            one[:] = kept.solve(r)
            # in single precision a step is not exact anyway
            if self.dtype is np.float64:
                one += kept.solve(r - part.times(one, e))
        return out


@dataclass(frozen=True)
class _FromRows:
    """One system from the side of its rows.

    `dense` are the columns apart, `over` the square roots of the inverse diagonal of the others, 0 for those apart.
    """

    dense: np.ndarray
    over: np.ndarray
    V: np.ndarray
    rows: Factor
    F: np.ndarray
    KF: np.ndarray
    small: Factor

    def solve(self, r: np.ndarray) -> np.ndarray:
        """Return the solutions for right-hand sides (k + t, m), up to rounding that refinement takes away."""
        k = self.over.size
        half = r[:k] * self.over[:, None]
        p = self.rows.solve((self.V @ half.astype(self.V.dtype))[None])[0]
        apart = self.small.solve((np.vstack([r[:k][self.dense], r[k:]]) - self.F.T @ p)[None])[0]
        p += self.KF @ apart
        x = np.empty_like(r)
        x[:k] = (half - self.V.T @ p.astype(self.V.dtype)) * self.over[:, None]
        count = int(self.dense.sum())
        x[:k][self.dense], x[k:] = apart[:count], apart[count:]
        return x


def _from_rows(part: Rows, e: np.ndarray, weight: np.ndarray, dtype: type) -> _FromRows:
    with np.errstate(all="ignore"):
        dense = ~(weight < DENSE * e)
        over = np.where(dense, 0.0, 1.0 / np.sqrt(e))
    root = np.sqrt(part.S)
    V = scaled(part.X, over.astype(dtype))
    V *= root[:, None].astype(dtype)
    K = V @ V.T
    K.flat[:: len(K) + 1] += 1.0
    rows = Factor(K[None])
    # what the last columns say beside the rows' weights: as a rule shares of these
    Y = part.R / np.maximum(part.S, TINY)[:, None]
    F = np.hstack([part.X[:, dense], Y]) * root[:, None]
    KF = rows.solve(F[None])[0]
    M = F.T @ KF
    count = int(dense.sum())
    M.flat[: count * (len(M) + 1) : len(M) + 1] += e[dense]
    M[count:, count:] += part.T - part.R.T @ Y
    return _FromRows(dense, over, V, rows, F, KF, Factor(M[None]))


@dataclass(frozen=True)
class Shared:
    """Factors of multiples of a few matrices: directions that begin at the same point differ in nothing else.

    Parameters
    ----------
    factor : Factor or Wide
        Of P matrices.
    which : ndarray of int, shape (B,)
        The matrix that each direction has a multiple of.
    times : ndarray, shape (B,)
        How many times of it.

    Examples
    --------
    >>> import numpy as np
    >>> two = Shared(Factor(np.array([[[4.0]]])), np.array([0, 0]), np.array([1.0, 0.5]))
    >>> two.solve(np.array([[[4.0]], [[4.0]]])).ravel().round(9).tolist()
    [1.0, 2.0]
    """

    factor: Factor | Wide
    which: np.ndarray
    times: np.ndarray

    def take(self, some: np.ndarray) -> Shared:
        """Return the same for some of the directions."""
        return Shared(self.factor, self.which[some], self.times[some])

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Return the solutions for right-hand sides of shape (B, q, k)."""
        out = self.unscaled(rhs)
        out /= self.times[:, None, None]
        return out

    def unscaled(self, rhs: np.ndarray) -> np.ndarray:
        """Return the solutions with the matrices themselves."""
        B, q, k = rhs.shape
        # the place of each direction among those of its matrix
        order = np.argsort(self.which, kind="stable")
        first = np.searchsorted(self.which[order], self.which[order])
        slot = np.empty(B, dtype=int)
        slot[order] = np.arange(B) - first
        sides = np.zeros((len(self.factor), int(slot.max(initial=0)) + 1, k, q))
        sides[self.which, slot] = rhs.transpose(0, 2, 1)
        found = self.factor.solve(sides.reshape(len(sides), -1, q).transpose(0, 2, 1))
        found = found.transpose(0, 2, 1).reshape(sides.shape)
        return found[self.which, slot].transpose(0, 2, 1)
