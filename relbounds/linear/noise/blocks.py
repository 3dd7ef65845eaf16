"""Models fitted again after a block of terms was permuted: how relevant noise looks that had its chance to be fitted.

Section "Noise" of docs/method.md, part "ordered block test".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from relbounds.design import Design
from relbounds.linear.asked import Asked
from relbounds.linear.equivalent import equivalent_models
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.model import Spec
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.privileged.models import build_any
from relbounds.linear.ranges import ZERO, greatest, least
from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.largest import push_largest
from relbounds.solver.optimum import Solution, fit_baseline
from relbounds.solver.polytope import Polytope
from relbounds.solver.screen import screen


@dataclass(frozen=True)
class Refit:
    """A model of partly permuted data: its program and its equivalent models; None where it uses no feature."""

    spec: Spec
    solution: Solution
    polytope: Polytope | None


def refit(evidence: Evidence, columns: FloatArray, part: str) -> Refit:
    """Fit the model again, at the same C and tolerance, with other columns in the place of one part's."""
    design = with_columns(evidence.design, columns, part)
    spec = build_any(design, evidence.spec.kind)
    solution = fit_baseline(spec.model, evidence.solution.C)
    if spec.norm_of(solution.v) <= ZERO * evidence.norm:
        return Refit(spec, solution, None)
    polytope = equivalent_models(spec, solution, evidence.delta, evidence.options.tolerance)
    return Refit(spec, solution, polytope)


def with_columns(design: Design, columns: FloatArray, part: str) -> Design:
    """Return the design with other values of a part's features."""
    return replace(design, X=columns) if part == "regular" else replace(design, Z=columns)


def largest_in(found: Refit, rows: Sequence[Asked], solver: str) -> tuple[float, int]:
    """Return the largest of the rows' greatest relevances, and which row has it.

    All directions race in one run, from the largest cheap bound down.
    """
    if found.polytope is None or not rows:
        return 0.0, -1
    bound = screen(found.polytope, found.solution)
    q = found.polytope.model.q
    exact = [(k, f) for k, row in enumerate(rows) for f in row.functionals if f.exact]
    tops = [abs(f.tops) @ bound[list(f.variables)] for _, f in exact]
    best, which = 0.0, -1
    if exact:
        owner = np.repeat([k for k, _ in exact], [len(top) for top in tops])
        directions = np.vstack([f.directions(q) for _, f in exact])
        top = push_largest(found.polytope, directions, solver, known=np.concatenate(tops))
        if top.value > best:
            best, which = float(top.value), int(owner[top.which])
    for k, row in enumerate(rows):
        if not all(f.exact for f in row.functionals):
            value = greatest(found.polytope, row, solver)
            best, which = max((best, which), (value, k))
    return best, which


def largest_least_in(found: Refit, rows: Sequence[Asked], solver: str) -> float:
    """Return the largest of the least relevances of some rows: what noise is used for by every equivalent model.

    Rows that the best model uses, and cannot simply do without, are driven toward 0 in one run.
    """
    if found.polytope is None or not rows:
        return 0.0
    v, polytope = found.solution.v, found.polytope
    # no least value exceeds what the best model itself uses
    used = [row for row in rows if max(abs(f.at(v)) for f in row.functionals) > 0.0]
    needed = [row for row in used if not _dispensable(polytope, row, v)]
    single = [row.functionals[0] for row in needed if row.signed and len(row.functionals) == 1]
    best = 0.0
    if single:
        toward = np.vstack([-np.sign(f.at(v)) * f.directions(polytope.model.q)[0] for f in single])
        best = max(best, float(np.max(-push_many(polytope, toward, solver).value)))
    others = [row for row in needed if not (row.signed and len(row.functionals) == 1)]
    return max([best, *(least(polytope, row, solver) for row in others)])


def _dispensable(polytope: Polytope, row: Asked, v: FloatArray) -> bool:
    """Return whether the best model stays inside the set when it does without a row's variables."""
    without = v.copy()
    without[[j for f in row.functionals for j in f.variables]] = 0.0
    p, l, B = polytope.budgets
    used = p * polytope.model.penalty_of(without) + l * polytope.model.loss_of(without)
    return bool(np.all(used <= B)) and polytope.model.violation_of(without) <= 0.0
