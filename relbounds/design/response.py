"""The response of a design: its family and levels, codes from labels and labels from codes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.design.censored import Between, SurvivalTimes
from relbounds.design.levels import level_codes
from relbounds.design.user_data import plain
from relbounds.errors import DataError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Response:
    """The response of the training rows: its family, its levels, and what labels looked like.

    Attributes
    ----------
    name, family : str
    levels : tuple or None
        The levels in order; None for numbers.
    kind : str
        What labels were: "ordered", "category", "int", "float", "bool" or "text".
    y : ndarray
        Codes 1..L, or numbers; of an interval its lowest level.
    notes : tuple of str
    interval, times, cut_times
        As in :class:`~relbounds.design.Design`.
    merged : tuple
        Labels that stand for a level together with others, each with its code.
    """

    name: str
    family: str
    levels: tuple[Any, ...] | None
    kind: str
    y: NDArray[Any]
    notes: tuple[str, ...] = ()
    interval: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    times: tuple[FloatArray, NDArray[np.bool_]] | None = None
    cut_times: tuple[float, ...] = ()
    merged: tuple[tuple[Any, int], ...] = field(default=())

    def encode(self, values: Any, what: str = "new data") -> FloatArray:
        """Return codes 1..L (or numbers) as floats, NaN where missing; of an interval the lowest level."""
        if self.times is not None or isinstance(values, Between):
            return self.encode_interval(values, what)[0]
        series = as_response(values, self.name)
        if self.levels is None:
            if series.dtype.kind not in "fiub":
                raise DataError(f"The response {self.name!r} of the {what} must be numbers.")
            return series.to_numpy(dtype=float)
        return self._codes(series, what)

    def encode_interval(self, values: Any, what: str = "new data") -> tuple[FloatArray, FloatArray]:
        """Return the lowest and highest level that each row may have, NaN where missing."""
        if self.times is not None:
            if not isinstance(values, SurvivalTimes):
                raise DataError(f"The response {self.name!r} needs times: give a table with their columns.")
            return values.levels_between(self.cut_times, what)
        if not isinstance(values, Between):
            codes = self.encode(values, what)
            return codes, codes
        values.check_order([label for label, _ in self._labels()], what)
        return self._codes(values.low, what), self._codes(values.high, what)

    def _labels(self) -> list[tuple[Any, int]]:
        own = self.merged or tuple((level, k + 1) for k, level in enumerate(self.levels or ()))
        return list(own)

    def _codes(self, series: pd.Series, what: str) -> FloatArray:
        labels = self._labels()
        places = level_codes(series, [label for label, _ in labels], self.name, what)
        codes = np.array([code for _, code in labels], dtype=float)
        return np.where(places < 0, np.nan, codes[places])

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
        return replace(
            self,
            y=self.y[rows],
            interval=None if self.interval is None else (self.interval[0][rows], self.interval[1][rows]),
            times=None if self.times is None else (self.times[0][rows], self.times[1][rows]),
        )


def as_response(values: Any, name: str) -> pd.Series:
    """Return a response as a plain column, or say why it is none.

    Examples
    --------
    >>> as_response([[1], [2]], "grade").tolist()
    [1, 2]
    """
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
