"""Data as users bring them: checked, and every column in one of five plain shapes."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from relbounds.errors import DataError, OptionError, counted, listed, nearest


def as_frame(data: Any, what: str = "data") -> pd.DataFrame:
    """Return the data as a DataFrame with string column names, or say why they cannot be used.

    Parameters
    ----------
    data : DataFrame, dict of columns, or anything with a `to_pandas` method
    what : str
        What to call the data in an error message.

    Examples
    --------
    >>> as_frame({"x": [1, 2]}).shape
    (2, 1)
    """
    if not isinstance(data, pd.DataFrame):
        data = _converted(data, what)
    if data.columns.nlevels > 1:
        raise DataError(
            f"The columns of the {what} have {data.columns.nlevels} levels. Flatten them first, "
            "for example data.columns = ['_'.join(map(str, c)) for c in data.columns]."
        )
    names = [str(c) for c in data.columns]
    doubled = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
    if doubled:
        raise DataError(
            f"The {what} have more than one column named {listed(doubled)}. "
            "Rename or remove the copies, for example data.loc[:, ~data.columns.duplicated()]."
        )
    if any(not isinstance(c, str) for c in data.columns):
        data = data.set_axis(names, axis=1)
    return data


def _converted(data: Any, what: str) -> pd.DataFrame:
    if isinstance(data, Mapping):
        try:
            return pd.DataFrame(dict(data))
        except (ValueError, TypeError) as error:
            raise DataError(f"The columns of the {what} do not fit together: {error}.") from None
    if hasattr(data, "to_pandas"):
        frame = data.to_pandas()
        if isinstance(frame, pd.DataFrame):
            return frame
    advice = "Pass a pandas DataFrame with one named column per variable"
    if isinstance(data, np.ndarray | list | tuple):
        advice += ": pandas.DataFrame(array, columns=[...])"
    raise DataError(f"The {what} are of type {type(data).__name__}, which has no named columns. {advice}.")


def plain(column: pd.Series) -> pd.Series:
    """Return a column as float, int, bool, category, or object holding only strings and missing values.

    Nullable, Arrow-backed, sparse and string types, and object columns, come out as what they hold.

    Examples
    --------
    >>> plain(pd.Series([1, None], dtype="Int64")).dtype
    dtype('float64')
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return column
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        # Small integers would overflow in x**2, short floats would lose digits in log(x).
        wide = np.dtype({"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}[dtype.kind])
        if dtype == np.uint64:
            wide = np.dtype(np.float64)
        return column if dtype == wide else column.astype(wide)
    if types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.PeriodDtype):
        raise DataError(
            f"Column {column.name!r} holds dates. Turn them into a number first, "
            f"for example (data[{column.name!r}] - data[{column.name!r}].min()).dt.days."
        )
    if types.is_timedelta64_dtype(dtype):
        raise DataError(
            f"Column {column.name!r} holds durations. Turn them into a number first, "
            f"for example data[{column.name!r}].dt.total_seconds()."
        )
    if types.is_complex_dtype(dtype):
        raise DataError(f"Column {column.name!r} holds complex numbers. Use the real or the imaginary part.")
    if isinstance(dtype, pd.SparseDtype):
        return plain(pd.Series(np.asarray(column), index=column.index, name=column.name))
    if types.is_bool_dtype(dtype):
        return _numbers(column) if column.isna().any() else column.astype(bool)
    if types.is_numeric_dtype(dtype):
        if types.is_integer_dtype(dtype) and not column.isna().any():
            return column.astype(np.int64)
        return _numbers(column)
    return _objects(column)


def _numbers(column: pd.Series) -> pd.Series:
    values = column.to_numpy(dtype=float, na_value=np.nan)
    return pd.Series(values, index=column.index, name=column.name)


def _objects(column: pd.Series) -> pd.Series:
    """Strings, or Python objects that hold one type; a mixture has no order and no levels."""
    missing = column.isna().to_numpy()
    values = np.asarray(column.astype(object), dtype=object)
    kinds: dict[str, Any] = {}
    for value in values[~missing]:
        kind = (
            "text"
            if isinstance(value, str)
            else "truth values"
            if isinstance(value, bool | np.bool_)
            else "numbers"
            if isinstance(value, numbers.Number) and not isinstance(value, complex)
            else type(value).__name__
        )
        kinds.setdefault(kind, value)
    if not kinds:
        return pd.Series(np.full(len(column), np.nan), index=column.index, name=column.name)
    if len(kinds) > 1:
        shown = ", ".join(f"{kind} ({value!r})" for kind, value in kinds.items())
        raise DataError(
            f"Column {column.name!r} mixes types: {shown}. Make it one type: pandas.to_numeric(..., "
            "errors='coerce') "
            "for numbers, .astype(str) for categories."
        )
    kind = next(iter(kinds))
    if kind == "numbers" or (kind == "truth values" and missing.any()):
        filled = np.array([np.nan if m else float(v) for v, m in zip(values, missing, strict=True)])
        whole = not missing.any() and all(isinstance(v, numbers.Integral) for v in values)
        if whole and np.all(np.abs(filled) < 2.0**53):
            return pd.Series(filled.astype(np.int64), index=column.index, name=column.name)
        return pd.Series(filled, index=column.index, name=column.name)
    if kind == "truth values":
        return pd.Series(values.astype(bool), index=column.index, name=column.name)
    if kind != "text":
        raise DataError(
            f"Column {column.name!r} holds values of type {kind}, which are neither numbers nor categories. "
            "Convert or remove it."
        )
    values = values.copy()
    values[missing] = None
    return pd.Series(values, index=column.index, name=column.name, dtype=object)


def take(frame: pd.DataFrame, names: Iterable[str], what: str = "data") -> dict[str, pd.Series]:
    """Return the named columns, made plain; a missing name is an error with the nearest one.

    Examples
    --------
    >>> list(take(pd.DataFrame({"x": [1], "y": [2]}), ["x"]))
    ['x']
    """
    names = list(names)
    absent = [n for n in names if n not in frame.columns]
    if absent:
        hint = nearest(absent[0], frame.columns) if len(absent) == 1 else ""
        raise DataError(f"The {what} lack the column{_s(absent)} {listed(absent)}.{hint}")
    columns = {}
    for name in names:
        column = plain(frame[name])
        if column.dtype.kind == "f":
            count = int(np.isinf(column.to_numpy()).sum())
            if count:
                raise DataError(
                    f"Column {name!r} of the {what} holds {counted(count, 'infinite value')}. "
                    "Replace them by numbers, or by missing values to drop the rows: "
                    "data.replace([numpy.inf, -numpy.inf], numpy.nan)."
                )
        columns[name] = column
    return columns


def _s(items: Any) -> str:
    return "s" if len(items) != 1 else ""


def missing_rows(columns: Mapping[str, pd.Series], n: int) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Return which rows miss a value in any of the columns, and the count of each column that has some.

    Examples
    --------
    >>> mask, counts = missing_rows({"x": pd.Series([1.0, None])}, 2)
    >>> mask.tolist(), counts
    ([False, True], {'x': 1})
    """
    mask = np.zeros(n, dtype=bool)
    counts = {}
    for name, column in columns.items():
        kind = column.dtype.kind
        if kind in "iub":
            continue
        gone = np.isnan(column.to_numpy()) if kind == "f" else column.isna().to_numpy()
        if gone.any():
            counts[name] = int(gone.sum())
            mask |= gone
    return mask, counts


def keep_rows(columns: Mapping[str, pd.Series], keep: NDArray[np.bool_]) -> dict[str, pd.Series]:
    """Return the columns with only the rows to keep.

    Examples
    --------
    >>> keep_rows({"x": pd.Series([1, 2])}, np.array([False, True]))["x"].tolist()
    [2]
    """
    if keep.all():
        return dict(columns)
    return {name: column[keep] for name, column in columns.items()}


def case_weights(weights: Any, frame: pd.DataFrame) -> NDArray[np.float64] | None:
    """Return one checked weight per row of the data, or None for no weights.

    Parameters
    ----------
    weights : None, str or array-like
        A column name, or one number per row of the data before any row is dropped. A Series whose index holds
        the same labels as the data is put in their order.
    frame : DataFrame

    Examples
    --------
    >>> case_weights("n", pd.DataFrame({"n": [2, 1]}))
    array([2., 1.])
    """
    if weights is None:
        return None
    where = "weights"
    if isinstance(weights, str):
        if weights not in frame.columns:
            raise OptionError(
                f"weights={weights!r} is neither 'balanced' nor a column of the data."
                f"{nearest(weights, [*map(str, frame.columns), 'balanced'])}"
            )
        where = f"weights (column {weights!r})"
        weights = frame[weights]
    elif isinstance(weights, pd.Series) and not weights.index.equals(frame.index):
        same = (
            len(weights) == len(frame) and weights.index.is_unique and weights.index.isin(frame.index).all()
        )
        if same:
            weights = weights.reindex(frame.index)
    return check_weights(weights, len(frame), where)


def check_weights(weights: Any, n: int, where: str = "weights") -> NDArray[np.float64]:
    """Check that there is one finite weight >= 0 per row and that not all are 0.

    Examples
    --------
    >>> check_weights(np.array([1.0, 2.0]), 2)
    array([1., 2.])
    """
    try:
        values = weights if isinstance(weights, np.ndarray) else pd.Series(weights)
        values = pd.Series(values).to_numpy(dtype=float, na_value=np.nan) if np.ndim(values) == 1 else values
        values = np.asarray(values, dtype=float)
    except (ValueError, TypeError):
        raise OptionError(
            f"The {where} must be numbers: one per row, a column name, or 'balanced'."
        ) from None
    if values.ndim != 1 or len(values) != n:
        raise OptionError(
            f"The {where} must be one number per row of the data: {n} rows, but the shape is {values.shape}. "
            "Give a weight for every row, also for those that will be dropped."
        )
    bad = ~np.isfinite(values)
    if bad.any():
        raise OptionError(
            f"The {where} hold {counted(int(bad.sum()), 'missing or infinite value')} "
            f"(first in row {int(np.argmax(bad))}). Fill them in; 0 leaves a row without influence."
        )
    if (values < 0).any():
        raise OptionError(
            f"The {where} must not be negative: {int((values < 0).sum())} are (first in row "
            f"{int(np.argmax(values < 0))})."
        )
    if not (values > 0).any():
        raise OptionError(f"The {where} are all zero. At least one row must count.")
    return values
