"""The rim of a set seen along two directions: how far one goes while the other is held.

The pairs ``(a.v, d.v)`` of all points of a polytope fill a polygon. Its rim says, for every value at which ``a.v`` can
be held, the least and the greatest ``d.v`` there. Pushing along ``cos(t) a + sin(t) d`` gives a point of the rim and a
line that the polygon does not cross; between two such pushes the rim lies in a triangle. Wherever a triangle is too
high, one more push across its base halves it or proves that the base is the rim. All pushes are made in the same set,
so that they share its preparation, and one polygon answers two questions: either direction may be the one that is held.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relbounds.linear.model import FloatArray
from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.polytope import Polytope

# Rounds of refinement at most: each halves the triangles that are left, or ends them.
MOST_ROUNDS = 12
# Two normals closer than this (in radians) cannot be told apart by a push of the promised accuracy.
PARALLEL = 1e-4
# Points this close to an end of what is held, as a share of the way between both, lie at the end.
SHARED = 1e-6


@dataclass(frozen=True)
class Rim:
    """A polygon's rim by its corners, counterclockwise.

    Parameters
    ----------
    points : ndarray, shape (k, 2)
        Corners, each reached by a point of the set.
    error : float
        The rim is nowhere farther outside than this, measured along either axis.

    Examples
    --------
    >>> square = Rim(np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]), 0.0)
    >>> square.between(np.array([0.5]))
    (array([0.]), array([1.]))
    """

    points: FloatArray
    error: float

    def between(self, held: FloatArray, axis: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return the least and the greatest value along the other axis where `axis` is held at some values."""
        upper, lower = self.edge(axis, True), self.edge(axis, False)
        return np.interp(held, *lower.T), np.interp(held, *upper.T)

    def edge(self, axis: int = 0, upper: bool = True) -> FloatArray:
        """Return the knots (held value, greatest or least other value) from the least held value to the greatest."""
        x, y = self.points[:, axis], self.points[:, 1 - axis] * (1.0 if upper else -1.0)
        return _hull(x, y) * np.array([1.0, 1.0 if upper else -1.0])


def _hull(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return the upper hull of some points, from left to right, the highest of those that share an end."""
    low, high = float(x.min()), float(x.max())
    # points that were found by different pushes share an end up to their accuracy
    near = SHARED * (high - low)
    x = np.where(x <= low + near, low, np.where(x >= high - near, high, x))
    kept: list[tuple[float, float]] = []
    for i in np.lexsort((y, x)):
        point = (float(x[i]), float(y[i]))
        if kept and point[0] == kept[-1][0]:
            kept.pop()
        while len(kept) > 1 and _turn(kept[-2], kept[-1], point) >= 0:
            kept.pop()
        kept.append(point)
    return np.array(kept)


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def rims(
    polytope: Polytope,
    directions: FloatArray,
    pairs: Sequence[tuple[int, int]],
    tolerance: float,
    solver: str = "auto",
) -> list[Rim]:
    """Return the rim of the set along each of some pairs of directions.

    Parameters
    ----------
    polytope : Polytope
    directions : ndarray, shape (k, q)
    pairs : sequence of (int, int)
        Which two of the directions each rim is about.
    tolerance : float
        How far the rim may lie outside the corners found, in units of either direction.
    solver : str

    Examples
    --------
    Two weights of sum one or less, both sizes counted:

    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.zeros((1, 2)), np.zeros(1), np.ones(1), np.ones(2))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.zeros(2))
    >>> rim = rims(tope, np.eye(2), [(0, 1)], 1e-4)[0]
    >>> [float(ends[0].round(3)) for ends in rim.between(np.array([0.25]))]
    [-0.75, 0.75]
    """
    both = np.vstack([directions, -directions])
    first = push_many(polytope, both, solver)
    k = len(directions)
    unit = np.maximum(0.5 * (first.bound[:k] + first.bound[k:]), 1e-12)
    traces = [
        _Trace(directions[[i, j]], unit[[i, j]], tolerance).begin(
            first.point[[i, j, k + i, k + j]], first.bound[[i, j, k + i, k + j]]
        )
        for i, j in pairs
    ]
    for _ in range(MOST_ROUNDS):
        asked = [(trace, angle) for trace in traces for angle in trace.wanted()]
        if not asked:
            break
        found = push_many(polytope, np.array([trace.direction(angle) for trace, angle in asked]), solver)
        for (trace, angle), point, bound in zip(asked, found.point, found.bound, strict=True):
            trace.add(angle, point, float(bound))
    return [trace.rim() for trace in traces]


class _Trace:
    """One polygon while its rim is being traced, in units of half its width along either direction."""

    def __init__(self, pair: FloatArray, unit: FloatArray, tolerance: float) -> None:
        self.pair, self.unit = pair / unit[:, None], unit
        self.tolerance = tolerance / unit
        self.angles: list[float] = []
        self.corners: list[FloatArray] = []
        self.supports: list[float] = []

    def begin(self, points: FloatArray, bounds: FloatArray) -> _Trace:
        """Take the four pushes along the axes: one direction, the other, and back."""
        for turn, (point, bound) in enumerate(zip(points, bounds, strict=True)):
            self.add(0.5 * np.pi * turn, point, float(bound) / self.unit[turn % 2])
        return self

    def direction(self, angle: float) -> FloatArray:
        return np.cos(angle) * self.pair[0] + np.sin(angle) * self.pair[1]

    def add(self, angle: float, point: FloatArray, bound: float) -> None:
        """Take the answer to a push."""
        place = int(np.searchsorted(self.angles, angle))
        self.angles.insert(place, angle)
        self.corners.insert(place, self.pair @ point)
        self.supports.insert(place, bound)

    def wanted(self) -> list[float]:
        """Return the angles at which one more push would tell most: across the base of every high triangle."""
        angles = []
        for i in range(len(self.angles)):
            if self._height(i) > 1.0:
                one, two = self.corners[i], self.corners[(i + 1) % len(self.corners)]
                normal = float(np.arctan2(one[0] - two[0], two[1] - one[1])) % (2 * np.pi)
                if min(abs(normal - known) for known in (*self.angles, 2 * np.pi)) > PARALLEL:
                    angles.append(normal)
        return angles

    def _height(self, i: int) -> float:
        """Return how far the rim may lie outside the i-th chord, in multiples of what is allowed."""
        j = (i + 1) % len(self.angles)
        normals = np.array([[np.cos(self.angles[k]), np.sin(self.angles[k])] for k in (i, j)])
        if abs(normals[0, 0] * normals[1, 1] - normals[0, 1] * normals[1, 0]) < PARALLEL:
            return 0.0
        top = np.linalg.solve(normals, [self.supports[i], self.supports[j]])
        one, two = self.corners[i], self.corners[j]
        chord = two - one
        heights = []
        for axis in (0, 1):
            low, high = sorted((one[axis], two[axis]))
            # a chord narrower than what is allowed is as good as upright
            if high - low > self.tolerance[axis]:
                held = float(np.clip(top[axis], low, high))
                at = one[1 - axis] + chord[1 - axis] * (held - one[axis]) / chord[axis]
                # no farther out than either line is from the chord's other end
                ends = ((i, two), (j, one))
                off = [
                    (self.supports[k] - normal @ end) / max(abs(normal[1 - axis]), 1e-12)
                    for (k, end), normal in zip(ends, normals, strict=True)
                ]
                heights.append(min(abs(top[1 - axis] - at), *off) / self.tolerance[1 - axis])
        return max(heights, default=0.0)

    def rim(self) -> Rim:
        worst = max(self._height(i) for i in range(len(self.angles)))
        scale = float(np.max(self.tolerance * self.unit))
        return Rim(np.array(self.corners) * self.unit, worst * scale)
