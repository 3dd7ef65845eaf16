"""From a name that a user writes to the row of the table that it means; which terms belong to which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from relbounds.checks import shown
from relbounds.errors import OptionError
from relbounds.linear.asked import Asked, RowKey
from relbounds.linear.fitted import Fitted


def find_row(fitted: Fitted, name: Any, *, what: str = "constrained") -> Asked:
    """Return the row of the table that a name means.

    Parameters
    ----------
    fitted : Fitted
    name : str
        The index of a row, a term as in the formula, or the plain name of a variable.
    what : str
        What is to be done with it, for the message where that cannot be done.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01)
    >>> find_row(fit._fitted, "x2").key.term
    'x2'
    """
    if not isinstance(name, str | int | np.integer):
        raise OptionError(
            f"Name a term of the table, such as {fitted.spec.asked[0].title!r}, not {shown(name)}."
        )
    titled = [row for row in fitted.spec.asked if row.title == name]
    row = titled[0] if len(titled) == 1 else _row_of_term(fitted, name, what)
    if row.key.part == "adjust":
        raise OptionError(
            f"'{name}' is an adjusting covariate, which is in every model; it cannot be {what}. "
            "Name a term before '| adjust(...)'."
        )
    return row


def _row_of_term(fitted: Fitted, name: Any, what: str) -> Asked:
    term = fitted.design.find_term(name)
    key = RowKey(term.part, term.name)
    for row in fitted.spec.asked:
        if row.key == key:
            return row
    raise OptionError(
        f"'{name}' is a privileged feature of the teacher, no part of the model that is explored; it cannot be "
        f"{what}. Name a regular feature, or fit with privileged='slack'."
    )


def term_rows(fitted: Fitted, part: str = "regular") -> list[Asked]:
    """Return the rows of whole terms of a part, in the table's order."""
    return [row for row in fitted.spec.asked if row.row == "term" and row.key.part == part]


def parents(key: RowKey, terms: Iterable[RowKey]) -> list[RowKey]:
    """Return the terms that an interaction is made of, as far as they are terms themselves.

    Examples
    --------
    >>> terms = [RowKey("regular", name) for name in ("a", "C(b)", "a:C(b)", "c")]
    >>> [parent.term for parent in parents(terms[2], terms)]
    ['a', 'C(b)']
    """
    own = set(_factors(key.term))
    return [one for one in terms if one.part == key.part and set(_factors(one.term)) < own]


def offspring(key: RowKey, terms: Iterable[RowKey]) -> list[RowKey]:
    """Return the interactions that a term is part of.

    Examples
    --------
    >>> terms = [RowKey("regular", name) for name in ("a", "C(b)", "a:C(b)", "c")]
    >>> [child.term for child in offspring(terms[0], terms)]
    ['a:C(b)']
    """
    own = set(_factors(key.term))
    return [one for one in terms if one.part == key.part and own < set(_factors(one.term))]


def _factors(term: str) -> Sequence[str]:
    """Split a term at the colons that stand outside of brackets and quotes."""
    parts, depth, quote, begin = [], 0, "", 0
    for i, letter in enumerate(term):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"`":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == ":" and depth == 0:
            parts.append(term[begin:i].strip())
            begin = i + 1
    return [*parts, term[begin:].strip()]
