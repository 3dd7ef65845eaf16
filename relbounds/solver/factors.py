"""Factors of the normal equations of many directions: one each, from the side of the rows, or one for several."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, spotrf, spotrs

from relbounds.solver.tolerances import RIDGE, RIDGE_SINGLE

# A ridge is raised this many times at most.
MOST_RIDGE = 1e16
# Columns this heavy against their diagonal entry are treated as free ones.
DENSE = 1e3


class Factor:
    """Cholesky factors of matrices (B, q, q), each with the least ridge that makes it positive.

    Only their lower triangles are read. Those of matrices in single precision are in single precision, too.

    Examples
    --------
    >>> import numpy as np
    >>> Factor(np.array([[[4.0, 0.0], [2.0, 2.0]]])).solve(np.array([[[6.0], [4.0]]])).ravel().round(9).tolist()
    [1.0, 1.0]
    """

    def __init__(self, M: np.ndarray) -> None:
        diagonal = np.einsum("bii->bi", M)
        floor = 1e-30 * np.maximum.reduce(diagonal, axis=1, initial=0.0, keepdims=True) + 1e-300
        # relative to each diagonal entry, so that the units of variables do not matter
        self.single = M.dtype == np.float32
        ridge = (RIDGE_SINGLE if self.single else RIDGE) * np.maximum(diagonal, floor)
        diagonal += ridge
        self.parts = [_factor(one, own) for one, own in zip(M, ridge, strict=True)]

    def join(self, other: Factor) -> None:
        """Take the factors of more matrices along, after its own."""
        self.parts += other.parts

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Return the solutions for right-hand sides of shape (B, q, k)."""
        # by rows, so that LAPACK finds its columns and solves where they stand
        x = rhs.transpose(0, 2, 1).astype(np.float32 if self.single else np.float64, order="C")
        potrs = spotrs if self.single else dpotrs
        for factor, one in zip(self.parts, x, strict=True):
            potrs(factor, one.T, 0, 1)
        return x.transpose(0, 2, 1).astype(np.float64, copy=False)


def _factor(M: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """Return the factor of one matrix, raising its ridge as far as that takes."""
    # the lower triangle by rows is an upper one by columns, the order of LAPACK
    potrf = spotrf if M.dtype == np.float32 else dpotrf
    factor, info = potrf(M.T, 0, 0)
    times = 1.0
    while info and times < MOST_RIDGE:
        times *= 100.0
        M.flat[:: len(M) + 1] += 0.99 * times * ridge
        factor, info = potrf(M.T, 0, 0)
    return factor


class Wide:
    """Factors of ``matrix' D matrix + diag(E)`` for more columns than rows.

    The system of the rows is solved instead of that of the columns: with ``V = D^1/2 W E^-1/2`` it is ``I + V V'``.
    Columns whose entry of ``E`` is small against their weight would spoil it; these, as many as a sparse solution
    uses, and the free columns make up a small dense system of their own. Refinement makes up for the rest.

    Parameters
    ----------
    parts : list of (matrix, D)
        For every direction: all columns (N, q) and row weights (N,).
    E : ndarray, shape (B, q)
        The diagonal, 0 for free columns.

    Examples
    --------
    >>> import numpy as np
    >>> Wide([(np.ones((1, 2)), np.ones(1))], np.ones((1, 2))).solve(np.ones((1, 2, 1))).ravel().round(6).tolist()
    [0.333333, 0.333333]
    """

    def __init__(self, parts: list[tuple[np.ndarray, np.ndarray]], E: np.ndarray) -> None:
        self.parts, self.E = parts, E
        self.kept = []
        for (matrix, D), e in zip(parts, E, strict=True):
            with np.errstate(all="ignore"):
                weight = (D @ matrix**2) / e
            dense = ~(weight < DENSE)
            root = np.sqrt(D)
            scale = np.sqrt(e[~dense])
            V = matrix[:, ~dense] * root[:, None] / scale
            K = V @ V.T
            K[np.diag_indices_from(K)] += 1.0
            rows = Factor(K[None])
            F = matrix[:, dense] * root[:, None]
            KF = rows.solve(F[None])[0]
            small = Factor((F.T @ KF + np.diag(e[dense]))[None]) if dense.any() else None
            self.kept.append((dense, V, scale, rows, F, KF, small))

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Return the solutions for right-hand sides of shape (B, q, k)."""
        out = np.empty_like(rhs)
        for b, r in enumerate(rhs):
            matrix, D = self.parts[b]
            x = self._once(b, r)
            left = r - matrix.T @ (D[:, None] * (matrix @ x)) - self.E[b][:, None] * x
            out[b] = x + self._once(b, left)
        return out

    def _once(self, b: int, r: np.ndarray) -> np.ndarray:
        dense, V, scale, rows, F, KF, small = self.kept[b]
        half = r[~dense] / scale[:, None]
        p = rows.solve((V @ half)[None])[0]
        x = np.empty_like(r)
        if small is not None:
            x[dense] = small.solve((r[dense] - F.T @ p)[None])[0]
            p = p + KF @ x[dense]
        x[~dense] = (half - V.T @ p) / scale[:, None]
        return x


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
        sides = np.zeros((len(self.factor.parts), int(slot.max(initial=0)) + 1, k, q))
        sides[self.which, slot] = rhs.transpose(0, 2, 1)
        found = self.factor.solve(sides.reshape(len(sides), -1, q).transpose(0, 2, 1))
        found = found.transpose(0, 2, 1).reshape(sides.shape)
        return found[self.which, slot].transpose(0, 2, 1)
