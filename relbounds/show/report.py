"""One self-contained HTML file about a fit: numbers, figures, data, settings, versions."""

from __future__ import annotations

import html
import io
import platform
import re
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib import rc_context

from relbounds.errors import OptionError
from relbounds.show.figures.bounds import plot_bounds
from relbounds.show.figures.others import plot_groups, plot_scores, plot_stability, plot_tuning
from relbounds.show.paper_tables import fit_table, write
from relbounds.version import __version__

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from relbounds.results import RelboundsResults

LIBRARIES = ("numpy", "pandas", "scipy", "patsy", "statsmodels", "cvxopt", "seaborn", "matplotlib")
# Grouping asks two what-ifs a feature; beyond this many features it is done only when asked for.
MOST_GROUPED = 40
STYLE = """
:root { color-scheme: light; --ink: #1c1c1c; --soft: #5b5b5b; --rule: #d9d9d9; }
body { font: 16px/1.55 Georgia, 'Times New Roman', serif; color: var(--ink); background: #fff;
       margin: 2.5rem auto; max-width: 62rem; padding: 0 1.25rem; }
h1, h2, th, caption, .facts, nav, footer { font-family: 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; border-bottom: 1px solid var(--rule); padding-bottom: .25rem;
     margin: 2.4rem 0 .9rem; }
code, pre { font-family: 'DejaVu Sans Mono', Menlo, Consolas, monospace; font-size: .85rem; }
pre { background: #f6f6f6; padding: .8rem 1rem; overflow-x: auto; border-radius: 4px; }
.formula { font-size: .95rem; color: var(--soft); overflow-wrap: anywhere; }
nav { font-size: .85rem; margin: 1rem 0 0; }
nav a { color: #0b5394; margin-right: 1rem; text-decoration: none; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; margin: .4rem 0; }
thead tr:last-child th { border-bottom: 1px solid var(--ink); }
thead tr:first-child th { border-top: 2px solid var(--ink); }
tbody tr:last-child > * { border-bottom: 2px solid var(--ink); }
th, td { padding: .18rem .7rem; text-align: left; white-space: nowrap; }
tbody th { font-weight: 400; }
tr.part th, tr.head th { font-style: italic; padding-top: .5rem; }
tr.inner th { padding-left: 1.6rem; }
td.num, th.num { text-align: right; }
td.wrap { white-space: normal; }
tfoot td { white-space: normal; color: var(--soft); font-size: .8rem; max-width: 46rem; }
table.facts { display: inline-table; vertical-align: top; margin-right: 2.5rem; }
figure { margin: .8rem 0; }
figure svg { max-width: 100%; height: auto; }
figcaption, .small, footer { color: var(--soft); font-size: .85rem; max-width: 46rem; }
.figures { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-start; }
footer { border-top: 1px solid var(--rule); margin-top: 3rem; padding-top: .8rem; }
@media print { nav { display: none; } body { margin: 0; } h2 { break-after: avoid; }
  figure { break-inside: avoid; } }
"""


def write_report(
    fit: RelboundsResults,
    path: str | Path,
    *,
    title: str | None = None,
    groups: bool | None = None,
    sweep: bool = False,
    stability: int = 0,
) -> Path:
    """Write everything a reader of a fit needs into one HTML file that opens without a network.

    Parameters
    ----------
    fit : RelboundsResults
    path : str or Path
        Where to write; the folder must exist.
    title : str, optional
    groups : bool, optional
        Whether to group the features; by default for up to 40 of them, and not in a what-if.
    sweep : bool
        Whether to show the bounds along the tolerance.
    stability : int
        Subsamples for the class frequencies; 0 leaves them out.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile, relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> fit = rb.relbounds("severity ~ age + stiffness + sodium + sex", data, C=0.1, probes=10)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = write_report(fit, folder + "/report.html").read_text(encoding="utf-8")
    >>> "<svg" in text and "http://" not in text.replace("http://www.w3.org", "")
    True
    """
    path = Path(path)
    if not path.resolve().parent.is_dir():
        raise OptionError(f"'{path}' cannot be written: the folder '{path.parent}' does not exist.")
    named = title or f"Which features matter for {fit.design.response}?"
    sections = {
        "Summary": _summary(fit),
        "Relevance": _relevance(fit),
        "Model": _model(fit),
    }
    if groups is None:
        groups = 3 <= fit.design.X.shape[1] <= MOST_GROUPED and not fit.constraints
    if groups:
        sections["Groups"] = _groups(fit)
    if sweep:
        sections["Tolerance"] = _figure(
            fit.plot_sweep(),
            "Bounds along the tolerance: the height of a band is the interval, its colour the class.",
        )
    if stability:
        found = fit.stability(stability)
        sections["Stability"] = _figure(
            plot_stability(found), f"Classes over {stability} subsamples of {found.fraction:.0%} of the rows."
        )
    sections["Data"] = _data(fit)
    sections["Settings"] = _settings(fit)
    sections["How to cite"] = _citation()
    write(_page(named, fit.formula, sections), path)
    return path


def _page(title: str, formula: str, sections: Mapping[str, str]) -> str:
    say = html.escape
    links = " ".join(f'<a href="#{_anchor(name)}">{say(name)}</a>' for name in sections)
    body = "\n".join(
        f'<section id="{_anchor(name)}"><h2>{say(name)}</h2>\n{content}</section>'
        for name, content in sections.items()
    )
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # an icon of its own keeps browsers from asking a server for one
        '<link rel="icon" href="data:,">\n'
        f"<title>{say(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<h1>{say(title)}</h1>\n<p class="formula"><code>{say(formula)}</code></p>\n<nav>{links}</nav>\n'
        f"{body}\n<footer>Made by relbounds {say(_version())} on {made}.</footer>\n</body>\n</html>\n"
    )


def _anchor(name: str) -> str:
    return name.lower().replace(" ", "-")


def _version() -> str:
    return __version__


def _facts(pairs: list[tuple[str, str]]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(value)}</td></tr>'
        for name, value in pairs
        if name
    )
    return f'<table class="facts"><tbody>{rows}</tbody></table>'


def _figure(ax: Axes, caption: str) -> str:
    """Return a figure as inline SVG, its text as text so that it can be searched and copied."""
    text = io.StringIO()
    figure = ax.figure
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "relbounds", "font.family": "sans-serif"}):
        figure.savefig(text, format="svg", bbox_inches="tight", metadata={"Date": None})  # type: ignore[union-attr]
    plt.close(figure)  # type: ignore[arg-type]
    svg = text.getvalue()
    drawn = re.sub(r"\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # several drawings share one page: their inner names must not meet
    mark = f"f{zlib.crc32(caption.encode())}"
    for old, new in (('id="', f'id="{mark}-'), ('href="#', f'href="#{mark}-'), ("url(#", f"url(#{mark}-")):
        drawn = drawn.replace(old, new)
    drawn = drawn.replace("<svg ", f'<svg role="img" aria-label="{html.escape(caption, quote=True)}" ', 1)
    return f"<figure>{drawn}<figcaption>{html.escape(caption)}</figcaption></figure>"


def _summary(fit: RelboundsResults) -> str:
    left, right = fit._header()
    words = []
    for kind, verb in (("strong", "every"), ("weak", "some"), ("irrelevant", "no")):
        names = fit.table.index[fit.table["relevance"] == kind].tolist()
        if names:
            shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
            words.append(
                f"<li><strong>{kind}</strong> (used by {verb} equivalent model"
                f"{'s' if verb == 'some' else ''}): {html.escape(shown)}</li>"
            )
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in fit.notes)
    said = f'<p class="small">Notes</p><ul class="small">{notes}</ul>' if notes else ""
    return f"{_facts(left)}{_facts(right)}<ul>{''.join(words)}</ul>{said}"


def _relevance(fit: RelboundsResults) -> str:
    caption = (
        "The least and the most that any equivalent model uses each feature. Dashed: what a permuted feature "
        "reaches by chance."
    )
    return _figure(plot_bounds(fit), caption) + f'<div class="scroll">{fit_table(fit).to_html()}</div>'


def _model(fit: RelboundsResults) -> str:
    parts = [
        _figure(plot_scores(fit), "Training rows by their true level along the score of the best model.")
    ]
    if fit.design.levels is None:
        parts = [_figure(plot_scores(fit), "Response of the training rows against its prediction.")]
    if not fit.baseline.scores.empty:
        caption = "Cross-validated score along C, with one standard error; dashed: the C that was chosen."
        parts.append(_figure(plot_tuning(fit), caption))
    thresholds = fit.baseline.thresholds
    facts = _facts([(str(name), f"{value:.4g}") for name, value in thresholds.items()])
    kind = "Intercept" if fit.design.levels is None else "Thresholds"
    return f'<div class="figures">{"".join(parts)}</div><p class="small">{kind}</p>{facts}'


def _groups(fit: RelboundsResults) -> str:
    found = fit.groups()
    rows = "".join(
        f'<tr><th scope="row">{number}</th><td class="wrap">{html.escape(", ".join(names))}</td></tr>'
        for number, names in found.members.items()
    )
    head = '<thead><tr><th scope="col">group</th><th scope="col">features</th></tr></thead>'
    caption = (
        "Features that play the same role: how all other intervals move when a feature is held at its least "
        "and at its greatest use. Dashed: where the tree is cut."
    )
    return _figure(plot_groups(found), caption) + f"<table>{head}<tbody>{rows}</tbody></table>"


def _data(fit: RelboundsResults) -> str:
    design = fit.design
    facts = [
        ("Rows used", str(len(design.y))),
        ("Rows dropped for missing values", str(design.n_dropped)),
        ("Regular features", str(design.X.shape[1])),
        ("Privileged features", str(design.Z.shape[1])),
        ("Total case weight", f"{design.weights.sum():g}"),
    ]
    if design.levels is None:
        y = np.asarray(design.y, dtype=float)
        facts += [("Response, mean (sd)", f"{y.mean():.4g} ({y.std(ddof=1):.4g})")]
        counted = ""
    else:
        counts = np.bincount(np.asarray(design.y, dtype=int), minlength=len(design.levels) + 1)[1:]
        counted = _facts(
            [(str(level), str(count)) for level, count in zip(design.levels, counts, strict=True)]
        )
    described = pd.DataFrame(
        {
            "part": ["regular"] * len(design.names) + ["privileged"] * len(design.priv_names),
            "mean": [*design.center, *design.priv_center],
            "sd": [*design.scale, *design.priv_scale],
        },
        index=[*design.names, *design.priv_names],
    )
    rows = "".join(
        f'<tr><th scope="row">{html.escape(str(name))}</th><td>{row["part"]}</td>'
        f'<td class="num">{row["mean"]:.4g}</td><td class="num">{row["sd"]:.4g}</td></tr>'
        for name, row in described.iterrows()
    )
    head = "".join(
        f'<th scope="col"{k}>{h}</th>'
        for h, k in (
            ("feature", ""),
            ("part", ""),
            ("subtracted (mean)", ' class="num"'),
            ("divided by (sd)", ' class="num"'),
        )
    )
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    return _facts(facts) + counted + table


def _settings(fit: RelboundsResults) -> str:
    hidden = ("client", "progress")
    options = [(name, _say(value)) for name, value in fit.options.items() if name not in hidden]
    half = -(-len(options) // 2)
    versions = [("relbounds", _version()), ("Python", platform.python_version())]
    for name in LIBRARIES:
        try:
            versions.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            continue
    return _facts(options[:half]) + _facts(options[half:]) + _facts(versions)


def _say(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _citation() -> str:
    year = datetime.now(UTC).year
    entry = (
        "@software{relbounds,\n  title   = {relbounds: relevance intervals for linear models},\n"
        f"  author  = {{The relbounds authors}},\n  version = {{{_version()}}},\n  year    = {{{year}}}\n}}"
    )
    sentence = (
        f"Relevance intervals were computed with relbounds {_version()}: the least and the greatest use of "
        "each feature over all linear models whose norm and loss stay within the tolerance of the best one."
    )
    return f"<p>{html.escape(sentence)}</p><pre>{html.escape(entry)}</pre>"
