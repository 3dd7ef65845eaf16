"""relbounds beside today's methods on the same data: which terms matter, which are needed, which are noise?

    python benchmarks/methods.py --resume              # everything: hours on one core, most of them the peers'
    python benchmarks/methods.py --resume --methods Holm boruta --scenes blocks
    python benchmarks/methods.py --report              # only the tables, from the stored rows

Sixteen kinds of data (`scenes.py`), nineteen methods by their documented defaults (`selectors_of_features.py`), each in
its own environment, made when missing (`environments.py`), one thread each, with a limit of processor seconds for each
fit. One row a fit, with the answer as one letter a term: everything else is computed from these when the report is
written. For the stability of the answer the same method sees the same data without one row in twenty.
"""

from __future__ import annotations

import functools
import itertools
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import common
import environments
import numpy as np
import pandas as pd
from scenes import SCENES
from selectors_of_features import METHODS

FRESH = 50_000
"""Seeds below this were in view while scenes and limits were settled."""
STABILITY = ("independent", "exact copies", "blocks", "binary, noisy copies")
"""Where every method sees the data without one row in twenty, too."""
WIDE = ("binary, wide", "numbers, wide", "numbers, many effects", "many rows")
LIMIT, LIMIT_WIDE = 40, 90
"""Processor seconds a fit may take."""
STOPS = 2
"""A method that was stopped so often on a scene is not tried there again."""
SLOW_SCENES = (
    "no relation",
    "independent",
    "exact copies",
    "blocks",
    "binary, noisy copies",
    "numbers, blocks",
    "curved",
)
"""Where methods that take many seconds a fit are run."""
ALL, PART = "all rows", "95 % of the rows"


def stops_of(file: Path, scene: str, method: str) -> int:
    """Count the fits of a method on a scene that ran into the limit, by the rows stored so far."""
    if not file.exists():
        return 0
    rows = pd.read_csv(file, usecols=["scene", "method", "why"])
    own = rows[(rows["scene"] == scene) & (rows["method"] == method)]
    return int(own["why"].astype(str).str.startswith("stopped").sum())


def work(file: Path, scene: str, method: str, part: str, seed: int) -> dict[str, Any]:
    """Draw the data and ask one method; what stops or refuses a method is its answer. `file` has the rows so far."""
    own = SCENES[scene]
    if stops_of(file, scene, method) >= STOPS:
        return {"classes": "t", "cpu": np.nan, "why": f"not tried again after {STOPS} stops"}
    data, _ = own.draw(seed)
    if part == PART:
        rng = np.random.default_rng([seed, 5])
        data = data.iloc[np.sort(rng.choice(own.n, round(0.95 * own.n), replace=False))]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.csv"
        data.to_csv(file, index=False)
        found = environments.ask(
            METHODS[method].environment,
            method=method,
            file=str(file),
            family=own.family,
            seed=seed,
            limit=LIMIT_WIDE if scene in WIDE else LIMIT,
        )
    # a letter in front, so that a row of dashes is no number to a reader of CSV
    return {
        "classes": "t" + "".join(found.get("classes", [])),
        "cpu": found["cpu"],
        "why": found.get("error", ""),
    }


def draws_of(method: str, scene: str) -> int:
    """Return how many data sets of a scene a method sees."""
    own = METHODS[method]
    if own.slow and scene not in SLOW_SCENES:
        return 0
    return own.wide if scene in WIDE else own.draws


def tasks(args: Any) -> list[dict[str, Any]]:
    """All fits, in an order in which a run that is stopped early has the same share of everything."""
    out = []
    for scene, method in itertools.product(args.scenes or SCENES, args.methods or METHODS):
        draws = min(args.seeds, draws_of(method, scene))
        pairs = min(draws, METHODS[method].pairs) if scene in STABILITY else 0
        for part, count in ((ALL, draws), (PART, pairs)):
            for s in range(count):
                task = {"scene": scene, "method": method, "part": part, "seed": args.first + s}
                out.append(((s + 0.5) / count, task))
    return [task for _, task in sorted(out, key=lambda one: one[0])]


# --- what the rows say


def judged(rows: pd.DataFrame) -> pd.DataFrame:
    """Count, for each fit, what was right and wrong."""
    out = []
    for row in rows.to_dict("records"):
        letters = row["classes"][1:]
        if not letters:
            continue
        kind, letter = np.array(kinds_of(row["scene"])), np.array(list(letters))
        relevant = letter != "-"
        own = METHODS[row["method"]]
        needed = letter == "S" if own.question == "both" else relevant
        fact = {
            "noise called relevant": int((relevant & (kind == "noise")).sum()),
            "noise": int((kind == "noise").sum()),
            "called relevant": int(relevant.sum()),
        }
        for name in ("strong", "weak", "bystander"):
            there = kind == name
            fact |= {
                f"{name} relevant": int((relevant & there).sum()),
                f"{name} needed": int((needed & there).sum()),
            }
            fact[name] = int(there.sum())
        out.append(
            {**{k: row[k] for k in ("scene", "method", "part", "seed", "cpu")}, "letters": letters, **fact}
        )
    return pd.DataFrame(out)


@functools.cache
def kinds_of(scene: str) -> list[str]:
    """What each term of a scene is; the same in every draw."""
    return SCENES[scene].draw(0)[1]


def share(hits: float, total: float) -> str:
    return f"{hits / total:.2f}" if total else ""


def rate(hits: int, n: int) -> str:
    low, high = common.wilson(hits, n)
    return f"{hits / n:.2f} ({low:.2f}-{high:.2f})"


def row_of(own: pd.DataFrame, method: str) -> dict[str, str]:
    """One row of a table: a method on some fits."""
    question = METHODS[method].question
    relevant = own["strong"].sum() + own["weak"].sum()
    replaceable = own["weak"].sum() + own["bystander"].sum()
    wrong = own["weak needed"].sum() + own["bystander needed"].sum()
    errs = int((own["noise called relevant"] > 0).sum())
    noise_share = own["noise called relevant"] / own["called relevant"].clip(lower=1)
    return {
        "method": method,
        "asks": question,
        "fits": str(len(own)),
        "any noise called relevant": rate(errs, len(own)),
        "share of noise in the answer": f"{noise_share.mean():.2f}",
        "relevant found": share(own["strong relevant"].sum() + own["weak relevant"].sum(), relevant),
        "copies found": share(own["weak relevant"].sum(), own["weak"].sum()),
        "needed found": share(own["strong needed"].sum(), own["strong"].sum()),
        "replaceable called needed": share(wrong, replaceable) if question in ("both", "needed") else "",
        "seconds": f"{own['cpu'].median():.2f}",
    }


def table_of(facts: pd.DataFrame) -> pd.DataFrame:
    whole = facts[facts["part"] == ALL]
    rows = [row_of(whole[whole["method"] == m], m) for m in METHODS if (whole["method"] == m).any()]
    table = pd.DataFrame(rows)
    return table.loc[:, (table != "").any()]


def summary_of(facts: pd.DataFrame, scenes_of_all: list[str]) -> pd.DataFrame:
    """Means over scenes, of methods that are run on all of these, so that none is judged on easier data."""
    whole = facts[(facts["part"] == ALL) & facts["scene"].isin(scenes_of_all)]
    whole = whole[[all(draws_of(m, s) for s in scenes_of_all) for m in whole["method"]]]
    rows = []
    for method, own in whole.groupby("method", sort=False):
        scenes = own.groupby("scene", sort=False)
        each = pd.DataFrame(
            {
                "any noise": scenes.apply(lambda g: (g["noise called relevant"] > 0).mean()),
                "relevant": scenes.apply(
                    lambda g: (
                        (g["strong relevant"] + g["weak relevant"]).sum()
                        / max(1, (g["strong"] + g["weak"]).sum())
                    )
                ),
                "needed": scenes.apply(lambda g: g["strong needed"].sum() / max(1, g["strong"].sum())),
                "wrong": scenes.apply(
                    lambda g: (
                        (g["weak needed"] + g["bystander needed"]).sum()
                        / max(1, (g["weak"] + g["bystander"]).sum())
                    )
                ),
                "copies": scenes.apply(lambda g: g["weak relevant"].sum() / max(1, g["weak"].sum())),
                "cpu": scenes["cpu"].median(),
            }
        )
        with_truth = each.drop(index="no relation", errors="ignore")
        with_copies = each[scenes["weak"].sum() > 0]
        replaceable = each[(scenes["weak"].sum() + scenes["bystander"].sum()) > 0]
        question = METHODS[str(method)].question
        rows.append(
            {
                "method": method,
                "asks": question,
                "scenes": str(len(each)),
                "fits": str(len(own)),
                "any noise called relevant": each["any noise"].mean(),
                "relevant found": with_truth["relevant"].mean(),
                "copies found": with_copies["copies"].mean(),
                "needed found": with_truth["needed"].mean() if question in ("both", "needed") else np.nan,
                "replaceable called needed": replaceable["wrong"].mean()
                if question in ("both", "needed")
                else np.nan,
                "seconds": each["cpu"].mean(),
            }
        )
    order = {m: i for i, m in enumerate(METHODS)}
    return pd.DataFrame(rows).sort_values("method", key=lambda c: c.map(order)).reset_index(drop=True)


def stability_of(facts: pd.DataFrame) -> pd.DataFrame:
    """Share of terms whose class changes when one row in twenty is dropped."""
    keys = ["scene", "method", "seed"]
    letters = facts.pivot_table(index=keys, columns="part", values="letters", aggfunc="first").dropna()
    if PART not in letters:
        return pd.DataFrame()

    def changed(a: str, b: str) -> float:
        return float(np.mean([x != y for x, y in zip(a, b, strict=True)]))

    def relevant(a: str) -> str:
        return a.replace("S", "R").replace("W", "R")

    letters["class"] = [changed(a, b) for a, b in zip(letters[ALL], letters[PART], strict=True)]
    letters["relevant"] = [
        changed(relevant(a), relevant(b)) for a, b in zip(letters[ALL], letters[PART], strict=True)
    ]
    found = letters.reset_index()
    rows = []
    for method in METHODS:
        own = found[found["method"] == method]
        if not len(own):
            continue
        row: dict[str, Any] = {"method": method, "pairs of fits": str(len(own))}
        row["class changes"] = own["class"].mean()
        row["relevant or not changes"] = own["relevant"].mean()
        row |= {s: own.loc[own["scene"] == s, "class"].mean() for s in STABILITY}
        rows.append(row)
    return pd.DataFrame(rows)


def figure(summary: pd.DataFrame) -> None:
    """One row a method, one panel a column of the table."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    asks = {
        "both": ("#0b5394", "asks: relevant? needed?"),
        "all": ("#a64d79", "asks: relevant?"),
        "needed": ("#e69138", "asks: needed?"),
        "model": ("#6aa84f", "asks: one good model"),
    }
    panels = {
        "relevant found": "relevant\nfound",
        "copies found": "copies\nfound",
        "any noise called relevant": "fits with noise\ncalled relevant",
        "needed found": "needed\nfound",
        "replaceable called needed": "replaceable\ncalled needed",
        "seconds": "seconds\na fit",
    }
    rows = np.arange(len(summary))[::-1]
    colour = [asks[question][0] for question in summary["asks"]]
    fig, axes = plt.subplots(
        1, len(panels), figsize=(10, 0.27 * len(rows) + 1.2), sharey=True, layout="constrained"
    )
    for ax, (column, title) in zip(axes, panels.items(), strict=True):
        ax.hlines(rows, 0, 1, color="#eeeeee", lw=0.8, transform=ax.get_yaxis_transform(), zorder=0)
        ax.scatter(summary[column], rows, color=colour, s=28)
        ax.set_title(title, fontsize=9)
        ax.tick_params(labelsize=8)
        ax.tick_params(axis="y", length=0)
        ax.spines[["top", "right", "left"]].set_visible(False)
        if column == "seconds":
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:g}")
        else:
            ax.set(xlim=(-0.05, 1.05), xticks=(0, 0.5, 1))
    axes[2].axvline(0.05, color="#999999", lw=0.8, ls=":")
    axes[0].set_yticks(rows, summary["method"], fontsize=9)
    axes[0].set_ylim(-0.7, len(rows) - 0.3)
    dots = [plt.Line2D([], [], marker="o", ls="", color=c, label=text) for c, text in asks.values()]
    fig.legend(handles=dots, loc="outside lower center", ncols=len(dots), frameon=False, fontsize=9)
    fig.savefig(common.RESULTS / "methods.png", dpi=140)
    plt.close(fig)


def peer_versions() -> str:
    """What the environments hold."""
    wanted = {
        "peers": (
            "statsmodels",
            "hidimstat",
            "knockpy",
            "boruta",
            "powershap",
            "catboost",
            "scikit-learn",
            "numpy",
        ),
        "arfs": ("arfs", "lightgbm", "scikit-learn"),
        "fri": ("fri", "cvxpy", "ecos", "scikit-learn", "numpy"),
    }
    said = []
    code = (
        "import importlib.metadata as m, sys; print(', '.join(f'{p} {m.version(p)}' for p in sys.argv[1:]))"
    )
    for environment, packages in wanted.items():
        python = environments.python_of(environment)
        done = subprocess.run([python, "-c", code, *packages], capture_output=True, text=True)
        said.append(f"{environment}: {done.stdout.strip()}")
    code = "for (p in c('MASS', 'glmnet', 'ranger')) cat(p, format(packageVersion(p)), ''); cat(R.version.string)"
    done = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True)
    return "; ".join([*said, f"R: {done.stdout.strip()}"])


def report(rows: pd.DataFrame, planned: int) -> str:
    rows = rows[rows["seed"] >= FRESH] if (rows["seed"] >= FRESH).any() else rows
    facts = judged(rows)
    ordinary = [name for name in SCENES if name not in (*WIDE, "curved")]
    shared = [name for name in ordinary if name in SLOW_SCENES]
    summary = summary_of(facts, shared)
    figure(summary)
    silent = rows[rows["classes"].astype(str).str.len() <= 1]
    seeds = f"{facts['seed'].min()}-{facts['seed'].max()}"
    notes = common.RESULTS / "methods_notes.md"
    own = METHODS.values()
    plan = "; ".join(
        f"{count} data sets a scene: {', '.join(f'`{m}`' for m, o in METHODS.items() if o.draws == count)}"
        for count in sorted({o.draws for o in own}, reverse=True)
    )
    slow = ", ".join(f"`{m}`" for m, o in METHODS.items() if o.slow)
    left = f" {len(rows)} of {planned} planned fits are in; intervals are as wide as that makes them."
    text = [
        "# Beside today's methods",
        "",
        common.provenance(
            "python benchmarks/methods.py --resume", seeds, ("relbounds", "numpy", "scipy", "pandas")
        ),
        f"Environments of the peers: {peer_versions()}. Processor seconds of one thread; a fit may take {LIMIT} "
        f"({LIMIT_WIDE} where the scene is wide or long)." + (left if len(rows) < planned else ""),
        "",
        f"The plan, by what a fit costs. {plan}. On wide and long scenes {max(o.wide for o in own)} or fewer. On "
        f"{len(SLOW_SCENES)} of the {len(SCENES)} scenes alone: {slow}. Dropped rows, for stability: "
        f"{METHODS['relbounds'].pairs} pairs or fewer on {len(STABILITY)} scenes.",
        "",
        notes.read_text().strip() if notes.exists() else "",
        "",
        "## How to read the tables",
        "",
        'What a method asks, by its own documentation: "all": which terms carry information at all, copies included? '
        '"needed": which add something to all the others? "model": which to put into one good model? "both": the first '
        "two. A method is no worse for not answering what it does not ask; the columns show what a reader would "
        "conclude who takes its answer for the other question.",
        "",
        "- any noise called relevant: share of fits with at least one, with its 95 % interval (Wilson); noise is "
        "independent of the response and of every relevant term.",
        "- share of noise in the answer: mean over fits, 0 where nothing is called relevant.",
        "- relevant found: share of the terms with an effect, copies included, called relevant; copies found: of the "
        "copies alone.",
        "- needed found: share of the terms with an effect and no copy that are called strong (methods with classes) "
        "or are selected (others).",
        "- replaceable called needed: share of copies and of bystanders (correlated with a relevant term, no effect of "
        'their own) that are called so; for methods that ask "both" or "needed".',
        "- noisy copies each carry an error of their own, so that a model with both is truly a little better: a test "
        "with enough rows finds each of them needed, and is right in its own terms.",
        "",
        "## All methods, on the scenes that all of them see",
        "",
        f"Mean over {len(shared)} scenes: {'; '.join(shared)}.",
        "",
        "![methods](methods.png)",
        "",
        "Dotted: 0.05. No dot: the method does not ask this.",
        "",
        common.markdown(summary),
        "",
        "## Methods that are quick enough for all scenes but the wide, the long and the curved one",
        "",
        f"Mean over {len(ordinary)} scenes (fewer where a method gave no answer on one).",
        "",
        common.markdown(summary_of(facts, ordinary)),
        "",
        "## Stability: share of terms whose class changes when 5 % of the rows are dropped",
        "",
        common.markdown(stability_of(facts), 3),
        "",
        "Methods with three classes have more that can change; the third column counts relevant or not alone.",
        "",
        "## Scene by scene",
        "",
    ]
    for name, scene in SCENES.items():
        here = facts[facts["scene"] == name]
        if not len(here):
            continue
        kinds = pd.Series(kinds_of(name)).value_counts()
        said = ", ".join(f"{kinds[k]} {k}" for k in ("strong", "weak", "bystander", "noise") if k in kinds)
        text += [f"### {name}", "", f"{scene.family}, {scene.n} rows, {scene.d} terms: {said}.", ""]
        text += [common.markdown(table_of(here)), ""]
        missing = silent[silent["scene"] == name].groupby("method")["why"].agg(lambda w: w.iloc[0])
        if len(missing):
            counts = silent[silent["scene"] == name].groupby("method").size()
            text += [
                "No answer: " + "; ".join(f"{m} ({counts[m]} fits: {w})" for m, w in missing.items()) + ".",
                "",
            ]
    text += ["## The calls", "", "| method | asks | promises | call |", "|---|---|---|---|"]
    text += [f"| {m} | {o.question} | {o.promise} | {o.call.replace('|', ' ')} |" for m, o in METHODS.items()]
    return "\n".join(text)


def main() -> None:
    given = common.parser(__doc__ or "", seeds=20)
    given.add_argument("--methods", nargs="+", choices=list(METHODS))
    given.add_argument("--scenes", nargs="+", choices=list(SCENES))
    given.add_argument("--first", type=int, default=FRESH, help="first seed")
    given.add_argument("--name", default="methods", help="name of the files in results/")
    args = given.parse_args()
    file = common.RESULTS / f"{args.name}.csv"
    rows = common.run(args.name, functools.partial(work, file), tasks(args), args)
    args.methods = args.scenes = None
    common.write(args.name, report(rows, len(tasks(args))))


if __name__ == "__main__":
    main()
