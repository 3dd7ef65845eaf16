"""The design: arrays, names, terms, levels and scales of a formula; it applies itself to new rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.design.censored import SurvivalTimes
from relbounds.design.design_terms import DesignTerm, find_term
from relbounds.design.new_rows import ArrayColumns, FormulaColumns, FormulaResponse, NamedResponse
from relbounds.design.response import Response
from relbounds.design.scales import FloatArray
from relbounds.design.user_data import as_frame
from relbounds.errors import DataError


@dataclass(frozen=True, eq=False)
class Design:
    """What a formula makes of the data; see :func:`make_design`.

    Attributes
    ----------
    X, adjust, Z : ndarray
        Regular features, covariates of `adjust()` and privileged features, standardised if asked. Without
        `adjust()` and `priv()` theirs have no columns.
    y : ndarray
        Codes 1..L of the levels, or the numbers of a regression.
    weights : ndarray
        Importance weights, all above 0.
    family : {"ordinal", "binary", "regression", "nominal", "survival"}
    levels : tuple or None
        The levels in order; None for a regression.
    names, terms, adjust_names, priv_names, priv_terms : tuple of str
        The name of each column and the term of the formula it belongs to.
    design_terms : tuple of DesignTerm
        The terms: regular, then adjusting, then privileged ones, in the order of the formula.
    response, formula : str
        The response and the formula as written.
    center, scale, adjust_center, adjust_scale, priv_center, priv_scale : ndarray
        What was subtracted from and divided into each column.
    y_center, y_scale : float
        Centre and spread of a numeric response, which stays in the user's units here; 0 and 1 otherwise.
    cluster : ndarray of int or None
        The cluster 0..K-1 of each observation; `cluster_name` is what the user called it.
    interval : tuple of two ndarrays or None
        The lowest and highest level that each observation may have, where some are known as an interval only.
    times : tuple of two ndarrays or None
        Survival: time, and whether the event was seen then. `cut_times` are the inner edges of the levels.
    index : pandas.Index
        Labels of the rows kept; a row that stands for several observations is there several times.
    n_dropped : int
        Observations dropped for missing values.
    notes : tuple of str
        What a reader of the results should know.

    Examples
    --------
    >>> import pandas as pd
    >>> from relbounds.design import make_design
    >>> data = pd.DataFrame({"grade": [1, 2, 3, 1], "x": [0.1, 0.5, 0.9, 0.2], "site": list("ABCB")})
    >>> design = make_design("grade ~ x + site", data)
    >>> design.names, design.family, design.levels
    (('x', 'site[A]', 'site[B]', 'site[C]'), 'ordinal', (1, 2, 3))
    """

    X: FloatArray
    adjust: FloatArray
    Z: FloatArray
    y: NDArray[Any]
    weights: FloatArray
    family: str
    levels: tuple[Any, ...] | None
    names: tuple[str, ...]
    terms: tuple[str, ...]
    adjust_names: tuple[str, ...]
    priv_names: tuple[str, ...]
    priv_terms: tuple[str, ...]
    design_terms: tuple[DesignTerm, ...]
    response: str
    formula: str
    center: FloatArray
    scale: FloatArray
    adjust_center: FloatArray
    adjust_scale: FloatArray
    priv_center: FloatArray
    priv_scale: FloatArray
    y_center: float
    y_scale: float
    cluster: NDArray[np.intp] | None
    cluster_name: str | None
    interval: tuple[NDArray[np.int64], NDArray[np.int64]] | None
    times: tuple[FloatArray, NDArray[np.bool_]] | None
    cut_times: tuple[float, ...]
    index: pd.Index
    n_dropped: int
    notes: tuple[str, ...]
    _response: Response = field(repr=False)
    _response_source: FormulaResponse | NamedResponse = field(repr=False)
    _columns: FormulaColumns | ArrayColumns = field(repr=False)
    _adjust_columns: FormulaColumns | ArrayColumns = field(repr=False)
    _priv_columns: FormulaColumns | ArrayColumns = field(repr=False)

    def find_term(self, name: str, part: str | None = None) -> DesignTerm:
        """Return the term that a name means: a row's title, a term of the formula, or a variable.

        Parameters
        ----------
        name : str
        part : {"regular", "adjust", "privileged"} or None
            Look in this part only.

        Examples
        --------
        >>> import pandas as pd
        >>> from relbounds.design import make_design
        >>> data = pd.DataFrame({"y": [1.0, 2.5, 3.1], "age": [41, 52, 60]})
        >>> make_design("y ~ log(age)", data).find_term("age").name
        'log(age)'
        """
        return find_term(self.design_terms, name, part)

    def transform(self, newdata: Any) -> FloatArray:
        """Compute the regular features of new rows, scaled as the training rows were.

        Rows keep their order. A row with a missing value comes out as NaN throughout, so that nothing is
        dropped silently. Adjusting and privileged columns are not needed.

        Parameters
        ----------
        newdata : DataFrame
            With the columns that the regular part reads. For a design from arrays also a 2-D array.

        Examples
        --------
        >>> import pandas as pd
        >>> from relbounds.design import make_design
        >>> data = pd.DataFrame({"y": [1.0, 2.5, 3.1], "x": [1.0, 2.0, 3.0]})
        >>> design = make_design("y ~ center(x)", data)
        >>> design.transform(pd.DataFrame({"x": [2.0, None]})).ravel().tolist()
        [0.0, nan]
        """
        return _scaled(self._columns.matrix(newdata), self.center, self.scale)

    def transform_adjust(self, newdata: Any) -> FloatArray:
        """Compute the covariates of `adjust()` for new rows, scaled as the training rows were.

        Parameters
        ----------
        newdata : DataFrame
            With the columns that `adjust()` reads. For a design from arrays also a 2-D array of the covariates.

        Examples
        --------
        >>> import pandas as pd
        >>> from relbounds.design import make_design
        >>> data = pd.DataFrame({"y": [1.0, 2.5, 3.1], "x": [1.0, 2.0, 4.0], "age": [40.0, 50.0, 60.0]})
        >>> design = make_design("y ~ x | adjust(age)", data)
        >>> design.transform_adjust(pd.DataFrame({"age": [50.0]})).ravel().tolist()
        [0.0]
        """
        if not self.adjust_names:
            return np.zeros((len(as_frame(newdata) if isinstance(newdata, Mapping) else newdata), 0))
        return _scaled(self._adjust_columns.matrix(newdata), self.adjust_center, self.adjust_scale)

    def transform_response(self, newdata: Any) -> NDArray[Any]:
        """Compute the response of new rows: codes 1..L or numbers; floats with NaN if any is missing.

        Parameters
        ----------
        newdata : DataFrame with the response, or a sequence of labels

        Examples
        --------
        >>> import pandas as pd
        >>> from relbounds.design import make_design
        >>> data = pd.DataFrame({"y": ["no", "yes", "no"], "x": [1.0, 2.0, 3.0]})
        >>> make_design("y ~ x", data).transform_response(["yes", "no"])
        array([2, 1])
        """
        codes = self._response.encode(self._response_source.values(newdata))
        if self.levels is not None and not np.isnan(codes).any():
            return codes.astype(np.int64)
        return codes

    def transform_interval(self, newdata: Any) -> tuple[FloatArray, FloatArray]:
        """Compute the lowest and highest level that each of the new rows may have, NaN where missing.

        Examples
        --------
        >>> import pandas as pd
        >>> from relbounds.design import make_design
        >>> data = pd.DataFrame({"low": [1, 2, 2], "high": [1, 2, 3], "x": [0.0, 1.0, 3.0]})
        >>> design = make_design("between(low, high) ~ x", data.assign(high=[1, 2, 2]))
        >>> design.transform_interval(data.iloc[:2])
        (array([1., 2.]), array([1., 2.]))
        """
        return self._response.encode_interval(self._response_source.values(newdata))

    def transform_times(self, newdata: Any) -> tuple[FloatArray, FloatArray]:
        """Compute time and status (1: event) of new rows, NaN where missing; for survival only.

        Examples
        --------
        >>> import pandas as pd
        >>> from relbounds.design import make_design
        >>> data = pd.DataFrame({"t": [1.0, 2.0, 3.0, 4.0], "dead": [1, 1, 0, 1], "x": [0.0, 1.0, 3.0, 2.0]})
        >>> make_design("Surv(t, dead) ~ x", data).transform_times(data.iloc[2:])
        (array([3., 4.]), array([0., 1.]))
        """
        values = self._response_source.values(newdata)
        if not isinstance(values, SurvivalTimes):
            raise DataError(f"The response {self.response!r} is not a time: there is no Surv(time, status).")
        return values.arrays("new data")

    def decode(self, codes: Any) -> Any:
        """Return the labels of codes 1..L in the type of the response; numbers come back as they are.

        Examples
        --------
        >>> import pandas as pd
        >>> from relbounds.design import make_design
        >>> data = pd.DataFrame({"y": ["no", "yes", "no"], "x": [1.0, 2.0, 3.0]})
        >>> make_design("y ~ x", data).decode([2, 1]).tolist()
        ['yes', 'no']
        """
        return self._response.decode(codes)

    def subset(self, rows: Any) -> Design:
        """Return the same features, scaling and levels for some of the rows (positions or a mask).

        Clusters are numbered anew.

        Examples
        --------
        >>> import pandas as pd
        >>> from relbounds.design import make_design
        >>> data = pd.DataFrame({"y": [1.0, 2.5, 3.1], "x": [1.0, 2.0, 3.0]})
        >>> make_design("y ~ x", data).subset([0, 2]).y.tolist()
        [1.0, 3.1]
        """
        rows = _row_places(rows, len(self.y))
        cluster = self.cluster
        if cluster is not None:
            cluster = np.unique(cluster[rows], return_inverse=True)[1].astype(np.intp)
        return replace(
            self,
            X=self.X[rows],
            adjust=self.adjust[rows],
            Z=self.Z[rows],
            y=self.y[rows],
            weights=self.weights[rows],
            cluster=cluster,
            interval=None if self.interval is None else (self.interval[0][rows], self.interval[1][rows]),
            times=None if self.times is None else (self.times[0][rows], self.times[1][rows]),
            index=self.index[rows],
            _response=self._response.subset(rows),
        )

    def without_sources(self) -> Design:
        """Return the same design without what makes the columns of new rows: quicker to send to other processes.

        Examples
        --------
        >>> import pandas as pd
        >>> from relbounds.design import make_design
        >>> data = pd.DataFrame({"y": [1.0, 2.5, 3.1], "x": [1.0, 2.0, 3.0]})
        >>> make_design("y ~ x", data).without_sources().names
        ('x',)
        """
        none = ArrayColumns((), ())
        return replace(self, _columns=none, _adjust_columns=none, _priv_columns=none)

    def privileged_design(self) -> Design:
        """Return the design that has the privileged features in the place of the regular ones.

        Examples
        --------
        >>> import pandas as pd
        >>> from relbounds.design import make_design
        >>> data = pd.DataFrame({"y": [1.0, 2.5, 3.1], "x": [1.0, 2.0, 3.0], "z": [3.0, 1.0, 2.0]})
        >>> make_design("y ~ x | priv(z)", data).privileged_design().names
        ('z',)
        """
        terms = tuple(replace(t, part="regular") for t in self.design_terms if t.part == "privileged")
        return replace(
            self,
            X=self.Z,
            Z=self.Z[:, :0],
            names=self.priv_names,
            terms=self.priv_terms,
            priv_names=(),
            priv_terms=(),
            design_terms=(*terms, *(t for t in self.design_terms if t.part == "adjust")),
            center=self.priv_center,
            scale=self.priv_scale,
            priv_center=np.zeros(0),
            priv_scale=np.zeros(0),
            _columns=self._priv_columns,
        )


def _scaled(raw: FloatArray, center: FloatArray, scale: FloatArray) -> FloatArray:
    out: FloatArray = (raw - center) / scale
    out[np.isnan(out).any(axis=1)] = np.nan
    return out


def _row_places(rows: Any, n: int) -> NDArray[np.intp]:
    rows = np.asarray(rows)
    if rows.dtype == bool:
        if rows.shape != (n,):
            raise DataError(f"A mask of rows must have {n} entries, not {rows.shape}.")
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise DataError("Rows are chosen by a list of positions or a mask of truth values.")
    if rows.size and (rows.min() < -n or rows.max() >= n):
        raise DataError(f"Row {int(rows.max())} does not exist: the design has {n} rows.")
    return rows.astype(np.intp)
