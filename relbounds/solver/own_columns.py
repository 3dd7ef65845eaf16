"""Problems on many columns, each worked on with few of its own.

The best model of a set uses few of its columns and is close to using a few more. With the others left out a set is
smaller, so that what is reached there is reached in the whole; and multipliers that are found there hold for the whole
as far as they hold every column left out at zero. Where they do not quite, multipliers of the best model are added to
them until they do, at a price that is known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from relbounds.solver.best_refitted import Proof
from relbounds.solver.centre import aimed, centred
from relbounds.solver.core import Core, State
from relbounds.solver.grams import Grams
from relbounds.solver.stack import Stack
from relbounds.solver.starts import strictly

# Columns that the best model is this close to using, as a share of their penalty, are taken from the beginning.
CLOSE = 0.8
# All columns are taken where these would be more than this share of them; where only few directions are pushed, which
# then have much the same columns, more than the larger share.
MOST_OF_USE, MOST_FOR_FEW = 0.5, 0.8
# Columns that miss being asked for by this share of what holds them join along: with more columns they may be.
NEARLY = 0.1
# All directions of a set have the same columns where these are no more than so many times what each needs.
SHARED = 1.3


def close_columns(core: Core, proof: Proof, d: csr_array, most: float = MOST_OF_USE) -> np.ndarray | None:
    """Return the columns that each set begins with, shape (P, s); None where all are better taken.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> from relbounds.solver.priced import priced_core
    >>> core = priced_core(make_model(np.ones((1, 4)), np.ones(1), np.ones(1), np.ones(4))).core
    >>> close_columns(core, Proof(np.array([[0.5, 0.1, 0.2, -0.1]]), np.ones(1)), csr_array(np.eye(4))).tolist()
    [[True, False, False, False]]
    """
    s = core.pen.size
    if not core.rows or core.A[:, :s].any() or not np.isfinite(proof.left).all():
        return None
    near: np.ndarray = np.abs(proof.pushed) > CLOSE * 0.5 * core.pen
    width = int(near.sum(axis=1).max(initial=0)) + int(np.diff(d[:, :s].indptr).max(initial=0))
    return near if width <= most * s else None


@dataclass(frozen=True)
class Few:
    """Problems on few penalised columns of their own, all of penalty 1, and the free ones.

    Parameters
    ----------
    core : Core
        Their arrays; rows are in the stack.
    stack : Stack
        The rows of each problem in its own columns.
    place : ndarray of int, shape (B, c)
        The columns of each, penalised ones first.
    unit : ndarray, shape (q,)
        A column of the whole times its unit is the column here.
    """

    core: Core
    stack: Stack
    place: np.ndarray
    unit: np.ndarray

    def into(self, v: np.ndarray) -> np.ndarray:
        """Return points (B, q) in these columns."""
        return np.take_along_axis(v / self.unit, self.place, axis=1)

    def along(self, d: csr_array) -> tuple[np.ndarray, np.ndarray]:
        """Return directions (k, q) in the columns of each problem, (B, k, c), and which have a part in these."""
        B, c = self.place.shape
        at = np.full((B, self.unit.size), -1)
        np.put_along_axis(at, self.place, np.arange(c)[None, :], axis=1)
        here = at[:, d.indices]
        b, entry = np.nonzero(here >= 0)
        row = np.repeat(np.arange(d.shape[0]), np.diff(d.indptr))[entry]
        out, known = np.zeros((B, d.shape[0], c)), np.zeros((B, d.shape[0]), dtype=bool)
        out[b, row, here[b, entry]] = (d.data * self.unit[d.indices])[entry]
        known[b, row] = True
        return out, known

    def back(self, v: np.ndarray) -> np.ndarray:
        """Return points in all columns."""
        out = np.zeros((len(v), self.unit.size))
        np.put_along_axis(out, self.place, v, axis=1)
        out *= self.unit
        return out


def take_few(core: Core, stack: Stack, owner: np.ndarray, wanted: np.ndarray, count: int) -> Few:
    """Return problems `owner` on the `count` columns that each wants most; `wanted` (B, s) says how much.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> from relbounds.solver.priced import priced_core
    >>> core = priced_core(make_model(np.array([[1.0, 2.0, 4.0]]), np.ones(1), np.ones(1), np.ones(3))).core
    >>> stack = Stack(core.G.T[None], None, np.zeros(1, dtype=int))
    >>> take_few(core, stack, np.zeros(1, dtype=int), np.array([[0.0, 1.0, 0.5]]), 2).place.tolist()
    [[1, 2]]
    """
    s, free = core.pen.size, np.arange(core.pen.size, core.q)
    first = np.argsort(-wanted, axis=1, kind="stable")[:, :count]
    place = np.hstack([first, np.tile(free, (len(first), 1))])
    unit = np.concatenate([1.0 / core.pen, np.ones(free.size)])
    A = np.hstack([np.zeros((core.a.size, first.shape[1])), core.A[:, s:]])
    fewer = replace(
        core,
        G=np.zeros((0, place.shape[1])),
        pen=np.ones(first.shape[1]),
        A=A,
        Lin=np.zeros((core.p.size, place.shape[1])),
        gram_A=Grams(A),
    )
    return Few(fewer, stack.columns(owner, place, unit[place]), place, unit)


def middle_of(
    core: Core, stack: Stack, v: np.ndarray, near: np.ndarray, proof: Proof
) -> tuple[Few, State] | None:
    """Return the sets on the columns near their best models `v`, and states in their middles; None if outside."""
    wanted = np.where(near, np.inf, np.abs(proof.pushed) / core.pen)
    few = take_few(core, stack, np.arange(len(v)), wanted, int(near.sum(axis=1).max()))
    centre = _centre(few, few.into(v))
    return None if centre is None else (few, centre)


def _centre(few: Few, at: np.ndarray) -> State | None:
    """Return states in the middles of sets from points in their columns; None where one does not lie inside."""
    return centred(few.core, at, few.stack) if strictly(few.core, at, few.stack).all() else None


@dataclass(frozen=True)
class Narrow:
    """Directions on few columns, ready to be pushed.

    Parameters
    ----------
    few : Few
        The problem of each direction.
    d : ndarray, shape (B, c)
        The directions in its columns.
    start : State
    whole : Stack
        The rows of each set in all columns, for each direction.
    full : ndarray, shape (B, q)
        The directions in all columns.
    pen : ndarray, shape (s,)
        The penalties of all columns.
    proof : Proof
        That of each direction's set.
    """

    few: Few
    d: np.ndarray
    start: State
    whole: Stack
    full: np.ndarray
    pen: np.ndarray
    proof: Proof

    def over(self, at: State) -> np.ndarray:
        """Return by how much the columns left out are pulled at harder than they are held, shape (B, s)."""
        core, s, here = self.few.core, self.pen.size, at.which
        own = self.whole.take(here)
        pull = own.times_t(at.z4)[:, :s] + self.full[here, :s]
        if own.slopes is not None:
            pull -= own.slopes[:, :s] * (at.lam @ core.l)[:, None]
        out = np.abs(pull) - (at.lam @ core.p)[:, None] * self.pen
        np.put_along_axis(out, self.few.place[here][:, : core.pen.size], -np.inf, axis=1)
        return out

    def asks(self, at: State) -> np.ndarray:
        """Return which columns directions ask for: where they ask for any, those that they nearly ask for as well."""
        over, held = self.over(at), (at.lam @ self.few.core.p)[:, None] * self.pen
        found: np.ndarray = (over > -NEARLY * held) & (over > 0.0).any(axis=1, keepdims=True)
        return found

    def price(self, at: State) -> np.ndarray:
        """Return what it costs to hold all of them by multipliers of the best models besides."""
        here, over = at.which, self.over(at)
        room = 0.5 * self.pen - np.abs(self.proof.pushed[here])
        # columns near the best model, which leaves them no room, are not among those left out
        with np.errstate(all="ignore"):
            added = np.max(np.where(over > 0, over / room, 0.0), axis=1, initial=0.0)
        return at.lift * added * self.proof.left[here]


def narrowed(
    core: Core,
    stack: Stack,
    middle: np.ndarray,
    near: np.ndarray,
    proof: Proof,
    owner: np.ndarray,
    d: np.ndarray,
    most: float,
) -> Narrow | None:
    """Return directions `d` (B, q) of the sets `owner` on the columns near their best models, and their own.

    None where the columns are more than the share `most` of all, or where `middle` (P, q) does not lie inside with
    these columns.
    """
    s, P = core.pen.size, len(middle)
    used = d[:, :s] != 0
    count = int(near.sum(axis=1).max())
    more = int((used & ~near[owner]).sum(axis=1).max(initial=0))
    if count + more > most * s:
        return None
    # where others need more columns, the closest ones fill up
    closest = np.abs(proof.pushed) / core.pen
    each = Proof(proof.pushed[owner], proof.left[owner])
    every = near.copy()
    np.logical_or.at(every, owner, used)
    width = int(every.sum(axis=1).max())
    if width <= SHARED * (count + more):
        few = take_few(core, stack, np.arange(P), np.where(every, 3.0, closest), width)
        centre = _centre(few, few.into(middle))
        if centre is None:
            return None
        own = replace(few, stack=few.stack.of(owner), place=few.place[owner])
        directions = np.take_along_axis(d * own.unit, own.place, axis=1)
        start = aimed(few.core, centre, owner, directions, few.stack)
        return Narrow(own, directions, start, stack.of(owner), d, core.pen, each)
    few = take_few(core, stack, np.arange(P), np.where(near, 3.0, closest), count + more)
    # a direction's own columns are not used at its start, so that it is the same for all of them
    idle = slice(count, count + more)
    at = few.into(middle)
    at[:, idle] = 0.0
    few.stack.clear(idle)
    centre = _centre(few, at)
    if centre is None:
        return None
    # the columns of the set in the same order, then each direction's own
    wanted = closest
    np.put_along_axis(wanted, few.place[:, :count], np.linspace(9.0, 8.0, count)[None, :], axis=1)
    wanted = wanted[owner]
    wanted[used & (wanted < 8.0)] = 5.0
    own = take_few(replace(core, B=core.B[owner]), stack, owner, wanted, count + more)
    directions = np.take_along_axis(d * own.unit, own.place, axis=1)
    start = aimed(own.core, centre.take(owner), np.arange(owner.size), directions, own.stack)
    return Narrow(own, directions, start, stack.of(owner), d, core.pen, each)
