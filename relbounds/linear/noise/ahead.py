"""A look at the terms before any bound is known, and what noise reaches, so that bounds go only as far as needed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np

from relbounds.design import Design
from relbounds.linear.asked import RowKey
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.noise.facts import Noise, NoiseKey
from relbounds.linear.noise.fwer import block_noise, score_terms, scores_key, scores_of
from relbounds.linear.noise.judge import (
    design_response,
    many_key,
    many_of,
    many_terms,
    response_of,
    terms_of,
    tested_terms,
)
from relbounds.linear.noise.standins import SHARE
from relbounds.linear.table import Verdicts
from relbounds.options import Options
from relbounds.parallel import Job


def first_tests(design: Design, options: Options, functions: bool = False) -> dict[Hashable, Job]:
    """Return the tests that need nothing but the data, by what they are remembered by.

    `functions` says whether the model reads privileged features.
    """
    terms = terms_of(design, functions)
    if options.control == "fdr":
        return {many_key(): Job(many_of, [None], (design, options, terms))}
    regular = [term for term in terms if term.part == "regular"]
    if options.control == "published" or not regular:
        return {}
    response = design_response(design)
    return {scores_key(regular, response): Job(scores_of, [None], (design, options, regular, response))}


def look_ahead(evidence: Evidence) -> frozenset[int]:
    """Return the rows whose class may depend on their bounds.

    These are terms with an effect of their own and those that may stand in for them. Any other is not distinguishable
    from noise, whatever its bounds.
    """
    terms = tested_terms(evidence)
    if evidence.options.control == "fdr":
        chosen = np.flatnonzero(many_terms(evidence, terms).p_adjusted <= evidence.options.alpha).tolist()
    else:
        score, stands = score_terms(evidence, terms, response_of(evidence))
        chosen = [*score.order, *stands.aside(evidence.options.alpha * (1 - SHARE))]
    keys = {RowKey(terms[t].part, terms[t].name) for t in chosen}
    return frozenset(i for i, row in enumerate(evidence.spec.asked) if row.key in keys)


def noise_level(evidence: Evidence, noise: Noise, verdicts: Verdicts) -> tuple[Noise, float]:
    """Return what noise reaches, in units of the variables: from the refits there are, or from new ones.

    The level is 0, which nothing stays below, where no term looks like noise.
    """
    key = NoiseKey("regular")
    if key not in noise.intervals and noise.control == "fdr":
        terms = tested_terms(evidence)
        irrelevant = {
            row.key
            for row, relevance in zip(evidence.spec.asked, verdicts.relevance, strict=True)
            if relevance == "irrelevant"
        }
        block = tuple(t for t, term in enumerate(terms) if RowKey(term.part, term.name) in irrelevant)
        values = block_noise(evidence, terms, block) if block else None
        if values is not None:
            population, intervals = values
            noise = replace(
                noise,
                intervals={**noise.intervals, key: intervals},
                populations={**noise.populations, key: population},
                refits=len(population.upper),
                block=tuple((terms[t].part, terms[t].name) for t in block),
            )
    if key not in noise.intervals:
        return noise, 0.0
    return noise, float(noise.intervals[key][1].upper) * evidence.norm
