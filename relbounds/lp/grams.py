"""Gram matrices with many weight vectors at once, and factors of the normal equations."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

# Products of pairs of columns are kept when they take less than this many bytes.
KEPT_PAIRS = 64 * 2**20
BLOCK = 2**20
# Columns this heavy against their diagonal entry are treated as free ones.
DENSE = 1e3


class Grams:
    """``matrix' diag(D_b) matrix`` for many weight vectors ``D_b`` at once.

    For few columns all products of two columns are made once, and one matrix product serves every weight vector;
    for many columns each weight vector has a rank-k update of its own.

    Examples
    --------
    >>> import numpy as np
    >>> Grams(np.array([[1.0, 2.0]]))(np.array([[4.0]])).tolist()
    [[[4.0, 8.0], [8.0, 16.0]]]
    """

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix
        rows, q = matrix.shape
        self.first, self.second = np.triu_indices(q)
        self.pairs: np.ndarray | None = None
        self.few = q <= 96
        self.kept = self.few and rows * self.first.size * 8 <= KEPT_PAIRS

    def padded(self) -> Grams:
        """Return the same with one more column of zeros, sharing what is kept."""
        return _Padded(self)

    def _pairs(self, rows: slice) -> np.ndarray:
        part = self.matrix[rows]
        return part[:, self.first] * part[:, self.second]

    def __call__(self, D: np.ndarray) -> np.ndarray:
        """Return the Gram matrices, shape (len(D), q, q)."""
        B = D.shape[0]
        q = self.matrix.shape[1]
        out = np.empty((B, q, q))
        if self.few and B >= 6:
            if self.kept and self.pairs is None:
                self.pairs = self._pairs(slice(None))
            flat = D @ self.pairs if self.pairs is not None else self._in_blocks(D)
            out[:, self.first, self.second] = flat
            out[:, self.second, self.first] = flat
            return out
        step = max(1, BLOCK // max(q, 1))
        for b in range(B):
            # rows whose weight is negligible against the largest one of the block cannot be seen in the result
            root = np.sqrt(D[b])
            seen = np.flatnonzero(root > 1e-9 * root.max(initial=0.0))
            total = np.zeros((q, q))
            for first in range(0, seen.size, step):
                chosen = seen[first : first + step]
                part = self.matrix[chosen] * root[chosen, None]
                total += part.T @ part
            out[b] = total
        return out

    def _in_blocks(self, D: np.ndarray) -> np.ndarray:
        rows = self.matrix.shape[0]
        step = max(64, BLOCK // self.first.size)
        flat = np.zeros((D.shape[0], self.first.size))
        for first in range(0, rows, step):
            part = slice(first, min(first + step, rows))
            flat += D[:, part] @ self._pairs(part)
        return flat


class _Padded(Grams):
    def __init__(self, inner: Grams) -> None:
        self.inner = inner

    def __call__(self, D: np.ndarray) -> np.ndarray:
        small = self.inner(D)
        out = np.zeros((len(D), small.shape[1] + 1, small.shape[1] + 1))
        out[:, :-1, :-1] = small
        return out


class Factor:
    """Cholesky factors of scaled matrices, with the least ridge that makes each of them positive."""

    def __init__(self, M: np.ndarray) -> None:
        q = M.shape[1]
        diagonal = np.einsum("bii->bi", M)
        floor = 1e-30 * np.max(diagonal, axis=1, initial=0.0, keepdims=True) + 1e-300
        self.scale = 1.0 / np.sqrt(np.maximum(diagonal, floor))
        M *= self.scale[:, :, None]
        M *= self.scale[:, None, :]
        self.parts = []
        for one in M:
            ridge = 1e-15
            while True:
                trial = one.copy()
                trial.flat[:: q + 1] += ridge
                # the matrix is symmetric, so its transpose is the column-major array LAPACK wants
                factor, info = dpotrf(trial.T, lower=0, overwrite_a=1)
                if info == 0 or ridge > 1.0 or not np.isfinite(ridge):
                    break
                ridge *= 100.0
            self.parts.append(factor)

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Return the solutions for right-hand sides of shape (B, q, k)."""
        x = rhs * self.scale[:, :, None]
        for b, factor in enumerate(self.parts):
            x[b] = dpotrs(factor, x[b], lower=0)[0]
        x *= self.scale[:, :, None]
        return x


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
