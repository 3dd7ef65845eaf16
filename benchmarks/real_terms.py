"""Terms on real tables beside the standard model of the field, and what factors cost: python benchmarks/real_terms.py

Tables that packages carry: housing (MASS, counts), wine (ordinal), anes96 and fair (statsmodels), diabetes, means of
breast cancer and iris (scikit-learn). Beside each term stands the root of its likelihood ratio statistic in the
standard model (proportional odds, logistic, least squares, multinomial), all terms together, as a normal value: |z|.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import common
import numpy as np
import pandas as pd
from scipy import stats

import relbounds as rb
from relbounds.linear.noise.smooth import Response, fit_smooth

FITS: dict[str, tuple[str, dict[str, Any]]] = {
    "housing": ("satisfaction ~ influence + type + contact", {"frequency": "freq"}),
    "wine": ("rating ~ temp + contact", {}),
    "anes96": ("PID ~ logpopul + selfLR + age + educ + income", {"family": "ordinal"}),
    "fair": (
        "rate ~ age + yrs_married + children + religious + educ + C(occupation) + affairs",
        {"family": "ordinal"},
    ),
    "diabetes": ("target ~ .", {}),
    "breast cancer": ("target ~ .", {}),
    "iris": ("target ~ .", {}),
}


def load(name: str) -> pd.DataFrame:
    if name in ("housing", "wine"):
        return getattr(rb.datasets, f"load_{name}")()
    if name in ("anes96", "fair"):
        import statsmodels.api as sm

        data = getattr(sm.datasets, name).load_pandas().data
        return (
            data.assign(PID=data["PID"].astype(int))
            if name == "anes96"
            else data.assign(rate=data["rate_marriage"])
        )
    from sklearn import datasets

    source = getattr(datasets, f"load_{name.replace(' ', '_')}")(as_frame=True)
    data = source.frame.rename(columns=lambda c: c.replace(" (cm)", "").replace(" ", "_"))
    if name == "breast cancer":
        data = data[[c for c in data if c.startswith("mean_")] + ["target"]]
    if name == "iris":
        data["target"] = pd.Categorical(source.target_names[data["target"]])
    return data


def standard(fit: rb.RelboundsResults) -> dict[str, float]:
    """Return |z| of each term in the standard model of the response."""
    design = fit.design
    kind = "regression" if design.levels is None else design.family
    response = Response(kind, design.y.astype(float))
    terms = [t for t in design.design_terms if t.part == "regular"]
    blocks = {t.name: design.X[:, list(t.columns)] for t in terms}
    whole = fit_smooth(response, np.hstack(list(blocks.values())), "plain").loglik
    out = {}
    for name, own in blocks.items():
        rest = [b for other, b in blocks.items() if other != name]
        less = fit_smooth(response, np.hstack(rest) if rest else None, "plain").loglik
        freedom = np.linalg.matrix_rank(own - own.mean(axis=0)) * (
            len(design.levels or ()) - 1 if kind == "nominal" else 1
        )
        # tails of large statistics vanish; the logarithm of the tail does not
        tail = stats.chi2.logsf(max(0.0, 2 * (whole - less)), freedom)
        out[name] = float(stats.norm.isf(np.exp(tail) / 2)) if tail > -700 else float(np.sqrt(-2 * tail))
    return out


def table_of(name: str) -> str:
    formula, options = FITS[name]
    started = time.process_time()
    fit = rb.relbounds(formula, load(name), progress=False, **options)
    seconds = time.process_time() - started
    z = standard(fit)
    terms = fit.table[fit.table["row"] == "term"]
    lines = [
        f"## {name}",
        "",
        f"`{formula}`, {len(fit.design.y)} observations, delta {fit.delta:.4f}, {seconds:.1f} s of processor time.",
        "",
        "| term | abs. z | lower | upper | P adj. | relevance |",
        "|---|---|---|---|---|---|",
    ]
    for title, row in terms.iterrows():
        cells = (z[row["term"]], row["lower"], row["upper"], row["p_adjusted"])
        lines.append(
            f"| {title} | {cells[0]:.1f} | "
            + " | ".join(f"{c:.3f}" for c in cells[1:])
            + f" | {row['relevance']} |"
        )
    return "\n".join(lines) + "\n"


def factor_cost() -> str:
    """A fit with three factors against the same data coded by hand as 0/1 columns."""
    rng = np.random.default_rng(1)
    n = 2000
    data = pd.DataFrame({"age": rng.integers(18, 70, n), "priors": rng.poisson(2, n)})
    for name, levels in (("race", "abcdef"), ("sex", "mf"), ("charge", "xyz")):
        data[name] = rng.choice(list(levels), n)
    score = 0.03 * data["age"] - 0.3 * data["priors"] + (data["race"] == "b") + rng.logistic(size=n)
    data["y"] = pd.qcut(score, [0, 0.5, 0.8, 1], labels=[1, 2, 3]).astype(int)
    coded = pd.get_dummies(data, columns=["race", "sex", "charge"], drop_first=True, dtype=int)
    times = {}
    for label, frame in (("factors", data), ("by hand", coded)):
        rb.relbounds("y ~ .", frame.head(200), family="ordinal", progress=False)
        started = time.process_time()
        rb.relbounds("y ~ .", frame, family="ordinal", progress=False)
        times[label] = time.process_time() - started
    ratio = times["factors"] / times["by hand"]
    return (
        f"## What factors cost\n\n{n} rows, three factors and two numbers: {times['factors']:.1f} s; coded by hand as "
        f"0/1 columns {times['by hand']:.1f} s; ratio {ratio:.2f} (processor time, one run).\n"
    )


def main() -> None:
    warnings.simplefilter("ignore")
    text = "# Real tables beside the standard model\n\n" + "\n".join(
        [*(table_of(name) for name in FITS), factor_cost()]
    )
    notes = common.RESULTS / "real_terms_notes.md"
    text += "\n" + notes.read_text() if notes.exists() else ""
    print(text)
    (common.RESULTS / "real_terms.md").write_text(text)


if __name__ == "__main__":
    main()
