"""A simplex on active rows, by scipy's HiGHS: for sets without an interior, and where nothing else proves its bound.

The answer is a vertex. Which constraints meet there is read off, and the point is moved onto all of them exactly: a
set without interior has no room for the simplex's own tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from relbounds.solver.active_rows import Solve, push_active
from relbounds.solver.certificates import room_at
from relbounds.solver.core import Core
from relbounds.solver.engines.answer import Answer, empty_answer
from relbounds.solver.engines.registry import Engine
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals, Reduced, reduce
from relbounds.solver.tolerances import AT_VERTEX, EMPTY, PROMISED, ROUNDING, SIMPLEX


def push_simplex(polytope: Polytope, directions: np.ndarray) -> Answer:
    """Return points and multipliers for many directions, by the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> np.round(push_simplex(tope, np.array([[1.0], [-1.0]])).points.ravel(), 5).tolist()
    [1.0, 0.5]
    """
    points, duals, solved = push_active(polytope, directions, vertices)
    if not solved.any() and is_empty(polytope):
        return empty_answer(polytope, len(directions), None)
    anchor = np.tile(polytope.start, (len(directions), 1))
    return Answer(points, duals, anchor, np.ones(len(directions), dtype=bool))


def vertices(small: Polytope) -> Solve:
    """Return a solver for one direction after the other, on all rows of a set."""
    reduced = reduce(small)
    program = whole(reduced.core)

    def solve(_: Polytope, direction: np.ndarray) -> tuple[np.ndarray, Duals] | None:
        core = reduced.core
        d = direction[reduced.free] * reduced.unit
        size = float(np.max(np.abs(d), initial=0.0)) or 1.0
        found = program.minimise(np.concatenate([-d / size, np.zeros(core.pen.size + core.h.size)]))
        if found is None:
            return None
        x, z = found
        point = reduced.back(x[None, : core.q])[0]
        for near in AT_VERTEX:
            moved = reduced.back(onto_vertex(core, x[: core.q], near)[None, :])
            if np.min(room_at(small, moved, None, ROUNDING)) >= 0:
                point = moved[0]
                break
        z4, alpha, lam = (size * part[None, :] for part in program.multipliers(z))
        return point, reduced.duals(z4, alpha, lam)

    return solve


def is_empty(polytope: Polytope) -> bool:
    """Return whether a set has no point, not even with every budget and row loosened by a hair.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> is_empty(Polytope(model, norm=0.5, loss=0.1, start=np.zeros(1)))
    True
    """
    reduced = reduce(polytope)
    core = reduced.core
    program = whole(core)
    # one more variable loosens everything that can be broken
    budgets = np.maximum(np.abs(core.B), EMPTY * core.spending)
    none = np.zeros(2 * core.pen.size + core.h.size)
    loosened = np.concatenate([none, -np.ones(core.a.size), -budgets])
    wide = Program(
        sparse.hstack([program.lhs, sparse.csc_matrix(loosened[:, None])], format="csc"),
        program.rhs,
        np.append(program.free, False),
        program.cuts,
    )
    found = wide.minimise(np.append(np.zeros(program.lhs.shape[1]), 1.0))
    return found is None or bool(found[0][-1] > EMPTY)


@dataclass(frozen=True)
class Program:
    """``lhs x <= rhs`` over ``x = (v, t, xi)``: rows ``|v| <= t`` twice, loss rows, hard rows, budgets.

    Parameters
    ----------
    lhs, rhs
        The rows.
    free : ndarray of bool
        Which variables may be negative.
    cuts : ndarray of int
        Where loss rows, hard rows and budgets begin.
    """

    lhs: sparse.csc_matrix
    rhs: np.ndarray
    free: np.ndarray
    cuts: np.ndarray

    def minimise(self, cost: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the point of least cost and the rows' multipliers; None where there is none."""
        found = self._solve(cost, presolve=True) or self._solve(cost, presolve=False)
        size = np.maximum(abs(self.lhs).max(axis=1).toarray().ravel(), np.abs(self.rhs))
        if found is not None and np.all(self.lhs @ found[0] - self.rhs <= PROMISED * size):
            return found
        # the tolerances of HiGHS are absolute, and it leaves out entries below 1e-9: a budget in units far from those
        # of the rows asks for digits that it does not have, or is lost. Rows in units of their own are the same program
        size[size == 0] = 1.0
        rows = replace(self, lhs=sparse.csc_matrix(sparse.diags(1 / size) @ self.lhs), rhs=self.rhs / size)
        again = rows._solve(cost, presolve=False)
        return found if again is None else (again[0], again[1] / size)

    def _solve(self, cost: np.ndarray, presolve: bool) -> tuple[np.ndarray, np.ndarray] | None:
        from scipy.optimize import linprog

        bounds = np.column_stack([np.where(self.free, -np.inf, 0.0), np.full(cost.size, np.inf)])
        options = {
            "primal_feasibility_tolerance": SIMPLEX,
            "dual_feasibility_tolerance": SIMPLEX,
            "presolve": presolve,
        }
        found = linprog(cost, A_ub=self.lhs, b_ub=self.rhs, bounds=bounds, method="highs-ds", options=options)
        if found.status != 0:
            return None
        return np.asarray(found.x), np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)

    def multipliers(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the multipliers of loss rows, hard rows and budgets."""
        first, second, third = self.cuts
        return z[first:second], z[second:third], z[third:]


def whole(core: Core) -> Program:
    """Return the arrays of a core as one sparse program.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.array([1.0, 0.0]))
    >>> whole(reduce(Polytope(model, norm=1.0, loss=1.0, start=np.zeros(2))).core).lhs.shape
    (5, 4)
    """
    q, s, R = core.q, core.pen.size, core.h.size
    pick = sparse.eye(s, q, format="csc")
    moduli, slacks = sparse.identity(s, format="csc"), sparse.identity(R, format="csc")
    nothing = sparse.csc_matrix
    lhs = sparse.bmat(
        [
            [pick, -moduli, nothing((s, R))],
            [-pick, -moduli, nothing((s, R))],
            [nothing(-core.G), nothing((R, s)), -slacks],
            [nothing(-core.A), nothing((core.a.size, s)), nothing((core.a.size, R))],
            [nothing(core.Lin), nothing(np.outer(core.p, core.pen)), nothing(np.outer(core.l, core.c))],
        ],
        format="csc",
    )
    rhs = np.concatenate([np.zeros(2 * s), -core.h, -core.a, core.B])
    free = np.zeros(lhs.shape[1], dtype=bool)
    free[:q] = True
    return Program(lhs, rhs, free, np.cumsum([2 * s, R, core.a.size]))


def onto_vertex(core: Core, v: np.ndarray, near: float) -> np.ndarray:
    """Return the nearest point that meets exactly all constraints that `v` meets up to `near`.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> core = reduce(Polytope(model, norm=1.0, loss=0.5)).core
    >>> onto_vertex(core, np.array([1.0 + 1e-10]), 1e-8).tolist()
    [1.0]
    """
    s = core.pen.size
    v = v.copy()
    v[:s][np.abs(v[:s]) <= near] = 0.0
    support = np.concatenate([np.flatnonzero(v[:s]), np.arange(s, core.q)])
    margin = core.G @ v - core.h
    kink, below = np.abs(margin) <= near, margin < -near
    met = core.A @ v - core.a <= near
    # the budgets on the piece that holds the point
    slope = core.Lin - np.outer(core.l, core.c[below] @ core.G[below])
    slope[:, :s] += np.outer(core.p, core.pen * np.sign(v[:s]))
    level = core.B - core.l * float(core.c[below] @ core.h[below])
    spent = np.abs(slope @ v - level) <= near * np.maximum(np.abs(core.B), core.spending)
    E = np.vstack([core.G[kink], core.A[met], slope[spent]])
    e = np.concatenate([core.h[kink], core.a[met], level[spent]])
    size = np.maximum(np.max(np.abs(E), axis=1, initial=0.0), 1e-300)
    E, e = E / size[:, None], e / size
    if not len(E):
        return v
    for _ in range(2):
        v[support] += np.linalg.lstsq(E[:, support], e - E @ v, rcond=1e-10)[0]
    return v


def least_objective(reduced: Reduced, price: float, linear: np.ndarray) -> tuple[np.ndarray, ...] | None:
    """Return the optimum of a priced model and its multipliers of loss rows and hard rows, in core units.

    Parameters
    ----------
    reduced : Reduced
        The model, with budgets or without.
    price : float
        Price of the loss; the norm costs one half.
    linear : ndarray
        What the linear part of the loss costs, in core units.
    """
    core = reduced.core
    program = whole(core)
    cost = np.concatenate([linear, 0.5 * core.pen, price * core.c])
    size = float(np.max(np.abs(cost), initial=0.0)) or 1.0
    found = program.minimise(cost / size)
    if found is None:
        return None
    x, z = found
    z4, alpha, _ = program.multipliers(size * z)
    return onto_vertex(core, x[: core.q], AT_VERTEX[0]), z4, alpha


ENGINE = Engine("simplex", push_simplex, then=("batch",))
