"""Choose C, gamma and kappa of models with privileged features; folds predict without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.design import Design
from relbounds.linear.model import FloatArray, Setting, Spec, build
from relbounds.linear.privileged.held_out import Trials, fit_held_out
from relbounds.linear.privileged.models import build_slack, teacher_design, teacher_slacks, teacher_weights
from relbounds.linear.tuning import METRICS, Score, Tuning, choose, make_folds, score_of, subsample, tune
from relbounds.options import Options
from relbounds.parallel import run
from relbounds.progress import stage
from relbounds.solver.optimum import fit_folds

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


@dataclass(frozen=True)
class _Folds:
    """Rows dealt into folds, what share of the data they are, and how a fold is scored."""

    design: Design
    fold: NDArray[np.intp]
    rate: float
    score: Score


def tune_slack(design: Design, options: Options) -> Compared:
    """Choose C, gamma and kappa of the model whose slacks are functions of the privileged features."""
    name, score, larger = METRICS[design.family]
    plain = _plain(design, options)
    small, rate, notes = subsample(design, options.seed)
    fold, fold_notes = make_folds(small, options.cv, options.seed)
    folds = _Folds(small, fold, rate, score)
    base = replace(plain.setting, slack=True, correcting=options.correcting)
    gammas = _listed(options.gamma, GAMMAS)
    residuals = RESIDUALS if options.residual == "auto" else (float(options.residual),)
    grid = np.unique(_own(plain)["C"])
    tuned = options.C is None
    tried: list[pd.DataFrame] = []

    # coarse: the middle gamma, every kappa, every other C
    middle = gammas[len(gammas) // 2]
    settings = [replace(base, gamma=middle, residual=kappa) for kappa in residuals]
    asked = [setting for setting in settings if setting.residual > 1.0]
    if asked:
        tried.append(_try(folds, asked, grid[::2] if tuned else grid, options))
    if len(asked) < len(settings):
        # at a price of 1 privileged features are idle: that is the plain model, and it has been scored
        tried.append(_plain_scores(plain, middle))
    best = _best(tried, options, larger)
    # then the other gammas, and last the values of C beside the best
    idle = best["residual"] <= 1.0
    others = [replace(base, gamma=g, residual=float(best["residual"])) for g in gammas if g != middle]
    if others and not idle:
        near = _near(grid, float(best["C"]), 2) if tuned else grid
        tried.append(_try(folds, others, near, options))
        best = _best(tried, options, larger)
    if tuned and not idle:
        setting = replace(base, gamma=float(best["gamma"]), residual=float(best["residual"]))
        beside = [C for C in _near(grid, float(best["C"]), 1) if best["C"] != C]
        tried.append(_try(folds, [setting], np.array(beside), options))
        best = _best(tried, options, larger)
    table = pd.concat(tried, ignore_index=True).sort_values(["residual", "gamma", "C"], ignore_index=True)
    setting = replace(base, gamma=float(best["gamma"]), residual=float(best["residual"]))
    fixed = len(table) == 1
    tuning = Tuning(
        C=float(best["C"]),
        setting=setting,
        metric=name,
        score=float(best["mean"]),
        table=table,
        folds=int(fold.max()) + 1,
        rule="fixed" if fixed else options.rule,
        notes=notes + fold_notes,
    )
    return Compared(tuning, float(plain.score or 0.0), float(best["se"]))


def tune_teacher(design: Design, teacher: Tuning | None, weights: FloatArray, options: Options) -> Compared:
    """Choose C of a student; each fold has a teacher of its own that never saw the rows held out.

    Parameters
    ----------
    design : Design
        The student's data, with case weights of their own.
    teacher : Tuning or None
        The teacher's C and setting; None where it is not listened to.
    weights : array
        The weights the teacher gives on all rows.
    """
    name, score, larger = METRICS[design.family]
    plain = _plain(design, options)
    small, rate, notes = subsample(design, options.seed)
    fold, fold_notes = make_folds(small, options.cv, options.seed)
    numbers = [f for f in range(fold.max() + 1) if np.any(fold == f)]
    grid = np.unique(_own(plain)["C"])
    spec = build(small, plain.setting)
    # C prices one row of full weight: a fold that carries less weight in all needs a larger one
    total = float((design.weights * weights).sum())
    prices = []
    for own in _lessons(small, teacher, fold, numbers, rate):
        share = float((small.weights * own).sum()) / total
        prices.append(spec.model.c * own[spec.rows.sample] / share)
    with stage("tuning, student", 1, options.progress) as done:
        paths = fit_folds(spec.model, grid.tolist(), np.array(prices))
        done(1)
    scores = np.array(
        [
            [score_of(spec, solution.v, small, fold == f, score) for solution in path]
            for f, path in zip(numbers, paths, strict=True)
        ]
    )
    table = _frame(plain.setting, grid, scores).drop(columns=["gamma", "residual"])
    best = table.loc[choose(table, options.rule, larger)]
    tuning = Tuning(
        C=float(best["C"]),
        setting=plain.setting,
        metric=name,
        score=float(best["mean"]),
        table=table,
        folds=len(numbers),
        rule="fixed" if len(table) == 1 else options.rule,
        notes=notes + fold_notes,
    )
    return Compared(tuning, float(plain.score or 0.0), float(best["se"]))


def _lessons(
    design: Design, teacher: Tuning | None, fold: NDArray[np.intp], numbers: Sequence[int], rate: float
) -> list[FloatArray]:
    """Return the weights that each fold's own teacher gives; held-out rows have none."""
    if teacher is None:
        return [(fold != f).astype(float) for f in numbers]
    spec = build(teacher_design(design), teacher.setting)
    shares = np.array([rate * design.weights[fold != f].sum() / design.weights.sum() for f in numbers])
    trials = Trials(np.array(numbers), teacher.C / shares, np.ones(len(numbers)))
    return [
        teacher_weights(teacher_slacks(spec, v), design.family) * (fold != f)
        for f, v in zip(numbers, fit_held_out(spec, fold, trials, LESSON), strict=True)
    ]


def _plain(design: Design, options: Options) -> Tuning:
    """Tune the model without privileged features, scored by cross-validation even where C is fixed."""
    C = (float(options.C),) if isinstance(options.C, float | int) else options.C
    return tune(design, options.replace(C=C))


def _own(plain: Tuning) -> pd.DataFrame:
    """Return the path of C at the setting that was chosen."""
    return plain.table[plain.table["epsilon"] == plain.setting.epsilon]


def _plain_scores(plain: Tuning, gamma: float) -> pd.DataFrame:
    """Return the scores of the plain model as those of a residual price of 1."""
    return _own(plain).assign(gamma=gamma, residual=1.0)[["C", "gamma", "residual", "epsilon", "mean", "se"]]


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


def _try(folds: _Folds, settings: Sequence[Setting], grid: FloatArray, options: Options) -> pd.DataFrame:
    """Score every C of the grid under every setting."""
    # settings that differ in a finite price alone are one program at several prices
    programs = list(dict.fromkeys(_program(setting) for setting in settings))
    with stage("tuning", len(programs), options.progress) as done:
        found = run(
            _score_program,
            programs,
            shared=(folds, grid, tuple(settings)),
            n_jobs=options.n_jobs,
            client=options.client,
            progress=done,
        )
    scores = {setting: one for part in found for setting, one in part.items()}
    return pd.concat([_frame(setting, grid, scores[setting]) for setting in settings], ignore_index=True)


def _program(setting: Setting) -> Setting:
    """Return the setting whose program serves this one too, with another price of free slack."""
    return setting if np.isinf(setting.residual) else replace(setting, residual=1.0)


def _score_program(
    program: Setting, shared: tuple[_Folds, FloatArray, tuple[Setting, ...]]
) -> dict[Setting, FloatArray]:
    """Fit and score all settings that one program serves, every C and every fold of them in one run."""
    folds, grid, settings = shared
    own = [setting for setting in settings if _program(setting) == program]
    design, numbers = folds.design, [f for f in range(folds.fold.max() + 1) if np.any(folds.fold == f)]
    spec = build_slack(design, program)
    # C prices one row; with fewer rows the same balance of norm and loss needs a larger C
    total = design.weights.sum() / folds.rate
    shares = np.array([design.weights[folds.fold != f].sum() / total for f in numbers])
    prices = [1.0 if np.isinf(setting.residual) else setting.residual for setting in own]
    price, fold, C = (x.ravel() for x in np.meshgrid(prices, numbers, grid, indexing="ij"))
    C = (C.reshape(len(own), len(numbers), -1) / shares[:, None]).ravel()
    found = fit_held_out(spec, folds.fold, Trials(fold, C, price), ACCURACY)
    scores = [
        score_of(spec, _settled(spec, v), design, folds.fold == f, folds.score)
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
    out[: spec.n_features] = 0.0
    return out


def _frame(setting: Setting, grid: FloatArray, scores: FloatArray) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "C": grid,
            "gamma": setting.gamma,
            "residual": setting.residual,
            "epsilon": setting.epsilon,
            "mean": scores.mean(axis=0),
            "se": scores.std(axis=0, ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else 0.0,
        }
    )
