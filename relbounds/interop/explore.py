"""What a fit can be asked beyond its table, in plain types; each function takes the bytes that R kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

import relbounds as rb
from relbounds.explore.constrain import phrase
from relbounds.interop.plain import as_plain, columns, listed, restore, scalar
from relbounds.results import RelboundsResults


def whole(value: Any) -> Any:
    """Return whole numbers as integers: R's numbers are doubles.

    Examples
    --------
    >>> whole(3.0), whole([1.0, 2.5]), whole("a")
    (3, [1, 2.5], 'a')
    """
    if isinstance(value, list | tuple):
        return [whole(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def series(values: pd.Series) -> dict[str, list[Any]]:
    """Return a series as names and values.

    Examples
    --------
    >>> series(pd.Series([1, 2], index=["a", "b"]))
    {'names': ['a', 'b'], 'values': [1, 2]}
    """
    return {"names": [str(name) for name in values.index], "values": [scalar(v) for v in values]}


def with_constraints(fit: RelboundsResults) -> dict[str, Any]:
    """Return a what-if as plain things, its constraints in words.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
    >>> with_constraints(fit.constrain({"x2": "off"}))["constraints"]
    ['x2 ...']
    """
    said = [f"{name} {phrase(wish)}" for name, wish in fit.constraints.items()]
    return {**as_plain(fit), "constraints": said}


def constrain(content: bytes, wishes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fit under constraints."""
    read = {
        name: tuple(float(v) for v in wish) if isinstance(wish, list | tuple) else wish
        for name, wish in wishes.items()
    }
    return with_constraints(restore(content).constrain(read))


def substitutes(content: bytes, feature: str) -> dict[str, Any]:
    """Return which features take over when one is off."""
    return columns(restore(content).substitutes(feature).reset_index(names="feature"))


def groups(content: bytes, cut: float | None, k: float | None, part: str, by_class: bool) -> dict[str, Any]:
    """Return groups of features: labels, tree and distances."""
    found = restore(content).groups(cut, whole(k), part=part, by_class=by_class)
    return {
        "labels": series(found.labels),
        "linkage": [[float(v) for v in row] for row in found.linkage],
        "distance": columns(found.distance),
        "height": float(found.height),
    }


def sweep(content: bytes, delta: Any, probes: float | None) -> dict[str, Any]:
    """Return bounds and classes along the tolerance."""
    found = restore(content).sweep_delta(listed(delta) or None, probes=whole(probes))
    return {
        "deltas": [float(v) for v in found.deltas],
        "table": columns(found.table.reset_index()),
        "noise": columns(found.noise.reset_index()),
        "changes": columns(found.changes),
        "strong_until": series(found.strong_until),
        "delta": float(found.delta),
    }


def stability(content: bytes, n_resamples: float, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return class frequencies over subsamples."""
    given = {name: value if name == "fraction" else whole(value) for name, value in options.items()}
    found = restore(content).stability(whole(n_resamples), **given)
    return {
        "table": columns(found.table.reset_index(names="feature")),
        "frequencies": columns(found.frequencies.reset_index(names="feature")),
        "draws": columns(found.draws.reset_index()),
        "n_resamples": found.n_resamples,
        "failed": found.failed,
        "fraction": found.fraction,
    }


def choose(content: bytes, cost: Mapping[str, float], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cheapest features that support an equivalent model."""
    found = restore(content).cheapest(dict(cost), **options)
    return {
        "features": list(found.features),
        "terms": list(found.terms),
        "cost": float(found.cost),
        "cost_of_all": float(found.cost_of_all),
        "costs": series(found.costs),
        "exact": bool(found.exact),
        "bound": float(found.bound),
        "gap": float(found.gap),
        "results": with_constraints(RelboundsResults(found.fitted)),
    }


def risk_bound(content: bytes, tau: float) -> dict[str, Any]:
    """Return the risk bound, its parts and what they say."""
    found = restore(content).risk_bound(tau)
    parts = ("value", "loss", "complexity", "confidence", "tau", "limit", "n_needed", "vacuous")
    return {**{name: scalar(getattr(found, name)) for name in parts}, "text": repr(found)}


def difficulty(content: bytes) -> dict[str, Any]:
    """Return how hard each training row is to grade by its privileged features, and why."""
    return columns(restore(content).difficulty())


def compare(fits: Mapping[str, bytes]) -> dict[str, Any]:
    """Return fits side by side: bounds and classes by feature, facts by fit, and the table for a paper."""
    found = rb.compare_fits({name: restore(content) for name, content in fits.items()})
    flat = found.table.copy()
    flat.columns = pd.Index([f"{fit}.{column}" for fit, column in flat.columns])
    return {
        "table": columns(flat.reset_index(names="feature")),
        "facts": {str(name): [str(v) for v in found.facts[name]] for name in found.facts.columns},
        "facts_names": [str(name) for name in found.facts.index],
        "markdown": found.to_markdown(),
        "latex": found.to_latex(),
    }


def report(content: bytes, path: str, options: Mapping[str, Any]) -> str:
    """Write the report of a fit and return where it is."""
    given = {name: whole(value) for name, value in options.items()}
    return str(restore(content).write_report(path, **given))
