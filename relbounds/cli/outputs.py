"""What a command writes: checked before the work, written whole or not at all."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relbounds.errors import OutputError, nearest
from relbounds.files import check_target, write_whole
from relbounds.results import RelboundsResults
from relbounds.version import __version__


def check_outputs(wanted: Mapping[str, str], data: str, force: bool) -> None:
    """Refuse what cannot or must not be written, before anything is computed.

    Examples
    --------
    >>> check_outputs({"csv": "grades.csv"}, "grades.csv", force=True)
    Traceback (most recent call last):
    ...
    relbounds.errors.OutputError: --csv grades.csv is the data file itself; give another name.
    """
    places: dict[Path, str] = {}
    for name, given in wanted.items():
        target = check_target(given, f"--{name}")
        if target.resolve() == Path(data).resolve():
            raise OutputError(f"--{name} {given} is the data file itself; give another name.")
        if target.is_file() and not force:
            raise OutputError(f"--{name} {given} exists already; use --force to write over it.")
        other = places.setdefault(target.resolve(), name)
        if other != name and (target.is_file() or not target.exists()):
            raise OutputError(f"--{other} and --{name} both write {given}; give different names.")
        if name == "figure":
            figure_format(given)


def figure_format(path: str) -> str:
    """Return the format that the ending of a figure's name asks for.

    Examples
    --------
    >>> figure_format("bounds.pdf")
    'pdf'
    """
    from matplotlib.backend_bases import FigureCanvasBase  # slow to load

    known = sorted(FigureCanvasBase.get_supported_filetypes())
    ending = Path(path).suffix.lower().removeprefix(".")
    if ending not in known:
        raise OutputError(
            f"--figure {path}: figures cannot be written as '.{ending}'; use one of {', '.join(known)}."
            f"{nearest(ending, known)}"
        )
    return ending


def write_outputs(fit: RelboundsResults, wanted: Mapping[str, str]) -> None:
    """Write each wanted output to its file, once all of them are made."""
    contents = {target: make_output(fit, name, target) for name, target in wanted.items()}
    for target, content in contents.items():
        write_whole(target, content)


def make_output(fit: RelboundsResults, name: str, target: str) -> str | bytes:
    """Return what is to be written to a file."""
    if name == "json":
        return json.dumps(as_json(fit), indent=1) + "\n"
    if name == "figure":
        return figure_bytes(fit, figure_format(target))
    if name == "save":
        return fit.to_bytes()
    if name == "report":
        with tempfile.TemporaryDirectory(prefix="relbounds-") as folder:
            return fit.write_report(Path(folder) / "report.html").read_bytes()
    if name == "methods":
        return fit.methods_text() + "\n"
    if name == "predictions":
        return str(predictions(fit).to_csv(index_label="row"))
    return str(getattr(fit, f"to_{name}")())


def predictions(fit: RelboundsResults) -> pd.DataFrame:
    """Return the prediction of every row that was fitted: level or number, score, probabilities where there are any.

    Rows are counted from 0, as they stand in the file. A column `P(...)` is the probability of a level or, with
    censored times, of surviving a time.
    """
    score = fit.predict(type="score")
    scores = score.to_frame("score") if isinstance(score, pd.Series) else score.add_prefix("score of ")
    out = [fit.predict().rename("predicted").to_frame(), scores]
    if fit.design.levels is not None:
        chances = fit.predict(type="prob")
        assert isinstance(chances, pd.DataFrame)
        survival = fit.design.family == "survival"
        names = [f"{name:.6g}" if survival else str(name) for name in chances.columns]
        out.append(chances.set_axis([f"P(over {n})" if survival else f"P({n})" for n in names], axis=1))
    return pd.concat(out, axis=1)


def figure_bytes(fit: RelboundsResults, ending: str, **options: Any) -> bytes:
    """Return the figure of a fit in a format."""
    figure: Any = fit.plot().figure
    out = io.BytesIO()
    figure.savefig(out, format=ending, bbox_inches="tight", **options)
    return out.getvalue()


def as_json(fit: RelboundsResults) -> dict[str, Any]:
    """Return everything a fit found as plain JSON values."""
    design, base = fit.design, fit.baseline
    return {
        "relbounds": __version__,
        "formula": design.formula,
        "response": design.response,
        "family": design.family,
        "levels": None if design.levels is None else [plain(level) for level in design.levels],
        "observations": len(design.y),
        "dropped": design.n_dropped,
        "delta": fit.delta,
        "certificate": plain(fit.certificate),
        "options": {k: plain(v) for k, v in fit.options.items() if k not in ("client", "progress")},
        "baseline": {field.name: plain(getattr(base, field.name)) for field in dataclasses.fields(base)},
        "intervals": [plain(row) for row in fit.intervals.reset_index().to_dict("records")],
        "table": [plain(row) for row in fit.table.reset_index().to_dict("records")],
        "notes": list(fit.notes),
    }


def plain(value: Any) -> Any:
    """Return a value as JSON holds it; numbers that JSON lacks as text.

    Examples
    --------
    >>> plain({"a": np.float64(0.5), "b": [math.inf, pd.NA]})
    {'a': 0.5, 'b': ['inf', None]}
    """
    if isinstance(value, pd.Series):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, pd.DataFrame):
        return [plain(row) for row in value.to_dict("records")]
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.generic):
        return plain(value.item())
    if value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(v) for v in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
