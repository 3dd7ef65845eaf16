"""Rows of a table that need no exact bound, only a proof that they stay near what noise reaches.

With hundreds of features most are noise, and nobody reads how far exactly an equally good model could use each of them.
Multipliers prove an upper bound long before it is the least one. Section "At most" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.asked import Asked, Functional
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.model import Spec
from relbounds.linear.ranges import Measured, measure, measure_sets
from relbounds.options import Options
from relbounds.parallel import chunks, run
from relbounds.progress import stage
from relbounds.solver.engines.dispatch import push_many, push_past
from relbounds.solver.middle_limits import Middle, limits_below, middle_of
from relbounds.solver.optimum import Solution
from relbounds.solver.polytope import Polytope
from relbounds.solver.screen import screen_ends

# With more rows than this, those that noise could as well be are bounded only as far as needed, unless the user says
# otherwise. Fewer are quick, and exact bounds are what what-ifs start from.
MANY = 120
# The same for the published control, whose classes go by upper bounds: there only limits below this share of the norm
# are taken for bounds, since probes reach more.
VERY_MANY, SMALL = 1000, 0.02
# Limits go down to this many times what noise reaches. Classes do not hang on them; at once times what noise reaches a
# proof takes four times as long and four times as many ends need one of their own.
TIMES = 2.0
# Nearly all can be proved to be at most this share of that from the middle of the set.
AIMED = 0.75
# Directions per task, of those that are proved from the middle of the set and of those that are pushed: fixed, so that
# the pieces of work do not depend on the number of workers. So many are pushed toward 0.
EASY, CHUNK, TOWARD = 400, 64, 24
# With fewer ends than this pushes take less time than finding out how the multipliers of the middle move, at so many
# rows; that takes the cube of their number, and a push about one of them.
FEW_ENDS, AT_ROWS = 20, 400

BOUNDS = ("lower", "upper", "signed_lower", "signed_upper", "gap", "at_most")


def is_wanted(spec: Spec, options: Options) -> bool:
    """Say whether rows that noise could as well be are to have proved limits instead of exact bounds."""
    if spec.functions or spec.sizes.classes > 1:
        return False
    many = VERY_MANY if options.control == "published" else MANY
    return options.screen if options.screen is not None else len(spec.asked) > many


def measure_or_limit(
    polytope: Polytope, solution: Solution, asked: Sequence[Asked], exact: frozenset[int], options: Options
) -> tuple[Measured, Polytope]:
    """Return exact bounds of some rows and of those that every model needs, as far as is seen; limits of the others.

    Parameters
    ----------
    polytope : Polytope
        The set.
    solution : Solution
        The best model: its multipliers prove the limits.
    asked : sequence of Asked
    exact : frozenset of int
        Rows that are to have exact bounds.
    options : Options

    Returns
    -------
    Measured
    Polytope
        The set with the rows that turned out to be active.
    """
    limits = _limits(polytope, solution, [(i, row) for i, row in enumerate(asked) if i not in exact])
    variable = {i: asked[i].functionals[0].variables[0] for i in limits}
    used = [i for i in limits if not _does_without(polytope, solution.v, variable[i])]
    toward = [(variable[i], -float(np.sign(solution.v[variable[i]]))) for i in used]
    found = run(
        _reach_zero,
        [[toward[k] for k in piece] for piece in chunks(len(used), TOWARD)],
        shared=(polytope, options.solver),
        n_jobs=options.n_jobs,
        client=options.client,
    )
    without = [one for piece in found for one in piece]
    needed = {i for i, does_without in zip(used, without, strict=True) if not does_without}
    limits = {i: ends for i, ends in limits.items() if i not in needed}
    measured, (polytope,) = measure_sets([polytope], asked, options, limits)
    return measured, polytope


def _reach_zero(toward: list[tuple[int, float]], shared: tuple[Polytope, str]) -> list[bool]:
    """Say of some variables, each pushed one way, whether a model is met that has crossed 0.

    Then a mixture of it and the best model does without the variable.
    """
    polytope, solver = shared
    directions = np.zeros((len(toward), polytope.model.q))
    for row, (variable, sign) in enumerate(toward):
        directions[row, variable] = sign
    return [bool(value >= 0.0) for value in push_past(polytope, directions, 0.0, solver).value]


def _limits(
    polytope: Polytope, solution: Solution, asked: Sequence[tuple[int, Asked]]
) -> dict[int, tuple[float, float]]:
    """Return limits, proved by the best model's multipliers, of rows of single regular features."""
    low, high = screen_ends(polytope, solution)
    out = {}
    for i, row in asked:
        if row.key.part == "regular" and row.signed and len(row.functionals) == 1:
            variables = row.functionals[0].variables
            if len(variables) == 1:
                out[i] = float(low[variables[0]]), float(high[variables[0]])
    return out


def small_limits(
    polytope: Polytope, solution: Solution, asked: Sequence[Asked], norm: float
) -> dict[int, tuple[float, float]]:
    """Return the limits that are small beside anything noise reaches, of rows that some model does without."""
    found = _limits(polytope, solution, list(enumerate(asked)))
    return {
        i: ends
        for i, ends in found.items()
        if max(ends) <= SMALL * norm
        and _does_without(polytope, solution.v, asked[i].functionals[0].variables[0])
    }


def _does_without(polytope: Polytope, v: FloatArray, variable: int) -> bool:
    """Say whether the best model, or the best model without this variable, has none of it and is in the set."""
    if v[variable] == 0.0:
        return True
    without = v.copy()
    without[variable] = 0.0
    return polytope.excess_of(without) <= 0.0


def settle(
    measured: Measured, polytope: Polytope, asked: Sequence[Asked], level: float, options: Options
) -> Measured:
    """Return the bounds with every limit proved to be at most twice a level, or else replaced by exact bounds.

    Parameters
    ----------
    measured : Measured
        Bounds; those of the rows `at_most` are limits.
    polytope : Polytope
        The set.
    asked : sequence of Asked
    level : float
        What noise reaches, in units of the variables.
    options : Options
    """
    enough = TIMES * level
    open_ = [int(i) for i in np.flatnonzero(measured.at_most & (measured.upper > enough))]
    ends = [
        (i, sign)
        for i in open_
        for sign, limit in ((-1.0, -measured.signed_lower[i]), (1.0, measured.signed_upper[i]))
        if limit > enough
    ]
    if not ends:
        return measured
    functionals = [row.functionals[0] for row in asked]
    limits = _from_the_middle(polytope, ends, functionals, enough, options)
    left = np.flatnonzero(np.isinf(limits))
    pieces = [[ends[left[k]] for k in piece] for piece in chunks(left.size, CHUNK)]
    if pieces:
        with stage("limits", left.size, options.progress) as done:
            found = run(
                _push_ends,
                pieces,
                shared=(polytope, functionals, enough, options.solver),
                n_jobs=options.n_jobs,
                client=options.client,
                progress=lambda tasks_done: done(CHUNK * tasks_done),
            )
        limits[left] = np.concatenate(found)
    low, high = measured.signed_lower.copy(), measured.signed_upper.copy()
    beyond = set()
    for (i, sign), limit in zip(ends, limits, strict=True):
        if limit > enough:
            beyond.add(i)
        elif sign < 0:
            low[i] = -limit
        else:
            high[i] = limit
    upper = np.where(measured.at_most, np.maximum(-low, high), measured.upper)
    settled = replace(measured, upper=upper, signed_lower=low, signed_upper=high)
    return exactly(settled, polytope, asked, sorted(beyond), options)


def _from_the_middle(
    polytope: Polytope,
    ends: Sequence[tuple[int, float]],
    functionals: Sequence[Functional],
    level: float,
    options: Options,
) -> FloatArray:
    """Return the limits of ends that multipliers moved from the middle of the set prove; infinite elsewhere."""
    limits = np.full(len(ends), np.inf)
    few = FEW_ENDS * max(1.0, polytope.model.h.size / AT_ROWS) ** 2
    middle = middle_of(polytope) if len(ends) >= few else None
    if middle is None:
        return limits
    variables = np.array([functionals[i].variables[0] for i, _ in ends])
    factors = np.array([sign * functionals[i].tops[0, 0] for i, sign in ends])
    for share in (AIMED, 1.0):
        left = np.flatnonzero(np.isinf(limits))
        if left.size:
            found = run(
                _limit_ends,
                [left[piece.start : piece.stop] for piece in chunks(left.size, EASY)],
                shared=(polytope, middle, variables, factors, share * level),
                n_jobs=options.n_jobs,
                client=options.client,
            )
            limits[left] = np.concatenate(found)
    return limits


def _limit_ends(
    some: NDArray[np.intp], shared: tuple[Polytope, Middle, FloatArray, FloatArray, float]
) -> FloatArray:
    """Return what is proved of some ends from the middle of the set."""
    polytope, middle, variables, factors, level = shared
    return limits_below(polytope, middle, variables[some], factors[some], level)


def _push_ends(
    ends: list[tuple[int, float]], shared: tuple[Polytope, list[Functional], float, str]
) -> FloatArray:
    """Return proved limits along some directions, at most the level where that is true; infinite elsewhere."""
    polytope, functionals, level, solver = shared
    directions = np.zeros((len(ends), polytope.model.q))
    for row, (i, sign) in enumerate(ends):
        directions[row, list(functionals[i].variables)] = sign * functionals[i].tops[0]
    pushed = push_many(polytope, directions, solver, below=level)
    return np.where(pushed.feasible & (pushed.bound <= level), pushed.bound, np.inf)


def exactly(
    measured: Measured, polytope: Polytope, asked: Sequence[Asked], rows: Sequence[int], options: Options
) -> Measured:
    """Return the bounds with those of some rows exact.

    Parameters
    ----------
    measured : Measured
    polytope : Polytope
        The set.
    asked : sequence of Asked
    rows : sequence of int
        Which of them are to be exact.
    options : Options
    """
    if not rows:
        return measured
    found = measure([polytope], [asked[i] for i in rows], options)
    out = {name: getattr(measured, name).copy() for name in BOUNDS}
    for name, values in out.items():
        values[rows] = getattr(found, name)
    solver = list(measured.solver)
    for i, name in zip(rows, found.solver, strict=True):
        solver[i] = name
    return replace(measured, **out, solver=tuple(solver))
