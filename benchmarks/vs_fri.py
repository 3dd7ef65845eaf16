"""relbounds and fri side by side: the same data, folds, number of C tried and probes, one thread each.

    python benchmarks/vs_fri.py            # all sets: about half an hour, nearly all of it the peer's
    python benchmarks/vs_fri.py --sets 1 4 --first PATH   # and beside another checkout of relbounds

Two columns of ours: published mode (`**rb.published`: delta 0.001, permuted probes; the number of C, folds and
probes of the peer) and default options (resampled tolerance, tests that keep their word, both orders tuned).

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
C_VALUES, PROBES = 30, 50

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


OURS = """
import json, sys, time, warnings
import numpy as np, pandas as pd
warnings.filterwarnings("ignore")
import relbounds as rb
mode, file = sys.argv[1:3]
data = pd.read_pickle(file)
grid = np.geomspace(1e-3, 1e2, 30).tolist()
old = {"delta": 0.001, "C": grid, "cv": 3, "probes": 50}
options = {"published": {**getattr(rb, "published", {}), **old}, "default": {}, "first": old}[mode]
small = rb.simulate.paper_set(1)
rb.relbounds(small.formula, small.data, progress=False, **{**options, "C": 0.5})  # imports and caches
first = time.process_time()
fit = rb.relbounds("y ~ .", data, seed=0, progress=False, **options)
print(json.dumps({"seconds": time.process_time() - first, "gap": float(fit.certificate)}))
"""


def ours(data, mode: str, where: Path):  # type: ignore[no-untyped-def]
    """Return our seconds and largest gap, by the checkout at a path."""
    with tempfile.NamedTemporaryFile(suffix=".pkl") as file:
        data.to_pickle(file.name)
        command = [sys.executable, "-c", OURS, mode, file.name]
        env = {**os.environ, "PYTHONPATH": str(where)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise SystemExit(f"relbounds failed:\n{done.stderr[-2000:]}")
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return found["seconds"], found["gap"]


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

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="*", default=[], help="numbers of paper sets, or 'large'")
    parser.add_argument("--no-peer", action="store_true", help="time relbounds alone")
    parser.add_argument("--first", type=Path, help="another checkout of relbounds to time in the same run")
    args = parser.parse_args()
    python = None if args.no_peer else make_environment()
    stream = RESULTS / "vs_fri.csv"
    RESULTS.mkdir(exist_ok=True)
    # sets that are not run again keep their last row
    rows = pd.read_csv(stream).to_dict("records") if args.sets and stream.exists() else []
    for label, simulated, limit in cases(args.sets):
        row: dict[str, object] = {"set": label}
        row["published"], _ = ours(simulated.data, "published", ROOT)
        row["default"], row["gap"] = ours(simulated.data, "default", ROOT)
        if args.first is not None:
            row["first"], _ = ours(simulated.data, "first", args.first)
        if python is not None:
            features = [c for c in simulated.data.columns if c in simulated.truth.index]
            response = next(c for c in simulated.data.columns if c not in simulated.truth.index)
            y = pd.Categorical(simulated.data[response]).codes.astype(int)
            with tempfile.NamedTemporaryFile(suffix=".npz") as file:
                np.savez(file, X=simulated.data[features].to_numpy(float), y=y)
                file.flush()
                row["fri"], row["stopped"] = peer(python, file.name, limit)
        print(json.dumps(row), flush=True)
        rows = [other for other in rows if other["set"] != label] + [row]
        pd.DataFrame(rows).to_csv(stream, index=False, float_format="%.4g")
    report(pd.DataFrame(rows).sort_values("set"))


def report(table) -> None:  # type: ignore[no-untyped-def]
    """Print the Markdown table, store it, and draw the figure."""
    import numpy as np

    names = [name for name in ("fri", "first", "published", "default") if name in table]
    heads = {
        "fri": "fri",
        "first": "first version",
        "published": "published mode",
        "default": "default options",
    }
    ratios = [(a, b) for a in ("fri", "first") for b in ("published", "default") if a in names and b in names]
    lines = [
        "| set | " + " | ".join([heads[n] for n in names] + [f"{heads[a]} / {b}" for a, b in ratios]) + " |"
    ]
    lines.append("|---" * (1 + len(names) + len(ratios)) + "|")
    for row in table.to_dict("records"):
        mark = "> " if row.get("stopped") is True else ""
        cells = [f"{mark if n == 'fri' else ''}{row[n]:.2f} s" for n in names]
        cells += [f"{mark if a == 'fri' else ''}{row[a] / row[b]:.1f}" for a, b in ratios]
        lines.append(f"| {row['set']} | " + " | ".join(cells) + " |")
    paper = table[~table["set"].str.startswith("n=")]
    lines.append("")
    for a, b in ratios:
        ratio = paper[a] / paper[b]
        mean = np.exp(np.mean(np.log(ratio)))
        lines.append(
            f"{heads[a]} / {heads[b]}, paper sets: geometric mean {mean:.1f}, least {ratio.min():.1f}."
        )
    print("\n".join(lines))
    (RESULTS / "vs_fri.md").write_text(
        "# Side by side with fri\n\nProcessor seconds of one thread.\n\n" + "\n".join(lines) + "\n"
    )
    figure_of(table, names)


def figure_of(table, names) -> None:  # type: ignore[no-untyped-def]
    import matplotlib.pyplot as plt
    import numpy as np

    figure, axes = plt.subplots(figsize=(8, 3.5), constrained_layout=True)
    places = np.arange(len(table))
    for k, name in enumerate(names):
        axes.bar(places + 0.2 * (k - len(names) / 2 + 0.5), table[name], 0.2, label=name)
    axes.set_yscale("log")
    axes.set_xticks(places, table["set"], rotation=60, ha="right")
    axes.set_ylabel("processor seconds, one thread")
    axes.legend(frameon=False, ncols=4, fontsize="small")
    figure.savefig(RESULTS / "vs_fri.png", dpi=150)


if __name__ == "__main__":
    main()
