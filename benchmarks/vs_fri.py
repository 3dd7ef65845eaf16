"""relbounds and fri side by side: the same data, folds, number of C tried and probes, one thread each.

    python benchmarks/vs_fri.py            # all sets: about half an hour, nearly all of it the peer's
    python benchmarks/vs_fri.py --sets 1 4

Makes the peer's own virtual environment (.fri-venv) when it is missing. Times are processor seconds of one thread, so
that other work on the machine disturbs neither side; a peer that exceeds the limit counts with the limit, and the
ratio is then a lower bound.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".fri-venv"
RESULTS = Path(__file__).resolve().parent / "results"
NEEDS = [
    "numpy<1.24", "scipy<1.11", "scikit-learn<1.3", "cvxpy<1.4", "ecos", "attrs", "joblib", "matplotlib<3.8",
    "importlib_metadata", "rich", "toolz", "arfs_gen", "boruta==0.4.3",
]  # fmt: skip
C_VALUES, FOLDS, PROBES, DELTA = 30, 3, 50, 0.001

PEER = """
import json, sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
import fri
stored = np.load(sys.argv[1])
X, y = stored["X"], stored["y"]
model = fri.FRI(fri.ProblemName.ORDINALREGRESSION, random_state=0, n_jobs=1, n_param_search=int(sys.argv[2]),
                n_probe_features=int(sys.argv[3]))
first = time.process_time()
model.fit(X, y)
print(json.dumps({"seconds": time.process_time() - first, "classes": [int(c) for c in model.relevance_classes_]}))
"""


def make_environment() -> Path:
    """Return the peer's Python, making its environment first where it is missing."""
    python = HOME / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(HOME)], check=True)
    probe = subprocess.run(
        [str(python), "-c", "import fri, arfs_gen, boruta"], capture_output=True, check=False
    )
    if probe.returncode:
        subprocess.run([str(python), "-m", "pip", "install", "-q", *NEEDS], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "--no-deps", "fri==9.0.0"], check=True)
    return python


def peer(python: Path, stored: str, limit: int) -> tuple[float, bool]:
    """Return the peer's seconds and whether it was stopped at the limit."""
    command = [str(python), "-c", PEER, stored, str(C_VALUES), str(PROBES)]

    def stop() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))

    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=stop, check=False)
    if done.returncode < 0:
        return float(limit), True
    if done.returncode:
        raise SystemExit(f"fri failed:\n{done.stderr[-2000:]}")
    return float(json.loads(done.stdout.strip().splitlines()[-1])["seconds"]), False


def ours(data, formula: str, delta, solver: str):  # type: ignore[no-untyped-def]
    """Return our seconds for the same work, and the results."""
    import numpy as np

    import relbounds as rb

    grid = np.geomspace(1e-3, 1e2, C_VALUES).tolist()
    first = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rb.relbounds(
            formula, data, delta=delta, C=grid, cv=FOLDS, probes=PROBES, solver=solver, seed=0, progress=False
        )
    return time.process_time() - first, fit


def cases(wanted: list[str]) -> list[tuple[str, object, int]]:
    """Return (name, simulated data, limit of the peer in seconds)."""
    from relbounds.simulate import draw, paper_set

    found = []
    for number in range(1, 9):
        for noise in (0.0, 0.5):
            if not wanted or str(number) in wanted:
                label = f"{number} {'noisy' if noise else 'clean'}"
                found.append((label, paper_set(number, noise=noise, seed=0), 900))
    if not wanted or "large" in wanted:
        found.append(("n=10^4, d=20", draw("ordinal", 10_000, 5, 6, 9, noise=0.5, seed=0), 300))
    return found


def main() -> None:
    import numpy as np
    import pandas as pd

    import relbounds as rb

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="*", default=[], help="numbers of paper sets, or 'large'")
    parser.add_argument("--no-peer", action="store_true", help="time relbounds alone")
    parser.add_argument("--no-cvxopt", action="store_true", help="leave out the column of solver='cvxopt'")
    parser.add_argument("--nine", action="store_true", help="also time relbounds on set 9 (1000 x 230)")
    args = parser.parse_args()
    python = None if args.no_peer else make_environment()
    ours(rb.simulate.paper_set(1).data, rb.simulate.paper_set(1).formula, 0.05, "auto")  # imports and caches
    stream = RESULTS / "vs_fri.csv"
    RESULTS.mkdir(exist_ok=True)
    # sets that are not run again keep their last row
    rows = pd.read_csv(stream).to_dict("records") if args.sets and stream.exists() else []
    for label, simulated, limit in cases(args.sets):
        row: dict[str, object] = {"set": label}
        row["auto"], fit = ours(simulated.data, simulated.formula, DELTA, "auto")
        row["cvxopt"] = float("nan")
        if not args.no_cvxopt:
            row["cvxopt"], _ = ours(simulated.data, simulated.formula, DELTA, "cvxopt")
        row["auto_1se"], _ = ours(simulated.data, simulated.formula, "1se", "auto")
        row["gap"] = float(fit.certificate)
        if python is not None:
            features = [c for c in simulated.data.columns if c in simulated.truth.index]
            response = next(c for c in simulated.data.columns if c not in simulated.truth.index)
            y = pd.Categorical(simulated.data[response]).codes.astype(int)
            with tempfile.NamedTemporaryFile(suffix=".npz") as file:
                np.savez(file, X=simulated.data[features].to_numpy(float), y=y)
                file.flush()
                row["fri"], stopped = peer(python, file.name, limit)
            row["stopped"] = stopped
            row["ratio"] = row["fri"] / row["auto"]  # type: ignore[operator]
            row["ratio_1se"] = row["fri"] / row["auto_1se"]  # type: ignore[operator]
        print(json.dumps(row), flush=True)
        rows = [other for other in rows if other["set"] != label] + [row]
        pd.DataFrame(rows).to_csv(stream, index=False)
    if args.nine or not args.sets:
        nine = rb.simulate.paper_set(9, noise=0.5, seed=0)
        for delta in (DELTA, "1se"):
            seconds, _ = ours(nine.data, nine.formula, delta, "auto")
            print(json.dumps({"set": "9 noisy", "delta": delta, "auto": seconds}), flush=True)
    report(pd.DataFrame(rows).sort_values("set"))


def report(table) -> None:  # type: ignore[no-untyped-def]
    """Print the Markdown table and draw the figure."""
    import numpy as np

    lines = [
        "| set | fri | relbounds, delta 0.001 | ratio | solver='cvxopt' | default delta | ratio |",
        "|---" * 7 + "|",
    ]
    for row in table.to_dict("records"):
        has = "fri" in row and np.isfinite(row.get("fri", np.nan))
        mark = "> " if row.get("stopped") else ""
        peer_ = f"{mark}{row['fri']:.1f} s" if has else "-"
        first = f"{mark}{row['ratio']:.0f}" if has else "-"
        second = f"{mark}{row['ratio_1se']:.0f}" if has else "-"
        slow = f"{row['cvxopt']:.1f} s" if np.isfinite(row["cvxopt"]) else "-"
        lines.append(
            f"| {row['set']} | {peer_} | {row['auto']:.2f} s | {first} | {slow} "
            f"| {row['auto_1se']:.2f} s | {second} |"
        )
    print("\n".join(lines))
    if table["cvxopt"].notna().any():
        faster = np.exp(np.nanmean(np.log(table["cvxopt"] / table["auto"])))
        print(f"\n'auto' against 'cvxopt', geometric mean: {faster:.1f}")
    if "ratio" in table:
        paper = table[~table["set"].str.startswith("n=")]
        for name, label in (("ratio", "delta 0.001"), ("ratio_1se", "default delta")):
            if len(paper):
                mean = np.exp(np.mean(np.log(paper[name])))
                print(f"Paper sets, {label}: geometric mean {mean:.1f}, least {paper[name].min():.1f}")
        figure_of(table)


def figure_of(table) -> None:  # type: ignore[no-untyped-def]
    import matplotlib.pyplot as plt
    import numpy as np

    figure, axes = plt.subplots(figsize=(8, 3.5), constrained_layout=True)
    places = np.arange(len(table))
    for shift, column, label in (
        (-0.3, "fri", "fri"),
        (-0.1, "cvxopt", "relbounds, cvxopt"),
        (0.1, "auto", "relbounds"),
        (0.3, "auto_1se", "relbounds, default delta"),
    ):
        axes.bar(places + shift, table[column], 0.2, label=label)
    axes.set_yscale("log")
    axes.set_xticks(places, table["set"], rotation=60, ha="right")
    axes.set_ylabel("seconds, one thread")
    axes.legend(frameon=False, ncols=4, fontsize="small")
    figure.savefig(RESULTS / "vs_fri.png", dpi=150)


if __name__ == "__main__":
    main()
