"""Probes of features that own several variables, all of them in a few vectorised runs.

What a probe tells is how far from 0 its variables can be. Where a model of the set does without them, 0 is reached, and
the ends of all their ranges race for the farthest: one that is proved to fall short of another is not driven on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.centre import aimed, centred
from relbounds.solver.certificates import dual_bound, inside
from relbounds.solver.columns import Columns
from relbounds.solver.engines.batch import chunk_size
from relbounds.solver.polytope import Polytope, Ranges
from relbounds.solver.predictor_corrector import State
from relbounds.solver.reduced import Reduced, reduce
from relbounds.solver.starts import descend, known_inside
from relbounds.solver.tolerances import FINE, PROMISED, THIN

# An end is given up when another one is ahead by this many times what its own gap leaves open.
AHEAD = 1.5


def push_several(polytope: Polytope, replaced: Columns, asked: np.ndarray) -> Ranges | None:
    """Return the ranges of some variables, for each problem with k replaced columns; None if no start is known.

    Where a point of the set does without the variables asked for, the range farthest from 0 is exact, and every other
    end is only known to be nearer to 0; both ends reach 0 at least. Otherwise all ends are exact. `gap` is what
    multipliers prove from the original data: no end of a problem's ranges lies farther out than the farthest value
    by more than that.

    Parameters
    ----------
    polytope : Polytope
        The set of the unchanged data; its budgets are kept.
    replaced : Columns
        The columns that change, by problem.
    asked : ndarray of int, shape (B, a)
        Whose ranges are asked for.

    Returns
    -------
    Ranges
        Of ``B * a`` variables, problem by problem.

    Examples
    --------
    >>> from relbounds.solver.columns import new_columns
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1), inner=np.zeros(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> found = push_several(tope, new_columns((0,), np.ones((1, 1))), np.zeros((1, 1), dtype=int))
    >>> np.round(found.upper, 5).tolist()
    [1.0]
    """
    reduced = reduce(polytope)
    known = known_inside(reduced)
    if known is None or polytope.model.inner is None or np.any(polytope.model.inner[replaced.index]):
        return None
    columns = reduced.columns(replaced)
    starts = _starts(reduced, known, replaced.index, columns)
    good = starts.which >= 0
    a = asked.shape[1]
    owner = np.repeat(np.flatnonzero(good), 2 * a)
    d = np.zeros((owner.size, polytope.model.q))
    variables = np.repeat(asked[good].ravel(), 2)
    d[np.arange(owner.size), variables] = np.tile([-1.0, 1.0], owner.size // 2)
    value, bound = np.full(owner.size, np.nan), np.full(owner.size, np.nan)
    pending = np.arange(owner.size)
    # whole problems together, as many of them as a run has room for
    step = 2 * a * max(1, chunk_size(reduced.core.h.size + reduced.core.a.size) // (2 * a))
    for raced in (True, False):
        for first in range(0, pending.size, step):
            here = pending[first : first + step]
            who = owner[here]
            group = np.where(starts.unused[who], who, -1) if raced else np.full(who.size, -1)
            state = _push(reduced, starts, columns.take(who), who, d[here], group, FINE * polytope.size)
            anchor = reduced.back(starts.centre.v[starts.which[who]])
            points, kept = inside(polytope, reduced.back(state.v), anchor, replaced.take(who))
            value[here] = np.where(kept, np.einsum("bq,bq->b", points, d[here]), np.nan)
            duals = reduced.duals(state.z4, state.alpha, state.lam)
            bound[here] = dual_bound(polytope, d[here], duals, replaced.take(who))
        found = _ranges(value.reshape(-1, 2 * a), bound.reshape(-1, 2 * a), good, starts.unused[good])
        # multipliers of an end given up early may prove little where the set is thin: drive all of them home
        open_ = ~(found.gap.reshape(-1, a).max(axis=1) <= PROMISED * polytope.size)
        pending = np.flatnonzero(open_[owner])
        if not pending.size:
            break
    return found


def _push(
    reduced: Reduced,
    starts: _Starts,
    columns: Columns,
    who: np.ndarray,
    d: np.ndarray,
    group: np.ndarray,
    tolerance: float,
) -> State:
    """Push problems `who` along directions, from their centres."""
    core = reduced.core
    directions = d[:, reduced.free] * reduced.unit
    start = aimed(core, starts.centre, starts.which[who], directions, starts.columns)
    stop = race(directions, group)
    return interior.solve(core, directions, start, np.full(who.size, tolerance), columns=columns, stop=stop)


def _ranges(value: np.ndarray, bound: np.ndarray, good: np.ndarray, unused: np.ndarray) -> Ranges:
    """Put values and bounds of both ends of each variable, problem by problem, together."""
    B, a = good.size, value.shape[1] // 2
    farthest = np.max(value, axis=1, initial=-np.inf, keepdims=True)
    open_ = np.where(
        unused[:, None], np.max(bound - farthest, axis=1, initial=0.0, keepdims=True), bound - value
    )
    value = np.where(unused[:, None], np.maximum(value, 0.0), value)
    lower, upper, gap = np.full((B, a), np.nan), np.full((B, a), np.nan), np.zeros((B, a))
    lower[good], upper[good] = -value[:, 0::2], value[:, 1::2]
    gap[good] = np.maximum(np.maximum(open_[:, 0::2], open_[:, 1::2]), 0.0)
    return Ranges(lower.ravel(), upper.ravel(), gap.ravel(), np.repeat(good, a), ("batch",) * (B * a))


@dataclass(frozen=True)
class _Starts:
    """Centres of some sets with replaced columns.

    Parameters
    ----------
    centre : State
        The centres, in core units.
    columns : Columns
        The columns of each centre's problem.
    which : ndarray of int, shape (B,)
        The centre each problem starts from; -1 where its set is empty.
    unused : ndarray of bool, shape (B,)
        Whether the centre does without the variables whose columns are replaced.
    """

    centre: State
    columns: Columns
    which: np.ndarray
    unused: np.ndarray


def _starts(reduced: Reduced, known: np.ndarray, index: np.ndarray, columns: Columns) -> _Starts:
    """Return the middle of each problem's set.

    A point that does without the variables serves every problem that replaces their columns, so it is sought once for
    all of them. Where there is none, each problem may have one with the columns that took their place.
    """
    core = reduced.core
    _, first, which = np.unique(index, axis=0, return_index=True, return_inverse=True)
    which = which.ravel()
    some = columns.take(first)
    gone = Columns(some.index, 0.0 * some.G, 0.0 * some.hard, 0.0 * some.slopes)
    points, room, _ = descend(core, np.tile(known, (first.size, 1)), gone)
    points[gone.each, gone.index] = 0.0
    empty = np.flatnonzero(~(room > THIN)[which])
    step = chunk_size(core.h.size + core.a.size)
    parts, fits = [points], [room > THIN]
    for begin in range(0, empty.size, step):
        here = empty[begin : begin + step]
        points, room, _ = descend(core, np.tile(known, (here.size, 1)), columns.take(here))
        parts.append(points)
        fits.append(room > THIN)
    fit = np.concatenate(fits)
    which[empty] = first.size + np.arange(empty.size)
    place = np.cumsum(fit) - 1
    own = columns.take(empty)
    pairs = ((getattr(gone, name), getattr(own, name)) for name in ("index", "G", "A", "linear"))
    joined = Columns(*(np.concatenate(pair)[fit] for pair in pairs))
    centre = centred(core, np.vstack(parts)[fit], joined)
    unused = which < first.size
    return _Starts(centre, joined, np.where(fit[which], place[which], -1), unused)


def race(d: np.ndarray, group: np.ndarray) -> Callable[[State, np.ndarray, np.ndarray], np.ndarray]:
    """Return a rule that stops directions which another one of their group has left behind.

    Parameters
    ----------
    d : ndarray, shape (B, q)
        The directions of a run.
    group : ndarray of int, shape (B,)
        The group of each; those of group -1 run on their own.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> at = SimpleNamespace(v=np.array([[3.0], [1.0]]), which=np.arange(2))
    >>> race(np.ones((2, 1)), np.zeros(2, dtype=int))(at, np.ones(2), np.zeros(2)).tolist()
    [False, True]
    """
    _, number = np.unique(group, return_inverse=True)
    ahead = np.full(number.max(initial=-1) + 1, -np.inf)

    def behind(at: State, gap: np.ndarray, lack: np.ndarray) -> np.ndarray:
        value = np.einsum("bq,bq->b", at.v, d[at.which])
        own = number[at.which]
        np.maximum.at(ahead, own, value)
        return (value + AHEAD * (gap + lack) < ahead[own]) & (group[at.which] >= 0)

    return behind
