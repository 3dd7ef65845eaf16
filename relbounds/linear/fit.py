"""The steps of a fit: tune, baseline, equivalent models, bounds, probes, table."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from relbounds.design import Design
from relbounds.errors import OptionError, RelboundsWarning
from relbounds.linear.chance import chance_note
from relbounds.linear.model import FloatArray, Spec, build
from relbounds.linear.noise.published import (
    PARTS,
    Interval,
    Population,
    classify,
    draw_population,
    prediction_interval,
    tail_probability,
)
from relbounds.linear.noise.refitted import refit_noise, refit_note
from relbounds.linear.privileged.models import roomy
from relbounds.linear.ranges import ZERO, equivalent_models, relevance, resolve_delta, signed_ranges
from relbounds.linear.tuning import NOTHING_HELPS, Tuning, tune
from relbounds.options import Options
from relbounds.solver.optimum import Solution, fit_baseline, smallest_C
from relbounds.solver.polytope import Polytope, Ranges
from relbounds.solver.screen import screen

# With more features than this, those that cannot rise above the noise are screened unless the user says otherwise.
MANY = 1000


@dataclass(frozen=True)
class Fitted:
    """Everything a fit found, in arrays; :class:`relbounds.results.RelboundsResults` shows it to the user.

    `polytopes` are the sets whose union is meant: one for a fit, several for a what-if that leaves a sign open.
    `wishes` and `before`, the table without any wish, say what a what-if changed; a fit has none.
    """

    design: Design
    options: Options
    tuning: Tuning
    spec: Spec
    solution: Solution
    norm: float
    delta: float
    polytopes: tuple[Polytope, ...]
    ranges: Ranges
    populations: Mapping[str, Population]
    intervals: Mapping[str, tuple[Interval, Interval]]
    table: pd.DataFrame
    notes: tuple[str, ...]
    help: Help | None
    wishes: Mapping[Any, tuple[float, float]] = field(default_factory=dict)
    before: pd.DataFrame | None = None

    @property
    def polytope(self) -> Polytope:
        """The set of equivalent models; in a what-if the one that holds the best of them."""
        return self.polytopes[0]


@dataclass(frozen=True)
class Help:
    """What privileged features did for a fit.

    Parameters
    ----------
    way : {"slack", "teacher"}
        How they were used.
    score, without, error : float
        Cross-validated scores with and without them, and the standard error of the former.
    collapsed : bool
        Whether the model with them uses no regular feature.
    teacher : Fitted or None
        The model on the privileged features that weighed the training rows.
    """

    way: str
    score: float
    without: float
    error: float
    collapsed: bool = False
    teacher: Fitted | None = None


def fit_plain(design: Design, options: Options) -> Fitted:
    """Fit the plain model of a design and everything that follows from it."""
    tuning = tune(design, options)
    spec = build(design, tuning.setting)
    solution = fit_baseline(spec.model, tuning.C)
    norm = spec.used_by(solution.v)
    if norm <= ZERO:
        least = smallest_C(spec.model)
        if np.isinf(least):
            raise OptionError(NOTHING_HELPS)
        raise OptionError(
            f"No feature is used at C={tuning.C:.4g}: the penalty outweighs the loss. "
            f"The smallest useful C here is {least:.4g}; give a larger C, or C=None to tune it."
        )
    return finish(design, options, tuning, spec, solution, norm)


def finish(
    design: Design,
    options: Options,
    tuning: Tuning,
    spec: Spec,
    solution: Solution,
    norm: float,
    notes: Sequence[str] = (),
    help: Help | None = None,
) -> Fitted:
    """Go from a baseline to the table: equivalent models, bounds, probes, classes."""
    losses = spec.sample_losses(solution.v)
    delta = resolve_delta(options.delta, losses, float(losses.sum()))
    polytope = roomy(spec, equivalent_models(spec.model, solution, delta, options.tolerance))
    variables = [j for target in spec.targets for j in target.variables]
    features = {"regular": design.X, "privileged": design.Z} if spec.functions else {"regular": design.X}
    populations = {
        part: draw_population(spec, X, polytope, norm, options, part) for part, X in features.items()
    }
    for part, term in joint_terms(spec):
        populations[f"{part}: {term}"] = draw_population(
            spec, features[part], polytope, norm, options, part, term
        )
    intervals = {part: intervals_of(one, options) for part, one in populations.items()}
    skipped = screened(spec, polytope, solution, norm, intervals, options)
    ranges = signed_ranges(polytope, variables, options, skipped)
    table = make_table(spec, solution.v, ranges, norm, intervals)
    chance = chance_note(tuning, design.y, design.family)
    said = [*([chance] if chance else []), *tuning.notes, *notes, *probe_notes(populations, options)]
    if options.interval == "refit":
        refitted = refit_noise(
            design,
            tuning.setting,
            tuning.C,
            delta,
            spec,
            table["upper"].to_numpy(),
            populations,
            lambda one: intervals_of(one, options),
            options,
            chance is not None,
        )
        populations, intervals = dict(refitted.populations), dict(refitted.intervals)
        table = judge(table, intervals)
        said.append(refit_note(refitted, spec))
    if skipped:
        table["screened"] = [any(j in skipped for j in target.variables) for target in spec.targets]
        said.append(
            f"{len(skipped)} features were screened: their upper bound, below the noise, is no least one."
        )
    said += certificate_notes(spec, ranges, norm)
    return Fitted(
        design,
        options,
        tuning,
        spec,
        solution,
        norm,
        delta,
        (polytope,),
        ranges,
        populations,
        intervals,
        table,
        tuple(said),
        help,
    )


def screened(
    spec: Spec,
    polytope: Polytope,
    solution: Solution,
    norm: float,
    intervals: Mapping[str, tuple[Interval, Interval]],
    options: Options,
) -> dict[int, float]:
    """Return upper bounds of the variables that need no linear program: even these lie below the noise.

    Worked out on request (``screen=True``), or when there are very many features; only for models without
    correcting functions, where a feature is one variable.
    """
    wanted = options.screen if options.screen is not None else len(spec.targets) > MANY
    if not wanted or spec.functions:
        return {}
    bound = screen(polytope, solution)
    found = {}
    for target in spec.targets:
        _, greatest = intervals.get(f"{target.part}: {target.term}", intervals[target.part])
        (j,) = target.variables
        if bound[j] / norm <= greatest.upper:
            found[j] = float(bound[j])
    return found


def intervals_of(population: Population, options: Options) -> tuple[Interval, Interval]:
    """Return the prediction intervals of the least and of the greatest relevance of noise."""
    return (
        prediction_interval(population.lower, options.level, options.interval),
        prediction_interval(
            population.upper, options.level, options.interval, population.ends, population.independent
        ),
    )


def make_table(
    spec: Spec,
    v: FloatArray,
    ranges: Ranges,
    norm: float,
    intervals: Mapping[str, tuple[Interval, Interval]],
) -> pd.DataFrame:
    """Return the table of features: weights, bounds, p-values and classes, in units of the baseline's norm."""
    records = []
    position = 0
    for target in spec.targets:
        here = slice(position, position + len(target.variables))
        position = here.stop
        lower, upper = ranges.lower[here] / norm, ranges.upper[here] / norm
        least, greatest = relevance(lower, upper)
        widest = int(np.argmax(greatest))
        records.append(
            {
                "feature": target.name,
                "part": target.part,
                "term": target.term,
                "weight": v[target.variables[widest]] / norm,
                "lower": least.max(),
                "upper": greatest.max(),
                # over all functions of a privileged feature: it has a direction only where they agree
                "signed_lower": lower.min(),
                "signed_upper": upper.max(),
            }
        )
    return judge(pd.DataFrame.from_records(records).set_index("feature"), intervals)


def judge(table: pd.DataFrame, intervals: Mapping[str, tuple[Interval, Interval]]) -> pd.DataFrame:
    """Return a table of bounds with its p-values, classes and directions."""
    table = table.copy()
    low, high = table["lower"].to_numpy(), table["upper"].to_numpy()
    p = np.ones(len(table))
    classes = np.full(len(table), "irrelevant", dtype=object)
    for name, (least, greatest) in intervals.items():
        # a term with several columns has noise of its own, which takes the place of its part's
        here = ((table["part"] == name) | (table["part"] + ": " + table["term"] == name)).to_numpy()
        p[here] = tail_probability(high[here], greatest)
        classes[here] = classify(low[here], high[here], least, greatest)
    table["p_noise"] = p
    from scipy.stats import false_discovery_control  # slow to load

    table["p_adjusted"] = false_discovery_control(p)
    table["relevance"] = classes
    table["direction"] = np.where(
        table["signed_lower"] > ZERO, "+", np.where(table["signed_upper"] < -ZERO, "-", "?")
    )
    return table


def joint_terms(spec: Spec) -> list[tuple[str, str]]:
    """Return the terms with several columns, and their parts."""
    counts = Counter((target.part, target.term) for target in spec.targets)
    return [key for key, count in counts.items() if count > 1]


def probe_notes(populations: Mapping[str, Population], options: Options) -> list[str]:
    """Say what a reader must know of the probes; warn when there are too few."""
    notes = []
    for part, population in populations.items():
        feasible = len(population.upper)
        if part not in PARTS:
            # a term that every equivalent model needs has no noise to be compared with
            continue
        if feasible < 2:
            found = population.draws - population.infeasible
            some = f"Only {found}" if found else "None"
            text = (
                f"{some} of {population.draws} permuted {part} features left an equivalent model: "
                "every informative feature is indispensable, and anything above zero counts as relevant."
            )
            warnings.warn(text, RelboundsWarning, stacklevel=2)
            notes.append(text)
        elif feasible < options.probes:
            notes.append(
                f"The noise threshold of the {part} features rests on {feasible} feasible probes of "
                f"{population.draws} drawn ({options.probes} were wanted)."
            )
    return notes


def certificate_notes(spec: Spec, ranges: Ranges, norm: float) -> list[str]:
    """Warn, by name, of every bound whose certified gap exceeds the promised accuracy."""
    owners = [target.name for target in spec.targets for _ in target.variables]
    gaps = np.where(ranges.feasible, ranges.gap / norm, np.inf)
    wide = list(dict.fromkeys(owners[i] for i in np.flatnonzero(~(gaps <= ZERO))))
    if not wide:
        return []
    names = ", ".join(wide[:10]) + (f" and {len(wide) - 10} more" if len(wide) > 10 else "")
    text = (
        f"The bounds of {names} are certified only to {np.max(gaps):.1e} of the norm; "
        "another solver or a larger delta may settle them."
    )
    warnings.warn(text, RelboundsWarning, stacklevel=2)
    return [text]
