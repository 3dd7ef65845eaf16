"""Limits of many variables at once, proved by multipliers that are moved from the middle of a set.

In the middle every multiplier has room on either side. Without a direction multipliers only prove that 0 is at most
some value. Scaled until this value is the limit that is wanted of a variable, they are moved by the least, in the
metric of the barrier, that balances the variable's direction, and the value stays as it is. Loss rows and columns that
this takes out of their range are held at its end, and the others are moved again. Mostly a few are held, so that all
that a direction asks for is the solution of a small system.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg.lapack import dposv, dpotrf, dpotri

from relbounds.solver.centre import centred
from relbounds.solver.certificates import dual_bound
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals, Reduced
from relbounds.solver.starts import prepare

# Rows and columns at most: what each does to every other is held side by side, 8 bytes for each pair.
MOST = 4000
# The middle is that of a set whose budgets are larger by this share: there multipliers have more room. In much larger
# ones they prove less to begin with.
LARGER = 0.2
# Directions try again so often at most, while they hold no more than so many rows and columns.
ROUNDS, MOST_HELD = 12, 150
# The share of the wanted limit that multipliers are scaled to, and what they may exceed the ends of their range by,
# against these: the certificate charges for that, and must not find more than the limit.
SPARE, BEYOND = 0.999, 1e-5
# What is held is held this far toward its end: what is held next moves it a little.
HELD = 0.98


@dataclass(frozen=True)
class Middle:
    """The multipliers of the middle of a set, and how they move together.

    Rows are loss rows and hard ones, then come the columns of penalised variables.

    Parameters
    ----------
    reduced : Reduced
        The set in core units.
    lam : ndarray, shape (K,)
        Multipliers of the budgets.
    rows : ndarray, shape (N,)
        Multipliers of the rows.
    low, high : ndarray, shape (N + s,)
        The room that multipliers, and the pulls at columns, have on either side.
    value : float
        What the multipliers prove of no direction at all.
    moves : ndarray, shape (N + s, N + s)
        How far each is moved by a unit of push on each other, free variables and the value left as they are.
    """

    reduced: Reduced
    lam: np.ndarray
    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray
    value: float
    moves: np.ndarray


def middle_of(polytope: Polytope) -> Middle | None:
    """Return multipliers to begin with; None where the set has no room inside, or is too large for that.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.array([[1.0, 0.1]]), np.ones(1), np.ones(1), np.ones(2))
    >>> middle_of(Polytope(model, norm=1.5, loss=0.5, start=np.array([1.0, 0.0]))).low.shape
    (3,)
    """
    model = polytope.model
    if model.h.size + model.a.size + model.q > MOST or model.linear.any():
        return None
    ready = prepare(_larger(polytope))
    if not (ready.feasible and ready.interior):
        return None
    core = ready.reduced.core
    s = core.pen.size
    with np.errstate(all="ignore"):
        at = centred(core, ready.v[None, :], None)
        D1, D2, D3, D4, Da, _ = ((at.Z[:, cut] / at.S[:, cut])[0] for cut in at.cuts)
        weights, E = np.concatenate([D3 * D4 / (D3 + D4), Da]), 4.0 * D1 * D2 / (D1 + D2)
        matrix, margins = np.vstack([core.G, core.A]), np.concatenate([core.h, core.a])
        moves = _moves(matrix[:, :s], np.column_stack([matrix[:, s:], margins]), weights, E)
    rows = np.concatenate([at.z4[0], at.alpha[0]])
    held, pull = at.weight[0] * core.pen, rows @ matrix[:, :s]
    low = np.concatenate([-rows, -held - pull])
    high = np.concatenate([at.price[0] * core.c - at.z4[0], np.full(core.a.size, np.inf), held - pull])
    # they are multipliers of the set itself as well, whose budgets are smaller
    budgets = core.B - LARGER * polytope.budgets[2][: core.B.size]
    value = float(at.lam[0] @ budgets - rows @ margins)
    if moves is None or not value > 0:
        return None
    return Middle(ready.reduced, at.lam[0], rows, low, high, value, moves)


def _larger(polytope: Polytope) -> Polytope:
    """Return the set with larger budgets."""
    if polytope.joint is not None:
        C, J = polytope.joint
        return replace(polytope, joint=(C, (1.0 + LARGER) * J))
    assert polytope.norm is not None and polytope.loss is not None
    more = 1.0 + LARGER
    return replace(polytope, norm=more * polytope.norm, loss=more * polytope.loss)


def _moves(columns: np.ndarray, kept: np.ndarray, weights: np.ndarray, E: np.ndarray) -> np.ndarray | None:
    """Return how far rows and columns move by a unit of push on each; None where rounding prevails.

    That is their covariance where rows vary as `weights`, and pulls at columns as `E`, around one another: rows are
    at once what `weights` and the columns' pulls allow, and what they make of `kept` stays as it is.
    """
    N, s = columns.shape
    root = np.sqrt(weights)
    V = root[:, None] * columns / np.sqrt(E)
    inner = V @ V.T
    inner.flat[:: N + 1] += 1.0
    factor, broken = dpotrf(inner.T, 1, 0)
    inverse, singular = dpotri(factor, 1, 0)
    if broken or singular:
        return None
    # LAPACK fills one triangle
    own = np.tril(inverse) + np.tril(inverse, -1).T
    own *= root[:, None] * root
    across = own @ kept
    own -= across @ np.linalg.pinv(kept.T @ across, hermitian=True) @ across.T
    moves = np.empty((N + s, N + s))
    moves[:N, :N] = own
    moves[:N, N:] = own @ columns
    moves[N:, :N] = moves[:N, N:].T
    moves[N:, N:] = columns.T @ moves[:N, N:]
    return moves if np.isfinite(moves).all() else None


def limits_below(
    polytope: Polytope, middle: Middle, variables: np.ndarray, signs: np.ndarray, below: float
) -> np.ndarray:
    """Return proved limits of some variables, times -1 or 1; infinite where none is proved that is at most `below`.

    Parameters
    ----------
    polytope : Polytope
        The set.
    middle : Middle
        Its middle.
    variables : ndarray of int, shape (k,)
        Penalised variables.
    signs : ndarray, shape (k,)
        Whether each is limited from above, 1, or its negative is, -1.
    below : float
        The limit that is wanted.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.array([[1.0, 0.1]]), np.ones(1), np.ones(1), np.ones(2))
    >>> tope = Polytope(model, norm=1.5, loss=0.5, start=np.array([1.0, 0.0]))
    >>> bool(limits_below(tope, middle_of(tope), np.array([1]), np.array([-1.0]), 1.45)[0] <= 1.45)
    True
    """
    reduced, times = middle.reduced, SPARE * below / middle.value
    low, high = times * middle.low, times * middle.high
    # what rounding may make of these, and then, row by row, all four
    ends = np.array([low, high, low - BEYOND * np.abs(low), high + BEYOND * np.abs(high)])
    N, place = len(middle.rows), reduced.place[variables]
    found = np.zeros(len(variables), dtype=bool)
    rows = np.empty((len(variables), N))
    for k, (column, sign) in enumerate(zip(N + place, signs, strict=True)):
        # what the direction itself pulls with is no longer room
        d = sign * reduced.unit[column - N]
        ends[:, column] -= d
        moved = _moved(middle.moves, ends, int(column), d)
        ends[:, column] += d
        if moved is not None:
            found[k], rows[k] = True, times * middle.rows + moved[:N]
    out = np.full(len(variables), np.inf)
    some = np.flatnonzero(found)
    directions = np.zeros((some.size, polytope.model.q))
    directions[np.arange(some.size), variables[some]] = signs[some]
    R = reduced.core.rows
    lam = np.tile(times * middle.lam, (some.size, 1))
    duals: Duals = reduced.duals(rows[some, :R], rows[some, R:], lam)
    out[some] = dual_bound(polytope, directions, duals, enough=np.full(some.size, below))
    out[out > below] = np.inf
    return out


def _moved(moves: np.ndarray, ends: np.ndarray, column: int, d: float) -> np.ndarray | None:
    """Return moves of all multipliers and pulls that stay within their range; None where none was found.

    `ends` are the lower and the upper ones that are aimed at, and those that must not be exceeded.
    """
    low, high, least, most = ends
    end = high[column] if d > 0 else low[column]
    if end * d >= 0:
        # the norm's multiplier holds the direction by itself
        return np.zeros(len(low))
    held, aims = [column], [end]
    for _ in range(ROUNDS):
        own = moves[held]
        _, push, singular = dposv(own[:, held], np.array(aims))
        if singular:
            return None
        moved = push @ own
        over = moved > most
        new = np.flatnonzero(over | (moved < least))
        if not new.size:
            return moved
        if len(held) + new.size > MOST_HELD:
            return None
        before = set(held)
        fresh = [i for i in new.tolist() if i not in before]
        if not fresh:
            return None
        held += fresh
        aims += [HELD * float(high[i] if over[i] else low[i]) for i in fresh]
    return None
