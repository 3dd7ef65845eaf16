"""Kernel ordinal regression on the data of its papers, with the published numbers beside ours.

    python benchmarks/svor_published.py                     # a few splits, about a quarter of an hour
    python benchmarks/svor_published.py --seeds 20 --resume # as many splits as published
    python benchmarks/svor_published.py --only boston --seeds 20 --resume
    python benchmarks/svor_published.py --whole-grid        # the published grid of the slack models (hours)
    python benchmarks/svor_published.py --report            # only the report, from the stored rows

MASS::cpus and MASS::Boston are exported by Rscript; annual sunspots come with statsmodels; the Gaussians are
simulated.
"""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import RESULTS, markdown, parser, provenance, run, write
from svor_slacks import TRIALS, judge, report, shown, slack_models

from relbounds.kernel.fitting import Sample, fit_machine
from relbounds.kernel.kernels import make_kernel
from relbounds.kernel.options import SvorOptions
from relbounds.kernel.tuning import COARSE_C, COARSE_WIDTH, FINE, Search, tune

PACKAGES = ("relbounds", "numpy", "scipy", "pandas", "cvxopt", "numba", "statsmodels")
# Published: mean and standard deviation of the mean zero-one and the mean absolute error over 20 splits.
TABLES = {
    ("cpus", 5, "explicit"): (0.423, 0.060, 0.458, 0.067),
    ("cpus", 5, "implicit"): (0.431, 0.054, 0.462, 0.062),
    ("boston", 5, "explicit"): (0.336, 0.033, 0.362, 0.036),
    ("boston", 5, "implicit"): (0.332, 0.024, 0.357, 0.024),
    ("cpus", 10, "none"): (0.643, 0.057, 1.002, 0.121),
    ("cpus", 10, "explicit"): (0.661, 0.056, 0.986, 0.127),
    ("cpus", 10, "implicit"): (0.655, 0.045, 0.990, 0.115),
    ("boston", 10, "none"): (0.561, 0.023, 0.765, 0.057),
    ("boston", 10, "explicit"): (0.569, 0.025, 0.773, 0.049),
    ("boston", 10, "implicit"): (0.561, 0.026, 0.747, 0.049),
}
SIZES = {"cpus": 150, "boston": 300}
# What a distributed copy of the authors' program adds to the diagonal of the kernel matrix, and nothing to compare.
DIAGONALS = (0.0, 0.001)


def exported(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and numeric response of a data set of R's MASS."""
    path = Path(tempfile.gettempdir()) / f"relbounds_mass_{name}.csv"
    if not path.exists():
        source = {"cpus": "cpus", "boston": "Boston"}[name]
        code = f"utils::write.csv(MASS::{source}, '{path}', row.names = FALSE)"
        subprocess.run(["Rscript", "-e", code], check=True, capture_output=True)
    data = pd.read_csv(path)
    if name == "cpus":
        return data[["syct", "mmin", "mmax", "cach", "chmin", "chmax"]].to_numpy(float), data[
            "perf"
        ].to_numpy(float)
    return data.drop(columns="medv").to_numpy(float), data["medv"].to_numpy(float)


def standardised(X: np.ndarray, training: np.ndarray) -> np.ndarray:
    return (X - X[training].mean(0)) / X[training].std(0)


def one_split(data: str, bins: int, split: int) -> tuple[Sample, np.ndarray, np.ndarray]:
    """The training rows, and features and levels of the test rows."""
    X, target = exported(data)
    y = 1 + np.searchsorted(np.quantile(target, np.arange(1, bins) / bins), target, side="left")
    shuffled = np.random.default_rng([split, bins]).permutation(len(y))
    training, test = shuffled[: SIZES[data]], shuffled[SIZES[data] :]
    X = standardised(X, training)
    return Sample(X[training], y[training], bins), X[test], y[test]


def benchmark_set(data: str, bins: int, order: str, split: int) -> dict[str, Any]:
    """One split: C and the width by 5-fold cross-validation of the MAE, 7 x 7 coarse then 9 x 9 fine."""
    arrays, X_test, y_test = one_split(data, bins, split)
    tuned = tune(
        arrays,
        SvorOptions(order=order, balance=False),
        {"C": None, "width": None},
        Search("mae", seed=split, progress=False),
    )
    machine = fit_machine(arrays.X, arrays.y, bins, tuned.options)
    return {**judge(machine, X_test, y_test), "C": tuned.options.C, "width": tuned.options.width}


def with_diagonal(data: str, bins: int, order: str, split: int, diagonal: float) -> dict[str, Any]:
    """The same with `diagonal` added to the kernel matrix of the training rows; folds of its own for the fine
    search, which alone decides."""
    arrays, X_test, y_test = one_split(data, bins, split)
    base = SvorOptions(order=order, kernel="precomputed", balance=False)

    def matrix(width: float) -> np.ndarray:
        return make_kernel("rbf", width)(arrays.X, arrays.X) + diagonal * np.eye(len(arrays.y))

    def best_of(penalties: np.ndarray, widths: np.ndarray, seed: int) -> tuple[float, float]:
        found = [
            tune(
                replace(arrays, K=matrix(w)), base, {"C": penalties}, Search("mae", seed=seed, progress=False)
            )
            for w in widths
        ]
        k = int(np.argmin([one.score for one in found]))
        return found[k].options.C, float(widths[k])

    C, width = best_of(COARSE_C, COARSE_WIDTH, split)
    C, width = best_of(C * 10.0**FINE, width * 10.0 ** (-0.5 * FINE), split + 1000)
    machine = fit_machine(arrays.X, arrays.y, bins, base.replace(C=C), K=matrix(width))
    cross = make_kernel("rbf", width)(X_test, arrays.X)
    return {**judge(machine, X_test, y_test, cross), "C": C, "width": width}


def report_sets(rows: pd.DataFrame) -> str:
    if rows.empty:
        return "Not run."
    good = rows[rows["error"].isna()]
    records = []
    for (data, bins, order), (zero, zero_sd, absolute, absolute_sd) in TABLES.items():
        here = good[(good["data"] == data) & (good["bins"] == bins) & (good["order"] == order)]
        if here.empty:
            continue
        inside = (
            abs(here["mze"].mean() - zero) <= zero_sd and abs(here["mae"].mean() - absolute) <= absolute_sd
        )
        records.append(
            {
                "data": data,
                "bins": bins,
                "order": order,
                "splits": len(here),
                "MZE ours": shown(here["mze"]),
                "published": f"{zero:.3f} ± {zero_sd:.3f}",
                "MAE ours": shown(here["mae"]),
                "published ": f"{absolute:.3f} ± {absolute_sd:.3f}",
                "within 1 sd": "yes" if inside else "no",
                "support vectors": shown(here["support"], 0),
            }
        )
    return markdown(pd.DataFrame(records))


def wanted(name: str, work: Any, tasks: list[dict[str, Any]], args: Any) -> pd.DataFrame:
    """Run the tasks; where none is asked for, the rows stored by the last run."""
    if tasks:
        return run(name, work, tasks, args)
    path = RESULTS / f"{name}.csv"
    return pd.read_csv(path) if path.exists() else pd.DataFrame()


def main() -> None:
    args_parser = parser(__doc__ or "", seeds=3)
    args_parser.set_defaults(jobs=1)
    args_parser.add_argument(
        "--whole-grid", action="store_true", help="the published grid of the slack models"
    )
    args_parser.add_argument("--only", help="one study: cpus, boston, diagonal, sunspots or gaussians")
    args = args_parser.parse_args()
    sets = [
        {"data": data, "bins": bins, "order": order, "split": split}
        for split in range(args.seeds)
        for data, bins, order in TABLES
    ]
    slacks = [
        {"study": study, "split": split, "whole_grid": args.whole_grid}
        for split in range(args.seeds)
        for study, trials in TRIALS.items()
        if split < trials
    ]
    diagonal = [
        {**task, "diagonal": d}
        for d in DIAGONALS
        for task in sets
        if task["data"] == "cpus" and task["bins"] == 10
    ]
    if args.only:
        sets = [task for task in sets if task["data"] == args.only]
        diagonal = [task for task in diagonal if args.only == "diagonal"]
        slacks = [task for task in slacks if str(task["study"]).startswith(args.only)]
    first = wanted("svor_published_sets", benchmark_set, sets, args)
    third = wanted("svor_published_diagonal", with_diagonal, diagonal, args)
    second = wanted("svor_slacks", slack_models, slacks, args)
    text = f"""# Kernel ordinal regression on the data of its papers

## Benchmark sets

Equal-frequency bins, splits of the published sizes (cpus 150 for training of 209, Boston 300 of 506),
features standardised, Gaussian kernel, C and width by 5-fold cross-validation on a 7 x 7 coarse and a 9 x 9
fine grid as published; the MAE was minimised. The random splits are not those of the paper, which had 20. order
"none" is the form without constraints on the thresholds; all are the published model, `balance=False`. "within 1 sd":
both means lie within one published standard deviation of the published means.

{report_sets(first)}

### What a diagonal does

With version 0.1.0, which dealt the folds otherwise, cpus with ten bins and explicit order missed by a thousandth.
Looking for a reason afterwards: the copy of the authors' program that the ORCA framework distributes adds
0.001 to the diagonal of the kernel matrix while training, deals the folds anew for the fine search and chooses from
that alone. The paper mentions none of it, and that copy was changed in other lines of the same file, so whether the
published runs had the diagonal is not known. On the same splits, with the folds dealt anew and no diagonal, then with
it:

{report_sets(third[third["diagonal"] == 0.0]) if len(third) else "Not run."}

{report_sets(third[third["diagonal"] > 0.0]) if len(third) else "Not run."}

## Modelled slacks

{report(second) if len(second) else "Not run."}

{provenance("python benchmarks/svor_published.py", "split number and number of bins; trial number", PACKAGES)}
"""
    write("svor_published", text)


if __name__ == "__main__":
    main()
