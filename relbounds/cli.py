"""The command line: ``relbounds fit``, ``relbounds demo``."""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relbounds import datasets
from relbounds.api import relbounds
from relbounds.errors import DataError, MissingExtraError, OptionError, RelboundsError, RelboundsWarning
from relbounds.options import CHOICES
from relbounds.results import RelboundsResults
from relbounds.version import __version__

SEPARATORS = {".csv": ",", ".tsv": "\t", ".tab": "\t"}


def read_table(path: str | Path) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file, by its ending.

    Examples
    --------
    >>> read_table("grades.xls")
    Traceback (most recent call last):
    ...
    relbounds.errors.DataError: 'grades.xls' has an ending that is not known; use .csv, .tsv or .parquet.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in (*SEPARATORS, ".parquet"):
        raise DataError(f"'{path}' has an ending that is not known; use .csv, .tsv or .parquet.")
    if not path.is_file():
        raise DataError(f"There is no file '{path}'.")
    try:
        if ending == ".parquet":
            return pd.read_parquet(path)
        return pd.read_csv(path, sep=SEPARATORS[ending])
    except ImportError as error:
        raise MissingExtraError("Reading Parquet needs pyarrow: pip install pyarrow.") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise DataError(f"'{path}' cannot be read as a table: {error}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status: 0, or 2 on bad input."""
    parser = make_parser()
    given = parser.parse_args(arguments)
    warnings.showwarning = _warn
    try:
        return int(given.run(given))
    except RelboundsError as error:
        print(f"relbounds: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("relbounds: interrupted", file=sys.stderr)
        return 130


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="relbounds",
        description="Which variables matter in every equally good model, in some, or in none.",
    )
    parser.add_argument("--version", action="version", version=f"relbounds {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    fit = commands.add_parser("fit", help="fit a formula to a data file")
    fit.add_argument("data", metavar="DATA", help="a .csv, .tsv or .parquet file")
    fit.add_argument("formula", metavar="FORMULA", help='such as "grade ~ . | priv(biopsy)"')
    fit.add_argument("--family", choices=["auto", "ordinal", "binary", "regression"], default="auto")
    fit.add_argument(
        "--levels",
        metavar="A,B,C",
        help="the levels of the response from lowest to highest, separated by commas",
    )
    for name, choices in CHOICES.items():
        fit.add_argument(f"--{name}", choices=choices)
    for name in ("C", "gamma", "epsilon"):
        fit.add_argument(
            f"--{name}", type=_numbers, metavar="X[,X...]", help="a number, or a grid to choose from"
        )
    fit.add_argument("--delta", type=_number_or_word, metavar="1se|2se|X")
    fit.add_argument("--residual", type=_number_or_word, metavar="auto|inf|X")
    fit.add_argument("--level", type=float, metavar="X")
    for name in ("probes", "cv", "seed"):
        fit.add_argument(f"--{name}", type=int, metavar="N")
    fit.add_argument("--jobs", dest="n_jobs", type=int, metavar="N", help="worker processes")
    fit.add_argument("--weights", metavar="COLUMN", help="a column of case weights")
    fit.add_argument("--missing", choices=["drop", "raise"])
    fit.add_argument("--no-standardize", dest="standardize", action="store_false", default=None)
    fit.add_argument("--screen", action="store_true", default=None)
    fit.add_argument("--quiet", action="store_true", help="do not print the summary")
    for name, what in (
        ("json", "everything, as JSON"),
        ("csv", "the table, as CSV"),
        ("latex", "the table, as LaTeX"),
        ("markdown", "the table, as Markdown"),
        ("html", "the table, as HTML"),
        ("figure", "the figure; its ending chooses the format"),
        ("report", "a self-contained HTML report"),
        ("save", "the fit, for relbounds.load()"),
    ):
        fit.add_argument(f"--{name}", metavar="FILE", help=f"write {what}")
    fit.set_defaults(run=run_fit)
    demo = commands.add_parser(
        "demo", help="fit the shipped severity data, print the summary, draw the figure"
    )
    demo.add_argument("--out", default="relbounds-demo", metavar="FOLDER", help="where the figure goes")
    demo.set_defaults(run=run_demo)
    return parser


OUTPUTS = ("json", "csv", "latex", "markdown", "html", "figure", "report", "save")


def run_fit(given: argparse.Namespace) -> int:
    """Fit a data file and write what was asked for."""
    for name in OUTPUTS:
        target = getattr(given, name)
        if target and not Path(target).resolve().parent.is_dir():
            raise OptionError(f"--{name} {target}: the folder '{Path(target).parent}' does not exist.")
    skip = {"run", "data", "formula", "levels", "quiet", *OUTPUTS}
    options = {k: v for k, v in vars(given).items() if k not in skip and v is not None}
    data = read_table(given.data)
    if given.levels:
        data = _order_response(data, given.formula, given.levels.split(","))
    fit = relbounds(given.formula, data, **options)
    if not given.quiet:
        print(fit.summary())
    write_outputs(fit, {name: getattr(given, name) for name in OUTPUTS if getattr(given, name)})
    return 0


def write_outputs(fit: RelboundsResults, wanted: dict[str, str]) -> None:
    """Write each wanted output to its file."""
    for name, target in wanted.items():
        if name == "json":
            Path(target).write_text(json.dumps(as_json(fit), indent=1) + "\n", encoding="utf-8")
        elif name == "figure":
            figure: Any = fit.plot().figure
            figure.savefig(target, bbox_inches="tight")
        elif name == "save":
            fit.save(target)
        elif name == "report":
            fit.write_report(target)
        else:
            Path(target).write_text(getattr(fit, f"to_{name}")(), encoding="utf-8")


def run_demo(given: argparse.Namespace) -> int:
    """Fit the shipped data as a first user would, and show the table and the figure."""
    data = datasets.load_severity()
    formula = "severity ~ . | priv(biopsy, followup)"
    print("import relbounds as rb", "data = rb.datasets.load_severity()", sep="\n")
    print(f'fit = rb.relbounds("{formula}", data, privileged="teacher")\n')
    fit = relbounds(formula, data, privileged="teacher")
    print(fit.summary())
    folder = Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    figure: Any = fit.plot().figure
    for ending in ("png", "pdf"):
        figure.savefig(folder / f"bounds.{ending}", dpi=200, bbox_inches="tight")
    print(f"\nThe figure is in {folder / 'bounds.png'} (and .pdf).")
    return 0


def as_json(fit: RelboundsResults) -> dict[str, Any]:
    """Return everything a fit found as plain JSON values."""
    design, base = fit.design, fit.baseline
    return {
        "relbounds": __version__,
        "formula": design.formula,
        "response": design.response,
        "family": design.family,
        "levels": None if design.levels is None else [_plain(level) for level in design.levels],
        "observations": len(design.y),
        "dropped": design.n_dropped,
        "delta": fit.delta,
        "certificate": fit.certificate,
        "options": {k: _plain(v) for k, v in fit.options.items() if k not in ("client", "progress")},
        "baseline": {field.name: _plain(getattr(base, field.name)) for field in dataclasses.fields(base)},
        "intervals": [_plain(row) for row in fit.intervals.reset_index().to_dict("records")],
        "table": [_plain(row) for row in fit.table.reset_index().to_dict("records")],
        "notes": list(fit.notes),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, pd.Series):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, pd.DataFrame):
        return [_plain(row) for row in value.to_dict("records")]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(v) for v in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _order_response(data: pd.DataFrame, formula: str, levels: list[str]) -> pd.DataFrame:
    response = formula.partition("~")[0].strip()
    if response not in data.columns:
        raise OptionError(f"--levels orders a column, and the response '{response}' is not one.")
    text = data[response].astype(str).where(data[response].notna())
    unknown = sorted(set(text.dropna()) - set(levels))
    if unknown:
        raise OptionError(f"--levels lacks {', '.join(unknown)}, which the column '{response}' holds.")
    return data.assign(**{response: pd.Categorical(text, categories=levels, ordered=True)})


def _numbers(text: str) -> float | tuple[float, ...]:
    values = tuple(float(part) for part in text.split(","))
    return values[0] if len(values) == 1 else values


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _warn(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, RelboundsWarning):
        print(f"relbounds: warning: {message}", file=sys.stderr)
