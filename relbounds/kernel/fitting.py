"""Fitting on arrays: from features and level codes to a decision function with ordered thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from relbounds.errors import DataError, SolverError
from relbounds.kernel.kernels import Kernel, check_matrix, make_kernel, root
from relbounds.kernel.kkt import (
    Modelled,
    Optimality,
    check_free,
    check_modelled,
    check_ordered,
    margins,
    thresholds,
)
from relbounds.kernel.machine import Machine
from relbounds.kernel.margins import MarginRows, Pricing, check_cost, make_margin_rows
from relbounds.kernel.options import SvorOptions, check_options
from relbounds.kernel.qp import Gram, solve_qp
from relbounds.kernel.slacks import ModelledSolution, SlackGrams, solve_modelled
from relbounds.kernel.smo import SmoLimits, have_numba, scaled_start, solve_smo

# Up to this size the whole kernel matrix is made at once (32 MB); beyond it SMO computes and caches rows on
# demand.
WHOLE_MATRIX = 2000
# solver="auto": up to SWITCHING rows, SMO hands over to the quadratic program after PATIENCE steps (n^2 / SLOW if
# that is more), which is about when the other would have been done.
SWITCHING = 1000
PATIENCE = 3_000
SLOW = 25
# The accuracy asked of the quadratic program as a share of SMO's `tol`: a product of a multiplier (in units of C) and
# a margin, where `tol` is a margin.
PRODUCT = 0.1
# Modelled slacks can take up the whole margin. What they leave counts as nothing below NO_MARGIN, and a decision
# function that varies by less than NOISE (of a margin of 1) is rounding: it is set to 0, lest it predict.
NO_MARGIN = 1e-9
NOISE = 1e-8


@dataclass(frozen=True)
class Grams:
    """Kernel matrices that several fits share, and what is worked out from them, each once.

    `R` is thin with ``R @ R.T == K``, where such a thing is known.

    Examples
    --------
    >>> import numpy as np
    >>> Grams(np.ones((3, 3))).gram.size
    1.0
    """

    K: np.ndarray
    K_slack: np.ndarray | None = None
    R: np.ndarray | None = None

    @cached_property
    def gram(self) -> Gram:
        """The kernel matrix, ready to be solved with."""
        return Gram(self.K, self.R)

    @cached_property
    def rooted(self) -> Gram:
        """The same through its root: slower, and exact where no multiplier has a limit."""
        return Gram(self.K, root(self.K))

    @cached_property
    def slack(self) -> SlackGrams:
        """Both matrices, with their roots."""
        assert self.K_slack is not None
        return SlackGrams(self.K, self.K_slack)


def thin_root(kernel: Kernel, X: np.ndarray) -> np.ndarray | None:
    """Return the features themselves where their products are the kernel and they are few, else None.

    Examples
    --------
    >>> thin_root(Kernel("linear"), np.ones((6, 2))).shape, thin_root(Kernel("rbf", 1.0), np.ones((6, 2)))
    ((6, 2), None)
    """
    return X if kernel.name == "linear" and 2 * X.shape[1] <= len(X) else None


def fit_machine(
    X: np.ndarray,
    y: np.ndarray,
    n_levels: int,
    options: SvorOptions,
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
    options : SvorOptions
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
    >>> machine = fit_machine(x, y, 3, SvorOptions(kernel="linear", C=100.0, solver="qp"))
    >>> machine.levels_of(machine.decision_function(np.array([[-0.9], [0.0], [0.9]])))
    array([1, 2, 3])
    """
    sample = Sample(X, y, n_levels, Z, weights)
    return fit_mixes(sample, options, [options.mix], grams=None if K is None else Grams(K))[0]


@dataclass(frozen=True)
class Sample:
    """What a model is fitted on: features, level codes, privileged features, case weights, kernel matrix."""

    X: np.ndarray
    y: np.ndarray
    n_levels: int
    Z: np.ndarray | None = None
    weights: np.ndarray | None = None
    K: np.ndarray | None = None

    def take(self, rows: np.ndarray) -> Sample:
        """Return some of the rows."""
        return Sample(
            self.X[rows],
            self.y[rows],
            self.n_levels,
            None if self.Z is None else self.Z[rows],
            None if self.weights is None else self.weights[rows],
            None if self.K is None else self.K[np.ix_(rows, rows)],
        )


def fit_mixes(
    sample: Sample,
    options: SvorOptions,
    mixes: Sequence[float],
    *,
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
    >>> options = SvorOptions(kernel="linear", slack="mixed", solver="qp")
    >>> [m.options.mix for m in fit_mixes(Sample(x, np.array([1, 1, 1, 2, 2, 2]), 2), options, [0.0, 1.0])]
    [0.0, 1.0]
    """
    check_options(options)
    problem = _problem(sample, options, grams, start)
    if options.slack == "free":
        return [problem.free()]
    shared = None if grams is None else grams.K_slack
    K_slack = slack_matrix(options, sample.X, sample.Z) if shared is None else shared
    # The lemma that orders implicit thresholds is about free slacks: with modelled ones order is a
    # constraint.
    ordered = replace(problem, rows=replace(problem.rows, ordered=len(problem.used) > 2))
    modelled = ordered.modelled(K_slack)
    if options.slack == "modelled":
        return [modelled]
    free = problem.free()
    return [ordered.recovered(free, modelled, float(mix)) for mix in mixes]


def slack_matrix(options: SvorOptions, X: np.ndarray, Z: np.ndarray | None) -> np.ndarray:
    """Return the kernel matrix of the correcting functions: on privileged features where there are some.

    Examples
    --------
    >>> import numpy as np
    >>> slack_matrix(SvorOptions(slack_width=1.0), np.zeros((2, 1)), None)
    array([[1., 1.],
           [1., 1.]])
    """
    home = Z if Z is not None and Z.shape[1] > 0 else X
    return check_matrix(options.slack_kernel_made()(home, home), len(home), "slack_kernel")


def _problem(sample: Sample, options: SvorOptions, grams: Grams | None, start: Machine | None) -> _Problem:
    """Set up the rows over the levels that occur."""
    kernel = make_kernel(options.kernel, options.width) if grams is None else Kernel("precomputed")
    y = np.asarray(sample.y, dtype=np.int64)
    weights = np.ones(len(y)) if sample.weights is None else np.asarray(sample.weights, dtype=float)
    used = np.unique(y[weights > 0])
    if len(used) < 2:
        raise DataError("The response has one level only among the rows used; at least two are needed.")
    compact = np.clip(np.searchsorted(used, y) + 1, 1, len(used))
    cost = None
    if options.cost is not None:
        cost = check_cost(options.cost, sample.n_levels)[np.ix_(used - 1, used - 1)]
    pricing = Pricing(options.C, weights, cost, options.balance)
    rows = make_margin_rows(compact, len(used), options.order, pricing=pricing)
    return _Problem(sample.X, kernel, rows, options, used, sample.n_levels, grams, start)


@dataclass(frozen=True)
class _Solved:
    """Multipliers, decision values, thresholds and slacks, how good they are, and what it took."""

    alpha: np.ndarray
    f: np.ndarray
    b: np.ndarray
    slack: np.ndarray
    optimality: Optimality
    solver: str
    steps: int
    correcting: ModelledSolution | None = None


@dataclass(frozen=True)
class _Problem:
    """One problem and the ways to solve it."""

    X: np.ndarray
    kernel: Kernel
    rows: MarginRows
    options: SvorOptions
    used: np.ndarray
    n_levels: int
    grams: Grams | None = None
    start: Machine | None = None

    @cached_property
    def gram(self) -> Gram:
        if self.grams is not None:
            return self.grams.gram
        K = self.kernel(self.X, self.X)
        K = check_matrix(K, self.rows.n) if self.kernel.name == "function" else K
        return Gram(K, thin_root(self.kernel, self.X))

    @cached_property
    def rooted(self) -> Gram:
        return Gram(self.gram.K, root(self.gram.K)) if self.grams is None else self.grams.rooted

    def free(self) -> Machine:
        options = self.options
        if options.solver == "qp":
            return self._by_program(1e-10)
        if options.solver == "smo":
            return self._by_steps()
        quick = PRODUCT * options.tol
        if not have_numba():
            return self._by_program(quick, lean=True)
        if self.rows.n > SWITCHING:
            return self._by_steps()
        if self.start is not None and self.start.solver == "qp" and self.start.options.C <= options.C:
            return self._by_program(quick, lean=True)  # what was too slow with a smaller C will be so again
        try:  # a large C with a wide kernel can keep SMO busy for very long; small problems have a way out
            return self._by_steps(max(PATIENCE, self.rows.n**2 // SLOW))
        except SolverError:
            return self._by_program(quick, lean=True)

    def _by_program(self, tol: float, lean: bool = False) -> Machine:
        """Solve the dual as a quadratic program."""
        alpha, guess, steps = solve_qp(self.gram, self.rows, tol, lean=lean)
        f = self.gram.K @ self.rows.coefficients(alpha)
        b = thresholds(self.rows, alpha, f, max(1e-5, tol), guess=guess, order=self.options.order != "none")
        return self._free(alpha, f, b, "qp", steps)

    def _by_steps(self, max_steps: int = SmoLimits.max_steps) -> Machine:
        """Solve the dual two multipliers at a time."""
        options, rows = self.options, self.rows
        whole = self.grams is not None or self.kernel.name == "function" or rows.n <= WHOLE_MATRIX
        K = self.gram.K if whole else None
        begin = None
        if self.start is not None and self.start.solver == "smo":
            before = self.start
            begin = scaled_start(rows, before.alpha, before.f, options.C / before.options.C)
        limits = SmoLimits(options.tol, max_steps)
        solution = solve_smo(self.X, self.kernel, rows, K, limits, start=begin)
        alpha = solution.alpha
        f = self._values(alpha) if K is None else K @ rows.coefficients(alpha)
        b = thresholds(rows, alpha, f, options.tol, order=options.order != "none")
        return self._free(alpha, f, b, "smo", solution.steps)

    def _free(self, alpha: np.ndarray, f: np.ndarray, b: np.ndarray, solver: str, steps: int) -> Machine:
        slack = np.maximum(0.0, -margins(self.rows, b, f))
        return self._machine(_Solved(alpha, f, b, slack, check_free(self.rows, alpha, b, f), solver, steps))

    def modelled(self, K_slack: np.ndarray) -> Machine:
        rows, K = self.rows, self.gram.K
        grams = SlackGrams(K, K_slack) if self.grams is None else self.grams.slack
        s = solve_modelled(grams, rows, self.options.gamma)
        f = K @ rows.coefficients(s.alpha)
        b = check_ordered(s.b, 1e-5)
        claim = Modelled(s.alpha, s.delta, s.slack, s.slack_norms, self.options.gamma)
        optimality = check_modelled(rows, claim, b, f)
        return self._machine(_Solved(s.alpha, f, b, s.slack, optimality, "qp", s.iterations, s))

    def recovered(self, free: Machine, modelled: Machine, mix: float) -> Machine:
        """Fix the slacks at their convex combination and find the largest margin that needs no more than
        those."""
        slack = (1.0 - mix) * free.slack + mix * np.maximum(modelled.slack, 0.0)
        rows, alpha, guess, steps = _solve_fixed(self.rooted, self.rows, slack, self.options.C)
        f = self.gram.K @ rows.coefficients(alpha)
        b = check_ordered(guess, 1e-5)
        optimality, solver = check_free(rows, alpha, b, f), f"{free.solver} + qp"
        machine = self._machine(_Solved(alpha, f, b, slack, optimality, solver, steps, modelled.correcting))
        return replace(machine, rows=rows, options=replace(self.options, mix=mix))

    def _values(self, alpha: np.ndarray) -> np.ndarray:
        """f at the training rows, recomputed from the multipliers in blocks."""
        beta = self.rows.coefficients(alpha)
        keep = beta != 0
        blocks = [
            self.kernel(self.X[k : k + 1000], self.X[keep]) @ beta[keep] for k in range(0, self.rows.n, 1000)
        ]
        return np.concatenate(blocks)

    def _machine(self, solved: _Solved) -> Machine:
        alpha, f, b = solved.alpha, solved.f, solved.b
        if self.options.slack != "free" and np.ptp(f) < NOISE:
            alpha, f, b = np.zeros_like(alpha), np.zeros_like(f), np.zeros_like(b)
        beta = self.rows.coefficients(alpha)
        keep = np.flatnonzero(beta != 0)
        # Back from the levels that occur to all levels: one without samples gets an empty interval.
        below = np.searchsorted(self.used, np.arange(1, self.n_levels), side="right")
        padded = np.concatenate([[-np.inf], b, [np.inf]])
        return Machine(
            options=self.options,
            kernel=self.kernel,
            X=self.X[keep] if self.kernel.name != "precomputed" else np.empty((len(keep), 0)),
            coefficients=beta[keep],
            support=keep,
            b=padded[below],
            f=f,
            rows=self.rows,
            alpha=alpha,
            slack=solved.slack,
            optimality=solved.optimality,
            solver=solved.solver,
            steps=solved.steps,
            n_levels=self.n_levels,
            correcting=solved.correcting,
        )


def _solve_fixed(
    gram: Gram, rows: MarginRows, slack: np.ndarray, unit: float
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
            alpha, b, steps = solve_qp(gram, scaled, 1e-9, unit=unit, lean=True)
            return enlarged, scale * alpha, scale * b, steps
        except SolverError as error:
            last = error
    assert last is not None
    raise last
