"""Tables for papers: one small table type, and its faces in LaTeX, HTML, Markdown, Word, CSV and plain text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from relbounds.errors import OptionError, nearest
from relbounds.show.columns import column
from relbounds.show.escaping import defuse, escape_latex, escape_markdown, visible
from relbounds.show.facts import Facts
from relbounds.show.templates import render
from relbounds.show.walk import Step, shown_rows, walk
from relbounds.show.writing import write_text

# What a paper's table leaves out of the summary's columns, unless there are levels or adjusting covariates: theirs is a
# signed range.
SIGNED = ("signed_lower", "signed_upper")
TEXT_WIDTH = 100


@dataclass(frozen=True)
class PaperRow:
    """One row: its stub, its cells, and what it is: "row", "inner" (indented), "head", "part" or "foot"."""

    stub: str
    cells: tuple[str, ...]
    kind: str = "row"


@dataclass(frozen=True)
class PaperTable:
    """A table as papers print it, ready for any format.

    Attributes
    ----------
    heads : tuple of str
        The head of the stub column and of each other column.
    rows : tuple of PaperRow
    numeric : tuple of bool
        Which columns after the stub are numbers, and so stand to the right.
    spans : tuple of (str, int)
        Heads over several columns, in order, each with how many columns it covers; empty for none.
    caption, label : str
    notes : tuple of str

    Examples
    --------
    >>> table = PaperTable(("feature", "upper"), (PaperRow("age", ("0.300",)),), (True,))
    >>> print(table.to_markdown())
    | feature | upper |
    |:---|---:|
    | age | 0.300 |
    <BLANKLINE>
    """

    heads: tuple[str, ...]
    rows: tuple[PaperRow, ...]
    numeric: tuple[bool, ...]
    spans: tuple[tuple[str, int], ...] = ()
    caption: str = ""
    label: str = ""
    notes: tuple[str, ...] = ()

    def to_latex(self, path: str | Path | None = None) -> str:
        """Return the table as LaTeX; it needs ``\\usepackage{booktabs}`` and nothing else."""
        lines = [r"\begin{table}[htbp]", r"\centering"]
        if self.caption:
            lines.append(rf"\caption{{{escape_latex(self.caption)}}}")
        if self.label:
            lines.append(rf"\label{{{re.sub(r'[^A-Za-z0-9:._+/-]', '-', self.label)}}}")
        lines.append(self.latex_tabular())
        if self.notes:
            text = " ".join(escape_latex(note) for note in self.notes)
            lines += ["", r"\medskip", rf"\parbox{{\linewidth}}{{\footnotesize \emph{{Notes.}} {text}}}"]
        lines.append(r"\end{table}")
        return write_text("\n".join(lines) + "\n", path)

    def latex_tabular(self) -> str:
        """Return the tabular alone, for a document that has a table around it."""
        spec = "l" + "".join("r" if number else "l" for number in self.numeric)
        lines = [rf"\begin{{tabular}}{{{spec}}}", r"\toprule", *self._latex_spans()]
        if any(self.heads):
            lines += [" & ".join(map(escape_latex, self.heads)) + r" \\", r"\midrule"]
        last = ""
        for i, row in enumerate(self.rows):
            if (row.kind == "foot" and last != "foot") or (row.kind == "part" and i):
                lines.append(r"\midrule")
            last = row.kind
            if row.kind in ("head", "part"):
                width = len(self.heads)
                lines.append(rf"\multicolumn{{{width}}}{{l}}{{\textit{{{escape_latex(row.stub)}}}}} \\")
                continue
            indent = r"\quad " if row.kind == "inner" else ""
            cells = [_signs(escape_latex(cell)) for cell in row.cells]
            lines.append(indent + " & ".join([escape_latex(row.stub), *cells]) + r" \\")
        # a first cell that begins with a bracket would be read as an option of the line before it
        text = "\n".join(lines).replace("\\\\\n[", "\\\\\n{}[")
        return text + "\n" + "\n".join([r"\bottomrule", r"\end{tabular}"])

    def _latex_spans(self) -> list[str]:
        if not self.spans:
            return []
        over = [rf"\multicolumn{{{n}}}{{c}}{{{escape_latex(name)}}}" for name, n in self.spans]
        at, rules = 2, []
        for _, n in self.spans:
            rules.append(rf"\cmidrule(lr){{{at}-{at + n - 1}}}")
            at += n
        return [" & " + " & ".join(over) + r" \\", " ".join(rules)]

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return the table as Markdown with pipes."""
        lines = [f"Table: {escape_markdown(self.caption)}", ""] if self.caption else []
        lines.append("| " + " | ".join(map(escape_markdown, self._flat_heads())) + " |")
        lines.append("|:---|" + "".join("---:|" if number else ":---|" for number in self.numeric))
        for row in self.rows:
            stub = escape_markdown(row.stub)
            if row.kind in ("head", "part"):
                stub = f"*{stub}*"
            elif row.kind == "inner":
                stub = "&nbsp;&nbsp;" + stub
            cells = row.cells or ("",) * len(self.numeric)
            lines.append("| " + " | ".join([stub, *map(escape_markdown, cells)]) + " |")
        for note in self.notes:
            lines += ["", escape_markdown(note)]
        return write_text("\n".join(lines) + "\n", path)

    def _flat_heads(self) -> list[str]:
        """Return one head a column; where a head covers several columns, each carries it."""
        owners = [name for name, n in self.spans for _ in range(n)]
        if not owners:
            return list(self.heads)
        inner = [f"{owner}: {head}" for owner, head in zip(owners, self.heads[1:], strict=True)]
        return [self.heads[0], *inner]

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the table as an HTML ``<table>`` with classes to style it by."""
        return write_text(render("table.html", table=self), path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the cells as CSV, as they are printed; the first row's last column holds the notes."""
        blank = ("",) * len(self.numeric)
        heads = [defuse(visible(head)) for head in self._flat_heads()]
        cells = [[defuse(visible(cell)) for cell in (row.stub, *(row.cells or blank))] for row in self.rows]
        frame = pd.DataFrame(cells, columns=heads)
        return write_text(_with_notes(frame, self.notes).to_csv(index=False, lineterminator="\n"), path)

    def to_text(self) -> str:
        """Return the table as plain text in columns."""
        blank = ("",) * len(self.numeric)
        indent = {"inner": "  "}
        grid = [
            [indent.get(row.kind, "") + visible(row.stub), *map(visible, row.cells or blank)]
            for row in self.rows
        ]
        heads = [visible(head) for head in self.heads]
        widths = [max(map(len, cells)) for cells in zip(heads, *grid, strict=True)]
        right = (False, *self.numeric)

        def line(cells: Sequence[str]) -> str:
            parts = (c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True))
            return "  ".join(parts).rstrip()

        out = [self.caption] if self.caption else []
        if self.spans:
            at, over = 1, [" " * widths[0]]
            for name, n in self.spans:
                over.append(name.center(sum(widths[at : at + n]) + 2 * (n - 1)))
                at += n
            out.append("  ".join(over).rstrip())
        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        notes = [wrapped for note in self.notes for wrapped in textwrap.wrap(visible(note), TEXT_WIDTH)]
        return "\n".join([*out, line(heads), rule, *(line(cells) for cells in grid), rule, *notes])

    def to_word(self, path: str | Path) -> Path:
        """Write the table to a Word document."""
        from relbounds.show.word import write_word

        return write_word(self, path)


def paper_table(
    facts: Facts,
    *,
    columns: Sequence[str] | None = None,
    caption: str = "",
    label: str = "",
    notes: bool | Sequence[str] = True,
) -> PaperTable:
    """Turn what a fit shows into a table for a paper.

    Parameters
    ----------
    facts : Facts
    columns : sequence of str, optional
        Columns of the table to show; by default those of the summary, the signed ranges only where rows need them.
    caption, label : str
    notes : bool or sequence of str
        Whether to explain the columns under the table, with every caveat; or what to write there.

    Examples
    --------
    >>> table = pd.DataFrame({"upper": [0.3], "relevance": ["weak"]}, index=["age"])
    >>> facts = Facts("Bounds", "y ~ age", "y", table=table, columns=("upper", "relevance"))
    >>> print(paper_table(facts, columns=["relevance"]).to_markdown())
    | feature | relevance |
    |:---|:---|
    | age | weak |
    <BLANKLINE>
    """
    table = facts.table
    wanted = _wanted(facts) if columns is None else _checked(table, columns)
    shown = {name: column(name, table[name]) for name in wanted}
    said = facts.notes if notes is True else tuple(notes or ())
    return PaperTable(
        heads=(str(table.index.name or "feature"), *(one.head for one in shown.values())),
        rows=tuple(_row(step, table, wanted, facts.smallest_p) for step in walk(table, shown_rows(table))),
        numeric=tuple(not one.word for one in shown.values()),
        caption=caption,
        label=label,
        notes=said,
    )


def _row(step: Step, table: pd.DataFrame, wanted: Sequence[str], smallest_p: float) -> PaperRow:
    if step.row is None:
        return PaperRow(step.label, (), step.kind)
    return PaperRow(step.label, row_cells(table, step, wanted, smallest_p), step.kind)


def row_cells(table: pd.DataFrame, step: Step, wanted: Sequence[str], smallest_p: float) -> tuple[str, ...]:
    """Return the cells of one row as they are printed.

    Adjusting covariates have a coefficient and a range, but neither relevance nor class. A screened upper bound is
    marked as no least one.
    """
    row = table.iloc[step.row]
    cells = []
    for name in wanted:
        cell = column(name, table[name]).cell(row[name], smallest_p)
        if name == "upper" and "screened" in table and bool(row["screened"]):
            cell = f"<= {cell}"
        if step.part == "adjust" and name in ("lower", "upper", "p_noise", "p_adjusted", "relevance"):
            cell = ""
        cells.append(cell)
    return tuple(cells)


def _wanted(facts: Facts) -> list[str]:
    table = facts.table
    signed = ("row" in table and table["row"].isin(["level"]).any()) or (
        "part" in table and table["part"].eq("adjust").any()
    )
    return [name for name in facts.columns if name in table and (signed or name not in SIGNED)]


def _checked(table: pd.DataFrame, columns: Sequence[str]) -> list[str]:
    known = [name for name in table.columns if name not in ("part", "term", "row", "screened")]
    for name in columns:
        if name not in known:
            raise OptionError(
                f"The table has no column '{name}' to show.{nearest(str(name), known)} "
                f"There are: {', '.join(known)}."
            )
    return list(columns)


def csv_of(facts: Facts, path: str | Path | None = None, notes: bool = True) -> str:
    """Return the whole table as CSV with all digits; the first row's last column, `notes`, holds every caveat.

    Names and levels that a spreadsheet would run as formulas begin with an apostrophe.
    """
    frame = facts.table.copy()
    for name in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[name]) and not pd.api.types.is_bool_dtype(frame[name]):
            frame[name] = [value if pd.isna(value) else defuse(value) for value in frame[name]]
    frame.index = pd.Index([defuse(name) for name in frame.index], name=facts.table.index.name or "feature")
    if notes:
        frame = _with_notes(frame, facts.notes)
    return write_text(frame.to_csv(lineterminator="\n"), path)


def _with_notes(frame: pd.DataFrame, notes: Sequence[str]) -> pd.DataFrame:
    """Add a last column that holds the notes in its first row: a rectangle that every reader of CSV accepts."""
    if not notes or frame.empty:
        return frame
    said = [defuse(" ".join(map(visible, notes)))] + [""] * (len(frame) - 1)
    return frame.assign(notes=said)


def _signs(cell: str) -> str:
    """Set a number's minus, and a lone sign, as mathematics."""
    return re.sub(r"^-(?=\d|$)", r"$-$", "$+$" if cell == "+" else cell)
