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
from relbounds.kernel.machine import Setting, fit_mixes
from relbounds.metrics import mae, mmae, mze
from relbounds.progress import stage

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
    mean, se, stage)."""

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
    rng = np.random.default_rng([seed, 8])
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
    progress: bool | None = None,
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
    progress: bool | None,
    label: str,
) -> pd.DataFrame:
    """Cross-validate every combination; mixing weights share the fits they mix."""
    mixes = grid.get("mix", [setting.mix])
    names = [name for name in grid if name != "mix"]
    points = [
        dict(zip(names, values, strict=True)) for values in itertools.product(*(grid[name] for name in names))
    ]
    tasks = [(point, f) for point in points for f in range(fold.max() + 1)]
    with stage(f"tuning ({label})", len(tasks), progress) as done:
        scores = []
        for value in _results(arrays, setting, tasks, fold, mixes, score, n_jobs):
            scores.append(value)
            done(1)
    cube = np.array(scores).reshape(len(points), fold.max() + 1, len(mixes))
    records = []
    for p, point in enumerate(points):
        for m, mix in enumerate(mixes):
            values = cube[p, :, m]
            spread = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
            extra = {"mix": mix} if "mix" in grid else {}
            records.append({**point, **extra, "mean": values.mean(), "se": spread, "stage": label})
    return pd.DataFrame(records)


def _results(
    arrays: Arrays,
    setting: Setting,
    tasks: Sequence[Any],
    fold: np.ndarray,
    mixes: Sequence[float],
    score: str,
    n_jobs: int,
) -> Iterable[np.ndarray]:
    """The scores of the tasks, in order, as they come in."""
    if n_jobs == 1:
        with threadpool_limits(1):  # many small problems: threads only get in each other's way
            yield from (_score_one(arrays, setting, point, fold, f, mixes, score) for point, f in tasks)
    else:
        pool = Parallel(n_jobs=n_jobs, return_as="generator", batch_size="auto")
        yield from pool(
            delayed(_score_one)(arrays, setting, point, fold, f, mixes, score) for point, f in tasks
        )


def _score_one(
    arrays: Arrays,
    setting: Setting,
    point: dict[str, float],
    fold: np.ndarray,
    f: int,
    mixes: Sequence[float],
    score: str,
) -> np.ndarray:
    """Fit without fold f and score on it, one value per mixing weight; nan where the solver gave up."""
    inside, outside = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
    K = arrays.K
    try:
        machines = fit_mixes(
            arrays.X[inside],
            arrays.y[inside],
            arrays.n_levels,
            setting.replace(**point),
            mixes,
            Z=None if arrays.Z is None else arrays.Z[inside],
            weights=None if arrays.weights is None else arrays.weights[inside],
            K=None if K is None else K[np.ix_(inside, inside)],
        )
    except SolverError:
        return np.full(len(mixes), np.nan)
    out = []
    for machine in machines:
        if K is None:
            values = machine.decision_function(arrays.X[outside])
        else:
            values = machine.decision_function(K=K[np.ix_(outside, inside)])
        out.append(SCORES[score](arrays.y[outside], machine.levels_of(values)))
    return np.array(out)
