"""Points strictly inside a polytope, near-central starts from them, and proofs that there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.certificates import dual_bound, room_at
from relbounds.solver.columns import Columns
from relbounds.solver.core import Core, Own, State, budget_terms, make_state, paid, times
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals, Reduced, reduce, relaxed
from relbounds.solver.stack import Stack
from relbounds.solver.tolerances import EMPTY, FINE, PROOF, ROOMY, ROUNDING, THIN


def room_of(core: Core, v: np.ndarray, columns: Own | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the room of every budget, the margins ``G v - h`` and the room of every hard row."""
    s = core.pen.size
    margin = times(core, v, columns) - core.h
    loss = paid(-np.minimum(margin, 0.0), core.c)
    norm = np.abs(v[:, :s]) @ core.pen
    room = core.B - norm[:, None] * core.p - loss[:, None] * core.l
    room -= budget_terms(core, v, columns)
    return room, margin, times(core, v, columns, hard=True) - core.a


def balanced(core: Core, v: np.ndarray, scale: np.ndarray, columns: Own | None) -> State:
    """Return a state near the central path at strictly feasible points `v`, its gap about `scale`.

    The room of each budget is spread evenly over the terms it pays for, which makes all products of slacks and
    multipliers about equal.
    """
    s, R = core.pen.size, core.rows
    room, margin, g = room_of(core, v, columns)
    mu = (scale / core.count)[:, None]
    if core.p.size == 2 and s and R:
        share_t, share_x = room[:, :1] / (s + 1), room[:, 1:] / (R + 1)
    else:
        with np.errstate(all="ignore"):
            share_t = np.min(np.where(core.p > 0, room / core.p, np.inf), axis=1, keepdims=True) / (
                2 * (s + 1)
            )
            share_x = np.min(np.where(core.l > 0, room / core.l, np.inf), axis=1, keepdims=True) / (
                2 * (R + 1)
            )
    t = np.abs(v[:, :s]) + share_t / core.pen
    xi = np.maximum(-margin, 0.0) + share_x / core.c
    u1, u2, f = t - v[:, :s], t + v[:, :s], margin + xi
    # the budget's room after spreading, without subtracting what was added
    left = room - core.p * share_t * s - core.l * share_x * R if s and R else room / 2
    if not (s and R):
        used = (t @ core.pen)[:, None] * core.p + paid(xi, core.c)[:, None] * core.l
        used += budget_terms(core, v, columns)
        left = core.B - used
    lam = mu / left
    norm, price = (lam @ core.p)[:, None] * core.pen, (lam @ core.l)[:, None] * core.c
    slacks = [u1, u2, xi, f, g, left]
    z1, z2 = norm * u2 / (u1 + u2), norm * u1 / (u1 + u2)
    z3, z4 = price * f / (xi + f), price * xi / (xi + f)
    state = make_state(v.copy(), slacks, [z1, z2, z3, z4, mu / g, lam], lam @ core.p, lam @ core.l)
    state.own = core.c if core.c.ndim == 2 else None
    return state


def find_inside(
    core: Core, v: np.ndarray, columns: Columns | None, firm: bool = False
) -> tuple[np.ndarray, np.ndarray, State]:
    """Return points strictly inside, how much relative room they have (negative: none), and the last state.

    Everything is loosened by one more variable, which is then made as small as possible; a negative value is a
    point with room to spare. A `firm` proof that there is none is driven on until it is nearly the strongest one.
    """
    width = np.maximum(np.abs(core.B), EMPTY * core.spending)
    wide, wide_columns = relaxed(core, columns, width)
    room, _, g = room_of(core, v, columns)
    lack = np.maximum(np.max(-room / width, axis=1), np.max(-g, axis=1, initial=-1.0))
    tau = np.maximum(lack, 0.0) * 1.5 + 0.1
    d = np.zeros((len(v), wide.q))
    d[:, -1] = -1.0
    start = balanced(wide, np.column_stack([v, tau]), tau, wide_columns)
    # the multipliers of everything that was loosened add up to 1 at the optimum, so they should from the start
    total = start.alpha.sum(axis=1) + start.lam @ width
    start.Z /= total[:, None]
    start.weight /= total
    start.price /= total

    def enough(at: State, gap: np.ndarray, lack: np.ndarray) -> np.ndarray:
        value = -at.v[:, -1]
        # a point with half of the room there is will do, whatever multipliers say
        roomy = (value > 0) & (gap + lack <= value)
        return roomy | (value + (20.0 if firm else 2.0) * gap + 2.0 * lack < 0)

    found = interior.solve(wide, d, start, np.full(len(v), 0.1 * THIN), columns=wide_columns, stop=enough)
    return found.v[:, :-1], -found.v[:, -1], found


def descend(
    core: Core,
    v: np.ndarray,
    columns: Own | None,
    begun: State | None = None,
    seen: list[State] | None = None,
) -> tuple[np.ndarray, np.ndarray, State]:
    """Return points strictly inside, their room (negative: none) and the last state, from points that lose too much.

    Where every hard row and the norm have room at `v`, only the loss stands in the way: it is made smaller
    until it keeps its budget, or shown to stay above. `begun` are states on the way from the same points, `seen`
    collects those that are passed.
    """
    k = int(np.argmax(core.l))
    room, _, _ = room_of(core, v, columns)
    limit = np.broadcast_to(core.B[..., k], len(v))
    least = EMPTY * float(core.spending[k])
    size = np.maximum(np.abs(limit), least)
    most = limit + 2.0 * float(np.max(-room[:, k], initial=0.0)) + np.maximum(size, float(core.spending[k]))
    big = np.array(np.broadcast_to(core.B, (len(v), core.p.size)))
    big[:, k] = most
    wide = replace(core, B=big)
    cost = np.tile(core.Lin[k], (len(v), 1))
    if isinstance(columns, Stack):
        if columns.linear is not None:
            cost += core.l[k] * columns.linear[columns.owner]
    elif columns is not None:
        cost[columns.each, columns.index] = core.l[k] * columns.slopes
    start = _at_the_top(core, wide, v, columns, cost, k) if begun is None else begun

    def enough(at: State, gap: np.ndarray, lack: np.ndarray) -> np.ndarray:
        if seen is not None:
            seen.append(at.take(np.arange(len(at.v))))
        over = (most - limit)[at.which] - at.s[:, k]
        return (-over >= gap) & (over < 0) | (over - 2 * (gap + lack) > 0)

    found = interior.solve(wide, -cost, start, 0.1 * THIN * size, columns=columns, stop=enough)
    left = limit - (most - found.s[:, k])
    multipliers = found.lam
    multipliers[:, k] += 1.0
    return found.v, left / size, found


def _at_the_top(
    core: Core, wide: Core, v: np.ndarray, columns: Own | None, cost: np.ndarray, k: int
) -> State:
    """Return states at points from which the loss, budget `k` at these costs, is made smaller."""
    s = core.pen.size
    # multipliers of hard rows hold up the price of the free variables, those of loss rows are below their own
    if core.h.size:
        mu = np.full(len(v), 0.5 * core.l[k] * float(np.mean(core.c)))
    else:
        g = times(core, v, columns, hard=True) - core.a
        mu = np.abs(cost[:, s:]).sum(axis=1) / np.sum(1.0 / g, axis=1)
    count = 2 * s + 2 * core.h.size + core.a.size + core.B.size
    start = balanced(wide, v, mu * count, columns)
    start.weight += core.p[k]
    start.price += core.l[k]
    z1, z2, z3, z4 = start.z1, start.z2, start.z3, start.z4
    z1[:] = start.weight[:, None] * core.pen * start.u2 / (start.u1 + start.u2)
    z2[:] = start.weight[:, None] * core.pen * start.u1 / (start.u1 + start.u2)
    z3[:] = start.price[:, None] * core.c * start.f / (start.xi + start.f)
    z4[:] = start.price[:, None] * core.c * start.xi / (start.xi + start.f)
    return start


def strictly(core: Core, v: np.ndarray, columns: Own | None) -> np.ndarray:
    """Return whether points have room everywhere, budgets at least a little relative to their size."""
    room, _, g = room_of(core, v, columns)
    enough = np.min(room - ROOMY * np.abs(core.B), axis=1) > 0
    return enough & (np.min(g, axis=1, initial=np.inf) > ROOMY)


def apart(core: Core, v: np.ndarray, begin: np.ndarray, columns: Own | None) -> np.ndarray:
    """Return the points, those that touch hard rows moved toward `begin` as far as half of the budgets' room allows.

    A best model touches some hard rows, and the budgets of a set around it leave room to step away from them.
    """
    touching = ~strictly(core, v, columns)
    if not touching.any():
        return v
    rooms = []
    for point in (v, np.broadcast_to(begin, v.shape)):
        room, _, g = room_of(core, point, columns)
        rooms.append(np.hstack([room, g]))
    here, there = rooms
    with np.errstate(all="ignore"):
        limit = np.where(there < 0, np.maximum(here, 0.0) / (np.maximum(here, 0.0) - there), 1.0)
    step = np.where(touching, 0.5 * np.min(limit, axis=1), 0.0)
    out: np.ndarray = v + step[:, None] * (begin - v)
    return out


@dataclass(frozen=True)
class Ready:
    """A polytope ready to be pushed.

    Parameters
    ----------
    polytope : Polytope
        The set.
    reduced : Reduced
        Its arrays.
    v : ndarray
        A point strictly inside, in core units.
    thin : float
        The relative room that point has.
    feasible : bool
        Whether the set has a point.
    interior : bool
        Whether it has one strictly inside: without any tolerance there is none.
    proof : Duals or None
        Multipliers that prove the set empty.
    """

    polytope: Polytope
    reduced: Reduced
    v: np.ndarray
    thin: float
    feasible: bool
    interior: bool = True
    proof: Duals | None = None


def thinness(core: Core, v: np.ndarray, columns: Columns | None) -> np.ndarray:
    """Return the largest relative room a budget has at each point, within sensible limits."""
    room, _, _ = room_of(core, v, columns)
    with np.errstate(all="ignore"):
        return np.clip(np.nan_to_num(np.max(room / np.abs(core.B), axis=1), posinf=0.1), THIN, 0.1)


def known_inside(reduced: Reduced) -> np.ndarray | None:
    """Return the point the model knows to keep every hard row, in core units, if norm and bounds agree."""
    inner = reduced.polytope.model.inner
    if inner is None:
        return None
    v = reduced.into(inner)[None, :]
    return v[0] if all_but_loss(reduced.core, v, None)[0] else None


def all_but_loss(core: Core, v: np.ndarray, columns: Own | None) -> np.ndarray:
    """Return whether points have room in every hard row and in every budget without loss."""
    room, _, g = room_of(core, v, columns)
    least = np.min(room[:, core.l == 0], axis=1, initial=np.inf)
    return (np.min(g, axis=1, initial=np.inf) > ROOMY) & (least > 0)


def _scaled_inside(reduced: Reduced, v: np.ndarray) -> np.ndarray | None:
    """Return a point (1, q) a little larger than `v` that is strictly inside, if there is one.

    Where every row has to be met, the best model touches some of them. They ask for positive margins, and what the
    norm still has room for makes all margins larger at once.
    """
    core = reduced.core
    if not reduced.hard.size or not (core.B > 0).all() or reduced.origin.any():
        return None
    norm = float(np.abs(v[0, : core.pen.size]) @ core.pen) * float(core.p[0])
    if not 0 < norm < core.B[0]:
        return None
    grown = (1.0 + 0.5 * (core.B[0] / norm - 1.0)) * v
    return grown if strictly(core, grown, None)[0] else None


def prepare(polytope: Polytope) -> Ready:
    """Return the polytope with a point strictly inside it.

    A set without interior (no tolerance at all) is told apart from one that is empty, which comes with multipliers
    that prove it.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> prepare(Polytope(model, norm=0.5, loss=0.1, start=np.zeros(1))).feasible
    False
    """
    reduced = reduce(polytope)
    v = reduced.into(polytope.start)[None, :]
    if (polytope.model.lower > polytope.model.upper).any():
        return Ready(polytope, reduced, v[0], 0.0, False, interior=False)
    if (reduced.core.B > 0).all() and strictly(reduced.core, v, None)[0]:
        return Ready(polytope, reduced, v[0], float(thinness(reduced.core, v, None)[0]), True)
    scaled = _scaled_inside(reduced, v)
    if scaled is not None:
        return Ready(polytope, reduced, scaled[0], float(thinness(reduced.core, scaled, None)[0]), True)
    wide = known_inside(reduced)
    if wide is not None and (reduced.core.B > 0).all():
        moved = apart(reduced.core, v, wide, None)
        if strictly(reduced.core, moved, None)[0]:
            return Ready(polytope, reduced, moved[0], float(thinness(reduced.core, moved, None)[0]), True)
    if wide is not None:
        inside, room, state = descend(reduced.core, wide[None, :], None)
        duals = reduced.duals(state.z4, state.alpha, state.lam)
    else:
        inside, room, state = find_inside(reduced.core, v, None)
        duals = reduced.duals(state.z4, state.alpha[:, :-1], state.lam)
        if room[0] < -EMPTY and not _proved_empty(polytope, duals):
            # with very many rows steps from a point far outside can come to nothing before anything is shown; from
            # the origin all rows are alike
            inside, room, state = find_inside(reduced.core, np.zeros_like(v), None)
            duals = reduced.duals(state.z4, state.alpha[:, :-1], state.lam)
    if room[0] > THIN:
        thin = float(thinness(reduced.core, inside, None)[0])
        return Ready(polytope, reduced, inside[0], thin, True)
    known = polytope.start.size and np.min(room_at(polytope, polytope.start[None, :], None, ROUNDING)) >= 0
    if not known and (room[0] < -EMPTY or _proved_empty(polytope, duals)):
        return Ready(polytope, reduced, inside[0], 0.0, False, proof=duals)
    return Ready(polytope, reduced, inside[0], 0.0, True, interior=False)


def _proved_empty(polytope: Polytope, duals: Duals) -> bool:
    """Return whether multipliers prove that a set has no point."""
    slack = PROOF * float(np.abs(polytope.budgets[2]) @ duals.lam[0])
    return bool(dual_bound(polytope, np.zeros((1, polytope.model.q)), duals)[0] < -slack)


def run_core(
    core: Core,
    d: np.ndarray,
    v: np.ndarray,
    thin: np.ndarray | float,
    size: float,
    columns: Columns | None,
    gap: float = FINE,
    stop: interior.Stop | None = None,
) -> State:
    """Push from strictly feasible points `v` along `d`, all in core units, until the gap is `gap` of `size`."""
    # objectives in the units of the norm: a direction of another scale starts and ends at its own
    unit = np.max(np.abs(d[:, : core.pen.size]) / core.pen, axis=1, initial=0.0)
    unit = np.where(unit > 0, unit, 1.0)
    start = balanced(core, v, 10.0 * thin * size * unit, columns)
    return interior.solve(core, d, start, np.full(len(d), gap * size), columns=columns, stop=stop)
