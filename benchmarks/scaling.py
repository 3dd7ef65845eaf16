"""Time and peak memory of a fit against the number of rows and of features.

    python benchmarks/scaling.py      # n = 10^2 .. 10^5 at d = 20, d = 10 .. 2000 at n = 200, and 10^5 x 50
    python benchmarks/scaling.py --n 100 1000 --d 10 30

Each fit runs in a process of its own, so that its peak memory is its own. Times are processor seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
ONE = """
import json, resource, sys, time, warnings
import relbounds as rb
warnings.simplefilter("ignore")
n, d, delta = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
strong, weak = (5, 6) if d >= 20 else (2, 4)
data = rb.simulate.draw("ordinal", n, strong, weak, d - strong - weak, noise=0.5, seed=0)
first = time.process_time()
fit = rb.relbounds(
    data.formula, data.data, seed=0, progress=False, delta=delta if delta.endswith("se") else float(delta)
)
seconds = time.process_time() - first
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps({"n": n, "d": d, "delta": delta, "seconds": seconds, "GiB": peak, "gap": float(fit.certificate)}))
"""


KEY = ("by", "n", "d", "delta")


def measure(n: int, d: int, delta: str = "1se") -> dict[str, float]:
    threads = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [sys.executable, "-c", ONE, str(n), str(d), delta]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | threads, check=False)
    if done.returncode:
        raise SystemExit(f"n={n}, d={d} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def slope(table, by: str) -> float:  # type: ignore[no-untyped-def]
    """Return the log-log slope of time over the upper half of the range, where fixed costs no longer show."""
    import numpy as np

    table = table.sort_values(by)
    half = table[table[by] >= table[by].median()]
    return (
        float(np.polyfit(np.log(half[by]), np.log(half["seconds"]), 1)[0]) if len(half) > 1 else float("nan")
    )


def main() -> None:
    import pandas as pd

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", nargs="*", type=int, default=[100, 300, 1000, 3000, 10_000, 30_000, 100_000])
    parser.add_argument("--d", nargs="*", type=int, default=[10, 30, 100, 300, 1000, 2000])
    parser.add_argument(
        "--both", nargs="*", type=int, default=[100_000, 50], help="rows and features of one large fit"
    )
    parser.add_argument("--delta", default="1se", help="tolerance: 1se, 2se or a number")
    args = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    stream = RESULTS / "scaling.csv"
    rows = pd.read_csv(stream).to_dict("records") if stream.exists() else []
    cases = [("n", n, 20) for n in args.n] + [("d", 200, d) for d in args.d]
    for by, n, d in cases + ([("both", *args.both)] if args.both else []):
        row = {"by": by, **measure(n, d, args.delta)}
        key = (by, n, d, args.delta)
        rows = [other for other in rows if tuple(str(other[k]) for k in KEY) != tuple(map(str, key))] + [row]
        print(json.dumps(row), flush=True)
        pd.DataFrame(rows).to_csv(stream, index=False)
    table = pd.DataFrame(rows).sort_values(["by", "n", "d"])
    print("| n | d | delta | seconds | peak memory | largest gap |\n|---|---|---|---|---|---|")
    for row in table.to_dict("records"):
        size = f"{row['n']} | {row['d']} | {row['delta']}"
        print(f"| {size} | {row['seconds']:.1f} | {row['GiB']:.2f} GiB | {row['gap']:.0e} |")
    table = table[table["delta"].astype(str) == "1se"]  # slopes and figure: the default
    for by in ("n", "d"):
        print(f"log-log slope of time in {by}, upper half: {slope(table[table['by'] == by], by):.2f}")
    figure_of(table)


def figure_of(table) -> None:  # type: ignore[no-untyped-def]
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(8, 3.2), constrained_layout=True)
    for axes, by, title in ((panels[0], "n", "d = 20"), (panels[1], "d", "n = 200")):
        part = table[table["by"] == by].sort_values(by)
        axes.loglog(part[by], part["seconds"], "o-", label="seconds")
        axes.loglog(part[by], part["GiB"], "s--", label="GiB")
        axes.set(xlabel=by, title=title)
        axes.legend(frameon=False)
    figure.savefig(RESULTS / "scaling.png", dpi=150)


if __name__ == "__main__":
    main()
