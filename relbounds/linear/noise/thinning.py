"""Noise of very many observations, from a part of them.

What equivalent models make of noise falls with the root of the number of observations: the refitted weights do, and so
does the width of a set whose tolerance is inversely proportional to that number. So refits on a stratified part of the
rows, with C and the tolerance raised in proportion, show the noise of all rows times a known factor.
"""

from __future__ import annotations

import math
from dataclasses import replace

from relbounds.linear.noise.evidence import Evidence, Memory
from relbounds.linear.privileged.models import build_any
from relbounds.linear.tuning import subsample
from relbounds.solver.optimum import fit_baseline
from relbounds.solver.tolerances import OPTIMAL

# Beyond this many observations noise is refitted on a part of them, of at least so many.
MANY, LEAST = 50_000, 10_000
# The tolerance of the part is at most this: beyond it the width of a set no longer goes with the root of its tolerance.
WIDEST = 0.05


def kept_rows(evidence: Evidence) -> int:
    """Return how many observations noise is refitted on.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> kept_rows(SimpleNamespace(design=SimpleNamespace(y=range(100_000)), delta=0.001))
    10000
    >>> kept_rows(SimpleNamespace(design=SimpleNamespace(y=range(100_000)), delta=0.04))
    100000
    """
    n = len(evidence.design.y)
    most = max(LEAST, math.ceil(n * evidence.delta / WIDEST))
    return n if n <= MANY or 2 * most > n else most


def thinned(evidence: Evidence) -> tuple[Evidence, float]:
    """Return the evidence on a part of the observations, and what its noise is multiplied by to be that of all."""
    most = kept_rows(evidence)
    if most == len(evidence.design.y):
        return evidence, 1.0
    small, _, rate, _ = subsample(evidence.design, evidence.options.seed, most)
    spec = build_any(small, evidence.spec.kind)
    solution = fit_baseline(spec.model, evidence.solution.C / rate, accuracy=0.1 * OPTIMAL)
    polytope = replace(evidence.polytope, model=spec.model, active=None, start=solution.v)
    part = replace(
        evidence,
        design=small,
        spec=spec,
        solution=solution,
        delta=evidence.delta / rate,
        polytope=polytope,
        memory=Memory(),
    )
    return part, math.sqrt(rate)


def thinning_note(evidence: Evidence) -> tuple[str, ...]:
    """Say on how many observations noise was refitted, where it was on a part of them."""
    n, most = len(evidence.design.y), kept_rows(evidence)
    if most == n:
        return ()
    return (
        f"Noise was refitted on a stratified subsample of about {most} of {n} rows, with C and delta raised in "
        "proportion, and scaled to all rows; tests and bounds use all of them.",
    )
