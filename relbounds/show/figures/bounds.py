"""The figure of relevance intervals, and what the other figures share with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from relbounds.errors import OptionError

if TYPE_CHECKING:
    from relbounds.linear.fitted import Fitted
    from relbounds.results import RelboundsResults

CLASSES = ("strong", "weak", "irrelevant")
# Positions in seaborn's colour-blind safe palette: blue, orange, grey.
PALETTE_PLACES = (0, 1, 7)
COLUMN = 3.5  # inches, one column of a journal
ROW = 0.165  # inches a feature takes
FONT = 8.0
SMALL = 7.0
LONGEST = 30
THICK = 0.66


@dataclass(frozen=True)
class Line:
    """One line of a figure: a feature, or the head of a term or of a part."""

    position: float
    label: str
    feature: int | None
    part: str
    kind: str


def colours() -> dict[str, Any]:
    """Return the colour of each relevance class, safe for colour-blind readers.

    Examples
    --------
    >>> sorted(colours())
    ['irrelevant', 'strong', 'weak']
    """
    palette = sns.color_palette("colorblind")
    return {name: palette[place] for name, place in zip(CLASSES, PALETTE_PLACES, strict=True)}


def shorten(text: str, longest: int = LONGEST) -> str:
    """Cut the middle out of a long label, so that its beginning and its end can be read.

    Examples
    --------
    >>> shorten("age"), shorten("a_very_long_name_of_a_blood_marker", 16)
    ('age', 'a_very_l…_marker')
    """
    if len(text) <= longest:
        return text
    tail = longest // 2 - 1
    return text[: longest - tail - 1] + "…" + text[-tail:]


def lines_of(table: pd.DataFrame, order: Sequence[int] | None = None) -> list[Line]:
    """Lay the features of a table out in lines: parts set apart, the levels of a term under its name.

    Examples
    --------
    >>> table = pd.DataFrame({"part": "regular", "term": ["age", "site", "site"]})
    >>> table.index = ["age", "site[A]", "site[B]"]
    >>> [line.label for line in lines_of(table)]
    ['age', 'site', 'A', 'B']
    """
    rows = list(order) if order is not None else list(range(len(table)))
    parts, terms, names = (list(map(str, values)) for values in (table["part"], table["term"], table.index))
    size: dict[tuple[str, str], int] = {}
    for row in rows:
        size[parts[row], terms[row]] = size.get((parts[row], terms[row]), 0) + 1
    several = len(set(parts)) > 1
    lines: list[Line] = []
    position, last = 0.0, ("", "")
    for row in rows:
        here = (parts[row], terms[row])
        if several and here[0] != last[0]:
            position += 0.6 if lines else 0.0
            lines.append(Line(position, f"{here[0]} features", None, here[0], "part"))
            position += 1.0
        if last in size and size[last] > 1 and here != last and here[0] == last[0]:
            position += 0.4  # what follows a term's levels is not one of them
        grouped = size[here] > 1
        if grouped and here != last:
            lines.append(Line(position, shorten(here[1]), None, here[0], "term"))
            position += 1.0
        lines.append(Line(position, shorten(_inside(names[row], here[1], grouped)), row, here[0], "feature"))
        position += 1.0
        last = here
    return lines


def _inside(name: str, term: str, grouped: bool) -> str:
    """Under the head of its term, a level needs no more than its own name."""
    if grouped and name.startswith(term + "[") and name.endswith("]"):
        return name[len(term) + 1 : -1].removeprefix("T.")
    return name


def new_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes to draw in: those given, or a new figure of this size in inches."""
    if ax is not None:
        return ax
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def finish(ax: Axes) -> None:
    """Remove what a printed figure does not need and set the sizes of its text."""
    sns.despine(ax=ax)
    ax.tick_params(labelsize=SMALL, width=0.6, length=2.5)
    for side in ("left", "bottom"):
        ax.spines[side].set_linewidth(0.6)
    ax.xaxis.label.set_fontsize(FONT)
    ax.yaxis.label.set_fontsize(FONT)


def legend_above(ax: Axes, handles: Sequence[Any], columns: int = 3) -> None:
    """Put the legend over the axes, where it hides no data."""
    ax.legend(
        handles=list(handles),
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=columns,
        fontsize=SMALL,
        frameon=False,
        handlelength=1.2,
        handletextpad=0.4,
        columnspacing=1.0,
        borderaxespad=0.1,
    )


def plot_bounds(
    fit: RelboundsResults,
    ax: Axes | None = None,
    *,
    orientation: str = "horizontal",
    sort: str = "table",
    features: Sequence[str] | None = None,
    palette: Mapping[str, Any] | None = None,
    threshold: bool = True,
    direction: bool = True,
    best: bool = True,
    legend: bool = True,
    title: str | None = None,
) -> Axes:
    """Draw the relevance interval of every feature as a bar from the least to the most use.

    Parameters
    ----------
    fit : RelboundsResults
    ax : Axes, optional
        Where to draw; a new figure as wide as a journal's column by default, tall enough for every label.
    orientation : {"horizontal", "vertical"}
        Direction of the bars.
    sort : {"table", "upper", "lower", "name"}
        Order of the features inside a part; "table" keeps the order of the formula.
    features : sequence of str, optional
        Only these.
    palette : mapping, optional
        Colours of "strong", "weak" and "irrelevant".
    threshold, direction, best : bool
        Draw the noise threshold, the sign where it is the same in every equivalent model, and the weight in
        the best model.
    legend : bool
    title : str, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> ax = plot_bounds(rb.relbounds(data.formula, data.data, C=1.0, probes=20))
    >>> ax.get_xlabel()
    'relevance (share of the norm)'
    >>> plt.close(ax.figure)
    """
    horizontal = _orientation(orientation)
    table = chosen_features(fit.table, features)
    lines = lines_of(table, _order(table, sort))
    extent = lines[-1].position + 1.0
    labels = 0.055 * max(len(line.label) for line in lines)
    wide, tall = max(COLUMN, 2.2 + labels), 0.85 + ROW * extent
    size = (wide, tall) if horizontal else (max(COLUMN, 0.7 + ROW * extent), 2.4 + labels)
    ax = new_axes(ax, *size)
    paint = {**colours(), **(palette or {})}
    draw_bars(ax, fit._fitted, table, lines, paint, horizontal, direction=direction, best=best)
    if threshold:
        draw_thresholds(ax, fit, table, lines, horizontal)
    (ax.set_xlabel if horizontal else ax.set_ylabel)("relevance (share of the norm)")
    finish(ax)
    ax.tick_params(axis="y" if horizontal else "x", length=0)
    label_lines(ax, table, lines, horizontal, fit._fitted.wishes)
    handles = _handles(fit, table, paint, threshold, direction, best) if legend else []
    if legend:
        legend_above(ax, handles)
    if title:
        # over the legend, which takes a line of text for each three entries
        ax.set_title(title, loc="left", fontsize=FONT + 1, pad=4 + 11.5 * -(-len(handles) // 3))
    return ax


def chosen_features(table: pd.DataFrame, features: Sequence[str] | None) -> pd.DataFrame:
    """Return the rows of some features, in the table's order; an unknown name is an error."""
    if features is None:
        return table
    from relbounds.errors import nearest

    for name in features:
        if name not in table.index:
            raise OptionError(f"There is no feature '{name}' in the fit.{nearest(name, table.index)}")
    if len(features) == 0:
        raise OptionError("features is empty; name at least one feature, or leave it out to draw all.")
    return table[table.index.isin(list(features))]


def _orientation(orientation: str) -> bool:
    if orientation not in ("horizontal", "vertical"):
        raise OptionError(f"orientation={orientation!r} is not known; use 'horizontal' or 'vertical'.")
    return orientation == "horizontal"


def _order(table: pd.DataFrame, sort: str) -> list[int]:
    if sort not in ("table", "upper", "lower", "name"):
        raise OptionError(f"sort={sort!r} is not known; use 'table', 'upper', 'lower' or 'name'.")
    keyed = table.assign(_row=range(len(table)), _name=table.index.astype(str))
    parts = {part: place for place, part in enumerate(dict.fromkeys(table["part"]))}
    keyed["_part"] = keyed["part"].map(parts)
    # a term's levels stay together, at the place of its most relevant one
    for column in ("upper", "lower"):
        keyed[f"_{column}"] = -keyed.groupby(["part", "term"], sort=False)[column].transform("max")
    keyed["_term"] = keyed.groupby(["part", "term"], sort=False)["_row"].transform("min")
    by = {
        "table": ["_part", "_term", "_row"],
        "upper": ["_part", "_upper", "_term", "_row"],
        "lower": ["_part", "_lower", "_upper", "_term", "_row"],
        "name": ["_part", "term", "_name"],
    }[sort]
    return keyed.sort_values(by, kind="stable")["_row"].tolist()


def draw_bars(
    ax: Axes,
    fitted: Fitted,
    table: pd.DataFrame,
    lines: Sequence[Line],
    paint: Mapping[str, Any],
    horizontal: bool,
    *,
    direction: bool = True,
    best: bool = True,
) -> None:
    """Draw one bar a feature, its mark of direction and its place in the best model."""
    before, wishes = fitted.before, fitted.wishes
    reach = float(table["upper"].max()) or 1.0
    if before is not None:
        reach = max(reach, float(before.loc[table.index, "upper"].max()))
    thin = 0.004 * reach  # an interval that is a single value must still be seen
    for line in lines:
        if line.feature is None:
            continue
        row = table.iloc[line.feature]
        name = table.index[line.feature]
        if before is not None:
            _bar(
                ax,
                line.position,
                before.loc[name, "lower"],
                before.loc[name, "upper"],
                horizontal,
                facecolor="none",
                edgecolor="0.6",
                linewidth=0.6,
                linestyle=":",
                thin=thin,
                label="_before",
            )
        colour = paint[row["relevance"]]
        _bar(
            ax,
            line.position,
            row["lower"],
            row["upper"],
            horizontal,
            facecolor=colour,
            edgecolor=colour,
            linewidth=0.8,
            linestyle="-",
            thin=thin,
            label=str(name),
        )
        if name in wishes:
            _brackets(ax, line.position, wishes[name], reach, horizontal)
        if best:
            at = abs(row["weight"])
            xs, ys = [at, at], [line.position - THICK / 2, line.position + THICK / 2]
            ax.plot(
                *((xs, ys) if horizontal else (ys, xs)), color="black", linewidth=1.0, solid_capstyle="butt"
            )
        if direction and row["relevance"] != "irrelevant" and row["direction"] in "+-":
            spot = (row["upper"] + 0.035 * reach, line.position)
            ax.plot(
                *([value] for value in (spot if horizontal else spot[::-1])),
                marker="+" if row["direction"] == "+" else "_",
                color="black",
                markersize=4,
                markeredgewidth=0.8,
                linestyle="none",
            )
    limits = (0.0, 1.09 * reach)
    extent = (lines[-1].position + 0.6, -0.6)
    if horizontal:
        ax.set_xlim(*limits)
        ax.set_ylim(*extent)
    else:
        ax.set_ylim(*limits)
        ax.set_xlim(*extent[::-1])


def _bar(
    ax: Axes, at: float, low: float, high: float, horizontal: bool, *, thin: float, **style: Any
) -> None:
    length = max(high - low, thin)
    corner, size = (
        ((low, at - THICK / 2), (length, THICK)) if horizontal else ((at - THICK / 2, low), (THICK, length))
    )
    ax.add_patch(Rectangle(corner, *size, **style))


def _brackets(ax: Axes, at: float, wish: tuple[float, float], reach: float, horizontal: bool) -> None:
    """Mark the two ends of a constraint with square brackets round the bar."""
    half, foot = 0.46, 0.012 * reach
    for end, inward in ((wish[0], foot), (min(wish[1], reach), -foot)):
        xs = [end + inward, end, end, end + inward]
        ys = [at - half, at - half, at + half, at + half]
        ax.plot(*((xs, ys) if horizontal else (ys, xs)), color="black", linewidth=0.9, clip_on=False)


def draw_thresholds(
    ax: Axes, fit: RelboundsResults, table: pd.DataFrame, lines: Sequence[Line], horizontal: bool
) -> None:
    """Draw what noise can reach over the lines of each part; a term of several columns has its own."""
    intervals = {str(key): pair for key, pair in fit._fitted.noise.intervals.items()}
    stretches: list[tuple[str, list[float]]] = []
    for line in lines:
        if line.feature is None:
            continue
        own = f"{line.part}: {table['term'].iloc[line.feature]}"
        key = own if own in intervals else line.part
        if not stretches or stretches[-1][0] != key:
            stretches.append((key, []))
        stretches[-1][1].append(line.position)
    for key, here in stretches:
        if key not in intervals:
            continue
        high = intervals[key][1].upper
        xs, ys = [high, high], [min(here) - 0.5, max(here) + 0.5]
        ax.plot(
            *((xs, ys) if horizontal else (ys, xs)),
            color="0.25",
            linewidth=0.8,
            linestyle=(0, (4, 2)),
            label=f"_noise {key}",
        )


def label_lines(
    ax: Axes,
    table: pd.DataFrame,
    lines: Sequence[Line],
    horizontal: bool,
    wishes: Mapping[str, tuple[float, float]] | None = None,
) -> None:
    """Write the names along the axis: heads of terms and parts in bold, small enough not to overlap."""
    axis = ax.yaxis if horizontal else ax.xaxis
    axis.set_ticks([line.position for line in lines], labels=[line.label for line in lines])
    box = ax.get_window_extent()
    pixels = box.height if horizontal else box.width
    space = pixels / ax.figure.dpi * 72 / (lines[-1].position + 1.2)
    size = max(3.0, min(SMALL, 0.74 * space))  # letters are taller than their nominal size
    for text, line in zip(axis.get_ticklabels(), lines, strict=True):
        text.set_fontsize(size)
        if line.kind != "feature":
            text.set_fontweight("bold")
        elif wishes and line.feature is not None and table.index[line.feature] in wishes:
            text.set_fontstyle("italic")
    axis.set_tick_params(labelsize=size)
    if not horizontal:
        ax.tick_params(axis="x", rotation=90)


def _handles(
    fit: RelboundsResults,
    table: pd.DataFrame,
    paint: Mapping[str, Any],
    threshold: bool,
    direction: bool,
    best: bool,
) -> list[Any]:
    present = set(table["relevance"])
    handles: list[Any] = [Patch(color=paint[name], label=name) for name in CLASSES if name in present]
    if threshold:
        handles.append(Line2D([], [], color="0.25", linewidth=0.8, linestyle=(0, (4, 2)), label="noise"))
    if best:
        handles.append(
            Line2D(
                [],
                [],
                color="black",
                marker="|",
                markersize=6,
                markeredgewidth=1.0,
                linestyle="none",
                label="best model",
            )
        )
    signs = set(table.loc[table["relevance"] != "irrelevant", "direction"]) if direction else set()
    for sign, marker, label in (("+", "+", "always raises"), ("-", "_", "always lowers")):
        if sign in signs:
            handles.append(
                Line2D(
                    [],
                    [],
                    color="black",
                    marker=marker,
                    markersize=4,
                    markeredgewidth=0.8,
                    linestyle="none",
                    label=label,
                )
            )
    if fit._fitted.before is not None:
        handles.append(Patch(facecolor="none", edgecolor="0.6", linestyle=":", label="before"))
        handles.append(
            Line2D(
                [], [], color="black", marker="$[\\,]$", markersize=7, linestyle="none", label="constraint"
            )
        )
    return handles
