"""Kernel ordinal regression on the data of its papers, with the published numbers beside ours.

    python benchmarks/svor_published.py                     # a few splits, about a quarter of an hour
    python benchmarks/svor_published.py --seeds 20 --resume # as many splits as published
    python benchmarks/svor_published.py --only boston --seeds 20 --resume
    python benchmarks/svor_published.py --whole-grid        # the published grid of the slack models (hours)

MASS::cpus and MASS::Boston are exported by Rscript; annual sunspots come with statsmodels; the Gaussians are
simulated.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import RESULTS, markdown, parser, provenance, run, write

from relbounds.kernel.machine import Machine, Setting, fit_machine, supporting
from relbounds.kernel.tune import Arrays, tune
from relbounds.metrics import mae, mze

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
# Published: mean and standard deviation of errors and of the number of support vectors, free / modelled /
# mixed / mix 1.
METHODS = ("free", "modelled", "mixed", "mixed, v = 1")
SLACKS = {
    ("gaussians, linear", "mze"): ((0.0782, 0.0032), (0.0762, 0.0027), (0.0762, 0.0030), (0.0769, 0.0029)),
    ("gaussians, non-linear", "mze"): (
        (0.1398, 0.0053),
        (0.1353, 0.0052),
        (0.1367, 0.0056),
        (0.1372, 0.0062),
    ),
    ("gaussians, linear", "support"): ((39.2, 10.65), (151.4, 77.42), (10.6, 16.04), (17.3, 24.47)),
    ("gaussians, non-linear", "support"): ((78.8, 13.24), (158.6, 44.45), (60.3, 46.49), (96.8, 36.22)),
    ("sunspots", "mze"): ((0.4277, 0.0549), (0.3381, 0.0452), (0.3418, 0.0459), (0.4061, 0.0602)),
    ("sunspots", "mae"): ((0.4710, 0.0765), (0.3813, 0.0652), (0.3851, 0.0699), (0.4564, 0.0794)),
    ("sunspots", "support"): ((191.4, 10.23), (206.2, 29.78), (147.8, 52.77), (221.2, 2.16)),
}
TRIALS = {"gaussians, linear": 10, "gaussians, non-linear": 10, "sunspots": 5}
SIZES = {"cpus": 150, "boston": 300}


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


def judge(machine: Machine, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    guess = machine.levels_of(machine.decision_function(X))
    return {"mze": mze(y, guess), "mae": mae(y, guess), "support": float(supporting(machine).sum())}


def benchmark_set(data: str, bins: int, order: str, split: int) -> dict[str, Any]:
    """One split: C and the width by 5-fold cross-validation of the MAE, 7 x 7 coarse then 9 x 9 fine."""
    X, target = exported(data)
    y = 1 + np.searchsorted(np.quantile(target, np.arange(1, bins) / bins), target, side="left")
    shuffled = np.random.default_rng([split, bins]).permutation(len(y))
    training, test = shuffled[: SIZES[data]], shuffled[SIZES[data] :]
    X = standardised(X, training)
    arrays = Arrays(X[training], y[training], bins)
    tuned = tune(
        arrays, Setting(order=order), {"C": None, "width": None}, score="mae", seed=split, progress=False
    )
    machine = fit_machine(arrays.X, arrays.y, bins, tuned.setting)
    return {**judge(machine, X[test], y[test]), "C": tuned.setting.C, "width": tuned.setting.width}


def trial_data(study: str, trial: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test features and levels of one trial."""
    rng = np.random.default_rng([trial, 4])
    if study == "sunspots":
        import statsmodels.api as sm

        series = sm.datasets.sunspots.load_pandas().data
        s = series.loc[series["YEAR"].between(1700, 1988), "SUNACTIVITY"].to_numpy()
        change = np.diff(s)
        level = 1 + np.searchsorted(np.quantile(change, [0.1, 0.5, 0.9]), change, side="right")
        X = np.column_stack([s[5 - k : len(s) - k] for k in range(1, 6)])  # the five values before the change
        y = level[4:]
        shuffled = rng.permutation(len(y))
        training, test = shuffled[:222], shuffled[222:278]
    else:
        # Printed as covariance 2I, for which the Bayes error is 0.113, far below every published error; a standard
        # deviation of 2 has 0.133, just below them.
        spread = 1.0 if study == "gaussians, linear" else 2.0
        parts = [(100, 100), (2000, 2000)]
        blocks = [
            np.vstack([rng.normal(1.0, 1.0, (a, 2)), rng.normal(-1.0, spread, (b, 2))]) for a, b in parts
        ]
        X = np.vstack(blocks)
        y = np.concatenate([np.repeat([2, 1], [a, b]) for a, b in parts])
        training, test = np.arange(200), np.arange(200, len(y))
    X = standardised(X, training)
    return X[training], y[training], X[test], y[test]


def slack_models(study: str, split: int, whole_grid: bool) -> dict[str, Any]:
    """One trial: free, modelled and mixed slacks, each tuned by 5-fold cross-validation."""
    X, y, X_test, y_test = trial_data(study, split)
    levels = int(y.max())
    linear = study == "gaussians, linear"
    score = "mze"
    base = Setting(order="implicit", kernel="linear" if linear else "rbf")
    if whole_grid:
        C, widths = [1.0, 10.0, 50.0, 100.0, 500.0], [0.1, 0.5, 1.0, 5.0, 10.0]
        slack_widths, gammas = widths, [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 500.0, 1000.0]
        mixes = [0.0, 0.001, 0.01, *np.arange(0.1, 0.95, 0.1).round(1).tolist(), 0.95, 1.0]
    else:
        C, widths = [1.0, 10.0, 100.0], [0.5, 1.0, 5.0]
        slack_widths, gammas = [0.5, 1.0, 5.0], [0.01, 1.0, 100.0]
        mixes = [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0]
    grid: dict[str, Any] = {"C": C, "gamma": gammas, "slack_width": slack_widths}
    if not linear:
        grid["width"] = widths
    arrays = Arrays(X, y, levels)
    out: dict[str, Any] = {}

    def keep(method: str, setting: Setting) -> None:
        machine = fit_machine(X, y, levels, setting)
        for name, value in judge(machine, X_test, y_test).items():
            out[f"{method} {name}"] = value

    # The free model has few parameters; it gets the whole published grid in any case.
    wide = {"C": [1.0, 10.0, 50.0, 100.0, 500.0], "width": [0.1, 0.5, 1.0, 5.0, 10.0]}
    keep("free", tune(arrays, base, wide, score=score, seed=split, progress=False).setting)
    modelled = tune(
        arrays, base.replace(slack="modelled"), grid, score=score, seed=split, progress=False
    ).setting
    keep("modelled", modelled)
    if not whole_grid:  # the correcting function as chosen above; what the mixture adds is searched anew
        grid = {k: v for k, v in grid.items() if k in ("C", "width")}
    mixed = modelled.replace(slack="mixed")
    chosen = tune(arrays, mixed, {**grid, "mix": mixes}, score=score, seed=split, progress=False).setting
    keep("mixed", chosen)
    out["v"] = chosen.mix
    only = tune(arrays, mixed.replace(mix=1.0), grid, score=score, seed=split, progress=False).setting
    keep("mixed, v = 1", only)
    return out


def shown(values: pd.Series, digits: int = 3) -> str:
    """Mean and standard deviation; the mean alone where there is one value."""
    spread = f" ± {values.std():.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


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
            }
        )
    return markdown(pd.DataFrame(records))


def report_slacks(rows: pd.DataFrame) -> str:
    if rows.empty:
        return "Not run."
    good = rows[rows["error"].isna()]
    records = []
    for (study, measure), values in SLACKS.items():
        here = good[good["study"] == study]
        if here.empty:
            continue
        digits = 1 if measure == "support" else 3
        for method, (mean, sd) in zip(METHODS, values, strict=True):
            ours = here[f"{method} {measure}"]
            records.append(
                {
                    "study": study,
                    "measure": measure,
                    "slacks": method,
                    "trials": len(here),
                    "ours": shown(ours, digits),
                    "published": f"{mean:.{digits}f} ± {sd:.{digits}f}",
                    "within 1 sd": "yes" if abs(ours.mean() - mean) <= sd else "no",
                }
            )
    claims = []
    for study, here in good.groupby("study"):
        better = "better" if here["modelled mze"].mean() < here["free mze"].mean() else "not better"
        fewer = "fewer" if here["mixed support"].mean() < here["free support"].mean() else "not fewer"
        claims.append(
            f"{study}: modelled slacks {better} than free ones, mixed ones with {fewer} support vectors"
        )
    verdict = "The published claims, on the trials run: " + "; ".join(claims) + "."
    mixes = ", ".join(f"{s} {shown(g, 2)}" for s, g in good.groupby("study")["v"])
    return markdown(pd.DataFrame(records)) + f"\n\n{verdict}\n\nMixing weight chosen (mean ± sd): {mixes}."


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
    args_parser.add_argument("--only", help="one study: cpus, boston, sunspots or gaussians")
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
    if args.only:
        sets = [task for task in sets if task["data"] == args.only]
        slacks = [task for task in slacks if str(task["study"]).startswith(args.only)]
    first = wanted("svor_published_sets", benchmark_set, sets, args)
    second = wanted("svor_published_slacks", slack_models, slacks, args)
    text = f"""# Kernel ordinal regression on the data of its papers

## Benchmark sets

Equal-frequency bins, splits of the published sizes (cpus 150 for training of 209, Boston 300 of 506),
features standardised, Gaussian kernel, C and width by 5-fold cross-validation on a 7 x 7 coarse and a 9 x 9
fine grid as published; the MAE was minimised. The random splits are not those of the paper. order "none" is the
form without constraints on the thresholds. "within 1 sd": both means lie within one published standard
deviation of the published means.

{report_sets(first)}

## Modelled slacks

Free: SVM / SVORIM; modelled: SVMP / SVORIMP; mixed: SVMvP / SVORIMvP. Two Gaussians (100 + 100 training
points, 4000 test points; the second class of the non-linear ones has standard deviation 2, since the covariance
of 2I in print has a Bayes error of 0.113, far below the published errors; a first trial
with 2I had an error of 0.118 with free slacks); annual sunspots 1700-1988,
differences cut 10/40/40/10 %, five lags, 222 training and 56 test rows. Parameters by 5-fold cross-validation of
the MZE; {_grid_text(second)}

{report_slacks(second)}

{provenance("python benchmarks/svor_published.py", "split number and number of bins", PACKAGES)}
"""
    write("svor_published", text)


def _grid_text(rows: pd.DataFrame) -> str:
    if len(rows) and bool(rows["whole_grid"].all()):
        return "the whole published grid."
    return (
        "the modelled slacks were searched on a thinned grid (C 1, 10, 100; widths 0.5, 1, 5; gamma 0.01, 1, 100; mix "
        "0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1), the mixture with the correcting function chosen for the modelled "
        "slacks; `--whole-grid` runs the published one."
    )


if __name__ == "__main__":
    main()
