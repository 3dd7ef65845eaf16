"""The L1 model: its optimum at one C, and along a path of C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from relbounds.errors import SolverError
from relbounds.lp.problem import Model


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
        Objective minus its dual bound.
    C : float
        Price of the loss.
    losses : ndarray, shape (R,)
        The slack each row needs.

    Examples
    --------
    >>> Solution.__name__
    'Solution'
    """

    v: np.ndarray
    penalty: float
    loss: float
    objective: float
    dual: np.ndarray
    gap: float
    C: float
    losses: np.ndarray


def fit_baseline(model: Model, C: float) -> Solution:
    """Return the optimum of a model at one C.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.lp.problem import plain_model
    >>> from relbounds.rows import make_rows
    >>> model = plain_model(np.array([[-1.0], [1.0]]), make_rows(np.array([1, 2]), "binary"))
    >>> np.round(fit_baseline(model, 10.0).v, 6).tolist()[0]
    1.0
    """
    q, R = model.q, model.h.size
    # variables v+ and v- for penalised ones would double q; |v| <= t keeps the dual readable
    s = np.flatnonzero(model.penalty > 0)
    pick = sparse.csc_matrix((np.ones(s.size), (np.arange(s.size), s)), shape=(s.size, q))
    eye = sparse.identity(s.size, format="csc")
    lhs = sparse.bmat(
        [
            [sparse.csc_matrix(-model.G), sparse.csc_matrix((R, s.size)), -sparse.identity(R)],
            [pick, -eye, None],
            [-pick, -eye, None],
            [sparse.csc_matrix(-model.A), None, None],
        ],
        format="csc",
    )
    rhs = np.concatenate([-model.h, np.zeros(2 * s.size), -model.a])
    cost = np.concatenate([C * model.linear, 0.5 * model.penalty[s], C * model.c])
    lower = np.concatenate([model.lower, np.zeros(s.size + R)])
    upper = np.concatenate([model.upper, np.full(s.size + R, np.inf)])
    out = linprog(cost, A_ub=lhs, b_ub=rhs, bounds=np.column_stack([lower, upper]), method="highs")
    if out.status != 0:
        raise SolverError(
            f"The baseline at C={C:g} could not be solved: {out.message} Try another C or rescale."
        )
    v = out.x[:q]
    losses = model.hinge(v)
    penalty, loss = model.penalty_of(v), float(model.linear @ v + model.c @ losses)
    objective = 0.5 * penalty + C * loss
    dual = -np.asarray(out.ineqlin.marginals[:R])
    return Solution(v, penalty, loss, objective, dual, abs(objective - float(out.fun)), float(C), losses)


def fit_path(model: Model, Cs: Sequence[float]) -> list[Solution]:
    """Return the optimum at each of several C.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.lp.problem import plain_model
    >>> from relbounds.rows import make_rows
    >>> model = plain_model(np.array([[-1.0], [1.0]]), make_rows(np.array([1, 2]), "binary"))
    >>> [round(s.penalty, 6) for s in fit_path(model, [0.1, 10.0])]
    [0.0, 1.0]
    """
    return [fit_baseline(model, C) for C in Cs]


def smallest_C(model: Model) -> float:
    """Return the C below which every penalised variable is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.lp.problem import plain_model
    >>> from relbounds.rows import make_rows
    >>> model = plain_model(np.array([[-1.0], [1.0]]), make_rows(np.array([1, 2]), "binary"))
    >>> round(smallest_C(model), 6)
    0.25
    """
    low, high = 1e-8, 1e8
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        if fit_baseline(model, middle).penalty > 1e-9:
            high = middle
        else:
            low = middle
    return high


def fit_folds(
    model: Model, Cs: Sequence[float], prices: np.ndarray, gap: float = 1e-4
) -> list[list[Solution]]:
    """Return, for each row of `prices`, the path in C of the model with these row prices.

    One fold of a cross-validation is one row of `prices`: the prices of the model, and 0 for rows left out.
    All folds and all C are worked on together, only as exactly as choosing among them needs.

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

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.lp.problem import plain_model
    >>> from relbounds.rows import make_rows
    >>> X, y = np.array([[-1.0], [1.0], [-1.0], [1.0]]), np.array([1, 2, 1, 2])
    >>> model = plain_model(X, make_rows(y, "binary"))
    >>> found = fit_folds(model, [0.01, 10.0], np.array([[1, 1, 0, 0], [0, 0, 1, 1]]))
    >>> [[round(s.penalty, 2) for s in path] for path in found]
    [[0.0, 1.0], [0.0, 1.0]]
    """
    return [fit_path(replace(model, c=np.asarray(c, dtype=float)), Cs) for c in prices]
