"""Every call of the cheat sheet runs as written, in both languages. Fewer rows than the sheet's keep it quick."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import matplotlib
import pytest
from r_library import install_r_package

import relbounds as rb

ROOT = Path(__file__).resolve().parents[2]
SHEET = ROOT / "docs" / "cheat-sheet" / "sheet.toml"
if not SHEET.exists():
    pytest.skip("The documentation is not part of this distribution.", allow_module_level=True)
SECTIONS = tomllib.loads(SHEET.read_text(encoding="utf-8"))["section"]
FORMULA = "severity ~ age + sex + bmi + crp + esr + il6"
ROWS = 120
pytestmark = pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")


def table() -> list[tuple[str, list[str], list[str]]]:
    """Return what is asked, the calls in Python, the calls in R; a formula is a call that fits it."""
    rows = []
    for section in SECTIONS:
        for asked, python, r in section["rows"]:
            if section.get("formulas"):
                python = f"rb.relbounds({python!r}, data, C=0.1, bounds=False)"
                r = f"relbounds({r}, data = severity, C = 0.1, bounds = FALSE)"
            if "explorer(" not in python:  # it opens a browser; tests/show/test_explorer_browser.py does that
                rows.append((asked, [python], [r]))
    return rows


# These search grids, grow forests or fit fifty times: minutes rather than seconds.
LONG = re.compile(r"svor\(|forest_relevance\(|stability\(|published")
which = pytest.mark.parametrize(
    "long", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["quick", "long"]
)


def test_the_table_is_read() -> None:
    rows = table()
    assert len(rows) >= 8
    assert all(python and r for _, python, r in rows)
    for _, python, _ in rows:
        for call in python:
            ast.parse(call)


@which
def test_python_calls_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool) -> None:
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    data = rb.datasets.load_severity().head(ROWS)
    fit = rb.relbounds(FORMULA, data, C=0.1, delta=0.05, order="explicit")
    for asked, calls, _ in table():
        for call in (call for call in calls if bool(LONG.search(call)) is long):
            assert eval(call, {"rb": rb, "fit": fit, "data": data}) is not None, asked


@which
def test_r_calls_run(tmp_path: Path, long: bool) -> None:
    if shutil.which("R") is None:
        pytest.skip("R is not installed.")
    library = tmp_path / "library"
    library.mkdir()
    done = install_r_package(library)
    if "reticulate" in done.stderr and done.returncode:
        pytest.skip("The R package reticulate is not installed.")
    assert done.returncode == 0, done.stderr
    lines = [
        f"library(relbounds, lib.loc = '{library}')",
        f"severity <- relbounds::severity[1:{ROWS}, ]",
        f"fit <- relbounds({FORMULA}, data = severity, C = 0.1, delta = 0.05, order = 'explicit')",
        *(
            f"invisible({call})"
            for _, _, calls in table()
            for call in calls
            if bool(LONG.search(call)) is long
        ),
        "cat('all of them\\n')",
    ]
    script = tmp_path / "table.R"
    script.write_text("\n".join(lines))
    environment = {**os.environ, "RETICULATE_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["Rscript", str(script)], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert "all of them" in done.stdout, done.stderr
