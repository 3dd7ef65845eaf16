"""Forest importance beside permuted shadows, with one representative of each set of look-alikes at a time.

A forest shares its splits among copies: twenty of them look twenty times less important than one. So each
round lets one member of every tight cluster stand for the others, and gives each member its turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from relbounds.forest.learner import Learner, Problem, objective, train
from relbounds.noise_intervals import Interval, prediction_interval, tail_probability
from relbounds.parallel import run
from relbounds.progress import Hook, stage
from relbounds.seeds import stream

Array = NDArray[np.float64]

FOREST: dict[str, Any] = {
    "boosting": "rf",
    "bagging_fraction": 0.632,
    "bagging_freq": 1,
    "num_leaves": 32,
    "max_depth": 5,
    "feature_fraction": 0.3,
}
"""A random forest in LightGBM's names."""

TREES = 400
ROUNDS = (8, 30)
SHADOWS = 300
"""Rounds go on until there are about this many shadows."""


def importance_interval(shadows: Array, level: float) -> Interval:
    """Return what the importance of noise reaches: a t interval of cube roots, since shares of gain are skewed.

    Examples
    --------
    >>> importance_interval(np.array([0.001, 0.008, 0.027]), 0.95).upper > 0.027
    True
    """
    roots = prediction_interval(np.cbrt(shadows), level)
    return Interval(roots.lower**3, roots.upper**3, level, "cube root", shadows)


def chance(importance: Array, noise: Interval) -> Array:
    """Return the chance that noise is as important.

    Examples
    --------
    >>> noise = importance_interval(np.array([0.001, 0.008, 0.027]), 0.95)
    >>> chance(np.array([0.008, 0.9]), noise).round(2)
    array([0.5 , 0.01])
    """
    if noise.kind != "cube root":
        return tail_probability(importance, noise)
    return tail_probability(np.cbrt(importance), prediction_interval(np.cbrt(noise.values), noise.level))


def shadow_importance(
    problem: Problem,
    learner: Learner,
    clusters: list[tuple[int, ...]],
    copies: list[tuple[int, ...]],
    *,
    seed: int,
    n_jobs: int = 1,
    progress: bool | Hook | None = None,
) -> tuple[Array, Array]:
    """Return each feature's mean share of the forest's gain, and the shares of all permuted shadows.

    Parameters
    ----------
    clusters : list of tuple
        Look-alikes that take turns.
    copies : list of tuple
        Features so alike that they are one: they share their importance, which is steadier than each one's own.
    """
    rounds = max(*np.clip([SHADOWS // len(clusters) + 1], *ROUNDS), *map(len, clusters))
    turns = [stream(seed, "turns", c[0]).permutation(c) for c in clusters]
    tasks = [(r, [int(turn[r % len(turn)]) for turn in turns]) for r in range(rounds)]
    with stage("importance", rounds, progress) as done:
        found = run(_round, tasks, shared=(problem, learner, seed), n_jobs=n_jobs, progress=done)
    total = np.zeros(problem.X.shape[1])
    count = np.zeros(problem.X.shape[1])
    for (_, columns), (real, _) in zip(tasks, found, strict=True):
        total[columns] += real
        count[columns] += 1
    for members in copies:
        total[list(members)] = total[list(members)].sum()
        count[list(members)] = count[list(members)].sum()
    return total / count, np.concatenate([shadow for _, shadow in found])


def _round(task: tuple[int, list[int]], shared: tuple[Problem, Learner, int]) -> tuple[Array, Array]:
    (number, columns), (problem, learner, seed) = task, shared
    rng = stream(seed, "shadows", number)
    X = problem.X[:, columns]
    shadows = rng.permuted(X, axis=0)
    params = {**FOREST, **objective(learner), "seed": int(rng.integers(2**31 - 1))}
    booster = train(params, np.column_stack([X, shadows]), problem.y, problem.weights, learner, TREES)
    gain = booster.feature_importance("gain")
    gain = gain / max(gain.sum(), 1e-300)
    return gain[: len(columns)], gain[len(columns) :]
