"""Designs and fits in plain types: what the R package sends and receives.

Only bytes, strings, numbers, lists and dictionaries cross the border, so that the two sides need not agree on
a version of NumPy or pandas. Matrices travel as the bytes of their doubles, column by column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

import relbounds as rb
from relbounds.design import Design, design_from_arrays
from relbounds.results import RelboundsResults


def unpack(values: bytes, rows: int | None = None) -> np.ndarray:
    """Return the doubles that R packed, as a vector or as a matrix with `rows` rows.

    Examples
    --------
    >>> unpack(np.array([1.0, 2.0, 3.0, 4.0]).tobytes(), rows=2)
    array([[1., 3.],
           [2., 4.]])
    """
    flat = np.frombuffer(bytes(values), dtype=np.float64)
    return flat.copy() if rows is None else flat.reshape((int(rows), -1), order="F").copy()


def listed(value: Any) -> list[Any]:
    """Return what R sent as a list: R has no scalars, so a single value may arrive bare.

    Examples
    --------
    >>> listed("a"), listed(["a", "b"]), listed(None)
    (['a'], ['a', 'b'], [])
    """
    if value is None:
        return []
    if isinstance(value, str | bytes | bytearray) or not isinstance(value, Sequence):
        return [value]
    return list(value)


def scalar(value: Any) -> Any:
    """Return a NumPy or pandas scalar as Python's own; other things as they are, unknown ones as text.

    Examples
    --------
    >>> scalar(np.float64(0.5)), scalar(np.bool_(True)), scalar("a")
    (0.5, True, 'a')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Sequence):
        return [scalar(v) for v in value]
    return str(value)


def columns(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return a data frame as lists by column; missing numbers are NaN, other missing things are "".

    Examples
    --------
    >>> columns(pd.DataFrame({"a": [1.0, None], "b": ["x", None]}))
    {'a': [1.0, nan], 'b': ['x', '']}
    """
    out: dict[str, list[Any]] = {}
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_bool_dtype(column):
            out[str(name)] = [bool(v) for v in column]
        elif pd.api.types.is_integer_dtype(column):
            out[str(name)] = [int(v) for v in column]
        elif pd.api.types.is_numeric_dtype(column):
            out[str(name)] = [float(v) for v in column]
        else:
            out[str(name)] = ["" if pd.isna(v) else str(v) for v in column]
    return out


def make_design(sent: Mapping[str, Any]) -> Design:
    """Build the design that R described: matrices as bytes, names, terms and levels as lists."""
    n = int(sent["n"])
    X, Z = sent["X"], sent.get("Z")
    weights = sent.get("weights")
    if weights is not None and not isinstance(weights, str):
        weights = unpack(weights)
    y = unpack(sent["y"])
    levels = listed(sent.get("levels")) or None
    family = str(sent["family"])
    if levels is not None or sent.get("type") == "integer":
        y = y.astype(np.int64)
    return design_from_arrays(
        unpack(X["values"], n),
        y,
        names=listed(X["names"]),
        terms=listed(X["terms"]),
        levels=levels,
        family=family,
        Z=None if Z is None else unpack(Z["values"], n),
        priv_names=None if Z is None else listed(Z["names"]),
        priv_terms=None if Z is None else listed(Z["terms"]),
        weights=weights,
        standardize=bool(sent["standardize"]),
        response=str(sent["response"]),
        formula=str(sent["formula"]),
    )


def as_plain(fit: RelboundsResults) -> dict[str, Any]:
    """Return a fit as plain things, with its own bytes so that R can hand it back.

    Examples
    --------
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> sent = as_plain(rb.relbounds(data.formula, data.data, C=1.0, probes=20))
    >>> sent["family"], sent["table"]["relevance"][:2]
    ('ordinal', ['strong', 'strong'])
    """
    design, base = fit.design, fit.baseline
    bounds = fit.table.reset_index(names="feature")
    return {
        "table": columns(bounds),
        "family": design.family,
        "levels": None if design.levels is None else [scalar(level) for level in design.levels],
        "baseline": {
            "weights": {
                "names": list(map(str, base.weights.index)),
                "values": list(map(float, base.weights)),
            },
            "center": {"names": list(design.names), "values": [float(v) for v in design.center]},
            "scale": {"names": list(design.names), "values": [float(v) for v in design.scale]},
            "thresholds": [float(v) for v in base.thresholds],
            "mu": float(base.mu),
            "rho": float(base.rho),
            "delta": float(fit.delta),
            "C": float(base.C),
            "gamma": scalar(base.gamma),
            "epsilon": scalar(base.epsilon),
            "metric": base.metric,
            "score": float(fit.score()),
            "cv_score": scalar(base.cv_score),
        },
        "intervals": columns(fit.intervals.reset_index()),
        "certificate": float(fit.certificate),
        "notes": [str(note) for note in fit.notes],
        "options": {name: scalar(value) for name, value in fit.options.items() if name != "client"},
        "nobs": len(design.y),
        "version": rb.__version__,
        "serialized": bytearray(fit.to_bytes()),
    }


def restore(content: bytes) -> RelboundsResults:
    """Return the fit whose bytes R kept.

    Examples
    --------
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
    >>> restore(bytearray(fit.to_bytes())).table.equals(fit.table)
    True
    """
    return RelboundsResults.from_bytes(bytes(content))
