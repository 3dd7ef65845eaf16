"""The figure of groups: the tree of the features beside their bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from relbounds.show.facts import Facts
from relbounds.show.figures.bounds import Bars, draw_bars
from relbounds.show.figures.style import (
    COLUMN,
    DASHED,
    ROW,
    SMALL,
    Line,
    class_handles,
    dashed_handle,
    faint,
    haloed,
    ink,
    label_lines,
    label_width,
    legend_below,
    new_axes,
    others,
    paints,
    shorten,
    tidy_axes,
)
from relbounds.show.walk import Step


def plot_groups(
    groups: Any,
    facts: Facts,
    ax: Axes | None = None,
    *,
    palette: Mapping[str, Any] | None = None,
    legend: bool = True,
) -> Axes:
    """Draw the tree of the features beside their relevance bars, in one order.

    The branches of a group of several share a colour, which is none of the classes' colours; its number stands at its
    branches. The dashed line is where the tree was cut.

    Parameters
    ----------
    groups : Groups
        With `labels` (the group of each feature), `linkage` (the tree), `height` (where it is cut) and `together`
        (the joint use of each group; one whose members are all replaceable, but not together, says so).
    facts : Facts
        The table the features are in.
    ax : Axes, optional
        Split in two: bars to the left, the tree to the right. A new figure by default.
    palette : mapping, optional
        Colours of "strong", "weak" and "irrelevant".
    legend : bool

    Returns
    -------
    Axes
        Those of the bars; the tree is in ``ax.figure`` beside them, as ``ax.tree``.
    """
    from mpl_toolkits.axes_grid1 import make_axes_locatable
    from scipy.cluster.hierarchy import dendrogram

    names = groups.labels.index
    table = facts.table.loc[names]
    leaves: list[int] = dendrogram(groups.linkage, no_plot=True, color_threshold=-1)["leaves"]
    lines = [_line(place, table, leaf) for place, leaf in enumerate(leaves)]
    ax = new_axes(ax, max(COLUMN, 3.0 + label_width(lines)) + 1.2, 1.1 + ROW * len(lines))
    # cut from the axes' own width, so that nothing beside them is covered
    side = make_axes_locatable(ax).append_axes("right", size="60%", pad=0.06, sharey=ax)
    paint = paints(palette)
    draw_bars(ax, facts, table, lines, paint=paint, how=Bars(threshold=False, best=False))
    ax.set_xlabel(facts.measure)
    tidy_axes(ax)
    label_lines(ax, lines)
    _draw_tree(side, groups, leaves)
    if legend:
        handles = class_handles(paint, set(table["relevance"]))
        legend_below(ax, [*handles, dashed_handle(ax, "cut"), _group_handle(ax)])
    ax.tree = side  # type: ignore[attr-defined]
    return ax


def _line(place: int, table: pd.DataFrame, leaf: int) -> Line:
    name = str(table.index[leaf])
    step = Step("row", name, name, leaf, str(table["part"].iloc[leaf]), str(table["term"].iloc[leaf]))
    return Line(float(place), shorten(name), step)


def _group_handle(ax: Axes) -> Line2D:
    return Line2D([], [], color=others(1)[0], linewidth=1.4, label="a group")


def _draw_tree(side: Axes, groups: Any, leaves: Sequence[int]) -> None:
    """Draw the links from the leaves to the right, those inside a group in its colour, with its number."""
    n = len(leaves)
    labels = groups.labels.to_numpy()
    sizes = np.bincount(labels)
    several = [g for g in dict.fromkeys(labels[leaves]) if sizes[g] > 1]
    shade = dict(zip(several, others(len(several)), strict=True))
    place = {leaf: float(i) for i, leaf in enumerate(leaves)}
    height = dict.fromkeys(range(n), 0.0)
    owner: dict[int, int] = {leaf: int(labels[leaf]) for leaf in range(n)}
    tallest = float(groups.linkage[:, 2].max()) or 1.0
    top: dict[int, tuple[float, float]] = {}
    for step, (left, right, distance, _) in enumerate(groups.linkage):
        a, b, node = int(left), int(right), n + step
        owner[node] = owner[a] if owner[a] == owner[b] else 0
        grouped = owner[node] in shade
        side.plot(
            [height[a], distance, distance, height[b]],
            [place[a], place[a], place[b], place[b]],
            color=shade[owner[node]] if grouped else faint(side, 0.55),
            linewidth=1.4 if grouped else 0.9,
        )
        place[node], height[node] = (place[a] + place[b]) / 2, float(distance)
        if grouped:
            top[owner[node]] = (float(distance), place[node])
    needed = {int(groups.labels[one.terms[0]]) for one in groups.together if one.replaceable}
    for group, (x, y) in top.items():
        said = f"{group}: needed together" if group in needed else str(group)
        side.annotate(said, (x, y), xytext=(2, 2), textcoords="offset points", fontsize=SMALL,
                      color=shade[group], va="bottom", path_effects=haloed(side), zorder=4)  # fmt: skip
    side.axvline(groups.height, color=ink(side), linewidth=0.8, linestyle=DASHED)
    side.set_xlim(0.0, (1.4 if needed else 1.08) * max(tallest, float(groups.height)))
    side.set_xlabel("distance")
    tidy_axes(side)
    side.spines["left"].set_visible(False)
    side.tick_params(axis="y", left=False, labelleft=False)
