"""Models with many columns, fitted on few: which columns a model has a use for, and when it has found them all.

A model uses few of many features. Fitted on some columns, its multipliers price all others: a column that the rows pull
at harder than its penalty holds it would lower the objective and joins. When there is none, the model is the best one
of all columns, whatever their number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relbounds.solver.model import Model

# Models with fewer penalised columns are fitted on all of them; so are those where an iteration on all columns takes
# fewer products than the rounds on this many columns do, each with what its bookkeeping costs.
MANY, ABOUT, BOOKKEEPING, USUAL_ROUNDS = 160, 100, 3e6, 6
# Columns to begin with, and columns that join at a time: many while it is asked roughly which are of use, since hardly
# any round is as dear as another one.
FIRST, JOINING, JOINING_ROUGHLY = 60, 60, 150
# A column pulled at so close to its penalty may be of use to a problem next in line: so many of them are handed on.
CLOSE, HANDED_ON = 0.4, 200
# Which columns are of use is first asked at this accuracy, until no more than so many others are asked for; those that
# are pulled at by at least this share of their penalty are then taken: mostly no other one is asked for later.
LOOKING, FEW_MORE, IDLE = 3e-2, 5, 0.8
# Columns join whose lack costs more than this many times the accuracy.
SHORT = 10.0
# Where more than this share of the columns is of use, one fit on all of them is quicker than several on fewer.
MOST_OF_USE = 0.5
# Rounds after which all columns are taken: never seen.
ROUNDS = 60

# Points (B, columns chosen), multipliers of loss rows (B, R) and of hard rows (B, m) of some problems.
Found = tuple[np.ndarray, np.ndarray, np.ndarray]
# ``solve(some, chosen, gap, near)``: problems on some columns, to an accuracy, from a model (q,) likely to be near.
Solve = Callable[[np.ndarray, np.ndarray, float, np.ndarray | None], Found]


@dataclass(frozen=True)
class Problems:
    """Problems on the rows of one model: the price C of each, and its row prices, shape (B, R)."""

    C: np.ndarray
    prices: np.ndarray


def has_many(model: Model) -> bool:
    """Return whether a model has so many columns that it pays to look for those of use.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> has_many(make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1)))
    False
    """
    count, rows = int(np.sum(model.penalty > 0)), model.h.size + model.a.size
    if not more_than_few(model):
        return False
    return rows * count * min(rows, count) > USUAL_ROUNDS * (rows * ABOUT**2 + BOOKKEEPING)


def more_than_few(model: Model) -> bool:
    """Return whether a model has enough columns that some may be left out.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> more_than_few(make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1)))
    False
    """
    return int(np.sum(model.penalty > 0)) > MANY and not model.linear.any()


def held_columns(model: Model) -> np.ndarray:
    """Return the columns that are always there: free ones, and those with bounds of their own."""
    return (model.penalty <= 0) | np.isfinite(model.lower) | np.isfinite(model.upper)


def first_columns(model: Model, count: int = FIRST) -> np.ndarray:
    """Return the columns to begin with: those that the rows pull at hardest where no feature is used.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> first_columns(make_model(np.array([[1.0, 2.0]]), np.ones(1), np.ones(1), np.ones(2)), 1).tolist()
    [False, True]
    """
    chosen = held_columns(model)
    with np.errstate(all="ignore"):
        pull = np.where(chosen, 0.0, np.abs(model.c @ model.G) / model.penalty)
    chosen[np.argsort(-pull, kind="stable")[:count]] = True
    return chosen


def overpull(model: Model, beta: np.ndarray, alpha: np.ndarray, limit: float = 0.5) -> np.ndarray:
    """Return how hard multipliers (B, R) pull at each column, relative to what its penalty holds, minus 1.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.array([[1.0, 2.0]]), np.ones(1), np.ones(1), np.ones(2))
    >>> overpull(model, np.full((1, 1), 0.5), np.zeros((1, 0))).tolist()
    [[0.0, 1.0]]
    """
    pull = np.abs(beta @ model.G + alpha @ model.A)
    with np.errstate(all="ignore"):
        return np.where(model.penalty > 0, pull / (limit * model.penalty) - 1.0, -1.0)


def join_columns(chosen: np.ndarray, over: np.ndarray, tolerance: float, most: int = JOINING) -> int:
    """Let the columns most in demand join, in place; return how many asked to.

    Where any does, those that are pulled at just as hard as their penalty holds them come along.

    Parameters
    ----------
    chosen : ndarray of bool, shape (q,)
    over : ndarray, shape (q,)
        How hard each column is pulled at (:func:`overpull`).
    tolerance : float
        A column asks to join beyond this.
    most : int, optional
        How many may join.

    Examples
    --------
    >>> chosen = np.array([True, False, False])
    >>> join_columns(chosen, np.array([0.0, 0.5, -0.2]), 1e-3), chosen.tolist()
    (1, [True, True, False])
    """
    wanted = np.where(chosen, -1.0, over)
    asked = int(np.sum(wanted > tolerance))
    if asked:
        first = np.argsort(-wanted, kind="stable")[:most]
        chosen[first[wanted[first] > min(tolerance, 0.0)]] = True
    return asked


def fit_few(model: Model, problems: Problems, solve: Solve, gap: float) -> np.ndarray:
    """Return the optimal variables of each problem, fitted on the columns it has a use for.

    Problems are taken from the smallest C up, since larger ones use more columns. Where a model leaves no loss to
    speak of it is the best one at every larger C as well.

    Parameters
    ----------
    model : Model
        All columns.
    problems : Problems
    solve : callable
        ``solve(some, chosen, gap)`` fits the problems `some` on the columns `chosen`, up to a gap that is a share of
        the objective.
    gap : float
        The gap in the end; for want of other columns the objective may lack some times as much.
    """
    out = np.zeros((len(problems.C), model.q))
    settled: dict[bytes, np.ndarray] = {}
    chosen = first_columns(model)
    for C in np.unique(problems.C):
        here = np.flatnonzero(problems.C == C)
        keys = [problems.prices[b].tobytes() for b in here]
        for b, key in zip(here, keys, strict=True):
            if key in settled:
                out[b] = settled[key]
        for b, key in zip(here, keys, strict=True):
            if key in settled:
                continue
            out[b], chosen = fit_grown(model, int(b), chosen, solve, gap)
            lossless = without_loss(model, problems.prices[b], out[b], SHORT * gap)
            if lossless is not None:
                settled[key] = lossless
    return out


def without_loss(model: Model, prices: np.ndarray, v: np.ndarray, tolerance: float) -> np.ndarray | None:
    """Return a model without any loss, if one that is hardly longer than this one is a multiple of it.

    Such a model is the best one at every larger C as well, up to the tolerance.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> without_loss(model, np.ones(1), np.array([0.9999]), 1e-3).round(6).tolist()
    [1.0]
    """
    priced = prices > 0
    margin, h = (model.G @ v)[priced], model.h[priced]
    if not np.all((margin > 0) | (h <= 0)):
        return None
    with np.errstate(all="ignore"):
        factor = float(np.max(np.where(h > 0, h / margin, 1.0), initial=1.0))
    if factor > 1.0 + tolerance:
        return None
    longer = factor * v
    short = np.maximum(model.h - model.G @ longer, 0.0)[priced]
    rounding = 1e-12 * model.height
    return (
        longer if np.max(short, initial=0.0) <= rounding and model.violation_of(longer) <= rounding else None
    )


def fit_grown(
    model: Model, problem: int, chosen: np.ndarray, solve: Solve, gap: float
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a problem, letting columns join until none asks to; return it, and the columns worth handing on."""
    held = held_columns(model)
    some, chosen = np.array([problem]), chosen.copy()
    # a rough fit shows which columns are of use
    rough = max(gap, LOOKING)
    near: np.ndarray | None = None
    for round_ in range(ROUNDS):
        if round_ == ROUNDS - 1 or chosen.mean() > MOST_OF_USE:
            # what few columns make of it is then far from the answer
            chosen, rough, near = np.ones(model.q, dtype=bool), gap, None
        v, beta, alpha = solve(some, chosen, rough, near)
        near = np.zeros(model.q)
        near[chosen] = v[0]
        over = overpull(model, beta, alpha)[0]
        if rough > gap:
            if join_columns(chosen, over, SHORT * rough, JOINING_ROUGHLY) <= FEW_MORE:
                rough = gap
                chosen = held | (over > IDLE - 1.0)
            continue
        if not join_columns(chosen, over, SHORT * gap):
            break
    assert near is not None
    handed = np.zeros(model.q, dtype=bool)
    handed[np.argsort(-over, kind="stable")[:HANDED_ON]] = True
    return near, held | (handed & (over > CLOSE - 1.0))
