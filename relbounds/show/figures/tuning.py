"""The figure of cross-validated scores along C."""

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
    others,
    tidy_axes,
)

MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def plot_tuning(
    scores: pd.DataFrame, C: float, metric: str, ax: Axes | None = None, *, legend: bool = True
) -> Axes:
    """Draw the cross-validated score along C, with one standard error, and the C that was chosen.

    Parameters
    ----------
    scores : DataFrame
        One row a candidate: `C`, `mean` and `se` of the score, and whatever else was tuned.
    C : float
        The one that was chosen.
    metric : str
        What was scored.
    ax : Axes, optional
    legend : bool

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> table = pd.DataFrame({"C": [0.1, 1.0], "mean": [0.4, 0.2], "se": [0.05, 0.05]})
    >>> plot_tuning(table, 1.0, "MMAE").get_ylabel()
    'cross-validated MMAE'
    """
    if scores.empty:
        raise OptionError("C was fixed, so there is no tuning to draw; leave C out or give a grid.")
    ax = new_axes(ax, COLUMN, 2.4)
    varying = [
        name
        for name in scores.columns
        if name not in ("C", "mean", "se") and scores[name].nunique(dropna=False) > 1
    ]
    curves = list(scores.groupby(varying, sort=True, dropna=False)) if varying else [((), scores)]
    handles = []
    for i, ((key, rows), colour) in enumerate(zip(curves, others(len(curves)), strict=True)):
        rows = rows.sort_values("C")
        values = key if isinstance(key, tuple) else (key,)
        label = ", ".join(f"{name} {_short(value)}" for name, value in zip(varying, values, strict=True))
        handles.append(
            ax.errorbar(
                rows["C"], rows["mean"], rows["se"], color=colour, linewidth=1.0, elinewidth=0.6,
                marker=MARKERS[i % len(MARKERS)], markersize=2.8, label=label or metric,
            )
        )  # fmt: skip
    ax.axvline(C, color=ink(ax), linewidth=0.8, linestyle=DASHED)
    ax.set_xscale("log")
    ax.set_xlabel("C")
    ax.set_ylabel(f"cross-validated {metric}")
    tidy_axes(ax)
    if legend:
        legend_below(ax, [*(handles if varying else []), dashed_handle(ax, "chosen C")])
    return ax


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
