"""One problem, by the package and by the definitions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from fuzz_definitions import Truth
from fuzz_problems import Problem

from relbounds.design import make_design
from relbounds.linear.equivalent import equivalent_models
from relbounds.linear.families.rows import ModelKind
from relbounds.linear.privileged.models import build_any
from relbounds.linear.ranges import measure
from relbounds.options import Options
from relbounds.solver.optimum import fit_baseline

# Shares of the norm: what is promised of every bound.
PROMISED = 1e-6
# By how much linprog's own budgets are widened and narrowed, relative to them: what its tolerances leave open.
OPEN = 1e-9


@dataclass(frozen=True)
class Compared:
    """The largest differences: of the objective, relative to it; of bounds, as shares of the norm."""

    objective: float
    bounds: float
    worst: str
    certificate: float
    used: bool


def compare(problem: Problem) -> Compared:
    """Solve a problem both ways."""
    design = make_design(
        problem.formula,
        problem.data,
        family=problem.family,
        weights=problem.weights if np.ptp(problem.weights) or problem.weights[0] != 1 else None,
        standardize=problem.standardize,
    )
    kind = ModelKind(
        order=problem.order,
        epsilon=problem.epsilon,
        balance=problem.balance and problem.family != "regression",
        slack=problem.Z is not None,
        gamma=problem.gamma,
        residual=problem.residual,
        correcting=problem.correcting,
    )
    spec = build_any(design, kind)
    best = fit_baseline(spec.model, problem.C)
    truth = Truth(problem)
    norm, loss, outside = truth.parts(**model_of(spec, best.v, truth))
    C = problem.C * truth.unit * problem.weights.mean()
    least = truth.best(C)
    objective = 0.5 * norm + C * loss
    unit = max(abs(least), 0.5 * norm)
    off = abs(objective - least) / unit if unit > 0 else 0.0
    off = max(off, outside / max(1.0, float(np.abs(truth.rhs).max())))
    total = spec.norm_of(best.v)
    if total * truth.unit <= 1e-7:
        # a constant model: nothing to take shares of
        return Compared(off, 0.0, "", 0.0, False)
    polytope = equivalent_models(spec, best, problem.delta, problem.tolerance)
    measured = measure([polytope], spec.asked, Options(solver=problem.solver))
    worst, where = 0.0, ""
    for row, i in rows_of(spec, problem):
        groups = truth.asked().get(row)
        if groups is None:
            continue
        lower, upper = measured.lower[i] / total, measured.upper[i] / total
        wrong = differs((lower, upper), groups, truth, Budget(C, norm, loss, total * truth.unit))
        if not wrong <= worst:
            worst, where = wrong, f"{spec.asked[i].title}: [{lower:.9g}, {upper:.9g}]"
    gap = float(np.nanmax(measured.gap, initial=0.0)) / total
    return Compared(off, worst, where, max(gap, best.certified), True)


@dataclass(frozen=True)
class Budget:
    """Price, norm and loss of the best model, and the norm that bounds are shares of."""

    C: float
    norm: float
    loss: float
    total: float


def differs(ours, groups, truth, best):
    """How far a pair of bounds is outside of what linprog's tolerances leave open."""
    known = []
    for wider in (0.0, OPEN, -OPEN):
        found = truth.range_of(groups, truth.set_of(best.C, best.norm, best.loss, wider))
        if found is not None:
            known.append(np.array(found) / best.total)
    if not known:
        return np.inf
    low, high = np.min(known, axis=0), np.max(known, axis=0)
    ours = np.array(ours)
    return float(np.max(np.maximum(low - ours, ours - high), initial=0.0))


def model_of(spec, v, truth):
    """The package's variables by the names of the definitions."""
    weights = np.asarray(spec.weights_of(v)).ravel() * truth.unit
    u = np.concatenate([v[f.start : f.offset] for f in spec.functions]) if spec.functions else np.zeros(0)
    d = np.array([v[f.offset] for f in spec.functions])
    return {"w": weights, "a": spec.adjust_of(v).ravel(), "b": spec.thresholds_of(v), "u": u, "d": d}


def rows_of(spec, problem):
    """Pairs of the definitions' name of a row and its place among the package's."""
    numbers = [f"x{j}" for j in range(problem.X.shape[1])]
    levels = sorted(set(problem.factor)) if problem.factor else []
    out = []
    for i, row in enumerate(spec.asked):
        key = row.key
        if key.part == "privileged":
            out.append((("privileged", int(key.term.removeprefix("z")), None), i))
        elif key.part == "regular" and key.term in numbers:
            out.append((("regular", numbers.index(key.term), None), i))
        elif key.part == "regular" and key.term == "site":
            label = (
                None if key.label is None else levels.index(key.label.removeprefix("site[").removesuffix("]"))
            )
            out.append((("regular", "factor", label), i))
    return out
