"""The papers behind the methods, as references and as BibTeX entries."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A reference.

    Examples
    --------
    >>> BOUNDS.cited
    'Göpfert et al., 2018'
    """

    key: str
    cited: str
    authors: str
    year: int
    title: str
    where: str
    doi: str = ""
    kind: str = "article"

    @property
    def reference(self) -> str:
        """The reference as a list of literature shows it."""
        end = f" doi:{self.doi}." if self.doi else ""
        return f"{self.authors} ({self.year}). {self.title}. {self.where}.{end}"

    @property
    def bibtex(self) -> str:
        """The reference as a BibTeX entry."""
        names = self.authors.replace(", & ", " and ").replace(" & ", " and ").replace("., ", ". and ")
        held = {"article": "journal", "phdthesis": "school", "book": "publisher"}[self.kind]
        lines = [
            f"@{self.kind}{{{self.key},",
            f"  author = {{{names}}},",
            f"  title = {{{{{self.title}}}}},",
            f"  {held} = {{{self.where.split(',')[0]}}},",
            f"  year = {{{self.year}}},",
        ]
        if self.doi:
            lines.append(f"  doi = {{{self.doi}}},")
        return "\n".join([*lines, "}"])


BOUNDS = Paper(
    "goepfert2018interpretation",
    "Göpfert et al., 2018",
    "Göpfert, C., Pfannschmidt, L., Göpfert, J. P., & Hammer, B.",
    2018,
    "Interpretation of linear classifiers by means of feature relevance bounds",
    "Neurocomputing, 298, 69-79",
    "10.1016/j.neucom.2017.11.074",
)
ORDINAL = Paper(
    "pfannschmidt2020feature",
    "Pfannschmidt et al., 2020",
    "Pfannschmidt, L., Jakob, J., Hinder, F., Biehl, M., Tino, P., & Hammer, B.",
    2020,
    "Feature relevance determination for ordinal regression in the context of feature redundancies and privileged "
    "information",
    "Neurocomputing, 416, 266-279",
    "10.1016/j.neucom.2019.12.133",
)
THESIS = Paper(
    "pfannschmidt2021relevance",
    "Pfannschmidt, 2021",
    "Pfannschmidt, L.",
    2021,
    "Relevance learning for redundant features",
    "Bielefeld University, doctoral thesis",
    kind="phdthesis",
)
SVOR = Paper(
    "chu2007support",
    "Chu & Keerthi, 2007",
    "Chu, W., & Keerthi, S. S.",
    2007,
    "Support vector ordinal regression",
    "Neural Computation, 19(3), 792-815",
    "10.1162/neco.2007.19.3.792",
)
SLACKS = Paper(
    "tang2015benefits",
    "Tang et al., 2015",
    "Tang, F., Tiňo, P., Gutiérrez, P. A., & Chen, H.",
    2015,
    "The benefits of modeling slack variables in SVMs",
    "Neural Computation, 27(4), 954-981",
)
SEQUENTIAL = Paper(
    "pfannschmidt2020sequential",
    "Pfannschmidt & Hammer, 2020",
    "Pfannschmidt, L., & Hammer, B.",
    2020,
    "Sequential feature classification in the context of redundancies",
    "arXiv:2004.00658",
)
RUBIN = Paper(
    "rubin1987multiple",
    "Rubin, 1987",
    "Rubin, D. B.",
    1987,
    "Multiple imputation for nonresponse in surveys",
    "Wiley",
    "10.1002/9780470316696",
    kind="book",
)
# What every report cites; others are cited where they were used.
PAPERS = (BOUNDS, ORDINAL, THESIS, SVOR, SLACKS)


def software_bibtex(version: str, year: int) -> str:
    """Return a BibTeX entry for this package."""
    return (
        "@software{relbounds,\n  title = {relbounds: relevance intervals for linear models},\n"
        f"  author = {{The relbounds authors}},\n  version = {{{version}}},\n  year = {{{year}}},\n}}"
    )


def list_references(papers: tuple[Paper, ...]) -> str:
    """Return references, one a line, each once and in the order of authors.

    Examples
    --------
    >>> list_references((SVOR, BOUNDS, SVOR)).count("doi:")
    2
    """
    return "\n".join(
        paper.reference for paper in sorted(dict.fromkeys(papers), key=lambda p: (p.authors, p.year))
    )
