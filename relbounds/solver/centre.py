"""Starts from the middle of a set: from there every direction is reached in few iterations.

The analytic centre is where the product of all slacks is largest. Without an objective the multipliers there may have
any common scale; a direction picks the one at which its pull just begins to be felt.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.core import Core, Own, State
from relbounds.solver.factors import Shared
from relbounds.solver.newton import factor_of
from relbounds.solver.starts import balanced

# Newton steps toward the centre at most, and the least product of slack and multiplier, against the mean, that will do.
ROUNDS, EVEN = 8, 0.2
# Entries of the right-hand sides of directions that are looked at together: a matter of memory.
ENTRIES = 2_000_000


def centred(core: Core, v: np.ndarray, columns: Own | None) -> State:
    """Return states near the analytic centre of each problem's set, from points strictly inside.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> from relbounds.solver.polytope import Polytope
    >>> from relbounds.solver.reduced import reduce
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> core = reduce(Polytope(model, norm=1.0, loss=0.5)).core
    >>> bool(0.5 < centred(core, np.array([[0.999]]), None).v[0, 0] < 0.95)
    True
    """
    at = balanced(core, v, np.ones(len(v)), columns)
    nothing = np.zeros_like(v)
    with np.errstate(all="ignore"):
        for _ in range(ROUNDS):
            mean = at.products() / at.S.shape[1]
            residual = interior.residual_of(core, at, nothing, columns)
            even = np.min(at.S * at.Z, axis=1) > EVEN * mean
            if np.all(even & (np.max(np.abs(residual), axis=1) <= 1e-3 * mean)):
                break
            last = at.take(np.arange(len(v)))
            interior.recentre(core, at, mean, residual, columns)
            broken = ~(np.isfinite(at.S).all(axis=1) & np.isfinite(at.Z).all(axis=1))
            if broken.any():
                at.put(np.flatnonzero(broken), last.take(broken))
    return at


def ahead_of(core: Core, centre: State, d: np.ndarray, columns: Own | None) -> np.ndarray:
    """Return about how far directions go in each problem's set, as its centre tells, shape (P, k).

    The barrier's metric at the centre says how wide a set is along each direction, up to a factor of about the root of
    the number of slacks that is much the same for all of them. Nothing is proved: this tells which ones to look at.

    Parameters
    ----------
    core : Core
        The problem.
    centre : State
        The centres of P sets.
    d : ndarray, shape (k, q) or (P, k, q)
        Directions.
    columns : Columns or Stack, optional
        Columns of the centres, or their rows.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> from relbounds.solver.polytope import Polytope
    >>> from relbounds.solver.reduced import reduce
    >>> model = make_model(np.array([[1.0, 0.1]]), np.ones(1), np.ones(1), np.ones(2))
    >>> core = reduce(Polytope(model, norm=1.5, loss=0.5)).core
    >>> both = ahead_of(core, centred(core, np.array([[1.0, 0.0]]), None), np.eye(2), None)
    >>> bool(both[0, 0] > both[0, 1])
    True
    """
    d = np.broadcast_to(d, (len(centre.v), *d.shape[-2:]))
    out: np.ndarray = np.einsum("pkq,pq->pk", d, centre.v)
    with np.errstate(all="ignore"):
        factor, products = factor_of(core, centre, columns), centre.products()[:, None]
        step = max(1, ENTRIES // max(1, len(d) * core.q))
        for first in range(0, out.shape[1], step):
            some = d[:, first : first + step]
            pull = np.einsum("pkq,pqk->pk", some, factor.solve(some.transpose(0, 2, 1)))
            out[:, first : first + step] += np.sqrt(np.maximum(pull, 0.0) * products)
    # where rounding has left nothing to tell by, directions are looked at
    return np.nan_to_num(out, nan=np.inf)


def aimed(core: Core, centre: State, which: np.ndarray, d: np.ndarray, columns: Own | None) -> State:
    """Return a start for each direction: one of the centres, its multipliers scaled to the direction's pull.

    Parameters
    ----------
    core : Core
        The problem.
    centre : State
        Centres.
    which : ndarray of int, shape (B,)
        The centre each direction starts from.
    d : ndarray, shape (B, q)
        Directions.
    columns : Columns or Stack, optional
        Columns of the centres, or their rows.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> from relbounds.solver.polytope import Polytope
    >>> from relbounds.solver.reduced import reduce
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> core = reduce(Polytope(model, norm=1.0, loss=0.5)).core
    >>> start = aimed(core, centred(core, np.array([[0.7]]), None), np.zeros(2, dtype=int), np.eye(1)[[0, 0]], None)
    >>> start.which.tolist()
    [0, 1]
    """
    with np.errstate(all="ignore"):
        mean = centre.products() / centre.S.shape[1]
        metric = Shared(factor_of(core, centre, columns), which, np.ones(len(which)))
        # how far the directions reach, squared, in the metric of the barrier
        pull = np.einsum("bq,bq->b", d, metric.unscaled(d[:, :, None])[:, :, 0])
        scale = np.sqrt(np.maximum(pull, 0.0) / mean[which])
    scale = np.where(np.isfinite(scale) & (scale > 0), scale, 1.0 / mean[which])
    start = centre.take(which)
    start.Z *= scale[:, None]
    start.weight *= scale
    start.price *= scale
    start.iterations[:] = 0
    start.which = np.arange(len(which))
    start.metric = replace(metric, times=scale)
    return start
