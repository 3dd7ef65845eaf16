"""The Newton system of an interior point, for many directions at once: the normal equations, factored once.

Slacks ``xi`` and moduli ``t`` are eliminated by hand, so that a system costs one Gram matrix of ``G`` and a small
Cholesky factor per direction.
"""

from __future__ import annotations

import numpy as np

from relbounds.solver.columns import Columns
from relbounds.solver.core import Core, Own, State, budget_terms, own_slopes, paid, times, times_t
from relbounds.solver.factors import Factor, Rows, Shared, Wide
from relbounds.solver.folded_stack import FoldedStack
from relbounds.solver.grams import Folded
from relbounds.solver.stack import Stack

# Bytes of the matrices of directions that are factored together, and how many these are at least.
CACHED, LEAST_TOGETHER = 2**21, 8
# Systems are solved from the side of the rows where there are so many more columns than different rows.
WIDER, MORE = 1.5, 50
# Larger weights may overflow in single precision.
MOST_SINGLE = 1e30


def _gram(core: Core, D: np.ndarray, columns: Own | None, hard: bool = False) -> np.ndarray:
    if isinstance(columns, Stack) and not (hard and columns.A is None):
        return columns.gram(D, hard)
    M = (core.gram_A if hard else core.gram_G)(D)
    if isinstance(columns, Columns):
        each, matrix = np.arange(len(D)), columns.hard if hard else columns.G
        for k in range(matrix.shape[1]):
            own = times_t(core, D * matrix[:, k], columns, hard)
            M[each, columns.index[:, k], :] = own
            M[each, :, columns.index[:, k]] = own
    return M


def _normal(
    core: Core,
    D: np.ndarray,
    Da: np.ndarray,
    E: np.ndarray,
    columns: Own | None,
    single: bool = False,
    dense: bool = False,
) -> Factor | Wide:
    """Return factors of ``G' D G + A' Da A + diag(E)``, from the side that is smaller, or `dense` from the variables'.

    Those of the variables may be `single`, in low precision.
    """
    fold = None if columns is not None else core.gram_G.rows_once
    once = columns.fold if isinstance(columns, FoldedStack) else fold
    rows = (core.rows if once is None else once.starts.size) + core.a.size
    wide = core.pen.size > WIDER * rows + MORE
    if isinstance(columns, Stack):
        # best models without any loss, one beside the other, would lose their last digits there
        wide = wide and once is not None and core.p.size > 0
    if dense or not wide:
        factors = [
            _dense(
                core, D[some], Da[some], E[some], columns if columns is None else columns.take(some), single
            )
            for some in _in_cache(len(D), core.q)
        ]
        for more in factors[1:]:
            factors[0].join(more)
        return factors[0]
    if isinstance(columns, FoldedStack):
        parts = _own_rows_once(core, columns, D, Da)
    elif fold is None:
        assert not isinstance(columns, Stack)
        parts = _each_row(core, D, Da, columns)
    else:
        parts = _rows_once(core, fold, D, Da)
    diagonal = np.zeros((len(D), parts[0].X.shape[1]))
    diagonal[:, : core.pen.size] = E
    return Wide(parts, diagonal, single)


def _each_row(core: Core, D: np.ndarray, Da: np.ndarray, columns: Columns | None) -> list[Rows]:
    """Return the rows of every direction's system as they are."""
    both, weights = np.vstack([core.G, core.A]), np.hstack([D, Da])
    out = []
    for b, S in enumerate(weights):
        X = both
        if columns is not None:
            X = both.copy()
            X[:, columns.index[b]] = np.concatenate([columns.G[b], columns.hard[b]], axis=-1).T
        out.append(Rows(X, S, np.zeros((len(S), 0)), np.zeros((0, 0))))
    return out


def _rows_once(core: Core, fold: Folded, D: np.ndarray, Da: np.ndarray) -> list[Rows]:
    """Return the rows of every direction's system, those that are the same but for their sign once."""
    X, S, R, T = fold.parts(D)
    k = X.shape[1]
    T += np.einsum("bm,mi,mj->bij", Da, core.A[:, k:], core.A[:, k:])
    if core.A[:, :k].any():
        X, S = np.vstack([X, core.A[:, :k]]), np.hstack([S, Da])
        R = np.concatenate([R, Da[:, :, None] * core.A[:, k:]], axis=1)
    return [Rows(X, *one) for one in zip(S, R, T, strict=True)]


def _own_rows_once(core: Core, stack: FoldedStack, D: np.ndarray, Da: np.ndarray) -> list[Rows]:
    """Do the same for directions whose rows differ in the penalised columns, of which hard rows use none."""
    S, R, T = stack.parts(D)
    free = core.A[:, stack.G.shape[1] :]
    T += np.einsum("bm,mi,mj->bij", Da, free, free)
    return [Rows(stack.G[p].T, *one) for p, *one in zip(stack.owner, S, R, T, strict=True)]


def _in_cache(count: int, q: int) -> list[slice]:
    """Return directions in groups whose matrices stay in the cache between one step and the next."""
    step = max(LEAST_TOGETHER, CACHED // (8 * q * q))
    return [slice(i, i + step) for i in range(0, count, step)]


def _dense(
    core: Core, D: np.ndarray, Da: np.ndarray, E: np.ndarray, columns: Own | None, single: bool = False
) -> Factor:
    """Return factors of ``G' D G + A' Da A + diag(E)``, from the side of the variables."""
    if single:
        D, Da, E = (x.astype(np.float32) for x in (D, Da, E))
    M = _gram(core, D, columns) if core.rows else _gram(core, Da, columns, hard=True)
    if core.rows and core.a.size:
        if columns is None or (isinstance(columns, Stack) and columns.A is None):
            core.gram_A.add(Da, M)
        else:
            M += _gram(core, Da, columns, hard=True)
    M.reshape(len(D), -1)[:, : E.shape[1] * (core.q + 1) : core.q + 1] += E
    return Factor(M)


class Linear:
    """The reduced Newton system of one iteration: factored once, solved for two right-hand sides.

    With `single` its matrices may be formed and factored in single precision; `dense` as for `_normal`.
    """

    def __init__(
        self, core: Core, columns: Own | None, at: State, single: bool = False, dense: bool = False
    ) -> None:
        self.core, self.columns, self.at = core, columns, at
        s, K, B = core.pen.size, core.p.size, len(at.v)
        c = self.c = at.prices(core)
        # divisions are dear: one of all slacks serves the whole iteration
        self.over = 1.0 / at.S
        D = self.D = at.Z * self.over
        D1, D2, D3, D4, Da, Dk = (D[:, cut] for cut in at.cuts)
        self.i12 = 1.0 / (D1 + D2)
        self.i34 = np.add(D3, D4)
        np.divide(1.0, self.i34, out=self.i34)
        self.E4 = D4 * self.i34
        self.E3 = D3 * self.i34
        self.tilt = (D1 - D2) * self.i12
        # products of factors, never differences: cancellation would ruin the factor
        self.factor: Factor | Wide | Shared
        if at.metric is not None:
            self.factor, at.metric = at.metric, None
        else:
            single = single and float(np.max(D)) < MOST_SINGLE
            E = 4.0 * D1 * D2 * self.i12
            self.factor = _normal(core, D3 * self.E4, Da, E, columns, single, dense)
        if K:
            push = times_t(core, self.E4 * c, columns)
            N = self.N = core.Lin.T[None] - push[:, :, None] * core.l
            N[:, :s] += (self.tilt * core.pen)[:, :, None] * core.p
            if isinstance(columns, Stack):
                if columns.linear is not None:
                    N += np.multiply.outer(columns.linear[columns.owner], core.l)
            elif columns is not None:
                N[columns.each, columns.index] += own_slopes(core, columns) - core.Lin.T[columns.index]
            S = np.multiply.outer(self.i12 @ core.pen**2, np.outer(core.p, core.p))
            S += np.multiply.outer(paid(self.i34, c * c), np.outer(core.l, core.l))
            S.reshape(B, -1)[:, :: K + 1] += 1.0 / Dk
            self.MN, self.small = N, S
            self.begun = False

    def solve(self, Q: np.ndarray, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the Newton step ``(dv, dS, dlam)`` whose complementarity targets are `Q` times the slacks.

        The other multipliers move by ``Q - D dS``.
        """
        core, D, cuts = self.core, self.D, self.at.cuts
        s, K = core.pen.size, core.p.size
        q1, q2, q3, q4, qa, qk = (Q[:, cut] for cut in cuts)
        dS = np.empty_like(Q)
        dxi, df = dS[:, cuts[2]], dS[:, cuts[3]]
        np.multiply(self.E3, q4, out=dxi)
        np.multiply(self.E4, q3, out=df)
        r1 = times_t(core, np.subtract(dxi, df, out=df), self.columns) - residual
        if core.a.size:
            r1 += times_t(core, qa, self.columns, hard=True)
        w12 = (q1 + q2) * self.i12
        r1[:, :s] -= q1 - q2 - self.tilt * (q1 + q2)
        np.add(q3, q4, out=dxi)
        dxi *= self.i34
        dl = None
        if K and not self.begun:
            # the first right-hand side goes along with the columns of the budgets
            both = self.factor.solve(np.concatenate([self.N, r1[:, :, None]], axis=2))
            self.MN, dv, self.begun = both[:, :, :K], both[:, :, K].copy(), True
            self.small += np.matmul(self.N.transpose(0, 2, 1), self.MN)
        else:
            dv = self.factor.solve(r1[:, :, None])[:, :, 0]
        if K:
            r2 = qk / D[:, cuts[5]] + core.p * (w12 @ core.pen)[:, None] + core.l * paid(dxi, self.c)[:, None]
            r2 += np.matmul(dv[:, None, :], self.N)[:, 0]
            dl = _solve_small(self.small, r2)
            dv -= np.matmul(self.MN, dl[:, :, None])[:, :, 0]
            dxi -= (self.i34 * self.c) * (dl @ core.l)[:, None]
            w12 -= core.pen * self.i12 * (dl @ core.p)[:, None]
        dt = w12 + self.tilt * dv[:, :s]
        moved = times(core, dv, self.columns)
        dxi -= np.multiply(self.E4, moved, out=df)
        np.add(moved, dxi, out=df)
        np.subtract(dt, dv[:, :s], out=dS[:, cuts[0]])
        np.add(dt, dv[:, :s], out=dS[:, cuts[1]])
        if core.a.size:
            dS[:, cuts[4]] = times(core, dv, self.columns, hard=True)
        if K:
            ds = -(dt @ core.pen)[:, None] * core.p - paid(dxi, self.c)[:, None] * core.l
            dS[:, cuts[5]] = ds - budget_terms(core, dv, self.columns)
        return dv, dS, dl


def _solve_small(M: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Solve symmetric positive 1x1 or 2x2 systems."""
    if M.shape[1] == 1:
        return r / M[:, 0]
    a, b, c = M[:, 0, 0], M[:, 0, 1], M[:, 1, 1]
    ratio = b / a
    second = (r[:, 1] - ratio * r[:, 0]) / np.maximum(c - ratio * b, 1e-300)
    return np.column_stack([(r[:, 0] - b * second) / a, second])


def factor_of(core: Core, at: State, columns: Own | None) -> Factor | Wide:
    """Return the factors of the normal equations at a state: the metric of the barrier."""
    factor = Linear(core, columns, at).factor
    assert not isinstance(factor, Shared)
    return factor


def reach_of_rows(core: Core, at: State) -> np.ndarray:
    """Return how far one unit of the barrier's metric at a state reaches along each loss row."""
    factor = factor_of(core, at, None)
    out = np.empty(core.h.size)
    for first in range(0, core.h.size, 4096):
        part = core.G[first : first + 4096]
        out[first : first + 4096] = np.einsum("rq,qr->r", part, factor.solve(part.T[None])[0])
    return np.sqrt(np.maximum(out, 0.0))
