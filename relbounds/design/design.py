"""The design: arrays, names, terms, levels and scaling of a formula; it applies itself to new data."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from patsy import EvalEnvironment

from relbounds.design.checking import (
    as_series,
    check_matrix,
    column_names,
    complete_rows,
    made_missing,
    scaling,
    variables_of,
    varying_columns,
    weights_of,
)
from relbounds.design.coding import FloatArray, learn
from relbounds.design.data import as_frame, case_weights, check_weights, keep_rows, take
from relbounds.design.factors import is_box, memorize
from relbounds.design.formula import parse
from relbounds.design.new_rows import ArraySource, FormulaSource, as_matrix, refuse_infinite
from relbounds.design.response import Response, read_response, response_from_codes
from relbounds.errors import DataError, OptionError, RelboundsWarning, listed, nearest


@dataclass(frozen=True, eq=False)
class Design:
    """What a formula makes of the data; see :func:`make_design`.

    Attributes
    ----------
    X, Z : ndarray
        Regular and privileged features, standardised if asked. Z has no columns without `priv()`.
    y : ndarray
        Codes 1..L of the levels, or the numbers of a regression.
    weights : ndarray
        Case weights.
    family : {"ordinal", "binary", "regression"}
    levels : tuple or None
        The levels in order; None for a regression.
    names, terms, priv_names, priv_terms : tuple of str
        The name of each column and the term of the formula it belongs to.
    response, formula : str
        The response and the formula as written.
    center, scale, priv_center, priv_scale : ndarray
        What was subtracted from and divided into each column.
    index : pandas.Index
        Labels of the rows kept.
    n_dropped : int
        Rows dropped for missing values.
    notes : tuple of str
        What a reader of the results should know.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"grade": [1, 2, 3, 1], "x": [0.1, 0.5, 0.9, 0.2], "site": list("ABAB")})
    >>> design = make_design("grade ~ x + site", data)
    >>> design.names, design.family, design.levels
    (('x', 'site[A]', 'site[B]'), 'ordinal', (1, 2, 3))
    """

    X: FloatArray
    Z: FloatArray
    y: NDArray[Any]
    weights: FloatArray
    family: str
    levels: tuple[Any, ...] | None
    names: tuple[str, ...]
    terms: tuple[str, ...]
    priv_names: tuple[str, ...]
    priv_terms: tuple[str, ...]
    response: str
    formula: str
    center: FloatArray
    scale: FloatArray
    priv_center: FloatArray
    priv_scale: FloatArray
    index: pd.Index
    n_dropped: int
    notes: tuple[str, ...]
    _response: Response = field(repr=False)
    _source: FormulaSource | ArraySource = field(repr=False)
    _kept: NDArray[np.intp] = field(repr=False)

    def transform(self, newdata: Any) -> FloatArray:
        """Compute the regular features of new rows, scaled as the training rows were.

        Rows keep their order. A row with a missing value comes out as NaN throughout, so that nothing is
        dropped silently. Privileged columns are not needed.

        Parameters
        ----------
        newdata : DataFrame
            With the columns that the regular part reads. For a design from arrays also a 2-D array.

        Examples
        --------
        >>> import pandas as pd
        >>> data = pd.DataFrame({"y": [1.0, 2.5, 3.1], "x": [1.0, 2.0, 3.0]})
        >>> design = make_design("y ~ center(x)", data)
        >>> design.transform(pd.DataFrame({"x": [2.0, None]})).ravel().tolist()
        [0.0, nan]
        """
        raw = self._source.matrix(newdata, self._kept.tolist())
        out: FloatArray = (raw - self.center) / self.scale
        out[np.isnan(out).any(axis=1)] = np.nan
        return out

    def transform_response(self, newdata: Any) -> NDArray[Any]:
        """Compute the response of new rows: codes 1..L or numbers; floats with NaN if any is missing.

        Parameters
        ----------
        newdata : DataFrame with the response, or a sequence of labels

        Examples
        --------
        >>> import pandas as pd
        >>> data = pd.DataFrame({"y": ["no", "yes", "no"], "x": [1.0, 2.0, 3.0]})
        >>> make_design("y ~ x", data).transform_response(["yes", "no"])
        array([2, 1])
        """
        codes = self._response.encode(self._source.response(newdata, self.response))
        if self.levels is not None and not np.isnan(codes).any():
            return codes.astype(np.int64)
        return codes

    def decode(self, codes: Any) -> Any:
        """Return the labels of codes 1..L in the type of the response; numbers come back as they are.

        Examples
        --------
        >>> import pandas as pd
        >>> data = pd.DataFrame({"y": ["no", "yes", "no"], "x": [1.0, 2.0, 3.0]})
        >>> make_design("y ~ x", data).decode([2, 1]).tolist()
        ['yes', 'no']
        """
        return self._response.decode(codes)

    def subset(self, rows: Any) -> Design:
        """Return the same features, scaling and levels for some of the rows (positions or a mask).

        Examples
        --------
        >>> import pandas as pd
        >>> data = pd.DataFrame({"y": [1.0, 2.5, 3.1], "x": [1.0, 2.0, 3.0]})
        >>> make_design("y ~ x", data).subset([0, 2]).y.tolist()
        [1.0, 3.1]
        """
        rows = np.asarray(rows)
        if rows.dtype == bool:
            if rows.shape != (len(self.y),):
                raise DataError(f"A mask of rows must have {len(self.y)} entries, not {rows.shape}.")
            rows = np.flatnonzero(rows)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise DataError("Rows are chosen by a list of positions or a mask of truth values.")
        rows = rows.astype(np.intp)
        if rows.size and (rows.min() < -len(self.y) or rows.max() >= len(self.y)):
            raise DataError(f"Row {int(rows.max())} does not exist: the design has {len(self.y)} rows.")
        return replace(
            self,
            X=self.X[rows],
            Z=self.Z[rows],
            y=self.y[rows],
            weights=self.weights[rows],
            index=self.index[rows],
            _response=self._response.subset(rows),
        )

    def select(self, columns: Sequence[str] | Sequence[int]) -> Design:
        """Return the same rows with some of the regular columns (names or positions).

        Examples
        --------
        >>> import pandas as pd
        >>> data = pd.DataFrame({"y": [1.0, 2.5, 3.1], "a": [1.0, 2.0, 3.0], "b": [0.0, 2.0, 1.0]})
        >>> make_design("y ~ a + b", data).select(["b"]).names
        ('b',)
        """
        place = {name: j for j, name in enumerate(self.names)}
        places = []
        for column in [columns] if isinstance(columns, str) else columns:
            if isinstance(column, str):
                if column not in place:
                    raise DataError(f"There is no feature {column!r}.{nearest(column, self.names)}")
                places.append(place[column])
            else:
                if not isinstance(column, int | np.integer) or isinstance(column, bool):
                    raise DataError(f"Features are chosen by name or position, not by {column!r}.")
                if not -len(self.names) <= column < len(self.names):
                    raise DataError(f"There is no feature number {column}: the design has {len(self.names)}.")
                places.append(int(column) % len(self.names))
        if not places:
            raise DataError("Select at least one feature.")
        return replace(
            self,
            X=self.X[:, places],
            names=tuple(self.names[j] for j in places),
            terms=tuple(self.terms[j] for j in places),
            center=self.center[places],
            scale=self.scale[places],
            _kept=self._kept[places],
        )


def make_design(
    formula: str,
    data: Any,
    *,
    family: str = "auto",
    weights: Any = None,
    missing: str = "drop",
    standardize: bool = True,
    env: int | EvalEnvironment = 0,
    unordered: bool = False,
) -> Design:
    """Read a formula against data.

    Parameters
    ----------
    formula : str
        `response ~ terms`, or `response ~ terms | priv(terms)`. Terms are those of patsy: names, transforms,
        interactions, `C()`, `Q()`, `I()`, and `.` for all columns besides the response, the privileged ones
        and the weights. There is never an intercept column, and a categorical feature has one column per
        level. Truth values are one column of zeros and ones.
    data : DataFrame
        A dict of columns will do.
    family : {"auto", "ordinal", "binary", "regression"}
        "auto": two levels are binary; ordered categories, and integers with at most ten values, are ordinal;
        other numbers are a regression. Whole floats count as integers if values were missing, since pandas
        stores such integers as floats.
    weights : None, str or array-like
        Case weights: one per row of the data before any row is dropped, a column's name, or "balanced", which
        gives every level the same total.
    missing : {"drop", "raise"}
        Rows with missing values in a column that the formula reads are dropped and counted, or an error.
    standardize : bool
        Scale every feature to mean 0 and standard deviation 1.
    env : int or patsy.EvalEnvironment
        Where functions and constants of the formula are looked up: 0 is the caller, 1 the caller's caller.
    unordered : bool
        Allow levels without an order: "multiclass" is then a family as well, and "auto" may choose it.

    Returns
    -------
    Design

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"grade": [1, 2, 3, 1], "x": [1.0, 5.0, 9.0, 2.0], "z": [0.0, 1.0, 2.0, 1.0]})
    >>> design = make_design("grade ~ log(x) | priv(z)", data)
    >>> design.names, design.priv_names, design.notes
    (('log(x)',), ('z',), ('Family chosen: ordinal (3 integer values).',))
    """
    env = EvalEnvironment.capture(env, reference=1)
    if missing not in ("drop", "raise"):
        raise OptionError(f"missing={missing!r} is not known; use 'drop' or 'raise'.")
    frame = as_frame(data)
    if frame.shape[0] == 0:
        raise DataError("The data are empty: there are no rows. Check how they were read or filtered.")
    if frame.shape[1] == 0:
        raise DataError("The data are empty: there are no columns. Check how they were read.")
    balanced = isinstance(weights, str) and weights == "balanced"
    given = None if balanced else case_weights(weights, frame)
    exclude = [weights] if isinstance(weights, str) and not balanced else []
    parsed = parse(formula, list(frame.columns), known=env.namespace, exclude=exclude)

    columns = take(frame, variables_of(parsed))
    keep, notes = complete_rows(columns, frame, missing)
    rows = keep_rows(columns, keep)
    n = int(keep.sum())
    recipe, X, said = learn(parsed.regular_terms, rows, n, env, parsed.text)
    priv, Z, said_priv = learn(parsed.privileged_terms, rows, n, env, parsed.text)
    factor = memorize(parsed.response_factor, rows, env, parsed.text)
    value = factor.value(rows)
    order, boxed = None, is_box(value)
    if boxed:
        order, value = value.levels, value.data
    value = as_series(value, next(iter(rows.values())).index, parsed.response)

    # A transform may itself give missing values (the log of a negative number).
    whole = ~(np.isnan(X).any(axis=1) | np.isnan(Z).any(axis=1) | value.isna().to_numpy())
    if not whole.all():
        message = made_missing(recipe, X, priv, Z, value, whole)
        if missing == "raise":
            raise DataError(f"{message}. Remove these rows, or use missing='drop'.")
        if not whole.any():
            raise DataError(f"{message}: no row is left. Check the transform.")
        notes.append(f"{message}: dropped.")
        warnings.warn(notes[-1], RelboundsWarning, stacklevel=3)
    X, Z, value = X[whole], Z[whole], value[whole]
    keep[keep] = whole
    names_column = parsed.response_variables[0] if len(parsed.response_variables) == 1 else None
    was_missing = any(columns[v].isna().any() for v in parsed.response_variables)
    response = read_response(
        value,
        parsed.response,
        family,
        order=order,
        was_missing=was_missing,
        boxed=boxed,
        column=names_column,
        unordered=unordered,
    )
    for note in (*said, *said_priv):
        warnings.warn(note, RelboundsWarning, stacklevel=3)
    return _finish(
        X,
        Z,
        response,
        names=recipe.names,
        terms=recipe.of_term,
        priv_names=priv.names,
        priv_terms=priv.of_term,
        weights="balanced" if balanced else None if given is None else given[keep],
        standardize=standardize,
        formula=parsed.text,
        index=frame.index[keep],
        n_dropped=len(frame) - int(keep.sum()),
        notes=[*response.notes, *notes, *said, *said_priv],
        source=FormulaSource(recipe, factor),
    )


def design_from_arrays(
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    terms: Sequence[str] | None = None,
    levels: Sequence[Any] | None = None,
    family: str = "auto",
    Z: Any = None,
    priv_names: Sequence[str] | None = None,
    priv_terms: Sequence[str] | None = None,
    weights: Any = None,
    standardize: bool = True,
    response: str = "y",
    formula: str = "",
    unordered: bool = False,
) -> Design:
    """Make a design from arrays whose columns are the features already.

    Parameters
    ----------
    X : array-like (n, d)
        Regular features.
    y : array-like (n,)
        Labels or numbers; with `levels`, labels among them, or else codes 1..L.
    names, terms : sequence of str
        Name and term of each column; the columns of a DataFrame, or x1, x2, ..., when not given.
    levels : sequence or None
        The labels of an ordered response from lowest to highest.
    family : {"auto", "ordinal", "binary", "regression"}
    Z : array-like (n, p) or None
        Privileged features.
    priv_names, priv_terms : sequence of str
        As `names` and `terms`, for Z.
    weights : None, "balanced" or array-like (n,)
    standardize : bool
    response, formula : str
        What to show in results.
    unordered : bool
        As for :func:`make_design`; only without `levels`.

    Returns
    -------
    Design
        Its `transform` takes an array with the columns of X, or a DataFrame with columns `names`.

    Examples
    --------
    >>> design = design_from_arrays([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]], [1, 2, 2], levels=["low", "high"])
    >>> design.names, design.family, design.levels
    (('x1', 'x2'), 'binary', ('low', 'high'))
    """
    names = column_names(X, names, "x", "names")
    matrix = as_matrix(X, "X")
    n = len(matrix)
    private = np.zeros((n, 0)) if Z is None else as_matrix(Z, "Z")
    priv_names = [] if Z is None else column_names(Z, priv_names, "z", "priv_names")
    if not matrix.size:
        raise DataError(f"X is empty: there are no {'columns' if n else 'rows'}.")
    if np.ndim(y) == 0:
        raise DataError(f"y must be one value per row of X, not {y!r}.")
    if len(private) != n or len(y) != n:
        raise DataError(
            f"X, y and Z must have the same number of rows: {n}, {len(y)}"
            + ("." if Z is None else f" and {len(private)}.")
        )
    terms = names if terms is None else [str(t) for t in terms]
    priv_terms = priv_names if priv_terms is None else [str(t) for t in priv_terms]
    check_matrix(matrix, names, terms, "X")
    check_matrix(private, priv_names, priv_terms, "Z")
    known = (
        read_response(y, response, family, unordered=unordered)
        if levels is None
        else response_from_codes(y, levels, response, family)
    )
    if weights is not None and not isinstance(weights, str):
        weights = check_weights(weights, n)
    elif isinstance(weights, str) and weights != "balanced":
        raise OptionError(f"weights={weights!r} is not known; use 'balanced' or one number per row.")
    kept_index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(n)
    return _finish(
        matrix,
        private,
        known,
        names=names,
        terms=terms,
        priv_names=priv_names,
        priv_terms=priv_terms,
        weights=weights,
        standardize=standardize,
        formula=formula,
        index=kept_index,
        n_dropped=0,
        notes=list(known.notes),
        source=None,
    )


def _finish(
    X: FloatArray,
    Z: FloatArray,
    response: Response,
    *,
    names: Sequence[str],
    terms: Sequence[str],
    priv_names: Sequence[str],
    priv_terms: Sequence[str],
    weights: Any,
    standardize: bool,
    formula: str,
    index: pd.Index,
    n_dropped: int,
    notes: list[str],
    source: FormulaSource | None,
) -> Design:
    """Drop constant columns, scale, weigh: the steps that formulas and arrays share."""
    for values, labels in ((X, names), (Z, priv_names)):
        refuse_infinite(values, labels, "data")
    kept, constant = varying_columns(X, names)
    priv_kept, priv_constant = varying_columns(Z, priv_names)
    if not kept.size:
        raise DataError(
            f"Every feature is constant ({listed(constant)}). Name features that vary between rows."
        )
    if len(priv_names) and not priv_kept.size:
        raise DataError(
            f"Every privileged feature is constant ({listed(priv_constant)}). "
            "Name privileged features that vary between rows, or remove '| priv(...)'."
        )
    for dropped, what in ((constant, "feature"), (priv_constant, "privileged feature")):
        if dropped:
            note = f"Constant {what}{'s' * (len(dropped) > 1)} left out: {listed(dropped)}."
            warnings.warn(note, RelboundsWarning, stacklevel=4)
            notes.append(note)
    center, scale = scaling(X[:, kept], standardize)
    priv_center, priv_scale = scaling(Z[:, priv_kept], standardize)
    names = tuple(names)
    return Design(
        X=(X[:, kept] - center) / scale,
        Z=(Z[:, priv_kept] - priv_center) / priv_scale,
        y=response.y,
        weights=weights_of(weights, response),
        family=response.family,
        levels=response.levels,
        names=tuple(names[j] for j in kept),
        terms=tuple(terms[j] for j in kept),
        priv_names=tuple(priv_names[j] for j in priv_kept),
        priv_terms=tuple(priv_terms[j] for j in priv_kept),
        response=response.name,
        formula=formula,
        center=center,
        scale=scale,
        priv_center=priv_center,
        priv_scale=priv_scale,
        index=index,
        n_dropped=n_dropped,
        notes=tuple(notes),
        _response=response,
        _source=ArraySource(names) if source is None else source,
        _kept=kept,
    )
