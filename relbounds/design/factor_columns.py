"""One factor of a term into columns: numbers as they stand, a column per level; the same for new rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.design.factors import FactorRecipe, is_box, plain_name
from relbounds.design.levels import label, level_codes, used_levels
from relbounds.design.user_data import decimal_commas, plain
from relbounds.errors import DataError, counted, listed

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class FactorCoding:
    """How a factor was coded in the training rows."""

    endings: tuple[str, ...]  # what each column's name ends with
    levels: tuple[Any, ...] | None  # None for numbers
    ordered: bool = False
    contrast: bool = False  # whether the user asked for a coding of their own


@dataclass(frozen=True, eq=False)
class _Value:
    """What a factor evaluates to: a matrix of numbers, or a series that is a category or not."""

    matrix: FloatArray | None
    series: pd.Series | None
    categorical: bool
    wanted: Any = None
    contrast: bool = False


def learn_coding(
    recipe: FactorRecipe, data: Mapping[str, pd.Series], n: int
) -> tuple[FactorCoding, FloatArray]:
    """Evaluate a factor on the training rows: how it is coded, and its columns.

    Truth values are a category with the levels False and True.
    """
    value = _evaluate(recipe, data, n, "data")
    if value.matrix is not None:
        return FactorCoding(tuple(f"[{k}]" for k in range(value.matrix.shape[1])), None), value.matrix
    series = value.series
    assert series is not None
    if not value.categorical:
        return FactorCoding(("",), None), series.to_numpy(dtype=float)[:, None]
    levels = used_levels(series, value.wanted)
    ordered = isinstance(series.dtype, pd.CategoricalDtype) and bool(series.cat.ordered)
    coding = FactorCoding(tuple(f"[{label(v)}]" for v in levels), levels, ordered, value.contrast)
    return coding, _indicators(recipe, series, levels, "data")


def apply_coding(
    recipe: FactorRecipe, coding: FactorCoding, data: Mapping[str, pd.Series], n: int, what: str
) -> FloatArray:
    """Evaluate a factor on new rows, coded as it was in training."""
    value = _evaluate(recipe, data, n, what)
    name, width = recipe.factor.code, len(coding.endings)
    if value.matrix is not None:
        if value.matrix.shape[1] != width:
            columns = counted(value.matrix.shape[1], "column")
            raise DataError(f"{name!r} gives {columns} for the {what}, but {width} in training.")
        return value.matrix
    series = value.series
    assert series is not None
    if coding.levels is not None:
        return _indicators(recipe, series, coding.levels, what)
    if series.dtype.kind not in "fiub":
        raise DataError(
            f"{name!r} was a number in the training data, but holds {listed(used_levels(series))} in the "
            f"{what}. Convert it to numbers."
        )
    if width != 1:
        raise DataError(f"{name!r} gives 1 column for the {what}, but {width} in training.")
    return series.to_numpy(dtype=float)[:, None]


def _indicators(recipe: FactorRecipe, series: pd.Series, levels: tuple[Any, ...], what: str) -> FloatArray:
    codes = level_codes(series, levels, plain_name(recipe.factor), what)
    values = (codes[:, None] == np.arange(len(levels))).astype(float)
    values[codes < 0] = np.nan
    return values


def _evaluate(recipe: FactorRecipe, data: Mapping[str, pd.Series], n: int, what: str) -> _Value:
    value = recipe.value(data, what)
    if recipe.column is not None and value.dtype.kind in "fiu":  # by far the most common
        return _Value(None, value, False)
    wanted = contrast = None
    boxed = is_box(value)
    if boxed:
        wanted, contrast, value = value.levels, value.contrast, value.data
    array = value if isinstance(value, pd.Series) else np.asarray(value)
    if getattr(array, "ndim", 1) == 2 and array.dtype.kind in "fiub" and not boxed:
        matrix = np.asarray(array, dtype=float)
        if len(matrix) != n:
            raise recipe.trouble(ValueError(_rows(len(matrix), n)), what)
        return _Value(matrix, None, False)
    if array.ndim == 0:
        array = np.full(n, array[()])
    if array.ndim != 1 or len(array) != n:
        raise recipe.trouble(ValueError(_rows(len(array), n)), what)
    index = next(iter(data.values())).index if data else None
    if isinstance(array, pd.Series) and index is not None and not array.index.equals(index):
        raise recipe.trouble(ValueError("it changes the order or the labels of the rows."), what)
    if not isinstance(array, pd.Series):
        array = pd.Series(value if isinstance(value, pd.Categorical) else array, index=index)
    series = plain(array.rename(recipe.factor.code))
    if not boxed:
        problem = decimal_commas(series.rename(plain_name(recipe.factor)))
        if problem:
            raise DataError(problem)
    return _Value(None, series, boxed or series.dtype.kind not in "fiu", wanted, contrast is not None)


def _rows(got: int, n: int) -> str:
    return f"it gives {counted(got, 'value')} for {counted(n, 'row')}."
