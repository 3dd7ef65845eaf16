"""The figure of bounds along the tolerance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from relbounds.show.figures.style import (
    COLUMN,
    ROW,
    SMALL,
    Line,
    chosen_rows,
    class_handles,
    faint,
    ink,
    label_lines,
    label_width,
    legend_below,
    lines_of,
    new_axes,
    paints,
    tidy_axes,
)

# The share of a line's height that the largest bound of all takes.
TALLEST = 0.8
RISES = "class rises again: noise grows too"


def plot_sweep_delta(
    sweep: Any,
    ax: Axes | None = None,
    *,
    features: Sequence[str] | None = None,
    palette: Mapping[str, Any] | None = None,
    legend: bool = True,
) -> Axes:
    """Draw each term's interval as a band along the tolerance, coloured by its class there.

    A band goes from the least to the most use, on the scale that stands at the right of the first line; where the
    colour changes, the class does. The dotted line marks the tolerance of the fit.

    Parameters
    ----------
    sweep : Sweep
        With `deltas`, `table` (by delta and feature), `delta`, the tolerance of the fit, and `monotone`: whether each
        row's class only falls; others get a star.
    ax : Axes, optional
    features : sequence of str, optional
        Only these.
    palette : mapping, optional
    legend : bool

    Returns
    -------
    Axes
    """
    deltas = np.asarray(sweep.deltas, dtype=float)
    first = chosen_rows(sweep.table.loc[deltas[0]], features)
    first = first[first["part"] != "adjust"]
    lines = [_marked(line, sweep.monotone) for line in lines_of(first)]
    row = (1.8 if len(lines) <= 25 else 1.2) * ROW
    ax = new_axes(ax, max(COLUMN, 2.4 + label_width(lines)), 1.0 + row * (lines[-1].position + 1))
    paint = paints(palette)
    reach = float(sweep.table["upper"].max()) or 1.0
    for line in lines:
        if line.row is None:
            continue
        rows = sweep.table.xs(first.index[line.row], level="feature")
        base = line.position + 0.42
        low, high = (base - TALLEST * rows[name].to_numpy() / reach for name in ("lower", "upper"))
        ax.axhline(base, color=faint(ax, 0.3), linewidth=0.5, zorder=0)
        _band(ax, deltas, low, high, rows["relevance"].tolist(), paint=paint)
    _scale(ax, deltas)
    if deltas[0] <= sweep.delta <= deltas[-1]:
        ax.axvline(sweep.delta, color=ink(ax), linewidth=0.8, linestyle=":")
    ax.set_ylim(lines[-1].position + 0.65, -0.65)
    ax.set_xlabel("tolerance delta")
    tidy_axes(ax)
    label_lines(ax, lines)
    _ruler(ax, next(line.position for line in lines if line.row is not None) + 0.42, reach)
    if legend:
        dotted = Line2D([], [], color=ink(ax), linewidth=0.8, linestyle=":", label="delta of the fit")
        handles = [*class_handles(paint, set(sweep.table["relevance"])), dotted]
        if any(line.label.endswith(" *") for line in lines):
            handles.append(
                Line2D([], [], color=ink(ax), marker="$*$", markersize=5, linestyle="none", label=RISES)
            )
        legend_below(ax, handles)
    return ax


def _marked(line: Line, monotone: pd.Series) -> Line:
    """Return a line with a star at its name where its class rises again as the tolerance grows."""
    rises = line.row is not None and not bool(monotone.get(line.step.label, True))
    return replace(line, label=f"{line.label} *") if rises else line


def _scale(ax: Axes, deltas: np.ndarray) -> None:
    positive = deltas[deltas > 0]
    if len(positive) > 1 and positive.max() > 20 * positive.min():
        if len(positive) == len(deltas):
            ax.set_xscale("log")
        else:
            ax.set_xscale("symlog", linthresh=float(positive.min()))
    if len(deltas) > 1:
        ax.set_xlim(deltas[0], deltas[-1])


def _ruler(ax: Axes, base: float, reach: float) -> None:
    """Draw, at the right of the first line, what its height stands for."""
    across = ax.get_yaxis_transform()
    ends = [base, base - TALLEST]
    ax.plot([1.02, 1.02], ends, transform=across, color=ink(ax), linewidth=0.8, clip_on=False, label="_scale")
    for y, text, place in ((ends[0], "0", "center"), (ends[1], f"{reach:.2g}", "center")):
        ax.plot(
            [1.01, 1.02],
            [y, y],
            transform=across,
            color=ink(ax),
            linewidth=0.8,
            clip_on=False,
            label="_scale",
        )
        ax.text(1.03, y, text, transform=across, fontsize=SMALL - 1, va=place, color=ink(ax))


def _band(
    ax: Axes,
    deltas: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    classes: Sequence[str],
    *,
    paint: Mapping[str, Any],
) -> None:
    """Fill one interval along the tolerance; the colour changes half way between two tolerances.

    Its edges are drawn as well, so that an interval of no width is still a line.
    """
    if len(deltas) == 1:
        ax.plot([deltas[0]] * 2, [low[0], high[0]], color=paint.get(classes[0], paint[""]), linewidth=3)
        return
    at, lows, highs = [deltas[0]], [low[0]], [high[0]]
    for i in range(1, len(deltas)):
        ends = deltas[i - 1], deltas[i]
        middle = float(np.sqrt(ends[0] * ends[1])) if ends[0] > 0 else sum(ends) / 2
        share = (middle - ends[0]) / (ends[1] - ends[0])
        at += [middle, deltas[i]]
        for values, ends_of in ((lows, low), (highs, high)):
            values += [(1 - share) * ends_of[i - 1] + share * ends_of[i], ends_of[i]]
    start = 0
    for i in range(1, len(at)):
        # a stretch ends where the next colour begins
        if i == len(at) - 1 or _class_between(classes, i) != _class_between(classes, i - 1):
            stretch = slice(start, i + 1)
            shade = paint.get(_class_between(classes, i - 1), paint[""])
            ax.fill_between(at[stretch], lows[stretch], highs[stretch], color=shade, linewidth=1.0)
            start = i


def _class_between(classes: Sequence[str], i: int) -> str:
    """Return the class on the stretch that begins at the i-th of the tolerances and their midpoints."""
    return classes[(i + 1) // 2]
