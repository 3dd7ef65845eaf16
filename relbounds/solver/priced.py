"""Problems in which loss and norm have prices instead of budgets: their arrays, where they start and when they end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relbounds.errors import SolverError
from relbounds.solver import predictor_corrector as interior
from relbounds.solver.core import Core, State, dot, make_state, paid
from relbounds.solver.model import Model
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Reduced, reduce
from relbounds.solver.stack import Stack
from relbounds.solver.starts import find_inside
from relbounds.solver.tolerances import STALLED

# The first product of slack and multiplier, in units of what a row costs on average. From close to the walls many short
# steps lead away from them first; a problem whose norm has a budget is close to its answer from the beginning.
FAR, NEAR = 10.0, 0.5
# From a model near the answer the first gap is this share of its objective: from nearer to the walls it takes more
# steps, not fewer; as many times of it where the model is that of other data. Hard rows keep at least this share of
# their room.
WARM, OTHER, ROOM = 0.5, 2.0, 1e-2


def priced_core(model: Model) -> Reduced:
    """Return the model as arrays without budgets."""
    reduced = reduce(Polytope(model, joint=(1.0, np.inf), start=np.zeros(model.q)))
    none = np.zeros(0)
    core = replace(reduced.core, p=none, l=none, Lin=np.zeros((0, reduced.core.q)), B=none)
    return replace(reduced, core=core)


def accurate(
    core: Core, linear: np.ndarray, accuracy: float | np.ndarray, constant: np.ndarray | float = 0.0
) -> interior.Stop:
    """Return a rule that stops problems whose gap is a small share of their objective.

    `accuracy` is that share, or one for each problem (B,); `linear` (B, q) the linear part of each problem's loss, in
    core units; `constant` (B,) what it has beside.
    """
    beside, share = np.broadcast_to(constant, len(linear)), np.broadcast_to(accuracy, len(linear))
    apart = bool(linear.any() or beside.any())

    def enough(at: State, gap: np.ndarray, lack: np.ndarray) -> np.ndarray:
        # what the products leave of the objective is its dual value
        scale = 0.5 * (at.t @ core.pen)
        if apart:
            scale += at.price * np.abs(beside[at.which] + dot(at.v, linear[at.which]))
        scale += at.price * paid(at.xi, at.prices(core)) if core.rows else 0.0
        small = share[at.which] * scale
        # what is then left of the residual is rounding, which no further step takes away
        return (gap <= small) & (lack <= small) | (gap <= STALLED * small)

    return enough


def priced_start(
    core: Core,
    reduced: Reduced,
    price: np.ndarray,
    norm_price: np.ndarray,
    budget: np.ndarray,
    own: np.ndarray | None = None,
    near: np.ndarray | None = None,
    warm: float = WARM,
) -> State:
    """Return a start for problems in which loss and norm have a price instead of a budget.

    Parameters
    ----------
    core : Core
        The arrays, with at most one budget, on the norm.
    price, norm_price : ndarray, shape (B,)
        Prices of loss and norm.
    budget : ndarray, shape (B,)
        The budget of the norm, infinite without one.
    own : ndarray, shape (B, R), optional
        Prices of the loss rows where these differ by problem.
    near : ndarray, shape (q,), optional
        A model likely to be near the answer to a problem without a budget: it starts there.
    warm : float, optional
        The first gap there, as a share of the objective: `WARM`, or `OTHER` for a model of other data.
    """
    B, s = price.size, core.pen.size
    model = reduced.polytope.model
    v = np.zeros((1, core.q))
    # thresholds in order, so that the hard rows have room
    loose = s + np.flatnonzero((core.A[:, s:] != 0).any(axis=0))
    v[0, loose] = np.linspace(-0.5, 0.5, loose.size) if loose.size > 1 else 0.0
    if model.inner is not None:
        v[0] = reduced.into(model.inner)
    if core.a.size and np.min(core.A @ v[0] - core.a) < 1e-6:
        bare = replace(core, p=np.zeros(1), l=np.zeros(1), Lin=np.zeros((1, core.q)), B=np.ones(1))
        v, room, _ = find_inside(bare, v, None)
        if room[0] <= 0:
            raise SolverError(
                "No model satisfies the hard constraints strictly: the bounds on some variables contradict each other."
                " Widen them."
            )
    if core.p.size:
        norm = float(np.abs(v[0, :s]) @ core.pen)
        if norm > 0.5 * budget[0]:
            v[0, :s] *= 0.5 * budget[0] / norm
    v = np.repeat(v, B, axis=0)
    margin = v @ core.G.T - core.h
    prices = core.c[None, :] if own is None else own
    cost = price[:, None] * prices
    if core.h.size:
        mu = (NEAR if core.p.size else FAR) * cost.mean(axis=1)
    else:
        mu = price * (np.abs(model.linear).max() + 1e-3)
    if near is not None and core.h.size:
        v = toward(core, v, np.repeat(reduced.into(near)[None, :], B, axis=0))
        margin = v @ core.G.T - core.h
        spent = norm_price * (np.abs(v[:, :s]) @ core.pen) + paid(np.maximum(-margin, 0.0), cost)
        mu = np.where(spent > 0, np.minimum(mu, warm * spent / core.count), mu)
    return _state_at(core, v, margin, mu, price, norm_price, budget, own)


def start_each(
    core: Core, rows: Stack, v: np.ndarray, price: np.ndarray, own: np.ndarray | None, near: np.ndarray
) -> State:
    """Return a start for problems with rows of their own, at points that leave the hard rows room.

    Parameters
    ----------
    core : Core
        The arrays, without budgets.
    rows : Stack
    v : ndarray, shape (B, q)
        Where they start.
    price : ndarray, shape (B,)
        Prices of the loss; that of the norm is a half.
    own : ndarray, shape (B, R), optional
        Prices of the loss rows where these differ by problem.
    near : ndarray of bool, shape (B,)
        Which of the points are models likely to be near the answer.
    """
    margin = rows.times(v) - core.h
    cost = price[:, None] * (core.c if own is None else own)
    spent = 0.5 * (np.abs(v[:, : core.pen.size]) @ core.pen) + paid(np.maximum(-margin, 0.0), cost)
    mu = FAR * cost.mean(axis=1)
    mu = np.where(near & (spent > 0), np.minimum(mu, WARM * spent / core.count), mu)
    B = price.size
    return _state_at(core, v, margin, mu, price, np.full(B, 0.5), np.full(B, np.inf), own)


def _state_at(
    core: Core,
    v: np.ndarray,
    margin: np.ndarray,
    mu: np.ndarray,
    price: np.ndarray,
    norm_price: np.ndarray,
    budget: np.ndarray,
    own: np.ndarray | None,
) -> State:
    """Return states at some points: products of slack and multiplier are alike, also those of rows that cost little."""
    s = core.pen.size
    cost = price[:, None] * (core.c[None, :] if own is None else own)
    xi, f = _apart(margin, mu[:, None] / cost)
    if core.p.size:
        t = np.abs(v[:, :s]) + (0.25 * budget / max(s, 1))[:, None] / core.pen
        u1, u2 = t - v[:, :s], t + v[:, :s]
    else:
        u1, u2 = _apart(2.0 * v[:, :s], mu[:, None] / (norm_price[:, None] * core.pen))
    g, left = v @ core.A.T - core.a, core.B - (0.5 * (u1 + u2) @ core.pen)[:, None] * core.p
    lam = mu[:, None] / left
    total = norm_price + lam @ core.p
    weight = total[:, None] * core.pen
    z1, z2 = weight * u2 / (u1 + u2), weight * u1 / (u1 + u2)
    z3, z4 = cost * f / (xi + f), cost * xi / (xi + f)
    multipliers = [z1, z2, z3, z4, mu[:, None] / g, lam]
    state = make_state(v, [u1, u2, xi, f, g, left], multipliers, total, price.astype(float))
    state.own = own
    return state


def toward(core: Core, v: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return the points nearest to others that leave every hard row a part of the room it has at `v`."""
    if not core.a.size:
        return near
    room, left = v @ core.A.T - core.a, near @ core.A.T - core.a
    with np.errstate(all="ignore"):
        share = np.where(left < ROOM * room, (1.0 - ROOM) * room / (room - left), 1.0)
    return v + np.min(share, axis=1, keepdims=True) * (near - v)


def _apart(difference: np.ndarray, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two positive slacks, the second larger by `difference`, half of whose harmonic mean is `half`."""
    root = np.hypot(difference, 2.0 * half)
    return half + 0.5 * (root - difference), half + 0.5 * (root + difference)
