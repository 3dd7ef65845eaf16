"""Terms on real tables beside the standard model of the field, and what factors cost: python benchmarks/real_terms.py

Tables that packages carry: housing (MASS, counts), wine (ordinal), anes96 and fair (statsmodels), diabetes, means of
breast cancer and iris (scikit-learn); from R: birthwt (MASS), airquality and infert (datasets), lung, veteran and pbc
(survival). Beside each term stands the likelihood ratio test of the standard model (proportional odds, logistic,
least squares, multinomial, Cox), all terms together: its statistic as a normal value, |z|, and Holm's adjusted p-value.
"""

from __future__ import annotations

import subprocess
import tempfile
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
    "birthwt": ("low ~ age + lwt + race + smoke + ptl + ht + ui + ftv", {"family": "binary"}),
    "infert": ("case ~ age + parity + education + induced + spontaneous", {"family": "binary"}),
    "airquality": ("Ozone ~ Solar_R + Wind + Temp + Month + Day", {"family": "regression"}),
    "lung": ("Surv(time, status) ~ age + sex + ph_ecog + ph_karno + pat_karno + meal_cal + wt_loss", {}),
    "veteran": ("Surv(time, status) ~ trt + celltype + karno + diagtime + age + prior", {}),
    "pbc": (
        "Surv(time, status) ~ trt + age + sex + ascites + hepato + spiders + edema + bili + albumin + alk_phos + ast"
        " + trig + platelet + protime + stage",
        {},
    ),
}
# How R's tables become the data frames of the formulas above.
FROM_R = {
    "birthwt": "transform(MASS::birthwt, race = factor(race, labels = c('white', 'black', 'other')))",
    "infert": "datasets::infert",
    "airquality": "transform(datasets::airquality, Month = factor(month.abb[Month]))",
    "lung": "transform(survival::lung, status = status - 1, sex = factor(sex, labels = c('m', 'f')))",
    "veteran": "transform(survival::veteran, trt = factor(trt, labels = c('standard', 'test')), "
    "prior = factor(prior, labels = c('no', 'yes')))",
    # transplanted patients leave the study; logarithms as in the published model of these data
    "pbc": "transform(subset(survival::pbc, !is.na(trt)), status = as.integer(status == 2), bili = log(bili), "
    "protime = log(protime), trt = factor(trt, labels = c('drug', 'placebo')))",
}
STANDARD = {
    "ordinal": "proportional odds",
    "binary": "logistic",
    "regression": "least squares",
    "nominal": "multinomial",
    "survival": "Cox",
}


WHY = {
    "housing": "`type` and `contact` (|z| 6.9 and 3.8) are relevant, but some equally good model of this kind does "
    "without either. With three coarse factors the hinge asks only on which side of a balanced "
    "threshold a cell lies, and these two move hardly a cell across. Use proportional odds for the size "
    "of their effects.",
    "wine": "The two agree: both factors were varied by design, crossed, so that neither can stand in for the "
    "other.",
    "anes96": "The two agree on what is relevant, and the order of |z| is nearly the order of `lower`. `educ`, "
    "`logpopul` and `income` (|z| about 4) add something that a test can see in 944 rows; an equally "
    "good model can still do without any one of them, so they are weak.",
    "fair": "`age` and `yrs_married` say much the same: with the other in the model neither reaches Holm's "
    "line, yet one of them is needed by every good model of balanced thresholds, which prefers "
    "`yrs_married`. Both are weak: each has the other as stand-in. `educ` and `occupation` are relevant "
    "by permutation and just miss Holm's line.",
    "diabetes": "What every model needs are the terms with the largest |z|. The collinear serum measures s1 to s4 "
    "replace one another: least squares finds none of them, since each is tested beside the others; "
    "they are relevant together. `s6`, blood sugar, goes with them.",
    "breast cancer": "Logistic regression finds texture alone. The measures of size and shape have |z| below 2.6 "
    "because each is nearly a function of the others, not because they do not matter: all are weak.",
    "iris": "The measures of petals part the species and are needed by either account. Sepals alone part them "
    "well enough to be relevant, and are replaceable. Separable classes make |z| small.",
    "birthwt": "Here the standard model says more. Hypertension (`ht`) passes Holm's line by a hair; relbounds "
    "calls nothing relevant. `ht` is 12 mothers of 189: a rare condition moves few rows across the one "
    "threshold, and its permutation p-value is 0.141. For single weak effects in small binary data use "
    "logistic regression.",
    "infert": "Cases and controls are matched by age, parity and education. Both methods find `spontaneous`, "
    "`induced` and `parity`; the best hinge model uses `spontaneous` alone, so that `parity` and "
    "`induced` are relevant by their tests with hardly any weight. `delta` is at its floor. Use the "
    "likelihood for the size of these effects.",
    "airquality": "`Temp` is needed by both. `Wind` (|z| 4.7) has a lower end just above 0, so it is weak: among 111 "
    "days some equally good model hardly uses it. `Solar_R` is relevant here and just misses Holm's "
    "line in least squares; the score test here uses normal scores of the residuals, which are skewed.",
    "lung": "Cox's model finds `sex` and `ph_ecog`. relbounds finds `ph_ecog` and the patient's own score, "
    "`pat_karno`, both replaceable, and misses `sex` (p 0.096): times enter as intervals between "
    "quantiles, which may cost power beside the partial likelihood.",
    "veteran": "The two agree: Karnofsky score and cell type, nothing else, and neither replaces the other.",
    "pbc": "Cox's model finds bilirubin alone after Holm's adjustment, though the published prognostic model "
    "of these data has age, edema, albumin and protime as well. All of these are weak here: liver "
    "function shows in many measures, and each can be replaced by others. Treatment has no effect by "
    "either account.",
}
"""Where the two differ, and why."""


def from_r(call: str) -> pd.DataFrame:
    """A data set that R carries; dots in names become underscores, text becomes factors."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        code = f"write.csv({call}, '{file.name}', row.names = FALSE)"
        subprocess.run(["Rscript", "--vanilla", "-e", code], check=True, capture_output=True)
        data = pd.read_csv(file.name)
    data = data.rename(columns=lambda c: c.replace(".", "_"))
    for column in data:
        if data[column].dtype.kind not in "ifb":
            data[column] = pd.Categorical(data[column])
    return data


def load(name: str) -> pd.DataFrame:
    if name in FROM_R:
        return from_r(FROM_R[name])
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


def standard(fit: rb.RelboundsResults, data: pd.DataFrame) -> pd.DataFrame:
    """Return |z| and Holm's p of each term in the standard model of the response."""
    from statsmodels.stats.multitest import multipletests

    design = fit.design
    kind = design.family
    if kind == "survival":
        used = data.dropna(subset=[t.name for t in design.design_terms])
        assert len(used) == len(design.y)
        response = Response(kind, used["time"].to_numpy(float), event=used["status"].to_numpy() > 0)
    else:
        response = Response(kind, design.y.astype(float))
    terms = [t for t in design.design_terms if t.part == "regular"]
    blocks = {t.name: design.X[:, list(t.columns)] for t in terms}
    whole = fit_smooth(response, np.hstack(list(blocks.values())), "plain").loglik
    out, tails = {}, []
    for name, own in blocks.items():
        rest = [b for other, b in blocks.items() if other != name]
        less = fit_smooth(response, np.hstack(rest) if rest else None, "plain").loglik
        freedom = np.linalg.matrix_rank(own - own.mean(axis=0)) * (
            len(design.levels or ()) - 1 if kind == "nominal" else 1
        )
        # tails of large statistics vanish; the logarithm of the tail does not
        tail = stats.chi2.logsf(max(0.0, 2 * (whole - less)), freedom)
        out[name] = float(stats.norm.isf(np.exp(tail) / 2)) if tail > -700 else float(np.sqrt(-2 * tail))
        tails.append(np.exp(tail))
    return pd.DataFrame({"z": out, "p": dict(zip(out, multipletests(tails, method="holm")[1], strict=True))})


def table_of(name: str) -> str:
    formula, options = FITS[name]
    data = load(name)
    started = time.process_time()
    fit = rb.relbounds(formula, data, progress=False, **options)
    seconds = time.process_time() - started
    usual = standard(fit, data)
    dropped = len(data) - len(fit.design.y) if "frequency" not in options else 0
    rows = f"{len(fit.design.y)} observations" + (
        f" ({dropped} with missing values left out)" if dropped else ""
    )
    terms = fit.table[fit.table["row"] == "term"]
    lines = [
        f"## {name}",
        "",
        f"`{formula}`, {fit.design.family}, {rows}, delta {fit.delta:.4f}, {seconds:.1f} s of processor time.",
        "",
        f"| term | abs. z, {STANDARD[fit.design.family]} | P Holm | lower | upper | P adj. | relevance |",
        "|---|---|---|---|---|---|---|",
    ]
    for title, row in terms.iterrows():
        z, p = usual.loc[row["term"]]
        cells = (p, row["lower"], row["upper"], row["p_adjusted"])
        lines.append(
            f"| {title} | {z:.1f} | " + " | ".join(f"{c:.3f}" for c in cells) + f" | {row['relevance']} |"
        )
    return "\n".join([*lines, "", WHY[name], ""])


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
    how = common.provenance(
        "python benchmarks/real_terms.py", "0", ("relbounds", "numpy", "scipy", "pandas", "statsmodels")
    )
    common.write("real_terms", text + "\n" + how)


if __name__ == "__main__":
    main()
