"""The figure of relevance intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from relbounds.errors import OptionError, nearest
from relbounds.show.facts import Facts
from relbounds.show.figures.style import (
    COLUMN,
    DASHED,
    ROW,
    THICK,
    UNDER_AXIS,
    Line,
    chosen_rows,
    class_handles,
    dashed_handle,
    faint,
    haloed,
    ink,
    label_lines,
    label_width,
    legend_below,
    lines_of,
    new_axes,
    paints,
    put_title,
    tidy_axes,
)
from relbounds.show.walk import shown_rows, sorted_rows

SORTS = ("table", "upper", "lower", "name")
ORIENTATIONS = ("horizontal", "vertical")
# The sign of a direction stands in a margin of its own beside the bars, where it is no end of a bar.
SIGNS = {"+": "always raises", "-": "always lowers"}
SIGN_MARKERS = {"+": "^", "-": "v"}
MARGIN = 1.10
# An interval that is a single value must still be seen: the least length of a bar, as a share of the longest.
THIN = 0.004
LEVEL_THICK = 0.4  # bars of levels are thinner than those of terms


@dataclass(frozen=True)
class Bars:
    """What is drawn beside the bars, and which way they run."""

    horizontal: bool = True
    threshold: bool = True
    direction: bool = True
    best: bool = True


def plot_bounds(
    facts: Facts,
    ax: Axes | None = None,
    *,
    orientation: str = "horizontal",
    sort: str = "table",
    features: Sequence[str] | None = None,
    levels: bool = True,
    palette: Mapping[str, Any] | None = None,
    threshold: bool = True,
    direction: bool = True,
    best: bool = True,
    legend: bool = True,
    title: str | None = None,
) -> Axes:
    """Draw the relevance interval of every term as a bar from the least to the most use.

    Adjusting covariates have no relevance and are left out; their coefficients are in the table.

    Parameters
    ----------
    facts : Facts
    ax : Axes, optional
        Where to draw; a new figure as wide as a journal's column by default, tall enough for every label.
    orientation : {"horizontal", "vertical"}
        Direction of the bars.
    sort : {"table", "upper", "lower", "name"}
        Order of the terms inside a part; "table" keeps the order of the formula.
    features : sequence of str, optional
        Only these terms or levels. By default all; of a long table the relevant terms and the ten others that could
        be used most.
    levels : bool
        Draw the levels and columns under their terms.
    palette : mapping, optional
        Colours of "strong", "weak" and "irrelevant".
    threshold, direction, best : bool
        Draw what noise reaches, the sign where it is the same in every equivalent model, and the best model.
    legend : bool
    title : str, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> row = {"part": "regular", "term": "age", "lower": 0.1, "upper": 0.3, "relevance": "strong"}
    >>> table = pd.DataFrame([row], index=["age"])
    >>> plot_bounds(Facts("Bounds", "y ~ age", "y", table=table, columns=("upper",))).get_xlabel()
    'relevance (share of the norm)'
    """
    _known("orientation", orientation, ORIENTATIONS)
    _known("sort", sort, SORTS)
    table = chosen_rows(facts.table, features)
    rows = shown_rows(table) if features is None else None
    table = table if rows is None else table.iloc[rows]
    table = table[(table["part"] != "adjust") & table["upper"].notna()] if "part" in table else table
    if not levels and "row" in table:
        table = table[table["row"] == "term"]
    if table.empty:
        raise OptionError("There is nothing to draw: none of these rows has relevance bounds.")
    lines = lines_of(table, sorted_rows(table, sort))
    how = Bars(orientation == "horizontal", threshold, direction, best)
    extent, labels = lines[-1].position + 1.0, label_width(lines)
    wide, tall = max(COLUMN, 2.2 + labels), 1.0 + ROW * extent
    size = (wide, tall) if how.horizontal else (max(COLUMN, 0.7 + ROW * extent), 2.4 + labels)
    ax = new_axes(ax, *size)
    paint = paints(palette)
    draw_bars(ax, facts, table, lines, paint=paint, how=how)
    (ax.set_xlabel if how.horizontal else ax.set_ylabel)(facts.measure)
    tidy_axes(ax)
    label_lines(ax, lines, how.horizontal, tuple(facts.constraints))
    put_title(ax, title)
    if legend:
        drop = UNDER_AXIS if how.horizontal else 10 + 72 * labels
        legend_below(ax, _handles(ax, facts, table, paint, how), drop=drop)
    return ax


def _known(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        words = ", ".join(map(repr, allowed[:-1])) + f" or {allowed[-1]!r}"
        raise OptionError(f"{name}={value!r} is not known; use {words}.{nearest(str(value), allowed)}")


def draw_bars(
    ax: Axes,
    facts: Facts,
    table: pd.DataFrame,
    lines: Sequence[Line],
    *,
    paint: Mapping[str, Any],
    how: Bars,
) -> None:
    """Draw one bar a row, what was before, what noise reaches, its direction and its place in the best model."""
    reach = _reach(facts, table, lines, how)
    for line in lines:
        if line.row is None:
            continue
        row, name = table.iloc[line.row], str(table.index[line.row])
        thick = LEVEL_THICK if line.step.kind == "inner" else THICK
        if facts.before is not None and name in facts.before.index:
            was = facts.before.loc[name]
            _bar(ax, line.position, (was["lower"], was["upper"]), how, reach=reach, thick=THICK + 0.16,
                 facecolor="none", edgecolor=faint(ax, 0.6), linewidth=0.7, linestyle=":", label="_before")  # fmt: skip
        colour = paint.get(row["relevance"], paint[""])
        _bar(ax, line.position, (row["lower"], row["upper"]), how, reach=reach, thick=thick,
             facecolor=colour, edgecolor=colour, linewidth=0.6, label=name)  # fmt: skip
        if name in facts.constraints:
            _brackets(ax, line.position, facts.constraints[name], reach, how)
        if how.best and "weight" in table and pd.notna(row["weight"]):
            at = min(abs(row["weight"]), reach)
            _segment(ax, (at, at), (line.position - thick / 2 - 0.08, line.position + thick / 2 + 0.08), how,
                     color=ink(ax), linewidth=1.1, solid_capstyle="butt", path_effects=haloed(ax),
                     label="_best")  # fmt: skip
        if how.direction and row.get("direction") in SIGNS and row["relevance"] in ("strong", "weak"):
            spot = (1.045 * reach, line.position)
            ax.plot(*([v] for v in (spot if how.horizontal else spot[::-1])), marker=SIGN_MARKERS[row["direction"]],
                    color=ink(ax), markersize=3.2, markeredgewidth=0, linestyle="none", clip_on=False,
                    label=f"_direction {row['direction']}")  # fmt: skip
    if how.threshold:
        _draw_noise(ax, facts, lines, how)
    _limits(ax, (0.0, MARGIN * reach), lines[-1].position, how)


def _reach(facts: Facts, table: pd.DataFrame, lines: Sequence[Line], how: Bars) -> float:
    """Return the longest thing that is drawn."""
    ends = [float(table["upper"].max())]
    if facts.before is not None:
        ends.append(float(facts.before.reindex(table.index)["upper"].max()))
    if how.threshold:
        ends += [value for key, value in facts.noise.items() if key[0] in {line.step.part for line in lines}]
    found = [end for end in ends if np.isfinite(end)]
    return max([*found, 0.0]) or 1.0


def _limits(ax: Axes, limits: tuple[float, float], last: float, how: Bars) -> None:
    extent = (last + 0.6, -0.6)
    if how.horizontal:
        ax.set_xlim(*limits)
        ax.set_ylim(*extent)
    else:
        ax.set_ylim(*limits)
        ax.set_xlim(*extent[::-1])


def _bar(
    ax: Axes, at: float, ends: tuple[float, float], how: Bars, *, reach: float, thick: float, **style: Any
) -> None:
    low, length = ends[0], max(ends[1] - ends[0], THIN * reach)
    if how.horizontal:
        corner, size = (low, at - thick / 2), (length, thick)
    else:
        corner, size = (at - thick / 2, low), (thick, length)
    ax.add_patch(Rectangle(corner, *size, **style))


def _segment(ax: Axes, along: Sequence[float], across: Sequence[float], how: Bars, **style: Any) -> None:
    """Draw a line through points given along and across the bars."""
    ax.plot(*((along, across) if how.horizontal else (across, along)), **style)


def _brackets(ax: Axes, at: float, wish: tuple[float, float], reach: float, how: Bars) -> None:
    """Mark the two ends of a constraint with square brackets round the bar."""
    half, foot = 0.46, 0.012 * reach
    for end, inward in ((wish[0], foot), (min(wish[1], reach), -foot)):
        _segment(ax, [end + inward, end, end, end + inward], [at - half, at - half, at + half, at + half], how,
                 color=ink(ax), linewidth=0.9, clip_on=False, label="_constraint")  # fmt: skip


def _draw_noise(ax: Axes, facts: Facts, lines: Sequence[Line], how: Bars) -> None:
    """Draw what noise can reach over the lines of each part; a term of several columns may have its own."""
    stretches: list[tuple[tuple[str, str | None], list[float]]] = []
    headed = {(line.step.part, line.step.term) for line in lines if line.step.kind == "row"}
    for line in lines:
        own: tuple[str, str | None] = (line.step.part, line.step.term)
        # the noise of a term is not that of its levels
        if line.row is None or (line.step.kind == "inner" and own in headed):
            continue
        key = own if own in facts.noise else (line.step.part, None)
        if key not in facts.noise:
            continue
        if not stretches or stretches[-1][0] != key:
            stretches.append((key, []))
        stretches[-1][1].append(line.position)
    for key, here in stretches:
        label = f"_noise {key[0]}" + (f": {key[1]}" if key[1] else "")
        _segment(ax, [facts.noise[key]] * 2, [min(here) - 0.5, max(here) + 0.5], how,
                 color=ink(ax), linewidth=0.9, linestyle=DASHED, path_effects=haloed(ax), label=label)  # fmt: skip


def _handles(ax: Axes, facts: Facts, table: pd.DataFrame, paint: Mapping[str, Any], how: Bars) -> list[Any]:
    black = ink(ax)
    handles = class_handles(paint, set(table["relevance"]))
    if how.threshold and facts.noise:
        handles.append(dashed_handle(ax, "noise"))
    if how.best and "weight" in table:
        handles.append(
            Line2D(
                [],
                [],
                color=black,
                marker="|",
                markersize=7,
                markeredgewidth=1.1,
                linestyle="none",
                label="best model",
            )
        )
    relevant = table[table["relevance"].isin(["strong", "weak"])]
    signs = set(relevant["direction"]) if how.direction and "direction" in table else set()
    for sign, label in SIGNS.items():
        if sign in signs:
            handles.append(
                Line2D([], [], color=black, marker=SIGN_MARKERS[sign], markersize=3.2, markeredgewidth=0,
                       linestyle="none", label=label)
            )  # fmt: skip
    if facts.before is not None:
        handles.append(Patch(facecolor="none", edgecolor=faint(ax, 0.6), linestyle=":", label="before"))
    if facts.constraints:
        handles.append(
            Line2D([], [], color=black, marker=r"$[\,]$", markersize=7, linestyle="none", label="constraint")
        )
    return handles
