"""Privileged features: selection on the published sets, three ways on three kinds of data, and the semantic example.

python benchmarks/privileged.py                 # all three parts
python benchmarks/privileged.py --part ways     # "sets", "ways", "semantic" or "time"
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from common import RESULTS, markdown, parser, provenance, run, selection_scores, write

import relbounds as rb

WAYS: dict[str, dict[str, Any]] = {
    "slack, published": {"privileged": "slack", "residual": np.inf},
    "slack, tuned residual": {"privileged": "slack", "residual": "auto"},
    "teacher": {"privileged": "teacher"},
}
# On the published sets also with the noise of that time: permuted features inside the budgets of the fit.
WITH_PROBES = {
    **WAYS,
    "slack and noise, published": {
        **rb.published,
        "delta": "1se",
        "privileged": "slack",
        "residual": np.inf,
    },
}
# F1 of the published study, sets 1-8: regular features all 1.0, privileged ones 0.99 on set 6 and 1.0 elsewhere.
PUBLISHED = {number: 0.99 if number == 6 else 1.0 for number in range(1, 9)}
KINDS: dict[str, dict[str, Any]] = {
    "clean copies, feature noise 0.5": {"kind": "clean", "noise": 0.5},
    "amount of noise per row": {"kind": "noise", "noise": 1.5},
    "pure noise columns": {"kind": "irrelevant", "noise": 0.5},
    "30 % wrong labels, second reading and doubt": {"kind": "rater", "noise": 0.2, "label_noise": 0.3},
}

FRESH = 50_000
"""Seeds below this were in view while choices were made."""


def select(number: int, way: str, noise: float, seed: int) -> dict[str, Any]:
    """One fit of a published set: F1 and class accuracy of either part."""
    sim = rb.simulate.paper_privileged_set(number, noise=noise, seed=seed)
    fit = rb.relbounds(sim.formula, sim.data, solver="batch", seed=seed, **WITH_PROBES[way])
    found = fit.table["relevance"]
    out: dict[str, Any] = {
        "collapsed": float(fit._fitted.privileged.collapsed),
        "with": fit.baseline.cv_score,
    }
    out["without"] = fit._fitted.privileged.without
    for part, truth in (("regular", sim.truth), ("privileged", sim.truth_privileged)):
        scores = selection_scores(truth, found[truth.index])
        out |= {f"{part} F1": scores["F1"], f"{part} classes": scores["classes"]}
    return out


def at_price(number: int, residual: float, seed: int) -> dict[str, Any]:
    """One fit of a published set at a given price of residual slack: what it predicts, uses and selects."""
    sim = rb.simulate.paper_privileged_set(number, seed=seed)
    fit = rb.relbounds(sim.formula, sim.data, seed=seed, residual=residual)
    fitted, found = fit._fitted, fit.table["relevance"]
    used = sum(float(np.abs(fitted.solution.v[f.start : f.offset]).sum()) for f in fitted.spec.functions)
    out = {"with": fit.baseline.cv_score, "without": fitted.privileged.without, "share": used / fitted.norm}
    for part, truth in (("regular", sim.truth), ("privileged", sim.truth_privileged)):
        out[f"{part} F1"] = selection_scores(truth, found[truth.index])["F1"]
    return out


def report_prices(rows: pd.DataFrame) -> str:
    good = rows[rows["error"].isna()].assign(residual=lambda x: x["residual"].astype(float))
    columns = ["with", "without", "share", "regular F1", "privileged F1"]
    mean = good.groupby(["number", "residual"])[columns].mean().reset_index()
    names = {
        "number": "set",
        "with": "CV MMAE with",
        "without": "without",
        "share": "share of the norm in correcting functions",
    }
    return markdown(mean.rename(columns=names), digits=2)


def compare(kind: str, n: int, seed: int) -> dict[str, Any]:
    """Test MMAE of the plain fit and of every way, on 1000 rows with clean labels."""
    drawn = {"n": n + 1000, "strong": 3, "weak": 2, "irrelevant": 3, "seed": seed}
    options = dict(KINDS[kind])
    sim = rb.simulate.privileged(**options, **drawn)
    truth = rb.simulate.privileged(**{**options, "label_noise": 0.0}, **drawn)
    train, test = sim.data.iloc[:n], truth.data.iloc[n:]
    regular = "y ~ " + " + ".join(sim.truth.index)
    same = {"seed": seed, "bounds": False, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = {"plain": rb.relbounds(regular, train, **same).score(test)}
        for way, extra in WAYS.items():
            out[way] = rb.relbounds(sim.formula, train, **same, **extra).score(test)
    return out


def report_sets(rows: pd.DataFrame) -> str:
    good = rows[rows["error"].isna()]
    keys = ["noise", "way", "number"]
    columns = ["regular F1", "privileged F1", "regular classes", "privileged classes", "collapsed", "seconds"]
    groups = good.groupby(keys, sort=False)
    mean = groups[columns].mean().assign(fits=groups.size()).reset_index()
    mean.insert(3, "published F1 (regular/privileged)", [f"1.0/{PUBLISHED[int(k)]}" for k in mean["number"]])
    mean = mean.rename(columns={"number": "set", "collapsed": "share collapsed"})
    failed = f"\n\nFits that failed: {int(rows['error'].notna().sum())} of {len(rows)}."
    return markdown(mean.sort_values(["noise", "way", "set"]).reset_index(drop=True)) + failed


def report_ways(rows: pd.DataFrame) -> str:
    good = rows[rows["error"].isna()]
    names = ["plain", *WAYS]
    mean = good.groupby(["kind", "n"], sort=False)[names].mean()
    lines = mean.reset_index()
    for way in WAYS:
        wins = (good[way] < good["plain"] - 1e-9).groupby([good["kind"], good["n"]], sort=False).sum()
        total = good.groupby(["kind", "n"], sort=False).size()
        lines[f"{way}: better"] = [f"{int(a)} of {int(b)}" for a, b in zip(wins, total, strict=True)]
    return markdown(lines, digits=3)


SEMANTIC: dict[str, dict[str, Any]] = {
    "published model, delta 0.001": {"privileged": "slack", "delta": 0.001},
    "published model, delta 1se": {"privileged": "slack", "delta": "1se"},
    "residual 10, delta 0.001": {"residual": 10.0, "delta": 0.001},
    "residual 3, delta 1se": {"residual": 3.0, "delta": "1se"},
}


def semantic(seeds: int = 5) -> str:
    """Fit the example in which four groups of rows differ in the noise of one feature, and draw it."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    fits = {
        (name, seed): rb.relbounds(sim.formula, sim.data, **options)
        for seed in range(seeds)
        for sim in [rb.simulate.noise_per_group(seed=seed)]
        for name, options in SEMANTIC.items()
    }
    fit = fits[next(iter(SEMANTIC)), 0]
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.4), layout="constrained")
    fit.plot(ax=axes[0])
    fit.plot_difficulty(ax=axes[1], most=12)
    figure.savefig(RESULTS / "privileged_semantic.png", dpi=200)
    shown = fit.table[["part", "weight", "lower", "upper", "relevance"]]
    rows = []
    for (name, seed), one in fits.items():
        table = one.table
        rows.append({"settings": name, "seed": seed, "delta": f"{one._fitted.delta:.4f}"})
        rows[-1] |= {
            z: f"{table.loc[z, 'upper']:.4f} {table.loc[z, 'relevance']}" for z in ("z1", "z2", "z3")
        }
        good = table["relevance"].iloc[:6].tolist()
        right = all(x != "irrelevant" for x in good[:3]) and all(x == "irrelevant" for x in good[3:])
        rows[-1]["x1-x6"] = "collapsed" if one._fitted.privileged.collapsed else "right" if right else "wrong"
    by = pd.DataFrame(rows).sort_values("settings", key=lambda c: c.map(list(SEMANTIC).index), kind="stable")
    return (
        "Four groups of 100 rows: noise of sd 0.1 on x1, 0.5 on x2, 2.0 on x3, none; z1-z3 are the noise. Seed 0, the"
        " published model with the papers' tolerance (delta=0.001), C and gamma tuned:\n\n"
        + markdown(shown.reset_index(), digits=3)
        + "\n\n![semantic example](privileged_semantic.png)\n\n"
        "That is the published outcome: irrelevant features dismissed, all three privileged features relevant, their"
        " relevance ordered as the noise. Other settings and seeds, with the greatest relevance and the class of each"
        " privileged feature:\n\n"
        + markdown(by.reset_index(drop=True))
        + "\n\nWhy z1 comes and goes. Noise of sd 0.1 in a quarter of the rows moves a margin by little: z1 has "
        "about a hundredth of the norm, which its test finds in some draws and not in others. With "
        "delta=0.001 every equivalent model of the published form needs it; one standard error of the loss is"
        " ten to twenty times wider, and models without z1 are as good. The order of the three is the same at"
        " every setting that does not collapse. Where the published model collapses, the free slack of a "
        'finite residual brings it back. "wrong": in that draw a regular feature of noise passes the test, or'
        " a relevant one does not."
    )


NOTE_ON_TIME = (
    "\n\nn = 200, 12 regular and 12 privileged features, default options; processor time with one BLAS thread, the"
    " least of eight runs taken in turn. With privileged features there are three times as many bounds and probes, and"
    " the comparison without them is tuned as well. A teacher is two fits, a plain one on the privileged features and"
    " that of the student, and two tunings more; a tuned residual tries seven prices."
)


def timing(repeats: int = 8) -> str:
    """CPU seconds of set 3 with and without its privileged features: least of several runs, taken in turn."""
    sim = rb.simulate.paper_privileged_set(3, seed=1)
    plain = "y ~ " + " + ".join(sim.truth.index)
    cases: dict[str, tuple[str, dict[str, Any]]] = {"without privileged features": (plain, {})}
    cases |= {f"with, {way}": (sim.formula, extra) for way, extra in WAYS.items()}
    spent: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repeats + 1):
        for name, (formula, extra) in cases.items():
            start = time.process_time()
            rb.relbounds(formula, sim.data, **extra)
            spent[name].append(time.process_time() - start)
    table = pd.DataFrame({"fit": list(spent), "CPU seconds": [min(s[1:]) for s in spent.values()]})
    table["ratio"] = table["CPU seconds"] / table["CPU seconds"].iloc[0]
    return markdown(table)


def main() -> None:
    given = parser(__doc__ or "", seeds=3)
    given.add_argument("--part", choices=["sets", "ways", "semantic", "time"], action="append")
    given.add_argument(
        "--noise", type=float, nargs="+", help="noise of the sets; published: 0.2, sets 7 and 8 none"
    )
    given.add_argument(
        "--rows", type=int, nargs="+", default=[60, 200], help="training rows of the comparison of ways"
    )
    args = given.parse_args()
    warnings.simplefilter("ignore")
    parts = args.part or ["sets", "ways", "semantic", "time"]
    seeds = f"{FRESH}..{FRESH + args.seeds - 1} (ways: {FRESH}..{FRESH + 19}; semantic: 0..4; time: 1)"
    how = provenance("python benchmarks/privileged.py", seeds)
    if "sets" in parts:
        tasks = [
            {"number": number, "way": way, "noise": noise, "seed": seed}
            for seed in range(FRESH, FRESH + args.seeds)
            for number in (1, 2, 3, 4, 5, 7, 8, 6)
            # the largest one, 51 features of either kind, is drawn once
            if number != 6 or seed == FRESH
            for noise in args.noise or [0.2 if number <= 6 else 0.0]
            for way in WITH_PROBES
        ]
        tasks.sort(key=lambda task: task["number"] == 6)
        rows = run("privileged_sets", select, tasks, args)
        text = (
            "# Privileged features: selection on the published sets\n\n"
            "F1 of relevant against irrelevant, class accuracy (strong, weak, irrelevant), share of fits whose w is 0,"
            " mean over seeds. Sets drawn afresh by `relbounds.simulate.paper_privileged_set`, sets 7 and 8 without"
            ' noise as published; default options, but rows "slack and noise, published" have the published noise'
            " and delta 1se.\n\n"
        )
        worse = (
            "\n\nBy default far fewer privileged features are found than in print and in version 0.1.0. Then a feature"
            " was relevant where correcting functions could use it more than a permuted column inside the same"
            " budgets, which the published form makes easy: all slack must be a function of the privileged features,"
            " so some of them are always used. Now privileged features are tested for what they say of the slack of"
            " the model without them. On sets 1 to 6 the slack is due to noise in the regular features, of which"
            " their clean copies say next to nothing by themselves. Regular features are held against refitted noise,"
            " which the published form uses much, so weak ones are missed too. With the published noise both are"
            " found as in print; the teacher finds them with the default tests.\n\n"
        )
        tasks = [
            {"number": number, "residual": residual, "seed": seed}
            for seed in range(FRESH, FRESH + min(args.seeds, 3))
            for number in (1, 3, 4, 5)
            for residual in (1.5, 2.0, 2.5, 3.0, 3.5, 4.0, np.inf)
        ]
        prices = run("privileged_sets_prices", at_price, tasks, args)
        why = (
            "\n\nWhy a tuned residual misses privileged features. Tuning looks at prediction, and on these sets clean"
            " copies of the features do not help it: at prices at which the correcting functions have anything to do,"
            " prediction is worse, and where it is as good as without them they are all but unused (weights of 0 in"
            " the baseline), so that hardly an interval of theirs rises above that of a permuted column. Privileged"
            " features that are copies of each other (the weak ones) are the exception: their weights can cancel"
            " out, which makes each of them look relevant. No rule that keeps the prediction can therefore select"
            " what the published model selects. Taking the highest price within one standard error of the best was"
            " tried: it found next to none of the missing features and cost classes of regular features on sets 7"
            " and 8 with noise of sd 0.2. Which privileged features carry the response is a question for the teacher."
            " Means over seeds:\n\n"
        )
        write(
            "privileged_sets",
            text + report_sets(rows) + worse + why.lstrip() + report_prices(prices) + "\n\n" + how,
        )
    if "ways" in parts:
        tasks = [{"kind": k, "n": n, "seed": FRESH + s} for n in args.rows for s in range(20) for k in KINDS]
        rows = run("privileged_ways", compare, tasks, args)
        text = (
            "# Three ways to use privileged features on four kinds of them\n\n"
            "MMAE on 1000 new rows with clean labels, mean over 20 seeds; n training rows; all numbers tuned by"
            " cross-validation. A collapsed model predicts a constant and scores 2.\n\n"
        )
        write("privileged_ways", text + report_ways(rows) + "\n\n" + how)
    if "semantic" in parts:
        write("privileged_semantic", "# The semantic example\n\n" + semantic() + "\n\n" + how)
    if "time" in parts:
        write(
            "privileged_time",
            "# Time with and without privileged features, set 3\n\n" + timing() + NOTE_ON_TIME + "\n\n" + how,
        )


if __name__ == "__main__":
    main()
