"""What is found, and what does honesty cost? python benchmarks/power.py [--resume] [--minutes M] [--report]

First: recall of terms with an effect against the number of rows and the size of the effect, beside likelihood ratio
tests in the standard model (proportional odds, logistic, least squares; all terms together), adjusted by Holm's method:
both promise that with probability 0.95 no term of noise is found. The recall of relbounds is that of its tests, which
decide what is relevant in a default fit.

Second: the paper's sets 1 to 9, whole fits: F1 of relevant terms and share of terms in their true class, by default
and with the former tolerance and threshold (`delta="1se"`, `control="published"`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import common
import numpy as np
import pandas as pd
from calibration import CODE, HALVES, SKEW, Scene, by_likelihood, by_tests, columns_of, draw

import relbounds as rb
from relbounds import simulate
from relbounds.design import make_design
from relbounds.linear.noise.judge import design_response
from relbounds.linear.noise.smooth import fit_smooth

# Seeds below this served to settle choices.
FRESH = 50_000
BATCH = 10
NOISES = (0.0, 0.5, 1.0)
# Levels at which likelihood ratio tests are counted: on few rows they err more often than they promise, so what they
# find at the error rate that relbounds has is what they find at a smaller level.
LEVELS = (0.05, 0.045, 0.04, 0.035, 0.03, 0.025, 0.02, 0.015, 0.01)
MODES: dict[str, dict[str, Any]] = {"default": {}, "1se, published": {"delta": "1se", "control": "published"}}


@dataclass(frozen=True)
class Setting:
    """One kind of data with effects."""

    label: str
    scene: Scene


def settings() -> list[Setting]:
    """Return what is drawn: three terms have an effect, the others none."""
    out = [
        Setting(f"three equal levels, n {n}, effect {beta:g}", Scene("power", n=n, truth="own", beta=beta))
        for n, beta in ((100, 0.3), (100, 0.5), (100, 0.8), (200, 0.3), (200, 0.5), (400, 0.3))
    ]
    own: list[tuple[str, dict[str, Any]]] = [
        ("levels of 60/30/10 %", {"shares": SKEW, "n": 200, "beta": 0.5}),
        ("30 terms", {"d": 30, "n": 200, "beta": 0.5}),
        ("relevant terms correlated 0.7", {"correlation": "relevant 0.7", "n": 200, "beta": 0.8}),
        ("noise terms correlated 0.5", {"correlation": "noise 0.5", "n": 200, "beta": 0.5}),
        ("two equal levels", {"family": "binary", "shares": HALVES, "n": 200, "beta": 0.5}),
        ("levels of 90/10 %", {"family": "binary", "shares": (0.9, 0.1), "n": 300, "beta": 0.7}),
        ("numbers", {"family": "regression", "n": 100, "beta": 0.6}),
        ("heavy-tailed terms", {"columns": "heavy", "n": 200, "beta": 0.5}),
    ]
    out += [
        Setting(f"{label}, n {how['n']}, effect {how['beta']:g}", Scene("power", truth="own", **how))
        for label, how in own
    ]
    return out


def recall(label: str, batch: int) -> dict[str, Any]:
    """Draw some data sets; return what either finds in them."""
    scene = next(one.scene for one in settings() if one.label == label)
    out = dict.fromkeys(("sets", "there", "found", "false"), 0.0)
    out |= {f"likelihood {kind} {level:g}": 0.0 for level in LEVELS for kind in ("found", "false")}
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        data, formula, truth = draw(scene, FRESH + seed)
        design = make_design(formula, data, family=scene.family)
        own = (truth == "strong").to_numpy()
        ours = by_tests(scene, design, seed)[0].reindex(truth.index).to_numpy()
        theirs = by_likelihood(design, np.array(LEVELS)[:, None])
        out["sets"] += 1
        out["there"] += int(own.sum())
        out["found"] += int((ours & own).sum())
        out["false"] += bool((ours & ~own).any())
        for level, found in zip(LEVELS, theirs, strict=True):
            out[f"likelihood found {level:g}"] += int((found & own).sum())
            out[f"likelihood false {level:g}"] += bool((found & ~own).any())
    return out


def paper(number: int, noise: float, mode: str, seed: int) -> dict[str, Any]:
    """Fit one of the paper's sets; return F1 and class accuracy."""
    sim = simulate.paper_set(number, noise=noise, seed=FRESH + seed)
    fit = rb.relbounds(sim.formula, sim.data, seed=seed, progress=False, **MODES[mode])
    classes = fit.table["relevance"].loc[sim.truth.index]
    # what the bounds alone would call strong
    needed = {key.term for key in fit._fitted.noise.own} if mode == "default" else set()
    out: dict[str, Any] = common.selection_scores(sim.truth, classes)
    for kind in ("strong", "weak"):
        there = sim.truth.index[sim.truth == kind]
        if len(there):
            out[f"{kind} called strong"] = float((classes[there] == "strong").mean())
            out[f"{kind} called strong, untested"] = (
                float(there.isin(list(needed)).mean()) if mode == "default" else np.nan
            )
    return out


def work(part: str, what: str, number: int, noise: float, seed: int, code: str) -> dict[str, Any]:
    return recall(what, seed) if part == "recall" else paper(number, noise, what, seed)


def tasks(args: Any, codes: dict[str, str]) -> list[dict[str, Any]]:
    recalls = [
        {
            "part": "recall",
            "what": one.label,
            "number": 0,
            "noise": 0.0,
            "seed": batch,
            "code": codes["tests"],
        }
        for batch in range(-(-args.sets // BATCH))
        for one in settings()
    ]
    fits = [
        {"part": "paper", "what": mode, "number": number, "noise": noise, "seed": seed, "code": codes["fits"]}
        for seed in range(args.seeds)
        for number in range(1, 10)
        # sets 8 and 9 have 1000 rows
        if number < 8 or seed < args.large
        for noise in NOISES
        for mode in MODES
    ]
    # in turns, so that a run that is cut short has as much of both
    share = [(i / len(recalls), task) for i, task in enumerate(recalls)]
    share += [(i / len(fits), task) for i, task in enumerate(fits)]
    return [task for _, task in sorted(share, key=lambda pair: pair[0])]


def beside_statsmodels(count: int = 3) -> str:
    """Compare likelihood ratio statistics with those of statsmodels, which is slower, on a few data sets."""
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    worst = 0.0
    for seed in range(count):
        data, formula, _ = draw(Scene("check", n=100, d=4, truth="own"), seed)
        design = make_design(formula, data, family="ordinal")
        y, X = pd.Series(pd.Categorical(design.y.astype(int), ordered=True)), pd.DataFrame(design.X)
        for columns in (range(4), range(1, 4)):
            own = fit_smooth(design_response(design), design.X[:, list(columns)], "plain").loglik
            theirs = OrderedModel(y, X[list(columns)], distr="logit").fit(method="bfgs", disp=0).llf
            worst = max(worst, abs(own - theirs))
    return f"{worst:.1e}"


def recall_table(sums: pd.DataFrame) -> list[str]:
    """Write what is found beside likelihood ratio tests, at the level they promise and at the same error rate."""

    def errors(level: float) -> float:
        return float(sums[f"likelihood false {level:g}"].sum())

    same = next((level for level in LEVELS if errors(level) <= sums["false"].sum()), LEVELS[-1])
    ours = sums["found"] / sums["there"]
    theirs = {level: sums[f"likelihood found {level:g}"] / sums["there"] for level in (LEVELS[0], same)}
    text = [
        "| data | data sets | found | by likelihood ratio | difference | error | by likelihood ratio | "
        "by likelihood ratio at the same error rate | difference |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for one in settings():
        if one.label in sums.index:
            row, own = sums.loc[one.label], ours[one.label]
            full, small = theirs[LEVELS[0]][one.label], theirs[same][one.label]
            text.append(
                f"| {one.label} | {int(row['sets'])} | {own:.2f} | {full:.2f} | {own - full:+.2f} | "
                f"{row['false'] / row['sets']:.3f} | {row[f'likelihood false {LEVELS[0]:g}'] / row['sets']:.3f} | "
                f"{small:.2f} | {own - small:+.2f} |"
            )
    total = sums["sets"].sum()
    text += [
        "",
        f"Over all rows relbounds errs in {sums['false'].sum() / total:.3f} of data sets, likelihood ratio tests in "
        f"{errors(LEVELS[0]) / total:.3f}: on few rows they promise more than they keep. At the level {same:g} they "
        f"err in {errors(same) / total:.3f}; what they find there is the column of the same error rate.",
    ]
    for level, words in ((LEVELS[0], "at the level 0.05"), (same, "at the same error rate")):
        gap = ours - theirs[level]
        near = f"within 0.05 or better in {int((gap >= -0.05).sum())} of {len(gap)}"
        text.append(f"Mean difference {words} {gap.mean():+.3f}; {near}.")
    return text


def report(rows: pd.DataFrame) -> str:
    """Write the tables."""
    good = rows[rows["error"].isna()]
    text = [
        "# Power",
        "",
        common.provenance("python benchmarks/power.py", f"{FRESH} and up"),
        f"Failed runs: {len(rows) - len(good)}. Shares of 20 data sets or fewer are uncertain by 0.1 or "
        "more: `--resume` adds to them.",
        "",
        "## Beside likelihood ratio tests with Holm's method",
        "",
        "Log-likelihoods are those of this package's own smooth models, which differ from statsmodels' OrderedModel by "
        f"at most {beside_statsmodels()} on data sets of 100 rows.",
        "Three terms of ten (unless said) have an effect; logistic noise. Found: share of these. Error: share of data "
        "sets in which a term without effect is found; both promise at most 0.05.",
        "",
        *recall_table(good[good["part"] == "recall"].groupby("what").sum(numeric_only=True)),
        "",
        "## The paper's sets",
        "",
    ]
    fits = good[good["part"] == "paper"]
    for measure in ("F1", "classes", "strong called strong", "weak called strong"):
        table = fits.pivot_table(index=["noise", "number"], columns="what", values=measure, aggfunc="mean")
        table = table.reindex(columns=list(MODES))
        if f"{measure}, untested" in fits:
            own = fits[fits["what"] == "default"].groupby(["noise", "number"])[f"{measure}, untested"].mean()
            table["default, by bounds alone"] = own.reindex(table.index)
        means = table.groupby("noise").mean()
        means.index = [f"these sets, noise {noise:g}" for noise in means.index]
        table.index = [f"set {number}, noise {noise:g}" for noise, number in table.index]
        table = pd.concat([table, means])
        table.index.name = "data"
        title = {"classes": "Terms in their true class"}.get(measure, measure[0].upper() + measure[1:])
        text += [f"### {title}", "", common.markdown(table, 3), ""]
    counts = fits[fits["what"] == "default"].groupby("number")["seed"].nunique()
    text.append("Seeds: " + ", ".join(f"set {k}: {v}" for k, v in counts.items()) + ".")
    return "\n".join(text)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = common.parser("Power.", seeds=10)
    parser.add_argument("--sets", type=int, default=200, help="data sets a row beside likelihood ratio tests")
    parser.add_argument("--minutes", type=float, help="stop handing out work after so many minutes")
    parser.add_argument("--large", type=int, default=3, help="seeds of sets 8 and 9")
    args = parser.parse_args()
    if args.minutes is not None:
        args.limit = 60 * args.minutes
    own = {"tests": (columns_of, draw, by_tests, by_likelihood), "fits": (paper,)}
    codes = {mode: common.code_mark(CODE[mode], *own[mode]) for mode in CODE}
    path = common.RESULTS / "power.csv"
    if (args.resume or args.report) and path.exists():
        old = pd.read_csv(path, dtype={"code": str})
        old[old["code"].isin(list(codes.values()))].to_csv(path, index=False)
    common.write("power", report(common.run("power", work, tasks(args, codes), args)))


if __name__ == "__main__":
    main()
