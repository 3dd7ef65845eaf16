"""The L1 model: its optimum at one C, along a path of C, and for many folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.certificates import dual_bound
from relbounds.solver.core import State
from relbounds.solver.engines.simplex import least_objective
from relbounds.solver.few_columns import model_with
from relbounds.solver.few_each import fit_paths, fit_priced, fits_each
from relbounds.solver.model import Model
from relbounds.solver.polytope import Polytope
from relbounds.solver.priced import OTHER, WARM, accurate, priced_core, priced_start
from relbounds.solver.pricing import (
    Found,
    Problems,
    Solve,
    first_columns,
    fit_few,
    fit_grown,
    has_many,
    join_columns,
    more_than_few,
    overpull,
)
from relbounds.solver.reduced import Duals, Reduced
from relbounds.solver.tolerances import EXACT, FACE, LEFT_OUT, OPTIMAL, TOUCHING
from relbounds.solver.working_rows import MANY, WorkingRows

# Entries of one array of a batch; more C than fit are run one batch after the other.
ENTRIES = 4_000_000
# Folds are worked on together while all their rows and C make up no more entries than this.
TOGETHER = 100_000
# Which of many rows are of use to folds is asked of the model of all of them, at this accuracy.
NEARLY = 1e-2
# Which of many columns are of use at all is asked at this accuracy.
ROUGH = 1e-2


@dataclass(frozen=True)
class Solution:
    """An optimum of a model at one C.

    Parameters
    ----------
    v : ndarray, shape (q,)
        The optimal variables.
    penalty, loss, objective : float
        ``penalty.|v|``, the loss, and half the first plus C times the second.
    dual : ndarray, shape (R,)
        Multipliers of the loss rows, between 0 and ``C c``.
    gap : float
        Objective minus a bound that multipliers prove: no model is better by more.
    C : float
        Price of the loss.
    losses : ndarray, shape (R,)
        The slack each row needs.
    alpha : ndarray, shape (m,)
        Multipliers of the hard rows.

    Attributes
    ----------
    certified : float
        The gap relative to the objective.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.linear.plain import plain_model
    >>> from relbounds.linear.families import make_rows
    >>> model = plain_model(np.array([[-1.0], [1.0]]), make_rows(np.array([1, 2]), "binary"))
    >>> bool(fit_baseline(model, 10.0).gap < 1e-6)
    True
    """

    v: np.ndarray
    penalty: float
    loss: float
    objective: float
    dual: np.ndarray
    gap: float
    C: float
    losses: np.ndarray
    alpha: np.ndarray

    @property
    def certified(self) -> float:
        """The gap relative to the objective: no model is better by more than this share."""
        if self.gap <= 0:
            return 0.0
        return self.gap / abs(self.objective) if self.objective else np.inf


def fit_baseline(model: Model, C: float, *, accuracy: float = EXACT) -> Solution:
    """Return the optimum of a model at one C.

    The interior point leads to the middle of the optimal face when the optimum is not unique, so the answer depends
    on the data alone; its support is then made exact.

    Parameters
    ----------
    model : Model
        The model.
    C : float
        Price of the loss.
    accuracy : float, optional
        Relative accuracy of the objective. With less than the usual one a few iterations are saved, and the support
        is not made exact.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.linear.plain import plain_model
    >>> from relbounds.linear.families import make_rows
    >>> model = plain_model(np.array([[-1.0], [1.0]]), make_rows(np.array([1, 2]), "binary"))
    >>> np.round(fit_baseline(model, 10.0).v, 6).tolist()[0]
    1.0
    """
    return _fit(model, [C], accuracy, exact=accuracy <= EXACT)[0]


def fit_path(model: Model, Cs: Sequence[float]) -> list[Solution]:
    """Return the optimum at each of several C.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.linear.plain import plain_model
    >>> from relbounds.linear.families import make_rows
    >>> model = plain_model(np.array([[-1.0], [1.0]]), make_rows(np.array([1, 2]), "binary"))
    >>> [round(s.penalty, 6) for s in fit_path(model, [0.1, 10.0])]
    [0.0, 1.0]
    """
    return _fit(model, Cs, EXACT, exact=True)


def fit_folds(model: Model, Cs: Sequence[float], prices: np.ndarray, gap: float = 1e-4) -> np.ndarray:
    """Return, for each row of `prices`, the path in C of the model with these row prices.

    One fold of a cross-validation is one row of `prices`: the prices of the model, and 0 for rows left out.
    All C of a fold, and all folds of a small model, are worked on together, only as exactly as choosing among them
    needs, and nothing is proved of them. With many columns it is the folds alone, one C after the other.

    Parameters
    ----------
    model : Model
        The model on all samples.
    Cs : sequence of float
        The path.
    prices : ndarray, shape (folds, R)
        Row prices of each fold.
    gap : float, optional
        Relative accuracy of the objective.

    Returns
    -------
    ndarray, shape (folds, len(Cs), q)
        The optimal variables.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.linear.plain import plain_model
    >>> from relbounds.linear.families import make_rows
    >>> X, y = np.array([[-1.0], [1.0], [-1.0], [1.0]]), np.array([1, 2, 1, 2])
    >>> model = plain_model(X, make_rows(y, "binary"))
    >>> found = fit_folds(model, [0.01, 10.0], np.array([[1, 0, 1, 0], [0, 1, 0, 1]]))
    >>> abs(found[:, :, 0].round(1)).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    prices = np.asarray(prices, dtype=float).reshape(-1, model.h.size)
    path = np.asarray(Cs, dtype=float)
    if more_than_few(model) and prices.size <= TOGETHER:
        reduced = priced_core(replace(model, c=prices.max(axis=0)))
        if fits_each(reduced):
            return fit_paths(model, reduced, path, prices, gap)
    out = np.empty((len(prices), path.size, model.q))
    if model.h.size >= MANY and len(prices) > 1 and not more_than_few(model):
        whole = np.tile(prices.max(axis=0), (path.size, 1))
        for i, near in enumerate(_weighted(model, path, whole, NEARLY, None)[0]):
            out[:, i] = fit_weighted(model, path[i], prices, gap, near=near)
        return out
    # a large fold is quicker without the rows it leaves out, small ones together
    step = max(1, TOGETHER // max(path.size * model.h.size, 1))
    for first in range(0, len(prices), step):
        some = prices[first : first + step]
        each = np.tile(path, len(some))
        found = fit_weighted(model, each, np.repeat(some, path.size, axis=0), gap)
        out[first : first + step] = found.reshape(len(some), path.size, model.q)
    return out


def fit_weighted(
    model: Model,
    C: float | np.ndarray,
    prices: np.ndarray,
    gap: float = 1e-4,
    *,
    linear: np.ndarray | None = None,
    near: np.ndarray | None = None,
) -> np.ndarray:
    """Return the optimal variables for each row of `prices`: the same rows, priced otherwise.

    All problems go through one vectorised run. A row of price 0 is left out of its problem.

    Parameters
    ----------
    model : Model
        The model; its own prices are not used.
    C : float or ndarray, shape (B,)
        Price of the loss, or one for each problem.
    prices : ndarray, shape (B, R)
        Row prices of each problem.
    gap : float, optional
        Relative accuracy of the objective.
    linear : ndarray, shape (B, q), optional
        The linear part of the loss of each problem, where it changes with the prices.
    near : ndarray, shape (q,), optional
        A model that is likely to be near all of them: it tells which of many rows need be looked at.

    Returns
    -------
    ndarray, shape (B, q)

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.linear.plain import plain_model
    >>> from relbounds.linear.families import make_rows
    >>> model = plain_model(np.array([[-1.0], [1.0]]), make_rows(np.array([1, 2]), "binary"))
    >>> found = fit_weighted(model, 1.0, np.array([[0.1, 0.1], [10.0, 10.0]]))
    >>> np.abs(np.round(found[:, 0], 3)).tolist()
    [0.0, 1.0]
    """
    prices = np.asarray(prices, dtype=float)
    each = np.broadcast_to(np.asarray(C, dtype=float), len(prices))
    # several are worth it sooner: what one has a use for is handed on to the next
    several = each.size > 1 and more_than_few(model)
    if linear is None and several and not np.ptp(each):
        reduced = priced_core(replace(model, c=prices.max(axis=0)))
        if fits_each(reduced):
            return fit_priced(reduced, float(each[0]), prices, gap)
    if linear is None and (has_many(model) or several):
        return fit_few(model, Problems(each, prices), _on_columns(model, each, prices), gap)
    if near is not None and linear is None and model.h.size >= MANY:
        return _weighted_near(model, each, prices, gap, near)
    beside = near if linear is None else None
    return _weighted(model, each, prices, gap, linear, near=beside, warm=OTHER)[0]


def _weighted_near(
    model: Model, each: np.ndarray, prices: np.ndarray, gap: float, near: np.ndarray
) -> np.ndarray:
    """Return the optimal variables for each row of prices, solved on the rows whose kinks are near a model's."""
    tiny = TOUCHING * model.height
    rows = WorkingRows(model.G @ near - model.h, model.G[:, model.penalty <= 0], tiny)
    out, left = np.empty((len(prices), model.q)), np.arange(len(prices))
    while left.size:
        some, held = rows.active, np.where(rows.linear, prices[left], 0.0)
        fewer = replace(model, G=model.G[some], h=model.h[some], c=model.c[some])
        linear, constant = model.linear - held @ model.G, held @ model.h
        found = _weighted(fewer, each[left], prices[left][:, some], gap, linear, constant, near, warm=OTHER)[
            0
        ]
        out[left] = found
        margin = np.where(prices[left] > 0, found @ model.G.T - model.h, 0.0)
        left = left[rows.join(margin)]
    return out


def _on_columns(model: Model, each: np.ndarray, prices: np.ndarray, precise: bool = False) -> Solve:
    """Return how problems with prices of their own are solved on some of the columns."""

    def solve(some: np.ndarray, chosen: np.ndarray, gap: float, near: np.ndarray | None) -> Found:
        fewer = None if near is None else near[chosen]
        few = model_with(model, chosen)
        return _weighted(few, each[some], prices[some], gap, None, near=fewer, precise=precise)

    return solve


def _weighted(
    model: Model,
    each: np.ndarray,
    prices: np.ndarray,
    gap: float,
    linear: np.ndarray | None,
    constant: np.ndarray | None = None,
    near: np.ndarray | None = None,
    precise: bool = False,
    warm: float = WARM,
) -> Found:
    """Return the optimal variables for each row of prices, and the multipliers of loss rows and hard rows."""
    reduced = priced_core(replace(model, c=prices.max(axis=0, initial=0.0)))
    core = reduced.core
    slopes = np.tile(model.linear, (len(prices), 1)) if linear is None else np.asarray(linear, dtype=float)
    slopes = slopes[:, reduced.free] * reduced.unit
    own = prices[:, reduced.rows] * reduced.height
    if own.size:
        # an interior point needs every price above 0: what is left of a row left out cannot be seen in the objective
        own = np.maximum(own, LEFT_OUT * own.mean(axis=1, keepdims=True))
    out = np.empty((len(prices), model.q))
    beta, alpha = np.empty((len(prices), model.h.size)), np.empty((len(prices), model.a.size))
    step = max(1, ENTRIES // max(core.h.size + core.a.size, 1))
    for first in range(0, len(prices), step):
        here = slice(first, first + step)
        B = len(own[here])
        start = priced_start(
            core, reduced, each[here], np.full(B, 0.5), np.full(B, np.inf), own[here], near, warm
        )
        states = interior.solve(
            core,
            -each[here, None] * slopes[here],
            start,
            np.full(B, -1.0),
            stop=accurate(core, slopes[here], gap, 0.0 if constant is None else constant[here]),
            precise=precise,
        )
        out[here] = reduced.back(states.v)
        duals = reduced.duals(states.z4, states.alpha, states.lam)
        beta[here], alpha[here] = duals.beta, duals.alpha
    return out, beta, alpha


def _fit(model: Model, Cs: Sequence[float], accuracy: float, exact: bool) -> list[Solution]:
    prices = np.asarray(Cs, dtype=float)
    if has_many(model):
        found = [_fit_few(model, float(C), accuracy, exact) for C in prices]
        return [
            one
            if one.certified <= max(OPTIMAL, accuracy)
            else _fit_all(model, np.array([C]), accuracy, exact)[0]
            for C, one in zip(prices, found, strict=True)
        ]
    return _fit_all(model, prices, accuracy, exact)


def _fit_few(model: Model, C: float, accuracy: float, exact: bool) -> Solution:
    """Return the optimum, fitted on the columns it has a use for; what it proves holds for all columns."""
    solve = _on_columns(model, np.full(1, C), model.c[None, :], precise=exact)
    near, chosen = fit_grown(model, 0, first_columns(model), solve, ROUGH)
    while True:
        small = _fit_all(model_with(model, chosen), np.array([C]), accuracy, exact, near[chosen])[0]
        over = overpull(model, small.dual[None, :], small.alpha[None, :])[0]
        # columns that may be used in the place of others without a loss belong to the optimal face
        near = np.zeros(model.q)
        near[chosen] = small.v
        if not join_columns(chosen, over, -FACE if exact else accuracy):
            return solution_at(model, C, near, small.dual, small.alpha)


def _fit_all(
    model: Model, prices: np.ndarray, accuracy: float, exact: bool, near: np.ndarray | None = None
) -> list[Solution]:
    """Return the optimum at each C, fitted on all columns, from a model likely to be near where one is known."""
    reduced = priced_core(model)
    step = max(1, ENTRIES // max(reduced.core.h.size + reduced.core.a.size, 1))
    found: list[Solution] = []
    for first in range(0, prices.size, step):
        some = prices[first : first + step]
        core = reduced.core
        linear = model.linear[reduced.free] * reduced.unit
        d = -some[:, None] * linear
        none = np.full(some.size, np.inf)
        start = priced_start(core, reduced, some, np.full(some.size, 0.5), none, near=near)
        enough = accurate(core, np.tile(linear, (some.size, 1)), accuracy)
        states = interior.solve(core, d, start, np.full(some.size, -1.0), stop=enough, precise=exact)
        found += [_solution(model, reduced, states, i, float(C), exact) for i, C in enumerate(some)]
    return found


def _solution(model: Model, reduced: Reduced, states: State, i: int, C: float, exact: bool) -> Solution:
    v = reduced.back(states.v[i : i + 1])[0]
    if exact:
        v = _sharpen(model, reduced, states, i, C, v)
    duals = reduced.duals(states.z4[i : i + 1], states.alpha[i : i + 1], states.lam[i : i + 1])
    found = solution_at(model, C, v, duals.beta[0], duals.alpha[0])
    if exact and found.certified > OPTIMAL:
        found = _by_simplex(model, reduced, C, found)
    return found


def solution_at(model: Model, C: float, v: np.ndarray, beta: np.ndarray, alpha: np.ndarray) -> Solution:
    """Return a point as a solution, with what multipliers prove about its objective.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> solution_at(model, 5.0, np.ones(1), np.array([0.5]), np.zeros(0)).gap
    0.0
    """
    beta = np.clip(beta, 0.0, C * model.c)
    losses = model.hinge(v)
    penalty, loss = model.penalty_of(v), float(model.linear @ v + model.c @ losses)
    objective = 0.5 * penalty + C * loss
    # a model better by more than this gap would lie in a set that these multipliers prove to be empty
    better = Polytope(model, joint=(C, objective), start=v)
    one = Duals(np.ones((1, 1)), beta[None, :], alpha[None, :])
    gap = max(float(dual_bound(better, np.zeros((1, model.q)), one)[0]), 0.0)
    return Solution(v, penalty, loss, objective, beta, gap, C, losses, alpha)


def _by_simplex(model: Model, reduced: Reduced, C: float, before: Solution) -> Solution:
    """Return the better of a solution and what a simplex finds."""
    linear = C * model.linear[reduced.free] * reduced.unit
    found = least_objective(reduced, C, linear)
    if found is None:
        return before
    v, z4, alpha = found
    duals = reduced.duals(z4[None, :], alpha[None, :], np.zeros((1, 0)))
    point = reduced.back(v[None, :])[0]
    if model.violation_of(point) > TOUCHING * model.height:
        point = before.v
    after = solution_at(model, C, point, duals.beta[0], duals.alpha[0])
    # either point may be the better one, and either multipliers may prove more; where both are as good, the middle of
    # the optimal face hangs on the data alone, a vertex of it on rounding
    best = before if before.objective <= after.objective + EXACT * abs(after.objective) else after
    proved = max(one.objective - one.gap for one in (before, after))
    return replace(best, gap=max(best.objective - proved, 0.0))


def _sharpen(model: Model, reduced: Reduced, states: State, i: int, C: float, v: np.ndarray) -> np.ndarray:
    """Return the optimum with its support exact: zeros are zero, and rows at their kink are met exactly.

    The nearest point with these equalities is taken if it is no worse.
    """
    core, s = reduced.core, reduced.core.pen.size
    u1, u2, z1, z2 = (getattr(states, name)[i] for name in ("u1", "u2", "z1", "z2"))
    xi, f, z3, z4 = (getattr(states, name)[i] for name in ("xi", "f", "z3", "z4"))
    g, alpha = states.g[i], states.alpha[i]
    scale_v = max(float(np.max(np.abs(states.v[i, :s]), initial=0.0)), 1e-3)
    zero = (u1 / scale_v < z1 / (0.5 * core.pen)) & (u2 / scale_v < z2 / (0.5 * core.pen))
    kink = np.flatnonzero((xi < z3 / (C * core.c)) & (f < z4 / (C * core.c)))
    # a multiplier counts only against the size that multipliers have here
    tight = np.flatnonzero(
        g < alpha / max(float(alpha.max(initial=0.0)), 0.5 * float(core.pen.min(initial=1.0)))
    )
    support = np.concatenate([np.flatnonzero(~zero), np.arange(s, core.q)])
    trial = states.v[i].copy()
    trial[:s][zero] = 0.0
    E = np.vstack([core.G[kink], core.A[tight]])[:, support]
    e = np.concatenate([core.h[kink], core.a[tight]])
    best = v
    value = model.objective_of(v, C)
    if len(E) and len(E) <= 3 * core.q + 50:
        trial[support] += np.linalg.lstsq(E, e - E @ trial[support], rcond=1e-11)[0]
    candidate = reduced.back(trial[None, :])[0]
    candidate = np.clip(candidate, model.lower, model.upper)
    if model.violation_of(candidate) <= 1e-12 * (1 + np.max(np.abs(candidate), initial=0.0)):
        new = model.objective_of(candidate, C)
        if new <= value + 1e-12 * abs(value):
            best = candidate
    return best
