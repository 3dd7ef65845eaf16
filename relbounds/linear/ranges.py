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
from relbounds.linear.ends import Before, How, Range, Several, largest_ranges, signed_ranges
from relbounds.linear.families.rows import FloatArray
from relbounds.options import Options
from relbounds.parallel import chunks, run
from relbounds.progress import stage
from relbounds.solver.certificates import room_at
from relbounds.solver.engines.registry import find_engine
from relbounds.solver.few_columns import is_much_wider, is_wide
from relbounds.solver.polytope import Polytope
from relbounds.solver.tolerances import ROUNDING

# Values this small, relative to the norm of the baseline, are zero: bounds are certified to this accuracy.
ZERO = 1e-6
# Signed functionals per task: fixed, so that the pieces of work do not depend on the number of workers. Where hardly
# two directions use the same columns, more would only be in each other's way; of many columns few rows are measured,
# which processes can share.
CHUNK, CHUNK_WIDE, CHUNK_APART = 48, 12, 6
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
        wide = CHUNK_APART if is_much_wider(polytope) else CHUNK_WIDE
        each = wide if is_wide(polytope) else CHUNK
        count = -(-len(signed) // each)
        # an even number of pieces: of three, two workers would wait for the last one
        each = -(-len(signed) // (count + count % 2)) if count > 1 else each
        pieces = [[signed[i] for i in piece] for piece in chunks(len(signed), each)]
        found = run(
            signed_ranges,
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
            largest_ranges,
            groups,
            shared=(polytope, work.how),
            progress=lambda tasks_done: done(tasks_done),
            n_jobs=options.n_jobs,
            client=options.client,
        )
        for group, own in zip(groups, ranges, strict=True):
            out.update(zip([task.number for task in group], own, strict=True))
    return [out[i] for i in range(len(functionals))], polytope


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
