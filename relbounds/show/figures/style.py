"""What all figures share: colours with one meaning, sizes of a journal's column, labels, legends.

A figure has to hold on white and on dark paper, in grey and in colour, at one column of a journal: ink and rules take
their colour from the axes they are drawn in, classes differ in lightness as well as in hue, and the legend stands under
the axes, never in the data and never cut.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.transforms import ScaledTranslation

from relbounds.errors import OptionError, nearest
from relbounds.show.escaping import escape_figure
from relbounds.show.walk import CLASSES, Step, walk

COLUMN = 3.5  # inches, one column of a journal
ROW = 0.165  # inches a line takes
FONT = 8.0
SMALL = 7.0
LONGEST = 30
THICK = 0.66
LETTER = 0.055  # inches a letter of a label takes
INDENT = "    "  # of a level under its term
DASHED = (0, (4, 2))
# The stretch of the colour map for ordered levels: its ends vanish on black and on white.
MIDDLE = (0.22, 0.68)
UNDER_AXIS = 30.0  # points that ticks, their numbers and the label of an axis take
# One colour, one meaning: these belong to the classes, and no figure uses them for anything else. Dark blue, orange and
# light grey also differ in lightness, so that they can be told apart in print without colour.
CLASS_COLOURS = {
    "strong": "#0b5394",
    "weak": "#e08a1e",
    "irrelevant": "#b9b9b9",
    "fixed": "#7a7a7a",
    "": "#7a7a7a",
}
# For what is no class (groups, reasons, curves): hues that none of the classes has.
OTHER_COLOURS = ("#117733", "#aa4499", "#44aa99", "#882255", "#999933", "#5e4b8b", "#6b3e26")


@dataclass(frozen=True)
class Line:
    """One line of a figure: where it is, what is written beside it, and the step of the walk it shows."""

    position: float
    label: str
    step: Step

    @property
    def row(self) -> int | None:
        """Where its numbers are in the table; None for a title."""
        return self.step.row


def colours() -> dict[str, Any]:
    """Return the colour of each relevance class, safe for colour-blind readers and for print in grey.

    Examples
    --------
    >>> colours()["strong"]
    '#0b5394'
    """
    return dict(CLASS_COLOURS)


def paints(palette: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the colours of the classes with those of the user in their place; an unknown class is an error."""
    for name in palette or {}:
        if name not in CLASS_COLOURS:
            raise OptionError(
                f"palette has a colour for '{name}'; the classes are {', '.join(CLASSES)}.{nearest(str(name), CLASSES)}"
            )
    return {**colours(), **(palette or {})}


def shades(count: int) -> list[Any]:
    """Return colours for ordered levels, light to dark, none of them invisible on white or on black.

    Examples
    --------
    >>> len(shades(4))
    4
    """
    if count == 1:
        return [OTHER_COLOURS[0]]
    return [matplotlib.colormaps["viridis"](float(place)) for place in np.linspace(*MIDDLE, count)]


def others(count: int) -> list[str]:
    """Return colours for things that are neither classes nor ordered."""
    return [OTHER_COLOURS[i % len(OTHER_COLOURS)] for i in range(count)]


def ink(ax: Axes) -> Any:
    """Return the colour of text in these axes: black on white, white in a dark style."""
    return ax.xaxis.label.get_color()


def faint(ax: Axes, share: float = 0.35) -> Any:
    """Return the ink mixed with the ground: for rules that must not compete with data."""
    front, back = np.array(to_rgb(ink(ax))), np.array(to_rgb(_ground(ax)))
    return tuple(float(v) for v in (1 - share) * back + share * front)


def haloed(ax: Axes) -> list[Any]:
    """Return the effect that sets a mark off from whatever it lies on: a thin rim in the colour of the ground."""
    return [withStroke(linewidth=2.4, foreground=_ground(ax))]


def _ground(ax: Axes) -> Any:
    *face, opacity = to_rgba(ax.get_facecolor())
    return tuple(face) if opacity > 0 else "white"


def shorten(text: Any, longest: int = LONGEST) -> str:
    """Return a label for a figure: plain text, with the middle cut out of what is too long to read.

    Examples
    --------
    >>> shorten("age"), shorten("a_very_long_name_of_a_blood_marker", 16)
    ('age', 'a_very_l…_marker')
    """
    text = str(text)
    if len(text) > longest:
        tail = longest // 2 - 1
        text = text[: longest - tail - 1] + "…" + text[-tail:]
    return escape_figure(text)


def lines_of(table: pd.DataFrame, order: Sequence[int] | None = None) -> list[Line]:
    """Lay a table out in lines: parts set apart, the levels of a term close under its name.

    Examples
    --------
    >>> table = pd.DataFrame({"part": "regular", "term": ["age", "site", "site"]})
    >>> table.index = ["age", "site[A]", "site[B]"]
    >>> [line.label for line in lines_of(table)]
    ['age', 'site', '    A', '    B']
    """
    lines: list[Line] = []
    position, last = 0.0, None
    for step in walk(table, order):
        if last is not None:
            position += 1.0
            if step.kind == "part":
                position += 0.6
            elif last.kind == "inner" and step.kind != "inner":
                position += 0.35  # what follows a term's levels is not one of them
        label = shorten(step.short)
        lines.append(Line(position, INDENT + label if step.kind == "inner" else label, step))
        last = step
    return lines


def label_width(lines: Sequence[Line]) -> float:
    """Return the inches that the labels take."""
    return LETTER * max((len(line.label) for line in lines), default=1)


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes to draw in: those given, or a new figure of this size in inches."""
    if ax is not None:
        return ax
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def tidy_axes(ax: Axes) -> None:
    """Remove what a printed figure does not need and set the sizes of its text."""
    sns.despine(ax=ax)
    ax.tick_params(labelsize=SMALL, width=0.6, length=2.5)
    for side in ("left", "bottom"):
        ax.spines[side].set_linewidth(0.6)
    ax.xaxis.label.set_fontsize(FONT)
    ax.yaxis.label.set_fontsize(FONT)


def put_title(ax: Axes, title: str | None) -> None:
    """Write a title over the axes, at their left."""
    if title:
        ax.set_title(escape_figure(title), loc="left", fontsize=FONT + 1)


def legend_below(ax: Axes, handles: Sequence[Any], title: str = "", drop: float = UNDER_AXIS) -> None:
    """Put the legend under the axes, in as many columns as the width holds, where it hides and cuts nothing.

    Parameters
    ----------
    ax : Axes
    handles : sequence of artists
    title : str
    drop : float
        How far under the axes, in points: past the numbers and the label of the axis.
    """
    if not handles:
        return
    figure: Any = ax.figure
    inches = figure.get_figwidth() / max(1, len({round(a.get_position().x0, 2) for a in figure.axes}))
    # anchored at the right end of the axes, it grows to the left under the labels, which take that room anyway
    under = ax.transAxes + ScaledTranslation(0, -drop / 72, figure.dpi_scale_trans)
    ax.legend(
        handles=list(handles),
        loc="upper right",
        bbox_to_anchor=(1.0, 0.0),
        bbox_transform=under,
        ncols=fitting_columns([str(handle.get_label()) for handle in handles], inches - 0.2),
        fontsize=SMALL,
        title=title or None,
        title_fontsize=SMALL,
        frameon=False,
        handlelength=1.2,
        handletextpad=0.4,
        columnspacing=1.0,
        borderaxespad=0.0,
    )


def fitting_columns(labels: Sequence[str], inches: float) -> int:
    """Return how many columns of a legend fit into a width.

    Examples
    --------
    >>> fitting_columns(["strong", "weak", "noise"], 3.5), fitting_columns(["a very long label indeed"] * 4, 3.0)
    (3, 1)
    """
    for count in range(len(labels), 1, -1):
        # columns are filled from top to bottom, each as wide as its longest entry
        deep = -(-len(labels) // count)
        pieces = [labels[i : i + deep] for i in range(0, len(labels), deep)]
        if sum(LETTER * max(map(len, piece)) + 0.35 for piece in pieces) <= inches:
            return len(pieces)
    return 1


def class_handles(paint: Mapping[str, Any], present: Sequence[str] | set[str]) -> list[Any]:
    """Return a patch for each class that is there."""
    names = [*CLASSES, "fixed"]
    return [Patch(facecolor=paint[name], label=name) for name in names if name in set(present)]


def dashed_handle(ax: Axes, label: str) -> Line2D:
    """Return the mark of a dashed line: what noise reaches, a threshold, a cut."""
    return Line2D([], [], color=ink(ax), linewidth=0.8, linestyle=DASHED, label=label)


def chosen_rows(table: pd.DataFrame, features: Sequence[str] | None) -> pd.DataFrame:
    """Return the rows of some terms or levels, in the table's order; a term brings its levels along."""
    if features is None:
        return table
    wanted = [features] if isinstance(features, str) else list(features)
    if not wanted:
        raise OptionError("features is empty; name at least one feature, or leave it out to draw all.")
    terms = table["term"] if "term" in table else pd.Series(table.index, index=table.index)
    for name in wanted:
        if name not in table.index and name not in set(terms):
            raise OptionError(f"There is no feature '{name}' in the fit.{nearest(str(name), table.index)}")
    return table[table.index.isin(wanted) | terms.isin(wanted).to_numpy()]


def label_lines(
    ax: Axes, lines: Sequence[Line], horizontal: bool = True, slanted: Sequence[str] = ()
) -> None:
    """Write the names along the axis: titles in bold, constrained ones slanted, small enough not to overlap."""
    axis = ax.yaxis if horizontal else ax.xaxis
    labels = [line.label if horizontal else line.label.strip() for line in lines]
    axis.set_ticks([line.position for line in lines], labels=labels)
    box = ax.get_window_extent()
    pixels = box.height if horizontal else box.width
    space = pixels / ax.figure.dpi * 72 / (lines[-1].position + 1.2)
    size = max(3.0, min(SMALL, 0.74 * space))  # letters are taller than their nominal size
    several = any(line.step.kind == "inner" for line in lines)
    for text, line in zip(axis.get_ticklabels(), lines, strict=True):
        text.set_fontsize(size)
        # left-aligned where levels are indented under their terms
        if several and horizontal:
            text.set_horizontalalignment("left")
        if line.step.kind in ("head", "part"):
            text.set_fontweight("bold")
        elif line.step.label in slanted:
            text.set_fontstyle("italic")
    axis.set_tick_params(labelsize=size)
    ax.tick_params(axis="y" if horizontal else "x", length=0)
    if not horizontal:
        ax.tick_params(axis="x", rotation=90)
    elif several:
        widest = max(text.get_window_extent().width for text in axis.get_ticklabels())
        ax.tick_params(axis="y", pad=3 + widest / ax.figure.dpi * 72)
