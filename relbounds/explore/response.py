"""How every interval answers as one term is held anywhere between its least and its greatest use.

Held at a value, a term leaves a cut through the set of equivalent models, and the bounds of all other terms over that
cut are piecewise linear functions of the value. They are read off the rims of the set along pairs of terms (see
:mod:`relbounds.explore.frontier`), one rim for either of the two being held; factors have a rim for each contrast, and
one for the largest of them. Two terms of several columns, one held and one looked at, are settled by what-ifs at knots
that are added where the bounds bend. Section "What-ifs" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from relbounds.errors import OptionError
from relbounds.explore.constrain import need_bounds
from relbounds.explore.cutting import Cut, cut, with_auxiliaries
from relbounds.explore.exact_bounds import with_exact_bounds
from relbounds.explore.frontier import Rim, rims
from relbounds.explore.naming import find_row, term_rows
from relbounds.linear.asked import Asked, RowKey
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.linear.ranges import ZERO, measure
from relbounds.solver.polytope import Polytope

# How far a response may be off between its knots, as a share of the norm: half a unit of the third decimal.
FINE = 5e-4
# Knots at most where every knot is a what-if of its own.
MOST_KNOTS = 9
# Linear functions of a row, opposites counted once, beyond which what-ifs are cheaper than a rim for each of them.
MOST_TOPS = 32
# A curve that is off by less than this half way between two knots is straight there; so many times it is halved.
BENT, MOST_HALVINGS = 2e-5, 12
# Points of a piecewise linear curve closer to the line through their neighbours than this are left out.
STRAIGHT = 1e-6


@dataclass(frozen=True)
class Response:
    """How all other rows answer as one is held.

    Attributes
    ----------
    held : str
        The row that is held.
    lower, upper : float
        Its least and its greatest use: where it can be held.
    knots : mapping
        By row, a DataFrame with the columns ``held``, ``lower`` and ``upper``: the bounds at some values; straight in
        between.
    error : float
        How far a bound may be off between its knots, as a share of the norm.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
    >>> answer = response(fit._fitted, "x2")
    >>> bool(answer.at(answer.lower).loc["x3", "lower"] > answer.at(answer.upper).loc["x3", "lower"])
    True
    """

    held: str
    lower: float
    upper: float
    knots: Mapping[str, pd.DataFrame]
    error: float

    def at(self, value: float) -> pd.DataFrame:
        """Return the bounds of every other row with the row held at a value."""
        if not self.lower - FINE <= value <= self.upper + FINE:
            raise OptionError(
                f"'{self.held}' can be held between {self.lower:.3f} and {self.upper:.3f}, not at {value:g}."
            )
        records = {
            name: [float(np.interp(value, table["held"], table[end])) for end in ("lower", "upper")]
            for name, table in self.knots.items()
        }
        return pd.DataFrame.from_dict(records, orient="index", columns=["lower", "upper"])


def response(fitted: Fitted, term: str, *, tolerance: float = FINE) -> Response:
    """Return how the bounds of all other terms answer as one term is held anywhere it can be.

    Parameters
    ----------
    fitted : Fitted
    term : str
    tolerance : float
        How far a bound may be off between knots, as a share of the norm.

    Returns
    -------
    Response

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
    >>> answer = response(fit._fitted, "x1")
    >>> sorted(answer.knots)
    ['x2', 'x3', 'x4']
    """
    row = find_row(fitted, term, what="held")
    return responses(fitted, [row], tolerance=tolerance)[row.title]


def responses(
    fitted: Fitted, held: Sequence[Asked] | None = None, *, tolerance: float = FINE
) -> dict[str, Response]:
    """Return the responses to each of several terms, all regular ones by default; pairs of terms share their work."""
    need_bounds(fitted)
    fitted = with_exact_bounds(fitted)
    rows = term_rows(fitted)
    held = rows if held is None else list(held)
    every = [*rows, *(row for row in held if row.key not in {one.key for one in rows})]
    with threadpool_limits(limits=1, user_api="blas"):
        by_pair = _rims(fitted, held, every, tolerance)
        return {row.title: _answer(fitted, row, every, by_pair, tolerance) for row in held}


def count_rims(rows: Sequence[Asked]) -> int:
    """Return how many rims, and what-ifs in their place, the responses to all of some terms take."""
    simple = sum(_simple(row) for row in rows)
    tops = [len(row.functionals[0].tops) // 2 + 1 for row in rows if _several(row)]
    others = len(rows) - simple
    return simple * (simple - 1) // 2 + simple * sum(tops) + MOST_KNOTS * others * (others - 1)


def _simple(row: Asked) -> bool:
    """Whether a row is the size of one linear function."""
    return len(row.functionals) == 1 and row.functionals[0].signed


def _several(row: Asked) -> bool:
    """Whether a row is the largest of linear functions that come with their opposites, few enough to look at each."""
    if len(row.functionals) != 1 or row.functionals[0].signed or not row.functionals[0].exact:
        return False
    tops = row.functionals[0].tops
    known = {tuple(top) for top in tops.tolist()}
    return len(tops) <= 2 * MOST_TOPS and all(tuple(-value for value in top) in known for top in known)


@dataclass(frozen=True)
class Seen:
    """What is known of two rows over one set: a simple one, along the first axis of every rim, and another.

    `tops` are rims with the linear functions of the other row, one of each pair of opposites; `whole` is the rim
    with its value itself (any value above it counts as well), None for a row that is simple too.
    """

    tops: tuple[Rim, ...]
    whole: Rim | None = None

    @property
    def error(self) -> float:
        """How far the rims may be off."""
        return max(rim.error for rim in (*self.tops, *(() if self.whole is None else (self.whole,))))


Pairs = Mapping[tuple[RowKey, RowKey], tuple[Seen, ...]]


def _rims(fitted: Fitted, held: Sequence[Asked], every: Sequence[Asked], tolerance: float) -> Pairs:
    """Return the rims of all pairs of rows, one of them simple and one of them held, over each set."""
    simple = [row for row in every if _simple(row)]
    others = [row for row in every if _several(row)]
    keys = {row.key for row in held}
    out: dict[tuple[RowKey, RowKey], list[Seen]] = {}
    solver, fine = fitted.options.solver, tolerance * fitted.norm
    for polytope in fitted.polytopes:
        halves = {row.key: _halves(row, polytope.model.q) for row in (*simple, *others)}
        begin = dict(zip(halves, np.cumsum([0, *(len(one) for one in halves.values())]), strict=False))
        asked, owner = [], []
        for i, one in enumerate(simple):
            for two in (*simple[i + 1 :], *others):
                if one.key in keys or two.key in keys:
                    for k in range(len(halves[two.key])):
                        asked.append((int(begin[one.key]), int(begin[two.key]) + k))
                        owner.append((one.key, two.key))
        found: dict[tuple[RowKey, RowKey], list[Rim]] = {}
        if asked:
            directions = np.vstack(list(halves.values()))
            for pair, rim in zip(owner, rims(polytope, directions, asked, fine, solver), strict=True):
                found.setdefault(pair, []).append(rim)
        whole = {
            (one.key, two.key): rim
            for two in others
            for one, rim in _whole_rims(fitted, polytope, simple, two, keys, fine)
        }
        for pair, own in found.items():
            out.setdefault(pair, []).append(Seen(tuple(own), whole.get(pair)))
    return {pair: tuple(seen) for pair, seen in out.items()}


def _halves(row: Asked, q: int) -> FloatArray:
    """Return the linear functions of a row, one of each pair of opposites."""
    directions = row.functionals[0].directions(q)
    first = [np.flatnonzero(one)[0] for one in directions]
    return directions[[one[k] > 0 for one, k in zip(directions, first, strict=True)]]


def _whole_rims(
    fitted: Fitted,
    polytope: Polytope,
    simple: Sequence[Asked],
    other: Asked,
    keys: set[RowKey],
    fine: float,
) -> list[tuple[Asked, Rim]]:
    """Return the rims of simple rows with the value of another, in the set with a variable for that value."""
    wanted = [one for one in simple if one.key in keys or other.key in keys]
    if not wanted:
        return []
    place = {one.key: i for i, one in enumerate(fitted.spec.asked)}
    functional = other.functionals[0]
    assert functional.least is not None
    most = float(fitted.measured.upper[place[other.key]]) * (1 + ZERO) + ZERO * fitted.norm
    wide = with_auxiliaries(polytope, list(functional.variables), functional.least, most)
    q = wide.model.q
    value = np.concatenate([np.zeros(polytope.model.q), functional.least[2]])
    directions = np.vstack([*(one.functionals[0].directions(q)[:1] for one in wanted), value[None, :]])
    pairs = [(i, len(wanted)) for i in range(len(wanted))]
    return list(zip(wanted, rims(wide, directions, pairs, fine, fitted.options.solver), strict=True))


def _answer(fitted: Fitted, row: Asked, every: Sequence[Asked], by_pair: Pairs, tolerance: float) -> Response:
    """Return the response to one row."""
    place = {one.key: i for i, one in enumerate(fitted.spec.asked)}
    norm, measured, i = fitted.norm, fitted.measured, place[row.key]
    ends = float(measured.lower[i]) / norm, float(measured.upper[i]) / norm
    knots: dict[str, pd.DataFrame] = {}
    error, others = 0.0, []
    for other in every:
        if other.key == row.key:
            continue
        first = by_pair.get((row.key, other.key))
        second = by_pair.get((other.key, row.key))
        own = first or second
        if own is None:
            others.append(other)
            continue
        knots[other.title] = _curve(
            _evaluator(own, first is not None, norm), _held_knots(own, first is not None, norm), ends
        )
        error = max(error, *(seen.error / norm for seen in own))
    if others:
        sampled, off = _sampled(fitted, row, others, ends, tolerance)
        knots.update(sampled)
        error = max(error, off)
    titles = [other.title for other in every if other.key != row.key]
    return Response(row.title, *ends, {title: knots[title] for title in titles}, error)


Evaluate = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def _evaluator(own: Sequence[Seen], first: bool, norm: float) -> Evaluate:
    """Return the function from held values to the least and greatest values of the other row."""

    def evaluate(held: FloatArray) -> tuple[FloatArray, FloatArray]:
        lower, upper = np.full(len(held), np.inf), np.zeros(len(held))
        for seen in own:
            if first:
                found = _simple_held(seen, 0, held * norm)
            elif seen.whole is None:
                found = _simple_held(seen, 1, held * norm)
            else:
                found = _whole_held(seen, held * norm)
            lower, upper = np.fmin(lower, found[0] / norm), np.fmax(upper, found[1] / norm)
        return np.where(np.isinf(lower), 0.0, lower), upper

    return evaluate


def _held_knots(own: Sequence[Seen], first: bool, norm: float) -> FloatArray:
    """Return the values of the held row at corners of the rims."""
    axis = 0 if first else 1
    points = [
        rim.points[:, axis] for seen in own for rim in (*seen.tops, *([seen.whole] if seen.whole else []))
    ]
    return np.unique(np.abs(np.concatenate(points)) / norm)


def _simple_held(seen: Seen, axis: int, held: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of a row where the size of a simple one is held; nan where it cannot be."""
    lower, upper = np.full(len(held), np.nan), np.full(len(held), np.nan)
    for sign in (1.0, -1.0):
        most, least = np.full(len(held), np.nan), np.full(len(held), np.nan)
        for rim in seen.tops:
            inside = _reaches(rim, axis, sign * held)
            low, high = rim.between(sign * held, axis)
            size = np.maximum(np.abs(low), np.abs(high))
            most = np.fmax(most, np.where(inside, size, np.nan))
            if seen.whole is None:
                least = np.where(inside, _least_size(low, high), np.nan)
        if seen.whole is not None:
            inside = _reaches(seen.whole, axis, sign * held)
            least = np.where(inside, np.maximum(seen.whole.between(sign * held, axis)[0], 0.0), np.nan)
        lower, upper = np.fmin(lower, least), np.fmax(upper, most)
    return lower, upper


def _reaches(rim: Rim, axis: int, held: FloatArray) -> np.ndarray:
    ends = rim.points[:, axis]
    small = STRAIGHT * max(float(np.ptp(ends)), 1e-12)
    return (held >= ends.min() - small) & (held <= ends.max() + small)


def _least_size(low: FloatArray, high: FloatArray) -> FloatArray:
    return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))


def _whole_held(seen: Seen, held: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of a simple row where the value of another one is held.

    Let f be that value. Where the best point of all has f above x, the best one with f = x is the best one with
    f <= x: otherwise one could move toward the best of all. Where it has f below x, it is the best one with f >= x, for
    the same reason: the best over the union of the sets where one linear function is x or more.
    """
    assert seen.whole is not None
    low_in, high_in = seen.whole.between(held, 1)
    inside = held >= seen.whole.points[:, 1].min() - STRAIGHT
    least_in = _least_size(low_in, high_in)
    low_out, high_out = np.full(len(held), np.inf), np.full(len(held), -np.inf)
    least_out = np.full(len(held), np.inf)
    for rim in seen.tops:
        for sign in (1.0, -1.0):
            low, high, known = _beyond(rim, sign, held)
            low_out = np.where(known, np.minimum(low_out, low), low_out)
            high_out = np.where(known, np.maximum(high_out, high), high_out)
            least_out = np.where(known, np.minimum(least_out, _least_size(low, high)), least_out)
    reached = inside & np.isfinite(high_out)
    low, high = np.maximum(low_in, low_out), np.minimum(high_in, high_out)
    most = np.where(reached, np.maximum(np.abs(low), np.abs(high)), np.nan)
    return np.where(reached, np.maximum(least_in, least_out), np.nan), most


def _beyond(rim: Rim, sign: float, held: FloatArray) -> tuple[FloatArray, FloatArray, np.ndarray]:
    """Return the least and greatest first coordinate where the second, times a sign, is at least each value."""
    t = sign * rim.points[:, 1]
    known = held <= t.max() * (1 + STRAIGHT) + STRAIGHT
    out = []
    for upper in (False, True):
        knots = rim.edge(1, upper=upper)
        x, y = sign * knots[:, 0], knots[:, 1] * (1.0 if upper else -1.0)
        order = np.argsort(x)
        x, y = x[order], y[order]
        peak = x[int(np.argmax(y))]
        value = np.interp(np.maximum(held, peak), x, y)
        out.append(value if upper else -value)
    return out[0], out[1], known


def _curve(evaluate: Evaluate, knots: FloatArray, ends: tuple[float, float]) -> pd.DataFrame:
    """Return a piecewise linear curve by its knots: those given, and where curves cross in between, those found."""
    held = np.unique(np.concatenate([[ends[0]], knots[(knots > ends[0]) & (knots < ends[1])], [ends[1]]]))
    for _ in range(MOST_HALVINGS):
        lower, upper = evaluate(held)
        middle = 0.5 * (held[1:] + held[:-1])
        found = evaluate(middle)
        off = np.maximum(
            np.abs(found[0] - 0.5 * (lower[1:] + lower[:-1])),
            np.abs(found[1] - 0.5 * (upper[1:] + upper[:-1])),
        )
        more = middle[off > BENT]
        if not more.size:
            break
        held = np.unique(np.concatenate([held, more]))
    return _straightened(held, *evaluate(held))


def _straightened(held: FloatArray, lower: FloatArray, upper: FloatArray) -> pd.DataFrame:
    """Return the knots without those that lie on the lines between their neighbours."""
    keep = [0]
    for i in range(1, len(held) - 1):
        a, b = keep[-1], i + 1
        share = (held[i] - held[a]) / (held[b] - held[a])
        off = max(abs(y[i] - (1 - share) * y[a] - share * y[b]) for y in (lower, upper))
        if off > STRAIGHT:
            keep.append(i)
    keep = sorted({*keep, len(held) - 1})
    return pd.DataFrame({"held": held[keep], "lower": lower[keep], "upper": upper[keep]})


def _sampled(
    fitted: Fitted, row: Asked, others: Sequence[Asked], ends: tuple[float, float], tolerance: float
) -> tuple[dict[str, pd.DataFrame], float]:
    """Return knots by what-ifs: at both ends and half way, and then wherever the last half way point was off."""
    known: dict[float, FloatArray] = {}

    def ask(value: float) -> FloatArray:
        if value not in known:
            known[value] = _held_at(fitted, row, others, value, ends)
        return known[value]

    least, most = ends
    for value in (least, most):
        ask(value)
    # pieces by how far their middle was off the straight line: the last ones tell the error that is left
    open_, worst = [(np.inf, least, most)] if most - least > ZERO else [], 0.0
    while open_ and len(known) < MOST_KNOTS:
        open_.sort()
        _, a, b = open_.pop()
        middle = 0.5 * (a + b)
        off = float(np.max(np.abs(ask(middle) - 0.5 * (ask(a) + ask(b)))))
        if off > tolerance:
            open_ += [(off, a, middle), (off, middle, b)]
        worst = max(worst, min(off, tolerance))
    worst = max([worst, *(off for off, _, _ in open_ if np.isfinite(off))])
    held = np.array(sorted(known))
    values = np.array([known[value] for value in held])
    return {
        other.title: _straightened(held, values[:, k, 0], values[:, k, 1]) for k, other in enumerate(others)
    }, worst


def _held_at(
    fitted: Fitted, row: Asked, others: Sequence[Asked], value: float, ends: tuple[float, float]
) -> FloatArray:
    """Return the bounds of other rows, (d, 2) in shares of the norm, with one held at a value."""
    norm = fitted.norm
    # a trifle inside the rim: the rest of a set cut exactly there has no interior
    rim = ZERO * max(ends[1], ZERO)
    inside = float(np.clip(value, ends[0] + rim if ends[0] > ZERO else 0.0, max(ends[1] - rim, 0.0)))
    inside = 0.0 if inside <= ZERO else inside
    pieces = cut(fitted.polytopes, [Cut(row, inside * norm, inside * norm)], fitted.options.solver, norm)
    quiet = fitted.options.replace(n_jobs=1, client=None, progress=False)
    found = measure(pieces or fitted.polytopes, others, quiet)
    return np.column_stack([found.lower, found.upper]) / norm
