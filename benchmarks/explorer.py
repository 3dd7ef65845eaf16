"""How long a move in the explorer takes, and what the sliders of a report cost: processor time and file size.

Each move is a question of the page, from the wish to the list of bounds: an end of a weak term dragged in steps, a term
switched off, a term held from below, two and three constraints at once. 20 features, 6000 rows. The report:
responses of all terms to each other, by number of terms, and how large the file is.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from common import markdown, parser, provenance, run, write

import relbounds as rb
from relbounds.show.explorer.answers import Answers

FRESH = 50000
MOVES, REPORTS = "a move in the explorer", "sliders of a report"


def simulated(n: int, d: int, seed: int) -> Any:
    data = rb.simulate.binary(n=n, strong=3, weak=d // 3, irrelevant=d - 3 - d // 3, seed=seed)
    return rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr", progress=False)


def work(what: str, n: int, d: int, seed: int) -> dict[str, Any]:
    fit = simulated(n, d, FRESH + seed)
    return moves(fit) if what == MOVES else report(fit)


def moves(fit: Any) -> dict[str, Any]:
    answers, upper = Answers(fit._fitted), fit.table["upper"].to_numpy()
    asked = [[[3, None, round(share * upper[3], 3)]] for share in np.linspace(0.9, 0.1, 9)]
    asked += [[[3, 0, 0]], [[4, 0, 0]], [[3, round(upper[3] / 2, 3), None]]]
    asked += [
        [[3, 0, 0], [4, None, round(upper[4] / 3, 3)]],
        [[3, 0, 0], [4, 0, 0], [5, None, round(upper[5] / 2, 3)]],
    ]
    seconds = []
    for wishes in asked:
        begun = time.process_time()
        answers.bounds(wishes)
        seconds.append(time.process_time() - begun)
    return {"moves": len(asked), "median": float(np.median(seconds)), "worst": max(seconds)}


def report(fit: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        found = {}
        fit.plot()  # libraries that draw are loaded before anything is timed
        for interactive in (False, True):
            begun = time.process_time()
            fit.write_report(path, groups=False, interactive=interactive)
            found[interactive] = time.process_time() - begun, path.stat().st_size / 1e6
    return {
        "without": found[False][0], "median": found[True][0], "worst": found[True][0], "megabytes": found[True][1],
    }  # fmt: skip


def main() -> None:
    args = parser(__doc__.splitlines()[0], seeds=3).parse_args()
    tasks = [{"what": MOVES, "n": 6000, "d": 20, "seed": seed} for seed in range(args.seeds)]
    tasks += [{"what": REPORTS, "n": 300, "d": d, "seed": 0} for d in (6, 8, 20, 40)]
    rows = run("explorer", work, tasks, args)
    kept = rows[rows["error"].isna()] if "error" in rows else rows
    moved, written = kept[kept["what"] == MOVES], kept[kept["what"] == REPORTS].sort_values("d")
    made = pd.DataFrame(
        {
            "terms": written["d"].astype(int).astype(str),
            "seconds without sliders": written["without"],
            "with": written["median"],
            "megabytes": written["megabytes"],
        }
    )
    lines = [
        "# The explorer and the sliders of a report",
        "",
        f"A move, 20 features and 6000 rows, from the wish to all bounds, in seconds of processor time over "
        f"{int(moved['moves'].sum())} moves in {len(moved)} fits: median {moved['median'].median():.2f}, worst "
        f"{moved['worst'].max():.2f}.",
        "",
        "A report of 300 rows, in seconds of processor time:",
        "",
        markdown(made),
        "",
        provenance("python benchmarks/explorer.py", f"{FRESH} to {FRESH + args.seeds - 1}"),
    ]
    write("explorer", "\n".join(lines))


if __name__ == "__main__":
    main()
