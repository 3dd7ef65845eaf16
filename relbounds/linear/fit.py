"""The steps of a fit: tune, best model, tolerance, equivalent models, bounds, noise, table."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from relbounds.design import Design
from relbounds.errors import OptionError, RelboundsWarning, shortened
from relbounds.linear.at_most import is_wanted, measure_or_limit, settle, small_limits
from relbounds.linear.chance import find_chance, middle_note
from relbounds.linear.equivalent import equivalent_models
from relbounds.linear.fitted import Fitted, Help
from relbounds.linear.model import Spec, build
from relbounds.linear.noise.ahead import first_tests, look_ahead, noise_level
from relbounds.linear.noise.evidence import Memory
from relbounds.linear.noise.facts import Noise
from relbounds.linear.noise.judge import Evidence, judge
from relbounds.linear.ranges import ZERO, Measured, measure_sets, not_measured
from relbounds.linear.table import Verdicts, make_table
from relbounds.linear.tolerance import (
    Tolerance,
    find_tolerance,
    is_resampled,
    plan_resampling,
    resampled_tolerance,
)
from relbounds.linear.tuning import Tuning, tune_beside
from relbounds.options import Options
from relbounds.parallel import Job, run_together
from relbounds.solver.optimum import Solution, fit_baseline
from relbounds.solver.smallest import smallest_C

NO_RELATION = (
    "No relation found: the best model is a constant, since no feature lowers the loss of the thresholds alone. "
    "Every term is irrelevant, that is, not distinguishable from noise."
)
NOTHING_BEYOND = (
    "No relation found beyond the adjusting covariates: no feature lowers the loss of the model that has these alone. "
    "Every term is irrelevant, that is, not distinguishable from noise."
)
EXPLAINED = (
    "The adjusting covariates explain the response perfectly, so nothing is left for the features to explain, and "
    "every term is irrelevant. Is one of them the response in other words, or measured after it? Leave it out of "
    "adjust() then."
)
# A mean loss below this is none: margins (and standard deviations of numbers) are 1, what is left of it is rounding.
PERFECT = 1e-6


@dataclass(frozen=True)
class Best:
    """The best model of a design: how it was tuned, its program and optimum, and the norm that bounds are shares of.

    `memory` holds tests of the data that were made beside tuning.
    """

    design: Design
    options: Options
    tuning: Tuning
    spec: Spec
    solution: Solution
    norm: float
    memory: Memory = field(default_factory=Memory)


def fit_plain(design: Design, options: Options) -> Fitted:
    """Fit the plain model of a design and everything that follows from it."""
    tests = jobs_beside(design, options)
    tuning, found = tune_beside(design.without_sources(), options, list(tests.values()))
    memory = Memory() if found is None else remembered(tests, found)
    spec = build(design, tuning.kind)
    solution = fit_baseline(spec.model, tuning.C)
    norm = spec.used_by(solution.v)
    if norm <= ZERO * _unit(spec, solution):
        # a C that was chosen here and makes no feature useful is a matter of rounding, not of the penalty
        least = np.inf if tuning.useless or options.C is None else smallest_C(spec.model)
        if np.isfinite(least):
            raise OptionError(
                f"No feature is used at C={tuning.C:.4g}: the penalty outweighs the loss. "
                f"The smallest useful C here is {least:.4g}; give a larger C, or C=None to tune it."
            )
        best = Best(design, options, tuning, spec, solution, 1.0)
        return nothing_found(best, [nothing_note(best)])
    return complete(Best(design, options, tuning, spec, solution, norm, memory))


def jobs_beside(design: Design, options: Options) -> dict[Hashable, Job]:
    """Return the tests of the data where several workers can make them beside tuning: one long task of many.

    One worker makes them when it is known that some feature is used at all.
    """
    alone = options.n_jobs == 1 and options.client is None
    return {} if alone or not options.bounds else first_tests(design.without_sources(), options)


def remembered(tests: Mapping[Hashable, Job], found: Sequence[Sequence[Any]]) -> Memory:
    """Return a memory of what tests found."""
    return Memory({key: one for key, (one,) in zip(tests, found, strict=True)})


def nothing_note(best: Best) -> str:
    """Say why no feature is used: no relation, or adjusting covariates that leave nothing to explain."""
    if not best.design.adjust.shape[1]:
        return NO_RELATION
    total = float(best.spec.model.c.sum())
    return EXPLAINED if best.solution.loss <= PERFECT * total else NOTHING_BEYOND


def _unit(spec: Spec, solution: Solution) -> float:
    """Return the size that weights have here: margins are 1, so a weight matters against the columns' sizes."""
    size = float(np.sqrt(np.mean(spec.model.G[:, : spec.sizes.weights] ** 2))) if spec.model.G.size else 1.0
    return 1.0 / size if size > 0 else 1.0


def complete(best: Best, notes: Sequence[str] = (), help: Help | None = None) -> Fitted:
    """Go from the best model to the table: equivalent models, bounds, noise, classes."""
    design, options, spec = best.design, best.options, best.spec
    chance = find_chance(design, best.tuning, options.seed)
    doubt = (chance.note if chance is not None else None) or middle_note(design, best.tuning)
    said = [*([doubt] if doubt else []), *best.tuning.notes, *notes]
    if not options.bounds:
        return without_bounds(best, [*said, "No bounds were asked for (bounds=False)."], help)
    tolerance, memory = tolerance_and_tests(best)
    polytope = equivalent_models(spec, best.solution, tolerance.delta, options.tolerance)
    unknown, bare = not_measured(spec.asked), design.without_sources()
    evidence = Evidence(
        bare, options, spec, best.solution, best.norm, tolerance.delta, polytope, unknown, memory
    )
    evidence, verdicts, noise = measure_and_judge(evidence)
    polytope, measured = evidence.polytope, evidence.measured
    if measured.at_most.any():
        said.append(at_most_note(int(measured.at_most.sum())))
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
        memory=evidence.memory,
    )


def tolerance_and_tests(best: Best) -> tuple[Tolerance, Memory]:
    """Return the tolerance, and a memory that may hold tests of the data: processes work on both at once."""
    design, options, spec = best.design.without_sources(), best.options, best.spec
    if not is_resampled(options):
        return find_tolerance(design, spec, best.solution, options), best.memory
    tests = {} if best.memory.answers else first_tests(design, options, bool(spec.functions))
    refits = plan_resampling(design, spec, best.solution, options)
    # tests first: they are the longest task as a rule
    *found, models = run_together([*tests.values(), refits.job], n_jobs=options.n_jobs, client=options.client)
    memory = remembered(tests, found) if tests else best.memory
    return resampled_tolerance(refits.compare(models), options), memory


def measure_and_judge(evidence: Evidence) -> tuple[Evidence, Verdicts, Noise]:
    """Work out bounds, what noise reaches, and classes, in the order that takes least work.

    Of few terms all bounds come first. Of many, scores say which could be more than noise: these get exact bounds,
    noise is refitted, and of the others it is only proved that they stay below twice what it reaches.
    """
    options, asked, solution = evidence.options, evidence.spec.asked, evidence.solution
    wanted, published = is_wanted(evidence.spec, options), options.control == "published"
    if wanted and not published:
        measured, polytope = measure_or_limit(
            evidence.polytope, solution, asked, look_ahead(evidence), options
        )
    else:
        limits = small_limits(evidence.polytope, solution, asked, evidence.norm) if wanted else {}
        measured, (polytope,) = measure_sets([evidence.polytope], asked, options, limits)
    evidence = replace(evidence, polytope=polytope, measured=measured)
    verdicts, noise = judge(evidence)
    if measured.at_most.any() and not published:
        noise, level = noise_level(evidence, noise, verdicts)
        evidence = replace(evidence, measured=settle(measured, polytope, asked, level, options))
    return evidence, verdicts, noise


def at_most_note(count: int) -> str:
    """Say what "at most" means."""
    return (
        f'{count} rows read "<=": these terms are not distinguishable from noise, and it is proved that no equally '
        "good model uses them more than this, which is no more than twice what noise reaches. Their exact bounds are "
        "smaller; screen=False computes them."
    )


def nothing_found(best: Best, notes: Sequence[str], help: Help | None = None) -> Fitted:
    """Return a fit that uses no feature and allows none: every interval is [0, 0] and every term irrelevant."""
    zeros = np.zeros(len(best.spec.asked))
    # without a tolerance there is no range of the adjusting coefficients: they are what they are in the best model
    own = np.where([row.key.part == "adjust" for row in best.spec.asked], np.nan, 0.0)
    measured = Measured(zeros, zeros, own, own, zeros, ("none needed",) * len(zeros), zeros > 0)
    classes = np.array(
        ["" if r.key.part == "adjust" else "irrelevant" for r in best.spec.asked], dtype=object
    )
    p = np.array([np.nan if r.key.part == "adjust" else 1.0 for r in best.spec.asked])
    return _bare(best, measured, Verdicts(p, p, classes), tuple(notes), help, True)


def without_bounds(best: Best, notes: Sequence[str], help: Help | None = None) -> Fitted:
    """Return a fit that predicts only: no bounds, no classes."""
    measured = not_measured(best.spec.asked)
    empty = measured.lower
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
        out.append(
            f"The bounds of {shortened(wide, 10)} are certified only to {np.max(gaps):.1e} of the norm; "
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
