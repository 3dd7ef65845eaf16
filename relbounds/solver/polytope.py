"""The polytope of models equally good, and what pushing along directions in it gives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from relbounds.errors import OptionError
from relbounds.solver.model import Model


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
    stopped : ndarray of bool, shape (k,), or None
        Directions that were not driven to their maximum, since `bound` proves it to be at most what was asked.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.ones(1)
    >>> float(Pushed(one, one, one[:, None], 0 * one, one > 0, ("batch",)).gap.max())
    0.0
    """

    value: np.ndarray
    bound: np.ndarray
    point: np.ndarray
    gap: np.ndarray
    feasible: np.ndarray
    solver: tuple[str, ...]
    stopped: np.ndarray | None = None


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
    at_most : ndarray of bool, shape (k,), or None
        Entries whose ends are proved limits, not values reached: both are nearer to 0 than what was asked.

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
    at_most: np.ndarray | None = None


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
    >>> from relbounds.solver.engines.dispatch import push_many
    >>> from relbounds.solver.model import make_model
    >>> model = make_model([[1.0, 1.0], [1.0, -1.0]], [1.0, 1.0], [1.0, 1.0], [1.0, 0.0])
    >>> tope = Polytope(model, norm=2.0, loss=0.5, start=np.array([1.0, 0.0]))
    >>> bool(abs(push_many(tope, np.array([1.0, 0.0])).value[0] - 2) < 1e-6)
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
        """What gaps are measured against: the sum of the absolute values that the start spends, or may spend."""
        penalised = self.model.penalty > 0
        mu = float(np.abs(self.start[penalised]).sum()) if self.start.size else 0.0
        if mu > 0:
            return mu
        p, _, B = self.budgets
        reach = float(B[0] / p[0] / np.max(self.model.penalty, initial=0.0)) if penalised.any() else 0.0
        return reach if 0 < reach < np.inf else 1.0

    def excess_of(self, v: np.ndarray) -> float:
        """Return by how much `v` leaves the polytope (0 inside)."""
        p, l, B = self.budgets
        over = p * self.model.penalty_of(v) + l * self.model.loss_of(v) - B
        return max(float(over.max()), self.model.violation_of(v), 0.0)

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
