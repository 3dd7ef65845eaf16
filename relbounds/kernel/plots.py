"""The decision function over two features, with its thresholds as contours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from relbounds.errors import OptionError, nearest
from relbounds.kernel.machine import supporting
from relbounds.show.figures.style import (
    COLUMN,
    SMALL,
    ink,
    legend_below,
    new_axes,
    put_title,
    shades,
    shorten,
    tidy_axes,
)

if TYPE_CHECKING:
    from relbounds.kernel.results import SvorResults

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
# Beyond this many rows, points are made smaller: there is no room for rings round them.
MOST_RINGED = 400
PALE = 0.28  # how much of a level's colour its region takes


def plot_contour(
    fit: SvorResults,
    ax: Axes | None = None,
    *,
    features: tuple[str, str] | None = None,
    resolution: int = 120,
    support: bool = True,
    legend: bool = True,
    title: str | None = None,
) -> Axes:
    """Draw the levels predicted over two features, the thresholds between them, and the training rows.

    A region has the pale colour of the level that is predicted there, a row the full colour and the mark of its own
    level: a row on foreign ground is an error.

    Parameters
    ----------
    fit : SvorResults
    ax : matplotlib Axes, optional
        Where to draw.
    features : pair of str, optional
        The two columns of the design to draw; needed when there are more than two. The others are held at
        their mean.
    resolution : int
        Points of the grid along each side.
    support : bool
        Ring the support vectors.
    legend : bool
    title : str, optional

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1).data
    >>> fit = rb.svor("y ~ .", data, width=3.0, C=1.0, solver="qp")
    >>> ax = plot_contour(fit, features=("x1", "x2"))
    """
    design, machine = fit.design, fit.machine
    places = _places(fit, features)
    if machine.kernel.name == "precomputed":
        raise OptionError(
            "A fit with a precomputed kernel has no features to draw; use kernel='rbf' or a function."
        )
    grids = [_grid(design.X[:, k], resolution) for k in places]
    raw = [grid * design.scale[k] + design.center[k] for grid, k in zip(grids, places, strict=True)]
    f = _values(fit, places, grids)
    ax = new_axes(ax, COLUMN, COLUMN + 0.4)
    colour = shades(len(fit.levels))
    codes = machine.levels_of(f.ravel()).reshape(f.shape)
    ground = [_mixed(ax, one) for one in colour]
    ax.contourf(*raw, codes, levels=np.arange(0.5, len(fit.levels) + 1), colors=ground)
    limits = np.unique(machine.b[np.isfinite(machine.b)])
    inside = limits[(limits > f.min()) & (limits < f.max())]
    if len(inside):
        ax.contour(*raw, f, levels=inside, colors=[ink(ax)], linewidths=0.8, linestyles="solid")
    handles = _draw_rows(fit, ax, places, colour, support=support)
    ax.set_xlabel(shorten(design.names[places[0]]))
    ax.set_ylabel(shorten(design.names[places[1]]))
    ax.set_xlim(raw[0][0], raw[0][-1])
    ax.set_ylim(raw[1][0], raw[1][-1])
    tidy_axes(ax)
    others = design.X.shape[1] - 2
    rest = "1 other feature at its mean" if others == 1 else f"{others} other features at their means"
    put_title(ax, title)
    if others and not title:
        ax.set_title(rest, fontsize=SMALL)
    if legend:
        line = Line2D([], [], color=ink(ax), linewidth=0.8, label="threshold")
        legend_below(ax, [*handles, line], title=shorten(design.response))
    return ax


def _grid(x: np.ndarray, resolution: int) -> np.ndarray:
    margin = 0.06 * (x.max() - x.min() or 1.0)
    return np.linspace(x.min() - margin, x.max() + margin, resolution)


def _values(fit: SvorResults, places: tuple[int, int], grids: list[np.ndarray]) -> np.ndarray:
    """Return the decision function over a grid of two features, the others at their means."""
    X = fit.design.X
    across, along = np.meshgrid(*grids)
    points = np.tile(X.mean(axis=0), (across.size, 1))
    points[:, places[0]], points[:, places[1]] = across.ravel(), along.ravel()
    return fit.machine.decision_function(points).reshape(across.shape)


def _mixed(ax: Axes, colour: Any) -> tuple[float, ...]:
    """Return a colour thinned with the ground it lies on."""
    ground = np.array(to_rgb(ax.get_facecolor()))
    return tuple(float(v) for v in (1 - PALE) * ground + PALE * np.array(to_rgb(colour)))


def _draw_rows(
    fit: SvorResults, ax: Axes, places: tuple[int, int], colour: list[Any], *, support: bool
) -> list[Any]:
    """Draw the training rows in their own units, a mark and a shade per level, rings behind support vectors."""
    design = fit.design
    x, y = (design.X[:, k] * design.scale[k] + design.center[k] for k in places)
    size = 13 if len(design.y) <= MOST_RINGED else 5
    handles: list[Any] = []
    if support:
        ringed = supporting(fit.machine)
        # under the points, so that these stay visible
        ax.scatter(
            x[ringed],
            y[ringed],
            s=3.2 * size,
            facecolors="none",
            edgecolors=[ink(ax)],
            linewidths=0.5,
            zorder=2,
        )
    for k, level in enumerate(fit.levels):
        here = design.y == k + 1
        marker = MARKERS[k % len(MARKERS)]
        ax.scatter(
            x[here],
            y[here],
            s=size,
            marker=marker,
            color=[colour[k]],
            linewidths=0,
            label=shorten(level, 16),
            zorder=3,
        )
        handles.append(
            Line2D(
                [],
                [],
                color=colour[k],
                marker=marker,
                markersize=3.6,
                linestyle="none",
                label=shorten(level, 16),
            )
        )
    if support:
        handles.append(
            Line2D([], [], color=ink(ax), marker="o", markersize=6, markerfacecolor="none", markeredgewidth=0.5,
                   linestyle="none", label="support vector")
        )  # fmt: skip
    return handles


def _places(fit: SvorResults, features: tuple[str, str] | None) -> tuple[int, int]:
    names = fit.design.names
    if features is None:
        if len(names) != 2:
            raise OptionError(
                f"The fit has {len(names)} features; a contour needs two. Say which, e.g. "
                f"features=({names[0]!r}, {names[-1]!r})."
            )
        return 0, 1
    if isinstance(features, str) or len(features) != 2 or features[0] == features[1]:
        raise OptionError(f"features must be two different names, not {features!r}.")
    for name in features:
        if name not in names:
            raise OptionError(f"There is no feature {name!r}.{nearest(str(name), names)}")
    return names.index(features[0]), names.index(features[1])
