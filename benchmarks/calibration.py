"""Do error rates keep their word? python benchmarks/calibration.py [--resume] [--minutes M] [--report]

Each row of the tables is one kind of data, drawn anew every time with seeds that served no choice. Counted is a data
set in which at least one term is called relevant that has nothing to do with the response or with a relevant term, and
one in which at least one term is called strong that has no effect of its own beside the others. Intervals are
Wilson's, 95 %.

Which terms are relevant is decided by permutation tests of scores; bounds can only take terms away from what these
find. So rows come in two kinds: **tests**, the tests of the default fit alone, at its settings, which are quick and
can only err more often than the fit; and **fits**, whole default fits, which also say what is strong. In every whole
fit it is checked that nothing is relevant that the tests did not find.

Rows of other code than the present one are dropped on resuming.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import common
import numpy as np
import pandas as pd
from scipy import stats

import relbounds as rb
from relbounds.design import Design, make_design
from relbounds.linear.noise.fwer import STANDIN_DRAWS
from relbounds.linear.noise.judge import MANY_DRAWS, design_response
from relbounds.linear.noise.levels import holm
from relbounds.linear.noise.many import many_test
from relbounds.linear.noise.own import own_effects
from relbounds.linear.noise.score import DRAWS, enough, score_test
from relbounds.linear.noise.smooth import fit_smooth
from relbounds.linear.noise.standins import SHARE, combine, standin_test
from relbounds.seeds import stream

# Seeds below this served to settle choices.
FRESH = 50_000
# Data sets that one task draws: tests are quick.
BATCH = {"tests": 25, "fits": 5}
THIRDS = (1 / 3, 1 / 3, 1 / 3)
SKEW = (0.6, 0.3, 0.1)
HALVES = (0.5, 0.5)
# Truths in which some terms only stand in for others.
STANDING = ("copies", "shadows", "faint")
# Columns beside which a likelihood ratio test is made at most, as a share of the rows.
FULL = 1 / 3
# Rows times squared columns from which a row comes late.
LARGE = 2_000_000
# What the rows of either kind depend on.
CODE = {
    "tests": [
        f"relbounds.linear.noise.{name}"
        for name in ("many", "own", "score", "standins", "levels", "smooth.fit")
    ],
    "fits": ["relbounds.linear.privileged.fit", "relbounds.design.from_formula"],
}


@dataclass(frozen=True)
class Scene:
    """One kind of data."""

    name: str
    family: str = "ordinal"
    n: int = 100
    d: int = 10
    correlation: str = "0"
    columns: str = "normal"
    shares: tuple[float, ...] = THIRDS
    truth: str = "none"
    beta: float = 1.0
    alpha: float = 0.05
    control: str = "fwer"
    mode: str = "tests"

    @property
    def key(self) -> str:
        """What tells it from all others."""
        shares = "/".join(f"{100 * s:.0f}" for s in self.shares)
        return (
            f"{self.name}; {self.family}; {self.n}; {self.d}; {self.correlation}; {self.columns}; {shares}; "
            f"{self.truth}; {self.beta:g}; {self.alpha:g}; {self.control}; {self.mode}"
        )


def no_relation() -> list[Scene]:
    """Nothing has to do with the response."""
    sizes = ((50, 5), (50, 20), (100, 10), (400, 10), (1000, 10), (100, 50), (200, 200), (1000, 100))
    out = [Scene("independent", n=n, d=d) for n, d in sizes]
    out += [Scene("independent, alpha 0.01", alpha=0.01), Scene("independent, alpha 0.2", alpha=0.2)]
    for correlation in ("0.5", "0.9"):
        out += [Scene("equicorrelated", correlation=correlation, n=n) for n in (100, 400)]
    out += [Scene("blocks of 5", correlation="blocks 0.9", d=20), Scene("AR", correlation="ar 0.9", d=20)]
    for columns in ("heavy", "counts", "factors"):
        out += [Scene(columns, columns=columns, n=n) for n in (60, 150)]
    out += [Scene("levels", shares=s, n=150) for s in ((0.25,) * 4, (0.2,) * 5, SKEW)]
    out += [Scene("levels", family="binary", shares=s, n=200) for s in (HALVES, (0.9, 0.1))]
    out += [
        Scene("heavy", family="binary", shares=(0.9, 0.1), n=200, columns="heavy"),
        Scene("numbers", family="regression"),
        Scene("numbers, heavy", family="regression", columns="heavy", n=60),
        Scene("nominal", family="nominal", n=150, d=6),
        Scene("survival", family="survival", n=150),
        Scene("fdr", control="fdr", d=50, n=150),
        Scene("fdr, equicorrelated", control="fdr", d=50, n=150, correlation="0.5"),
    ]
    return out


def beside_relations() -> list[Scene]:
    """Three terms have an effect, the others have nothing to do with them."""
    out = [
        Scene("strong", truth="own"),
        Scene("strong", truth="own", shares=SKEW),
        Scene("strong", truth="own", n=400),
        Scene("weak", truth="own", beta=0.5),
        Scene("correlated relevant", truth="own", n=200, correlation="relevant 0.7"),
        Scene("noise correlated 0.5", truth="own", n=200, correlation="noise 0.5"),
        Scene("strong, d 50", truth="own", n=200, d=50),
        Scene("strong, heavy", truth="own", n=200, columns="heavy"),
        Scene("strong, factors", truth="own", columns="factors", n=300),
        Scene("strong, alpha 0.01", truth="own", alpha=0.01),
        Scene("strong, alpha 0.2", truth="own", alpha=0.2),
        Scene("binary", truth="own", n=200, family="binary", shares=HALVES),
        Scene("binary 90/10", truth="own", n=300, family="binary", shares=(0.9, 0.1)),
        Scene("numbers", truth="own", n=100, family="regression"),
        Scene("nominal", truth="own", n=200, d=6, family="nominal"),
        Scene("survival", truth="own", n=200, family="survival"),
        Scene("fdr", truth="own", n=200, d=50, control="fdr"),
        Scene("fdr, noise correlated 0.5", truth="own", n=200, d=50, control="fdr", correlation="noise 0.5"),
        Scene("copies", truth="copies", n=200),
    ]
    return out


def standing_in() -> list[Scene]:
    """Some terms have no effect of their own: copies, noisy readings, terms correlated with relevant ones."""
    return [
        Scene("copies", truth="copies", n=100),
        Scene("copies", truth="copies", n=60),
        Scene("correlated with relevant 0.2", truth="shadows", n=100, correlation="0.2", beta=0.8),
        Scene("correlated with one relevant 0.3", truth="faint", n=100, d=30, correlation="0.3", beta=0.8),
        Scene("copies", truth="copies", n=200),
        Scene("copies", truth="copies", n=100, d=50),
        Scene("copies, binary", truth="copies", n=120, family="binary", shares=HALVES),
        Scene("copies, numbers", truth="copies", n=100, family="regression"),
        Scene("correlated with relevant 0.5", truth="shadows", n=100, correlation="0.5"),
        Scene("correlated with relevant 0.5", truth="shadows", n=200, correlation="0.5"),
        Scene("correlated with relevant 0.9", truth="shadows", n=200, correlation="0.9"),
        Scene("copies, alpha 0.01", truth="copies", n=100, alpha=0.01),
        Scene("copies, alpha 0.2", truth="copies", n=100, alpha=0.2),
        Scene("copies, 60/30/10", truth="copies", n=200, shares=SKEW),
        Scene("copies, nominal", truth="copies", n=200, d=6, family="nominal"),
        Scene("copies, survival", truth="copies", n=150, family="survival"),
        Scene("correlated with relevant 0.5", truth="shadows", n=100, d=50, correlation="0.5"),
    ]


def whole_fits() -> list[Scene]:
    """Whole fits: one of each kind."""
    return [
        Scene("no relation", mode="fits"),
        Scene("copies", truth="copies", n=100, mode="fits"),
        Scene("strong", truth="own", shares=SKEW, mode="fits"),
        Scene(
            "correlated with relevant 0.2", truth="shadows", n=100, correlation="0.2", beta=0.8, mode="fits"
        ),
        Scene("no relation, equicorrelated", correlation="0.9", mode="fits"),
        Scene("no relation, binary", family="binary", shares=(0.9, 0.1), n=200, mode="fits"),
        Scene("no relation, numbers", family="regression", mode="fits"),
        Scene("no relation, factors", columns="factors", n=150, mode="fits"),
        Scene("copies, numbers", truth="copies", n=200, family="regression", mode="fits"),
        Scene("no relation, few rows", n=50, d=5, mode="fits"),
        Scene("no relation, alpha 0.2", alpha=0.2, mode="fits"),
        Scene("strong, fdr", truth="own", n=200, d=50, control="fdr", mode="fits"),
        Scene("no relation, survival", family="survival", n=150, mode="fits"),
        Scene("no relation, nominal", family="nominal", n=150, d=6, mode="fits"),
        Scene("no relation, many terms", d=50, mode="fits"),
        Scene("correlated with relevant 0.5", truth="shadows", n=200, correlation="0.5", mode="fits"),
    ]


def scenes() -> dict[str, Scene]:
    """Return all scenes by key."""
    every = [*no_relation(), *beside_relations(), *standing_in(), *whole_fits()]
    return {scene.key: scene for scene in every}


def by_importance() -> list[Scene]:
    """Return all scenes, one row after another, so that a run that is cut short has whole rows of each kind.

    A few of each kind come first, then the rest; those that take longest come last.
    """
    kinds = [standing_in(), whole_fits(), no_relation(), beside_relations()]
    cost = {scene.key: scene.n * scene.d**2 for kind in kinds for scene in kind}
    turns: list[Scene] = []
    for k in range(max(map(len, kinds))):
        turns += [scene for kind in kinds for scene in kind[2 * k : 2 * k + 2]]
    # a scene of two kinds is drawn once
    once = {scene.key: scene for scene in turns}
    return sorted(once.values(), key=lambda scene: cost[scene.key] > LARGE)


def columns_of(scene: Scene, rng: np.random.Generator) -> np.ndarray:
    """Draw features with the wanted correlation."""
    n, d = scene.n, scene.d
    kind, _, value = scene.correlation.rpartition(" ")
    rho = float(value)
    Z = rng.standard_normal((n, d))
    if scene.truth == "faint":
        Z[:, 3:] = rho * Z[:, 2:3] + np.sqrt(1 - rho**2) * Z[:, 3:]
    elif kind == "ar":
        for j in range(1, d):
            Z[:, j] = rho * Z[:, j - 1] + np.sqrt(1 - rho**2) * Z[:, j]
    elif kind == "blocks":
        shared = np.repeat(rng.standard_normal((n, -(-d // 5))), 5, axis=1)[:, :d]
        Z = np.sqrt(rho) * shared + np.sqrt(1 - rho) * Z
    elif rho > 0:
        own = {"noise": slice(3, None), "relevant": slice(0, 3), "": slice(None)}[kind]
        Z[:, own] = np.sqrt(rho) * rng.standard_normal((n, 1)) + np.sqrt(1 - rho) * Z[:, own]
    if scene.columns == "heavy":
        Z = np.sign(Z) * np.abs(Z) ** 3
    elif scene.columns == "counts":
        Z = np.floor(np.exp(0.8 * Z))
    return Z


def draw(scene: Scene, seed: int) -> tuple[pd.DataFrame, str, pd.Series]:
    """Draw data; return them with their formula and the truth by term.

    "strong": an effect of its own given all others. "weak": none, but it says what others say: both of two exact
    copies, of which neither is needed, a noisy reading of a strong term, and a term correlated with strong ones.
    """
    rng = np.random.default_rng([seed, scene.n, scene.d])
    X = columns_of(scene, rng)
    truth = pd.Series("irrelevant", index=[f"x{k + 1}" for k in range(scene.d)])
    score = np.zeros(scene.n)
    if scene.truth != "none":
        first = X[:, :3] / (X[:, :3].std(axis=0) if scene.columns == "heavy" else 1.0)
        score = scene.beta * first.sum(axis=1)
        truth.iloc[:3] = "strong"
    if scene.truth == "copies":
        X[:, 3] = X[:, 2]
        X[:, 4] = X[:, 1] + 0.3 * X[:, 4]
        truth.iloc[2:5] = "weak"
    elif scene.truth in ("shadows", "faint"):
        truth.iloc[3:] = "weak"
    latent = score + rng.logistic(size=scene.n)
    data = pd.DataFrame(X, columns=truth.index)
    if scene.columns == "factors":
        first_factor = 3 if scene.truth != "none" else 0
        for k in range(first_factor, scene.d, 2):
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


def by_tests(scene: Scene, design: Design, seed: int) -> tuple[pd.Series, pd.Series]:
    """Return whether the tests of a default fit find each term relevant, and with an effect of its own."""
    terms = [term for term in design.design_terms if term.part == "regular"]
    names = [term.name for term in terms]
    blocks = [design.X[:, list(term.columns)] for term in terms]
    response = design_response(design)
    alpha = scene.alpha
    if scene.control == "fdr":
        found = many_test(blocks, response, draws=MANY_DRAWS, rng=stream(seed, "score test"))
        relevant = found.p_adjusted <= alpha
    else:
        level = alpha * SHARE
        score = score_test(
            blocks, response, alpha=level, draws=enough(DRAWS, level), rng=stream(seed, "score test", 0)
        )
        stands = standin_test(
            blocks,
            response,
            score.order,
            draws=enough(STANDIN_DRAWS, alpha - level),
            rng=stream(seed, "stand-ins", 0),
        )
        relevant = combine(score, stands, np.ones(len(terms), dtype=bool), alpha).relevant
    own = np.zeros(len(terms), dtype=bool)
    if scene.truth in STANDING:
        which = np.flatnonzero(relevant).tolist()
        p = own_effects(
            blocks,
            [response],
            {t: [k for k in range(len(blocks)) if k != t] for t in which},
            which,
            alpha=alpha,
            adjusted=holm,
            rng=[stream(seed, "own effects", 0, 0)],
        )
        own[which] = [p[t] <= alpha for t in which]
    return pd.Series(relevant, index=names), pd.Series(own, index=names)


def by_likelihood(design: Design, alpha: float) -> np.ndarray:
    """Return which terms likelihood ratio tests in the model of all terms find, adjusted by Holm's method."""
    response = design_response(design)
    blocks = [design.X[:, list(t.columns)] for t in design.design_terms if t.part == "regular"]
    whole = fit_smooth(response, np.hstack(blocks), "plain").loglik
    p = []
    for k, own in enumerate(blocks):
        rest = [block for j, block in enumerate(blocks) if j != k]
        gain = 2 * (whole - fit_smooth(response, np.hstack(rest), "plain").loglik)
        p.append(stats.chi2.sf(max(0.0, gain), own.shape[1]))
    return holm(np.array(p)) <= alpha


def classes_of(scene: Scene, seed: int) -> tuple[pd.Series, pd.Series, bool]:
    """Return truth, classes, and whether a fit calls relevant what the tests do not find."""
    data, formula, truth = draw(scene, FRESH + seed)
    options = {"family": scene.family, "alpha": scene.alpha, "control": scene.control, "seed": seed}
    if scene.mode == "fits":
        fit = rb.relbounds(formula, data, progress=False, **options)
        classes = fit.table[fit.table["row"] == "term"].set_index("term")["relevance"]
        # a factor of which one level was drawn is a constant, and in no model
        classes = classes.reindex(truth.index, fill_value="irrelevant")
        found, _ = by_tests(scene, fit.design, seed)
        beyond = (classes != "irrelevant") & ~found.reindex(truth.index, fill_value=False)
        return truth, classes, bool(beyond.any())
    design = make_design(formula, data, family=scene.family)
    relevant, own = by_tests(scene, design, seed)
    classes = pd.Series(
        np.where(relevant & own, "strong", np.where(relevant, "weak", "irrelevant")), index=relevant.index
    )
    return truth, classes.reindex(truth.index, fill_value="irrelevant"), False


def standard_strong(scene: Scene, truth: pd.Series, seed: int) -> tuple[bool, int]:
    """Return whether likelihood ratio tests in the full model err on stand-ins, and how many effects they find."""
    data, formula, _ = draw(scene, FRESH + seed)
    found = by_likelihood(make_design(formula, data, family=scene.family), scene.alpha)
    return bool((found & (truth == "weak")).any()), int((found & (truth == "strong")).sum())


def work(scene: str, batch: int, code: str) -> dict[str, Any]:
    own = scenes()[scene]
    out = dict.fromkeys(
        (
            "sets",
            "false",
            "share",
            "found",
            "there",
            "wrong",
            "strong",
            "called",
            "weak",
            "beyond",
            "standard wrong",
            "standard called",
        ),
        0.0,
    )
    for seed in range(batch * BATCH[own.mode], (batch + 1) * BATCH[own.mode]):
        truth, classes, beyond = classes_of(own, seed)
        relevant, idle = classes != "irrelevant", truth == "irrelevant"
        out["sets"] += 1
        out["false"] += bool((relevant & idle).any())
        out["share"] += float((relevant & idle).sum() / max(1, relevant.sum()))
        out["found"] += int((relevant & (truth == "strong")).sum())
        out["there"] += int((truth == "strong").sum())
        out["wrong"] += bool(((classes == "strong") & (truth == "weak")).any())
        out["strong"] += int((truth == "strong").sum())
        out["called"] += int(((classes == "strong") & (truth == "strong")).sum())
        out["weak"] += bool((relevant & (truth == "weak")).any())
        out["beyond"] += beyond
        if own.truth in STANDING and own.mode == "tests" and own.d < FULL * own.n:
            wrong, called = standard_strong(own, truth, seed)
            out["standard wrong"] += wrong
            out["standard called"] += called
    return out


def marks() -> dict[str, str]:
    """Return the marks of the code that rows of either kind depend on."""
    own = (columns_of, draw, by_tests, by_likelihood, classes_of, standard_strong)
    return {mode: common.code_mark(modules, *own) for mode, modules in CODE.items()}


def _rate(hits: float, sets: float, alpha: float | None = None) -> str:
    low, high = common.wilson(round(hits), int(sets))
    above = " **above**" if alpha is not None and low > alpha else ""
    return f"{hits / sets:.3f} ({low:.3f}-{high:.3f}){above}"


def _table(own: list[Scene], sums: pd.DataFrame, strong: bool) -> list[str]:
    """Return one table: relevance, or what is called strong."""
    head = ["data", "family", "n", "d", "correlation", "levels", "alpha", "data sets"]
    head += (
        ["wrongly strong", "strong found", "strong called strong", "likelihood ratio: wrong", "called"]
        if strong
        else ["a false positive", "found"]
    )
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for scene in own:
        if scene.key not in sums.index:
            continue
        row = sums.loc[scene.key]
        shares = "/".join(f"{100 * s:.0f}" for s in scene.shares)
        there = row["there"]
        cells = [
            scene.name + (f" (effects {scene.beta:g})" if scene.beta != 1 else ""),
            scene.family,
            str(scene.n),
            str(scene.d),
            scene.correlation,
            shares if scene.family in ("ordinal", "binary", "nominal") else "",
            f"{scene.alpha:g}",
            str(int(row["sets"])),
        ]
        if strong:
            cells += [
                _rate(row["wrong"], row["sets"], scene.alpha),
                f"{row['found'] / there:.2f}",
                f"{row['called'] / there:.2f}",
                *(
                    [f"{row['standard wrong'] / row['sets']:.3f}", f"{row['standard called'] / there:.2f}"]
                    if scene.mode == "tests" and scene.d < FULL * scene.n
                    else ["", ""]
                ),
            ]
        else:
            hits = row["share"] if scene.control == "fdr" else row["false"]
            prefix = "share " if scene.control == "fdr" else ""
            cells += [
                prefix + _rate(hits, row["sets"], scene.alpha),
                f"{row['found'] / there:.2f}" if there else "",
            ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _together(own: list[Scene], sums: pd.DataFrame, column: str = "false") -> str:
    keys = [s.key for s in own if s.alpha == 0.05 and s.control == "fwer" and s.key in sums.index]
    if not keys:
        return "None yet."
    hits, sets = sums.loc[keys, column].sum(), sums.loc[keys, "sets"].sum()
    return f"All rows at alpha 0.05 together: {_rate(hits, sets, 0.05)} of {int(sets)} data sets."


def report(rows: pd.DataFrame, least: int = 200) -> str:
    """Write the tables; rows that have not got so many data sets yet stand apart."""
    good = rows[rows["error"].isna()] if "error" in rows else rows
    every = good.groupby("scene").sum(numeric_only=True)
    sums, few = every[every["sets"] >= least], every[every["sets"] < least]
    whole = whole_fits()
    fits = sums[sums.index.isin([s.key for s in whole])]
    standing = [s for s in whole if s.truth in STANDING]
    text = [
        "# Error rates",
        "",
        common.provenance("python benchmarks/calibration.py", f"{FRESH} and up"),
        f"Failed batches: {len(rows) - len(good)}. In brackets 95 % intervals (Wilson); **above** marks an interval "
        'that lies above alpha. Rows "fdr" show the mean share of noise among the terms called relevant.',
        "",
        "## No relation: the tests of a default fit",
        "",
        *_table(no_relation(), sums, False),
        "",
        _together(no_relation(), sums),
        "",
        "## Beside three terms with an effect: the tests of a default fit",
        "",
        *_table(beside_relations(), sums, False),
        "",
        _together(beside_relations(), sums),
        "",
        "## Called strong without an effect of its own: the tests of a default fit",
        "",
        "Of terms that say what others say: copies (x3 = x4, so neither is needed; x5 a noisy reading of x2, which is) "
        "and terms merely correlated with relevant ones. They are rightly found relevant, as stand-ins; strong would "
        "be wrong. Beside it likelihood ratio tests in the standard model of all terms, adjusted by Holm's method, "
        "where it has fewer columns than a third of the rows.",
        "",
        *_table(standing_in(), sums, True),
        "",
        _together(standing_in(), sums, "wrong"),
    ]
    if len(few):
        text += [
            "",
            f"## Rows that have not got {least} data sets yet",
            "",
            *_table([*no_relation(), *beside_relations()], few, False),
            "",
            *_table(standing_in(), few, True),
        ]
    if fits.empty:
        return "\n".join(text)
    text += [
        "",
        "## Whole default fits",
        "",
        *_table(whole, sums, False),
        "",
        _together([s for s in whole if s.truth != "shadows"], sums),
        f"Fits in which something is relevant that the tests did not find: {int(fits['beyond'].sum())} of "
        f"{int(fits['sets'].sum())}.",
        "",
        *_table(standing, sums, True),
        "",
        _together(standing, sums, "wrong"),
    ]
    return "\n".join(text)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = common.parser(__doc__ or "", 0)
    parser.add_argument("--sets", type=int, default=1000, help="data sets a row of tests")
    parser.add_argument("--fits", type=int, default=400, help="whole fits a row")
    parser.add_argument("--minutes", type=float, help="stop handing out work after so many minutes")
    parser.add_argument("--least", type=int, default=200, help="rows of fewer data sets stand apart")
    parser.add_argument("--modes", nargs="*", default=list(BATCH), choices=list(BATCH))
    args = parser.parse_args()
    if args.minutes is not None:
        args.limit = 60 * args.minutes
    codes = marks()
    path = common.RESULTS / "calibration.csv"
    if (args.resume or args.report) and path.exists():
        old = pd.read_csv(path, dtype={"code": str})
        old[old["code"].isin(list(codes.values()))].to_csv(path, index=False)
    tasks = [
        {"scene": scene.key, "batch": batch, "code": codes[scene.mode]}
        # first as many as a row needs, then more of all
        for first, last in ((0, args.least), (args.least, max(args.sets, args.fits)))
        for scene in by_importance()
        if scene.mode in args.modes
        for batch in range(-(-first // BATCH[scene.mode]), -(-last // BATCH[scene.mode]))
        if batch * BATCH[scene.mode] < (args.sets if scene.mode == "tests" else args.fits)
    ]
    rows = common.run("calibration", work, tasks, args)
    notes = common.RESULTS / "calibration_notes.md"
    text = report(rows, args.least)
    common.write("calibration", f"{text}\n\n{notes.read_text()}" if notes.exists() else text)


if __name__ == "__main__":
    main()
