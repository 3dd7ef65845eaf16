"""Do error rates keep their word? python benchmarks/calibration.py [--seeds 200] [--resume] [--report]

Each row of the table is one kind of data, drawn anew for every fit with seeds that served no choice. Reported is the
share of fits with at least one false positive (a term that has nothing to do with the response or with a relevant term,
called relevant), against alpha; the share of fits that call a weak term strong; and the share of relevant
terms found. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import common
import numpy as np
import pandas as pd

import relbounds as rb

# Seeds below this served to settle choices.
FRESH = 50_000
FEW, MANY = (50, 100, 400), (100, 400)


@dataclass(frozen=True)
class Scene:
    """One kind of data."""

    name: str
    family: str = "ordinal"
    n: int = 100
    d: int = 10
    correlation: str = "0"
    columns: str = "normal"
    shares: tuple[float, ...] = (1 / 3, 1 / 3, 1 / 3)
    truth: str = "none"
    alpha: float = 0.05
    control: str = "fwer"


def scenes() -> list[Scene]:
    out = [
        Scene("no relation", n=n, d=d)
        for n, d in ((50, 5), (100, 10), (400, 10), (1000, 10), (100, 50), (200, 200))
    ]
    out += [
        Scene("no relation, equicorrelated", correlation=c, n=n)
        for c, n in (("0.5", 100), ("0.9", 100), ("0.5", 400))
    ]
    out += [
        Scene("no relation, blocks", correlation="blocks 0.9", d=20),
        Scene("no relation, AR", correlation="ar 0.9", d=20),
    ]
    out += [
        Scene(f"no relation, {columns}", columns=columns, n=150) for columns in ("heavy", "counts", "factors")
    ]
    out += [
        Scene("no relation, 60/30/10", shares=(0.6, 0.3, 0.1), n=150),
        Scene("no relation, 90/10", family="binary", shares=(0.9, 0.1), n=200),
        Scene("no relation, 5 levels", shares=(0.2,) * 5, n=150),
        Scene("no relation, binary", family="binary", shares=(0.5, 0.5)),
        Scene("no relation, numbers", family="regression"),
        Scene("no relation, nominal", family="nominal", n=150, d=6),
        Scene("no relation, survival", family="survival", n=150),
        Scene("no relation, alpha 0.01", alpha=0.01),
        Scene("no relation, alpha 0.2", alpha=0.2),
        Scene("no relation, fdr", control="fdr", d=50, n=150),
    ]
    out += [
        Scene("strong relations", truth="strong", n=n, shares=s)
        for n in MANY
        for s in ((1 / 3, 1 / 3, 1 / 3), (0.6, 0.3, 0.1))
    ]
    out += [
        Scene("copies", truth="copies", n=200),
        Scene("copies, numbers", truth="copies", n=200, family="regression"),
        Scene("copies, binary", truth="copies", n=200, family="binary", shares=(0.5, 0.5)),
        Scene("strong, noise correlated with itself", truth="strong", n=200, correlation="noise 0.5"),
        Scene("strong, factors", truth="strong", columns="factors", n=300),
        Scene("strong, alpha 0.2", truth="strong", n=200, alpha=0.2),
        Scene("strong, fdr", truth="strong", n=200, d=50, control="fdr"),
    ]
    return out


def columns_of(scene: Scene, rng: np.random.Generator) -> np.ndarray:
    """Draw features with the wanted correlation."""
    n, d, kind = scene.n, scene.d, scene.correlation
    Z = rng.standard_normal((n, d))
    if kind.startswith("ar"):
        rho = float(kind.split()[1])
        for j in range(1, d):
            Z[:, j] = rho * Z[:, j - 1] + np.sqrt(1 - rho**2) * Z[:, j]
    elif kind.startswith("blocks"):
        rho = float(kind.split()[1])
        shared = np.repeat(rng.standard_normal((n, -(-d // 5))), 5, axis=1)[:, :d]
        Z = np.sqrt(rho) * shared + np.sqrt(1 - rho) * Z
    elif kind.startswith("noise"):
        rho = float(kind.split()[1])
        Z[:, 3:] = np.sqrt(rho) * rng.standard_normal((n, 1)) + np.sqrt(1 - rho) * Z[:, 3:]
    elif float(kind) > 0:
        rho = float(kind)
        Z = np.sqrt(rho) * rng.standard_normal((n, 1)) + np.sqrt(1 - rho) * Z
    if scene.columns == "heavy":
        Z = np.sign(Z) * np.abs(Z) ** 3
    elif scene.columns == "counts":
        Z = np.floor(np.exp(0.8 * Z))
    return Z


def draw(scene: Scene, seed: int) -> tuple[pd.DataFrame, str, pd.Series]:
    """Draw data; return them with their formula and the truth by term."""
    rng = np.random.default_rng([seed, scene.n, scene.d])
    X = columns_of(scene, rng)
    truth = pd.Series("irrelevant", index=[f"x{k + 1}" for k in range(scene.d)])
    score = np.zeros(scene.n)
    if scene.truth != "none":
        score = X[:, :3] @ np.array([1.0, 1.0, 1.0])
        truth.iloc[:3] = "strong"
    if scene.truth == "copies":
        X[:, 3] = X[:, 2] + 1e-9 * X[:, 3]
        X[:, 4] = X[:, 1] + 0.3 * X[:, 4]
        truth.iloc[1:5] = "weak"
    latent = score + rng.logistic(size=scene.n)
    data = pd.DataFrame(X, columns=truth.index)
    if scene.columns == "factors":
        first = 3 if scene.truth != "none" else 0
        for k in range(first, scene.d, 2):
            levels = (2, 3, 6)[(k // 2) % 3]
            cuts = np.sort(rng.random(levels - 1))
            data[f"x{k + 1}"] = pd.Categorical(
                np.array(list("abcdef"))[np.searchsorted(cuts, rng.random(scene.n))]
            )
    if scene.family == "regression":
        data["y"] = latent
    elif scene.family == "survival":
        time, censor = np.exp(0.5 * latent + 1), rng.exponential(12.0, scene.n)
        data["time"], data["status"] = np.minimum(time, censor) + 1e-3, (time <= censor).astype(int)
    else:
        order = np.argsort(np.argsort(latent))
        codes = np.searchsorted(np.cumsum(scene.shares)[:-1] * scene.n, order, side="right")
        labels = list("abcde")[: len(scene.shares)]
        data["y"] = pd.Categorical.from_codes(codes, labels, ordered=scene.family != "nominal")
    left = "Surv(time, status)" if scene.family == "survival" else "y"
    return data, f"{left} ~ " + " + ".join(truth.index), truth


def work(scene: str, number: int, seed: int) -> dict[str, Any]:
    own = scenes()[number]
    data, formula, truth = draw(own, FRESH + seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rb.relbounds(
            formula, data, family=own.family, alpha=own.alpha, control=own.control, seed=seed, progress=False
        )
    terms = fit.table[fit.table["row"] == "term"].set_index("term")["relevance"].reindex(truth.index)
    relevant = terms.isin(["strong", "weak"])
    idle = truth == "irrelevant"
    levels = fit.table[(fit.table["row"] == "level") & fit.table["term"].isin(truth.index[idle])]
    return {
        "false": int((relevant & idle).sum()),
        "called": int(relevant.sum()),
        "found": int((relevant & ~idle).sum()),
        "there": int((~idle).sum()),
        "strong_of_weak": int(((terms == "strong") & (truth == "weak")).sum()),
        "strong_of_strong": int(((terms == "strong") & (truth == "strong")).sum()),
        "strong": int((truth == "strong").sum()),
        "false_levels": int(levels["relevance"].isin(["strong", "weak"]).sum()),
    }


def report(rows: pd.DataFrame) -> str:
    lines = [
        "| data | family | n | d | alpha | fits | share with a false positive | 95 % interval | found "
        "| strong called strong | weak called strong |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for number, scene in enumerate(scenes()):
        own = rows[rows["number"] == number]
        if own.empty:
            continue
        if scene.control == "fdr":
            share = float((own["false"] / own["called"].clip(lower=1)).mean())
            hits, what = round(share * len(own)), "FDR "
        else:
            hits, what = int((own["false"] > 0).sum()), ""
        low, high = common.wilson(hits, len(own))
        there, strong = own["there"].sum(), own["strong"].sum()
        cells = [
            scene.name
            + (f" {scene.correlation}" if "equi" in scene.name else "")
            + (f" {'/'.join(f'{100 * s:.0f}' for s in scene.shares)}" if scene.truth == "strong" else ""),
            scene.family,
            str(scene.n),
            str(scene.d),
            f"{scene.alpha:g}",
            str(len(own)),
            f"{what}{hits / len(own):.3f}",
            f"{low:.3f}-{high:.3f}" + (" **above alpha**" if low > scene.alpha else ""),
            f"{own['found'].sum() / there:.2f}" if there else "",
            f"{own['strong_of_strong'].sum() / strong:.2f}" if strong else "",
            f"{(own['strong_of_weak'] > 0).mean():.3f}" if scene.truth == "copies" else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    plain = rows[[scenes()[k].alpha == 0.05 and scenes()[k].control == "fwer" for k in rows["number"]]]
    share = (plain["false"] > 0).mean()
    low, high = common.wilson(int((plain["false"] > 0).sum()), len(plain))
    lines += [
        "",
        f"All rows at alpha 0.05 together: {share:.3f} ({low:.3f}-{high:.3f}) of {len(plain)} fits.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = common.parser(__doc__ or "", 200)
    parser.add_argument("--scenes", type=int, nargs="*", help="numbers of scenes; all by default")
    args = parser.parse_args()
    tasks = [
        {"scene": scene.name, "number": k, "seed": seed}
        for seed in range(args.seeds)
        for k, scene in enumerate(scenes())
        if args.scenes is None or k in args.scenes
    ]
    rows = common.run("calibration", work, tasks, args)
    text = report(rows)
    print(text)
    (common.RESULTS / "calibration.md").write_text("# Error rates\n\n" + text)


if __name__ == "__main__":
    main()
