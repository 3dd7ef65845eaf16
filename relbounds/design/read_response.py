"""Reading a response: which family it calls for, which levels it has and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.checks import choice
from relbounds.design.censored import Between, SurvivalTimes, event_cuts, level_names
from relbounds.design.levels import check_levels, label, level_codes, used_levels
from relbounds.design.response import FloatArray, Response, as_response
from relbounds.design.tokens import quote
from relbounds.design.user_data import decimal_commas
from relbounds.errors import DataError, OptionError, UnorderedError, counted, listed

FAMILIES = ("auto", "ordinal", "binary", "regression", "nominal", "survival")
FEW = 10  # integers with at most this many values are read as ordered levels
MANY = 100  # more levels than this are numbers, not grades
CLASSES = 40  # so many levels without an order are no classes: each has a weight vector of its own


@dataclass(frozen=True, eq=False)
class GivenResponse:
    """What is known of a response before its family is: values, and what the formula said about them.

    Attributes
    ----------
    values : array-like, Between or SurvivalTimes
        The response of the complete rows.
    name : str
        What to call it.
    order : sequence or None
        The levels in order, if the user gave them.
    boxed : bool
        Whether the user marked the response as categorical with `C()`.
    was_missing : bool
        Whether values were missing before: then whole floats are integers that pandas had to store as floats.
    column : str or None
        The column behind the response, for the code shown in messages.
    library : str
        Where the data come from, "pandas" or "polars", for the same.
    """

    values: Any
    name: str
    order: Sequence[Any] | None = None
    boxed: bool = False
    was_missing: bool = False
    column: str | None = None
    library: str = "pandas"


def read_response(given: GivenResponse, family: str = "auto", weights: FloatArray | None = None) -> Response:
    """Decide the family and the levels of a response.

    Parameters
    ----------
    given : GivenResponse
    family : {"auto", "ordinal", "binary", "regression", "nominal", "survival"}
    weights : ndarray or None
        Importance weights; they enter the quantiles at which survival times are cut.

    Examples
    --------
    >>> response = read_response(GivenResponse([3, 1, 2, 1], "grade"))
    >>> response.family, response.levels, response.y.tolist()
    ('ordinal', (1, 2, 3), [3, 1, 2, 1])
    >>> response.notes
    ('Family chosen: ordinal (3 integer values).',)
    """
    family = choice("family", family, FAMILIES)
    if isinstance(given.values, SurvivalTimes):
        return _read_times(given.values, given.name, family, weights)
    if isinstance(given.values, Between):
        return _read_between(given.values, given.name, family)
    if family == "survival":
        raise OptionError(
            "family='survival' needs times and whether the event was seen: write Surv(time, status) ~ ..."
        )
    series = as_response(given.values, given.name)
    if series.isna().any():
        raise DataError(
            f"The response {given.name!r} misses {int(series.isna().sum())} values. Drop or fill these rows."
        )
    problem = "" if given.boxed else decimal_commas(series)
    if problem:
        raise DataError(problem)
    kind = _kind(series, given)
    if kind == "int" and series.dtype.kind == "f":
        series = series.astype(np.int64)
    levels = used_levels(series, given.order)
    if len(levels) < 2:
        raise DataError(
            f"The response {given.name!r} has only one value: {levels[0]!r}. There is nothing to tell apart; "
            "check the rows and the response."
        )
    notes = []
    if family == "auto":
        family, reason = _choose(kind, len(levels), given)
        notes.append(f"Family chosen: {family} ({reason}).")
        if family == "nominal":
            code = ", ".join(map(repr, levels[:3])) + (", ..." if len(levels) > 3 else "")
            notes.append(
                "If these levels have an order, say so, from lowest to highest: "
                f"C({quote(given.column or given.name)}, levels=[{code}]) ~ ..."
            )
    elif family == "nominal" and len(levels) == 2:
        family = "binary"
        notes.append("Two levels: family 'nominal' is 'binary'.")
    if family == "regression":
        return _read_numbers(series, given.name, kind, tuple(notes))
    _check_levels_fit(family, kind, levels, given)
    return _read_levels(series, family, kind, given, notes)


def _read_numbers(series: pd.Series, name: str, kind: str, notes: tuple[str, ...]) -> Response:
    if series.dtype.kind not in "fiub":
        raise DataError(
            f"family='regression' needs numbers, but the response {name!r} holds {_what(kind)}. "
            "Use family='ordinal' or 'binary', or recode it as numbers."
        )
    return Response(name, "regression", None, "float", series.to_numpy(dtype=float), notes)


def _read_levels(
    series: pd.Series, family: str, kind: str, given: GivenResponse, notes: list[str]
) -> Response:
    levels = used_levels(series, given.order)
    if kind in ("ordered", "category", "text"):
        known = (
            list(given.order)
            if given.order is not None
            else list(getattr(series.dtype, "categories", levels))
        )
        empty = [v for v in known if v not in set(levels)]
        if empty:
            notes.append(f"Levels without rows left out: {listed(empty)}.")
    if given.order is not None:
        kind = "ordered"
    codes = level_codes(series, levels, given.name, "data") + 1
    return Response(given.name, family, levels, kind, codes.astype(np.int64), tuple(notes))


def _check_levels_fit(family: str, kind: str, levels: Sequence[Any], given: GivenResponse) -> None:
    """Raise where levels are too many, too few or without an order for the family."""
    name, column = given.name, given.column or given.name
    if family == "binary" and len(levels) != 2:
        raise DataError(
            f"family='binary' needs two levels, but the response {name!r} has {len(levels)}: {listed(levels)}. "
            "Use family='ordinal', family='nominal', or merge levels."
        )
    if family == "nominal" and len(levels) >= CLASSES:
        raise DataError(
            f"The response {name!r} has {len(levels)} levels without an order, too many to tell apart (fewer than "
            f"{CLASSES} can be). Merge levels, or choose another response."
        )
    if len(levels) > MANY:
        raise DataError(
            f"family={family!r} with {len(levels)} different values of {name!r} is too fine. Use "
            f"family='regression', or cut it into levels: pandas.qcut(data[{column!r}], 5)."
        )
    unordered = kind in ("text", "category") and given.order is None
    if unordered and len(levels) > 2 and family == "ordinal":
        raise UnorderedError(_how_to_order(given, levels), given.name, levels)


def _kind(series: pd.Series, given: GivenResponse) -> str:
    if isinstance(series.dtype, pd.CategoricalDtype):
        return "ordered" if series.cat.ordered else "category"
    kind = {"f": "float", "i": "int", "u": "int", "b": "bool"}.get(series.dtype.kind, "text")
    # Integers with a gap come as floats; so do codes marked as categories.
    if kind == "float" and (given.was_missing or given.boxed or given.order is not None):
        values = series.to_numpy()
        whole = np.isfinite(values) & (values == np.round(values)) & (np.abs(values) < 2**53)
        return "int" if whole.all() else "float"
    return kind


def _choose(kind: str, n_levels: int, given: GivenResponse) -> tuple[str, str]:
    if n_levels == 2:
        return "binary", "two levels"
    if kind in ("text", "category") and given.order is None:
        return "nominal", f"{n_levels} levels without an order"
    if kind in ("ordered", "category"):
        return "ordinal", f"ordered categories, {n_levels} levels"
    if given.order is not None or given.boxed:
        return "ordinal", f"marked as categories, {n_levels} levels"
    if kind == "int" and n_levels <= FEW:
        return "ordinal", f"{n_levels} integer values"
    if kind == "int":
        return "regression", f"integers with more than {FEW} different values"
    return "regression", f"numbers, {n_levels} different values"


def _what(kind: str) -> str:
    return {"text": "text", "category": "categories", "ordered": "ordered categories"}.get(kind, kind)


def _how_to_order(given: GivenResponse, levels: Sequence[Any]) -> str:
    code = "[" + ", ".join(map(repr, levels)) + "]"
    column = given.column or given.name
    in_data = f"data[{column!r}] = pandas.Categorical(data[{column!r}], categories={code}, ordered=True)"
    if given.library == "polars":  # whose Categorical has no order, and whose Enum has
        in_data = f"data = data.with_columns(polars.col({column!r}).cast(polars.Enum({code})))"
    return (
        f"The response {given.name!r} has {len(levels)} levels without an order: {listed(levels)}. "
        "Say which comes first, from lowest to highest (change the list below into the right order), either in the "
        "data:\n"
        f"    {in_data}\n"
        "or in the formula:\n"
        f"    C({quote(column)}, levels={code}) ~ ...\n"
        "or use family='nominal', which asks for no order."
    )


def response_from_codes(y: Any, levels: Sequence[Any], name: str, family: str) -> Response:
    """Read a response given as labels among `levels`, or else as codes 1..L of them.

    Examples
    --------
    >>> response_from_codes([1, 2, 2], ["low", "high"], "grade", "auto").family
    'binary'
    """
    levels = check_levels(levels, name)
    series = as_response(y, name)
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
    return read_response(GivenResponse(labels, name), family)


# -- responses known in part


def _read_times(values: SurvivalTimes, name: str, family: str, weights: FloatArray | None) -> Response:
    """Cut survival times into levels between quantiles of the event times."""
    if family not in ("auto", "survival"):
        raise OptionError(f"family={family!r} does not go with Surv(time, status); use family='survival'.")
    time, status = values.arrays()
    event = status == 1
    if not event.any():
        raise DataError(
            f"{name}: no event was seen, every time is censored. There is nothing to learn from; check the status."
        )
    price = np.ones(len(time)) if weights is None else weights
    cuts = event_cuts(time, event, price, values.bins)
    low, high = (codes.astype(np.int64) for codes in values.levels_between(cuts))
    if low.max() == 1:
        raise DataError(
            f"{name}: every event is at the same time, {time[event][0]:g}, and nobody was seen after it. "
            "There is nothing to tell apart."
        )
    levels = level_names(cuts)
    notes = ["Family chosen: survival (Surv)."] if family == "auto" else []
    notes.append(
        f"{counted(int(event.sum()), 'event')} in {counted(len(time), 'observation')}; times in {len(levels)} levels, "
        f"cut at {', '.join(f'{c:.4g}' for c in cuts)}."
    )
    return Response(
        name,
        "survival",
        levels,
        "ordered",
        low,
        tuple(notes),
        interval=(low, high),
        times=(time, event),
        cut_times=cuts,
    )


def _read_between(values: Between, name: str, family: str) -> Response:
    """Read levels that are known to lie between two; levels that nothing tells apart are merged."""
    if family not in ("auto", "ordinal"):
        raise OptionError(f"family={family!r} does not go with between(low, high); use family='ordinal'.")
    known, kind = _levels_of_ends(values, name)
    values.check_order(known)
    ends = [level_codes(end, known, name, "data") for end in (values.low, values.high)]
    seen = np.unique(np.concatenate(ends))
    labels = [known[k] for k in seen]
    low, high = (np.searchsorted(seen, end) + 1 for end in ends)
    # A threshold is known where rows are known to lie below it and rows to lie above it.
    apart = [bool((high <= j).any() and (low > j).any()) for j in range(1, len(labels))]
    codes = 1 + np.concatenate([[0], np.cumsum(apart)]).astype(np.int64)
    if codes[-1] < 2:
        raise DataError(
            f"{name}: no row is known to lie above another. There is nothing to tell apart; check low and high."
        )
    if codes[-1] > MANY:
        raise DataError(f"{name} with {codes[-1]} different levels is too fine. Cut them into fewer levels.")
    notes = [f"Family chosen: ordinal (intervals of {len(labels)} levels)."] if family == "auto" else []
    levels: tuple[Any, ...] = tuple(labels)
    merged: tuple[tuple[Any, int], ...] = ()
    if codes[-1] < len(labels):
        levels, merged = _merged(labels, codes)
        kind = "ordered"
        together = [level for k, level in enumerate(levels) if (codes == k + 1).sum() > 1]
        notes.append(f"Levels that no row tells apart are one: {listed(together)}.")
    low, high = codes[low - 1], codes[high - 1]
    open_rows = int((low < high).sum())
    if open_rows:
        notes.append(f"{open_rows} of {len(low)} observations are known as an interval of levels.")
    interval = (low, high) if open_rows else None
    return Response(name, "ordinal", levels, kind, low, tuple(notes), interval=interval, merged=merged)


def _merged(
    labels: Sequence[Any], codes: NDArray[np.int64]
) -> tuple[tuple[Any, ...], tuple[tuple[Any, int], ...]]:
    levels = []
    for code in range(1, int(codes[-1]) + 1):
        own = [level for level, k in zip(labels, codes, strict=True) if k == code]
        levels.append(own[0] if len(own) == 1 else f"{label(own[0])}-{label(own[-1])}")
    return tuple(levels), tuple((level, int(code)) for level, code in zip(labels, codes, strict=True))


def _levels_of_ends(values: Between, name: str) -> tuple[list[Any], str]:
    """Return all levels in order, and the kind of labels they are."""
    ends = (values.low, values.high)
    if values.missing().any():
        raise DataError(f"{name} misses {int(values.missing().sum())} values. Drop or fill these rows.")
    if values.levels is not None:
        return list(values.levels), "ordered"
    categories = [list(end.cat.categories) for end in ends if isinstance(end.dtype, pd.CategoricalDtype)]
    if categories:
        if any(own != categories[0] for own in categories):
            raise DataError(
                f"{name}: the two ends have different levels: {listed(categories[0])} and {listed(categories[1])}. "
                "Give both the same ordered categories."
            )
        if all(end.cat.ordered for end in ends if isinstance(end.dtype, pd.CategoricalDtype)):
            return categories[0], "ordered"
    found = list(dict.fromkeys(v for end in ends for v in pd.unique(end)))
    if all(end.dtype.kind in "fiub" for end in ends):
        kinds = {end.dtype.kind for end in ends}
        return sorted(found), "float" if "f" in kinds else "bool" if kinds == {"b"} else "int"
    code = "[" + ", ".join(repr(v) for v in sorted(map(str, found))) + "]"
    raise DataError(
        f"{name}: the levels have no order: {listed(found)}. Say which comes first, from lowest to highest: "
        f"between(low, high, levels={code})."
    )
