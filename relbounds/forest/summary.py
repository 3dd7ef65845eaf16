"""What readers are shown of a non-linear relevance analysis: the same record as for a linear fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relbounds.forest.block_test import draws_for
from relbounds.forest.methods import forest_methods
from relbounds.show.facts import Facts, Pairs
from relbounds.show.settings import settings_of
from relbounds.show.walk import count_classes

if TYPE_CHECKING:
    from relbounds.forest.results import ForestResults

COLUMNS = (
    "lower",
    "upper",
    "importance",
    "removal_loss",
    "replaceable",
    "p_noise",
    "p_adjusted",
    "group",
    "relevance",
)
PROMISES = {
    "fwer": "a chance of at most {:g} that any of them is noise",
    "fdr": "at most a share of {:g} of them noise, on average",
}
LOSSES = {
    "binary": "Brier score",
    "nominal": "Brier score",
    "ordinal": "mean abs. difference in levels",
    "regression": "mean abs. error",
}


def forest_facts(fit: ForestResults) -> Facts:
    """Return table, header and notes of an analysis."""
    found = fit._found
    left, right = _header(fit)
    return Facts(
        title="Forest relevance",
        formula=fit.formula,
        response=fit.design.response,
        table=fit.table,
        columns=COLUMNS,
        left=left,
        right=right,
        notes=tuple(_notes(fit)),
        smallest_p=smallest_p(fit),
        noise={("regular", None): found.removal_noise.upper / fit.unit},
        measure="rise in loss (share of what is explained)",
        settings=settings_of(fit.options),
        compared=(
            ("Observations", str(len(fit.design.y))),
            ("Loss, all features", f"{found.loss:.3g}"),
            ("Loss, no feature", f"{found.constant:.3g}"),
            ("Strong/weak/irrelevant", count_classes(fit.table)),
        ),
        methods=forest_methods(fit),
    )


def _header(fit: ForestResults) -> tuple[Pairs, Pairs]:
    design, found, options = fit.design, fit._found, fit._options
    family = design.family if design.levels is None else f"{design.family}, {len(design.levels)} levels"
    left = [
        ("Response:", design.response),
        ("Family:", family),
        ("No. Observations:", str(len(design.y))),
        ("Dropped (missing):", str(design.n_dropped)),
        ("Features:", str(design.X.shape[1])),
        ("Strong/weak/irrelevant:", count_classes(fit.table)),
    ]
    right = [
        ("Method:", fit.method),
        ("Model:", _model(fit)),
        ("Loss, all features:", f"{found.loss:.4f}"),
        ("Loss, no feature:", f"{found.constant:.4f}"),
        ("Noise, importance:", f"{found.importance_noise.upper:.4g}"),
        ("Noise, removal:", f"{found.removal_noise.upper:.4f} ({options.probes} probes)"),
    ]
    return tuple(left), tuple(right)


def smallest_p(fit: ForestResults) -> float:
    """Return the smallest p-value that the permutations can show."""
    if fit._options.control == "published":
        return 1.0 / (1 + fit._options.probes)
    return 1.0 / (1 + draws_for(fit._options.alpha))


def _notes(fit: ForestResults) -> list[str]:
    options = fit._options
    if fit.method == "sequential":
        return [
            "The published sequential method: Boruta and a sparse forest find the relevant terms; those whose "
            "removal raises the training loss above what a permuted feature does are strong, the others weak.",
            "lower is the rise in loss as a share of what all terms explain. "
            f"Noise level {options.level:g}, seed {options.seed}.",
            *fit.notes,
        ]
    return [
        f"Loss: {LOSSES[fit.design.family]}, held out ({options.repeats} x {options.folds} folds). lower: its rise "
        "when the term is removed; upper: its rise when the term's stand-ins are gone too; as shares of what all "
        "terms explain.",
        "Strong: relevant, and the loss rises without it, or the others cannot predict it (others: share they "
        "explain). Weak: relevant, with stand-ins; those of a group cost nothing one by one and something together.",
        _judged(fit),
        *fit.notes,
    ]


def _judged(fit: ForestResults) -> str:
    """Say what was promised, and what the p-values are."""
    options = fit._options
    if options.control == "published":
        return (
            f"Relevant: beyond prediction intervals of permuted terms, level {options.level:g}, seed {options.seed}; "
            "P>noise is the chance that one is as important; P adj. is Benjamini-Hochberg. Irrelevant: not "
            "distinguishable from noise."
        )
    return (
        f"Relevant: P adj. at most {options.alpha:g}, by {fit._found.forests} forests on the data and on permuted "
        f"terms, seed {options.seed}; the promise is {PROMISES[options.control].format(options.alpha)}. Irrelevant: "
        "not distinguishable from noise."
    )


def _model(fit: ForestResults) -> str:
    if fit.method == "sequential":
        return "forest, training loss"
    return "trees on a linear score" if fit._found.linear else "trees"
