"""Fits with privileged features: as functions of the slack, through a teacher, or not at all."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from relbounds.design import Design
from relbounds.errors import RelboundsWarning
from relbounds.linear.asked import Asked
from relbounds.linear.families import family_of
from relbounds.linear.families.family import Prediction
from relbounds.linear.fit import Best, complete, fit_plain, nothing_found
from relbounds.linear.fitted import Fitted, Help
from relbounds.linear.model import Spec, answers_of, build
from relbounds.linear.noise.facts import NoiseKey
from relbounds.linear.privileged.models import build_slack, teacher_weights
from relbounds.linear.privileged.tuning import (
    USED,
    Compared,
    Lesson,
    tune_slack,
    tune_student,
    tuned_plain,
)
from relbounds.linear.ranges import ZERO, Measured
from relbounds.linear.tuning import SAME_SCORE, Tuning, choose
from relbounds.options import Options
from relbounds.solver.optimum import Solution, fit_baseline, fit_path


def fit_any(design: Design, options: Options) -> Fitted:
    """Fit a design the way its features and the options ask for."""
    if not design.Z.shape[1]:
        return fit_plain(design, options)
    plain = tuned_plain(design, options)
    if plain.useless:
        return fit_plain(design, options)
    if options.privileged == "teacher":
        return fit_teacher(design, options, plain)
    # numbers that only the slack model has say that it is meant
    asked = options.gamma is not None or options.residual != np.inf
    if options.privileged == "slack" or asked:
        return fit_slack(design, options, plain)
    return fit_best_way(design, options, plain)


@dataclass(frozen=True)
class Way:
    """One way to use privileged features: its cross-validated score, and how to fit it."""

    name: str
    score: float
    fit: Callable[[], Fitted]


def fit_best_way(design: Design, options: Options, plain: Tuning) -> Fitted:
    """Try every way, none included, and fit the one with the best cross-validated score; ties go to the first."""
    slack = options.replace(privileged="slack", residual=np.inf)
    tuned = options.replace(privileged="slack", residual="auto")
    taught = options.replace(privileged="teacher")
    ways = [Way("none", float(plain.score or 0.0), lambda: _without(design, options, plain))]
    for name, own in (("slack", slack), ("slack, tuned residual", tuned)):
        compared, spec, solution = tuned_slack(design, own, plain)
        if spec.used_by(solution.v) > USED:
            found = (compared, spec, solution)
            ways.append(
                Way(name, _score(compared), lambda own=own, found=found: fit_slack(design, own, plain, found))  # type: ignore[misc]
            )
    student = teach(design, taught, plain)
    ways.append(Way("teacher", _score(student.compared), lambda: fit_teacher(design, taught, plain, student)))
    larger = family_of(design.family).metric.larger
    best = ways[0]
    for way in ways[1:]:
        gain = way.score - best.score if larger else best.score - way.score
        if gain > SAME_SCORE * max(1.0, abs(best.score)):
            best = way
    fitted = best.fit()
    tried = {way.name: way.score for way in ways}
    shown = ", ".join(f"{name} {score:.3f}" for name, score in tried.items())
    note = (
        f"Ways to use privileged features, by cross-validated {plain.metric}: {shown}. Chosen: {best.name}."
    )
    assert fitted.privileged is not None
    return replace(
        fitted,
        options=options,
        privileged=replace(fitted.privileged, tried=tried),
        notes=(note, *fitted.notes),
    )


def _score(compared: Compared) -> float:
    return float(compared.tuning.score or 0.0)


def _without(design: Design, options: Options, plain: Tuning) -> Fitted:
    """Fit without privileged features, which no way of using them improves on."""
    spec = build(design, plain.kind)
    solution = fit_baseline(spec.model, plain.C)
    norm = spec.used_by(solution.v)
    score = float(plain.score or 0.0)
    help = Help("none", score, score, 0.0)
    best = Best(design, options, plain, spec, solution, norm if norm > 0 else 1.0)
    note = "Privileged features are left out: no way of using them predicts better than a model without them."
    return complete(best, [note], help) if norm > ZERO else nothing_found(best, [note], help)


Tuned = tuple[Compared, Spec, Solution]


def fit_slack(design: Design, options: Options, plain: Tuning, tuned: Tuned | None = None) -> Fitted:
    """Fit the model whose slacks are functions of the privileged features."""
    compared, spec, solution = tuned or tuned_slack(design, options, plain)
    used, norm = spec.used_by(solution.v), spec.norm_of(solution.v)
    tuning = compared.tuning
    collapsed = used <= max(ZERO * norm, USED)
    help = Help("slack", float(tuning.score or 0.0), compared.without, compared.error, collapsed)
    notes = [comparison(compared, design.family)]
    if tuning.kind.residual <= 1.0:
        notes.append(
            "At a residual price of 1 privileged features are idle: slack is sold as cheaply without them."
        )
    if collapsed:
        notes.append(collapse_note(tuning.C, np.isinf(tuning.kind.residual)))
        warnings.warn(notes[-1], RelboundsWarning, stacklevel=2)
    if norm > ZERO:
        return complete(Best(design, options, tuning, spec, solution, norm), notes, help)

    # No norm at all: with a budget of its own the set is one point, and every interval is [0, 0].
    if options.tolerance == "joint":
        notes.append("The norm of the baseline is 0, so the bounds are in the units of the weights.")
        return complete(Best(design, options, tuning, spec, solution, 1.0), notes, help)
    return nothing_found(Best(design, options, tuning, spec, solution, 1.0), notes, help)


def tuned_slack(design: Design, options: Options, plain: Tuning) -> Tuned:
    """Choose the numbers of the model with correcting functions and fit it to all rows."""
    compared = tune_slack(design, options, plain)
    spec = build_slack(design, compared.tuning.kind)
    solution = fit_baseline(spec.model, compared.tuning.C)
    if options.C is None and spec.used_by(solution.v) <= USED:
        return _useful(design, compared, options) or (compared, spec, solution)
    return compared, spec, solution


def _useful(design: Design, compared: Compared, options: Options) -> Tuned | None:
    """Return the best choice at which the fit to all rows uses regular features; None where there is none.

    Folds lack some rows. A single one of these can be the row that no correcting function covers cheaply, so that
    the fit to all rows uses nothing where the folds were fine.
    """
    tuning = compared.tuning
    table = tuning.table
    found: list[tuple[int, Spec, Solution]] = []
    for gamma, rows in table[table["residual"] == tuning.kind.residual].groupby("gamma"):
        kind = replace(tuning.kind, gamma=float(gamma))
        spec = build_slack(design, kind)
        for row, solution in zip(rows.index, fit_path(spec.model, rows["C"].tolist()), strict=True):
            if spec.used_by(solution.v) > USED:
                found.append((int(row), spec, solution))
    if not found:
        return None
    larger = family_of(design.family).metric.larger
    best = choose(table.loc[[row for row, _, _ in found]], options.rule, larger)
    row, spec, solution = next(one for one in found if one[0] == best)
    chosen = table.loc[row]
    note = (
        f"C={chosen['C']:.4g} is the best at which the model uses regular features; cross-validation alone would take "
        f"C={tuning.C:.4g}, where the fit to all rows uses none."
    )
    other = replace(
        tuning,
        C=float(chosen["C"]),
        kind=replace(tuning.kind, gamma=float(chosen["gamma"])),
        score=float(chosen["mean"]),
        notes=(*tuning.notes, note),
    )
    return Compared(other, compared.without, float(chosen["se"])), spec, solution


@dataclass(frozen=True)
class Student:
    """A teacher, whether it is listened to, the weights it gives, and how its student was tuned."""

    teacher: Fitted
    able: bool
    weights: np.ndarray
    compared: Compared


def teach(design: Design, options: Options, plain: Tuning) -> Student:
    """Fit the teacher and tune the student."""
    teacher = _fit_on_privileged(design, options)
    able = not teacher.no_relation and is_able(teacher.tuning.score, design)
    slacks = teacher.spec.slacks(teacher.solution.v)
    weights = teacher_weights(slacks, design.family) if able else np.ones(len(slacks))
    lesson = Lesson((teacher.tuning, teacher.solution.v) if able else None, weights)
    return Student(teacher, able, weights, tune_student(design, lesson, options, plain))


def fit_teacher(design: Design, options: Options, plain: Tuning, taught: Student | None = None) -> Fitted:
    """Fit the student of a teacher that knows the privileged features."""
    student = taught or teach(design, options, plain)
    teacher, weights, tuning = student.teacher, student.weights, student.compared.tuning
    own = replace(design, weights=design.weights * weights)
    spec = build(own, tuning.kind)
    solution = fit_baseline(spec.model, tuning.C)
    used = spec.used_by(solution.v)
    compared = student.compared
    help = Help(
        "teacher", float(tuning.score or 0.0), compared.without, compared.error, used <= ZERO, teacher
    )
    notes = [
        comparison(compared, design.family),
        f"The teacher lowers the weight of {int(np.sum(weights < 1.0))} of {len(weights)} training rows; the bounds "
        "of privileged features are those of the teacher, as shares of its own norm.",
    ]
    if not student.able:
        notes.append(
            "The teacher predicts no better from the privileged features than one constant would, so it is not "
            "listened to: every row keeps its weight."
        )
    best = Best(own, options, tuning, spec, solution, used if used > ZERO else 1.0)
    fitted = complete(best, notes, help) if used > ZERO else nothing_found(best, notes, help)
    return _joined(replace(fitted, design=design), teacher)


def _joined(student: Fitted, teacher: Fitted) -> Fitted:
    """Return the student with the teacher's rows, those of the privileged features, in its table."""
    theirs = [i for i, row in enumerate(teacher.asked) if row.key.part == "regular"]
    table = teacher.table.iloc[theirs].assign(part="privileged")
    asked = tuple(_as_privileged(teacher.asked[i]) for i in theirs)
    intervals = {NoiseKey("privileged", key.term): pair for key, pair in teacher.noise.intervals.items()}
    populations = {NoiseKey("privileged", key.term): one for key, one in teacher.noise.populations.items()}
    noise = replace(
        student.noise,
        intervals={**student.noise.intervals, **intervals},
        populations={**student.noise.populations, **populations},
        own={
            **student.noise.own,
            **{key._replace(part="privileged"): p for key, p in teacher.noise.own.items()},
        },
    )
    said = (*student.notes, *(f"Teacher: {note}" for note in teacher.notes if note not in student.notes))
    scale = student.norm / teacher.norm
    return replace(
        student,
        asked=student.asked + asked,
        measured=_both(student.measured, teacher.measured, theirs, scale),
        noise=noise,
        table=pd.concat([student.table, table]),
        notes=said,
    )


def _as_privileged(row: Asked) -> Asked:
    return replace(row, key=row.key._replace(part="privileged"))


def _both(one: Measured, two: Measured, rows: list[int], scale: float) -> Measured:
    """Put the teacher's bounds behind the student's, in units in which the student's norm makes them shares."""

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(one, name), scale * getattr(two, name)[rows]])

    return Measured(
        joined("lower"),
        joined("upper"),
        joined("signed_lower"),
        joined("signed_upper"),
        joined("gap"),
        solver=one.solver + tuple(two.solver[i] for i in rows),
        at_most=np.concatenate([one.at_most, two.at_most[rows]]),
        # those of the student's own rows, which are what a what-if measures again
        extremes=one.extremes,
    )


def is_able(score: float | None, design: Design) -> bool:
    """Return whether a teacher's cross-validated score beats every constant prediction."""
    metric = family_of(design.family).metric
    if score is None:
        return True
    if design.levels is None:
        return score > 0.0
    if design.family == "survival":
        return score > 0.5
    answers, zeros = answers_of(design), np.zeros((len(design.y), 1))
    constants = [
        metric.measure(answers, Prediction(zeros, np.full(len(design.y), level)), design.weights)
        for level in np.unique(design.y)
    ]
    return score > max(constants) if metric.larger else score < min(constants)


def _fit_on_privileged(design: Design, options: Options) -> Fitted:
    """Fit the teacher; what it says of its regular features is a note on the privileged ones."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        teacher = fit_plain(design.privileged_design(), options.replace(C=None, epsilon=None))
    for one in caught:
        # a teacher with few features often needs all of them: worth a note, not an alarm
        if str(one.message) not in teacher.notes:
            warnings.warn(one.message, one.category, stacklevel=3)
    if teacher.no_relation:
        note = "A linear model learns nothing about the response from the privileged features at any C."
        return replace(teacher, notes=(note,))
    renamed = (note.replace("regular features", "privileged features") for note in teacher.notes)
    return replace(teacher, notes=tuple(renamed))


def comparison(compared: Compared, family: str) -> str:
    """Say what cross-validation thinks of the privileged features.

    Examples
    --------
    >>> from relbounds.linear.families.rows import ModelKind
    >>> tuning = Tuning(1.0, ModelKind(), "MMAE", 0.21, pd.DataFrame(), 5, "best", ())
    >>> comparison(Compared(tuning, 0.27, 0.02), "ordinal")
    'CV MMAE 0.210 with privileged features, 0.270 without.'
    """
    metric = family_of(family).metric
    score = float(compared.tuning.score or 0.0)
    gain = score - compared.without if metric.larger else compared.without - score
    text = f"CV {metric.name} {score:.3f} with privileged features, {compared.without:.3f} without"
    if gain <= SAME_SCORE:
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
