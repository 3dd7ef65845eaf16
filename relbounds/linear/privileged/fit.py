"""Fits with privileged features: as functions of the slack, or through a teacher."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from relbounds.design import Design
from relbounds.errors import OptionError, RelboundsWarning
from relbounds.linear.fit import Fitted, Help, finish, fit_plain, intervals_of, judge, make_table
from relbounds.linear.model import Spec, build
from relbounds.linear.noise.published import Population
from relbounds.linear.privileged.models import build_slack, teacher_design, teacher_slacks, teacher_weights
from relbounds.linear.privileged.tuning import USED, Compared, tune_slack, tune_teacher
from relbounds.linear.ranges import ZERO, equivalent_models, resolve_delta
from relbounds.linear.tuning import METRICS, NOTHING_HELPS, Tuning, choose, plain_settings
from relbounds.options import Options
from relbounds.solver.optimum import Solution, fit_baseline, fit_path
from relbounds.solver.polytope import Ranges


def fit_any(design: Design, options: Options) -> Fitted:
    """Fit a design the way its features and the options ask for."""
    if not design.Z.shape[1]:
        return fit_plain(design, options)
    return fit_teacher(design, options) if options.privileged == "teacher" else fit_slack(design, options)


def fit_slack(design: Design, options: Options) -> Fitted:
    """Fit the model whose slacks are functions of the privileged features."""
    compared, spec, solution = tuned_slack(design, options)
    used, norm = spec.used_by(solution.v), spec.norm_of(solution.v)
    tuning = compared.tuning
    collapsed = used <= max(ZERO * norm, USED)
    help = Help("slack", float(tuning.score or 0.0), compared.without, compared.error, collapsed)
    notes = [comparison(compared, design.family)]
    if tuning.setting.residual <= 1.0:
        notes.append(
            "At a residual price of 1 privileged features are idle: slack is sold as cheaply without them."
        )
    if collapsed:
        notes.append(collapse_note(tuning.C, np.isinf(tuning.setting.residual)))
        warnings.warn(notes[-1], RelboundsWarning, stacklevel=2)
    if norm > ZERO:
        return finish(design, options, tuning, spec, solution, norm, notes, help)

    # No norm at all: with a budget of its own the set is one point, and every interval is [0, 0].
    if options.tolerance == "joint":
        notes.append("The norm of the baseline is 0, so the bounds are in the units of the weights.")
        return finish(design, options, tuning, spec, solution, 1.0, notes, help)
    return _nothing(design, options, tuning, spec, solution, notes, help)


def _nothing(
    design: Design,
    options: Options,
    tuning: Tuning,
    spec: Spec,
    solution: Solution,
    notes: Sequence[str],
    help: Help | None,
) -> Fitted:
    """Return a fit that uses no feature and allows none: every interval is [0, 0]."""
    nothing = np.zeros(sum(len(target.variables) for target in spec.targets))
    ranges = Ranges(nothing, nothing, nothing, nothing == 0, ("none needed",) * len(nothing))
    empty = Population(np.zeros(options.probes), np.zeros(options.probes), 0, 0)
    populations = {target.part: empty for target in spec.targets}
    intervals = {part: intervals_of(empty, options) for part in populations}
    losses = spec.sample_losses(solution.v)
    delta = resolve_delta(options.delta, losses, float(losses.sum()))
    return Fitted(
        design,
        options,
        tuning,
        spec,
        solution,
        1.0,
        delta,
        (equivalent_models(spec.model, solution, delta, options.tolerance),),
        ranges,
        populations,
        intervals,
        make_table(spec, solution.v, ranges, 1.0, intervals),
        (*tuning.notes, *notes),
        help,
    )


def tuned_slack(design: Design, options: Options) -> tuple[Compared, Spec, Solution]:
    """Choose the numbers of the model with correcting functions and fit it to all rows."""
    compared = tune_slack(design, options)
    spec = build_slack(design, compared.tuning.setting)
    solution = fit_baseline(spec.model, compared.tuning.C)
    if options.C is None and spec.used_by(solution.v) <= USED:
        return _useful(design, compared, options) or (compared, spec, solution)
    return compared, spec, solution


def _useful(design: Design, compared: Compared, options: Options) -> tuple[Compared, Spec, Solution] | None:
    """Return the best choice at which the fit to all rows uses regular features; None where there is none.

    Folds lack some rows. A single one of these can be the row that no correcting function covers cheaply, so that
    the fit to all rows uses nothing where the folds were fine.
    """
    tuning = compared.tuning
    table = tuning.table
    found: list[tuple[int, Spec, Solution]] = []
    for gamma, rows in table[table["residual"] == tuning.setting.residual].groupby("gamma"):
        setting = replace(tuning.setting, gamma=float(gamma))
        spec = build_slack(design, setting)
        for row, solution in zip(rows.index, fit_path(spec.model, rows["C"].tolist()), strict=True):
            if spec.used_by(solution.v) > USED:
                found.append((int(row), spec, solution))
    if not found:
        return None
    best = choose(table.loc[[row for row, _, _ in found]], options.rule, METRICS[design.family][2])
    row, spec, solution = next(one for one in found if one[0] == best)
    chosen = table.loc[row]
    note = (
        f"C={chosen['C']:.4g} is the best at which the model uses regular features; cross-validation alone would take "
        f"C={tuning.C:.4g}, where the fit to all rows uses none."
    )
    setting = replace(tuning.setting, gamma=float(chosen["gamma"]))
    other = replace(
        tuning,
        C=float(chosen["C"]),
        setting=setting,
        score=float(chosen["mean"]),
        notes=(*tuning.notes, note),
    )
    return replace(compared, tuning=other, error=float(chosen["se"])), spec, solution


def fit_teacher(design: Design, options: Options) -> Fitted:
    """Fit a plain model on the privileged features, and a student on rows weighed by it."""
    teacher = _fit_on_privileged(design, options)
    able = teacher.tuning.score is not None and is_able(teacher.tuning.score, design.y, design.family)
    slacks = teacher_slacks(teacher.spec, teacher.solution.v)
    weights = teacher_weights(slacks, design.family) if able else np.ones(len(slacks))
    compared = tune_teacher(design, teacher.tuning if able else None, weights, options)
    tuning = compared.tuning
    taught = replace(design, weights=design.weights * weights)
    spec = build(taught, tuning.setting)
    solution = fit_baseline(spec.model, tuning.C)
    used = spec.used_by(solution.v)
    collapsed = used <= ZERO
    help = Help("teacher", float(tuning.score or 0.0), compared.without, compared.error, collapsed, teacher)
    lessened = int(np.sum(weights < 1.0))
    notes = [
        comparison(compared, design.family),
        f"The teacher lowers the weight of {lessened} of {len(weights)} training rows; the bounds of "
        "privileged features are those of the teacher, as shares of its own norm.",
    ]
    if not able:
        notes.append(
            "The teacher predicts no better from the privileged features than one constant would, so it is not "
            "listened to: every row keeps its weight."
        )
    student = finish(taught, options, tuning, spec, solution, used if used > ZERO else 1.0, notes, help)
    table = pd.concat([student.table, teacher.table.assign(part="privileged")])
    intervals = {**student.intervals, **_as_privileged(teacher.intervals)}
    columns = ["part", "term", "weight", "lower", "upper", "signed_lower", "signed_upper"]
    said = (*student.notes, *(f"Teacher: {note}" for note in teacher.notes if note not in student.notes))
    return replace(
        student,
        design=design,
        populations={**student.populations, **_as_privileged(teacher.populations)},
        intervals=intervals,
        table=judge(table[columns], intervals),
        notes=said,
    )


def is_able(score: float | None, y: np.ndarray, family: str) -> bool:
    """Return whether a teacher's cross-validated score beats every constant prediction.

    Examples
    --------
    >>> y = np.array([1, 2, 3])
    >>> is_able(0.5, y, "ordinal"), is_able(1.1, y, "ordinal")
    (True, False)
    """
    _, measure, larger = METRICS[family]
    if score is None:
        return True
    if family == "regression":
        return score > 0.0
    constants = [measure(y, np.full(len(y), level)) for level in np.unique(y)]
    return score > max(constants) if larger else score < min(constants)


def _fit_on_privileged(design: Design, options: Options) -> Fitted:
    """Fit the teacher; what it says of its regular features is a note on the privileged ones."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        teacher = _teacher(teacher_design(design), options.replace(C=None, epsilon=None))
    for one in caught:
        # a teacher with few features often needs all of them: worth a note, not an alarm
        if str(one.message) not in teacher.notes:
            warnings.warn(one.message, one.category, stacklevel=3)
    renamed = (note.replace("regular features", "privileged features") for note in teacher.notes)
    return replace(teacher, notes=tuple(renamed))


def _teacher(design: Design, options: Options) -> Fitted:
    """Fit a teacher; one that learns nothing at any C is no error, but has nothing to say."""
    try:
        return fit_plain(design, options)
    except OptionError as error:
        if str(error) != NOTHING_HELPS:
            raise
    setting = plain_settings(design, options)[0]
    spec = build(design, setting)
    solution = fit_baseline(spec.model, 1.0)
    tuning = Tuning(1.0, setting, METRICS[design.family][0], None, pd.DataFrame(), 0, "fixed", ())
    note = "A linear model learns nothing about the response from the privileged features at any C."
    return _nothing(design, options, tuning, spec, solution, [note], None)


def _as_privileged(named: Mapping[str, Any]) -> dict[str, Any]:
    """Rename what belongs to the teacher's features, which are the fit's privileged ones."""
    return {"privileged" + name.removeprefix("regular"): value for name, value in named.items()}


def comparison(compared: Compared, family: str) -> str:
    """Say what cross-validation thinks of the privileged features.

    Examples
    --------
    >>> from relbounds.linear.model import Setting
    >>> from relbounds.linear.tuning import Tuning
    >>> tuning = Tuning(1.0, Setting(), "MMAE", 0.21, pd.DataFrame(), 5, "best", ())
    >>> comparison(Compared(tuning, 0.27, 0.02), "ordinal")
    'CV MMAE 0.210 with privileged features, 0.270 without.'
    """
    name, _, larger = METRICS[family]
    score = float(compared.tuning.score or 0.0)
    gain = score - compared.without if larger else compared.without - score
    text = f"CV {name} {score:.3f} with privileged features, {compared.without:.3f} without"
    if gain <= 1e-9:
        return f"{text}: they do not help prediction here."
    if gain < compared.error:
        return f"{text}: less than a standard error apart, so they hardly help prediction here."
    return f"{text}."


def collapse_note(C: float, published: bool) -> str:
    """Say that the model uses no regular feature, and what to do about it.

    Examples
    --------
    >>> collapse_note(0.1, True)[:60]
    'The privileged model uses no regular feature at C=0.1: one c'
    """
    finite = "a finite price for unexplained slack (residual=3, or residual='auto' to tune it)"
    remedies = ["a larger C", finite if published else "a lower residual", "privileged='teacher'"]
    return (
        f"The privileged model uses no regular feature at C={C:.4g}: one constant slack for all rows is cheaper "
        "than any correcting function that covers the worst row. Every prediction is the same. "
        f"Try {remedies[0]}, {remedies[1]} or {remedies[2]}."
    )
