"""The largest value that any of several directions reaches over a polytope.

Only the largest counts, so the directions race: one that is proved to fall short of what another has reached is not
driven on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relbounds.solver.active_rows import first_active
from relbounds.solver.engines.batch import chunk_size, push_batch
from relbounds.solver.engines.dispatch import certified, push_many
from relbounds.solver.engines.registry import find_engine
from relbounds.solver.goals import make_goals
from relbounds.solver.polytope import Polytope
from relbounds.solver.tolerances import PROMISED


@dataclass(frozen=True)
class Largest:
    """The largest of the maxima along several directions.

    Parameters
    ----------
    value : float
        Reached by a point of the polytope (nan where it is empty).
    bound : float
        Proved by multipliers: no direction reaches more (infinite where the search ended because `value` was enough).
    which : int
        The direction that reaches `value`.
    gap : float
        ``bound - value``.

    Examples
    --------
    >>> Largest(1.0, 1.0, 0, 0.0).which
    0
    """

    value: float
    bound: float
    which: int
    gap: float


def push_largest(
    polytope: Polytope,
    directions: np.ndarray,
    solver: str = "auto",
    enough: float | None = None,
    *,
    known: np.ndarray | None = None,
) -> Largest:
    """Return the largest of the maxima of ``direction . v`` over the polytope.

    Parameters
    ----------
    polytope : Polytope
        The set.
    directions : ndarray, shape (k, q)
        Directions.
    solver : str, optional
        Engine.
    enough : float, optional
        The search ends once a value above this is reached.
    known : ndarray, shape (k,), optional
        Upper bounds that are known before: directions are tried from the largest down, and left out where another
        one has reached more.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.array([1.0, 2.0]))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7, 0.0]))
    >>> found = push_largest(tope, np.eye(2))
    >>> found.which, round(found.value, 5)
    (0, 1.0)
    """
    directions = np.atleast_2d(np.asarray(directions, dtype=float))
    bound = np.full(len(directions), np.inf) if known is None else np.array(known, dtype=float)
    raced = find_engine(solver).name == "batch"
    limit = np.inf if enough is None else float(enough)
    promised = PROMISED * polytope.size
    step = chunk_size(int(first_active(polytope).sum()) + polytope.model.a.size)
    value, which = -np.inf, -1
    # a direction that fell behind an overestimate, or whose bound was not proved, is pushed again on its own account
    for race in (True, False) if raced else (False,):
        order = np.argsort(-bound, kind="stable")
        for first in range(0, order.size, step):
            some = order[first : first + step]
            some = some[bound[some] > value + (0.0 if race else promised)]
            if not some.size:
                break
            if race:
                goals = make_goals(some.size, race=True, best=value, enough=limit)
                answer = push_batch(polytope, directions[some], goals)
                pushed = certified(polytope, directions[some], answer, None, "batch")
            else:
                pushed = push_many(polytope, directions[some], solver)
            if not pushed.feasible.all():
                return Largest(np.nan, np.nan, -1, 0.0)
            bound[some] = np.minimum(bound[some], pushed.bound)
            ahead = int(np.argmax(pushed.value))
            if pushed.value[ahead] > value:
                value, which = float(pushed.value[ahead]), int(some[ahead])
            if value > limit:
                most = float(bound.max())
                return Largest(value, most, which, most - value)
        if bound.max() - value <= promised:
            break
    most = max(float(bound.max()), value)
    return Largest(value, most, which, most - value)
