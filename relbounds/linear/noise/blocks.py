"""Models fitted again after a block of terms was permuted, all in one run: how relevant noise looks that was fitted.

Section "Noise" of docs/method.md, part "ordered block test".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from relbounds.linear.asked import Asked, sparse_directions_of
from relbounds.linear.ends import least
from relbounds.linear.equivalent import budgets_of
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.model import Spec, build
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.noise.refits import (
    AHEAD,
    EXACT,
    FEW,
    MANY_ROWS,
    NEAR,
    SHOWN,
    BlockValues,
    are_single,
    needed_rows,
)
from relbounds.linear.ranges import ZERO
from relbounds.solver.best_refitted import BestRefitted, Refits, spent
from relbounds.solver.columns import Columns, put_columns
from relbounds.solver.few_columns import is_wide
from relbounds.solver.few_each import best_each
from relbounds.solver.model import Model
from relbounds.solver.open_ends import Glance, Likely
from relbounds.solver.polytope import Polytope
from relbounds.solver.refitted import Budgets, push_refitted

# Refits go into one run unless merging leaves fewer rows than this share of them, or one program has more entries.
FEW_MERGED, LARGEST = 0.8, 2_000_000
# In wide sets so many go on with all columns that lead with those near the best model, at this accuracy.
LEAD, GLANCE = 3, 1e-2
# Entries that one refit counts for where its set is wide: ten go into one run.
WIDE_ENTRIES = 200_000
# With more variables than this, and a best model that uses more of them than that, the columns that a refit needs leave
# no room for others beside it.
WIDEST, FEW_USED = 600, 85


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
    wide, single = is_wide(evidence.polytope), are_single(functionals)
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
    needed = needed_rows(polytope, rows, v)
    return max((least(polytope, row, evidence.options.solver) for row in needed), default=0.0)
