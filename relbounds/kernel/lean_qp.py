"""A primal-dual interior point method for ``min 1/2 x'Px + q'x, 0 <= x <= upper, Ax = a``, with little overhead.

A grid search solves thousands of problems of a few hundred variables; there the time of a general solver goes
into bookkeeping. This one does a predictor and a corrector step per factorisation and nothing else. Where it
does not reach the accuracy asked for it says so, and the caller turns to CVXOPT.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from relbounds.errors import SolverError

Apply = Callable[[np.ndarray], np.ndarray]
Factor = Callable[[np.ndarray], Apply]
FLOOR = 1e-12
STEPS = 60
NEAR = 0.995  # how much of the way to the boundary a step goes


@dataclass(frozen=True)
class QPSolution:
    """x, the multipliers of the equalities, and how many iterations it took."""

    x: np.ndarray
    y: np.ndarray
    iterations: int


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


def interior_point(
    P: Apply,
    factor: Factor,
    q: np.ndarray,
    upper: np.ndarray,
    A: np.ndarray,
    a: np.ndarray,
    tol: float,
    balance: float,
    size: float,
) -> QPSolution:
    """Solve the problem, or raise SolverError; ``factor(D)`` returns the solver of ``P + diag(D)``.

    `tol` bounds the gap and the largest breach of a stationarity condition, `balance` that of an equality;
    `size` is the order of magnitude of P, below a tiny share of which diagonals are not let fall.

    Examples
    --------
    >>> import numpy as np
    >>> one, q, upper = np.ones((1, 2)), -np.array([3.0, 1.0]), np.array([1.5, 9.0])
    >>> s = interior_point(
    ...     lambda x: x, lambda D: lambda v: (v.T / (1 + D)).T, q, upper, one, np.array([2.0]), 1e-9, 1e-9, 1.0)
    >>> s.x.round(6)
    array([1.5, 0.5])
    """
    capped = np.isfinite(upper)
    any_cap = bool(capped.any())
    u = np.where(capped, upper, np.inf)
    # Start where the problem would be solved with squares for bounds, moved inside.
    x, y = _middle(factor, q, u, capped, A, a)
    z = 1.0 + np.max(x, initial=0.0) - x
    w = np.where(capped, 1.0 + np.max(np.where(capped, u - x, 0.0), initial=0.0) - (u - x), 0.0)
    low = float(x.min())
    if low < 1e-8:
        x = x + (1.0 - low)
    x = np.where(capped, np.clip(x, 0.05 * np.where(capped, u, 1.0), 0.95 * np.where(capped, u, 1.0)), x)
    Px = P(x)
    count = len(x) + int(capped.sum())
    best: tuple[float, np.ndarray, np.ndarray, int] | None = None
    stuck = 0
    with np.errstate(all="ignore"):
        for step in range(STEPS):
            s = u - x
            dual = Px + q + A.T @ y - z + w
            primal = A @ x - a
            gap = float(x @ z) + (float(s[capped] @ w[capped]) if any_cap else 0.0)
            accuracy = max(gap / tol, float(np.abs(dual).max()) / tol, float(np.abs(primal).max()) / balance)
            if not np.isfinite(accuracy):
                break
            if accuracy <= 1.0:
                return QPSolution(x, y, step)
            if best is None or accuracy < 0.9 * best[0]:
                best, stuck = (accuracy, x, y, step), 0
            else:
                stuck += 1
                if stuck > 8:
                    break
            D = z / x
            if any_cap:
                D[capped] += w[capped] / s[capped]
            D = np.maximum(D, FLOOR * size)
            try:
                solve = factor(D)
                columns = solve(A.T)
                schur = small_solver(A @ columns)
            except (np.linalg.LinAlgError, ValueError):
                break
            mu = gap / count

            def direction(
                cz: np.ndarray,
                cw: np.ndarray,
                solve: Apply = solve,
                columns: np.ndarray = columns,
                schur: Apply = schur,
                dual: np.ndarray = dual,
                primal: np.ndarray = primal,
                x: np.ndarray = x,
                s: np.ndarray = s,
                z: np.ndarray = z,
                w: np.ndarray = w,
            ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
                rhs = -dual + cz / x
                if any_cap:
                    rhs[capped] -= cw[capped] / s[capped]
                first = solve(rhs)
                dy = schur(A @ first + primal)
                dx = first - columns @ dy
                dz = (cz - z * dx) / x
                dw = np.where(capped, (cw + w * dx) / s, 0.0) if any_cap else w
                return dx, dy, dz, dw

            cz = -x * z
            cw = np.where(capped, -s * w, 0.0) if any_cap else w
            dx, dy, dz, dw = direction(cz, cw)
            primal_step = _room(x, dx, s, capped if any_cap else None)
            dual_step = _room(z, dz, None, None)
            if any_cap:
                dual_step = min(dual_step, _room(w[capped], dw[capped], None, None))
            length = min(1.0, primal_step, dual_step)
            after = float((x + length * dx) @ (z + length * dz))
            if any_cap:
                after += float((s - length * dx)[capped] @ (w + length * dw)[capped])
            target = mu * max(after / gap, 0.0) ** 3
            cz = target - x * z - dx * dz
            if any_cap:
                cw = np.where(capped, target - s * w + dx * dw, 0.0)
            dx, dy, dz, dw = direction(cz, cw)
            primal_step = _room(x, dx, s, capped if any_cap else None)
            dual_step = _room(z, dz, None, None)
            if any_cap:
                dual_step = min(dual_step, _room(w[capped], dw[capped], None, None))
            # One length for both: with a Hessian, stationarity mixes primal and dual variables.
            length = min(1.0, NEAR * min(primal_step, dual_step))
            x, y, z = x + length * dx, y + length * dy, z + length * dz
            if any_cap:
                w = w + length * dw
            Px = P(x)
    if best is not None and best[0] <= 100.0:  # rounding may stop it a little short of a very tight tolerance
        return QPSolution(best[1], best[2], best[3])
    reached = np.inf if best is None else best[0] * tol
    raise SolverError(f"The interior point method stopped at accuracy {reached:.2g}.")


def _middle(
    factor: Factor, q: np.ndarray, u: np.ndarray, capped: np.ndarray, A: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise ``1/2 x'Px + q'x + 1/2 |x|^2 + 1/2 |u - x|^2`` (the last where there is a cap) with Ax = a."""
    solve = factor(np.where(capped, 2.0, 1.0))
    first = solve(np.where(capped, u, 0.0) - q)
    columns = solve(A.T)
    y = small_solver(A @ columns)(A @ first - a)
    return first - columns @ y, y


def _room(x: np.ndarray, dx: np.ndarray, s: np.ndarray | None, capped: np.ndarray | None) -> float:
    """Return the longest step that keeps x (and the distance s to the caps) from becoming negative."""
    worst = float(np.max(-dx / x, initial=0.0))
    if s is not None and capped is not None:
        worst = max(worst, float(np.max(dx[capped] / s[capped], initial=0.0)))
    return 1.0 / worst if worst > 0 else np.inf


def small_solver(S: np.ndarray) -> Apply:
    """Return the solver of a small positive semidefinite system.

    Where the multipliers of the equalities are not unique (no feature used and as many rows on either side)
    the system is singular; directions without weight are left alone.
    """
    size = np.sqrt(np.maximum(np.diag(S), 1e-300))
    values, vectors = np.linalg.eigh((S + S.T) / 2.0 / np.outer(size, size))
    kept = np.where(values > 1e-11 * values[-1], 1.0 / np.where(values > 0, values, 1.0), 0.0)
    return lambda v: (vectors @ (kept * (vectors.T @ (v / size)))) / size
