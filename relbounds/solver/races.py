"""Probes of features that own several variables, all of them in a few vectorised runs.

What a probe tells is how far from 0 its variables can be. Where a model of the set does without them, 0 is reached, and
the ends of all their ranges race for the farthest: one that is proved to fall short of another is not driven on.

What is left without a feature is worked out once for all its probes. Where that is nothing, the way there serves them:
as long as the feature's variables are 0 its column does not matter, so that they go on from a state of that way.

Problems of one run have equally many variables. One with fewer has free ones of the model besides, which hold a place
and keep their columns.

Hard rows that the sets hardly come near are left out until a certificate shows that one of them matters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.centre import aimed, centred
from relbounds.solver.certificates import dual_bound, inside, rows_at
from relbounds.solver.columns import Columns, stack_columns
from relbounds.solver.core import State
from relbounds.solver.engines.batch import chunk_size
from relbounds.solver.hard_rows import columns_with, with_hard_rows
from relbounds.solver.polytope import Polytope, Ranges
from relbounds.solver.reduced import Reduced, reduce
from relbounds.solver.starts import descend, known_inside, room_of
from relbounds.solver.tolerances import FINE, PROMISED, THIN

# An end is given up when another one is ahead by this many times what its own gap leaves open.
AHEAD = 1.5
# So many times the usual number of directions are raced in one run.
MANY = 4
# Probes go on from where the set without their feature was this many iterations before it turned out to be empty. Later
# states are too close to their walls, earlier ones have more of the way left.
EARLIER = 5


@dataclass(frozen=True)
class Gone:
    """What is left of a set without the variables of a feature, for each of several features.

    Parameters
    ----------
    rows : ndarray of int
        The hard rows that are looked at.
    reduced : Reduced
        The whole set with these.
    known : ndarray, shape (q,)
        The point all ways begin at, in core units.
    index : ndarray of int, shape (F, k)
        The variables of each feature.
    early : State
        A state on the way to less loss without each.
    place : ndarray of int, shape (F,)
        The number of its point; -1 where nothing is left.
    points : ndarray, shape (p, q)
        Points inside what is left, with all hard rows.
    """

    rows: np.ndarray
    reduced: Reduced
    known: np.ndarray
    index: np.ndarray
    early: State
    place: np.ndarray
    points: np.ndarray

    @property
    def number(self) -> dict[tuple[int, ...], int]:
        """The number of each feature by its variables."""
        return {tuple(row): i for i, row in enumerate(self.index.tolist())}


def without_several(polytope: Polytope, index: np.ndarray, rows: np.ndarray | None = None) -> Gone | None:
    """Return what is left of a set without the variables of each feature (F, k); None if no start is known.

    Only the hard rows numbered in `rows` are looked at, and those that points found with them break.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1), inner=np.zeros(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> without_several(tope, np.zeros((1, 1), dtype=int)).place.tolist()
    [-1]
    """
    model = polytope.model
    rows = np.arange(model.a.size) if rows is None else rows
    few = with_hard_rows(polytope, rows)
    reduced = reduce(few)
    core, known = reduced.core, known_inside(reduced)
    if known is None or model.inner is None or np.any(model.inner[index][model.penalty[index] > 0]):
        return None
    step = chunk_size(core.h.size + core.a.size)
    early, left, rooms = [], [], []
    for first in range(0, len(index), step):
        part = index[first : first + step]
        gone = _gone(reduced, part)
        seen: list[State] = []
        points, room, last = descend(core, np.tile(known, (len(part), 1)), gone, seen=seen)
        points[gone.each, gone.index] *= model.penalty[part] <= 0
        fit = room > THIN
        early.append(_earlier(last, seen))
        left.append(reduced.back(points[fit]))
        rooms.append(fit)
    found, fits = np.concatenate(left), np.concatenate(rooms)
    broken = np.flatnonzero((found @ model.A.T < model.a).any(axis=0))
    if rows.size < model.a.size and np.setdiff1d(broken, rows).size:
        return without_several(polytope, index, np.union1d(rows, broken))
    place = np.where(fits, np.cumsum(fits) - 1, -1)
    return Gone(rows, reduced, known, index, _join(early), place, found)


def _gone(reduced: Reduced, index: np.ndarray) -> Columns:
    """Return columns of zeros for some variables, in core units; free ones keep theirs."""
    model = reduced.polytope.model
    own = reduced.columns(Columns(index, model.G.T[index], model.A.T[index], model.linear[index]))
    return _emptied(own, model.penalty[index] > 0)


def _emptied(columns: Columns, which: np.ndarray) -> Columns:
    """Return columns with zeros for the variables marked in `which`, shape (B, k)."""
    kept = ~which
    G, A = columns.G * kept[:, :, None], columns.hard * kept[:, :, None]
    return Columns(columns.index, G, A, columns.slopes * kept)


def _earlier(last: State, seen: list[State]) -> State:
    """Return every problem's state some iterations before its last one, the first where rounding ended its run."""
    out = last.take(np.arange(len(last.v)))
    wanted = np.where(last.iterations < interior.MOST, np.maximum(last.iterations - EARLIER, 0), 0)
    for number, state in enumerate(seen):
        here = wanted[state.which] == number
        out.put(state.which[here], state.take(here))
    return out


def _join(states: list[State]) -> State:
    """Return the states of several runs as those of one."""
    names = ("v", "S", "Z", "weight", "price")
    v, S, Z, weight, price = (np.concatenate([getattr(one, name) for one in states]) for name in names)
    return State(v, S, Z, weight, price, states[0].cuts, np.zeros(len(v), dtype=int), np.arange(len(v)))


@dataclass(frozen=True)
class Begun:
    """Sets with replaced columns, and a point inside each, which its ends are pushed from.

    Parameters
    ----------
    replaced : Columns
        The columns that change, by problem.
    which : ndarray of int, shape (B,)
        The point each problem starts from; -1 where its set is empty.
    unused : ndarray of bool, shape (B,)
        Whether that point does without the variables whose columns are replaced.
    points : ndarray, shape (p, q)
        The points.
    rows : ndarray of int
        The hard rows that pushes look at to begin with.
    """

    replaced: Columns
    which: np.ndarray
    unused: np.ndarray
    points: np.ndarray
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.which)

    @property
    def feasible(self) -> np.ndarray:
        """Whether each set has a point."""
        found: np.ndarray = self.which >= 0
        return found

    def take(self, some: np.ndarray) -> Begun:
        """Return some of the problems, with the points they need."""
        which = self.which[some]
        kept, place = np.unique(which[which >= 0], return_inverse=True)
        which[which >= 0] = place
        return Begun(self.replaced.take(some), which, self.unused[some], self.points[kept], self.rows)


def join_begun(parts: Sequence[Begun]) -> Begun:
    """Return the problems of several runs as those of one."""
    counts = np.cumsum([0, *(len(one.points) for one in parts)])
    which = [np.where(one.which >= 0, one.which + n, -1) for one, n in zip(parts, counts[:-1], strict=True)]
    return Begun(
        stack_columns([one.replaced for one in parts]),
        np.concatenate(which),
        np.concatenate([one.unused for one in parts]),
        np.concatenate([one.points for one in parts]),
        np.unique(np.concatenate([one.rows for one in parts])),
    )


def begin_several(polytope: Polytope, replaced: Columns, gone: Gone | None = None) -> Begun | None:
    """Return a point inside each set with replaced columns, where it has one; None if no start is known.

    A point that does without the variables serves every problem that replaces their columns. Where there is none, each
    problem may have one with the columns that took their place.

    Parameters
    ----------
    polytope : Polytope
        The set of the unchanged data; its budgets are kept.
    replaced : Columns
        The columns that change, by problem.
    gone : Gone, optional
        What is left without the variables; worked out here if not given, or not for all of them.

    Examples
    --------
    >>> from relbounds.solver.columns import new_columns
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1), inner=np.zeros(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> begin_several(tope, new_columns((0,), np.zeros((1, 1)))).feasible.tolist()
    [False]
    """
    if gone is None or not gone.number.keys() >= set(map(tuple, replaced.index.tolist())):
        rows = None if gone is None else gone.rows
        gone = without_several(polytope, np.unique(replaced.index, axis=0), rows)
    if gone is None:
        return None
    core, number = gone.reduced.core, gone.number
    feature = np.array([number[tuple(row)] for row in replaced.index.tolist()])
    which = gone.place[feature]
    unused = which >= 0
    open_ = np.flatnonzero(~unused)
    found = [gone.points]
    step, count = chunk_size(core.h.size + core.a.size), len(gone.points)
    for begin in range(0, open_.size, step):
        here = open_[begin : begin + step]
        own = gone.reduced.columns(columns_with(replaced.take(here), gone.rows))
        top = np.tile(gone.known, (here.size, 1))
        points, room, last = descend(core, top, own, _join([gone.early.take(feature[here])]))
        lost = np.flatnonzero(last.iterations >= interior.MOST)
        if lost.size:
            points[lost], room[lost], _ = descend(core, top[lost], own.take(lost))
        fit, points = room > THIN, gone.reduced.back(points)
        outside = np.flatnonzero(fit & _breaks(polytope, points, replaced.take(here)))
        if outside.size:
            points[outside], fit[outside] = _sought(polytope, replaced.take(here[outside]))
        found.append(points[fit])
        which[here[fit]] = count + np.arange(int(fit.sum()))
        count += int(fit.sum())
    return Begun(replaced, which, unused, np.concatenate(found), gone.rows)


def _breaks(polytope: Polytope, points: np.ndarray, replaced: Columns) -> np.ndarray:
    """Return whether points break a hard row of their problem."""
    hard = rows_at(polytope, points, replaced)[1]
    found: np.ndarray = np.any(hard < polytope.model.a, axis=1)
    return found


def _sought(polytope: Polytope, replaced: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return points inside the sets with replaced columns, looking at all rows, and whether there are any."""
    reduced = reduce(polytope)
    top = known_inside(reduced)
    assert top is not None
    points, room, _ = descend(reduced.core, np.tile(top, (len(replaced), 1)), reduced.columns(replaced))
    return reduced.back(points), room > THIN


def push_several(polytope: Polytope, begun: Begun) -> Ranges:
    """Return the ranges of the variables whose columns are replaced, for each problem.

    Where a point of the set does without them, the range farthest from 0 is exact, and every other end is only known to
    be nearer to 0; both ends reach 0 at least. Otherwise all ends are exact. `gap` is what multipliers prove from the
    original data: no end of a problem's ranges lies farther out than the farthest value by more than that.

    Parameters
    ----------
    polytope : Polytope
        The set of the unchanged data; its budgets are kept.
    begun : Begun
        The problems, each with k replaced columns.

    Returns
    -------
    Ranges
        Of ``B * k`` variables, problem by problem.

    Examples
    --------
    >>> from relbounds.solver.columns import new_columns
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1), inner=np.zeros(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> found = push_several(tope, begin_several(tope, new_columns((0,), np.ones((1, 1)))))
    >>> np.round(found.upper, 5).tolist()
    [1.0]
    """
    good, k = begun.feasible, begun.replaced.index.shape[1]
    value, bound = np.full((len(begun), 2 * k), np.nan), np.full((len(begun), 2 * k), np.nan)
    pending = np.flatnonzero(good)
    every = np.arange(polytope.model.a.size)
    # a row left out may matter after all; and multipliers of an end given up early may prove little where the set is
    # thin: then all ends are driven home
    stages = [(begun.rows, True), (every, True), (every, False)]
    for rows, raced in stages if begun.rows.size < every.size else stages[1:]:
        if pending.size:
            value[pending], bound[pending] = _ends(polytope, begun.take(pending), rows, raced)
        found = _ranges(value[good], bound[good], good, begun.unused[good])
        open_ = ~(found.gap.reshape(-1, k).max(axis=1) <= PROMISED * polytope.size)
        pending = np.flatnonzero(open_ & good)
    return found


def _ends(polytope: Polytope, begun: Begun, rows: np.ndarray, raced: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return what both ends of every variable reach, shape (B, 2k), and bounds on it, looking at some hard rows.

    Values are those of points that keep all rows, nan where no such point was found.
    """
    few = with_hard_rows(polytope, rows)
    reduced = reduce(few)
    core, index = reduced.core, begun.replaced.index
    own = polytope.model.penalty[index] > 0
    # both ways along every variable that counts
    problem, slot = np.nonzero(own)
    owner, end = np.repeat(problem, 2), (2 * slot[:, None] + [0, 1]).ravel()
    d = np.zeros((owner.size, polytope.model.q))
    d[np.arange(owner.size), index[owner, end // 2]] = 2.0 * (end % 2) - 1.0
    columns = reduced.columns(columns_with(begun.replaced, rows))
    # the columns of each point's problem: those of its problem, or none
    _, of = np.unique(begun.which, return_index=True)
    at_point = _emptied(columns.take(of), own[of] & begun.unused[of, None])
    points = reduced.into(begun.points)
    room, _, g = room_of(core, points, at_point)
    inner = np.hstack([room, g]).min(axis=1) > 0
    centre = centred(core, points, at_point)
    value, bound = np.full((2, len(begun), 2 * index.shape[1]), np.nan)
    pending = np.flatnonzero(inner[begun.which])
    # whole problems together; few of them are pushed to the end, so that more directions than usual go well
    step = max(1, MANY * chunk_size(core.h.size + core.a.size) // (2 * index.shape[1]))
    for first in range(0, pending.size, step):
        here = np.flatnonzero(np.isin(owner, pending[first : first + step]))
        who = owner[here]
        replaced = begun.replaced.take(who)
        group = np.where(begun.unused[who], who, -1) if raced else np.full(who.size, -1)
        pull = d[here][:, reduced.free] * reduced.unit
        start = aimed(core, centre, begun.which[who], pull, at_point)
        # the probes have other columns than the points they start from
        start.metric = None
        gap = np.full(who.size, FINE * polytope.size)
        state = interior.solve(core, pull, start, gap, columns=columns.take(who), stop=race(pull, group))
        anchor = reduced.back(centre.v[begun.which[who]])
        reached, kept = inside(polytope, reduced.back(state.v), anchor, replaced)
        value[who, end[here]] = np.where(kept, np.einsum("bq,bq->b", reached, d[here]), np.nan)
        # what is proved with fewer rows is proved
        duals = reduced.duals(state.z4, state.alpha, state.lam)
        bound[who, end[here]] = dual_bound(few, d[here], duals, columns_with(replaced, rows))
    # a variable that holds a place shows what the first one does
    for both in (value, bound):
        both[:] = np.where(np.repeat(own, 2, axis=1), both, np.tile(both[:, :2], index.shape[1]))
    return value, bound


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
