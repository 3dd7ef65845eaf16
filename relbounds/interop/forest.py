"""Non-linear relevance for R: a described design in, plain things out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import relbounds as rb
from relbounds.design import Design
from relbounds.forest import forest_design
from relbounds.interop.plain import listed, make_design, said
from relbounds.interop.tell import columns, scalar


def forest(design: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Analyse the design that R described; table, groups, intervals and the printed summary come back."""
    chosen = {name: value for name, value in options.items() if value is not None}
    fit = forest_design(_design(design), **chosen)
    table = fit.table.reset_index()
    table["group"] = table["group"].astype(float)
    return {
        "table": columns(table),
        "intervals": columns(fit.intervals.reset_index()),
        "family": fit.design.family,
        "levels": None if fit.design.levels is None else [scalar(v) for v in fit.design.levels],
        "loss": fit.loss,
        "unit": fit.unit,
        "nobs": len(fit.design.y),
        **said(fit),
        "options": {
            name: scalar(value) for name, value in fit.options.items() if name not in ("params", "progress")
        },
        "version": rb.__version__,
        "serialized": bytearray(fit.to_bytes()),
    }


def _design(sent: Mapping[str, Any]) -> Design:
    """Build the design; three or more levels of an unordered factor stay without an order."""
    unordered = not sent.get("ordered") and len(listed(sent.get("levels"))) > 2
    return make_design({**sent, "family": "nominal"} if unordered and sent["family"] == "auto" else sent)
