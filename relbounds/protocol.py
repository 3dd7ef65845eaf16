"""The one protocol of all results: linear (:func:`relbounds.relbounds`), kernel (:func:`relbounds.svor`) and forest
(:func:`relbounds.forest_relevance`).

Whatever made a fit, its user holds the same things, with the same argument names:

===============================  ======================================================================
``table``                        one row a term, and one for each of its levels or columns
``notes``                        every caveat, as sentences
``facts``                        table, header and notes as one record: what is shown
``summary()``                    a statsmodels ``Summary``: text, HTML, LaTeX, CSV
``selected(kind)``               the terms of a class
``selected_formula(kind)``       a formula of these terms
``predict(newdata, type)``       levels or numbers
``score(newdata)``               how good these are
``plot(ax)``                     the figure of the table
``to_latex(path)`` and others    the table for a paper: LaTeX, Markdown, HTML, CSV, Word
``write_report(path)``           all of it in one HTML file
``methods_text()``               what was done, for a paper's methods section
``save(path)``, ``to_bytes()``   the fit itself; :func:`relbounds.load` reads it back
===============================  ======================================================================

A new kind of fit subclasses :class:`Results`, says what it shows in `facts`, and gets all the rest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from relbounds.checks import choice
from relbounds.design import Design
from relbounds.design.stored_factors import FORMATS
from relbounds.errors import OptionError
from relbounds.saving import Kept
from relbounds.show.facts import Facts
from relbounds.show.walk import CLASSES, term_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from statsmodels.iolib.summary import Summary

    from relbounds.show.paper_tables import PaperTable
    from relbounds.show.report import Section

KINDS = {
    "relevant": ("strong", "weak"),
    "strong": ("strong",),
    "weak": ("weak",),
    "irrelevant": ("irrelevant",),
}


class Results(Kept):
    """What a fit of any kind gives its user; see the module's table.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> isinstance(rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr"), Results)
    True
    """

    _title: ClassVar[str]
    _formats = FORMATS

    def __init__(self, design: Design, table: pd.DataFrame, notes: tuple[str, ...]) -> None:
        self._design, self._notes = design, notes
        self.table: pd.DataFrame = table

    # -- facts ---------------------------------------------------------------------------------------------

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

    @property
    @abstractmethod
    def facts(self) -> Facts:
        """Table, header and notes: everything that is shown of the fit, as one record."""

    def selected(self, kind: str = "relevant") -> list[str]:
        """Return the regular terms of a class.

        Parameters
        ----------
        kind : {"relevant", "strong", "weak", "irrelevant"}
            Relevant ones are strong or weak. Irrelevant means: not distinguishable from noise.

        Returns
        -------
        list of str
            Terms as the formula has them.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.selected("irrelevant")
        ['x8', 'x9', 'x10']
        """
        wanted = KINDS[choice("kind", kind, KINDS)]
        rows = term_rows(self.table)
        if "relevance" not in rows:
            raise OptionError(f"A {self._title} tests no feature, so that none can be selected.")
        regular = rows[(rows["part"] == "regular") & rows["relevance"].isin(wanted)]
        return list(dict.fromkeys(regular["term"].astype(str)))

    def selected_formula(self, kind: str = "relevant") -> str:
        """Return a formula of the selected terms; covariates that the fit adjusts for stay in it.

        Parameters
        ----------
        kind : {"relevant", "strong", "weak", "irrelevant"}

        Returns
        -------
        str

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.selected_formula("strong")
        'y ~ x1 + x2 + x3'
        """
        terms = self.selected(kind)
        if not terms:
            raise OptionError(f"No feature is {kind} here, so there is no formula to make.")
        adjusted = dict.fromkeys(self.table.loc[self.table["part"] == "adjust", "term"].astype(str))
        adjust = f" | adjust({', '.join(adjusted)})" if adjusted else ""
        return f"{self.design.response} ~ " + " + ".join(terms) + adjust

    # -- predictions ---------------------------------------------------------------------------------------

    @abstractmethod
    def predict(self, newdata: Any = None, type: str = "class") -> Any:
        """Predict levels or numbers, or what is behind them; None means the training rows.

        Parameters
        ----------
        newdata : DataFrame, optional
            With the columns that the regular part reads.
        type : {"class", "score", "prob"}
            Levels (or numbers), scores, or probabilities of levels.
        """

    @abstractmethod
    def score(self, newdata: Any = None) -> float:
        """Return how good predictions are; None means the training rows.

        Parameters
        ----------
        newdata : DataFrame, optional
            With the response.
        """

    # -- showing -------------------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """Return the summary: header, one row a term with its levels under it, notes.

        Returns
        -------
        statsmodels.iolib.summary.Summary
            With ``as_text()``, ``as_html()``, ``as_latex()`` and ``as_csv()``; `print` shows the text.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> print(fit.summary())
                                Relevance bounds...
        """
        from relbounds.show.summary import summarise

        return summarise(self.facts)

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the figure of the fit; each kind has its own options, `legend` among them."""

    def paper_table(
        self,
        *,
        columns: Sequence[str] | None = None,
        caption: str = "",
        label: str = "",
        notes: bool | Sequence[str] = True,
    ) -> PaperTable:
        """Return the table as papers print it, ready for any format.

        Parameters
        ----------
        columns : sequence of str, optional
            Columns of ``table`` to show; by default those of the summary, signed ranges only where rows need them.
        caption, label : str
        notes : bool or sequence of str
            Whether to explain the columns under the table, with every caveat; or what to write there instead.

        Returns
        -------
        relbounds.show.paper_tables.PaperTable

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.paper_table(columns=["upper", "relevance"]).heads
        ('feature', 'upper', 'relevance')
        """
        from relbounds.show.paper_tables import paper_table

        return paper_table(self.facts, columns=columns, caption=caption, label=label, notes=notes)

    def to_latex(self, path: str | Path | None = None, **options: Any) -> str:
        r"""Return the table as LaTeX (booktabs), and write it when a path is given.

        Parameters
        ----------
        path : str or Path, optional
        **options
            `columns`, `caption`, `label` and `notes` of :meth:`paper_table`.

        Returns
        -------
        str

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> print(fit.to_latex(caption="Bounds").splitlines()[2])
        \caption{Bounds}
        """
        return self.paper_table(**options).to_latex(path)

    def to_markdown(self, path: str | Path | None = None, **options: Any) -> str:
        """Return the table as Markdown, and write it when a path is given.

        Parameters
        ----------
        path : str or Path, optional
        **options
            `columns`, `caption`, `label` and `notes` of :meth:`paper_table`.

        Returns
        -------
        str

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.to_markdown(columns=["upper", "relevance"]).splitlines()[0]
        '| feature | upper | relevance |'
        """
        return self.paper_table(**options).to_markdown(path)

    def to_html(self, path: str | Path | None = None, **options: Any) -> str:
        """Return the table as HTML, and write it when a path is given.

        Parameters
        ----------
        path : str or Path, optional
        **options
            `columns`, `caption`, `label` and `notes` of :meth:`paper_table`.

        Returns
        -------
        str

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.to_html().strip().startswith("<table")
        True
        """
        return self.paper_table(**options).to_html(path)

    def to_csv(self, path: str | Path | None = None, *, notes: bool = True) -> str:
        """Return the whole table as CSV with all digits, and write it when a path is given.

        Names and levels that a spreadsheet would run as formulas (those that begin with =, +, - or @) get an apostrophe
        in front.

        Parameters
        ----------
        path : str or Path, optional
        notes : bool
            Whether to add a last column, `notes`, that holds every caveat in its first row.

        Returns
        -------
        str

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.to_csv().splitlines()[0][:17]
        'feature,part,term'
        """
        from relbounds.show.paper_tables import csv_of

        return csv_of(self.facts, path, notes)

    def to_word(self, path: str | Path, **options: Any) -> Path:
        """Write the table to a Word document (needs the extra ``word``).

        Parameters
        ----------
        path : str or Path
        **options
            `columns`, `caption`, `label` and `notes` of :meth:`paper_table`.

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile, relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fit.to_word(folder + "/table.docx").name
        'table.docx'
        """
        return self.paper_table(**options).to_word(path)

    def methods_text(self) -> str:
        """Return what was done as a paragraph for a paper's methods section, with the references under it.

        Returns
        -------
        str

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> print(fit.methods_text())
        The relevance of 4 terms for the binary response y with 2 levels was measured on 60 observations. ...
        """
        return self.facts.methods

    def write_report(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write one self-contained HTML file about the fit that opens without a network.

        Parameters
        ----------
        path : str or Path
            Where to write, ending in .html; the folder must exist.
        title : str, optional

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile, relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1).data
        >>> fit = rb.svor("y ~ x1 + x2", data, kernel="linear", C=1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fit.write_report(folder + "/report.html").name
        'report.html'
        """
        return self._write_report(path, title)

    def _write_report(self, path: str | Path, title: str | None, *more: Section) -> Path:
        """Write the sections that every report has, those of this kind of fit, and some more."""
        from relbounds.show import report

        report.check_report(path)
        facts = self.facts
        sections = [
            report.summary_section(facts),
            *self._sections(),
            *more,
            report.data_section(self.design),
            report.settings_section(facts.settings),
            report.methods_section(facts),
            report.citation_section(),
        ]
        return report.write_page(facts, sections, path, title)

    def _sections(self) -> list[Section]:
        """Return the parts of the report that only this kind of fit has; the figure and the table by default."""
        from relbounds.show import report

        drawn = report.figure_block(self.plot(), "What the table says, as a figure.")
        return [report.table_section(self.facts, "Relevance", drawn)]

    def __repr__(self) -> str:
        classes = term_rows(self.table)["relevance"].value_counts()
        counts = ", ".join(f"{classes.get(k, 0)} {k}" for k in CLASSES)
        return f"<{self._title}: {self.formula}; {counts}>"

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().as_html()
