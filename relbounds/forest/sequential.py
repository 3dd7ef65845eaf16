"""The published sequential method: Boruta, a sparse forest, then one removal at a time.

Features A by Boruta on a forest that sees a tenth of the features per tree; a minimal set M of those that a
forest with most features per tree gives more gain than it gives permuted features; both together are relevant.
A feature of M is strong if the training loss of a forest on A and M with that feature shuffled lies above the
prediction interval of losses with a permuted feature added. The interval is Student's, 50 samples, one-sided
error 1e-6. What is relevant and not strong is weak.

Where the published text is open or at odds with the published tables, this is how it is read:

- M is not cut to the features that Boruta confirms: cut, the overall F1 on set NL1 is 0.82 and not 0.98.
- The permuted feature is added to all features, not to A alone.
- Only losses above the interval count, not those below.
- All forests grow from one seed: losses then differ by what the features tell and not by the draw of the trees.
  With a seed for each forest the intervals widen so much that at this level hardly any feature is strong.

The published tables of the linear sets show a training accuracy of 1.00, which a forest of the published
options (at least 20 rows a leaf) does not reach, and call all of M strong. Both come out if the interval and M
are taken from boosted trees at LightGBM's defaults, which fit the training rows exactly, while the loss without
a feature is that of a forest: `BOOSTED` does this, for comparison only.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relbounds.errors import MissingExtraError
from relbounds.forest.facts import Array, Found
from relbounds.forest.learner import (
    CLASSES,
    Learner,
    Problem,
    constant_loss,
    lightgbm,
    losses,
    objective,
    train,
)
from relbounds.forest.options import ForestOptions
from relbounds.noise_intervals import prediction_interval, tail_probability
from relbounds.parallel import run
from relbounds.progress import stage
from relbounds.seeds import stream

FOREST: dict[str, Any] = {
    "boosting": "rf",
    "bagging_fraction": 0.632,
    "bagging_freq": 1,
    "num_leaves": 32,
    "max_depth": 5,
}
SPARSE = 0.8
DENSE = 0.1


@dataclass(frozen=True)
class Models:
    """LightGBM's settings of the models behind the noise intervals and M, and behind the removals."""

    noise: tuple[tuple[str, Any], ...]
    removal: tuple[tuple[str, Any], ...]


FORESTS = Models(*2 * (tuple({**FOREST, "feature_fraction": SPARSE}.items()),))
BOOSTED = Models(
    noise=(("boosting", "gbdt"),),
    removal=tuple({**FOREST, "num_leaves": 31, "max_depth": -1, "feature_fraction": DENSE}.items()),
)
BORUTA: dict[str, Any] = {"n_estimators": "auto", "perc": 70, "alpha": 0.01, "max_iter": 100}


def sequential_relevance(
    problem: Problem, learner: Learner, options: ForestOptions, models: Models = FORESTS
) -> Found:
    """Classify every column by the published sequence of tests; a term is what the best of its columns is."""
    learner = replace(learner, trees=options.trees)
    with stage("Boruta", None, options.progress):
        found = boruta(problem, learner, options)
    importance = np.array([_fit(problem, learner, options, models.noise)[1]]).ravel()
    shared = (problem, learner, options, models)
    with stage("probes", options.probes, options.progress) as done:
        probes = run(_probe, list(range(options.probes)), shared=shared, n_jobs=options.n_jobs, progress=done)
    loss_noise = prediction_interval(np.array([loss for loss, _ in probes]), options.level)
    importance_noise = prediction_interval(np.array([share for _, share in probes]), options.level)
    sparse = importance > importance_noise.upper
    found = found | sparse
    kept, minimal = np.flatnonzero(found), np.flatnonzero(sparse).tolist()
    with stage("removal", len(minimal), options.progress) as done:
        without = np.array(
            run(_removed, minimal, shared=(*shared, kept), n_jobs=options.n_jobs, progress=done)
        )
    base = float(np.mean(loss_noise.values)) if options.probes else 0.0
    removal, strong = np.full(len(found), np.nan), np.zeros(len(found), dtype=bool)
    removal[minimal] = without - base
    # the only relevant feature cannot have a stand-in
    strong[minimal] = without > loss_noise.upper if len(kept) > 1 else True
    strong, found = (np.array([part[list(u)].any() for u in problem.units]) for part in (strong, found))
    importance = np.array([importance[list(u)].max() for u in problem.units])
    p = tail_probability(importance, importance_noise)
    missing = np.full(len(problem.units), np.nan)
    return Found(
        importance=importance,
        removal=np.array([_largest(removal[list(u)]) for u in problem.units]),
        alone=missing,
        replaceable=missing,
        relevance=np.where(strong, "strong", np.where(found, "weak", "irrelevant")),
        p=p,
        p_adjusted=_adjusted(p),
        importance_noise=importance_noise,
        removal_noise=prediction_interval(loss_noise.values - base, options.level),
        groups=(),
        loss=base,
        constant=_constant(problem, learner),
        linear=False,
    )


def _largest(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(known.max()) if len(known) else np.nan


def _adjusted(p: Array) -> Array:
    from statsmodels.stats.multitest import multipletests  # slow to load

    return np.asarray(multipletests(p, method="fdr_bh")[1])


def _constant(problem: Problem, learner: Learner) -> float:
    if learner.family not in CLASSES:
        return constant_loss(problem, learner)
    counts = np.bincount(problem.y.astype(int), weights=problem.weights)
    return float(1 - counts.max() / counts.sum())


def boruta(problem: Problem, learner: Learner, options: ForestOptions) -> np.ndarray:
    """Return which features Boruta confirms, with the forest of the published method inside.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> problem = Problem(X, 1.0 + (X[:, 0] > 0), np.ones(200))
    >>> boruta(problem, Learner("binary", 2), ForestOptions()).tolist()
    [True, False, False, False]
    """
    lgb = lightgbm()
    try:
        from boruta import BorutaPy
    except ImportError as error:
        raise MissingExtraError(
            "method='sequential' needs Boruta, which is not installed. "
            "Install the extra: pip install 'relbounds[forest]'."
        ) from error
    classes = learner.family in CLASSES
    maker = lgb.LGBMClassifier if classes else lgb.LGBMRegressor
    forest = maker(
        boosting_type="rf",
        num_leaves=FOREST["num_leaves"],
        max_depth=FOREST["max_depth"],
        subsample=FOREST["bagging_fraction"],
        subsample_freq=FOREST["bagging_freq"],
        colsample_bytree=DENSE,
        importance_type="gain",
        n_jobs=1,
        deterministic=True,
        force_col_wise=True,
        verbose=-1,
    )
    state = np.random.RandomState(options.seed)  # what the package asks for
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = BorutaPy(forest, random_state=state, **BORUTA).fit(problem.X, problem.y)
    return np.asarray(selector.support_, dtype=bool)


def _fit(
    rows: Problem, learner: Learner, options: ForestOptions, model: tuple[tuple[str, Any], ...]
) -> tuple[float, Array]:
    """Return the training loss of a model and the gain of its features."""
    seed = int(stream(options.seed, "sparse forest").integers(2**30))
    params = {**dict(model), **dict(options.params), **objective(learner), "seed": seed}
    booster = train(params, rows, learner, trees=learner.trees)
    guess = booster.predict(rows.X, num_threads=1)
    if learner.family in CLASSES:
        # the published loss: the share of rows in the wrong class
        code = (guess > 0.5) + 1 if learner.family == "binary" else np.argmax(guess, axis=1) + 1
        wrong = (code != rows.y).astype(float)
    else:
        wrong = losses(learner.family, rows.y, guess)
    return float(np.average(wrong, weights=rows.weights)), booster.feature_importance("gain")


def _probe(number: int, shared: tuple[Problem, Learner, ForestOptions, Models]) -> tuple[float, float]:
    problem, learner, options, models = shared
    rng = stream(options.seed, "forest probes", number)
    column = rng.permutation(problem.X[:, rng.integers(problem.X.shape[1])])
    wider = replace(problem, X=np.column_stack([problem.X, column]))
    loss, gain = _fit(wider, learner, options, models.noise)
    return loss, float(gain[-1])


def _removed(k: int, shared: tuple[Problem, Learner, ForestOptions, Models, np.ndarray]) -> float:
    problem, learner, options, models, kept = shared
    rng = stream(options.seed, "forest losses", k)
    X = problem.X[:, kept].copy()
    place = int(np.flatnonzero(kept == k)[0])
    X[:, place] = rng.permutation(X[:, place])
    return _fit(replace(problem, X=X), learner, options, models.removal)[0]
