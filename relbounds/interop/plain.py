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
from relbounds.design.censored import Surv, between
from relbounds.interop.tell import columns, scalar, tell
from relbounds.interop.words import in_r
from relbounds.linear.fitted import Fitted


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


def make_design(sent: Mapping[str, Any]) -> Design:
    """Build the design that R described: matrices as bytes; names, terms, levels and variables as lists."""
    n = int(sent["n"])
    parts = {name: sent.get(name) for name in ("X", "Z", "adjust")}
    X = sent["X"]
    described = [part for part in parts.values() if part is not None]
    y, levels = _response(sent)
    given: dict[str, Any] = {
        "names": listed(X["names"]),
        "terms": listed(X["terms"]),
        "levels": levels,
        "family": str(sent["family"]),
        "term_levels": {
            str(term): listed(own)
            for part in described
            for term, own in dict(part.get("levels") or {}).items()
        },
        "ordered_terms": [str(term) for part in described for term in listed(part.get("ordered"))],
        "term_variables": {
            str(term): listed(own)
            for part in described
            for term, own in dict(part.get("variables") or {}).items()
        },
        "term_numbers": {
            str(term): [int(number) for number in listed(own)]
            for part in described
            for term, own in dict(part.get("numbers") or {}).items()
        },
        "standardize": bool(sent["standardize"]),
        "response": str(sent["response"]),
        "formula": str(sent["formula"]),
    }
    for name, stem in (("Z", "priv"), ("adjust", "adjust")):
        part = parts[name]
        if part is not None:
            given |= {
                name: unpack(part["values"], n),
                f"{stem}_names": listed(part["names"]),
                f"{stem}_terms": listed(part["terms"]),
            }
    for name in ("weights", "frequency", "cluster"):
        if sent.get(name) is not None:
            given[name] = unpack(sent[name])
    return design_from_arrays(unpack(X["values"], n), y, **given)


def _response(sent: Mapping[str, Any]) -> tuple[Any, list[Any] | None]:
    """Return the response, and its levels where they have an order and each row has one of them."""
    y = unpack(sent["y"])
    levels = listed(sent.get("levels"))
    if sent.get("event") is not None:
        return Surv(pd.Series(y), pd.Series(unpack(sent["event"]).astype(np.int64))), None
    if not levels:
        return (y.astype(np.int64) if sent.get("type") == "integer" else y), None
    if sent.get("interval") is not None:
        ends = unpack(sent["interval"], len(y)).astype(np.int64) - 1
        low, high = (pd.Series([levels[k] for k in ends[:, side]]) for side in (0, 1))
        return between(low, high, levels=levels), None
    codes = y.astype(np.int64)
    if sent["family"] != "nominal":
        return codes, levels
    return pd.Categorical.from_codes(codes - 1, categories=[str(v) for v in levels]), None


def as_plain(fit: rb.RelboundsResults) -> dict[str, Any]:
    """Return a fit as plain things, with its own bytes so that R can hand it back.

    Examples
    --------
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> sent = as_plain(rb.relbounds(data.formula, data.data, C=1.0))
    >>> sent["family"], sent["table"]["relevance"][:2]
    ('ordinal', ['strong', 'strong'])
    """
    design, fitted = fit.design, fit._fitted
    return {
        "table": columns(fit.table.reset_index(names="feature")),
        "family": design.family,
        "levels": None if design.levels is None else [scalar(level) for level in design.levels],
        "baseline": {**_predictor(fit), **_facts(fit)},
        "intervals": columns(_intervals(fitted)),
        "certificate": float(fit.certificate),
        **said(fit),
        "options": {
            name: scalar(value) for name, value in fit.options.items() if name not in ("client", "progress")
        },
        "constraints": [f"{name} {_phrase(wish)}" for name, wish in fit.constraints.items()],
        "before": None if fitted.before is None else columns(fitted.before.reset_index(names="feature")),
        "no_relation": bool(fitted.no_relation),
        "nobs": len(design.y),
        "clusters": None if design.cluster is None else len(np.unique(design.cluster)),
        "version": rb.__version__,
        "serialized": bytearray(fit.to_bytes()),
    }


def _predictor(fit: rb.RelboundsResults) -> dict[str, Any]:
    """Return what R needs to predict by itself: weights, scales, thresholds, and which of its columns are used."""
    design, fitted = fit.design, fit._fitted
    base = fit.baseline
    several = isinstance(base.weights, pd.DataFrame)
    unit = design.y_scale if design.family == "regression" else 1.0
    adjust = fitted.spec.adjust_of(fitted.solution.v) * unit

    def named(names: Sequence[Any], values: Any) -> dict[str, Any]:
        return {"names": [str(n) for n in names], "values": [float(v) for v in values]}

    return {
        "weights": None if several else named(design.names, base.weights),
        "class_weights": tell(np.asarray(base.weights, dtype=float)) if several else None,
        "center": named(design.names, design.center),
        "scale": named(design.names, design.scale),
        "sent": [int(j) + 1 for j in getattr(design._columns, "used", ())],
        "adjust_weights": named(design.adjust_names, adjust[0]) if len(adjust) == 1 else None,
        "adjust_class_weights": tell(adjust.T) if len(adjust) > 1 else None,
        "adjust_center": named(design.adjust_names, design.adjust_center),
        "adjust_scale": named(design.adjust_names, design.adjust_scale),
        "adjust_sent": [int(j) + 1 for j in getattr(design._adjust_columns, "used", ())],
        "thresholds": [float(v) for v in base.thresholds],
        "median_cuts": None if fit._median_cuts is None else [float(v) for v in fit._median_cuts],
    }


def _facts(fit: rb.RelboundsResults) -> dict[str, Any]:
    """Return what the summary says of the best model and of how it was chosen."""
    base, fitted = fit.baseline, fit._fitted
    known = {name: scalar(getattr(base, name)) for name in ("mu", "rho", "C", "gamma", "epsilon", "cv_score")}
    return known | {
        "delta": float(fit.delta),
        "metric": base.metric,
        "score": float(fit.score()),
        "order": fitted.tuning.kind.order,
        "tuned": fitted.tuning.rule != "fixed",
        "scores": None if base.scores.empty else tell(base.scores.reset_index(drop=True)),
        "permutations": fitted.noise.permutations,
        "refits": fitted.noise.refits,
        "privileged": None if fitted.privileged is None else fitted.privileged.way,
        "tried": None
        if fitted.privileged is None
        else {k: float(v) for k, v in fitted.privileged.tried.items()},
        "cut_times": [float(v) for v in fit.design.cut_times],
    }


def said(fit: Any) -> dict[str, Any]:
    """Return what the summary says around the table, in the words of R."""
    facts = fit.facts
    return {
        "header": {in_r(name).rstrip(":"): in_r(value) for name, value in (*facts.left, *facts.right)},
        "notes": [in_r(str(note)) for note in facts.notes],
        "smallest_p": float(facts.smallest_p),
        "measure": in_r(facts.measure),
    }


def _intervals(fitted: Fitted) -> pd.DataFrame:
    """Return what noise reaches, one row for each of its two ends."""
    rows = []
    for key, pair in fitted.noise.intervals.items():
        population = fitted.noise.populations.get(key)
        for bound, interval in zip(("lower", "upper"), pair, strict=True):
            rows.append(
                {
                    "part": key.part,
                    "term": key.term or "",
                    "bound": bound,
                    "lower": float(interval.lower),
                    "upper": float(interval.upper),
                    "level": float(interval.level),
                    "probes": int(interval.m),
                    "drawn": 0 if population is None else int(population.draws),
                    "infeasible": 0 if population is None else int(population.infeasible),
                }
            )
    names = ["part", "term", "bound", "lower", "upper", "level", "probes", "drawn", "infeasible"]
    return pd.DataFrame(rows, columns=names)


def _phrase(wish: Any) -> str:
    from relbounds.explore.constrain import phrase

    return phrase(wish)


def kinds() -> dict[str, Any]:
    """Return the three kinds of fit by the names that R has for them."""
    return {"relbounds": rb.RelboundsResults, "svor": rb.SvorResults, "relbounds_forest": rb.ForestResults}


def fit_of(value: Any) -> rb.RelboundsResults | None:
    """Return the fit that a value is, or whose facts it holds; None if it is something else."""
    if isinstance(value, Fitted):
        return rb.RelboundsResults(value)
    return value if isinstance(value, rb.RelboundsResults) else None


def restore(content: bytes, kind: str = "relbounds") -> Any:
    """Return the fit whose bytes R kept.

    Examples
    --------
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0)
    >>> restore(bytearray(fit.to_bytes())).table.equals(fit.table)
    True
    """
    return kinds()[kind].from_bytes(bytes(content))
