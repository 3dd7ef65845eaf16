"""A predictor-corrector interior point for many directions at once.

Primal points stay strictly feasible throughout, and finished directions are dropped.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relbounds.solver.core import Core, Own, State, dot, paid, times_t
from relbounds.solver.folded_stack import FoldedStack
from relbounds.solver.newton import Linear
from relbounds.solver.stack import Stack
from relbounds.solver.tolerances import COARSE, STALLED

# Iterations at most: a run that takes them all was ended by rounding.
MOST = 80
# Steps without a target that end before this share of the way: their products are taken into account to that share
# only. With it directions take four in a hundred fewer iterations, and none was seen to jam.
SHORT_STEP = 0.3
# Systems of fewer variables are not worth single precision.
FEW_SINGLE = 48
# Multipliers count as such of a direction when no more than this share of it is missing.
MOST_MISSING = 0.9
# States are kept every so many steps, in case a later one is broken.
KEPT_EVERY = 6
# Just below the largest block that the GNU allocator learns from.
KEPT_BYTES = 31 * 2**20


def residual_of(core: Core, at: State, d: np.ndarray, columns: Own | None) -> np.ndarray:
    """Return the dual residual: what stationarity in ``v`` still lacks."""
    if core.p.size:
        r = at.lam @ core.Lin
        if isinstance(columns, Stack):
            if columns.linear is not None:
                r += columns.linear[columns.owner] * (at.lam @ core.l)[:, None]
        elif columns is not None:
            r[columns.each, columns.index] = columns.slopes * (at.lam @ core.l)[:, None]
        r -= d
    else:
        r = -d
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
    precise: bool = False,
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
    precise : bool, optional
        Keep to the middle from the first step on: where an optimum is not unique, copies of a column then share their
        weight to the last digits.
    """
    keep_memory()
    with np.errstate(all="ignore"):
        out, broken = _iterate(
            core, d, start, tolerance, columns, stop, most, core.q >= FEW_SINGLE and not precise
        )
        some = np.flatnonzero(broken)
        if some.size and (isinstance(columns, FoldedStack) or not isinstance(columns, Stack)):
            # from the side of the rows the last digits may be lost; from that of the variables they are there
            own = None if columns is None else columns.take(some)
            again, _ = _iterate(
                core, d[some], out.take(some), tolerance[some], own, stop, most, False, dense=True
            )
            out.put(some, again)
    return out


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
    coarsely: bool,
    dense: bool = False,
) -> tuple[State, np.ndarray]:
    """Return states, and which directions broke off: these are where they were some steps before."""
    count = core.count
    out = start.take(np.arange(len(d)))
    out.metric = None
    at, live, broken = start, np.arange(len(d)), np.zeros(len(d), dtype=bool)
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
            broken[live[done & ~sound]] = True
            ended = at.take(sound)
            ended.scale(at.lift[sound])
            out.put(live[sound], ended)
            keep = ~done
            if not keep.any():
                break
            at, live, d, tolerance = at.take(keep), live[keep], d[keep], tolerance[keep]
            gap, residual = gap[keep], residual[keep]
            columns = None if columns is None else columns.take(keep)
        if round_ and round_ % KEPT_EVERY == 0:
            out.put(live, at)
        coarse = coarsely and _is_coarse(core, at, gap)
        _advance(core, at, gap / count, residual, columns, count, coarse, dense)
    return out, broken


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
    square = dot(d, d) if budgeted else scale
    if not (budgeted and square.all()):
        return scale, gap, lack
    missing = np.minimum(-dot(residual, d) / square, MOST_MISSING)
    more = 1.0 / (1.0 - missing)
    rest = _lack(core, at, residual + missing[:, None] * d, norm)
    better = (missing > 0) & (more * (gap + rest) < gap + lack)
    scale[better] = more[better]
    return scale, scale * gap, np.where(better, scale * rest, lack)


def open_at(core: Core, at: State, d: np.ndarray, columns: Own | None) -> np.ndarray:
    """Return what states leave open of directions: the gap, and what stationarity lacks."""
    with np.errstate(all="ignore"):
        lack = _lack(core, at, residual_of(core, at, d, columns), at.t @ core.pen)
        return np.asarray(at.products() + lack)


def _lack(core: Core, at: State, residual: np.ndarray, norm: np.ndarray) -> np.ndarray:
    """Return what a dual residual may make of models whose norm is `norm`, and of the free variables as they are."""
    s = core.pen.size
    lack = np.maximum.reduce(np.abs(residual[:, :s]) / core.pen, axis=1, initial=0.0) * norm
    lack += np.add.reduce(np.abs(residual[:, s:]) * (np.abs(at.v[:, s:]) + 1e-3), axis=1)
    return np.asarray(lack)


def _advance(
    core: Core,
    at: State,
    mu: np.ndarray,
    residual: np.ndarray,
    columns: Own | None,
    count: int,
    coarse: bool,
    dense: bool,
) -> None:
    """Take one predictor-corrector step in place."""
    linear = Linear(core, columns, at, coarse, dense)
    _, dS, _ = linear.solve(-at.Z, residual)
    # without a target the multipliers move by ``-Z (1 + r)``, and all that is asked of that step follows from ``r``
    r = dS * linear.over
    primal = 1.0 / np.maximum(-np.minimum.reduce(r, axis=1, initial=0.0), 1.0)
    dual = 1.0 / np.maximum(1.0 + np.maximum.reduce(r, axis=1, initial=-1.0), 1.0)
    pulled = dot(dS, at.Z)
    Zr = np.multiply(at.Z, r)
    ahead = mu * count * (1.0 - dual) + (primal - dual) * pulled
    ahead -= primal * dual * (pulled + dot(Zr, dS))
    target = np.minimum(np.maximum(ahead / (count * mu), 1e-2), 1.0) ** 3 * mu
    # what the products of both moves leave of the target, over the slacks; where these moves run into a wall at once
    # that tells little of shorter ones, and taking all of it into account may jam a direction
    r += 1.0
    r *= Zr
    length = np.minimum(primal, dual)
    r *= np.where(length < SHORT_STEP, length, 1.0)[:, None]
    r -= at.Z
    Q = np.add(r, np.multiply(linear.over, target[:, None], out=Zr), out=r)
    _step(core, at, linear, Q, residual, 0.995)


def _is_coarse(core: Core, at: State, gap: np.ndarray) -> bool:
    """Return whether all directions have a long way to go, on which a step need not be exact."""
    cost = at.weight * (at.t @ core.pen) + at.price * paid(at.xi, at.prices(core))
    return bool(np.all(gap > COARSE * cost))


def recentre(core: Core, at: State, mu: np.ndarray, residual: np.ndarray, columns: Own | None) -> None:
    """Take one Newton step in place toward products of slacks and multipliers that are all equal to `mu`."""
    linear = Linear(core, columns, at)
    _step(core, at, linear, mu[:, None] * linear.over - at.Z, residual, 0.9)


def _step(core: Core, at: State, linear: Linear, Q: np.ndarray, residual: np.ndarray, share: float) -> None:
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
    _restore(at.z3, at.z4, at.price[:, None] * at.prices(core))


def _restore(x: np.ndarray, y: np.ndarray, total: np.ndarray) -> None:
    """Make ``x + y = total`` again up to rounding, by the same small share of both."""
    share = np.add(x, y)
    np.divide(total, share, out=share)
    x *= share
    y *= share
