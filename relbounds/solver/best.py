"""A point inside a polytope, and the best one: the least objective that its budgets and bounds allow."""

from __future__ import annotations

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.active_rows import FEW, smaller
from relbounds.solver.engines.simplex import least_objective
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import is_lossless
from relbounds.solver.starts import Ready, balanced, prepare

# Accuracy of the best objective, relative to its own size; weights below the root of it are rounding.
EXACT = 1e-9
# Weights below this share of the norm are zero if the model is then no worse and still inside.
NOTHING = 1e-6
# Rows left out are worth the check that they were rightly so where at most this share is kept.
WORTH = 0.5


def point_inside(polytope: Polytope) -> np.ndarray | None:
    """Return a point inside a polytope, with room on all sides where there is any; None where it is empty.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> point_inside(Polytope(model, norm=0.5, loss=0.1, start=np.zeros(1))) is None
    True
    """
    few = on_active(polytope)
    if few is not None:
        found = _point_of(few)
        # fewer rows make the set larger: where even that is empty there is no point, and one of it may do
        if found is None or polytope.excess_of(found) <= 0.0:
            return found
    return _point_of(polytope)


def _point_of(polytope: Polytope) -> np.ndarray | None:
    ready = prepare(polytope)
    if not ready.feasible:
        return None
    return np.clip(ready.reduced.back(ready.v[None, :])[0], polytope.model.lower, polytope.model.upper)


def on_active(polytope: Polytope) -> Polytope | None:
    """Return the set on the rows that it is known to move across their kink; None where no such hint helps."""
    hint = polytope.active
    if hint is None or hint.mean() > WORTH or polytope.model.h.size <= FEW or is_lossless(polytope):
        return None
    return smaller(polytope, hint).polytope


def best_inside(polytope: Polytope, C: float) -> np.ndarray | None:
    """Return the point of a polytope with the least ``1/2 norm + C loss``; None where the polytope is empty.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=2.0, loss=0.5, start=np.array([1.0]))
    >>> best_inside(tope, 10.0).round(6), best_inside(tope.bounded(np.array([3.0]), np.array([4.0])), 10.0)
    (array([1.]), None)
    """
    few = on_active(polytope)
    if few is not None:
        found = _best_of(few, C)
        if found is None or _same_pieces(polytope, found):
            return found if found is None else _tidy(polytope, found, C)
    best = _best_of(polytope, C)
    return best if best is None else _tidy(polytope, best, C)


def _same_pieces(polytope: Polytope, v: np.ndarray) -> bool:
    """Return whether every row left out is on the piece assumed: then the best point of fewer rows is the best."""
    assert polytope.active is not None
    return not smaller(polytope, polytope.active).wrong(polytope, v).any()


def _best_of(polytope: Polytope, C: float) -> np.ndarray | None:
    ready = prepare(polytope)
    if not ready.feasible:
        return None
    model = polytope.model
    if ready.interior:
        found = _least_objective(ready, C)
    else:
        vertex = least_objective(ready.reduced, C, C * model.linear[ready.reduced.free] * ready.reduced.unit)
        if vertex is None:
            return None
        found = vertex[0]
    return np.asarray(np.clip(ready.reduced.back(found[None, :])[0], model.lower, model.upper))


def _least_objective(ready: Ready, C: float) -> np.ndarray:
    """Return the best point in core units, from a point strictly inside."""
    reduced = ready.reduced
    core = reduced.core
    s, model = core.pen.size, reduced.polytope.model
    start_v = ready.v[None, :]
    at = reduced.back(start_v)[0]
    scale = 0.5 * model.penalty_of(at) + C * abs(model.loss_of(at))
    start = balanced(core, start_v, np.array([max(ready.thin, 1e-3) * scale]), None)
    # norm and loss have a price of their own beside that of their budgets
    start.weight += 0.5
    start.price += C
    norm, price = start.weight[:, None] * core.pen, start.price[:, None] * core.c
    if s:
        both = start.u1 + start.u2
        start.z1[:], start.z2[:] = norm * start.u2 / both, norm * start.u1 / both
    if core.h.size:
        both = start.xi + start.f
        start.z3[:], start.z4[:] = price * start.f / both, price * start.xi / both
    d = -(C * model.linear[reduced.free] * reduced.unit)[None, :]
    found = interior.solve(core, d, start, np.array([EXACT * scale]))
    return found.v[0]


def _tidy(polytope: Polytope, v: np.ndarray, C: float) -> np.ndarray:
    """Return the point with weights that are rounding set to zero, unless that leaves the set or costs something."""
    model = polytope.model
    small = (np.abs(v) <= NOTHING * polytope.size) & (model.penalty > 0)
    small &= (model.lower <= 0) & (model.upper >= 0)
    tidy = np.where(small, 0.0, v)
    slack = NOTHING * polytope.size
    kept = polytope.excess_of(tidy) <= polytope.excess_of(v) + slack
    cheap = model.objective_of(tidy, C) <= model.objective_of(v, C) * (1 + NOTHING) + 1e-12
    return tidy if kept and cheap else v
