"""The summary of a fit, laid out like the regression summaries its readers know."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable
from statsmodels.iolib.tableformatting import fmt_2cols, fmt_params

from relbounds.show.columns import column
from relbounds.show.escaping import defuse, escape_latex, visible
from relbounds.show.facts import Facts
from relbounds.show.paper_tables import PaperRow, PaperTable, paper_table, row_cells
from relbounds.show.templates import markup, render
from relbounds.show.walk import Step, shown_rows, walk

if TYPE_CHECKING:
    from relbounds.show.facts import Pairs

HEAD = {**fmt_2cols, "data_fmts": ["%s"], "stub_fmt": "%s", "data_aligns": "rlr", "colwidths": None}
BODY = {**fmt_params, "data_fmts": ["%s"], "colsep": "  ", "colwidths": 6, "header_align": "r"}
NARROWEST = 72


class FitSummary(Summary):
    """A statsmodels ``Summary`` whose HTML, LaTeX and CSV show names from the data as text and keep every note.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"upper": [0.3]}, index=["<b>"])
    >>> facts = Facts("Bounds", "y ~ .", "y", table=table, columns=("upper",), left=(("Response:", "y"),))
    >>> "&lt;b&gt;" in summarise(facts).as_html()
    True
    """

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self.facts = facts

    def as_html(self) -> str:
        """Return header, table and notes as HTML."""
        shown = paper_table(self.facts, columns=_columns(self.facts))
        return render("summary.html", facts=self.facts, body=markup(shown.to_html()))

    def as_latex(self, label: str = "") -> str:
        """Return header, table and notes as LaTeX; it needs ``\\usepackage{booktabs}``."""
        facts = self.facts
        shown = paper_table(facts, columns=_columns(facts), notes=False)
        notes = " ".join(escape_latex(note) for note in facts.notes)
        lines = [r"\begin{center}", rf"\textbf{{{escape_latex(facts.title)}}}", ""]
        if label:
            lines.append(rf"\label{{{label}}}")
        lines += [
            _header_table(facts.left, facts.right).latex_tabular(),
            "",
            r"\medskip",
            "",
            shown.latex_tabular(),
        ]
        lines += [r"\end{center}", rf"{{\footnotesize \emph{{Notes.}} {notes}}}"]
        return "\n".join(lines) + "\n"

    def as_csv(self) -> str:
        """Return the summary as CSV: header pairs, the table, and the notes, each on lines of their own."""
        facts = self.facts
        head = [f"{_quoted(name)},{_quoted(value)}" for name, value in (*facts.left, *facts.right) if name]
        shown = paper_table(facts, columns=_columns(facts), notes=False)
        return "\n".join([*head, "", shown.to_csv(), *map(_quoted, facts.notes)]) + "\n"

    def _repr_latex_(self) -> None:
        """Notebooks show the HTML: LaTeX tables are not what their mathematics can set."""
        return None


def summarise(facts: Facts) -> FitSummary:
    """Build the three blocks of a summary: header pairs, one row a term with its levels under it, notes."""
    body = _body(facts)
    width = _width(body)
    # the table takes the width of the header where that is wider, as readers of regression tables expect
    more = _width(_head(facts, width)) - width
    if more > 0:
        body = _body(facts, more)
        width = _width(body)
    out = FitSummary(facts)
    out.tables = [_head(facts, width), body]
    lines = ["Notes:"]
    for i, note in enumerate(facts.notes, start=1):
        lines += textwrap.wrap(f"[{i}] {visible(note)}", max(width, NARROWEST), subsequent_indent="    ")
    out.add_extra_txt(lines)
    return out


def _body(facts: Facts, more: int = 0) -> SimpleTable:
    """Set the table, its first column wider than it needs by some letters."""
    wanted, table = _columns(facts), facts.table
    shown = [column(name, table[name]) for name in wanted]
    steps = walk(table, shown_rows(table))
    blank = [""] * len(wanted)
    cells = [
        blank if step.row is None else list(map(visible, row_cells(table, step, wanted, facts.smallest_p)))
        for step in steps
    ]
    stubs = [_stub(step) for step in steps]
    longest = max(map(len, stubs), default=0) if more == 0 else max(BODY["colwidths"], *map(len, stubs))
    return SimpleTable(
        cells,
        headers=[one.summary_head or one.head for one in shown],
        stubs=[stub.ljust(longest + more) for stub in stubs],
        txt_fmt={**BODY, "data_aligns": "".join("c" if one.word else "r" for one in shown)},
    )


def _width(table: SimpleTable) -> int:
    return max(len(line) for line in table.as_text().splitlines())


def _columns(facts: Facts) -> list[str]:
    return [name for name in facts.columns if name in facts.table]


def _stub(step: Step) -> str:
    return ("  " if step.kind == "inner" else "") + visible(step.label)


def _head(facts: Facts, width: int) -> SimpleTable:
    """Set the header pairs in two columns that take the width of the table under them."""
    left, right = _even(facts.left, facts.right)
    right = [(f"  {name}", value) for name, value in right]
    widths = [max((len(pair[i]) for pair in pairs), default=0) for pairs in (left, right) for i in (0, 1)]
    spare = max(0, width - sum(widths) - 3)
    widths[1] += spare // 2
    widths[3] += spare - spare // 2
    head, other = (
        SimpleTable(
            [[value] for _, value in pairs],
            stubs=[name for name, _ in pairs],
            title=facts.title,
            txt_fmt={**HEAD, "colwidths": widths},
        )
        for pairs in (left, right)
    )
    head.extend_right(other)
    return head


def _even(left: Pairs, right: Pairs) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return both halves of a header with as many lines, safe to print."""
    depth = max(len(left), len(right))
    one, two = (
        [(visible(name), visible(value)) for name, value in (*pairs, *[("", "")] * (depth - len(pairs)))]
        for pairs in (left, right)
    )
    return one, two


def _header_table(left: Pairs, right: Pairs) -> PaperTable:
    rows = [PaperRow(one[0], (one[1], two[0], two[1])) for one, two in zip(*_even(left, right), strict=True)]
    return PaperTable(("", "", "", ""), tuple(rows), (True, False, True))


def _quoted(text: str) -> str:
    return '"' + defuse(visible(text)).replace('"', '""') + '"'
