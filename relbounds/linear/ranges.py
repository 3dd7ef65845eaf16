"""From the baseline to the set of equivalent models, and from signed ranges to relevance intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from relbounds.linear.model import FloatArray
from relbounds.options import Options
from relbounds.parallel import chunks, run
from relbounds.progress import stage
from relbounds.solver.engines.batch import share_active
from relbounds.solver.engines.dispatch import ranges
from relbounds.solver.model import Model
from relbounds.solver.optimum import Solution
from relbounds.solver.polytope import Polytope, Ranges

SMALLEST_DELTA = 0.001
# Values this small, relative to the norm of the baseline, are zero: bounds are certified to this accuracy.
ZERO = 1e-6
# The room a loss budget has for rounding, as a share of the total margin asked for.
ROUNDING = 2e-8
# A loss below this much per row is rounding: the data are separable and there is no loss to be relative to.
NO_LOSS = 1e-9
# Variables per task: fixed, so that the pieces of work do not depend on the number of workers.
CHUNK = 48


def resolve_delta(delta: float | str, losses: FloatArray, rho: float) -> float:
    """Return the tolerance as a number: one or two standard errors of the total loss, relative to it.

    Parameters
    ----------
    delta : {"1se", "2se"} or float
    losses : array
        The weighted loss of each sample at the baseline.
    rho : float
        Their sum.

    Examples
    --------
    >>> losses = np.array([0.0, 1.0, 0.0, 1.0])
    >>> round(resolve_delta("1se", losses, 2.0), 3), resolve_delta(0.01, losses, 2.0)
    (0.577, 0.01)
    """
    if not isinstance(delta, str):
        return float(delta)
    if rho <= NO_LOSS * len(losses) or len(losses) < 2:
        return SMALLEST_DELTA
    one = float(np.sqrt(len(losses)) * np.std(losses, ddof=1) / rho)
    return max(SMALLEST_DELTA, one) * (2.0 if delta == "2se" else 1.0)


def equivalent_models(model: Model, solution: Solution, delta: float, tolerance: str) -> Polytope:
    """Return the set of models that are as good as the baseline up to delta, its active rows worked out."""
    if tolerance == "joint":
        joint = (solution.C, (1 + delta) * solution.objective)
        return share_active(Polytope(model, joint=joint, start=solution.v))
    norm, loss = (1 + delta) * solution.penalty, (1 + delta) * solution.loss
    if model.h.size and model.h.min() <= 0:
        # Rows in pairs, as in regression, allow no model but one when the loss is zero, and zero is known only up
        # to rounding. Rows that all ask for a margin keep room in the norm.
        loss = max(loss, ROUNDING * float(np.abs(model.h).max() * model.c.sum()))
    return share_active(Polytope(model, norm=norm, loss=loss, start=solution.v))


def signed_ranges(
    polytope: Polytope,
    variables: Sequence[int],
    options: Options,
    skipped: Mapping[int, float] | None = None,
) -> Ranges:
    """Return the least and the greatest value of each variable over the set: two linear programs each.

    Variables in `skipped` get minus and plus the bound given there instead.
    """
    if skipped:
        every = np.asarray(variables)
        asked = [j for j in variables if j not in skipped]
        none = np.zeros(0)
        found = signed_ranges(polytope, asked, options) if asked else Ranges(none, none, none, none > 0, ())
        limit = np.array([skipped.get(j, 0.0) for j in variables])
        kept = ~np.isin(every, list(skipped))
        lower, upper, gap = -limit, limit.copy(), np.zeros(every.size)
        lower[kept], upper[kept], gap[kept] = found.lower, found.upper, found.gap
        names = iter(found.solver)
        solver = tuple(next(names) if one else "screen" for one in kept)
        return Ranges(lower, upper, gap, np.ones(every.size, dtype=bool), solver)
    tasks = [[variables[i] for i in piece] for piece in chunks(len(variables), CHUNK)]
    with stage("bounds", len(variables), options.progress) as done:
        pieces = run(
            _ranges,
            tasks,
            shared=(polytope, options.solver),
            n_jobs=options.n_jobs,
            client=options.client,
            progress=lambda tasks_done: done(CHUNK * tasks_done),
        )
    return join_ranges(pieces)


def _ranges(variables: Sequence[int], shared: tuple[Polytope, str]) -> Ranges:
    polytope, solver = shared
    return ranges(polytope, variables, solver)


def join_ranges(pieces: Sequence[Ranges]) -> Ranges:
    """Put the ranges of several pieces of work behind one another."""
    lower, upper, gap, feasible = (
        np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ("lower", "upper", "gap", "feasible")
    )
    return Ranges(lower, upper, gap, feasible, tuple(name for piece in pieces for name in piece.solver))


def relevance(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Turn signed ranges into least and greatest absolute values.

    Examples
    --------
    >>> relevance(np.array([-0.5, 0.2, -0.9]), np.array([0.4, 0.6, -0.3]))
    (array([0. , 0.2, 0.3]), array([0.5, 0.6, 0.9]))
    """
    least = np.where((lower <= 0) & (upper >= 0), 0.0, np.minimum(np.abs(lower), np.abs(upper)))
    return least, np.maximum(np.abs(lower), np.abs(upper))
