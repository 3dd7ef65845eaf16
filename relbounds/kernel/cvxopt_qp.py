"""CVXOPT's interior point method for the quadratic programs of this room, with solves of our own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relbounds.errors import SolverError
from relbounds.kernel.box_qp import BALANCE, FLOOR, BoxQP, QPSolution, small_solver

Step = Callable[[Any, Any, Any], None]


def solve_with_cvxopt(problem: BoxQP, tol: float) -> QPSolution:
    """Solve the problem to a gap and a largest breach of stationarity of `tol`, or raise SolverError.

    Examples
    --------
    >>> one, q, upper = np.ones((1, 2)), -np.array([3.0, 1.0]), np.array([1.5, 9.0])
    >>> problem = BoxQP(lambda x: x, lambda D: lambda v: (v.T / (1 + D)).T, q, upper, one, np.array([2.0]))
    >>> solve_with_cvxopt(problem, 1e-9).x.round(6)
    array([1.5, 0.5])
    """
    from cvxopt import matrix, solvers  # slow to load, and a grid search hardly ever needs it

    n = len(problem.q)
    # CVXOPT has one tolerance for both infeasibilities and measures the dual one against the length of q,
    # while what matters here is the margin of a single row. So the tolerance follows q, and the equalities
    # are scaled along with it.
    feasibility = max(tol / max(1.0, float(np.abs(problem.q).max())), 1e-13)
    scaling = min(1.0, feasibility / BALANCE)
    A, a = scaling * problem.A, scaling * problem.a
    capped = np.flatnonzero(np.isfinite(problem.upper))
    options = {
        "show_progress": False,
        "abstol": tol,
        "reltol": tol if problem.relative else 1e-15,
        "feastol": feasibility,
        "maxiters": 40,
        "refinement": 2,
    }
    h = np.concatenate([np.zeros(n), problem.upper[capped]])
    try:
        result = solvers.coneqp(
            _hessian(problem),
            matrix(problem.q),
            _bounds(n, capped),
            matrix(h),
            {"l": len(h), "q": [], "s": []},
            matrix(A),
            matrix(a),
            kktsolver=_kkt(problem, A, capped),
            options=options,
        )
    except (ArithmeticError, np.linalg.LinAlgError, ValueError) as error:
        raise SolverError(
            f"The quadratic program could not be solved ({error}). The kernel matrix may be too badly "
            "scaled: standardise the features, or use a smaller C."
        ) from error
    accuracy = _accuracy(result, problem.relative)
    # Rounding may stop the iteration a little short of a very tight tolerance; what counts is what was reached.
    if result["status"] != "optimal" and not accuracy <= 100 * tol:
        raise SolverError(
            f"The quadratic program stopped after {result['iterations']} iterations at accuracy "
            f"{accuracy:.2g}. Standardise the features, or use a smaller C."
        )
    x = np.clip(np.array(result["x"])[:, 0], 0.0, problem.upper)
    return QPSolution(x, scaling * np.array(result["y"])[:, 0], int(result["iterations"]))


def _hessian(problem: BoxQP) -> Callable[..., None]:
    """Return ``y = alpha P x + beta y`` in CVXOPT's manner."""

    def apply(x: Any, y: Any, alpha: float = 1.0, beta: float = 0.0) -> None:
        out = np.asarray(y)[:, 0]
        value = problem.P(np.asarray(x)[:, 0])
        out *= beta
        out += alpha * value

    return apply


def _bounds(n: int, capped: np.ndarray) -> Callable[..., None]:
    """Return the map from x to what must not be positive: -x, and x itself where it has a cap."""

    def apply(x: Any, y: Any, alpha: float = 1.0, beta: float = 0.0, trans: str = "N") -> None:
        source, out = np.asarray(x)[:, 0], np.asarray(y)[:, 0]
        if trans == "N":
            value = np.concatenate([-source, source[capped]])
        else:
            value = -source[:n]
            value[capped] += source[n:]
        out *= beta
        out += alpha * value

    return apply


def _kkt(problem: BoxQP, A: np.ndarray, capped: np.ndarray) -> Callable[[Any], Step]:
    """Return what CVXOPT calls once an iteration for the solver of its linear systems."""
    n = len(problem.q)

    def kkt(W: Any) -> Step:
        d = np.clip(np.array(W["d"])[:, 0], 1e-120, 1e120)
        inverse2 = d**-2.0
        D = inverse2[:n].copy()
        D[capped] += inverse2[n:]
        solve = problem.factor(np.maximum(D, FLOOR * problem.size))
        columns = solve(A.T)
        schur = small_solver(A @ columns)

        def step(x: Any, y: Any, z: Any) -> None:
            bx, by, bz = np.asarray(x)[:, 0], np.asarray(y)[:, 0], np.asarray(z)[:, 0]
            scaled = inverse2 * bz
            rhs = bx - scaled[:n]
            rhs[capped] += scaled[n:]
            first = solve(rhs)
            uy = schur(A @ first - by)
            ux = first - columns @ uy
            uz = np.concatenate([-ux, ux[capped]]) - bz
            bx[:] = ux
            by[:] = uy
            bz[:] = uz / d

        return step

    return kkt


def _accuracy(result: Any, relative: bool) -> float:
    """Return what was reached: the worse infeasibility, or the gap if that is larger."""
    worst = [result[f"{side} infeasibility"] for side in ("primal", "dual")]
    gaps = [abs(result["gap"])]
    if relative and result["relative gap"] is not None:
        gaps.append(result["relative gap"])
    return max(*(np.inf if v is None else v for v in worst), min(gaps))
