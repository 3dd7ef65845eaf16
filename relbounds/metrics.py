"""Scores of predictions: three for ordered levels, one for two classes, one for numbers.

With y the truth, y^ the prediction and levels coded 1..L:

- MZE  = share of rows with ``y^ != y``;
- MAE  = mean of ``|y^ - y|``;
- MMAE = mean, over the levels that occur in y, of the MAE among the rows of that level. A rule that only
  knows the commonest level scores well on MZE and badly here, hence the default for ordinal responses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from relbounds.checks import shown
from relbounds.errors import DataError

__all__ = ["f1_weighted", "mae", "mmae", "mze", "r2"]


def _codes(y_true: Any, y_pred: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Give both sides as numbers on one scale; an ordered Categorical counts by the place of its level."""
    coded = all(isinstance(y, np.ndarray) and y.dtype.kind == "i" and y.ndim == 1 for y in (y_true, y_pred))
    if coded and len(y_true) == len(y_pred) > 0:
        # nothing to look into: cross-validation asks hundreds of times
        return y_true.astype(float), y_pred.astype(float)
    true, pred = _as_series(y_true, "truth"), _as_series(y_pred, "prediction")
    if len(true) != len(pred):
        raise DataError(
            f"The truth has {len(true)} values and the prediction {len(pred)}; a score needs one for one."
        )
    if len(true) == 0:
        raise DataError("A score needs at least one value; both arguments are empty.")
    levels = next((s.cat.categories for s in (true, pred) if isinstance(s.dtype, pd.CategoricalDtype)), None)
    if levels is None:
        return _finite(true, "truth"), _finite(pred, "prediction")
    sides = []
    for name, side in (("truth", true), ("prediction", pred)):
        if isinstance(side.dtype, pd.CategoricalDtype):
            side = pd.Series(np.asarray(side))
        place = levels.get_indexer(pd.Index(side))
        if (place < 0).any():
            stray = side[place < 0].iloc[0]
            raise DataError(
                f"The {name} holds {stray!r}, which is not one of the levels {list(levels)}; "
                "give both sides the same levels."
            )
        sides.append(place.astype(float))
    return sides[0], sides[1]


def _as_series(side: Any, name: str) -> pd.Series:
    try:
        return pd.Series(side)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"The {name} must be a plain sequence of levels or numbers, not {shown(side)}."
        ) from None


def _finite(side: pd.Series, name: str) -> NDArray[Any]:
    try:
        values = side.to_numpy(dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise DataError(
            f"The {name} holds values that are not numbers; pass an ordered Categorical or level codes."
        ) from None
    if not np.isfinite(values).all():
        raise DataError(f"The {name} holds missing or infinite values; drop those rows before scoring.")
    return values


def mze(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mean zero-one error: the share of rows with the wrong level.

    Parameters
    ----------
    y_true, y_pred : array-like
        Level codes, or (ordered) Categoricals with the same levels.

    Returns
    -------
    float

    Examples
    --------
    >>> mze([1, 2, 3, 3], [1, 2, 2, 1])
    0.5
    """
    true, pred = _codes(y_true, y_pred)
    return float(np.mean(true != pred))


def mae(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mean absolute error in levels: how many steps off, on average over rows.

    Parameters
    ----------
    y_true, y_pred : array-like
        Level codes, or (ordered) Categoricals with the same levels.

    Returns
    -------
    float

    Examples
    --------
    >>> mae([1, 2, 3, 3], [1, 2, 2, 1])
    0.75
    """
    true, pred = _codes(y_true, y_pred)
    return float(np.mean(np.abs(true - pred)))


def mmae(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Macro-averaged mean absolute error: the mean over levels of each level's own MAE.

    Only levels that occur in ``y_true`` count.

    Parameters
    ----------
    y_true, y_pred : array-like
        Level codes, or (ordered) Categoricals with the same levels.

    Returns
    -------
    float

    Examples
    --------
    Levels 1 and 2 are always right, level 3 is 1.5 steps off on average:

    >>> mmae([1, 2, 3, 3], [1, 2, 2, 1])
    0.5
    """
    true, pred = _codes(y_true, y_pred)
    off = np.abs(true - pred)
    _, level = np.unique(true, return_inverse=True)
    return float(np.mean(np.bincount(level, weights=off) / np.bincount(level)))


def f1_weighted(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """F1 of each class, averaged with the class sizes as weights.

    F1 of a class is 2 TP / (2 TP + FP + FN), and 0 where that is 0/0.

    Parameters
    ----------
    y_true, y_pred : array-like
        Labels, or Categoricals with the same levels.

    Returns
    -------
    float

    Examples
    --------
    >>> round(f1_weighted([0, 0, 1, 1], [0, 1, 1, 1]), 4)
    0.7333
    """
    true, pred = _codes(y_true, y_pred)
    total = 0.0
    for label in np.unique(true):
        hit = np.sum((true == label) & (pred == label))
        support = np.sum(true == label)
        total += support * 2 * hit / (support + np.sum(pred == label))
    return float(total / len(true))


def r2(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Share of the variance explained, 1 - SS(residual) / SS(total); negative when worse than the mean.

    A constant truth gives 1 for a perfect prediction and 0 for any other.

    Parameters
    ----------
    y_true, y_pred : array-like
        Numbers.

    Returns
    -------
    float

    Examples
    --------
    >>> round(r2([1.0, 2.0, 3.0], [1.0, 2.0, 2.0]), 4)
    0.5
    """
    true, pred = _codes(y_true, y_pred)
    residual = float(np.sum((true - pred) ** 2))
    total = float(np.sum((true - true.mean()) ** 2))
    if total == 0.0:
        return 1.0 if residual == 0.0 else 0.0
    return 1.0 - residual / total
