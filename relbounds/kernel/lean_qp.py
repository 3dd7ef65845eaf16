"""A primal-dual interior point method for ``min 1/2 x'Px + q'x, 0 <= x <= upper, Ax = a``, with little overhead.

A grid search solves thousands of problems of a few hundred variables; there the time of a general solver goes
into bookkeeping. This one does a predictor and a corrector step per factorisation and nothing else. Where it
does not reach the accuracy asked for it says so, and the caller turns to CVXOPT.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from relbounds.errors import SolverError
from relbounds.kernel.box_qp import FLOOR, Apply, BoxQP, QPSolution, small_solver

STEPS = 60
NEAR = 0.995  # how much of the way to the boundary a step goes
# Steps that bring nothing before it gives up: rounding has taken over.
STUCK = 8
# How far short of the tolerance, as a multiple, a result may stop and still be of use: further where the tolerance is
# so tight (below TIGHT) that rounding may keep it from being reached.
SHORT, FURTHER, TIGHT = 10.0, 100.0, 1e-6
# The share of its cap that a variable starts with at least, and that is left to the cap.
INSIDE = 0.05


def inverse(B: np.ndarray) -> np.ndarray:
    """Return the inverse of a positive definite matrix.

    Examples
    --------
    >>> import numpy as np
    >>> inverse(np.array([[2.0, 1.0], [1.0, 2.0]])).round(3)
    array([[ 0.667, -0.333],
           [-0.333,  0.667]])
    """
    L, failed = lapack.dpotrf(B, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    half, failed = lapack.dpotri(L, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is singular")
    lower = np.tril(half)
    return lower + np.tril(half, -1).T


class _Direction(NamedTuple):
    """A step of all variables: x, the multipliers of the equalities, of x >= 0, and of x <= upper."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    w: np.ndarray


@dataclass(frozen=True)
class _Point:
    """Where the method stands: the variables, what is left of every condition, and the complementarity gap."""

    problem: BoxQP
    capped: np.ndarray
    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    w: np.ndarray
    s: np.ndarray
    dual: np.ndarray
    primal: np.ndarray
    gap: float

    @property
    def any_cap(self) -> bool:
        return len(self.capped) > 0

    def accuracy(self, tol: float, balance: float) -> float:
        """Return the largest breach of a condition, as a multiple of what is allowed."""
        return max(
            self.gap / tol, float(np.abs(self.dual).max()) / tol, float(np.abs(self.primal).max()) / balance
        )

    def moved(self, step: _Direction, length: float) -> _Point:
        """Return the point one step further."""
        w = self.w + length * step.w if self.any_cap else self.w
        x, y, z = self.x + length * step.x, self.y + length * step.y, self.z + length * step.z
        return _at(self.problem, self.capped, _Direction(x, y, z, w))

    def gap_after(self, step: _Direction, length: float) -> float:
        """Return the complementarity gap that a step would leave."""
        after = float((self.x + length * step.x) @ (self.z + length * step.z))
        if self.any_cap:
            rest, price = self.s - length * step.x, self.w + length * step.w
            after += float(rest[self.capped] @ price[self.capped])
        return after

    def room(self, step: _Direction) -> float:
        """Return the longest step that keeps everything positive that must be."""
        # One length for primal and dual: with a Hessian, stationarity mixes their variables.
        worst = max(_fall(self.x, step.x), _fall(self.z, step.z))
        if self.any_cap:
            here = self.capped
            worst = max(worst, _fall(self.s[here], -step.x[here]), _fall(self.w[here], step.w[here]))
        return 1.0 / worst if worst > 0 else np.inf


def _at(problem: BoxQP, capped: np.ndarray, where: _Direction) -> _Point:
    x, y, z, w = where
    s = problem.upper - x
    dual = problem.P(x) + problem.q + problem.A.T @ y - z + w
    gap = float(x @ z) + (float(s[capped] @ w[capped]) if len(capped) else 0.0)
    return _Point(problem, capped, x, y, z, w, s, dual, problem.A @ x - problem.a, gap)


def _fall(value: np.ndarray, change: np.ndarray) -> float:
    """Return how fast the first of the values would reach 0, as a share of it a unit step."""
    return float(np.max(-change / value, initial=0.0))


@dataclass(frozen=True)
class _Newton:
    """The linear system at a point, factorised once for predictor and corrector."""

    point: _Point
    solve: Apply
    columns: np.ndarray
    schur: Apply

    def direction(self, cz: np.ndarray, cw: np.ndarray) -> _Direction:
        """Return the step towards products x z and s w that differ from today's by `cz` and `cw`."""
        point, A, capped = self.point, self.point.problem.A, self.point.capped
        rhs = -point.dual + cz / point.x
        if point.any_cap:
            rhs[capped] -= cw[capped] / point.s[capped]
        first = self.solve(rhs)
        dy = self.schur(A @ first + point.primal)
        dx = first - self.columns @ dy
        dz = (cz - point.z * dx) / point.x
        dw = np.zeros_like(dx)
        dw[capped] = (cw[capped] + point.w[capped] * dx[capped]) / point.s[capped]
        return _Direction(dx, dy, dz, dw)


def _newton(point: _Point, refined: int) -> _Newton:
    problem, capped = point.problem, point.capped
    D = point.z / point.x
    D[capped] += point.w[capped] / point.s[capped]
    D = np.maximum(D, FLOOR * problem.size)
    solve = _refined(problem, D, refined)
    columns = solve(problem.A.T)
    return _Newton(point, solve, columns, small_solver(problem.A @ columns))


def _refined(problem: BoxQP, D: np.ndarray, times: int) -> Apply:
    """Return the solver of ``P + diag(D)``, every solution corrected so many times by what it leaves."""
    solve = problem.factor(D)

    def corrected(v: np.ndarray) -> np.ndarray:
        x = solve(v)
        for _ in range(times):
            whole = x[:, None] if x.ndim == 1 else x
            product = np.column_stack([problem.P(column) for column in whole.T]) + D[:, None] * whole
            x = x + solve(v - product.reshape(v.shape))
        return x

    return corrected if times else solve


def interior_point(problem: BoxQP, tol: float, balance: float, refined: int = 0) -> QPSolution:
    """Solve the problem, or raise SolverError.

    `tol` bounds the gap and the largest breach of a stationarity condition, `balance` that of an equality; steps are
    `refined` so many times: with large upper bounds solves that go through the kernel lose digits.

    Examples
    --------
    >>> import numpy as np
    >>> one, q, upper = np.ones((1, 2)), -np.array([3.0, 1.0]), np.array([1.5, 9.0])
    >>> problem = BoxQP(lambda x: x, lambda D: lambda v: (v.T / (1 + D)).T, q, upper, one, np.array([2.0]), 1.0)
    >>> interior_point(problem, 1e-9, 1e-9).x.round(6)
    array([1.5, 0.5])
    """
    best: tuple[float, QPSolution] | None = None
    stuck = 0
    with np.errstate(all="ignore"):
        for step, point in enumerate(_path(problem, refined)):
            accuracy = point.accuracy(tol, balance)
            if not np.isfinite(accuracy):
                break
            here = QPSolution(point.x, point.y, step)
            if accuracy <= 1.0:
                return here
            if best is None or accuracy < 0.9 * best[0]:
                best, stuck = (accuracy, here), 0
            else:
                stuck += 1
            if stuck > STUCK or step + 1 == STEPS:
                break
    if best is not None and best[0] <= (FURTHER if tol < TIGHT else SHORT):
        return best[1]
    reached = np.inf if best is None else best[0] * tol
    raise SolverError(f"The interior point method stopped at accuracy {reached:.2g}.")


def _path(problem: BoxQP, refined: int) -> Iterator[_Point]:
    """Yield the points of the method, from the first one on, for as long as its systems can be solved."""
    point = _start(problem)
    count = len(point.x) + len(point.capped)
    while True:
        yield point
        try:
            newton = _newton(point, refined)
        except (np.linalg.LinAlgError, ValueError):
            return
        here = point.capped
        guess = newton.direction(-point.x * point.z, -point.s * point.w)
        share = max(point.gap_after(guess, min(1.0, point.room(guess))) / point.gap, 0.0)
        target = point.gap / count * share**3
        cz = target - point.x * point.z - guess.x * guess.z
        cw = np.zeros_like(cz)
        cw[here] = target - point.s[here] * point.w[here] + guess.x[here] * guess.w[here]
        step = newton.direction(cz, cw)
        point = point.moved(step, min(1.0, NEAR * point.room(step)))


def _start(problem: BoxQP) -> _Point:
    """Start where the problem would be solved with squares for bounds, moved inside."""
    u, capped = problem.upper, np.isfinite(problem.upper)
    x, y = _middle(problem, capped)
    z = 1.0 + np.max(x, initial=0.0) - x
    w = np.where(capped, 1.0 + np.max(np.where(capped, u - x, 0.0), initial=0.0) - (u - x), 0.0)
    if capped.any():
        # where P is large the solution lies near 0, and a start far from it is a long way off
        least = min(INSIDE, (1.0 + problem.size) ** -0.5)
        cap = np.where(capped, u, 1.0)
        x = np.clip(x, least * cap, np.where(capped, (1.0 - INSIDE) * cap, np.inf))
    elif float(x.min()) < 1e-8:
        x = x + (1.0 - float(x.min()))
    return _at(problem, np.flatnonzero(capped), _Direction(x, y, z, w))


def _middle(problem: BoxQP, capped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minimise ``1/2 x'Px + q'x + 1/2 |x|^2 + 1/2 |u - x|^2`` (the last where there is a cap) with Ax = a."""
    solve = problem.factor(np.where(capped, 2.0, 1.0))
    first = solve(np.where(capped, problem.upper, 0.0) - problem.q)
    columns = solve(problem.A.T)
    y = small_solver(problem.A @ columns)(problem.A @ first - problem.a)
    return first - columns @ y, y
