"""Terms as results speak of them: which columns a term owns, its levels and their shares, and how to find it by name.

This is the one place that says which columns belong to a name that a user gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relbounds.checks import shown
from relbounds.errors import OptionError, listed, nearest

PARTS = ("regular", "adjust", "privileged")


@dataclass(frozen=True)
class DesignTerm:
    """One term of a design.

    Attributes
    ----------
    name : str
        As in the formula: "age", "C(site)", "log1p(priors)", "a:b".
    part : {"regular", "adjust", "privileged"}
    kind : {"number", "pair", "factor", "columns"}
        One numeric column; two levels (or truth values) as one column; three or more levels (or cells of an interaction
        of factors) with a column each; several numeric columns.
    columns : tuple of int
        Its places in `design.X`, `design.adjust` or `design.Z`.
    labels : tuple of str
        Names of its rows in tables below the row of the term; the title for a number or a pair.
    levels : tuple
        The levels of a factor or a pair, else ().
    ordered : bool
        Whether the levels have an order.
    shares : tuple of float
        The weighted share of each level, else ().
    variables : tuple of str
        Columns of the data that it reads.
    title : str
        What its row is called in tables; "sex: male - female" for a pair, the second level minus the first.

    Examples
    --------
    >>> import pandas as pd
    >>> from relbounds.design import make_design
    >>> data = pd.DataFrame({"y": [1.0, 2.5, 3.1, 0.2], "sex": ["f", "m", "m", "f"], "site": list("ABCA")})
    >>> for term in make_design("y ~ sex + C(site)", data).design_terms:
    ...     print(term.title, term.kind, term.columns, term.levels, term.shares)
    sex: m - f pair (0,) ('f', 'm') (0.5, 0.5)
    C(site) factor (1, 2, 3) ('A', 'B', 'C') (0.5, 0.25, 0.25)
    """

    name: str
    part: str
    kind: str
    columns: tuple[int, ...]
    labels: tuple[str, ...]
    levels: tuple[Any, ...]
    ordered: bool
    shares: tuple[float, ...]
    variables: tuple[str, ...]
    title: str


def find_term(terms: Sequence[DesignTerm], name: Any, part: str | None = None) -> DesignTerm:
    """Return the term that a user means by a name.

    Parameters
    ----------
    terms : sequence of DesignTerm
    name : str
        The title of a row, the term as in the formula, or the plain name of a variable.
    part : {"regular", "adjust", "privileged"} or None
        Look in this part only.

    Raises
    ------
    OptionError
        If no term or more than one is meant; it lists the candidates, or the nearest name.

    Examples
    --------
    >>> import pandas as pd
    >>> from relbounds.design import make_design
    >>> data = pd.DataFrame({"y": [1.0, 2.5, 3.1, 0.2], "age": [50, 60, 41, 44], "site": list("ABCA")})
    >>> design = make_design("y ~ log(age) + C(site)", data)
    >>> find_term(design.design_terms, "age").name
    'log(age)'
    """
    if part is not None and part not in PARTS:
        raise OptionError(f"part={part!r} is not known; use one of {', '.join(map(repr, PARTS))}.")
    if not isinstance(name, str | int | np.integer):
        raise OptionError(f"Name a term of the formula, not {shown(name)}.")
    name = str(name)
    among = [t for t in terms if part is None or t.part == part]
    for match in (
        lambda t: t.title == name,
        lambda t: t.name == name,
        lambda t: t.variables == (name,),
        lambda t: name in t.variables,
    ):
        found = [t for t in among if match(t)]
        if len(found) == 1:
            return found[0]
        if found:
            raise OptionError(f"{name!r} may mean {_told_apart(found)}. Write the one you mean.")
    owner = next((t for t in among if name in t.labels), None)
    if owner is not None:
        what = "level" if owner.levels else "column"
        raise OptionError(f"{name!r} is a {what} of the term {owner.name!r}. Name the term.")
    where = "" if part is None else {"regular": "regular ", "adjust": "adjusting "}.get(part, "privileged ")
    known = list(dict.fromkeys(n for t in among for n in (t.name, t.title, *t.variables)))
    hint = nearest(name, known) or f" There are: {listed([t.name for t in among])}."
    raise OptionError(f"There is no {where}term {name!r}.{hint}")


def _told_apart(found: Sequence[DesignTerm]) -> str:
    """Name candidates so that they differ: with their parts where their names are the same."""
    names = [t.name for t in found]
    if len(set(names)) == len(names):
        return " or ".join(map(repr, names))
    return " or ".join(f"{t.name!r} (part={t.part!r})" for t in found)
