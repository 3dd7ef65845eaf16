"""Groups of terms, as every kind of fit returns them: who belongs together, and what the groups are worth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class TermGroups(ABC):
    """Terms that stand in for each other.

    Attributes
    ----------
    labels : Series
        The group of each term, numbered from 1 in the order of the table.
    """

    labels: pd.Series

    def __len__(self) -> int:
        """Return the number of groups."""
        return int(self.labels.max())

    @property
    def members(self) -> dict[int, list[str]]:
        """The names of the terms of each group."""
        return {int(g): names.index.tolist() for g, names in self.labels.groupby(self.labels, sort=True)}

    @property
    @abstractmethod
    def table(self) -> pd.DataFrame:
        """One row a group of several terms: its number, its terms, and what they are worth together."""
