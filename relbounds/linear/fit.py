"""The steps of a fit: tune, best model, tolerance, equivalent models, bounds, noise, table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relbounds.design import Design
from relbounds.errors import OptionError, RelboundsWarning
from relbounds.linear.chance import find_chance
from relbounds.linear.equivalent import equivalent_models
from relbounds.linear.fitted import Fitted, Help
from relbounds.linear.model import Spec, build
from relbounds.linear.noise.facts import Noise
from relbounds.linear.noise.judge import Evidence, judge
from relbounds.linear.ranges import ZERO, Measured, measure_sets
from relbounds.linear.table import Verdicts, make_table
from relbounds.linear.tolerance import Tolerance, find_tolerance
from relbounds.linear.tuning import Tuning, tune
from relbounds.options import Options
from relbounds.solver.optimum import Solution, fit_baseline, smallest_C
from relbounds.solver.polytope import Polytope
from relbounds.solver.screen import screen

# With more features than this, those that cannot rise above the noise are screened unless the user says otherwise.
MANY = 1000
NO_RELATION = (
    "No relation found: the best model is a constant, since no feature lowers the loss of the thresholds alone. "
    "Every term is irrelevant, that is, not distinguishable from noise."
)


@dataclass(frozen=True)
class Best:
    """The best model of a design: how it was tuned, its program and optimum, and the norm that bounds are shares of."""

    design: Design
    options: Options
    tuning: Tuning
    spec: Spec
    solution: Solution
    norm: float


def fit_plain(design: Design, options: Options) -> Fitted:
    """Fit the plain model of a design and everything that follows from it."""
    tuning = tune(design, options)
    spec = build(design, tuning.kind)
    solution = fit_baseline(spec.model, tuning.C)
    norm = spec.used_by(solution.v)
    if norm <= ZERO * _unit(spec, solution):
        least = np.inf if tuning.useless else smallest_C(spec.model)
        if np.isfinite(least):
            raise OptionError(
                f"No feature is used at C={tuning.C:.4g}: the penalty outweighs the loss. "
                f"The smallest useful C here is {least:.4g}; give a larger C, or C=None to tune it."
            )
        return nothing_found(Best(design, options, tuning, spec, solution, 1.0), [NO_RELATION])
    return complete(Best(design, options, tuning, spec, solution, norm))


def _unit(spec: Spec, solution: Solution) -> float:
    """Return the size that weights have here: margins are 1, so a weight matters against the columns' sizes."""
    size = float(np.sqrt(np.mean(spec.model.G[:, : spec.sizes.weights] ** 2))) if spec.model.G.size else 1.0
    return 1.0 / size if size > 0 else 1.0


def complete(best: Best, notes: Sequence[str] = (), help: Help | None = None) -> Fitted:
    """Go from the best model to the table: equivalent models, bounds, noise, classes."""
    design, options, spec = best.design, best.options, best.spec
    chance = find_chance(design, best.tuning, options.seed)
    doubt = chance.note if chance is not None else None
    said = [*([doubt] if doubt else []), *best.tuning.notes, *notes]
    if not options.bounds:
        return without_bounds(best, [*said, "No bounds were asked for (bounds=False)."], help)
    tolerance = find_tolerance(design, spec, best.solution, options)
    polytope = equivalent_models(spec, best.solution, tolerance.delta, options.tolerance)
    limits = screened(best, polytope)
    measured, (polytope,) = measure_sets([polytope], spec.asked, options, limits)
    evidence = Evidence(design, options, spec, best.solution, best.norm, tolerance.delta, polytope, measured)
    verdicts, noise = judge(evidence)
    if limits:
        said.append(
            f"{len(limits)} rows were screened: their upper bound is no least one, but proves that they stay "
            "below what matters."
        )
    said += [*noise.notes, *certificate_notes(best, measured)]
    return Fitted(
        design=design,
        options=options,
        tuning=best.tuning,
        spec=spec,
        solution=best.solution,
        norm=best.norm,
        tolerance=tolerance,
        polytopes=(polytope,),
        asked=spec.asked,
        measured=measured,
        noise=noise,
        table=make_table(spec.asked, best.solution.v, measured, best.norm, verdicts),
        notes=tuple(said),
        privileged=help,
    )


def screened(best: Best, polytope: Polytope) -> dict[int, float]:
    """Return upper bounds of the rows that need no linear program: a cheap bound proves them negligible.

    Worked out on request (``screen=True``), or when there are very many features; only for models without
    correcting functions, and for terms of one column.
    """
    options, spec = best.options, best.spec
    wanted = options.screen if options.screen is not None else len(spec.asked) > MANY
    if not wanted or spec.functions or spec.sizes.classes > 1:
        return {}
    bound = screen(polytope, best.solution)
    # Below this share of the largest bound nothing can be told from noise: a cheap guess, only about what to solve.
    small = 0.02 * best.norm
    found = {}
    for i, row in enumerate(spec.asked):
        if row.key.part == "regular" and row.signed and len(row.functionals[0].variables) == 1:
            most = float(bound[row.functionals[0].variables[0]])
            if most <= small:
                found[i] = most
    return found


def nothing_found(best: Best, notes: Sequence[str], help: Help | None = None) -> Fitted:
    """Return a fit that uses no feature and allows none: every interval is [0, 0] and every term irrelevant."""
    zeros = np.zeros(len(best.spec.asked))
    measured = Measured(zeros, zeros, zeros, zeros, zeros, ("none needed",) * len(zeros), zeros > 0)
    classes = np.array(
        ["" if r.key.part == "adjust" else "irrelevant" for r in best.spec.asked], dtype=object
    )
    p = np.array([np.nan if r.key.part == "adjust" else 1.0 for r in best.spec.asked])
    return _bare(best, measured, Verdicts(p, p, classes), tuple(notes), help, True)


def without_bounds(best: Best, notes: Sequence[str], help: Help | None = None) -> Fitted:
    """Return a fit that predicts only: no bounds, no classes."""
    empty = np.full(len(best.spec.asked), np.nan)
    measured = Measured(empty, empty, empty, empty, empty, ("none",) * len(empty), np.zeros(len(empty), bool))
    classes = np.full(len(empty), "", dtype=object)
    return _bare(best, measured, Verdicts(empty, empty, classes), tuple(notes), help, False)


def _bare(
    best: Best,
    measured: Measured,
    verdicts: Verdicts,
    notes: tuple[str, ...],
    help: Help | None,
    no_relation: bool,
) -> Fitted:
    norm = best.norm if best.norm > 0 else 1.0
    return Fitted(
        design=best.design,
        options=best.options,
        tuning=best.tuning,
        spec=best.spec,
        solution=best.solution,
        norm=norm,
        tolerance=Tolerance(0.0, "none"),
        polytopes=(),
        asked=best.spec.asked,
        measured=measured,
        noise=Noise("none"),
        table=make_table(best.spec.asked, best.solution.v, measured, norm, verdicts),
        notes=(*best.tuning.notes, *notes) if no_relation else notes,
        privileged=help,
        no_relation=no_relation,
    )


def certificate_notes(best: Best, measured: Measured) -> list[str]:
    """Warn, by name, of every bound whose certified gap exceeds the promised accuracy, and of the best model's."""
    out = []
    titles = [row.title for row in best.spec.asked]
    gaps = measured.gap / best.norm
    wide = [titles[i] for i in np.flatnonzero(~(gaps <= ZERO))]
    if wide:
        names = ", ".join(wide[:10]) + (f" and {len(wide) - 10} more" if len(wide) > 10 else "")
        out.append(
            f"The bounds of {names} are certified only to {np.max(gaps):.1e} of the norm; "
            "another solver or a larger delta may settle them."
        )
    if best.solution.certified > ZERO:
        out.append(
            f"The best model is certified only to {best.solution.certified:.1e} of its objective, and the bounds "
            "rest on it; another C or rescaled columns may settle it."
        )
    for text in out:
        warnings.warn(text, RelboundsWarning, stacklevel=2)
    return out
