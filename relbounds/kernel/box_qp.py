"""Box-constrained quadratic programs whose Hessian is low-rank by structure: what they are, and who solves them.

The problems of this room are ``min 1/2 x'Px + q'x`` with ``0 <= x <= upper`` and ``Ax = a``. P is never formed: it
maps a vector of row multipliers to the samples (at most n of them), through the kernel, and back, so that solves with
``P + diag(D)`` cost O(n^3) however many thresholds, that is rows per sample, there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Apply = Callable[[np.ndarray], np.ndarray]
Factor = Callable[[np.ndarray], Apply]
# Diagonals are kept above this share of the size of P: below it the low-rank solves lose all digits, far above it
# the steps are no longer Newton's.
FLOOR = 1e-12
# How well the equalities must hold, in units of the multipliers: less, and thresholds drift; more is beyond rounding.
BALANCE = 1e-8


@dataclass(frozen=True)
class BoxQP:
    """``min 1/2 x'Px + q'x, 0 <= x <= upper, Ax = a``; ``factor(D)`` returns the solver of ``P + diag(D)``.

    `size` is the order of magnitude of P. `relative`: the objective has no constant left out, so that a gap relative
    to it means something.
    """

    P: Apply
    factor: Factor
    q: np.ndarray
    upper: np.ndarray
    A: np.ndarray
    a: np.ndarray
    size: float = 0.0
    relative: bool = True


@dataclass(frozen=True)
class QPSolution:
    """x, the multipliers of the equalities, and how many iterations it took."""

    x: np.ndarray
    y: np.ndarray
    iterations: int


def small_solver(S: np.ndarray) -> Apply:
    """Return the solver of a small positive semidefinite system.

    Where the multipliers of the equalities are not unique (no feature used and as many rows on either side)
    the system is singular; directions without weight are left alone.

    Examples
    --------
    >>> small_solver(np.array([[2.0, 0.0], [0.0, 0.0]]))(np.array([2.0, 0.0]))
    array([1., 0.])
    """
    size = np.sqrt(np.maximum(np.diag(S), 1e-300))
    values, vectors = np.linalg.eigh((S + S.T) / 2.0 / np.outer(size, size))
    kept = np.where(values > 1e-11 * values[-1], 1.0 / np.where(values > 0, values, 1.0), 0.0)
    return lambda v: (vectors @ (kept * (vectors.T @ (v / size)))) / size
