"""The figure of contrasts between levels, drawn as people draw forest plots."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from relbounds.errors import OptionError
from relbounds.show.columns import SMALLEST_P, format_bound, format_p
from relbounds.show.figures.style import (
    COLUMN,
    LETTER,
    ROW,
    SMALL,
    faint,
    ink,
    legend_below,
    new_axes,
    put_title,
    shorten,
    tidy_axes,
)

NEEDED = ("level", "reference", "signed_lower", "signed_upper")
OPEN = "open"


def plot_level_contrasts(
    contrasts: pd.DataFrame,
    ax: Axes | None = None,
    *,
    smallest_p: float = SMALLEST_P,
    numbers: bool = True,
    legend: bool = True,
    title: str | None = None,
) -> Axes:
    """Draw the signed range of each contrast as a line from its least to its greatest value, with a rule at zero.

    A line that does not touch zero has the same sign in every equally good model: it is drawn in full ink with a
    diamond in its middle; an open one is faint with a ring. The diamond is no estimate, it marks the line.

    Parameters
    ----------
    contrasts : DataFrame
        One row a contrast: `term`, `level`, `reference`, `signed_lower`, `signed_upper`, and `p_adjusted` if known.
    ax : Axes, optional
    smallest_p : float
        The smallest p-value that the permutations behind the table can show.
    numbers : bool
        Write the ranges and p-values beside the lines.
    legend : bool
    title : str, optional
        The name of the term by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> row = {"term": "site", "level": "B", "reference": "A", "signed_lower": 0.1, "signed_upper": 0.2}
    >>> [label.get_text() for label in plot_level_contrasts(pd.DataFrame([row])).get_yticklabels()]
    ['B - A']
    """
    missing = [name for name in NEEDED if name not in contrasts]
    if missing or contrasts.empty:
        raise OptionError("There is no contrast to draw; give what level_contrasts() returns.")
    references = contrasts["reference"].astype(str).unique()
    one = len(references) == 1 and len(contrasts) > 1
    labels = _labels(contrasts, one)
    beside = 1.35 if numbers else 0.0
    width = max(COLUMN, 1.7 + LETTER * max(map(len, labels)) + beside)
    ax = new_axes(ax, width, 1.15 + 1.25 * ROW * len(labels))
    ax.axvline(0.0, color=ink(ax), linewidth=0.7, zorder=0)
    for at, row in enumerate(contrasts.itertuples(index=False)):
        _draw(ax, at, float(row.signed_lower), float(row.signed_upper))
    if numbers:
        _write(ax, contrasts, smallest_p)
    ax.set_yticks(range(len(labels)), labels=labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    term = shorten(contrasts["term"].iloc[0]) if "term" in contrasts else ""
    if contrasts.attrs.get("monotone") in ("rising", "falling"):
        term += f" ({contrasts.attrs['monotone']} in every model)"
    ax.set_xlabel(
        f"difference to {shorten(references[0])} (share of the norm)"
        if one
        else "difference (share of the norm)"
    )
    tidy_axes(ax)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    put_title(ax, title) if title else ax.set_title(term, loc="left", fontsize=SMALL + 1)
    if legend:
        legend_below(ax, _handles(ax))
    return ax


def _labels(contrasts: pd.DataFrame, one: bool) -> list[str]:
    """Return what each line compares: two levels, and for classes without order between which of them."""
    out = []
    for row in contrasts.itertuples(index=False):
        label = shorten(row.level) if one else f"{shorten(row.level, 14)} - {shorten(row.reference, 14)}"
        out.append(f"{label}, {shorten(row.response, 20)}" if "response" in contrasts else label)
    return out


def _draw(ax: Axes, at: int, low: float, high: float) -> None:
    decided = low > 0 or high < 0
    colour = ink(ax) if decided else faint(ax, 0.5)
    ax.plot([low, high], [at, at], color=colour, linewidth=1.6 if decided else 1.1, solid_capstyle="butt")
    for end in (low, high):
        ax.plot([end, end], [at - 0.16, at + 0.16], color=colour, linewidth=0.9, label="_end")
    ax.plot([(low + high) / 2], [at], marker="D" if decided else "o", markersize=3.6, color=colour, label="_middle",
            markerfacecolor=colour if decided else ax.get_facecolor(), markeredgewidth=0.9,
            linestyle="none")  # fmt: skip


def _write(ax: Axes, contrasts: pd.DataFrame, smallest_p: float) -> None:
    """Write ranges and p-values in columns at the right of the axes."""
    place = {
        "xycoords": ax.get_yaxis_transform(),
        "textcoords": "offset points",
        "fontsize": SMALL,
        "color": ink(ax),
    }
    known = "p_adjusted" in contrasts and contrasts["p_adjusted"].notna().any()
    heads = [(8, "range"), *([(72, "P adj.")] if known else [])]
    for points, head in heads:
        ax.annotate(head, (1.0, -0.95), xytext=(points, 0), va="center", annotation_clip=False, **place)
    for at, (_, row) in enumerate(contrasts.iterrows()):
        text = f"[{format_bound(row['signed_lower'])}, {format_bound(row['signed_upper'])}]"
        ax.annotate(text, (1.0, at), xytext=(8, 0), va="center", annotation_clip=False, **place)
        if known:
            p = format_p(row["p_adjusted"], smallest_p)
            ax.annotate(p, (1.0, at), xytext=(72, 0), va="center", annotation_clip=False, **place)


def _handles(ax: Axes) -> list[Line2D]:
    full = Line2D(
        [], [], color=ink(ax), marker="D", markersize=3.6, linewidth=1.6, label="same sign in every model"
    )
    open_ = Line2D([], [], color=faint(ax, 0.5), marker="o", markersize=3.6, linewidth=1.1, label=OPEN,
                   markerfacecolor=ax.get_facecolor())  # fmt: skip
    return [full, open_]
