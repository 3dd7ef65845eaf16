"""CVXOPT's interior point method for box-constrained quadratic programs whose Hessian is low-rank by
structure.

The problems of this package are ``min 1/2 x'Px + q'x`` with ``0 <= x <= upper`` and ``Ax = a``. Each
iteration needs solves with ``P + diag(D)``. P is never formed: it maps a vector of row multipliers to the
samples (at most n of them), through the kernel, and back, so the solves cost O(n^3) however many
thresholds, that is rows per sample, there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import csr_matrix

from relbounds.errors import SolverError
from relbounds.kernel.kernels import root
from relbounds.kernel.lean_qp import FLOOR, Apply, Factor, QPSolution, interior_point, small_solver
from relbounds.kernel.margins import MarginRows

BALANCE = 1e-8  # how well the equalities must hold


def box_qp(
    P: Apply,
    factor: Factor,
    q: np.ndarray,
    upper: np.ndarray,
    A: np.ndarray,
    a: np.ndarray,
    tol: float,
    size: float = 0.0,
    relative: bool = True,
    lean: bool = False,
) -> QPSolution:
    """Solve ``min 1/2 x'Px + q'x, 0 <= x <= upper, Ax = a``; ``factor(D)`` returns the solver of ``P +
    diag(D)``.

    `size` is the order of magnitude of P: D is kept above a tiny share of it, where the low-rank solves
    would lose all digits; the solver's iterative refinement takes care of the difference. `relative`: the
    objective has no constant left out, so that a gap relative to it means something. `lean`: the package's
    own interior point method first, CVXOPT where that does not get there.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones((1, 2))
    >>> q, upper = -np.array([3.0, 1.0]), np.array([1.5, 9.0])
    >>> s = box_qp(lambda x: x, lambda D: lambda v: (v.T / (1 + D)).T, q, upper, one, np.array([2.0]), 1e-9)
    >>> s.x.round(6)
    array([1.5, 0.5])
    """
    if lean:
        try:
            return interior_point(P, factor, q, upper, A, a, tol, BALANCE, size)
        except SolverError:
            pass
    # Past the accuracy that rounding allows, steps make things worse: then what was asked for was too much.
    for attempt in (tol, 100 * tol):
        try:
            return _box_qp(P, factor, q, upper, A, a, attempt, size, relative)
        except SolverError:
            continue
    return _box_qp(P, factor, q, upper, A, a, 10_000 * tol, size, relative)


def _box_qp(
    P: Apply,
    factor: Factor,
    q: np.ndarray,
    upper: np.ndarray,
    A: np.ndarray,
    a: np.ndarray,
    tol: float,
    size: float,
    relative: bool,
) -> QPSolution:
    """One call of CVXOPT at one tolerance."""
    from cvxopt import matrix, solvers

    n = len(q)
    # CVXOPT has one tolerance for both infeasibilities and measures the dual one against the length of q,
    # while what matters here is the margin of a single row. So the tolerance follows q, and the equalities
    # are scaled along with it.
    feasibility = max(tol / max(1.0, float(np.abs(q).max())), 1e-13)
    scaling = min(1.0, feasibility / BALANCE)
    A, a = scaling * A, scaling * a
    capped = np.flatnonzero(np.isfinite(upper))

    def apply_P(x: Any, y: Any, alpha: float = 1.0, beta: float = 0.0) -> None:
        out = np.asarray(y)[:, 0]
        value = P(np.asarray(x)[:, 0])
        out *= beta
        out += alpha * value

    def apply_G(x: Any, y: Any, alpha: float = 1.0, beta: float = 0.0, trans: str = "N") -> None:
        source, out = np.asarray(x)[:, 0], np.asarray(y)[:, 0]
        if trans == "N":
            value = np.concatenate([-source, source[capped]])
        else:
            value = -source[:n]
            value[capped] += source[n:]
        out *= beta
        out += alpha * value

    def kkt(W: Any) -> Callable[[Any, Any, Any], None]:
        d = np.clip(np.array(W["d"])[:, 0], 1e-120, 1e120)
        inverse2 = d**-2.0
        D = inverse2[:n].copy()
        D[capped] += inverse2[n:]
        solve = factor(np.maximum(D, FLOOR * size))
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

    options = {
        "show_progress": False,
        "abstol": tol,
        "reltol": tol if relative else 1e-15,
        "feastol": feasibility,
        "maxiters": 40,
        "refinement": 2,
    }
    h = np.concatenate([np.zeros(n), upper[capped]])
    try:
        result = solvers.coneqp(
            apply_P,
            matrix(q),
            apply_G,
            matrix(h),
            {"l": len(h), "q": [], "s": []},
            matrix(A),
            matrix(a),
            kktsolver=kkt,
            options=options,
        )
    except (ArithmeticError, np.linalg.LinAlgError, ValueError) as error:
        raise SolverError(
            f"The quadratic program could not be solved ({error}). The kernel matrix may be too badly "
            f"scaled: standardise the "
            "features, or use a smaller C."
        ) from error
    accuracy = max(
        result["primal infeasibility"] if result["primal infeasibility"] is not None else np.inf,
        result["dual infeasibility"] if result["dual infeasibility"] is not None else np.inf,
        min(
            abs(result["gap"]),
            result["relative gap"] if relative and result["relative gap"] is not None else np.inf,
        ),
    )
    # Rounding may stop the iteration a little short of a very tight tolerance; what counts is what was
    # reached.
    if result["status"] != "optimal" and not accuracy <= 100 * tol:
        raise SolverError(
            f"The quadratic program stopped after {result['iterations']} iterations at accuracy "
            f"{accuracy:.2g}. "
            "Standardise the features, or use a smaller C."
        )
    x = np.clip(np.array(result["x"])[:, 0], 0.0, upper)
    return QPSolution(x, scaling * np.array(result["y"])[:, 0], int(result["iterations"]))


def balance_matrix(rows: MarginRows) -> np.ndarray:
    """Return the equality constraints over (alpha, mu): the signed sums of each threshold balance, up to
    mu.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.margins import make_margin_rows
    >>> balance_matrix(make_margin_rows(np.array([1, 2, 3]), 3))
    array([[-1.,  1.,  0.,  0.,  1.],
           [ 0.,  0., -1.,  1., -1.]])
    """
    m = rows.n_thresholds
    extra = m - 1 if rows.ordered else 0
    A = np.zeros((m, len(rows) + extra))
    A[rows.threshold, np.arange(len(rows))] = rows.sign
    for j in range(extra):  # mu of b_j <= b_{j+1}: rows j and j+1
        A[j, len(rows) + j] = 1.0
        A[j + 1, len(rows) + j] = -1.0
    return A


def solve_qp(
    K: np.ndarray,
    rows: MarginRows,
    tol: float = 1e-10,
    unit: float | None = None,
    lean: bool = False,
    R: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the multipliers of the rows, a guess of the thresholds, and the iterations used.

    Slacks are free, or fixed when the rows come from ``rows.fixed``; `unit` is the size multipliers are
    expected to have; `lean` as for :func:`box_qp`; R is ``root(K)`` where it is known.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.margins import make_margin_rows
    >>> x = np.array([[-1.0], [1.0]])
    >>> solve_qp(x @ x.T, make_margin_rows(np.array([1, 2]), 2, C=10.0))[0].round(6)
    array([0.5, 0.5])
    """
    R = root(K) if R is None else R
    sample, sign, n, size = rows.sample, rows.sign, rows.n, len(rows)
    finite = rows.upper[np.isfinite(rows.upper)]
    # In units of C the solution lies in the unit box, where the solver's absolute tolerances mean something.
    if unit is None:
        unit = float(finite.max()) if len(finite) else 1.0
    extra = rows.n_thresholds - 1 if rows.ordered else 0

    to_samples = csr_matrix((sign, (sample, np.arange(size))), shape=(n, size))
    to_rows = to_samples.T.tocsr()

    def P(x: np.ndarray) -> np.ndarray:
        out = np.zeros_like(x)
        out[:size] = unit * (to_rows @ (R @ (R.T @ (to_samples @ x[:size]))))
        return out

    def factor(D: np.ndarray) -> Apply:
        inverse = 1.0 / D[:size]
        E = np.bincount(sample, inverse, minlength=n)
        inner = cho_factor(np.eye(R.shape[1]) + unit * R.T @ (E[:, None] * R), check_finite=False)

        def solve(v: np.ndarray) -> np.ndarray:
            wide = v[:, None] if v.ndim == 1 else v
            first = inverse[:, None] * wide[:size]
            middle = unit * R @ cho_solve(inner, R.T @ (to_samples @ first), check_finite=False)
            out = wide / D[:, None]
            out[:size] = first - inverse[:, None] * (to_rows @ middle)
            return out[:, 0] if v.ndim == 1 else out

        return solve

    q = np.concatenate([-rows.h, np.zeros(extra)])
    upper = np.concatenate([rows.upper / unit, np.full(extra, np.inf)])
    solution = box_qp(
        P,
        factor,
        q,
        upper,
        balance_matrix(rows),
        np.zeros(rows.n_thresholds),
        tol,
        unit * float(np.diag(K).max()),
        lean=lean,
    )
    return unit * solution.x[:size], -solution.y, solution.iterations
