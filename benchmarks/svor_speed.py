"""How long svor() takes with its default grid, with and without numba, beside scikit-learn.

    python benchmarks/svor_speed.py

Processor time on one thread. Two kinds of data, 300 rows and 12 features: a clear relation (most candidates are easy)
and a noisy product of features (large C and wide kernels are hard). scikit-learn's SVC searches a grid of the same size
on the same number of folds; it fits every candidate on every fold, while svor() gives up those that can no longer win.
Every number is the least of several runs, in turn, so that a busy machine hits all alike. Writes results/svor_speed.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
from common import RESULTS, markdown
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

import relbounds as rb
from relbounds.kernel import fitting
from relbounds.kernel.tuning import COARSE_C, COARSE_WIDTH, FINE

ROWS, FEATURES = 300, 12


def make(kind: str) -> pd.DataFrame:
    """Five levels of equal size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    if kind == "clear":
        score = X[:, 0] + X[:, 1] - X[:, 2] + 0.1 * rng.normal(size=ROWS)
    else:
        score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=ROWS)
    data = pd.DataFrame(X, columns=[f"x{k + 1}" for k in range(FEATURES)])
    data["y"] = pd.qcut(score, 5, labels=False) + 1
    return data


def with_numba(data: pd.DataFrame) -> float:
    """The default where numba is installed."""
    return float(rb.svor("y ~ .", data, progress=False).tuned.score or 0.0)


def without_numba(data: pd.DataFrame) -> float:
    """The default where it is not."""
    there = fitting.have_numba
    fitting.have_numba = lambda: False
    try:
        return float(rb.svor("y ~ .", data, progress=False).tuned.score or 0.0)
    finally:
        fitting.have_numba = there


def svc(data: pd.DataFrame) -> float:
    """7 x 7 candidates, then 9 x 9 around the best."""
    X, y = data.drop(columns="y").to_numpy(), data["y"].to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    grid = {"C": COARSE_C, "gamma": 1 / (2 * COARSE_WIDTH**2)}
    best = GridSearchCV(SVC(), grid, cv=folds).fit(X, y).best_params_
    grid = {name: value * 10.0**FINE for name, value in best.items()}
    return 1 - float(GridSearchCV(SVC(), grid, cv=folds).fit(X, y).best_score_)


WAYS: dict[str, Callable[[pd.DataFrame], float]] = {
    "svor, numba": with_numba,
    "svor, no numba": without_numba,
    "SVC": svc,
}


def main() -> None:
    """Time all ways on both kinds of data and write the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    runs = parser.parse_args().runs
    with_numba(make("clear").head(60))  # compiled code is loaded once
    rows = []
    for kind in ("clear", "noisy"):
        data = make(kind)
        seconds = {name: np.inf for name in WAYS}
        for _ in range(runs):
            for name, way in WAYS.items():
                began = time.process_time()
                way(data)
                seconds[name] = min(seconds[name], time.process_time() - began)
        slower, beside, other = (
            seconds["svor, no numba"] / seconds["svor, numba"],
            seconds["svor, numba"] / seconds["SVC"],
            seconds["svor, no numba"] / seconds["SVC"],
        )
        rows.append(
            {"data": kind}
            | {f"{name} (s)": f"{value:.2f}" for name, value in seconds.items()}
            | {"no numba / numba": slower, "numba / SVC": beside, "no numba / SVC": other}
        )
        print(rows[-1], flush=True)
    table = markdown(pd.DataFrame(rows))
    text = f"# svor() with its default grid, {ROWS} x {FEATURES}, 5 levels, 5 folds\n\n{table}\n"
    (RESULTS / "svor_speed.md").write_text(text)


if __name__ == "__main__":
    main()
