"""Does knowing more at training time help at the bedside? python benchmarks/privileged_pays.py [--resume] [--report]

Two simulated clinics have the same patients and the same columns that are known for training patients alone: a second
reader, a score at follow-up and a biopsy. In one the grade is read by a reader who is a grade off in three of ten
patients; in the other it is copied from routine records, and three of ten are plainly wrong. Three tables are real (R's
survival); all that were tried are shown:

- pbc: who dies or is transplanted within five years, by the laboratory at the first visit; known later: the laboratory
  one year on;
- colon: who dies within five years of surgery, by what the surgeon and the pathologist saw; known later: whether the
  cancer came back within two years;
- rotterdam: the same for breast cancer.

Each draw trains on n rows and is judged on others (simulated ones by the true grade). Beside a model that uses nothing
stand two ways of `privileged=`, and "auto", which takes the way, none included, with the best cross-validated score.
Where the columns known later hold another reading of the response, it is tried in place of the response, too.
"""

from __future__ import annotations

import functools
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd

import relbounds as rb

FRESH = 50_000
"""Clinics and tables were settled on seeds below."""
ROWS = (50, 100, 200)
WAYS: dict[str, dict[str, Any]] = {
    "auto": {"privileged": "auto"},
    "teacher": {"privileged": "teacher"},
    "slack": {"privileged": "slack", "residual": "auto"},
}
INSTEAD = "second reading instead"
TEST = 1000
WRONG = 0.3
GRADES = (-0.25, 0.5, 1.3)
"""Where the disease is cut into four grades."""


def clinic(slips: Callable[..., np.ndarray]) -> Callable[[int, int], tuple[pd.DataFrame, pd.DataFrame]]:
    """Eight blood values, five of which follow the disease; four grades, recorded with errors; three later columns.

    The second reader is a grade off in three of ten patients, the follow-up follows the disease with some noise, the
    biopsy with little.
    """

    def draw(n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        rng = np.random.default_rng([seed, n])
        total = n + TEST
        disease = rng.standard_normal(total)
        X = rng.standard_normal((total, 8))
        X[:, :5] = 0.6 * disease[:, None] + 0.8 * X[:, :5]
        truth = np.searchsorted(GRADES, disease) + 1
        data = pd.DataFrame(X, columns=[f"x{k + 1}" for k in range(8)])
        data["y"], data["second"] = slips(rng, truth), one_off(rng, truth)
        data["followup"] = disease + 0.5 * rng.standard_normal(total)
        data["biopsy"] = disease + 0.2 * rng.standard_normal(total)
        return graded(data.iloc[:n]), graded(data.iloc[n:].assign(y=truth[n:]))

    return draw


def one_off(rng: np.random.Generator, truth: np.ndarray) -> np.ndarray:
    """A careless reader: a grade too high or too low in three of ten patients."""
    slip = np.where(rng.random(len(truth)) < WRONG, rng.choice([-1, 1], len(truth)), 0)
    return np.clip(truth + slip, 1, 4)


def any_other(rng: np.random.Generator, truth: np.ndarray) -> np.ndarray:
    """Routine records: any of the other grades in three of ten patients."""
    other = (truth - 1 + rng.integers(1, 4, len(truth))) % 4 + 1
    return np.where(rng.random(len(truth)) < WRONG, other, truth)


def graded(data: pd.DataFrame) -> pd.DataFrame:
    return data.assign(y=pd.Categorical(data["y"], categories=sorted(data["y"].unique()), ordered=True))


REAL = {
    "pbc": """
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
for (v in c("bili", "alkphos", "ast", "protime")) for (w in c(v, paste0(v, "1"))) both[[w]] <- log(both[[w]])
out <- both[known, c("y", "age", "sex", "ascites", "hepato", "spiders", "edema", "bili", "albumin", "alkphos", "ast",
                     "platelet", "protime", paste0(sub("[.]", "", later), "1"))]
""",
    "colon": """
death <- subset(colon, etype == 2)
back <- subset(colon, etype == 1)
back <- back[match(death$id, back$id), ]
death$y <- as.integer(death$status == 1 & death$time < 5 * 365.25)
death$recurred <- as.integer(back$status == 1 & back$time < 2 * 365.25)
out <- death[death$status == 1 | death$time >= 5 * 365.25, c("y", "rx", "sex", "age", "obstruct", "perfor", "adhere",
                                                            "nodes", "differ", "extent", "surg", "recurred")]
""",
    "rotterdam": """
p <- rotterdam
p$y <- as.integer(p$death == 1 & p$dtime < 5 * 365.25)
p$recurred <- as.integer(p$recur == 1 & p$rtime < 2 * 365.25)
for (v in c("nodes", "pgr", "er")) p[[v]] <- log(1 + p[[v]])
out <- p[p$death == 1 | p$dtime >= 5 * 365.25, c("y", "age", "meno", "size", "grade", "nodes", "pgr", "er", "hormon",
                                                "chemo", "recurred")]
""",
}
"""How the tables come from R: patients whose outcome after five years is known; logarithms of what is skewed."""


@functools.cache
def table(name: str) -> pd.DataFrame:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        code = f"library(survival)\n{REAL[name]}\nwrite.csv(out[complete.cases(out), ], '{file}', row.names = FALSE)"
        subprocess.run(["Rscript", "--vanilla", "-e", code], check=True, capture_output=True)
        return graded(pd.read_csv(file))


def real(name: str) -> Callable[[int, int], tuple[pd.DataFrame, pd.DataFrame]]:
    def draw(n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        order = np.random.default_rng([seed, n]).permutation(len(table(name)))
        return table(name).iloc[order[:n]], table(name).iloc[order[n:]]

    return draw


@dataclass(frozen=True)
class Study:
    """Where data come from, and which columns are known for training rows alone."""

    title: str
    draw: Callable[[int, int], tuple[pd.DataFrame, pd.DataFrame]]
    privileged: tuple[str, ...]
    second: str | None = None
    """Which of them is another reading of the response."""
    metric: str = "F1, higher is better"

    @property
    def sign(self) -> int:
        return -1 if "lower" in self.metric else 1


LATER = ("second", "followup", "biopsy")
LOWER = "MMAE, lower is better"
STUDIES = {
    "records": Study(
        "Simulated: grades from routine records, three of ten plainly wrong",
        clinic(any_other), LATER, "second", LOWER,
    ),
    "readers": Study(
        "Simulated: grades by a reader who is one off in three of ten", clinic(one_off), LATER, "second", LOWER
    ),
    "pbc": Study(
        "Real: five-year outcome of primary biliary cirrhosis, laboratory of one year later",
        real("pbc"),
        ("bili1", "albumin1", "alkphos1", "ast1", "platelet1", "protime1", "edema1"),
    ),
    "colon": Study("Real: five-year survival of colon cancer, recurrence within two", real("colon"), ("recurred",)),
    "rotterdam": Study(
        "Real: five-year survival of breast cancer, recurrence within two", real("rotterdam"), ("recurred",)
    ),
}  # fmt: skip


def work(study: str, n: int, seed: int) -> dict[str, Any]:
    own = STUDIES[study]
    train, test = own.draw(n, seed)
    plain = "y ~ " + " + ".join(c for c in train if c != "y" and c not in own.privileged)
    same = {"seed": seed, "bounds": False, "progress": False}
    out: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out["nothing"] = rb.relbounds(plain, train, **same).score(test)
        for way, extra in WAYS.items():
            fit = rb.relbounds(f"{plain} | priv({', '.join(own.privileged)})", train, **same, **extra)
            out[way] = fit.score(test)
            if way == "auto":
                # a fit that finds nothing to use compares no ways
                found = fit._fitted.privileged
                out["chosen"] = found.way if found is not None else "none"
        if own.second:
            other = graded(train.assign(y=train[own.second].to_numpy()))
            out[INSTEAD] = rb.relbounds(plain, other, **same).score(test)
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
    for name, study in STUDIES.items():
        here = good[good["study"] == name]
        if not len(here):
            continue
        shown = ["nothing", *WAYS] + ([INSTEAD] if study.second else [])
        lines = []
        for n, own in here.groupby("n"):
            row = {"n": str(n), "draws": str(len(own))}
            row |= {way: cell(own[way]) for way in shown}
            row |= {f"gain of {way}": cell(study.sign * (own[way] - own["nothing"])) for way in shown[1:]}
            lines.append(row)
        text += [f"## {study.title}", "", f"{study.metric}.", "", common.markdown(pd.DataFrame(lines)), ""]
        chosen = here.groupby(["n", "chosen"]).size().unstack(fill_value=0)
        said = "; ".join(
            f"n = {n}: " + ", ".join(f"{way} {count}" for way, count in row.items() if count)
            for n, row in chosen.iterrows()
        )
        text += [f"What auto chose, draws: {said}.", ""]
    notes = common.RESULTS / "privileged_pays_notes.md"
    if notes.exists():
        text += [notes.read_text().strip(), ""]
    return "\n".join(text)


def figure(rows: pd.DataFrame) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    good = rows[rows["error"].isna()]
    fig, axes = plt.subplots(1, len(STUDIES), figsize=(13, 3.2), layout="constrained")
    colours = {"auto": "#0b5394", "teacher": "#e69138", "slack": "#6aa84f"}
    for ax, (name, study) in zip(axes, STUDIES.items(), strict=True):
        here = good[good["study"] == name]
        for k, (way, colour) in enumerate(colours.items()):
            gains = [study.sign * (own[way] - own["nothing"]) for _, own in here.groupby("n")]
            ax.errorbar(
                np.arange(len(gains)) + 0.18 * (k - 1),
                [g.mean() for g in gains],
                [1.96 * g.std() / np.sqrt(len(g)) for g in gains],
                fmt="o",
                color=colour,
                label=way,
                capsize=2,
            )
        ax.axhline(0, color="#999999", lw=0.8)
        ax.set_xticks(range(len(ROWS)), [f"n = {n}" for n in ROWS])
        ax.set_title(name, loc="left")
        ax.set_ylabel(f"gain in {study.metric.split(',')[0]}")
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
        for study in STUDIES
        for n in ROWS
    ]
    rows = common.run(args.name, work, tasks, args)
    figure(rows)
    common.write(args.name, report(rows))


if __name__ == "__main__":
    main()
