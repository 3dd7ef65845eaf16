"""Choose C, gamma and kappa of models with privileged features; folds predict without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from relbounds.design import Design
from relbounds.linear.families import family_of
from relbounds.linear.families.rows import FloatArray, ModelKind
from relbounds.linear.model import Spec, build
from relbounds.linear.privileged.held_out import Trials, fit_held_out
from relbounds.linear.privileged.models import build_slack, teacher_weights
from relbounds.linear.tuning import Dealt, HeldOut, Tuning, choose, deal, score_on, tune
from relbounds.options import Options
from relbounds.parallel import run
from relbounds.progress import stage
from relbounds.solver.copies import copies
from relbounds.solver.model import make_model
from relbounds.solver.optimum import fit_folds, fit_weighted

# Weights of the privileged features' norm to choose from, beside 1.
GAMMAS = (0.1, 1.0, 10.0)
# Prices of slack that privileged features do not explain: infinity is published, 1 makes them idle. Ties go to the
# first, so that privileged features are idle only where that predicts better.
RESIDUALS = (np.inf, 4.0, 2.0, 1.5, 1.25, 1.1, 1.0)

# The loss of these models is mostly one that no choice of weights changes, so it must be known well.
ACCURACY = 1e-7
# Slacks in a teacher need no more than this.
LESSON = 1e-4
# Weights are 0 when their norm is below this; margins are 1 and features standardised, so useful ones are not.
USED = 1e-4


@dataclass(frozen=True)
class Compared:
    """A choice with privileged features, and the plain model's cross-validated score beside it."""

    tuning: Tuning
    without: float
    error: float


def tune_slack(design: Design, options: Options, plain: Tuning) -> Compared:
    """Choose C, gamma and kappa of the model whose slacks are functions of the privileged features.

    Parameters
    ----------
    design, options
    plain : Tuning
        The model without privileged features, scored by cross-validation (:func:`tuned_plain`).
    """
    metric = family_of(design.family).metric
    dealt = _without_copies(deal(design, options))
    base = replace(plain.kind, slack=True, correcting=options.correcting)
    gammas = _listed(options.gamma, GAMMAS)
    residuals = RESIDUALS if options.residual == "auto" else (float(options.residual),)
    grid = np.array(plain.path)
    tuned = options.C is None
    tried: list[pd.DataFrame] = []

    # coarse: the middle gamma, every kappa, every other C
    middle = gammas[len(gammas) // 2]
    kinds = [replace(base, gamma=middle, residual=kappa) for kappa in residuals]
    asked = [kind for kind in kinds if kind.residual > 1.0]
    if asked:
        tried.append(_try(dealt, asked, grid[::2] if tuned else grid, options))
    if len(asked) < len(kinds):
        # at a price of 1 privileged features are idle: that is the plain model, and it has been scored
        tried.append(_plain_scores(plain, middle))
    best = _best(tried, options, metric.larger)
    # then the other gammas, and last the values of C beside the best
    idle = best["residual"] <= 1.0
    others = [replace(base, gamma=g, residual=float(best["residual"])) for g in gammas if g != middle]
    if others and not idle:
        near = _near(grid, float(best["C"]), 2) if tuned else grid
        tried.append(_try(dealt, others, near, options))
        best = _best(tried, options, metric.larger)
    if tuned and not idle:
        kind = replace(base, gamma=float(best["gamma"]), residual=float(best["residual"]))
        beside = [C for C in _near(grid, float(best["C"]), 1) if best["C"] != C]
        tried.append(_try(dealt, [kind], np.array(beside), options))
        best = _best(tried, options, metric.larger)
    table = pd.concat(tried, ignore_index=True).sort_values(["residual", "gamma", "C"], ignore_index=True)
    kind = replace(base, gamma=float(best["gamma"]), residual=float(best["residual"]))
    tuning = Tuning(
        C=float(best["C"]),
        kind=kind,
        metric=metric.name,
        score=float(best["mean"]),
        table=table,
        folds=int(dealt.fold.max()) + 1,
        rule="fixed" if len(table) == 1 else options.rule,
        notes=dealt.notes,
    )
    return Compared(tuning, float(plain.score or 0.0), float(best["se"]))


def _without_copies(dealt: Dealt) -> Dealt:
    """Return the same with one of several equal privileged features: no best model is better with more of them."""
    Z = dealt.design.Z
    first, _ = copies(make_model(Z, np.zeros(len(Z)), np.zeros(len(Z)), np.ones(Z.shape[1])))
    return replace(dealt, design=replace(dealt.design, Z=Z[:, np.unique(first)]))


@dataclass(frozen=True)
class Lesson:
    """What a teacher says: how it was tuned and its variables (None where it is not listened to), and rows' weights."""

    teacher: tuple[Tuning, FloatArray] | None
    weights: FloatArray


def tune_student(design: Design, lesson: Lesson, options: Options, plain: Tuning) -> Compared:
    """Choose C of a student; each fold has a teacher of its own that never saw the rows held out."""
    metric = family_of(design.family).metric
    dealt = deal(design, options)
    small, numbers = dealt.design, dealt.numbers
    grid = np.array(plain.path)
    spec = build(small, plain.kind)
    # C prices one row of full weight: a fold that carries less weight in all needs a larger one
    total = float((design.weights * lesson.weights).sum())
    prices = []
    for own in _lessons(dealt, lesson.teacher):
        prices.append(spec.prices(own / (float((small.weights * own).sum()) / total)))
    with stage("tuning, student", 1, options.progress) as done:
        paths = fit_folds(spec.model, grid.tolist(), np.array(prices))
        done(1)
    scores = np.empty((len(numbers), len(grid)))
    held = np.full((len(grid), len(small.y), spec.sizes.classes), np.nan)
    for i, (f, path) in enumerate(zip(numbers, paths, strict=True)):
        rows = np.flatnonzero(dealt.fold == f)
        for j, v in enumerate(path):
            scores[i, j], held[j, rows] = score_on(spec, v, small, rows, metric)
    table = _frame(plain.kind, grid, scores).drop(columns=["gamma", "residual"])
    row = choose(table, options.rule, metric.larger)
    best = table.loc[row]
    known = dealt.fold >= 0
    tuning = Tuning(
        C=float(best["C"]),
        kind=plain.kind,
        metric=metric.name,
        score=float(best["mean"]),
        table=table,
        folds=len(numbers),
        rule="fixed" if len(table) == 1 else options.rule,
        notes=dealt.notes,
        held_out=HeldOut(dealt.rows[known], held[row][known]),
    )
    return Compared(tuning, float(plain.score or 0.0), float(best["se"]))


def _lessons(dealt: Dealt, teacher: tuple[Tuning, FloatArray] | None) -> list[FloatArray]:
    """Return the weights that each fold's own teacher gives; held-out rows have none."""
    design, numbers = dealt.design, dealt.numbers
    left = np.array([dealt.fold != f for f in numbers])
    if teacher is None:
        return list(left.astype(float))
    tuning, best = teacher
    spec = build(design.privileged_design(), tuning.kind, merged=False)
    # C prices one row; with fewer rows the same balance of norm and loss needs a larger C
    shares = dealt.rate * (left @ design.weights) / design.weights.sum()
    prices = spec.model.c * left[:, spec.rows.sample]
    models = fit_weighted(spec.model, tuning.C / shares, prices, LESSON, near=best)
    return [teacher_weights(spec.slacks(v), design.family) * own for v, own in zip(models, left, strict=True)]


def tuned_plain(design: Design, options: Options) -> Tuning:
    """Tune the model without privileged features, scored by cross-validation even where C is fixed."""
    C = (float(options.C),) if isinstance(options.C, float | int) else options.C
    return tune(design, options.replace(C=C))


def own_path(plain: Tuning) -> pd.DataFrame:
    """Return the path of C of the kind that was chosen."""
    table = plain.table
    return table[(table["epsilon"] == plain.kind.epsilon) & (table["order"] == plain.kind.order)]


def _plain_scores(plain: Tuning, gamma: float) -> pd.DataFrame:
    """Return the scores of the plain model as those of a residual price of 1."""
    columns = ["C", "gamma", "residual", "order", "epsilon", "mean", "se"]
    return own_path(plain).assign(gamma=gamma, residual=1.0)[columns]


def _listed(value: float | Sequence[float] | None, default: tuple[float, ...]) -> tuple[float, ...]:
    if value is None:
        return default
    return tuple(float(v) for v in value) if isinstance(value, Sequence) else (float(value),)


def _near(grid: FloatArray, C: float, step: int) -> FloatArray:
    """Return C and its neighbours `step` places away on the grid."""
    place = int(np.argmin(np.abs(np.log(grid / C))))
    return grid[[k for k in (place - step, place, place + step) if 0 <= k < len(grid)]]


def _best(tried: Sequence[pd.DataFrame], options: Options, larger: bool) -> pd.Series:
    table = pd.concat(tried, ignore_index=True)
    return table.loc[choose(table, options.rule, larger)]


def _try(dealt: Dealt, kinds: Sequence[ModelKind], grid: FloatArray, options: Options) -> pd.DataFrame:
    """Score every C of the grid under every kind."""
    # kinds that differ in a finite price alone are one program at several prices
    programs = list(dict.fromkeys(_program(kind) for kind in kinds))
    with stage("tuning", len(programs), options.progress) as done:
        found = run(
            _score_program,
            programs,
            shared=(dealt, grid, tuple(kinds)),
            n_jobs=options.n_jobs,
            client=options.client,
            progress=done,
        )
    scores = {kind: one for part in found for kind, one in part.items()}
    return pd.concat([_frame(kind, grid, scores[kind]) for kind in kinds], ignore_index=True)


def _program(kind: ModelKind) -> ModelKind:
    """Return the kind whose program serves this one too, with another price of free slack."""
    return kind if np.isinf(kind.residual) else replace(kind, residual=1.0)


def _score_program(
    program: ModelKind, shared: tuple[Dealt, FloatArray, tuple[ModelKind, ...]]
) -> dict[ModelKind, FloatArray]:
    """Fit and score all kinds that one program serves, every C and every fold of them in one run."""
    dealt, grid, kinds = shared
    own = [kind for kind in kinds if _program(kind) == program]
    design, numbers = dealt.design, dealt.numbers
    metric = family_of(design.family).metric
    spec = build_slack(design, program, merged=False)
    # C prices one row; with fewer rows the same balance of norm and loss needs a larger C
    total = design.weights.sum() / dealt.rate
    shares = np.array([design.weights[dealt.fold != f].sum() / total for f in numbers])
    prices = [1.0 if np.isinf(kind.residual) else kind.residual for kind in own]
    price, fold, C = (x.ravel() for x in np.meshgrid(prices, numbers, grid, indexing="ij"))
    C = (C.reshape(len(own), len(numbers), -1) / shares[:, None]).ravel()
    found = fit_held_out(spec, dealt.fold, Trials(fold, C, price), ACCURACY)
    scores = [
        score_on(spec, _settled(spec, v), design, np.flatnonzero(dealt.fold == f), metric)[0]
        for v, f in zip(found, fold, strict=True)
    ]
    each = np.reshape(scores, (len(own), len(numbers), -1))
    return dict(zip(own, each, strict=True))


def _settled(spec: Spec, v: FloatArray) -> FloatArray:
    """Return the variables with weights that are 0 but for the accuracy of the solution set to 0.

    Where the model uses no feature, what is left of the weights still points the right way: their predictions would
    be too good to be true.
    """
    if spec.used_by(v) > USED:
        return v
    out = v.copy()
    out[: spec.sizes.weights] = 0.0
    return out


def _frame(kind: ModelKind, grid: FloatArray, scores: FloatArray) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "C": grid,
            "gamma": kind.gamma,
            "residual": kind.residual,
            "order": kind.order,
            "epsilon": kind.epsilon,
            "mean": scores.mean(axis=0),
            "se": scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else 0.0,
        }
    )
