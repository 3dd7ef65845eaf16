"""Figures of a linear fit: each is a method that hands facts to one file of `show/figures/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relbounds.results.questions import AskedFit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from relbounds.explore.groups import Groups
    from relbounds.explore.stability import Stability
    from relbounds.explore.sweep_delta import Sweep


class DrawnFit(AskedFit):
    """A linear fit that draws itself; plotting libraries load only when a figure is asked for."""

    def plot(
        self,
        ax: Axes | None = None,
        *,
        orientation: str = "horizontal",
        sort: str = "table",
        features: Sequence[str] | None = None,
        levels: bool = True,
        palette: Mapping[str, Any] | None = None,
        threshold: bool = True,
        direction: bool = True,
        best: bool = True,
        legend: bool = True,
        title: str | None = None,
    ) -> Axes:
        """Draw the relevance interval of every term as a bar from the least to the most use.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure as wide as a journal's column by default, tall enough for every label.
        orientation : {"horizontal", "vertical"}
            Direction of the bars.
        sort : {"table", "upper", "lower", "name"}
            Order of the terms inside a part; "table" keeps the order of the formula.
        features : sequence of str, optional
            Only these terms or levels.
        levels : bool
            Draw the levels and columns under their terms.
        palette : mapping, optional
            Colours of "strong", "weak" and "irrelevant".
        threshold, direction, best : bool
            Draw what noise reaches, the sign where it is the same in every equivalent model, and the best model.
        legend : bool
        title : str, optional

        Returns
        -------
        Axes

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr").plot()
        >>> len(ax.get_yticklabels())
        4
        """
        from relbounds.show.figures.bounds import plot_bounds

        return plot_bounds(
            self.facts, ax, orientation=orientation, sort=sort, features=features, levels=levels, palette=palette,
            threshold=threshold, direction=direction, best=best, legend=legend, title=title,
        )  # fmt: skip

    def plot_groups(
        self,
        ax: Axes | None = None,
        *,
        groups: Groups | None = None,
        palette: Mapping[str, Any] | None = None,
        legend: bool = True,
        **asked: Any,
    ) -> Axes:
        """Draw the tree of features beside their bars, in one order.

        Parameters
        ----------
        ax : Axes, optional
            Split in two: bars to the left, the tree to the right.
        groups : Groups, optional
            Made before, by :meth:`groups`.
        palette : mapping, optional
            Colours of "strong", "weak" and "irrelevant".
        legend : bool
        **asked
            Without `groups`: `cut`, `k`, `part`, `by` and `by_class` of :meth:`groups`.

        Returns
        -------
        Axes
            Those of the bars; the tree is ``ax.tree``.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr").plot_groups(k=3)
        """
        from relbounds.show.figures.groups import plot_groups

        found = self.groups(**asked) if groups is None else groups
        return plot_groups(found, self.facts, ax, palette=palette, legend=legend)

    def plot_level_contrasts(
        self,
        term: str,
        reference: Any = None,
        ax: Axes | None = None,
        *,
        numbers: bool = True,
        legend: bool = True,
        title: str | None = None,
    ) -> Axes:
        """Draw the differences between levels of a factor in every equivalent model, as people draw forest plots.

        Parameters
        ----------
        term : str
            A factor: its name in the formula or the plain variable.
        reference : optional
            A level that all others are compared with; all pairs by default.
        ax : Axes, optional
        numbers : bool
            Write ranges and p-values beside the lines.
        legend : bool
        title : str, optional
            The name of the term by default.

        Returns
        -------
        Axes

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.datasets.load_severity()
        >>> fit = rb.relbounds("severity ~ stiffness + crp + sex", data, C=0.1, delta=0.05, control="fdr")
        >>> [label.get_text() for label in fit.plot_level_contrasts("sex").get_yticklabels()]
        ['male - female']
        """
        from relbounds.show.figures.level_contrasts import plot_level_contrasts

        found = self.level_contrasts(term, reference)
        smallest = self.facts.smallest_p
        return plot_level_contrasts(
            found, ax, smallest_p=smallest, numbers=numbers, legend=legend, title=title
        )

    def plot_sweep_delta(
        self,
        ax: Axes | None = None,
        *,
        sweep: Sweep | None = None,
        features: Sequence[str] | None = None,
        palette: Mapping[str, Any] | None = None,
        legend: bool = True,
        **asked: Any,
    ) -> Axes:
        """Draw bounds and classes along the tolerance.

        Parameters
        ----------
        ax : Axes, optional
        sweep : Sweep, optional
            Made before, by :meth:`sweep_delta`.
        features : sequence of str, optional
            Only these.
        palette : mapping, optional
            Colours of "strong", "weak" and "irrelevant".
        legend : bool
        **asked
            Without `sweep`: `delta` and `probes` of :meth:`sweep_delta`.

        Returns
        -------
        Axes

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> ax = fit.plot_sweep_delta(delta=[0.001, 0.1])
        """
        from relbounds.show.figures.sweep_delta import plot_sweep_delta

        found = self.sweep_delta(**asked) if sweep is None else sweep
        return plot_sweep_delta(found, ax, features=features, palette=palette, legend=legend)

    def plot_stability(
        self,
        ax: Axes | None = None,
        *,
        stability: Stability | None = None,
        features: Sequence[str] | None = None,
        palette: Mapping[str, Any] | None = None,
        legend: bool = True,
        **asked: Any,
    ) -> Axes:
        """Draw class frequencies over subsamples.

        Parameters
        ----------
        ax : Axes, optional
        stability : Stability, optional
            Made before, by :meth:`stability`.
        features : sequence of str, optional
            Only these.
        palette : mapping, optional
            Colours of "strong", "weak" and "irrelevant".
        legend : bool
        **asked
            Without `stability`: `n_resamples` and the other options of :meth:`stability`.

        Returns
        -------
        Axes

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr").plot_stability(n_resamples=2)
        """
        from relbounds.show.figures.stability import plot_stability

        found = self.stability(**asked) if stability is None else stability
        return plot_stability(found, ax, features=features, palette=palette, legend=legend)

    def plot_difficulty(self, ax: Axes | None = None, most: int = 20, *, legend: bool = True) -> Axes:
        """Draw the rows that are hardest to grade, coloured by the privileged feature that adds most.

        Parameters
        ----------
        ax : Axes, optional
        most : int
            How many rows to show.
        legend : bool

        Returns
        -------
        Axes

        Examples
        --------
        >>> import matplotlib; matplotlib.use("Agg")
        >>> import relbounds as rb
        >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, delta=0.01, control="fdr")
        >>> ax = fit.plot_difficulty(most=10)
        """
        from relbounds.show.figures.difficulty import plot_difficulty

        return plot_difficulty(self.difficulty(), ax, most, legend=legend)

    def plot_scores(
        self, newdata: Any = None, ax: Axes | None = None, *, legend: bool = True, seed: int = 0
    ) -> Axes:
        """Draw the scores of the rows by their true level, with the thresholds between the levels.

        Parameters
        ----------
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
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr").plot_scores()
        """
        from relbounds.show.figures.scores import Scores, plot_scores

        design, base = self.design, self.baseline
        answers, _ = self._answers(newdata)
        truth = np.asarray(design.y if newdata is None else answers.y, dtype=float)
        values = np.asarray(self.decision_function(newdata), dtype=float)
        if design.levels is None:
            truth = truth if newdata is None else self._in_units(truth)
            return plot_scores(Scores(values, truth, None, np.zeros(0), design.response), ax, legend=legend)
        if design.family == "nominal":
            values = _margins(values - base.thresholds.to_numpy(), truth)
            scores = Scores(
                values, truth, design.levels, np.zeros(1), design.response, "margin over the next level"
            )
        else:
            scores = Scores(values, truth, design.levels, base.thresholds.to_numpy(), design.response)
        return plot_scores(scores, ax, legend=legend, seed=seed)

    def plot_tuning(self, ax: Axes | None = None, *, legend: bool = True) -> Axes:
        """Draw the cross-validated score along C, with one standard error, and the C that was chosen.

        Parameters
        ----------
        ax : Axes, optional
        legend : bool

        Returns
        -------
        Axes

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> ax = rb.relbounds(data.formula, data.data, C=[0.1, 1.0], bounds=False).plot_tuning()
        """
        from relbounds.show.figures.tuning import plot_tuning

        base = self.baseline
        return plot_tuning(base.scores, base.C, base.metric, ax, legend=legend)

    def plot_calibration(self, ax: Axes | None = None, *, bins: int = 10, legend: bool = True) -> Axes:
        """Draw observed shares against predicted probabilities of held-out observations.

        Parameters
        ----------
        ax : Axes, optional
        bins : int
            As in :meth:`calibration`.
        legend : bool

        Returns
        -------
        Axes

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr").plot_calibration(bins=3)
        """
        from relbounds.show.figures.calibration import plot_calibration

        return plot_calibration(self.calibration(bins), ax, legend=legend)

    def plot_survival(
        self,
        newdata: Any = None,
        ax: Axes | None = None,
        *,
        groups: int = 3,
        risk: bool = True,
        legend: bool = True,
    ) -> Axes:
        """Draw Kaplan-Meier curves of groups by score, with 95 % limits, censored rows and the numbers at risk.

        Parameters
        ----------
        newdata : DataFrame, optional
            Rows with times and status; by default the training rows by their held-out scores.
        ax : Axes, optional
        groups : int
            How many groups of equal size; tertiles by default.
        risk : bool
            Write the numbers at risk under the axis.
        legend : bool

        Returns
        -------
        Axes

        Examples
        --------
        >>> import numpy as np, pandas as pd, relbounds as rb
        >>> rng = np.random.default_rng(0)
        >>> data = pd.DataFrame({"x": rng.normal(size=90), "status": rng.random(90) < 0.7})
        >>> data["time"] = np.exp(data["x"] + 0.5 * rng.normal(size=90))
        >>> ax = rb.relbounds("Surv(time, status) ~ x", data, C=1.0, bounds=False).plot_survival()
        """
        from relbounds.show.figures.survival import plot_survival

        return plot_survival(self.survival_curves(newdata, groups), ax, risk=risk, legend=legend)


def _margins(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return by how much each row's own level is ahead of the best other one; missing where its level is."""
    out = np.full(len(scores), np.nan)
    known = np.flatnonzero(~np.isnan(truth))
    own = truth[known].astype(int) - 1
    rivals = scores[known].copy()
    rivals[np.arange(len(known)), own] = -np.inf
    out[known] = scores[known, own] - rivals.max(axis=1)
    return out
