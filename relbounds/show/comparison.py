"""Several fits side by side, as papers compare models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from relbounds.errors import OptionError
from relbounds.show.paper_tables import PaperRow, PaperTable
from relbounds.show.summary import format_bound

if TYPE_CHECKING:
    from relbounds.results import RelboundsResults

STARS = {"strong": "**", "weak": "*", "irrelevant": ""}
NOTE = (
    "Least and greatest use of each feature over all equivalent models, as shares of the best one's norm; "
    "** strong, * weak. A dash: not in the formula."
)


@dataclass(frozen=True)
class Comparison:
    """Fits side by side.

    Attributes
    ----------
    table : DataFrame
        One row a feature, columns by fit and by ``lower``, ``upper`` and ``relevance``.
    facts : DataFrame
        One row a fact about each fit (columns): rows, norm, tolerance, scores, class counts.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> one = rb.relbounds("severity ~ age + stiffness + sodium", data, C=0.1, probes=10)
    >>> two = rb.relbounds("severity ~ age + stiffness + sodium + crp", data, C=0.1, probes=10)
    >>> compare({"two": one, "three": two}).table["two"].loc["crp"].isna().all()
    np.True_
    """

    table: pd.DataFrame
    facts: pd.DataFrame
    _parts: pd.DataFrame

    def paper(self, caption: str = "", label: str = "", notes: bool = True) -> PaperTable:
        """Return the comparison as a table for a paper."""
        names = list(self.facts.columns)
        rows: list[PaperRow] = []
        parts = list(dict.fromkeys(self._parts["part"]))
        sizes = self._parts.groupby(["part", "term"], sort=False).size()
        for part in parts:
            if len(parts) > 1:
                rows.append(PaperRow(f"{part} features", (), "part"))
            seen = None
            for feature, place in self._parts[self._parts["part"] == part].iterrows():
                grouped = sizes[(part, place["term"])] > 1
                if grouped and place["term"] != seen:
                    rows.append(PaperRow(str(place["term"]), (), "head"))
                seen = place["term"]
                cells = tuple(self._cell(name, str(feature)) for name in names)
                rows.append(PaperRow(str(feature), cells, "inner" if grouped else "row"))
        for fact, values in self.facts.iterrows():
            rows.append(PaperRow(str(fact), tuple(map(str, values)), "foot"))
        return PaperTable(
            heads=("", *names),
            rows=tuple(rows),
            numeric=(True,) * len(names),
            caption=caption,
            label=label,
            notes=(NOTE,) if notes else (),
        )

    def _cell(self, name: str, feature: str) -> str:
        row = self.table.loc[feature, name]
        if pd.isna(row["upper"]):
            return "-"
        return f"[{format_bound(row['lower'])}, {format_bound(row['upper'])}]{STARS[row['relevance']]}"

    def to_latex(self, path: str | Path | None = None, **options: Any) -> str:
        """Return the comparison as LaTeX, and write it when a path is given."""
        return self.paper(**options).to_latex(path)

    def to_markdown(self, path: str | Path | None = None, **options: Any) -> str:
        """Return the comparison as Markdown, and write it when a path is given."""
        return self.paper(**options).to_markdown(path)

    def to_html(self, path: str | Path | None = None, **options: Any) -> str:
        """Return the comparison as HTML, and write it when a path is given."""
        return self.paper(**options).to_html(path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the comparison as CSV, and write it when a path is given."""
        return self.paper(notes=False).to_csv(path)

    def to_word(self, path: str | Path, **options: Any) -> Path:
        """Write the comparison to a Word document (needs the extra ``word``)."""
        return self.paper(**options).to_word(path)

    def __repr__(self) -> str:
        return self.paper().to_text()

    def _repr_html_(self) -> str:
        return self.to_html()


def compare(fits: Mapping[str, RelboundsResults]) -> Comparison:
    """Put fits side by side: the same features in the same rows, one column a fit.

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
    >>> fit = rb.relbounds("severity ~ age + stiffness + crp + esr", data, C=0.1, probes=10)
    >>> both = rb.compare({"all": fit, "no crp": fit.constrain({"crp": "off"})})
    >>> both.table.loc["esr", ("no crp", "relevance")]
    'strong'
    """
    from relbounds.results import RelboundsResults

    if not isinstance(fits, Mapping) or not fits:
        raise OptionError(
            "compare() takes a mapping from names to fits, such as {'all': fit1, 'no age': fit2}."
        )
    for name, fit in fits.items():
        if not isinstance(fit, RelboundsResults):
            raise OptionError(
                f"'{name}' is not a fit but a {type(fit).__name__}; give results of relbounds()."
            )
    parts = pd.concat([fit.table[["part", "term"]] for fit in fits.values()])
    parts = parts[~parts.index.duplicated()]
    # regular features first, whatever order the fits came in
    order = parts["part"].map({"regular": 0, "privileged": 1}).sort_values(kind="stable").index
    parts = parts.loc[order]
    columns = ["lower", "upper", "relevance"]
    table = pd.concat(
        {str(name): fit.table[columns].reindex(parts.index) for name, fit in fits.items()}, axis=1
    )
    facts = pd.DataFrame({str(name): _facts(fit) for name, fit in fits.items()})
    return Comparison(table, facts, parts)


def _facts(fit: RelboundsResults) -> dict[str, str]:
    base, counts = fit.baseline, fit.table["relevance"].value_counts()
    return {
        "Observations": str(len(fit.design.y)),
        "C": f"{base.C:.3g}",
        "Norm": f"{base.mu:.3g}",
        "Loss": f"{base.rho:.3g}",
        "Delta": f"{fit.delta:.3g}",
        f"{base.metric}, training": f"{fit.score():.3f}",
        f"{base.metric}, cross-validated": "-" if base.cv_score is None else f"{base.cv_score:.3f}",
        "Strong/weak/irrelevant": "/".join(str(counts.get(k, 0)) for k in STARS),
    }
