"""Many models of one shape, each fitted anew, and how far their equivalent models reach: one run for all of them.

The models share rows, prices and most columns; a block of columns is each one's own. From the best models, found in one
batch, all directions of all models race, model by model: one that is proved to fall short of what another of the same
model has reached is given up, be it by its own multipliers or, before it starts, by those of the best model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.best_refitted import BestRefitted, Proof, Refits, best_of, proved, screened, spent_by
from relbounds.solver.centre import ahead_of, aimed, centred
from relbounds.solver.core import Core, State
from relbounds.solver.folded_stack import ActiveStack, FoldedStack
from relbounds.solver.newton import factor_of
from relbounds.solver.open_ends import Found, Glance, Likely, first_of, likeliest
from relbounds.solver.own_columns import MOST_FOR_FEW, MOST_OF_USE, Few, close_columns, middle_of, narrowed
from relbounds.solver.race import Race
from relbounds.solver.stack import Stack
from relbounds.solver.starts import apart, room_of, strictly
from relbounds.solver.tolerances import NO_LOSS, TOUCHING

# Entries of one array of a run of directions: with more the arrays of an iteration leave the cache. Where there are
# fewer variables than this, what a run costs beside them weighs more.
ENTRIES, FEW_VARIABLES, OF_FEW = 25_000, 32, 60_000
# Below this many rows nothing is gained by leaving any out.
SMALL = 100
# Rows count as active within this many standard widths of a set, seen from its middle.
WIDTHS, MOST_ACTIVE = 0.3, 0.6
# From so many columns on it is asked which rows are the same but for their sign. They are taken once where that leaves
# less than this share of the active ones.
MANY_COLUMNS, FOLDED = 24, 0.7
# Accuracy of what directions reach, relative to the norm of the best model: what is aimed at, and what must be kept.
REACHED, LOOSE = 1e-6, 1e-4
# With more directions than this, those that the best model uses most go first: what they reach settles most others.
FEW_DIRECTIONS, LEADERS = 16, 4
# Runs at most, each with the rows that the last one was wrong about.
ROUNDS = 20

Budgets = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Refitted:
    """What P models of one shape reach.

    Parameters
    ----------
    points : ndarray, shape (P, q)
        The best models.
    penalty, loss, objective, size : ndarray, shape (P,)
        Their norms, losses and objectives, and the sums of their penalised variables' absolute values.
    largest, bound : ndarray, shape (P,)
        The largest value that any direction reaches over a model's equivalent models, and what none exceeds.
    least : ndarray, shape (P,)
        The largest of the least absolute values that pairs of opposite directions have.
    good : ndarray of bool, shape (P,)
        Models for which this was found; the others have to be looked at one by one.
    active : ndarray of bool, shape (P, R)
        Loss rows that a model's set moves across their kinks, as far as was seen.
    """

    points: np.ndarray
    penalty: np.ndarray
    loss: np.ndarray
    objective: np.ndarray
    size: np.ndarray
    largest: np.ndarray
    bound: np.ndarray
    least: np.ndarray
    good: np.ndarray
    active: np.ndarray


def push_refitted(
    refits: Refits,
    C: float,
    budgets: Budgets,
    directions: np.ndarray | csr_array,
    paired: np.ndarray,
    *,
    best: BestRefitted | None = None,
    likely: Likely | None = None,
) -> Refitted:
    """Return how far the equivalent models of each refitted model reach.

    Parameters
    ----------
    refits : Refits
        The models: without a linear loss, and without bounds but for variables that are held.
    C : float
        Price of the loss.
    budgets : callable
        ``budgets(penalty, loss, objective)`` of the best models gives ``(p, l, B)``, `B` with one row a model.
    directions : ndarray or csr_array, shape (k, q)
        Directions, the same for all models.
    paired : ndarray of bool, shape (k,)
        Directions whose opposite is among them: together they tell the least absolute value.
    best : BestRefitted, optional
        The best models, where they are known.
    likely : Likely, optional
        Push only the likely ones of many directions, on few columns.

    Examples
    --------
    >>> from relbounds.linear.plain import plain_model
    >>> from relbounds.linear.families import make_rows
    >>> from relbounds.solver.columns import Columns
    >>> X = np.array([[-1.0, 0.3], [1.0, 0.1], [-1.0, -0.2], [1.0, -0.3]])
    >>> model = plain_model(X, make_rows(np.array([1, 2, 1, 2]), "binary"))
    >>> own = np.array([[[-0.3, 0.1, 0.2, -0.3]], [[-0.3, -0.2, -0.1, 0.1]]])
    >>> refits = Refits(model, Columns(np.array([[1], [1]]), own))
    >>> def budgets(penalty, loss, objective):
    ...     return np.eye(2)[0], np.eye(2)[1], 1.1 * np.column_stack([penalty, np.maximum(loss, 0.1)])
    >>> found = push_refitted(refits, 1.0, budgets, np.array([[0, 1.0, 0], [0, -1, 0]]), np.array([True, True]))
    >>> found.largest.round(4)
    array([0.1348, 0.1457])
    """
    model, reduced, stack, P = refits.model, refits.reduced, refits.stack, len(refits.columns)
    best = best_of(reduced, stack, C) if best is None else best
    core, v = reduced.core, best.v
    penalty, loss, objective = spent_by(core, stack, C, v)
    p, l, B = budgets(penalty, loss, objective)
    # as a rule a direction is a variable or two of very many
    d = csr_array(directions)[:, reduced.free]
    d.data *= reduced.unit[d.indices]
    points = reduced.back(v)
    size = np.abs(points[:, model.penalty > 0]).sum(axis=1)
    zero, good = np.zeros(P), np.isfinite(objective)
    active = np.zeros((P, len(model.h)), dtype=bool)
    out = Refitted(points, penalty, loss, objective, size, zero, zero.copy(), zero.copy(), good, active)
    proof = proved(core, C, best, (p, l, B))
    top = screened(core, proof, d)
    lossless = (B.shape[1] == 2) & (B[:, -1] <= NO_LOSS * float(core.c.sum()))
    for hard in (False, True):
        some = np.flatnonzero((lossless == hard) & good & (penalty > 0))
        if not some.size:
            continue
        # without loss every row is met, and what the norm has room for meets all of them with room to spare
        at = v[some] * (0.5 + 0.5 * B[some, :1] / penalty[some, None]) if hard else v[some]
        chosen = stack if some.size == P else stack.take(some)
        whole = _whole(core, chosen, (p, l, B[some]), hard)
        at = apart(whole[0], at, best.begin, whole[1])
        inside = strictly(whole[0], at, whole[1])
        out.good[some[~inside]] = False
        if inside.any():
            own = _some(*whole, inside)
            here = some[inside]
            shown = Proof(proof.pushed[here], proof.left[here])
            glance = None if likely is None else likely.glance
            most = MOST_OF_USE if glance is None else MOST_FOR_FEW
            # products of few columns are made once for all directions
            folded = refits.folded if core.q >= MANY_COLUMNS and not hard else None
            once = folded.some(here) if isinstance(folded, FoldedStack) else None
            sets, moving, view = _sets_of(*own, at[inside], shown, d, most, once)
            value = (d @ at[inside].T).T
            seen = np.maximum((d @ sets.middle.T).T, value)
            each = np.broadcast_to(paired, seen.shape)
            known = Found(seen, top[here], each, np.full(seen.shape, REACHED) * size[here, None])
            _do_without(sets, at[inside], d, known)
            if likely is not None:
                ahead = _ahead(sets, view, d, every=glance is None)
                known = likeliest(known, ahead, value, size[here], likely)
                if sets.near is not None and glance is not None:
                    known = _glance(sets, moving, d, known, size[here], glance)
                # with so many columns the different rows are what counts, however often each is there
                if sets.once is not None and moving.sum() > sets.once.G.shape[2] * len(moving):
                    moving[:] = True
            moved = _push_sets(out, here, sets, moving, d, known)
            active[np.ix_(here, reduced.rows)] = True if hard else moved
    return out


@dataclass(frozen=True)
class _Sets:
    """The sets of some models with all of their rows: arrays, rows, points in their middles, what is proved of them.

    `near` (P, s) are the columns that directions begin with; None where they have all. They have all as soon as they
    would have more than the share `most`. `once` has rows that are the same but for their sign once.
    """

    core: Core
    stack: Stack
    middle: np.ndarray
    proof: Proof
    near: np.ndarray | None
    most: float
    once: FoldedStack | None

    def part(self, some: np.ndarray) -> _Sets:
        """Return the sets of some of the models."""
        core, stack = _some(self.core, self.stack, some)
        proof = Proof(self.proof.pushed[some], self.proof.left[some])
        near = None if self.near is None else self.near[some]
        once = None if self.once is None else self.once.some(some)
        return _Sets(core, stack, self.middle[some], proof, near, self.most, once)


# A set seen from its middle: the columns that the state there has, all of them if None, and the state.
View = tuple[Few | None, State]


def _sets_of(
    core: Core,
    stack: Stack,
    v: np.ndarray,
    proof: Proof,
    d: csr_array,
    most: float,
    once: FoldedStack | None,
) -> tuple[_Sets, np.ndarray, View]:
    """Return the sets around some models, the rows that each is wide enough to move across their kinks, and a view."""
    near = close_columns(core, proof, d, most)
    found = None if near is None else middle_of(core, stack, v, near, proof)
    if found is None:
        centre = centred(core, v, stack)
        sets = _Sets(core, stack, centre.v, proof, None, most, once)
        return sets, _active(core, stack, centre), (None, centre)
    few, centre = found
    sets = _Sets(core, stack, few.back(centre.v), proof, near, most, once)
    return sets, _active(few.core, few.stack, centre), found


def _ahead(sets: _Sets, view: View, d: csr_array, every: bool) -> np.ndarray:
    """Return about how far each set goes along directions (k, q), as its middle tells.

    Minus infinity where it tells nothing, unless it is to tell of `every` direction.
    """
    few, centre = view
    if few is not None and not every:
        # those that use no column of any set are not looked at
        some = np.flatnonzero(np.diff(d[:, np.unique(few.place)].indptr))
        out = np.full((len(few.place), d.shape[0]), -np.inf)
        own, known = few.along(d[some])
        out[:, some] = np.where(known, ahead_of(few.core, centre, own, few.stack), -np.inf)
        return out
    if few is not None:
        centre = centred(sets.core, sets.middle, sets.stack)
    return ahead_of(sets.core, centre, d.toarray(), sets.stack)


def _some(core: Core, stack: Stack, some: np.ndarray) -> tuple[Core, Stack]:
    B = core.B[some]
    if len(B) == len(core.B):
        return core, stack
    A = None if stack.A is None else stack.A[some]
    return replace(core, B=B), replace(stack, G=stack.G[some], A=A, owner=np.arange(len(B)))


def _whole(
    core: Core, stack: Stack, budgets: tuple[np.ndarray, np.ndarray, np.ndarray], hard: bool
) -> tuple[Core, Stack]:
    """Return the sets of all models with all of their rows, which are hard where no loss is allowed."""
    p, l, B = budgets
    if not hard:
        Lin = np.zeros((p.size, core.q))
        return replace(core, p=p, l=l, Lin=Lin, B=B), stack
    G = stack.whole()
    A = np.concatenate([np.tile(core.A.T, (len(G), 1, 1)), G], axis=2)
    none = np.zeros(0)
    fewer = replace(
        core,
        G=core.G[:0],
        h=none,
        c=none,
        A=np.vstack([core.A, core.G]),
        a=np.concatenate([core.a, core.h]),
        p=p[:1],
        l=l[:1],
        Lin=np.zeros((1, core.q)),
        B=B[:, :1],
    )
    return fewer, Stack(G[:, :, :0], A, stack.owner)


def _push_sets(
    out: Refitted, which: np.ndarray, sets: _Sets, active: np.ndarray, d: csr_array, found: Found
) -> np.ndarray:
    """Find what the models `which` reach along `d` (core units) and write it down; return their active rows."""
    many = np.count_nonzero(found.top > -np.inf, axis=1).max(initial=0) > FEW_DIRECTIONS
    first = first_of(found.seen, LEADERS) if many else np.zeros_like(found.seen, dtype=bool)
    before, joined = np.zeros_like(first), True
    for _ in range(ROUNDS):
        want = found.open()
        # what the leaders reach, and the rows they meet on the way, make the others' way short
        if (want & first).any():
            want &= first
        pending = np.flatnonzero(want.any(axis=1))
        # where nothing has changed the same run would end where it did
        if not pending.size or (not joined and np.array_equal(want, before)):
            break
        before, joined = want, False
        for some in _chunks(sets, pending, want, active):
            wrong, asked = _race(sets, some, active[some], d, want[some], found)
            active[some] |= wrong
            joined = joined or bool(wrong.any())
            if sets.near is not None:
                joined = joined or bool((asked & ~sets.near[some]).any())
                sets.near[some] |= asked
    out.largest[which], out.bound[which], out.least[which] = found.largest, found.bound, found.least
    out.good[which] = found.closed(LOOSE * out.size[which])
    return active


def _glance(
    sets: _Sets, active: np.ndarray, d: csr_array, found: Found, size: np.ndarray, glance: Glance
) -> Found:
    """Return the same with the leading directions open only: those that lead on the columns near the best models."""
    tolerance = np.broadcast_to(glance.accuracy * size[:, None], found.top.shape)
    rough = replace(found, top=found.top.copy(), tolerance=tolerance)
    want = rough.open()
    pending = np.flatnonzero(want.any(axis=1))
    for some in _chunks(sets, pending, want, active):
        wrong, asked = _race(sets, some, active[some], d, want[some], rough, lead=glance.lead)
        active[some] |= wrong
        assert sets.near is not None
        sets.near[some] |= asked
    lead = first_of(rough.top, glance.lead)
    return replace(found, top=np.where(lead | found.paired, found.top, -np.inf))


def _chunks(sets: _Sets, pending: np.ndarray, want: np.ndarray, active: np.ndarray) -> list[np.ndarray]:
    """Deal problems into runs of about the same size."""
    cost = want.sum(axis=1) * (active.sum(axis=1) + sets.core.a.size)
    run = np.cumsum(cost[pending]) // (OF_FEW if sets.core.q < FEW_VARIABLES else ENTRIES)
    return [pending[run == r] for r in np.unique(run)]


def _do_without(sets: _Sets, best: np.ndarray, d: csr_array, found: Found) -> None:
    """Note directions against what best models use that end at 0: where these may simply do without."""
    owner, number = np.nonzero(found.paired & (found.seen < 0))
    if not owner.size:
        return
    points, own_d = best[owner], d[number]
    points[np.repeat(np.arange(owner.size), np.diff(own_d.indptr)), own_d.indices] = 0.0
    own = replace(sets.core, B=sets.core.B[owner])
    room, _, g = room_of(own, points, sets.stack.of(owner))
    fine = (np.min(room, axis=1) >= 0) & (np.min(g, axis=1, initial=0.0) >= 0)
    found.seen[owner[fine], number[fine]] = 0.0


def _active(core: Core, stack: Stack, centre: State) -> np.ndarray:
    """Return, for each model, the rows that its set is wide enough to move across their kinks."""
    P, R = len(centre.v), core.rows
    if R <= SMALL:
        return np.ones((P, R), dtype=bool)
    with np.errstate(all="ignore"):
        factor = factor_of(core, centre, stack)
        G = stack.whole()
        reach = np.sqrt(np.maximum(np.einsum("pqr,pqr->pr", G, factor.solve(G)), 0.0))
        # the barrier's metric is in units of the mean product of slack and multiplier
        reach *= np.sqrt(centre.products() / centre.S.shape[1])[:, None]
        margin = np.abs(stack.times(centre.v) - core.h)
        near = ~(margin > WIDTHS * np.sqrt(R) * reach)
    near[near.mean(axis=1) > MOST_ACTIVE] = True
    return near


def _race(
    sets: _Sets,
    some: np.ndarray,
    active: np.ndarray,
    d: csr_array,
    want: np.ndarray,
    found: Found,
    lead: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Push some sets along the directions they want; return rows and columns left out that should not have been.

    With `lead`, columns left out do not matter, tops are where directions end, and only so many of each set's
    directions ask for rows and columns.
    """
    whole = sets.part(some)
    held = np.zeros_like(active)
    core, stack = whole.core, whole.stack
    if not active.all():
        core, stack, held, active = _fewer(whole, active)
    elif whole.once is not None:
        stack = whole.once
    owner, number = np.nonzero(want)
    own = d[number].toarray()
    few = None
    if whole.near is not None:
        few = narrowed(core, stack, whole.middle, whole.near, whole.proof, owner, own, whole.most)
    place = some[owner], number
    tolerance = 0.5 * found.tolerance[place]
    race = Race(owner, found.paired[place], own, found.seen[some], found.top[place], tolerance)
    asked = np.zeros((some.size, core.pen.size), dtype=bool)
    if few is None:
        start = aimed(core, centred(core, whole.middle, stack), owner, own, stack)
        state = interior.solve(core, own, start, tolerance, columns=stack.of(owner), stop=race)
        points = state.v
    else:
        race.few, race.priced = few, not lead
        columns = few.few.stack
        state = interior.solve(few.few.core, few.d, few.start, tolerance, columns=columns, stop=race)
        points = few.few.back(state.v)
    found.top[some[owner], number] = np.einsum("bq,bq->b", points, own) if lead else race.top
    value, margin = _inside(whole, owner, points, own)
    found.seen[some[owner], number] = np.fmax(found.seen[some[owner], number], value)
    ahead = first_of(found.top[some], lead) if lead else found.open()[some]
    still = ahead[owner, number]
    if few is not None:
        np.logical_or.at(asked, owner, few.asks(state) & still[:, None])
    if active.all():
        return held, asked
    wrong = ~active[owner] & np.where(held[owner], margin > TOUCHING, margin < -TOUCHING) & still[:, None]
    rows = np.zeros_like(active)
    np.logical_or.at(rows, owner, wrong)
    return rows, asked


def _inside(whole: _Sets, owner: np.ndarray, v: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what points reach once they are pulled toward the middle until all rows agree, and their margins.

    Loss is convex: on the way to the middle it is at most the mixture of the two ends.
    """
    core, middle = whole.core, whole.middle[owner]
    value, at = np.einsum("bq,bq->b", v, d), np.einsum("bq,bq->b", middle, d)
    if not core.rows:
        return value, np.zeros((len(v), 0))
    own = replace(core, B=core.B[owner])
    room, margin, _ = room_of(own, v, whole.stack.of(owner))
    start, _, _ = room_of(own, middle, whole.stack.of(owner))
    with np.errstate(all="ignore"):
        step = np.min(np.where(room < 0, start / (start - room), 1.0), axis=1)
    return at + np.clip(step, 0.0, 1.0) * (value - at), margin


def _fewer(whole: _Sets, active: np.ndarray) -> tuple[Core, Stack, np.ndarray, np.ndarray]:
    """Return sets with active rows only, as many for each model, the rows held linear, and those kept."""
    core, stack = whole.core, whole.stack
    margin = stack.times(whole.middle) - core.h
    count = int(active.sum(axis=1).max())
    # where others need more rows, the nearest ones fill up
    order = np.argsort(np.where(active, -1.0, np.abs(margin)), axis=1, kind="stable")[:, :count]
    order.sort(axis=1)
    kept = np.zeros_like(active)
    np.put_along_axis(kept, order, True, axis=1)
    held = ~kept & (margin < 0)
    weights = np.where(held, core.c, 0.0)
    linear, G = -stack.times_t(weights), stack.rows_of(order)
    B = core.B - np.multiply.outer(weights @ core.h, core.l)
    fewer = replace(core, h=core.h[order], c=core.c[order], B=B)
    some, once = Stack(G, None, stack.owner, linear=linear, apart=stack.apart), whole.once
    if once is not None and once.fold.starts.size < FOLDED * count and not stack.apart:
        which = once.fold.which[order]
        some = ActiveStack(G, None, stack.owner, linear=linear, X=once.G, fold=once.fold, which=which)
    return fewer, some, held, kept
