"""The largest value that any direction reaches over each of several polytopes of one shape, all of them in one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.alike import are_alike, stack_alike
from relbounds.solver.centre import ahead_of, aimed, centred
from relbounds.solver.core import Core
from relbounds.solver.open_ends import worth_it
from relbounds.solver.polytope import Polytope
from relbounds.solver.race import Race
from relbounds.solver.reduced import is_lossless, reduce
from relbounds.solver.stack import Stack
from relbounds.solver.starts import all_but_loss, apart, descend, strictly
from relbounds.solver.tolerances import THIN


@dataclass(frozen=True)
class Reached:
    """What is reached in one polytope.

    Parameters
    ----------
    value : float
        The largest value of any direction.
    least : float
        The largest of what directions stay below 0, of those asked for that.
    seen : ndarray, shape (m, q)
        The points at which directions ended.
    """

    value: float
    least: float
    seen: np.ndarray


def push_alike(
    polytopes: Sequence[Polytope],
    directions: np.ndarray,
    accuracy: float,
    *,
    top: np.ndarray | None = None,
    against: np.ndarray | None = None,
    count: int | None = None,
    near: int = 0,
) -> list[Reached | None]:
    """Return the largest value of any direction over each polytope.

    With `count` only so many are pushed as go farthest as the middle of the polytope tells, and `near` of the largest
    bounds `top` (P, k) besides.

    Every row is worked on, so this is for small models. None where the polytopes differ in more than the columns of
    penalised variables, and for those that have no room near their start.

    Parameters
    ----------
    polytopes : sequence of Polytope
    directions : ndarray, shape (k, q)
        The same for all of them.
    accuracy : float
        How near the largest value is, relative to the norm of each start.
    top : ndarray, shape (P, k), optional
    against : ndarray of bool, shape (P, k), optional
        Directions of which it counts how far they stay below 0.
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
    out: list[Reached | None] = [None] * len(polytopes)
    if len(polytopes) == 1 or not are_alike([one.model for one in polytopes]):
        return out
    if any(is_lossless(one) for one in polytopes):
        return out
    reduced = reduce(first)
    stack = stack_alike([one.model for one in polytopes], reduced)
    budgets = np.stack([one.budgets[2] for one in polytopes])
    core = replace(reduced.core, B=budgets, Lin=np.zeros_like(reduced.core.Lin))
    v = np.stack([reduced.into(one.start) for one in polytopes])
    if reduced.origin.any():
        return out
    inside = np.flatnonzero(strictly(core, v, stack))
    if inside.size < len(v) and first.model.inner is not None:
        inside, v = _inside(core, v, reduced.into(first.model.inner), stack)
    if not inside.size:
        return out
    core, v, size = (
        replace(core, B=budgets[inside]),
        v[inside],
        np.array([one.size for one in polytopes])[inside],
    )
    bound = np.full((len(polytopes), len(directions)), np.inf) if top is None else top
    below = np.zeros(bound.shape, dtype=bool) if against is None else against
    bound, below, rows = bound[inside], below[inside], stack.of(inside)
    d = directions[:, reduced.free] * reduced.unit
    centre = centred(core, v, rows)
    some = np.ones(bound.shape, dtype=bool)
    if count is not None and count < len(d):
        some = worth_it(ahead_of(core, centre, d, rows), bound, count, near) | below
    owner, number = np.nonzero(some)
    own, tolerance = d[number], accuracy * size[owner]
    known = np.maximum(v @ d.T, centre.v @ d.T)
    needed = below[owner, number]
    race = Race(owner, needed, own, known, bound[owner, number], tolerance)
    start = aimed(core, centre, owner, own, rows)
    end = interior.solve(core, own, start, tolerance, columns=stack.of(inside[owner]), stop=race)
    points, least = reduced.back(end.v), np.zeros(len(v))
    np.maximum.at(least, owner[needed], -np.einsum("bq,bq->b", end.v[needed], own[needed]))
    for p, i in enumerate(inside):
        out[i] = Reached(float(race.best[p]), float(least[p]), points[owner == p])
    return out


def _inside(core: Core, v: np.ndarray, inner: np.ndarray, stack: Stack) -> tuple[np.ndarray, np.ndarray]:
    """Return which sets have a point inside, and these: near `v`, or else on the way from `inner` to less loss."""
    v = apart(core, v, inner, stack)
    good = strictly(core, v, stack)
    left = np.flatnonzero(~good)
    if not left.size:
        return np.flatnonzero(good), v
    few, begin = stack.of(left), np.tile(inner, (left.size, 1))
    own = replace(core, B=core.B[left])
    if all_but_loss(own, begin, few).all():
        moved, thin, _ = descend(own, begin, few)
        v[left], good[left] = moved, thin > THIN
    return np.flatnonzero(good), v
