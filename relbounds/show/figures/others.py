"""Figures of groups, sweeps, stability and scores; the figure of bounds is in :mod:`relbounds.show.figures.bounds`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from mpl_toolkits.axes_grid1 import make_axes_locatable
from scipy.cluster.hierarchy import dendrogram

from relbounds.errors import OptionError
from relbounds.seeds import stream
from relbounds.show.figures.bounds import (
    CLASSES,
    COLUMN,
    ROW,
    SMALL,
    THICK,
    Line,
    colours,
    draw_bars,
    finish,
    label_lines,
    legend_above,
    lines_of,
    new_axes,
    shorten,
)

if TYPE_CHECKING:
    from relbounds.explore.groups import Groups
    from relbounds.explore.stability import Stability
    from relbounds.explore.sweep_delta import Sweep
    from relbounds.results import RelboundsResults


def plot_groups(
    groups: Groups, ax: Axes | None = None, *, palette: Mapping[str, Any] | None = None, legend: bool = True
) -> Axes:
    """Draw the tree of the features beside their relevance bars, in one order.

    The branches of a group share a colour; the dashed line is where the tree was cut.

    Parameters
    ----------
    groups : Groups
    ax : Axes, optional
        Split in two: bars to the left, the tree to the right. A new figure by default.
    palette : mapping, optional
        Colours of "strong", "weak" and "irrelevant".
    legend : bool

    Returns
    -------
    Axes
        Those of the bars; the tree is in ``ax.figure`` beside them, as ``ax.tree``.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
    >>> ax = plot_groups(fit.groups())
    >>> len(ax.get_yticklabels())
    4
    >>> import matplotlib.pyplot as plt; plt.close(ax.figure)
    """
    names = groups.labels.index
    table = groups.fitted.table.loc[names]
    tree = dendrogram(groups.linkage, no_plot=True, color_threshold=-1)
    leaves: list[int] = tree["leaves"]
    lines = [
        Line(float(place), shorten(str(names[leaf])), leaf, str(table["part"].iloc[leaf]), "feature")
        for place, leaf in enumerate(leaves)
    ]
    longest = 0.055 * max(len(line.label) for line in lines)
    ax = new_axes(ax, max(COLUMN, 3.0 + longest) + 1.2, 0.85 + ROW * len(lines))
    # cut from the axes' own width, so that nothing beside them is covered
    side = make_axes_locatable(ax).append_axes("right", size="60%", pad=0.06, sharey=ax)
    paint = {**colours(), **(palette or {})}
    draw_bars(ax, groups.fitted, table, lines, paint, horizontal=True, best=False)
    ax.set_xlabel("relevance (share of the norm)")
    finish(ax)
    ax.tick_params(axis="y", length=0)
    label_lines(ax, table, lines, horizontal=True)
    _draw_tree(side, groups, leaves)
    if legend:
        present = set(table["relevance"])
        legend_above(ax, [Patch(color=paint[name], label=name) for name in CLASSES if name in present])
    ax.tree = side  # type: ignore[attr-defined]
    return ax


def _draw_tree(side: Axes, groups: Groups, leaves: Sequence[int]) -> None:
    """Draw the links from the leaves to the right, each in the colour of its group."""
    n = len(leaves)
    labels = groups.labels.to_numpy()
    sizes = np.bincount(labels)
    wheel = sns.color_palette("colorblind")
    several = [g for g in dict.fromkeys(labels[leaves]) if sizes[g] > 1]
    shade = {g: wheel[i % len(wheel)] for i, g in enumerate(several)}
    place = {leaf: float(i) for i, leaf in enumerate(leaves)}
    height = dict.fromkeys(range(n), 0.0)
    owner: dict[int, int] = {leaf: int(labels[leaf]) for leaf in range(n)}
    for step, (left, right, distance, _) in enumerate(groups.linkage):
        a, b, node = int(left), int(right), n + step
        owner[node] = owner[a] if owner[a] == owner[b] else 0
        colour = shade.get(owner[node], "0.45") if owner[node] else "0.45"
        xs = [height[a], distance, distance, height[b]]
        side.plot(xs, [place[a], place[a], place[b], place[b]], color=colour, linewidth=1.0)
        place[node], height[node] = (place[a] + place[b]) / 2, float(distance)
    side.axvline(groups.height, color="0.25", linewidth=0.8, linestyle=(0, (4, 2)))
    side.set_xlim(0.0, 1.05 * float(groups.linkage[:, 2].max()) or 1.0)
    side.set_xlabel("distance")
    finish(side)
    side.spines["left"].set_visible(False)
    side.tick_params(axis="y", left=False, labelleft=False)


def plot_sweep(
    sweep: Sweep,
    ax: Axes | None = None,
    *,
    features: Sequence[str] | None = None,
    palette: Mapping[str, Any] | None = None,
    legend: bool = True,
) -> Axes:
    """Draw each feature's interval as a band along the tolerance, coloured by its class there.

    A band's height is the interval's place between 0 and the largest bound of all; where the colour changes,
    the class does. The dotted line marks the tolerance of the fit.

    Parameters
    ----------
    sweep : Sweep
    ax : Axes, optional
    features : sequence of str, optional
        Only these.
    palette : mapping, optional
    legend : bool

    Returns
    -------
    Axes

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
    >>> ax = plot_sweep(fit.sweep_delta([0.001, 0.1]))
    >>> ax.get_xlabel()
    'tolerance delta'
    >>> import matplotlib.pyplot as plt; plt.close(ax.figure)
    """
    from relbounds.show.figures.bounds import chosen_features

    first = chosen_features(sweep.table.loc[sweep.deltas[0]], features)
    lines = lines_of(first)
    longest = 0.055 * max(len(line.label) for line in lines)
    row = (1.6 if len(lines) <= 25 else 1.1) * ROW
    ax = new_axes(ax, max(COLUMN, 2.2 + longest), 0.85 + row * (lines[-1].position + 1))
    paint = {**colours(), **(palette or {})}
    reach = float(sweep.table["upper"].max()) or 1.0
    deltas = sweep.deltas
    for line in lines:
        if line.feature is None:
            continue
        rows = sweep.table.xs(first.index[line.feature], level="feature")
        base = line.position + THICK / 2 + 0.1
        low, high = (base - 0.85 * rows[name].to_numpy() / reach for name in ("lower", "upper"))
        ax.axhline(base, color="0.85", linewidth=0.5, zorder=0)
        _band(ax, deltas, low, high, rows["relevance"].tolist(), paint)
    positive = deltas[deltas > 0]
    if len(positive) > 1 and positive.max() > 20 * positive.min():
        ax.set_xscale("log" if len(positive) == len(deltas) else "symlog")
    if len(deltas) > 1:
        ax.set_xlim(deltas[0], deltas[-1])
    if deltas[0] <= sweep.delta <= deltas[-1]:
        ax.axvline(sweep.delta, color="black", linewidth=0.8, linestyle=":")
    ax.set_ylim(lines[-1].position + 0.65, -0.65)
    ax.set_xlabel("tolerance delta")
    finish(ax)
    ax.tick_params(axis="y", length=0)
    label_lines(ax, first, lines, horizontal=True)
    if legend:
        dotted = Line2D([], [], color="black", linewidth=0.8, linestyle=":", label="delta of the fit")
        _class_legend(ax, paint, set(sweep.table["relevance"]), dotted, columns=4 if longest < 1 else 2)
    return ax


def _class_legend(
    ax: Axes, paint: Mapping[str, Any], present: Collection[str], last: Line2D, columns: int
) -> None:
    """Name the colours of the classes that are there, and one mark of the figure's own."""
    handles: list[Any] = [Patch(color=paint[name], label=name) for name in CLASSES if name in present]
    legend_above(ax, [*handles, last], columns=columns)


def _band(
    ax: Axes,
    deltas: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    classes: Sequence[str],
    paint: Mapping[str, Any],
) -> None:
    """Fill one interval along the tolerance; the colour changes half way between two tolerances."""
    if len(deltas) == 1:
        ax.plot([deltas[0]] * 2, [low[0], high[0]], color=paint[classes[0]], linewidth=3)
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
            shade = paint[_class_between(classes, i - 1)]
            ax.fill_between(at[stretch], lows[stretch], highs[stretch], color=shade, linewidth=0.8)
            start = i


def _class_between(classes: Sequence[str], i: int) -> str:
    """Return the class on the stretch that begins at the i-th of the tolerances and their midpoints."""
    return classes[(i + 1) // 2]


def plot_stability(
    stability: Stability,
    ax: Axes | None = None,
    *,
    features: Sequence[str] | None = None,
    palette: Mapping[str, Any] | None = None,
    legend: bool = True,
) -> Axes:
    """Draw, for each feature, the share of subsamples in which it falls into each class.

    The dot carries the colour of the class in the fit itself.

    Parameters
    ----------
    stability : Stability
    ax : Axes, optional
    features : sequence of str, optional
        Only these.
    palette : mapping, optional
    legend : bool

    Returns
    -------
    Axes

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
    >>> ax = plot_stability(fit.stability(n_resamples=3))
    >>> ax.get_xlim()
    (np.float64(0.0), np.float64(1.0))
    >>> import matplotlib.pyplot as plt; plt.close(ax.figure)
    """
    from relbounds.show.figures.bounds import chosen_features

    table = chosen_features(stability.table, features)
    shares = stability.frequencies.loc[table.index]
    lines = lines_of(table)
    longest = 0.055 * max(len(line.label) for line in lines)
    ax = new_axes(ax, max(COLUMN, 2.2 + longest), 0.85 + ROW * (lines[-1].position + 1))
    paint = {**colours(), **(palette or {})}
    shown = [line for line in lines if line.feature is not None]
    where = np.array([line.position for line in shown])
    rows = [int(line.feature) for line in shown if line.feature is not None]
    left = np.zeros(len(shown))
    for name in CLASSES:
        width = shares[name].to_numpy()[rows]
        ax.barh(where, width, left=left, height=THICK, color=paint[name], linewidth=0)
        left = left + width
    own = [paint[table["relevance"].iloc[row]] for row in rows]
    ax.scatter(np.full(len(rows), 1.03), where, c=own, s=9, clip_on=False, zorder=3, linewidths=0)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(lines[-1].position + 0.6, -0.6)
    ax.set_xlabel(f"share of {stability.n_resamples - stability.failed} subsamples")
    finish(ax)
    ax.tick_params(axis="y", length=0)
    label_lines(ax, table, lines, horizontal=True)
    if legend:
        dot = Line2D(
            [], [], color="black", marker="o", markersize=3, linestyle="none", label="class in the fit"
        )
        _class_legend(ax, paint, CLASSES, dot, columns=4 if longest < 1 else 2)
    return ax


def plot_scores(
    fit: RelboundsResults, newdata: Any = None, ax: Axes | None = None, *, legend: bool = True, seed: int = 0
) -> Axes:
    """Draw the scores w.x of the rows by their true level, with the thresholds between the levels.

    If the model orders the grades, the clouds climb from one level to the next and each lies in its own band.
    A regression shows the response against its prediction.

    Parameters
    ----------
    fit : RelboundsResults
    newdata : DataFrame, optional
        Rows with the response; the training rows by default.
    ax : Axes, optional
    legend : bool
    seed : int
        Of the jitter that keeps points apart.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
    >>> ax = plot_scores(fit)
    >>> ax.get_xlabel()
    'score w.x'
    >>> import matplotlib.pyplot as plt; plt.close(ax.figure)
    """
    scores = fit.decision_function(newdata).to_numpy()
    truth = np.asarray(
        fit.design.y if newdata is None else fit.design.transform_response(newdata), dtype=float
    )
    known = ~(np.isnan(scores) | np.isnan(truth))
    if not known.any():
        raise OptionError("There is no complete row to draw: every row misses the response or a feature.")
    scores, truth = scores[known], truth[known]
    if fit.design.levels is None:
        return _plot_prediction(fit, scores, truth, ax)
    levels = fit.design.levels
    longest = 0.055 * max(len(shorten(str(level))) for level in levels)
    ax = new_axes(ax, max(COLUMN, 2.4 + longest), 0.95 + 0.32 * len(levels))
    shades = sns.color_palette("viridis", len(levels))
    thresholds = np.sort(fit.baseline.thresholds.to_numpy())
    jitter = stream(seed, "jitter").uniform(-0.28, 0.28, len(scores))
    for i in range(len(levels)):
        here = truth == i + 1
        ax.scatter(scores[here], i + jitter[here], s=6, color=shades[i], alpha=0.6, linewidths=0)
        if here.any():
            middle = float(np.median(scores[here]))
            ax.plot([middle] * 2, [i - 0.38, i + 0.38], color="black", linewidth=1.2)
    for value in thresholds:
        ax.axvline(value, color="0.25", linewidth=0.8, linestyle=(0, (4, 2)), zorder=0)
    ax.set_yticks(range(len(levels)), labels=[shorten(str(level)) for level in levels])
    ax.set_ylim(-0.6, len(levels) - 0.4)
    ax.set_xlabel("score w.x")
    ax.set_ylabel(shorten(fit.design.response))
    finish(ax)
    if legend:
        legend_above(
            ax,
            [
                Line2D([], [], color="0.25", linewidth=0.8, linestyle=(0, (4, 2)), label="threshold"),
                Line2D([], [], color="black", marker="|", markersize=7, linestyle="none", label="median"),
            ],
        )
    return ax


def _plot_prediction(fit: RelboundsResults, scores: np.ndarray, truth: np.ndarray, ax: Axes | None) -> Axes:
    """Draw the response of a regression against its prediction, with the line where both agree."""
    ax = new_axes(ax, COLUMN, COLUMN)
    ax.scatter(scores, truth, s=7, color=sns.color_palette("colorblind")[0], alpha=0.6, linewidths=0)
    ends = [min(scores.min(), truth.min()), max(scores.max(), truth.max())]
    ax.plot(ends, ends, color="0.25", linewidth=0.8, linestyle=(0, (4, 2)))
    ax.set_xlabel("prediction")
    ax.set_ylabel(shorten(fit.design.response))
    finish(ax)
    return ax


def plot_tuning(fit: RelboundsResults, ax: Axes | None = None) -> Axes:
    """Draw the cross-validated score along C, with one standard error, and the C that was chosen.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=[0.1, 1.0], probes=10)
    >>> ax = plot_tuning(fit)
    >>> ax.get_xlabel()
    'C'
    >>> import matplotlib.pyplot as plt; plt.close(ax.figure)
    """
    base = fit.baseline
    table: pd.DataFrame = base.scores
    if table.empty:
        raise OptionError("C was fixed, so there is no tuning to draw; leave C out or give a grid.")
    ax = new_axes(ax, COLUMN, 2.2)
    others = [name for name in table.columns if name not in ("C", "mean", "se")]
    varying = [name for name in others if table[name].nunique() > 1]
    groups = table.groupby(varying, sort=True) if varying else [((), table)]
    wheel = sns.color_palette("colorblind")
    for i, (key, rows) in enumerate(groups):
        rows = rows.sort_values("C")
        values = key if isinstance(key, tuple) else (key,)
        label = ", ".join(f"{name}={value:.3g}" for name, value in zip(varying, values, strict=True))
        ax.errorbar(
            rows["C"], rows["mean"], rows["se"], color=wheel[i % len(wheel)], linewidth=1.0, elinewidth=0.6,
            marker="o", markersize=2.5, label=label or None,
        )  # fmt: skip
    ax.axvline(base.C, color="0.25", linewidth=0.8, linestyle=(0, (4, 2)))
    ax.set_xscale("log")
    ax.set_xlabel("C")
    ax.set_ylabel(f"cross-validated {base.metric}")
    finish(ax)
    if varying:
        ax.legend(fontsize=SMALL, frameon=False)
    return ax
