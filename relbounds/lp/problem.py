"""The one linear problem behind every family: models, and the polytope of those equally good."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from relbounds.errors import OptionError, nearest
from relbounds.rows import Rows

SOLVERS = ("cvxopt", "batch", "highs", "auto")


@dataclass(frozen=True)
class Model:
    """``min 1/2 sum_j penalty_j |v_j| + C * (linear.v + sum_r c_r max(0, h_r - G_r v))`` under constraints.

    The constraints are ``A v >= a`` and ``lower <= v <= upper``.

    Parameters
    ----------
    G, h, c : ndarray, shapes (R, q), (R,), (R,)
        Loss rows, their margins and prices.
    penalty : ndarray, shape (q,)
        Weight of each variable in the norm; 0 for free variables such as thresholds.
    linear : ndarray, shape (q,)
        The part of the loss that is linear in `v`.
    A, a : ndarray, shapes (m, q), (m,)
        Hard constraints.
    lower, upper : ndarray, shape (q,)
        Bounds on variables, infinite where there is none.
    inner : ndarray, shape (q,), or None
        A point with room in every hard row, where one is known; it only saves the search for one.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.rows import make_rows
    >>> model = plain_model(np.array([[-1.0], [1.0]]), make_rows(np.array([1, 2]), "binary"))
    >>> model.penalty_of(np.array([0.5, 0.0])), model.loss_of(np.array([0.5, 0.0]))
    (0.5, 1.0)
    """

    G: np.ndarray
    h: np.ndarray
    c: np.ndarray
    penalty: np.ndarray
    linear: np.ndarray
    A: np.ndarray
    a: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    inner: np.ndarray | None = None

    @property
    def q(self) -> int:
        """Number of variables."""
        return int(self.penalty.size)

    def hinge(self, v: np.ndarray) -> np.ndarray:
        """Return ``max(0, h - G v)``, the slack each row needs at `v`."""
        return np.maximum(self.h - self.G @ v, 0.0)

    def penalty_of(self, v: np.ndarray) -> float:
        """Return the weighted L1 norm of `v`."""
        return float(self.penalty @ np.abs(v))

    def loss_of(self, v: np.ndarray) -> float:
        """Return the loss of `v`: its linear part and the priced slacks."""
        return float(self.linear @ v + self.c @ self.hinge(v))

    def objective_of(self, v: np.ndarray, C: float) -> float:
        """Return half the norm plus `C` times the loss."""
        return 0.5 * self.penalty_of(v) + C * self.loss_of(v)

    def violation_of(self, v: np.ndarray) -> float:
        """Return by how much `v` breaks the hard constraints and bounds (0 when it keeps them)."""
        worst = max(float(np.max(self.lower - v, initial=0.0)), float(np.max(v - self.upper, initial=0.0)))
        return max(worst, float(np.max(self.a - self.A @ v, initial=0.0)))


def make_model(
    G: np.ndarray,
    h: np.ndarray,
    c: np.ndarray,
    penalty: np.ndarray,
    *,
    linear: np.ndarray | None = None,
    A: np.ndarray | None = None,
    a: np.ndarray | None = None,
    lower: np.ndarray | None = None,
    upper: np.ndarray | None = None,
    inner: np.ndarray | None = None,
) -> Model:
    """Return a Model with everything not given left out (no linear loss, constraints or bounds).

    Examples
    --------
    >>> import numpy as np
    >>> make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.array([1.0, 0.0])).A.shape
    (0, 2)
    """
    q = int(np.size(penalty))
    return Model(
        G=np.ascontiguousarray(np.asarray(G, dtype=float).reshape(-1, q)),
        h=np.asarray(h, dtype=float).reshape(-1),
        c=np.asarray(c, dtype=float).reshape(-1),
        penalty=np.asarray(penalty, dtype=float),
        linear=np.zeros(q) if linear is None else np.asarray(linear, dtype=float),
        A=np.zeros((0, q)) if A is None else np.ascontiguousarray(np.asarray(A, dtype=float).reshape(-1, q)),
        a=np.zeros(0) if a is None else np.asarray(a, dtype=float).reshape(-1),
        lower=np.full(q, -np.inf) if lower is None else np.asarray(lower, dtype=float),
        upper=np.full(q, np.inf) if upper is None else np.asarray(upper, dtype=float),
        inner=inner,
    )


def plain_model(X: np.ndarray, rows: Rows) -> Model:
    """Return the model without privileged information; its variables are ``v = (w, b)``.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.rows import make_rows
    >>> model = plain_model(np.array([[0.0], [1.0], [2.0]]), make_rows(np.array([1, 2, 3]), "ordinal"))
    >>> model.G.shape, model.A.tolist()
    ((4, 3), [[0.0, -1.0, 1.0]])
    """
    X = np.asarray(X, dtype=float)
    d, k, R = X.shape[1], rows.n_thresholds, len(rows)
    G = np.zeros((R, d + k))
    np.multiply(X[rows.sample], rows.sign[:, None], out=G[:, :d])
    G[np.arange(R), d + rows.threshold] = -rows.sign
    order = np.zeros((k - 1 if rows.ordered else 0, d + k))
    for j in range(order.shape[0]):
        order[j, d + j], order[j, d + j + 1] = -1.0, 1.0
    penalty = np.concatenate([np.ones(d), np.zeros(k)])
    return make_model(G, rows.h, rows.weight, penalty, A=order, a=np.zeros(order.shape[0]))


def plain_column(rows: Rows, column: np.ndarray) -> np.ndarray:
    """Return the column of ``G`` that a feature with values `column` has in a plain model.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.rows import make_rows
    >>> plain_column(make_rows(np.array([1, 2]), "binary"), np.array([3.0, 4.0])).tolist()
    [-3.0, 4.0]
    """
    return rows.sign * np.asarray(column, dtype=float)[rows.sample]


@dataclass(frozen=True)
class Pushed:
    """What pushing along k directions gave.

    Parameters
    ----------
    value : ndarray, shape (k,)
        ``direction . v`` at a point of the polytope: reached, so the true maximum is at least this.
    bound : ndarray, shape (k,)
        An upper bound on the maximum from a dual point: the true maximum is at most this.
    point : ndarray, shape (k, q)
        The points that reach `value`.
    gap : ndarray, shape (k,)
        ``bound - value``.
    feasible : ndarray of bool, shape (k,)
        Whether the polytope has a point at all (it may lack one only for probes).
    solver : tuple of str
        The engine that settled each direction.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> Pushed(one, one, one[:, None], 0 * one, one > 0, ("batch",)).gap.max()
    np.float64(0.0)
    """

    value: np.ndarray
    bound: np.ndarray
    point: np.ndarray
    gap: np.ndarray
    feasible: np.ndarray
    solver: tuple[str, ...]


@dataclass(frozen=True)
class Ranges:
    """Signed ranges of variables over the polytope, one entry per variable or probe.

    Parameters
    ----------
    lower, upper : ndarray, shape (k,)
        Least and largest value reached by a point of the polytope (nan where infeasible).
    gap : ndarray, shape (k,)
        The larger of the two certificate gaps.
    feasible : ndarray of bool, shape (k,)
        Whether the polytope has a point.
    solver : tuple of str
        The engine that settled each entry.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> found = Ranges(-one, one, 0 * one, one > 0, ("batch",))
    >>> found.upper - found.lower
    array([2.])
    """

    lower: np.ndarray
    upper: np.ndarray
    gap: np.ndarray
    feasible: np.ndarray
    solver: tuple[str, ...]


@dataclass(frozen=True)
class Polytope:
    """The models as good as a baseline, up to budgets for norm and loss.

    Parameters
    ----------
    model : Model
        Rows, prices and constraints.
    norm, loss : float or None
        Split budgets: ``penalty.|v| <= norm`` and ``loss <= loss``.
    joint : (float, float) or None
        Joint budget ``(C, J)``: ``1/2 penalty.|v| + C loss <= J``.
    start : ndarray, shape (q,)
        A point of the polytope, as a rule the baseline.
    active : ndarray of bool, shape (R,), or None
        Rows worth a slack variable of their own; a hint for speed, never a restriction.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.rows import make_rows
    >>> model = plain_model(np.array([[-1.0], [1.0]]), make_rows(np.array([1, 2]), "binary"))
    >>> tope = Polytope(model, norm=2.0, loss=0.5, start=np.array([1.0, 0.0]))
    >>> bool(abs(tope.push(np.array([1.0, 0.0])).value[0] - 2) < 1e-6)
    True
    """

    model: Model
    norm: float | None = None
    loss: float | None = None
    joint: tuple[float, float] | None = None
    start: np.ndarray = field(default_factory=lambda: np.zeros(0))
    active: np.ndarray | None = None

    def __post_init__(self) -> None:
        """Check that there are budgets."""
        if self.joint is None and (self.norm is None or self.loss is None):
            raise OptionError("A polytope needs budgets: give norm and loss, or joint=(C, J).")

    @property
    def budgets(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``(p, l, B)`` such that every budget reads ``p_k * norm + l_k * loss <= B_k``."""
        if self.joint is not None:
            C, J = self.joint
            return np.array([0.5]), np.array([float(C)]), np.array([float(J)])
        assert self.norm is not None and self.loss is not None
        return np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([float(self.norm), float(self.loss)])

    @property
    def size(self) -> float:
        """The norm against which gaps are measured: that of the start, or 1 when it is 0."""
        mu = self.model.penalty_of(self.start) if self.start.size else 0.0
        return mu if mu > 0 else 1.0

    def excess_of(self, v: np.ndarray) -> float:
        """Return by how much `v` leaves the polytope (0 inside)."""
        p, l, B = self.budgets
        over = p * self.model.penalty_of(v) + l * self.model.loss_of(v) - B
        return max(float(over.max()), self.model.violation_of(v), 0.0)

    def push_many(self, directions: np.ndarray, solver: str = "cvxopt") -> Pushed:
        """Return extreme values of ``direction . v`` with feasible points and dual bounds."""
        from relbounds.lp.engines import push_many

        return push_many(self, directions, solver)

    def push(self, direction: np.ndarray, solver: str = "cvxopt") -> Pushed:
        """Return the extreme value along one direction."""
        return self.push_many(np.atleast_2d(direction), solver)

    def on_rows(self, model: Model, moved: float) -> Polytope:
        """Return the set of another model with other rows, whose loss is larger by `moved` throughout."""
        if self.joint is not None:
            C, J = self.joint
            return replace(self, model=model, joint=(C, J + C * moved), active=None)
        assert self.loss is not None
        return replace(self, model=model, loss=self.loss + moved, active=None)

    def bounded(self, lower: np.ndarray, upper: np.ndarray) -> Polytope:
        """Return the polytope cut by further bounds on its variables (its start may then lie outside)."""
        model = self.model
        cut = replace(model, lower=np.maximum(model.lower, lower), upper=np.minimum(model.upper, upper))
        return replace(self, model=cut)


def check_solver(solver: str) -> None:
    """Raise OptionError unless `solver` names an engine.

    Examples
    --------
    >>> check_solver("cvxopt")
    """
    if solver not in SOLVERS:
        raise OptionError(
            f"solver={solver!r} is not one of {', '.join(SOLVERS)}.{nearest(str(solver), SOLVERS)}"
        )
