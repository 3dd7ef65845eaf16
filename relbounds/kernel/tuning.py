"""Grid search by cross-validation: coarse, then fine around the best, as published for C and the kernel
width."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relbounds.checks import choice
from relbounds.errors import DataError, OptionError, SolverError
from relbounds.folds import deal_folds
from relbounds.kernel.fitting import WHOLE_MATRIX, Grams, Sample, fit_mixes, slack_matrix, thin_root
from relbounds.kernel.kernels import check_matrix, make_kernel
from relbounds.kernel.machine import Machine
from relbounds.kernel.options import SvorOptions
from relbounds.metrics import mae, mmae, mze
from relbounds.parallel import run
from relbounds.progress import Hook, stage

SCORES: dict[str, Callable[[Any, Any], float]] = {"mze": mze, "mae": mae, "mmae": mmae}
# log10: seven values a decade apart for C and for 1 / width^2, then steps of a fifth of a decade around the
# best.
COARSE_C = 10.0 ** np.arange(-3, 4)
COARSE_WIDTH = 10.0 ** np.arange(1.5, -2.0, -0.5)
FINE = 0.2 * np.arange(-4, 5)
TUNED = ("C", "width", "gamma", "slack_width", "mix")
# Candidates that go through all folds first, one in so many: they set the mark that the others must reach.
FIRST = 20

Point = dict[str, float]


@dataclass(frozen=True)
class Tuned:
    """The options chosen, their cross-validated score, and the scores of every candidate (columns: TUNED,
    mean and se over the folds it went through, how many, stage)."""

    options: SvorOptions
    score: float | None
    metric: str
    table: pd.DataFrame
    folds: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Search:
    """How candidates are compared: by which score, over how many folds, on how many cores.

    `levels` are the names of the levels, for the notes; `cluster` keeps rows that belong together in one fold.
    """

    score: str = "mmae"
    cv: int = 5
    seed: int = 0
    n_jobs: int = 1
    progress: bool | Hook | None = None
    levels: tuple[Any, ...] | None = None
    cluster: np.ndarray | None = None


def grid_of(options: SvorOptions, given: Mapping[str, Any]) -> tuple[dict[str, list[float]], bool]:
    """Return the first grid and whether a fine one follows; `given` holds numbers, sequences, or None (tune).

    Examples
    --------
    >>> grid, fine = grid_of(SvorOptions(kernel="linear"), {"C": None, "width": None})
    >>> len(grid["C"]), fine
    (7, True)
    """
    grid: dict[str, list[float]] = {}
    fine = False
    for name in TUNED:
        value = given.get(name)
        if name == "width" and options.kernel != "rbf":
            continue
        if name in ("gamma", "slack_width", "mix") and options.slack == "free":
            continue
        if name == "mix" and options.slack != "mixed":
            continue
        if value is None:
            if name == "C":
                grid[name], fine = COARSE_C.tolist(), True
            elif name == "width":
                grid[name], fine = COARSE_WIDTH.tolist(), True
        elif np.ndim(value) > 0:
            values = [float(v) for v in np.ravel(value)]
            if not values:
                raise OptionError(
                    f"{name} is an empty sequence; give a number, a sequence of numbers, or None."
                )
            grid[name] = list(dict.fromkeys(values))
    return grid, fine


def tune(sample: Sample, options: SvorOptions, given: Mapping[str, Any], search: Search) -> Tuned:
    """Choose what `given` leaves open (None, or a sequence) by cross-validation.

    Ties go to the smaller C and the wider kernel, that is to the smoother model.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> sample, search = Sample(x, 1 + (x[:, 0] > 0), 2), Search("mze", cv=4)
    >>> tune(sample, SvorOptions(solver="qp"), {"width": [0.001, 1.0]}, search).options.width
    1.0
    """
    choice("score", search.score, SCORES)
    grid, fine = grid_of(options, given)
    if not grid:
        return Tuned(options, None, search.score, pd.DataFrame(), 0)
    if not isinstance(search.cv, int | np.integer) or search.cv < 2:
        raise OptionError(f"cv={search.cv!r} must be a whole number, 2 or more.")
    fold, notes = _deal(sample, search)
    if fold.max() < 0:
        raise DataError(
            "No level has two rows, so that nothing can be held out and nothing can be chosen by cross-validation. "
            f"Give a number for each of {', '.join(grid)}, or merge levels."
        )
    race = _Race(sample, options, fold, search)
    table = race.run(grid, "coarse" if fine else "given")
    best = choose(table)
    if fine:
        table = pd.concat([table, race.run(_around(table.loc[best], grid, given), "fine")], ignore_index=True)
        best = choose(table)
    if not np.isfinite(table["mean"].iloc[best]):
        raise SolverError(
            "No candidate of the grid could be fitted. Standardise the features, or give other values of C."
        )
    failed = int((~np.isfinite(table["mean"])).sum())
    if failed:
        notes = (*notes, f"{failed} of {len(table)} candidates could not be fitted and were passed over.")
    chosen = {name: float(table[name].iloc[best]) for name in grid}
    score = float(table["mean"].iloc[best])
    return Tuned(options.replace(**chosen), score, search.score, table, race.n_folds, notes)


def _deal(sample: Sample, search: Search) -> tuple[np.ndarray, tuple[str, ...]]:
    levels = search.levels if search.levels is not None else tuple(range(1, sample.n_levels + 1))
    return deal_folds(sample.y, levels, int(search.cv), search.seed, search.cluster)


def held_out_values(sample: Sample, options: SvorOptions, search: Search) -> np.ndarray:
    """Return the decision value of each row by a machine that never saw it; NaN for rows that are never held out.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> held = held_out_values(Sample(x, 1 + (x[:, 0] > 0), 2), SvorOptions(kernel="linear"), Search())
    >>> bool(np.corrcoef(held, x[:, 0])[0, 1] > 0.9)
    True
    """
    fold, _ = _deal(sample, search)
    if fold.max() < 0:
        raise DataError("No level has two rows, so that nothing can be held out. Merge levels.")
    out = np.full(len(sample.y), np.nan)
    for f in range(int(fold.max()) + 1):
        inside, outside = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        part = sample.take(inside)
        grams = None if part.K is None else Grams(part.K)
        cross = None if sample.K is None else sample.K[np.ix_(outside, inside)]
        machine = fit_mixes(part, options, [options.mix], grams=grams)[0]
        # thresholds differ from fit to fit: values count from their middle
        out[outside] = machine.decision_function(sample.X[outside], cross) - machine.middle
    return out


def _around(
    best: pd.Series, grid: dict[str, list[float]], given: Mapping[str, Any]
) -> dict[str, list[float]]:
    """Return the fine grid: C and the width around the best, the others as they were best."""
    around = dict(grid)
    for name, power in (("C", 1.0), ("width", -0.5)):
        if name in grid and given.get(name) is None:
            around[name] = (float(best[name]) * 10.0 ** (power * FINE)).tolist()
    for name in ("gamma", "slack_width", "mix"):
        if name in grid:
            around[name] = [float(best[name])]
    return around


def choose(table: pd.DataFrame) -> int:
    """Return the row with the least mean; among ties the least C, then the widest kernel.

    Examples
    --------
    >>> choose(pd.DataFrame({"C": [1.0, 0.1, 10.0], "mean": [0.2, 0.2, 0.3]}))
    1
    """
    mean = table["mean"].fillna(np.inf)
    tied = table[mean <= mean.min() + 1e-12]
    keys = [name for name in ("C", "width", "gamma") if name in tied and tied[name].notna().all()]
    if not keys:
        return int(tied.index[0])
    return int(tied.sort_values(keys, ascending=[name == "C" for name in keys], kind="stable").index[0])


@dataclass(frozen=True)
class _Race:
    """Cross-validation of many candidates, in which hopeless ones are given up.

    No score is negative. So a candidate is given up once the folds it has been through add up to more than all
    folds of the best one: it can no longer win. The best of the first fold go through all folds first.
    """

    sample: Sample
    options: SvorOptions
    fold: np.ndarray
    search: Search

    @property
    def n_folds(self) -> int:
        return int(self.fold.max()) + 1

    def run(self, grid: dict[str, list[float]], label: str) -> pd.DataFrame:
        """Return the scores of every combination; mixing weights share the fits they mix."""
        mixes = grid.get("mix", [self.options.mix])
        names = [name for name in grid if name != "mix"]
        points = [
            dict(zip(names, values, strict=True))
            for values in itertools.product(*(grid[name] for name in names))
        ]
        cube = np.full((len(points), self.n_folds, len(mixes)), np.nan)
        tried = np.zeros((len(points), self.n_folds), dtype=bool)
        with stage(f"tuning ({label})", tried.size, self.search.progress) as done:

            def go(chosen: np.ndarray, folds: Iterable[int]) -> None:
                tasks = [
                    (members, f)
                    for f in folds
                    for members in _groups(points, [p for p in chosen if not tried[p, f]])
                ]
                for (members, f), values in zip(tasks, self._scores(points, tasks, mixes), strict=True):
                    cube[members, f] = values
                    tried[members, f] = True
                    done(len(members))

            everyone = np.arange(len(points))
            go(everyone, [0])
            first = np.argsort(np.nan_to_num(cube[:, 0].min(axis=1), nan=np.inf), kind="stable")
            go(first[: max(1, len(points) // FIRST)], range(1, self.n_folds))
            for f in range(1, self.n_folds):
                total = cube[tried.all(axis=1)].sum(axis=1)
                best = np.min(total, initial=np.inf, where=~np.isnan(total))
                so_far = np.nansum(cube, axis=1).min(axis=1)
                go(everyone[so_far <= best + 1e-12], [f])
            done(int((~tried).sum()))
        extra = [{"mix": mix} if "mix" in grid else {} for mix in mixes]
        return pd.DataFrame(
            [
                {**point, **extra[m], **_record(cube[p, tried[p], m]), "stage": label}
                for p, point in enumerate(points)
                for m in range(len(mixes))
            ]
        )

    def _scores(
        self, points: Sequence[Point], tasks: Sequence[tuple[list[int], int]], mixes: Sequence[float]
    ) -> list[np.ndarray]:
        """Return the scores of the tasks (groups of candidates, one fold), in order."""
        calls = [([points[p] for p in members], f) for members, f in tasks]
        shared = (self.sample, self.options, self.fold, tuple(mixes), self.search.score)
        return run(_score_group, calls, shared=shared, n_jobs=self.search.n_jobs)


def _record(values: np.ndarray) -> dict[str, float]:
    """Return mean, standard error and number of a candidate's scores."""
    spread = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return {"mean": values.mean(), "se": spread, "folds": len(values)}


def _groups(points: Sequence[Point], chosen: Sequence[int]) -> list[list[int]]:
    """Put together the candidates with the same kernel matrices, by rising C."""
    groups: dict[tuple[float | None, float | None], list[int]] = {}
    for p in chosen:
        groups.setdefault((points[p].get("width"), points[p].get("slack_width")), []).append(int(p))
    return [sorted(members, key=lambda p: points[p].get("C", 0.0)) for members in groups.values()]


Shared = tuple[Sample, SvorOptions, np.ndarray, tuple[float, ...], str]


def _score_group(task: tuple[list[Point], int], shared: Shared) -> np.ndarray:
    """Fit without one fold and score on it: a row per candidate, a column per mixing weight; nan where the
    solver gave up.

    The candidates share their kernel matrices; each fit with free slacks begins at the last one.
    """
    (points, f), (everyone, options, fold, mixes, score) = task, shared
    inside, outside = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
    sample = everyone.take(inside)
    grams, cross = _shared_grams(sample, options.replace(**points[0]), everyone.X[outside])
    if everyone.K is not None:
        cross = everyone.K[np.ix_(outside, inside)]
    out = np.full((len(points), len(mixes)), np.nan)
    last: Machine | None = None
    for p, point in enumerate(points):
        try:
            machines = fit_mixes(sample, options.replace(**point), mixes, grams=grams, start=last)
        except SolverError:
            continue
        if options.slack == "free" and grams is not None:
            last = machines[0]
        for m, machine in enumerate(machines):
            values = machine.decision_function(everyone.X[outside], cross)
            out[p, m] = SCORES[score](everyone.y[outside], machine.levels_of(values))
    return out


def _shared_grams(
    sample: Sample, options: SvorOptions, new: np.ndarray
) -> tuple[Grams | None, np.ndarray | None]:
    """Return the kernel matrices of a sample, and the kernel between new rows and it; none if they are too large."""
    K, R, cross = sample.K, None, None
    if K is None:
        if len(sample.y) > WHOLE_MATRIX:
            return None, None
        kernel = make_kernel(options.kernel, options.width)
        K, R, cross = kernel(sample.X, sample.X), thin_root(kernel, sample.X), kernel(new, sample.X)
        K = check_matrix(K, len(sample.y)) if kernel.name == "function" else K
    K_slack = None if options.slack == "free" else slack_matrix(options, sample.X, sample.Z)
    return Grams(K, K_slack, R), cross
