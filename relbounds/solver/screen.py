"""Upper bounds on every variable at once, without a single linear program."""

from __future__ import annotations

import numpy as np

from relbounds.solver.certificates import largest_values
from relbounds.solver.optimum import Solution
from relbounds.solver.polytope import Polytope


def screen(polytope: Polytope, solution: Solution) -> np.ndarray:
    """Return an upper bound on ``|v_j|`` over the polytope for every variable, infinite where there is none.

    With the multipliers of the baseline, half the norm plus C times the loss of any model is at least the dual
    value plus ``sum_j (penalty_j / 2 - |r_j|) |v_j|``, where ``r`` is what the rows push each variable with. The
    budgets limit the left side, so a variable that the rows hardly push can hardly be used.

    Parameters
    ----------
    polytope : Polytope
        The models as good as the baseline.
    solution : Solution
        The baseline, with its multipliers.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.optimum import fit_baseline
    >>> from relbounds.linear.plain import plain_model
    >>> from relbounds.linear.families import make_rows
    >>> X = np.array([[-1.0, 0.1], [1.0, 0.1], [-1.0, -0.1], [1.0, -0.1]])
    >>> model = plain_model(X, make_rows(np.array([1, 2, 1, 2]), "binary"))
    >>> found = fit_baseline(model, 1.0)
    >>> tope = Polytope(model, norm=1.01 * found.penalty, loss=0.01, start=found.v)
    >>> bool(screen(tope, found)[1] < 0.2)
    True
    """
    return np.maximum(*screen_ends(polytope, solution))


def screen_ends(polytope: Polytope, solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Return upper bounds on ``-v_j`` and on ``v_j`` over the polytope for every variable; see `screen`.

    The rows push a variable one way, so the other way hardly any of it can be used.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.optimum import fit_baseline
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> found = fit_baseline(model, 1.0)
    >>> low, high = screen_ends(Polytope(model, norm=1.1, loss=0.1, start=found.v), found)
    >>> bool(low[0] < 0.2), round(float(high[0]), 6)
    (True, 1.1)
    """
    model, C = polytope.model, solution.C
    if polytope.joint is not None and polytope.joint[0] == C:
        most, reach = polytope.joint[1], 2.0 * polytope.joint[1]
    elif polytope.joint is None:
        assert polytope.norm is not None and polytope.loss is not None
        most, reach = 0.5 * polytope.norm + C * polytope.loss, polytope.norm
    else:
        return np.full(model.q, np.inf), np.full(model.q, np.inf)
    pushed = solution.dual @ model.G + solution.alpha @ model.A - C * model.linear
    value = float(solution.dual @ model.h + solution.alpha @ model.a)
    penalised = model.penalty > 0
    with np.errstate(all="ignore"):
        over = float(np.max(np.where(penalised, np.abs(pushed) / (0.5 * model.penalty), 0.0), initial=0.0))
    if over > 1.0:
        if model.linear.any():
            all_of_it = np.where(penalised, reach / np.where(penalised, model.penalty, 1.0), np.inf)
            return all_of_it, all_of_it
        # shrunk multipliers are still multipliers
        pushed, value = pushed / over, value / over
    # what is left of the balance of free variables can only help as far as these reach
    loose = np.where(penalised, 0.0, np.abs(pushed))
    value -= float(loose @ np.where(penalised, 0.0, largest_values(polytope)))
    ends = []
    for push in (-pushed, pushed):
        with np.errstate(all="ignore"):
            bound = max(most - value, 0.0) / (0.5 * model.penalty - push)
            bound = np.where(np.isfinite(bound) & (bound >= 0), bound, np.inf)
            ends.append(np.where(penalised, np.minimum(bound, reach / model.penalty), np.inf))
    return ends[0], ends[1]
