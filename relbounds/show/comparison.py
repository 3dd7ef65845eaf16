"""Several fits side by side, as papers compare models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from relbounds.errors import OptionError
from relbounds.show.columns import format_bound
from relbounds.show.facts import Facts, HasFacts
from relbounds.show.paper_tables import PaperRow, PaperTable
from relbounds.show.walk import walk

STARS = {"strong": "**", "weak": "*"}
COMPARED = ("lower", "upper", "relevance")
PLACED = ("part", "term", "row")
NOTE = (
    "In brackets: lower and upper of each term, {}. ** strong: needed by every equivalent model; * weak: used by some; "
    "no mark: not distinguishable from noise. A dash: not in the formula."
)


@dataclass(frozen=True)
class Comparison:
    """Fits side by side.

    Attributes
    ----------
    table : DataFrame
        One row a term or level, columns by fit and by ``lower``, ``upper`` and ``relevance``.
    facts : DataFrame
        One row a fact about each fit (columns): rows, norm, tolerance, scores, class counts.
    places : DataFrame
        The part and term of each row.
    notes : tuple of str
        How to read it, and the caveats of every fit by name.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> one = rb.relbounds("severity ~ age + stiffness + sodium", data, C=0.1, delta=0.05, control="fdr")
    >>> two = rb.relbounds("severity ~ age + stiffness + sodium + crp", data, C=0.1, delta=0.05, control="fdr")
    >>> bool(rb.compare_fits({"two": one, "three": two}).table["two"].loc["crp"].isna().all())
    True
    """

    table: pd.DataFrame
    facts: pd.DataFrame
    places: pd.DataFrame
    notes: tuple[str, ...]

    def paper(self, caption: str = "", label: str = "", notes: bool = True) -> PaperTable:
        """Return the comparison as a table for a paper.

        Parameters
        ----------
        caption, label : str
            Of the table; a label is what LaTeX refers to.
        notes : bool
            Whether the notes stand under it.

        Returns
        -------
        PaperTable

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.datasets.load_severity()
        >>> fit = rb.relbounds("severity ~ age + stiffness + sodium", data, C=0.1, delta=0.05, control="fdr")
        >>> rb.compare_fits({"one": fit}).paper().heads
        ('', 'one')
        """
        names = list(self.facts.columns)
        rows = [
            PaperRow(
                step.label,
                () if step.row is None else tuple(self._cell(name, step.row) for name in names),
                step.kind,
            )
            for step in walk(self.places)
        ]
        for fact, values in self.facts.iterrows():
            rows.append(PaperRow(str(fact), tuple(map(str, values)), "foot"))
        return PaperTable(
            heads=("", *names),
            rows=tuple(rows),
            numeric=(True,) * len(names),
            caption=caption,
            label=label,
            notes=self.notes if notes else (),
        )

    def _cell(self, name: str, row: int) -> str:
        found = self.table[name].iloc[row]
        if pd.isna(found["upper"]):
            return "-"
        return f"[{format_bound(found['lower'])}, {format_bound(found['upper'])}]{STARS.get(found['relevance'], '')}"

    def to_latex(self, path: str | Path | None = None, **options: Any) -> str:
        r"""Return the comparison as LaTeX, and write it when a path is given.

        Parameters
        ----------
        path : str or Path, optional
        **options
            `caption`, `label` and `notes` of :meth:`paper`.

        Returns
        -------
        str

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.datasets.load_severity()
        >>> fit = rb.relbounds("severity ~ age + stiffness", data, C=0.1, delta=0.05, control="fdr")
        >>> rb.compare_fits({"one": fit}).to_latex().splitlines()[0]
        '\\begin{table}[htbp]'
        """
        return self.paper(**options).to_latex(path)

    def to_markdown(self, path: str | Path | None = None, **options: Any) -> str:
        """Return the comparison as Markdown, and write it when a path is given.

        Parameters
        ----------
        path : str or Path, optional
        **options
            `caption`, `label` and `notes` of :meth:`paper`.

        Returns
        -------
        str

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.datasets.load_severity()
        >>> fit = rb.relbounds("severity ~ age + stiffness", data, C=0.1, delta=0.05, control="fdr")
        >>> print(rb.compare_fits({"one": fit}).to_markdown().splitlines()[0])
        |  | one |
        """
        return self.paper(**options).to_markdown(path)

    def to_html(self, path: str | Path | None = None, **options: Any) -> str:
        """Return the comparison as HTML, and write it when a path is given.

        Parameters
        ----------
        path : str or Path, optional
        **options
            `caption`, `label` and `notes` of :meth:`paper`.

        Returns
        -------
        str

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.datasets.load_severity()
        >>> fit = rb.relbounds("severity ~ age + stiffness", data, C=0.1, delta=0.05, control="fdr")
        >>> "<table" in rb.compare_fits({"one": fit}).to_html()
        True
        """
        return self.paper(**options).to_html(path)

    def to_csv(self, path: str | Path | None = None, **options: Any) -> str:
        """Return the comparison as CSV, and write it when a path is given.

        Parameters
        ----------
        path : str or Path, optional
        **options
            `caption`, `label` and `notes` of :meth:`paper`.

        Returns
        -------
        str

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.datasets.load_severity()
        >>> fit = rb.relbounds("severity ~ age + stiffness", data, C=0.1, delta=0.05, control="fdr")
        >>> rb.compare_fits({"one": fit}).to_csv().splitlines()[0]
        ',one,notes'
        """
        return self.paper(**options).to_csv(path)

    def to_word(self, path: str | Path, **options: Any) -> Path:
        """Write the comparison to a Word document (needs the extra ``word``).

        Parameters
        ----------
        path : str or Path
        **options
            `caption`, `label` and `notes` of :meth:`paper`.

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile, relbounds as rb
        >>> data = rb.datasets.load_severity()
        >>> fit = rb.relbounds("severity ~ age + stiffness", data, C=0.1, delta=0.05, control="fdr")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     rb.compare_fits({"one": fit}).to_word(folder + "/table.docx").name
        'table.docx'
        """
        return self.paper(**options).to_word(path)

    def __repr__(self) -> str:
        return self.paper().to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


def compare_fits(fits: Mapping[str, HasFacts]) -> Comparison:
    """Put fits side by side: the same terms in the same rows, one column a fit.

    Parameters
    ----------
    fits : mapping
        Fits (or what-ifs) by the name to show.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> fit = rb.relbounds("severity ~ age + stiffness + crp + esr", data, C=0.1, delta=0.1, control="fdr")
    >>> both = rb.compare_fits({"all": fit, "no crp": fit.constrain({"crp": "off"})})
    >>> both.table.loc["esr", ("no crp", "relevance")]
    'strong'
    """
    if not isinstance(fits, Mapping) or not fits:
        raise OptionError(
            "compare_fits() takes a mapping from names to fits, such as {'all': fit1, 'no age': fit2}."
        )
    facts = {str(name): _facts_of(name, fit) for name, fit in fits.items()}
    places = pd.concat([one.table[[c for c in PLACED if c in one.table]] for one in facts.values()])
    places = places[~places.index.duplicated()]
    shown = [step.row for step in walk(places) if step.row is not None]
    # regular features first and levels under their terms, whatever order the fits came in
    places = places.iloc[_by_term(places, shown)]
    table = pd.concat(
        {name: one.table[list(COMPARED)].reindex(places.index) for name, one in facts.items()}, axis=1
    )
    lines = pd.DataFrame({name: dict(one.compared) for name, one in facts.items()}).fillna("-")
    measured = " or ".join(dict.fromkeys(one.measure for one in facts.values()))
    return Comparison(table, lines, places, (NOTE.format(measured), *_caveats(facts)))


def _facts_of(name: Any, fit: Any) -> Facts:
    facts = getattr(fit, "facts", None)
    if not isinstance(facts, Facts) or not set(COMPARED) <= set(facts.table.columns):
        raise OptionError(
            f"'{name}' is not a fit with relevance bounds but a {type(fit).__name__}; give results of relbounds() "
            "or forest_relevance()."
        )
    return facts


def _by_term(places: pd.DataFrame, shown: list[int]) -> list[int]:
    """Return rows in the order shown, those of one term together where several fits add to it."""
    first: dict[tuple[str, str], int] = {}
    keys = [(str(places["part"].iloc[i]), str(places["term"].iloc[i])) for i in shown]
    for at, key in enumerate(keys):
        first.setdefault(key, at)
    return [shown[at] for at in sorted(range(len(shown)), key=lambda at: (first[keys[at]], at))]


def _caveats(facts: Mapping[str, Facts]) -> list[str]:
    """Return every note of every fit once, with the fits it belongs to where that is not all of them."""
    owners: dict[str, list[str]] = {}
    for name, one in facts.items():
        for note in one.notes:
            owners.setdefault(note, []).append(name)
    return [
        note if len(names) == len(facts) else f"{', '.join(names)}: {note}" for note, names in owners.items()
    ]
