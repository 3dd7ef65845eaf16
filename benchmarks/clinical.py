"""Do error rates hold on data as clinics have them? python benchmarks/clinical.py [--resume] [--report] [--sets 200]

Four kinds of data, each beside two terms with an effect, drawn with seeds that served no choice:

- **confounding**: four features are shadows of a covariate (correlation 0.7) on which the response depends; with the
  covariate in `adjust()`, and left out;
- **clusters**: 50 patients with 5 visits, intraclass correlation 0.5 of response and features, half of the features
  constant in patients; with `cluster=`, and ignoring it;
- **missing**: 30 % of all values of the features are missing, more often in high levels (20, 30, 40 %), completed
  10 times by chained Bayesian linear regressions on all other columns and the levels of the response (5 rounds; slopes
  and residual variance drawn from their posterior); pooled, the same with twice the median of p-values, the first
  completed data set alone, and complete data;
- **censoring**: exponential times of which 60 % are censored.

Counted is a data set in which at least one term of noise is called relevant. Which terms are relevant is decided by
permutation tests of scores; bounds can only take terms away from what these find. Rows **tests** are the tests of the
default fit alone, at its settings; rows **fits** are whole default fits, of which it is checked that nothing is
relevant that the tests do not find. Intervals are Wilson's, 95 %, alpha is 0.05. Rows of other code are dropped on
resuming.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd

import relbounds as rb
from relbounds.design import Design, make_design
from relbounds.linear.noise.fwer import STANDIN_DRAWS
from relbounds.linear.noise.judge import design_response
from relbounds.linear.noise.score import DRAWS, enough, score_test
from relbounds.linear.noise.smooth import fit_smooth
from relbounds.linear.noise.standins import SHARE, combine, standin_test
from relbounds.linear.rubin import combined, pooled_effects
from relbounds.seeds import stream

# Seeds below this served to settle choices.
FRESH = 50_000
ALPHA = 0.05
BATCH = 10
TERMS = [f"x{k + 1}" for k in range(6)]
PATIENTS, VISITS = 50, 5
IMPUTATIONS, ROUNDS = 10, 5


@dataclass(frozen=True)
class Drawn:
    """Data with what is to be asked of them: right-hand sides by name, and which terms have an effect."""

    data: pd.DataFrame
    left: str
    relevant: tuple[str, ...]
    missing: np.ndarray | None = None


def levels_of(latent: np.ndarray) -> pd.Categorical:
    """Cut a number into three ordered levels of equal size."""
    rank = np.argsort(np.argsort(latent))
    return pd.Categorical.from_codes(rank * 3 // len(latent), list("abc"), ordered=True)


def confounded(rng: np.random.Generator) -> Drawn:
    n = 150
    a, X = rng.standard_normal(n), rng.standard_normal((n, 6))
    X[:, 2:] = 0.7 * a[:, None] + np.sqrt(1 - 0.49) * X[:, 2:]
    data = pd.DataFrame(X, columns=TERMS).assign(a=a)
    return Drawn(
        data.assign(y=levels_of(1.5 * a + X[:, :2].sum(axis=1) + rng.logistic(size=n))), "y", ("x1", "x2")
    )


def visits(rng: np.random.Generator) -> Drawn:
    who = np.repeat(np.arange(PATIENTS), VISITS)

    def mixed(share: float, columns: int) -> np.ndarray:
        own, visit = rng.standard_normal((PATIENTS, columns))[who], rng.standard_normal((len(who), columns))
        return np.sqrt(share) * own + np.sqrt(1 - share) * visit

    X = np.column_stack([mixed(1.0, 3), mixed(0.5, 3)])
    latent = X[:, 0] + X[:, 3] + 1.8 * mixed(0.5, 1)[:, 0]
    return Drawn(pd.DataFrame(X, columns=TERMS).assign(who=who, y=levels_of(latent)), "y", ("x1", "x4"))


def holed(rng: np.random.Generator) -> Drawn:
    n = 150
    X = rng.standard_normal((n, 6))
    y = levels_of(1.5 * X[:, :2].sum(axis=1) + rng.logistic(size=n))
    missing = rng.random((n, 6)) < np.array([0.2, 0.3, 0.4])[y.codes][:, None]
    return Drawn(pd.DataFrame(X, columns=TERMS).assign(y=y), "y", ("x1", "x2"), missing)


def censored(rng: np.random.Generator) -> Drawn:
    n = 150
    X = rng.standard_normal((n, 6))
    time, stop = rng.exponential(np.exp(X[:, :2].sum(axis=1))), rng.exponential(size=n)
    # the follow-up that leaves 60 % censored
    stop = stop * np.quantile(time / stop, 0.4)
    data = pd.DataFrame(X, columns=TERMS).assign(time=np.minimum(time, stop), status=time <= stop)
    return Drawn(data, "Surv(time, status)", ("x1", "x2"))


KINDS = {"confounding": confounded, "clusters": visits, "missing": holed, "censoring": censored}
WAYS = {
    "confounding": ("adjusted", "covariate left out"),
    "clusters": ("cluster=", "ignoring clusters"),
    "missing": ("10 imputations, pooled", "twice the median", "one imputation", "complete data"),
    "censoring": ("60 % censored",),
}


def impute(data: pd.DataFrame, missing: np.ndarray, rng: np.random.Generator) -> pd.DataFrame:
    """Complete the features once, by draws from chained Bayesian linear regressions."""
    X = data[TERMS].to_numpy()
    codes = data["y"].cat.codes.to_numpy()
    filled = X.copy()
    for j in range(X.shape[1]):
        gap = missing[:, j]
        filled[gap, j] = rng.choice(X[~gap, j], gap.sum())
    for _ in range(ROUNDS):
        for j in range(X.shape[1]):
            gap = missing[:, j]
            others = np.column_stack(
                [np.ones(len(X)), np.delete(filled, j, axis=1), codes == 1, codes == 2]
            ).astype(float)
            known = others[~gap]
            inverse = np.linalg.inv(known.T @ known)
            slope = inverse @ (known.T @ X[~gap, j])
            left = X[~gap, j] - known @ slope
            spread = np.sqrt(left @ left / rng.chisquare(len(known) - known.shape[1]))
            slope = slope + spread * np.linalg.cholesky(inverse) @ rng.standard_normal(len(slope))
            filled[gap, j] = others[gap] @ slope + spread * rng.standard_normal(gap.sum())
    return data.assign(**dict(zip(TERMS, filled.T, strict=True)))


def tested(design: Design, seed: int) -> np.ndarray:
    """Return the adjusted p-values of the tests of a default fit."""
    blocks = [design.X[:, list(term.columns)] for term in design.design_terms if term.part == "regular"]
    response, level = design_response(design), ALPHA * SHARE
    adjust = design.adjust if design.adjust.shape[1] else None
    score = score_test(
        blocks,
        response,
        alpha=level,
        draws=enough(DRAWS, level),
        rng=stream(seed, "score test", 0),
        adjust=adjust,
        cluster=design.cluster,
    )
    stands = standin_test(
        blocks,
        response,
        score.order,
        draws=enough(STANDIN_DRAWS, ALPHA - level),
        rng=stream(seed, "stand-ins", 0),
        adjust=adjust,
        cluster=design.cluster,
    )
    return combine(score, stands, np.ones(len(blocks), dtype=bool), ALPHA).p_adjusted


def pooled(designs: Sequence[Design], p: np.ndarray) -> np.ndarray:
    """Pool p-values as the package pools those of its fits."""
    residuals = [fit_smooth(design_response(one), one.adjust).residuals for one in designs]
    effects = pooled_effects(residuals, [one.X for one in designs], [[k] for k in range(p.shape[1])])
    smallest = 1 / (STANDIN_DRAWS + 1) / (1 - SHARE)
    return np.array([combined(p[:, k], effect, smallest, p.shape[1]) for k, effect in enumerate(effects)])


def by_tests(kind: str, drawn: Drawn, seed: int) -> dict[str, np.ndarray]:
    """Return the p-values of every way to treat one data set."""
    formula = f"{drawn.left} ~ {' + '.join(TERMS)}"
    if kind == "confounding":
        designs = [make_design(f"{formula} | adjust(a)", drawn.data), make_design(formula, drawn.data)]
    elif kind == "clusters":
        designs = [make_design(formula, drawn.data, cluster="who"), make_design(formula, drawn.data)]
    else:
        designs = [make_design(formula, drawn.data)]
    found = [tested(one, seed) for one in designs]
    if kind == "missing":
        assert drawn.missing is not None
        rng = np.random.default_rng([FRESH, seed])
        several = [make_design(formula, impute(drawn.data, drawn.missing, rng)) for _ in range(IMPUTATIONS)]
        p = np.array([tested(one, seed) for one in several])
        found = [pooled(several, p), np.minimum(1.0, 2 * np.median(p, axis=0)), p[0], *found]
    return dict(zip(WAYS[kind], found, strict=True))


def by_fits(kind: str, drawn: Drawn, seed: int) -> dict[str, np.ndarray]:
    """Return the p-values of whole default fits, each in its recommended way."""
    formula = f"{drawn.left} ~ {' + '.join(TERMS)}" + (" | adjust(a)" if kind == "confounding" else "")
    data: Any = drawn.data
    if kind == "missing":
        assert drawn.missing is not None
        rng = np.random.default_rng([FRESH, seed])
        data = [impute(drawn.data, drawn.missing, rng) for _ in range(IMPUTATIONS)]
    cluster = "who" if kind == "clusters" else None
    fit = rb.relbounds(formula, data, cluster=cluster, seed=seed, progress=False)
    return {WAYS[kind][0]: fit.table.loc[TERMS, "p_adjusted"].to_numpy()}


def work(kind: str, mode: str, batch: int, code: str) -> dict[str, Any]:
    out: dict[str, Any] = {"sets": 0}
    size = BATCH if mode == "tests" else 1
    for seed in range(batch * size, (batch + 1) * size):
        drawn = KINDS[kind](np.random.default_rng([FRESH + seed, len(kind)]))
        relevant = np.isin(TERMS, drawn.relevant)
        ways = by_tests(kind, drawn, seed)
        if mode == "fits":
            fits = by_fits(kind, drawn, seed)
            first = WAYS[kind][0]
            out["beyond"] = out.get("beyond", 0) + int(((fits[first] <= ALPHA) & (ways[first] > ALPHA)).any())
            ways = fits
        out["sets"] += 1
        for number, p in enumerate(ways.values()):
            called = p <= ALPHA
            hits = int((called & relevant).sum())
            f1 = 2 * hits / (called.sum() + relevant.sum())
            for name, value in (("false", bool((called & ~relevant).any())), ("found", hits), ("f1", f1)):
                out[f"{name}_{number}"] = out.get(f"{name}_{number}", 0) + value
    return out


def code_now() -> str:
    """Return a name of the code that decides: rows of another are not mixed with those of this one."""
    folder = Path(rb.__file__).parent / "linear"
    files = [*sorted((folder / "noise").glob("*.py")), folder / "rubin.py"]
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]


def report(rows: pd.DataFrame) -> str:
    lines = [
        "| data | way | by | data sets | share with a false positive | 95 % interval | found | F1 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, ways in WAYS.items():
        for mode in ("tests", "fits"):
            own = rows[(rows["kind"] == kind) & (rows["mode"] == mode)]
            sets = int(own["sets"].sum()) if len(own) else 0
            for number, way in enumerate(ways if sets else ()):
                if f"false_{number}" not in own or own[f"false_{number}"].isna().all():
                    continue
                hits = int(own[f"false_{number}"].sum())
                low, high = common.wilson(hits, sets)
                mark = " **above alpha**" if low > ALPHA else ""
                cells = [
                    kind,
                    way,
                    mode,
                    str(sets),
                    f"{hits / sets:.3f}",
                    f"{low:.3f}-{high:.3f}{mark}",
                    f"{own[f'found_{number}'].sum() / (2 * sets):.2f}",
                    f"{own[f'f1_{number}'].sum() / sets:.3f}",
                ]
                lines.append("| " + " | ".join(cells) + " |")
    whole = rows[rows["mode"] == "fits"]
    if len(whole):
        lines += [
            "",
            f"Whole fits in which something is relevant that the tests did not find: {int(whole['beyond'].sum())} "
            f"of {int(whole['sets'].sum())}.",
        ]
    return "\n".join(lines)


def main() -> None:
    parser = common.parser(__doc__ or "", 0)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each kind, by tests")
    parser.add_argument("--fits", type=int, default=10, help="whole fits of each kind")
    args = parser.parse_args()
    code = code_now()
    path = common.RESULTS / "clinical.csv"
    if args.resume and path.exists():
        stored = pd.read_csv(path)
        stored[stored["code"] == code].to_csv(path, index=False)
    tasks = [
        {"kind": kind, "mode": "tests", "batch": batch, "code": code}
        for batch in range(args.sets // BATCH)
        for kind in KINDS
    ]
    tasks += [
        {"kind": kind, "mode": "fits", "batch": batch, "code": code}
        for batch in range(args.fits)
        for kind in KINDS
    ]
    rows = common.run("clinical", work, tasks, args)
    failed = rows[rows["error"].notna()]
    text = (
        "# Data as clinics have them: error rates\n\n"
        + (__doc__ or "").split("\n\n", 1)[1]
        + "\n"
        + report(rows)
    )
    if len(failed):
        text += f"\n\n{len(failed)} tasks failed, first: {failed['error'].iloc[0]}"
    text += "\n\n" + common.provenance(
        "python benchmarks/clinical.py --resume", f"{FRESH} and up", ("relbounds", "numpy", "scipy", "pandas")
    )
    common.write("clinical", text)


if __name__ == "__main__":
    main()
