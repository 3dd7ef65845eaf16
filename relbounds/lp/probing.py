"""Probes of features that own several variables, all of them in a few vectorised runs."""

from __future__ import annotations

import numpy as np

from relbounds.lp.batch import chunk_size, run_core
from relbounds.lp.problem import Polytope, Ranges
from relbounds.lp.reduce import reduce
from relbounds.lp.starts import THIN, descend, known_inside, strictly, thinness


def push_several(
    polytope: Polytope, index: np.ndarray, G: np.ndarray, A: np.ndarray, linear: np.ndarray, asked: np.ndarray
) -> Ranges | None:
    """Return the ranges of some variables, for each problem with k replaced columns; None if no start is known.

    Points stay strictly inside, so every value is reached; `gap` is what the duality gap leaves open.

    Parameters
    ----------
    polytope : Polytope
        The set of the unchanged data; its budgets are kept.
    index : ndarray of int, shape (B, k)
        Whose columns change, by problem.
    G, A, linear : ndarray, shapes (B, k, R), (B, k, m) and (B, k)
        The columns.
    asked : ndarray of int, shape (B, a)
        Whose ranges are asked for.

    Returns
    -------
    Ranges
        Of ``B * a`` variables, problem by problem.

    Examples
    --------
    >>> from relbounds.lp.problem import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1), inner=np.zeros(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> one = np.zeros((1, 1), dtype=int)
    >>> found = push_several(tope, one, np.ones((1, 1, 1)), np.zeros((1, 1, 0)), np.zeros((1, 1)), one)
    >>> np.round(found.upper, 5).tolist()
    [1.0]
    """
    reduced = reduce(polytope)
    known = known_inside(reduced)
    if known is None or polytope.model.inner is None or np.any(polytope.model.inner[index]):
        return None
    core = reduced.core
    columns = reduced.columns(index, G, A, linear)
    B, a = asked.shape
    v = np.tile(reduced.into(polytope.start), (B, 1))
    v[columns.each, columns.index] = 0.0
    good = strictly(core, v, columns)
    step = chunk_size(core.h.size + core.a.size)
    rest = np.flatnonzero(~good)
    for first in range(0, rest.size, step):
        some = rest[first : first + step]
        inside, room, _ = descend(core, np.tile(known, (some.size, 1)), columns.take(some))
        v[some], good[some] = inside, room > THIN
    owner = np.repeat(np.flatnonzero(good), 2 * a)
    d = np.zeros((owner.size, polytope.model.q))
    variables = np.repeat(asked[good].ravel(), 2)
    d[np.arange(owner.size), variables] = np.tile([-1.0, 1.0], owner.size // 2)
    value, gap = np.full(owner.size, np.nan), np.full(owner.size, np.nan)
    thin = thinness(core, v, columns)
    for first in range(0, owner.size, step):
        here = slice(first, min(first + step, owner.size))
        who = owner[here]
        own = columns.take(who)
        state = run_core(core, d[here][:, reduced.free] * reduced.unit, v[who], thin[who], polytope.size, own)
        value[here] = np.einsum("bq,bq->b", reduced.back(state.v), d[here])
        gap[here] = state.products()
    lower, upper, open_ = np.full((B, a), np.nan), np.full((B, a), np.nan), np.zeros((B, a))
    lower[good], upper[good] = -value[0::2].reshape(-1, a), value[1::2].reshape(-1, a)
    open_[good] = np.maximum(gap[0::2], gap[1::2]).reshape(-1, a)
    return Ranges(lower.ravel(), upper.ravel(), open_.ravel(), np.repeat(good, a), ("batch",) * (B * a))
