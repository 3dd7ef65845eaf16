"""The one linear problem behind every family, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

# Entries that are looked at in one go where no product asks for all: they stay in the cache.
ENTRIES = 2**16


@dataclass(frozen=True)
class Model:
    """``min 1/2 sum_j penalty_j |v_j| + C * (linear.v + sum_r c_r max(0, h_r - G_r v))`` under constraints.

    The constraints are ``A v >= a`` and ``lower <= v <= upper``. No point that keeps them has a negative loss.

    Parameters
    ----------
    G, h, c : ndarray, shapes (R, q), (R,), (R,)
        Loss rows, their margins and prices.
    penalty : ndarray, shape (q,)
        Weight of each variable in the norm; 0 for free variables such as thresholds.
    linear : ndarray, shape (q,)
        The part of the loss that is linear in `v`.
    A, a : ndarray, shapes (m, q), (m,)
        Hard constraints.
    lower, upper : ndarray, shape (q,)
        Bounds on variables, infinite where there is none.
    inner : ndarray, shape (q,), or None
        A point with room in every hard row, where one is known; it only saves the search for one.

    Examples
    --------
    >>> model = make_model([[1.0, 1.0], [1.0, -1.0]], [1.0, 1.0], [1.0, 1.0], [1.0, 0.0])
    >>> model.penalty_of(np.array([0.5, 0.0])), model.loss_of(np.array([0.5, 0.0]))
    (0.5, 1.0)
    """

    G: np.ndarray
    h: np.ndarray
    c: np.ndarray
    penalty: np.ndarray
    linear: np.ndarray
    A: np.ndarray
    a: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    inner: np.ndarray | None = None

    @property
    def q(self) -> int:
        """Number of variables."""
        return int(self.penalty.size)

    @property
    def height(self) -> float:
        """The largest margin asked for, by loss rows or hard ones; 1 where none asks for any."""
        largest = max(float(np.max(np.abs(x), initial=0.0)) for x in (self.h, self.a))
        return largest if largest > 0 else 1.0

    @cached_property
    def most_a_unit(self) -> np.ndarray:
        """How far each loss row moves at most where penalised variables use up one unit of the norm."""
        out, unit = np.empty(len(self.G)), np.zeros(self.q)
        np.divide(1.0, self.penalty, out=unit, where=self.penalty > 0)
        step = max(1, ENTRIES // max(self.q, 1))
        for first in range(0, len(self.G), step):
            some = slice(first, first + step)
            out[some] = np.max(np.abs(self.G[some] * unit), axis=1, initial=0.0)
        return out

    def hinge(self, v: np.ndarray) -> np.ndarray:
        """Return ``max(0, h - G v)``, the slack each row needs at `v`."""
        return np.maximum(self.h - self.G @ v, 0.0)

    def penalty_of(self, v: np.ndarray) -> float:
        """Return the weighted L1 norm of `v`."""
        return float(self.penalty @ np.abs(v))

    def loss_of(self, v: np.ndarray) -> float:
        """Return the loss of `v`: its linear part and the priced slacks."""
        return float(self.linear @ v + self.c @ self.hinge(v))

    def objective_of(self, v: np.ndarray, C: float) -> float:
        """Return half the norm plus `C` times the loss."""
        return 0.5 * self.penalty_of(v) + C * self.loss_of(v)

    def violation_of(self, v: np.ndarray) -> float:
        """Return by how much `v` breaks the hard constraints and bounds (0 when it keeps them)."""
        worst = max(float(np.max(self.lower - v, initial=0.0)), float(np.max(v - self.upper, initial=0.0)))
        return max(worst, float(np.max(self.a - self.A @ v, initial=0.0)))


def make_model(
    G: np.ndarray,
    h: np.ndarray,
    c: np.ndarray,
    penalty: np.ndarray,
    *,
    linear: np.ndarray | None = None,
    A: np.ndarray | None = None,
    a: np.ndarray | None = None,
    lower: np.ndarray | None = None,
    upper: np.ndarray | None = None,
    inner: np.ndarray | None = None,
) -> Model:
    """Return a Model with everything not given left out (no linear loss, constraints or bounds).

    Examples
    --------
    >>> import numpy as np
    >>> make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.array([1.0, 0.0])).A.shape
    (0, 2)
    """
    q = int(np.size(penalty))
    return Model(
        G=np.ascontiguousarray(np.asarray(G, dtype=float).reshape(-1, q)),
        h=np.asarray(h, dtype=float).reshape(-1),
        c=np.asarray(c, dtype=float).reshape(-1),
        penalty=np.asarray(penalty, dtype=float),
        linear=np.zeros(q) if linear is None else np.asarray(linear, dtype=float),
        A=np.zeros((0, q)) if A is None else np.ascontiguousarray(np.asarray(A, dtype=float).reshape(-1, q)),
        a=np.zeros(0) if a is None else np.asarray(a, dtype=float).reshape(-1),
        lower=np.full(q, -np.inf) if lower is None else np.asarray(lower, dtype=float),
        upper=np.full(q, np.inf) if upper is None else np.asarray(upper, dtype=float),
        inner=inner,
    )
