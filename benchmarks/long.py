"""Many rows: processor time and peak memory of a default fit, now and in the first version.

    git worktree add ../first b618986
    python benchmarks/long.py --first ../first
    python benchmarks/long.py --first ../first --resume     # keep what is stored of the first version
    python benchmarks/long.py --cases 1000000x20
    python benchmarks/long.py --parts     # noise refitted on a part of the rows beside noise refitted on all
    python benchmarks/long.py --report

Each fit runs in a process of its own with one thread, default options of its version, noise and tolerance included;
peak memory is that of the process, data and imports included. A fit that exceeds `--limit` processor seconds counts
with the limit, and its ratio is then a least one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import common
import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parent
CASES = ("100000x20", "1000000x5", "1000000x20")
ONE = """
import json, resource, sys, time, warnings
import relbounds as rb
warnings.simplefilter("ignore")
n, d = int(sys.argv[1]), int(sys.argv[2])
strong, weak = (5, 6) if d >= 20 else (1, 2)
data = rb.simulate.draw("ordinal", n, strong, weak, d - strong - weak, noise=0.5, seed=0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
first = time.process_time()
fit = rb.relbounds(data.formula, data.data, seed=0, progress=False)
seconds = time.process_time() - first
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
found, truth = fit.table["relevance"], data.truth.reindex(fit.table.index)
right = float(((found != "irrelevant") == (truth != "irrelevant")).mean())
said = [note for note in getattr(fit, "notes", ()) if "subsample" in note or "rows" in note]
facts = {"seconds": seconds, "GiB": peak, "data": before, "gap": float(fit.certificate), "delta": float(fit.delta)}
print(json.dumps({**facts, "right": right, "notes": " ".join(said)}))
"""


def measure(case: str, code: Path, limit: int) -> dict[str, object]:
    """Return time, memory and proof of one fit by one version, or that it was stopped."""

    def stop() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))

    n, d = case.split("x")
    threads = {one: "1" for one in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    environment = os.environ | threads | {"PYTHONPATH": str(code)}
    done = subprocess.run(
        [sys.executable, "-c", ONE, n, d],
        capture_output=True,
        text=True,
        env=environment,
        cwd="/",
        check=False,
        preexec_fn=stop,
    )
    if done.returncode < 0:
        return {"seconds": float(limit), "over": True}
    if done.returncode:
        raise SystemExit(f"{case} by {code} failed:\n{done.stderr[-2000:]}")
    found: dict[str, object] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def noise_of_part(seed: int, n: int = 20_000, kept: int = 5_000) -> list[dict[str, object]]:
    """Return what noise reaches by refits on all rows, and on a part of them, in one fit."""
    import relbounds as rb
    from relbounds.linear.noise import thinning
    from relbounds.linear.noise.evidence import Evidence, Memory
    from relbounds.linear.noise.fwer import block_noise
    from relbounds.linear.noise.judge import tested_terms

    data = rb.simulate.draw("ordinal", n, 2, 2, 4, noise=0.5, seed=seed)
    f = rb.relbounds(data.formula, data.data, C=0.01, delta=0.001, control="fdr", progress=False)._fitted
    out: list[dict[str, object]] = []
    for rows in (n, kept):
        thinning.MANY, thinning.LEAST = (n if rows == n else 1), kept
        evidence = Evidence(
            f.design, f.options, f.spec, f.solution, f.norm, f.delta, f.polytope, f.measured, Memory()
        )
        terms = tested_terms(evidence)
        block = tuple(i for i, term in enumerate(terms) if data.truth[term.name] == "irrelevant")
        begin = time.process_time()
        found = block_noise(evidence, terms, block)
        assert found is not None
        quantiles = dict(
            zip(("q10", "q50", "q90"), np.quantile(found[0].upper, [0.1, 0.5, 0.9]), strict=True)
        )
        out.append({"seed": seed, "n": n, "rows": rows, **quantiles, "seconds": time.process_time() - begin})
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--first", type=Path, help="a working tree of the first version, commit b618986")
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    parser.add_argument("--resume", action="store_true", help="keep what is stored of the first version")
    parser.add_argument("--limit", type=int, default=600, help="processor seconds of a fit at most")
    parser.add_argument("--report", action="store_true", help="only rewrite the report from the stored rows")
    parser.add_argument(
        "--parts", type=int, nargs="?", const=2, help="compare noise of a part, this many seeds"
    )
    args = parser.parse_args()
    if args.parts:
        found = [row for seed in range(1, args.parts + 1) for row in noise_of_part(seed)]
        pd.DataFrame(found).to_csv(common.RESULTS / "long_noise.csv", index=False, float_format="%.4g")
    stored = common.RESULTS / "long.csv"
    rows = pd.read_csv(stored).to_dict("records") if stored.exists() else []
    versions = {"now": HERE.parent, **({} if args.first is None else {"first": args.first.resolve()})}
    for case in [] if args.report or args.parts else args.cases:
        for version, code in versions.items():
            before = any((old["case"], old["version"]) == (case, version) for old in rows)
            if args.resume and version == "first" and before:
                continue
            row = {"case": case, "version": version, "over": False, **measure(case, code, args.limit)}
            rows = [old for old in rows if (old["case"], old["version"]) != (case, version)] + [row]
            pd.DataFrame(rows).to_csv(stored, index=False, float_format="%.4g")
            print(json.dumps(row), flush=True)
    report(pd.DataFrame(rows, columns=None if rows else ["case", "version", "notes"]))


def report(rows: pd.DataFrame) -> None:
    """Write the table: both versions side by side."""
    lines = [
        "| rows x features | now, s | first version, s | times faster | now, GiB | first version, GiB "
        "| relevant or not: right | largest gap |",
        "|---|---|---|---|---|---|---|---|",
    ]
    by = rows.set_index(["case", "version"])
    for case in CASES:
        if (case, "now") not in by.index:
            continue
        now = by.loc[(case, "now")]
        then = by.loc[(case, "first")] if (case, "first") in by.index else None
        old = ["-", "-", "-"]
        if then is not None:
            more = "more than " if str(then["over"]) == "True" else ""
            ratio = f"{more}{then['seconds'] / now['seconds']:.1f}"
            old = [f"{more}{then['seconds']:.1f}", ratio, f"{then['GiB']:.2f}"]
        lines.append(
            f"| {case.replace('x', ' x ')} | {now['seconds']:.1f} | {old[0]} | {old[1]} | {now['GiB']:.2f} | {old[2]} "
            f"| {now['right']:.2f} | {now['gap']:.0e} |"
        )
    said = sorted(
        {str(note) for note in rows.loc[rows["version"] == "now", "notes"] if isinstance(note, str)}
    )
    parts: list[str] = []
    if (common.RESULTS / "long_noise.csv").exists():
        noise = pd.read_csv(common.RESULTS / "long_noise.csv")
        parts = [
            "## Noise refitted on a part of the rows",
            "",
            "Beyond 50,000 rows noise is refitted on a stratified part of them, and scaled. The greatest use of noise "
            "in 19 refits (quantiles, shares of the norm) on all rows, and on a quarter of them, where both can be "
            "done:",
            "",
            common.markdown(noise.astype({"seed": int, "n": int, "rows": int}), 4),
            "",
        ]
    text = "\n".join(
        [
            "# Many rows: a default fit, now and in the first version",
            "",
            *(lines if len(lines) > 2 else ["No fit was measured yet."]),
            "",
            *(
                [
                    "Default options of each version, noise and tolerance included. The copies among the features are "
                    "noisy readings of one source: with so many rows the mean of two readings is measurably better "
                    "than either, so both are found strong; only relevant or not is counted. What the summary says of "
                    "subsamples: " + " / ".join(said),
                    "",
                ]
                if said
                else []
            ),
            *parts,
            common.provenance("python benchmarks/long.py --first ../first", "0"),
        ]
    )
    common.write("long", text)


if __name__ == "__main__":
    main()
