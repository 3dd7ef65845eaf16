"""The least and the most of everything a table asks for, over the set of equivalent models.

Section "Relevance intervals" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.asked import Asked, Functional, RowKey
from relbounds.linear.families.rows import FloatArray
from relbounds.options import Options
from relbounds.parallel import chunks, run
from relbounds.progress import stage
from relbounds.solver.active_rows import crossed_rows
from relbounds.solver.best import point_inside
from relbounds.solver.certificates import room_at
from relbounds.solver.engines.dispatch import push_many, push_roughly
from relbounds.solver.engines.registry import find_engine
from relbounds.solver.few_columns import is_much_wider, is_wide
from relbounds.solver.largest import push_largest, push_largest_each
from relbounds.solver.least import Form, least_values
from relbounds.solver.polytope import Polytope, Pushed
from relbounds.solver.tolerances import ROUNDING

# Values this small, relative to the norm of the baseline, are zero: bounds are certified to this accuracy.
ZERO = 1e-6
# Signed functionals per task: fixed, so that the pieces of work do not depend on the number of workers. Where hardly
# two directions use the same columns, more would only be in each other's way.
CHUNK, CHUNK_APART = 48, 2
# Entries of extreme points that are kept with a table; more would cost more memory than they save time.
MOST_KEPT = 1_000_000


@dataclass(frozen=True)
class Measured:
    """Bounds of every row of a table, in units of the variables.

    Parameters
    ----------
    lower, upper : ndarray, shape (k,)
        The least and the greatest value.
    signed_lower, signed_upper : ndarray, shape (k,)
        The ends of the signed range; nan where a sign means nothing.
    gap : ndarray, shape (k,)
        What the proofs leave open.
    solver : tuple of str
        The engine that settled each row.
    at_most : ndarray of bool, shape (k,)
        Rows whose ends are proved limits, not reached by a model: even these are below what noise reaches.
    extremes : Extremes or None
        Where the ends are reached; None for a union of sets, and where that would be too much to keep.
    """

    lower: FloatArray
    upper: FloatArray
    signed_lower: FloatArray
    signed_upper: FloatArray
    gap: FloatArray
    solver: tuple[str, ...]
    at_most: NDArray[np.bool_]
    extremes: Extremes | None = None


@dataclass(frozen=True)
class Extremes:
    """Where every functional of a table is least and greatest over one set, for parts of that set to begin with.

    A point that lies in a part is extreme there too, and what is proved of the set holds in it.

    Parameters
    ----------
    points : ndarray, shape (k, 2, q)
        The points; nan where none is known.
    bounds : ndarray, shape (k, 2)
        What multipliers prove: no value is less than the first or greater than the second.
    """

    points: FloatArray
    bounds: FloatArray

    def of(self, asked: Sequence[Asked], rows: Sequence[Asked]) -> Extremes | None:
        """Return those of some rows of a table; None where these were not all worked out."""
        ends = np.cumsum([0, *(len(row.functionals) for row in asked)])
        if ends[-1] != len(self.bounds):
            return None
        place = {row.key: range(*pair) for row, pair in zip(asked, pairwise(ends.tolist()), strict=True)}
        some = [i for row in rows for i in place[row.key]]
        return Extremes(self.points[some], self.bounds[some])


def not_measured(asked: Sequence[Asked]) -> Measured:
    """Return bounds that are not known."""
    empty = np.full(len(asked), np.nan)
    nothing = np.zeros(len(asked), dtype=bool)
    return Measured(empty, empty, empty, empty, empty, ("none",) * len(asked), nothing)


@dataclass(frozen=True)
class Range:
    """What is known of one functional over one set: its ends, the points that reach them, what is proved of them."""

    lower: float
    upper: float
    signed: tuple[float, float]
    gap: float
    solver: str
    points: FloatArray
    bounds: tuple[float, float]


def measure(
    polytopes: Sequence[Polytope],
    asked: Sequence[Asked],
    options: Options,
    limits: Mapping[int, tuple[float, float]] | None = None,
    known: Extremes | None = None,
    *,
    rough: float | None = None,
) -> Measured:
    """Return the bounds of every row over a union of sets.

    Parameters
    ----------
    polytopes : sequence of Polytope
        Sets of the same model.
    asked : sequence of Asked
    options : Options
        The solver, and how the work is shared.
    limits : mapping of int to (float, float), optional
        Rows, by number, that need no program: some model has 0 of them, and none less than minus the first or more
        than the second.
    known : Extremes, optional
        Those of a set that holds all of these, of the same rows.
    rough : float, optional
        Ends this share of the norm inside the true ones will do.
    """
    return measure_sets(polytopes, asked, options, limits, known, rough=rough)[0]


def measure_sets(
    polytopes: Sequence[Polytope],
    asked: Sequence[Asked],
    options: Options,
    limits: Mapping[int, tuple[float, float]] | None = None,
    known: Extremes | None = None,
    *,
    rough: float | None = None,
) -> tuple[Measured, tuple[Polytope, ...]]:
    """Return the bounds of every row over a union of sets, and the sets with the rows that turned out to be active.

    Parts of a set, and larger ones around it, are then measured without finding these rows again.
    """
    limits = limits or {}
    places: dict[int, slice] = {}
    functionals: list[Functional] = []
    for i, row in enumerate(asked):
        if i not in limits:
            places[i] = slice(len(functionals), len(functionals) + len(row.functionals))
            functionals += row.functionals
    if known is not None and len(known.bounds) != len(functionals):
        known = None
    work = Work(tuple(functionals), _parts(asked, places), options, rough)
    each = [_measure_one(polytope, work, known) for polytope in polytopes]
    out = [np.zeros(len(asked)) for _ in range(5)]
    names: list[str] = []
    at_most = np.zeros(len(asked), dtype=bool)
    for i, row in enumerate(asked):
        if i in limits:
            below, above = limits[i]
            values: tuple[float, ...] = (0.0, max(below, above), -below, above, 0.0)
            at_most[i] = True
            names.append("screen")
        else:
            pieces = [_join(found[places[i]], row.signed) for found, _ in each]
            values = _union(pieces)
            names.append(each[0][0][places[i]][0].solver)
        for column, value in zip(out, values, strict=True):
            column[i] = value
    lower, upper, low, high, gap = out
    extremes = _extremes(each[0][0], polytopes[0].model.q) if len(polytopes) == 1 else None
    found = Measured(lower, upper, low, high, gap, tuple(names), at_most, extremes)
    return found, tuple(polytope for _, polytope in each)


@dataclass(frozen=True)
class Work:
    """What is asked of a set: functionals, which of them are sums of others, how the work is shared, how exactly."""

    functionals: tuple[Functional, ...]
    parts: Mapping[int, tuple[int, ...]]
    options: Options
    rough: float | None = None

    @property
    def how(self) -> How:
        """How a set is pushed."""
        # other engines have one accuracy
        batch = find_engine(self.options.solver).name == "batch"
        return How(self.options.solver, self.rough if batch else None)


@dataclass(frozen=True)
class How:
    """The engine to ask first, and how far from the true ends answers may be, as a share of the norm.

    None is as near as is promised.
    """

    solver: str
    rough: float | None = None

    def push(self, polytope: Polytope, directions: FloatArray) -> Pushed:
        """Return extreme values along directions."""
        if self.rough is None:
            return push_many(polytope, directions, self.solver)
        return push_roughly(polytope, directions, self.rough)


def _extremes(found: Sequence[Range], q: int) -> Extremes | None:
    if not found or 2 * len(found) * q > MOST_KEPT:
        return None
    return Extremes(np.array([one.points for one in found]), np.array([one.bounds for one in found]))


def _parts(asked: Sequence[Asked], places: Mapping[int, slice]) -> dict[int, tuple[int, ...]]:
    """Return, for the functional of a whole term, those of its levels or columns, by their numbers.

    Only where they add up to its linear functions: one for each variable, in order.
    """
    below: dict[RowKey, list[int]] = {}
    for i, row in enumerate(asked):
        if row.key.label is not None and i in places:
            below.setdefault(row.key.whole, []).append(i)
    out = {}
    for i, row in enumerate(asked):
        rows = below.get(row.key, []) if row.key.label is None and i in places else []
        for k, functional in enumerate(row.functionals):
            own = [r for r in rows if asked[r].signed and len(asked[r].functionals) == len(row.functionals)]
            if own and len(own) == len(functional.variables) and not functional.signed:
                out[places[i].start + k] = tuple(places[r].start + k for r in own)
    return out


def _join(found: Sequence[Range], signed: bool) -> tuple[float, ...]:
    """Put the functionals of one row together: the largest of them counts."""
    nan = float("nan")
    ends = (min(r.signed[0] for r in found), max(r.signed[1] for r in found)) if signed else (nan, nan)
    return max(r.lower for r in found), max(r.upper for r in found), *ends, max(r.gap for r in found)


def _union(pieces: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    lower, upper, low, high, gap = zip(*pieces, strict=True)
    return min(lower), max(upper), min(low), max(high), max(gap)


def _measure_one(polytope: Polytope, work: Work, known: Extremes | None) -> tuple[list[Range], Polytope]:
    """Return the ranges of functionals over one set, in order, and the set with its active rows.

    Those of one linear function come first. Their extreme points tell most of what the others reach.
    """
    functionals, options = work.functionals, work.options
    signed = [i for i, f in enumerate(functionals) if f.signed]
    others = [i for i, f in enumerate(functionals) if not f.signed]
    before = _still_inside(polytope, known, len(functionals))
    out: dict[int, Range] = {}
    with stage("bounds", len(functionals), options.progress) as done:
        each = CHUNK_APART if is_wide(polytope) and is_much_wider(polytope) else CHUNK
        pieces = [[signed[i] for i in piece] for piece in chunks(len(signed), each)]
        found = run(
            _signed_ranges,
            [[(functionals[i], before[i]) for i in piece] for piece in pieces],
            shared=(polytope, work.how, [functionals[i] for i in others]),
            progress=lambda tasks_done: done(each * tasks_done),
            n_jobs=options.n_jobs,
            client=options.client,
        )
        active = polytope.active
        reached = np.full(len(others), -np.inf)
        for piece, one in zip(pieces, found, strict=True):
            out.update(zip(piece, one.ranges, strict=True))
            reached = np.maximum(reached, one.reached)
            active = active if one.crossed is None or active is None else active | one.crossed
        polytope = replace(polytope, active=active)
        tasks = [
            Several(i, functionals[i], before[i], float(most), _caps(work, i, out))
            for i, most in zip(others, reached, strict=True)
        ]
        groups = _grouped(tasks)
        ranges = run(
            _largest_ranges,
            groups,
            shared=(polytope, work.how),
            progress=lambda tasks_done: done(tasks_done),
            n_jobs=options.n_jobs,
            client=options.client,
        )
        for group, own in zip(groups, ranges, strict=True):
            out.update(zip([task.number for task in group], own, strict=True))
    return [out[i] for i in range(len(functionals))], polytope


@dataclass(frozen=True)
class Before:
    """What a larger set says of a functional: extreme points, nan where they lie outside of this one, and bounds."""

    points: FloatArray
    bounds: FloatArray


def _still_inside(polytope: Polytope, known: Extremes | None, count: int) -> list[Before | None]:
    """Return extreme points of a larger set, those that lie in this one."""
    if known is None or known.points.shape[2] > polytope.model.q:
        return [None] * count
    q = polytope.model.q
    points = np.full((count, 2, q), np.nan)
    # auxiliary variables come last, and have to be found anew
    if known.points.shape[2] == q:
        flat = known.points.reshape(-1, q)
        some = np.flatnonzero(~np.isnan(flat).any(axis=1))
        kept = np.zeros(len(flat), dtype=bool)
        for first in range(0, some.size, 16):
            here = some[first : first + 16]
            kept[here] = np.min(room_at(polytope, flat[here], None, ROUNDING), axis=1) >= 0
        points.reshape(-1, q)[kept] = flat[kept]
    return [Before(points[i], known.bounds[i]) for i in range(count)]


@dataclass(frozen=True)
class Signed:
    """What a run of pushes found: ranges, what its points reach of other functionals, rows that changed sides."""

    ranges: list[Range]
    reached: FloatArray
    crossed: NDArray[np.bool_] | None


@dataclass(frozen=True)
class Several:
    """A functional that is the largest of several linear ones, with what is known of it before."""

    number: int
    functional: Functional
    before: Before | None
    reached: float
    caps: FloatArray


def _caps(work: Work, i: int, known: Mapping[int, Range]) -> FloatArray:
    """Return upper bounds on the linear functions of a functional from the ranges of what they are sums of."""
    f = work.functionals[i]
    none = np.full(len(f.tops), np.inf)
    if i not in work.parts:
        return none
    used = {j: k for k, j in enumerate(f.variables)}
    each = np.zeros((len(f.variables), len(f.variables)))
    for row, part in zip(each, work.parts[i], strict=True):
        own = work.functionals[part]
        if not set(own.variables) <= set(used):
            return none
        row[[used[j] for j in own.variables]] = own.tops[0]
    if np.max(np.abs(f.tops @ each - f.tops), initial=0.0) > 1e-12:
        return none
    low = np.array([known[part].bounds[0] for part in work.parts[i]])
    high = np.array([known[part].bounds[1] for part in work.parts[i]])
    return np.asarray(np.maximum(f.tops, 0.0) @ high + np.minimum(f.tops, 0.0) @ low)


def _grouped(tasks: Sequence[Several]) -> list[list[Several]]:
    """Return functionals in groups of limited size, fixed so that they do not depend on the number of workers."""
    groups: list[list[Several]] = []
    size = 0
    for task in tasks:
        own = len(task.functional.tops)
        if not groups or size + own > 2 * CHUNK:
            groups.append([])
            size = 0
        groups[-1].append(task)
        size += own
    return groups


def _signed_ranges(
    tasks: list[tuple[Functional, Before | None]], shared: tuple[Polytope, How, list[Functional]]
) -> Signed:
    """Return the ranges of sizes of linear functions, and what their extreme points show of other functionals."""
    polytope, how, others = shared
    q, count = polytope.model.q, 2 * len(tasks)
    directions = np.zeros((count, q))
    points, bound = np.full((count, q), np.nan), np.full(count, np.inf)
    for i, (f, before) in enumerate(tasks):
        directions[2 * i : 2 * i + 2, list(f.variables)] = np.array([-f.tops[0], f.tops[0]])
        if before is not None:
            points[2 * i : 2 * i + 2] = before.points
            bound[2 * i : 2 * i + 2] = -before.bounds[0], before.bounds[1]
    open_ = np.flatnonzero(np.isnan(points).any(axis=1))
    names = np.full(count, "batch", dtype=object)
    feasible = np.ones(count, dtype=bool)
    value = np.einsum("bq,bq->b", points, directions)
    if open_.size:
        pushed = how.push(polytope, directions[open_])
        points[open_], feasible[open_], names[open_] = pushed.point, pushed.feasible, pushed.solver
        value[open_] = pushed.value
        # either proof holds: that of the larger set, and the one found here
        bound[open_] = np.where(
            pushed.feasible, np.fmax(np.fmin(bound[open_], pushed.bound), pushed.value), np.nan
        )
    out = []
    for i in range(len(tasks)):
        here = slice(2 * i, 2 * i + 2)
        low, high = -float(value[here][0]), float(value[here][1])
        gap = (
            float(np.max(np.maximum(bound[here] - value[here], 0.0)))
            if feasible[here].all()
            else float("inf")
        )
        least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        ends = -float(bound[here][0]), float(bound[here][1])
        out.append(
            Range(least, max(abs(low), abs(high)), (low, high), gap, str(names[2 * i]), points[here], ends)
        )
    kept = points[feasible]
    reached = np.array([_reached(polytope, f, kept) for f in others])
    return Signed(out, reached, crossed_rows(polytope, kept))


def _reached(polytope: Polytope, f: Functional, points: FloatArray) -> float:
    """Return the greatest value of a functional at some points, those that keep the budgets to the last digit."""
    if not f.exact or not len(points):
        return -np.inf
    values = np.max(points[:, list(f.variables)] @ f.tops.T, axis=1)
    for k in np.argsort(-values, kind="stable"):
        if polytope.excess_of(points[k]) <= 0.0:
            return float(values[k])
    return -np.inf


def does_without(polytope: Polytope, f: Functional) -> FloatArray | None:
    """Return a model of the set that does without a functional's variables, if one is found: its least value is 0."""
    some = list(f.variables)
    model = polytope.model
    if np.any(model.lower[some] > 0) or np.any(model.upper[some] < 0):
        return None
    low, high = np.full(model.q, -np.inf), np.full(model.q, np.inf)
    low[some] = high[some] = 0.0
    start = polytope.start.copy()
    start[some] = 0.0
    if polytope.excess_of(start) <= 0.0:
        return start
    found = point_inside(polytope.bounded(low, high))
    return found if found is not None and polytope.excess_of(found) <= 0.0 else None


def _largest_ranges(tasks: list[Several], shared: tuple[Polytope, How]) -> list[Range]:
    """Return the ranges of functionals that are the largest of several linear ones, worked on together."""
    polytope, how = shared
    tops = _greatest_of(tasks, polytope, how)
    least = _least_of(tasks, polytope, how)
    nan, out = float("nan"), []
    for top, bottom in zip(tops, least, strict=True):
        lower = min(max(bottom.value, 0.0), top.value)
        gap = max(top.bound - top.value, bottom.value - bottom.bound, 0.0)
        ends = np.array([bottom.point, top.point])
        out.append(Range(lower, top.value, (nan, nan), gap, "batch", ends, (bottom.bound, top.bound)))
    return out


@dataclass(frozen=True)
class End:
    """One end of a functional's range: the value, what is proved of it, and the point, nan where it was not kept."""

    value: float
    bound: float
    point: FloatArray


def _greatest_of(tasks: Sequence[Several], polytope: Polytope, how: How) -> list[End]:
    q = polytope.model.q
    out: dict[int, End] = {}
    nowhere = np.full(q, np.nan)
    exact = [task for task in tasks if task.functional.exact]
    if exact:
        reached, points = np.array([task.reached for task in exact]), [nowhere] * len(exact)
        caps = [task.caps for task in exact]
        for k, task in enumerate(exact):
            if task.before is not None:
                caps[k] = np.minimum(caps[k], task.before.bounds[1])
                point = task.before.points[1]
                value = task.functional.at(point)
                if not np.isnan(value) and value >= reached[k]:
                    reached[k], points[k] = value, point
        tops = push_largest_each(
            polytope,
            np.vstack([task.functional.directions(q) for task in exact]),
            np.repeat(np.arange(len(exact)), [len(task.functional.tops) for task in exact]),
            how.solver,
            known=np.concatenate(caps),
            reached=reached,
            rough=how.rough,
        )
        for task, top, point in zip(exact, tops, points, strict=True):
            here = point if top.point is None else top.point
            out[task.number] = End(float(top.value), float(top.bound), here)
    for task in tasks:
        if not task.functional.exact:
            value, gap = _sum_of_greatest(polytope, task.functional, how.solver)
            out[task.number] = End(value, value + gap, nowhere)
    return [out[task.number] for task in tasks]


def _least_of(tasks: Sequence[Several], polytope: Polytope, how: How) -> list[End]:
    out: dict[int, End] = {}
    for task in tasks:
        if task.before is not None and not np.isnan(task.before.points[0]).any():
            value = task.functional.at(task.before.points[0])
            out[task.number] = End(value, float(task.before.bounds[0]), task.before.points[0])
            continue
        without = does_without(polytope, task.functional)
        if without is not None:
            out[task.number] = End(0.0, 0.0, without)
    open_ = [task for task in tasks if task.number not in out]
    forms = [_form(task.functional, polytope.model.q) for task in open_]
    for task, one in zip(open_, least_values(polytope, forms, how.solver, rough=how.rough), strict=True):
        out[task.number] = End(float(one.value), float(one.bound), one.point)
    return [out[task.number] for task in tasks]


def _sum_of_greatest(polytope: Polytope, f: Functional, solver: str) -> tuple[float, float]:
    """Return the sum of the single greatest values, an upper bound, and what the proofs leave open."""
    pushed = push_many(polytope, f.directions(polytope.model.q), solver)
    k = len(f.variables)
    return float(np.maximum(pushed.value[:k], pushed.value[k:]).sum()), float(pushed.gap.sum())


def _form(f: Functional, q: int) -> Form:
    assert f.least is not None
    E = np.zeros((len(f.least[0]), q))
    E[:, list(f.variables)] = f.least[0]
    return Form(E, f.least[1], f.least[2])


def greatest(polytope: Polytope, row: Asked, solver: str, enough: float | None = None) -> float:
    """Return the greatest value of a row over one set, exact unless it exceeds `enough`; nan where the set is empty."""
    found = []
    for f in row.functionals:
        if f.exact:
            found.append(push_largest(polytope, f.directions(polytope.model.q), solver, enough).value)
        else:
            found.append(_sum_of_greatest(polytope, f, solver)[0])
    return float(max(found))


def least(polytope: Polytope, row: Asked, solver: str) -> float:
    """Return the least value of a row over one set."""
    signed = [(f, None) for f in row.functionals if f.signed]
    others = [f for f in row.functionals if not f.signed and does_without(polytope, f) is None]
    found = [0.0]
    if signed:
        found += [one.lower for one in _signed_ranges([*signed], (polytope, How(solver), [])).ranges]
    if others:
        forms = [_form(f, polytope.model.q) for f in others]
        found += [float(one.value) for one in least_values(polytope, forms, solver)]
    return max(found)


def relevance(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Turn signed ranges into least and greatest absolute values.

    Examples
    --------
    >>> relevance(np.array([-0.5, 0.2, -0.9]), np.array([0.4, 0.6, -0.3]))
    (array([0. , 0.2, 0.3]), array([0.5, 0.6, 0.9]))
    """
    least = np.where((lower <= 0) & (upper >= 0), 0.0, np.minimum(np.abs(lower), np.abs(upper)))
    return least, np.maximum(np.abs(lower), np.abs(upper))
