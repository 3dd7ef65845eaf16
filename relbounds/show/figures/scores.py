"""The figure of scores by level, or of predictions of a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from relbounds.errors import OptionError
from relbounds.show.figures.style import (
    COLUMN,
    DASHED,
    LETTER,
    SMALL,
    dashed_handle,
    ink,
    legend_below,
    new_axes,
    others,
    shades,
    shorten,
    tidy_axes,
)

# Beyond this many rows points cover one another, and densities say more.
MOST_POINTS = 400
# A density of fewer rows than this would be made up.
LEAST_DENSITY = 10
# Thresholds closer than this share of the axis get one label.
CLOSE = 0.03


@dataclass(frozen=True)
class Scores:
    """Scores of rows and what they should be.

    Attributes
    ----------
    scores, truth : ndarray
        The score of each row; its level as a code from 1, or its number.
    levels : tuple or None
        The levels in order; None for a number.
    thresholds : ndarray
        Between the levels; empty for a number.
    response : str
    axis : str
        What is drawn along the horizontal axis.

    Examples
    --------
    >>> Scores(np.zeros(2), np.array([1, 2]), ("no", "yes"), np.zeros(1), "y").levels
    ('no', 'yes')
    """

    scores: np.ndarray
    truth: np.ndarray
    levels: tuple[Any, ...] | None
    thresholds: np.ndarray
    response: str
    axis: str = "score w.x"

    def known(self) -> Scores:
        """Return the rows of which both score and truth are known; an error without any."""
        known = ~(np.isnan(self.scores) | np.isnan(np.asarray(self.truth, dtype=float)))
        if not known.any():
            raise OptionError("There is no complete row to draw: every row misses the response or a feature.")
        truth = np.asarray(self.truth, dtype=float)[known]
        return replace(self, scores=self.scores[known], truth=truth)


def plot_scores(scores: Scores, ax: Axes | None = None, *, legend: bool = True, seed: int = 0) -> Axes:
    """Draw the scores of the rows by their true level, with the thresholds between the levels.

    If the model orders the levels, the clouds climb from one level to the next and each lies in its own band. Few rows
    are points, many are densities, each as wide as its level's share at most. A numeric response is drawn against its
    prediction.

    Parameters
    ----------
    scores : Scores
    ax : Axes, optional
    legend : bool
    seed : int
        Of the jitter that keeps points apart.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> drawn = plot_scores(Scores(np.array([-1.0, 1.0]), np.array([1, 2]), ("no", "yes"), np.zeros(1), "y"))
    >>> drawn.get_xlabel()
    'score w.x'
    """
    scores = scores.known()
    if scores.levels is None:
        return _plot_numbers(scores, ax)
    levels = scores.levels
    longest = LETTER * max(len(shorten(level)) for level in levels)
    ax = new_axes(ax, max(COLUMN, 2.4 + longest), 1.35 + 0.34 * len(levels))
    many = len(scores.scores) > MOST_POINTS
    jitter = np.random.default_rng(seed).uniform(-0.26, 0.26, len(scores.scores))
    for i, colour in enumerate(shades(len(levels))):
        here = scores.truth == i + 1
        if not here.any():
            continue
        if many and here.sum() >= LEAST_DENSITY and np.ptp(scores.scores[here]) > 0:
            _ridge(ax, scores.scores[here], i, colour)
        else:
            ax.scatter(scores.scores[here], i + jitter[here], s=6, color=colour, alpha=0.7, linewidths=0)
        middle = float(np.median(scores.scores[here]))
        ax.plot([middle] * 2, [i - 0.36, i + 0.36], color=ink(ax), linewidth=1.3, label="_median")
    ax.set_ylim(-0.6, len(levels) - 0.4)
    _draw_thresholds(ax, np.asarray(scores.thresholds, dtype=float), levels)
    ax.set_yticks(range(len(levels)), labels=[shorten(level) for level in levels])
    ax.set_xlabel(scores.axis)
    ax.set_ylabel(shorten(scores.response))
    tidy_axes(ax)
    if legend:
        median = Line2D(
            [],
            [],
            color=ink(ax),
            marker="|",
            markersize=7,
            markeredgewidth=1.3,
            linestyle="none",
            label="median",
        )
        legend_below(ax, [dashed_handle(ax, "threshold"), median])
    return ax


def _ridge(ax: Axes, values: np.ndarray, at: int, colour: Any) -> None:
    """Draw the density of a level's scores, mirrored about its line."""
    from scipy.stats import gaussian_kde

    spread = float(np.std(values))
    grid = np.linspace(values.min() - 0.5 * spread, values.max() + 0.5 * spread, 200)
    height = gaussian_kde(values)(grid)
    height *= 0.42 / height.max()
    ax.fill_between(grid, at - height, at + height, color=colour, alpha=0.85, linewidth=0)


def _draw_thresholds(ax: Axes, thresholds: np.ndarray, levels: Sequence[Any]) -> None:
    """Draw the thresholds and name each by the levels it separates; those that fall together share a name."""
    pairs = list(pairwise(levels))
    # one line between all levels parts none of them from another
    names = (
        [f"{shorten(a, 12)} | {shorten(b, 12)}" for a, b in pairs] if len(thresholds) == len(pairs) else [""]
    )
    finite = [(value, name) for value, name in zip(thresholds, names, strict=False) if np.isfinite(value)]
    left, right = ax.get_xlim()
    ends = [left, right, *(value for value, _ in finite)]
    ax.set_xlim(min(ends), max(ends))
    close = CLOSE * (max(ends) - min(ends))
    merged: list[tuple[float, str]] = []
    for value, name in sorted(finite):
        ax.axvline(value, color=ink(ax), linewidth=0.8, linestyle=DASHED, zorder=0)
        if merged and value - merged[-1][0] < close:
            merged[-1] = (merged[-1][0], f"{merged[-1][1]}, {name}")
        else:
            merged.append((value, name))
    short = len(merged) <= 1 or all(len(name) <= 4 for _, name in merged)
    gaps = np.diff([value for value, _ in merged])
    # the closer they stand, the steeper they are written
    turn = 0 if short else 40 if gaps.min() > 3 * close else 65
    for value, name in merged:
        ax.annotate(name, (value, 1.0), xycoords=("data", "axes fraction"), xytext=(0, 2), textcoords="offset points",
                    fontsize=SMALL - 0.5, rotation=turn, ha="center" if short else "left", va="bottom",
                    rotation_mode="anchor", color=ink(ax))  # fmt: skip


def _plot_numbers(scores: Scores, ax: Axes | None) -> Axes:
    """Draw a numeric response against its prediction, with the line where both agree; many rows as hexagons."""
    ax = new_axes(ax, COLUMN, COLUMN)
    if len(scores.scores) > MOST_POINTS:
        drawn = ax.hexbin(
            scores.scores, scores.truth, gridsize=38, mincnt=1, cmap="viridis", linewidths=0, bins="log"
        )
        bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.7, pad=0.02)
        bar.set_label("rows", fontsize=SMALL)
        bar.ax.tick_params(labelsize=SMALL, width=0.6, length=2.5)
        bar.outline.set_visible(False)  # type: ignore[operator]
    else:
        ax.scatter(scores.scores, scores.truth, s=7, color=others(1)[0], alpha=0.6, linewidths=0)
    ends = [min(scores.scores.min(), scores.truth.min()), max(scores.scores.max(), scores.truth.max())]
    ax.plot(ends, ends, color=ink(ax), linewidth=0.8, linestyle=DASHED)
    ax.set_xlabel("prediction")
    ax.set_ylabel(shorten(scores.response))
    tidy_axes(ax)
    return ax
