"""Slacks that are smooth functions of the inputs or of privileged features instead of free numbers.

Each correcting function ``xi(x) = w*.phi*(x) + d`` serves a set of rows (one threshold, or one side of all
of them):

    minimise  1/2 |w|^2 + gamma/2 sum_g |w*_g|^2 + sum_r upper_r xi_{g(r)}(x_r)
    subject to  sign_r (f(x_r) - b_j) >= h_r - xi_{g(r)}(x_r)  and  xi_{g(r)}(x_r) >= 0

With ``delta = alpha + beta - upper`` (beta: multipliers of the sign of the slacks) the dual is

    maximise  sum_r h_r alpha_r - 1/2 c'Kc - 1/(2 gamma) sum_g delta_g' K* delta_g,    c = signed sums of
    alpha per sample subject to  alpha, beta >= 0,  balanced thresholds, and  sum of delta_g = 0 for each
    function g.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from relbounds.errors import OptionError
from relbounds.kernel.kernels import root
from relbounds.kernel.problem import MarginRows
from relbounds.kernel.qp import Apply, balance_matrix, box_qp


@dataclass(frozen=True)
class ModelledSolution:
    """Multipliers, slack of each row, and the correcting functions ``K*(., x_i) coefficients / gamma +
    offset``."""

    alpha: np.ndarray
    delta: np.ndarray
    slack: np.ndarray
    b: np.ndarray
    coefficients: np.ndarray  # (n_functions, n)
    offset: np.ndarray  # (n_functions,)
    slack_norms: float
    iterations: int


def solve_modelled(
    K: np.ndarray, K_slack: np.ndarray, rows: MarginRows, gamma: float, tol: float = 1e-10
) -> ModelledSolution:
    """Solve the dual with modelled slacks.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.problem import make_margin_rows
    >>> x = np.array([[-2.0], [-1.0], [0.5], [1.0], [-0.5], [2.0]])
    >>> rows = make_margin_rows(np.array([1, 1, 1, 2, 2, 2]), 2, "implicit", C=1.0)
    >>> s = solve_modelled(x @ x.T, np.exp(-(x - x.T) ** 2), rows, gamma=1.0)
    >>> bool((s.slack > -1e-7).all())
    True
    """
    if not np.isfinite(gamma) or gamma <= 0:
        raise OptionError(f"gamma must be a positive number, not {gamma!r}.")
    n, size, sample, sign = rows.n, len(rows), rows.sample, rows.sign
    groups = [np.flatnonzero(rows.function == g) for g in range(rows.n_functions)]
    R, R_slack = root(K), root(K_slack)
    roots = [R_slack[sample[g]] for g in groups]  # per function: the rows' share of the root of K*
    unit = float(rows.upper.max())
    price = rows.upper / unit
    extra = rows.n_thresholds - 1 if rows.ordered else 0
    ratio = unit / gamma

    def collect(v: np.ndarray) -> np.ndarray:
        return np.bincount(sample, sign * v, minlength=n)

    def smooth(v: np.ndarray) -> np.ndarray:
        out = np.empty(size)
        for g, S in zip(groups, roots, strict=True):
            out[g] = ratio * (S @ (S.T @ v[g]))
        return out

    def P(x: np.ndarray) -> np.ndarray:
        out = np.zeros_like(x)
        common = smooth(x[:size] + x[size : 2 * size])
        out[:size] = unit * sign * (R @ (R.T @ collect(x[:size])))[sample] + common
        out[size : 2 * size] = common
        return out

    def factor(D: np.ndarray) -> Apply:
        # P + diag(D) = D + U' blockdiag(K, K*_g) U with U = [S 0; I I], S the signed map from rows to
        # samples. The Woodbury identity leaves one system per function, then one for the samples (a Schur
        # complement).
        ia, ib = 1.0 / D[:size], 1.0 / D[size : 2 * size]
        E = ia + ib
        cross = sign * ia
        inner = []
        T = np.zeros((n, R.shape[1]))
        weight = np.bincount(sample, ia * ib / E, minlength=n)
        T += weight[:, None] * R
        for g, S in zip(groups, roots, strict=True):
            L = cho_factor(np.eye(S.shape[1]) + ratio * S.T @ (E[g][:, None] * S), lower=True)
            inner.append(L)
            # E^-1 - M^-1 = E^-1 B^-1 E^-1-like remainder; in terms of the thin root it is what is left of
            # the identity.
            V = (cross[g] / np.sqrt(E[g]))[:, None] * R[sample[g]]
            W = np.sqrt(E[g])[:, None] * S
            half = solve_triangular(L[0], W.T @ V, lower=True)
            T_part = V - ratio * W @ solve_triangular(L[0], half, lower=True, trans=1)
            T[sample[g]] += (cross[g] / np.sqrt(E[g]))[:, None] * T_part  # a sample has one row per function
        schur = cho_factor(np.eye(R.shape[1]) + unit * (R.T @ T + T.T @ R) / 2.0)

        def slack_solve(v: np.ndarray) -> np.ndarray:
            out = np.empty(size)
            for g, S, L in zip(groups, roots, inner, strict=True):
                out[g] = ratio * S @ cho_solve(L, S.T @ v[g])
            return out

        def solve(v: np.ndarray) -> np.ndarray:
            va, vb = ia * v[:size], ib * v[size : 2 * size]
            t0, t1 = collect(va), va + vb
            u0 = (
                unit
                * R
                @ cho_solve(schur, R.T @ (t0 - np.bincount(sample, cross * slack_solve(t1), minlength=n)))
            )
            u1 = slack_solve(t1 - cross * u0[sample])
            out = v / D
            out[:size] = va - ia * (sign * u0[sample] + u1)
            out[size : 2 * size] = vb - ib * u1
            return out

        return solve

    A = np.zeros((rows.n_thresholds + rows.n_functions, 2 * size + extra))
    balance = balance_matrix(rows)
    A[: rows.n_thresholds, :size] = balance[:, :size]
    A[: rows.n_thresholds, 2 * size :] = balance[:, size:]
    for k, g in enumerate(groups):
        A[rows.n_thresholds + k, g] = 1.0
        A[rows.n_thresholds + k, size + g] = 1.0
    a = np.concatenate([np.zeros(rows.n_thresholds), [price[g].sum() for g in groups]])
    pull = smooth(price)
    q = np.concatenate([-rows.h - pull, -pull, np.zeros(extra)])
    size_P = max(unit * float(np.diag(K).max()), ratio * float(np.diag(K_slack).max()))
    solution = box_qp(P, factor, q, np.full(len(q), np.inf), A, a, 10 * tol, size_P, relative=False)
    alpha = unit * solution.x[:size]
    delta = alpha + unit * solution.x[size : 2 * size] - rows.upper
    # The multipliers of the equalities are the thresholds and the offsets (signs from the Lagrangian).
    b = -solution.y[: rows.n_thresholds]
    offset = solution.y[rows.n_thresholds :]
    coefficients = np.zeros((rows.n_functions, n))
    for k, g in enumerate(groups):
        coefficients[k, sample[g]] = delta[g]
    values = coefficients @ K_slack / gamma
    slack = values[rows.function, sample] + offset[rows.function]
    norms = float(np.sum(coefficients * values) / gamma)
    return ModelledSolution(alpha, delta, slack, b, coefficients, offset, norms, solution.iterations)
