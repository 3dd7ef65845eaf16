"""The learner behind the removal tests: boosted random trees, alone or on top of a linear score.

A forest alone needs many rows to imitate a straight line, so that on small data the loss of one feature
drowns in its errors. Where a line already says a lot, the trees therefore start from a linear score and learn
what it misses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relbounds.errors import DataError, MissingExtraError
from relbounds.folds import deal_folds
from relbounds.seeds import stream

Array = NDArray[np.float64]

CLASSES = ("binary", "nominal")
"""Families whose predictions are probabilities."""

RIDGE = 1.0
"""Penalty of the linear score on standardised features: enough for separable or collinear data."""

TREES: dict[str, Any] = {
    "learning_rate": 0.1,
    "num_leaves": 16,
    "max_depth": 5,
    "min_data_in_leaf": 5,
    "feature_fraction": 0.8,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambda_l2": 2.0,
    "extra_trees": True,
    "max_bin": 63,
}
"""Shallow randomised trees, many of them: the settings of the removal tests (LightGBM's names)."""


def lightgbm() -> Any:
    """Return the LightGBM module, or say how to install it."""
    try:
        import lightgbm as module
    except ImportError as error:
        raise MissingExtraError(
            "forest_relevance() needs LightGBM, which is not installed. "
            "Install the extra: pip install 'relbounds[forest]'."
        ) from error
    return module


@dataclass(frozen=True)
class Learner:
    """What is fitted, and how its loss is counted; `linear` lets the trees start from a linear score."""

    family: str
    n_levels: int
    linear: bool = False
    trees: int = 100
    params: tuple[tuple[str, Any], ...] = tuple(TREES.items())

    def with_params(self, changes: Iterable[tuple[str, Any]]) -> Learner:
        """Return the same learner with some of LightGBM's settings changed."""
        return replace(self, params=tuple({**dict(self.params), **dict(changes)}.items()))

    def with_linear(self, linear: bool) -> Learner:
        """Return the same learner with or without the linear start."""
        return replace(self, linear=linear)


@dataclass(frozen=True)
class Problem:
    """Standardised features, response (codes from 1, or numbers) and case weights.

    `units`: the columns of each term, which are judged, permuted and taken away together. `levels`: those of the
    response, None for numbers; `cluster`: rows that belong together.
    """

    X: Array
    y: Array
    weights: Array
    units: tuple[tuple[int, ...], ...] = ()
    levels: tuple[Any, ...] | None = None
    cluster: NDArray[np.intp] | None = None

    def take(self, rows: NDArray[Any]) -> Problem:
        """Return some of the rows, without their clusters."""
        return Problem(self.X[rows], self.y[rows], self.weights[rows], self.units, self.levels)

    def columns(self, units: Iterable[int]) -> list[int]:
        """Return the columns of some terms."""
        return [column for unit in units for column in self.units[unit]]


def losses(family: str, y: Array, prediction: Array) -> Array:
    """Return one loss per row: Brier score for classes, absolute difference on levels or numbers.

    Examples
    --------
    >>> losses("ordinal", np.array([1.0, 3.0]), np.array([1.5, 1.0]))
    array([0.5, 2. ])
    >>> losses("binary", np.array([1.0, 2.0]), np.array([0.25, 0.25]))
    array([0.0625, 0.5625])
    """
    if family == "binary":
        return np.square(prediction - (y - 1))
    if family == "nominal":
        hot = np.eye(prediction.shape[1])[y.astype(int) - 1]
        return np.square(prediction - hot).sum(axis=1) / 2
    return np.abs(prediction - y)


def constant_loss(problem: Problem, learner: Learner) -> float:
    """Return the loss of the best prediction that uses no feature at all."""
    y, c = problem.y, problem.weights
    if learner.family == "binary":
        prediction = np.full(len(y), np.average(y - 1, weights=c))
    elif learner.family == "nominal":
        shares = np.bincount(y.astype(int) - 1, weights=c, minlength=learner.n_levels) / c.sum()
        prediction = np.tile(shares, (len(y), 1))
    else:
        order = np.argsort(y)
        half = np.searchsorted(np.cumsum(c[order]), c.sum() / 2)
        prediction = np.full(len(y), y[order][min(half, len(y) - 1)])
    return float(np.average(losses(learner.family, y, prediction), weights=c))


Held = list[tuple[NDArray[np.intp], int]]


def splits(problem: Problem, folds: int, repeats: int, seed: int) -> tuple[Held, tuple[str, ...]]:
    """Return, per repeat and fold, the held-out rows and a seed; and notes on levels too small for so many folds.

    Examples
    --------
    >>> problem = Problem(np.zeros((4, 1)), np.array([1.0, 1.0, 2.0, 2.0]), np.ones(4), levels=("no", "yes"))
    >>> held, notes = splits(problem, folds=2, repeats=1, seed=0)
    >>> sorted(np.concatenate([rows for rows, _ in held]).tolist())
    [0, 1, 2, 3]
    """
    out: Held = []
    notes: tuple[str, ...] = ()
    for repeat in range(repeats):
        rng = stream(seed, "forest folds", repeat)
        fold, notes = deal_folds(problem.y, problem.levels, folds, int(rng.integers(2**30)), problem.cluster)
        for k in range(int(fold.max()) + 1):
            out.append((np.flatnonzero(fold == k), int(rng.integers(2**30))))
    if not out:
        raise DataError(
            "No level has two rows, so that nothing can be held out. Merge levels, or use family='regression' where "
            "the levels are numbers."
        )
    return out, notes


def _ridge(X: Array, y: Array, c: Array) -> tuple[Array, Array]:
    """Return coefficients (intercept first) of a weighted ridge fit and its leave-one-out predictions."""
    A = np.column_stack([np.ones(len(X)), X])
    penalty = np.full(A.shape[1], RIDGE)
    penalty[0] = 1e-8
    gram = (A * c[:, None]).T @ A + np.diag(penalty)
    inverse = np.linalg.inv(gram)
    w = inverse @ (A.T @ (c * y))
    leverage = np.clip(c * np.einsum("ij,jk,ik->i", A, inverse, A), 0, 0.95)
    fitted = A @ w
    return w, y - (y - fitted) / (1 - leverage)


def _logistic(X: Array, target: Array, c: Array, steps: int = 12) -> tuple[Array, Array]:
    """Return coefficients of a ridge logistic fit (Newton steps) and approximate leave-one-out scores."""
    A = np.column_stack([np.ones(len(X)), X])
    penalty = np.full(A.shape[1], RIDGE)
    penalty[0] = 1e-4
    w = np.zeros(A.shape[1])
    for _ in range(steps):
        p = 1 / (1 + np.exp(-np.clip(A @ w, -30, 30)))
        v = c * np.maximum(p * (1 - p), 1e-6)
        inverse = np.linalg.inv((A * v[:, None]).T @ A + np.diag(penalty))
        step = inverse @ (A.T @ (c * (target - p)) - penalty * w)
        w = w + step
        if np.abs(step).max() < 1e-4:
            break
    score = A @ w
    p = 1 / (1 + np.exp(-np.clip(score, -30, 30)))
    v = np.maximum(p * (1 - p), 1e-6)
    leverage = np.einsum("ij,jk,ik->i", A, inverse, A)
    # one Newton step away from the fit that never saw the row
    return w, score - c * (target - p) * leverage / np.maximum(1 - c * v * leverage, 0.05)


def _linear_scores(learner: Learner, rows: Problem, X_new: Array) -> tuple[Array, Array]:
    """Return the linear start for the training rows (each as if left out) and for new rows."""
    X, y, c = rows.X, rows.y, rows.weights
    new = np.column_stack([np.ones(len(X_new)), X_new])
    if learner.family in ("ordinal", "regression"):
        w, held = _ridge(X, y, c)
        return held, new @ w
    if learner.family == "binary":
        w, held = _logistic(X, y - 1, c)
        return held, new @ w
    pairs = [_logistic(X, (y == k + 1).astype(float), c) for k in range(learner.n_levels)]
    return np.column_stack([held for _, held in pairs]), np.column_stack([new @ w for w, _ in pairs])


def objective(learner: Learner) -> dict[str, Any]:
    """Return LightGBM's objective for a family."""
    if learner.family == "binary":
        return {"objective": "binary"}
    if learner.family == "nominal":
        return {"objective": "multiclass", "num_class": learner.n_levels}
    return {"objective": "regression"}


def train(
    params: dict[str, Any], rows: Problem, learner: Learner, *, trees: int, start: Array | None = None
) -> Any:
    """Fit LightGBM on one thread, so that the trees are the same wherever they are grown."""
    lgb = lightgbm()
    fixed = {
        "verbose": -1,
        "num_threads": 1,
        "deterministic": True,
        "force_col_wise": True,
        "feature_pre_filter": False,
    }
    label = rows.y - 1 if learner.family in CLASSES else rows.y
    data = lgb.Dataset(rows.X, label=label, weight=rows.weights, init_score=start, params={**params, **fixed})
    # lgb.train() would write the model as text and read it back: a quarter of the time on small data
    booster = lgb.Booster({**params, **fixed}, data)
    for _ in range(trees):
        booster.update()
    return booster


def fit_predict(learner: Learner, rows: Problem, X_new: Array, seed: int) -> Array:
    """Fit on the training rows and predict new ones: probabilities for classes, numbers otherwise."""
    start = new_start = None
    if learner.linear and rows.X.shape[1]:
        start, new_start = _linear_scores(learner, rows, X_new)
    if rows.X.shape[1] == 0:  # nothing left to learn from: a constant column gives the constant forest
        rows, X_new = replace(rows, X=np.zeros((len(rows.X), 1))), np.zeros((len(X_new), 1))
    params = {**dict(learner.params), **objective(learner), "seed": seed}
    booster = train(params, rows, learner, trees=learner.trees, start=start)
    raw = booster.predict(X_new, raw_score=True, num_threads=1)
    if new_start is not None:
        raw = raw + new_start
    if learner.family == "binary":
        return 1 / (1 + np.exp(-np.clip(raw, -30, 30)))
    if learner.family == "nominal":
        raw = np.exp(raw - raw.max(axis=1, keepdims=True))
        return raw / raw.sum(axis=1, keepdims=True)
    if learner.family == "ordinal":
        return np.clip(raw, 1, learner.n_levels)
    return np.asarray(raw)


def heldout(
    learner: Learner,
    problem: Problem,
    units: Sequence[int],
    held: Held,
    *,
    gone: Sequence[int] = (),
    extra: Array | None = None,
) -> Array:
    """Return the held-out loss of every row, averaged over repeats, of models on some terms; NaN if never held out.

    Parameters
    ----------
    units : sequence of int
        The terms at hand.
    gone : sequence of int
        Those among them that are taken away: their rows are shuffled anew for every fit. The number of
        columns stays, so that a model without a term differs from one with it in nothing but what the
        term tells.
    extra : array, optional
        Further columns.
    """
    columns = problem.columns(units)
    X = problem.X[:, columns]
    away = set(problem.columns(gone))
    places = [i for i, k in enumerate(columns) if k in away]
    if extra is not None:
        X = np.column_stack([X, extra])
    total, count = np.zeros(len(problem.y)), np.zeros(len(problem.y))
    for rows, seed in held:
        if places:
            shuffle = stream(seed, "shuffled features", *gone).permutation(len(X))
            X[:, places] = X[shuffle][:, places]
        seen = np.ones(len(problem.y), dtype=bool)
        seen[rows] = False
        guess = fit_predict(learner, replace(problem.take(seen), X=X[seen]), X[rows], seed)
        total[rows] += losses(learner.family, problem.y[rows], guess)
        count[rows] += 1
    with np.errstate(invalid="ignore"):
        return total / count


def mean_loss(problem: Problem, rows: Array) -> float:
    """Return the weighted mean of the losses of the rows that were held out."""
    known = ~np.isnan(rows)
    return float(np.average(rows[known], weights=problem.weights[known]))
