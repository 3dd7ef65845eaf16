"""The summary of a non-linear relevance analysis, laid out as that of the linear one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable

from relbounds.show import summary as tables

if TYPE_CHECKING:
    from relbounds.forest.results import ForestResults

HEADERS = ("lower", "upper", "import.", "removal", "others", "P>noise", "P adj.", "group", "relevance")
LOSSES = {
    "binary": "Brier score",
    "multiclass": "Brier score",
    "ordinal": "mean abs. difference in levels",
    "regression": "mean abs. error",
}
BODY = {**tables.BODY, "data_aligns": "rrrrrrrrc"}


def summary(fit: ForestResults) -> Summary:
    """Return header, one row a feature, and notes, as a statsmodels ``Summary``."""
    stubs, cells = tables.grouped_rows(fit.table, len(HEADERS), _cells)
    body = SimpleTable(cells, headers=list(HEADERS), stubs=stubs, txt_fmt=BODY)
    return tables.layout("Forest relevance", *_header(fit), body, _notes(fit))


def _cells(row: pd.Series) -> list[str]:
    return [
        tables.format_bound(row["lower"]),
        tables.format_bound(row["upper"]),
        tables.format_bound(row["importance"]) if row["importance"] < 100 else f"{row['importance']:.4g}",
        "-" if np.isnan(row["removal_loss"]) else f"{row['removal_loss']:.4f}",
        "-" if np.isnan(row["replaceable"]) else f"{row['replaceable']:.2f}",
        tables.format_p(row["p_noise"]),
        tables.format_p(row["p_adjusted"]),
        "" if pd.isna(row["group"]) else str(row["group"]),
        str(row["relevance"]),
    ]


def _header(fit: ForestResults) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    design, found, settings = fit.design, fit._found, fit._settings
    family = design.family if design.levels is None else f"{design.family}, {len(design.levels)} levels"
    classes = fit.table["relevance"].value_counts()
    left = [
        ("Response:", design.response),
        ("Family:", family),
        ("No. Observations:", str(len(design.y))),
        ("Dropped (missing):", str(design.n_dropped)),
        ("Features:", str(design.X.shape[1])),
        (
            "Strong/weak/irrelevant:",
            "/".join(str(classes.get(k, 0)) for k in ("strong", "weak", "irrelevant")),
        ),
    ]
    right = [
        ("Method:", fit.method),
        ("Model:", found.learner),
        ("Loss, all features:", f"{found.loss:.4f}"),
        ("Loss, no feature:", f"{found.constant:.4f}"),
        ("Noise, importance:", f"{found.importance_noise.upper:.4g}"),
        ("Noise, removal:", f"{found.removal_noise.upper:.4f} ({settings.probes} probes)"),
    ]
    return left, right


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
