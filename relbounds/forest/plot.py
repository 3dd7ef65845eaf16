"""The figure of a non-linear relevance analysis, in the manner of the linear one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from relbounds.show.figures import bounds as plots

if TYPE_CHECKING:
    from relbounds.forest.results import ForestResults


def plot_forest(
    fit: ForestResults,
    ax: Axes | None = None,
    *,
    features: Sequence[str] | None = None,
    palette: Mapping[str, Any] | None = None,
    threshold: bool = True,
    legend: bool = True,
    title: str | None = None,
) -> Axes:
    """Draw a bar for every feature: from the loss without it to the loss without it and its stand-ins.

    A strong feature is drawn from zero as well: without stand-ins, the two ends are the same.

    Parameters
    ----------
    fit : ForestResults
    ax : Axes, optional
        Where to draw; a new figure as wide as a journal's column by default.
    features : sequence of str, optional
        Only these.
    palette : mapping, optional
        Colours of "strong", "weak" and "irrelevant".
    threshold : bool
        Draw what noise can reach.
    legend : bool
    title : str, optional
    """
    table = plots.chosen_features(fit.table, features)
    lines = plots.lines_of(table)
    extent = lines[-1].position + 1.0
    ax = plots.new_axes(ax, plots.COLUMN, 0.85 + plots.ROW * extent)
    paint = {**plots.colours(), **(palette or {})}
    noise = fit._found.removal_noise.upper / fit.unit
    reach = max(float(table["upper"].max()), noise, 1e-6)
    for line in lines:
        if line.feature is None:
            continue
        row = table.iloc[line.feature]
        colour = paint[row["relevance"]]
        left = 0.0 if row["relevance"] == "strong" else row["lower"]
        width = max(row["upper"] - left, 0.004 * reach)
        ax.add_patch(
            Rectangle(
                (left, line.position - plots.THICK / 2),
                width,
                plots.THICK,
                color=colour,
                label=str(table.index[line.feature]),
            )
        )
        if row["relevance"] == "strong":
            ax.plot(
                [row["lower"]] * 2, [line.position - 0.33, line.position + 0.33], color="black", linewidth=1.0
            )
    ax.set_xlim(0.0, 1.09 * reach)
    ax.set_ylim(lines[-1].position + 0.6, -0.6)
    handles: list[Any] = [
        Patch(color=paint[k], label=k) for k in plots.CLASSES if k in set(table["relevance"])
    ]
    if threshold:
        ax.axvline(noise, color="0.25", linewidth=0.8, linestyle=(0, (4, 2)), label="_noise")
        handles.append(Line2D([], [], color="0.25", linewidth=0.8, linestyle=(0, (4, 2)), label="noise"))
    ax.set_xlabel("rise in loss (share of what is explained)")
    plots.finish(ax)
    ax.tick_params(axis="y", length=0)
    plots.label_lines(ax, table, lines, True)
    if legend:
        plots.legend_above(ax, handles, columns=4)
    if title:
        ax.set_title(title, loc="left", fontsize=plots.FONT + 1, pad=16)
    return ax
