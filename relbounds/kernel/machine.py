"""Fitting on arrays: from features and level codes to a decision function with ordered thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from relbounds.errors import DataError, OptionError, SolverError, nearest
from relbounds.kernel.kernels import Kernel, check_matrix, make_kernel, root
from relbounds.kernel.kkt import (
    Optimality,
    check_free,
    check_modelled,
    check_ordered,
    margins,
    shares,
    thresholds,
)
from relbounds.kernel.margins import MarginRows, check_cost, check_order, make_margin_rows
from relbounds.kernel.qp import solve_qp
from relbounds.kernel.slacks import ModelledSolution, solve_modelled
from relbounds.kernel.smo import have_numba, scaled_start, solve_smo

SLACKS = ("free", "modelled", "mixed")
SOLVERS = ("auto", "smo", "qp")
# Up to this size the whole kernel matrix is made at once (32 MB); beyond it SMO computes and caches rows on
# demand.
WHOLE_MATRIX = 2000
# solver="auto": up to SMALL rows, SMO hands over to the quadratic program after PATIENCE steps (n^2 / 2 if that is
# more), which is about when the other would have been done.
SMALL = 1000
PATIENCE = 30_000
# A multiplier counts from this share of its limit on: interior point solutions never reach 0 exactly.
SUPPORT = 1e-5
# Modelled slacks can take up the whole margin. What they leave counts as nothing below NO_MARGIN, and a decision
# function that varies by less than NOISE (of a margin of 1) is rounding: it is set to 0, lest it predict.
NO_MARGIN = 1e-9
NOISE = 1e-8


@dataclass(frozen=True)
class Setting:
    """The numbers and choices that fix a model.

    Examples
    --------
    >>> Setting(C=2.0).replace(width=3.0).width
    3.0
    """

    order: str = "explicit"
    kernel: Any = "rbf"
    C: float = 1.0
    width: float | None = 1.0
    slack: str = "free"
    mix: float = 0.5
    slack_kernel: Any = "rbf"
    slack_width: float | None = None  # None: as wide as the kernel (1 where the kernel has no width)
    gamma: float = 1.0
    cost: Any = None
    solver: str = "auto"
    tol: float = 1e-3

    def slack_kernel_made(self) -> Kernel:
        """Return the kernel of the correcting functions."""
        width = self.slack_width if self.slack_width is not None else (self.width or 1.0)
        return make_kernel(self.slack_kernel, width, "slack_kernel")

    def replace(self, **changes: Any) -> Setting:
        """Return the setting with some of it changed."""
        return replace(self, **changes)


def check_setting(setting: Setting) -> Setting:
    """Return the setting if every choice in it is known and every number makes sense.

    Examples
    --------
    >>> check_setting(Setting(slack="modeled"))
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: slack='modeled' is not known. Use 'free', 'modelled' or 'mixed'. Did you
    mean 'modelled'?
    """
    check_order(setting.order)
    for name, value, known in (("slack", setting.slack, SLACKS), ("solver", setting.solver, SOLVERS)):
        if value not in known:
            words = ", ".join(repr(k) for k in known[:-1]) + f" or {known[-1]!r}"
            raise OptionError(f"{name}={value!r} is not known. Use {words}.{nearest(str(value), known)}")
    for name in ("C", "gamma", "tol"):
        value = getattr(setting, name)
        if not _is_number(value) or value <= 0:
            raise OptionError(f"{name}={value!r} must be a positive number.")
    if not _is_number(setting.mix) or not 0 <= setting.mix <= 1:
        raise OptionError(
            f"mix={setting.mix!r} must lie between 0 (free slacks only) and 1 (modelled slacks only)."
        )
    if isinstance(setting.kernel, str | Kernel) or callable(setting.kernel):
        make_kernel(setting.kernel, setting.width)
    if setting.slack != "free":
        setting.slack_kernel_made()
        if setting.order == "none":
            raise OptionError(
                "order='none' is there to show free slacks without the order; use 'explicit' or 'implicit' "
                "here."
            )
    return setting


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float | np.integer | np.floating)
        and not isinstance(value, bool)
        and np.isfinite(value)
    )


@dataclass(frozen=True)
class Machine:
    """A fitted model: ``f(x) = sum_i coefficients_i K(x_i, x)``, level = 1 + number of thresholds at or
    below f(x)."""

    setting: Setting
    kernel: Kernel
    X: np.ndarray  # the support vectors
    coefficients: np.ndarray  # of the support vectors
    support: np.ndarray  # positions of the support vectors among the training rows
    b: np.ndarray  # one threshold between any two neighbouring levels
    f: np.ndarray  # decision values of the training rows
    rows: MarginRows
    alpha: np.ndarray
    slack: np.ndarray  # of each row
    optimality: Optimality
    solver: str
    steps: int
    n_levels: int
    correcting: ModelledSolution | None = None

    def decision_function(self, X: np.ndarray | None = None, K: np.ndarray | None = None) -> np.ndarray:
        """Return f for new rows, or from kernel values K between new rows and all training rows."""
        if K is not None:
            K = np.asarray(K, dtype=float)
            if K.ndim != 2 or K.shape[1] != self.rows.n:
                raise DataError(
                    f"kernel: expected one column per training row ({self.rows.n}), got shape {K.shape}."
                )
            return K[:, self.support] @ self.coefficients
        assert X is not None
        out = np.empty(len(X))
        for start in range(0, len(X), 2000):  # new data may be large; the kernel block should not be
            part = slice(start, start + 2000)
            out[part] = self.kernel(X[part], self.X) @ self.coefficients
        return out

    def levels_of(self, f: np.ndarray) -> np.ndarray:
        """Return level codes 1..L; a missing decision value gives a missing code."""
        codes = 1 + (f[:, None] >= self.b[None, :]).sum(axis=1)
        return np.where(np.isnan(f), np.nan, codes) if np.isnan(f).any() else codes


@dataclass(frozen=True)
class Grams:
    """Kernel matrices that several fits share, and their roots, each computed once.

    Examples
    --------
    >>> import numpy as np
    >>> Grams(np.ones((3, 3))).root.shape
    (3, 1)
    """

    K: np.ndarray
    K_slack: np.ndarray | None = None

    @cached_property
    def root(self) -> np.ndarray:
        """The root of K."""
        return root(self.K)

    @cached_property
    def slack_root(self) -> np.ndarray:
        """The root of the slack kernel's matrix."""
        assert self.K_slack is not None
        return root(self.K_slack)


def fit_machine(
    X: np.ndarray,
    y: np.ndarray,
    n_levels: int,
    setting: Setting,
    *,
    Z: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    K: np.ndarray | None = None,
) -> Machine:
    """Fit one model on arrays.

    Parameters
    ----------
    X : array (n, d)
        Features.
    y : array (n,)
        Level codes 1..n_levels; levels without samples are allowed (their interval is empty).
    n_levels : int
        Number of levels.
    setting : Setting
        The choices.
    Z : array (n, p), optional
        Privileged features: where the correcting functions live. Without them they live on X.
    weights : array (n,), optional
        Case weights.
    K : array (n, n), optional
        The kernel matrix, already checked.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 30)[:, None]
    >>> y = 1 + (x[:, 0] > -0.4) + (x[:, 0] > 0.3)
    >>> machine = fit_machine(x, y, 3, Setting(kernel="linear", C=100.0, solver="qp"))
    >>> machine.levels_of(machine.decision_function(np.array([[-0.9], [0.0], [0.9]])))
    array([1, 2, 3])
    """
    grams = None if K is None else Grams(K)
    return fit_mixes(X, y, n_levels, setting, [setting.mix], Z=Z, weights=weights, grams=grams)[0]


def fit_mixes(
    X: np.ndarray,
    y: np.ndarray,
    n_levels: int,
    setting: Setting,
    mixes: Sequence[float],
    *,
    Z: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    grams: Grams | None = None,
    start: Machine | None = None,
) -> list[Machine]:
    """Fit one model per mixing weight: the free and the modelled slacks they share are computed once.

    `grams`: the kernel matrices, checked, where several fits share them (the machines then take kernel
    values, not features). `start`: a machine with free slacks that differs in C only, to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[-2.0], [-1.0], [0.5], [1.0], [-0.5], [2.0]])
    >>> setting = Setting(kernel="linear", slack="mixed", solver="qp")
    >>> [m.setting.mix for m in fit_mixes(x, np.array([1, 1, 1, 2, 2, 2]), 2, setting, [0.0, 1.0])]
    [0.0, 1.0]
    """
    check_setting(setting)
    kernel = make_kernel(setting.kernel, setting.width) if grams is None else Kernel("precomputed")
    y = np.asarray(y, dtype=np.int64)
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    used = np.unique(y[weights > 0])
    if len(used) < 2:
        raise DataError("The response has one level only among the rows used; at least two are needed.")
    compact = np.clip(np.searchsorted(used, y) + 1, 1, len(used))
    cost = None
    if setting.cost is not None:
        cost = check_cost(setting.cost, n_levels)[np.ix_(used - 1, used - 1)]
    rows = make_margin_rows(compact, len(used), setting.order, setting.C, weights, cost)
    problem = _Problem(X, kernel, rows, setting, used, n_levels, grams, start)
    if setting.slack == "free":
        return [problem.free()]
    shared = None if grams is None else grams.K_slack
    K_slack = slack_matrix(setting, X, Z) if shared is None else shared
    # The lemma that orders implicit thresholds is about free slacks: with modelled ones order is a
    # constraint.
    problem = replace(problem, rows=replace(rows, ordered=len(used) > 2))
    modelled = problem.modelled(K_slack)
    if setting.slack == "modelled":
        return [modelled]
    free = replace(problem, rows=rows).free()
    return [problem.recovered(free, modelled, float(mix)) for mix in mixes]


def slack_matrix(setting: Setting, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
    """Return the kernel matrix of the correcting functions: on privileged features where there are some.

    Examples
    --------
    >>> import numpy as np
    >>> slack_matrix(Setting(slack_width=1.0), np.zeros((2, 1)), None)
    array([[1., 1.],
           [1., 1.]])
    """
    home = Z if Z is not None and Z.shape[1] > 0 else X
    return check_matrix(setting.slack_kernel_made()(home, home), len(home), "slack_kernel")


@dataclass(frozen=True)
class _Problem:
    """One problem and the ways to solve it."""

    X: np.ndarray
    kernel: Kernel
    rows: MarginRows
    setting: Setting
    used: np.ndarray
    n_levels: int
    grams: Grams | None = None
    start: Machine | None = None

    def root(self) -> np.ndarray | None:
        return None if self.grams is None else self.grams.root

    def matrix(self) -> np.ndarray:
        if self.grams is not None:
            return self.grams.K
        K = self.kernel(self.X, self.X)
        return check_matrix(K, self.rows.n) if self.kernel.name == "function" else K

    def free(self) -> Machine:
        setting = self.setting
        if setting.solver != "auto":
            return self._free(setting.solver)
        if not have_numba():
            return self._free("qp")
        if self.rows.n > SMALL:
            return self._free("smo")
        if self.start is not None and self.start.solver == "qp" and self.start.setting.C <= setting.C:
            return self._free("qp", lean=True)  # what was too slow with a smaller C will be so again
        try:  # a large C with a wide kernel can keep SMO busy for very long; small problems have a way out
            return self._free("smo", max(PATIENCE, self.rows.n**2 // 2))
        except SolverError:
            return self._free("qp", lean=True)

    def _free(self, solver: str, max_steps: int = 50_000_000, lean: bool = False) -> Machine:
        setting, rows, ordered = self.setting, self.rows, self.setting.order != "none"
        if solver == "qp":
            K = self.matrix()
            alpha, guess, steps = solve_qp(K, rows, lean=lean, R=self.root())
            f = K @ rows.coefficients(alpha)
            b = thresholds(rows, alpha, f, 1e-5, guess, ordered)
        else:
            whole = self.grams is not None or self.kernel.name == "function" or rows.n <= WHOLE_MATRIX
            K_given = self.matrix() if whole else None
            begin = None
            if self.start is not None and self.start.solver == "smo":
                before = self.start
                begin = scaled_start(rows, before.alpha, before.f, setting.C / before.setting.C)
            solution = solve_smo(
                self.X, self.kernel, rows, K_given, setting.tol, max_steps=max_steps, start=begin
            )
            alpha, steps = solution.alpha, solution.steps
            f = self._values(alpha) if K_given is None else K_given @ rows.coefficients(alpha)
            b = thresholds(rows, alpha, f, setting.tol, None, ordered)
        slack = np.maximum(0.0, -margins(rows, b, f))
        return self._machine(alpha, f, b, slack, check_free(rows, alpha, b, f), solver, steps)

    def modelled(self, K_slack: np.ndarray) -> Machine:
        K, rows = self.matrix(), self.rows
        roots = None if self.grams is None else (self.grams.root, self.grams.slack_root)
        s = solve_modelled(K, K_slack, rows, self.setting.gamma, roots=roots)
        f = K @ rows.coefficients(s.alpha)
        b = check_ordered(s.b, 1e-5)
        optimality = check_modelled(rows, s.alpha, s.delta, b, f, s.slack, s.slack_norms, self.setting.gamma)
        return self._machine(s.alpha, f, b, s.slack, optimality, "qp", s.iterations, s)

    def recovered(self, free: Machine, modelled: Machine, mix: float) -> Machine:
        """Fix the slacks at their convex combination and find the largest margin that needs no more than
        those."""
        K = self.matrix()
        slack = (1.0 - mix) * free.slack + mix * np.maximum(modelled.slack, 0.0)
        rows, alpha, guess, steps = _solve_fixed(K, self.rows, slack, self.setting.C, self.root())
        f = K @ rows.coefficients(alpha)
        b = check_ordered(guess, 1e-5)
        machine = self._machine(
            alpha,
            f,
            b,
            slack,
            check_free(rows, alpha, b, f),
            f"{free.solver} + qp",
            steps,
            modelled.correcting,
        )
        return replace(machine, rows=rows, setting=replace(self.setting, mix=mix))

    def _values(self, alpha: np.ndarray) -> np.ndarray:
        """f at the training rows, recomputed from the multipliers in blocks."""
        beta = self.rows.coefficients(alpha)
        keep = beta != 0
        blocks = [
            self.kernel(self.X[k : k + 1000], self.X[keep]) @ beta[keep] for k in range(0, self.rows.n, 1000)
        ]
        return np.concatenate(blocks)

    def _machine(
        self,
        alpha: np.ndarray,
        f: np.ndarray,
        b: np.ndarray,
        slack: np.ndarray,
        optimality: Optimality,
        solver: str,
        steps: int,
        correcting: ModelledSolution | None = None,
    ) -> Machine:
        if self.setting.slack != "free" and np.ptp(f) < NOISE:
            alpha, f, b = np.zeros_like(alpha), np.zeros_like(f), np.zeros_like(b)
        beta = self.rows.coefficients(alpha)
        keep = np.flatnonzero(beta != 0)
        # Back from the levels that occur to all levels: one without samples gets an empty interval.
        below = np.searchsorted(self.used, np.arange(1, self.n_levels), side="right")
        padded = np.concatenate([[-np.inf], b, [np.inf]])
        return Machine(
            setting=self.setting,
            kernel=self.kernel,
            X=self.X[keep] if self.kernel.name != "precomputed" else np.empty((len(keep), 0)),
            coefficients=beta[keep],
            support=keep,
            b=padded[below],
            f=f,
            rows=self.rows,
            alpha=alpha,
            slack=slack,
            optimality=optimality,
            solver=solver,
            steps=steps,
            n_levels=self.n_levels,
            correcting=correcting,
        )


def _solve_fixed(
    K: np.ndarray, rows: MarginRows, slack: np.ndarray, unit: float, R: np.ndarray | None
) -> tuple[MarginRows, np.ndarray, np.ndarray, int]:
    """Maximise the margin with slacks fixed; returns the rows solved, their multipliers, the thresholds and
    the steps.

    The models the slacks come from satisfy their rows to solver accuracy only, and the set of solutions may
    have no interior, which no interior point method likes: slacks are enlarged by a hair, a longer one if
    that is not enough.
    """
    room = float((rows.h - slack).max())
    if room <= NO_MARGIN:
        return rows.fixed(slack), np.zeros(len(rows)), np.zeros(rows.n_thresholds), 0
    scale = min(room, 1.0)  # the margin that the slacks leave may be tiny
    last: SolverError | None = None
    for hair in (1e-7, 1e-6, 1e-5, 1e-4):
        enlarged = rows.fixed(slack + hair * scale)
        scaled = replace(enlarged, h=enlarged.h / scale)
        try:
            alpha, b, steps = solve_qp(K, scaled, 1e-9, unit, lean=True, R=R)
            return enlarged, scale * alpha, scale * b, steps
        except SolverError as error:
            last = error
    assert last is not None
    raise last


def supporting(machine: Machine) -> np.ndarray:
    """Return which training rows are support vectors: those with a multiplier that is not 0.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[-3.0], [-1.0], [1.0], [3.0]])
    >>> supporting(fit_machine(x, np.array([1, 1, 2, 2]), 2, Setting(kernel="linear", C=10.0, solver="qp")))
    array([False,  True,  True, False])
    """
    share, _ = shares(machine.rows, machine.alpha)
    return np.bincount(machine.rows.sample, share > SUPPORT, minlength=machine.rows.n) > 0


def bounded(machine: Machine) -> np.ndarray:
    """Return which training rows have a multiplier at its limit (never with modelled slacks: there is none).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[-3.0], [1.0], [-1.0], [3.0]])
    >>> bounded(fit_machine(x, np.array([1, 1, 2, 2]), 2, Setting(kernel="linear", C=0.1, solver="qp")))
    array([False,  True,  True, False])
    """
    if machine.setting.slack != "free":
        return np.zeros(machine.rows.n, dtype=bool)
    share, _ = shares(machine.rows, machine.alpha)
    return np.bincount(machine.rows.sample, share > 1 - SUPPORT, minlength=machine.rows.n) > 0
