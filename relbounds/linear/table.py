"""The table of a fit: bounds as shares of the norm, p-values, classes, directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.linear.asked import Asked
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.ranges import ZERO, Measured

CLASSES = ("strong", "weak", "irrelevant")


@dataclass(frozen=True)
class Verdicts:
    """What noise says of every row of a table: p-values and class (empty for adjusting covariates)."""

    p_noise: FloatArray
    p_adjusted: FloatArray
    relevance: NDArray[np.object_]


def make_table(
    asked: Sequence[Asked], v: FloatArray, measured: Measured, norm: float, verdicts: Verdicts
) -> pd.DataFrame:
    """Return the table of a fit, in units of the baseline's norm."""
    weight = [max((f.at(v) for f in row.functionals), key=abs) / norm for row in asked]
    low, high = measured.signed_lower / norm, measured.signed_upper / norm
    with np.errstate(invalid="ignore"):
        direction = np.where(low > ZERO, "+", np.where(high < -ZERO, "-", np.where(np.isnan(low), "", "?")))
    table = pd.DataFrame(
        {
            "part": [row.key.part for row in asked],
            "term": [row.key.term for row in asked],
            "row": [row.row for row in asked],
            "weight": weight,
            "lower": measured.lower / norm,
            "upper": measured.upper / norm,
            "signed_lower": low,
            "signed_upper": high,
            "p_noise": verdicts.p_noise,
            "p_adjusted": verdicts.p_adjusted,
            "relevance": verdicts.relevance,
            "direction": direction,
        },
        index=pd.Index([row.title for row in asked], name="feature"),
    )
    if measured.at_most.any():
        table["screened"] = measured.at_most
    return table
