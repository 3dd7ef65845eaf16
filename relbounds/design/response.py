"""The response: which family it calls for, its levels in order, codes from labels and labels from codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.design.levels import check_levels, level_codes, used_levels
from relbounds.design.tokens import quote
from relbounds.design.user_data import plain
from relbounds.errors import DataError, OptionError, listed, nearest

FAMILIES = ("auto", "ordinal", "binary", "regression")
FEW = 10  # integers with at most this many values are read as ordered levels
MANY = 100  # more levels than this are numbers, not grades


@dataclass(frozen=True, eq=False)
class Response:
    """The response of the training rows: its family, its levels, and what labels looked like."""

    name: str
    family: str
    levels: tuple[Any, ...] | None
    kind: str  # "ordered", "category", "int", "float", "bool", "text"
    y: NDArray[Any]
    notes: tuple[str, ...] = ()

    def encode(self, values: Any, what: str = "new data") -> NDArray[np.float64]:
        """Return codes 1..L (or the numbers of a regression) as floats, NaN where missing."""
        series = _series(values, self.name)
        if self.levels is None:
            if series.dtype.kind not in "fiub":
                raise DataError(f"The response {self.name!r} of the {what} must be numbers.")
            return series.to_numpy(dtype=float)
        codes = level_codes(series, self.levels, self.name, what)
        return np.where(codes < 0, np.nan, codes + 1.0)

    def decode(self, codes: Any) -> Any:
        """Return the labels of codes, in the type the response had; NaN codes give missing labels."""
        try:
            codes = np.atleast_1d(np.asarray(codes, dtype=float))
        except (ValueError, TypeError):
            raise DataError("Only codes can be decoded: whole numbers from 1 on, or NaN.") from None
        if self.levels is None:
            return codes
        gone = ~np.isfinite(codes)
        places = np.where(gone, 0, codes).astype(int) - 1
        if np.any(places[~gone] < 0) or np.any(places >= len(self.levels)):
            raise DataError(f"Codes must lie between 1 and {len(self.levels)}.")
        if self.kind in ("ordered", "category"):
            places[gone] = -1
            dtype = pd.CategoricalDtype(pd.Index(list(self.levels)), ordered=self.kind == "ordered")
            return pd.Categorical.from_codes(places, dtype=dtype)
        labels = np.empty(len(self.levels), dtype=object)
        labels[:] = self.levels
        out = labels[places]
        if gone.any():
            out[gone] = np.nan if self.kind in ("int", "float") else None
            return out.astype(float) if self.kind in ("int", "float") else out
        return out.astype({"int": np.int64, "float": float, "bool": bool}.get(self.kind, object))

    def subset(self, rows: NDArray[Any]) -> Response:
        """The same response for some of the rows."""
        return replace(self, y=self.y[rows])


def _series(values: Any, name: str) -> pd.Series:
    if isinstance(values, pd.Series):
        return plain(values.rename(name))
    if isinstance(values, pd.Categorical):
        return pd.Series(values, name=name)
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(
            f"The response {name!r} must be one value per row, but has {array.ndim} "
            f"dimension{'s' * (array.ndim != 1)}."
        )
    return plain(pd.Series(array, name=name))


def read_response(
    values: Any,
    name: str,
    family: str = "auto",
    *,
    order: Sequence[Any] | None = None,
    was_missing: bool = False,
    boxed: bool = False,
    column: str | None = None,
    unordered: bool = False,
) -> Response:
    """Decide the family and the levels of a response.

    Parameters
    ----------
    values : array-like
        The response of the complete rows.
    name : str
        What to call it.
    family : {"auto", "ordinal", "binary", "regression"}
    order : sequence or None
        The levels in order, if the user gave them.
    was_missing : bool
        Whether values were missing before: then whole floats are integers that pandas had to store as floats.
    boxed : bool
        Whether the user marked the response as categorical with `C()`.
    column : str or None
        The column behind the response, for the code shown in error messages.
    unordered : bool
        Whether the method can do with levels that have no order; "multiclass" is then a family as well.

    Examples
    --------
    >>> response = read_response([3, 1, 2, 1], "grade")
    >>> response.family, response.levels, response.y.tolist()
    ('ordinal', (1, 2, 3), [3, 1, 2, 1])
    >>> response.notes
    ('Family chosen: ordinal (3 integer values).',)
    """
    families = (*FAMILIES, "multiclass") if unordered else FAMILIES
    if family not in families:
        raise OptionError(
            f"family={family!r} is not known; use one of "
            f"{', '.join(map(repr, families))}.{nearest(family, families)}"
        )
    series = _series(values, name)
    if series.isna().any():
        raise DataError(
            f"The response {name!r} misses {int(series.isna().sum())} values. Drop or fill these rows."
        )
    kind = _kind(series, was_missing, order is not None or boxed)
    if kind == "int" and series.dtype.kind == "f":
        series = series.astype(np.int64)
    distinct = used_levels(series, order)
    if len(distinct) < 2:
        raise DataError(
            f"The response {name!r} has only one value: {distinct[0]!r}. There is nothing to tell apart; "
            "check the rows and the response."
        )
    notes = []
    if family == "auto":
        family, reason = _choose(series, kind, len(distinct), ordered=order is not None or boxed)
        if unordered and order is None and kind in ("text", "category") and family == "ordinal":
            family, reason = "multiclass", f"{len(distinct)} levels without an order"
        notes.append(f"Family chosen: {family} ({reason}).")
    if family == "regression":
        if series.dtype.kind not in "fiub":
            raise DataError(
                f"family='regression' needs numbers, but the response {name!r} holds {_what(kind)}. "
                "Use family='ordinal' or 'binary', or recode it as numbers."
            )
        return Response(name, family, None, "float", series.to_numpy(dtype=float), tuple(notes))
    if family == "binary" and len(distinct) != 2:
        raise DataError(
            f"family='binary' needs two levels, but the response {name!r} has {len(distinct)}: "
            f"{listed(distinct)}. "
            "Use family='ordinal', or merge levels."
        )
    if len(distinct) > MANY:
        raise DataError(
            f"family={family!r} with {len(distinct)} different values of {name!r} is too fine. Use "
            "family='regression', "
            f"or cut it into levels: pandas.qcut(data[{(column or name)!r}], 5)."
        )
    if kind in ("text", "category") and order is None and len(distinct) > 2 and family != "multiclass":
        raise DataError(_how_to_order(name, column or name, distinct))
    if kind in ("ordered", "category", "text"):
        given = list(order) if order is not None else list(getattr(series.dtype, "categories", distinct))
        empty = [v for v in given if v not in set(distinct)]
        if empty:
            notes.append(f"Levels without rows left out: {listed(empty)}.")
    if order is not None:
        kind = "ordered"
    codes = level_codes(series, distinct, name, "data") + 1
    return Response(name, family, distinct, kind, codes.astype(np.int64), tuple(notes))


def _kind(series: pd.Series, was_missing: bool, categorical: bool) -> str:
    if isinstance(series.dtype, pd.CategoricalDtype):
        return "ordered" if series.cat.ordered else "category"
    kind = {"f": "float", "i": "int", "u": "int", "b": "bool"}.get(series.dtype.kind, "text")
    # Integers with a gap come as floats; so do codes marked as categories.
    if kind == "float" and (was_missing or categorical):
        values = series.to_numpy()
        if (
            np.all(np.isfinite(values))
            and np.all(values == np.round(values))
            and np.all(np.abs(values) < 2**53)
        ):
            return "int"
    return kind


def _choose(series: pd.Series, kind: str, n_levels: int, *, ordered: bool) -> tuple[str, str]:
    if n_levels == 2:
        return "binary", "two levels"
    if kind == "ordered" or (ordered and kind == "category"):
        return "ordinal", f"ordered categories, {n_levels} levels"
    if ordered:
        return "ordinal", f"marked as categories, {n_levels} levels"
    if kind in ("text", "category"):
        return "ordinal", f"{n_levels} levels"
    if kind == "int" and n_levels <= FEW:
        return "ordinal", f"{n_levels} integer values"
    if kind == "int":
        return "regression", f"integers with more than {FEW} different values"
    return "regression", f"numbers, {n_levels} different values"


def _what(kind: str) -> str:
    return {"text": "text", "category": "categories", "ordered": "ordered categories"}.get(kind, kind)


def _how_to_order(name: str, column: str, levels: Sequence[Any]) -> str:
    code = "[" + ", ".join(map(repr, levels)) + "]"
    return (
        f"The response {name!r} has {len(levels)} levels without an order: {listed(levels)}. "
        "Say which comes first, from lowest to highest (change the list below into the right order), "
        "either in the data:\n"
        f"    data[{column!r}] = pandas.Categorical(data[{column!r}], categories={code}, ordered=True)\n"
        "or in the formula:\n"
        f"    C({quote(column)}, levels={code}) ~ ..."
    )


def response_from_codes(y: Any, levels: Sequence[Any], name: str, family: str) -> Response:
    """Read a response given as labels among `levels`, or else as codes 1..L of them.

    Examples
    --------
    >>> response_from_codes([1, 2, 2], ["low", "high"], "grade", "auto").family
    'binary'
    """
    levels = check_levels(levels, name)
    series = _series(y, name)
    values = list(series.astype(object))
    if all(v in set(levels) for v in values):
        labels = pd.Categorical(values, categories=levels, ordered=True)
    else:
        numeric = series.dtype.kind in "fiub"
        codes = series.to_numpy(dtype=float) if numeric else np.array([np.nan])
        if not np.all(np.isin(codes, np.arange(1, len(levels) + 1))):
            raise DataError(
                f"The response {name!r} must hold the labels {listed(levels)} or the codes 1 to "
                f"{len(levels)}."
            )
        labels = pd.Categorical([levels[int(k) - 1] for k in codes], categories=levels, ordered=True)
    return read_response(labels, name, family)
