"""Primal values and dual bounds from the original data, whatever an engine claims."""

from __future__ import annotations

import numpy as np

from relbounds.lp.problem import Polytope


def inside(polytope: Polytope, point: np.ndarray) -> np.ndarray:
    """Return `point` pulled toward the start just enough to lie in the polytope.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.lp.problem import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> inside(Polytope(model, norm=1.0, loss=1.0, start=np.array([0.5])), np.array([2.0])).tolist()
    [1.0]
    """
    if polytope.excess_of(point) <= 0:
        return point
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if polytope.excess_of(polytope.start + middle * (point - polytope.start)) <= 0:
            low = middle
        else:
            high = middle
    return polytope.start + low * (point - polytope.start)
