"""The decision function over two features, with its thresholds as contours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import seaborn as sns
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from relbounds.errors import OptionError, nearest
from relbounds.kernel.machine import supporting

if TYPE_CHECKING:
    from relbounds.kernel.results import SvorResults

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
FONT = 8.0


def plot_contour(
    fit: SvorResults,
    *,
    features: tuple[str, str] | None = None,
    ax: Axes | None = None,
    resolution: int = 120,
    support: bool = True,
) -> Axes:
    """Draw the levels predicted over two features, the thresholds between them, and the training rows.

    Parameters
    ----------
    fit : SvorResults
        The fit.
    features : pair of str, optional
        The two columns of the design to draw; needed when there are more than two. The others are held at
        their mean.
    ax : matplotlib Axes, optional
        Where to draw.
    resolution : int
        Points of the grid along each side.
    support : bool
        Ring the support vectors.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1).data
    >>> fit = rb.svor("y ~ .", data, width=3.0, C=1.0, solver="qp")
    >>> ax = plot_contour(fit, features=("x1", "x2"))
    """
    design, machine = fit.design, fit.machine
    first, second = _places(fit, features)
    if machine.kernel.name == "precomputed":
        raise OptionError(
            "A fit with a precomputed kernel has no features to draw; use kernel='rbf' or a function."
        )
    grids, names = [], []
    for k in (first, second):
        x = design.X[:, k]
        margin = 0.06 * (x.max() - x.min() or 1.0)
        grids.append(np.linspace(x.min() - margin, x.max() + margin, resolution))
        names.append(design.names[k])
    points = np.tile(design.X.mean(axis=0), (resolution * resolution, 1))
    across, along = np.meshgrid(*grids)
    points[:, first], points[:, second] = across.ravel(), along.ravel()
    f = machine.decision_function(points).reshape(resolution, resolution)
    raw_x = grids[0] * design.scale[first] + design.center[first]
    raw_y = grids[1] * design.scale[second] + design.center[second]

    if ax is None:
        _, ax = plt.subplots(figsize=(4.2, 3.4), layout="constrained")
    n_levels = len(fit.levels)
    fills = sns.light_palette(sns.color_palette("colorblind")[0], n_colors=n_levels + 1)[1:]
    codes = machine.levels_of(f.ravel()).reshape(f.shape)
    ax.contourf(raw_x, raw_y, codes, levels=np.arange(0.5, n_levels + 1), colors=fills, alpha=0.45)
    limits = np.unique(machine.b[np.isfinite(machine.b)])
    inside = limits[(limits > f.min()) & (limits < f.max())]
    if len(inside):
        lines = ax.contour(raw_x, raw_y, f, levels=inside, colors="0.25", linewidths=0.9, linestyles="solid")
        ax.clabel(lines, fmt={b: f"{b:.2f}" for b in inside}, fontsize=FONT - 2)
    _draw_rows(fit, ax, first, second, support)
    ax.set_xlabel(names[0], fontsize=FONT)
    ax.set_ylabel(names[1], fontsize=FONT)
    ax.tick_params(labelsize=FONT - 1)
    ax.set_xlim(raw_x[0], raw_x[-1])
    ax.set_ylim(raw_y[0], raw_y[-1])
    handles, _ = ax.get_legend_handles_labels()
    ax.legend(
        handles=handles,
        title=design.response,
        fontsize=FONT - 1,
        title_fontsize=FONT - 1,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        frameon=False,
    )
    others = design.X.shape[1] - 2
    title = f"thresholds {', '.join(f'{b:.2f}' for b in machine.b)}"
    if n_levels > 6:
        title = machine.kernel.label
    rest = "1 other feature at its mean" if others == 1 else f"{others} other features at their means"
    ax.set_title(title + (f"\n{rest}" if others else ""), fontsize=FONT)
    return ax


def _draw_rows(fit: SvorResults, ax: Axes, first: int, second: int, support: bool) -> None:
    """Draw the training rows in their own units, a marker and a shade per level, support vectors ringed."""
    design = fit.design
    x = design.X[:, first] * design.scale[first] + design.center[first]
    y = design.X[:, second] * design.scale[second] + design.center[second]
    shades: Any = sns.color_palette("flare", n_colors=len(fit.levels))
    ringed = supporting(fit.machine)
    for k, level in enumerate(fit.levels):
        here = design.y == k + 1
        marker = MARKERS[k % len(MARKERS)]
        ax.scatter(
            x[here], y[here], s=13, marker=marker, color=[shades[k]], linewidths=0, label=str(level), zorder=3
        )
    if support:
        ax.scatter(
            x[ringed],
            y[ringed],
            s=38,
            facecolors="none",
            edgecolors="0.2",
            linewidths=0.5,
            zorder=2,
            label="support vector",
        )


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
