"""The part of a report that moves without a server: the responses to every term, and the script that shows them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from relbounds.explore.naming import term_rows
from relbounds.explore.response import Response, count_rims, responses
from relbounds.linear.fitted import Fitted
from relbounds.show.columns import format_p
from relbounds.show.escaping import visible
from relbounds.show.linear_facts import noise_of, smallest_p
from relbounds.show.report import Section, text_block
from relbounds.show.templates import markup, render, source
from relbounds.show.walk import CLASSES, walk

TITLE = "What if?"
# The work grows with the pairs of terms, and with those of a factor's levels: up to so many, some seconds,
# it is done unless it is declined.
MOST_RIMS = 80
# Digits of a knot: a hundredth of what is shown.
DIGITS = 5


def what_if_section(fitted: Fitted, interactive: bool | None) -> Section:
    """Return the section with a slider for each term; empty, or a sentence on how to get it, where it is not wanted.

    Parameters
    ----------
    fitted : Fitted
    interactive : bool or None
        None: for up to `MOST_RIMS` pairs.
    """
    rows = term_rows(fitted) if fitted.polytopes else []
    if interactive is False or len(rows) < 2:
        return Section(TITLE, ())
    if interactive is None and count_rims(rows) > MOST_RIMS:
        said = (
            f"How all bounds answer as one of the {len(rows)} terms is held takes a while to compute, and was left "
            "out. write_report(..., interactive=True) adds it; explorer() asks for any constraints."
        )
        return Section(TITLE, (text_block(said, small=True),))
    found = responses(fitted)
    error = max((one.error for one in found.values()), default=0.0)
    block = render(
        "what_if.html",
        classes=[kind for kind in CLASSES if (fitted.table["relevance"] == kind).any()],
        error=f"{max(error, 5e-4):.1g}" if error > 5e-4 else "0.0005",
        data=markup(_safe(json.dumps(_data(fitted, found), separators=(",", ":"), allow_nan=False))),
        bars=markup(source("bars.js")),
        script=markup(source("report.js")),
    )
    return Section(TITLE, (markup(block),))


def _safe(text: str) -> str:
    """Return JSON that can stand inside a script element: no end of it, no beginning of a comment."""
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _data(fitted: Fitted, found: Mapping[str, Response]) -> dict[str, Any]:
    table, reached, smallest = fitted.table, noise_of(fitted), smallest_p(fitted)
    place = {row.title: i for i, row in enumerate(fitted.spec.asked) if row.row == "term"}
    rows = []
    for step in walk(table):
        if step.row is None or step.part != "regular":
            continue
        record = table.iloc[step.row]
        noise = reached.get((step.part, record["term"]), reached.get((step.part, None), math.nan))
        rows.append(
            {
                "row": step.row,
                "label": visible(step.label),
                "short": visible(step.short),
                "inner": step.kind == "inner",
                "part": step.part,
                "term": visible(step.term),
                "lower": _short(record["lower"]),
                "upper": _short(record["upper"]),
                "best": _short(abs(record["weight"])),
                "relevance": str(record["relevance"]),
                "p": format_p(record["p_adjusted"], smallest),
                "noise": _short(noise),
            }
        )
    held = {
        str(place[title]): {
            "lower": _short(one.lower),
            "upper": _short(one.upper),
            "knots": {str(place[name]): _knots(table) for name, table in one.knots.items()},
        }
        for title, one in found.items()
    }
    return {"rows": rows, "responses": held}


def _knots(table: pd.DataFrame) -> list[list[float | None]]:
    """Return held values, lower and upper bounds at the knots, in few digits."""
    return [_all_short(table[name].to_numpy()) for name in ("held", "lower", "upper")]


def _all_short(values: Sequence[float] | np.ndarray) -> list[float | None]:
    return [_short(value) for value in values]


def _short(value: Any) -> float | None:
    return None if pd.isna(value) or not np.isfinite(value) else round(float(value), DIGITS)
