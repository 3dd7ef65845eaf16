"""How all intervals move when one feature is held: what a feature does in the company of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relbounds.explore.constrain import settled_ranges
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.linear.ranges import CHUNK, ZERO
from relbounds.parallel import chunks, run
from relbounds.progress import stage
from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.polytope import Polytope


@dataclass(frozen=True)
class Extremes:
    """The two ends of each variable's range over one set, with a point of the set at either end."""

    polytope: Polytope
    lower: FloatArray
    upper: FloatArray
    low_points: FloatArray
    high_points: FloatArray

    def hold(self, i: int, j: int, value: float) -> Polytope | None:
        """Return the set cut where variable j, the i-th of the extremes, has a value; None where it has not.

        A mixture of the two extreme points has the value and lies in the set, which is convex.
        """
        width = self.upper[i] - self.lower[i]
        if not self.lower[i] <= value <= self.upper[i]:
            return None
        share = (value - self.lower[i]) / width if width > 0 else 0.0
        point = (1 - share) * self.low_points[i] + share * self.high_points[i]
        point[j] = value
        low, high = np.full(len(point), -np.inf), np.full(len(point), np.inf)
        low[j] = high[j] = value
        return replace(self.polytope.bounded(low, high), start=point)


def extremes(polytope: Polytope, variables: Sequence[int], solver: str) -> Extremes:
    """Push every variable both ways, a few dozen at a time."""
    index = np.asarray(variables)
    parts = []
    for piece in chunks(len(index), CHUNK):
        here = index[piece.start : piece.stop]
        directions = np.zeros((2 * len(here), polytope.model.q))
        directions[np.arange(len(here)), here] = -1.0
        directions[len(here) + np.arange(len(here)), here] = 1.0
        pushed = push_many(polytope, directions, solver)
        parts.append((pushed.point[: len(here)], pushed.point[len(here) :]))
    low = np.concatenate([part[0] for part in parts])
    high = np.concatenate([part[1] for part in parts])
    rows = np.arange(len(index))
    return Extremes(polytope, low[rows, index], high[rows, index], low, high)


def make_contexts(fitted: Fitted, part: str, shares: Sequence[float] = (0.0, 1.0)) -> FloatArray:
    """Return (d, d, shares, 2) moves: feature held, feature observed, where it is held, lower or upper bound.

    A share of 0 holds a feature at the least use any equivalent model makes of it, 1 at the greatest.
    """
    targets = [target for target in fitted.spec.targets if target.part == part]
    variables = [j for target in targets for j in target.variables]
    solver = fitted.options.solver
    ends = [extremes(piece, variables, solver) for piece in fitted.polytopes]
    before = _sizes([(one.lower, one.upper) for one in ends], targets, fitted.norm)
    tasks = list(range(len(targets)))
    with stage("groups", len(tasks), fitted.options.progress) as done:
        moved = run(
            _context,
            tasks,
            shared=(fitted, targets, variables, ends, before, tuple(shares)),
            n_jobs=fitted.options.n_jobs,
            client=fitted.options.client,
            progress=done,
        )
    return np.array(moved)


def _context(k: int, shared: tuple) -> FloatArray:
    """Return how every interval moves when feature k is held at each of some shares of its range."""
    fitted, targets, variables, ends, before, shares = shared
    quiet = fitted.options.replace(n_jobs=1, client=None, progress=False)
    out = np.zeros((len(targets), len(shares), 2))
    for side, share in enumerate(shares):
        pieces = hold(fitted, targets, ends, before, k, share)
        found = [settled_ranges(piece, variables, quiet, fitted.norm) for piece in pieces]
        out[:, side] = before - _sizes([(one.lower, one.upper) for one in found], targets, fitted.norm)
    out[k] = 0.0
    return out


def hold(
    fitted: Fitted,
    targets: Sequence[Any],
    ends: Sequence[Extremes],
    before: FloatArray,
    k: int,
    share: float,
) -> list[Polytope]:
    """Cut the set so that feature k has a size between its least and its greatest, on the side of the greatest.

    A feature with several variables is held by the one that can be largest. The cut lies inside the rim by a
    trifle: the rest of a set cut exactly there has no interior.
    """
    first = sum(len(target.variables) for target in targets[:k])
    places = range(first, first + len(targets[k].variables))
    i = max(
        places, key=lambda place: max(np.abs([e.lower[place] for e in ends] + [e.upper[place] for e in ends]))
    )
    j = targets[k].variables[i - first]
    least, most = before[k] * fitted.norm
    size = (1 - share) * least + share * most
    if size <= ZERO * fitted.norm:
        return [held for one in ends if (held := one.hold(i, j, 0.0)) is not None]
    values = np.array([[one.lower[i], one.upper[i]] for one in ends])
    # on equal sides the sign of the best model decides
    tie = ZERO * fitted.norm * (np.sign(values) == np.sign(fitted.solution.v[j]))
    piece, side = divmod(int(np.argmax(np.abs(values) + tie)), 2)
    rim = ZERO * (ends[piece].upper[i] - ends[piece].lower[i])
    value = float(np.sign(values[piece, side]) * size)
    held = ends[piece].hold(
        i, j, float(np.clip(value, ends[piece].lower[i] + rim, ends[piece].upper[i] - rim))
    )
    return [] if held is None else [held]


def _sizes(
    ranges: Sequence[tuple[FloatArray, FloatArray]], targets: Sequence[Any], norm: float
) -> FloatArray:
    """Return the least and the greatest use of each feature over a union of sets, as shares of the norm."""
    starts = np.cumsum([0, *(len(target.variables) for target in targets)])[:-1]
    least, most = [], []
    for lower, upper in ranges:
        small, large = relevance(lower / norm, upper / norm)  # noqa: F821
        least.append(np.maximum.reduceat(small, starts))
        most.append(np.maximum.reduceat(large, starts))
    return np.stack([np.min(least, axis=0), np.max(most, axis=0)], axis=1)


def context_distances(contexts: FloatArray) -> FloatArray:
    """Return Euclidean distances of contexts, each pair compared on all features but itself.

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
    """Return how much each feature (columns) loses when another (rows) is half used: 1 for a copy, 0 for nothing.

    Examples
    --------
    >>> overlaps(np.array([[0.0, 0.1], [0.15, 0.0]]), np.array([0.3, 0.4])).round(2).tolist()
    [[1.0, 0.5], [1.0, 1.0]]
    """
    lost = np.clip(2 * moved / np.where(upper > 0, upper, 1.0), 0.0, 1.0)
    np.fill_diagonal(lost, 1.0)
    return lost
