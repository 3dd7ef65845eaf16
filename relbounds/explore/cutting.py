"""Sets of equivalent models cut by wishes: a row of the table at most, or at least, some number.

What a row reports is the largest of a few linear functions of the weights. "At most" is a handful of hard rows, and the
set stays convex. "At least" holds where one of the functions reaches the number: a union of as many sets, of which most
are empty and left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from relbounds.errors import OptionError
from relbounds.linear.asked import Asked, Functional, directions_of
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.ranges import ZERO
from relbounds.solver.best import point_inside
from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.polytope import Polytope

Wish = tuple[float, float]
# More sets than this are no what-if any more: each of them takes as long as a fit's bounds.
MOST_PIECES = 64
# Up to this many linear functions become hard rows of their own; more of them are written with auxiliary variables.
MOST_ROWS = 64
# The room that a linear function of several variables keeps where it is held, as a share of the norm: far less takes
# many times as long, far more would be seen.
ROOM = 5e-6


@dataclass(frozen=True)
class Cut:
    """A wish in units of the variables: the row's value lies between `low` and `high`."""

    row: Asked
    low: float
    high: float


def cut(polytopes: Sequence[Polytope], cuts: Sequence[Cut], solver: str, unit: float) -> tuple[Polytope, ...]:
    """Return the sets that are left of a union when some rows are held between bounds; empty ones are left out.

    Parameters
    ----------
    polytopes : sequence of Polytope
    cuts : sequence of Cut
    solver : str
    unit : float
        The norm of the best model: differences far below it count as none.
    """
    found: list[Polytope] = []
    for polytope in polytopes:
        capped = polytope
        for one in cuts:
            capped = at_most(capped, one.row, _with_room(one, unit))
        pieces = _at_least(capped, [one for one in cuts if one.low > 0], solver, unit)
        if len(found) + len(pieces) > MOST_PIECES:
            raise _too_many(cuts)
        found += [ready for piece in pieces if (ready := occupied(piece)) is not None]
    return tuple(found)


def _with_room(one: Cut, unit: float) -> float:
    """Return the upper end, a trifle above the lower one: a linear function held exactly leaves no interior.

    A single variable that is held is no variable any more, and needs no room.
    """
    single = all(len(functional.variables) == 1 for functional in one.row.functionals)
    return one.high if single or one.high <= 0 else max(one.high, one.low + ROOM * unit)


def _too_many(cuts: Sequence[Cut]) -> OptionError:
    names = ", ".join(f"'{one.row.title}'" for one in cuts if one.low > 0)
    return OptionError(
        f"Too many signs and levels are left open where {names} are held away from zero; hold fewer of them at a time."
    )


def occupied(polytope: Polytope) -> Polytope | None:
    """Return the set with a start inside it, None where it is empty.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=2.0, loss=0.5, start=np.array([1.0]))
    >>> occupied(tope.bounded(np.array([3.0]), np.array([4.0]))) is None
    True
    """
    if np.any(polytope.model.lower > polytope.model.upper):
        return None
    inside = point_inside(polytope)
    return None if inside is None else replace(polytope, start=inside)


def at_most(polytope: Polytope, row: Asked, high: float) -> Polytope:
    """Return the set cut where a row's value is at most some number.

    A term that is switched off has all its weights at zero. Levels that share one weight other than zero predict the
    same at a larger norm, so nothing is lost by that.

    Examples
    --------
    >>> from relbounds.linear.asked import RowKey, largest_contrast
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.zeros((1, 3)), np.zeros(1), np.ones(1), np.ones(3))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.zeros(3))
    >>> row = Asked(RowKey("regular", "site"), "site", "term", (largest_contrast((0, 1, 2)),))
    >>> at_most(tope, row, 0.5).model.A.shape, at_most(tope, row, 0.0).model.upper.tolist()
    ((6, 3), [0.0, 0.0, 0.0])
    """
    if np.isinf(high):
        return polytope
    for functional in row.functionals:
        polytope = _capped(polytope, functional, high, whole=row.row == "term")
    return polytope


def _capped(polytope: Polytope, functional: Functional, high: float, whole: bool) -> Polytope:
    model, places = polytope.model, list(functional.variables)
    if len(places) == 1 or (whole and high <= 0):
        low_end, high_end = np.full(model.q, -np.inf), np.full(model.q, np.inf)
        low_end[places], high_end[places] = -max(high, 0.0), max(high, 0.0)
        return polytope.bounded(low_end, high_end)
    if functional.exact and len(functional.tops) <= MOST_ROWS:
        rows = functional.directions(model.q)
        return with_rows(polytope, -rows, np.full(len(rows), -high))
    assert functional.least is not None
    E, F, cost = functional.least
    return with_auxiliaries(polytope, places, (E, F, cost), high)


def with_rows(polytope: Polytope, rows: FloatArray, least: FloatArray) -> Polytope:
    """Return the set cut by further hard rows ``rows v >= least``."""
    model = polytope.model
    cut_model = replace(model, A=np.vstack([model.A, rows]), a=np.concatenate([model.a, least]))
    return replace(polytope, model=cut_model)


def with_auxiliaries(
    polytope: Polytope, places: list[int], form: tuple[FloatArray, FloatArray, FloatArray], high: float
) -> Polytope:
    """Return the set cut where ``cost.y <= high`` for some y with ``E u + F y >= 0``; y comes after all variables."""
    E, F, cost = form
    model, p = polytope.model, cost.size
    wide_E = np.zeros((len(E), model.q))
    wide_E[:, places] = E
    A = np.vstack(
        [
            np.hstack([model.A, np.zeros((len(model.A), p))]),
            np.hstack([wide_E, F]),
            np.concatenate([np.zeros(model.q), -cost])[None, :],
        ]
    )
    none = np.zeros(p)
    wide = replace(
        model,
        G=np.hstack([model.G, np.zeros((len(model.G), p))]),
        penalty=np.concatenate([model.penalty, none]),
        linear=np.concatenate([model.linear, none]),
        A=A,
        a=np.concatenate([model.a, np.zeros(len(E)), [-high]]),
        lower=np.concatenate([model.lower, np.full(p, -np.inf)]),
        upper=np.concatenate([model.upper, np.full(p, np.inf)]),
        inner=None,
    )
    return replace(polytope, model=wide, start=np.concatenate([polytope.start, none]))


def _at_least(capped: Polytope, cuts: Sequence[Cut], solver: str, unit: float) -> list[Polytope]:
    """Return the sets whose union has every one of some rows at its least value or above."""
    if not cuts:
        return [capped]
    open_: list[list[tuple[FloatArray, float]]] = []
    for one in cuts:
        tops = _tops(one, capped.model.q)
        reach = push_many(capped, tops, solver)
        if not reach.feasible.all():
            return []
        kept = reach.value + reach.gap >= one.low - ZERO * unit
        open_.append([(top, one.low) for top in tops[kept]])
    count = int(np.prod([len(tops) for tops in open_]))
    if count > MOST_PIECES:
        raise _too_many(cuts)
    pieces = []
    for choice in itertools.product(*open_):
        rows, least = np.array([top for top, _ in choice]), np.array([low for _, low in choice])
        pieces.append(_bounded_below(capped, rows, least))
    return pieces


def _tops(one: Cut, q: int) -> FloatArray:
    for functional in one.row.functionals:
        if not functional.exact:
            raise OptionError(
                f"'{one.row.title}' has {len(functional.variables)} columns, too many to be held at or above a number; "
                "hold it at most at one, switch it off, or hold single columns."
            )
    return directions_of(one.row.functionals, q)


def _bounded_below(polytope: Polytope, rows: FloatArray, least: FloatArray) -> Polytope:
    """Return the set cut by rows, those of a single variable as bounds."""
    model = polytope.model
    low_end, high_end = np.full(model.q, -np.inf), np.full(model.q, np.inf)
    single = np.count_nonzero(rows, axis=1) == 1
    for row, value in zip(rows[single], least[single], strict=True):
        j = int(np.flatnonzero(row)[0])
        end = value / row[j]
        if row[j] > 0:
            low_end[j] = max(low_end[j], end)
        else:
            high_end[j] = min(high_end[j], end)
    bounded = polytope.bounded(low_end, high_end)
    # a value that is held exactly: the two bounds may differ by rounding
    meet = bounded.model.lower > bounded.model.upper
    close = meet & (bounded.model.lower - bounded.model.upper <= 1e-12 * np.abs(bounded.model.lower))
    if close.any():
        upper = np.where(close, bounded.model.lower, bounded.model.upper)
        bounded = replace(bounded, model=replace(bounded.model, upper=upper))
    return with_rows(bounded, rows[~single], least[~single]) if not single.all() else bounded
