"""Data as users bring them: checked, and every column in one of five plain shapes."""

from __future__ import annotations

import numbers
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types

from relbounds.errors import DataError, counted, listed, nearest

_NUMBER = re.compile(r"\s*[-+]?(\d+|\d+,\d+|\d{1,3}(,\d{3})+)\s*")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2}(,\d{3})+\s*")


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
    refuse_nul(names, what)
    doubled = sorted({n for n in names if names.count(n) > 1}) if len(set(names)) < len(names) else []
    if doubled:
        raise DataError(
            f"The {what} have more than one column named {listed(doubled)}. "
            "Rename or remove the copies, for example data.loc[:, ~data.columns.duplicated()]."
        )
    if any(not isinstance(c, str) for c in data.columns):
        data = data.set_axis(names, axis=1)
    return data


def refuse_nul(names: Iterable[str], what: str) -> None:
    """Raise if a name holds a NUL byte, which ends a text in files and figures before its time.

    Examples
    --------
    >>> refuse_nul(["age"], "data")
    """
    bad = [name for name in names if "\0" in name]
    if bad:
        raise DataError(
            f"The {what} have NUL bytes in the name{_s(bad)} {listed(bad)}. Rename: name.replace('\\0', '')."
        )


def _converted(data: Any, what: str) -> pd.DataFrame:
    if isinstance(data, Mapping):
        try:
            return pd.DataFrame(dict(data))
        except (ValueError, TypeError) as error:
            raise DataError(f"The columns of the {what} do not fit together: {error}.") from None
    if hasattr(data, "collect") and not hasattr(data, "to_pandas"):
        raise DataError(
            f"The {what} are a {type(data).__name__}, which has not been read yet. Read it first: data.collect()."
        )
    if hasattr(data, "to_pandas"):
        try:
            frame = data.to_pandas()
        except ImportError as error:
            raise DataError(
                f"The {what} cannot be turned into a pandas DataFrame: {error}. Install what is missing, or pass a "
                "DataFrame."
            ) from error
        if isinstance(frame, pd.DataFrame):
            return _with_enums(data, frame)
    advice = "Pass a pandas DataFrame with one named column per variable"
    if isinstance(data, np.ndarray | list | tuple):
        advice += ": pandas.DataFrame(array, columns=[...])"
    raise DataError(f"The {what} are of type {type(data).__name__}, which has no named columns. {advice}.")


def _with_enums(data: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the order of polars' Enum columns; its Categorical has none, and messages should say what has."""
    schema = getattr(data, "schema", None)
    if not type(data).__module__.startswith("polars") or not isinstance(schema, Mapping):
        return frame
    for name, dtype in schema.items():
        if type(dtype).__name__ == "Enum":
            frame[name] = pd.Categorical(frame[name], categories=list(dtype.categories), ordered=True)
    frame.attrs["library"] = "polars"
    return frame


def decimal_commas(series: pd.Series) -> str:
    """Return what to say about text that is numbers written with a comma, or nothing.

    Examples
    --------
    >>> decimal_commas(pd.Series(["1,5", "2,25"], name="crp"))
    "Column 'crp' holds numbers with a decimal comma ('1,5'). Read the file with decimal=',', or convert them:
    data['crp'].str.replace(',', '.').astype(float)."
    >>> decimal_commas(pd.Series(["north", "south"], name="site"))
    ''
    """
    if getattr(series.dtype, "kind", "O") in "fiub":
        return ""
    found = [v for v in series.dropna().unique() if isinstance(v, str)]
    commas = [v for v in found if "," in v]
    if not commas or not all(_NUMBER.fullmatch(v) for v in found):
        return ""
    name = series.name
    if all(_THOUSANDS.fullmatch(v) for v in commas) and len(found) > 2:
        return (
            f"Column {name!r} holds numbers with commas ({commas[0]!r}). If the comma groups thousands, read the file "
            "with thousands=','; if it is a decimal comma, with decimal=','."
        )
    return (
        f"Column {name!r} holds numbers with a decimal comma ({commas[0]!r}). Read the file with decimal=',', or "
        f"convert them: data[{name!r}].str.replace(',', '.').astype(float)."
    )


def plain(column: pd.Series) -> pd.Series:
    """Return a column as float, int, bool, category, or object: strings, or truth values, and missing values.

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
        return _truth_values(column)
    if types.is_numeric_dtype(dtype):
        if types.is_integer_dtype(dtype) and not column.isna().any():
            return column.astype(np.int64)
        return _numbers(column)
    return _objects(column)


def _numbers(column: pd.Series) -> pd.Series:
    values = column.to_numpy(dtype=float, na_value=np.nan)
    return pd.Series(values, index=column.index, name=column.name)


def _truth_values(column: pd.Series) -> pd.Series:
    """Truth values; with missing ones an object column of True, False and None until those rows are gone."""
    missing = column.isna().to_numpy()
    if not missing.any():
        return column.astype(bool)
    values = np.array([None if m else bool(v) for v, m in zip(column, missing, strict=True)], dtype=object)
    return pd.Series(values, index=column.index, name=column.name, dtype=object)


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
    if kind == "truth values":
        return _truth_values(column)
    if kind == "numbers":
        filled = np.array([np.nan if m else float(v) for v, m in zip(values, missing, strict=True)])
        whole = not missing.any() and all(isinstance(v, numbers.Integral) for v in values)
        if whole and np.all(np.abs(filled) < 2.0**53):
            return pd.Series(filled.astype(np.int64), index=column.index, name=column.name)
        return pd.Series(filled, index=column.index, name=column.name)
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
        spare = [c for c in frame.columns if c not in names]
        hint = nearest(absent[0], spare) if len(absent) == 1 else ""
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
    kept = {name: column[keep] for name, column in columns.items()}
    # truth values without their missing ones are truth values again
    return {name: plain(column) if column.dtype == object else column for name, column in kept.items()}
