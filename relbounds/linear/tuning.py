"""Choose C (and epsilon) by stratified cross-validation along a path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.design import Design
from relbounds.errors import OptionError
from relbounds.linear.model import FloatArray, Setting, Spec, build, decide
from relbounds.metrics import f1_weighted, mmae, r2
from relbounds.options import Options
from relbounds.parallel import run
from relbounds.progress import stage
from relbounds.seeds import stream
from relbounds.solver.optimum import fit_folds, smallest_C

# The path of C in units of the smallest C at which any feature is used.
PATH = np.geomspace(1.5, 2e4, 14)
# The grid of epsilon in units of the response's standard deviation.
TUBES = (0.0, 0.1, 0.25, 0.5)
# Beyond this many rows, tuning uses a stratified subsample: C is a rate per row and carries over.
LARGEST_TUNED = 5000

NOTHING_HELPS = (
    "No feature is used at any C: no direction lowers the loss of the thresholds alone, so a linear model learns "
    "nothing about the response from these features. Where most rows have one level, weights= may help."
)

Score = Callable[[NDArray, NDArray], float]
METRICS: dict[str, tuple[str, Score, bool]] = {
    # family: (name, function, is a larger value better)
    "ordinal": ("MMAE", mmae, False),
    "binary": ("F1", f1_weighted, True),
    "regression": ("R2", r2, True),
}


@dataclass(frozen=True)
class Tuning:
    """What was chosen, and the cross-validated scores it was chosen by."""

    C: float
    setting: Setting
    metric: str
    score: float | None
    table: pd.DataFrame
    folds: int
    rule: str
    notes: tuple[str, ...]


def make_folds(design: Design, cv: int, seed: int) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Deal the rows into folds, level by level; returns each row's fold (-1: never held out) and notes.

    A level with fewer samples than folds lowers the number of folds; a level with a single sample stays in
    training in every fold.
    """
    rng = stream(seed, "folds")
    n = len(design.y)
    fold = np.full(n, -1, dtype=np.intp)
    notes: list[str] = []
    if design.levels is None:
        # regression: rows of similar response are dealt to different folds
        folds = min(cv, n)
        order = np.argsort(design.y, kind="stable")
        for start in range(0, n, folds):
            block = order[start : start + folds]
            fold[block] = rng.permutation(folds)[: len(block)]
        if folds < cv:
            notes.append(f"{folds} folds instead of {cv}: there are only {n} rows.")
        return fold, tuple(notes)
    counts = np.bincount(design.y.astype(int), minlength=len(design.levels) + 1)[1:]
    held_out = counts[counts > 1]
    folds = cv if len(held_out) == 0 else int(max(2, min(cv, held_out.min())))
    if folds < cv:
        smallest = design.levels[int(np.flatnonzero(counts == held_out.min())[0])]
        notes.append(f"{folds} folds instead of {cv}: level {smallest} has only {held_out.min()} samples.")
    for code, count in enumerate(counts, start=1):
        if count == 1:
            notes.append(f"Level {design.levels[code - 1]} has one sample, which is never held out.")
    start = 0
    for code in range(1, len(design.levels) + 1):
        members = rng.permutation(np.flatnonzero(design.y == code))
        if len(members) > 1:
            fold[members] = (start + np.arange(len(members))) % folds
            start = (start + len(members)) % folds
    return fold, tuple(notes)


def tune(design: Design, options: Options) -> Tuning:
    """Choose C and epsilon for a plain model; a number given by the user is taken as it is."""
    name, score, larger = METRICS[design.family]
    settings = plain_settings(design, options)
    if isinstance(options.C, float | int) and len(settings) == 1:
        return Tuning(float(options.C), settings[0], name, None, pd.DataFrame(), 0, "fixed", ())
    small, rate, notes = subsample(design, options.seed)
    fold, fold_notes = make_folds(small, options.cv, options.seed)
    grids = [grid_of_C(design, setting, options) for setting in settings]
    with stage("tuning", len(settings), options.progress) as done:
        scores = run(
            _score_paths,
            list(range(len(settings))),
            shared=(small, fold, settings, grids, rate, score),
            n_jobs=options.n_jobs,
            client=options.client,
            progress=done,
        )
    table = _tabulate(scores, settings, grids)
    row = choose(table, options.rule, larger)
    chosen = table.loc[row]
    return Tuning(
        C=float(chosen["C"]),
        setting=settings[int(chosen["setting"])],
        metric=name,
        score=float(chosen["mean"]),
        table=table.drop(columns="setting"),
        folds=len(scores[0]),
        rule=options.rule,
        notes=notes + fold_notes,
    )


def choose(table: pd.DataFrame, rule: str, larger: bool) -> int:
    """Return the row of the chosen C: the best mean score, or the smallest C within one standard error.

    Ties go to the smaller C, that is the sparser model.

    Examples
    --------
    >>> table = pd.DataFrame({"C": [0.1, 1.0, 10.0], "mean": [0.30, 0.22, 0.20], "se": [0.03, 0.03, 0.03]})
    >>> int(choose(table, "best", larger=False)), int(choose(table, "1se", larger=False))
    (2, 1)
    """
    loss = -table["mean"] if larger else table["mean"]
    best = loss.idxmin()
    limit = loss[best] + (table.loc[best, "se"] if rule == "1se" else 1e-9 * max(1.0, abs(loss[best])))
    return int(table.loc[loss <= limit, "C"].idxmin())


def plain_settings(design: Design, options: Options) -> list[Setting]:
    """Return the settings to choose from: one, and for regression one per width of the tube."""
    if design.family != "regression":
        return [Setting(order=options.order)]
    if options.epsilon is None:
        tubes: Sequence[float] = [tube * float(np.std(design.y)) for tube in TUBES]
    else:
        tubes = options.epsilon if isinstance(options.epsilon, Sequence) else [options.epsilon]
    return [Setting(order=options.order, epsilon=float(tube)) for tube in tubes]


def grid_of_C(design: Design, setting: Setting, options: Options) -> FloatArray:
    """Return the values of C to choose from, in ascending order."""
    if options.C is None:
        least = smallest_C(build(design, setting).model)
        if np.isinf(least) and design.family != "regression":
            raise OptionError(NOTHING_HELPS)
        return least * PATH
    return np.unique(np.asarray(options.C, dtype=float))


def subsample(design: Design, seed: int) -> tuple[Design, float, tuple[str, ...]]:
    """Return at most LARGEST_TUNED rows, dealt level by level, and the share of the total weight they carry."""
    n = len(design.y)
    if n <= LARGEST_TUNED:
        return design, 1.0, ()
    fold, _ = make_folds(design, -(-n // LARGEST_TUNED), seed)
    small = design.subset(np.flatnonzero(fold <= 0))
    note = f"C was tuned on a stratified subsample of {len(small.y)} of {n} rows."
    return small, float(small.weights.sum() / design.weights.sum()), (note,)


def _score_paths(s: int, shared: tuple) -> FloatArray:
    """Fit the path of C without each fold in turn and score it on that fold; (folds, path) scores."""
    design, fold, settings, grids, rate, score = shared
    spec = build(design, settings[s])
    folds = [f for f in range(fold.max() + 1) if np.any(fold == f)]
    # C prices one row; with fewer rows the same balance of norm and loss needs a larger C
    shares = [rate * design.weights[fold != f].sum() / design.weights.sum() for f in folds]
    prices = np.array(
        [spec.model.c * (fold[spec.rows.sample] != f) / share for f, share in zip(folds, shares, strict=True)]
    )
    out = np.empty((len(folds), len(grids[s])))
    for i, (f, path) in enumerate(zip(folds, fit_folds(spec.model, grids[s], prices), strict=True)):
        held_out = fold == f
        for j, solution in enumerate(path):
            out[i, j] = score_of(spec, solution.v, design, held_out, score)
    return out


def score_of(spec: Spec, v: FloatArray, design: Design, rows: NDArray[np.bool_], score: Score) -> float:
    """Score a model on some rows; it reads their regular features only."""
    guess = decide(design.X[rows] @ spec.weights_of(v), spec.thresholds_of(v), design.family)
    return score(design.y[rows], guess)


def _tabulate(scores: list[FloatArray], settings: list[Setting], grids: list[FloatArray]) -> pd.DataFrame:
    frames = []
    for s, (setting, values) in enumerate(zip(settings, scores, strict=True)):
        frames.append(
            pd.DataFrame(
                {
                    "C": grids[s],
                    "epsilon": setting.epsilon,
                    "mean": values.mean(axis=0),
                    "se": values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0,
                    "setting": s,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)
