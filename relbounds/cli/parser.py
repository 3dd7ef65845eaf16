"""The flags of every command."""

from __future__ import annotations

import argparse
import math

from relbounds.options import CHOICES
from relbounds.version import __version__

FAMILIES = ("auto", "ordinal", "binary", "regression", "nominal", "survival")
OUTPUTS = {
    "json": "everything, as JSON",
    "csv": "the table, as CSV",
    "latex": "the table, as LaTeX",
    "markdown": "the table, as Markdown",
    "html": "the table, as HTML",
    "figure": "the figure; its ending chooses the format",
    "report": "a self-contained HTML report",
    "methods": "the paragraph for a paper's methods section, as text",
    "predictions": "what is predicted for every row, with scores and probabilities, as CSV",
    "save": "the fit, for relbounds.load()",
}


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Examples
    --------
    >>> make_parser().parse_args(["fit", "grades.csv", "grade ~ .", "--C", "0.1,1"]).C
    (0.1, 1)
    """
    parser = argparse.ArgumentParser(
        prog="relbounds",
        description="Which variables matter in every equally good model, in some, or in none.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"relbounds {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    fit = commands.add_parser("fit", help="fit a formula to a data file", allow_abbrev=False)
    _add_data(fit)
    _add_design(fit)
    _add_options(fit)
    _add_outputs(fit)
    explore = commands.add_parser(
        "explore", help="fit, and ask what-ifs by dragging bars in a browser", allow_abbrev=False
    )
    _add_data(explore)
    _add_design(explore)
    _add_options(explore)
    _add_page(explore)
    demo = commands.add_parser(
        "demo", help="fit the shipped severity data, print the summary, draw the figure", allow_abbrev=False
    )
    demo.add_argument("--out", default="relbounds-demo", metavar="FOLDER", help="where the figure goes")
    return parser


def _add_data(command: argparse.ArgumentParser) -> None:
    command.add_argument("data", metavar="DATA", help="a .csv, .tsv or .parquet file")
    command.add_argument(
        "formula", metavar="FORMULA", help='such as "grade ~ . | adjust(age) | priv(biopsy)"'
    )


def _add_design(fit: argparse.ArgumentParser) -> None:
    group = fit.add_argument_group("the data")
    group.add_argument("--family", choices=FAMILIES, default="auto")
    group.add_argument(
        "--imputed",
        nargs="+",
        metavar="FILE",
        help="further completed copies of DATA by multiple imputation; one pooled result",
    )
    group.add_argument(
        "--levels",
        metavar="A,B,C",
        help="the levels of the response from lowest to highest, separated by commas",
    )
    group.add_argument("--weights", metavar="COLUMN", help="a column of importance weights")
    group.add_argument(
        "--frequency", metavar="COLUMN", help="a column of counts: how many observations a row is"
    )
    group.add_argument("--cluster", metavar="COLUMN", help="a column that says which rows belong together")
    group.add_argument("--missing", choices=["drop", "raise"])
    group.add_argument("--no-standardize", dest="standardize", action="store_false", default=None)
    group.add_argument(
        "--safe",
        action="store_true",
        default=None,
        help="take formulas from strangers: names, numbers, operators and known functions only",
    )


def _add_options(fit: argparse.ArgumentParser) -> None:
    group = fit.add_argument_group("the model and its intervals")
    for name, choices in CHOICES.items():
        group.add_argument(f"--{name}", choices=choices)
    for name in ("C", "gamma", "epsilon"):
        group.add_argument(
            f"--{name}", type=_numbers, metavar="X[,X...]", help="a number, or a grid to choose from"
        )
    group.add_argument("--delta", type=_number_or_word, metavar="WORD|X")
    group.add_argument("--residual", type=_number_or_word, metavar="auto|inf|X")
    for name in ("alpha", "level"):
        group.add_argument(f"--{name}", type=_number, metavar="X")
    for name in ("probes", "cv", "seed"):
        group.add_argument(f"--{name}", type=_number, metavar="N")
    group.add_argument(
        "--jobs", dest="n_jobs", type=_number, metavar="N", help="worker processes; -1: all cores"
    )
    group.add_argument("--no-balance", dest="balance", action="store_false", default=None)
    group.add_argument(
        "--no-bounds", dest="bounds", action="store_false", default=None, help="fit and predict only"
    )
    group.add_argument("--screen", action="store_true", default=None)


def _add_outputs(fit: argparse.ArgumentParser) -> None:
    group = fit.add_argument_group("what is written")
    group.add_argument("--quiet", action="store_true", help="do not print the summary")
    group.add_argument("--force", action="store_true", help="write over files that exist")
    for name, what in OUTPUTS.items():
        group.add_argument(f"--{name}", metavar="FILE", help=f"write {what}")


def _add_page(explore: argparse.ArgumentParser) -> None:
    group = explore.add_argument_group("the page")
    group.add_argument("--port", type=_number, metavar="N", help="where to serve it; a free port by default")
    group.add_argument(
        "--no-browser", dest="open_browser", action="store_false", help="print the address, open nothing"
    )
    group.add_argument(
        "--idle", type=_number, metavar="SECONDS", help="end so long after the last sign of the page"
    )


def _numbers(text: str) -> float | tuple[float, ...]:
    values = tuple(_number(part) for part in text.split(","))
    return values[0] if len(values) == 1 else values


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    return int(value) if math.isfinite(value) and value.is_integer() and abs(value) < 2**53 else value


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
