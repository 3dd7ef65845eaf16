"""The ends of single functionals over one set: linear functions, and the largest of several of them.

What `ranges.py` asks for, in tasks that other processes can work on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.asked import Asked, Functional, directions_of
from relbounds.linear.families.rows import FloatArray
from relbounds.solver.active_rows import crossed_rows
from relbounds.solver.best import point_inside
from relbounds.solver.engines.dispatch import push_many, push_roughly
from relbounds.solver.largest import push_largest, push_largest_each
from relbounds.solver.least import Form, least_values
from relbounds.solver.polytope import Polytope, Pushed


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


@dataclass(frozen=True)
class Before:
    """What a larger set says of a functional: extreme points, nan where they lie outside of this one, and bounds."""

    points: FloatArray
    bounds: FloatArray


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


def signed_ranges(
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


def largest_ranges(tasks: list[Several], shared: tuple[Polytope, How]) -> list[Range]:
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
            directions_of([task.functional for task in exact], q),
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
        found += [one.lower for one in signed_ranges([*signed], (polytope, How(solver), [])).ranges]
    if others:
        forms = [_form(f, polytope.model.q) for f in others]
        found += [float(one.value) for one in least_values(polytope, forms, solver)]
    return max(found)
