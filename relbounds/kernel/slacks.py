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
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack
from scipy.sparse import csr_matrix

from relbounds.errors import OptionError
from relbounds.kernel.box_qp import Apply, BoxQP
from relbounds.kernel.kernels import root
from relbounds.kernel.lean_qp import inverse
from relbounds.kernel.margins import MarginRows
from relbounds.kernel.qp import balance_matrix, solve_box

GOOD = 1e-3  # least ratio of eigenvalues at which the inverse of a kernel matrix is trusted


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


@dataclass(frozen=True)
class _Smoothed:
    """What one function contributes to a factorisation: with ``W = sqrt(E) S``, ``N = ratio S (I + ratio W'W)^-1
    S'`` to be applied, and ``I - ratio W (I + ratio W'W)^-1 W'``, whole or applied."""

    solve: Apply
    rest: np.ndarray | None
    rest_of: Apply


@dataclass(frozen=True)
class _Smoother:
    """The kernel matrix of one correcting function, times `ratio`: whole, or its root S where that is thin."""

    whole: np.ndarray | None
    S: np.ndarray
    ratio: float

    def apply(self, v: np.ndarray) -> np.ndarray:
        return self.ratio * (self.S @ (self.S.T @ v)) if self.whole is None else self.whole @ v

    def factor(self, E: np.ndarray) -> _Smoothed:
        if self.whole is not None:
            up, down = np.sqrt(E), 1.0 / np.sqrt(E)
            B = up[:, None] * self.whole * up
            B.flat[:: len(B) + 1] += 1.0
            rest, whole = inverse(B), self.whole

            def solve_whole(v: np.ndarray) -> np.ndarray:
                return np.asarray(whole @ (up[:, None] * (rest @ (down[:, None] * v))))

            return _Smoothed(solve_whole, rest, lambda V: rest @ V)
        S, ratio = self.S, self.ratio
        L, failed = lapack.dpotrf(np.eye(S.shape[1]) + ratio * S.T @ (E[:, None] * S), lower=1)
        if failed:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        W = np.sqrt(E)[:, None] * S

        def solve_thin(v: np.ndarray) -> np.ndarray:
            return np.asarray(ratio * (S @ lapack.dpotrs(L, S.T @ v, lower=1)[0]))

        def rest_of(V: np.ndarray) -> np.ndarray:
            return np.asarray(V - ratio * (W @ lapack.dpotrs(L, W.T @ V, lower=1)[0]))

        return _Smoothed(solve_thin, None, rest_of)


def _smoothers(
    K_slack: np.ndarray, S: np.ndarray, samples: list[np.ndarray], ratio: float
) -> list[_Smoother]:
    """One per function. The whole matrix is quicker, but its inverse serves only where it has a good one."""
    values = (S**2).sum(axis=0)  # the eigenvalues
    whole = len(values) == len(S) and values.min() > GOOD * values.max()
    return [
        _Smoother(ratio * K_slack[np.ix_(here, here)] if whole else None, S[here], ratio) for here in samples
    ]


@dataclass(frozen=True)
class SlackGrams:
    """The kernel matrices of the decision function and of the correcting functions, and their roots.

    Examples
    --------
    >>> import numpy as np
    >>> SlackGrams(np.ones((3, 3)), np.eye(3)).slack_root.shape
    (3, 3)
    """

    K: np.ndarray
    K_slack: np.ndarray

    @cached_property
    def root(self) -> np.ndarray:
        """The root of K."""
        return root(self.K)

    @cached_property
    def slack_root(self) -> np.ndarray:
        """The root of the slack kernel's matrix."""
        return root(self.K_slack)


@dataclass(frozen=True)
class _Dual:
    """The dual over (alpha, beta, mu), in units of `unit`: its Hessian and the solves that an iteration needs."""

    rows: MarginRows
    R: np.ndarray
    groups: list[np.ndarray]
    smoothers: list[_Smoother]
    unit: float

    @cached_property
    def to_samples(self) -> csr_matrix:
        """The signed map from rows to samples."""
        rows = self.rows
        return csr_matrix((rows.sign, (rows.sample, np.arange(len(rows)))), shape=(rows.n, len(rows)))

    @cached_property
    def to_rows(self) -> csr_matrix:
        return self.to_samples.T.tocsr()

    def smooth(self, v: np.ndarray) -> np.ndarray:
        """Apply every function's matrix to its own rows."""
        out = np.empty(len(self.rows))
        for g, smoother in zip(self.groups, self.smoothers, strict=True):
            out[g] = smoother.apply(v[g])
        return out

    def P(self, x: np.ndarray) -> np.ndarray:
        size, R = len(self.rows), self.R
        out = np.zeros_like(x)
        common = self.smooth(x[:size] + x[size : 2 * size])
        out[:size] = self.unit * (self.to_rows @ (R @ (R.T @ (self.to_samples @ x[:size])))) + common
        out[size : 2 * size] = common
        return out

    def factor(self, D: np.ndarray) -> Apply:
        # P + diag(D) = D + U' blockdiag(K, K*_g) U with U = [S 0; I I], S the signed map from rows to
        # samples. The Woodbury identity leaves one system per function, then one for the samples (a Schur
        # complement).
        size, R, unit = len(self.rows), self.R, self.unit
        ia, ib = 1.0 / D[:size], 1.0 / D[size : 2 * size]
        found = [
            smoother.factor((ia + ib)[g]) for g, smoother in zip(self.groups, self.smoothers, strict=True)
        ]
        T = self._schur(found, ia, ib)
        schur = cho_factor(np.eye(R.shape[1]) + unit * (R.T @ T + T.T @ R) / 2.0, check_finite=False)

        def slack_solve(v: np.ndarray) -> np.ndarray:
            out = np.empty(v.shape)
            for g, one in zip(self.groups, found, strict=True):
                out[g] = one.solve(v[g])
            return out

        def solve(v: np.ndarray) -> np.ndarray:
            wide = v[:, None] if v.ndim == 1 else v
            va, vb = ia[:, None] * wide[:size], ib[:, None] * wide[size : 2 * size]
            t1 = va + vb
            inner = R.T @ (self.to_samples @ (va - ia[:, None] * slack_solve(t1)))
            u0 = self.to_rows @ (unit * (R @ cho_solve(schur, inner, check_finite=False)))
            u1 = slack_solve(t1 - ia[:, None] * u0)
            out = wide / D[:, None]
            out[:size] = va - ia[:, None] * (u0 + u1)
            out[size : 2 * size] = vb - ib[:, None] * u1
            return out[:, 0] if v.ndim == 1 else out

        return solve

    def _schur(self, found: list[_Smoothed], ia: np.ndarray, ib: np.ndarray) -> np.ndarray:
        """Return what the functions leave of the diagonal of the samples, times R."""
        rows, R, n = self.rows, self.R, self.rows.n
        E, cross = ia + ib, rows.sign * ia
        T = np.bincount(rows.sample, ia * ib / E, minlength=n)[:, None] * R
        whole: np.ndarray | None = None
        for g, one in zip(self.groups, found, strict=True):
            scaled = cross[g] / np.sqrt(E[g])
            here = rows.sample[g]  # a sample has one row per function
            if one.rest is None:
                V = scaled[:, None] * R[here]
                T[here] += scaled[:, None] * one.rest_of(V)
                continue
            whole = np.zeros((n, n)) if whole is None else whole
            block = scaled[:, None] * one.rest * scaled
            if len(here) == n and here[0] == 0 and here[-1] == n - 1:  # all samples, in their order
                whole += block
            else:
                whole[np.ix_(here, here)] += block
        return T if whole is None else T + whole @ R

    def problem(self, size: float) -> BoxQP:
        """Return the dual as a program; `size` is the order of magnitude of its Hessian."""
        rows, count, groups = self.rows, len(self.rows), self.groups
        m, price = rows.n_thresholds, rows.upper / self.unit
        extra = m - 1 if rows.ordered else 0
        A = np.zeros((m + rows.n_functions, 2 * count + extra))
        balance = balance_matrix(rows)
        A[:m, :count] = balance[:, :count]
        A[:m, 2 * count :] = balance[:, count:]
        for k, g in enumerate(groups):
            A[m + k, g] = 1.0
            A[m + k, count + g] = 1.0
        pull = self.smooth(price)
        q = np.concatenate([-rows.h - pull, -pull, np.zeros(extra)])
        return BoxQP(
            self.P,
            self.factor,
            q,
            upper=np.full(len(q), np.inf),
            A=A,
            a=np.concatenate([np.zeros(m), [price[g].sum() for g in groups]]),
            size=size,
            relative=False,
        )


def solve_modelled(
    grams: SlackGrams, rows: MarginRows, gamma: float, *, tol: float = 1e-10, lean: bool = True
) -> ModelledSolution:
    """Solve the dual with modelled slacks; `lean` as for :func:`relbounds.kernel.qp.solve_box`.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.margins import make_margin_rows
    >>> x = np.array([[-2.0], [-1.0], [0.5], [1.0], [-0.5], [2.0]])
    >>> rows = make_margin_rows(np.array([1, 1, 1, 2, 2, 2]), 2, "implicit", C=1.0)
    >>> s = solve_modelled(SlackGrams(x @ x.T, np.exp(-(x - x.T) ** 2)), rows, gamma=1.0)
    >>> bool((s.slack > -1e-7).all())
    True
    """
    if not np.isfinite(gamma) or gamma <= 0:
        raise OptionError(f"gamma must be a positive number, not {gamma!r}.")
    size, sample, m = len(rows), rows.sample, rows.n_thresholds
    groups = [np.flatnonzero(rows.function == g) for g in range(rows.n_functions)]
    unit = float(rows.upper.max())
    smoothers = _smoothers(grams.K_slack, grams.slack_root, [sample[g] for g in groups], unit / gamma)
    dual = _Dual(rows, grams.root, groups, smoothers, unit)
    largest = max(unit * float(np.diag(grams.K).max()), unit / gamma * float(np.diag(grams.K_slack).max()))
    solution = solve_box(dual.problem(largest), 10 * tol, lean)
    alpha = unit * solution.x[:size]
    delta = alpha + unit * solution.x[size : 2 * size] - rows.upper
    # The multipliers of the equalities are the thresholds and the offsets (signs from the Lagrangian).
    b, offset = -solution.y[:m], solution.y[m:]
    coefficients = np.zeros((rows.n_functions, rows.n))
    for k, g in enumerate(groups):
        coefficients[k, sample[g]] = delta[g]
    values = coefficients @ grams.K_slack / gamma
    slack = values[rows.function, sample] + offset[rows.function]
    norms = float(np.sum(coefficients * values) / gamma)
    return ModelledSolution(alpha, delta, slack, b, coefficients, offset, norms, solution.iterations)
