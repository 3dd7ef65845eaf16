"""The largest value that any of several directions reaches over a polytope.

Only the largest counts, so the directions race: one that is proved to fall short of what another has reached is not
driven on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from relbounds.solver.active_rows import first_active
from relbounds.solver.certificates import inside
from relbounds.solver.copies import without_copies
from relbounds.solver.engines.answer import Answer
from relbounds.solver.engines.batch import chunk_size, push_batch
from relbounds.solver.engines.dispatch import certified, push_many
from relbounds.solver.engines.registry import find_engine
from relbounds.solver.few_columns import needed_columns, with_columns
from relbounds.solver.goals import Goals, make_goals
from relbounds.solver.polytope import Polytope, Pushed
from relbounds.solver.reduced import Duals
from relbounds.solver.tolerances import PROMISED

# Accuracy of a first look at which directions lead, relative to the norm of the baseline.
GLANCE = 1e-2


@dataclass(frozen=True)
class Largest:
    """The largest of the maxima along several directions.

    Parameters
    ----------
    value : float
        Reached by a point of the polytope (nan where it is empty).
    bound : float
        Proved by multipliers: no direction reaches more (infinite where the search ended because `value` was enough,
        and where no proof was asked for).
    which : int
        The direction that reaches `value`.
    gap : float
        ``bound - value``.
    point : ndarray or None
        Where `value` is reached, if it was found by this search.
    seen : ndarray, shape (m, q), or None
        Points of the polytope at which pushes ended, also those that were given up.

    Examples
    --------
    >>> Largest(1.0, 1.0, 0, 0.0).which
    0
    """

    value: float
    bound: float
    which: int
    gap: float
    point: np.ndarray | None = None
    seen: np.ndarray | None = None


def push_largest(
    polytope: Polytope,
    directions: np.ndarray,
    solver: str = "auto",
    enough: float | None = None,
    *,
    known: np.ndarray | None = None,
    rough: float | None = None,
    looked: Duals | None = None,
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
    rough : float, optional
        A value this share of the norm below the largest will do; no proof is driven on for the sake of it.
    looked : Duals, optional
        Multipliers of a rough look at the directions with few of many columns.

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
    fewer = without_copies(polytope, (directions != 0).any(axis=0))
    if fewer is None:
        return _raced(polytope, directions, solver, enough, known, rough, looked)
    found = _raced(fewer.polytope, directions[:, fewer.chosen], solver, enough, known, rough, looked)
    return found if found.seen is None else replace(found, seen=fewer.back(found.seen))


def _raced(
    polytope: Polytope,
    directions: np.ndarray,
    solver: str,
    enough: float | None,
    known: np.ndarray | None,
    rough: float | None,
    looked: Duals | None,
) -> Largest:
    """Return what :func:`push_largest` does, with all variables as they are."""
    bound = np.full(len(directions), np.inf) if known is None else np.array(known, dtype=float)
    raced = find_engine(solver).name == "batch"
    limit = np.inf if enough is None else float(enough)
    accuracy = PROMISED if rough is None else rough
    promised = accuracy * polytope.size
    step = chunk_size(int(first_active(polytope).sum()) + polytope.model.a.size)
    value, which = -np.inf, -1
    seen: list[np.ndarray] = []
    # what is still possible: proved bounds, or, where no proof is asked for, what runs say themselves
    possible = bound.copy()
    # a direction that fell behind an overestimate, or whose bound was not proved, is pushed again on its own account
    for race in ((True, False) if rough is None else (True, True)) if raced else (False,):
        order = np.argsort(-possible, kind="stable")
        for begin in range(0, order.size, step):
            some = order[begin : begin + step]
            some = some[possible[some] > value + (0.0 if race and rough is None else promised)]
            if not some.size:
                break
            if race:
                goals = make_goals(some.size, race=True, best=value, enough=limit, accuracy=accuracy)
                seen_roughly = None if looked is None else looked.take(some)
                answer = push_batch(polytope, directions[some], goals, looked=seen_roughly)
                if rough is None:
                    pushed = certified(polytope, directions[some], answer, None, "batch")
                else:
                    pushed = _reached(polytope, directions[some], answer)
            else:
                pushed = push_many(polytope, directions[some], solver)
            if not pushed.feasible.all():
                return Largest(np.nan, np.nan, -1, 0.0)
            seen.append(pushed.point)
            bound[some] = np.minimum(bound[some], pushed.bound)
            possible[some] = bound[some] if rough is None else goals.most
            ahead = int(np.argmax(pushed.value))
            if pushed.value[ahead] > value:
                value, which = float(pushed.value[ahead]), int(some[ahead])
            if value > limit:
                most = float(bound.max())
                return Largest(value, most, which, most - value, seen=np.vstack(seen))
        if possible.max() - value <= promised:
            break
    most = max(float(bound.max()), value)
    return Largest(value, most, which, most - value, seen=np.vstack(seen) if seen else None)


def push_likeliest(polytope: Polytope, directions: np.ndarray, rough: float, *, most: int = 2) -> Largest:
    """Return the largest of the maxima of the directions that lead where only few columns are used.

    What is reached with few columns is reached in the whole set. So all directions are pushed there first, and only
    the leading ones with all columns.

    Parameters
    ----------
    polytope : Polytope
        The set.
    directions : ndarray, shape (k, q)
        Directions.
    rough : float
        Accuracy of the largest value, relative to the norm of the baseline.
    most : int, optional
        How many of the directions go on with all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.array([1.0, 2.0]))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7, 0.0]))
    >>> push_likeliest(tope, np.eye(2), 1e-3, most=1).which
    0
    """
    value, duals = _on_few(polytope, directions, GLANCE)
    some = np.argsort(-value, kind="stable")[:most]
    found = push_largest(polytope, directions[some], "batch", rough=rough, looked=duals.take(some))
    return replace(found, which=int(some[found.which]))


def push_on_few(polytope: Polytope, directions: np.ndarray, gap: float, enough: float = np.inf) -> np.ndarray:
    """Return what directions reach where only the columns of the start, and their own, are used.

    Minus infinity where no point was found. Nothing is proved of them, and one that reaches more than `enough` goes no
    further.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.array([1.0, 2.0]))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7, 0.0]))
    >>> push_on_few(tope, np.eye(2)[:1], 1e-6).round(3).tolist()
    [1.0]
    """
    goals = None if np.isinf(enough) else make_goals(len(directions), past=enough)
    return _on_few(polytope, directions, gap, goals)[0]


def _on_few(
    polytope: Polytope, directions: np.ndarray, gap: float, goals: Goals | None = None
) -> tuple[np.ndarray, Duals]:
    """Return what directions reach with few columns, and their multipliers."""
    chosen = needed_columns(polytope) | (directions != 0).any(axis=0)
    few, d = with_columns(polytope, chosen), directions[:, chosen]
    answer = push_batch(few, d, goals, gap)
    found = _reached(few, d, answer)
    return np.where(found.feasible, found.value, -np.inf), answer.duals


def _reached(polytope: Polytope, directions: np.ndarray, answer: Answer) -> Pushed:
    """Return what an engine's points reach inside the set; no bound is worked out."""
    points, good = inside(polytope, answer.points, answer.anchor)
    value = np.where(good, np.einsum("bq,bq->b", points, directions), -np.inf)
    unknown = np.full(len(value), np.inf)
    return Pushed(value, unknown, points, unknown, answer.feasible, ("batch",) * len(value))


def push_largest_each(
    polytope: Polytope,
    directions: np.ndarray,
    group: np.ndarray,
    solver: str = "auto",
    *,
    known: np.ndarray | None = None,
    reached: np.ndarray | None = None,
    rough: float | None = None,
) -> list[Largest]:
    """Return the largest of the maxima in each of several groups of directions, all of them in one run.

    Parameters
    ----------
    polytope : Polytope
        The set.
    directions : ndarray, shape (k, q)
        Directions.
    group : ndarray of int, shape (k,)
        The group of each, from 0 on.
    solver : str, optional
        Engine.
    known : ndarray, shape (k,), optional
        Upper bounds that are known before.
    reached : ndarray, shape (number of groups,), optional
        What points of the set are known to reach in each group: directions whose upper bound is not above it need no
        push.
    rough : float, optional
        Values this share of the norm below the largest will do; no proof is driven on for the sake of it.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.array([1.0, 2.0]))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7, 0.0]))
    >>> found = push_largest_each(tope, np.vstack([np.eye(2), -np.eye(2)]), np.array([0, 0, 1, 1]))
    >>> [round(one.value, 5) + 0.0 for one in found]
    [1.0, 0.16667]
    """
    count = int(group.max(initial=-1)) + 1
    bound = np.full(len(directions), np.inf) if known is None else np.array(known, dtype=float)
    value = np.full(count, -np.inf) if reached is None else np.array(reached, dtype=float)
    which = np.full(count, -1)
    points: dict[int, np.ndarray] = {}
    promised = PROMISED * polytope.size
    raced = find_engine(solver).name == "batch"
    for race in ((True, False) if rough is None else (True,)) if raced else (False,):
        some = np.flatnonzero(bound > value[group] + promised)
        if not some.size:
            break
        if race:
            goals = make_goals(some.size, group=group[some], ahead=value)
            answer = push_batch(polytope, directions[some], goals, rough)
            pushed = certified(polytope, directions[some], answer, None, "batch")
        else:
            pushed = push_many(polytope, directions[some], solver)
        if not pushed.feasible.all():
            return [Largest(np.nan, np.nan, -1, 0.0)] * count
        bound[some] = np.minimum(bound[some], pushed.bound)
        for i in np.argsort(pushed.value, kind="stable"):
            own = int(group[some[i]])
            if pushed.value[i] > value[own]:
                value[own], which[own], points[own] = pushed.value[i], some[i], pushed.point[i]
    most = value.copy()
    np.maximum.at(most, group, bound)
    return [
        Largest(float(value[k]), float(most[k]), int(which[k]), float(most[k] - value[k]), points.get(k))
        for k in range(count)
    ]
