"""The arrays of a problem, the states of many directions, and products with the problem's rows.

Every problem has the shape ``max d.v`` subject to budgets ``p_k pen.t + Lin_k.v + l_k c.xi <= B_k`` with
``t >= |v|``, ``xi >= 0``, ``xi >= h - G v`` and hard rows ``A v >= a``. Arrays carry a leading axis over directions; a
direction may have some columns of ``G`` and ``A``, or all rows, of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from relbounds.solver.columns import Columns
from relbounds.solver.factors import Shared
from relbounds.solver.grams import Folded, Grams
from relbounds.solver.stack import Stack

# From so many columns on products with loss rows take those that are the same but for their sign once.
MANY_COLUMNS = 150
# What may differ from direction to direction: a few columns, or all rows.
Own = Columns | Stack


@dataclass(frozen=True)
class Core:
    """The arrays of a problem, penalised variables first.

    Margins `h`, prices `c` and budgets `B` may have a leading axis over directions where they differ from one to the
    other; they are read when a run starts.
    """

    G: np.ndarray
    h: np.ndarray
    c: np.ndarray
    pen: np.ndarray
    A: np.ndarray
    a: np.ndarray
    p: np.ndarray
    l: np.ndarray
    Lin: np.ndarray
    B: np.ndarray
    gram_G: Grams
    gram_A: Grams

    @property
    def q(self) -> int:
        """Number of variables."""
        return int(self.G.shape[1])

    @property
    def rows(self) -> int:
        """Number of loss rows."""
        return int(self.h.shape[-1])

    @property
    def count(self) -> int:
        """Number of slacks that have a multiplier."""
        return 2 * self.pen.size + 2 * self.rows + self.a.size + self.p.size

    @property
    def spending(self) -> np.ndarray:
        """What variables of size one and slacks as large as the margins cost, for each budget."""
        norm = float(self.pen.mean()) if self.pen.size else 0.0
        return self.p * norm + self.l * float(self.c.sum()) + np.abs(self.Lin).sum(axis=1)


def _slack(part: int) -> property:
    return property(lambda state: state.S[:, state.cuts[part]])


def _multiplier(part: int) -> property:
    return property(lambda state: state.Z[:, state.cuts[part]])


@dataclass
class State:
    """Primal and dual variables of many directions; every array but `v` is positive.

    Parameters
    ----------
    v : ndarray, shape (B, q)
        Variables.
    S : ndarray, shape (B, N)
        All slacks side by side: ``u1 = t - v``, ``u2 = t + v``, ``xi``, ``f = G v + xi - h``, ``g = A v - a`` and
        the room of the budgets ``s``.
    Z : ndarray, shape (B, N)
        Their multipliers ``z1, z2, z3, z4, alpha, lam``.
    weight, price : ndarray, shape (B,)
        What norm and loss cost, budgets' multipliers and fixed prices together: ``z1 + z2 = weight pen`` and
        ``z3 + z4 = price c`` always.
    cuts : tuple of slice
        Where the six parts lie.
    iterations : ndarray of int, shape (B,)
        Iterations each direction took.
    which : ndarray of int, shape (B,)
        The number of each direction in the run it belongs to.
    own : ndarray, shape (B, R), or None
        Prices of the loss rows where these differ by problem, in the place of the common ones.
    lift : ndarray, shape (B,), or float
        As many times of the multipliers prove most of the whole direction, while a rule looks at a state.
    metric : Shared, optional
        The factors of its normal equations, where these are known.
    """

    v: np.ndarray
    S: np.ndarray
    Z: np.ndarray
    weight: np.ndarray
    price: np.ndarray
    cuts: tuple[slice, ...]
    iterations: np.ndarray
    which: np.ndarray
    own: np.ndarray | None = None
    lift: np.ndarray | float = 1.0
    metric: Shared | None = None

    u1, u2, xi, f, g, s = (_slack(part) for part in range(6))
    z1, z2, z3, z4, alpha, lam = (_multiplier(part) for part in range(6))

    @property
    def t(self) -> np.ndarray:
        """The moduli of the penalised variables."""
        out: np.ndarray = 0.5 * (self.u1 + self.u2)
        return out

    def take(self, keep: np.ndarray) -> State:
        """Return the state of some directions."""
        v, S, Z, weight, price = (x[keep] for x in (self.v, self.S, self.Z, self.weight, self.price))
        own = None if self.own is None else self.own[keep]
        metric = None if self.metric is None else self.metric.take(keep)
        iterations, which = self.iterations[keep], self.which[keep]
        return State(v, S, Z, weight, price, self.cuts, iterations, which, own, metric=metric)

    def put(self, where: np.ndarray, other: State) -> None:
        """Write another state's directions into this one."""
        for name in ("v", "S", "Z", "weight", "price", "iterations"):
            getattr(self, name)[where] = getattr(other, name)

    def scale(self, times: np.ndarray) -> None:
        """Multiply all multipliers, in place."""
        self.Z *= times[:, None]
        self.weight *= times
        self.price *= times

    def prices(self, core: Core) -> np.ndarray:
        """Return the prices of the loss rows, common ones (R,) or those of each problem (B, R)."""
        return core.c if self.own is None else self.own

    def products(self) -> np.ndarray:
        """Return the sum of complementarity products: the duality gap once dual residuals are 0."""
        return dot(self.S, self.Z)


def make_state(
    v: np.ndarray,
    slacks: list[np.ndarray],
    multipliers: list[np.ndarray],
    weight: np.ndarray,
    price: np.ndarray,
) -> State:
    """Return a state from its parts, in the order u1, u2, xi, f, g, s and z1, z2, z3, z4, alpha, lam."""
    ends = np.cumsum([0] + [x.shape[1] for x in slacks])
    cuts = tuple(slice(int(i), int(j)) for i, j in pairwise(ends))
    count = np.zeros(len(v), dtype=int)
    which = np.arange(len(v))
    return State(v, np.hstack(slacks), np.hstack(multipliers), weight, price, cuts, count, which)


def _once(core: Core) -> Folded | None:
    """Return the loss rows that are different but for their sign, where products with these alone are quicker."""
    if core.q < MANY_COLUMNS or core.gram_G.matrix is not core.G:
        return None
    return core.gram_G.rows_once


def times(core: Core, v: np.ndarray, columns: Own | None, hard: bool = False) -> np.ndarray:
    """Return ``G v`` (or ``A v``) for every direction, shape (B, rows)."""
    matrix = core.A if hard else core.G
    if isinstance(columns, Stack) and not (hard and columns.A is None):
        return columns.times(v, hard)
    if columns is None or isinstance(columns, Stack) or not len(matrix):
        fold = None if hard or columns is not None else _once(core)
        return v @ matrix.T if fold is None else fold.times(v, matrix[:, fold.grams.matrix.shape[1] :])
    common = v.copy()
    common[columns.each, columns.index] = 0.0
    out = common @ matrix.T
    out += np.matmul(columns.values(v)[:, None, :], columns.hard if hard else columns.G)[:, 0]
    return out


def times_t(core: Core, y: np.ndarray, columns: Own | None, hard: bool = False) -> np.ndarray:
    """Return ``G' y`` (or ``A' y``) for every direction, shape (B, q)."""
    if isinstance(columns, Stack) and not (hard and columns.A is None):
        return columns.times_t(y, hard)
    fold = None if hard or columns is not None else _once(core)
    if fold is not None:
        return fold.times_t(y, core.G[:, fold.grams.matrix.shape[1] :])
    out = y @ (core.A if hard else core.G)
    if isinstance(columns, Columns) and y.shape[1]:
        own = columns.hard if hard else columns.G
        out[columns.each, columns.index] = np.matmul(own, y[:, :, None])[:, :, 0]
    return out


def own_slopes(core: Core, columns: Columns) -> np.ndarray:
    """Return the entries of replaced columns in ``Lin``, shape (B, k, K)."""
    return np.multiply.outer(columns.slopes, core.l)


def budget_terms(core: Core, v: np.ndarray, columns: Own | None) -> np.ndarray:
    """Return ``Lin v`` for every direction, shape (B, K)."""
    out = v @ core.Lin.T
    if isinstance(columns, Stack):
        if columns.linear is not None:
            out += np.multiply.outer(dot(v, columns.linear[columns.owner]), core.l)
    elif columns is not None:
        slopes = own_slopes(core, columns) - core.Lin.T[columns.index]
        out += np.matmul(columns.values(v)[:, None, :], slopes)[:, 0]
    return out


def dot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the products of two arrays (B, N), direction by direction."""
    return np.einsum("bi,bi->b", x, y)


def paid(x: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Return what rows cost in all for every direction, at common prices (R,) or its own (B, R)."""
    return x @ prices if prices.ndim == 1 else dot(x, prices)
