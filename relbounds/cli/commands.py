"""What each command does."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from relbounds import datasets
from relbounds.api import relbounds
from relbounds.cli.data import order_response, read_table
from relbounds.cli.outputs import check_outputs, figure_bytes, write_outputs
from relbounds.cli.parser import OUTPUTS
from relbounds.errors import OutputError
from relbounds.files import write_whole
from relbounds.results import RelboundsResults


def run_fit(given: argparse.Namespace) -> int:
    """Fit a data file and write what was asked for."""
    wanted = {name: getattr(given, name) for name in OUTPUTS if getattr(given, name) is not None}
    check_outputs(wanted, given.data, given.force)
    fit = _fit(given)
    if not given.quiet:
        print(fit.summary(), flush=True)
    write_outputs(fit, wanted)
    return 0


def _fit(given: argparse.Namespace) -> RelboundsResults:
    known = inspect.signature(relbounds).parameters
    options = {
        k: v for k, v in vars(given).items() if k in known and v is not None and k not in ("formula", "data")
    }
    several = [read_table(path) for path in (given.data, *(given.imputed or ()))]
    if given.levels is not None:
        several = [order_response(data, given.formula, given.levels) for data in several]
    return relbounds(given.formula, several[0] if len(several) == 1 else several, **options)


def run_explore(given: argparse.Namespace) -> int:
    """Fit a data file and serve the page of the fit until it is closed or interrupted."""
    asked = {name: getattr(given, name) for name in ("port", "idle") if getattr(given, name) is not None}
    _fit(given).explorer(open_browser=given.open_browser, block=True, **asked)
    return 0


def run_demo(given: argparse.Namespace) -> int:
    """Fit the shipped data as a first user would, and show the table and the figure."""
    folder = Path(given.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"--out {folder}: this folder cannot be made ({error.strerror}).") from error
    data = datasets.load_severity()
    formula = "severity ~ . | priv(biopsy, followup)"
    print("import relbounds as rb", "data = rb.datasets.load_severity()", sep="\n")
    print(f'fit = rb.relbounds("{formula}", data, privileged="teacher")\n')
    fit = relbounds(formula, data, privileged="teacher")
    print(fit.summary())
    for ending in ("png", "pdf"):
        write_whole(folder / f"bounds.{ending}", figure_bytes(fit, ending, dpi=200))
    print(f"\nThe figure is in {folder / 'bounds.png'} (and .pdf).")
    return 0


COMMANDS: dict[str, Callable[[Any], int]] = {"fit": run_fit, "explore": run_explore, "demo": run_demo}
