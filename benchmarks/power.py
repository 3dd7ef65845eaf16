"""How much data does it take? python benchmarks/power.py

Recall of strong and of weak features, and false positives, against the number of rows and the noise, for
three tolerances: delta = 0.001 (the papers), 1se (the default) and 2se.
"""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib

matplotlib.use("Agg")
import common
import matplotlib.pyplot as plt
import pandas as pd

import relbounds as rb
from relbounds import simulate

DELTAS = ("0.001", "1se", "2se")
ROWS = (50, 100, 200, 400, 800)
NOISES = (0.0, 0.25, 0.5, 1.0)


def work(n: int, noise: float, delta: str, seed: int) -> dict[str, Any]:
    sim = simulate.ordinal(n, 3, 4, 5, noise=noise, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rb.relbounds(
            sim.formula,
            sim.data,
            delta=delta if delta.endswith("se") else float(delta),
            seed=seed,
            solver="auto",
            progress=False,
        )
    found = fit.table["relevance"].loc[sim.truth.index]
    relevant = found != "irrelevant"
    return {
        "strong found": float(relevant[sim.truth == "strong"].mean()),
        "strong as strong": float((found[sim.truth == "strong"] == "strong").mean()),
        "weak found": float(relevant[sim.truth == "weak"].mean()),
        "weak as weak": float((found[sim.truth == "weak"] == "weak").mean()),
        "false positives": float(relevant[sim.truth == "irrelevant"].mean()),
        "delta used": fit.delta,
    }


def tasks(args: Any) -> list[dict[str, Any]]:
    return [
        {"n": n, "noise": noise, "delta": delta, "seed": seed}
        for n in ROWS
        for seed in range(args.seeds)
        for noise in NOISES
        for delta in DELTAS
    ]


MEASURES = ("strong found", "strong as strong", "weak found", "weak as weak", "false positives", "delta used")


def report(rows: pd.DataFrame) -> str:
    good = rows[rows["error"].isna()]
    text = ["# Power: rows, noise and the tolerance", ""]
    text += [
        common.provenance("python benchmarks/power.py", f"0-{good['seed'].max()}"),
        f"Failed runs: {int(rows['error'].notna().sum())}. Data: 3 strong, 4 weak (one group), "
        "5 irrelevant features, five levels; "
        'level 0.999, 50 probes. "strong found": share of strong features called '
        'relevant; "as strong": called strong.',
        "",
        "![Recall by rows and noise](power.png)",
        "",
    ]
    fits = good.groupby("n").size()
    wanted = len(NOISES) * len(DELTAS)
    text += [
        "Seeds per setting: " + ", ".join(f"n = {n}: {k / wanted:.1f}" for n, k in fits.items()) + ".",
        "",
    ]
    for value in MEASURES:
        table = good.pivot_table(index=["noise", "delta"], columns="n", values=value, aggfunc="mean")
        table.index = [f"noise {noise}, delta {delta}" for noise, delta in table.index]
        table.index.name = "setting"
        text += [f"## {value}", "", common.markdown(table, 3 if value == "delta used" else 2), ""]
    notes = common.RESULTS / "power_notes.md"
    if notes.exists():
        text += [notes.read_text().rstrip(), ""]
    return "\n".join(text)


def figure(rows: pd.DataFrame) -> None:
    shown = ("strong as strong", "weak found", "weak as weak", "false positives")
    fig, axes = plt.subplots(
        len(shown), len(NOISES), figsize=(9.5, 8), sharex=True, sharey="row", layout="constrained"
    )
    colours = {"0.001": "#e69138", "1se": "#0b5394", "2se": "#6fa8dc"}
    for i, value in enumerate(shown):
        for j, noise in enumerate(NOISES):
            ax = axes[i, j]
            for delta in DELTAS:
                here = rows[(rows["noise"] == noise) & (rows["delta"].astype(str) == delta)]
                line = here.groupby("n")[value].mean()
                ax.plot(line.index, line, "o-", color=colours[delta], ms=4, label=f"delta {delta}")
            ax.set_xscale("log")
            ax.set_xticks(ROWS, [str(n) for n in ROWS])
            ax.minorticks_off()
            ax.spines[["top", "right"]].set_visible(False)
            if i == 0:
                ax.set_title(f"noise sd {noise}", fontsize=10)
            if j == 0:
                ax.set_ylabel(value)
        axes[i, 0].set_ylim((-0.02, 1.04) if value != "false positives" else (-0.005, 0.2))
    for ax in axes[-1]:
        ax.set_xlabel("rows")
    axes[0, -1].legend(frameon=False, fontsize=8)
    fig.savefig(common.RESULTS / "power.png", dpi=130)
    plt.close(fig)


def main() -> None:
    args = common.parser("Recall against rows, noise and delta.", seeds=10).parse_args()
    rows = common.run("power", work, tasks(args), args)
    rows["delta"] = rows["delta"].astype(str)
    figure(rows[rows["error"].isna()])
    common.write("power", report(rows))


if __name__ == "__main__":
    main()
