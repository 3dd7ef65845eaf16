"""What every relevance analysis gives its user, linear or not: features by class, a formula, a file."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from relbounds.design import Design
from relbounds.errors import OptionError
from relbounds.saving import Kept

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

KINDS = {
    "relevant": ("strong", "weak"),
    "strong": ("strong",),
    "weak": ("weak",),
    "irrelevant": ("irrelevant",),
}


class Analysis(Kept):
    """A table with one row a feature and the column `relevance`, the design it was made from, and notes."""

    _title: ClassVar[str]

    def __init__(self, design: Design, table: pd.DataFrame, notes: tuple[str, ...]) -> None:
        self._design, self._notes = design, notes
        self.table: pd.DataFrame = table

    @property
    def design(self) -> Design:
        """The data as arrays, with names, terms and levels."""
        return self._design

    @property
    def formula(self) -> str:
        """The formula as it was written."""
        return self.design.formula

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table should know."""
        return self.design.notes + self._notes

    @abstractmethod
    def summary(self) -> Summary:
        """Return the summary table, a statsmodels ``Summary`` (text, LaTeX, HTML)."""

    def selected(self, kind: str = "relevant") -> list[str]:
        """Return the names of the regular features of a class: "relevant", "strong", "weak" or "irrelevant".

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
        >>> fit.selected("irrelevant")
        ['x8', 'x9', 'x10']
        """
        return self._of_kind(kind).index.tolist()

    def selected_formula(self, kind: str = "relevant") -> str:
        """Return a formula with the terms of the selected features.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
        >>> fit.selected_formula("strong")
        'y ~ x1 + x2 + x3'
        """
        terms = list(dict.fromkeys(self._of_kind(kind)["term"]))
        if not terms:
            raise OptionError(f"No feature is {kind} here, so there is no formula to make.")
        return f"{self.design.response} ~ " + " + ".join(terms)

    def _of_kind(self, kind: str) -> pd.DataFrame:
        if kind not in KINDS:
            raise OptionError(f"kind={kind!r} is not known; use one of {', '.join(map(repr, KINDS))}.")
        regular = self.table[self.table["part"] == "regular"]
        return regular[regular["relevance"].isin(KINDS[kind])]

    def __repr__(self) -> str:
        classes = self.table["relevance"].value_counts()
        counts = ", ".join(f"{classes.get(k, 0)} {k}" for k in ("strong", "weak", "irrelevant"))
        return f"<{self._title}: {self.formula}; {counts}>"

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().as_html()
