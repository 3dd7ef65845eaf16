"""What the user holds after a linear fit: its facts, predictions, questions, figures and tables."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from relbounds.checks import choice
from relbounds.errors import DataError, RelboundsWarning
from relbounds.linear.families import family_of
from relbounds.linear.families.family import Prediction
from relbounds.linear.fitted import Fitted
from relbounds.linear.model import answers_of
from relbounds.linear.noise.facts import NoiseKey
from relbounds.noise_intervals import Interval
from relbounds.protocol import Results
from relbounds.show.facts import Facts
from relbounds.show.linear_facts import constraints_of, linear_facts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from relbounds.explore.cheapest import Choice
    from relbounds.explore.groups import Groups
    from relbounds.explore.risk import RiskBound
    from relbounds.explore.stability import Stability
    from relbounds.explore.sweep_delta import Sweep
    from relbounds.show.report import Section

# Grouping asks two what-ifs a feature; in a report it is done for more features than this only when asked for.
MOST_GROUPED = 40


@dataclass(frozen=True)
class BaselineView:
    """The best model: its weights and thresholds, its norm `mu` and loss `rho`, and how it was tuned."""

    weights: pd.Series | pd.DataFrame
    thresholds: pd.Series
    mu: float
    rho: float
    C: float
    gamma: float | None
    residual: float | None
    epsilon: float | None
    scores: pd.DataFrame
    metric: str
    cv_score: float | None


class RelboundsResults(Results):
    """Relevance intervals of every term, with the model they were measured on.

    Made by :func:`relbounds.relbounds`; nothing here changes after the fit.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
    >>> fit.selected("strong")
    ['x1', 'x2', 'x3']
    """

    _title = "relbounds fit"
    _magic = b"relbounds fit 1\n"

    def __init__(self, fitted: Fitted) -> None:
        super().__init__(fitted.design, fitted.table, fitted.notes)
        self._fitted = fitted

    # -- facts ---------------------------------------------------------------------------------------------

    @cached_property
    def facts(self) -> Facts:
        """Table, header and notes: everything that is shown of the fit, as one record."""
        return linear_facts(self._fitted, self.score())

    @property
    def options(self) -> dict[str, Any]:
        """The options of the fit."""
        return self._fitted.options.as_dict()

    @property
    def delta(self) -> float:
        """The tolerance as a number."""
        return self._fitted.delta

    @property
    def baseline(self) -> BaselineView:
        """The best model and how it was tuned."""
        fitted, design = self._fitted, self.design
        spec, v, tuning = fitted.spec, fitted.solution.v, fitted.tuning
        b = spec.thresholds_of(v)
        scale = design.y_scale if design.family == "regression" else 1.0
        weights: pd.Series | pd.DataFrame
        if design.family == "regression":
            thresholds = pd.Series(design.y_center - scale * b, index=["intercept"], name="threshold")
        elif design.family == "nominal":
            assert design.levels is not None
            thresholds = pd.Series(b, index=[str(level) for level in design.levels], name="threshold")
        else:
            assert design.levels is not None
            pairs = [f"{one}|{two}" for one, two in zip(design.levels[:-1], design.levels[1:], strict=True)]
            thresholds = pd.Series(b, index=pairs, name="threshold")
        index = pd.Index(design.names, name="feature")
        if spec.sizes.classes > 1:
            weights = pd.DataFrame(spec.weights_of(v).T, index=index, columns=list(thresholds.index))
        else:
            weights = pd.Series(scale * spec.weights_of(v), index=index, name="weight")
        return BaselineView(
            weights=weights,
            thresholds=thresholds,
            mu=scale * fitted.norm,
            rho=scale * float(spec.sample_losses(v).sum()),
            C=tuning.C,
            gamma=tuning.kind.gamma if tuning.kind.slack else None,
            residual=tuning.kind.residual if tuning.kind.slack else None,
            epsilon=scale * tuning.kind.epsilon if design.family == "regression" else None,
            scores=tuning.table,
            metric=tuning.metric,
            cv_score=tuning.score,
        )

    @property
    def intervals(self) -> pd.DataFrame:
        """The prediction intervals of noise: what counts as zero, for each part and each end."""
        rows = {}
        for key, pair in self._fitted.noise.intervals.items():
            for name, interval in zip(("lower", "upper"), pair, strict=True):
                rows[(str(key), name)] = self._interval_row(key, interval)
        if not rows:
            index = pd.MultiIndex.from_tuples([], names=["part", "bound"])
            return pd.DataFrame(
                index=index, columns=["lower", "upper", "level", "probes", "drawn", "infeasible"]
            )
        frame = pd.DataFrame.from_dict(rows, orient="index")
        frame.index = pd.MultiIndex.from_tuples(list(rows), names=["part", "bound"])
        return frame

    def _interval_row(self, key: NoiseKey, interval: Interval) -> dict[str, Any]:
        population = self._fitted.noise.populations[key]
        return {
            "lower": interval.lower,
            "upper": interval.upper,
            "level": interval.level,
            "probes": interval.m,
            "drawn": population.draws,
            "infeasible": population.infeasible,
        }

    @property
    def certificate(self) -> float:
        """The largest gap between a bound and its proof, relative to the norm of the baseline."""
        return self._fitted.certificate

    @property
    def constraints(self) -> dict[str, tuple[float, float]]:
        """The constraints of a what-if, by feature; empty for a fit."""
        return constraints_of(self._fitted)

    # -- predictions ---------------------------------------------------------------------------------------

    def decision_function(self, newdata: Any = None) -> pd.Series | pd.DataFrame:
        """Return the scores w.x (regression: the predicted numbers).

        Parameters
        ----------
        newdata : DataFrame, optional
            With the columns that the regular part reads; None means the training rows.

        Returns
        -------
        Series
            One score a row; missing where a value is.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
        >>> fit.decision_function(data.data.head(3)).shape
        (3,)
        """
        X, adjust, index = self._features(newdata)
        prediction = self._predicted(X, adjust)
        if self.design.family == "regression":
            return pd.Series(self._in_units(prediction.guess), index=index, name="score")
        if prediction.scores.shape[1] > 1:
            assert self.design.levels is not None
            return pd.DataFrame(prediction.scores, index=index, columns=list(self.design.levels))
        return pd.Series(prediction.scores[:, 0], index=index, name="score")

    def _predicted(self, X: np.ndarray, adjust: np.ndarray) -> Prediction:
        return self._fitted.spec.predict(self._fitted.solution.v, X, adjust)

    def _in_units(self, standard: np.ndarray) -> np.ndarray:
        return self.design.y_center + self.design.y_scale * standard

    def predict(self, newdata: Any = None, type: str = "class") -> pd.Series | pd.DataFrame:
        """Predict levels or numbers; privileged columns are never needed.

        Parameters
        ----------
        newdata : DataFrame, optional
            With the columns that the regular part reads; None means the training rows.
        type : {"class", "score"}
            Levels (or numbers), or the scores behind them.

        Returns
        -------
        Series
            Rows with missing values get a missing prediction.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
        >>> len(fit.predict(data.data.head(3)))
        3
        """
        if choice("type", type, ("class", "score")) == "score":
            return self.decision_function(newdata)
        X, adjust, index = self._features(newdata)
        guess = self._predicted(X, adjust).guess
        if self.design.family == "regression":
            return pd.Series(self._in_units(guess), index=index, name=self.design.response)
        return pd.Series(self.design.decode(guess), index=index, name=self.design.response)

    def score(self, newdata: Any = None) -> float:
        """Return the family's score: MMAE, weighted F1 or R squared.

        Parameters
        ----------
        newdata : DataFrame, optional
            With the response; None means the training rows.

        Returns
        -------
        float

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
        >>> fit.score(data.data) < 0.1
        True
        """
        X, adjust, _ = self._features(newdata)
        answers = answers_of(self.design)
        weights = self.design.weights
        if newdata is not None:
            truth = np.asarray(self.design.transform_response(newdata), dtype=float)
            if self.design.family == "regression":
                truth = (truth - self.design.y_center) / self.design.y_scale
            answers, weights = replace(answers, y=truth, low=None, high=None), np.ones(len(X))
        prediction = self._predicted(X, adjust)
        known = np.flatnonzero(
            ~(np.isnan(prediction.scores).any(axis=1) | np.isnan(np.asarray(answers.y, dtype=float)))
        )
        if not known.size:
            raise DataError("There is no complete row to score: every row misses the response or a feature.")
        part = Prediction(prediction.scores[known], prediction.guess[known])
        return family_of(self.design.family).metric.measure(answers.take(known), part, weights[known])

    def _features(self, newdata: Any) -> tuple[np.ndarray, np.ndarray, pd.Index]:
        if newdata is None:
            return self.design.X, self.design.adjust, self.design.index
        X = self.design.transform(newdata)
        mention_privileged(self._fitted, newdata)
        index = newdata.index if isinstance(newdata, pd.DataFrame) else pd.RangeIndex(len(X))
        return X, self.design.transform_adjust(newdata), index

    # -- questions -----------------------------------------------------------------------------------------

    def constrain(self, wishes: Mapping[str, Any]) -> Self:
        """Ask what if some features are used less, more, or not at all.

        Parameters
        ----------
        wishes : mapping
            By feature or term: a number (the share of the norm it must have), a pair (least, most) with None for an
            open end, or "off", "min" or "max".

        Returns
        -------
        RelboundsResults
            Of the models that are still equivalent; features that were fixed read "fixed".

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.constrain({"x2": "off"}).table.loc["x3", "relevance"]
        'strong'
        """
        from relbounds.explore.constrain import constrain

        return type(self)(constrain(self._fitted, wishes))

    def substitutes(self, feature: str) -> pd.DataFrame:
        """Return which features take over when one is off.

        Parameters
        ----------
        feature : str
            A feature or a term, weakly relevant: a strong one has no substitute.

        Returns
        -------
        DataFrame
            One row for each other feature that was relevant or becomes so, best substitute first; see
            :func:`relbounds.explore.substitutes.substitutes` for its columns.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.substitutes("x2").loc["x3", "role"]
        'replaces'
        """
        from relbounds.explore.substitutes import substitutes

        return substitutes(self._fitted, feature)

    def groups(
        self,
        cut: float | None = None,
        k: int | None = None,
        *,
        part: str = "regular",
        by: str = "context",
        by_class: bool = True,
    ) -> Groups:
        """Group features that play the same role.

        Parameters
        ----------
        cut : float, optional
            Where to cut the tree, as a share of its tallest link.
        k : int, optional
            The wanted number of groups instead.
        part : {"regular", "privileged"}
        by : {"context", "overlap"}
            What makes two features alike: how all others move when one is held, or how much they take from each other.
        by_class : bool
            Whether strong features stay alone and irrelevant ones together.

        Returns
        -------
        Groups

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.groups(k=3).members[2]
        ['x2', 'x3']
        """
        from relbounds.explore.groups import groups

        return groups(self._fitted, cut, k, part=part, by=by, by_class=by_class)

    def sweep_delta(self, delta: Sequence[float | str] | None = None, *, probes: int | None = None) -> Sweep:
        """Recompute bounds and classes along the tolerance.

        Parameters
        ----------
        delta : sequence of float or str, optional
            Tolerances; by default a grid around that of the fit.
        probes : int, optional
            Permuted features at each; as many as in the fit by default.

        Returns
        -------
        Sweep

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.sweep_delta([0.001, 0.01]).deltas.tolist()
        [0.001, 0.01]
        """
        from relbounds.explore.sweep_delta import sweep_delta

        return sweep_delta(self._fitted, delta, probes=probes)

    def stability(self, n_resamples: int = 50, **options: Any) -> Stability:
        """Repeat the fit on subsamples of the rows and count classes.

        Parameters
        ----------
        n_resamples : int
            How many subsamples.
        **options
            Those of :func:`relbounds.explore.stability.stability`.

        Returns
        -------
        Stability

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.stability(n_resamples=2).n_resamples
        2
        """
        from relbounds.explore.stability import stability

        return stability(self._fitted, n_resamples, **options)

    def cheapest(self, cost: Mapping[str, float], **options: Any) -> Choice:
        """Find the cheapest terms that support an equivalent model.

        Parameters
        ----------
        cost : mapping
            The cost of each term.
        **options
            Those of :func:`relbounds.explore.cheapest.cheapest`, such as `other`, the cost of terms not named.

        Returns
        -------
        Choice

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.cheapest({"x2": 500}, other=1).formula
        'y ~ x1 + x3'
        """
        from relbounds.explore.cheapest import cheapest

        return cheapest(self._fitted, cost, **options)

    def risk_bound(self, tau: float = 0.05) -> RiskBound:
        """Bound the risk of every equivalent model on new data.

        Parameters
        ----------
        tau : float
            The chance that the bound does not hold.

        Returns
        -------
        RiskBound

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> rb.relbounds(data.formula, data.data, C=1.0, probes=10).risk_bound().vacuous
        True
        """
        from relbounds.explore.risk import risk_bound

        return risk_bound(self._fitted, tau)

    @property
    def correcting(self) -> pd.DataFrame:
        """The fitted correcting functions, one column each; a teacher's weights; empty without `priv()`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, probes=5)
        >>> fit.correcting.columns.tolist()
        ['too high', 'too low']
        """
        from relbounds.explore.difficulty import correcting

        return correcting(self._fitted)

    @property
    def correcting_bounds(self) -> pd.DataFrame:
        """The bounds of each privileged feature in each correcting function, in the units of the table.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, probes=5)
        >>> fit.correcting_bounds.index.tolist()[:2]
        [('z1', 'too high'), ('z1', 'too low')]
        """
        from relbounds.explore.difficulty import correcting_bounds

        return correcting_bounds(self._fitted)

    def difficulty(self) -> pd.DataFrame:
        """Return, for every training row, how hard it is to grade by its privileged features, and why.

        Returns
        -------
        DataFrame
            One row per training row; see :func:`relbounds.explore.difficulty.difficulty` for its columns.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, probes=5)
        >>> fit.difficulty().columns.tolist()[:3]
        ['y', 'predicted', 'slack']
        """
        from relbounds.explore.difficulty import difficulty

        return difficulty(self._fitted)

    # -- figures -------------------------------------------------------------------------------------------
    # plotting libraries load only when a figure is asked for

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
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, probes=10).plot()
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
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, probes=10).plot_groups(k=3)
        """
        from relbounds.show.figures.groups import plot_groups

        found = self.groups(**asked) if groups is None else groups
        return plot_groups(found, self.facts, ax, palette=palette, legend=legend)

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
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, probes=10).plot_sweep_delta(delta=[0.001, 0.1])
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
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, probes=10).plot_stability(n_resamples=2)
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
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, probes=5)
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
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, probes=10).plot_scores()
        """
        from relbounds.show.figures.scores import Scores, plot_scores

        design = self.design
        truth = design.y if newdata is None else design.transform_response(newdata)
        thresholds = np.zeros(0) if design.levels is None else self.baseline.thresholds.to_numpy()
        scores = Scores(
            self.decision_function(newdata).to_numpy(), truth, design.levels, thresholds, design.response
        )
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
        >>> ax = rb.relbounds(data.formula, data.data, C=[0.1, 1.0], probes=10).plot_tuning()
        """
        from relbounds.show.figures.tuning import plot_tuning

        base = self.baseline
        return plot_tuning(base.scores, base.C, base.metric, ax, legend=legend)

    # -- report --------------------------------------------------------------------------------------------

    def write_report(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        groups: bool | None = None,
        sweep: bool = False,
        stability: int = 0,
    ) -> Path:
        """Write one self-contained HTML file about the fit that opens without a network.

        Parameters
        ----------
        path : str or Path
            Where to write, ending in .html; the folder must exist.
        title : str, optional
        groups : bool, optional
            Whether to group the features; by default for up to 40 of them, and not in a what-if.
        sweep : bool
            Whether to show the bounds along the tolerance.
        stability : int
            Subsamples for the class frequencies; 0 leaves them out.

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile, relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fit.write_report(folder + "/report.html", groups=False).name
        'report.html'
        """
        from relbounds.show.report import Section, check_report, figure_block

        check_report(path)
        more = []
        if groups is None:
            groups = 3 <= self.design.X.shape[1] <= MOST_GROUPED and not self.constraints
        if groups:
            more.append(self._groups_section())
        if sweep:
            caption = (
                "Bounds along the tolerance: the height of a band is the interval, its colour the class."
            )
            more.append(Section("Tolerance", (figure_block(self.plot_sweep_delta(), caption),)))
        if stability:
            found = self.stability(stability)
            caption = f"Classes over {stability} subsamples of {found.fraction:.0%} of the rows."
            more.append(Section("Stability", (figure_block(self.plot_stability(stability=found), caption),)))
        return self._write_report(path, title, *more)

    def _sections(self) -> list[Section]:
        from relbounds.show import report

        bounds = report.figure_block(
            self.plot(),
            "The least and the most that any equivalent model uses each term. Dashed: what noise reaches by chance.",
        )
        return [report.table_section(self.facts, "Relevance", bounds), self._model_section()]

    def _model_section(self) -> Section:
        from relbounds.show import report

        ordered = self.design.levels is not None
        caption = (
            "Training rows by their true level along the score of the best model."
            if ordered
            else "Response of the training rows against its prediction."
        )
        blocks = [report.figure_block(self.plot_scores(), caption)]
        base = self.baseline
        if not base.scores.empty:
            said = "Cross-validated score along C, with one standard error; dashed: the C that was chosen."
            blocks.append(report.figure_block(self.plot_tuning(), said))
        named = [(f"{name}", f"{value:.4g}") for name, value in base.thresholds.items()]
        blocks += [
            report.text_block("Thresholds" if ordered else "Intercept", small=True),
            report.pairs_block(named),
        ]
        return report.Section("Model", tuple(blocks))

    def _groups_section(self) -> Section:
        from relbounds.show import report
        from relbounds.show.paper_tables import PaperRow, PaperTable

        found = self.groups()
        rows = tuple(PaperRow(str(number), (", ".join(names),)) for number, names in found.members.items())
        caption = (
            "Features that play the same role: how all other intervals move when a feature is held at its least "
            "and at its greatest use. Dashed: where the tree is cut."
        )
        drawn = report.figure_block(self.plot_groups(groups=found), caption)
        return report.Section(
            "Groups", (drawn, report.table_block(PaperTable(("group", "features"), rows, (False,))))
        )

    def _content(self) -> Fitted:
        return self._fitted

    @classmethod
    def _rebuild(cls, content: Any) -> Self:
        return cls(content)


def load(path: str | Path) -> Any:
    """Read what the `save()` of a fit wrote, whichever of this package's functions made it.

    Only open files you trust: they are pickles.
    """
    from relbounds.forest.results import ForestResults
    from relbounds.kernel.results import SvorResults

    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no file '{path}'.")
    content = path.read_bytes()
    for kind in (ForestResults, SvorResults):
        if content.startswith(kind._magic):
            return kind.from_bytes(content)
    return RelboundsResults.from_bytes(content)


def mention_privileged(fitted: Fitted, newdata: Any) -> None:
    """Say that privileged columns in new data are not read, if there are any."""
    if not fitted.design.priv_terms or not isinstance(newdata, pd.DataFrame):
        return
    own = _words(fitted.design.priv_terms) - _words(fitted.design.terms)
    given = [str(name) for name in newdata.columns if str(name) in own]
    if given:
        warnings.warn(
            f"Privileged columns are never read for prediction: {', '.join(given[:8])} ignored.",
            RelboundsWarning,
            stacklevel=4,
        )


def _words(terms: Sequence[str]) -> set[str]:
    quoted = [name for term in terms for name in re.findall(r"Q\(['\"](.+?)['\"]\)", term)]
    return {*quoted, *(word for term in terms for word in re.findall(r"[^\W\d]\w*", term)), *terms}
