"""The steps from raw columns to a design: complete rows, constant columns, scaling, weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.design.coding import FloatArray, Recipe
from relbounds.design.data import missing_rows
from relbounds.design.formula import ParsedFormula
from relbounds.design.new_rows import refuse_infinite
from relbounds.design.response import Response
from relbounds.errors import DataError, OptionError, listed

CONSTANT = 1e-12  # a column whose spread is this small beside its size is rounding noise


def varying_columns(values: FloatArray, names: Sequence[str]) -> tuple[NDArray[np.intp], list[str]]:
    """Return which columns vary, and the names of those that do not.

    Examples
    --------
    >>> varying_columns(np.array([[1.0, 5.0], [2.0, 5.0]]), ["x", "constant"])
    (array([0]), ['constant'])
    """
    if not values.shape[1]:
        return np.zeros(0, dtype=np.intp), []
    size = np.abs(values).max(axis=0)
    spread = values.max(axis=0) / 2 - values.min(axis=0) / 2  # halves, so that huge values do not overflow
    varying = spread > CONSTANT * size
    return np.flatnonzero(varying), [n for n, v in zip(names, varying, strict=True) if not v]


def scaling(values: FloatArray, standardize: bool) -> tuple[FloatArray, FloatArray]:
    """Return what to subtract from each column and to divide it by.

    Examples
    --------
    >>> scaling(np.array([[1.0], [3.0]]), True)
    (array([2.]), array([1.]))
    """
    if not standardize:
        return np.zeros(values.shape[1]), np.ones(values.shape[1])
    # Relative to the largest value, so that squares neither overflow nor vanish.
    size = np.abs(values).max(axis=0, initial=0.0)
    relative = values / size
    mean = relative.mean(axis=0)
    return mean * size, np.sqrt(((relative - mean) ** 2).mean(axis=0)) * size


def weights_of(weights: Any, response: Response) -> FloatArray:
    """Return one weight per kept row; "balanced" gives n / (L * number of rows of the level)."""
    n = len(response.y)
    if weights is None:
        return np.ones(n)
    if isinstance(weights, str):
        if response.levels is None:
            raise OptionError(
                "weights='balanced' needs levels, but this is a regression. Give one weight per row instead."
            )
        counts = np.bincount(response.y, minlength=len(response.levels) + 1)
        balanced: FloatArray = n / (len(response.levels) * counts[response.y])
        return balanced
    values = np.asarray(weights, dtype=float)
    if not (values > 0).any():
        raise OptionError("Every row that is left after dropping missing values has weight zero.")
    return values


def variables_of(parsed: ParsedFormula) -> list[str]:
    """Return the columns a formula reads, the response first."""
    terms = (*parsed.regular_terms, *parsed.privileged_terms)
    of_terms = (v for t in terms for f in t.factors for v in f.variables)
    return list(dict.fromkeys((*parsed.response_variables, *of_terms)))


def complete_rows(
    columns: Mapping[str, pd.Series], frame: pd.DataFrame, missing: str
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return which rows have every value the formula reads, and a note on the others."""
    n = len(frame)
    gone, counts = missing_rows(columns, n)
    empty = [name for name, count in counts.items() if count == n]
    if empty:
        raise DataError(
            f"Column{'s' * (len(empty) > 1)} {listed(empty)} "
            f"ha{'ve' if len(empty) > 1 else 's'} no values at all. Leave "
            f"{'them' if len(empty) > 1 else 'it'} out of "
            f"the formula; with '.', write '. - {empty[0]}'."
        )
    if not counts:
        return ~gone, []
    shown = ", ".join(f"{name} {count}" for name, count in list(counts.items())[:8])
    shown += f" and {len(counts) - 8} more columns" if len(counts) > 8 else ""
    dropped = int(gone.sum())
    if missing == "raise":
        raise DataError(
            f"{dropped} of {n} rows have missing values ({shown}). Fill them in, or use missing='drop'."
        )
    if gone.all():
        raise DataError(
            f"Every row has a missing value ({shown}): no row is left. Leave out the columns with "
            "most of them, "
            "or fill them in."
        )
    return ~gone, [f"{dropped} row{'s' * (dropped > 1)} dropped for missing values ({shown})."]


def as_series(value: Any, index: pd.Index, name: str) -> pd.Series:
    """Return the value of the response as a Series of the rows, or say that it is none."""
    if isinstance(value, pd.Series):
        return value
    if np.ndim(value) != 1 or len(value) != len(index):
        raise DataError(
            f"The response {name!r} must give one value per row; it gives the shape {np.shape(value)}."
        )
    return pd.Series(value, index=index)


def made_missing(
    recipe: Recipe, X: FloatArray, priv: Recipe, Z: FloatArray, value: pd.Series, whole: NDArray[np.bool_]
) -> str:
    """Say which transforms gave missing values although their columns had none."""
    counts: dict[str, int] = {}
    for terms, values in ((recipe.of_term, X), (priv.of_term, Z)):
        for term, column in zip(terms, np.isnan(values).T, strict=True):
            if column.any():
                counts[term] = max(counts.get(term, 0), int(column.sum()))
    if value.isna().any():
        counts["the response"] = int(value.isna().sum())
    shown = ", ".join(f"{term} in {count}" for term, count in counts.items())
    rows = int((~whole).sum())
    return f"{rows} row{'s' * (rows > 1)} for which a transform has no value ({shown})"


def column_names(values: Any, names: Sequence[str] | None, stem: str, what: str) -> list[str]:
    """Return one name per column: those given, those of a DataFrame, or x1, x2, ..."""
    if names is None:
        if isinstance(values, pd.DataFrame):
            names = [str(c) for c in values.columns]
        else:
            shape = np.shape(values)
            names = [f"{stem}{k + 1}" for k in range(shape[1] if len(shape) == 2 else 0)]
    names = [str(v) for v in names]
    doubled = sorted({v for v in names if names.count(v) > 1}) if len(set(names)) < len(names) else []
    if doubled:
        raise DataError(f"{what} holds {listed(doubled)} more than once. Give each column its own name.")
    return names


def check_matrix(values: FloatArray, names: Sequence[str], terms: Sequence[str], what: str) -> None:
    """Raise unless there is one name and one term per column, and every value is a finite number.

    Examples
    --------
    >>> check_matrix(np.ones((2, 1)), ["x"], ["x"], "X")
    """
    if values.shape[1] != len(names):
        raise DataError(f"{what} has {values.shape[1]} columns but {len(names)} names.")
    if len(names) != len(terms):
        raise DataError(f"{what} has {len(names)} columns but {len(terms)} terms.")
    missing = np.isnan(values).sum(axis=0)
    if missing.any():
        shown = [f"{name!r} ({int(count)})" for name, count in zip(names, missing, strict=True) if count]
        raise DataError(
            f"{what} has missing values in {', '.join(shown[:8])}. Drop these rows or fill them in."
        )
    refuse_infinite(values, names, what)
