"""Are the noise thresholds honest? python benchmarks/calibration.py

False positives: the share of features without any relation to the response that are called relevant, against
1 - level; on data with no relation at all (random levels) and on data where other features matter. Strong
calls: the share of weakly relevant features, which have stand-ins, that are called strong.

One fit gives 200 probes; from them the t and the order interval are computed at several levels, the t interval also
from the first 50 probes, which is what a fit uses by default. `interval="refit"` is fitted at two levels.
"""

from __future__ import annotations

import warnings
from typing import Any

import matplotlib

matplotlib.use("Agg")
import common
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import relbounds as rb
from relbounds import simulate
from relbounds.noise_intervals import prediction_interval

LEVELS = (0.95, 0.99, 0.999)
REFITTED = (0.99, 0.999)
PROBES = {"t, 50 probes": ("t", 50), "t, 200 probes": ("t", 200), "order, 200 probes": ("order", 200)}
RULES = (*PROBES, "refit, 50 probes")
SIZES = [(100, 10), (100, 30), (300, 10), (300, 30), (300, 100), (1000, 10), (1000, 30)]


def random_labels(n: int, d: int, correlation: float, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """d features, four equally frequent levels, nothing in common."""
    rng = np.random.default_rng([seed, n, d])
    shared = rng.standard_normal((n, 1))
    X = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.standard_normal((n, d))
    data = pd.DataFrame(X, columns=[f"x{k + 1}" for k in range(d)])
    data.insert(0, "y", pd.Categorical(rng.permutation(np.arange(n) % 4 + 1), [1, 2, 3, 4], ordered=True))
    return data, pd.Series("irrelevant", index=data.columns[1:])


def simulated(scene: str, n: int, d: int, correlation: float, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    if scene == "random labels":
        return random_labels(n, d, correlation, seed)
    if scene == "signal":
        sim = simulate.ordinal(n, 2, 3, d - 5, n_levels=4, noise=0.5, correlation=correlation, seed=seed)
        return sim.data, sim.truth
    # weak features only, in two groups, half of the features irrelevant
    half = d // 2
    noise = float(scene.split()[-1])
    sim = simulate.ordinal(
        n, 0, half, d - half, groups=2, n_levels=4, noise=noise, correlation=correlation, seed=seed
    )
    return sim.data, sim.truth


def fit(data: pd.DataFrame, delta: str, seed: int, **options: Any) -> rb.RelboundsResults:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tolerance = "1se" if delta == "1se" else float(delta)
        return rb.relbounds(
            "y ~ .", data, delta=tolerance, seed=seed, solver="auto", progress=False, **options
        )


def work(scene: str, n: int, d: int, correlation: float, delta: str, seed: int, rule: str) -> dict[str, Any]:
    data, truth = simulated(scene, n, d, correlation, seed)
    idle, weak = (truth == "irrelevant").to_numpy(), (truth == "weak").to_numpy()
    out: dict[str, Any] = {"idle": int(idle.sum()), "weak": int(weak.sum())}

    def count(name: str, level: float, relevant: np.ndarray, strong: np.ndarray) -> None:
        out[f"{name} {level} false"] = int((relevant & idle).sum())
        out[f"{name} {level} strong"] = int((strong & weak).sum())
        out[f"{name} {level} found"] = int((relevant & weak).sum())

    if rule == "refit":
        C = None
        for level in REFITTED:
            result = fit(data, delta, seed, interval="refit", level=level, C=C)
            C = result.baseline.C
            found = result.table["relevance"].loc[truth.index].to_numpy()
            count("refit, 50 probes", level, found != "irrelevant", found == "strong")
            if "chance" not in out:
                out["chance"] = any("better than chance" in note for note in result.notes)
        return out
    result = fit(data, delta, seed, probes=200)
    population = result._fitted.populations["regular"]
    table = result.table.loc[truth.index]
    out |= {"probes": len(population.upper), "skew": float(pd.Series(population.upper).skew())}
    for name, (kind, m) in PROBES.items():
        for level in LEVELS:
            low = prediction_interval(population.lower[:m], level, kind).upper
            high = prediction_interval(population.upper[:m], level, kind).upper
            relevant = table["upper"].to_numpy() > high + 1e-6
            count(name, level, relevant, relevant & (table["lower"].to_numpy() > low + 1e-6))
    return out


def tasks(args: Any) -> list[dict[str, Any]]:
    out = []
    for delta in ("1se", "0.001"):
        for seed in range(args.seeds):
            cases = [
                (scene, n, d, correlation)
                for correlation in (0.0, 0.5)
                for n, d in SIZES
                if n * d < 30_000 or seed < max(1, args.seeds // 3)
                for scene in ("random labels", "signal")
            ]
            cases += [(f"weak only, noise {noise}", 300, 12, 0.0) for noise in (0.0, 0.25, 0.5)]
            for rule in ("probes", "refit"):
                for scene, n, d, correlation in cases:
                    out.append({"scene": scene, "n": n, "d": d, "correlation": correlation, "delta": delta})
                    out[-1] |= {"seed": seed, "rule": rule}
    return sorted(
        out, key=lambda t: (t["n"] * t["d"] >= 30_000, t["delta"] != "1se", t["seed"], t["rule"] == "probes")
    )


def share(rows: pd.DataFrame, hits: str, total: str) -> str:
    if hits not in rows:
        return "-"
    rows = rows[rows[hits].notna()]
    k, n = int(rows[hits].sum()), int(rows[total].sum())
    if n == 0:
        return "-"
    low, high = common.wilson(k, n)
    return f"{k / n:.4f} ({low:.4f}-{high:.4f}; {k} of {n})"


def pooled(rows: pd.DataFrame, column: str, total: str) -> pd.DataFrame:
    records = []
    for rule in RULES:
        for level in LEVELS:
            records.append(
                {
                    "interval": rule,
                    "level": str(level),
                    "promised": f"{1 - level:.3f}",
                    "observed (95 % CI)": share(rows, f"{rule} {level} {column}", total),
                }
            )
    return pd.DataFrame(records)


def report(rows: pd.DataFrame, args: Any) -> str:
    failed = int(rows["error"].notna().sum())
    good = rows[rows["error"].isna()]
    text = ["# Calibration of the noise threshold", ""]
    text += [
        common.provenance("python benchmarks/calibration.py", f"0-{good['seed'].max()}"),
        f"Failed runs: {failed}.",
        "",
        "![False positives by setting](calibration.png)",
        "",
    ]
    for delta in ("1se", "0.001"):
        for scene in ("random labels", "signal"):
            here = good[(good["delta"].astype(str) == delta) & (good["scene"] == scene)]
            if not len(here):
                continue
            name = (
                "no relation at all"
                if scene == "random labels"
                else "irrelevant features beside relevant ones"
            )
            text += [
                f"## False positives, {name}, delta {delta}",
                "",
                common.markdown(pooled(here, "false", "idle")),
            ]
            text += [f"\nMean skewness of the probes' maxrel: {here['skew'].mean():.2f}."]
            said = here["chance"].dropna() if "chance" in here else []
            if len(said):
                text += [
                    f"The summary says that the model is not clearly better than chance in {int(sum(said == True))} of "  # noqa: E712
                    f"{len(said)} fits."
                ]
            text += [""]
    here = good[good["scene"].isin(["random labels", "signal"])]
    by = []
    for (scene, delta, correlation, n, d), part in here.groupby(["scene", "delta", "correlation", "n", "d"]):
        row: dict[str, Any] = {"scene": scene, "delta": delta, "correlation": correlation, "n": n, "d": d}
        row["features"] = int(part.drop_duplicates("seed")["idle"].sum())
        for rule in RULES:
            row[f"{rule}: 0.99"] = share(part, f"{rule} 0.99 false", "idle").split(" ")[0]
        by.append(row)
    text += [
        "## By setting: false positives at level 0.99 (promised 0.010)",
        "",
        common.markdown(pd.DataFrame(by)),
        "",
    ]
    weak = good[good["scene"].str.startswith("weak")]
    records = []
    for (scene, delta), part in weak.groupby(["scene", "delta"]):
        for rule in RULES:
            records.append(
                {
                    "data": scene,
                    "delta": delta,
                    "interval": rule,
                    "called strong at 0.999": share(part, f"{rule} 0.999 strong", "weak"),
                    "found relevant at 0.999": share(part, f"{rule} 0.999 found", "weak"),
                }
            )
    text += ["## Weak features called strong", "", common.markdown(pd.DataFrame(records)), ""]
    notes = common.RESULTS / "calibration_notes.md"
    if notes.exists():
        text += [notes.read_text().rstrip(), ""]
    return "\n".join(text)


def figure(rows: pd.DataFrame) -> None:
    fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained", sharey=True)
    colours = dict(zip(RULES, ("#6fa8dc", "#0b5394", "#e69138", "#6aa84f"), strict=True))
    for ax, scene in zip(axes, ("random labels", "signal"), strict=True):
        here = rows[(rows["scene"] == scene) & (rows["delta"].astype(str) == "1se")]
        for i, rule in enumerate(RULES):
            for j, level in enumerate(LEVELS):
                column = f"{rule} {level} false"
                some = here[here[column].notna()] if column in here else here[:0]
                k, n = (int(some[c].sum()) if len(some) else 0 for c in (column, "idle"))
                if n == 0:
                    continue
                low, high = common.wilson(k, n)
                x = j + (i - 1.5) * 0.16
                ax.plot([x, x], [low, high], color=colours[rule], lw=2)
                ax.plot(x, k / n, "o", color=colours[rule], label=rule if j == 0 else None, ms=5)
        for j, level in enumerate(LEVELS):
            ax.plot([j - 0.35, j + 0.35], [1 - level] * 2, color="black", lw=1, ls="--")
        ax.set(xticks=range(3), xticklabels=[str(v) for v in LEVELS], xlabel="level")
        title = "Random labels" if scene == "random labels" else "Irrelevant beside relevant"
        ax.set_title(title, loc="left")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("share called relevant")
    axes[0].set_yscale("symlog", linthresh=1e-3)
    axes[0].legend(frameon=False, fontsize=8)
    axes[0].set_ylim(0, 0.2)
    fig.savefig(common.RESULTS / "calibration.png", dpi=130)
    plt.close(fig)


def main() -> None:
    args = common.parser("False positives against the promised level.", seeds=20).parse_args()
    rows = common.run("calibration", work, tasks(args), args)
    figure(rows[rows["error"].isna()])
    common.write("calibration", report(rows, args))


if __name__ == "__main__":
    main()
