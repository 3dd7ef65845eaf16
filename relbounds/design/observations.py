"""From rows of the data to observations: rows without weight left out, frequencies written out, clusters numbered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relbounds.design.scales import FloatArray
from relbounds.design.weights import case_weights, cluster_of_rows, frequencies
from relbounds.errors import OptionError, counted


@dataclass(frozen=True, eq=False)
class Observations:
    """The rows that take part, one per observation, with what goes with each."""

    frame: pd.DataFrame
    weights: FloatArray
    cluster: pd.Series | None
    roles: tuple[str, ...]  # columns of the data that are no features: weights, frequency, cluster
    notes: tuple[str, ...]


def take_observations(
    frame: pd.DataFrame, *, weights: Any = None, frequency: Any = None, cluster: Any = None
) -> Observations:
    """Return the observations that the rows of the data stand for.

    Examples
    --------
    >>> data = pd.DataFrame({"x": [1.0, 2.0, 3.0], "n": [2, 1, 0]})
    >>> found = take_observations(data, frequency="n")
    >>> found.frame["x"].tolist(), found.notes
    ([1.0, 1.0, 2.0], ('Frequency: 2 rows stand for 3 observations.',))
    """
    price = case_weights(weights, frame)
    counts = frequencies(frequency, frame)
    clusters = cluster_of_rows(cluster, frame)
    notes = []
    rows = np.arange(len(frame))
    if price is not None and not price.all():
        rows = np.flatnonzero(price > 0)
        notes.append(f"{counted(len(frame) - len(rows), 'row')} of weight 0 left out.")
    if counts is not None:
        here = counts[rows]
        if not here.any():
            raise OptionError("Every row has weight 0 or frequency 0: there is no observation.")
        notes.append(
            f"Frequency: {counted(int((here > 0).sum()), 'row')} stand for {int(here.sum())} observations."
        )
        rows = np.repeat(rows, here)
    changed = len(rows) != len(frame) or counts is not None
    return Observations(
        frame=frame.iloc[rows] if changed else frame,
        weights=np.ones(len(rows)) if price is None else price[rows],
        cluster=None if clusters is None else clusters[0].iloc[rows],
        roles=tuple(name for name in (weights, frequency, cluster) if isinstance(name, str)),
        notes=tuple(notes),
    )
