"""Groups of terms that stand in for each other, in the form that every kind of fit returns them."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from relbounds.forest.facts import Found
from relbounds.term_groups import TermGroups

COLUMNS = ["group", "terms", "size", "removal_loss", "similarity"]


@dataclass(frozen=True)
class ForestGroups(TermGroups):
    """Terms that stand in for each other in a non-linear model.

    Attributes
    ----------
    labels : Series
        The group of each term, numbered from 1 in the order of the table.
    found : DataFrame
        The groups of several terms: see :attr:`table`.
    """

    found: pd.DataFrame

    @property
    def table(self) -> pd.DataFrame:
        """One row a group of stand-ins: `terms`, `size`, `removal_loss` (of all together, as a share of what the terms
        explain) and `similarity` (at which the cluster forms)."""
        return self.found

    def __repr__(self) -> str:
        said = self.found["removal_loss"].to_dict()
        lines = [f"{len(self)} groups of {len(self.labels)} terms"]
        for number, names in self.members.items():
            more = f" (removed together: {said[number]:.3f} of what is explained)" if number in said else ""
            lines.append(f"  {number}: {', '.join(names)}{more}")
        return "\n".join(lines)


def make_groups(table: pd.DataFrame, found: Found) -> ForestGroups:
    """Number the groups in the order of the table; irrelevant terms are one."""
    owner: dict[int, object] = {k: number for number, group in enumerate(found.groups) for k in group.members}
    keys = [
        owner.get(k, "irrelevant" if relevance == "irrelevant" else f"term {k}")
        for k, relevance in enumerate(table["relevance"])
    ]
    number_of = {key: number for number, key in enumerate(dict.fromkeys(keys), start=1)}
    labels = pd.Series([number_of[key] for key in keys], index=table.index, name="group")
    records = [
        {
            "group": number_of[number],
            "terms": ", ".join(str(table.index[k]) for k in group.members),
            "size": len(group.members),
            "removal_loss": group.loss / span_of(found),
            "similarity": group.similarity,
        }
        for number, group in enumerate(found.groups)
    ]
    return ForestGroups(labels, pd.DataFrame(records, columns=COLUMNS).set_index("group"))


def span_of(found: Found) -> float:
    """Return the loss that the features explain, or all of it where they explain none."""
    explained = found.constant - found.loss
    return explained if explained > 0.01 * found.constant else max(found.constant, 1e-300)
