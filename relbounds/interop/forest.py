"""Non-linear relevance for R: a described design in, plain things out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from relbounds.design import Design, design_from_arrays
from relbounds.forest import forest_design
from relbounds.interop.plain import columns, listed, make_design, scalar, unpack


def forest(design: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Analyse the design that R described; table, groups, intervals and the printed summary come back."""
    chosen = {name: value for name, value in options.items() if value is not None}
    fit = forest_design(_design(design), **chosen)
    table = fit.table.reset_index()
    table["group"] = table["group"].astype(float)
    groups = fit.groups()
    return {
        "table": columns(table),
        "groups": {
            "members": [[str(name) for name in members] for members in groups["members"]],
            "removal_loss": [float(v) for v in groups["removal_loss"]],
            "similarity": [float(v) for v in groups["similarity"]],
        },
        "intervals": columns(fit.intervals.reset_index()),
        "family": fit.design.family,
        "levels": None if fit.design.levels is None else [scalar(v) for v in fit.design.levels],
        "loss": fit.loss,
        "unit": fit.unit,
        "nobs": len(fit.design.y),
        "notes": list(fit.notes),
        "options": {name: scalar(value) for name, value in fit.options.items() if name != "params"},
        "text": str(fit.summary()),
    }


def _design(sent: Mapping[str, Any]) -> Design:
    """Build the design; three or more levels of an unordered factor stay without an order."""
    levels = listed(sent.get("levels"))
    family = str(sent["family"])
    if sent.get("ordered") or len(levels) < 3 or family not in ("auto", "nominal"):
        return make_design(sent)
    codes = unpack(sent["y"]).astype(np.int64)
    weights = sent.get("weights")
    X = sent["X"]
    return design_from_arrays(
        unpack(X["values"], int(sent["n"])),
        np.array([str(levels[code - 1]) for code in codes], dtype=object),
        names=listed(X["names"]),
        terms=listed(X["terms"]),
        family="nominal",
        weights=weights if weights is None or isinstance(weights, str) else unpack(weights),
        response=str(sent["response"]),
        formula=str(sent["formula"]),
    )
