"""The figure of calibration: do things that are said to have a chance of 30 % happen in 30 %?"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from relbounds.errors import OptionError
from relbounds.show.figures.style import (
    COLUMN,
    DASHED,
    dashed_handle,
    ink,
    legend_below,
    new_axes,
    shades,
    shorten,
    tidy_axes,
)

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")


def plot_calibration(calibration: pd.DataFrame, ax: Axes | None = None, *, legend: bool = True) -> Axes:
    """Draw observed shares against predicted probabilities of held-out rows, event by event.

    Parameters
    ----------
    calibration : DataFrame
        One row a bin: `event`, `predicted` (mean probability), `observed` (share), `low` and `high` (95 % limits of
        the share), `n`.
    ax : Axes, optional
    legend : bool

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> row = {"event": "yes", "predicted": 0.3, "observed": 0.25, "low": 0.1, "high": 0.4, "n": 20}
    >>> plot_calibration(pd.DataFrame([row])).get_xlabel()
    'predicted probability'
    """
    if calibration.empty:
        raise OptionError("There is no calibration to draw: too few held-out rows.")
    ax = new_axes(ax, COLUMN, COLUMN + 0.3)
    ax.plot([0, 1], [0, 1], color=ink(ax), linewidth=0.8, linestyle=DASHED)
    events = list(dict.fromkeys(calibration["event"]))
    handles = []
    for i, (event, colour) in enumerate(zip(events, shades(len(events)), strict=True)):
        rows = calibration[calibration["event"] == event].sort_values("predicted")
        reach = [rows["observed"] - rows["low"], rows["high"] - rows["observed"]]
        handles.append(
            ax.errorbar(
                rows["predicted"], rows["observed"], reach, color=colour, marker=MARKERS[i % len(MARKERS)],
                markersize=3.4, linewidth=1.0, elinewidth=0.6, label=shorten(event),
            )
        )  # fmt: skip
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("observed share of held-out rows")
    tidy_axes(ax)
    if legend:
        legend_below(ax, [*handles, dashed_handle(ax, "as predicted")])
    return ax
