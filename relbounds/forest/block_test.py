"""Which terms a forest uses more than it would if they had nothing to do with the response: a permutation test.

"The terms of this block are noise" means: together they have nothing to do with the response and with the terms
found before. Then their rows may be permuted, all columns of the block together, and a forest on permuted data is as
good as the one on the data. So:

1. Nothing is found yet; all terms are the block.
2. Grow a forest on the data and others on data whose block is permuted. The statistic of a term is the gain of its
   splits, and of those of terms that resemble it (a forest shares its splits among copies); it is put in units of the
   mean and spread it has over all these forests.
3. Terms beyond the largest statistics of the permuted blocks are found: the test is at `alpha` by that maximum. Go on
   with the rest as the block until nothing is found.

An error is made where the first block that is all noise is rejected: with a chance of `alpha` at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relbounds.forest.cluster import Likeness
from relbounds.forest.facts import Array, BlockTest
from relbounds.forest.learner import Learner, Problem, objective, train
from relbounds.forest.options import ForestOptions
from relbounds.parallel import chunks, run
from relbounds.progress import stage
from relbounds.seeds import stream

FOREST: dict[str, Any] = {
    "boosting": "rf",
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "num_leaves": 32,
    "max_depth": 6,
    "feature_fraction": 0.8,
    "extra_trees": True,
    "max_bin": 63,
}
"""A forest of random cuts in LightGBM's names: a product of two features is seen once both happen to be cut."""

TREES = 100
# Rows that a leaf must hold, as a share of all, within limits: smaller leaves see products of features, and noise.
LEAF, LEAST_LEAF, MOST_LEAF = 1 / 30, 3, 20
# Forests on permuted blocks: at least so many, and so many times the fewest that `alpha` can be reached with.
DRAWS, TIMES = 99, 5
# After so many a block that can no longer be rejected is given up.
FIRST = 19
# Similarity from which the splits of one term count for the other as well.
ALIKE = 0.7
# Forests per task: fixed, so that the work does not depend on the number of workers.
CHUNK = 4


@dataclass(frozen=True)
class _Block:
    """What a stage permutes (`units`), what it keeps, and how far each term of the block speaks for the others."""

    stage: int
    units: tuple[int, ...]
    kept: tuple[int, ...]
    alike: Array


def block_test(problem: Problem, learner: Learner, like: Likeness, options: ForestOptions) -> BlockTest:
    """Test all terms; relevant are those with ``p_adjusted <= alpha``.

    Examples
    --------
    >>> from relbounds.forest.cluster import likeness
    >>> X = np.random.default_rng(0).normal(size=(120, 3))
    >>> problem = Problem(X, X[:, 1] ** 2, np.ones(120), units=((0,), (1,), (2,)))
    >>> test = block_test(problem, Learner("regression", 0), likeness(X), ForestOptions())
    >>> (test.p_adjusted <= 0.05).tolist()
    [False, True, False]
    """
    d = len(problem.units)
    p, adjusted = np.ones(d), np.ones(d)
    rest: tuple[int, ...] = tuple(range(d))
    found: tuple[int, ...] = ()
    forests, floor, step = 0, 0.0, 0
    with stage("permutations", None, options.progress) as done:
        while rest:
            block = _Block(step, rest, found, _weights(like.mutual[np.ix_(rest, rest)]))
            values = _draw(problem, learner, block, options, done)
            forests += len(values)
            own, largest = _p_values(values, pooled=options.control == "fdr")
            largest = np.maximum(largest, floor)
            new = largest <= options.alpha
            decided = new if new.any() else np.ones(len(rest), dtype=bool)
            places = np.array(rest)[decided]
            p[places], adjusted[places] = own[decided], largest[decided]
            if not new.any():
                break
            floor = float(largest[new].max())
            found = (*found, *(int(k) for k in places))
            rest = tuple(int(k) for k in np.array(rest)[~decided])
            step += 1
    if options.control == "fdr":
        from statsmodels.stats.multitest import multipletests  # slow to load

        adjusted = multipletests(p, method="fdr_bh")[1]
    return BlockTest(p, adjusted, forests)


def draws_for(alpha: float) -> int:
    """Return the number of permuted blocks: the fewest with which `alpha` can be reached, several times over.

    Examples
    --------
    >>> draws_for(0.05), draws_for(0.01)
    (99, 499)
    """
    return max(DRAWS, TIMES * math.ceil(1 / alpha) - 1)


def _weights(mutual: Array) -> Array:
    """Return how far the splits of one term count for another: as much as the two resemble each other, if they do."""
    return np.where(mutual >= ALIKE, mutual, 0.0)


def _draw(problem: Problem, learner: Learner, block: _Block, options: ForestOptions, done: Any) -> Array:
    """Return the statistics of the data (first row) and of permuted blocks; fewer of these where all is clear."""
    total = draws_for(options.alpha)
    values: list[Array] = []
    for last in (min(FIRST, total), total):
        draws = range(len(values), last + 1)
        tasks = [draws[piece.start : piece.stop] for piece in chunks(len(draws), CHUNK)]
        shared = (problem, learner, block, options.seed)
        for piece in run(_forests, tasks, shared=shared, n_jobs=options.n_jobs):
            values += piece
            done(len(piece))
        _, largest = _p_values(np.array(values), pooled=False)
        # the p-value if no further permuted block reached the data's largest value
        if largest.min() * (last + 1) / (total + 1) > options.alpha:
            break
    return np.array(values)


def _p_values(values: Array, pooled: bool) -> tuple[Array, Array]:
    """Return p-values of the first row: of each term by itself, and by the largest of the block.

    `pooled`: of each term by itself, but against the permuted values of all.
    """
    # over all rows alike, the first included: then under the hypothesis the rows stay exchangeable
    spread = values.std(axis=0)
    z = (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    # rounding must not tell equal values apart
    data, noise = z[0] - 1e-9, z[1:]
    reached = noise.max(axis=1)[:, None] >= data
    if pooled:
        own = (1 + (noise.ravel()[:, None] >= data).sum(axis=0)) / (1 + noise.size)
    else:
        own = (1 + (noise >= data).sum(axis=0)) / (1 + len(noise))
    return own, (1 + reached.sum(axis=0)) / (1 + len(noise))


def _forests(draws: range, shared: tuple[Problem, Learner, _Block, int]) -> list[Array]:
    problem, learner, block, seed = shared
    return [_forest(draw, problem, learner, block, seed) for draw in draws]


def _forest(draw: int, problem: Problem, learner: Learner, block: _Block, seed: int) -> Array:
    """Return the statistic of each term of the block; draw 0 is the data as they are."""
    rng = stream(seed, "block forests", block.stage, draw)
    order: NDArray[np.intp] = rng.permutation(len(problem.y)) if draw else np.arange(len(problem.y))
    units = [problem.units[k] for k in block.units]
    own = problem.X[order][:, [c for unit in units for c in unit]]
    X = np.column_stack([own, problem.X[:, problem.columns(block.kept)]])
    leaf = int(np.clip(LEAF * len(X), LEAST_LEAF, MOST_LEAF))
    params = {**FOREST, **objective(learner), "min_data_in_leaf": leaf, "seed": int(rng.integers(2**31 - 1))}
    rows = Problem(X, problem.y, problem.weights)
    gain = train(params, rows, learner, trees=TREES).feature_importance("gain")[: own.shape[1]]
    ends = np.cumsum([0, *map(len, units[:-1])])
    sums = np.add.reduceat(gain, ends)
    return np.asarray(block.alike @ np.sqrt(sums))
