"""Probes: problems that differ from a common one in one column each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.active_rows import Smaller, smaller
from relbounds.solver.centre import aimed, centred
from relbounds.solver.certificates import dual_bound, rows_at
from relbounds.solver.columns import Columns, put_columns
from relbounds.solver.engines.answer import Answer
from relbounds.solver.engines.batch import chunk_size, guess_active, join, on_active_rows
from relbounds.solver.few_columns import is_wide, needed_columns, on_few_columns, with_columns
from relbounds.solver.near_rows import is_large, push_near
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals, Reduced, reduce
from relbounds.solver.starts import Ready, find_inside, prepare, strictly, thinness
from relbounds.solver.tolerances import FINE, THIN

# Share of the rows that probes keep at least.
PROBE_ROWS = 0.2


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
    active : ndarray of bool, shape (R,), or None
        Rows worth a slack for probes: more than for the set itself, since a probe moves it.
    """

    points: dict[int, np.ndarray]
    proofs: dict[int, Duals]
    active: np.ndarray | None = None


def without_each(polytope: Polytope, variables: Sequence[int]) -> Without:
    """Return, for each variable, a point of the set that does not use it, or the proof that there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.ones(2))
    >>> found = without_each(Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7, 0.0])), [0, 1])
    >>> sorted(found.points)
    [0, 1]
    """
    index = np.unique(np.asarray(variables, dtype=int))
    ready = prepare(polytope)
    active = guess_active(ready, PROBE_ROWS) if ready.feasible and ready.interior and index.size else None
    polytope = replace(polytope, active=active)
    model, reduced = polytope.model, reduce(polytope)
    points: dict[int, np.ndarray] = {}
    proofs: dict[int, Duals] = {}
    step = chunk_size(reduced.core.h.size + reduced.core.a.size)
    for first in range(0, index.size, step):
        some = index[first : first + step]
        B = some.size
        gone = Columns(
            some[:, None], np.zeros((B, 1, model.h.size)), np.zeros((B, 1, model.a.size)), np.zeros((B, 1))
        )
        start = np.tile(polytope.start, (B, 1))
        start[np.arange(B), some] = 0.0
        found, good, duals = seek(polytope, reduced, start, gone, firm=True)
        found[np.arange(B), some] = 0.0
        points |= {int(some[i]): found[i] for i in np.flatnonzero(good)}
        for i in np.flatnonzero(~good):
            proofs[int(some[i])] = Duals(duals.lam[[i]], duals.beta[[i]], duals.alpha[[i]])
    return Without(points, proofs, active)


def seek(
    polytope: Polytope, reduced: Reduced, start: np.ndarray, replaced: Columns, firm: bool
) -> tuple[np.ndarray, np.ndarray, Duals]:
    """Return points strictly inside each set with replaced columns, whether there are, and else the proofs.

    Active rows are tried first: what is empty with fewer rows is empty with all of them, and a point found there
    only has to be checked.
    """
    model, B = polytope.model, len(start)
    columns = own_columns(polytope, reduced, replaced, None)
    v = reduced.into(start)
    good = strictly(reduced.core, v, columns)
    K = polytope.budgets[0].size
    duals = Duals(np.zeros((B, K)), np.zeros((B, model.h.size)), np.zeros((B, model.a.size)))
    settled = good.copy()
    active = polytope.active
    stages: list[Smaller | None] = [None]
    if active is not None and not active.all():
        stages.insert(0, smaller(polytope, active))
    for stage in stages:
        rest = np.flatnonzero(~settled)
        if not rest.size:
            break
        here = reduced if stage is None else reduce(stage.polytope)
        part = replaced.take(rest)
        own = own_columns(polytope, here, part, stage)
        found, room, state = find_inside(here.core, here.into(reduced.back(v[rest])), own, firm)
        back = here.back(found)
        proof = here.duals(state.z4, state.alpha[:, :-1], state.lam)
        if stage is not None:
            proof = stage.duals(proof, proof.lam @ polytope.budgets[1], model.c)
        inside = (room > THIN) & strictly(reduced.core, reduced.into(back), columns.take(rest))
        empty = ~(room > THIN) & (np.isfinite(room) if stage is None else room < -THIN)
        for name in ("lam", "beta", "alpha"):
            getattr(duals, name)[rest[empty]] = getattr(proof, name)[empty]
        if stage is None:
            inside = room > THIN
        v[rest[inside]] = reduced.into(back[inside])
        good[rest[inside]] = True
        settled[rest[inside | empty]] = True
    return reduced.back(v), good, duals


def own_columns(polytope: Polytope, reduced: Reduced, replaced: Columns, small: Smaller | None) -> Columns:
    """Return replaced columns as the arrays of a reduced problem need them."""
    if small is None:
        return reduced.columns(replaced)
    linear = polytope.model.linear[replaced.index] if replaced.linear is None else replaced.linear
    linear = linear - replaced.G @ np.where(small.linear, polytope.model.c, 0.0)
    fewer = replace(replaced, G=replaced.G[:, :, small.active], linear=linear)
    return reduced.columns(fewer)


@dataclass(frozen=True)
class Starts:
    """Points strictly inside each probe's set (original units), and whether there is one."""

    reduced: Reduced
    points: np.ndarray
    thin: np.ndarray
    good: np.ndarray


def starts_for(polytope: Polytope, replaced: Columns, without: Without) -> Starts:
    """Return, for problems with one replaced column each, points strictly inside and whether there are any.

    A point that does not use the variable is tried first, then the proof that there is no such point; only
    where neither settles the matter is a point sought for the probe itself.
    """
    reduced = reduce(polytope)
    columns = own_columns(polytope, reduced, replaced, None)
    B = len(replaced.index)
    start = np.tile(polytope.start, (B, 1))
    start[replaced.each, replaced.index] = 0.0
    good = strictly(reduced.core, reduced.into(start), columns)
    doubtful = []
    for i in np.flatnonzero(~good):
        j = int(replaced.index[i, 0])
        if j in without.points:
            start[i], good[i] = without.points[j], True
        elif j in without.proofs:
            doubtful.append(i)
    empty = np.zeros(B, dtype=bool)
    if doubtful:
        proofs = join([without.proofs[int(replaced.index[i, 0])] for i in doubtful])
        nothing = np.zeros((len(doubtful), polytope.model.q))
        empty[doubtful] = dual_bound(polytope, nothing, proofs, replaced.take(np.array(doubtful))) < 0
    rest = np.flatnonzero(~good & ~empty)
    step = chunk_size(reduced.core.h.size + reduced.core.a.size)
    for first in range(0, rest.size, step):
        some = rest[first : first + step]
        start[some], good[some], _ = seek(polytope, reduced, start[some], replaced.take(some), firm=False)
    thin = thinness(reduced.core, reduced.into(start), columns)
    return Starts(reduced, start, thin, good)


def push_replaced(
    polytope: Polytope, starts: Starts, which: np.ndarray, replaced: Columns, directions: np.ndarray
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
    replaced : Columns
        Columns, one per direction.
    directions : ndarray, shape (k, q)
        Directions.
    """
    if not is_wide(polytope):
        return _push_all(polytope, starts, which, replaced, directions)
    # starts that use no more than the baseline does can do with few columns
    needed = needed_columns(polytope)
    simple = ~(starts.points[:, ~needed] != 0).any(axis=1)[which]
    points, parts = np.empty_like(directions), []
    for some, few in ((np.flatnonzero(simple), True), (np.flatnonzero(~simple), False)):
        if some.size:
            push = _push_few if few else _push_all
            answer = push(polytope, starts, which[some], replaced.take(some), directions[some])
            points[some] = answer.points
            parts.append((some, answer.duals))
    order = np.argsort(np.concatenate([some for some, _ in parts]))
    duals = join([own for _, own in parts])
    duals = Duals(duals.lam[order], duals.beta[order], duals.alpha[order])
    return Answer(points, duals, starts.points[which], np.ones(len(directions), dtype=bool))


def _push_few(
    polytope: Polytope, starts: Starts, which: np.ndarray, replaced: Columns, directions: np.ndarray
) -> Answer:
    """Push probes with few columns."""

    def solve(some: np.ndarray, chosen: np.ndarray, _: float) -> tuple[np.ndarray, Duals]:
        small = with_columns(polytope, chosen)
        place = np.cumsum(chosen) - 1
        part = replaced.take(some)
        own = replace(part, index=place[part.index])
        within = Starts(reduce(small), starts.points[:, chosen], starts.thin, starts.good)
        few = directions[np.ix_(some, np.flatnonzero(chosen))]
        answer = _push_all(small, within, which[some], own, few)
        return answer.points, answer.duals

    points, duals = on_few_columns(polytope, directions, solve, replaced)
    return Answer(points, duals, starts.points[which], np.ones(len(directions), dtype=bool))


def _push_all(
    polytope: Polytope, starts: Starts, which: np.ndarray, replaced: Columns, directions: np.ndarray
) -> Answer:
    """Push probes with all columns."""
    if is_large(polytope):
        points, duals = _push_one_by_one(polytope, starts, which, replaced, directions)
        return Answer(points, duals, starts.points[which], np.ones(len(directions), dtype=bool))
    base = starts.reduced.into(polytope.start)
    ready = Ready(polytope, starts.reduced, base, float(np.max(starts.thin[which])), True)

    def solve(some: np.ndarray, small: Smaller, reduced: Reduced) -> tuple[np.ndarray, Duals]:
        d = directions[some][:, reduced.free] * reduced.unit
        # the directions of a probe start from the middle of its set
        probes, first, owner = np.unique(which[some], return_index=True, return_inverse=True)
        own = own_columns(polytope, reduced, replaced.take(some[first]), small)
        centre = centred(reduced.core, reduced.into(starts.points[probes]), own)
        start = aimed(reduced.core, centre, owner, d, own)
        gap = np.full(some.size, FINE * polytope.size)
        state = interior.solve(reduced.core, d, start, gap, columns=own.take(owner))
        return reduced.back(state.v), reduced.duals(state.z4, state.alpha, state.lam)

    def products(some: np.ndarray, v: np.ndarray) -> np.ndarray:
        return rows_at(polytope, v, replaced.take(some))[0]

    points, duals = on_active_rows(ready, len(directions), solve, products)
    return Answer(points, duals, starts.points[which], np.ones(len(directions), dtype=bool))


def _push_one_by_one(
    polytope: Polytope, starts: Starts, which: np.ndarray, replaced: Columns, directions: np.ndarray
) -> tuple[np.ndarray, Duals]:
    """Return points and multipliers of large sets, the directions of one probe together."""
    points, parts = np.empty_like(directions), []
    for probe in dict.fromkeys(which.tolist()):
        here = np.flatnonzero(which == probe)
        own = swapped(polytope, replaced, int(here[0]), starts.points[probe])
        points[here], duals = push_near(own, directions[here], own.start)
        parts.append(duals)
    return points, join(parts)


def swapped(polytope: Polytope, replaced: Columns, i: int, start: np.ndarray) -> Polytope:
    """Return the polytope with one column replaced, starting at a point inside it."""
    return replace(polytope, model=put_columns(polytope.model, replaced, i), start=start)
