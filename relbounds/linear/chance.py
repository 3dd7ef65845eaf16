"""Is the model any better than chance? Asked of the order of held-out scores, not of thresholds.

Section "Probabilities and chance" of docs/method.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relbounds.design import Design
from relbounds.linear.families import family_of
from relbounds.linear.model import answers_of
from relbounds.linear.tuning import Tuning
from relbounds.seeds import stream

PERMUTATIONS = 199
LEVEL = 0.05


@dataclass(frozen=True)
class Chance:
    """How well held-out scores are ordered (0: chance, 1: perfectly), and how often chance does as well."""

    measure: str
    value: float
    p: float

    @property
    def note(self) -> str | None:
        """What a reader should know; None where the model is better than chance."""
        if self.p <= LEVEL:
            return None
        return (
            f"Not clearly better than chance: {self.measure} of the held-out scores is {self.value:.3f} (p = "
            f"{self.p:.2g}). More rows, other features or another family may help; where there is no relation, "
            "nothing is to be selected."
        )


def find_chance(design: Design, tuning: Tuning, seed: int) -> Chance | None:
    """Return how the held-out scores compare with chance; None where nothing was held out.

    Chance permutes whole clusters of scores where there are clusters of one size, single scores otherwise.
    """
    if tuning.held_out is None or not len(tuning.held_out.rows):
        return None
    family = family_of(design.family)
    rows = tuning.held_out.rows
    answers, weights = answers_of(design).take(rows), design.weights[rows]
    scores = tuning.held_out.scores
    flat = scores[:, 0] if scores.shape[1] == 1 else scores
    value = family.rank(answers, flat, weights)
    if not np.isfinite(value):
        return None
    rng = stream(seed, "chance")
    cluster = None if design.cluster is None else design.cluster[rows]
    orders = np.array([shuffled(len(rows), cluster, rng) for _ in range(PERMUTATIONS)])
    if family.ranks is not None and flat.ndim == 1:
        permuted = family.ranks(answers, flat, orders)
    else:
        permuted = np.array([family.rank(answers, flat[order], weights) for order in orders])
    reached = int(np.sum(permuted >= value))
    return Chance(family.rank_name, float(value), (1 + reached) / (PERMUTATIONS + 1))


def middle_note(design: Design, tuning: Tuning) -> str | None:
    """Say so where predicted levels are worse than the middle level for everybody; None where they are not.

    A score can order the observations well and still tell few levels apart: relevance asks for the order only.
    """
    if design.family != "ordinal" or design.levels is None or tuning.score is None:
        return None
    count = len(design.levels)
    middle = count**2 // 4 / count  # the mean distance of the levels to the one in the middle
    if tuning.score <= middle:
        return None
    return (
        f"Predicted levels are off by {tuning.score:.2f} levels (cross-validated {tuning.metric}), the middle level "
        f"for everybody by {middle:.2f}: the scores order the observations, but tell few levels apart. Classes of "
        'terms rest on the order; to predict levels, take the most probable one (type="prob").'
    )


def shuffled(n: int, cluster: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
    """Return a random order of n rows that moves whole clusters; those of one size change places.

    Examples
    --------
    >>> order = shuffled(4, np.array([0, 0, 1, 1]), np.random.default_rng(1))
    >>> abs(int(order[0]) - int(order[1]))
    1
    """
    if cluster is None:
        return rng.permutation(n)
    out = np.arange(n)
    sizes = np.bincount(cluster)
    members = [np.flatnonzero(cluster == c) for c in range(sizes.size)]
    for size in np.unique(sizes[sizes > 0]):
        own = [c for c in range(sizes.size) if sizes[c] == size]
        for one, other in zip(own, rng.permutation(own), strict=True):
            out[members[one]] = members[other]
    return out
