"""What readers are shown of a fit, as one frozen record: the same for linear, kernel and forest fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import pandas as pd

from relbounds.show.columns import SMALLEST_P

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Facts:
    """A table and everything that must be said with it.

    Attributes
    ----------
    title, formula, response : str
    left, right : tuple of (str, str)
        The two halves of the summary's header.
    table : DataFrame
        One row a term, and a row for each of its levels or columns.
    columns : tuple of str
        Which columns of the table the summary shows.
    notes : tuple of str
        What the columns mean, and every caveat. They go under every table, whatever its format.
    smallest_p : float
        The smallest p-value that the permutations behind the table can show.
    noise : mapping
        What noise reaches, by part and term; None for the term stands for all others of that part.
    constraints : mapping
        The constraints of a what-if, by row.
    before : DataFrame or None
        The table without these constraints.
    measure : str
        What `lower` and `upper` measure, for the axis of a figure.
    settings : tuple of (str, str)
        Every option as it was used.
    compared : tuple of (str, str)
        The lines under a comparison of fits; see :func:`relbounds.compare_fits`.
    methods : str
        What was done, in words that a journal accepts.

    Examples
    --------
    >>> table = pd.DataFrame({"upper": [0.3]}, index=["age"])
    >>> Facts("Bounds", "y ~ age", "y", table=table, columns=("upper",)).smallest_p
    0.001
    """

    title: str
    formula: str
    response: str
    table: pd.DataFrame
    columns: tuple[str, ...]
    left: Pairs = ()
    right: Pairs = ()
    notes: tuple[str, ...] = ()
    smallest_p: float = SMALLEST_P
    noise: Mapping[tuple[str, str | None], float] = field(default_factory=dict)
    constraints: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    before: pd.DataFrame | None = None
    measure: str = "relevance (share of the norm)"
    settings: Pairs = ()
    compared: Pairs = ()
    methods: str = ""


class HasFacts(Protocol):
    """Anything that can say what readers are shown of it."""

    @property
    def facts(self) -> Facts:
        """What readers are shown."""
