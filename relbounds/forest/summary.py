"""What readers are shown of a non-linear relevance analysis: the same record as for a linear fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
LOSSES = {
    "binary": "Brier score",
    "nominal": "Brier score",
    "ordinal": "mean abs. difference in levels",
    "regression": "mean abs. error",
}


def forest_facts(fit: ForestResults) -> Facts:
    """Return table, header and notes of an analysis."""
    found, settings = fit._found, fit._settings
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
        smallest_p=1.0 / (1 + settings.probes),
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
    design, found, settings = fit.design, fit._found, fit._settings
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
        ("Model:", found.learner),
        ("Loss, all features:", f"{found.loss:.4f}"),
        ("Loss, no feature:", f"{found.constant:.4f}"),
        ("Noise, importance:", f"{found.importance_noise.upper:.4g}"),
        ("Noise, removal:", f"{found.removal_noise.upper:.4f} ({settings.probes} probes)"),
    ]
    return tuple(left), tuple(right)


def _notes(fit: ForestResults) -> list[str]:
    settings = fit._settings
    name = LOSSES[fit.design.family]
    if fit.method == "sequential":
        return [
            "The published sequential method: Boruta and a sparse forest find the relevant features; those whose "
            "removal raises the training loss above what a permuted feature does are strong, the others weak.",
            "lower is the rise in loss as a share of what all features explain. "
            f"Noise level {settings.level:g}, seed {settings.seed}.",
            *fit.notes,
        ]
    return [
        f"Loss: {name}, held out ({settings.repeats} x {settings.folds} folds). lower: its rise when the "
        "feature is removed; upper: its rise when the feature's stand-ins are gone too; as shares of what "
        "all features explain.",
        "Strong: the loss rises, or the forest uses it and the others cannot predict it (others: share they "
        "explain). Weak: it has stand-ins; those of a group cost nothing one by one and something together.",
        f"Noise: upper ends of prediction intervals of permuted features, level {settings.level:g}, seed "
        f"{settings.seed}; P>noise is the chance that one is as important; P adj. is Benjamini-Hochberg.",
        *fit.notes,
    ]
