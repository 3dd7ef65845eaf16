"""The one walk through a table of terms: parts, terms, and the levels or columns under them.

Summary, paper tables, comparison, figures and report all show a table in this order and with these heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

PART_TITLES = {
    "regular": "regular features",
    "adjust": "adjusted for",
    "privileged": "privileged features",
}
PARTS = tuple(PART_TITLES)
CLASSES = ("strong", "weak", "irrelevant")
# Longer tables are shown in part: what is relevant, and so many of the other terms, those that could be used most.
LONG, MORE = 150, 10


@dataclass(frozen=True)
class Step:
    """One line of a shown table.

    Attributes
    ----------
    kind : {"part", "head", "row", "inner"}
        The title of a part; the name of a term that has no row of its own; a row; a row under its term.
    label : str
        What stands at its beginning: for an inner row, the level or column alone is in `short`.
    short : str
    row : int or None
        Where it is in the table; None for titles.
    part, term : str
    """

    kind: str
    label: str
    short: str
    row: int | None
    part: str
    term: str


def walk(table: pd.DataFrame, order: Sequence[int] | None = None) -> list[Step]:
    """Return the lines of a table in the order in which readers meet them.

    Parameters
    ----------
    table : DataFrame
        With the columns `part` and `term`; with a column `row` ("term", "level" or "column") where terms have rows of
        their own. A table without them is a plain list of rows.
    order : sequence of int, optional
        Rows to show and their order; all as they are by default. Rows of one part stay together.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {"part": "regular", "term": ["age", "site", "site", "site"], "row": ["term", "term", "level", "level"]},
    ...     index=["age", "site", "site[A]", "site[B]"],
    ... )
    >>> [(step.kind, step.short) for step in walk(table)]
    [('row', 'age'), ('row', 'site'), ('inner', 'A'), ('inner', 'B')]
    """
    rows = list(range(len(table))) if order is None else list(order)
    names = [str(name) for name in table.index]
    if "part" not in table or "term" not in table:
        return [Step("row", names[i], names[i], i, "", names[i]) for i in rows]
    parts, terms = table["part"].astype(str).tolist(), table["term"].astype(str).tolist()
    kinds = table["row"].astype(str).tolist() if "row" in table else [""] * len(table)
    size: dict[tuple[str, str], int] = {}
    for i in rows:
        size[parts[i], terms[i]] = size.get((parts[i], terms[i]), 0) + 1
    several = len({parts[i] for i in rows}) > 1
    found = [part for part in dict.fromkeys(parts[i] for i in rows) if part not in PARTS]
    steps: list[Step] = []
    for part in (*PARTS, *found):
        here = [i for i in rows if parts[i] == part]
        if here and several:
            title = PART_TITLES.get(part, f"{part} features")
            steps.append(Step("part", title, title, None, part, ""))
        opened = ""
        for i in here:
            inner = kinds[i] in ("level", "column") or (not kinds[i] and size[part, terms[i]] > 1)
            if inner and opened != terms[i]:
                steps.append(Step("head", terms[i], terms[i], None, part, terms[i]))
            opened = terms[i]
            short = inside(names[i], terms[i]) if inner else names[i]
            steps.append(Step("inner" if inner else "row", names[i], short, i, part, terms[i]))
    return steps


def shown_rows(table: pd.DataFrame) -> list[int] | None:
    """Return the rows of a long table that readers are shown; None where they are shown all of it.

    Examples
    --------
    >>> table = pd.DataFrame({"part": "regular", "term": range(200), "upper": 0.1, "relevance": "irrelevant"})
    >>> table.loc[7, "relevance"] = "weak"
    >>> len(shown_rows(table)), shown_rows(table.iloc[:20])
    (11, None)
    """
    if len(table) <= LONG or not {"part", "term", "upper", "relevance"} <= set(table):
        return None
    keys = pd.MultiIndex.from_frame(table[["part", "term"]])
    told = keys[(table["relevance"] != "irrelevant").to_numpy()].unique()
    others = table[~keys.isin(told)]
    most = others.sort_values("upper", ascending=False, kind="stable").head(MORE)
    wanted = told.append(pd.MultiIndex.from_frame(most[["part", "term"]])).unique()
    return [i for i, shown in enumerate(keys.isin(wanted)) if shown]


def part_shown(table: pd.DataFrame) -> tuple[str, ...]:
    """Say that a long table is shown in part, and where all of it is; nothing where all of it is shown."""
    rows = shown_rows(table)
    if rows is None:
        return ()
    return (
        f"Shown are {len(rows)} of {len(table)} rows: every relevant term and the {MORE} others that could be used "
        "most. The data frame `table` and the CSV file have all of them.",
    )


def inside(name: str, term: str) -> str:
    """Under its term, a level needs no more than its own name.

    Examples
    --------
    >>> inside("site[A]", "site"), inside("C(site)[T.A]", "C(site)"), inside("x", "site"), inside("site[B]", "C(site)")
    ('A', 'A', 'x', 'B')
    """
    if not name.endswith("]") or "[" not in name:
        return name
    if name.startswith(term + "["):
        return name[len(term) + 1 : -1].removeprefix("T.")
    # rows are named by the variable where the term is a call around it: site[A] under C(site)
    before, _, level = name.partition("[")
    return level[:-1].removeprefix("T.") if before and f"({before}" in term else name


def sorted_rows(table: pd.DataFrame, sort: str) -> list[int]:
    """Return the rows of a table sorted by "table", "upper", "lower" or "name"; a term's rows stay together.

    Examples
    --------
    >>> table = pd.DataFrame({"part": "regular", "term": ["a", "b"], "lower": 0.0, "upper": [0.1, 0.2]})
    >>> sorted_rows(table, "upper"), sorted_rows(table, "table")
    ([1, 0], [0, 1])
    """
    keyed = pd.DataFrame(
        {
            "row": range(len(table)),
            "part": table["part"].astype(str).to_numpy(),
            "term": table["term"].astype(str).to_numpy(),
        }
    )
    terms = keyed.groupby(["part", "term"], sort=False)
    keyed["first"] = terms["row"].transform("min")
    for name in ("upper", "lower"):
        keyed[name] = -table[name].to_numpy(dtype=float) if name in table else 0.0
        keyed[name] = keyed.groupby(["part", "term"], sort=False)[name].transform("min").fillna(0.0)
    by = {
        "table": ["first", "row"],
        "upper": ["upper", "first", "row"],
        "lower": ["lower", "upper", "first", "row"],
        "name": ["term", "first", "row"],
    }[sort]
    return keyed.sort_values(by, kind="stable")["row"].tolist()


def term_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that speak of whole terms: what classes are counted and selected by.

    Examples
    --------
    >>> table = pd.DataFrame({"part": "regular", "term": ["a", "a"], "row": ["term", "level"]}, index=["a", "a[x]"])
    >>> term_rows(table).index.tolist()
    ['a']
    """
    return table[table["row"] == "term"] if "row" in table else table


def count_classes(table: pd.DataFrame) -> str:
    """Return how many terms are strong, weak and irrelevant, as "1/2/3".

    Examples
    --------
    >>> count_classes(pd.DataFrame({"relevance": ["weak", "strong", "weak"]}))
    '1/2/0'
    """
    counts = term_rows(table)["relevance"].value_counts()
    return "/".join(str(counts.get(name, 0)) for name in CLASSES)
