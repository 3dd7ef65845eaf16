"""Many models of one shape and many columns, each fitted on the few that it has a use for, all of them in one run.

As in :mod:`relbounds.solver.pricing`, columns that the rows pull at harder than their penalties hold them join until
there is none; every model has columns of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.best_refitted import BestRefitted, Refits, best_refitted
from relbounds.solver.core import Core
from relbounds.solver.folded_stack import folded_stack
from relbounds.solver.model import Model
from relbounds.solver.own_columns import take_few
from relbounds.solver.priced import accurate, priced_start, start_each, toward
from relbounds.solver.pricing import (
    CLOSE,
    FEW_MORE,
    FIRST,
    HANDED_ON,
    IDLE,
    JOINING_ROUGHLY,
    LOOKING,
    ROUNDS,
    SHORT,
    join_columns,
    more_than_few,
    without_loss,
)
from relbounds.solver.reduced import Reduced
from relbounds.solver.stack import Stack
from relbounds.solver.tolerances import LEFT_OUT, OPTIMAL

# Problems run together while none has more than so many times the columns of another.
ALIKE = 1.5
# All columns are taken where more than this share of them is chosen.
MOST_OF_USE = 0.8


@dataclass(frozen=True)
class Each:
    """Problems that differ in rows, in the price of the loss or in the prices of rows; in core units.

    Parameters
    ----------
    core : Core
        What they have in common; no hard row uses a penalised variable.
    stack : Stack
        The rows of every problem, in all columns.
    C : ndarray, shape (B,)
    prices : ndarray, shape (B, R), or None
        Row prices, where they differ.
    begin : ndarray, shape (q,)
        A point that leaves hard rows room.
    """

    core: Core
    stack: Stack
    C: np.ndarray
    prices: np.ndarray | None
    begin: np.ndarray


@dataclass(frozen=True)
class FoundEach:
    """Best models (B, q), multipliers of loss rows (B, R) and hard rows (B, m), and what columns are pushed with."""

    v: np.ndarray
    beta: np.ndarray
    alpha: np.ndarray
    pushed: np.ndarray


def pulled_first(each: Each, count: int = FIRST) -> np.ndarray:
    """Return the columns (B, s) that rows pull at hardest where none is used."""
    s, B = each.core.pen.size, each.C.size
    prices = np.tile(each.core.c, (B, 1)) if each.prices is None else each.prices
    pull = np.abs(each.stack.times_t(prices)[:, :s]) / each.core.pen
    out = np.zeros((B, s), dtype=bool)
    np.put_along_axis(out, np.argsort(-pull, axis=1, kind="stable")[:, :count], True, axis=1)
    return out


def fit_each(each: Each, gap: float, first: np.ndarray | None = None) -> FoundEach:
    """Return the best models, up to a gap that is a share of the objective.

    `first` (B, s) are columns to begin with.
    """
    core, B, s = each.core, each.C.size, each.core.pen.size
    chosen, v = pulled_first(each) if first is None else first.copy(), np.tile(each.begin, (B, 1))
    warm, share = np.zeros(B, dtype=bool), np.full(B, max(gap, LOOKING))
    found = FoundEach(v, np.empty((B, core.rows)), np.empty((B, core.a.size)), np.zeros((B, core.q)))
    left = np.arange(B)
    for _ in range(ROUNDS):
        most = left[chosen[left].mean(axis=1) > MOST_OF_USE]
        # what few columns make of these is far from the answer
        chosen[most], share[most], warm[most], v[most] = True, gap, False, each.begin
        for some in alike(left, chosen[left].sum(axis=1)):
            _solve(each, found, some, chosen[some], share[some], warm[some])
        warm[left] = True
        pulled = each.stack.take(left).times_t(found.beta[left]) + found.alpha[left] @ core.A
        found.pushed[left] = pulled
        over = np.abs(pulled[:, :s]) / (0.5 * core.pen) - 1.0
        still = np.zeros(left.size, dtype=bool)
        for i, b in enumerate(left):
            if share[b] > gap:
                still[i] = True
                if join_columns(chosen[b], over[i], SHORT * share[b], JOINING_ROUGHLY) <= FEW_MORE:
                    share[b], chosen[b] = gap, over[i] > IDLE - 1.0
            else:
                still[i] = join_columns(chosen[b], over[i], SHORT * gap) > 0
        left = left[still]
        if not left.size:
            break
    return found


def alike(left: np.ndarray, width: np.ndarray) -> list[np.ndarray]:
    """Return problems in groups of about the same number of columns.

    Examples
    --------
    >>> [group.tolist() for group in alike(np.array([4, 5, 6]), np.array([10, 90, 12]))]
    [[4, 6], [5]]
    """
    order = np.argsort(width, kind="stable")
    out: list[list[int]] = []
    least = 0
    for i in order:
        if not out or width[i] > ALIKE * max(least, 1):
            out.append([])
            least = int(width[i])
        out[-1].append(int(left[i]))
    return [np.sort(one) for one in out]


def _solve(
    each: Each, found: FoundEach, some: np.ndarray, chosen: np.ndarray, share: np.ndarray, warm: np.ndarray
) -> None:
    """Solve some problems on the columns chosen (b, s), and write down what was found."""
    core = each.core
    pull = np.abs(found.pushed[some, : core.pen.size]) / core.pen
    few = take_few(
        core,
        each.stack,
        each.stack.owner[some],
        np.where(chosen, np.inf, pull),
        int(chosen.sum(axis=1).max()),
    )
    own = None if each.prices is None else each.prices[some]
    v = toward(core, np.tile(each.begin, (some.size, 1)), found.v[some])
    start = start_each(few.core, few.stack, few.into(v), each.C[some], own, warm)
    nothing = np.zeros_like(start.v)
    stop = accurate(few.core, nothing, share)
    end = interior.solve(few.core, nothing, start, np.full(some.size, -1.0), columns=few.stack, stop=stop)
    found.v[some], found.beta[some], found.alpha[some] = few.back(end.v), end.z4, end.alpha


def fits_each(reduced: Reduced) -> bool:
    """Return whether models can be fitted so: whether no hard row uses a penalised variable.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> from relbounds.solver.priced import priced_core
    >>> fits_each(priced_core(make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.ones(2))))
    True
    """
    core = reduced.core
    return bool(core.rows) and not core.A[:, : core.pen.size].any()


def fit_priced(reduced: Reduced, C: float, prices: np.ndarray, gap: float) -> np.ndarray:
    """Return the best models (B, q), in original units, for each of several sets of row prices (B, R)."""
    stack, own = _priced(reduced, prices)
    each = Each(reduced.core, stack, np.full(len(own), C), own, begin_of(reduced, C))
    return reduced.back(fit_each(each, gap).v)


def _priced(reduced: Reduced, prices: np.ndarray) -> tuple[Stack, np.ndarray]:
    """Return the rows of problems that differ in the prices of a model's rows (B, R), and these in core units."""
    core, own = reduced.core, prices[:, reduced.rows] * reduced.height
    stack = folded_stack(core, Stack(core.G.T[None], None, np.zeros(len(own), dtype=int)))
    return stack, np.maximum(own, LEFT_OUT * own.mean(axis=1, keepdims=True))


def fit_paths(model: Model, reduced: Reduced, path: np.ndarray, prices: np.ndarray, gap: float) -> np.ndarray:
    """Return the best models (B, C, q) along a path of C for each of several sets of row prices (B, R).

    From the smallest C up, all sets at once: what each has a use for at one C it begins with at the next. Where a model
    leaves no loss to speak of it is the best one at every larger C as well.
    """
    core, s = reduced.core, reduced.core.pen.size
    stack, own = _priced(reduced, prices)
    out = np.zeros((len(prices), path.size, model.q))
    left, first = np.arange(len(prices)), None
    for i in np.argsort(path, kind="stable"):
        C = float(path[i])
        each = Each(core, stack.take(left), np.full(left.size, C), own[left], begin_of(reduced, C))
        found = fit_each(each, gap, first)
        out[left, i] = reduced.back(found.v)
        pull = np.abs(found.pushed[:, :s]) / (0.5 * core.pen)
        first = np.zeros((left.size, s), dtype=bool)
        np.put_along_axis(first, np.argsort(-pull, axis=1, kind="stable")[:, :HANDED_ON], True, axis=1)
        first &= pull > CLOSE
        still = np.ones(left.size, dtype=bool)
        for k, b in enumerate(left):
            lossless = without_loss(model, prices[b], out[b, i], SHORT * gap)
            if lossless is not None:
                out[b, path >= C], still[k] = lossless, False
        left, first = left[still], first[still]
        if not left.size:
            break
    return out


def begin_of(reduced: Reduced, C: float) -> np.ndarray:
    """Return a point that leaves hard rows room."""
    one = np.ones(1)
    found: np.ndarray = priced_start(reduced.core, reduced, C * one, 0.5 * one, np.inf * one).v[0]
    return found


def best_each(refits: Refits, C: float, near: np.ndarray | None = None) -> BestRefitted:
    """Return the best of models that differ in some columns (:func:`best_refitted`), on few columns each where many."""
    reduced = refits.reduced
    if not (more_than_few(refits.model) and fits_each(reduced)):
        return best_refitted(refits, C, near)
    core, count, begin = reduced.core, len(refits.columns), begin_of(reduced, C)
    found = fit_each(Each(core, refits.folded, np.full(count, C), None, begin), 0.1 * OPTIMAL)
    return BestRefitted(found.v, begin[None, :], found.pushed, found.beta @ core.h + found.alpha @ core.a)
