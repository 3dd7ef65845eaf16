"""What if a term is used less, more, or not at all? Every other interval, inside the same budgets.

Section "What-ifs" of docs/method.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from relbounds.checks import is_number
from relbounds.errors import InfeasibleError, OptionError, nearest
from relbounds.explore.cutting import Cut, Wish, cut
from relbounds.explore.naming import find_row, offspring, term_rows
from relbounds.explore.what_if_noise import judge_what_if
from relbounds.linear.asked import Asked, RowKey
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.linear.ranges import ZERO, Measured, measure
from relbounds.linear.table import make_table
from relbounds.solver.best import best_inside
from relbounds.solver.polytope import Polytope

WORDS = ("off", "min", "max")
# A bound read off a table with three decimals may lie this far outside the interval it was read from.
ROUNDING = 6e-4
OFF = (0.0, 0.0)


def constrain(
    fitted: Fitted, wishes: Mapping[str, Any], *, heredity: bool = True, noise: bool | None = None
) -> Fitted:
    """Recompute every interval with some terms held to less, to more, or to nothing.

    The budgets stay those of the fit: what comes back are the models still equivalent to its best one.

    Parameters
    ----------
    fitted : Fitted
        A fit, or a what-if of it: wishes add up.
    wishes : mapping
        By term (a row of the table, a term of the formula, or a plain variable): a number (the share of the norm it
        must have), a pair (least, most) with None for an open end, or a word: "off", "min" (the least any equivalent
        model uses it) or "max". What is held is what the row of the term reports: the size of a weight, the largest
        contrast of a factor, the sum of the sizes of several columns. Signs are left open.
    heredity : bool
        Switch off the interactions of a term that is switched off.
    noise : bool, optional
        Draw the noise that rows are compared with anew inside the constrained set (True), or keep that of the fit,
        which is at least as large (False). By default it is drawn unless there are very many rows; a note says so.

    Returns
    -------
    Fitted
        Its weights are those of the best model that grants the wishes.

    Raises
    ------
    InfeasibleError
        When no equivalent model grants a wish; it names the term and the range it can have.

    Examples
    --------
    Three readings of inflammation stand in for each other. Without two of them, the third is needed:

    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> fit = rb.relbounds("severity ~ age + stiffness + platelets + crp + esr + il6", data, C=0.1)
    >>> fit.table.loc["crp", "relevance"]
    'weak'
    >>> fit.constrain({"esr": "off", "il6": 0}).table.loc["crp", "relevance"]
    'strong'
    """
    return judged(fitted, constrained_bounds(fitted, wishes, heredity=heredity), noise)


@dataclass(frozen=True)
class Left:
    """What wishes leave of the equivalent models, measured but not yet judged.

    Parameters
    ----------
    sets : tuple of Polytope
        The sets whose union is left; the one with the best model comes first.
    v : ndarray
        The best model that is left.
    measured : Measured
        The bounds of every row of the model.
    wishes : mapping
        All that is asked for, by row, earlier what-ifs included.
    """

    sets: tuple[Polytope, ...]
    v: FloatArray
    measured: Measured
    wishes: Mapping[RowKey, Wish]


def constrained_bounds(fitted: Fitted, wishes: Mapping[str, Any], *, heredity: bool = True) -> Left:
    """Return the bounds that wishes leave: :func:`constrain` without classes and p-values, which may take longer.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
    >>> left = constrained_bounds(fit._fitted, {"x2": "off"})
    >>> float(left.measured.upper[1])
    0.0
    """
    need_bounds(fitted)
    asked = read_wishes(fitted, wishes, heredity)
    with threadpool_limits(limits=1, user_api="blas"):
        granted = dict(fitted.wishes)
        for key, wish in asked.items():
            granted[key] = narrowed(granted.get(key, (0.0, math.inf)), wish)
        return _left(fitted, _grant(fitted, asked, granted), granted)


def need_bounds(fitted: Fitted) -> None:
    """Refuse a fit that has no equivalent models to look at."""
    if not fitted.polytopes:
        why = "no relation was found" if fitted.no_relation else "it was made with bounds=False"
        raise OptionError(f"There are no equivalent models to explore in this fit: {why}.")


def narrowed(old: Wish, new: Wish) -> Wish:
    """Return what two wishes for one row come to."""
    return max(old[0], new[0]), min(old[1], new[1])


def read_wishes(fitted: Fitted, wishes: Mapping[str, Any], heredity: bool = True) -> dict[RowKey, Wish]:
    """Turn what the user wrote into an interval a row."""
    if not isinstance(wishes, Mapping) or not wishes:
        raise OptionError("Give a mapping from terms to wishes, such as {'bmi': 0} or {'bmi': (0.0, 0.1)}.")
    found: dict[RowKey, Wish] = {}
    rows = {row.key: i for i, row in enumerate(fitted.spec.asked)}
    for name, value in wishes.items():
        row = find_row(fitted, name)
        i = rows[row.key]
        reach = float(fitted.measured.lower[i]) / fitted.norm, float(fitted.measured.upper[i]) / fitted.norm
        wish = _read(str(name), value, *reach)
        found[row.key] = narrowed(found[row.key], wish) if row.key in found else wish
    if heredity:
        known = [row.key for row in term_rows(fitted)]
        for key in [key for key, wish in found.items() if wish == OFF and key.label is None]:
            found.update(dict.fromkeys(offspring(key, known), OFF))
    return found


def _read(name: str, value: Any, least: float, most: float) -> Wish:
    if isinstance(value, str):
        if value not in WORDS:
            words = "'off', 'min', 'max', a number or a pair of numbers"
            raise OptionError(f"'{name}': {value!r} is not known; use {words}.{nearest(value, WORDS)}")
        at = {"off": 0.0, "min": least, "max": most}[value]
        return at, at
    pair = value if isinstance(value, Sequence | np.ndarray) else (value, value)
    if len(pair) != 2:
        raise OptionError(f"'{name}': {value!r} must be a number or a pair (least, most).")
    ends = [open_end if end is None else end for end, open_end in zip(pair, (0.0, math.inf), strict=True)]
    for end in ends:
        if not is_number(end):
            raise OptionError(f"'{name}': {end!r} is not a number; use shares of the norm such as 0.1.")
        if end < 0:
            raise OptionError(
                f"'{name}': {end:g} is negative. Wishes bound the size of a weight, whatever its sign: "
                f"use 0 or more; equivalent models use {least:.3f} to {most:.3f}."
            )
    low, high = float(ends[0]), float(ends[1])
    if low > high:
        raise OptionError(f"'{name}': the least, {low:g}, is above the most, {high:g}; swap them.")
    return low, high


def _grant(
    fitted: Fitted, asked: Mapping[RowKey, Wish], granted: Mapping[RowKey, Wish]
) -> tuple[Polytope, ...]:
    """Cut the sets by all wishes at once; where nothing is left, find the one that was too many."""
    rows = {row.key: i for i, row in enumerate(fitted.spec.asked)}
    measured, norm = fitted.measured, fitted.norm
    cuts = []
    for key, wish in asked.items():
        i = rows[key]
        reach = float(measured.lower[i]) / norm, float(measured.upper[i]) / norm
        cuts.append(
            _cut_of(fitted.spec.asked[i], granted[key], reach, norm, wish, fitted.wishes, fitted.spec.asked)
        )
    pieces = cut(fitted.polytopes, cuts, fitted.options.solver, norm)
    if pieces:
        return pieces
    # together they cannot be granted: one after the other shows which one is too many, and what it could have had
    pieces, so_far = fitted.polytopes, dict(fitted.wishes)
    quiet = fitted.options.replace(n_jobs=1, client=None, progress=False)
    for key, wish in asked.items():
        row = fitted.spec.asked[rows[key]]
        own = measure(pieces, [row], quiet)
        reach = float(own.lower[0]) / norm, float(own.upper[0]) / norm
        one = _cut_of(row, granted[key], reach, norm, wish, so_far, fitted.spec.asked)
        pieces = cut(pieces, [one], fitted.options.solver, norm)
        if not pieces:
            raise _refusal(row, wish, reach, so_far, fitted.spec.asked)
        so_far[key] = granted[key]
    return pieces


def _cut_of(
    row: Asked,
    wish: Wish,
    reach: Wish,
    norm: float,
    written: Wish,
    granted: Mapping[RowKey, Wish],
    asked: Sequence[Asked],
) -> Cut:
    """Return the cut of one wish, moved inside what is possible by as much as rounding can explain."""
    low, high = wish
    if low > high or low > reach[1] + ROUNDING or high < reach[0] - ROUNDING:
        raise _refusal(row, written, reach, granted, asked)
    rim = ZERO * max(reach[1], ZERO)
    least = reach[0] + rim if reach[0] > ZERO else 0.0
    most = max(reach[1] - rim, least)
    ends = min(low, most), max(high, least) if low < high else min(max(high, least), most)
    return Cut(row, ends[0] * norm, ends[1] * norm)


def _refusal(
    row: Asked, wish: Wish, reach: Wish, granted: Mapping[RowKey, Wish], asked: Sequence[Asked]
) -> InfeasibleError:
    given = f" Given {describe(granted, asked)}," if granted else ""
    return InfeasibleError(
        f"No equivalent model has '{row.title}' {phrase(wish)}.{given} {'it' if given else 'It'} can have "
        f"{reach[0]:.3f} to {reach[1]:.3f} of the norm. Wish for something in that range, or allow more "
        "models with a larger delta."
    )


def phrase(wish: Wish) -> str:
    """Say a wish in a few characters.

    Examples
    --------
    >>> phrase((0.0, 0.0)), phrase((0.0, 0.1)), phrase((0.2, float("inf")))
    ('= 0', '<= 0.1', '>= 0.2')
    """
    low, high = (f"{end:.3f}".rstrip("0").rstrip(".") for end in wish)
    if wish[1] - wish[0] <= ZERO:
        return f"= {low}"
    if math.isinf(wish[1]):
        return f">= {low}"
    return f"<= {high}" if wish[0] <= 0 else f"in [{low}, {high}]"


def describe(wishes: Mapping[RowKey, Wish], asked: Sequence[Asked]) -> str:
    """Say all wishes in one line.

    Examples
    --------
    >>> describe({RowKey("regular", "bmi"): (0.0, 0.0)}, [Asked(RowKey("regular", "bmi"), "bmi", "term", ())])
    'bmi = 0'
    """
    titles = {row.key: row.title for row in asked}
    return ", ".join(f"{titles[key]} {phrase(wish)}" for key, wish in wishes.items())


def _left(fitted: Fitted, pieces: Sequence[Polytope], wishes: Mapping[RowKey, Wish]) -> Left:
    """Measure a union of sets, and find the best model in it."""
    C, model = fitted.solution.C, fitted.spec.model
    q = model.q
    points = [best_inside(piece, C) for piece in pieces]
    known = [
        piece.start[:q] if point is None else point[:q] for piece, point in zip(pieces, points, strict=True)
    ]
    # the set of the best model comes first; each keeps its start, which has room on all sides
    order = sorted(range(len(pieces)), key=lambda i: model.objective_of(known[i], C))
    started, v = [pieces[i] for i in order], known[order[0]]
    measured = measure(started, fitted.spec.asked, fitted.options, known=fitted.measured.extremes)
    return Left(tuple(started), v, measured, dict(wishes))


def judged(fitted: Fitted, left: Left, noise: bool | None = None) -> Fitted:
    """Return what wishes leave as a fit of its own: with classes, p-values, the best model and notes."""
    spec, norm, C = fitted.spec, fitted.norm, fitted.solution.C
    model, v, measured, wishes = spec.model, left.v, left.measured, left.wishes
    with threadpool_limits(limits=1, user_api="blas"):
        verdicts, drawn = judge_what_if(fitted, measured, left.sets, wishes, noise)
    table = make_table(spec.asked, v, measured, norm, verdicts)
    table["constraint"] = [phrase(wishes[row.key]) if row.key in wishes else "" for row in spec.asked]
    solution = replace(
        fitted.solution,
        v=v,
        penalty=model.penalty_of(v),
        loss=model.loss_of(v),
        objective=model.objective_of(v, C),
        losses=model.hinge(v),
    )
    said = describe(wishes, spec.asked)
    note = f"What if {said}: bounds inside the budgets of the fit without these constraints."
    return replace(
        fitted,
        solution=solution,
        polytopes=left.sets,
        measured=_with_others(measured, fitted.measured),
        noise=drawn,
        # the features of a teacher live in a model of their own, which no wish touches
        table=pd.concat([table, fitted.table.iloc[len(table) :].assign(constraint="")]),
        notes=(note, *drawn.notes),
        wishes=dict(wishes),
        before=fitted.table if fitted.before is None else fitted.before,
    )


def _with_others(own: Measured, whole: Measured) -> Measured:
    """Return the bounds of a model's own rows with those of the rows that are not its own."""
    n = len(own.lower)
    joined = {
        name: np.concatenate([getattr(own, name), getattr(whole, name)[n:]])
        for name in ("lower", "upper", "signed_lower", "signed_upper", "gap", "at_most")
    }
    return Measured(solver=own.solver + whole.solver[n:], extremes=own.extremes, **joined)
