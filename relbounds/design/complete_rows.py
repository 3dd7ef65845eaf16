"""Rows that have every value which the formula reads, and what to say about the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.design.term_columns import Learned
from relbounds.design.user_data import missing_rows
from relbounds.errors import DataError, listed


def complete_rows(
    columns: Mapping[str, pd.Series], n: int, missing: str
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return which rows have every value the formula reads, and a note on the others."""
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
            "most of them, or fill them in."
        )
    return ~gone, [f"{dropped} row{'s' * (dropped > 1)} dropped for missing values ({shown})."]


def made_missing(parts: Iterable[Learned], response: NDArray[np.bool_], whole: NDArray[np.bool_]) -> str:
    """Say which transforms gave missing values although their columns had none."""
    counts: dict[str, int] = {}
    for learned in parts:
        terms = [shape.name for shape in learned.shapes for _ in shape.names]
        for term, column in zip(terms, np.isnan(learned.values).T, strict=True):
            if column.any():
                counts[term] = max(counts.get(term, 0), int(column.sum()))
    if response.any():
        counts["the response"] = int(response.sum())
    shown = ", ".join(f"{term} in {count}" for term, count in counts.items())
    rows = int((~whole).sum())
    return f"{rows} row{'s' * (rows > 1)} for which a transform has no value ({shown})"
