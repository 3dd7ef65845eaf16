"""Sequential minimal optimisation: two multipliers at a time, with a kernel cache (needs the extra
`fast`)."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np

from relbounds.errors import MissingExtraError, SolverError
from relbounds.kernel.kernels import Kernel
from relbounds.kernel.kkt import order_multipliers
from relbounds.kernel.margins import MarginRows


@dataclass(frozen=True)
class SmoSolution:
    """Multipliers, decision values at the samples, and what it took."""

    alpha: np.ndarray
    f: np.ndarray
    steps: int
    cross_steps: int
    violation: float


def have_numba() -> bool:
    """Return whether the compiled solver can be used.

    Examples
    --------
    >>> isinstance(have_numba(), bool)
    True
    """
    return importlib.util.find_spec("numba") is not None


def scaled_start(rows: MarginRows, alpha: np.ndarray, f: np.ndarray, ratio: float) -> np.ndarray | None:
    """Return where to begin when C is `ratio` times what `alpha` (with decision values f) was solved for.

    Multipliers at their limit stay there when all are multiplied by `ratio`; with a larger C they may also
    stay as they are. The one with the better dual objective is taken; None where that is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.margins import make_margin_rows
    >>> rows = make_margin_rows(np.array([1, 2]), 2, C=10.0)
    >>> scaled_start(rows, np.array([0.5, 0.5]), np.array([-1.0, 1.0]), 10.0)
    array([0.5, 0.5])
    """
    linear, square = float(rows.h @ alpha), float(rows.coefficients(alpha) @ f)
    factors = [ratio] if ratio < 1.0 else [1.0, ratio]
    value, factor = max((s * linear - 0.5 * s * s * square, s) for s in factors)
    if value <= 0.0:
        return None
    begin = factor * alpha
    # What was at its limit is there exactly, so that no multiplier exceeds it by rounding.
    return np.where(begin >= (1.0 - 1e-12) * rows.upper, rows.upper, begin)


@dataclass(frozen=True)
class SmoLimits:
    """How exact, how long, with how much memory for kernel rows, and which choice of partners."""

    tol: float = 1e-3
    max_steps: int = 50_000_000
    cache_mb: float = 200.0
    second_order: bool = True


def solve_smo(
    X: np.ndarray,
    kernel: Kernel,
    rows: MarginRows,
    K: np.ndarray | None = None,
    limits: SmoLimits | None = None,
    *,
    start: np.ndarray | None = None,
) -> SmoSolution:
    """Solve the dual by SMO; with K given the kernel is read from it, else its rows are computed and cached.

    Each step takes the row that violates the optimality conditions most and a partner: the most violating
    one, or with `second_order` the one that promises the largest gain. Partners at the same threshold get
    the standard update; at different ones (explicit order) the cross update, which moves the order
    multipliers between them. `start`: multipliers that satisfy every constraint, to begin with instead of 0
    (needs K).

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.margins import make_margin_rows
    >>> x = np.array([[-1.0], [1.0]])
    >>> solve_smo(x, Kernel("linear"), make_margin_rows(np.array([1, 2]), 2, C=10.0)).alpha.round(6)
    array([0.5, 0.5])
    """
    limits = SmoLimits() if limits is None else limits
    if not have_numba():
        raise MissingExtraError(
            "solver='smo' needs numba, which is not installed. Install it with: pip install "
            "'relbounds[fast]', or use solver='qp'."
        )
    from relbounds.kernel import _smo_numba as compiled  # numba is optional, and slow to load

    if kernel.name not in ("linear", "rbf") and K is None:
        K = kernel(X, X)
    cache = _cache(compiled, X, kernel, K, limits.cache_mb)
    begin, f, mu = np.zeros(len(rows)), np.zeros(rows.n), np.zeros(rows.n_thresholds)
    if start is not None and K is not None:
        begin = np.array(start, dtype=float)
        f = np.ascontiguousarray(K @ rows.coefficients(begin))
        mu = order_multipliers(rows, begin)
        mu[mu < 1e-9 * max(float(begin.max(initial=0.0)), 1e-300)] = 0.0  # rounding is no tie
    state = compiled.State(begin, f, mu)
    steps, violation, crossed = compiled.smo(
        compiled.Rows(rows.sample, rows.sign, rows.threshold, rows.h, rows.upper, bool(rows.ordered)),
        state,
        cache,
        compiled.Limits(float(limits.tol), int(limits.max_steps), bool(limits.second_order)),
    )
    if violation > limits.tol:
        raise SolverError(
            f"SMO took {steps} steps and still violates the optimality conditions by {violation:.3g} (tol "
            f"= {limits.tol:g}). Standardise the features, use a smaller C, or a larger tol."
        )
    return SmoSolution(state.alpha, state.f, int(steps), int(crossed), float(violation))


def _cache(compiled: Any, X: np.ndarray, kernel: Kernel, K: np.ndarray | None, cache_mb: float) -> Any:
    """Return the store of kernel rows: the whole matrix, or room for as many rows as the memory allows."""
    if K is not None:
        n = len(K)
        kind, store, diag = compiled.GIVEN, np.ascontiguousarray(K), np.ascontiguousarray(np.diag(K))
        slot, owner = np.arange(n), np.arange(n)
    else:
        n = len(X)
        kind = compiled.LINEAR if kernel.name == "linear" else compiled.RBF
        places = int(min(n, max(2, cache_mb * 1e6 / (8 * n))))
        store, diag = np.empty((places, n)), kernel.diagonal(X)
        slot, owner = np.full(n, -1), np.full(places, -1)
    rate = 1.0 / (2.0 * kernel.width**2) if kernel.width else 0.0
    stamp, clock = np.zeros(len(owner), dtype=np.int64), np.ones(1, dtype=np.int64)
    X = np.ascontiguousarray(X, dtype=float)
    return compiled.Cache(kind, X, rate, store, slot, owner, stamp, clock, diag)
