"""The largest value that any direction reaches over each of several polytopes of one shape, all of them in one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.alike import are_alike, stack_alike
from relbounds.solver.centre import ahead_of, aimed, centred
from relbounds.solver.open_ends import worth_it
from relbounds.solver.polytope import Polytope
from relbounds.solver.race import Race
from relbounds.solver.reduced import is_lossless, reduce
from relbounds.solver.starts import strictly


@dataclass(frozen=True)
class Reached:
    """What is reached in one polytope: the largest value, and the points at which its directions ended, (m, q)."""

    value: float
    seen: np.ndarray


def push_alike(
    polytopes: Sequence[Polytope],
    directions: np.ndarray,
    accuracy: float,
    *,
    top: np.ndarray | None = None,
    count: int | None = None,
    near: int = 0,
) -> list[Reached] | None:
    """Return the largest value of any direction over each polytope.

    With `count` only so many are pushed as go farthest as the middle of the polytope tells, and `near` of the largest
    bounds `top` (P, k) besides.

    Every row is worked on, so this is for small models. None where the polytopes differ in more than the columns of
    penalised variables, or where one has no room around its start.

    Parameters
    ----------
    polytopes : sequence of Polytope
    directions : ndarray, shape (k, q)
        The same for all of them.
    accuracy : float
        How near the largest value is, relative to the norm of each start.
    top : ndarray, shape (P, k), optional
    count, near : int, optional

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> models = [make_model(np.full((1, 1), size), np.ones(1), np.ones(1), np.ones(1)) for size in (1.0, 2.0)]
    >>> topes = [Polytope(model, norm=1.1, loss=0.5, start=np.ones(1)) for model in models]
    >>> [round(one.value, 2) for one in push_alike(topes, np.array([[1.0], [-1.0]]), 1e-3)]
    [1.1, 1.1]
    """
    first = polytopes[0]
    if len(polytopes) == 1 or not are_alike([one.model for one in polytopes]):
        return None
    if any(is_lossless(one) for one in polytopes):
        return None
    reduced = reduce(first)
    stack = stack_alike([one.model for one in polytopes], reduced)
    budgets = np.stack([one.budgets[2] for one in polytopes])
    core = replace(reduced.core, B=budgets, Lin=np.zeros_like(reduced.core.Lin))
    v = np.stack([reduced.into(one.start) for one in polytopes])
    if reduced.origin.any() or not strictly(core, v, stack).all():
        return None
    d = directions[:, reduced.free] * reduced.unit
    size = np.array([one.size for one in polytopes])
    centre = centred(core, v, stack)
    bound = np.full((len(v), len(d)), np.inf) if top is None else top
    some = np.ones(bound.shape, dtype=bool)
    if count is not None and count < len(d):
        some = worth_it(ahead_of(core, centre, d, stack), bound, count, near)
    owner, number = np.nonzero(some)
    own, tolerance = d[number], accuracy * size[owner]
    known = np.maximum(v @ d.T, centre.v @ d.T)
    race = Race(owner, np.zeros(owner.size, dtype=bool), own, known, bound[owner, number], tolerance)
    start = aimed(core, centre, owner, own, stack)
    end = interior.solve(core, own, start, tolerance, columns=stack.of(owner), stop=race)
    points = reduced.back(end.v)
    return [Reached(float(race.best[p]), points[owner == p]) for p in range(len(polytopes))]
