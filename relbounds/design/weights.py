"""What goes with each row besides features: importance weights, frequencies, clusters; checked and aligned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.errors import OptionError, counted, nearest

FloatArray = NDArray[np.float64]

FEW_CLUSTERS = 10  # with fewer a note says what they cannot show
MOST = 50_000_000  # observations that rows may be written out to; more would not fit into memory


def case_weights(weights: Any, frame: pd.DataFrame) -> FloatArray | None:
    """Return one checked importance weight per row of the data, or None for no weights.

    Parameters
    ----------
    weights : None, str or array-like
        A column name, or one number per row of the data before any row is dropped. A Series is put in the order of the
        data by its labels.
    frame : DataFrame

    Examples
    --------
    >>> case_weights("n", pd.DataFrame({"n": [2, 1]}))
    array([2., 1.])
    """
    if weights is None:
        return None
    if isinstance(weights, str) and weights == "balanced" and "balanced" not in frame.columns:
        raise OptionError(
            "weights='balanced' is no longer known. Use balance=True, the default: both sides of every threshold "
            "then weigh the same."
        )
    values, where = _per_row(weights, frame, "weights")
    return check_weights(values, len(frame), where)


def check_weights(weights: Any, n: int, where: str = "weights") -> FloatArray:
    """Check that there is one finite weight >= 0 per row and that not all are 0.

    Examples
    --------
    >>> check_weights(np.array([1.0, 2.0]), 2)
    array([1., 2.])
    """
    values = _numbers(weights, n, where)
    if not (values > 0).any():
        raise OptionError(f"The {where} are all zero. At least one row must count.")
    return values


def frequencies(frequency: Any, frame: pd.DataFrame) -> NDArray[np.intp] | None:
    """Return how many observations each row of the data stands for, or None.

    Examples
    --------
    >>> frequencies([2, 0], pd.DataFrame({"x": [1.0, 2.0]}))
    array([2, 0])
    """
    if frequency is None:
        return None
    values, where = _per_row(frequency, frame, "frequency")
    return check_frequency(values, len(frame), where)


def check_frequency(frequency: Any, n: int, where: str = "frequency") -> NDArray[np.intp]:
    """Check that there is one whole number >= 0 per row, and that not all are 0.

    Examples
    --------
    >>> check_frequency([3.0, 1.0], 2)
    array([3, 1])
    """
    values = _numbers(frequency, n, where)
    broken = values != np.round(values)
    if broken.any():
        raise OptionError(
            f"The {where} must be whole numbers, the observations that a row stands for, but holds "
            f"{values[broken][0]:g} (row {int(np.argmax(broken))}). For importance weights use weights=."
        )
    if not (values > 0).any():
        raise OptionError(f"The {where} is zero in every row: there is no observation.")
    if values.sum() > MOST:
        raise OptionError(
            f"The {where} adds up to {values.sum():.3g} observations, more than {MOST:,} that can be written out. "
            "Divide it by a common factor, or draw a sample."
        )
    return values.astype(np.intp)


def cluster_of_rows(cluster: Any, frame: pd.DataFrame) -> tuple[pd.Series, str] | None:
    """Return the cluster of each row of the data and what it is called, or None.

    Examples
    --------
    >>> cluster_of_rows("patient", pd.DataFrame({"patient": ["a", "b"]}))[1]
    'patient'
    """
    if cluster is None:
        return None
    values, where = _per_row(cluster, frame, "cluster")
    name = cluster if isinstance(cluster, str) else str(getattr(cluster, "name", None) or "cluster")
    values = values if isinstance(values, pd.Series) else np.asarray(values)
    if np.ndim(values) != 1 or len(values) != len(frame):
        raise OptionError(
            f"The {where} must be one value per row of the data: {len(frame)} rows, but the shape is "
            f"{np.shape(values)}."
        )
    return pd.Series(np.asarray(values), index=frame.index, name=name), name


def cluster_codes(cluster: pd.Series) -> NDArray[np.intp]:
    """Number clusters from 0 in the order in which they appear; a single one is an error.

    Examples
    --------
    >>> cluster_codes(pd.Series(["b", "a", "b"], name="patient"))
    array([0, 1, 0])
    """
    try:
        codes, found = pd.factorize(cluster)
    except TypeError:
        raise OptionError(f"The cluster {cluster.name!r} must hold numbers, text or dates.") from None
    if len(found) < 2:
        raise OptionError(
            f"Every row is in the same cluster of {cluster.name!r}. Clusters are what is resampled and permuted: "
            "there must be several. Leave cluster= out, or name another column."
        )
    return np.asarray(codes, dtype=np.intp)


def cluster_note(codes: NDArray[np.intp] | None, n: int) -> tuple[str, ...]:
    """Return a note where every observation is a cluster of its own, or clusters are few.

    Examples
    --------
    >>> cluster_note(np.array([0, 1, 2]), 3)
    ('Every cluster is a single observation, as without cluster=.',)
    """
    if codes is None:
        return ()
    count = len(np.unique(codes))
    if count == n:
        return ("Every cluster is a single observation, as without cluster=.",)
    if count < FEW_CLUSTERS:
        return (
            f"{count} clusters only: what is constant in clusters can change places in few ways, so its p-values "
            "cannot be small, and resampled models vary much. Ten clusters or more are advisable.",
        )
    return ()


def _per_row(given: Any, frame: pd.DataFrame, what: str) -> tuple[Any, str]:
    """Return values of the rows, from a column or in the order of the data, and what to call them."""
    if isinstance(given, str):
        if given not in frame.columns:
            raise OptionError(f"{what}={given!r} is not a column of the data.{nearest(given, frame.columns)}")
        return frame[given], f"{what} (column {given!r})"
    if isinstance(given, pd.Series) and not given.index.equals(frame.index):
        same = (
            len(given) == len(frame)
            and given.index.is_unique
            and frame.index.is_unique
            and given.index.isin(frame.index).all()
        )
        if not same:
            raise OptionError(
                f"The labels of {what} (its index) are not those of the data, so it is unclear which value belongs "
                f"to which row. Give {what} the index of the data, or drop it: {what}.to_numpy()."
            )
        return given.reindex(frame.index), what
    return given, what


def _numbers(given: Any, n: int, where: str) -> FloatArray:
    """Return one finite number >= 0 per row, or say why they are none."""
    shape = np.shape(given)
    if len(shape) != 1 or shape[0] != n:
        raise OptionError(
            f"The {where} must be one number per row of the data: {n} rows, but the shape is {shape}. "
            "Give one for every row, also for those that will be dropped."
        )
    series = given if isinstance(given, pd.Series) else pd.Series(np.asarray(given))
    kind = getattr(series.dtype, "kind", "O")
    if kind in "mM" or isinstance(series.dtype, pd.PeriodDtype):
        raise OptionError(f"The {where} must be numbers, not dates or durations.")
    try:
        if kind == "c" or any(isinstance(v, complex | str) for v in (series if kind == "O" else ())):
            raise TypeError  # text that looks like a number is read as one nowhere else either
        values = series.to_numpy(dtype=float, na_value=np.nan)
    except (ValueError, TypeError):
        raise OptionError(f"The {where} must be numbers: one per row, or a column name.") from None
    bad = ~np.isfinite(values)
    if bad.any():
        raise OptionError(
            f"The {where} hold {counted(int(bad.sum()), 'missing or infinite value')} "
            f"(first in row {int(np.argmax(bad))}). Fill them in; 0 leaves a row without influence."
        )
    if (values < 0).any():
        raise OptionError(
            f"The {where} must not be negative: {int((values < 0).sum())} are (first in row "
            f"{int(np.argmax(values < 0))})."
        )
    return values
