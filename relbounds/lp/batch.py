"""All directions of a fit, probes included, in a few vectorised interior-point runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from relbounds.lp import interior
from relbounds.lp.certify import Replaced, dual_bound
from relbounds.lp.interior import Columns, Core, State
from relbounds.lp.problem import Polytope
from relbounds.lp.reduce import Duals, Reduced, reduce, relaxed

# Entries of one array that fit the caches, and directions that keep a matrix product busy.
ENTRIES = 100_000
FEWEST, MOST = 8, 64
# Gap at which a direction is finished, relative to the norm of the baseline: well below what is promised.
FINE = 1e-7
# Sets whose best interior point has less relative room than this are widened by as much.
THIN = 1e-9


@dataclass(frozen=True)
class Answer:
    """Points and multipliers of an engine, in the units of the polytope; anchors lie well inside the set."""

    points: np.ndarray
    duals: Duals
    anchor: np.ndarray
    feasible: np.ndarray


def room_of(core: Core, v: np.ndarray, columns: Columns | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the room of every budget, the margins ``G v - h`` and the room of every hard row."""
    s = core.pen.size
    margin = interior.times(core, v, columns) - core.h
    loss = -np.minimum(margin, 0.0) @ core.c
    norm = np.abs(v[:, :s]) @ core.pen
    room = core.B - norm[:, None] * core.p - v @ core.Lin.T - loss[:, None] * core.l
    return room, margin, interior.times(core, v, columns, hard=True) - core.a


def balanced(core: Core, v: np.ndarray, scale: np.ndarray, columns: Columns | None) -> State:
    """Return a state near the central path at strictly feasible points `v`, its gap about `scale`.

    The room of each budget is spread evenly over the terms it pays for, which makes all products of slacks and
    multipliers about equal.
    """
    s, R = core.pen.size, core.h.size
    room, margin, g = room_of(core, v, columns)
    count = 2 * s + 2 * R + g.shape[1] + core.B.size
    mu = (scale / count)[:, None]
    if core.B.size == 2 and s and R:
        share_t, share_x = room[:, :1] / (s + 1), room[:, 1:] / (R + 1)
    else:
        with np.errstate(all="ignore"):
            share_t = np.min(np.where(core.p > 0, room / core.p, np.inf), axis=1, keepdims=True) / (2 * (s + 1))
            share_x = np.min(np.where(core.l > 0, room / core.l, np.inf), axis=1, keepdims=True) / (2 * (R + 1))
    t = np.abs(v[:, :s]) + share_t / core.pen
    xi = np.maximum(-margin, 0.0) + share_x / core.c
    u1, u2, f = t - v[:, :s], t + v[:, :s], margin + xi
    # the budget's room after spreading, without subtracting what was added
    left = room - core.p * share_t * s - core.l * share_x * R if s and R else room / 2
    if not (s and R):
        used = (t @ core.pen)[:, None] * core.p + v @ core.Lin.T + (xi @ core.c)[:, None] * core.l
        left = core.B - used
    lam = mu / left
    norm, price = (lam @ core.p)[:, None] * core.pen, (lam @ core.l)[:, None] * core.c
    return State(
        v=v.copy(),
        t=t,
        xi=xi,
        u1=u1,
        u2=u2,
        f=f,
        g=g,
        s=left,
        z1=norm * u2 / (u1 + u2),
        z2=norm * u1 / (u1 + u2),
        z3=price * f / (xi + f),
        z4=price * xi / (xi + f),
        alpha=mu / g,
        lam=lam,
        weight=lam @ core.p,
        price=lam @ core.l,
    )


def find_inside(core: Core, v: np.ndarray, columns: Columns | None) -> tuple[np.ndarray, np.ndarray, State]:
    """Return points strictly inside, how much relative room they have (negative: none), and the last state.

    Everything is loosened by one more variable, which is then made as small as possible; a negative value is a
    point with room to spare.
    """
    width = np.maximum(np.abs(core.B), 1e-6)
    wide, wide_columns = relaxed(core, columns, width)
    room, _, g = room_of(core, v, columns)
    lack = np.maximum(np.max(-room / width, axis=1), np.max(-g, axis=1, initial=-1.0))
    tau = np.maximum(lack, 0.0) * 1.5 + 0.1
    d = np.zeros((len(v), wide.q))
    d[:, -1] = -1.0
    start = balanced(wide, np.column_stack([v, tau]), tau, wide_columns)

    def enough(at: State, gap: np.ndarray, lack: np.ndarray) -> np.ndarray:
        value = -at.v[:, -1]
        sure = lack <= 1e-3 * np.abs(value)
        return sure & (((value > 0) & (gap <= value)) | (value + 2 * gap < 0))

    found = interior.solve(wide, d, start, np.full(len(v), 0.1 * THIN), columns=wide_columns, stop=enough)
    return found.v[:, :-1], -found.v[:, -1], found


def _strict(core: Core, v: np.ndarray, columns: Columns | None) -> np.ndarray:
    """Return whether points have room everywhere, budgets at least a little relative to their size."""
    room, _, g = room_of(core, v, columns)
    enough = np.min(room - 1e-7 * np.abs(core.B), axis=1) > 0
    return enough & (np.min(g, axis=1, initial=np.inf) > 1e-7)


def chunk_size(rows: int) -> int:
    """Return how many directions to run together.

    Examples
    --------
    >>> chunk_size(1000), chunk_size(100_000)
    (64, 8)
    """
    return int(np.clip(ENTRIES // max(rows, 1), FEWEST, MOST))


def _run(
    reduced: Reduced, d: np.ndarray, v: np.ndarray, size: float, columns: Columns | None
) -> State:
    """Push from strictly feasible points `v` (core units) along `d`."""
    core = reduced.core
    room, _, _ = room_of(core, v, columns)
    with np.errstate(all="ignore"):
        thin = np.clip(np.max(room / np.abs(core.B), axis=1), 1e-9, 0.1)
    # objectives in the units of the norm: a direction of another scale starts and ends at its own
    unit = np.max(np.abs(d[:, : core.pen.size]) / core.pen, axis=1, initial=0.0)
    unit = np.where(unit > 0, unit, 1.0)
    start = balanced(core, v, 10.0 * thin * size * unit, columns)
    return interior.solve(core, d, start, np.full(len(d), FINE * size), columns=columns)


def prepare(polytope: Polytope) -> tuple[Reduced, np.ndarray, bool, Polytope, Duals | None]:
    """Return the reduced problem, a point strictly inside it, whether there is one, and the set in fact used.

    A set without interior (no tolerance at all) is widened by a billionth; one that is empty comes with multipliers
    that prove it.
    """
    reduced = reduce(polytope)
    v = reduced.into(polytope.start)[None, :]
    if (reduced.core.B > 0).all() and _strict(reduced.core, v, None)[0]:
        return reduced, v[0], True, polytope, None
    inside, room, state = find_inside(reduced.core, v, None)
    if room[0] > THIN:
        return reduced, inside[0], True, polytope, None
    duals = reduced.duals(state.z4, state.alpha[:, :-1], state.lam)
    nothing = np.zeros((1, polytope.model.q))
    if room[0] < -1e-7 or dual_bound(polytope, nothing, duals)[0] < -1e-12:
        return reduced, inside[0], False, polytope, duals
    wider = widen(polytope, 2 * abs(float(room[0])) + 10 * THIN)
    reduced = reduce(wider)
    inside, room, _ = find_inside(reduced.core, v, None)
    return reduced, inside[0], bool(room[0] > 0), wider, None


def widen(polytope: Polytope, by: float) -> Polytope:
    """Return the polytope with every budget and hard row loosened by a relative amount."""
    model = polytope.model
    model = replace(model, a=model.a - by * (1.0 + np.abs(model.a)))
    if polytope.joint is not None:
        C, J = polytope.joint
        return replace(polytope, model=model, joint=(C, J + by * abs(J)))
    assert polytope.norm is not None and polytope.loss is not None
    price = float(model.c.max(initial=1.0)) * (float(np.max(np.abs(model.h), initial=0.0)) or 1.0)
    loss = polytope.loss + by * max(abs(polytope.loss), price)
    return replace(polytope, model=model, norm=polytope.norm * (1 + by), loss=loss)


def push_batch(polytope: Polytope, directions: np.ndarray) -> Answer:
    """Return points and multipliers for many directions.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.lp.problem import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> np.round(push_batch(tope, np.array([[1.0], [-1.0]])).points.ravel(), 5).tolist()
    [1.0, 0.5]
    """
    reduced, v, feasible, _, proof = prepare(polytope)
    B, K = len(directions), polytope.budgets[0].size
    if not feasible:
        points = np.tile(polytope.start, (B, 1))
        if proof is None:
            proof = Duals(np.zeros((1, K)), np.zeros((1, polytope.model.h.size)), np.zeros((1, polytope.model.a.size)))
        duals = Duals(*(np.repeat(x, B, axis=0) for x in (proof.lam, proof.beta, proof.alpha)))
        return Answer(points, duals, points, np.zeros(B, dtype=bool))
    d = directions[:, reduced.free] * reduced.unit
    step = chunk_size(reduced.core.h.size + reduced.core.a.size)
    parts = []
    for first in range(0, B, step):
        piece = d[first : first + step]
        state = _run(reduced, piece, np.tile(v, (len(piece), 1)), polytope.size, None)
        parts.append((reduced.back(state.v), reduced.duals(state.z4, state.alpha, state.lam)))
    return Answer(
        np.vstack([points for points, _ in parts]),
        join([duals for _, duals in parts]),
        np.repeat(reduced.back(v[None, :]), B, axis=0),
        np.ones(B, dtype=bool),
    )


def join(parts: list[Duals]) -> Duals:
    """Return the multipliers of several runs as one."""
    return Duals(*(np.vstack([getattr(part, name) for part in parts]) for name in ("lam", "beta", "alpha")))


def starts_for(polytope: Polytope, replaced: Replaced) -> tuple[Reduced, Columns, np.ndarray, np.ndarray, np.ndarray]:
    """Return, for problems with one replaced column each, points strictly inside and whether there are any.

    The unchanged start without the replaced variable is tried first; only where that breaks a budget is a point
    sought. Where none is found, multipliers prove that there is none.
    """
    reduced = reduce(polytope)
    columns = reduced.columns(replaced.index, replaced.G, replaced.A)
    B = len(replaced.index)
    v = np.tile(reduced.into(polytope.start), (B, 1))
    v[np.arange(B), columns.index] = 0.0
    good = _strict(reduced.core, v, columns)
    empty = np.zeros(B, dtype=bool)
    rest = np.flatnonzero(~good)
    step = chunk_size(reduced.core.h.size + reduced.core.a.size)
    for first in range(0, rest.size, step):
        some = rest[first : first + step]
        part = columns.take(some)
        inside, room, state = find_inside(reduced.core, v[some], part)
        v[some] = inside
        good[some] = room > THIN
        duals = reduced.duals(state.z4, state.alpha[:, :-1], state.lam)
        own = Replaced(replaced.index[some], replaced.G[some], None if replaced.A is None else replaced.A[some])
        proven = dual_bound(polytope, np.zeros((some.size, polytope.model.q)), duals, own) < 0
        empty[some] = ~good[some] & proven
    return reduced, columns, v, good, empty


def push_replaced(
    polytope: Polytope,
    reduced: Reduced,
    columns: Columns,
    v: np.ndarray,
    directions: np.ndarray,
) -> Answer:
    """Return points and multipliers for directions with one replaced column each, from points inside."""
    step = chunk_size(reduced.core.h.size + reduced.core.a.size)
    d = directions[:, reduced.free] * reduced.unit
    parts = []
    for first in range(0, len(d), step):
        some = np.arange(first, min(first + step, len(d)))
        state = _run(reduced, d[some], v[some], polytope.size, columns.take(some))
        parts.append((reduced.back(state.v), reduced.duals(state.z4, state.alpha, state.lam)))
    return Answer(
        np.vstack([points for points, _ in parts]),
        join([duals for _, duals in parts]),
        reduced.back(v),
        np.ones(len(d), dtype=bool),
    )
