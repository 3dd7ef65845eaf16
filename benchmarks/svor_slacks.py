"""Free, modelled and mixed slacks on the data of their paper: the part of svor_published.py that takes longest.

    python benchmarks/svor_slacks.py    # four controlled experiments on single choices (half an hour)

Every trial searches the grid of the paper by 5-fold cross-validation and notes, beside the test error of what
was chosen, the least test error of any point of the grid. No procedure that does not look at the test data can
expect the latter; it is there to see what the published numbers can be.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from common import RESULTS, markdown

from relbounds.errors import SolverError
from relbounds.folds import deal_folds
from relbounds.kernel.fitting import Grams, Sample, _Problem, fit_machine, fit_mixes, slack_matrix
from relbounds.kernel.kernels import make_kernel
from relbounds.kernel.machine import Machine, supporting
from relbounds.kernel.options import SvorOptions
from relbounds.kernel.tuning import Search, tune
from relbounds.metrics import mae, mze

METHODS = ("free", "modelled", "mixed", "mixed, v = 1")
# Published: mean and standard deviation of errors and of the number of support vectors, by method.
SUNSPOTS = {
    "mze": ((0.4277, 0.0549), (0.3381, 0.0452), (0.3418, 0.0459), (0.4061, 0.0602)),
    "mae": ((0.4710, 0.0765), (0.3813, 0.0652), (0.3851, 0.0699), (0.4564, 0.0794)),
    "support": ((191.4, 10.23), (206.2, 29.78), (147.8, 52.77), (221.2, 2.16)),
}
PUBLISHED = {
    "gaussians, linear": {
        "mze": ((0.0782, 0.0032), (0.0762, 0.0027), (0.0762, 0.0030), (0.0769, 0.0029)),
        "support": ((39.2, 10.65), (151.4, 77.42), (10.6, 16.04), (17.3, 24.47)),
    },
    "gaussians, non-linear": {
        "mze": ((0.1398, 0.0053), (0.1353, 0.0052), (0.1367, 0.0056), (0.1372, 0.0062)),
        "support": ((78.8, 13.24), (158.6, 44.45), (60.3, 46.49), (96.8, 36.22)),
    },
    "sunspots, differences": SUNSPOTS,
    "sunspots, symbols": SUNSPOTS,
}
TRIALS = {
    "gaussians, linear": 10,
    "gaussians, non-linear": 10,
    "sunspots, symbols": 5,
    "sunspots, differences": 5,
}
C = [1.0, 10.0, 50.0, 100.0, 500.0]
WIDTHS = [0.1, 0.5, 1.0, 5.0, 10.0]
GAMMAS = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 500.0, 1000.0]
MIXES = [0.0, 0.001, 0.01, *np.arange(0.1, 0.95, 0.1).round(1).tolist(), 0.95, 1.0]
# Every width and the range of C and gamma, at fewer points.
FEWER_C, FEWER_GAMMAS = [1.0, 50.0, 500.0], [0.001, 0.1, 10.0, 1000.0]


def trial_data(study: str, trial: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    """Training and test features and levels of one trial, and the Bayes rule's error on the test rows."""
    rng = np.random.default_rng([trial, 4])
    bayes = np.nan
    if study.startswith("sunspots"):
        X, y = sunspots(study.partition(", ")[2])
        shuffled = rng.permutation(len(y))
        training, test = shuffled[:222], shuffled[222:278]
    else:
        # Printed as covariance 2I, for which the Bayes error is 0.113, far below every published error; a
        # standard deviation of 2 has 0.133, just below them.
        spread = 1.0 if study == "gaussians, linear" else 2.0
        parts = [(100, 100), (2000, 2000)]
        blocks = [
            np.vstack([rng.normal(1.0, 1.0, (a, 2)), rng.normal(-1.0, spread, (b, 2))]) for a, b in parts
        ]
        X = np.vstack(blocks)
        y = np.concatenate([np.repeat([2, 1], [a, b]) for a, b in parts])
        training, test = np.arange(200), np.arange(200, len(y))
        first = -0.5 * ((X - 1.0) ** 2).sum(axis=1)
        second = -0.5 * ((X + 1.0) ** 2).sum(axis=1) / spread**2 - 2.0 * np.log(spread)
        bayes = mze(y[test], np.where(first > second, 2, 1)[test])
    X = (X - X[training].mean(axis=0)) / X[training].std(axis=0)
    return X[training], y[training], X[test], y[test], float(bayes)


def sunspots(features: str) -> tuple[np.ndarray, np.ndarray]:
    """Annual changes 1700-1988 cut 10/40/40/10 %, each after the five changes (or their symbols) before it.

    The published 222 + 56 rows are 11 fewer than the 289 years, and likewise in the fish and birth series: a
    change costs one, five before it and five after it ten. So the five steps before are steps of the new series.
    """
    import statsmodels.api as sm

    series = sm.datasets.sunspots.load_pandas().data
    s = series.loc[series["YEAR"].between(1700, 1988), "SUNACTIVITY"].to_numpy()
    change = np.diff(s)
    level = 1 + np.searchsorted(np.quantile(change, [0.1, 0.5, 0.9]), change, side="right")
    past = {"differences": change, "symbols": level.astype(float), "levels": s[:-1]}[features]
    lag = 0 if features == "levels" else 1  # s[:-1] is already the year before the change
    X = np.column_stack([past[5 - k + 1 - lag : len(past) - k + 1 - lag] for k in range(1, 6)])
    return X[: len(level) - 10], level[5:-5]


def judge(machine: Machine, X: np.ndarray, y: np.ndarray, K: np.ndarray | None = None) -> dict[str, float]:
    guess = machine.levels_of(machine.decision_function(X, K))
    return {"mze": mze(y, guess), "mae": mae(y, guess), "support": float(supporting(machine).sum())}


def recovered(
    X: np.ndarray, y: np.ndarray, levels: int, free: SvorOptions, modelled: SvorOptions, mixes: list[float]
) -> list[Machine]:
    """The boundary from the mixture of the slacks of two models, each with parameters of its own.

    The kernel is that of the free model, so that a mixture of free slacks alone is that model.
    """
    one, other = fit_machine(X, y, levels, free), fit_machine(X, y, levels, modelled)
    kernel = make_kernel(free.kernel, free.width)
    grams = Grams(kernel(X, X))
    options = free.replace(slack="mixed")
    problem = _Problem(X, kernel, other.rows, options, np.arange(1, levels + 1), levels, grams)
    return [problem.recovered(one, other, mix) for mix in mixes]


def chosen_mix(
    X: np.ndarray, y: np.ndarray, levels: int, free: SvorOptions, modelled: SvorOptions, seed: int
) -> float:
    """The mixing weight with the least cross-validated error (the first of several)."""
    fold, _ = deal_folds(y, range(1, levels + 1), 5, seed)
    total = np.zeros(len(MIXES))
    for f in range(5):
        inside, outside = fold != f, fold == f
        machines = recovered(X[inside], y[inside], levels, free, modelled, MIXES)
        total += [judge(machine, X[outside], y[outside])["mze"] for machine in machines]
    return MIXES[int(np.argmin(total.round(9)))]


def on_test(
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    y_test: np.ndarray,
    base: SvorOptions,
    grid: dict[str, list[float]],
) -> np.ndarray:
    """The test error at every point of the grid."""
    levels = int(y.max())
    kernels = itertools.product(grid.get("width", [1.0]), grid.get("slack_width", [1.0]))
    errors = []
    for width, slack_width in kernels:
        common = base.replace(width=width, slack_width=slack_width)
        kernel = make_kernel(common.kernel, width)
        grams = Grams(kernel(X, X), slack_matrix(common, X, None) if base.slack != "free" else None)
        cross = kernel(X_test, X)
        for c, gamma in itertools.product(grid["C"], grid.get("gamma", [1.0])):
            options = common.replace(C=c, gamma=gamma)
            machine = fit_mixes(Sample(X, y, levels), options, [1.0], grams=grams)[0]
            errors.append(mze(y_test, machine.levels_of(machine.decision_function(K=cross))))
    return np.array(errors)


def searched(
    study: str, whole_grid: bool
) -> tuple[SvorOptions, dict[str, list[float]], dict[str, list[float]]]:
    """What all fits of a study share, and the grids of free and of modelled slacks."""
    linear = study == "gaussians, linear"
    wide = {"C": C} if linear else {"C": C, "width": WIDTHS}
    some, gammas = (C, GAMMAS) if whole_grid else (FEWER_C, FEWER_GAMMAS)
    grid = {**wide, "C": some, "gamma": gammas, "slack_width": WIDTHS}
    return SvorOptions(order="implicit", balance=False, kernel="linear" if linear else "rbf"), wide, grid


def slack_models(study: str, split: int, whole_grid: bool) -> dict[str, Any]:
    """One trial: free, modelled and mixed slacks, each tuned by 5-fold cross-validation of the MZE."""
    X, y, X_test, y_test, bayes = trial_data(study, split)
    levels = int(y.max())
    base, wide, grid = searched(study, whole_grid)
    search = partial(tune, Sample(X, y, levels), search=Search("mze", seed=split, progress=False))
    out: dict[str, Any] = {"bayes": bayes}

    def keep(method: str, machine: Machine) -> None:
        for name, value in judge(machine, X_test, y_test).items():
            out[f"{method} {name}"] = value

    free = search(base, wide)
    keep("free", fit_machine(X, y, levels, free.options))
    out["free cv"], out["free best"] = free.score, on_test(X, y, X_test, y_test, base, wide).min()
    start = base.replace(slack="modelled")
    modelled = search(start, grid)
    machine = fit_machine(X, y, levels, modelled.options)
    keep("modelled", machine)
    # Solvers leave multipliers that are not quite 0; a count of all that are positive to 8 digits shows them.
    per_row = np.bincount(machine.rows.sample, machine.alpha > 1e-8, minlength=len(y)) > 0
    errors = on_test(X, y, X_test, y_test, start, grid)
    out |= {"modelled cv": modelled.score, "modelled best": errors.min(), "modelled grid": errors.mean()}
    out["modelled raw support"] = float(per_row.sum())
    out |= {f"modelled {k}": getattr(modelled.options, k) for k in ("C", "width", "slack_width", "gamma")}
    # A smooth kernel cannot carry the slacks of a much less smooth one; then both take that of the modelled.
    for partner in (free.options, modelled.options.replace(slack="free")):
        try:
            out["v"] = chosen_mix(X, y, levels, partner, modelled.options, split)
            machines = dict(
                zip(MIXES, recovered(X, y, levels, partner, modelled.options, MIXES), strict=True)
            )
            break
        except SolverError:
            if partner is not free.options:
                raise
    out["shared"] = partner is not free.options
    keep("mixed", machines[out["v"]])
    keep("mixed, v = 1", machines[1.0])
    out["mixed best"] = min(judge(machine, X_test, y_test)["mze"] for machine in machines.values())
    return out


def shown(values: pd.Series, digits: int = 3) -> str:
    """Mean and standard deviation; the mean alone where there is one value."""
    spread = f" ± {values.std():.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{spread}"


def usable(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without errors, one per trial: that of the whole grid where there is one."""
    good = rows[rows["error"].isna()].sort_values("whole_grid", ascending=False, kind="stable")
    return good.drop_duplicates(["study", "split"])


def against_published(rows: pd.DataFrame) -> str:
    """Ours beside the published numbers."""
    records = []
    for study, measures in PUBLISHED.items():
        here = rows[rows["study"] == study]
        for measure, values in measures.items():
            digits = 1 if measure == "support" else 3
            for method, (mean, sd) in zip(METHODS, values, strict=True):
                if here.empty:
                    continue
                ours = here[f"{method} {measure}"]
                records.append(
                    {
                        "study": study,
                        "measure": measure,
                        "slacks": method,
                        "trials": f"{len(here)} of {TRIALS[study]}",
                        "ours": shown(ours, digits),
                        "published": f"{mean:.{digits}f} ± {sd:.{digits}f}",
                        "within 1 sd": "yes" if abs(ours.mean() - mean) <= sd else "no",
                    }
                )
    return markdown(pd.DataFrame(records))


def chosen_against_best(rows: pd.DataFrame) -> str:
    """Errors of what cross-validation chose beside the least any point of the grid had on the test rows."""
    records = []
    for study, here in rows.groupby("study", sort=False):
        difference = here["modelled mze"] - here["free mze"]
        error = f" ± {difference.std() / np.sqrt(len(here)):.4f}" if len(here) > 1 else ""
        published = PUBLISHED[str(study)]["mze"]
        records.append(
            {
                "study": study,
                "trials": len(here),
                "Bayes rule": "-" if here["bayes"].isna().all() else f"{here['bayes'].mean():.4f}",
                "free, chosen": f"{here['free mze'].mean():.4f}",
                "modelled, chosen": f"{here['modelled mze'].mean():.4f}",
                "difference ± se": f"{difference.mean():+.4f}{error}",
                "free, best on test": f"{here['free best'].mean():.4f}",
                "modelled, best on test": f"{here['modelled best'].mean():.4f}",
                "difference": f"{(here['modelled best'] - here['free best']).mean():+.4f}",
                "published free": f"{published[0][0]:.4f}",
                "published modelled": f"{published[1][0]:.4f}",
                "difference ": f"{published[1][0] - published[0][0]:+.4f}",
            }
        )
    return markdown(pd.DataFrame(records))


def support_counts(rows: pd.DataFrame) -> str:
    """Support vectors by method, and in how many trials the mixture had fewer than the free model."""
    records = []
    for study, here in rows.groupby("study", sort=False):
        fewer = int((here["mixed support"] < here["free support"]).sum())
        record = {"study": study, "trials": len(here)}
        record |= {method: shown(here[f"{method} support"], 1) for method in METHODS}
        record["modelled, all above 1e-8"] = shown(here["modelled raw support"], 1)
        record["mixed fewer than free"] = f"{fewer} of {len(here)}"
        record["v chosen"] = shown(here["v"], 2)
        records.append(record)
    return markdown(pd.DataFrame(records))


def width_study() -> pd.DataFrame:
    """Test errors of modelled slacks by the width of their kernel, over C, gamma and the kernel's width; trial 0.

    `bias` is the largest difference between the threshold and its printed form, the average over the rows with
    a multiplier above 0.
    """
    records = []
    for study, widths in (("gaussians, linear", [1.0]), ("gaussians, non-linear", [0.5, 1.0, 5.0])):
        X, y, X_test, y_test, _ = trial_data(study, 0)
        base = SvorOptions(
            order="implicit", balance=False, kernel="linear" if study == "gaussians, linear" else "rbf"
        )
        points = list(itertools.product(widths, FEWER_C))
        free = [
            judge(fit_machine(X, y, 2, base.replace(width=w, C=c)), X_test, y_test)["mze"] for w, c in points
        ]
        records.append({"study": study, "slack width": "free", "mean": np.mean(free), "least": min(free)})
        for slack_width in WIDTHS:
            errors, share, bias = [], [], []
            for (w, c), gamma in itertools.product(points, FEWER_GAMMAS):
                options = base.replace(slack="modelled", width=w, C=c, gamma=gamma, slack_width=slack_width)
                machine = fit_machine(X, y, 2, options)
                errors.append(judge(machine, X_test, y_test)["mze"])
                share.append((machine.slack > 1e-4).mean())
                rows, on = machine.rows, machine.alpha > 1e-5 * machine.alpha.max()
                printed = machine.f[rows.sample[on]] - rows.sign[on] * (1.0 - machine.slack[on])
                bias.append(abs(printed.mean() - machine.b[0]))
            records.append(
                {
                    "study": study,
                    "slack width": f"{slack_width:g}",
                    "mean": np.mean(errors),
                    "least": min(errors),
                    "rows with slack": np.mean(share),
                    "bias": max(bias),
                }
            )
    return pd.DataFrame(records)


def accuracy_study() -> pd.DataFrame:
    """A wide, stiff slack function on the linear Gaussians, solved to the accuracy of general programs and here.

    It takes up all but some millionths of the margin, and the decision function is of that size.
    The threshold is the average over all rows, the printed one where all multipliers are above 0.
    """
    import cvxopt

    records = []
    for trial in range(TRIALS["gaussians, linear"]):
        X, y, X_test, y_test, _ = trial_data("gaussians, linear", trial)
        sign, n = np.where(y == 2, 1.0, -1.0), len(y)
        options = SvorOptions(
            balance=False, order="implicit", kernel="linear", slack="modelled", slack_width=10.0, gamma=1000.0
        )
        S = slack_matrix(options, X, None) / options.gamma
        P = np.block([[np.outer(sign, sign) * (X @ X.T) + S, S], [S, S]])
        pull = options.C * S.sum(axis=1)
        A = np.vstack([np.r_[sign, np.zeros(n)], np.ones(2 * n)])
        parts = (P, np.r_[-1.0 - pull, -pull], -np.eye(2 * n), np.zeros(2 * n), A, np.r_[0.0, n * options.C])
        for tolerance in (1e-6, 1e-8):
            aims = {"show_progress": False, "abstol": 1e-30, "reltol": tolerance, "feastol": 1e-8}
            found = cvxopt.solvers.qp(*map(cvxopt.matrix, parts), options=aims)
            alpha = np.array(found["x"])[:n, 0]
            w = X.T @ (sign * alpha)
            slack = S @ (alpha + np.array(found["x"])[n:, 0] - options.C)
            b = float(np.mean(X @ w - sign * (1.0 - slack + slack.min())))
            records.append(
                {
                    "trial": trial,
                    "solved to": f"{tolerance:g} of the objective, CVXOPT",
                    "support": int((alpha > 1e-5 * alpha.max()).sum()),
                    "length of w": float(np.linalg.norm(w)),
                    "mze": mze(y_test, np.where(X_test @ w > b, 2, 1)),
                }
            )
        machine = fit_machine(X, y, 2, options)
        records.append(
            {
                "trial": trial,
                "solved to": "1e-9 of a margin, relbounds",
                "support": int(supporting(machine).sum()),
                "length of w": float(np.linalg.norm(machine.X.T @ machine.coefficients)),
                "mze": judge(machine, X_test, y_test)["mze"],
            }
        )
    return pd.DataFrame(records)


def fixed_study() -> pd.DataFrame:
    """The options of either grid that errs least over all trials, the same for all of them: what is there to find.

    `others`: in every trial the setting that errs least in the other trials.
    """
    records = []
    for study, trials in TRIALS.items():
        base, wide, grid = searched(study, whole_grid=False)
        data = [trial_data(study, trial)[:4] for trial in range(trials)]
        free = np.array([on_test(*one, base, wide) for one in data])
        modelled = np.array([on_test(*one, base.replace(slack="modelled"), grid) for one in data])
        best = [errors[:, errors.mean(axis=0).argmin()] for errors in (free, modelled)]
        apart = [
            np.array([errors[t, np.delete(errors, t, axis=0).mean(axis=0).argmin()] for t in range(trials)])
            for errors in (free, modelled)
        ]
        record: dict[str, Any] = {"study": study, "trials": trials}
        for name, (one, other) in (("best", best), ("others", apart)):
            difference = other - one
            record |= {
                f"{name} free": one.mean(),
                f"{name} modelled": other.mean(),
                f"{name} difference": difference.mean(),
                f"{name} se": difference.std(ddof=1) / np.sqrt(trials),
            }
        records.append(record)
    return pd.DataFrame(records)


def by_fixed(table: pd.DataFrame) -> str:
    """The table of :func:`fixed_study` as the report shows it."""
    records = []
    for _, row in table.iterrows():
        record = {"study": row["study"], "trials": row["trials"]}
        for name, title in (("best", "in these trials"), ("others", "in the other trials")):
            record |= {
                f"free, best {title}": f"{row[f'{name} free']:.4f}",
                f"modelled, best {title}": f"{row[f'{name} modelled']:.4f}",
                f"difference ± se{'' if name == 'best' else ' '}": f"{row[f'{name} difference']:+.4f} ± "
                f"{row[f'{name} se']:.4f}",
            }
        records.append(record)
    return markdown(pd.DataFrame(records))


def by_accuracy(table: pd.DataFrame) -> str:
    """The table of :func:`accuracy_study` as the report shows it."""
    records = [
        {
            "solved to": kind,
            "trials": len(here),
            "support vectors": shown(here["support"], 1),
            "all 200": f"{int((here['support'] == 200).sum())} of {len(here)}",
            "length of w": f"{here['length of w'].median():.1e}",
            "MZE": shown(here["mze"], 4),
        }
        for kind, here in table.groupby("solved to", sort=False)
    ]
    return markdown(pd.DataFrame(records))


def feature_study() -> pd.DataFrame:
    """Free slacks on the sunspots with either kind of features, and with the numbers of the years themselves."""
    records = []
    for features, trial in itertools.product(("symbols", "differences", "levels"), range(5)):
        X, y, X_test, y_test, _ = trial_data(f"sunspots, {features}", trial)
        base, grid = SvorOptions(order="implicit", balance=False), {"C": C, "width": WIDTHS}
        found = tune(Sample(X, y, 4), base, grid, Search("mze", seed=trial, progress=False)).options
        records.append({"features": features, **judge(fit_machine(X, y, 4, found), X_test, y_test)})
    return pd.DataFrame(records)


def by_feature(table: pd.DataFrame) -> str:
    """The table of :func:`feature_study` as the report shows it."""
    records = [
        {
            "features": f"the five {kind} before",
            "trials": len(here),
            "MZE": shown(here["mze"]),
            "MAE": shown(here["mae"]),
            "support vectors": shown(here["support"], 1),
        }
        for kind, here in table.groupby("features", sort=False)
    ]
    zero, absolute, support = (SUNSPOTS[name][0] for name in ("mze", "mae", "support"))
    records.append(
        {
            "features": "published",
            "trials": 5,
            "MZE": f"{zero[0]:.3f} ± {zero[1]:.3f}",
            "MAE": f"{absolute[0]:.3f} ± {absolute[1]:.3f}",
            "support vectors": f"{support[0]:.1f} ± {support[1]:.1f}",
        }
    )
    return markdown(pd.DataFrame(records))


def by_width(table: pd.DataFrame) -> str:
    """The table of :func:`width_study` as the report shows it."""
    shown_ = table.drop(columns="bias").copy()
    for name in ("mean", "least"):
        shown_[name] = [f"{v:.4f}" for v in shown_[name]]
    return markdown(shown_.rename(columns={"mean": "mean test error", "least": "least test error"}))


STUDIES: dict[str, tuple[Callable[[], pd.DataFrame], Callable[[pd.DataFrame], str]]] = {
    "widths": (width_study, by_width),
    "sunspots": (feature_study, by_feature),
    "fixed": (fixed_study, by_fixed),
    "accuracy": (accuracy_study, by_accuracy),
}


def stored(name: str, anew: bool = False) -> pd.DataFrame:
    """The rows of one of the STUDIES: from its file, or made and stored."""
    path = RESULTS / f"svor_slacks_{name}.csv"
    if anew or not path.exists():
        STUDIES[name][0]().to_csv(path, index=False, float_format="%.6g")
    return pd.read_csv(path)


def claims(rows: pd.DataFrame) -> str:
    """Whether the two published claims hold on the trials run, study by study."""
    out = []
    for study, here in rows.groupby("study", sort=False):
        difference = here["modelled mze"] - here["free mze"]
        error = difference.std() / np.sqrt(len(here)) if len(here) > 1 else np.nan
        lower = int((difference < 0).sum())
        if len(here) < 4:  # too few for a standard error to mean anything
            verdict = (
                f"modelled slacks err less than free ones in {lower} of {len(here)} trials, too few to tell"
            )
        elif not difference.mean() < 0:
            verdict = "modelled slacks are not better than free ones"
        elif difference.mean() + 2 * error < 0:
            verdict = "modelled slacks are better than free ones"
        else:
            verdict = "modelled slacks are better than free ones by less than two standard errors"
        fewer = here["mixed support"].mean() < here["free support"].mean()
        out.append(f"{study}: {verdict}; mixed ones have {'fewer' if fewer else 'no fewer'} support vectors")
    return ".\n- ".join(["Verdict on the trials run:\n", *out]).replace(":\n.\n- ", ":\n\n- ") + "."


def report(rows: pd.DataFrame) -> str:
    """The part of the report on slack models."""
    rows = usable(rows)
    rows = rows.sort_values("study", key=lambda c: c.map(list(TRIALS).index), kind="stable")
    widths, features, fixed, accuracy = (stored(name) for name in STUDIES)
    whole = ", ".join(
        f"{study} {int(here['whole_grid'].sum())} of {len(here)}"
        for study, here in rows.groupby("study", sort=False)
    )
    shared = int(rows["shared"].fillna(False).astype(bool).sum()) if "shared" in rows else 0
    return f"""Free: SVM / SVORIM; modelled: SVMP / SVORIMP; mixed: SVMvP / SVORIMvP. Two Gaussians: 100 + 100
training and 4000 test rows. Annual sunspots 1700-1988: changes cut 10/40/40/10 %, 222 training and 56 test rows,
each with the five changes before it as features, or with their symbols. Everything by 5-fold cross-validation of
the MZE. Free slacks are searched on the published grid (C 1, 10, 50, 100, 500; widths 0.1, 0.5, 1, 5, 10).
Modelled ones are searched on the published grid (the same, widths of the slack kernel alike, gamma 0.001 to 1000
in 8 steps) in these trials: {whole}. In the others every width is searched, with C 1, 50, 500 and
gamma 0.001, 0.1, 10, 1000. Mixed ones take the free and
the modelled model as chosen, the kernel of the free one, and one of the 14 published weights; where that kernel
is too smooth to meet the modelled slacks (trials: {shared}) C and width of the modelled one serve for both.

{against_published(rows)}

{claims(rows)}

### What was tried to find the published gain

What cross-validation chose, beside the least error any point of the same grid had on the test rows. The latter
needs the test labels; it is no result, but says what the published numbers can be. Means over trials:

{chosen_against_best(rows)}

- With equal unit covariances and means (1, 1) and (-1, -1) no rule can be expected to err less than 0.0786. The
  published 0.0762 of modelled and mixed slacks, over 10 x 4000 test rows (standard error 0.0013), is 1.8 standard
  errors below that; the published 0.0782 of free slacks is at it. Where the free model is at the limit there is
  nothing to gain.
- A gain appears when every trial takes the best point on its test rows from either grid: that of the modelled slacks
  has 12 to 40 times as many points, hence the lower minimum. How the published parameters were chosen beyond "5-fold
  cross-validation" cannot be told from here.
- With one setting for all trials (modelled slacks on the thinned grid) no study shows a gain beyond chance. First the
  setting that errs least over all trials together, which still needs the test labels; then, for each trial, the one
  that errs least in the others:

{by_fixed(fixed)}

- Which grid is searched, and how the folds are dealt, matters more than which slacks. On the sunspots (differences,
  free slacks 0.393) modelled slacks had 0.361, 0.407 and 0.386 in version 0.1.0, which dealt the folds otherwise, with
  C 1, 100 and gamma 0.01, 1, 100, with the grid thinned as here, and with the whole one; the same thinned grid now
  gives what the table says. With 56 test rows one row is 0.018.
- The width of the slack kernel decides. All rows near a row that needs much slack get much slack, so in
  overlapping classes a wide kernel gives slack to nearly all rows and leaves the decision function little to do;
  only the narrowest, close to free slacks, keeps up. Trial 0, over C and gamma (and widths 0.5, 1, 5 of the
  kernel):

{by_width(widths)}

- The model is solved right: it agrees with a general quadratic program on the primal, in the features themselves
  for linear kernels (`tests/kernel/test_speed.py`) and through roots of kernel matrices for others
  (`tests/kernel/test_slacks.py`). The threshold equals the printed average over rows with a multiplier above 0
  to {widths["bias"].max():.0e} in all fits of the table above.
- With the same kernel and parameters a mixture with v = 1 has the decision function of the modelled slacks: for
  fixed correcting functions both minimise the same strictly convex norm. In print they differ with a linear
  kernel, too, so parameters or solver accuracy differed there.
- The non-linear Gaussians have standard deviation 2 here. The covariance of 2I in print has a Bayes error of
  0.113, while every published error is 0.135 or more; a standard deviation of 2 has 0.133.
- The published 222 + 56 sunspot rows are 11 fewer than the years, as in the fish and birth series of the paper,
  which fits five steps of the differenced series on either side. Whether the features were changes, their
  symbols or the levels themselves is not said. The cuts in print (10/40/40/10 % and a middle cut at 0) exclude one
  another, since 58 % of the changes are negative; the shares were kept. Changes are closest to print: free slacks
  on the published grid and five trials come within one standard deviation in all three measures with them only.
  Symbols stand beside them above:

{by_feature(features)}

### Support vectors

A row counts when its multiplier exceeds 1e-5 of its limit (of the largest one where there is no limit). Published
counts of modelled slacks are near the number of training rows; counting every multiplier above 1e-8 does not
bring ours there.

{support_counts(rows)}

The accuracy of the solver may be the reason. A wide, stiff slack function (width 10, gamma 1000, C 1; all in the
published grid) takes up all but some millionths of the margin, and the decision function is of that size. A general
interior point program, asked for a gap of a millionth of the objective, stops while nearly every multiplier is well
above 0; at 1e-8 it still does in some trials. Linear Gaussians:

{by_accuracy(accuracy)}

The published 151.4 ± 77.4 would fit some trials with all 200 rows and the rest near our free count (seven and three
make 151.4 ± 78.2). That is arithmetic after the fact: the solver of the paper was not run here, and on the errors the
accuracy makes no such difference. relbounds solves such problems to their end; where nothing is left of the decision
function it predicts one level, which cross-validation then passes over."""


if __name__ == "__main__":
    for name, (_, show) in STUDIES.items():
        print(show(stored(name, anew=True)), "\n")
