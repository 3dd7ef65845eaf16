"""The published sequential method: Boruta, a sparse forest, then one removal at a time.

All-relevant features A by Boruta on a forest that sees a tenth of the features per tree; a minimal set M of
those that a forest with nearly all features per tree gives more gain than it gives permuted features; a
feature of M is strong if the training loss without it lies above the prediction interval of losses with a
permuted feature added. The interval is Student's, 50 samples, one-sided error 1e-6. The rest of A is weak.

Every forest is grown from one seed, as in the authors' implementation: losses then differ by what the features
tell and not by the draw of the trees. With a seed for each forest the intervals widen so much that at this
level hardly any feature is strong.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from relbounds.errors import MissingExtraError
from relbounds.forest.facts import Array, Found, Settings
from relbounds.forest.learner import Learner, Problem, constant_loss, lightgbm, losses, objective, train
from relbounds.parallel import run
from relbounds.probes import prediction_interval
from relbounds.progress import stage

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
BORUTA: dict[str, Any] = {"n_estimators": "auto", "perc": 70, "alpha": 0.01, "max_iter": 100}


def sequential_relevance(problem: Problem, family: str, n_levels: int, settings: Settings) -> Found:
    """Classify every feature by the published sequence of tests."""
    learner = Learner(family, n_levels, trees=settings.trees)
    d = problem.X.shape[1]
    with stage("Boruta", None, settings.progress):
        found = boruta(problem, learner, settings)
    importance = np.array([_fit(problem.X, problem, learner, settings)[1]]).ravel()
    with stage("probes", settings.probes, settings.progress) as done:
        probes = run(
            _probe,
            list(range(settings.probes)),
            shared=(problem, learner, settings),
            n_jobs=settings.n_jobs,
            progress=done,
        )
    loss_noise = prediction_interval(np.array([loss for loss, _ in probes]), settings.level)
    importance_noise = prediction_interval(np.array([share for _, share in probes]), settings.level)
    kept = np.flatnonzero(found)
    minimal = [int(k) for k in kept if importance[k] > importance_noise.upper]
    with stage("removal", len(minimal), settings.progress) as done:
        without = run(
            _removed,
            minimal,
            shared=(problem, learner, settings, kept),
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
    if learner.family not in ("binary", "multiclass"):
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
    classes = learner.family in ("binary", "multiclass")
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


def _fit(X: Array, problem: Problem, learner: Learner, settings: Settings) -> tuple[float, Array]:
    """Return the training loss of the sparse forest and the gain of its features."""
    seed = int(np.random.default_rng([settings.seed, 41]).integers(2**30))
    params = {
        **FOREST,
        "feature_fraction": SPARSE,
        **dict(settings.params),
        **objective(learner),
        "seed": seed,
    }
    booster = train(params, X, problem.y, problem.weights, learner, learner.trees)
    guess = booster.predict(X, num_threads=1)
    if learner.family in ("binary", "multiclass"):
        # the published loss: the share of rows in the wrong class
        code = (guess > 0.5) + 1 if learner.family == "binary" else np.argmax(guess, axis=1) + 1
        rows = (code != problem.y).astype(float)
    else:
        rows = losses(learner.family, problem.y, guess)
    return float(np.average(rows, weights=problem.weights)), booster.feature_importance("gain")


def _probe(number: int, shared: tuple[Problem, Learner, Settings]) -> tuple[float, float]:
    problem, learner, settings = shared
    rng = np.random.default_rng([settings.seed, 42, number])
    column = rng.permutation(problem.X[:, rng.integers(problem.X.shape[1])])
    loss, gain = _fit(np.column_stack([problem.X, column]), problem, learner, settings)
    return loss, float(gain[-1])


def _removed(k: int, shared: tuple[Problem, Learner, Settings, np.ndarray]) -> float:
    problem, learner, settings, kept = shared
    rng = np.random.default_rng([settings.seed, 43, k])
    X = problem.X[:, kept].copy()
    place = int(np.flatnonzero(kept == k)[0])
    X[:, place] = rng.permutation(X[:, place])
    return _fit(X, problem, learner, settings)[0]
