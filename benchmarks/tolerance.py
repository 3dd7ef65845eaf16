"""One tolerance for norm and loss, or one each, and which quantile? python benchmarks/tolerance.py

The models of resampled data show by how much the loss of an equally good model may exceed the best one's, and by how
much its norm. Compared are, for the 0.68 and the 0.9 quantile: one tolerance for both, by the loss; a tolerance each;
and the former standard error of the loss. Everything else is the same: data, C, refits, the test of which terms are
relevant (so only strong and weak can differ), and the test of strong.

Reported are, on the paper's sets: the share of terms in their true class, of strong terms called strong, and of weak
terms called weak; on unbalanced data the share of terms with an effect called strong; on real tables the terms called
strong beside |z| of the standard model.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import common
import numpy as np
import pandas as pd
from real_terms import FITS, load, standard

import relbounds as rb
from relbounds import simulate
from relbounds.explore.what_if_noise import evidence_of
from relbounds.linear.asked import RowKey
from relbounds.linear.noise.fwer import refit_permuted
from relbounds.linear.noise.judge import own_p_values
from relbounds.linear.noise.refits import Refit, largest_least_in
from relbounds.linear.ranges import measure
from relbounds.linear.tolerance import resample_models, standard_error
from relbounds.solver.engines.batch import share_active
from relbounds.solver.optimum import Solution
from relbounds.solver.polytope import Polytope

RULES = ("one 0.68", "one 0.9", "each 0.68", "each 0.9", "1se")
# Seeds below this served to settle choices.
FRESH = 50_000
REFITS = 19
REAL = ("housing", "wine", "anes96", "diabetes", "breast cancer", "iris")


@dataclass(frozen=True)
class Budgets:
    """How much larger than the best model's the norm and the loss may be, as shares of them."""

    norm: float
    loss: float


def all_budgets(fitted: Any) -> dict[str, Budgets]:
    """Return the budgets by rule, from the same resampled models for all of them."""
    models = resample_models(fitted.design, fitted.spec, fitted.solution, fitted.options)
    se = standard_error("1se", fitted.spec.sample_losses(fitted.solution.v))
    out = {}
    for rule in RULES:
        if rule == "1se":
            out[rule] = Budgets(se, se)
            continue
        how, quantile = rule.split()
        loss, norm = (
            max(0.001, float(np.quantile(v, float(quantile)))) for v in (models.excess, models.longer)
        )
        out[rule] = Budgets(loss if how == "one" else norm, loss)
    return out


def set_of(model: Any, solution: Solution, budgets: Budgets) -> Polytope:
    """Return the set of models within the budgets."""
    # separable data have no loss to be relative to: as in the package, rows in pairs get what rounding needs
    loss = (1 + budgets.loss) * solution.loss
    if model.h.size and model.h.min() <= 0:
        loss = max(loss, 1e-11 * float(np.abs(model.h).max() * model.c.sum()))
    return share_active(
        Polytope(model, norm=(1 + budgets.norm) * solution.penalty, loss=loss, start=solution.v)
    )


def refits_of(fit: rb.RelboundsResults) -> list[Refit]:
    """Return models of permuted noise, which are the same for all rules."""
    fitted = fit._fitted
    names = [name for _, name in fitted.noise.block]
    terms = {term.name: term.columns for term in fitted.design.design_terms if term.part == "regular"}
    columns = [j for name in names for j in terms[name]]
    return [
        refit_permuted(evidence_of(fitted), "regular", columns, draw)
        for draw in range(REFITS if names else 0)
    ]


def strong_of(fit: rb.RelboundsResults, budgets: Budgets, refits: list[Refit]) -> pd.Series:
    """Return whether each term is needed by every model within the budgets, beyond what noise is."""
    fitted = fit._fitted
    spec, norm = fitted.spec, fitted.norm
    asked = [row for row in spec.asked if row.row == "term"]
    measured = measure([set_of(spec.model, fitted.solution, budgets)], asked, fitted.options)
    names = [name for _, name in fitted.noise.block]
    reached = [0.0]
    for found in refits:
        if found.polytope is not None:
            own = set_of(found.spec.model, found.solution, budgets)
            block = [row for row in found.spec.asked if row.row == "term" and row.key.term in names]
            reached.append(largest_least_in(replace(found, polytope=own), block, fitted.options.solver))
    needed = measured.lower / norm > max(reached) / norm + 1e-6
    return pd.Series(needed, index=[row.key.term for row in asked])


def classes_of(fit: rb.RelboundsResults, budgets: Budgets, refits: list[Refit]) -> pd.Series:
    """Return the classes within some budgets; which terms are relevant is the fit's, strong is tested as there."""
    table = fit.table[fit.table["row"] == "term"].set_index("term")
    relevant = table["relevance"] != "irrelevant"
    needed = strong_of(fit, budgets, refits).reindex(table.index) & relevant
    keys = {name: RowKey("regular", name) for name in table.index}
    own = own_p_values(
        evidence_of(fit._fitted),
        [keys[name] for name in table.index[relevant]],
        [keys[name] for name in table.index[needed]],
    )
    strong = [own.get(key, 1.0) <= fit._fitted.options.alpha for key in keys.values()]
    return pd.Series(np.where(strong, "strong", np.where(relevant, "weak", "irrelevant")), index=table.index)


def unbalanced(kind: str, seed: int) -> tuple[str, pd.DataFrame, pd.Series]:
    """Draw levels of 60, 30 and 10 % or 90 and 10 %: three terms with effects of ordinary size, seven without."""
    rng = np.random.default_rng([seed, 18])
    n = 400
    X = rng.standard_normal((n, 10))
    latent = X[:, :3] @ np.array([1.0, 0.8, 0.6]) + rng.logistic(size=n)
    shares = (0.6, 0.9) if kind == "60/30/10" else (0.9,)
    codes = np.searchsorted(np.quantile(latent, shares), latent)
    data = pd.DataFrame(X, columns=[f"x{k}" for k in range(1, 11)]).assign(y=codes)
    return "y ~ .", data, pd.Series(["strong"] * 3 + ["irrelevant"] * 7, index=data.columns[:10])


def work(data: str, noise: float, seed: int) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if data.startswith("set"):
        own, _, C = data.partition(", C=")
        sim = simulate.paper_set(int(own.split()[1]), noise=noise, seed=FRESH + seed)
        formula, frame, truth = sim.formula, sim.data, sim.truth
        options = {"C": float(C)} if C else {}
    elif data in REAL:
        formula, options = FITS[data]
        frame, truth = load(data), None
    else:
        formula, frame, truth = unbalanced(data, FRESH + seed)
    fit = rb.relbounds(formula, frame, seed=seed, progress=False, **options)
    z: Mapping[str, float] = standard(fit) if truth is None else {}
    out: dict[str, Any] = {}
    refits = refits_of(fit)
    for rule, budgets in all_budgets(fit._fitted).items():
        classes = classes_of(fit, budgets, refits)
        out[f"norm, {rule}"], out[f"loss, {rule}"] = budgets.norm, budgets.loss
        if truth is None:
            called = classes.index[classes == "strong"]
            missed = [name for name in classes.index[classes == "weak"] if z[name] >= 3]
            out[f"strong, {rule}"] = ", ".join(f"{name} {z[name]:.1f}" for name in called)
            out[f"not strong, {rule}"] = ", ".join(f"{name} {z[name]:.1f}" for name in missed)
            continue
        classes = classes.reindex(truth.index)
        out[f"right, {rule}"] = float((classes == truth).mean())
        for kind in ("strong", "weak"):
            there = truth == kind
            out[f"{kind} as {kind}, {rule}"] = (
                float((classes[there] == kind).mean()) if there.any() else np.nan
            )
    return out


def tasks(args: Any) -> list[dict[str, Any]]:
    names = [(f"set {k}", noise) for noise in (0.5, 1.0, 0.0) for k in args.sets]
    names += [("60/30/10", 0.0), ("90/10", 0.0), ("set 3, C=0.1", 0.5), ("set 3, C=10", 0.5)]
    out = [{"data": name, "noise": 0.0, "seed": 0} for name in REAL]
    return out + [
        {"data": name, "noise": noise, "seed": seed} for seed in range(args.seeds) for name, noise in names
    ]


def report(rows: pd.DataFrame) -> str:
    good = rows[rows["error"].isna()] if "error" in rows else rows
    text = [
        "# One tolerance or two",
        "",
        common.provenance("python benchmarks/tolerance.py", f"{FRESH} and up"),
        f"Failed runs: {len(rows) - len(good)}.",
        "",
    ]
    simulated = good[~good["data"].isin(REAL)]
    kinds = simulated["data"].where(~simulated["data"].str.fullmatch(r"set \d"), "sets")
    groups = kinds + np.where(kinds == "sets", ", noise " + simulated["noise"].astype(str), "")
    for measure_ in ("right", "strong as strong", "weak as weak", "norm", "loss"):
        table = simulated.groupby(groups)[[f"{measure_}, {rule}" for rule in RULES]].mean()
        table.columns, table.index.name = list(RULES), "data"
        table.insert(0, "fits", simulated.groupby(groups).size())
        title = {"right": "Terms in their true class", "norm": "Room in the norm", "loss": "Room in the loss"}
        text += [f"## {title.get(measure_, measure_.capitalize())}", "", common.markdown(table, 3), ""]
    text += ["## Real tables: what is strong, with |z|; what is weak with |z| of 3 or more", ""]
    for _, row in good[good["data"].isin(REAL)].iterrows():
        text += [f"- **{row['data']}**"]
        for rule in RULES:
            strong, missed = (
                "-" if not isinstance(row[c], str) else row[c]
                for c in (f"strong, {rule}", f"not strong, {rule}")
            )
            text += [
                f"  - {rule} (norm {row[f'norm, {rule}']:.3f}, loss {row[f'loss, {rule}']:.3f}): {strong}; "
                f"weak: {missed}"
            ]
    notes = common.RESULTS / "tolerance_notes.md"
    if notes.exists():
        text += ["", notes.read_text().rstrip()]
    return "\n".join(text)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = common.parser("One tolerance or two.", seeds=3)
    parser.add_argument("--sets", type=int, nargs="*", default=list(range(1, 10)))
    args = parser.parse_args()
    common.write("tolerance", report(common.run("tolerance", work, tasks(args), args)))


if __name__ == "__main__":
    main()
