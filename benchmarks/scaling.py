"""Time and peak memory of a fit against the number of features, beside the first version.

    python benchmarks/scaling.py                        # default options at d = 300, 1000, 2000; genes by control="fdr"
    python benchmarks/scaling.py --d 300 --first PATH   # beside version 0.1.0 (git worktree add PATH b618986)
    python benchmarks/scaling.py --d --genes 20000 --jobs 2
    python benchmarks/scaling.py --report               # only rewrite the report from the stored rows

n = 200 throughout. Each fit runs in a process of its own, so that its peak memory is its own. Processor seconds are
those of all its processes. Rows of long data are measured by long.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from common import RESULTS, markdown, provenance, write

KEY = ["version", "data", "d", "control", "jobs"]
# Processor seconds of version 0.1.0 on an idle machine, where it is not run again.
STORED = {300: 17.2, 1000: 290.3, 2000: 1418.2}
STORED_NAME = "0.1.0, stored"
ONE = """
import json, os, resource, sys, time, warnings
import numpy as np, pandas as pd
import relbounds as rb
warnings.simplefilter("ignore")
d, kind, control, jobs = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
if kind == "simulated":
    drawn = rb.simulate.draw("ordinal", 200, 5, 6, d - 11, noise=0.5, seed=0)
    formula, frame = drawn.formula, drawn.data
    truth = set(drawn.truth.index[drawn.truth != "irrelevant"])
else:
    # blocks of 20 correlated features, as genes of one pathway; the grade hangs on five pathways
    rng = np.random.default_rng(0)
    block, active = 20, 5
    shared = rng.normal(size=(200, d // block))
    load = rng.uniform(0.5, 0.9, size=d)
    X = np.repeat(shared, block, axis=1) * load + rng.normal(size=(200, d)) * np.sqrt(1 - load**2)
    score = shared[:, :active].sum(axis=1) + rng.normal(size=200)
    grade = np.digitize(score, np.quantile(score, [1 / 3, 2 / 3]))
    frame = pd.DataFrame(X, columns=[f"g{j + 1}" for j in range(d)])
    frame.insert(0, "grade", pd.Categorical.from_codes(grade, ["G1", "G2", "G3"], ordered=True))
    formula, truth = "grade ~ .", {f"g{j + 1}" for j in range(block * active)}
given = {"control": control} if control else {}

def spent():
    # workers are still alive: their time is in /proc
    own = sum(os.times()[:4])
    tick = os.sysconf("SC_CLK_TCK")
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = open(f"/proc/{name}/stat").read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            own += (int(fields[11]) + int(fields[12])) / tick
    return own

began, wall = spent(), time.perf_counter()
fit = rb.relbounds(formula, frame, seed=0, progress=False, n_jobs=jobs, **given)
seconds, wall = spent() - began, time.perf_counter() - wall
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
picked = set(fit.selected())
print(json.dumps({
    "seconds": seconds, "wall": wall, "GiB": peak, "gap": float(fit.certificate), "truth": len(truth),
    "selected": len(picked), "right": len(picked & truth),
    "at_most": int(fit.table["screened"].sum()) if "screened" in fit.table else 0,
}))
"""


def measure(d: int, kind: str, control: str, jobs: int, tree: str | None = None) -> dict[str, float]:
    """Fit once in a process of its own, by this version or by the one in a tree."""
    env = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    if tree is not None:
        env["PYTHONPATH"] = tree
    command = [sys.executable, "-c", ONE, str(d), kind, control, str(jobs)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | env, check=False, cwd=tree
    )
    if done.returncode:
        raise SystemExit(f"d={d} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def slope(table: pd.DataFrame) -> float:
    """Return the slope of processor time in d, both on a logarithmic scale."""
    return float(np.polyfit(np.log(table["d"]), np.log(table["seconds"]), 1)[0]) if len(table) > 1 else np.nan


def report(rows: pd.DataFrame) -> None:
    """Write the table, the ratios to the first version, and the slope."""
    now = rows[rows["version"] == "now"]
    first = rows[rows["version"] == "0.1.0"]
    lines = []
    for row in now.sort_values(["data", "d", "jobs"]).to_dict("records"):
        beside = first[(first["d"] == row["d"]) & (first["data"] == row["data"])]["seconds"]
        stored = STORED.get(row["d"]) if row["data"] == "simulated" else None
        side = float(beside.iloc[0]) if len(beside) else None
        lines.append(
            {
                "data": row["data"],
                "d": row["d"],
                "control": row["control"] or "default",
                "n_jobs": row["jobs"],
                "processor s": f"{row['seconds']:.0f}",
                "wall s": f"{row['wall']:.0f}",
                "0.1.0, same run": "-"
                if side is None
                else f"{side:.0f} s ({side / row['seconds']:.1f} times)",
                "0.1.0, stored": "-"
                if stored is None
                else f"{stored:.0f} s ({stored / row['seconds']:.1f} times)",
                "peak": f"{row['GiB']:.2f} GiB",
                "largest gap": f"{row['gap']:.0e}",
                "at most": row["at_most"],
                "selected (right of true)": f"{row['selected']} ({row['right']} of {row['truth']})",
            }
        )
    single = now[(now["data"] == "simulated") & (now["jobs"] == 1)].sort_values("d")
    text = [
        "# Time against the number of features",
        "",
        "n = 200. Default options, tuning, resampled tolerance and noise refits included. Simulated: 5 levels, five",
        "strong and six weak features. Genes: 3 grades, blocks of 20 correlated features, five of them relevant.",
        '"At most": rows with a proved limit in the place of an exact bound; the largest gap is that of all exact',
        "bounds and of the best model. Times of version 0.1.0 are those of its own default options, which had fewer",
        "refits; stored ones are from an idle machine, all others from a busy one, where processor time is longer too.",
        "",
        markdown(pd.DataFrame(lines)),
        "",
        f"Slope of processor time in d, both logarithmic, d = {', '.join(map(str, single['d']))}: {slope(single):.2f}.",
        "",
        provenance("python benchmarks/scaling.py", "0"),
    ]
    write("scaling", "\n".join(text))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--d", nargs="*", type=int, default=[300, 1000, 2000])
    parser.add_argument("--genes", nargs="*", type=int, default=[20_000])
    parser.add_argument("--jobs", nargs="*", type=int, default=[1])
    parser.add_argument("--first", type=Path, help="the tree of version 0.1.0, to run it beside this one")
    parser.add_argument("--report", action="store_true", help="only rewrite the report")
    args = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "scaling.csv"
    rows = pd.read_csv(path, keep_default_na=False).to_dict("records") if path.exists() else []
    cases = [("simulated", d, "") for d in args.d] + [("genes", d, "fdr") for d in args.genes]
    for kind, d, control in [] if args.report else cases:
        for version, tree, jobs in [("now", None, j) for j in args.jobs] + (
            [("0.1.0", str(args.first.resolve()), 1)] if args.first and not control else []
        ):
            key = {"version": version, "data": kind, "d": d, "control": control, "jobs": jobs}
            row = {**key, **measure(d, kind, control, jobs, tree)}
            print(json.dumps(row), flush=True)
            rows = [one for one in rows if any(str(one[k]) != str(key[k]) for k in KEY)] + [row]
            pd.DataFrame(rows).to_csv(path, index=False)
    report(pd.DataFrame(rows))


if __name__ == "__main__":
    main()
