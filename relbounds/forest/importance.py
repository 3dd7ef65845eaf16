"""Forest importance beside permuted shadows, with one representative of each set of look-alikes at a time.

A forest shares its splits among copies: twenty of them look twenty times less important than one. So each
round lets one member of every tight cluster stand for the others, and gives each member its turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from relbounds.forest.learner import Learner, Problem, objective, train
from relbounds.parallel import run
from relbounds.progress import stage

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

ROUNDS = (40, 150)
SHADOWS = 1000
"""Rounds go on until there are this many shadows, so that their order statistics reach far into the tail."""


def shadow_importance(
    problem: Problem,
    learner: Learner,
    clusters: list[tuple[int, ...]],
    *,
    seed: int,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> tuple[Array, Array]:
    """Return each feature's mean share of the forest's gain, and the shares of all permuted shadows."""
    rounds = max(*np.clip([SHADOWS // len(clusters) + 1], *ROUNDS), *map(len, clusters))
    turns = [np.random.default_rng([seed, 21, c[0]]).permutation(c) for c in clusters]
    tasks = [(r, [int(turn[r % len(turn)]) for turn in turns]) for r in range(rounds)]
    with stage("importance", rounds, progress) as done:
        found = run(_round, tasks, shared=(problem, learner, seed), n_jobs=n_jobs, progress=done)
    total = np.zeros(problem.X.shape[1])
    count = np.zeros(problem.X.shape[1])
    for (_, columns), (real, _) in zip(tasks, found, strict=True):
        total[columns] += real
        count[columns] += 1
    return total / count, np.concatenate([shadow for _, shadow in found])


def _round(task: tuple[int, list[int]], shared: tuple[Problem, Learner, int]) -> tuple[Array, Array]:
    (number, columns), (problem, learner, seed) = task, shared
    rng = np.random.default_rng([seed, 22, number])
    X = problem.X[:, columns]
    shadows = rng.permuted(X, axis=0)
    params = {**FOREST, **objective(learner), "seed": int(rng.integers(2**31 - 1))}
    booster = train(params, np.column_stack([X, shadows]), problem.y, problem.weights, learner, 100)
    gain = booster.feature_importance("gain")
    gain = gain / max(gain.sum(), 1e-300)
    return gain[: len(columns)], gain[len(columns) :]
