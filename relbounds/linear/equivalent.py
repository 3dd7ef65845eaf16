"""From the best model to the set of models that are as good."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relbounds.linear.families.rows import FloatArray
from relbounds.linear.model import Spec
from relbounds.solver.engines.batch import share_active
from relbounds.solver.model import Model
from relbounds.solver.optimum import Solution
from relbounds.solver.polytope import Polytope
from relbounds.solver.refitted import Budgets

Three = tuple[FloatArray, FloatArray, FloatArray]

# The room that a budget of loss has for rounding, as a share of the loss of a model that misses every row by the whole
# margin. Where no loss is left a budget moves bounds by up to ten thousand times as much, relative to the norm: at 2e-9
# some moved by 1e-5, at 1e-11 none by more than what is promised. None at all would leave sets without interior.
ROUNDING = 1e-11
# The same where correcting functions cover every row.
THIN = 1e-11


def equivalent_models(spec: Spec, solution: Solution, delta: float, tolerance: str) -> Polytope:
    """Return the set of models as good as the best up to delta, its active rows worked out.

    Examples
    --------
    >>> from relbounds.design import design_from_arrays
    >>> from relbounds.linear.families.rows import ModelKind
    >>> from relbounds.linear.model import build
    >>> from relbounds.solver.optimum import fit_baseline
    >>> design = design_from_arrays([[-1.0], [1.0], [-0.8], [0.9]], [1, 2, 1, 2], levels=["no", "yes"])
    >>> spec = build(design, ModelKind())
    >>> best = fit_baseline(spec.model, 10.0)
    >>> bool(equivalent_models(spec, best, 0.1, "split").norm > best.penalty)
    True
    """
    model = spec.model
    if tolerance == "joint":
        joint = (solution.C, (1 + delta) * solution.objective)
        return _with_room(spec, share_active(Polytope(model, joint=joint, start=solution.v)))
    norm, loss = (1 + delta) * solution.penalty, max((1 + delta) * solution.loss, _least_loss(model))
    return _with_room(spec, share_active(Polytope(model, norm=norm, loss=loss, start=solution.v)))


def _least_loss(model: Model) -> float:
    """Return the least budget of loss that leaves room for rounding.

    Rows in pairs, as in regression, allow no model but one when the loss is zero, and zero is known only up to
    rounding. Rows that all ask for a margin keep room in the norm.
    """
    if not model.h.size or model.h.min() > 0:
        return 0.0
    return ROUNDING * float(np.abs(model.h).max() * model.c.sum())


def budgets_of(model: Model, C: float, delta: float, tolerance: str) -> Budgets:
    """Return how the budgets of equivalent models follow from norm, loss and objective of the best, for many at once.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> one = np.ones(1)
    >>> budgets_of(model, 2.0, 0.5, "split")(one, 2 * one, 4.5 * one)[2].tolist()
    [[1.5, 3.0]]
    """

    def split(penalty: FloatArray, loss: FloatArray, objective: FloatArray) -> Three:
        least = _least_loss(model)
        B = np.column_stack([(1 + delta) * penalty, np.maximum((1 + delta) * loss, least)])
        return np.array([1.0, 0.0]), np.array([0.0, 1.0]), B

    def joint(penalty: FloatArray, loss: FloatArray, objective: FloatArray) -> Three:
        return np.array([0.5]), np.array([C]), (1 + delta) * objective[:, None]

    return joint if tolerance == "joint" else split


def _with_room(spec: Spec, polytope: Polytope) -> Polytope:
    """Return the polytope with a start that keeps away from every hard row.

    Larger offsets cover all rows at once, and thresholds a little apart then cost nothing more: half of what
    the budgets leave is spent on that.
    """
    if not spec.functions:
        return polytope
    total = float(spec.rows.weight.sum())
    if polytope.loss is not None:
        # without any loss every correction would have to be exactly 0, and the set would have no interior
        polytope = replace(polytope, loss=max(polytope.loss, THIN * total))
    k, b = spec.rows.n_thresholds, spec.sizes.thresholds_start
    p, l, B = polytope.budgets
    used = p * spec.model.penalty_of(polytope.start) + l * spec.model.loss_of(polytope.start)
    room = float(np.min((B - used)[l > 0] / l[l > 0]))
    height = 1.0 + (k - 1) / 2
    step = 0.5 * room / (height * total)
    if step <= 0:
        return polytope
    start = polytope.start.copy()
    start[b : b + k] += step * (np.arange(k) - (k - 1) / 2)
    start[[f.offset for f in spec.functions]] += step * height
    return replace(polytope, start=start)
