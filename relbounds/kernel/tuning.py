"""Grid search by cross-validation: coarse, then fine around the best, as published for C and the kernel
width."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from relbounds.errors import OptionError, SolverError, nearest
from relbounds.kernel.kernels import check_matrix, make_kernel
from relbounds.kernel.machine import WHOLE_MATRIX, Grams, Machine, Setting, fit_mixes, slack_matrix
from relbounds.metrics import mae, mmae, mze
from relbounds.progress import Hook, stage
from relbounds.seeds import stream

SCORES: dict[str, Callable[[Any, Any], float]] = {"mze": mze, "mae": mae, "mmae": mmae}
# log10: seven values a decade apart for C and for 1 / width^2, then steps of a fifth of a decade around the
# best.
COARSE_C = 10.0 ** np.arange(-3, 4)
COARSE_WIDTH = 10.0 ** np.arange(1.5, -2.0, -0.5)
FINE = 0.2 * np.arange(-4, 5)
TUNED = ("C", "width", "gamma", "slack_width", "mix")


@dataclass(frozen=True)
class Tuned:
    """The setting chosen, its cross-validated score, and the scores of every candidate (columns: TUNED,
    mean and se over the folds it went through, how many, stage)."""

    setting: Setting
    score: float | None
    metric: str
    table: pd.DataFrame
    folds: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Arrays:
    """What every candidate is fitted on."""

    X: np.ndarray
    y: np.ndarray
    n_levels: int
    Z: np.ndarray | None = None
    weights: np.ndarray | None = None
    K: np.ndarray | None = None


def folds_of(y: np.ndarray, cv: int, seed: int) -> np.ndarray:
    """Deal the rows into folds level by level; a level with a single row is never held out (fold -1).

    Examples
    --------
    >>> import numpy as np
    >>> np.bincount(folds_of(np.array([1, 1, 1, 2, 2, 2]), 3, 0))
    array([2, 2, 2])
    """
    rng = stream(seed, "kernel folds")
    fold = np.full(len(y), -1)
    start = 0
    for level in np.unique(y):
        members = rng.permutation(np.flatnonzero(y == level))
        if len(members) > 1:
            fold[members] = (start + np.arange(len(members))) % cv
            start += len(members)
    return fold


def grid_of(setting: Setting, given: dict[str, Any]) -> tuple[dict[str, list[float]], bool]:
    """Return the first grid and whether a fine one follows; `given` holds numbers, sequences, or None (tune).

    Examples
    --------
    >>> grid, fine = grid_of(Setting(kernel="linear"), {"C": None, "width": None})
    >>> len(grid["C"]), fine
    (7, True)
    """
    grid: dict[str, list[float]] = {}
    fine = False
    for name in TUNED:
        value = given.get(name)
        if name == "width" and setting.kernel != "rbf":
            continue
        if name in ("gamma", "slack_width", "mix") and setting.slack == "free":
            continue
        if name == "mix" and setting.slack != "mixed":
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


def tune(
    arrays: Arrays,
    setting: Setting,
    given: dict[str, Any],
    *,
    score: str = "mmae",
    cv: int = 5,
    seed: int = 0,
    n_jobs: int = 1,
    progress: bool | Hook | None = None,
) -> Tuned:
    """Choose what `given` leaves open (None, or a sequence) by cross-validation.

    Ties go to the smaller C and the wider kernel, that is to the smoother model.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> arrays = Arrays(x, 1 + (x[:, 0] > 0), 2)
    >>> tune(arrays, Setting(solver="qp"), {"width": [0.001, 1.0]}, score="mze", cv=4).setting.width
    1.0
    """
    if score not in SCORES:
        raise OptionError(
            f"score={score!r} is not known. Use 'mze', 'mae' or 'mmae'.{nearest(score, SCORES)}"
        )
    grid, fine = grid_of(setting, given)
    if not grid:
        return Tuned(setting, None, score, pd.DataFrame(), 0)
    if not isinstance(cv, int | np.integer) or cv < 2:
        raise OptionError(f"cv={cv!r} must be a whole number, 2 or more.")
    counts = np.bincount(arrays.y)
    held_out = counts[counts > 1]
    folds = int(max(2, min(cv, held_out.min()))) if len(held_out) else int(cv)
    notes = (
        () if folds == cv else (f"{folds} folds instead of {cv}: a level has only {held_out.min()} rows.",)
    )
    fold = folds_of(arrays.y, folds, seed)
    table = _score_grid(arrays, setting, grid, fold, score, n_jobs, progress, "coarse" if fine else "given")
    best = choose(table)
    if fine:
        around = dict(grid)
        for name, power in (("C", 1.0), ("width", -0.5)):
            if name in grid and given.get(name) is None:
                around[name] = (float(table[name].iloc[best]) * 10.0 ** (power * FINE)).tolist()
        for name in ("gamma", "slack_width", "mix"):  # only C and the width have a fine grid
            if name in grid:
                around[name] = [float(table[name].iloc[best])]
        second = _score_grid(arrays, setting, around, fold, score, n_jobs, progress, "fine")
        table = pd.concat([table, second], ignore_index=True)
        best = choose(table)
    if not np.isfinite(table["mean"].iloc[best]):
        raise SolverError(
            "No candidate of the grid could be fitted. Standardise the features, or give other values of C."
        )
    failed = int((~np.isfinite(table["mean"])).sum())
    if failed:
        notes = (*notes, f"{failed} of {len(table)} candidates could not be fitted and were passed over.")
    chosen = {name: float(table[name].iloc[best]) for name in grid}
    return Tuned(setting.replace(**chosen), float(table["mean"].iloc[best]), score, table, folds, notes)


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


def _score_grid(
    arrays: Arrays,
    setting: Setting,
    grid: dict[str, list[float]],
    fold: np.ndarray,
    score: str,
    n_jobs: int,
    progress: bool | Hook | None,
    label: str,
) -> pd.DataFrame:
    """Cross-validate every combination; mixing weights share the fits they mix.

    No score is negative. So a candidate is given up once the folds it has been through add up to more than all
    folds of the best one: it can no longer win. The best of the first fold go through all folds first.
    """
    mixes = grid.get("mix", [setting.mix])
    names = [name for name in grid if name != "mix"]
    points = [
        dict(zip(names, values, strict=True)) for values in itertools.product(*(grid[name] for name in names))
    ]
    n_folds = int(fold.max()) + 1
    cube = np.full((len(points), n_folds, len(mixes)), np.nan)
    tried = np.zeros((len(points), n_folds), dtype=bool)
    with stage(f"tuning ({label})", len(points) * n_folds, progress) as done:

        def go(chosen: np.ndarray, folds: Iterable[int]) -> None:
            tasks = [
                (members, f)
                for f in folds
                for members in _groups(points, [p for p in chosen if not tried[p, f]])
            ]
            for (members, f), values in zip(
                tasks, _results(arrays, setting, points, tasks, fold, mixes, score, n_jobs), strict=True
            ):
                cube[members, f] = values
                tried[members, f] = True
                done(len(members))

        everyone = np.arange(len(points))
        go(everyone, [0])
        first = np.argsort(np.nan_to_num(cube[:, 0].min(axis=1), nan=np.inf), kind="stable")
        go(first[: max(1, len(points) // 20)], range(1, n_folds))
        for f in range(1, n_folds):
            total = cube[tried.all(axis=1)].sum(axis=1)
            best = np.min(total, initial=np.inf, where=~np.isnan(total))
            so_far = np.nansum(cube, axis=1).min(axis=1)
            go(everyone[so_far <= best + 1e-12], [f])
        done(int((~tried).sum()))
    records = []
    for p, point in enumerate(points):
        for m, mix in enumerate(mixes):
            values = cube[p, tried[p], m]
            spread = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
            extra = {"mix": mix} if "mix" in grid else {}
            records.append(
                {**point, **extra, "mean": values.mean(), "se": spread, "folds": len(values), "stage": label}
            )
    return pd.DataFrame(records)


def _groups(points: Sequence[dict[str, float]], chosen: Sequence[int]) -> list[list[int]]:
    """Put together the candidates with the same kernel matrices, by rising C."""
    groups: dict[tuple[float | None, float | None], list[int]] = {}
    for p in chosen:
        groups.setdefault((points[p].get("width"), points[p].get("slack_width")), []).append(int(p))
    return [sorted(members, key=lambda p: points[p].get("C", 0.0)) for members in groups.values()]


def _results(
    arrays: Arrays,
    setting: Setting,
    points: Sequence[dict[str, float]],
    tasks: Sequence[tuple[list[int], int]],
    fold: np.ndarray,
    mixes: Sequence[float],
    score: str,
    n_jobs: int,
) -> Iterable[np.ndarray]:
    """The scores of the tasks (groups of candidates, one fold), in order, as they come in."""
    calls = ((arrays, setting, [points[p] for p in members], fold, f, mixes, score) for members, f in tasks)
    if n_jobs == 1:
        with threadpool_limits(1):  # many small problems: threads only get in each other's way
            yield from (_score_group(*call) for call in calls)
    else:
        pool = Parallel(n_jobs=n_jobs, return_as="generator", batch_size="auto")
        yield from pool(delayed(_score_group)(*call) for call in calls)


def _score_group(
    arrays: Arrays,
    setting: Setting,
    points: Sequence[dict[str, float]],
    fold: np.ndarray,
    f: int,
    mixes: Sequence[float],
    score: str,
) -> np.ndarray:
    """Fit without fold f and score on it: a row per candidate, a column per mixing weight; nan where the
    solver gave up.

    The candidates share their kernel matrices; each fit with free slacks begins at the last one.
    """
    inside, outside = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
    X, y, Z = arrays.X[inside], arrays.y[inside], None if arrays.Z is None else arrays.Z[inside]
    common = setting.replace(**points[0])
    K, cross = arrays.K, None
    if K is not None:
        K, cross = K[np.ix_(inside, inside)], K[np.ix_(outside, inside)]
    elif len(y) <= WHOLE_MATRIX:
        kernel = make_kernel(common.kernel, common.width)
        K, cross = kernel(X, X), kernel(arrays.X[outside], X)
        K = check_matrix(K, len(y)) if kernel.name == "function" else K
    grams = None
    if K is not None:
        grams = Grams(K, None if setting.slack == "free" else slack_matrix(common, X, Z))
    out = np.full((len(points), len(mixes)), np.nan)
    last: Machine | None = None
    for p, point in enumerate(points):
        try:
            machines = fit_mixes(
                X,
                y,
                arrays.n_levels,
                setting.replace(**point),
                mixes,
                Z=Z,
                weights=None if arrays.weights is None else arrays.weights[inside],
                grams=grams,
                start=last,
            )
        except SolverError:
            continue
        if setting.slack == "free" and grams is not None:
            last = machines[0]
        for m, machine in enumerate(machines):
            values = machine.decision_function(arrays.X[outside], cross)
            out[p, m] = SCORES[score](arrays.y[outside], machine.levels_of(values))
    return out
