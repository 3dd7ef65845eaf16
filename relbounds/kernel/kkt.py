"""Thresholds from multipliers, and optimality conditions checked without looking at the solver that claims
them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relbounds.errors import SolverError
from relbounds.kernel.margins import MarginRows


@dataclass(frozen=True)
class Optimality:
    """How close a solution is to the optimum, recomputed from its multipliers, its thresholds and the kernel.

    ``violation``: largest breach of complementary slackness over all rows, in units of the margin;
    ``residual``: largest breach of the dual's equality and sign constraints, relative to the largest
    multiplier;
    ``gap``: primal minus dual objective, relative to 1 + |primal|.
    """

    dual: float
    primal: float
    gap: float
    violation: float
    residual: float
    ordered: bool


def order_multipliers(rows: MarginRows, alpha: np.ndarray) -> np.ndarray:
    """Return mu_1 .. mu_m (mu_1 = 0): the multipliers of ``b_{j-1} <= b_j`` that the balance of the rows
    implies.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.margins import make_margin_rows
    >>> rows = make_margin_rows(np.array([1, 2, 3]), 3, C=2.0)
    >>> order_multipliers(rows, np.array([1.0, 0.5, 0.5, 1.0]))
    array([0. , 0.5])
    """
    mu = np.zeros(rows.n_thresholds)
    if rows.ordered:
        mu[1:] = -np.cumsum(rows.balance(alpha))[:-1]
    return mu


def shares(rows: MarginRows, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return alpha as a share of its upper limit (of the largest multiplier where there is none), and 1 (or
    inf).

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.margins import make_margin_rows
    >>> rows = make_margin_rows(np.array([1, 2, 3]), 3, C=2.0)
    >>> shares(rows, np.array([1.0, 0.0, 0.0, 2.0]))[0]
    array([0.5, 0. , 0. , 1. ])
    """
    finite = np.isfinite(rows.upper)
    unit = np.where(finite, rows.upper, max(float(alpha.max(initial=0.0)), 1e-300))
    return alpha / unit, np.where(finite, 1.0, np.inf)


def margins(rows: MarginRows, b: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return by how much each row exceeds its margin (negative: the slack it needs).

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.margins import make_margin_rows
    >>> rows = make_margin_rows(np.array([1, 2, 3]), 3, C=2.0)
    >>> margins(rows, np.array([-1.0, 1.0]), np.array([-2.0, 0.0, 2.5]))
    array([0. , 0. , 0. , 0.5])
    """
    return rows.sign * (f[rows.sample] - b[rows.threshold]) - rows.h


def threshold_intervals(
    rows: MarginRows, alpha: np.ndarray, f: np.ndarray, guess: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return for each threshold the interval [low, up] of optimal values.

    Thresholds joined by a positive order multiplier are equal, however long the chain, so they share an
    interval. Multipliers of an interior point method are never exactly at a bound: with `guess`, its own
    thresholds, a row counts as bound when its multiplier is closer to the bound than its margin is to 0
    (strict complementarity), and two thresholds as joined when their multiplier exceeds their distance.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.margins import make_margin_rows
    >>> rows = make_margin_rows(np.array([1, 2, 3]), 3, C=2.0)
    >>> threshold_intervals(rows, np.zeros(4), np.array([-2.0, 0.0, 4.0]))
    (array([-1.,  1.]), array([-1.,  3.]))
    """
    value = f[rows.sample] - rows.sign * rows.h
    scale = float(np.max(alpha, initial=0.0))
    share, top = shares(rows, alpha)
    if guess is None:
        zero, full = share <= 1e-7, share >= top * (1 - 1e-7)
    else:
        margin = margins(rows, guess, f)
        zero, full = share < margin, top - share < -margin
    lower_side = rows.sign < 0
    in_up = np.where(lower_side, ~zero, ~full)
    in_low = np.where(lower_side, ~full, ~zero)
    m = rows.n_thresholds
    up, low = np.full(m, np.inf), np.full(m, -np.inf)
    np.minimum.at(up, rows.threshold[in_up], value[in_up])
    np.maximum.at(low, rows.threshold[in_low], value[in_low])
    if rows.ordered:
        mu = order_multipliers(rows, alpha) / max(scale, 1e-300)
        # rounding adds up along the thresholds: the multiplier of a true tie is larger than the distance it leaves
        tied = mu > (1e-6 if guess is None else np.maximum(1e-6, np.diff(guess, prepend=guess[0])))
        start, end = np.arange(m), np.arange(m)
        for j in range(1, m):
            if tied[j]:
                start[j] = start[j - 1]
        for j in range(m - 2, -1, -1):
            if tied[j + 1]:
                end[j] = end[j + 1]
        low = np.maximum.accumulate(low)[end]
        up = np.minimum.accumulate(up[::-1])[::-1][start]
    return low, up


def thresholds(
    rows: MarginRows,
    alpha: np.ndarray,
    f: np.ndarray,
    tol: float,
    *,
    guess: np.ndarray | None = None,
    order: bool = True,
) -> np.ndarray:
    """Return the middle of each interval; with `order`, check that the thresholds are ordered and say so if
    not.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.margins import make_margin_rows
    >>> rows = make_margin_rows(np.array([1, 2, 3]), 3, C=2.0)
    >>> thresholds(rows, np.zeros(4), np.array([-2.0, 0.0, 4.0]), tol=1e-3)
    array([-1.,  2.])
    """
    low, up = threshold_intervals(rows, alpha, f, guess)
    low, up = np.where(np.isfinite(low), low, up), np.where(np.isfinite(up), up, low)
    b = (low + up) / 2.0
    return check_ordered(b, tol) if order else b


def check_ordered(b: np.ndarray, tol: float) -> np.ndarray:
    """Return b without rounding-size disorder; raise SolverError when thresholds are out of order by more
    than that.

    Examples
    --------
    >>> import numpy as np
    >>> check_ordered(np.array([0.5, 0.5 - 1e-9, 1.0]), 1e-6)
    array([0.5, 0.5, 1. ])
    """
    fall = float(np.max(-np.diff(b), initial=0.0))
    if fall > 10 * tol * (1.0 + float(np.abs(b).max(initial=0.0))):
        raise SolverError(
            f"The thresholds came out of order by {fall:.3g}, which the model rules out: the solver "
            f"stopped too early. "
            "Use a smaller tol, or solver='qp'."
        )
    return np.maximum.accumulate(b)


def check_free(rows: MarginRows, alpha: np.ndarray, b: np.ndarray, f: np.ndarray) -> Optimality:
    """Check a solution with free slacks (or fixed ones: rows whose upper limit is inf) against the KKT
    conditions.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.kernel.margins import make_margin_rows
    >>> rows = make_margin_rows(np.array([1, 2]), 2, C=10.0)
    >>> found = check_free(rows, np.array([0.5, 0.5]), np.array([0.0]), np.array([-1.0, 1.0]))
    >>> found.violation, found.gap
    (0.0, 0.0)
    """
    beta = rows.coefficients(alpha)
    norm2 = float(beta @ f)
    margin = margins(rows, b, f)
    slack = np.maximum(0.0, -margin)
    finite = np.isfinite(rows.upper)
    primal = 0.5 * norm2 + float(rows.upper[finite] @ slack[finite])
    dual = float(rows.h @ alpha) - 0.5 * norm2
    share, top = shares(rows, alpha)
    # 0 exactly where the row is at 0 with margin to spare, at its limit with slack, or between with neither.
    breach = np.abs(share - np.clip(share - margin, 0.0, top))
    return Optimality(
        dual=dual,
        primal=primal,
        gap=(primal - dual) / (1.0 + abs(primal)),
        violation=float(breach.max(initial=0.0)),
        residual=_residual(rows, alpha, max(float(alpha.max(initial=0.0)), 1e-300)),
        ordered=bool((np.diff(b) >= 0).all()),
    )


def _residual(rows: MarginRows, alpha: np.ndarray, scale: float) -> float:
    """Breach of 0 <= alpha <= upper and of the balance equations, relative to `scale`."""
    box = max(float(np.max(-alpha, initial=0.0)), float(np.max(alpha - rows.upper, initial=0.0)))
    balance = rows.balance(alpha)
    if rows.ordered:
        mu = order_multipliers(rows, alpha)
        equality = max(abs(float(balance.sum())), float(np.max(-mu, initial=0.0)))
    else:
        equality = float(np.abs(balance).max(initial=0.0))
    return max(box, equality) / scale


@dataclass(frozen=True)
class Modelled:
    """What a solver claims about slacks that are functions: ``delta`` = alpha + (multiplier of slack >= 0) - upper,
    the slack of each row, the squared norms of the functions, and their price."""

    alpha: np.ndarray
    delta: np.ndarray
    slack: np.ndarray
    norms: float
    gamma: float


def check_modelled(rows: MarginRows, claim: Modelled, b: np.ndarray, f: np.ndarray) -> Optimality:
    """Check a solution whose slacks are functions."""
    alpha, delta, slack = claim.alpha, claim.delta, claim.slack
    norm2 = float(rows.coefficients(alpha) @ f)
    reserve = delta + rows.upper - alpha  # the multiplier of slack >= 0
    margin = margins(rows, b, f) + slack
    penalty = 0.5 * claim.gamma * claim.norms
    primal = 0.5 * norm2 + penalty + float(rows.upper @ slack)
    dual = float(rows.h @ alpha) - 0.5 * norm2 - penalty
    scale = max(float(alpha.max(initial=0.0)), float(rows.upper.max(initial=0.0)), 1e-300)
    breach = np.maximum(np.abs(np.minimum(alpha / scale, margin)), np.abs(np.minimum(reserve / scale, slack)))
    sums = np.bincount(rows.function, delta, minlength=rows.n_functions)
    free = rows.fixed(np.zeros(len(rows)))
    residual = max(
        _residual(free, alpha, scale),
        float(np.max(-reserve, initial=0.0)) / scale,
        float(np.abs(sums).max()) / scale,
    )
    return Optimality(
        dual=dual,
        primal=primal,
        gap=(primal - dual) / (1.0 + abs(primal)),
        violation=float(breach.max(initial=0.0)),
        residual=residual,
        ordered=bool((np.diff(b) >= 0).all()),
    )
