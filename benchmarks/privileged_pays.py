"""Does knowing more at training time help at the bedside? python benchmarks/privileged_pays.py [--resume] [--report]

Two studies. One is simulated: grades read by one reader who errs, and, for the training patients alone, a second
reader, a score at follow-up and a biopsy. The other is real: patients with primary biliary cirrhosis (pbcseq of R's
survival): who dies or is transplanted within five years, from the laboratory at the first visit; privileged is the
laboratory one year later, which no new patient has.

Each draw trains on n rows and is judged on others. Beside a model that uses nothing stand the three ways of
`privileged=`, and "auto", which takes the way, none included, with the best cross-validated score. "auto" is read off
the fits of the single ways by its rule; on every tenth draw it is run itself, and the two must agree.
"""

from __future__ import annotations

import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd

import relbounds as rb

FRESH = 50_000
ROWS = (50, 100, 200)
WAYS: dict[str, dict[str, Any]] = {
    "slack, published": {"privileged": "slack", "residual": np.inf},
    "slack": {"privileged": "slack", "residual": "auto"},
    "teacher": {"privileged": "teacher"},
}
SHOWN = ("nothing", "auto", "teacher", "slack", "slack, published")
PRIVILEGED = {
    "readers": ("second", "followup", "biopsy"),
    "pbc": ("bili1", "albumin1", "alkphos1", "ast1", "platelet1", "protime1", "edema1"),
}
METRIC = {"readers": "MMAE, lower is better", "pbc": "F1, higher is better"}
TEST = 1000


def readers(n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Grades 1-4 by a reader who is one grade off in three of ten patients; new patients are judged by the truth.

    Eight blood values, five of which follow the disease. Known later: a second reader (as careless as the first), a
    follow-up score that follows the disease with some noise, and a biopsy with little.
    """
    rng = np.random.default_rng([seed, n])
    total = n + TEST
    disease = rng.standard_normal(total)
    X = rng.standard_normal((total, 8))
    X[:, :5] = 0.6 * disease[:, None] + 0.8 * X[:, :5]
    truth = np.searchsorted([-0.25, 0.5, 1.3], disease) + 1

    def read() -> np.ndarray:
        slip = np.where(rng.random(total) < 0.3, rng.choice([-1, 1], total), 0)
        return np.clip(truth + slip, 1, 4)

    data = pd.DataFrame(X, columns=[f"x{k + 1}" for k in range(8)])
    data["y"], data["second"] = read(), read()
    data["followup"] = disease + 0.5 * rng.standard_normal(total)
    data["biopsy"] = disease + 0.2 * rng.standard_normal(total)
    test = data.iloc[n:].assign(y=truth[n:])
    return graded(data.iloc[:n]), graded(test)


def graded(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(y=pd.Categorical(data["y"], categories=sorted(data["y"].unique()), ordered=True))


PBC = """
library(survival)
p <- pbcseq
first <- p[p$day == 0, ]
year <- p[p$day >= 270 & p$day <= 460, ]
year <- year[order(year$id, abs(year$day - 365)), ]
year <- year[!duplicated(year$id), ]
later <- c("bili", "albumin", "alk.phos", "ast", "platelet", "protime", "edema")
names(year)[match(later, names(year))] <- paste0(sub("[.]", "", later), "1")
both <- merge(first, year[, c("id", paste0(sub("[.]", "", later), "1"))], by = "id")
names(both)[names(both) == "alk.phos"] <- "alkphos"
known <- both$futime >= 5 * 365.25 | both$status > 0
both$y <- as.integer(both$status > 0 & both$futime < 5 * 365.25)
both <- both[known, c("y", "age", "sex", "ascites", "hepato", "spiders", "edema", "bili", "albumin", "alkphos", "ast",
                      "platelet", "protime", paste0(sub("[.]", "", later), "1"))]
write.csv(both[complete.cases(both), ], commandArgs(trailingOnly = TRUE)[1], row.names = FALSE)
"""


def pbc_table() -> pd.DataFrame:
    """One row a patient with a visit after about a year; the five-year outcome is known for all of them."""
    file = Path(tempfile.gettempdir()) / "relbounds-pbcseq.csv"
    if not file.exists():
        subprocess.run(["Rscript", "--vanilla", "-e", PBC, str(file)], check=True, capture_output=True)
    data = pd.read_csv(file)
    # laboratory values are skewed; the field takes logarithms of these
    skewed = [c for c in data if c.rstrip("1") in ("bili", "alkphos", "ast", "protime")]
    return data.assign(**{c: np.log(data[c]) for c in skewed})


def pbc(n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    data = graded(pbc_table())
    order = np.random.default_rng([seed, n]).permutation(len(data))
    return data.iloc[order[:n]], data.iloc[order[n:]]


def work(study: str, n: int, seed: int) -> dict[str, Any]:
    train, test = {"readers": readers, "pbc": pbc}[study](n, seed)
    regular = [c for c in train if c != "y" and c not in PRIVILEGED[study]]
    plain = "y ~ " + " + ".join(regular)
    formula = f"{plain} | priv({', '.join(PRIVILEGED[study])})"
    same = {"seed": seed, "bounds": False, "progress": False}
    out: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rb.relbounds(plain, train, **same)
        out["nothing"] = fit.score(test)
        larger = study == "pbc"
        best, name = fit.baseline.cv_score, "nothing"
        for way, extra in WAYS.items():
            fit = rb.relbounds(formula, train, **same, **extra)
            out[way] = fit.score(test)
            score = fit.baseline.cv_score
            gain = score - best if larger else best - score
            # a model that uses nothing is no way
            if np.abs(fit.baseline.weights).sum() > 1e-9 and gain > 1e-9 * max(1.0, abs(best)):
                best, name = score, way
        out["auto"], out["chosen"] = out[name], name
        if seed % 10 == 0:
            itself = rb.relbounds(formula, train, **same, privileged="auto").score(test)
            out["auto itself"] = itself
    # what can be had at most: the privileged columns as if they were known for new patients too
    return out


def cell(values: pd.Series) -> str:
    return f"{values.mean():.3f} ± {1.96 * values.std() / np.sqrt(len(values)):.3f}"


def report(rows: pd.DataFrame) -> str:
    good = rows[rows["error"].isna()]
    text = [
        "# Privileged information that pays",
        "",
        common.provenance(
            "python benchmarks/privileged_pays.py --resume",
            f"{good['seed'].min()}-{good['seed'].max()}",
            ("relbounds", "numpy", "scipy", "pandas", "cvxopt"),
        ),
        f"Failed draws: {int(rows['error'].notna().sum())}. Cells: mean over draws ± 1.96 standard errors; differences "
        "are taken draw by draw.",
        "",
        "![gain](privileged_pays.png)",
        "",
    ]
    titles = {
        "readers": "Simulated: a second reader, a follow-up, a biopsy",
        "pbc": "Real: five-year outcome of primary biliary cirrhosis, laboratory of one year later",
    }
    for study, title in titles.items():
        here = good[good["study"] == study]
        if not len(here):
            continue
        sign = 1 if study == "pbc" else -1
        lines = []
        for n, own in here.groupby("n"):
            row = {"n": str(n), "draws": str(len(own))}
            row |= {way: cell(own[way]) for way in SHOWN}
            for way in SHOWN[1:]:
                gain = sign * (own[way] - own["nothing"])
                row[f"gain of {way}"] = cell(gain)
            lines.append(row)
        text += [f"## {title}", "", f"{METRIC[study]}.", "", common.markdown(pd.DataFrame(lines)), ""]
        chosen = here.groupby(["n", "chosen"]).size().unstack(fill_value=0)
        said = "; ".join(
            f"n = {n}: " + ", ".join(f"{way} {count}" for way, count in row.items() if count)
            for n, row in chosen.iterrows()
        )
        text += [f"What auto chose, draws: {said}.", ""]
        checked = here.dropna(subset=["auto itself"]) if "auto itself" in here else here.iloc[:0]
        differ = int((np.abs(checked["auto itself"] - checked["auto"]) > 1e-9).sum()) if len(checked) else 0
        text += [f"auto run itself on {len(checked)} of the draws: {differ} differ.", ""]
    notes = common.RESULTS / "privileged_pays_notes.md"
    if notes.exists():
        text += [notes.read_text().strip(), ""]
    return "\n".join(text)


def figure(rows: pd.DataFrame) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    good = rows[rows["error"].isna()]
    fig, axes = plt.subplots(1, 2, figsize=(8, 3.3), layout="constrained")
    colours = {"auto": "#0b5394", "teacher": "#e69138", "slack": "#6aa84f"}
    for ax, study in zip(axes, ("readers", "pbc"), strict=True):
        here = good[good["study"] == study]
        sign = 1 if study == "pbc" else -1
        for k, (way, colour) in enumerate(colours.items()):
            gains = [sign * (own[way] - own["nothing"]) for _, own in here.groupby("n")]
            if not gains:
                continue
            place = np.arange(len(gains)) + 0.18 * (k - 1)
            ax.errorbar(
                place,
                [g.mean() for g in gains],
                [1.96 * g.std() / np.sqrt(len(g)) for g in gains],
                fmt="o",
                color=colour,
                label=way,
                capsize=2,
            )
        ax.axhline(0, color="#999999", lw=0.8)
        ax.set_xticks(range(len(ROWS)), [f"n = {n}" for n in ROWS])
        ax.set_title({"readers": "Simulated readers", "pbc": "Cirrhosis, real"}[study], loc="left")
        ax.set_ylabel(f"gain in {METRIC[study].split(',')[0]} over using nothing")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    fig.savefig(common.RESULTS / "privileged_pays.png", dpi=140)
    plt.close(fig)


def main() -> None:
    given = common.parser(__doc__ or "", seeds=50)
    given.add_argument("--first", type=int, default=FRESH, help="first seed")
    given.add_argument("--name", default="privileged_pays", help="name of the files in results/")
    args = given.parse_args()
    tasks = [
        {"study": study, "n": n, "seed": args.first + s}
        for s in range(args.seeds)
        for study in PRIVILEGED
        for n in ROWS
    ]
    rows = common.run(args.name, work, tasks, args)
    figure(rows)
    common.write(args.name, report(rows))


if __name__ == "__main__":
    main()
