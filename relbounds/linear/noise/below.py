"""The rows under a term: each level or column against noise of the same level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relbounds.design.design_terms import DesignTerm
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.noise.score import many_test
from relbounds.linear.noise.smooth import Response
from relbounds.seeds import stream

DRAWS = 999


def row_p_values(
    evidence: Evidence, term: DesignTerm, others: Sequence[DesignTerm], response: Response
) -> tuple[FloatArray, FloatArray]:
    """Return p-values of a term's columns given other terms, each alone and adjusted for their number (Holm)."""
    design = evidence.design
    values = design.X if term.part == "regular" else design.Z
    found = many_test(
        [values[:, [j]] for j in term.columns],
        response,
        draws=DRAWS,
        rng=stream(evidence.options.seed, "level contrasts"),
        adjust=design.adjust if design.adjust.shape[1] else None,
        kept=[values[:, list(other.columns)] for other in others if other.part == term.part],
        cluster=design.cluster,
    )
    p = np.maximum(found.p, 1 / (DRAWS + 1))
    order = np.argsort(p, kind="stable")
    out = np.empty(len(p))
    out[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p)))))
    return p, out
