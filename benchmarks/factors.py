"""Simulated factors: false positives of terms and of levels, and what is found: python benchmarks/factors.py

A factor with 2, 3 or 6 levels, balanced or with one level of 3 %, whose effect lies in one level, in all, or in none,
beside one relevant number, a second factor of noise and two numbers of noise; three unequal grades, 200 observations.
Promised: any noise term called relevant in at most 0.05 of the fits, and within a factor of noise no level.
"""

from __future__ import annotations

import warnings
from typing import Any

import common
import numpy as np
import pandas as pd

import relbounds as rb

# Seeds below this served to settle choices.
FRESH = 90_000
N = 200


def draw(levels: int, rare: bool, effect: str, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng([FRESH + seed, levels, rare, len(effect)])
    shares = np.full(levels, 1 / levels)
    if rare:
        shares = np.append(np.full(levels - 1, 0.97 / (levels - 1)), 0.03)
    arm, other = rng.choice(levels, N, p=shares), rng.choice(levels, N, p=shares)
    sizes = {
        "none": np.zeros(levels),
        "one": 1.5 * (np.arange(levels) == 0),
        "all": np.linspace(0, 2, levels),
    }[effect]
    x = rng.normal(size=(N, 3))
    score = sizes[arm] + x[:, 0] + rng.logistic(size=N)
    names = np.array(list("abcdef"))
    data = pd.DataFrame({"arm": names[arm], "other": names[other], "x": x[:, 0], "u": x[:, 1], "v": x[:, 2]})
    codes = np.digitize(score, np.quantile(score, [0.5, 0.8]))
    return data.assign(y=pd.Categorical.from_codes(codes, ["I", "II", "III"], ordered=True))


def work(levels: int, rare: bool, effect: str, seed: int) -> dict[str, Any]:
    data = draw(levels, rare, effect, seed)
    if data["arm"].nunique() < levels or data["other"].nunique() < levels:
        return {"skipped": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rb.relbounds("y ~ arm + other + x + u + v", data, seed=seed, progress=False)
    table = fit.table.assign(relevant=fit.table["relevance"].isin(["strong", "weak"]))
    terms = table[table["row"] == "term"].set_index("term")
    noise = ["other", "u", "v"] + (["arm"] if effect == "none" else [])
    of_other = table[(table["row"] == "level") & table["term"].isin(noise)]
    rarest = of_other[of_other.index.str.contains(f"[{'abcdef'[levels - 1]}]", regex=False)]
    return {
        "skipped": 0,
        "false": int(terms.loc[noise, "relevant"].any()),
        "false_levels": int(of_other["relevant"].any()),
        "false_rarest": int(rarest["relevant"].any()),
        "found": int(terms.loc["arm", "relevant"]),
        "strong": int(terms.loc["arm", "relevance"] == "strong"),
    }


def report(rows: pd.DataFrame) -> str:
    lines = [
        "| levels | rarest | effect | fits | false term | 95 % interval | false level | of the last level "
        "| arm found | strong |",
        "|---" * 10 + "|",
    ]
    rows = rows[rows["skipped"] == 0]
    for (levels, rare, effect), own in rows.groupby(["levels", "rare", "effect"]):
        low, high = common.wilson(int(own["false"].sum()), len(own))
        share = own.mean(numeric_only=True)
        cells = [
            str(levels),
            "3 %" if rare else "equal",
            effect,
            str(len(own)),
            f"{share['false']:.3f}",
            f"{low:.3f}-{high:.3f}",
            f"{share['false_levels']:.3f}",
            f"{share['false_rarest']:.3f}",
            "" if effect == "none" else f"{share['found']:.2f}",
            "" if effect == "none" else f"{share['strong']:.2f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    low, high = common.wilson(int(rows["false"].sum()), len(rows))
    lines += [
        "",
        f"All rows: a false term in {rows['false'].mean():.3f} ({low:.3f}-{high:.3f}) of {len(rows)} fits, a ",
    ]
    lines[-1] += f"false level in {rows['false_levels'].mean():.3f}."
    return "\n".join(lines) + "\n"


def main() -> None:
    args = common.parser(__doc__ or "", 200).parse_args()
    tasks = [
        {"levels": levels, "rare": rare, "effect": effect, "seed": seed}
        for seed in range(args.seeds)
        for levels in (2, 3, 6)
        for rare in (False, True)
        for effect in ("none", "one", "all")
    ]
    text = report(common.run("factors", work, tasks, args))
    print(text)
    (common.RESULTS / "factors.md").write_text("# Simulated factors\n\n" + text)


if __name__ == "__main__":
    main()
