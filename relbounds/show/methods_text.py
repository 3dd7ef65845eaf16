"""The methods paragraph of a paper, made from what was in fact done: every setting, version and source."""

from __future__ import annotations

import platform

import numpy as np

from relbounds.errors import counted
from relbounds.linear.fitted import Fitted
from relbounds.show.citations import BOUNDS, ORDINAL, RUBIN, SLACKS, SVOR, THESIS, Paper, list_references
from relbounds.version import __version__

METRICS = {
    "MMAE": "the mean over levels of the mean absolute difference in levels",
    "F1": "the F1 score weighted by support",
    "R2": "the coefficient of determination",
    "C-index": "Harrell's concordance index",
}
RULES = {
    "resample": "the 0.68 quantile of how much worse on these data models are that were fitted to resampled data",
    "resample90": "the 0.9 quantile of how much worse on these data models are that were fitted to resampled data",
    "1se": "one standard error of the best model's loss",
    "2se": "two standard errors of the best model's loss",
    "given": "set beforehand",
}


def linear_methods(fitted: Fitted) -> str:
    """Return what was done in a linear fit, in words that a journal accepts, and the references under it."""
    steps = (
        _data,
        _adjustment,
        _model,
        _tuning,
        _equivalent,
        _terms,
        _noise,
        _privileged,
        _constraints,
        _software,
    )
    said = [step(fitted) for step in steps]
    return " ".join(sentence for sentence in said if sentence) + "\n\n" + list_references(_papers(fitted))


def _papers(fitted: Fitted) -> tuple[Paper, ...]:
    papers = [BOUNDS, ORDINAL]
    if fitted.design.family in ("ordinal", "survival"):
        papers.append(SVOR)
    if fitted.tuning.kind.slack:
        papers.append(SLACKS)
    if fitted.imputations:
        papers.append(RUBIN)
    if fitted.wishes:
        papers.append(THESIS)
    return tuple(papers)


def _count(fitted: Fitted, part: str) -> int:
    return sum(term.part == part for term in fitted.design.design_terms)


def _data(fitted: Fitted) -> str:
    design = fitted.design
    privileged = _count(fitted, "privileged")
    more = f" and {counted(privileged, 'privileged term')}" if privileged else ""
    levels = (
        f" with {len(design.levels)} levels"
        if design.levels is not None and design.family != "survival"
        else ""
    )
    said = (
        f"The relevance of {counted(_count(fitted, 'regular'), 'term')}{more} for the {design.family} response "
        f"{design.response}{levels} was measured on {counted(len(design.y), 'observation')}"
    )
    if design.cluster is not None:
        said += f" in {counted(int(design.cluster.max()) + 1, 'cluster')}, kept whole throughout"
    if fitted.imputations:
        said += (
            f", {len(fitted.imputations)} times imputed (bounds are medians, p-values pooled by the rules of "
            f"{RUBIN.cited})"
        )
    if design.n_dropped:
        said += f" ({counted(design.n_dropped, 'further row')} with missing values left out)"
    if design.times is not None:
        events = int(design.times[1].sum())
        said += f"; {counted(events, 'event')} were seen, and times were cut into {len(design.levels or ())} intervals"
    weighted = not np.allclose(design.weights, design.weights[0])
    return said + ("; observations carried case weights." if weighted else ".")


def _adjustment(fitted: Fitted) -> str:
    terms = [term.name for term in fitted.design.design_terms if term.part == "adjust"]
    return f"All models adjusted, without penalty, for {', '.join(terms)}." if terms else ""


def _model(fitted: Fitted) -> str:
    design, kind = fitted.design, fitted.tuning.kind
    chosen = ", chosen by cross-validation" if fitted.options.order == "auto" else ""
    penalised = "with an L1 penalty on the weights"
    several = design.levels is not None and len(design.levels) > 2
    names = {
        "ordinal": f"a linear large-margin model of ordered levels with {kind.order} constraints on its thresholds "
        f"({SVOR.cited}{chosen if several else ''})",
        "binary": "a linear support vector machine",
        "regression": f"a linear support vector regression (tube of half width {design.y_scale * kind.epsilon:.3g})",
        "nominal": "a linear large-margin model with one weight vector a class",
        "survival": f"a linear large-margin model of ordered time intervals with {kind.order} constraints on its "
        f"thresholds ({SVOR.cited})",
    }
    censored = (
        " A censored observation was known to lie beyond its censoring time."
        if design.family == "survival"
        else " Where a level was known to lie between two, only thresholds outside these counted."
        if design.interval is not None
        else ""
    )
    balance = (
        " Both sides of every threshold weighed the same."
        if kind.balance and design.family != "nominal"
        else " All classes weighed the same."
        if kind.balance
        else ""
    )
    scaled = "Features were standardised. " if _standardised(fitted) else ""
    named = names.get(design.family, "a linear model")
    return f"{scaled}The best model was {named}, {penalised}.{censored}{balance}"


def _standardised(fitted: Fitted) -> bool:
    return bool(np.any(fitted.design.scale != 1.0))


def _tuning(fitted: Fitted) -> str:
    tuning = fitted.tuning
    if tuning.rule == "fixed":
        return f"Its cost parameter was set to C = {tuning.C:.4g}."
    rule = (
        "the best score"
        if tuning.rule == "best"
        else "the smallest value within one standard error of the best score"
    )
    score = "" if tuning.score is None else f" ({tuning.score:.3f})"
    return (
        f"Its cost parameter C = {tuning.C:.4g} was chosen by {tuning.folds}-fold cross-validation as {rule}, the "
        f"score being {METRICS.get(tuning.metric, tuning.metric)}{score}."
    )


def _equivalent(fitted: Fitted) -> str:
    if not fitted.polytopes:
        if not fitted.no_relation:
            return ""
        beyond = _count(fitted, "adjust") > 0
        return (
            "No relation beyond the adjusting covariates was found."
            if beyond
            else "No relation was found: the best model is a constant."
        )
    tolerance = fitted.tolerance
    refits = f" ({counted(tolerance.refits, 'refit')})" if tolerance.refits else ""
    shape = (
        "whose penalty and whose loss each exceed those of the best model by at most this share"
        if fitted.options.tolerance == "split"
        else "whose penalised loss exceeds that of the best model by at most this share"
    )
    return (
        f"Following {BOUNDS.cited} and {ORDINAL.cited}, we computed the least and the greatest use that any linear "
        "model as good as the best one makes of each term, by linear programming, and report both as shares of the "
        f"best model's norm. As good are models {shape}, {tolerance.delta:.3g}: {RULES[tolerance.rule]}{refits}."
    )


def _terms(fitted: Fitted) -> str:
    if not (fitted.table["row"] == "level").any():
        return ""
    return (
        "The use of a factor is its largest contrast between two levels; its levels are reported as deviations from "
        "the average level."
    )


def _noise(fitted: Fitted) -> str:
    options, noise = fitted.options, fitted.noise
    tested = (
        ""
        if noise.control == "published"
        else (
            ", and whose effect beside the other terms is beyond chance at the same level (permutation test),"
        )
    )
    classes = (
        f"Relevant terms that every such model needs{tested} are called strong, the others weak; terms that are not "
        "relevant are not distinguishable from noise."
    )
    if noise.control == "none":
        return ""
    if noise.control == "published":
        return (
            "A term is relevant if its greatest use exceeds what permuted features reach (prediction interval at level "
            f"{options.level:g} from {options.probes} permuted features, seed {options.seed}). {classes}"
        )
    promise = (
        f"so that the chance of calling any noise term relevant is at most {options.alpha:g}"
        if noise.control == "fwer"
        else f"so that at most {options.alpha:g} of the terms called relevant are expected to be noise"
    )
    refits = f" and {counted(noise.refits, 'refitted model')}" if noise.refits else ""
    return (
        f"Terms were tested against noise by permuting {_moved(fitted)} ({noise.permutations} permutations{refits}, "
        f"seed {options.seed}), {promise}. {classes}"
    )


def _moved(fitted: Fitted) -> str:
    """Say what was permuted."""
    what = "what the adjusting covariates leave of them" if _count(fitted, "adjust") else "them"
    return what + (" between and inside clusters" if fitted.design.cluster is not None else "")


def _privileged(fitted: Fitted) -> str:
    help = fitted.privileged
    if help is None or not _count(fitted, "privileged"):
        return ""
    ways = {
        "none": "did not improve cross-validated predictions and were not used",
        "teacher": "weighed the training observations by a model of their own",
        "slack": f"modelled the training observations' slacks ({SLACKS.cited})",
    }
    return f"Privileged terms, known for training data only, {ways.get(help.way, 'were used')}."


def _constraints(fitted: Fitted) -> str:
    if not fitted.wishes:
        return ""
    return (
        f"Bounds were computed under constraints on {counted(len(fitted.wishes), 'term')} ({THESIS.cited})."
    )


def _software(fitted: Fitted) -> str:
    return (
        f"Computations were done with relbounds {__version__} under Python {platform.python_version()}; the formula "
        f"was {fitted.design.formula}."
    )
