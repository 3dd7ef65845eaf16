"""A predictor-corrector interior point for many directions at once.

Every problem has the shape ``max d.v`` subject to budgets ``p_k pen.t + Lin_k.v + l_k c.xi <= B_k`` with
``t >= |v|``, ``xi >= 0``, ``xi >= h - G v`` and hard rows ``A v >= a``. Slacks ``xi`` and moduli ``t`` are eliminated
by hand, so that one iteration costs one Gram matrix of ``G`` and a small Cholesky factor per direction. Arrays
carry a leading axis over directions; a direction may have one column of ``G`` and ``A`` of its own.
Primal points stay strictly feasible throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from relbounds.solver.columns import Columns
from relbounds.solver.grams import Factor, Grams, Wide
from relbounds.solver.stack import Stack
from relbounds.solver.tolerances import STALLED

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


# Iterations at most: a run that takes them all was ended by rounding.
MOST = 80
# Multipliers count as such of a direction when no more than this share of it is missing.
MOST_MISSING = 0.9
# Just below the largest block that the GNU allocator learns from.
KEPT_BYTES = 31 * 2**20
# Bytes of the matrices of directions that are factored together, and how many these are at least.
CACHED, LEAST_TOGETHER = 2**21, 8
SLACKS = ("u1", "u2", "xi", "f", "g", "s")
MULTIPLIERS = ("z1", "z2", "z3", "z4", "alpha", "lam")


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

    def __getattr__(self, name: str) -> np.ndarray:
        """Return one part of the slacks or multipliers by its name."""
        if name in SLACKS:
            return self.S[:, self.cuts[SLACKS.index(name)]]
        if name in MULTIPLIERS:
            return self.Z[:, self.cuts[MULTIPLIERS.index(name)]]
        if name == "t":
            return 0.5 * (self.u1 + self.u2)
        raise AttributeError(name)

    def take(self, keep: np.ndarray) -> State:
        """Return the state of some directions."""
        v, S, Z, weight, price = (x[keep] for x in (self.v, self.S, self.Z, self.weight, self.price))
        own = None if self.own is None else self.own[keep]
        return State(v, S, Z, weight, price, self.cuts, self.iterations[keep], self.which[keep], own)

    def put(self, where: np.ndarray, other: State) -> None:
        """Write another state's directions into this one."""
        for name in ("v", "S", "Z", "weight", "price", "iterations"):
            getattr(self, name)[where] = getattr(other, name)

    def scale(self, times: np.ndarray) -> None:
        """Multiply all multipliers, in place."""
        self.Z *= times[:, None]
        self.weight *= times
        self.price *= times

    def products(self) -> np.ndarray:
        """Return the sum of complementarity products: the duality gap once dual residuals are 0."""
        return _dot(self.S, self.Z)


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


def times(core: Core, v: np.ndarray, columns: Own | None, hard: bool = False) -> np.ndarray:
    """Return ``G v`` (or ``A v``) for every direction, shape (B, rows)."""
    matrix = core.A if hard else core.G
    if isinstance(columns, Stack) and not (hard and columns.A is None):
        return columns.times(v, hard)
    if columns is None or isinstance(columns, Stack) or not len(matrix):
        return v @ matrix.T
    common = v.copy()
    common[columns.each, columns.index] = 0.0
    out = common @ matrix.T
    out += np.matmul(columns.values(v)[:, None, :], columns.hard if hard else columns.G)[:, 0]
    return out


def times_t(core: Core, y: np.ndarray, columns: Own | None, hard: bool = False) -> np.ndarray:
    """Return ``G' y`` (or ``A' y``) for every direction, shape (B, q)."""
    if isinstance(columns, Stack) and not (hard and columns.A is None):
        return columns.times_t(y, hard)
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
            out += np.multiply.outer(_dot(v, columns.linear[columns.owner]), core.l)
    elif columns is not None:
        slopes = own_slopes(core, columns) - core.Lin.T[columns.index]
        out += np.matmul(columns.values(v)[:, None, :], slopes)[:, 0]
    return out


def _dot(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.einsum("bi,bi->b", x, y)


def paid(x: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Return what rows cost in all for every direction, at common prices (R,) or its own (B, R)."""
    return x @ prices if prices.ndim == 1 else _dot(x, prices)


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


def _normal(core: Core, D: np.ndarray, Da: np.ndarray, E: np.ndarray, columns: Own | None) -> Factor | Wide:
    """Return factors of ``G' D G + A' Da A + diag(E)``, from the side that is smaller."""
    s, rows = core.pen.size, core.rows + core.a.size
    if s <= 1.5 * rows + 50 or isinstance(columns, Stack):
        factors = [
            _dense(core, D[some], Da[some], E[some], columns if columns is None else columns.take(some))
            for some in _in_cache(len(D), core.q)
        ]
        for more in factors[1:]:
            factors[0].join(more)
        return factors[0]
    both = np.vstack([core.G, core.A])
    diagonal = np.zeros((len(D), core.q))
    diagonal[:, :s] = E
    parts = []
    for b in range(len(D)):
        own = both
        if columns is not None:
            own = both.copy()
            assert isinstance(columns, Columns)
            own[:, columns.index[b]] = np.concatenate([columns.G[b], columns.hard[b]], axis=-1).T
        parts.append((own, np.concatenate([D[b], Da[b]])))
    return Wide(parts, diagonal)


def _in_cache(count: int, q: int) -> list[slice]:
    """Return directions in groups whose matrices stay in the cache between one step and the next."""
    step = max(LEAST_TOGETHER, CACHED // (8 * q * q))
    return [slice(i, i + step) for i in range(0, count, step)]


def _dense(core: Core, D: np.ndarray, Da: np.ndarray, E: np.ndarray, columns: Own | None) -> Factor:
    """Return factors of ``G' D G + A' Da A + diag(E)``, from the side of the variables."""
    M = _gram(core, D, columns) if core.rows else _gram(core, Da, columns, hard=True)
    if core.rows and core.a.size:
        if columns is None or (isinstance(columns, Stack) and columns.A is None):
            core.gram_A.add(Da, M)
        else:
            M += _gram(core, Da, columns, hard=True)
    M.reshape(len(D), -1)[:, : E.shape[1] * (core.q + 1) : core.q + 1] += E
    return Factor(M)


class _Linear:
    """The reduced Newton system of one iteration: factored once, solved for two right-hand sides."""

    def __init__(self, core: Core, columns: Own | None, at: State) -> None:
        self.core, self.columns, self.at = core, columns, at
        s, K, B = core.pen.size, core.p.size, len(at.v)
        c = self.c = core.c if at.own is None else at.own
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
        self.factor = _normal(core, D3 * self.E4, Da, 4.0 * D1 * D2 * self.i12, columns)
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
    return _Linear(core, columns, at).factor


def reach_of_rows(core: Core, at: State) -> np.ndarray:
    """Return how far one unit of the barrier's metric at a state reaches along each loss row."""
    factor = _Linear(core, None, at).factor
    out = np.empty(core.h.size)
    for first in range(0, core.h.size, 4096):
        part = core.G[first : first + 4096]
        out[first : first + 4096] = np.einsum("rq,qr->r", part, factor.solve(part.T[None])[0])
    return np.sqrt(np.maximum(out, 0.0))


def residual_of(core: Core, at: State, d: np.ndarray, columns: Own | None) -> np.ndarray:
    """Return the dual residual: what stationarity in ``v`` still lacks."""
    r = at.lam @ core.Lin
    if isinstance(columns, Stack):
        if columns.linear is not None:
            r += columns.linear[columns.owner] * (at.lam @ core.l)[:, None]
    elif columns is not None:
        r[columns.each, columns.index] = columns.slopes * (at.lam @ core.l)[:, None]
    r -= d
    if core.rows:
        r -= times_t(core, at.z4, columns)
    if core.a.size:
        r -= times_t(core, at.alpha, columns, hard=True)
    r[:, : core.pen.size] += at.z1 - at.z2
    return r


Stop = Callable[[State, np.ndarray, np.ndarray], np.ndarray]


def solve(
    core: Core,
    d: np.ndarray,
    start: State,
    tolerance: np.ndarray,
    *,
    columns: Own | None = None,
    stop: Stop | None = None,
    most: int = MOST,
) -> State:
    """Return near-optimal states for every direction.

    Parameters
    ----------
    core : Core
        The problem.
    d : ndarray, shape (B, q)
        Directions.
    start : State
        Strictly feasible primal points with positive duals that balance ``t`` and ``xi``.
    tolerance : ndarray, shape (B,)
        Gap at which a direction is finished.
    columns : Columns or Stack, optional
        Columns that differ from direction to direction, or all rows where these do.
    stop : callable, optional
        ``stop(state, gap, residual) -> mask`` of directions that may stop early.
    most : int, optional
        Iterations at most.
    """
    keep_memory()
    with np.errstate(all="ignore"):
        return _iterate(core, d, start, tolerance, columns, stop, most)


def keep_memory() -> None:
    """Have freed arrays kept for the next ones instead of handed back to the system.

    Every iteration makes and frees the same arrays of some 100 kB. The GNU allocator hands these back each time, and
    fetching them again page by page takes longer than the arithmetic, until it has seen a large block come and go:
    from then on it keeps blocks of that size. The block is never written to, so it costs nothing.
    """
    np.empty(KEPT_BYTES, dtype=np.uint8)


def _iterate(
    core: Core,
    d: np.ndarray,
    start: State,
    tolerance: np.ndarray,
    columns: Own | None,
    stop: Stop | None,
    most: int,
) -> State:
    count = core.count
    out = start.take(np.arange(len(d)))
    at, live = start, np.arange(len(d))
    budgeted = _is_budgeted(core, start)
    for round_ in range(most + 1):
        gap = at.products()
        residual = residual_of(core, at, d, columns)
        at.lift, open_, lack = _left_open(core, at, d, gap, residual, budgeted)
        done = (open_ <= tolerance) & (lack <= tolerance) | ~np.isfinite(gap + lack)
        # what is then left of the residual is rounding, which no further step takes away
        done |= gap <= STALLED * tolerance
        if stop is not None:
            done |= stop(at, open_, lack)
        if round_ == most:
            done[:] = True
        if done.any():
            at.iterations[:] = round_
            # a broken step leaves the last sound state in place
            sound = done & np.isfinite(gap + lack)
            ended = at.take(sound)
            ended.scale(at.lift[sound])
            out.put(live[sound], ended)
            keep = ~done
            if not keep.any():
                break
            at, live, d, tolerance = at.take(keep), live[keep], d[keep], tolerance[keep]
            gap, residual = gap[keep], residual[keep]
            columns = None if columns is None else columns.take(keep)
        if round_ and round_ % 12 == 0:
            out.put(live, at)
        _advance(core, at, gap / count, residual, columns, count)
    return out


def _is_budgeted(core: Core, at: State) -> bool:
    """Return whether norm and loss cost nothing but what budgets make them cost: multipliers may then be scaled."""
    free = np.allclose(at.weight, at.lam @ core.p, rtol=1e-9, atol=0.0)
    return free and np.allclose(at.price, at.lam @ core.l, rtol=1e-9, atol=0.0)


def _left_open(
    core: Core, at: State, d: np.ndarray, gap: np.ndarray, residual: np.ndarray, budgeted: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a scale of the multipliers, and what these then leave open: the gap, and what stationarity lacks.

    On the way multipliers balance only a share of the direction, and nothing else is amiss. As many times of them as
    make up the whole of it prove its optimum far better than these multipliers and what they lack do.
    """
    norm = at.t @ core.pen
    scale, lack = np.ones(len(gap)), _lack(core, at, residual, norm)
    square = _dot(d, d)
    if not (budgeted and square.all()):
        return scale, gap, lack
    missing = np.minimum(-_dot(residual, d) / square, MOST_MISSING)
    more = 1.0 / (1.0 - missing)
    rest = _lack(core, at, residual + missing[:, None] * d, norm)
    better = (missing > 0) & (more * (gap + rest) < gap + lack)
    scale[better] = more[better]
    return scale, scale * gap, np.where(better, scale * rest, lack)


def _lack(core: Core, at: State, residual: np.ndarray, norm: np.ndarray) -> np.ndarray:
    """Return what a dual residual may make of models whose norm is `norm`, and of the free variables as they are."""
    s = core.pen.size
    lack = np.maximum.reduce(np.abs(residual[:, :s]) / core.pen, axis=1, initial=0.0) * norm
    lack += np.add.reduce(np.abs(residual[:, s:]) * (np.abs(at.v[:, s:]) + 1e-3), axis=1)
    return np.asarray(lack)


def _advance(
    core: Core, at: State, mu: np.ndarray, residual: np.ndarray, columns: Own | None, count: int
) -> None:
    """Take one predictor-corrector step in place."""
    linear = _Linear(core, columns, at)
    _, dS, _ = linear.solve(-at.Z, residual)
    # without a target the multipliers move by ``-Z (1 + r)``, and all that is asked of that step follows from ``r``
    r = dS * linear.over
    primal = 1.0 / np.maximum(-np.minimum.reduce(r, axis=1, initial=0.0), 1.0)
    dual = 1.0 / np.maximum(1.0 + np.maximum.reduce(r, axis=1, initial=-1.0), 1.0)
    pulled = _dot(dS, at.Z)
    Zr = np.multiply(at.Z, r)
    ahead = mu * count * (1.0 - dual) + (primal - dual) * pulled
    ahead -= primal * dual * (pulled + _dot(Zr, dS))
    target = np.minimum(np.maximum(ahead / (count * mu), 1e-2), 1.0) ** 3 * mu
    # what the products of both moves leave of the target, over the slacks
    r += 1.0
    r *= Zr
    r -= at.Z
    Q = np.add(r, np.multiply(linear.over, target[:, None], out=Zr), out=r)
    _step(core, at, linear, Q, residual, 0.995)


def recentre(core: Core, at: State, mu: np.ndarray, residual: np.ndarray, columns: Own | None) -> None:
    """Take one Newton step in place toward products of slacks and multipliers that are all equal to `mu`."""
    linear = _Linear(core, columns, at)
    _step(core, at, linear, mu[:, None] * linear.over - at.Z, residual, 0.9)


def _step(core: Core, at: State, linear: _Linear, Q: np.ndarray, residual: np.ndarray, share: float) -> None:
    """Take the step with these targets in place, this share of the way to the nearest wall at most."""
    dv, dS, dl = linear.solve(Q, residual)
    r = np.multiply(dS, linear.over, out=linear.over)
    primal = 1.0 / np.maximum(-np.minimum.reduce(r, axis=1, initial=0.0) / share, 1.0)
    dZ = np.subtract(Q, np.multiply(at.Z, r, out=r), out=Q)
    if dl is not None:
        dZ[:, at.cuts[5]] = dl
    np.divide(dZ, at.Z, out=r)
    dual = 1.0 / np.maximum(-np.minimum.reduce(r, axis=1, initial=0.0) / share, 1.0)
    _move(core, at, (dv, dS, dZ), primal, dual)


def spread_of(core: Core, at: State, columns: Own | None, which: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return how far directions `d` reach, squared, in the metric of the barrier at the states `which`."""
    slot = np.zeros(len(d), dtype=int)
    for c in range(len(at.v)):
        slot[which == c] = np.arange(np.count_nonzero(which == c))
    sides = np.zeros((len(at.v), core.q, int(slot.max(initial=0)) + 1))
    sides[which, :, slot] = d
    return np.einsum("bq,bq->b", d, _Linear(core, columns, at).factor.solve(sides)[which, :, slot])


def _move(core: Core, at: State, step: tuple[np.ndarray, ...], primal: np.ndarray, dual: np.ndarray) -> None:
    """Move a state in place, slacks and multipliers by lengths of their own."""
    dv, dS, dZ = step
    if core.p.size:
        dl = dZ[:, at.cuts[5]]
        at.weight += dual * (dl @ core.p)
        at.price += dual * (dl @ core.l)
    dS *= primal[:, None]
    dZ *= dual[:, None]
    at.v += primal[:, None] * dv
    at.S += dS
    at.Z += dZ
    _restore(at.z1, at.z2, at.weight[:, None] * core.pen)
    _restore(at.z3, at.z4, at.price[:, None] * (core.c if at.own is None else at.own))


def _restore(x: np.ndarray, y: np.ndarray, total: np.ndarray) -> None:
    """Make ``x + y = total`` again up to rounding, by the same small share of both."""
    share = np.add(x, y)
    np.divide(total, share, out=share)
    x *= share
    y *= share
