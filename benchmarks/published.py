"""The papers' selection studies, their figures and ours side by side: python benchmarks/published.py.

Published figures are typed in below with their source. Ours come from `relbounds.simulate`, which draws the
same kind of data afresh; they are means over seeds. Peers run here on the same data.
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
import peers

import relbounds as rb
from relbounds import simulate
from relbounds.simulate import recipe

# L. Pfannschmidt's thesis on feature relevance bounds, tables 4.2 (clean) and 4.3 (noise sd 0.5), 30 runs;
# also table 2 of the ordinal paper of 2020. (elastic net, explicit, implicit) by set.
ORDINAL = {
    ("clean", "F1"): [
        (0.94, 1.0, 1.0), (0.79, 1.0, 1.0), (0.81, 1.0, 1.0), (0.83, 1.0, 1.0), (0.83, 1.0, 1.0),
        (0.25, 1.0, 1.0), (0.49, 1.0, 1.0), (0.95, 1.0, 1.0), (0.53, 0.98, 0.98),
    ],
    ("clean", "precision"): [
        (0.90, 1.0, 1.0), (0.86, 1.0, 1.0), (0.95, 1.0, 1.0), (0.95, 1.0, 1.0), (0.89, 1.0, 1.0),
        (1.0, 1.0, 1.0), (0.97, 1.0, 1.0), (0.91, 1.0, 1.0), (1.0, 0.97, 0.97),
    ],
    ("clean", "recall"): [
        (1.0, 1.0, 1.0), (0.82, 1.0, 1.0), (0.74, 1.0, 1.0), (0.77, 1.0, 1.0), (0.84, 1.0, 1.0),
        (0.15, 1.0, 1.0), (0.41, 1.0, 1.0), (1.0, 1.0, 1.0), (0.37, 1.0, 1.0),
    ],
    ("noise", "F1"): [
        (0.92, 0.95, 0.98), (0.89, 0.97, 0.98), (0.85, 0.97, 0.96), (0.80, 0.96, 0.97), (0.86, 1.0, 1.0),
        (0.56, 0.94, 0.94), (0.46, 0.90, 0.91), (0.80, 0.98, 0.98), (0.60, 1.0, 1.0),
    ],
    ("noise", "precision"): [
        (0.87, 1.0, 1.0), (0.86, 1.0, 1.0), (0.90, 1.0, 1.0), (0.91, 1.0, 1.0), (0.81, 1.0, 1.0),
        (1.0, 1.0, 1.0), (0.84, 1.0, 1.0), (0.95, 1.0, 1.0), (1.0, 1.0, 1.0),
    ],
    ("noise", "recall"): [
        (0.99, 0.92, 0.96), (0.94, 0.96, 0.96), (0.83, 0.95, 0.93), (0.74, 0.93, 0.94), (0.99, 1.0, 1.0),
        (0.40, 0.89, 0.89), (0.35, 0.84, 0.86), (0.70, 0.97, 0.97), (0.43, 1.0, 1.0),
    ],
}  # fmt: skip
# The same, table 4.9, 10 runs: F1 of regular (elastic net, fri) and privileged (elastic net, fri) features.
PRIVILEGED = [
    (0.44, 1.0, 0.89, 1.0), (0.48, 1.0, 0.85, 1.0), (0.65, 1.0, 0.91, 1.0), (0.58, 1.0, 0.88, 1.0),
    (0.67, 1.0, 0.92, 1.0), (0.40, 1.0, 0.69, 0.99), (0.93, 1.0, 1.0, 1.0), (0.70, 1.0, 1.0, 1.0),
]  # fmt: skip
# The same, tables 3.1 and 3.3, 50 sets: F1 of (boruta, ensemble, elastic net, fri, stability selection).
BINARY = [
    (0.98, 0.96, 0.62, 0.98, 0.77), (0.82, 0.76, 0.84, 0.98, 0.75), (0.91, 0.71, 0.44, 0.99, 1.00),
    (0.82, 0.84, 0.82, 0.99, 0.91), (0.98, 0.94, 0.80, 0.99, 0.27),
]  # fmt: skip
# The same, table 3.7: V-measure of (correlation clustering, fri, HDBSCAN).
GROUPS = [(0.72, 1.00, 0.79), (0.89, 0.90, 0.81), (1.00, 1.00, 1.00)]

NOISE = {"clean": 0.0, "noise": 0.5}
SHARED = "noise shared by copies"
FEWER = {("privileged", way, 6): 1 for way in ("slack", "slack, residual")}
"""Fits that take minutes: one draw."""
OURS: dict[str, dict[str, Any]] = {
    "default": {},
    "published mode": {**rb.published},
    "published mode, implicit": {**rb.published, "order": "implicit"},
}
FRESH = 50_000
"""Our fits are drawn from here on: seeds below served to settle choices. Peers keep the draws 0, 1, 2, ... they had."""
PEERS = ("fri", "elastic net", "stability", "boruta")


def fit(sim: simulate.Simulated, seed: int, **options: Any) -> rb.RelboundsResults:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rb.relbounds(sim.formula, sim.data, seed=seed, progress=False, solver="auto", **options)


def classes(result: rb.RelboundsResults, part: str = "regular") -> pd.Series:
    table = result.table
    return table.loc[table["part"] == part, "relevance"]


def shared_noise(number: int, seed: int) -> simulate.Simulated:
    """A noisy ordinal set whose copies are exact: the noise comes before the copying."""
    n, strong, weak, irrelevant = simulate.papers.PAPER_SETS[number]
    layout = recipe.make_layout(strong, weak, irrelevant, 1)
    rng = np.random.default_rng(seed)
    clean = recipe.gaussian(rng, n, layout.n_informative, 0.0)
    y = recipe.make_response(rng, clean.sum(axis=1), "ordinal", 5, 0.0, 0.0)
    noisy = clean + NOISE["noise"] * rng.standard_normal(clean.shape)
    X = recipe.standardise(recipe.clean_columns(rng, noisy, layout, 0.0))
    return recipe.assemble(y, X, layout)


def work(study: str, data: str, number: int, method: str, seed: int) -> dict[str, Any]:
    if study == "ordinal":
        sim = shared_noise(number, seed) if data == SHARED else simulate.paper_set(number, NOISE[data], seed)
        if method in OURS:
            return common.selection_scores(sim.truth, classes(fit(sim, seed, **OURS[method])))
        return common.selection_scores(
            sim.truth, peers.select(method, sim.data, list(sim.truth.index), "ordinal", seed)
        )
    if study == "binary":
        sim = simulate.paper_binary_set(number, seed=seed)
        if method in OURS:
            return common.selection_scores(sim.truth, classes(fit(sim, seed, **OURS[method])))
        return common.selection_scores(
            sim.truth, peers.select(method, sim.data, list(sim.truth.index), "binary", seed)
        )
    if study == "privileged":
        sim = simulate.paper_privileged_set(number, seed=seed)
        options = {
            "slack": {"privileged": "slack"},
            "slack, residual": {"privileged": "slack", "residual": "auto"},
            "teacher": {"privileged": "teacher"},
        }[method]
        result = fit(sim, seed, **options)
        regular = common.selection_scores(sim.truth, classes(result))
        hidden = common.selection_scores(sim.truth_privileged, classes(result, "privileged"))
        return {**regular, **{f"privileged {k}": v for k, v in hidden.items()}}
    from sklearn.metrics import v_measure_score

    sim = simulate.paper_group_set(number, seed=seed)
    result = fit(sim, seed, **OURS[method])
    return {"V": grouping_score(result, sim.groups, v_measure_score)}


def grouping_score(result: rb.RelboundsResults, truth: pd.Series, measure: Any) -> float:
    """V-measure of the flat groups; irrelevant features form one outlier group, as in the paper."""
    found = pd.Series(result.groups().labels).reindex(truth.index)
    relevant = classes(result).reindex(truth.index) != "irrelevant"
    return float(measure(truth, found.where(relevant, -1).fillna(-1).astype(int)))


def tasks(args: Any) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []

    def add(study: str, data: str, number: int, methods: Any, seeds: int) -> None:
        for method in methods:
            first = 0 if method in PEERS else FRESH
            out.extend(
                {"study": study, "data": data, "number": number, "method": method, "seed": first + s}
                for s in range(min(seeds, FEWER.get((study, method, number), seeds)))
            )

    few = min(args.seeds, args.peer_seeds)
    if "ordinal" in args.only:
        for number in simulate.papers.PAPER_SETS:
            for data in NOISE:
                add("ordinal", data, number, OURS, args.seeds)
                if number < 8:
                    add("ordinal", data, number, PEERS, few)
            if number < 8:
                add("ordinal", SHARED, number, ("published mode",), args.seeds)
    if "binary" in args.only:
        for number in simulate.papers.PAPER_BINARY_SETS:
            add("binary", "noise 0.1", number, ("default", "published mode"), args.seeds)
            add("binary", "noise 0.1", number, PEERS, few)
    if "privileged" in args.only:
        for number in simulate.papers.PAPER_PRIVILEGED_SETS:
            add("privileged", "noise 0.2", number, ("slack", "slack, residual", "teacher"), args.seeds)
    if "groups" in args.only:
        for number in simulate.papers.PAPER_GROUP_SETS:
            add("groups", "identical pairs", number, ("default", "published mode"), args.seeds)
    if args.methods:
        out = [task for task in out if task["method"] in args.methods]
    # the quick ones first, so that a run that is stopped has most of the table
    slow = {"boruta": 5, "fri": 4, "published mode, implicit": 1, "slack": 3, "slack, residual": 3}
    return sorted(
        out,
        key=lambda t: (
            t["number"] == 9,
            t["number"] == 6 and t["study"] == "privileged",
            t["method"] in ("fri", "boruta"),
            t["number"] == 8 and t["study"] == "ordinal",
            t["seed"] % FRESH >= 3,
            slow.get(t["method"], 0),
            t["data"] == "clean",
            t["seed"],
        ),
    )


def means(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    return rows.pivot_table(index="number", columns="method", values=value, aggfunc="mean")


def ordinal_report(rows: pd.DataFrame) -> list[str]:
    text = ["## Ordinal selection, sets 1-9", ""]
    text += [
        "Published: explicit and implicit variants, and the elastic-net surrogate (30 runs). "
        "Other columns: run here.",
        "",
    ]
    for data in NOISE:
        here = rows[(rows["study"] == "ordinal") & (rows["data"] == data)]
        for value in ("F1", "precision", "recall", "classes"):
            table = means(here, value).reindex(columns=[*OURS, *PEERS])
            if value != "classes":
                published = pd.DataFrame(
                    ORDINAL[data, value],
                    index=range(1, 10),
                    columns=["published elastic net", "published explicit", "published implicit"],
                )
                table = published.join(table)
            else:
                table = table.dropna(axis=1, how="all")
            table.index.name = "set"
            name = {"classes": "class accuracy (strong/weak/irrelevant right)"}.get(value, value)
            text += [
                f"### {name}, {'clean' if data == 'clean' else 'noise sd 0.5'}",
                "",
                common.markdown(table),
                "",
            ]
    return text


def shared_report(rows: pd.DataFrame) -> list[str]:
    """The same sets with the noise added before the copying."""
    here = rows[(rows["study"] == "ordinal") & (rows["data"] == SHARED)]
    if not len(here):
        return []
    own = rows[(rows["study"] == "ordinal") & (rows["data"] == "noise")]
    published = [row[1] for row in ORDINAL["noise", "F1"]]
    table = pd.DataFrame({"published explicit": published}, index=range(1, 10))
    for method in ("published mode",):
        table[f"{method}: each copy its own noise"] = means(own, "F1").get(method)
        table[f"{method}: noise shared by copies"] = means(here, "F1").get(method)
    table = table.dropna()
    table.index.name = "set"
    return ["### F1, noise sd 0.5, by whether the copies share the noise", "", common.markdown(table), ""]


def report(rows: pd.DataFrame, args: Any) -> str:
    failed = rows["error"].notna() if "error" in rows else pd.Series(False, index=rows.index)
    good = rows[~failed]
    text = ["# Published figures and ours", ""]
    counts = good[good["seed"] >= FRESH].groupby("study")["seed"].nunique().to_dict()
    text += [
        common.provenance(
            "python benchmarks/published.py",
            f"ours from {FRESH} on, peers from 0 on; "
            + ", ".join(f"{k}: {v} draws" for k, v in counts.items()),
        ),
        f"Failed runs: {int(failed.sum())}. A dash: not run. The last table counts the runs behind each mean.",
        "",
        "![F1 by set](published.png)",
        "",
    ]
    text += ordinal_report(good)
    text += shared_report(good)
    binary = good[good["study"] == "binary"]
    if len(binary):
        published = pd.DataFrame(
            BINARY,
            index=range(1, 6),
            columns=[f"published {n}" for n in ("boruta", "ensemble", "elastic net", "fri", "stability")],
        )
        for value in ("F1", "precision", "recall"):
            ours = ["default", "published mode"]
            table = means(binary, value).reindex(columns=[*ours, *PEERS])
            table.columns = [f"relbounds {c}" if c in ours else c for c in table.columns]
            table = published.join(table) if value == "F1" else table
            table.index.name = "set"
            text += [f"## Binary selection, {value}, sets Sim1-Sim5", "", common.markdown(table), ""]
    hidden = good[good["study"] == "privileged"]
    if len(hidden):
        published = pd.DataFrame(
            PRIVILEGED,
            index=range(1, 9),
            columns=[
                "published EN, regular",
                "published fri, regular",
                "published EN, priv.",
                "published fri, priv.",
            ],
        )
        table = published
        for value, label in (("F1", "regular"), ("privileged F1", "priv.")):
            ours = means(hidden, value)
            ours.columns = [f"{c}: {label}" for c in ours.columns]
            table = table.join(ours)
        table.index.name = "set"
        most = hidden.groupby(["number", "method"]).size().max()
        text += [
            "## Privileged selection, F1 of regular and of privileged features",
            "",
            f"Noise sd 0.2 (sets 7 and 8: none), {most} data sets per cell at most; "
            "more in `privileged_sets.md`.",
            "",
            common.markdown(table),
            "",
        ]
    grouped = good[good["study"] == "groups"]
    if len(grouped):
        published = pd.DataFrame(
            GROUPS,
            index=range(1, 4),
            columns=["published correlation", "published fri", "published HDBSCAN"],
        )
        ours = means(grouped, "V")
        ours.columns = [f"relbounds {c}" for c in ours.columns]
        table = published.join(ours)
        table.index.name = "set"
        text += ["## Groups, V-measure", "", common.markdown(table), ""]
    runs = good.pivot_table(
        index=["study", "data", "number"], columns="method", values="seed", aggfunc="nunique"
    )
    runs.index = [f"{study} {number}, {data}" for study, data, number in runs.index]
    runs.index.name = "set"
    text += ["## Runs behind each mean", "", common.markdown(runs, 0), ""]
    notes = common.RESULTS / "published_notes.md"
    if notes.exists():
        text += [notes.read_text().rstrip(), ""]
    return "\n".join(text)


def figure(rows: pd.DataFrame) -> None:
    here = rows[(rows["study"] == "ordinal") & (rows["data"] == "noise")]
    lines = {
        "relbounds, default": means(here, "F1").get("default"),
        "relbounds, published mode": means(here, "F1").get("published mode"),
        "fri 9, run here": means(here, "F1").get("fri"),
        "fri, published": pd.Series([row[1] for row in ORDINAL["noise", "F1"]], index=range(1, 10)),
        "elastic net, published": pd.Series([row[0] for row in ORDINAL["noise", "F1"]], index=range(1, 10)),
        "boruta, run here": means(here, "F1").get("boruta"),
    }
    fig, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
    lines = {k: v for k, v in lines.items() if v is not None}
    width = 0.8 / len(lines)
    colours = ["#0b5394", "#6fa8dc", "#e69138", "#f6b26b", "#b7b7b7", "#6aa84f"]
    for i, ((name, values), colour) in enumerate(zip(lines.items(), colours, strict=False)):
        ax.bar(values.index + (i - (len(lines) - 1) / 2) * width, values, width, label=name, color=colour)
    ax.set(xlabel="set", ylabel="F1 of relevant features", ylim=(0, 1.02), xticks=np.arange(1, 10))
    ax.set_title("Ordinal selection with noise (sd 0.5)", loc="left")
    ax.legend(ncols=3, fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    ax.spines[["top", "right"]].set_visible(False)
    fig.savefig(common.RESULTS / "published.png", dpi=130)
    plt.close(fig)


def main() -> None:
    options = common.parser("Published figures and ours, side by side.", seeds=10)
    options.add_argument("--peer-seeds", type=int, default=3, help="seeds for peers")
    options.add_argument("--methods", nargs="+", help="of these alone")
    options.add_argument(
        "--only",
        nargs="+",
        default=["ordinal", "binary", "privileged", "groups"],
        choices=["ordinal", "binary", "privileged", "groups"],
    )
    args = options.parse_args()
    rows = common.run("published", work, tasks(args), args)
    # rows of options that are no more stay out
    rows = rows[rows["method"].isin([*OURS, *PEERS, "slack", "slack, residual", "teacher"])]
    good = rows[rows["error"].isna()]
    figure(good)
    common.write("published", report(rows, args))


if __name__ == "__main__":
    main()
