"""What balance does to predicted levels of unbalanced data: python benchmarks/balance.py

Two thirds of the rows train, one third is predicted. Beside each other: the level between whose thresholds the score
lies, with balance (the default) and without (the published model); the most probable level by the model of held-out
scores (`type="prob"`) of the default fit; and the most probable level of a proportional-odds model (statsmodels'
OrderedModel; two levels: Logit). MMAE is the mean over levels of each level's own mean absolute error: it asks the same
of rare levels as of common ones. MAE and accuracy are those of all rows together, where a constant can do well.
"""

from __future__ import annotations

import warnings
from typing import Any

import common
import numpy as np
import pandas as pd

import relbounds as rb
from relbounds.metrics import mmae

FRESH = 50_000
DATA = ("60/30/10", "60/30/10, weak", "90/10", "55/26/19, n 1200", "anes96", "fair", "housing", "wine")
WAYS = ("balanced", "most probable", "balance=False", "standard model", "largest level")
MEASURES = ("MMAE", "MAE", "accuracy", "levels predicted")


def load(name: str, seed: int) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with the response `y` (levels 0, 1, ...) and the names of its features, all numbers."""
    if name in ("anes96", "fair"):
        import statsmodels.api as sm

        data = getattr(sm.datasets, name).load_pandas().data
        if name == "anes96":
            features = ["logpopul", "selfLR", "age", "educ", "income"]
            return data[features].assign(y=data["PID"].astype(int)), features
        features = ["age", "yrs_married", "children", "religious", "educ", "affairs"]
        own = data.sample(1500, random_state=FRESH + seed)
        return own[features].assign(y=own["rate_marriage"].astype(int) - 1).reset_index(drop=True), features
    if name in ("housing", "wine"):
        data = getattr(rb.datasets, f"load_{name}")()
        if name == "housing":
            data = data.loc[data.index.repeat(data["freq"])].reset_index(drop=True)
            left, right = "satisfaction", ["influence", "type", "contact"]
        else:
            left, right = "rating", ["temp", "contact"]
        X = pd.get_dummies(data[right], drop_first=True, dtype=float)
        X.columns = [str(c).replace(" ", "_") for c in X.columns]
        codes = data[left].cat.codes if hasattr(data[left], "cat") else data[left].astype(int)
        return X.assign(y=np.asarray(codes) - int(np.min(codes))), list(X.columns)
    rng = np.random.default_rng([FRESH + seed, 5])
    n = 1200 if "1200" in name else 450
    X = rng.standard_normal((n, 6))
    beta = 0.5 if "weak" in name or "1200" in name else 1.0
    latent = beta * X[:, :3] @ np.array([1.0, 0.6, 0.4]) + rng.logistic(size=n)
    shares = {"60": (0.6, 0.9), "90": (0.9,), "55": (0.55, 0.81)}[name[:2]]
    data = pd.DataFrame(X, columns=[f"x{k}" for k in range(1, 7)])
    return data.assign(y=np.searchsorted(np.quantile(latent, shares), latent)), list(data.columns)


def standard(train: pd.DataFrame, test: pd.DataFrame, features: list[str]) -> np.ndarray:
    """Return the most probable levels by the standard model."""
    if train["y"].nunique() == 2:
        from statsmodels.api import Logit, add_constant

        fit = Logit(train["y"], add_constant(train[features])).fit(disp=0)
        return (np.asarray(fit.predict(add_constant(test[features]))) > 0.5).astype(int)
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    fit = OrderedModel(train["y"], train[features], distr="logit").fit(method="bfgs", disp=0)
    levels = np.unique(train["y"])
    return levels[np.argmax(np.asarray(fit.predict(test[features])), axis=1)]


def work(data: str, seed: int) -> dict[str, Any]:
    table, features = load(data, seed)
    order = np.random.default_rng([FRESH + seed, 6]).permutation(len(table))
    cut = 2 * len(table) // 3
    train, test = table.iloc[order[:cut]], table.iloc[order[cut:]]
    formula = "y ~ " + " + ".join(features)
    family = "binary" if table["y"].nunique() == 2 else "ordinal"
    how = {"family": family, "bounds": False, "seed": seed, "progress": False}
    fit = rb.relbounds(formula, train, **how)
    plain = rb.relbounds(formula, train, balance=False, **how)
    chances = fit.predict(test, type="prob")
    said = {
        "balanced": np.asarray(fit.predict(test)),
        "most probable": np.asarray(chances.columns)[np.argmax(chances.to_numpy(), axis=1)],
        "balance=False": np.asarray(plain.predict(test)),
        "standard model": standard(train, test, features),
        "largest level": np.full(len(test), train["y"].mode().iloc[0]),
    }
    truth = test["y"].to_numpy()
    out: dict[str, Any] = {}
    for way, levels in said.items():
        levels = np.asarray(levels).astype(int)
        out |= {
            f"MMAE, {way}": mmae(truth, levels),
            f"MAE, {way}": float(np.mean(np.abs(truth - levels))),
            f"accuracy, {way}": float(np.mean(truth == levels)),
            f"levels predicted, {way}": len(np.unique(levels)),
        }
    return out


def report(rows: pd.DataFrame) -> str:
    good = rows[rows["error"].isna()]
    text = [
        "# Predicted levels of unbalanced data",
        "",
        common.provenance("python benchmarks/balance.py", f"{FRESH} and up"),
        f"Failed runs: {len(rows) - len(good)}. Means over {good.groupby('data').size().min()} splits of each table.",
        "",
    ]
    for measure in MEASURES:
        table = good.groupby("data")[[f"{measure}, {way}" for way in WAYS]].mean().reindex(DATA)
        table.columns, table.index.name = list(WAYS), "data"
        text += [
            f"## {measure.capitalize() if measure[0].islower() else measure}",
            "",
            common.markdown(table, 3),
            "",
        ]
    notes = common.RESULTS / "balance_notes.md"
    if notes.exists():
        text += [notes.read_text().rstrip()]
    return "\n".join(text)


def main() -> None:
    warnings.simplefilter("ignore")
    args = common.parser("Predicted levels of unbalanced data.", seeds=10).parse_args()
    tasks = [{"data": name, "seed": seed} for seed in range(args.seeds) for name in DATA]
    common.write("balance", report(common.run("balance", work, tasks, args)))


if __name__ == "__main__":
    main()
