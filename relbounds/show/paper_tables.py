"""Tables for papers: one small table type, and its faces in LaTeX, HTML, Markdown and Word."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from relbounds.errors import MissingExtraError, OptionError, nearest
from relbounds.show.summary import format_bound, format_p

if TYPE_CHECKING:
    from relbounds.results import RelboundsResults

# Columns of a fit's table that may be shown: name in the table, its head, and how a value is written.
SHOWN: dict[str, tuple[str, Callable[[Any], str]]] = {
    "weight": ("weight", format_bound),
    "lower": ("lower", format_bound),
    "upper": ("upper", format_bound),
    "signed_lower": ("from", format_bound),
    "signed_upper": ("to", format_bound),
    "p_noise": ("P>noise", format_p),
    "p_adjusted": ("P adj.", format_p),
    "relevance": ("relevance", str),
    "direction": ("dir.", str),
    "constraint": ("constraint", str),
    "stability": ("stability", "{:.2f}".format),
}
DEFAULT = ("weight", "lower", "upper", "p_noise", "p_adjusted", "relevance", "direction", "constraint")
WORDS = {"relevance", "direction", "constraint"}
ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
}


@dataclass(frozen=True)
class PaperRow:
    """One row: its stub, its cells, and what it is: "row", "inner" (indented), "head" or "foot"."""

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
        columns = len(self.heads)
        spec = "l" + "".join("r" if number else "l" for number in self.numeric)
        lines = [r"\begin{table}[htbp]", r"\centering"]
        if self.caption:
            lines.append(rf"\caption{{{escape_latex(self.caption)}}}")
        if self.label:
            lines.append(rf"\label{{{self.label}}}")
        lines += [rf"\begin{{tabular}}{{{spec}}}", r"\toprule"]
        if self.spans:
            over = [rf"\multicolumn{{{n}}}{{c}}{{{escape_latex(name)}}}" for name, n in self.spans]
            lines.append(" & " + " & ".join(over) + r" \\")
            at, rules = 2, []
            for _, n in self.spans:
                rules.append(rf"\cmidrule(lr){{{at}-{at + n - 1}}}")
                at += n
            lines.append(" ".join(rules))
        lines += [" & ".join(map(escape_latex, self.heads)) + r" \\", r"\midrule"]
        last = ""
        for i, row in enumerate(self.rows):
            if (row.kind == "foot" and last != "foot") or (row.kind == "part" and i):
                lines.append(r"\midrule")
            last = row.kind
            if row.kind in ("head", "part"):
                lines.append(rf"\multicolumn{{{columns}}}{{l}}{{\textit{{{escape_latex(row.stub)}}}}} \\")
                continue
            indent = r"\quad " if row.kind == "inner" else ""
            cells = [_signs(escape_latex(cell)) for cell in row.cells]
            lines.append(indent + " & ".join([escape_latex(row.stub), *cells]) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        if self.notes:
            text = " ".join(escape_latex(note) for note in self.notes)
            lines += ["", r"\medskip", rf"\parbox{{\linewidth}}{{\footnotesize \emph{{Notes.}} {text}}}"]
        lines.append(r"\end{table}")
        return write("\n".join(lines) + "\n", path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return the table as Markdown with pipes."""
        lines = [f"Table: {self.caption}", ""] if self.caption else []
        heads = list(self.heads)
        if self.spans:
            # pipes know no heads over several columns: each head carries its own
            owners = [name for name, n in self.spans for _ in range(n)]
            heads[1:] = [f"{owner}: {head}" for owner, head in zip(owners, heads[1:], strict=True)]
        lines.append("| " + " | ".join(map(escape_markdown, heads)) + " |")
        lines.append("|:---|" + "".join("---:|" if number else ":---|" for number in self.numeric))
        for row in self.rows:
            stub = escape_markdown(row.stub)
            if row.kind in ("head", "part"):
                stub = f"*{stub}*"
            elif row.kind == "inner":
                stub = "&nbsp;&nbsp;" + stub
            cells = row.cells or ("",) * len(self.numeric)
            lines.append("| " + " | ".join([stub, *map(escape_markdown, cells)]) + " |")
        if self.notes:
            lines += ["", " ".join(escape_markdown(note) for note in self.notes)]
        return write("\n".join(lines) + "\n", path)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the table as an HTML ``<table>`` with classes to style it by."""
        say = html.escape
        lines = ['<table class="relbounds">']
        if self.caption:
            lines.append(f"<caption>{say(self.caption)}</caption>")
        lines.append("<thead>")
        if self.spans:
            over = "".join(f'<th colspan="{n}" scope="colgroup">{say(name)}</th>' for name, n in self.spans)
            lines.append(f"<tr><td></td>{over}</tr>")
        kinds = ("", *("num" if number else "" for number in self.numeric))
        heads = zip(self.heads, kinds, strict=True)
        lines.append(
            "<tr>" + "".join(f'<th scope="col"{_class(k)}>{say(h)}</th>' for h, k in heads) + "</tr>"
        )
        lines += ["</thead>", "<tbody>"]
        for row in self.rows:
            if row.kind in ("head", "part"):
                width = len(self.heads)
                lines.append(
                    f'<tr class="{row.kind}"><th scope="row" colspan="{width}">{say(row.stub)}</th></tr>'
                )
                continue
            cells = "".join(
                f"<td{_class(kind)}>{say(cell)}</td>" for cell, kind in zip(row.cells, kinds[1:], strict=True)
            )
            lines.append(f'<tr{_class(row.kind)}><th scope="row">{say(row.stub)}</th>{cells}</tr>')
        lines.append("</tbody>")
        if self.notes:
            text = "<br>".join(say(note) for note in self.notes)
            lines.append(f'<tfoot><tr><td colspan="{len(self.heads)}">{text}</td></tr></tfoot>')
        lines.append("</table>")
        return write("\n".join(lines) + "\n", path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the cells as CSV, as they are printed."""
        heads = list(self.heads)
        if self.spans:
            owners = [name for name, n in self.spans for _ in range(n)]
            heads[1:] = [f"{owner}: {head}" for owner, head in zip(owners, heads[1:], strict=True)]
        blank = ("",) * len(self.numeric)
        frame = pd.DataFrame([[row.stub, *(row.cells or blank)] for row in self.rows], columns=heads)
        return write(frame.to_csv(index=False, lineterminator="\n"), path)

    def to_text(self) -> str:
        """Return the table as plain text in columns."""
        blank = ("",) * len(self.numeric)
        indent = {"inner": "  "}
        grid = [[indent.get(row.kind, "") + row.stub, *(row.cells or blank)] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(list(self.heads), *grid, strict=True)]
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
        out += [line(self.heads), rule, *(line(cells) for cells in grid), rule, *self.notes]
        return "\n".join(out)

    def to_word(self, path: str | Path) -> Path:
        """Write the table to a Word document."""
        try:
            from docx import Document
            from docx.enum.text import WD_ALIGN_PARAGRAPH
            from docx.shared import Pt
        except ImportError as error:
            raise MissingExtraError(
                "Word documents need python-docx: pip install 'relbounds[word]'."
            ) from error
        document = Document()
        if self.caption:
            document.add_paragraph(self.caption, style="Caption")
        offset = 1 if self.spans else 0
        grid = document.add_table(rows=offset + 1 + len(self.rows), cols=len(self.heads))
        grid.style = "Light List"

        def put(row: int, column: int, text: str, *, bold: bool = False, italic: bool = False) -> None:
            paragraph = grid.cell(row, column).paragraphs[0]
            run = paragraph.add_run(text)
            run.bold, run.italic, run.font.size = bold, italic, Pt(9)
            if column and self.numeric[column - 1]:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT

        if self.spans:
            at = 1
            for name, n in self.spans:
                put(0, at, name, bold=True)
                grid.cell(0, at).merge(grid.cell(0, at + n - 1))
                at += n
        for column, head in enumerate(self.heads):
            put(offset, column, head, bold=True)
        for number, row in enumerate(self.rows, start=offset + 1):
            heading = row.kind in ("head", "part")
            put(number, 0, ("   " if row.kind == "inner" else "") + row.stub, italic=heading)
            for column, cell in enumerate(row.cells, start=1):
                put(number, column, cell)
        for note in self.notes:
            document.add_paragraph(note).runs[0].font.size = Pt(8)
        path = Path(path)
        _need_folder(path)
        document.save(str(path))
        return path


def fit_table(
    fit: RelboundsResults,
    *,
    columns: Sequence[str] | None = None,
    caption: str = "",
    label: str = "",
    notes: bool | Sequence[str] = True,
    table: pd.DataFrame | None = None,
) -> PaperTable:
    """Turn a fit into a table for a paper.

    Parameters
    ----------
    fit : RelboundsResults
    columns : sequence of str, optional
        Columns of ``fit.table`` to show; by default weight, bounds, p-values, class and direction, and the
        constraints of a what-if.
    caption, label : str
    notes : bool or sequence of str
        Whether to explain the columns under the table, or what to write there.
    table : DataFrame, optional
        Another table to show, such as that of :meth:`RelboundsResults.stability`.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> fit = rb.relbounds("severity ~ age + stiffness + sodium + sex", data, C=0.1, probes=10)
    >>> print(fit_table(fit, columns=["upper", "relevance"], notes=False).to_markdown())
    | feature | upper | relevance |
    |:---|---:|:---|
    ...
    """
    frame = fit.table if table is None else table
    known = [name for name in SHOWN if name in frame]
    if columns is None:
        wanted = [name for name in (*DEFAULT, "stability") if name in frame]
    else:
        wanted = list(columns)
        for name in wanted:
            if name not in known:
                raise OptionError(
                    f"The table has no column '{name}' to show.{nearest(str(name), known)} "
                    f"There are: {', '.join(known)}."
                )
    rows = feature_rows(frame, wanted)
    said = explain(fit, wanted) if notes is True else tuple(notes or ())
    return PaperTable(
        heads=("feature", *(SHOWN[name][0] for name in wanted)),
        rows=rows,
        numeric=tuple(name not in WORDS for name in wanted),
        caption=caption,
        label=label,
        notes=said,
    )


def feature_rows(frame: pd.DataFrame, wanted: Sequence[str]) -> tuple[PaperRow, ...]:
    """Return one row a feature, under the heads of its part and of its term."""
    rows: list[PaperRow] = []
    parts = list(dict.fromkeys(frame["part"]))
    sizes = frame.groupby(["part", "term"], sort=False).size()
    for part in parts:
        if len(parts) > 1:
            rows.append(PaperRow(f"{part} features", (), "part"))
        seen = None
        for name, row in frame[frame["part"] == part].iterrows():
            grouped = sizes[(part, row["term"])] > 1
            if grouped and row["term"] != seen:
                rows.append(PaperRow(str(row["term"]), (), "head"))
            seen = row["term"]
            cells = tuple(SHOWN[column][1](row[column]) for column in wanted)
            rows.append(PaperRow(str(name), cells, "inner" if grouped else "row"))
    return tuple(rows)


def explain(fit: RelboundsResults, wanted: Sequence[str]) -> tuple[str, ...]:
    """Say what a reader who sees only the table must know."""
    fitted, design = fit._fitted, fit.design
    family = design.family if design.levels is None else f"{design.family}, {len(design.levels)} levels"
    noise = "; ".join(f"{pair[1].upper:.3f} ({part})" for part, pair in fitted.noise.intervals.items())
    if len(fitted.noise.intervals) == 1:
        noise = noise.partition(" ")[0]
    notes = [
        f"Response {design.response} ({family}), n = {len(design.y)}. Lower and upper bound the use of a "
        f"feature over all models within {fit.delta:.3g} of the best one, as shares of its norm.",
        f"Noise threshold of upper {noise} at level {fitted.options.level:g}.",
    ]
    if "p_adjusted" in wanted:
        notes.append("P adj.: Benjamini-Hochberg.")
    if fitted.wishes:
        notes.append(next(note for note in fit.notes if note.startswith("What if ")))
    return tuple(notes)


def write(text: str, path: str | Path | None) -> str:
    """Return a text, and write it to a file when there is a path."""
    if path is not None:
        path = Path(path)
        _need_folder(path)
        path.write_text(text, encoding="utf-8")
    return text


def _need_folder(path: Path) -> None:
    if not path.resolve().parent.is_dir():
        raise OptionError(f"'{path}' cannot be written: the folder '{path.parent}' does not exist.")


def escape_latex(text: str) -> str:
    r"""Make any text safe to set in LaTeX.

    Examples
    --------
    >>> print(escape_latex("log(x_1) & 5% of $"))
    log(x\_1) \& 5\% of \$
    >>> print(escape_latex("TNF-α"))
    TNF-\ensuremath{\alpha}
    """
    return "".join(ESCAPES.get(character) or _greek(character) for character in text)


def _greek(character: str) -> str:
    """Return the command of a Greek letter; any other character is set as it is."""
    found = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(character, ""))
    if not found:
        return character
    name = found[2].lower().replace("lamda", "lambda")
    return rf"\ensuremath{{\{name.capitalize() if found[1] == 'CAPITAL' else name}}}"


def _signs(cell: str) -> str:
    """Set a number's minus, and a lone sign, as mathematics."""
    return re.sub(r"^-(?=\d|$)", r"$-$", "$+$" if cell == "+" else cell)


def escape_markdown(text: str) -> str:
    r"""Keep the characters that Markdown would take for its own.

    Examples
    --------
    >>> print(escape_markdown("a|b_c*d"))
    a\|b\_c\*d
    """
    return re.sub(r"([\\|_*`])", r"\\\1", text).replace("<", "&lt;")


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind not in ("", "row") else ""
