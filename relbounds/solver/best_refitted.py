"""The best of many models of one shape, found in one batch, and what their multipliers prove of models as good."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.columns import Columns
from relbounds.solver.core import Core
from relbounds.solver.folded_stack import FoldedStack, different_rows, fold_of, folded_stack
from relbounds.solver.goals import OPEN
from relbounds.solver.model import Model
from relbounds.solver.priced import accurate, priced_core, priced_start
from relbounds.solver.reduced import Reduced
from relbounds.solver.stack import Stack, count_apart
from relbounds.solver.tolerances import OPTIMAL, TOUCHING
from relbounds.solver.working_rows import MANY, WorkingRows

# The least price of a variable that is counted with, in units of half its penalty.
TINY = 1e-9
# With more columns than this, rows that are the same but for their sign are kept once.
MANY_COLUMNS = 150


class Made(Protocol):
    """Columns that are made problem by problem when they are asked for: all of them would take much memory."""

    @property
    def index(self) -> np.ndarray:
        """Whose columns they are, shape (P, k)."""

    def __len__(self) -> int: ...

    def take(self, some: np.ndarray | slice) -> Columns:
        """Return the columns of some problems."""


@dataclass(frozen=True)
class Refits:
    """Many models of one shape, each with some columns of its own, and their rows, made once for all that is asked.

    Parameters
    ----------
    model : Model
        What the models have in common.
    columns : Columns or Made
        The columns of the loss rows that each model has of its own.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.ones(2))
    >>> Refits(model, Columns(np.array([[0]]), np.array([[[2.0]]]))).stack.G.tolist()
    [[[2.0], [1.0]]]
    """

    model: Model
    columns: Columns | Made

    @cached_property
    def reduced(self) -> Reduced:
        """The model in core units."""
        return priced_core(self.model)

    @cached_property
    def stack(self) -> Stack:
        """The rows of every model in core units; of very many columns each different one once."""
        once = stacked_once(self.reduced, self.columns) if self.reduced.core.q > MANY_COLUMNS else None
        return stacked(self.reduced, self.columns) if once is None else once

    @cached_property
    def folded(self) -> Stack:
        """The same with each different row once, where few are different."""
        stack = self.stack
        return stack if isinstance(stack, FoldedStack) else folded_stack(self.reduced.core, stack)


@dataclass(frozen=True)
class BestRefitted:
    """The best of P models of one shape, in core units, and what their multipliers prove.

    Parameters
    ----------
    v : ndarray, shape (P, q)
        The models.
    begin : ndarray, shape (q,) or (1, q)
        The common point they were sought from, away from hard rows.
    pushed : ndarray, shape (P, q)
        What the rows push each variable with.
    value : ndarray, shape (P,)
        The dual objective: half the norm plus C times the loss of any model is this at least, plus what its variables
        cost beyond what they are pushed with.
    """

    v: np.ndarray
    begin: np.ndarray
    pushed: np.ndarray
    value: np.ndarray


def best_refitted(refits: Refits, C: float, near: np.ndarray | None = None) -> BestRefitted:
    """Return the best models, for several calls of :func:`~relbounds.solver.refitted.push_refitted` with other budgets.

    A model `near` all of them, as the one of the columns that are replaced, tells which of many rows need be looked at.

    Examples
    --------
    >>> from relbounds.linear.plain import plain_model
    >>> from relbounds.linear.families import make_rows
    >>> model = plain_model(np.array([[-1.0], [1.0]]), make_rows(np.array([1, 2]), "binary"))
    >>> best_refitted(Refits(model, Columns(np.array([[0]]), np.array([[[1.0, 1.0]]]))), 1.0).v.shape
    (1, 2)
    """
    reduced, stack = refits.reduced, refits.stack
    if near is None or reduced.core.rows < MANY:
        return best_of(reduced, stack, C)
    v = reduced.into(near)
    v[np.unique(reduced.place[refits.columns.index])] = 0.0
    return _near(reduced, stack, C, v)


def spent(refits: Refits, C: float, best: BestRefitted) -> tuple[np.ndarray, ...]:
    """Return what the best models spend: norms, losses and objectives.

    Examples
    --------
    >>> from relbounds.linear.plain import plain_model
    >>> from relbounds.linear.families import make_rows
    >>> model = plain_model(np.array([[-1.0], [1.0]]), make_rows(np.array([1, 2]), "binary"))
    >>> two = Refits(model, Columns(np.array([[0]]), np.array([[[1.0, 1.0]]])))
    >>> [abs(x.round(4)).tolist() for x in spent(two, 1.0, best_refitted(two, 1.0))]
    [[1.0], [0.0], [0.5]]
    """
    return spent_by(refits.reduced.core, refits.stack, C, best.v)


def spent_by(core: Core, stack: Stack, C: float, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return norms, losses and objectives of points in core units."""
    hinge = np.maximum(core.h - stack.times(v), 0.0)
    penalty, loss = np.abs(v[:, : core.pen.size]) @ core.pen, hinge @ core.c
    return penalty, loss, 0.5 * penalty + C * loss


def stacked(reduced: Reduced, columns: Columns | Made) -> Stack:
    """Return the rows of every model in core units."""
    core, place = reduced.core, reduced.place
    G = np.empty((len(columns), core.q, core.rows))
    # one after the other: what a problem needs stays in the cache
    for i, one in enumerate(G):
        _put(one, reduced, columns.take(slice(i, i + 1)), place)
    return Stack(G, None, np.arange(len(columns)), apart=count_apart(core.G, np.unique(place[columns.index])))


def stacked_once(reduced: Reduced, columns: Columns | Made) -> Stack | None:
    """Return the same with each different row once; None where too many are different."""
    core, fold = reduced.core, fold_of(reduced.core)
    if fold is None:
        return None
    place, room = reduced.place, np.empty((core.q, core.rows))
    each = (_put(room, reduced, columns.take(slice(i, i + 1)), place) for i in range(len(columns)))
    found = different_rows(core, fold, each)
    return None if found is None else FoldedStack(found, None, np.arange(len(columns)), fold=fold)


def _put(room: np.ndarray, reduced: Reduced, columns: Columns, place: np.ndarray) -> np.ndarray:
    """Write the rows of one problem in core units, (q, R), where there is room for them."""
    core, rows, at, own = reduced.core, reduced.rows, place[columns.index[0]], columns.G[0]
    every: slice | np.ndarray = slice(None) if rows.size == own.shape[1] else rows
    common = np.ones(core.q, dtype=bool)
    common[at] = False
    room[common] = core.G.T[common]
    scale, runs = reduced.unit[at] / reduced.height, np.flatnonzero(np.diff(at) != 1) + 1
    for i, j in pairwise([0, *runs.tolist(), at.size]):
        first = int(at[i])
        np.multiply(own[i:j, every], scale[i:j, None], out=room[first : first + j - i])
    return room


def best_of(
    reduced: Reduced,
    stack: Stack,
    C: float,
    linear: np.ndarray | float = 0.0,
    constant: np.ndarray | float = 0.0,
) -> BestRefitted:
    """Return the best models.

    `linear` (P, q) and `constant` are what the loss has beside that of its rows.
    """
    core, P = reduced.core, len(stack.owner)
    start = priced_start(core, reduced, np.full(P, C), np.full(P, 0.5), np.full(P, np.inf))
    slopes = np.broadcast_to(linear, (P, core.q))
    # the sets are as wide as delta: what the best models lack must not be seen in them
    stop = accurate(core, slopes, 0.1 * OPTIMAL, constant)
    begin = start.v[:1].copy()
    end = interior.solve(core, -C * slopes, start, np.full(P, -1.0), columns=stack, stop=stop)
    pushed = stack.times_t(end.z4) + end.alpha @ core.A - C * slopes
    return BestRefitted(end.v, begin, pushed, end.z4 @ core.h + end.alpha @ core.a + C * constant)


def _near(reduced: Reduced, stack: Stack, C: float, near: np.ndarray) -> BestRefitted:
    """Return the same, solved on the rows whose kinks are near those of a model."""
    core = reduced.core
    rows = WorkingRows(core.G @ near - core.h, core.G[:, core.pen.size :], TOUCHING)
    P = len(stack.owner)
    out, left = BestRefitted(np.empty((P, core.q)), near, np.empty((P, core.q)), np.empty(P)), np.arange(P)
    while left.size:
        some, held = rows.active, np.where(rows.linear, core.c, 0.0)
        fewer = replace(core, G=core.G[some], h=core.h[some], c=core.c[some])
        own = replace(stack, G=stack.G[left][:, :, some], owner=np.arange(left.size))
        linear, constant = -(stack.G[left] @ held), float(held @ core.h)
        found = best_of(replace(reduced, core=fewer), own, C, linear, constant)
        out = replace(out, begin=found.begin)
        out.v[left], out.pushed[left], out.value[left] = found.v, found.pushed, found.value
        left = left[rows.join(stack.of(left).times(out.v[left]) - core.h)]
    return out


@dataclass(frozen=True)
class Proof:
    """What the multipliers of the best models prove of models as good.

    Parameters
    ----------
    pushed : ndarray, shape (P, s)
        What the rows push each penalised variable with, at most half its penalty.
    left : ndarray, shape (P,)
        What the budgets leave for variables to cost beyond what they are pushed with; infinite where nothing is known.
    """

    pushed: np.ndarray
    left: np.ndarray


def proved(
    core: Core, C: float, best: BestRefitted, budgets: tuple[np.ndarray, np.ndarray, np.ndarray]
) -> Proof:
    """Return what multipliers prove, in core units.

    As in :mod:`relbounds.solver.screen`: the budgets limit half the norm plus C times the loss, of which the
    multipliers of the best model leave little for variables that the rows hardly push.
    """
    p, l, B = budgets
    s = core.pen.size
    prices = 0.5 / p if p.size == 1 else np.array([0.5, C])
    if not (np.isclose(prices @ p, 0.5) and np.isclose(prices @ l, C)):
        return Proof(best.pushed[:, :s], np.full(len(B), np.inf))
    half = 0.5 * core.pen
    # shrunk multipliers are still multipliers
    shrunk = 1.0 / np.maximum(np.max(np.abs(best.pushed[:, :s]) / half, axis=1, initial=0.0), 1.0)
    pushed = best.pushed * shrunk[:, None]
    # what free variables lack of their balance, as runs count it
    loose = np.sum(np.abs(pushed[:, s:]) * (np.abs(best.v[:, s:]) + 1e-3), axis=1)
    left = B @ prices - shrunk * best.value + OPEN * loose
    return Proof(pushed[:, :s], np.where(left > 0, left, np.inf))


def screened(core: Core, proof: Proof, d: csr_array) -> np.ndarray:
    """Return what no equivalent model exceeds along `d` (core units), for each set; shape (P, k)."""
    s, out = core.pen.size, np.full((len(proof.left), d.shape[0]), np.inf)
    half = 0.5 * core.pen
    sole = np.diff(d[:, s:].indptr) == 0
    few = d[np.flatnonzero(sole), :s]
    least = TINY * half
    with np.errstate(all="ignore"):
        most = few.maximum(0) @ (1.0 / np.maximum(half - proof.pushed, least)).T
        most += (-few).maximum(0) @ (1.0 / np.maximum(half + proof.pushed, least)).T
    out[:, sole] = proof.left[:, None] * most.T
    return out
