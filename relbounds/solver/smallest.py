"""The smallest C that is of use: below it every weight of the best model is 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.few_columns import model_with
from relbounds.solver.model import Model
from relbounds.solver.priced import priced_core, priced_start
from relbounds.solver.pricing import SHORT, first_columns, has_many, join_columns, overpull
from relbounds.solver.tolerances import NEGLIGIBLE


def smallest_C(model: Model) -> float:
    """Return the C below which every penalised variable is 0 (infinite when no C makes one useful).

    It is half the inverse of the slope at which the least loss falls as a little norm is allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.linear.plain import plain_model
    >>> from relbounds.linear.families import make_rows
    >>> model = plain_model(np.array([[-1.0], [1.0]]), make_rows(np.array([1, 2]), "binary"))
    >>> round(smallest_C(model), 4)
    0.25
    """
    if has_many(model):
        return _smallest_of_few(model)
    return _smallest(model)[0]


def _smallest_of_few(model: Model) -> float:
    """Return the smallest useful C, found on the columns that are of use first."""
    chosen = first_columns(model)
    while True:
        C, beta, alpha = _smallest(model_with(model, chosen))
        # columns that no C makes useful say nothing of the others
        if not np.isfinite(C):
            return C if chosen.all() else _smallest(model)[0]
        # multipliers that hold these columns at the slope where the first begins to be of use
        over = overpull(model, beta[None, :], alpha[None, :], 0.5 / C)[0]
        if not join_columns(chosen, over, SHORT * NEGLIGIBLE):
            return C


def _smallest(model: Model) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the smallest useful C, and multipliers of loss rows and hard rows that prove it."""
    reduced = priced_core(model)
    core = reduced.core
    total = float(core.c.sum()) + float(np.abs(model.linear).sum())
    d = -(model.linear[reduced.free] * reduced.unit)[None, :]
    # a norm so small that hardly a row changes sides on the way; larger where columns are of very different size
    # and those of largest size are of no use
    little, largest = 1e-4 * float(np.min(core.pen)), 1e-3 * float(np.max(core.pen))
    while True:
        tight = replace(core, p=np.ones(1), l=np.zeros(1), Lin=np.zeros((1, core.q)), B=np.array([little]))
        start = priced_start(tight, reduced, np.ones(1), np.zeros(1), np.full(1, little))
        found = interior.solve(tight, d, start, np.full(1, 1e-10 * total))
        # the gap leaves the slope uncertain by a millionth of its natural size: below that it is zero
        duals = reduced.duals(found.z4, found.alpha, found.lam)
        if found.lam[0, 0] > 1e-9 * total / little:
            return 0.5 / float(found.lam[0, 0]), duals.beta[0], duals.alpha[0]
        if little >= largest:
            return float("inf"), duals.beta[0], duals.alpha[0]
        little = min(1e3 * little, largest)
