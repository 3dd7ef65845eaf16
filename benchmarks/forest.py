"""Non-linear relevance beside the published tables: python benchmarks/forest.py

Linear sets 1-8 and non-linear sets NL1-NL4 of the published study, drawn afresh: precision, recall and F1 of
"relevant" and of each class, run time; the default method ("removal"), the published one ("sequential"), the
same with boosted trees inside ("boosted"), Boruta, recursive elimination with a forest, and the linear bounds.
Then random labels: how many features are called relevant where none is. `--seeds 20` is the full run; `--sets`
and `--methods` choose parts of it.
"""

from __future__ import annotations

import time
from typing import Any

import common
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

import relbounds as rb
from relbounds import simulate
from relbounds.design import make_design
from relbounds.forest import sequential
from relbounds.forest.api import make_problem
from relbounds.forest.learner import Learner
from relbounds.forest.options import make_options

# rows, strong, weak, irrelevant; the weak ones are copies of one informative feature
LINEAR = {
    "1": (150, 6, 0, 6),
    "2": (150, 0, 6, 6),
    "3": (150, 3, 4, 3),
    "4": (256, 6, 6, 6),
    "5": (512, 1, 2, 11),
    "6": (200, 1, 20, 0),
    "7": (200, 1, 20, 20),
    "8": (2000, 10, 10, 50),
}
CURVED = {
    "NL1": (1000, 10, 0, 10),
    "NL2": (1000, 4, 10, 6),
    "NL3": (1000, 10, 10, 30),
    "NL4": (1000, 10, 10, 60),
}
SIZES = {**LINEAR, **CURVED}
FIRST = 50_000
"""Seeds below this one may have been in view while the method was made."""
METHODS = ("removal", "sequential", "boosted", "boruta", "rfe", "linear")
NAMES = {
    "removal": "removal (default)",
    "sequential": "sequential (published method, ours)",
    "boosted": "sequential, boosted",
    "boruta": "Boruta",
    "rfe": "RFE with forest",
    "linear": "linear bounds",
}
# published: overall F1 of the sequential method, of recursive elimination and of the linear bounds
PUBLISHED_F1 = {
    "sequential": dict(
        zip(SIZES, (0.98, 0.92, 0.97, 0.93, 0.99, 0.99, 0.95, 0.99, 0.98, 1.00, 0.70, 0.77), strict=True)
    ),
    "rfe": dict(
        zip(SIZES, (0.86, 0.29, 0.67, 0.68, 0.77, 0.17, 0.17, 0.65, 0.83, 0.75, 0.71, 0.62), strict=True)
    ),
    "linear": dict(zip(SIZES, (1, 1, 1, 1, 1, 1, 1, 1, 0.69, 1.00, 0.87, 0.94), strict=True)),
}
# published, sequential method: precision and recall of the strong and of the weak class (for the non-linear
# sets from the authors' repository; their means are the published ones)
PUBLISHED_CLASS = {
    "strong precision": (1.00, 1.00, 0.74, 0.86, 0.49, 0.50, 0.46, 0.90, 1.00, 1.00, 0.86, 0.65),
    "strong recall": (0.95, 1.00, 0.99, 0.99, 1.00, 1.00, 1.00, 1.00, 0.59, 0.97, 0.87, 0.87),
    "weak precision": (1.00, 0.87, 0.99, 0.99, 0.99, 1.00, 0.99, 1.00, np.nan, 0.99, 0.20, 0.18),
    "weak recall": (1.00, 1.00, 0.72, 0.68, 0.50, 0.93, 0.88, 0.85, np.nan, 1.00, 0.14, 0.39),
}


def make_set(name: str, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """One of the published sets, drawn afresh."""
    n, strong, weak, irrelevant = SIZES[name]
    if name in LINEAR:
        sim = simulate.binary(n, strong, weak, irrelevant, noise=0.0, seed=seed)
        return sim.data, sim.truth
    from sklearn.datasets import make_classification

    q = strong + (weak > 0)
    U, y = make_classification(
        n_samples=n,
        n_features=q,
        n_informative=q,
        n_redundant=0,
        n_clusters_per_class=2,
        class_sep=0.5,
        flip_y=0.0,
        shuffle=False,
        random_state=seed,
    )
    rng = np.random.default_rng([seed, 5])
    copies = U[:, [strong] * weak] + rng.uniform(1, 2, size=weak) if weak else np.empty((n, 0))
    X = np.column_stack([U[:, :strong], copies, rng.normal(size=(n, irrelevant))])
    X = X + rng.normal(scale=0.1 / X.std(), size=X.shape)
    data = pd.DataFrame(X, columns=[f"x{k + 1}" for k in range(X.shape[1])])
    data.insert(0, "y", y)
    data = data.iloc[rng.permutation(n)].reset_index(drop=True)
    classes = ["strong"] * strong + ["weak"] * weak + ["irrelevant"] * irrelevant
    return data, pd.Series(classes, index=data.columns[1:])


def find(method: str, data: pd.DataFrame, seed: int) -> pd.Series | list[str]:
    """The classes each method finds, or the features it selects."""
    names = list(data.columns[1:])
    if method in ("removal", "sequential"):
        return rb.forest_relevance("y ~ .", data, method=method, seed=seed, progress=False).table["relevance"]
    if method == "boosted":
        return boosted(data, seed)
    if method == "linear":
        fit = rb.relbounds("y ~ .", data, seed=seed, solver="auto", progress=False)
        return fit.table["relevance"]
    import lightgbm
    from boruta import BorutaPy
    from sklearn.feature_selection import RFECV

    X, y = data[names].to_numpy(), data["y"].to_numpy()
    forest = lightgbm.LGBMClassifier(
        boosting_type="rf",
        subsample=sequential.FOREST["bagging_fraction"],
        subsample_freq=1,
        colsample_bytree=0.3 if method == "boruta" else 1.0,
        num_leaves=32,
        max_depth=5,
        importance_type="gain",
        n_jobs=1,
        verbose=-1,
        random_state=seed,
    )
    if method == "boruta":  # the package's own defaults; inside "sequential" it is set as published
        chosen = BorutaPy(forest, n_estimators="auto", random_state=seed).fit(X, y).support_
    else:
        chosen = RFECV(forest, cv=5).fit(X, y).support_
    return [name for name, yes in zip(names, chosen, strict=True) if yes]


def boosted(data: pd.DataFrame, seed: int) -> pd.Series:
    """The published method with the models that bring out the published tables of the linear sets."""
    design = make_design("y ~ .", data)
    options = make_options(method="sequential", seed=seed, progress=False)
    found = sequential.sequential_relevance(
        make_problem(design), Learner("binary", 2), options, sequential.BOOSTED
    )
    return pd.Series(found.relevance, index=list(design.names))


def work(data: str, method: str, seed: int) -> dict[str, Any]:
    started = time.process_time()
    out = random_labels(method, seed) if data == "random" else known_set(data, method, seed)
    return {**out, "cpu": time.process_time() - started}


def known_set(data: str, method: str, seed: int) -> dict[str, Any]:
    """Scores on a set with known classes."""
    frame, truth = make_set(data, seed)
    found = find(method, frame, seed)
    out: dict[str, Any] = common.selection_scores(truth, found)
    if isinstance(found, pd.Series):
        for kind in ("strong", "weak"):
            is_kind, called = truth == kind, found.reindex(truth.index) == kind
            out[f"{kind} right"] = int((is_kind & called).sum())
            out[f"{kind} called"] = int(called.sum())
            out[f"{kind} true"] = int(is_kind.sum())
    return out


def random_labels(method: str, seed: int) -> dict[str, Any]:
    """20 features, 200 rows, two classes drawn by lot: every relevant feature is a false one."""
    rng = np.random.default_rng([seed, 77])
    frame = pd.DataFrame(rng.normal(size=(200, 20)), columns=[f"x{k + 1}" for k in range(20)])
    frame.insert(0, "y", rng.permutation(np.arange(200) % 2))
    found = find(method, frame, seed)
    picked = int((found != "irrelevant").sum()) if isinstance(found, pd.Series) else len(found)
    return {"false": picked, "features": 20}


def class_scores(rows: pd.DataFrame, kind: str) -> tuple[float, float]:
    """Mean precision and recall of a class; nothing to find and nothing called counts as right."""
    right, called, true = (rows[f"{kind} {what}"] for what in ("right", "called", "true"))
    precision = np.where(called > 0, right / called.clip(lower=1), 1.0)
    recall = np.where(true > 0, right / true.clip(lower=1), 1.0)
    return float(np.mean(precision)), float(np.mean(recall))


def tables(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables of the report."""
    out = {}
    real = rows[(rows["data"] != "random") & rows["error"].isna()]
    sets = [s for s in SIZES if s in set(real["data"])]
    f1, seconds, runs = (pd.DataFrame(index=sets) for _ in range(3))
    for method in METHODS:
        mine = real[real["method"] == method]
        if mine.empty:
            continue
        f1[NAMES[method]] = mine.groupby("data")["F1"].mean()
        seconds[NAMES[method]] = mine.groupby("data")["cpu"].mean()
        runs[NAMES[method]] = mine.groupby("data").size()
        if method == "removal":
            f1["published SQ"] = pd.Series(PUBLISHED_F1["sequential"])
        elif method in ("rfe", "linear"):
            f1[f"published {'RF' if method == 'rfe' else 'FRI'}"] = pd.Series(
                PUBLISHED_F1[method], dtype=float
            )
    out["F1"], out["seconds"] = f1.rename_axis("set"), seconds.rename_axis("set")
    out["runs"] = runs.fillna(0).astype(int).rename_axis("set")
    detail = []
    for name in sets:
        for method in ("removal", "sequential", "boosted", "linear"):
            mine = real[(real["data"] == name) & (real["method"] == method)]
            if mine.empty:
                continue
            row: dict[str, Any] = {"set": name, "method": method, "seeds": len(mine)}
            row |= {"precision": mine["precision"].mean(), "recall": mine["recall"].mean()}
            for kind in ("strong", "weak"):
                row[f"{kind} precision"], row[f"{kind} recall"] = class_scores(mine, kind)
            detail.append(row)
        place = list(SIZES).index(name)
        published = {key: values[place] for key, values in PUBLISHED_CLASS.items()}
        detail.append(
            {
                "set": name,
                "method": "published SQ",
                "seeds": "",
                "precision": np.nan,
                "recall": np.nan,
                **published,
            }
        )
    out["classes"] = pd.DataFrame(detail)
    null = rows[(rows["data"] == "random") & rows["error"].isna()]
    shares = []
    for method in METHODS:
        mine = null[null["method"] == method]
        if mine.empty:
            continue
        hits, total = int(mine["false"].sum()), int(mine["features"].sum())
        low, high = common.wilson(hits, total)
        shares.append({"method": NAMES[method], "data sets": len(mine), "false": hits, "of": total,
                       "share": hits / total, "95% low": low, "95% high": high})  # fmt: skip
    out["random labels"] = pd.DataFrame(shares)
    return out


def figure(found: dict[str, pd.DataFrame]) -> None:
    """Strong-class precision and recall, and overall F1, set by set."""
    detail = found["classes"].copy()
    sns.set_theme(style="ticks", context="paper")
    fig, axes = plt.subplots(1, 3, figsize=(9.5, 3.4), layout="constrained", sharey=True)
    f1 = found["F1"].reset_index()
    both = f1[["set", NAMES["removal"], "published SQ"]].rename(columns={NAMES["removal"]: "removal"})
    long = both.melt("set", var_name="method", value_name="F1")
    palette = dict(
        zip(("removal", "sequential", "published SQ"), sns.color_palette("colorblind")[:3], strict=True)
    )
    marks = {"removal": "o", "sequential": "s", "published SQ": "D"}
    panels = [(long, "F1", "F1 of relevant"), (detail, "strong precision", "precision of strong"),
              (detail, "strong recall", "recall of strong")]  # fmt: skip
    for ax, (frame, column, title) in zip(axes, panels, strict=True):
        frame = frame[frame["method"].isin(palette)]
        order = list(dict.fromkeys(frame["set"]))
        for method, rows in frame.groupby("method", sort=False):
            at = [order.index(s) for s in rows["set"]]
            shift = {"removal": 0.0, "sequential": -0.2, "published SQ": 0.2}[method]
            ax.plot(
                [a + shift for a in at],
                rows[column],
                marks[method],
                color=palette[method],
                label=method,
                ms=4.5,
            )
        ax.axhline(0.9, color="0.7", lw=0.7, ls=":")
        ax.set(title=title, xticks=range(len(order)), ylim=(-0.03, 1.05))
        ax.set_xticklabels(order, fontsize=7)
        ax.set_xlabel("set")
    axes[1].legend(frameon=False, fontsize=8, loc="lower left")
    sns.despine(fig)
    fig.savefig(common.RESULTS / "forest.png", dpi=160)


SEQUENTIAL = """The published figures come from two different programs; no one reading of the text matches both.

Non-linear sets. The authors' script draws one data set per row of the table and fits it again and again, so that
other draws may differ much. Controlled runs on three data sets of NL1, published overall F1 0.98 and strong
recall 0.59:

| reading | F1 | strong recall |
|---|---|---|
| M cut to what Boruta confirms, interval on those features (the text) | 0.82 | 0.40 |
| M cut, interval on all features | 0.82 | 0.70 |
| M not cut, interval on all features, losses above it (taken) | 0.98 | 0.63 |
| M not cut, interval on all features, losses outside it | 0.98 | 0.67 |
| M not cut, interval on the relevant features, losses outside it | 0.98 | 0.43 |

Boruta's percentile is 70 here; with 100 it confirms one of the ten features of NL1 on the data set tried.

Linear sets. The published training accuracy is 1.00 on sets where a forest of the published settings reaches
0.83 to 0.91 (the published column RF). Six readings with forests (interval on all or on relevant features,
feature shuffled or left out, M cut or not, one-sided or two-sided) gave a strong recall of 0.56 to 0.72 on three
data sets of set 1, published 0.95: training losses of a forest at 150 rows scatter too much for an interval of
error 1e-6. What does come out as published is boosted trees at LightGBM's defaults for the importance and for
the interval (training accuracy 1.00, no scatter) and a forest for the loss without a feature, whose accuracy
then always lies below: every feature of M is strong, among them the one copy that boosting prefers. Rows
"boosted" show this, set by set the published precision of strong: about 3/4 on set 3, 6/7 on set 4, 1/2 on sets
5 to 7. As a test of strength this is void, so `method="sequential"` keeps to forests."""


def report(rows: pd.DataFrame) -> str:
    found = tables(rows)
    figure(found)
    better = found["F1"]
    ours, theirs = better[NAMES["removal"]], better["published SQ"]
    short = [s for s in better.index if ours[s] < theirs[s] - 0.005]
    unrun = [s for s in better.index if np.isnan(ours[s])]
    failed = int(rows["error"].notna().sum())
    packages = (*common.PACKAGES, "lightgbm")
    made = common.provenance(
        "python benchmarks/forest.py", f"from {FIRST} on, as many as the tables count", packages
    )
    return f"""# Non-linear relevance

{made}
Tasks that failed: {failed}.

Linear sets: two classes by the sign of a sum of Gaussian features, weak features are copies of one of them.
Non-linear sets: scikit-learn's `make_classification`, two clusters per class, 1000 rows, weak features are
copies of one informative feature, noise of sd 0.1 over the standard deviation of all values.

All data sets have seeds of {FIRST} and above, drawn after the last change to the default method, whose choices were
settled on seeds below that; nothing in it was changed after these figures were seen. Data sets per cell:

{common.markdown(found["runs"])}

## F1 of relevant features

{common.markdown(found["F1"])}

Sets where the default falls short of the published F1: {", ".join(short) if short else "none"}.
Sets where it was not run: {", ".join(unrun) if unrun else "none"}.

The default method of version 0.1.0 had cut-offs that promised nothing, and found all of set 1 (F1 1.00 in six data
sets). Now terms pass a permutation test that lets noise through in one data set of twenty at most, and with 150 rows
six effects of one size are not all seen beyond it.

## Precision and recall, overall and by class

{common.markdown(found["classes"])}

Nothing to find and nothing called counts as 1. The published means by class leave out runs that score 0.

## The published method

{SEQUENTIAL}

## Seconds of processor time per data set

{common.markdown(found["seconds"], 1)}

One process. With `n_jobs` the default method's models are fitted side by side.

## Random labels

{common.markdown(found["random labels"], 4) if len(found["random labels"]) else "Not run."}

200 rows, 20 features, classes drawn by lot: the share of features called relevant.

![F1, precision and recall of the strong class](forest.png)
"""


def main() -> None:
    cli = common.parser(__doc__, seeds=3)
    cli.add_argument("--sets", nargs="*", default=list(SIZES), help="which sets")
    cli.add_argument("--methods", nargs="*", default=list(METHODS), help="which methods")
    cli.add_argument("--random", type=int, default=20, help="data sets with random labels")
    cli.add_argument("--first", type=int, default=FIRST, help="the first seed")
    args = cli.parse_args()
    cheap = sorted(args.sets, key=lambda name: SIZES[name][0] * sum(SIZES[name][1:]))
    sets = {args.first + k: [(name, args.first + k) for name in cheap] for k in range(args.seeds)}
    for k in range(args.random):  # in between, so that a run cut short has some of everything
        sets.setdefault(args.first + k % max(args.seeds, 1), []).append(("random", args.first + k))
    tasks = [
        {"data": name, "method": method, "seed": seed}
        for part in sets.values()
        for name, seed in part
        for method in args.methods
    ]
    rows = common.run("forest", work, tasks, args)
    common.write("forest", report(rows))


if __name__ == "__main__":
    main()
