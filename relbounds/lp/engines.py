"""Which engine answers which push."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import linprog

from relbounds.lp.full import full_lp
from relbounds.lp.problem import Polytope, Pushed, Ranges, check_solver


def push_many(polytope: Polytope, directions: np.ndarray, solver: str = "cvxopt") -> Pushed:
    """Return extreme values of ``direction . v`` over the polytope, with certificates.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.lp.problem import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.array([0.5]))
    >>> bool(abs(push_many(tope, np.eye(1)).value[0] - 1) < 1e-6)
    True
    """
    check_solver(solver)
    directions = np.atleast_2d(np.asarray(directions, dtype=float))
    lp = full_lp(polytope)
    k, q = directions.shape
    value, bound, point = np.full(k, np.nan), np.full(k, np.nan), np.full((k, q), np.nan)
    for i, direction in enumerate(directions):
        cost = np.zeros(lp.lhs.shape[1])
        cost[:q] = -direction
        bounds = np.column_stack([lp.lower, lp.upper])
        out = linprog(cost, A_ub=lp.lhs, b_ub=lp.rhs, bounds=bounds, method="highs")
        if out.status == 0:
            value[i], bound[i], point[i] = -out.fun, -out.fun, out.x[:q]
    return Pushed(value, bound, point, bound - value, np.isfinite(value), ("highs",) * k)


def push_columns(
    polytope: Polytope, columns: Sequence[tuple[int, np.ndarray]], solver: str = "cvxopt"
) -> Ranges:
    """Return the signed range of variable j for each problem whose column j of ``G`` is replaced.

    Parameters
    ----------
    polytope : Polytope
        The polytope of the unchanged data; its budgets are kept.
    columns : sequence of (int, ndarray of shape (R,)) or (int, ndarray, ndarray of shape (m,))
        Which variable, its new column of ``G`` and, where hard rows change too, of ``A``.
    solver : str, optional
        Engine.

    Returns
    -------
    Ranges
        `feasible` is False, and the range nan, where no model keeps the budgets.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.lp.problem import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.5]))
    >>> push_columns(tope, [(0, np.ones(1)), (0, np.zeros(1))]).feasible.tolist()
    [True, False]
    """
    parts = []
    for entry in columns:
        j = entry[0]
        G = polytope.model.G.copy()
        G[:, j] = entry[1]
        model = replace(polytope.model, G=G)
        if len(entry) > 2:
            A = polytope.model.A.copy()
            A[:, j] = entry[2]
            model = replace(model, A=A)
        parts.append(ranges(replace(polytope, model=model), [j], solver))
    return Ranges(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("lower", "upper", "gap", "feasible")
        ),
        solver=tuple(name for part in parts for name in part.solver),
    )


def ranges(polytope: Polytope, variables: Sequence[int], solver: str = "cvxopt") -> Ranges:
    """Return the signed range of each of some variables over the polytope.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.lp.problem import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> found = ranges(Polytope(model, norm=2.0, loss=0.5, start=np.array([1.0])), [0])
    >>> np.round(found.lower, 6).tolist(), np.round(found.upper, 6).tolist()
    ([0.5], [2.0])
    """
    index = np.asarray(variables, dtype=int)
    k = index.size
    directions = np.zeros((2 * k, polytope.model.q))
    directions[np.arange(k), index] = -1.0
    directions[k + np.arange(k), index] = 1.0
    pushed = push_many(polytope, directions, solver)
    return Ranges(
        lower=-pushed.value[:k],
        upper=pushed.value[k:],
        gap=np.maximum(pushed.gap[:k], pushed.gap[k:]),
        feasible=pushed.feasible[:k] & pushed.feasible[k:],
        solver=tuple(
            b if a == b else f"{a}+{b}" for a, b in zip(pushed.solver[:k], pushed.solver[k:], strict=True)
        ),
    )
