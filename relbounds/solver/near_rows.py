"""Large sets: each direction is solved on the rows near its own solution.

A sample of the rows, corrected so that its loss has the slope of the whole loss at the start, tells about where a
direction ends. Rows far from their kinks there are held on the piece they have at that point; the others, a few
percent, make up a small problem. It is a relaxation, and exact when its answer leaves every row on the piece assumed;
otherwise the rows that changed sides join and it is solved again.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relbounds.solver.active_rows import MOST_SHARED, held
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals, is_lossless, reduce
from relbounds.solver.starts import prepare, run_core, thinness
from relbounds.solver.tolerances import FINE

# Rows of the sample: a share of all, within limits.
SAMPLED, LEAST, MOST = 0.1, 1000, 5000
# The sample's answer is off by about this much over the root of its size, relative to the way it went.
ERROR = 25.0
# Gap at which the sample's problem is finished, relative to the room its budgets have.
COARSE = 0.01


def is_large(polytope: Polytope) -> bool:
    """Return whether a set has so many active rows that each direction is worth rows of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> is_large(Polytope(model, norm=1.0, loss=1.0, start=np.ones(1)))
    False
    """
    rows = polytope.model.h.size if polytope.active is None else int(polytope.active.sum())
    return rows >= MOST_SHARED and not is_lossless(polytope)


def push_near(polytope: Polytope, directions: np.ndarray, inside: np.ndarray) -> tuple[np.ndarray, Duals]:
    """Return points and multipliers for each direction, each solved on the rows near its own solution.

    Parameters
    ----------
    polytope : Polytope
        The whole set.
    directions : ndarray, shape (k, q)
        Directions.
    inside : ndarray, shape (q,)
        A point strictly inside the set.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> np.round(push_near(tope, np.array([[1.0], [-1.0]]), np.array([0.7]))[0].ravel(), 5).tolist()
    [1.0, 0.5]
    """
    model = polytope.model
    margin = model.G @ inside - model.h
    guesses, sampled = _guess(polytope, directions, inside, margin)
    K = polytope.budgets[0].size
    shapes = (K, model.h.size, model.a.size)
    points, duals = np.empty_like(directions), Duals(*(np.empty((len(directions), size)) for size in shapes))
    for i, (direction, guess) in enumerate(zip(directions, guesses, strict=True)):
        points[i], own = _push_one(polytope, direction, inside, margin, guess, sampled)
        for name in ("lam", "beta", "alpha"):
            getattr(duals, name)[i] = getattr(own, name)[0]
    return points, duals


def _guess(
    polytope: Polytope, directions: np.ndarray, start: np.ndarray, margin: np.ndarray
) -> tuple[np.ndarray, int]:
    """Return about where each direction ends, from a sample of the rows, and the size of the sample."""
    model = polytope.model
    rows = np.arange(margin.size) if polytope.active is None else np.flatnonzero(polytope.active)
    # in the order of their margins, so that the sample has its share of rows at every distance from the kink
    rows = rows[np.argsort(margin[rows], kind="stable")]
    step = max(1.0, rows.size / np.clip(SAMPLED * margin.size, LEAST, MOST))
    sample = np.sort(rows[np.arange(0.5 * step, rows.size, step).astype(int)])
    price = model.c[sample] * (model.c[rows].sum() / max(model.c[sample].sum(), 1e-300))
    below = margin < 0
    # the slope of all rows in place of the sample's own: what is left is the error of its curvature alone
    linear = model.linear - np.where(below, model.c, 0.0) @ model.G
    linear += np.where(below[sample], price, 0.0) @ model.G[sample]
    part = replace(model, G=model.G[sample], h=model.h[sample], c=price, linear=linear)
    moved = part.loss_of(start) - model.loss_of(start)
    small = replace(polytope.on_rows(part, moved), start=start)
    ready = prepare(small)
    if not (ready.feasible and ready.interior):
        return np.tile(start, (len(directions), 1)), sample.size
    within = ready.reduced.back(ready.v[None, :])[0]
    return _solve(ready.polytope, directions, within, COARSE * ready.thin)[0], sample.size


def _solve(
    polytope: Polytope, directions: np.ndarray, start: np.ndarray, gap: float
) -> tuple[np.ndarray, Duals]:
    """Return points and multipliers from a point strictly inside, on all rows of a set."""
    reduced = reduce(polytope)
    v = np.tile(reduced.into(start), (len(directions), 1))
    thin = thinness(reduced.core, v[:1], None)[0]
    d = directions[:, reduced.free] * reduced.unit
    state = run_core(reduced.core, d, v, thin, polytope.size, None, gap)
    return reduced.back(state.v), reduced.duals(state.z4, state.alpha, state.lam)


def _push_one(
    polytope: Polytope,
    direction: np.ndarray,
    start: np.ndarray,
    margin: np.ndarray,
    guess: np.ndarray,
    sampled: int,
) -> tuple[np.ndarray, Duals]:
    model = polytope.model
    active = np.zeros(margin.size, dtype=bool)
    width = ERROR / np.sqrt(sampled)
    while True:
        there = model.G @ guess - model.h
        moved = np.sqrt(np.mean((there - margin) ** 2))
        active |= np.abs(there) <= width * moved
        if active.mean() > 0.5:
            active[:] = True
        small = held(polytope, active, there < 0)
        found, duals = _solve(small.polytope, direction[None, :], start, FINE)
        wrong = small.wrong(polytope, found[0])
        if not wrong.any():
            own = small.duals(duals, duals.lam @ polytope.budgets[1], model.c)
            return found[0], own
        if wrong.sum() > active.sum():
            # too few rows: the answer ran away from the guess, which is still the better place to look
            width *= 2.0
        else:
            active |= wrong
            guess, width = found[0], 0.5 * width
