"""Responses known in part: `between(low, high)` for levels, `Surv(time, status)` for times that may be censored."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.design.levels import check_levels, level_codes
from relbounds.design.user_data import plain
from relbounds.errors import DataError, OptionError, counted, listed

FloatArray = NDArray[np.float64]

BINS = 10  # levels of a survival time, where there are events enough
EVENTS_PER_BIN = 5  # with fewer events than that a threshold is hardly known
MOST_BINS = 50  # more thresholds than this cost time and tell nothing


@dataclass(frozen=True, eq=False)
class Between:
    """The lowest and the highest level that each row may have."""

    low: pd.Series
    high: pd.Series
    levels: tuple[Any, ...] | None = None

    def __len__(self) -> int:
        return len(self.low)

    def missing(self) -> NDArray[np.bool_]:
        """Tell which rows miss either end."""
        return np.asarray(self.low.isna() | self.high.isna())

    def take(self, rows: Any) -> Between:
        """Return some of the rows (positions or a mask)."""
        return Between(self.low.iloc[rows], self.high.iloc[rows], self.levels)

    def spread(self, places: NDArray[np.intp], n: int) -> Between:
        """Return n rows of which only those at the places are known."""
        low, high = (_spread(series, places, n) for series in (self.low, self.high))
        return Between(low, high, self.levels)

    def check_order(self, levels: Sequence[Any], what: str = "data") -> None:
        """Raise where the low end lies above the high one."""
        low = level_codes(self.low, levels, "the low end", what)
        high = level_codes(self.high, levels, "the high end", what)
        wrong = (low > high) & (high >= 0)
        if wrong.any():
            at = int(np.argmax(wrong))
            raise DataError(
                f"between(low, high): the low end lies above the high one in {counted(int(wrong.sum()), 'row')} of "
                f"the {what}, first {listed([self.low.iloc[at]])} above {listed([self.high.iloc[at]])} in row "
                f"{listed([self.low.index[at]])}. Swap them, or check these rows."
            )


@dataclass(frozen=True, eq=False)
class SurvivalTimes:
    """The time of each row, and whether the event was seen then; if not, it is later."""

    time: pd.Series
    event: pd.Series
    bins: int = BINS

    def __len__(self) -> int:
        return len(self.time)

    def missing(self) -> NDArray[np.bool_]:
        """Tell which rows miss time or status."""
        return np.asarray(self.time.isna() | self.event.isna())

    def take(self, rows: Any) -> SurvivalTimes:
        """Return some of the rows (positions or a mask)."""
        return SurvivalTimes(self.time.iloc[rows], self.event.iloc[rows], self.bins)

    def spread(self, places: NDArray[np.intp], n: int) -> SurvivalTimes:
        """Return n rows of which only those at the places are known."""
        time, event = (_spread(series, places, n) for series in (self.time, self.event))
        return SurvivalTimes(time, event, self.bins)

    def arrays(self, what: str = "data") -> tuple[FloatArray, FloatArray]:
        """Return times and 0/1 for events as floats, NaN where missing, or say why they are none."""
        return _checked_times(self.time, what), _checked_events(self.event, what)

    def levels_between(self, cuts: Sequence[float], what: str = "data") -> tuple[FloatArray, FloatArray]:
        """Return the lowest and highest level of each row, NaN where missing.

        Level j are the times above the cut before and up to its own; a censored time is later than itself.
        """
        time, event = self.arrays(what)
        gone = self.missing()
        edges = np.asarray(cuts, dtype=float)
        seen = 1.0 + np.searchsorted(edges, time, side="left")
        later = 1.0 + np.searchsorted(edges, time, side="right")
        low = np.where(event == 1, seen, later)
        high = np.where(event == 1, seen, len(edges) + 1.0)
        low[gone], high[gone] = np.nan, np.nan
        return low, high


def between(low: Any, high: Any, levels: Any = None) -> Between:
    """Make a response of levels that are known to lie between two.

    Parameters
    ----------
    low, high : Series
        The lowest and the highest level possible; the same where the level is known. "At least 3" has the highest level
        there is as its high end.
    levels : sequence or None
        The levels from lowest to highest, for text.

    Examples
    --------
    >>> len(between(pd.Series([1, 2]), pd.Series([1, 3])))
    2
    """
    known = None if levels is None else tuple(check_levels(levels, "between(low, high)"))
    return Between(_column(low, high, "low"), _column(high, low, "high"), known)


def Surv(time: Any, event: Any = None, *more: Any, bins: int = BINS, **named: Any) -> SurvivalTimes:
    """Make a response of times until an event, some of them censored.

    Parameters
    ----------
    time : Series
        Time until the event, or until observation ended without it; above 0.
    event : Series or None
        1 or True where the event was seen, 0 or False where it was not; None if it was seen in every row.
    bins : int
        How many levels times are cut into at most.

    Examples
    --------
    >>> Surv(pd.Series([3.0, 5.0]), pd.Series([1, 0])).arrays()
    (array([3., 5.]), array([1., 0.]))
    """
    if more or named:
        raise DataError(
            "Surv() takes (time, status): entry times (left truncation) and intervals, which are a third argument in "
            "other tools, are not supported"
        )
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or not 2 <= bins <= MOST_BINS:
        raise OptionError(f"Surv(..., bins={bins!r}): give a whole number from 2 to {MOST_BINS}")
    event = np.ones(np.shape(time), dtype=int) if event is None else event
    return SurvivalTimes(_column(time, event, "time"), _column(event, time, "status"), int(bins))


def event_cuts(
    time: FloatArray, event: NDArray[np.bool_], weights: FloatArray, bins: int = BINS
) -> tuple[float, ...]:
    """Return the inner edges of the levels: quantiles of the event times, fewer where there are few events.

    Examples
    --------
    >>> event_cuts(np.arange(1.0, 21.0), np.ones(20, dtype=bool), np.ones(20))
    (5.0, 10.0, 15.0)
    """
    order = np.argsort(time[event], kind="stable")
    when = time[event][order]
    share = np.cumsum(weights[event][order])
    share = share / share[-1]
    k = min(bins, max(2, len(when) // EVENTS_PER_BIN))
    # A quantile that is an event time: the first at which the share of events is reached, but for rounding.
    places = np.searchsorted(share, np.arange(1, k) / k - 1e-12)
    cuts = np.unique(when[places])
    inner = cuts[cuts < when[-1]]
    # All events at one time: what can be told is who outlived it.
    return tuple(float(c) for c in (inner if inner.size else cuts[-1:]))


def level_names(cuts: Sequence[float]) -> tuple[str, ...]:
    """Return what the levels of a survival time are called.

    Examples
    --------
    >>> level_names((5.0, 10.0))
    ('up to 5', '5 to 10', 'over 10')
    """
    for digits in range(4, 18):
        edges = [f"{c:.{digits}g}" for c in cuts]
        if len(set(edges)) == len(edges):
            break
    inner = [f"{a} to {b}" for a, b in itertools.pairwise(edges)]
    return (f"up to {edges[0]}", *inner, f"over {edges[-1]}")


def _column(values: Any, other: Any, name: str) -> pd.Series:
    """Return values as a plain column; a single value stands for every row of the other one."""
    index = next((v.index for v in (values, other) if isinstance(v, pd.Series)), None)
    if np.ndim(values) == 0 and not isinstance(values, pd.Categorical):
        values = [values] * (np.size(other) if index is None else len(index))
    series = values if isinstance(values, pd.Series) else pd.Series(values, index=index)
    return plain(series.rename(name))


def _spread(series: pd.Series, places: NDArray[np.intp], n: int) -> pd.Series:
    values = series.reset_index(drop=True)
    return values.set_axis(places).reindex(np.arange(n))


def _checked_times(series: pd.Series, what: str) -> FloatArray:
    if series.dtype.kind not in "fiu":
        raise DataError(f"Surv(time, status): the times of the {what} must be numbers.")
    time = series.to_numpy(dtype=float)
    if np.isinf(time).any():
        raise DataError(
            f"Surv(time, status): {counted(int(np.isinf(time).sum()), 'time')} of the {what} are infinite."
        )
    wrong = time <= 0
    if wrong.any():
        at = int(np.argmax(wrong))
        raise DataError(
            f"Surv(time, status): {counted(int(wrong.sum()), 'time')} of the {what} not above 0, first "
            f"{time[at]:g} in row {listed([series.index[at]])}. Leave such rows out, or count from an earlier start."
        )
    return time


def _checked_events(series: pd.Series, what: str) -> FloatArray:
    found = list(pd.unique(series.dropna()))
    if series.dtype.kind in "fiub" or all(isinstance(v, bool | np.bool_) for v in found):
        event = series.to_numpy(dtype=float, na_value=np.nan)
        if set(event[~np.isnan(event)]) <= {0.0, 1.0}:
            return event
    last = sorted(found, key=str)[-1] if found else 1
    last = last.item() if isinstance(last, np.generic) else last
    last = int(last) if isinstance(last, float) and last.is_integer() else last
    raise DataError(
        f"Surv(time, status): the status of the {what} must be 1 for an event and 0 for censored (or truth values), "
        f"but holds {listed(found)}. Say what an event is: Surv(time, status == {last!r})."
    )
