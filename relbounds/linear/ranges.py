"""The least and the most of everything a table asks for, over the set of equivalent models.

Section "Relevance intervals" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.asked import Asked, Functional
from relbounds.linear.families.rows import FloatArray
from relbounds.options import Options
from relbounds.parallel import chunks, run
from relbounds.progress import stage
from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.largest import push_largest
from relbounds.solver.least import Form, least_values
from relbounds.solver.polytope import Polytope

# Values this small, relative to the norm of the baseline, are zero: bounds are certified to this accuracy.
ZERO = 1e-6
# Signed functionals per task: fixed, so that the pieces of work do not depend on the number of workers.
CHUNK = 48


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
        Rows whose upper bound is no least one: no program was solved, since even it is below what matters.
    """

    lower: FloatArray
    upper: FloatArray
    signed_lower: FloatArray
    signed_upper: FloatArray
    gap: FloatArray
    solver: tuple[str, ...]
    at_most: NDArray[np.bool_]


@dataclass(frozen=True)
class Range:
    """What is known of one functional over one set."""

    lower: float
    upper: float
    signed: tuple[float, float]
    gap: float
    solver: str


def measure(
    polytopes: Sequence[Polytope],
    asked: Sequence[Asked],
    options: Options,
    limits: Mapping[int, float] | None = None,
) -> Measured:
    """Return the bounds of every row over a union of sets.

    Parameters
    ----------
    polytopes : sequence of Polytope
        Sets of the same model.
    asked : sequence of Asked
    options : Options
        The solver, and how the work is shared.
    limits : mapping of int to float, optional
        Rows, by number, that need no program: their greatest value is at most this.
    """
    limits = limits or {}
    functionals = [f for i, row in enumerate(asked) if i not in limits for f in row.functionals]
    each = [_measure_one(polytope, functionals, options) for polytope in polytopes]
    out = [np.zeros(len(asked)) for _ in range(5)]
    names: list[str] = []
    at_most = np.zeros(len(asked), dtype=bool)
    position = 0
    for i, row in enumerate(asked):
        if i in limits:
            most = limits[i]
            values: tuple[float, ...] = (0.0, most, -most, most, 0.0)
            at_most[i] = True
            names.append("screen")
        else:
            here = slice(position, position + len(row.functionals))
            position = here.stop
            pieces = [_join(found[here], row.signed) for found in each]
            values = _union(pieces)
            names.append(each[0][here][0].solver)
        for column, value in zip(out, values, strict=True):
            column[i] = value
    lower, upper, low, high, gap = out
    return Measured(lower, upper, low, high, gap, tuple(names), at_most)


def _join(found: Sequence[Range], signed: bool) -> tuple[float, ...]:
    """Put the functionals of one row together: the largest of them counts."""
    nan = float("nan")
    ends = (min(r.signed[0] for r in found), max(r.signed[1] for r in found)) if signed else (nan, nan)
    return max(r.lower for r in found), max(r.upper for r in found), *ends, max(r.gap for r in found)


def _union(pieces: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    lower, upper, low, high, gap = zip(*pieces, strict=True)
    return min(lower), max(upper), min(low), max(high), max(gap)


def _measure_one(polytope: Polytope, functionals: Sequence[Functional], options: Options) -> list[Range]:
    """Return the ranges of functionals over one set, in order."""
    signed = [i for i, f in enumerate(functionals) if f.signed]
    others = [i for i, f in enumerate(functionals) if not f.signed]
    pieces = [[functionals[signed[i]] for i in piece] for piece in chunks(len(signed), CHUNK)]
    tasks: list[list[Functional]] = pieces + [[functionals[i]] for i in others]
    with stage("bounds", len(functionals), options.progress) as done:
        found = run(
            _ranges_of,
            tasks,
            shared=(polytope, options.solver),
            n_jobs=options.n_jobs,
            client=options.client,
            progress=lambda tasks_done: done(CHUNK * tasks_done),
        )
    flat = [one for piece in found for one in piece]
    order = signed + others
    out: list[Range | None] = [None] * len(functionals)
    for i, one in zip(order, flat, strict=True):
        out[i] = one
    return [one for one in out if one is not None]


def _ranges_of(functionals: list[Functional], shared: tuple[Polytope, str]) -> list[Range]:
    polytope, solver = shared
    if not functionals[0].signed:
        return [_range_of_largest(polytope, functionals[0], solver)]
    q = polytope.model.q
    directions = np.zeros((2 * len(functionals), q))
    for i, f in enumerate(functionals):
        directions[2 * i : 2 * i + 2, list(f.variables)] = np.array([-f.tops[0], f.tops[0]])
    pushed = push_many(polytope, directions, solver)
    out = []
    for i in range(len(functionals)):
        low, high = -float(pushed.value[2 * i]), float(pushed.value[2 * i + 1])
        gap = float(max(pushed.gap[2 * i], pushed.gap[2 * i + 1]))
        if not (pushed.feasible[2 * i] and pushed.feasible[2 * i + 1]):
            gap = float("inf")
        least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        out.append(Range(least, max(abs(low), abs(high)), (low, high), gap, pushed.solver[2 * i]))
    return out


def _range_of_largest(polytope: Polytope, f: Functional, solver: str) -> Range:
    """Return the range of a functional that is the largest of several linear ones."""
    directions = f.directions(polytope.model.q)
    if not f.exact:
        pushed = push_many(polytope, directions, solver)
        # the sum of the single greatest values: an upper bound
        k = len(f.variables)
        upper = float(np.maximum(pushed.value[:k], pushed.value[k:]).sum())
        gap = float(pushed.gap.sum())
    else:
        top = push_largest(polytope, directions, solver)
        upper, gap = float(top.value), float(top.gap)
    assert f.least is not None
    E = np.zeros((len(f.least[0]), polytope.model.q))
    E[:, list(f.variables)] = f.least[0]
    least = least_values(polytope, [Form(E, f.least[1], f.least[2])], solver)[0]
    lower = max(float(least.value), 0.0)
    nan = float("nan")
    return Range(min(lower, upper), upper, (nan, nan), max(gap, float(least.gap)), "batch")


def greatest(polytope: Polytope, row: Asked, solver: str, enough: float | None = None) -> float:
    """Return the greatest value of a row over one set, exact unless it exceeds `enough`; nan where the set is empty."""
    found = []
    for f in row.functionals:
        if f.exact:
            found.append(push_largest(polytope, f.directions(polytope.model.q), solver, enough).value)
        else:
            found.append(_range_of_largest(polytope, f, solver).upper)
    return float(max(found))


def least(polytope: Polytope, row: Asked, solver: str) -> float:
    """Return the least value of a row over one set."""
    return max(r.lower for f in row.functionals for r in _ranges_of([f], (polytope, solver)))


def relevance(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Turn signed ranges into least and greatest absolute values.

    Examples
    --------
    >>> relevance(np.array([-0.5, 0.2, -0.9]), np.array([0.4, 0.6, -0.3]))
    (array([0. , 0.2, 0.3]), array([0.5, 0.6, 0.9]))
    """
    least = np.where((lower <= 0) & (upper >= 0), 0.0, np.minimum(np.abs(lower), np.abs(upper)))
    return least, np.maximum(np.abs(lower), np.abs(upper))
