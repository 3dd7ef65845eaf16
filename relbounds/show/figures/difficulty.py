"""The figure of rows that are hard to grade."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from relbounds.errors import OptionError
from relbounds.show.figures.style import (
    CLASS_COLOURS,
    COLUMN,
    LETTER,
    ROW,
    SMALL,
    legend_below,
    new_axes,
    others,
    shorten,
    tidy_axes,
)

NO_REASON = "no privileged reason"


def plot_difficulty(
    table: pd.DataFrame, ax: Axes | None = None, most: int = 20, *, legend: bool = True
) -> Axes:
    """Draw the hardest rows of ``fit.difficulty()``, hardest on top, coloured by their reason.

    Parameters
    ----------
    table : DataFrame
        The response in its first column, `slack` and `reason`.
    ax : Axes, optional
    most : int
        How many rows to show.
    legend : bool

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> table = pd.DataFrame({"y": [1, 2], "slack": [0.5, 2.0], "reason": ["", "z1"]}, index=["ann", "bob"])
    >>> [label.get_text() for label in plot_difficulty(table).get_yticklabels()]
    ['bob (2)', 'ann (1)']
    """
    if most < 1:
        raise OptionError(f"most={most} rows cannot be shown; give 1 or more.")
    shown = table.sort_values("slack", ascending=False, kind="stable").head(most)
    reasons = [str(reason) or NO_REASON for reason in shown["reason"]]
    order = list(dict.fromkeys(sorted(reasons, key=lambda reason: reason == NO_REASON)))
    named = [reason for reason in order if reason != NO_REASON]
    colour = {**dict(zip(named, others(len(named)), strict=True)), NO_REASON: CLASS_COLOURS["irrelevant"]}
    response = str(table.columns[0])
    labels = [
        f"{shorten(row)} ({shorten(level)})" for row, level in zip(shown.index, shown[response], strict=True)
    ]
    longest = LETTER * max(map(len, labels))
    ax = new_axes(ax, max(COLUMN, 2.4 + longest), 1.0 + ROW * len(shown))
    places = list(range(len(shown)))
    ax.barh(places, shown["slack"], color=[colour[reason] for reason in reasons], height=0.7)
    ax.set_yticks(places, labels, fontsize=SMALL)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlabel("slack explained by privileged features")
    ax.set_ylabel(f"row ({shorten(response)})")
    tidy_axes(ax)
    ax.tick_params(axis="y", length=0)
    if legend:
        legend_below(
            ax,
            [Patch(facecolor=colour[reason], label=shorten(reason)) for reason in order],
            title="adds most",
        )
    return ax
