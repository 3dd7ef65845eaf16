"""Probes: problems that differ from a common one in one column each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relbounds.lp.active import Smaller
from relbounds.lp.batch import Answer, chunk_size, on_active_rows, run_core
from relbounds.lp.certify import Replaced, dual_bound, rows_at
from relbounds.lp.interior import Columns
from relbounds.lp.problem import Polytope
from relbounds.lp.reduce import Duals, Reduced, reduce
from relbounds.lp.starts import THIN, Ready, find_inside, strictly, thinness


@dataclass(frozen=True)
class Without:
    """What is left of the set when a variable is not used at all.

    A point of it serves every probe of that variable as a start; multipliers that prove it empty very often prove
    the same for a probe, whose column is noise.

    Parameters
    ----------
    points : dict
        By variable: a point inside, in original units.
    proofs : dict
        By variable: multipliers that prove that there is none.
    """

    points: dict[int, np.ndarray]
    proofs: dict[int, Duals]


def without_each(polytope: Polytope, variables: Sequence[int]) -> Without:
    """Return, for each variable, a point of the set that does not use it, or the proof that there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.lp.problem import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.ones(2))
    >>> found = without_each(Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7, 0.0])), [0, 1])
    >>> sorted(found.points)
    [0, 1]
    """
    reduced = reduce(polytope)
    index = np.unique(np.asarray(variables, dtype=int))
    points: dict[int, np.ndarray] = {}
    proofs: dict[int, Duals] = {}
    step = chunk_size(reduced.core.h.size + reduced.core.a.size)
    for first in range(0, index.size, step):
        some = index[first : first + step]
        G, A = np.zeros((some.size, polytope.model.h.size)), np.zeros((some.size, polytope.model.a.size))
        columns = reduced.columns(some, G, A)
        columns.Lin[:] = 0.0
        v = np.tile(reduced.into(polytope.start), (some.size, 1))
        v[np.arange(some.size), columns.index] = 0.0
        good = strictly(reduced.core, v, columns)
        rest = np.flatnonzero(~good)
        if rest.size:
            inside, room, state = find_inside(reduced.core, v[rest], columns.take(rest))
            inside[np.arange(rest.size), columns.index[rest]] = 0.0
            duals = reduced.duals(state.z4, state.alpha[:, :-1], state.lam)
            for i, j in enumerate(rest):
                if room[i] > THIN:
                    v[j], good[j] = inside[i], True
                else:
                    proofs[int(some[j])] = Duals(duals.lam[[i]], duals.beta[[i]], duals.alpha[[i]])
        back = reduced.back(v)
        points |= {int(some[j]): back[j] for j in np.flatnonzero(good)}
    return Without(points, proofs)


@dataclass(frozen=True)
class Starts:
    """Points strictly inside each probe's set (original units), and whether there is one."""

    reduced: Reduced
    points: np.ndarray
    thin: np.ndarray
    good: np.ndarray


def starts_for(polytope: Polytope, replaced: Replaced, without: Without | None) -> Starts:
    """Return, for problems with one replaced column each, points strictly inside and whether there are any.

    A point that does not use the variable is tried first, then the proof that there is no such point; only
    where neither settles the matter is a point sought for the probe itself.
    """
    reduced = reduce(polytope)
    columns = reduced.columns(replaced.index, replaced.G, replaced.A)
    B = len(replaced.index)
    v = np.tile(reduced.into(polytope.start), (B, 1))
    v[np.arange(B), columns.index] = 0.0
    good = strictly(reduced.core, v, columns)
    if without is None:
        without = without_each(polytope, replaced.index[~good].tolist())
    empty = np.zeros(B, dtype=bool)
    for i in np.flatnonzero(~good):
        j = int(replaced.index[i])
        if j in without.points:
            v[i], good[i] = reduced.into(without.points[j]), True
        elif j in without.proofs:
            nothing = np.zeros((1, polytope.model.q))
            bound = dual_bound(polytope, nothing, without.proofs[j], replaced.take(np.array([i])))
            empty[i] = bound[0] < 0
    rest = np.flatnonzero(~good & ~empty)
    step = chunk_size(reduced.core.h.size + reduced.core.a.size)
    for first in range(0, rest.size, step):
        some = rest[first : first + step]
        inside, room, _ = find_inside(reduced.core, v[some], columns.take(some))
        v[some] = inside
        good[some] = room > THIN
    thin = thinness(reduced.core, v, columns)
    return Starts(reduced, reduced.back(v), thin, good)


def push_replaced(
    polytope: Polytope, starts: Starts, which: np.ndarray, replaced: Replaced, directions: np.ndarray
) -> Answer:
    """Return points and multipliers for directions with one replaced column each.

    Parameters
    ----------
    polytope : Polytope
        The common set.
    starts : Starts
        Points inside the probes' sets.
    which : ndarray of int, shape (k,)
        The probe each direction belongs to.
    replaced : Replaced
        Columns, one per direction.
    directions : ndarray, shape (k, q)
        Directions.
    """
    base = starts.reduced.into(polytope.start)
    ready = Ready(polytope, starts.reduced, base, float(np.max(starts.thin[which])), True)

    def solve(some: np.ndarray, small: Smaller, reduced: Reduced) -> tuple[np.ndarray, Duals]:
        part = replaced.take(some)
        weights = np.where(small.linear, polytope.model.c, 0.0)
        linear = polytope.model.linear[part.index] - part.G @ weights
        columns: Columns = reduced.columns(part.index, part.G[:, small.active], part.A, linear)
        d = directions[some][:, reduced.free] * reduced.unit
        start = reduced.into(starts.points[which[some]])
        state = run_core(reduced.core, d, start, starts.thin[which[some]], polytope.size, columns)
        return reduced.back(state.v), reduced.duals(state.z4, state.alpha, state.lam)

    def products(some: np.ndarray, v: np.ndarray) -> np.ndarray:
        return rows_at(polytope, v, replaced.take(some))[0]

    points, duals = on_active_rows(ready, len(directions), solve, products)
    return Answer(points, duals, starts.points[which], np.ones(len(directions), dtype=bool))
