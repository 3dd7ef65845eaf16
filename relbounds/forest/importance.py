"""Forest importance beside permuted shadows, with one representative of each set of look-alikes at a time.

A forest shares its splits among copies: twenty of them look twenty times less important than one. So each
round lets one member of every tight cluster stand for the others, and gives each member its turn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from relbounds.forest.learner import Learner, Problem, objective, train
from relbounds.forest.options import ForestOptions
from relbounds.noise_intervals import Interval, prediction_interval, tail_probability
from relbounds.parallel import run
from relbounds.progress import stage
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
    options: ForestOptions,
) -> tuple[Array, Array]:
    """Return each term's mean share of the forest's gain, and the shares of all permuted shadows.

    Parameters
    ----------
    clusters : list of tuple
        Look-alikes that take turns.
    copies : list of tuple
        Terms so alike that they are one: they share their importance, which is steadier than each one's own.
    """
    rounds = max(*np.clip([SHADOWS // len(clusters) + 1], *ROUNDS), *map(len, clusters))
    turns = [stream(options.seed, "turns", c[0]).permutation(c) for c in clusters]
    tasks = [(r, [int(turn[r % len(turn)]) for turn in turns]) for r in range(rounds)]
    with stage("importance", rounds, options.progress) as done:
        shared = (problem, learner, options.seed)
        found = run(_round, tasks, shared=shared, n_jobs=options.n_jobs, progress=done)
    total = np.zeros(len(problem.units))
    count = np.zeros(len(problem.units))
    for (_, units), (real, _) in zip(tasks, found, strict=True):
        total[units] += real
        count[units] += 1
    for members in copies:
        total[list(members)] = total[list(members)].sum()
        count[list(members)] = count[list(members)].sum()
    return total / count, np.concatenate([shadow for _, shadow in found])


def _round(task: tuple[int, list[int]], shared: tuple[Problem, Learner, int]) -> tuple[Array, Array]:
    (number, units), (problem, learner, seed) = task, shared
    rng = stream(seed, "shadows", number)
    owner = [i for i, unit in enumerate(units) for _ in problem.units[unit]]
    X = problem.X[:, problem.columns(units)]
    # the columns of a term are permuted together, different terms each for itself
    orders = np.argsort(rng.random((len(units), len(X))), axis=1)
    shadows = np.take_along_axis(X, orders[owner].T, axis=0)
    params = {**FOREST, **objective(learner), "seed": int(rng.integers(2**31 - 1))}
    rows = Problem(np.column_stack([X, shadows]), problem.y, problem.weights)
    gain = train(params, rows, learner, trees=TREES).feature_importance("gain")
    gain = gain / max(gain.sum(), 1e-300)
    real, shadow = np.zeros(len(units)), np.zeros(len(units))
    np.add.at(real, owner, gain[: len(owner)])
    np.add.at(shadow, owner, gain[len(owner) :])
    return real, shadow
