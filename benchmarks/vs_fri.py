"""relbounds and fri side by side: the same data, folds, number of C tried and probes, one thread each.

    python benchmarks/vs_fri.py            # all sets: about an hour, nearly all of it the peer's
    python benchmarks/vs_fri.py --sets 1 4 --first PATH   # and beside another checkout of relbounds
    python benchmarks/vs_fri.py --columns published default   # these again, the others as they were stored

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
print(json.dumps({"seconds": time.process_time() - first, "gap": float(fit.certificate), "code": rb.__file__}))
"""


def ours(data, mode: str, where: Path, limit: int = 900):  # type: ignore[no-untyped-def]
    """Return our seconds, largest gap and whether it was stopped at the limit, by the checkout at a path."""
    with tempfile.NamedTemporaryFile(suffix=".pkl") as file:
        data.to_pickle(file.name)
        command = [sys.executable, "-c", OURS, mode, file.name]
        env = {**os.environ, "PYTHONPATH": str(where)}

        def stop() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))

        # not from here: the working directory comes before the path, and would hide another checkout
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env=env,
            preexec_fn=stop,
            cwd=Path(file.name).parent,
        )
    if done.returncode < 0:
        return float(limit), float("nan"), True
    if done.returncode:
        raise SystemExit(f"relbounds failed:\n{done.stderr[-2000:]}")
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert Path(found["code"]).is_relative_to(where.resolve()), found["code"]
    return found["seconds"], found["gap"], False


def cases(wanted: list[str]) -> list[tuple[str, object, int]]:
    """Return (name, simulated data, limit of the peer in seconds)."""
    from relbounds.simulate import draw, paper_set

    found = []
    for number in range(1, 10):
        for noise in (0.0, 0.5):
            if not wanted or str(number) in wanted:
                label = f"{number} {'noisy' if noise else 'clean'}"
                # the peer takes about an hour and all memory on the last set: a limit says enough
                found.append((label, paper_set(number, noise=noise, seed=0), 900 if number < 9 else 400))
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
    parser.add_argument(
        "--columns", nargs="*", default=["fri", "first", "published", "default"], help="what to time"
    )
    args = parser.parse_args()
    asked = [name for name in args.columns if name != "first" or args.first is not None]
    if args.no_peer:
        asked = [name for name in asked if name != "fri"]
    python = make_environment() if "fri" in asked else None
    stream = RESULTS / "vs_fri.csv"
    RESULTS.mkdir(exist_ok=True)
    # what is not run again keeps its last value
    rows = {row["set"]: row for row in pd.read_csv(stream).to_dict("records")} if stream.exists() else {}
    for label, simulated, limit in cases(args.sets):
        row = rows.setdefault(label, {"set": label})
        for name in asked:
            if name != "fri":
                where = args.first if name == "first" else ROOT
                row[name], gap, row[f"{name}_stopped"] = ours(simulated.data, name, where, limit)
                if name == "default":
                    row["gap"] = gap
        if python is not None:
            features = [c for c in simulated.data.columns if c in simulated.truth.index]
            response = next(c for c in simulated.data.columns if c not in simulated.truth.index)
            y = pd.Categorical(simulated.data[response]).codes.astype(int)
            with tempfile.NamedTemporaryFile(suffix=".npz") as file:
                np.savez(file, X=simulated.data[features].to_numpy(float), y=y)
                file.flush()
                row["fri"], row["fri_stopped"] = peer(python, file.name, limit)
        print(json.dumps(row), flush=True)
        pd.DataFrame(list(rows.values())).to_csv(stream, index=False, float_format="%.4g")
    report(pd.DataFrame(list(rows.values())).sort_values("set"))


def report(table) -> None:  # type: ignore[no-untyped-def]
    """Print the Markdown table, store it, and draw the figure."""
    import numpy as np

    names = [name for name in ("fri", "first", "published", "default") if name in table]
    heads = {
        "fri": "fri",
        "first": "first version, papers' settings",
        "published": "published mode",
        "default": "default options",
    }
    pairs = (("fri", "published"), ("fri", "default"), ("first", "published"), ("default", "published"))
    ratios = [(a, b) for a, b in pairs if a in names and b in names]
    lines = [
        "| set | " + " | ".join([heads[n] for n in names] + [f"{heads[a]} / {b}" for a, b in ratios]) + " |"
    ]
    lines.append("|---" * (1 + len(names) + len(ratios)) + "|")
    for row in table.to_dict("records"):
        mark = {n: "> " if row.get(f"{n}_stopped") in (True, "True", 1.0) else "" for n in names}
        cells = ["" if np.isnan(row[n]) else f"{mark[n]}{row[n]:.2f} s" for n in names]
        cells += ["" if np.isnan(row[a] / row[b]) else f"{mark[a]}{row[a] / row[b]:.1f}" for a, b in ratios]
        lines.append(f"| {row['set']} | " + " | ".join(cells) + " |")
    paper = table[~table["set"].str.startswith("n=")]
    lines.append("")
    for a, b in ratios:
        ratio = (paper[a] / paper[b]).dropna()
        mean = np.exp(np.mean(np.log(ratio)))
        end = f"most {ratio.max():.1f}" if a == "default" else f"least {ratio.min():.1f}"
        lines.append(f"{heads[a]} / {heads[b]}, {len(ratio)} paper sets: geometric mean {mean:.1f}, {end}.")
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
