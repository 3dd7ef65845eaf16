"""One self-contained HTML file about a fit of any kind: numbers, figures, data, settings, methods, versions."""

from __future__ import annotations

import io
import platform
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relbounds.errors import OptionError, shortened
from relbounds.files import check_target
from relbounds.show.citations import PAPERS, software_bibtex
from relbounds.show.escaping import escape_html
from relbounds.show.facts import Facts, Pairs
from relbounds.show.paper_tables import PaperRow, PaperTable, paper_table
from relbounds.show.templates import markup, render
from relbounds.show.walk import CLASSES, term_rows
from relbounds.show.writing import write_text
from relbounds.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from relbounds.design import Design

LIBRARIES = ("numpy", "pandas", "scipy", "patsy", "statsmodels", "cvxopt", "scikit-learn", "matplotlib")
MEANINGS = {
    "strong": "needed by every equivalent model",
    "weak": "used by some equivalent models, replaceable in others",
    "irrelevant": "not distinguishable from noise",
}
# More names than this in one sentence are counted.
MOST_NAMED = 20
ENDINGS = (".html", ".htm")


@dataclass(frozen=True)
class Section:
    """A part of a report: its title and what stands in it, as HTML that was made here."""

    title: str
    blocks: tuple[Any, ...]

    @property
    def anchor(self) -> str:
        """Where links to it go."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def write_page(facts: Facts, sections: Sequence[Section], path: str | Path, title: str | None = None) -> Path:
    """Write a report of these sections to one HTML file that opens without a network.

    Parameters
    ----------
    facts : Facts
    sections : sequence of Section
    path : str or Path
        Where to write, ending in .html; the folder must exist.
    title : str, optional
    """
    asked = f"Which features matter for {facts.response}?" if "relevance" in facts.table else facts.title
    named = title or asked
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    text = render("report.html", title=named, facts=facts, sections=sections, version=__version__, made=made)
    write_text(text, path)
    return Path(path)


def check_report(path: str | Path) -> Path:
    """Return where a report goes, refused before any work if it cannot be written.

    Examples
    --------
    >>> check_report("report.pdf")
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: 'report.pdf': a report is written as HTML; name a file that ends in .html.
    """
    if Path(path).suffix.lower() not in ENDINGS:
        raise OptionError(f"'{path}': a report is written as HTML; name a file that ends in .html.")
    return check_target(path)


# -- blocks --------------------------------------------------------------------------------------------------


def pairs_block(pairs: Iterable[tuple[str, str]]) -> Any:
    """Return names and values as a small table."""
    return markup(render("pairs.html", values=tuple(pairs)))


def table_block(table: PaperTable) -> Any:
    """Return a table that scrolls where the page is narrow."""
    return markup(f'<div class="scroll" tabindex="0">{table.to_html()}</div>')


def text_block(text: str, small: bool = False) -> Any:
    """Return paragraphs; an empty line parts them."""
    kind = ' class="small"' if small else ""
    return markup("".join(f"<p{kind}>{escape_html(one)}</p>" for one in text.split("\n\n") if one))


def list_block(items: Iterable[tuple[str, str]], small: bool = False) -> Any:
    """Return a list; the first half of each item is in bold."""
    lines = "".join(
        f"<li>{f'<strong>{escape_html(head)}</strong> ' if head else ''}{escape_html(text)}</li>"
        for head, text in items
    )
    kind = ' class="small"' if small else ""
    return markup(f"<ul{kind}>{lines}</ul>") if lines else markup("")


def code_block(text: str) -> Any:
    """Return lines as they are."""
    return markup(
        '<pre tabindex="0">' + "\n".join(escape_html(line) for line in text.splitlines()) + "</pre>"
    )


def figure_block(ax: Axes, caption: str) -> Any:
    """Return a figure as inline SVG, its text as text so that it can be searched and copied; the figure is closed."""
    from matplotlib import pyplot as plt
    from matplotlib import rc_context

    text = io.StringIO()
    figure: Any = ax.figure
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "relbounds", "font.family": "sans-serif"}):
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    svg = text.getvalue()
    drawn = re.sub(r"\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # several drawings share one page: their inner names must not meet
    mark = f"f{zlib.crc32((caption + drawn[:2000]).encode())}"
    drawn = re.sub(r'(<[^>]*?\bid=")', rf"\g<1>{mark}-", drawn)
    drawn = re.sub(r'(<[^>]*?\bhref="#)', rf"\g<1>{mark}-", drawn)
    drawn = re.sub(r"(<[^>]*?url\(#)", rf"\g<1>{mark}-", drawn)
    # comments hold the text of labels, and a label may hold the end of a comment
    drawn = re.sub(r"<!--.*?-->", "", drawn, flags=re.DOTALL)
    drawn = drawn.replace("<svg ", f'<svg role="img" aria-label="{escape_html(caption)}" ', 1)
    return markup(f"<figure>{drawn}<figcaption>{escape_html(caption)}</figcaption></figure>")


# -- sections that every kind of fit has ---------------------------------------------------------------------


def summary_section(facts: Facts) -> Section:
    """Return the header of the summary, the terms by class in words, and every note."""
    blocks = [pairs_block(facts.left), pairs_block(facts.right)]
    if "relevance" in facts.table:
        blocks.append(list_block(_classes_in_words(facts.table)))
    blocks += [text_block("Notes", small=True), list_block((("", note) for note in facts.notes), small=True)]
    return Section("Summary", tuple(blocks))


def _classes_in_words(table: pd.DataFrame) -> list[tuple[str, str]]:
    rows = term_rows(table)
    found = []
    for kind in CLASSES:
        names = list(dict.fromkeys(rows.index[rows["relevance"] == kind].astype(str)))
        if names:
            found.append((kind, f"({MEANINGS[kind]}): {shortened(names, MOST_NAMED)}"))
    return found


def table_section(facts: Facts, title: str, *figures: Any) -> Section:
    """Return figures and the table under them."""
    shown = [name for name in facts.columns if name in facts.table]
    return Section(title, (*figures, table_block(paper_table(facts, columns=shown))))


def data_section(design: Design) -> Section:
    """Return what went into a fit: rows, levels, and how each column was scaled."""
    facts = [
        ("Rows used", str(len(design.y))),
        ("Rows dropped for missing values", str(design.n_dropped)),
        ("Regular features", str(design.X.shape[1])),
        ("Privileged features", str(design.Z.shape[1])),
        ("Total case weight", f"{design.weights.sum():g}"),
    ]
    blocks = []
    if design.levels is None:
        y = np.asarray(design.y, dtype=float)
        facts.append(("Response, mean (sd)", f"{y.mean():.4g} ({y.std(ddof=1):.4g})"))
    else:
        counts = np.bincount(np.asarray(design.y, dtype=int), minlength=len(design.levels) + 1)[1:]
        pairs = zip(map(str, design.levels), map(str, counts), strict=True)
        blocks.append(pairs_block((f"Level {level}", count) for level, count in pairs))
    scaled_as = {
        "regular": (design.names, design.center, design.scale),
        "adjust": (design.adjust_names, design.adjust_center, design.adjust_scale),
        "privileged": (design.priv_names, design.priv_center, design.priv_scale),
    }
    rows = tuple(
        PaperRow(str(name), (part, f"{mean:.4g}", f"{sd:.4g}"))
        for part, columns in scaled_as.items()
        for name, mean, sd in zip(*columns, strict=True)
    )
    scaled = PaperTable(("column", "part", "subtracted (mean)", "divided by (sd)"), rows, (False, True, True))
    return Section("Data", (pairs_block(facts), *blocks, table_block(scaled)))


def settings_section(settings: Pairs) -> Section:
    """Return every option and the versions of what did the work."""
    versions = [("relbounds", __version__), ("Python", platform.python_version())]
    for name in LIBRARIES:
        try:
            versions.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    half = -(-len(settings) // 2)
    return Section(
        "Settings", (pairs_block(settings[:half]), pairs_block(settings[half:]), pairs_block(versions))
    )


def methods_section(facts: Facts) -> Section:
    """Return the paragraph for a paper's methods section."""
    return Section("Methods", (text_block(facts.methods),)) if facts.methods else Section("Methods", ())


def citation_section() -> Section:
    """Return how to cite the package and the papers behind it."""
    year = datetime.now(UTC).year
    entries = "\n\n".join([software_bibtex(__version__, year), *(paper.bibtex for paper in PAPERS)])
    return Section("How to cite", (code_block(entries),))
