"""The figure of survival curves by score."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from relbounds.errors import OptionError
from relbounds.show.figures.style import (
    COLUMN,
    SMALL,
    ink,
    legend_below,
    new_axes,
    shades,
    shorten,
    tidy_axes,
)

LINE = 11.0  # points from one line of numbers to the next
STYLES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (5, 1.5, 1.2, 1.5)))


def plot_survival(
    curves: pd.DataFrame, ax: Axes | None = None, *, risk: bool = True, legend: bool = True
) -> Axes:
    """Draw Kaplan-Meier curves of groups of rows, with 95 % limits, censored rows and the numbers at risk.

    Parameters
    ----------
    curves : DataFrame
        One row a time of a group: `group`, `time`, `survival`, `low`, `high`, `at_risk`, `censored`.
    ax : Axes, optional
    risk : bool
        Write the numbers at risk under the axis.
    legend : bool

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> rows = [("low", 0, 1, 1, 1, 2, 0), ("low", 3, 0.5, 0.1, 0.9, 2, 0)]
    >>> names = ["group", "time", "survival", "low", "high", "at_risk", "censored"]
    >>> plot_survival(pd.DataFrame(rows, columns=names)).get_ylabel()
    'share surviving'
    """
    if curves.empty:
        raise OptionError("There is no survival curve to draw.")
    groups = list(dict.fromkeys(curves["group"]))
    depth = LINE * (len(groups) + 1) if risk else 0.0
    ax = new_axes(ax, COLUMN + 0.4, 2.9 + depth / 72)
    handles = []
    for i, (group, colour) in enumerate(zip(groups, shades(len(groups)), strict=True)):
        rows = curves[curves["group"] == group].sort_values("time")
        style = STYLES[i % len(STYLES)]
        ax.step(rows["time"], rows["survival"], where="post", color=colour, linewidth=1.4, linestyle=style)
        ax.fill_between(
            rows["time"], rows["low"], rows["high"], step="post", color=colour, alpha=0.15, linewidth=0
        )
        left = rows[rows["censored"] > 0]
        ax.plot(
            left["time"],
            left["survival"],
            marker="|",
            markersize=4,
            markeredgewidth=0.7,
            linestyle="none",
            color=colour,
        )
        handles.append(Line2D([], [], color=colour, linewidth=1.4, linestyle=style, label=shorten(group)))
    ax.set_xlim(0.0, float(curves["time"].max()))
    ax.set_ylim(0.0, 1.02)
    ax.set_xlabel("time")
    ax.set_ylabel("share surviving")
    tidy_axes(ax)
    if risk:
        _write_risk(ax, curves, groups)
    if legend:
        mark = Line2D([], [], color=ink(ax), marker="|", markersize=5, linestyle="none", label="censored")
        legend_below(ax, [*handles, mark], drop=32 + depth)
    return ax


def _write_risk(ax: Axes, curves: pd.DataFrame, groups: list[str]) -> None:
    """Write how many rows of each group are still followed at the numbers of the axis."""
    times = [t for t in ax.get_xticks() if 0 <= t <= ax.get_xlim()[1]]
    place: dict[str, Any] = {
        "xycoords": ("data", "axes fraction"),
        "textcoords": "offset points",
        "fontsize": SMALL,
        "annotation_clip": False,
        "va": "top",
        "color": ink(ax),
    }
    ax.annotate("at risk", (0, 0), xytext=(-14, -32), ha="right", **place)
    for line, group in enumerate(groups, start=1):
        rows = curves[curves["group"] == group].sort_values("time")
        drop = -32 - LINE * line
        ax.annotate(shorten(str(group).split(" ")[0], 10), (0, 0), xytext=(-14, drop), ha="right", **place)
        for time in times:
            ax.annotate(str(_at_risk(rows, time)), (time, 0), xytext=(0, drop), ha="center", **place)


def _at_risk(rows: pd.DataFrame, time: float) -> int:
    """Return how many are at risk just before a time: those of the first known time at or after it."""
    later = rows[rows["time"] >= time]
    return int(later["at_risk"].iloc[0]) if len(later) else 0
