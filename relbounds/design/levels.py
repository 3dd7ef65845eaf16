"""Levels of categories: which occur, in which order, how they are written, and the place of each value among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.errors import DataError, counted, listed


def label(level: Any) -> str:
    """A level as it is written in a column name; whole floats without their '.0'.

    Examples
    --------
    >>> label(2.0), label("A"), label(True)
    ('2', 'A', 'True')
    """
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    return str(level)


def check_levels(levels: Any, name: str) -> list[Any]:
    """Return levels that a user gave as a list, or say why they are none.

    Examples
    --------
    >>> check_levels(("low", "high"), "grade")
    ['low', 'high']
    """
    if isinstance(levels, str) or not hasattr(levels, "__iter__"):
        raise DataError(f"The levels of {name!r} must be a list such as ['low', 'high'], not {levels!r}.")
    found = [v.item() if isinstance(v, np.generic) else v for v in levels]
    try:
        different = len(set(found)) == len(found)
    except TypeError:
        raise DataError(f"The levels of {name!r} must be numbers or text, not {found[0]!r}.") from None
    if not different:
        raise DataError(f"The levels of {name!r} are not all different: {listed(found)}.")
    return found


def used_levels(series: pd.Series, wanted: Sequence[Any] | None = None) -> tuple[Any, ...]:
    """The levels that occur, in the order asked for, or of the categories, or sorted.

    Examples
    --------
    >>> used_levels(pd.Series(["b", "a", "b"]))
    ('a', 'b')
    """
    present = series.dropna().unique()
    strange = [v for v in present if isinstance(v, str) and "\0" in v]
    if strange:
        raise DataError(
            f"{series.name!r} holds {listed(strange)}, with NUL bytes. Remove them: .str.replace('\\0', '')."
        )
    if wanted is not None:
        wanted = check_levels(wanted, str(series.name))
    if wanted is None and isinstance(series.dtype, pd.CategoricalDtype):
        wanted = list(series.cat.categories)
    if wanted is None:
        order = sorted(present)
    else:
        seen, allowed = set(present), set(wanted)
        unknown = [v for v in present if v not in allowed]
        if unknown:
            raise DataError(
                f"{series.name!r} holds {listed(unknown)}, which "
                f"{'is' if len(unknown) == 1 else 'are'} not among the levels given: {listed(wanted)}. "
                f"Add {'it' if len(unknown) == 1 else 'them'} to levels=[...]."
            )
        order = [v for v in wanted if v in seen]
    return tuple(v.item() if isinstance(v, np.generic) else v for v in order)


def level_codes(series: pd.Series, levels: Sequence[Any], name: str, what: str) -> NDArray[np.intp]:
    """Return the place of each value among the levels, -1 where missing; an unknown level is an error.

    Examples
    --------
    >>> level_codes(pd.Series(["a", "b", None]), ("a", "b"), "site", "new data")
    array([ 0,  1, -1])
    """
    values = series.astype(object) if isinstance(series.dtype, pd.CategoricalDtype) else series
    codes = pd.Index(list(levels), dtype=object).get_indexer(pd.Index(values, dtype=object))
    codes = np.asarray(codes, dtype=np.intp)
    unseen = (codes < 0) & ~series.isna().to_numpy()
    if unseen.any():
        strange = list(pd.unique(values[unseen]))
        raise DataError(
            f"Column {name!r} of the {what} holds {listed(strange)} ({counted(int(unseen.sum()), 'row')}), "
            f"not seen in the training data. Known levels: {listed(levels)}. Recode or remove these rows."
        )
    return codes
