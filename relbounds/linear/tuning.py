"""Choose C, the order of thresholds and epsilon by cross-validation along a path.

Section "Tuning and scores" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.design import Design
from relbounds.folds import deal_folds
from relbounds.linear.families import family_of
from relbounds.linear.families.family import Metric
from relbounds.linear.families.rows import FloatArray, ModelKind
from relbounds.linear.model import Spec, answers_of, build
from relbounds.options import Options
from relbounds.parallel import Job, chunks, run_together
from relbounds.progress import stage
from relbounds.solver.optimum import fit_folds
from relbounds.solver.smallest import smallest_C

# The path of C in units of the smallest C at which any feature is used.
PATH = np.geomspace(1.5, 2e4, 14)
# Of the path every so many are tried first, then those beside the best of each kind that is behind the best of all by
# no more than this share of its standard error.
COARSE, BEHIND = 3, 0.5
# The grid of epsilon in units of the response's standard deviation.
TUBES = (0.0, 0.1, 0.25, 0.5)
# Beyond this many observations, tuning uses a stratified subsample: C is a rate per row and carries over.
LARGEST_TUNED = 5000
# Beyond this many, the path of C begins where that of a stratified subsample does.
LARGEST_PATH = 20_000
# With more columns than this, and more observations, models of one half of the folds are fitted apart from those of
# the other, and with many more those of each fold: processes can then share them at next to no cost.
MANY_COLUMNS, SOME_ROWS, MANY_ROWS = 160, 500, 2000
# Scores that differ by less than this are the same: rounding decides nothing.
SAME_SCORE = 1e-9


@dataclass(frozen=True)
class HeldOut:
    """Scores of observations by models that never saw them: `rows` says which, `scores` has one column a class."""

    rows: NDArray[np.intp]
    scores: FloatArray


@dataclass(frozen=True)
class Tuning:
    """What was chosen, and the cross-validated scores it was chosen by.

    `useless` says that no C makes any feature useful: there is no relation to tune to. `path` holds all values of C to
    choose from, also those that were not tried.
    """

    C: float
    kind: ModelKind
    metric: str
    score: float | None
    table: pd.DataFrame
    folds: int
    rule: str
    notes: tuple[str, ...]
    held_out: HeldOut | None = None
    useless: bool = False
    path: tuple[float, ...] = ()


@dataclass(frozen=True)
class Dealt:
    """Observations dealt into folds: the design they come from, its share of all rows' weight, and notes."""

    design: Design
    rows: NDArray[np.intp]
    fold: NDArray[np.intp]
    rate: float
    notes: tuple[str, ...] = field(default=())

    @property
    def numbers(self) -> list[int]:
        """The folds that hold any observation."""
        return [f for f in range(self.fold.max() + 1) if np.any(self.fold == f)]

    def factors(self, f: int) -> FloatArray:
        """Return what each observation's weight is multiplied by when a fold is left out.

        C prices one row: with fewer rows the same balance of norm and loss needs dearer ones.
        """
        left = self.fold != f
        weights = self.design.weights
        return left / (self.rate * float(weights[left].sum() / weights.sum()))


def deal(design: Design, options: Options) -> Dealt:
    """Deal a design, or a subsample of it where it is large, into folds."""
    small, rows, rate, notes = subsample(design, options.seed)
    fold, said = deal_folds(small.y, small.levels, options.cv, options.seed, small.cluster)
    return Dealt(small, rows, fold, rate, (*notes, *said))


def tune(design: Design, options: Options) -> Tuning:
    """Choose C, order and epsilon for a plain model; a number given by the user is taken as it is."""
    return tune_beside(design, options, ())[0]


def tune_beside(
    design: Design, options: Options, jobs: Sequence[Job]
) -> tuple[Tuning, list[list[Any]] | None]:
    """Do the same, and other jobs beside it; where nothing has to be tuned they are left to do (None)."""
    metric = family_of(design.family).metric
    kinds = plain_kinds(design, options)
    if isinstance(options.C, float | int) and len(kinds) == 1:
        return Tuning(float(options.C), kinds[0], metric.name, None, pd.DataFrame(), 0, "fixed", ()), None
    tried = [(kind, grid_of_C(design, kind, options)) for kind in kinds]
    useful = [(kind, grid) for kind, grid in tried if grid is not None]
    if not useful:
        return Tuning(1.0, kinds[0], metric.name, None, pd.DataFrame(), 0, "fixed", (), useless=True), None
    kinds, grids = [kind for kind, _ in useful], [grid for _, grid in useful]
    dealt = deal(design, options)
    scored = Scored(dealt, kinds, grids, metric)
    asked = [every(grid, COARSE if options.C is None else 1) for grid in grids]
    with stage("tuning", len(kinds), options.progress) as done:
        if options.C is None:
            scored, _ = scored.more(asked, options)
            # only a kind that may still win is looked at more closely, and only beside its best C: often one task
            # alone, so that there is room for others
            asked = beside_best(scored, options.rule)
        scored, found = scored.more(asked, options, jobs)
        done(len(kinds))
    table = scored.table
    row = best_row(table, options.rule, metric.larger)
    chosen = table.loc[row]
    k = int(chosen["kind"])
    place = int(np.flatnonzero(grids[k] == chosen["C"])[0])
    tuning = Tuning(
        C=float(chosen["C"]),
        kind=kinds[k],
        metric=metric.name,
        score=float(chosen["mean"]),
        table=table.drop(columns="kind"),
        folds=len(dealt.numbers),
        rule="fixed" if isinstance(options.C, float | int) else options.rule,
        notes=dealt.notes,
        held_out=HeldOut(dealt.rows[dealt.fold >= 0], scored.found[k][place][1][dealt.fold >= 0]),
        path=tuple(grids[k].tolist()),
    )
    return tuning, found


@dataclass(frozen=True)
class Scored:
    """Scores of the values of C tried so far.

    Parameters
    ----------
    dealt : Dealt
    kinds : sequence of ModelKind
    grids : sequence of ndarray
        The path of each kind.
    metric : Metric
    found : tuple of dict
        For each kind, by place on its path: (folds,) scores and (n, classes) held-out scores.
    """

    dealt: Dealt
    kinds: Sequence[ModelKind]
    grids: Sequence[FloatArray]
    metric: Metric
    found: tuple[dict[int, tuple[FloatArray, FloatArray]], ...] = ()

    def more(
        self, asked: Sequence[Sequence[int]], options: Options, jobs: Sequence[Job] = ()
    ) -> tuple[Scored, list[list[Any]]]:
        """Return the same with the scores of further places of each kind's path, and what other jobs find."""
        folds = self.dealt.numbers
        # large folds of many columns gain next to nothing from one another
        n, d = self.dealt.design.X.shape
        count = 1 if d <= MANY_COLUMNS or n <= SOME_ROWS else 2 if n <= MANY_ROWS else len(folds)
        parts = [tuple(folds[i] for i in part) for part in chunks(len(folds), -(-len(folds) // count))]
        tasks = [(k, tuple(places), part) for k, places in enumerate(asked) if len(places) for part in parts]
        # the longest first, so that processes end together: with implicit order an observation has more rows
        tasks.sort(key=lambda task: self.kinds[task[0]].order != "implicit")
        paths = Job(_score_paths, tasks, (self.dealt, self.kinds, self.grids, self.metric))
        *others, answers = run_together([*jobs, paths], n_jobs=options.n_jobs, client=options.client)
        found = [dict(one) for one in self.found] or [{} for _ in self.kinds]
        for k, places in enumerate(asked):
            own = [answer for task, answer in zip(tasks, answers, strict=True) if task[0] == k]
            for j, i in enumerate(places):
                held = own[0][1][j]
                for _, more in own[1:]:
                    held = np.where(np.isnan(held), more[j], held)
                found[k][i] = np.concatenate([scores[:, j] for scores, _ in own]), held
        return replace(self, found=tuple(found)), others

    @property
    def table(self) -> pd.DataFrame:
        """One row for each C tried of each kind."""
        parts = []
        for k, kind in enumerate(self.kinds):
            parts.append(tabulate(kind, self.grids[k][sorted(self.found[k])], self._scores(k), k))
        return pd.concat(parts, ignore_index=True)

    def losses(self, k: int) -> tuple[FloatArray, FloatArray]:
        """Mean losses of the values of C tried of a kind, in ascending order, and their standard errors."""
        mean, se = _mean_and_se(self._scores(k))
        return _loss_of(mean, self.metric.larger), se

    def _scores(self, k: int) -> FloatArray:
        return np.column_stack([self.found[k][i][0] for i in sorted(self.found[k])])


def every(grid: FloatArray, step: int) -> list[int]:
    """Return every so many places of a path."""
    return list(range(0, len(grid), step))


def beside_best(scored: Scored, rule: str) -> list[list[int]]:
    """Return, for each kind that may still win, the places around its best and its chosen C that were not tried.

    A kind is given up when the best of its coarse path is behind that of another by more than so much of its
    standard error.
    """
    tried = [sorted(found) for found in scored.found]
    losses = [scored.losses(k) for k in range(len(tried))]
    ahead = min(float(np.min(loss)) for loss, _ in losses)
    out = []
    for k, (places, (loss, se)) in enumerate(zip(tried, losses, strict=True)):
        best = int(np.argmin(loss))
        near: set[int] = set()
        if loss[best] <= ahead + BEHIND * se[best]:
            for one in {best, _chosen(scored.grids[k][places], loss, se, rule)}:
                near |= set(range(places[one] - COARSE + 1, places[one] + COARSE))
        out.append(sorted(i for i in near - set(places) if 0 <= i < len(scored.grids[k])))
    return out


def best_row(table: pd.DataFrame, rule: str, larger: bool) -> int:
    """Return the row of the chosen C of the best kind; kinds that score the same: the first."""
    best, row = None, 0
    for _, part in table.groupby("kind", sort=True):
        here = choose(part, rule, larger)
        score = float(part.loc[here, "mean"]) * (1 if larger else -1)
        if best is None or score > best + SAME_SCORE * max(1.0, abs(best)):
            best, row = score, here
    return row


def choose(table: pd.DataFrame, rule: str, larger: bool) -> int:
    """Return the row of the chosen C: the best mean score, or the smallest C within one standard error.

    Ties go to the smaller C, that is the sparser model.

    Examples
    --------
    >>> table = pd.DataFrame({"C": [0.1, 1.0, 10.0], "mean": [0.30, 0.22, 0.20], "se": [0.03, 0.03, 0.03]})
    >>> int(choose(table, "best", larger=False)), int(choose(table, "1se", larger=False))
    (2, 1)
    """
    C, mean, se = (table[name].to_numpy() for name in ("C", "mean", "se"))
    return int(table.index[_chosen(C, _loss_of(mean, larger), se, rule)])


def _loss_of(mean: FloatArray, larger: bool) -> FloatArray:
    """Return mean scores as losses; where there is no score it is the worst."""
    return np.where(np.isnan(mean), np.inf, -mean if larger else mean)


def _chosen(C: FloatArray, loss: FloatArray, se: FloatArray, rule: str) -> int:
    """Return the place of the smallest C that is as good as the best one, by the rule."""
    best = int(np.argmin(loss))
    limit = loss[best] + (se[best] if rule == "1se" else SAME_SCORE * max(1.0, abs(loss[best])))
    return int(np.argmin(np.where(loss <= limit, C, np.inf)))


def plain_kinds(design: Design, options: Options) -> list[ModelKind]:
    """Return the kinds to choose from: one, two orders, or one per width of the tube."""
    family = family_of(design.family)
    balance = options.balance and design.levels is not None
    if design.levels is None:
        if options.epsilon is None:
            tubes: Sequence[float] = TUBES
        else:
            given = options.epsilon if isinstance(options.epsilon, Sequence) else [options.epsilon]
            tubes = [float(tube) / design.y_scale for tube in given]
        return [ModelKind(epsilon=float(tube)) for tube in tubes]
    several = family.thresholds and design.levels is not None and len(design.levels) > 2
    # neighbouring intervals of time say little: there every observation counts at every threshold
    auto = "implicit" if design.family == "survival" else "explicit"
    first = auto if options.order == "auto" else options.order
    kinds = [ModelKind(order=first if several else "explicit", balance=balance)]
    if options.order == "auto" and several and auto == "explicit":
        kinds.append(replace(kinds[0], order="implicit"))
    return kinds


def grid_of_C(design: Design, kind: ModelKind, options: Options) -> FloatArray | None:
    """Return the values of C to choose from, in ascending order; None where no C makes a feature useful."""
    if options.C is None:
        small, _, rate, _ = subsample(design, options.seed, LARGEST_PATH)
        least = rate * smallest_C(build(small, kind).model)
        if np.isinf(least) and rate < 1:
            least = smallest_C(build(design, kind).model)
        return None if np.isinf(least) else least * PATH
    return np.unique(np.asarray(options.C, dtype=float))


def subsample(
    design: Design, seed: int, most: int | None = None
) -> tuple[Design, NDArray[np.intp], float, tuple[str, ...]]:
    """Return at most `most` rows, dealt level by level, their places, the share of weight they carry, and notes."""
    n, most = len(design.y), most or LARGEST_TUNED
    if n <= most:
        return design, np.arange(n), 1.0, ()
    fold, _ = deal_folds(design.y, design.levels, -(-n // most), seed, design.cluster)
    rows = np.flatnonzero(fold <= 0)
    small = design.subset(rows)
    note = f"C was tuned on a stratified subsample of {len(small.y)} of {n} rows."
    return small, rows, float(small.weights.sum() / design.weights.sum()), (note,)


def _score_paths(
    task: tuple[int, tuple[int, ...], tuple[int, ...]], shared: tuple
) -> tuple[FloatArray, FloatArray]:
    """Fit some C of a kind without each of some folds in turn.

    Returns (folds, path) scores and (path, n, classes) held-out scores, nan outside these folds.
    """
    dealt, kinds, grids, metric = shared
    k, places, folds = task
    spec = build(dealt.design, kinds[k])
    prices = np.array([spec.prices(dealt.factors(f)) for f in folds])
    out = np.empty((len(folds), len(places)))
    held = np.full((len(places), len(dealt.design.y), spec.sizes.classes), np.nan)
    paths = fit_folds(spec.model, grids[k][list(places)], prices)
    for i, (f, path) in enumerate(zip(folds, paths, strict=True)):
        rows = np.flatnonzero(dealt.fold == f)
        for j, v in enumerate(path):
            out[i, j], held[j, rows] = score_on(spec, v, dealt.design, rows, metric)
    return out, held


def score_on(
    spec: Spec, v: FloatArray, design: Design, rows: NDArray[np.intp], metric: Metric
) -> tuple[float, FloatArray]:
    """Return the score of a model on some observations, and their scores w.x; it reads regular features only."""
    prediction = spec.predict(v, design.X[rows], design.adjust[rows])
    truth = answers_of(design).take(rows)
    return metric.measure(truth, prediction, design.weights[rows]), prediction.scores


def tabulate(kind: ModelKind, grid: FloatArray, scores: FloatArray, number: int = 0) -> pd.DataFrame:
    """Return one row for each C of a kind: the mean of its folds' scores, and its standard error."""
    mean, se = _mean_and_se(scores)
    return pd.DataFrame(
        {"C": grid, "order": kind.order, "epsilon": kind.epsilon, "mean": mean, "se": se, "kind": number}
    )


def _mean_and_se(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean over folds of scores (folds, path), and its standard error."""
    mean = scores.mean(axis=0)
    if len(scores) < 2:
        return mean, np.zeros_like(mean)
    return mean, scores.std(axis=0, ddof=1) / np.sqrt(len(scores))
