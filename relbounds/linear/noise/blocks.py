"""Models fitted again after a block of terms was permuted: how relevant noise looks that had its chance to be fitted.

Section "Noise" of docs/method.md, part "ordered block test".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from relbounds.design import Design
from relbounds.linear.asked import Asked, Functional, directions_of, sparse_directions_of
from relbounds.linear.ends import greatest, least
from relbounds.linear.equivalent import budgets_of, equivalent_models
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.model import Spec, build
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.privileged.models import build_any
from relbounds.linear.ranges import ZERO
from relbounds.solver.alike import fit_alike
from relbounds.solver.best_refitted import BestRefitted, Refits, spent
from relbounds.solver.columns import Columns, put_columns
from relbounds.solver.engines.batch import chunk_size, farthest
from relbounds.solver.engines.dispatch import push_past
from relbounds.solver.engines.registry import find_engine
from relbounds.solver.few_columns import is_wide
from relbounds.solver.few_each import best_each
from relbounds.solver.largest import push_largest, push_likeliest, push_on_few
from relbounds.solver.largest_alike import push_alike
from relbounds.solver.model import Model
from relbounds.solver.open_ends import Glance, Likely, worth_it
from relbounds.solver.optimum import Solution
from relbounds.solver.polytope import Polytope
from relbounds.solver.pricing import has_many
from relbounds.solver.refitted import Budgets, push_refitted
from relbounds.solver.screen import screen, screen_ends
from relbounds.solver.tolerances import OPTIMAL

# Refits go into one run unless merging leaves fewer rows than this share of them, or one program has more entries.
FEW_MERGED, LARGEST = 0.8, 2_000_000
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
# In wide sets so many go on with all columns that lead with those near the best model, at this accuracy.
LEAD, GLANCE = 3, 1e-2
# What noise reaches is found to this accuracy, relative to the norm; in wide sets, where digits are dear, to a fifth of
# what tables show.
EXACT, SHOWN = 1e-6, 1e-3
# Entries that one refit counts for where its set is wide: ten go into one run.
WIDE_ENTRIES = 200_000
# With more variables than this, and a best model that uses more of them than that, the columns that a refit needs leave
# no room for others beside it.
WIDEST, FEW_USED = 600, 85
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


@dataclass(frozen=True)
class Together:
    """Refits that go into one run: the program of all observations, and the directions of a block's rows.

    Parameters
    ----------
    spec : Spec
        The program, no rows merged.
    rows : tuple of Asked
        The rows of the block.
    directions, paired
        What they ask for (:func:`relbounds.solver.refitted.push_refitted`).
    off : tuple of int
        Variables that are held at 0 in the sets of equivalent models, though not in the best ones.
    likely : Likely or None
        Which of the directions are pushed; None for all of them.
    """

    spec: Spec
    rows: tuple[Asked, ...]
    directions: csr_array
    paired: NDArray[np.bool_]
    off: tuple[int, ...] = ()
    likely: Likely | None = None

    @property
    def held(self) -> Model:
        """The program with these variables held."""
        lower, upper = self.spec.model.lower.copy(), self.spec.model.upper.copy()
        lower[list(self.off)] = upper[list(self.off)] = 0.0
        return replace(self.spec.model, lower=lower, upper=upper)

    @property
    def entries(self) -> int:
        """The size of one refit's rows for all directions that are pushed, or what counts as that in wide sets."""
        if self.likely is not None and self.likely.glance is not None:
            return max(WIDE_ENTRIES, self.spec.model.G.size // 2)
        count = self.directions.shape[0]
        return max(1, (count if self.likely is None else min(count, AHEAD)) * len(self.spec.rows))


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


def together(
    evidence: Evidence, part: str, rows: Sequence[Asked], off: Sequence[int] = ()
) -> Together | None:
    """Return what refits in one run need; None where they are better done one by one.

    That is so for correcting functions, for rows whose greatest value is only bounded, where many rows are merged,
    and for models too wide or too large to hold side by side.
    """
    spec = evidence.spec
    functionals = [f for row in rows for f in row.functionals]
    if part != "regular" or spec.functions or not all(f.exact for f in functionals):
        return None
    model = spec.model
    if model.linear.any() or np.isfinite(model.lower).any() or np.isfinite(model.upper).any():
        return None
    R = len(spec.full)
    if len(spec.rows) < FEW_MERGED * R or R * model.q > LARGEST:
        return None
    wide, single = is_wide(evidence.polytope), _are_single(functionals)
    if wide:
        crowded = model.q > WIDEST and np.count_nonzero(evidence.solution.v) > FEW_USED
        if off or crowded or len(rows) <= MANY_ROWS or not single:
            return None
    if len(spec.rows) < R:
        spec = build(evidence.design, spec.kind, merged=False)
    directions = sparse_directions_of(functionals, model.q)
    count = directions.shape[0]
    paired = np.concatenate([np.full(len(f.tops), f.signed) for f in functionals])
    likely = Likely(AHEAD, NEAR, count, EXACT) if single else None
    if wide:
        likely = Likely(FEW, NEAR, FEW, 0.2 * SHOWN, Glance(LEAD, GLANCE))
    return Together(spec, tuple(rows), directions, paired, tuple(off), likely)


def _are_single(functionals: Sequence[Functional]) -> bool:
    """Return whether all of these are weights of single columns."""
    return all(f.signed and len(f.variables) == 1 for f in functionals)


@dataclass(frozen=True)
class Permuted:
    """What changes in the program in each of several draws (draws, n, k) of some columns: made when it is asked for."""

    spec: Spec
    columns: tuple[int, ...]
    values: FloatArray

    def __len__(self) -> int:
        return len(self.values)

    @property
    def index(self) -> NDArray[np.intp]:
        """Whose columns they are, draw by draw."""
        return np.tile(self.spec.places(self.columns), (len(self), 1))

    def take(self, some: NDArray[np.intp] | slice) -> Columns:
        """Return the columns of some draws."""
        return self.spec.changes(self.columns, self.values[some].transpose(0, 2, 1))


def refit_together(
    evidence: Evidence, task: Together, columns: Sequence[int], values: FloatArray
) -> list[BlockValues | None]:
    """Fit models to several sets of values of a block's columns; None for those that have to be done one by one.

    Parameters
    ----------
    evidence : Evidence
    task : Together
    columns : sequence of int
        The columns of the block.
    values : ndarray, shape (draws, n, k)
        Their values in each draw.
    """
    model, C = task.spec.model, evidence.solution.C
    budgets: Budgets = budgets_of(model, C, evidence.delta, evidence.options.tolerance)
    changes = Permuted(task.spec, tuple(columns), values)
    asked = ("refits", tuple(columns), hash(_told_by(values).tobytes()))
    refits = Refits(model, changes)
    best = evidence.memory.recall(asked, lambda: best_each(refits, C, evidence.solution.v))
    start: BestRefitted | None = best
    if task.off:
        # what is left of a set begins at the best model of it, which need not lie inside the budgets of the whole
        known = budgets(*spent(refits, C, best))
        budgets, start, refits = lambda *_: known, None, Refits(task.held, changes)
    found = push_refitted(refits, C, budgets, task.directions, task.paired, best=start, likely=task.likely)
    B = budgets(found.penalty, found.loss, found.objective)[2]
    out: list[BlockValues | None] = []
    for i, v in enumerate(found.points):
        if task.spec.norm_of(v) <= ZERO * evidence.norm:
            # where variables are held, what is left may use others although its best model does not
            out.append(None if task.off else BlockValues(0.0, 0.0))
        elif not found.good[i]:
            out.append(None)
        else:
            place = changes.take(np.array([i]))
            least = _least_of_terms(task, evidence, place, v, B[i], found.active[i])
            out.append(BlockValues(max(float(found.largest[i]), 0.0), max(float(found.least[i]), least)))
    return out


def _told_by(values: FloatArray) -> FloatArray:
    """Return what tells sets of values from one another: mixtures of the columns, since these may be very many."""
    found: FloatArray = values @ np.random.default_rng(0).uniform(0.5, 1.5, values.shape[-1])
    return found


def _least_of_terms(
    task: Together,
    evidence: Evidence,
    own: Columns,
    v: FloatArray,
    B: FloatArray,
    active: NDArray[np.bool_],
) -> float:
    """Return the largest least relevance of terms with several columns: programs of their own, where they are used."""
    size = ZERO * task.spec.norm_of(v)
    rows = [row for row in task.rows if not row.signed and max(abs(f.at(v)) for f in row.functionals) > size]
    if not rows:
        return 0.0
    model = put_columns(task.held, own)
    joint = (evidence.solution.C, float(B[0])) if B.size == 1 else None
    norm, loss = (None, None) if B.size == 1 else (float(B[0]), float(B[1]))
    polytope = Polytope(model, norm=norm, loss=loss, joint=joint, start=v, active=active)
    needed = _needed(polytope, rows, v)
    return max((least(polytope, row, evidence.options.solver) for row in needed), default=0.0)


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
    count = AHEAD if _are_single(functionals) else None
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
        if _are_single(exact) and len(directions) > AHEAD:
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
    return _needed(found.polytope, used, v)


def _needed(polytope: Polytope, rows: Sequence[Asked], v: FloatArray) -> list[Asked]:
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
