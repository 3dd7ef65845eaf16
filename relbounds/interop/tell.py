"""Answers in plain types: facts, tables and fits as lists and dictionaries that R turns into its own objects.

What R cannot guess from a plain type is said under the key ``.kind``: ``frame`` (columns of a table), ``series``
(names and values), ``matrix`` (rows) and ``facts`` (a dataclass, with its class and what it prints).
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relbounds.interop.words import in_r


def whole(value: Any) -> Any:
    """Return whole numbers as integers, and lists and dictionaries of them: R's numbers are doubles.

    Examples
    --------
    >>> whole(3.0), whole([1.0, 2.5]), whole("a"), whole({"k": 2.0})
    (3, [1, 2.5], 'a', {'k': 2})
    """
    if isinstance(value, Mapping):
        return {str(name): whole(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [whole(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def scalar(value: Any) -> Any:
    """Return a NumPy or pandas scalar as Python's own; other things as they are, unknown ones as text.

    Examples
    --------
    >>> scalar(np.float64(0.5)), scalar(np.bool_(True)), scalar("a")
    (0.5, True, 'a')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Sequence):
        return [scalar(v) for v in value]
    return str(value)


def columns(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a data frame as lists by column; missing numbers are NaN, other missing things are "".

    Examples
    --------
    >>> columns(pd.DataFrame({"a": [1.0, None], "b": ["x", None]}))
    {'a': [1.0, nan], 'b': ['x', '']}
    """
    out: dict[str, list[Any]] = {}
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_bool_dtype(column):
            out[str(name)] = [bool(v) for v in column]
        elif pd.api.types.is_integer_dtype(column) and not column.isna().any():
            out[str(name)] = [int(v) for v in column]
        elif pd.api.types.is_numeric_dtype(column):
            out[str(name)] = [float("nan") if pd.isna(v) else float(v) for v in column]
        else:
            out[str(name)] = [_cell(v) for v in column]
    return out


def _cell(value: Any) -> Any:
    if isinstance(value, list | tuple | set | frozenset):
        return [str(v) for v in value]
    return "" if pd.isna(value) else str(value)


def series(values: pd.Series) -> dict[str, Any]:
    """Return a series as names and values.

    Examples
    --------
    >>> series(pd.Series([1, 2], index=["a", "b"]))
    {'.kind': 'series', 'names': ['a', 'b'], 'values': [1, 2]}
    """
    return {
        ".kind": "series",
        "names": [" ".join(map(str, n)) if isinstance(n, tuple) else str(n) for n in values.index],
        "values": [scalar(v) for v in values],
    }


def frame(table: pd.DataFrame) -> dict[str, Any]:
    """Return a table: its columns, and its index as the first of them unless that only counts rows.

    Examples
    --------
    >>> frame(pd.DataFrame({"a": [1]}, index=["x"]))["columns"]
    {'feature': ['x'], 'a': [1]}
    """
    flat = table.copy()
    if flat.columns.nlevels > 1:
        flat.columns = pd.Index([".".join(str(p) for p in name if str(p)) for name in flat.columns])
    if not isinstance(flat.index, pd.RangeIndex):
        names = [
            str(n) if n is not None else ("feature" if k == 0 else f"index{k}")
            for k, n in enumerate(flat.index.names)
        ]
        flat = flat.reset_index(names=[n if n not in flat.columns else f"{n}_" for n in names])
    return {".kind": "frame", "rows": len(flat), "columns": columns(flat)}


def tell(value: Any) -> Any:
    """Return any answer in plain types.

    Examples
    --------
    >>> tell((1, np.float64(2.0), "a"))
    [1, 2.0, 'a']
    """
    if isinstance(value, pd.DataFrame):
        return frame(value)
    if isinstance(value, pd.Series):
        return series(value)
    if isinstance(value, np.ndarray):
        if value.ndim == 2:
            return {
                ".kind": "matrix",
                "columns": value.shape[1],
                "values": [scalar(v) for v in value.ravel(order="F")],
            }
        return [scalar(v) for v in value.ravel()]
    if isinstance(value, Path):
        return str(value)
    from relbounds.interop.plain import as_plain, fit_of

    fit = fit_of(value)
    if fit is not None:
        return as_plain(fit)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return facts(value)
    if isinstance(value, Mapping):
        return {str(name): tell(one) for name, one in value.items()}
    if isinstance(value, bytes | bytearray | str):
        return value
    if isinstance(value, list | tuple | set | frozenset | range):
        return [tell(one) for one in value]
    return scalar(value)


def facts(value: Any) -> dict[str, Any]:
    """Return a dataclass: its public fields, its properties, and what it prints in the words of R."""
    out: dict[str, Any] = {".kind": "facts", "class": type(value).__name__, "text": in_r(str(value))}
    from relbounds.interop.plain import fit_of

    for field in dataclasses.fields(value):
        held = getattr(value, field.name)
        # the fit that was asked is known to R; sending it again would cost more than the answer
        if not field.name.startswith("_") and fit_of(held) is None:
            out[field.name] = tell(held)
    for kind in type(value).__mro__:
        for name, one in vars(kind).items():
            if isinstance(one, property) and not name.startswith("_") and name not in out:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    out[name] = tell(getattr(value, name))
    return out
