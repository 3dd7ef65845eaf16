"""Time and peak memory of a fit against the number of features, beside the first version, with one and two workers.

    git worktree add /tmp/first b618986
    python benchmarks/scaling.py --first /tmp/first   # everything; rows that are there for this code are not run again
    python benchmarks/scaling.py --only 300 1000      # some numbers of features
    python benchmarks/scaling.py --reach              # what noise reaches, beside the largest of all directions
    python benchmarks/scaling.py --report             # only rewrite the report from the stored rows

n = 200. Each fit runs in a process of its own, so that its peak memory is its own (workers
included). Processor seconds are those of all its processes. Long data are measured by long.py, two
workers on the papers' set 9 by speed.py.
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

KEY = ["version", "code", "data", "d", "control", "jobs", "seed"]
# The commit of version 0.1.0.
FIRST = "b618986"
ONE = """
import hashlib, json, os, resource, sys, time, warnings
import numpy as np, pandas as pd
import relbounds as rb
warnings.simplefilter("ignore")
d, kind, control, jobs, seed = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
if kind == "simulated":
    drawn = rb.simulate.draw("ordinal", 200, 5, 6, d - 11, noise=0.5, seed=seed)
    formula, frame = drawn.formula, drawn.data
    truth = set(drawn.truth.index[drawn.truth != "irrelevant"])
else:
    # blocks of 20 correlated features, as genes of one pathway; the grade hangs on five pathways
    rng = np.random.default_rng(seed)
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

def workers():
    # they are still alive: what they took is in /proc
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = open(f"/proc/{name}/stat").read().rpartition(")")[2].split()
            status = open(f"/proc/{name}/status").read()
        except OSError:
            continue
        if int(fields[1]) == os.getpid() and "VmHWM:" in status:
            ticks = int(fields[11]) + int(fields[12])
            yield ticks / os.sysconf("SC_CLK_TCK"), int(status.split("VmHWM:")[1].split()[0]) / 2**20

def spent():
    return sum(os.times()[:4]) + sum(seconds for seconds, _ in workers())

if __name__ == "__main__":
    if jobs == "dask":
        from dask.distributed import Client, LocalCluster
        how = {"client": Client(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None))}
    else:
        how = {"n_jobs": int(jobs)}
    # modules and workers are there before the clock starts
    small = rb.simulate.draw("ordinal", 40, 2, 0, 2, seed=0)
    rb.relbounds(small.formula, small.data, seed=0, progress=False, **how)
    began, wall = spent(), time.perf_counter()
    fit = rb.relbounds(formula, frame, seed=0, progress=False, **how, **given)
    seconds, wall = spent() - began, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20 + sum(size for _, size in workers())
    bounds = np.ascontiguousarray(fit.table.select_dtypes("number").round(12).to_numpy(float))
    if jobs == "dask":
        how["client"].shutdown()
    picked = set(fit.selected())
    print(json.dumps({
        "seconds": seconds, "wall": wall, "GiB": peak, "gap": float(fit.certificate), "truth": len(truth),
        "selected": len(picked), "right": len(picked & truth),
        "at_most": int(fit.table["screened"].sum()) if "screened" in fit.table else 0,
        "numbers": hashlib.sha256(bounds.tobytes()).hexdigest()[:12],
    }))
"""
# How much work a draw makes hangs on its tolerance: of few features, several draws that nothing was tuned on.
FRESH = tuple(range(70_000, 70_012))
# Where two workers are held against one, the quickest of so many runs counts for each.
REPEATED, RUNS = 1000, 3
# What is measured: data, features, control, workers, seed. Two workers must give the numbers of one.
CASES = [
    *(("simulated", 100, "", "1", seed) for seed in (0, *FRESH[:5])),
    *(("simulated", 300, "", "1", seed) for seed in (0, *FRESH)),
    *(("simulated", 1000, "", "1", seed) for seed in (0, *FRESH[:6])),
    ("simulated", 1000, "", "2", 0),
    ("simulated", 1000, "", "dask", 0),
    ("simulated", 2000, "", "1", 0),
    ("simulated", 2000, "", "2", 0),
    ("genes", 20_000, "fdr", "1", 0),
    ("genes", 20_000, "fdr", "2", 0),
]


def measure(
    d: int, kind: str, control: str, jobs: str, seed: int, tree: str | None = None
) -> dict[str, float]:
    """Fit once in a process of its own, by this version or by the one in a tree."""
    env = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    if tree is not None:
        env["PYTHONPATH"] = tree
    command = [sys.executable, "-c", ONE, str(d), kind, control, jobs, str(seed)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | env, check=False, cwd=tree
    )
    if done.returncode:
        raise SystemExit(f"d={d} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


# Data on which the search for what noise reaches is held against all directions: family, features, seed.
SEARCHED = [
    ("ordinal", 30, 50_017),
    ("regression", 40, 50_018),
    ("binary", 60, 50_019),
    ("regression", 90, 50_020),
    ("ordinal", 160, 50_010),
    ("regression", 160, 50_011),
    ("binary", 160, 50_012),
    ("ordinal", 200, 50_013),
    ("ordinal", 300, 50_014),
    ("ordinal", 700, 50_016),
]


def reach() -> pd.DataFrame:
    """Return what the search among likely directions finds in each refit of noise, as a share of the largest of all."""
    from dataclasses import replace

    import relbounds as rb
    from relbounds.linear.noise import fwer

    inner = fwer.refit_together
    rows = []
    for family, d, seed in SEARCHED:

        def both(evidence, task, columns, values, place=(family, d, seed)):  # type: ignore[no-untyped-def]
            found = inner(evidence, task, columns, values)
            exact = inner(evidence, replace(task, likely=None), columns, values)
            for few, every in zip(found, exact, strict=True):
                rows.append((*place, few.largest / every.largest))
            return found

        fwer.refit_together = both
        drawn = rb.simulate.draw(family, 200, 5, 6, d - 11, noise=0.5, seed=seed)
        rb.relbounds(drawn.formula, drawn.data, seed=0, progress=False)
        print(family, d, seed, min(row[-1] for row in rows[-19:]), flush=True)
    fwer.refit_together = inner
    return pd.DataFrame(rows, columns=["family", "d", "seed", "share"])


def said_of_reach(shares: pd.DataFrame) -> str:
    """Say how far the search falls short of the largest of all directions."""
    share, names = shares["share"], shares["family"].nunique()
    least = np.floor(100 * share.min()) / 100
    return (
        f"What noise reaches is searched among the likely directions: of {len(share)} refits of new data "
        f"({shares['d'].min()} to {shares['d'].max()} features, {names} families) {int((share > 0.999).sum())} gave "
        f"the largest of all directions to a thousandth, and none less than {least:.2f} of it."
    )


def slope(table: pd.DataFrame) -> float:
    """Return the slope of processor time in d, both on a logarithmic scale."""
    return float(np.polyfit(np.log(table["d"]), np.log(table["seconds"]), 1)[0]) if len(table) > 1 else np.nan


def _beside(now: pd.DataFrame, row: dict[str, object]) -> str:
    """Say how much sooner than with one worker a fit was done, and whether its numbers are the same."""
    same = (now["data"] == row["data"]) & (now["d"] == row["d"]) & (now["seed"] == row["seed"])
    one = now[same & (now["jobs"] == "1")]
    if row["jobs"] == "1" or not len(one):
        return "-"
    numbers = "same numbers" if one["numbers"].iloc[0] == row["numbers"] else "OTHER NUMBERS"
    return f"{one['wall'].iloc[0] / row['wall']:.2f} times sooner, {numbers}"


def beside_first(now: pd.DataFrame, first: pd.DataFrame) -> pd.DataFrame:
    """Return, for each number of features, how many times faster than version 0.1.0 one worker is, over the draws."""
    fresh = now[(now["jobs"] == "1") & (now["seed"] > 0)]
    both = fresh.merge(first, on=["data", "d", "seed"], suffixes=("", "_first"))
    rows = []
    for d, some in both.groupby("d"):
        ratio = some["seconds_first"] / some["seconds"]
        rows.append(
            {
                "d": d,
                "draws": len(some),
                "0.1.0, s": f"{some['seconds_first'].min():.1f} to {some['seconds_first'].max():.1f}",
                "now, s": f"{some['seconds'].min():.1f} to {some['seconds'].max():.1f}",
                "times faster, geometric mean": f"{np.exp(np.log(ratio).mean()):.1f}",
                "all draws together": f"{some['seconds_first'].sum() / some['seconds'].sum():.1f}",
                "least": f"{ratio.min():.1f}",
                "largest": f"{ratio.max():.1f}",
            }
        )
    return pd.DataFrame(rows)


def code_of(tree: Path) -> str:
    """Return the name that git has for the package's code in a tree."""
    done = subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD:relbounds"],
        cwd=tree,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def report(rows: pd.DataFrame) -> None:
    """Write the table, the ratios to the first version, and the slope."""
    now = rows[rows["version"] == "now"]
    first = rows[rows["version"] == "0.1.0"]
    lines = []
    for row in now[now["seed"] == 0].sort_values(["data", "d", "jobs"]).to_dict("records"):
        same = (first["d"] == row["d"]) & (first["data"] == row["data"]) & (first["seed"] == row["seed"])
        beside = first[same]["seconds"]
        side = float(beside.iloc[0]) if len(beside) else None
        lines.append(
            {
                "data": row["data"],
                "d": row["d"],
                "control": row["control"] or "default",
                "n_jobs": row["jobs"],
                "processor s": f"{row['seconds']:.1f}",
                "wall s": f"{row['wall']:.1f}",
                "beside one worker": _beside(now, row),
                "0.1.0": "-" if side is None else f"{side:.1f} s ({side / row['seconds']:.1f} times)",
                "peak": f"{row['GiB']:.2f} GiB",
                "largest gap": f"{row['gap']:.0e}",
                "at most": row["at_most"],
                "selected (right of true)": f"{row['selected']} ({row['right']} of {row['truth']})",
            }
        )
    wide = (now["data"] == "simulated") & (now["jobs"] == "1") & (now["d"] > 200) & (now["seed"] == 0)
    single = now[wide].sort_values("d")
    notes, searched = RESULTS / "scaling_notes.md", RESULTS / "scaling_reach.csv"
    text = [
        "# Time against the number of features",
        "",
        "n = 200. Default options, tuning, resampled tolerance and noise refits included. Simulated: 5 levels, five",
        "strong and six weak features. Genes: 3 grades, blocks of 20 correlated features, five of them relevant.",
        '"At most": rows with a proved limit, at most twice what noise reaches, in the place of an exact bound; the',
        "largest gap is that of all exact bounds and of the best model. Peak: all processes together. Version 0.1.0",
        "ran here with its own default options, which had fewer refits. With 1000 features the quickest of three runs.",
        "",
        markdown(pd.DataFrame(lines)),
        "",
        "Above: the draw of seed 0, which was in view while this version was made. Fresh draws, "
        f"seeds {FRESH[0]} and up:",
        "",
        markdown(beside_first(now, first)),
        "",
        f"Slope of processor time in d, both logarithmic, d = {', '.join(map(str, single['d']))}: {slope(single):.2f}.",
        "",
        *([said_of_reach(pd.read_csv(searched)), ""] if searched.exists() else []),
        *([notes.read_text(encoding="utf-8")] if notes.exists() else []),
        provenance("python benchmarks/scaling.py", f"0, {FRESH[0]}..{FRESH[-1]}"),
    ]
    write("scaling", "\n".join(text))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", type=int, help="numbers of features to measure")
    parser.add_argument(
        "--first",
        type=Path,
        help="a checkout of version 0.1.0, to run it beside this one (a quarter of an hour)",
    )
    parser.add_argument("--reach", action="store_true", help="only measure what noise reaches (two minutes)")
    parser.add_argument("--report", action="store_true", help="only rewrite the report")
    args = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "scaling.csv"
    code = code_of(Path(__file__).resolve().parent)
    rows = (
        pd.read_csv(path, keep_default_na=False, dtype={"jobs": str}).to_dict("records")
        if path.exists()
        else []
    )
    if args.reach:
        reach().to_csv(RESULTS / "scaling_reach.csv", index=False, float_format="%.6g")
        args.report = True
    if not args.report:
        rows = [row for row in rows if row.get("code") in {code, FIRST}]
    tasks = [("now", code, None, *case) for case in CASES]
    if args.first:
        same = [case for case in CASES if case[0] == "simulated" and case[3] == "1"]
        tasks = [*(("0.1.0", FIRST, str(args.first.resolve()), *case) for case in same), *tasks]
    for version, of, tree, kind, d, control, jobs, seed in [] if args.report else tasks:
        key = dict(zip(KEY, (version, of, kind, d, control, jobs, seed), strict=True))
        if (args.only and d not in args.only) or any(
            all(str(row[k]) == str(key[k]) for k in KEY) for row in rows
        ):
            continue
        runs = RUNS if d == REPEATED and seed == 0 and version == "now" else 1
        found = [measure(d, kind, control, jobs, seed, tree) for _ in range(runs)]
        row = {**key, **min(found, key=lambda one: one["wall"])}
        print(json.dumps(row), flush=True)
        rows.append(row)
        pd.DataFrame(rows).to_csv(path, index=False)
    report(pd.DataFrame(rows))


if __name__ == "__main__":
    main()
