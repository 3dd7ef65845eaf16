"""How a design gets its columns and its response for new rows: from a formula, or from arrays with named columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from relbounds.design.censored import Between, SurvivalTimes
from relbounds.design.factors import FactorRecipe, is_box
from relbounds.design.scales import FloatArray
from relbounds.design.term_columns import Recipe
from relbounds.design.user_data import as_frame, keep_rows, missing_rows, take
from relbounds.errors import DataError, listed


@dataclass(frozen=True, eq=False)
class FormulaColumns:
    """Columns that a formula makes, remembered."""

    recipe: Recipe

    def only(self, columns: Sequence[int]) -> FormulaColumns:
        """Return the source of some of the columns."""
        return FormulaColumns(self.recipe.only(columns))

    def matrix(self, newdata: Any) -> FloatArray:
        """Compute the columns for new rows, NaN where a row misses a value."""
        frame = as_frame(newdata, "new data")
        columns = take(frame, self.recipe.variables, "new data")
        gone, _ = missing_rows(columns, len(frame))
        width = sum(len(term.picks) for term in self.recipe.terms)
        out = np.full((len(frame), width), np.nan)
        if not gone.all():
            values = self.recipe.matrix(keep_rows(columns, ~gone), int((~gone).sum()))
            names = [term.term.name for term in self.recipe.terms for _ in term.picks]
            refuse_infinite(values, names, "new data")
            out[~gone] = values
        return out


@dataclass(frozen=True, eq=False)
class ArrayColumns:
    """Columns of arrays: the names of all that were given, and which of them are used."""

    names: tuple[str, ...]
    used: tuple[int, ...]

    def only(self, columns: Sequence[int]) -> ArrayColumns:
        """Return the source of some of the columns."""
        return replace(self, used=tuple(self.used[j] for j in columns))

    def matrix(self, newdata: Any) -> FloatArray:
        """Take the columns out of a 2-D array, or out of a DataFrame by name."""
        wanted = [self.names[j] for j in self.used]
        if isinstance(newdata, pd.DataFrame | Mapping) or hasattr(newdata, "to_pandas"):
            frame = as_frame(newdata, "new data")
            columns = take(frame, wanted, "new data")
            out = np.empty((len(frame), len(wanted)))
            for j, name in enumerate(wanted):
                if columns[name].dtype.kind not in "fiub":
                    raise DataError(f"Column {name!r} of the new data must be numbers.")
                out[:, j] = columns[name].to_numpy(dtype=float)
            return out
        values = as_matrix(newdata, "The new data")
        if values.shape[1] != len(self.names):
            raise DataError(
                f"The new data have {values.shape[1]} columns, but {len(self.names)} were used to fit: "
                f"{', '.join(self.names[:8])}{', ...' if len(self.names) > 8 else ''}."
            )
        values = values[:, list(self.used)]
        refuse_infinite(values, wanted, "new data")
        return values


@dataclass(frozen=True, eq=False)
class FormulaResponse:
    """The response that a formula makes, remembered."""

    factor: FactorRecipe

    def values(self, newdata: Any) -> Any:
        """Compute the response for new rows; labels are taken as they are."""
        if not isinstance(newdata, pd.DataFrame | Mapping) and not hasattr(newdata, "to_pandas"):
            return newdata
        if isinstance(newdata, pd.Series):
            return newdata
        frame = as_frame(newdata, "new data")
        columns = take(frame, self.factor.factor.variables, "new data")
        gone, _ = missing_rows(columns, len(frame))
        complete = keep_rows(columns, ~gone)
        if gone.all():
            return np.full(len(frame), np.nan)
        value = self.factor.value(complete, "new data")
        if isinstance(value, Between | SurvivalTimes):
            return value.spread(np.flatnonzero(~gone), len(frame))
        value = value.data if is_box(value) else value
        values = pd.Series(np.asarray(pd.Series(value), dtype=object), index=np.flatnonzero(~gone))
        return values.reindex(np.arange(len(frame)))


@dataclass(frozen=True)
class NamedResponse:
    """A response that came as an array; in new data it is the column of its name."""

    name: str

    def values(self, newdata: Any) -> Any:
        """Take the response out of a DataFrame by name; labels are taken as they are."""
        if isinstance(newdata, pd.DataFrame | Mapping):
            return take(as_frame(newdata, "new data"), [self.name], "new data")[self.name]
        return newdata


def as_matrix(values: Any, what: str) -> FloatArray:
    """Return a 2-D array of floats, or say why it is none.

    Examples
    --------
    >>> as_matrix([[1, 2]], "X")
    array([[1., 2.]])
    """
    if isinstance(values, pd.DataFrame):
        columns = [values.iloc[:, j] for j in range(values.shape[1])]
        bad = [str(c.name) for c in columns if not pd.api.types.is_numeric_dtype(c.dtype)]
        if bad:
            raise DataError(
                f"{what} must be numbers, but column{'s' * (len(bad) > 1)} {listed(bad)} "
                f"{'are' if len(bad) > 1 else 'is'} not. Use a formula for categories."
            )
        return values.to_numpy(dtype=float, na_value=np.nan)
    if hasattr(values, "toarray"):  # scipy's sparse matrices
        values = values.toarray()
    try:
        array = np.asarray(values, dtype=float)
    except (ValueError, TypeError):
        raise DataError(f"{what} must be a 2-D array of numbers. Use a formula for categories.") from None
    if array.ndim != 2:
        raise DataError(f"{what} must have two dimensions (rows and columns), not {array.ndim}.")
    return array


def refuse_infinite(values: FloatArray, names: Sequence[str], what: str) -> None:
    """Raise an error that names the columns which hold infinite values, and how many.

    Examples
    --------
    >>> refuse_infinite(np.ones((2, 1)), ["x"], "data")
    """
    if not np.isinf(values).any():
        return
    counts = np.isinf(values).sum(axis=0)
    shown = ", ".join(f"{n!r} ({int(c)})" for n, c in zip(names, counts, strict=True) if c)
    raise DataError(
        f"The {what} give infinite values in {shown}. Replace them by numbers, or by missing values "
        "to drop the rows; "
        "for the log of zero, use log1p(x) or log(x + 0.5)."
    )
