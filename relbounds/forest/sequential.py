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
settings (at least 20 rows a leaf) does not reach, and call all of M strong. Both come out if the interval and M
are taken from boosted trees at LightGBM's defaults, which fit the training rows exactly, while the loss without
a feature is that of a forest: `BOOSTED` does this, for comparison only.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from relbounds.errors import MissingExtraError
from relbounds.forest.facts import Array, Found, Settings
from relbounds.forest.learner import Learner, Problem, constant_loss, lightgbm, losses, objective, train
from relbounds.noise_intervals import prediction_interval
from relbounds.parallel import run
from relbounds.progress import stage
from relbounds.seeds import stream

PROBES = 50
LEVEL = 1 - 1e-6
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
    problem: Problem, family: str, n_levels: int, settings: Settings, models: Models = FORESTS
) -> Found:
    """Classify every feature by the published sequence of tests."""
    learner = Learner(family, n_levels, trees=settings.trees)
    d = problem.X.shape[1]
    with stage("Boruta", None, settings.progress):
        found = boruta(problem, learner, settings)
    importance = np.array([_fit(problem.X, problem, learner, settings, models.noise)[1]]).ravel()
    with stage("probes", settings.probes, settings.progress) as done:
        probes = run(
            _probe,
            list(range(settings.probes)),
            shared=(problem, learner, settings, models),
            n_jobs=settings.n_jobs,
            progress=done,
        )
    loss_noise = prediction_interval(np.array([loss for loss, _ in probes]), settings.level)
    importance_noise = prediction_interval(np.array([share for _, share in probes]), settings.level)
    sparse = importance > importance_noise.upper
    found = found | sparse
    kept, minimal = np.flatnonzero(found), np.flatnonzero(sparse).tolist()
    with stage("removal", len(minimal), settings.progress) as done:
        without = run(
            _removed,
            minimal,
            shared=(problem, learner, settings, models, kept),
            n_jobs=settings.n_jobs,
            progress=done,
        )
    base = float(np.mean(loss_noise.values)) if settings.probes else 0.0
    removal = np.full(d, np.nan)
    removal[minimal] = np.array(without) - base
    strong = np.zeros(d, dtype=bool)
    # the only relevant feature cannot have a stand-in
    strong[minimal] = np.array(without) > loss_noise.upper if len(kept) > 1 else True
    missing = np.full(d, np.nan)
    return Found(
        importance=importance,
        removal=removal,
        alone=missing,
        replaceable=missing,
        relevance=np.where(strong, "strong", np.where(found, "weak", "irrelevant")),
        importance_noise=importance_noise,
        removal_noise=prediction_interval(loss_noise.values - base, settings.level),
        groups=(),
        loss=base,
        constant=_constant(problem, learner),
        learner="forest, training loss",
    )


def _constant(problem: Problem, learner: Learner) -> float:
    if learner.family not in ("binary", "nominal"):
        return constant_loss(problem, learner)
    counts = np.bincount(problem.y.astype(int), weights=problem.weights)
    return float(1 - counts.max() / counts.sum())


def boruta(problem: Problem, learner: Learner, settings: Settings) -> np.ndarray:
    """Return which features Boruta confirms, with the forest of the published method inside.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> problem = Problem(X, 1.0 + (X[:, 0] > 0), np.ones(200))
    >>> boruta(problem, Learner("binary", 2), Settings()).tolist()
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
    classes = learner.family in ("binary", "nominal")
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
    state = np.random.RandomState(settings.seed)  # what the package asks for
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selector = BorutaPy(forest, random_state=state, **BORUTA).fit(problem.X, problem.y)
    return np.asarray(selector.support_, dtype=bool)


def _fit(
    X: Array, problem: Problem, learner: Learner, settings: Settings, model: tuple[tuple[str, Any], ...]
) -> tuple[float, Array]:
    """Return the training loss of a model and the gain of its features."""
    seed = int(stream(settings.seed, "sparse forest").integers(2**30))
    params = {**dict(model), **dict(settings.params), **objective(learner), "seed": seed}
    booster = train(params, X, problem.y, problem.weights, learner, learner.trees)
    guess = booster.predict(X, num_threads=1)
    if learner.family in ("binary", "nominal"):
        # the published loss: the share of rows in the wrong class
        code = (guess > 0.5) + 1 if learner.family == "binary" else np.argmax(guess, axis=1) + 1
        rows = (code != problem.y).astype(float)
    else:
        rows = losses(learner.family, problem.y, guess)
    return float(np.average(rows, weights=problem.weights)), booster.feature_importance("gain")


def _probe(number: int, shared: tuple[Problem, Learner, Settings, Models]) -> tuple[float, float]:
    problem, learner, settings, models = shared
    rng = stream(settings.seed, "forest probes", number)
    column = rng.permutation(problem.X[:, rng.integers(problem.X.shape[1])])
    loss, gain = _fit(np.column_stack([problem.X, column]), problem, learner, settings, models.noise)
    return loss, float(gain[-1])


def _removed(k: int, shared: tuple[Problem, Learner, Settings, Models, np.ndarray]) -> float:
    problem, learner, settings, models, kept = shared
    rng = stream(settings.seed, "forest losses", k)
    X = problem.X[:, kept].copy()
    place = int(np.flatnonzero(kept == k)[0])
    X[:, place] = rng.permutation(X[:, place])
    return _fit(X, problem, learner, settings, models.removal)[0]
