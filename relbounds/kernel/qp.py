"""Free (or fixed) slacks as a quadratic program: the dual of support vector ordinal regression."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import lapack
from scipy.sparse import csr_matrix

from relbounds.errors import SolverError
from relbounds.kernel.box_qp import BALANCE, Apply, BoxQP, QPSolution
from relbounds.kernel.cvxopt_qp import solve_with_cvxopt
from relbounds.kernel.lean_qp import interior_point
from relbounds.kernel.margins import MarginRows

# How far the equalities may be off, as a share of the tolerance, where that is loose.
UNBALANCED = 0.01
# How often a step is corrected where rounding has kept CVXOPT from the accuracy asked for.
REFINED = 2


def solve_box(problem: BoxQP, tol: float, lean: bool = False) -> QPSolution:
    """Solve a box-constrained program; `lean`: by the package's own method first, CVXOPT where that stops short.

    Examples
    --------
    >>> import numpy as np
    >>> one, q, upper = np.ones((1, 2)), -np.array([3.0, 1.0]), np.array([1.5, 9.0])
    >>> problem = BoxQP(lambda x: x, lambda D: lambda v: (v.T / (1 + D)).T, q, upper, one, np.array([2.0]))
    >>> solve_box(problem, 1e-9).x.round(6)
    array([1.5, 0.5])
    """

    def own(accuracy: float, refined: int) -> QPSolution:
        return interior_point(problem, accuracy, max(BALANCE, UNBALANCED * accuracy), refined)

    if lean:
        try:
            return own(tol, 0)
        except SolverError:
            pass
    # Past the accuracy that rounding allows, steps make things worse: then what was asked for was too much. Refined
    # steps lose less to rounding than CVXOPT's, and take longer.
    for accuracy in (tol, 100 * tol):
        for way in (lambda goal: solve_with_cvxopt(problem, goal), lambda goal: own(goal, REFINED)):
            try:
                return way(accuracy)
            except SolverError:
                continue
    return solve_with_cvxopt(problem, 10_000 * tol)


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


@dataclass(frozen=True)
class Gram:
    """A kernel matrix, with R where ``R @ R.T`` is the same and R is thin: what solves go through.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[-1.0], [1.0], [2.0]])
    >>> solve = Gram(x @ x.T, x).factor(np.ones(3))
    >>> (np.eye(3) + x @ x.T) @ solve(np.eye(3)[:, :1]) @ np.ones(1) - (x @ x.T)[:, 0] < 1e-12
    array([ True,  True,  True])
    """

    K: np.ndarray
    R: np.ndarray | None = None

    @cached_property
    def size(self) -> float:
        """The largest value on the diagonal: the order of magnitude of the matrix."""
        return float(np.diag(self.K).max(initial=0.0))

    def factor(self, E: np.ndarray, unit: float = 1.0) -> Apply:
        """Return ``t -> M t`` with ``M = ((unit K)^-1 + diag(E))^-1``, for E >= 0 and t = 0 where E = 0."""
        R, K = self.R, self.K
        if R is not None:
            L = _cholesky(unit * (R.T @ (E[:, None] * R)))
            return lambda t: unit * (R @ lapack.dpotrs(L, R.T @ t, lower=1)[0])
        # I + sqrt(E) K sqrt(E) has no eigenvalue below 1, whatever K and E are
        up = np.sqrt(unit * E)
        down = np.divide(1.0, up, out=np.zeros_like(up), where=up > 0)
        L = _cholesky(up[:, None] * K * up)

        def apply(t: np.ndarray) -> np.ndarray:
            inner = lapack.dpotrs(L, (unit * down)[:, None] * t, lower=1)[0]
            return np.asarray(K @ (up[:, None] * inner))

        return apply


def _cholesky(B: np.ndarray) -> np.ndarray:
    """Return the factor of ``I + B``; B, symmetric, is written to."""
    B.flat[:: len(B) + 1] += 1.0
    L, failed = lapack.dpotrf(B.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return L


def solve_qp(
    gram: Gram, rows: MarginRows, tol: float = 1e-10, *, unit: float | None = None, lean: bool = False
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the multipliers of the rows, a guess of the thresholds, and the iterations used.

    Slacks are free, or fixed when the rows come from ``rows.fixed``; `unit` is the size multipliers are
    expected to have; `lean` as for :func:`solve_box`.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.margins import make_margin_rows
    >>> x = np.array([[-1.0], [1.0]])
    >>> solve_qp(Gram(x @ x.T), make_margin_rows(np.array([1, 2]), 2, C=10.0))[0].round(6)
    array([0.5, 0.5])
    """
    finite = rows.upper[np.isfinite(rows.upper)]
    # In units of C the solution lies in the unit box, where the solver's absolute tolerances mean something.
    if unit is None:
        unit = float(finite.max()) if len(finite) else 1.0
    size = len(rows)
    solution = solve_box(_dual(gram, rows, unit), tol, lean)
    return unit * solution.x[:size], -solution.y, solution.iterations


def _dual(gram: Gram, rows: MarginRows, unit: float) -> BoxQP:
    """Return the dual over (alpha, mu), in units of `unit`."""
    sample, n, size = rows.sample, rows.n, len(rows)
    extra = rows.n_thresholds - 1 if rows.ordered else 0
    to_samples = csr_matrix((rows.sign, (sample, np.arange(size))), shape=(n, size))
    sign = rows.sign[:, None]

    def P(x: np.ndarray) -> np.ndarray:
        out = np.zeros_like(x)
        out[:size] = unit * rows.sign * (gram.K @ (to_samples @ x[:size]))[sample]
        return out

    def factor(D: np.ndarray) -> Apply:
        inverse = 1.0 / D[:size]
        inner = gram.factor(np.bincount(sample, inverse, minlength=n), unit)

        def solve(v: np.ndarray) -> np.ndarray:
            wide = v[:, None] if v.ndim == 1 else v
            first = inverse[:, None] * wide[:size]
            out = wide / D[:, None]
            out[:size] = first - inverse[:, None] * (sign * inner(to_samples @ first)[sample])
            return out[:, 0] if v.ndim == 1 else out

        return solve

    return BoxQP(
        P,
        factor,
        q=np.concatenate([-rows.h, np.zeros(extra)]),
        upper=np.concatenate([rows.upper / unit, np.full(extra, np.inf)]),
        A=balance_matrix(rows),
        a=np.zeros(rows.n_thresholds),
        size=unit * gram.size,
    )
