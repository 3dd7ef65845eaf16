"""The figure of class frequencies over subsamples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from relbounds.show.figures.style import (
    COLUMN,
    ROW,
    THICK,
    chosen_rows,
    class_handles,
    ink,
    label_lines,
    label_width,
    legend_below,
    lines_of,
    new_axes,
    paints,
    tidy_axes,
)
from relbounds.show.walk import CLASSES


def plot_stability(
    stability: Any,
    ax: Axes | None = None,
    *,
    features: Sequence[str] | None = None,
    palette: Mapping[str, Any] | None = None,
    legend: bool = True,
) -> Axes:
    """Draw, for each term, the share of subsamples in which it falls into each class.

    The dot at the right carries the colour of the class in the fit itself.

    Parameters
    ----------
    stability : Stability
        With `table` (that of the fit), `frequencies` of the classes, `n_resamples` and `failed`.
    ax : Axes, optional
    features : sequence of str, optional
        Only these.
    palette : mapping, optional
    legend : bool

    Returns
    -------
    Axes
    """
    table = chosen_rows(stability.table, features)
    table = table[(table["part"] != "adjust") & table["relevance"].isin(CLASSES)]
    shares = stability.frequencies.reindex(table.index)
    lines = lines_of(table)
    ax = new_axes(ax, max(COLUMN, 2.2 + label_width(lines)), 1.0 + ROW * (lines[-1].position + 1))
    paint = paints(palette)
    shown = [line for line in lines if line.row is not None]
    where = np.array([line.position for line in shown])
    rows = [int(line.row) for line in shown if line.row is not None]
    left = np.zeros(len(shown))
    for name in CLASSES:
        width = shares[name].to_numpy()[rows]
        ax.barh(where, width, left=left, height=THICK, color=paint[name], linewidth=0)
        left = left + width
    own = [paint[table["relevance"].iloc[row]] for row in rows]
    ax.scatter(np.full(len(rows), 1.035), where, c=own, s=11, clip_on=False, zorder=3, linewidths=0)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(lines[-1].position + 0.6, -0.6)
    ax.set_xlabel(f"share of {stability.n_resamples - stability.failed} subsamples")
    tidy_axes(ax)
    label_lines(ax, lines)
    if legend:
        dot = Line2D(
            [], [], color=ink(ax), marker="o", markersize=3, linestyle="none", label="class in the fit"
        )
        legend_below(ax, [*class_handles(paint, CLASSES), dot])
    return ax
