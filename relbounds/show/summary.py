"""The summary table of a fit, laid out like the regression summaries its readers know."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence

import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable
from statsmodels.iolib.tableformatting import fmt_2cols, fmt_params

HEAD = {**fmt_2cols, "data_fmts": ["%s"], "stub_fmt": "%s", "data_aligns": "rlr", "colwidths": None}
BODY = {
    **fmt_params,
    "data_fmts": ["%s"],
    "colsep": "  ",
    "colwidths": 6,
    "data_aligns": "rrrrrrrcc",
    "header_align": "r",
}
HEADERS = ("weight", "lower", "upper", "[signed", "range]", "P>noise", "P adj.", "relevance", "dir.")


def format_p(p: float) -> str:
    """Format a p-value as R does.

    Examples
    --------
    >>> format_p(0.0234), format_p(0.0000002), format_p(1.0)
    ('0.023', '<0.001', '1.000')
    """
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def format_bound(value: float) -> str:
    """Format a bound with three decimals, and never a minus before zero.

    Examples
    --------
    >>> format_bound(-0.0001), format_bound(0.25)
    ('0.000', '0.250')
    """
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text


def grouped_rows(
    table: pd.DataFrame, width: int, cells_of: Callable[[pd.Series], list[str]]
) -> tuple[list[str], list[list[str]]]:
    """Return the stubs and cells of a feature block: one row a feature, under its term and its part."""
    stubs: list[str] = []
    cells: list[list[str]] = []
    blank = [""] * width
    parts = list(dict.fromkeys(table["part"]))
    sizes = table.groupby(["part", "term"], sort=False).size()
    for part in parts:
        if len(parts) > 1:
            stubs.append(f"{part} features")
            cells.append(blank)
        seen = None
        for name, row in table[table["part"] == part].iterrows():
            grouped = sizes[(part, row["term"])] > 1
            if grouped and row["term"] != seen:
                stubs.append(str(row["term"]))
                cells.append(blank)
            seen = row["term"]
            stubs.append(f"  {name}" if grouped else str(name))
            cells.append(cells_of(row))
    return stubs, cells


def feature_rows(table: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return the stubs and cells of the feature block of relevance bounds."""
    return grouped_rows(table, len(HEADERS), _bound_cells)


def _bound_cells(row: pd.Series) -> list[str]:
    return [
        format_bound(row["weight"]),
        format_bound(row["lower"]),
        ("<= " if row.get("screened", False) else "") + format_bound(row["upper"]),
        format_bound(row["signed_lower"]),
        format_bound(row["signed_upper"]),
        format_p(row["p_noise"]),
        format_p(row["p_adjusted"]),
        str(row["relevance"]),
        str(row["direction"]),
    ]


def summary(
    title: str,
    left: Sequence[tuple[str, str]],
    right: Sequence[tuple[str, str]],
    table: pd.DataFrame,
    notes: Sequence[str],
) -> Summary:
    """Build the three blocks of a summary: header pairs, one row a feature, notes."""
    stubs, cells = feature_rows(table)
    body = SimpleTable(cells, headers=list(HEADERS), stubs=stubs, txt_fmt=BODY)
    return layout(title, left, right, body, notes)


def layout(
    title: str,
    left: Sequence[tuple[str, str]],
    right: Sequence[tuple[str, str]],
    body: SimpleTable,
    notes: Sequence[str],
) -> Summary:
    """Set header pairs over a feature block, and notes under it."""
    width = max(len(line) for line in body.as_text().splitlines())
    depth = max(len(left), len(right))
    left, right = ([*pairs, *[("", "")] * (depth - len(pairs))] for pairs in (left, right))
    right = [(f"  {name}", value) for name, value in right]
    # the header block takes the width of the feature block, as readers of regression tables expect
    widths = [max(len(pair[i]) for pair in pairs) for pairs in (left, right) for i in (0, 1)]
    spare = max(0, width - sum(widths) - 3)
    widths[1] += spare // 2
    widths[3] += spare - spare // 2
    head, other = (
        SimpleTable(
            [[value] for _, value in pairs],
            stubs=[name for name, _ in pairs],
            title=title,
            txt_fmt={**HEAD, "colwidths": widths},
        )
        for pairs in (left, right)
    )
    head.extend_right(other)
    out = Summary()
    out.tables = [head, body]
    lines = ["Notes:"]
    for i, note in enumerate(notes, start=1):
        lines += textwrap.wrap(f"[{i}] {note}", max(width, 72), subsequent_indent="    ")
    out.add_extra_txt(lines)
    return out
