"""Tables of what a fit was asked: groups and their joint use, stability."""

from __future__ import annotations

from typing import Any

import pandas as pd

from relbounds.show.columns import format_bound, format_share
from relbounds.show.paper_tables import PaperRow, PaperTable
from relbounds.show.walk import walk

NEEDED = "each is replaceable, together they are needed"


def groups_table(groups: Any) -> PaperTable:
    """Return the groups of a fit: members, joint use, class, and whether they are needed together only.

    Parameters
    ----------
    groups : Groups
        With `members` (names by number) and `together` (the joint use of groups of several terms).
    """
    joint = {one.terms: one for one in groups.together}
    rows = []
    for number, names in groups.members.items():
        one = joint.get(tuple(names))
        cells = ("", "", "", "")
        if one is not None:
            most = format_bound(one.upper) if one.exact else f"<= {format_bound(one.upper)}"
            cells = (format_bound(one.lower), most, one.relevance, NEEDED if one.replaceable else "")
        rows.append(PaperRow(str(number), (", ".join(names), *cells)))
    heads = ("group", "terms", "lower, together", "upper, together", "relevance", "")
    return PaperTable(heads, tuple(rows), (False, True, True, False, False))


def stability_table(stability: Any) -> PaperTable:
    """Return, for each row, its class, how often subsamples give the same, and how far its bounds move.

    Parameters
    ----------
    stability : Stability
        With `table`, `frequencies` and `quantiles`.
    """
    table = stability.table[stability.table["relevance"].astype(str) != ""]
    rows = []
    for step in walk(table):
        if step.row is None:
            rows.append(PaperRow(step.label, (), step.kind))
            continue
        name = table.index[step.row]
        row, moved = table.iloc[step.row], stability.quantiles.loc[name]
        ends = tuple(_between(moved, end) for end in ("lower", "upper"))
        cells = (str(row["relevance"]), format_share(row["stability"]), *ends)
        rows.append(PaperRow(step.label, cells, step.kind))
    heads = ("feature", "relevance", "same class", "lower, 5 to 95 %", "upper, 5 to 95 %")
    return PaperTable(heads, tuple(rows), (False, True, True, True))


def _between(quantiles: pd.Series, end: str) -> str:
    return f"{format_bound(quantiles[f'{end}_05'])} to {format_bound(quantiles[f'{end}_95'])}"
