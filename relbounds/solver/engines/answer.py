"""What an engine answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals


@dataclass(frozen=True)
class Answer:
    """Points and multipliers of an engine, in the units of the polytope.

    Parameters
    ----------
    points : ndarray, shape (B, q)
        Points that are nearly extreme.
    duals : Duals
        Multipliers that nearly prove it.
    anchor : ndarray, shape (B, q)
        Points of the set, inside it where it has an interior.
    feasible : ndarray of bool, shape (B,)
        Whether the set has a point.

    Examples
    --------
    >>> Answer.__name__
    'Answer'
    """

    points: np.ndarray
    duals: Duals
    anchor: np.ndarray
    feasible: np.ndarray


def empty_answer(polytope: Polytope, count: int, proof: Duals | None) -> Answer:
    """Return the answer for an empty set: no point, and the multipliers that prove it.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> empty_answer(Polytope(model, norm=0.5, loss=0.1, start=np.zeros(1)), 2, None).feasible.tolist()
    [False, False]
    """
    points = np.tile(polytope.start, (count, 1))
    if proof is None:
        K = polytope.budgets[0].size
        proof = Duals(
            np.zeros((1, K)), np.zeros((1, polytope.model.h.size)), np.zeros((1, polytope.model.a.size))
        )
    duals = Duals(*(np.repeat(x, count, axis=0) for x in (proof.lam, proof.beta, proof.alpha)))
    return Answer(points, duals, points, np.zeros(count, dtype=bool))
