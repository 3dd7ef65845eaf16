"""The rows under a term: each level or column against noise of the same level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from relbounds.design.design_terms import DesignTerm
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.noise.levels import codes_of, column_test, level_test
from relbounds.linear.noise.smooth import Response
from relbounds.seeds import stream

DRAWS = 999


def row_p_values(
    evidence: Evidence, term: DesignTerm, others: Sequence[DesignTerm], response: Response
) -> tuple[FloatArray, FloatArray]:
    """Return p-values of a term's levels or columns given other terms, each alone and adjusted (Holm)."""
    asked = ("rows", term.part, term.name, tuple((other.part, other.name) for other in others))
    found: tuple[FloatArray, FloatArray] = evidence.memory.recall(
        asked, lambda: _row_p_values(evidence, term, others, response)
    )
    return found


def _row_p_values(
    evidence: Evidence, term: DesignTerm, others: Sequence[DesignTerm], response: Response
) -> tuple[FloatArray, FloatArray]:
    design = evidence.design
    values = design.X if term.part == "regular" else design.Z
    own = values[:, list(term.columns)]
    given = [values[:, list(other.columns)] for other in others if other.part == term.part]
    how: dict[str, Any] = {
        "kept": np.concatenate(given, axis=1) if given else None,
        "draws": DRAWS,
        "rng": stream(evidence.options.seed, "level contrasts"),
        "adjust": design.adjust if design.adjust.shape[1] else None,
        "cluster": design.cluster,
    }
    if term.kind == "factor":
        found = level_test(codes_of(own), response, count=own.shape[1], **how)
    else:
        found = column_test(own, response, **how)
    return found.p, found.p_adjusted
