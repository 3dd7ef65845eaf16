"""Models fitted again with other values of some terms, each measured by itself: what it reaches, and what it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from relbounds.design import Design
from relbounds.linear.asked import Asked, Functional, directions_of
from relbounds.linear.ends import greatest, least
from relbounds.linear.equivalent import equivalent_models
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.model import Spec
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.privileged.models import build_any
from relbounds.linear.ranges import ZERO
from relbounds.solver.alike import fit_alike
from relbounds.solver.engines.batch import chunk_size, farthest
from relbounds.solver.engines.dispatch import push_past
from relbounds.solver.engines.registry import find_engine
from relbounds.solver.few_columns import is_wide
from relbounds.solver.largest import push_largest, push_likeliest, push_on_few
from relbounds.solver.largest_alike import push_alike
from relbounds.solver.open_ends import worth_it
from relbounds.solver.optimum import Solution
from relbounds.solver.polytope import Polytope
from relbounds.solver.pricing import has_many
from relbounds.solver.screen import screen, screen_ends
from relbounds.solver.tolerances import OPTIMAL

# So many single columns are pushed for the largest use of a block: those that go farthest as the middle of the set
# tells. Of pairs of levels, which go about equally far, all are. In 608 refits of 25 to 80 columns the largest of these
# was the largest of all 601 times, to a thousandth, and never less than 0.92 of it.
AHEAD = 12
# So many of the others with the largest limits: the middle does not tell what a column is worth that is not used there.
# Where there are many columns it tells only of those near the best model.
NEAR = 2
# Wide sets: with no more rows than this refits are measured one by one. So many directions are looked at along which
# most is reached, and as many against what the best model uses most.
MANY_ROWS, FEW = 80, 8
# What noise reaches is found to this accuracy, relative to the norm; in wide sets, where digits are dear, to a fifth of
# what tables show.
EXACT, SHOWN = 1e-6, 1e-3
# Models without some of what they use are looked at together up to so many entries: a matter of memory alone.
ENTRIES = 1_000_000
# Entries of a part beyond which refits are not remembered for other tolerances.
MOST_REMEMBERED = 1_000_000
# Best models of refits that are measured one by one are found so many at a time, if a program has no more entries than
# this, half as many if it has no more than that, or with very many columns fewer, as all entries allow; that leaves two
# processes something to share.
AT_A_TIME, SMALL, LARGER = 20, 60_000, 200_000
FEW_AT_A_TIME, ALL_ENTRIES = 5, 4_000_000


@dataclass(frozen=True)
class Refit:
    """A model of partly permuted data: its program and its equivalent models; None where it uses no feature."""

    spec: Spec
    solution: Solution
    polytope: Polytope | None


def refit_each(evidence: Evidence, values: Sequence[FloatArray], part: str) -> list[Refit]:
    """Fit the model again, at the same C and tolerance, with other columns in the place of one part's.

    The best models are found in one run where they are alike.
    """
    known = evidence.memory.answers
    keys = [("refit", part, hash(columns.tobytes())) for columns in values]
    specs = [_with_values(evidence, one, part) for one in values]
    found: dict[int, Solution] = {i: known[key] for i, key in enumerate(keys) if key in known}
    new = [i for i in range(len(values)) if i not in found]
    # noise is seen to three digits: a support that is exact, or a simplex for the last digits, would show nothing
    models = [specs[i].model for i in new]
    solutions = fit_alike(models, evidence.solution.C, accuracy=0.1 * OPTIMAL) if models else []
    for i, solution in zip(new, solutions, strict=True):
        found[i] = solution
        if values[i].size <= MOST_REMEMBERED:
            known[keys[i]] = solution
    return [_refit_of(evidence, spec, found[i]) for i, spec in enumerate(specs)]


def _with_values(evidence: Evidence, values: FloatArray, part: str) -> Spec:
    """Return the program with other values of a part's columns."""
    spec = evidence.spec
    if spec.functions and spec.merged.of is None:
        return spec.with_values(part, values)
    return build_any(with_columns(evidence.design, values, part), spec.kind)


def _refit_of(evidence: Evidence, spec: Spec, solution: Solution) -> Refit:
    """Return a refitted model with its equivalent ones."""
    if spec.norm_of(solution.v) <= ZERO * evidence.norm:
        return Refit(spec, solution, None)
    polytope = equivalent_models(spec, solution, evidence.delta, evidence.options.tolerance)
    if is_wide(polytope):
        solution, polytope = _tidy(solution, polytope)
    return Refit(spec, solution, polytope)


def _tidy(solution: Solution, polytope: Polytope) -> tuple[Solution, Polytope]:
    """Return the best model without weights that are rounding: pushes begin with the columns that it uses."""
    v = solution.v.copy()
    v[(np.abs(v) <= ZERO * polytope.size) & (polytope.model.penalty > 0)] = 0.0
    if polytope.excess_of(v) > 0.0:
        return solution, polytope
    return replace(solution, v=v), replace(polytope, start=v)


def with_columns(design: Design, columns: FloatArray, part: str) -> Design:
    """Return the design with other values of a part's features."""
    return replace(design, X=columns) if part == "regular" else replace(design, Z=columns)


@dataclass(frozen=True)
class BlockValues:
    """What one refit after permuting a block shows: the largest greatest and the largest least relevance in it."""

    largest: float
    least: float


def at_a_time(spec: Spec) -> int:
    """Return how many refits that are measured one by one are fitted together."""
    if has_many(spec.model):
        return int(np.clip(ALL_ENTRIES // spec.model.G.size, 1, FEW_AT_A_TIME))
    if not _is_small(spec):
        return 1
    return AT_A_TIME if spec.model.G.size + spec.model.A.size <= SMALL else AT_A_TIME // 2


def _is_small(spec: Spec) -> bool:
    """Return whether several models with correcting functions go into one run."""
    return bool(spec.functions) and spec.model.G.size + spec.model.A.size <= LARGER


def are_single(functionals: Sequence[Functional]) -> bool:
    """Return whether all of these are weights of single columns."""
    return all(f.signed and len(f.variables) == 1 for f in functionals)


def values_in_each(refits: Sequence[Refit], rows: Sequence[Asked], solver: str) -> list[BlockValues]:
    """Return the largest greatest and the largest least relevance of some rows in each of several refits."""
    out = []
    for found, known in zip(refits, _values_alike(refits, rows, solver), strict=True):
        if known is None:
            most, seen = largest_in(found, rows, solver)
            known = BlockValues(most, largest_least_in(found, rows, solver, seen))
        out.append(known)
    return out


def _values_alike(
    refits: Sequence[Refit], rows: Sequence[Asked], solver: str
) -> Sequence[BlockValues | None]:
    """Return the same where small models are pushed in one run; None for the others."""
    out: list[BlockValues | None] = [None] * len(refits)
    used = [i for i, one in enumerate(refits) if one.polytope is not None]
    functionals = [f for row in rows for f in row.functionals]
    if find_engine(solver).name != "batch" or not used or not functionals:
        return out
    if not _is_small(refits[0].spec) or not all(f.exact for f in functionals):
        return out
    topes = [one.polytope for one in refits if one.polytope is not None]
    directions = directions_of(functionals, topes[0].model.q)
    tops = [_tops(functionals, screen(tope, refits[i].solution)) for tope, i in zip(topes, used, strict=True)]
    needed = [_needed_in(refits[i], rows) for i in used]
    against = [_against(rows, refits[i], own) for i, own in zip(used, needed, strict=True)]
    count = AHEAD if are_single(functionals) else None
    found = push_alike(
        topes, directions, EXACT, top=np.array(tops), against=np.array(against), count=count, near=NEAR
    )
    for i, one, tope, own in zip(used, found, topes, needed, strict=True):
        if one is not None:
            others = [least(tope, row, solver) for row in own if not all(f.signed for f in row.functionals)]
            out[i] = BlockValues(max(one.value, 0.0), max([one.least, *others]))
    return out


def _against(rows: Sequence[Asked], found: Refit, needed: Sequence[Asked]) -> NDArray[np.bool_]:
    """Return the directions of rows that lead from what the best model uses of needed ones toward 0."""
    v = found.solution.v
    tiny, keys = ZERO * found.spec.norm_of(v), {row.key for row in needed}
    out = []
    for row in rows:
        for f in row.functionals:
            at = f.tops @ v[list(f.variables)]
            out.append((at < -tiny) & (f.signed and row.key in keys))
    return np.concatenate(out)


def largest_in(found: Refit, rows: Sequence[Asked], solver: str) -> tuple[float, FloatArray | None]:
    """Return the largest of the rows' greatest relevances, and the points at which the pushes for it ended.

    Of very many rows in a wide set only those race that the best model uses most, or is closest to using.
    """
    if found.polytope is None or not rows:
        return 0.0, None
    if len(rows) > MANY_ROWS and is_wide(found.polytope):
        return _largest_of_few(found, rows, solver), None
    return largest_over(found.polytope, rows, screen(found.polytope, found.solution), solver)


def _tops(functionals: Sequence[Functional], bound: FloatArray) -> FloatArray:
    """Return what the directions of functionals do not exceed where `bound` limits every variable."""
    return np.concatenate([abs(f.tops) @ bound[list(f.variables)] for f in functionals])


def largest_over(
    polytope: Polytope, rows: Sequence[Asked], bound: FloatArray, solver: str
) -> tuple[float, FloatArray | None]:
    """Return the largest of the rows' greatest values over a set in which `bound` limits every variable.

    Of single columns those race that go farthest as the middle of the set tells, from the largest cheap bound down.
    """
    exact = [f for row in rows for f in row.functionals if f.exact]
    best, seen = 0.0, None
    if exact:
        tops = _tops(exact, bound)
        directions = directions_of(exact, polytope.model.q)
        some = np.ones(len(directions), dtype=bool)
        if are_single(exact) and len(directions) > AHEAD:
            ahead = farthest(polytope, directions)
            some = some if ahead is None else worth_it(ahead[None], tops[None], AHEAD, NEAR)[0]
        top = push_largest(polytope, directions[some], solver, known=tops[some])
        best, seen = max(best, float(top.value)), top.seen
    others = [row for row in rows if not all(f.exact for f in row.functionals)]
    return max([best, *(greatest(polytope, row, solver) for row in others)]), seen


def _largest_of_few(found: Refit, rows: Sequence[Asked], solver: str) -> float:
    """Return the largest of the greatest relevances among the few rows that are likely to have it."""
    assert found.polytope is not None
    ends = screen_ends(found.polytope, found.solution)
    v = np.abs(found.solution.v)
    each = [
        (f, sign, float(end[f.variables[0]]))
        for row in rows
        for f in row.functionals
        if f.signed and len(f.variables) == 1
        for sign, end in zip((-1.0, 1.0), ends, strict=True)
    ]
    near = sorted(range(len(each)), key=lambda i: -each[i][2])
    used = sorted(
        (
            i
            for i in near
            if v[each[i][0].variables[0]] > 0 and each[i][1] * found.solution.v[each[i][0].variables[0]] > 0
        ),
        key=lambda i: -v[each[i][0].variables[0]],
    )
    some = list(dict.fromkeys([*used[:FEW], *[i for i in near if v[each[i][0].variables[0]] == 0.0][:NEAR]]))
    best = 0.0
    if some:
        directions = np.vstack([each[i][1] * each[i][0].directions(found.polytope.model.q)[:1] for i in some])
        best = max(best, float(push_likeliest(found.polytope, directions, SHOWN).value))
    others = [row for row in rows if not (row.signed and all(len(f.variables) == 1 for f in row.functionals))]
    return max([best, *(greatest(found.polytope, row, solver) for row in others)])


def largest_least_in(
    found: Refit, rows: Sequence[Asked], solver: str, seen: FloatArray | None = None
) -> float:
    """Return the largest of the least relevances of some rows: what noise is used for by every equivalent model.

    Rows that the best model uses, and cannot simply do without, are driven toward 0 in one run; not those that points
    `seen` use with the other sign, since some mixture of these and the best model does without them.
    """
    if found.polytope is None or not rows:
        return 0.0
    v, polytope = found.solution.v, found.polytope
    tiny = ZERO * found.spec.norm_of(v)
    needed = _needed_in(found, rows)
    single = [f for row in needed for f in row.functionals if f.signed and abs(f.at(v)) > tiny]
    if seen is not None:
        single = [f for f in single if np.min(np.sign(f.at(v)) * (seen[:, f.variables] @ f.tops[0])) > 0]
    # no least value exceeds what the best model itself uses
    known = np.array([abs(f.at(v)) for f in single])
    step = chunk_size(polytope.model.h.size + polytope.model.a.size)
    if len(rows) > MANY_ROWS and is_wide(polytope):
        # with few columns the leader is known as a rule, and what it needs tells most others to be no match
        single, known = _needed_by_few(polytope, single, v)
        step = 1
    best = _largest_least(polytope, single, known, v, step, solver)
    others = [row for row in needed if not all(f.signed for f in row.functionals)]
    return max([best, *(least(polytope, row, solver) for row in others)])


def _largest_least(
    polytope: Polytope, single: list[Functional], known: FloatArray, v: FloatArray, step: int, solver: str
) -> float:
    """Return the largest of the least absolute values, of which something is `known` that they do not exceed.

    From the largest of that on down, so many at a `step`; one that is seen to fall short is not driven on.
    """
    order, best = np.argsort(-known, kind="stable"), 0.0
    for first in range(0, order.size, step):
        some = [single[i] for i in order[first : first + step] if known[i] > best]
        if not some:
            break
        toward = _toward(polytope, some, v)
        best = max(best, float(np.max(-push_past(polytope, toward, -best, solver).value)))
    return best


def _needed_by_few(
    polytope: Polytope, single: list[Functional], v: FloatArray
) -> tuple[list[Functional], FloatArray]:
    """Return those of the most used that even models of few columns need, and how much of each: none is needed more.

    Models of few columns are models, so what they need of a variable, the others need at most.
    """
    single = sorted(single, key=lambda f: -abs(f.at(v)))[:FEW]
    if not single:
        return single, np.zeros(0)
    tiny = SHOWN * polytope.size
    least = -push_on_few(polytope, _toward(polytope, single, v), SHOWN, -tiny)
    needed = np.flatnonzero(least > tiny)
    return [single[i] for i in needed], least[needed]


def _toward(polytope: Polytope, single: Sequence[Functional], v: FloatArray) -> FloatArray:
    """Return the directions in which a model's values of these come nearer to 0."""
    return np.vstack([-np.sign(f.at(v)) * f.directions(polytope.model.q)[0] for f in single])


def _needed_in(found: Refit, rows: Sequence[Asked]) -> list[Asked]:
    """Return the rows that the best model of a refit uses and cannot simply do without."""
    assert found.polytope is not None
    v = found.solution.v
    tiny = ZERO * found.spec.norm_of(v)
    used = [row for row in rows if max(abs(f.at(v)) for f in row.functionals) > tiny]
    return needed_rows(found.polytope, used, v)


def needed_rows(polytope: Polytope, rows: Sequence[Asked], v: FloatArray) -> list[Asked]:
    """Return the rows that the best model cannot simply do without: without their variables it is outside the set."""
    model, (p, l, B) = polytope.model, polytope.budgets
    used = np.flatnonzero(v)
    columns, out = model.G[:, used].T, []
    step = max(1, ENTRIES // max(len(model.G), model.q))
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        without = np.tile(v, (len(some), 1))
        for one, row in zip(without, some, strict=True):
            one[[j for f in row.functionals for j in f.variables]] = 0.0
        slack = np.maximum(model.h - without[:, used] @ columns, 0.0)
        spent = np.multiply.outer(np.abs(without) @ model.penalty, p)
        spent += np.multiply.outer(without @ model.linear + slack @ model.c, l)
        for row, point, one in zip(some, without, spent, strict=True):
            if np.any(one > B) or model.violation_of(point) > 0.0:
                out.append(row)
    return out
