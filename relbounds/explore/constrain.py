"""What if a feature is used less, more, or not at all? Every other interval, inside the same budgets."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from threadpoolctl import threadpool_limits

from relbounds.errors import InfeasibleError, OptionError, nearest
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.linear.ranges import ZERO
from relbounds.options import Options
from relbounds.solver.polytope import Polytope, Ranges
from relbounds.solver.whole_program import FullLP, full_lp

Wish = tuple[float, float]
WORDS = ("off", "min", "max")
BOUNDS = ("lower", "upper", "signed_lower", "signed_upper")
# A bound read off a table with three decimals may lie this far outside the interval it was read from.
ROUNDING = 6e-4
# Signs of features forced away from zero are tried one by one; beyond this many sets it is no what-if.
MOST_PIECES = 64


def constrain(fitted: Fitted, wishes: Mapping[str, Any]) -> Fitted:
    """Recompute every interval with some features held to less, to more, or to nothing.

    The budgets stay those of the fit: what comes back are the models still equivalent to its best one.

    Parameters
    ----------
    fitted : Fitted
        A fit, or a what-if of it: wishes add up.
    wishes : mapping
        By feature: a number (the share of the norm it must have), a pair (least, most) with None for an open
        end, or a word: "off", "min" (the least any equivalent model uses it) or "max". A term with several
        columns can be switched off by its name. Signs are left open: only the size of a weight is bound.

    Returns
    -------
    Fitted
        Its weights are those of the best model that grants the wishes.

    Raises
    ------
    InfeasibleError
        When no equivalent model grants a wish; it names the feature and the range it can have.

    Examples
    --------
    Three readings of inflammation stand in for each other. Without two of them, the third is needed:

    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> fit = rb.relbounds("severity ~ age + stiffness + platelets + crp + esr + il6", data, C=0.1, probes=20)
    >>> fit.table.loc["crp", "relevance"]
    'weak'
    >>> fit.constrain({"esr": "off", "il6": 0}).table.loc["crp", "relevance"]
    'strong'
    """
    asked = read_wishes(fitted, wishes)
    with threadpool_limits(limits=1, user_api="blas"):
        pieces = fitted.polytopes
        granted: dict[str, Wish] = dict(fitted.wishes)
        table = fitted.table
        for name, wish in asked.items():
            pieces, table, granted[name] = _grant(fitted, pieces, table, name, wish, granted)
        return refit(fitted, pieces, granted)


def read_wishes(fitted: Fitted, wishes: Mapping[str, Any]) -> dict[str, Wish]:
    """Turn what the user wrote into an interval a feature; a term stands for its columns."""
    if not isinstance(wishes, Mapping) or not wishes:
        raise OptionError(
            "Give a mapping from features to wishes, such as {'bmi': 0} or {'bmi': (0.0, 0.1)}."
        )
    table = fitted.table
    found: dict[str, Wish] = {}
    for name, value in wishes.items():
        if name in table.index:
            found[name] = _read(name, value, float(table.at[name, "lower"]), float(table.at[name, "upper"]))
            continue
        columns = table.index[table["term"] == name]
        if len(columns) == 0:
            known = [*table.index, *table["term"]]
            raise OptionError(f"There is no feature '{name}' to constrain.{nearest(str(name), known)}")
        if not (isinstance(value, str) and value == "off") and not _is_zero(value):
            raise OptionError(
                f"The term '{name}' has several columns and can only be switched off as a whole; "
                f"for anything else name a column: {', '.join(columns[:8])}."
            )
        found.update(dict.fromkeys(columns, (0.0, 0.0)))
    return found


def _is_zero(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and value == 0


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
        if not isinstance(end, numbers.Real) or isinstance(end, bool | np.bool_) or math.isnan(end):
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
    fitted: Fitted,
    pieces: tuple[Polytope, ...],
    table: pd.DataFrame,
    name: str,
    wish: Wish,
    granted: Mapping[str, Wish],
) -> tuple[tuple[Polytope, ...], pd.DataFrame, Wish]:
    """Cut the sets by one more wish, or say what the feature can have."""
    old = granted.get(name, (0.0, math.inf))
    low, high = max(wish[0], old[0]), min(wish[1], old[1])
    target = _target(fitted, name)
    if granted:
        # the wishes granted so far have moved the interval
        reach = _reach(fitted, pieces, target)
    else:
        reach = float(table.at[name, "lower"]), float(table.at[name, "upper"])
    if low > high or low > reach[1] + ROUNDING or high < reach[0] - ROUNDING:
        raise _refusal(name, wish, reach, granted)
    cut = _cut(fitted, pieces, target, _settle(low, high, reach))
    if not cut:
        raise _refusal(name, wish, reach, granted)
    return cut, table, (low, high)


def _target(fitted: Fitted, name: str) -> Any:
    for target in fitted.spec.targets:
        if target.name == name:
            return target
    raise OptionError(
        f"'{name}' is a privileged feature of the teacher, no part of the model that is explored; "
        "constrain regular features, or fit with privileged='slack'."
    )


def _settle(low: float, high: float, reach: Wish) -> Wish:
    """Move a wish at the rim of what is possible inside it, by as much as rounding can explain."""
    rim = ZERO * max(reach[1], ZERO)
    least = reach[0] + rim if reach[0] > ZERO else 0.0
    most = max(reach[1] - rim, least)
    return min(low, most), max(high, least) if low < high else min(max(high, least), most)


def _refusal(name: str, wish: Wish, reach: Wish, granted: Mapping[str, Wish]) -> InfeasibleError:
    given = f" Given {describe(granted)}," if granted else ""
    return InfeasibleError(
        f"No equivalent model has '{name}' {phrase(wish)}.{given} {'it' if given else 'It'} can have "
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


def describe(wishes: Mapping[str, Wish]) -> str:
    """Say all wishes in one line.

    Examples
    --------
    >>> describe({"bmi": (0.0, 0.0), "age": (0.0, 0.1)})
    'bmi = 0, age <= 0.1'
    """
    return ", ".join(f"{name} {phrase(wish)}" for name, wish in wishes.items())


def _cut(fitted: Fitted, pieces: Sequence[Polytope], target: Any, wish: Wish) -> tuple[Polytope, ...]:
    """Return the non-empty sets that are left when a feature's size lies in an interval."""
    low, high = wish[0] * fitted.norm, wish[1] * fitted.norm
    q = fitted.spec.model.q
    boxes: list[tuple[FloatArray, FloatArray]] = []
    cap_low, cap_high = np.full(q, -np.inf), np.full(q, np.inf)
    for j in target.variables:
        cap_low[j], cap_high[j] = -high, high
    if low <= 0:
        boxes.append((cap_low, cap_high))
    else:
        # a size of at least `low` is one of two half lines for each variable that stands for the feature
        for j, sign in itertools.product(target.variables, (1.0, -1.0)):
            least, most = cap_low.copy(), cap_high.copy()
            least[j], most[j] = (low, high) if sign > 0 else (-high, -low)
            boxes.append((least, most))
    if len(pieces) * len(boxes) > MOST_PIECES:
        raise OptionError(
            f"Too many features of open sign are held away from zero ('{target.name}' is one too many); "
            "constrain fewer of them at a time."
        )
    cut = []
    for piece, (least, most) in itertools.product(pieces, boxes):
        smaller = piece.bounded(least, most)
        v = best_model(smaller, fitted.solution.C)
        if v is not None:
            cut.append(replace(smaller, start=v))
    return tuple(cut)


def best_model(polytope: Polytope, C: float) -> FloatArray | None:
    """Return the point of the set with the best objective, or None when the set is empty.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=2.0, loss=0.5, start=np.array([1.0]))
    >>> best_model(tope, 10.0), best_model(tope.bounded(np.array([3.0]), np.array([4.0])), 10.0)
    (array([1.]), None)
    """
    model = polytope.model
    if np.any(model.lower > model.upper):
        return None
    lp = full_lp(polytope)
    cost = np.concatenate([C * model.linear, 0.5 * model.penalty[lp.penalised], C * model.c])
    found = linprog(
        cost, A_ub=lp.lhs, b_ub=lp.rhs, bounds=np.column_stack([lp.lower, lp.upper]), method="highs"
    )
    return np.asarray(found.x[: lp.q]) if found.status == 0 else None


def _reach(fitted: Fitted, pieces: Sequence[Polytope], target: Any) -> Wish:
    """Return the least and the most use of one feature over a union of sets."""
    options = fitted.options.replace(n_jobs=1, client=None, progress=False)
    sizes = []
    for piece in pieces:
        found = settled_ranges(piece, list(target.variables), options, fitted.norm)
        lower, upper = found.lower / fitted.norm, found.upper / fitted.norm
        least = np.where((lower <= 0) & (upper >= 0), 0.0, np.minimum(np.abs(lower), np.abs(upper)))
        sizes.append((float(least.max()), float(np.maximum(np.abs(lower), np.abs(upper)).max())))
    return min(size[0] for size in sizes), max(size[1] for size in sizes)


def settled_ranges(polytope: Polytope, variables: list[int], options: Options, norm: float) -> Ranges:
    """Return signed ranges; a variable whose range another engine left open is settled by the simplex method.

    A what-if can leave a set without an interior (a feature at its maximum), where interior points stall.
    """
    found = signed_ranges(polytope, variables, options)  # noqa: F821
    open_ = np.flatnonzero(~(found.gap <= ZERO * norm) | ~found.feasible)
    if open_.size == 0:
        return found
    lp = full_lp(polytope)
    bounds = np.column_stack([lp.lower, lp.upper])
    lower, upper, gap, feasible = (
        getattr(found, name).copy() for name in ("lower", "upper", "gap", "feasible")
    )
    solver = list(found.solver)
    for i in open_:
        gaps = []
        for sign, ends in ((1.0, lower), (-1.0, upper)):
            cost = np.zeros(lp.lhs.shape[1])
            cost[variables[i]] = sign
            out = linprog(cost, A_ub=lp.lhs, b_ub=lp.rhs, bounds=bounds, method="highs")
            # the start is a point of the set whatever the engine says
            ends[i] = sign * out.fun if out.status == 0 else polytope.start[variables[i]]
            gaps.append(abs(out.fun - _dual_value(out, lp)) if out.status == 0 else np.inf)
        gap[i], feasible[i], solver[i] = max(gaps), True, "highs"
    return Ranges(lower, upper, gap, feasible, tuple(solver))


def _dual_value(out: Any, lp: FullLP) -> float:
    """Return the objective of the multipliers that came with a solution: what proves it."""
    value = float(out.ineqlin.marginals @ lp.rhs)
    for ends, marginals in ((lp.lower, out.lower.marginals), (lp.upper, out.upper.marginals)):
        known = np.isfinite(ends)
        value += float(marginals[known] @ ends[known])
    return value


def refit(fitted: Fitted, pieces: tuple[Polytope, ...], wishes: Mapping[str, Wish]) -> Fitted:
    """Compute every interval over a union of sets, and the best model in it."""
    spec, norm, model = fitted.spec, fitted.norm, fitted.spec.model
    before = fitted.table if fitted.before is None else fitted.before
    C = fitted.solution.C
    best = min(pieces, key=lambda piece: model.objective_of(piece.start, C))
    v = best.start
    variables = [j for target in spec.targets for j in target.variables]
    found = [settled_ranges(piece, variables, fitted.options, norm) for piece in pieces]
    table = join_tables([make_table(spec, v, one, norm, fitted.intervals) for one in found])  # noqa: F821
    # the features of a teacher live in a model of their own, which no wish touches
    others = fitted.table.index.difference(table.index, sort=False)
    columns = [*BOUNDS, "part", "term", "weight"]
    table = judge(pd.concat([table[columns], fitted.table.loc[others, columns]]), fitted.intervals)  # noqa: F821
    table = table[[name for name in before.columns if name in table]]
    table["constraint"] = [phrase(wishes[name]) if name in wishes else "" for name in table.index]
    hull = Ranges(
        lower=np.min([one.lower for one in found], axis=0),
        upper=np.max([one.upper for one in found], axis=0),
        gap=np.max([one.gap for one in found], axis=0),
        feasible=np.all([one.feasible for one in found], axis=0),
        solver=found[0].solver,
    )
    solution = replace(
        fitted.solution,
        v=v,
        penalty=model.penalty_of(v),
        loss=model.loss_of(v),
        objective=model.objective_of(v, C),
        losses=model.hinge(v),
    )
    kept = [note for note in fitted.notes if not note.startswith("What if ")]
    note = f"What if {describe(wishes)}: bounds inside the budgets of the fit without these constraints."
    # the set of the best model comes first
    ordered = (best, *(piece for piece in pieces if piece is not best))
    return replace(
        fitted,
        solution=solution,
        polytopes=ordered,
        ranges=hull,
        table=table,
        notes=(*kept, note),
        wishes=dict(wishes),
        before=before,
    )


def join_tables(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the table of a union of sets: the least of the least, the most of the most."""
    joined = tables[0].copy()
    for name, end in (
        ("lower", np.min),
        ("upper", np.max),
        ("signed_lower", np.min),
        ("signed_upper", np.max),
    ):
        joined[name] = end([table[name].to_numpy() for table in tables], axis=0)
    return joined
