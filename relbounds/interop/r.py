"""R objects in, R objects out, for Python users of R (through rpy2).

Formulas given here are R's: R's own model frame reads them, through the R package `relbounds`, which must be
installed in the R that rpy2 finds (``R CMD INSTALL r-package``).
"""

from __future__ import annotations

import atexit
import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relbounds.api import fit_design
from relbounds.design import Design
from relbounds.errors import DataError, MissingExtraError, RelboundsError
from relbounds.interop.plain import as_plain, make_design
from relbounds.results import RelboundsResults

DESIGN_OPTIONS = ("family", "standardize", "weights", "missing", "frequency", "cluster")


def available() -> bool:
    """Return whether rpy2, R and the R package are all there.

    Examples
    --------
    >>> available() in (True, False)
    True
    """
    try:
        _robjects()
    except MissingExtraError:
        return False
    return True


class RFit(RelboundsResults):
    """A fit whose formula R has read; `predict` and the like take R data frames as well as arrays.

    Examples
    --------
    >>> issubclass(RFit, RelboundsResults)
    True
    """

    def __init__(self, fitted: Any, memory: Any = None) -> None:
        super().__init__(fitted)
        self.memory = memory

    def constrain(self, wishes: Mapping[str, Any], **options: Any) -> RFit:
        """Ask what if, as :meth:`relbounds.RelboundsResults.constrain`; the R formula is remembered."""
        return RFit(super().constrain(wishes, **options)._fitted, self.memory)

    def _features(self, newdata: Any) -> tuple[np.ndarray, np.ndarray, pd.Index]:
        if self.memory is None or not _is_r(newdata):
            return super()._features(newdata)
        X, index = _matrix(_call("relbounds:::new_matrix", self.memory, newdata))
        adjust = np.zeros((len(X), 0))
        if self.design.adjust.shape[1]:
            values, _ = _matrix(_call("relbounds:::adjust_matrix", self.memory, newdata))
            adjust = self.design.transform_adjust(values)
        return self.design.transform(X), adjust, index


def _matrix(matrix: Any) -> tuple[np.ndarray, pd.Index]:
    """Return an R matrix as an array and the names of its rows."""
    values = np.array(matrix, dtype=float).reshape((matrix.nrow, matrix.ncol), order="F")
    values[np.isnan(values)] = np.nan  # R's NA is a NaN that arithmetic complains about
    return values, pd.Index([str(name) for name in matrix.rownames])


def relbounds(formula: Any, data: Any, **options: Any) -> RFit:
    """Compute relevance intervals from an R formula and an R data frame.

    Parameters
    ----------
    formula : rpy2.robjects.Formula or str
        With R's meaning: ``.``, ``-x``, ``I(x^2)``, ``poly(x, 2)``, ``factor()``, ``| priv(z)``.
    data : rpy2.robjects.DataFrame or pandas.DataFrame
        Ordered factors keep their order, NA is missing.
    **options
        Those of :func:`relbounds.relbounds`, with the same names and defaults.

    Returns
    -------
    RFit
        A :class:`relbounds.RelboundsResults` that takes R data frames in `predict`.

    Examples
    --------
    >>> import relbounds as rb
    >>> if available():
    ...     data = rb.simulate.paper_set(3, seed=1).data
    ...     fit = relbounds("y ~ x1 + I(x2^2)", data, C=1.0, probes=10)
    ...     assert list(fit.table.index) == ["x1", "I(x2^2)"]
    """
    given = {name: options.pop(name) for name in DESIGN_OPTIONS if name in options}
    missing = given.get("missing", "drop")
    if missing not in ("drop", "raise"):
        raise DataError(f"missing={missing!r} is not known; use 'drop' or 'raise'.")
    ro = _robjects()
    described = _call(
        "relbounds:::describe_design",
        _r_formula(formula),
        _r_frame(data),
        given.get("family", "auto"),
        bool(given.get("standardize", True)),
        _r_weights(given.get("weights")),
        "na.omit" if missing == "drop" else "na.fail",
        _r_weights(given.get("frequency")),
        _r_weights(given.get("cluster")),
    )
    design = make_design(_plain(described.rx2("sent")))
    fit = fit_design(design, **options)
    memory = ro.ListVector(dict(zip(described.rx2("memory").names, described.rx2("memory"), strict=True)))
    return RFit(fit._fitted, memory)


def to_r(fit: RelboundsResults) -> Any:
    """Return a fit as an R object of class ``relbounds``, on which the S3 methods of the R package work.

    A fit made from an R formula predicts from the variables of that formula. A fit made from a pandas formula
    predicts from its columns, under the names they have in the table.

    Parameters
    ----------
    fit : RelboundsResults

    Returns
    -------
    rpy2.robjects.ListVector

    Examples
    --------
    >>> import relbounds as rb
    >>> if available():
    ...     data = rb.simulate.paper_set(3, seed=1).data
    ...     fit = rb.relbounds("y ~ .", data, C=1.0, probes=10)
    ...     assert "relbounds" in list(to_r(fit).rclass)
    """
    ro = _robjects()
    sent = as_plain(fit)
    answer = _to_r_value({**sent, "response": fit.design.response})
    memory = getattr(fit, "memory", None) or _columns_memory(fit.design, answer)
    return _call("relbounds:::new_relbounds", answer, memory, ro.NULL)


def _robjects() -> Any:
    """Return rpy2.robjects, or say which of the three needed things is missing."""
    try:
        import rpy2.robjects as ro
    except ImportError as error:
        raise MissingExtraError(
            "R objects need rpy2, which is not installed: pip install 'relbounds[r]' "
            "(rpy2 3.5.17 fits R 4.2)."
        ) from error
    except Exception as error:  # rpy2 raises what it likes when there is no R
        raise MissingExtraError(
            f"rpy2 found no R that it can start ({error}). "
            "Install R, or set R_HOME to the output of 'R RHOME'."
        ) from error
    _forget_library_path()
    # The option keeps the R package from looking for a Python of its own: this one serves it.
    if not ro.r("{options(relbounds.host = 'rpy2'); isTRUE(requireNamespace('relbounds', quietly = TRUE))}")[
        0
    ]:
        raise MissingExtraError(
            "The R package 'relbounds' is not installed in this R: run 'R CMD INSTALL r-package' "
            f"in the sources (R looks in {', '.join(ro.r('.libPaths()'))})."
        )
    _lend_bridge(ro)
    return ro


def _forget_library_path() -> None:
    """Give LD_LIBRARY_PATH back the value this process was started with.

    Starting R puts the system's library folders on it. This process no longer reads it, but a worker process would,
    and could then load the system's libpython in place of its own.
    """
    try:
        started_with = Path("/proc/self/environ").read_bytes().split(b"\0")
    except OSError:  # other systems name it differently and are not affected
        return
    os.environ.pop("LD_LIBRARY_PATH", None)
    for entry in started_with:
        name, _, value = entry.partition(b"=")
        if name == b"LD_LIBRARY_PATH":
            os.environ["LD_LIBRARY_PATH"] = os.fsdecode(value)


def _lend_bridge(ro: Any) -> None:
    """Let S3 methods that need Python call this Python: no second one is started inside R."""
    held = ro.r("relbounds:::bridge")
    if "module" not in held:
        held["module"] = ro.r["list"](call=_bridge_for_r())


@functools.cache  # rpy2 does not keep the function alive that R calls; the cache does
def _bridge_for_r() -> Any:
    import rpy2.robjects as ro
    from rpy2.rinterface import rternalize

    from relbounds.interop import bridge

    def answer(name: Any, arguments: Any) -> Any:
        plain = _plain(ro.conversion.get_conversion().rpy2py(arguments))
        return _to_r_value(
            bridge.call(str(name[0]), list(plain.values()) if isinstance(plain, dict) else plain)
        )

    lent = rternalize(answer, signature=False)
    atexit.register(_bridge_for_r.cache_clear)  # while rpy2 can still clean up after it
    return lent


def _call(name: str, *arguments: Any) -> Any:
    """Call an R function; an R error becomes a RelboundsError with R's message."""
    from rpy2.rinterface_lib.embedded import RRuntimeError

    ro = _robjects()
    # R's condition message arrives whole this way; the text of rpy2's own exception is cut and decorated
    guarded = ro.r(
        "function(f, args) tryCatch(do.call(f, args), error = function(e) structure(list("
        "message = conditionMessage(e)), class = 'relbounds_caught'))"
    )
    try:
        value = guarded(ro.r(name), ro.r["list"](*arguments))
    except RRuntimeError as error:
        raise RelboundsError(str(error).strip()) from error
    if "relbounds_caught" in tuple(value.rclass):
        raise RelboundsError(str(value.rx2("message")[0]))
    return value


def _is_r(value: Any) -> bool:
    return type(value).__module__.startswith("rpy2.")


def _r_formula(formula: Any) -> Any:
    return formula if _is_r(formula) else _robjects().Formula(str(formula))


def _r_frame(data: Any) -> Any:
    """Return an R data frame; pandas frames are converted, ordered categories to ordered factors."""
    if _is_r(data):
        return data
    if not isinstance(data, pd.DataFrame):
        raise DataError(f"data must be an R or a pandas data frame, not {type(data).__name__}.")
    ro = _robjects()
    return ro.DataFrame({str(name): _r_column(data[name]) for name in data.columns})


def _r_column(column: pd.Series) -> Any:
    ro = _robjects()
    if isinstance(column.dtype, pd.CategoricalDtype):
        levels = ro.StrVector([str(level) for level in column.cat.categories])
        codes = ro.IntVector([int(code) + 1 if code >= 0 else ro.NA_Integer for code in column.cat.codes])
        return ro.r(
            "function(codes, levels, ordered) factor(levels[codes], levels = levels, ordered = ordered)"
        )(codes, levels, bool(column.cat.ordered))
    if pd.api.types.is_bool_dtype(column):
        return ro.BoolVector([ro.NA_Logical if pd.isna(v) else bool(v) for v in column])
    if pd.api.types.is_numeric_dtype(column):
        return ro.FloatVector([ro.NA_Real if pd.isna(v) else float(v) for v in column])
    return ro.StrVector([ro.NA_Character if pd.isna(v) else str(v) for v in column])


def _r_weights(weights: Any) -> Any:
    ro = _robjects()
    if weights is None:
        return ro.NULL
    if isinstance(weights, str) or _is_r(weights):
        return weights
    return ro.FloatVector([float(w) for w in weights])


def _plain(value: Any) -> Any:
    """Return an R value in plain Python types."""
    ro = _robjects()
    if value is ro.NULL:
        return None
    if isinstance(value, ro.ListVector):
        if value.names is ro.NULL:
            return [_plain(v) for v in value]
        return {str(name): _plain(v) for name, v in zip(value.names, value, strict=True)}
    if isinstance(value, ro.vectors.ByteVector):
        return bytes(value)
    if isinstance(value, ro.vectors.Vector):
        items = [v if isinstance(v, str) else v.item() if hasattr(v, "item") else v for v in value]
        return items[0] if len(items) == 1 else items
    return value


def _to_r_value(value: Any) -> Any:
    """Return a plain Python value as an R value."""
    ro = _robjects()
    if value is None:
        return ro.NULL
    if isinstance(value, Mapping):
        return ro.ListVector([(str(name), _to_r_value(v)) for name, v in value.items()])
    if isinstance(value, bytes | bytearray):
        return ro.vectors.ByteVector(bytes(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _r_vector(list(value))
    return _r_vector([value])


def _r_vector(items: list[Any]) -> Any:
    ro = _robjects()
    if all(isinstance(v, bool) for v in items) and items:
        return ro.BoolVector(items)
    if all(isinstance(v, str) for v in items) and items:
        return ro.StrVector(items)
    if all(isinstance(v, int) and not isinstance(v, bool) and abs(v) < 2**31 for v in items) and items:
        return ro.IntVector(items)
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in items) and items:
        return ro.FloatVector([float(v) for v in items])
    return ro.r["list"](*[_to_r_value(v) for v in items])


def _columns_memory(design: Design, answer: Any) -> Any:
    """Return what R must remember of a fit whose formula was pandas': its columns, in their own units."""
    ro = _robjects()

    def matrix(values: np.ndarray) -> Any:
        flat = ro.FloatVector(values.ravel(order="F"))
        return ro.r["matrix"](flat, nrow=values.shape[0], ncol=values.shape[1])

    X = matrix(design.X * design.scale + design.center)
    adjust = matrix(design.adjust * design.adjust_scale + design.adjust_center)
    codes = design.y
    y = (
        ro.FloatVector(codes)
        if design.family == "regression"
        else ro.IntVector([int(code) for code in codes])
    )
    return _call("relbounds:::describe_columns", answer, X, y, adjust)
