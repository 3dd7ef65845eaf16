"""What the page asks, and the answers as plain lists that JSON holds.

A wish comes as ``[row, least, most]``: the number of a row of the table, and None for an open end. Rows are numbers, so
that nothing depends on what a term is called. Of the wishes the last one is the one just made: where they cannot all be
granted, it is the one that is refused.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from relbounds.checks import is_number
from relbounds.errors import InfeasibleError, OptionError
from relbounds.explore.cheapest import cheapest
from relbounds.explore.constrain import Left, constrained_bounds, judged, need_bounds
from relbounds.explore.naming import find_row
from relbounds.linear.asked import RowKey
from relbounds.linear.fitted import Fitted
from relbounds.show.columns import format_p
from relbounds.show.escaping import visible
from relbounds.show.explorer.code import python_code, r_code
from relbounds.show.linear_facts import linear_facts, noise_of, smallest_p
from relbounds.show.paper_tables import csv_of, paper_table
from relbounds.show.walk import PART_TITLES, walk

Wish = tuple[float, float | None]
# What-ifs kept for undo, redo and a second page.
MOST_KEPT = 64
# Pages whose last question is remembered.
MOST_PAGES = 256
EXPORTS = ("csv", "latex")


class Superseded(Exception):
    """A newer question of the same page has come in the meantime."""


class Lane:
    """One question at a time; of those of one page that wait, only the last one is answered.

    Examples
    --------
    >>> lane = Lane()
    >>> lane.run("page", 2, lambda: "answer")
    'answer'
    >>> lane.run("page", 1, lambda: "too late")
    Traceback (most recent call last):
    ...
    relbounds.show.explorer.answers.Superseded
    """

    def __init__(self) -> None:
        self._turn, self._guard = threading.Lock(), threading.Lock()
        self._last: OrderedDict[str, int] = OrderedDict()

    def run(self, page: str, number: int, work: Callable[[], Any]) -> Any:
        """Do some work when its turn has come, unless it is no longer wanted then."""
        with self._guard:
            self._last[page] = max(number, self._last.get(page, number))
            self._last.move_to_end(page)
            while len(self._last) > MOST_PAGES:
                self._last.popitem(last=False)
        with self._turn:
            with self._guard:
                late = number < self._last.get(page, number)
            if late:
                raise Superseded
            return work()


class Answers:
    """Everything the page of one fit can ask.

    Parameters
    ----------
    fitted : Fitted
        A fit with bounds; a what-if is where the page starts then.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
    >>> answers = Answers(fit._fitted)
    >>> [row["label"] for row in answers.start()["rows"]]
    ['x1', 'x2', 'x3', 'x4']
    >>> answers.bounds([[1, 0, 0]])["rows"][1]
    [0.0, 0.0]
    """

    def __init__(self, fitted: Fitted) -> None:
        need_bounds(fitted)
        # nobody looks at a bar in a terminal while the page is open
        self._fitted = replace(fitted, options=fitted.options.replace(progress=False))
        self._kept: OrderedDict[Any, Left | Fitted | InfeasibleError] = OrderedDict()
        self._guard = threading.Lock()
        # noise and costs may take long; bounds must not wait for them
        self.quick, self.slow = Lane(), Lane()

    def start(self) -> dict[str, Any]:
        """Return the fit itself: its rows, their bounds and classes, and what noise reaches."""
        fitted = self._fitted
        facts = linear_facts(fitted, None)
        classes = self._classes(fitted)
        rows = []
        for step in walk(fitted.table):
            if step.row is None:
                continue
            i = step.row
            record = fitted.table.iloc[i]
            rows.append(
                {
                    "row": i,
                    "label": visible(step.label),
                    "short": visible(step.short),
                    "inner": step.kind == "inner",
                    "part": step.part,
                    "part_title": PART_TITLES.get(step.part, step.part),
                    "term": visible(step.term),
                    "lower": _number(record["lower"]),
                    "upper": _number(record["upper"]),
                    "weight": _number(record["weight"]),
                    "movable": self._movable(i),
                    "is_term": record["row"] == "term",
                    "has_cost": record["row"] == "term" and step.part == "regular",
                    "kind": str(record["row"]),
                }
            )
        return {
            "rows": rows,
            "classes": classes,
            "formula": visible(facts.formula),
            "response": visible(facts.response),
            "title": facts.title,
            "measure": facts.measure,
            "notes": [visible(note) for note in facts.notes],
        }

    def bounds(self, wishes: Any) -> dict[str, Any]:
        """Return the bounds of every row in what the wishes leave, with the proof that is left open."""
        read, table = self._read(wishes), self._fitted.table
        rows, weights = _pairs(table), [_number(value) for value in table["weight"]]
        if not read:
            held = self._held(self._fitted.wishes)
            return {"rows": rows, "held": held, "certificate": self._fitted.certificate, "weights": weights}
        left, norm, asked = self._left(read), self._fitted.norm, self._fitted.spec.asked
        ends = np.column_stack([left.measured.lower, left.measured.upper]) / norm
        best = [max((f.at(left.v) for f in row.functionals), key=abs) / norm for row in asked]
        # the rows of a teacher stay as they are: no wish touches its model
        n = len(asked)
        rows[:n], weights[:n] = (
            [[_number(low), _number(high)] for low, high in ends],
            [_number(w) for w in best],
        )
        gap = float(np.nanmax(left.measured.gap, initial=0.0)) / norm
        return {
            "rows": rows,
            "held": self._held(left.wishes),
            "certificate": max(gap, self._fitted.solution.certified),
            "weights": weights,
        }

    def classes(self, wishes: Any) -> dict[str, Any]:
        """Return classes, p-values and noise, how far each held row could go, and the wishes as code."""
        read = self._read(wishes)
        found = self._what_if(read, noise=None)
        named = {self._name(i): wish for i, wish in read.items()}
        return {
            **self._classes(found),
            "notes": [visible(note) for note in found.notes],
            "reach": self._reach(read),
            "python": python_code(named),
            "r": r_code(named),
        }

    def cheapest(self, wishes: Any, costs: Any) -> dict[str, Any]:
        """Return the cheapest terms that support a model in what the wishes leave."""
        read = self._read(wishes)
        found = self._what_if(read, noise=False)
        choice = cheapest(found, self._costs(costs), other=1.0)
        return {
            "terms": [visible(name) for name in choice.terms],
            "formula": visible(choice.formula),
            "cost": choice.cost,
            "of_all": choice.cost_of_all,
            "exact": choice.exact,
            "gap": choice.gap,
        }

    def export(self, wishes: Any, kind: str) -> str:
        """Return the table of a what-if as CSV or LaTeX."""
        if kind not in EXPORTS:
            raise OptionError(f"{kind!r} is not known; use one of {', '.join(EXPORTS)}.")
        facts = linear_facts(self._what_if(self._read(wishes), noise=None), None)
        return csv_of(facts, None, True) if kind == "csv" else paper_table(facts).to_latex()

    # -- inside --------------------------------------------------------------------------------------------

    def _movable(self, i: int) -> bool:
        """Return whether a row can be named in a wish: it is of this model, and its name means it."""
        asked = self._fitted.spec.asked
        if i >= len(asked) or asked[i].key.part == "adjust":
            return False
        try:
            return find_row(self._fitted, asked[i].title).key == asked[i].key
        except (OptionError, ValueError):
            return False

    def _name(self, i: int) -> str:
        return self._fitted.spec.asked[i].title

    def _read(self, wishes: Any) -> dict[int, Wish]:
        """Return wishes by row, in the order in which they were made; what is none is an error."""
        if not isinstance(wishes, list):
            raise OptionError("Constraints must be a list of [row, least, most].")
        found: dict[int, Wish] = {}
        for one in wishes:
            if not isinstance(one, list) or len(one) != 3:
                raise OptionError(f"A constraint must be [row, least, most], not {one!r:.60}.")
            i, low, high = one
            if not isinstance(i, int) or isinstance(i, bool) or not 0 <= i < len(self._fitted.table):
                raise OptionError(f"There is no row {i!r:.60} in this fit.")
            name = str(self._fitted.table.index[i])
            if not self._movable(i):
                raise OptionError(f"'{name}' cannot be constrained.")
            if i in found:
                raise OptionError(f"'{name}' is constrained twice; give it one pair (least, most).")
            for end in (low, high):
                if end is not None and (not is_number(end) or not math.isfinite(end)):
                    raise OptionError(f"'{name}': {end!r:.60} is not a number; use shares such as 0.1.")
            found[i] = (0.0 if low is None else float(low), None if high is None else float(high))
        return found

    def _costs(self, costs: Any) -> dict[str, float]:
        if not isinstance(costs, list):
            raise OptionError("Costs must be a list of [row, cost].")
        found = {}
        for one in costs:
            if not isinstance(one, list) or len(one) != 2 or not isinstance(one[0], int):
                raise OptionError(f"A cost must be [row, cost], not {one!r:.60}.")
            if not 0 <= one[0] < len(self._fitted.spec.asked):
                raise OptionError(f"There is no row {one[0]} in this fit.")
            found[self._name(one[0])] = one[1]
        return found

    def _left(self, read: Mapping[int, Wish]) -> Left:
        """Return what wishes leave, from memory where it was asked for before; a refusal is remembered as well."""
        # the order matters to a refusal only, which names the last wish
        known = self._recall(("left", frozenset(read.items()))) or self._recall(("left", tuple(read.items())))
        if known is None:
            try:
                known = constrained_bounds(self._fitted, {self._name(i): wish for i, wish in read.items()})
                self._keep(("left", frozenset(read.items())), known)
            except InfeasibleError as error:
                known = error
                self._keep(("left", tuple(read.items())), known)
        if isinstance(known, InfeasibleError):
            raise known
        return known

    def _what_if(self, read: Mapping[int, Wish], noise: bool | None) -> Fitted:
        """Return a what-if with its classes, from memory where it was asked for before."""
        if not read:
            return self._fitted
        key = ("judged", frozenset(read.items()), noise)
        found = self._recall(key)
        if found is None:
            found = judged(self._fitted, self._left(read), noise)
            self._keep(key, found)
        return found

    def _recall(self, key: Any) -> Any:
        with self._guard:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def _keep(self, key: Any, value: Any) -> None:
        with self._guard:
            self._kept[key] = value
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)

    def _held(self, wishes: Mapping[RowKey, Any]) -> list[int]:
        """Return the rows that constraints hold, those that went along by heredity among them."""
        place = {row.key: i for i, row in enumerate(self._fitted.spec.asked)}
        return sorted(place[key] for key in wishes if key in place)

    def _classes(self, found: Fitted) -> dict[str, Any]:
        table, smallest = found.table, smallest_p(self._fitted)
        reached = noise_of(found)
        noise = [
            _number(reached.get((part, term), reached.get((part, None), math.nan)))
            for part, term in zip(table["part"], table["term"], strict=True)
        ]
        return {
            "relevance": [str(value) for value in table["relevance"]],
            "p": [format_p(value, smallest) for value in table["p_adjusted"]],
            "direction": [str(value) for value in table["direction"]],
            "noise": noise,
        }

    def _reach(self, read: Mapping[int, Wish]) -> dict[str, list[float | None]]:
        """Return, for each constrained row, the least and the most it could have beside the other constraints."""
        found = {}
        for i in read:
            others = {j: wish for j, wish in read.items() if j != i}
            measured = self._left(others).measured if others else self._fitted.measured
            ends = (measured.lower[i] / self._fitted.norm, measured.upper[i] / self._fitted.norm)
            found[str(i)] = [_number(end) for end in ends]
        return found


def _number(value: Any) -> float | None:
    """Return a number as JSON holds it, None where there is none."""
    return None if pd.isna(value) or not np.isfinite(value) else float(value)


def _pairs(table: pd.DataFrame) -> list[list[float | None]]:
    ends: Sequence[tuple[Any, Any]] = list(zip(table["lower"], table["upper"], strict=True))
    return [[_number(low), _number(high)] for low, high in ends]
