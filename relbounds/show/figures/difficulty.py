"""The figure of rows that are hard to grade."""

from __future__ import annotations

import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from relbounds.errors import OptionError
from relbounds.show.figures.bounds import COLUMN, FONT, ROW, SMALL, shorten

NO_REASON = "no privileged reason"


def plot_difficulty(table: pd.DataFrame, ax: Axes | None = None, most: int = 20) -> Axes:
    """Draw the hardest rows of ``fit.difficulty()``, hardest on top, coloured by their reason.

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
    palette = sns.color_palette("colorblind")
    colours = {reason: palette[k % len(palette)] for k, reason in enumerate(order)}
    colours[NO_REASON] = palette[7]
    if ax is None:
        _, ax = plt.subplots(figsize=(COLUMN, ROW * (len(shown) + 6)), layout="constrained")
    places = range(len(shown))
    ax.barh(list(places), shown["slack"], color=[colours[reason] for reason in reasons], height=0.7)
    response = str(table.columns[0])
    pairs = zip(shown.index, shown[response], strict=True)
    labels = [f"{shorten(str(row))} ({level})" for row, level in pairs]
    ax.set_yticks(list(places), labels, fontsize=SMALL)
    ax.invert_yaxis()
    ax.set_xlabel("slack explained by privileged features", fontsize=FONT)
    ax.set_ylabel(f"row ({response})", fontsize=FONT)
    ax.tick_params(axis="x", labelsize=SMALL)
    handles = [Patch(color=colours[reason], label=shorten(reason)) for reason in order]
    ax.legend(
        handles=handles,
        fontsize=SMALL,
        frameon=False,
        title="adds most",
        title_fontsize=SMALL,
        loc="lower right",
    )
    sns.despine(ax=ax)
    return ax
