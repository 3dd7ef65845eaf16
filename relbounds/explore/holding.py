"""How all intervals move when one term is held: what a term does in the company of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from relbounds.explore.cutting import at_most, occupied, with_rows
from relbounds.linear.asked import Asked, directions_of
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.linear.ranges import ZERO, measure
from relbounds.parallel import run
from relbounds.progress import stage
from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.polytope import Polytope

# How far inside its range a row is held at the ends, as a share of the range: single weights, and linear functions of
# several. Closer to the rim sets are so thin that pushes take many times as long; farther away bounds move visibly.
NARROW, WIDE = 1e-5, 1e-4
# How far bounds in contexts may be off, as a share of the norm: they make up distances, which nobody reads to more
# digits, and at the rim of a set the last ones take most of the time.
ROUGH = 1e-5


@dataclass(frozen=True)
class Extreme:
    """Where a row is used most: the set, the linear function that is largest there, its value, and the point."""

    piece: int
    top: FloatArray
    value: float
    point: FloatArray


def extremes(fitted: Fitted, rows: Sequence[Asked]) -> list[Extreme]:
    """Return where each of some rows is used most, by one run of pushes over each set.

    On equal sides the sign of the best model decides.
    """
    best: list[Extreme | None] = [None] * len(rows)
    ties = ZERO * fitted.norm
    for number, polytope in enumerate(fitted.polytopes):
        q = polytope.model.q
        tops = [directions_of(row.functionals, q) for row in rows]
        owner = np.repeat(np.arange(len(rows)), [len(one) for one in tops])
        directions = np.vstack(tops)
        pushed = push_many(polytope, directions, fitted.options.solver)
        v = np.concatenate([fitted.solution.v, np.zeros(q)])[:q]
        rank = pushed.value + ties * (directions @ v > 0)
        for i in range(len(rows)):
            own = np.flatnonzero(owner == i)
            k = int(own[np.argmax(rank[own])])
            old = best[i]
            if old is None or pushed.value[k] > old.value + ties:
                best[i] = Extreme(number, directions[k], float(pushed.value[k]), pushed.point[k])
    return [one for one in best if one is not None]


def hold(fitted: Fitted, row: Asked, extreme: Extreme, value: float) -> list[Polytope]:
    """Return the sets in which a row has a value (in units of the variables), on the side where it is used most.

    The cut lies inside the rim by a trifle: the rest of a set cut exactly there has no interior.
    """
    if value <= ZERO * fitted.norm:
        whole = [occupied(at_most(polytope, row, 0.0)) for polytope in fitted.polytopes]
        return [one for one in whole if one is not None]
    polytope = fitted.polytopes[extreme.piece]
    place = next(i for i, one in enumerate(fitted.spec.asked) if one.key == row.key)
    least = float(fitted.measured.lower[place])
    single = np.count_nonzero(extreme.top) == 1
    trifle = (NARROW if single else WIDE) * max(extreme.value - least, 0.0)
    value = float(
        np.clip(value, least + trifle if least > ZERO * fitted.norm else 0.0, extreme.value - trifle)
    )
    # a linear function that is held exactly would leave no interior; a variable that is held is none any more
    held = _along(at_most(polytope, row, value if single else value + trifle), extreme.top, value)
    # on the way from a point of the set to the one of greatest use, a point that has the value
    at = float(extreme.top @ polytope.start)
    if at < value < extreme.value:
        share = (value - at) / (extreme.value - at)
        held = replace(held, start=(1 - share) * polytope.start + share * extreme.point)
    found = occupied(held)
    if found is None:
        # a factor whose largest contrast is another one by then: only the wanted one is held
        found = occupied(_along(polytope, extreme.top, value))
    return [] if found is None else [found]


def _along(polytope: Polytope, top: FloatArray, value: float) -> Polytope:
    """Return the set where a linear function has a value: at least that, or exactly for a single variable."""
    places = np.flatnonzero(top)
    if places.size > 1:
        return with_rows(polytope, top[None, :], np.array([value]))
    j, model = int(places[0]), polytope.model
    low, high = model.lower.copy(), model.upper.copy()
    low[j] = high[j] = value / top[j]
    return replace(polytope, model=replace(model, lower=low, upper=high))


def make_contexts(fitted: Fitted, rows: Sequence[Asked], shares: Sequence[float] = (0.0, 1.0)) -> FloatArray:
    """Return (d, d, shares, 2) moves: row held, row observed, where it is held, lower or upper bound.

    A share of 0 holds a row at the least use any equivalent model makes of it, 1 at the greatest.
    """
    place = {row.key: i for i, row in enumerate(fitted.spec.asked)}
    own = [place[row.key] for row in rows]
    before = np.column_stack([fitted.measured.lower[own], fitted.measured.upper[own]])
    ends = extremes(fitted, rows)
    tasks = list(range(len(rows)))
    with stage("groups", len(tasks), fitted.options.progress) as done:
        moved = run(
            _context,
            tasks,
            shared=(fitted, tuple(rows), ends, before, tuple(shares)),
            n_jobs=fitted.options.n_jobs,
            client=fitted.options.client,
            progress=done,
        )
    return np.array(moved)


def _context(k: int, shared: tuple) -> FloatArray:
    """Return how every interval moves when row k is held at each of some shares of its range."""
    fitted, rows, ends, before, shares = shared
    out = np.zeros((len(rows), len(shares), 2))
    for side, share in enumerate(shares):
        value = (1 - share) * before[k, 0] + share * before[k, 1]
        out[:, side] = (before - held_bounds(fitted, rows, k, ends[k], value, ROUGH)) / fitted.norm
    out[k] = 0.0
    return out


def held_bounds(
    fitted: Fitted,
    rows: Sequence[Asked],
    k: int,
    end: Extreme,
    value: float,
    rough: float | None = None,
) -> FloatArray:
    """Return the least and the greatest of every row, (d, 2), with the k-th held at a value."""
    pieces = hold(fitted, rows[k], end, value)
    if not pieces:
        place = {row.key: i for i, row in enumerate(fitted.spec.asked)}
        own = [place[row.key] for row in rows]
        return np.column_stack([fitted.measured.lower[own], fitted.measured.upper[own]])
    quiet = fitted.options.replace(n_jobs=1, client=None, progress=False)
    extremes = fitted.measured.extremes
    known = None if extremes is None else extremes.of(fitted.spec.asked, rows)
    found = measure(pieces, rows, quiet, known=known, rough=rough)
    return np.column_stack([found.lower, found.upper])


def context_distances(contexts: FloatArray) -> FloatArray:
    """Return Euclidean distances of contexts, each pair compared on all rows but itself.

    Examples
    --------
    >>> contexts = np.zeros((3, 3, 2, 2))
    >>> contexts[0, 2], contexts[0, 1] = 1.0, 9.0
    >>> context_distances(contexts).round(3).tolist()[0]
    [0.0, 2.0, 18.0]
    """
    d = len(contexts)
    flat = contexts.reshape(d, d, -1)
    distance = np.zeros((d, d))
    for a in range(d):
        squares = ((flat[a] - flat) ** 2).sum(axis=2)
        squares[:, a] = 0.0
        squares[np.arange(d), np.arange(d)] = 0.0
        distance[a] = np.sqrt(squares.sum(axis=1))
    return (distance + distance.T) / 2


def overlaps(moved: FloatArray, upper: FloatArray) -> FloatArray:
    """Return how much each row (columns) loses when another (rows) is half used: 1 for a copy, 0 for nothing.

    Examples
    --------
    >>> overlaps(np.array([[0.0, 0.1], [0.15, 0.0]]), np.array([0.3, 0.4])).round(2).tolist()
    [[1.0, 0.5], [1.0, 1.0]]
    """
    lost = np.clip(2 * moved / np.where(upper > 0, upper, 1.0), 0.0, 1.0)
    np.fill_diagonal(lost, 1.0)
    return lost
