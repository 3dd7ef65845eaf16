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

from relbounds.checks import choice, integer
from relbounds.errors import DataError, OptionError, RelboundsWarning
from relbounds.linear.families import family_of
from relbounds.linear.families.family import Prediction
from relbounds.linear.families.rows import Answers
from relbounds.linear.fitted import Fitted
from relbounds.linear.model import answers_of
from relbounds.linear.noise.facts import NoiseKey
from relbounds.noise_intervals import Interval
from relbounds.protocol import Results
from relbounds.saving import read_file
from relbounds.show.facts import Facts
from relbounds.show.linear_facts import constraints_of, linear_facts
from relbounds.show.question_tables import groups_table, stability_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from relbounds.explore.cheapest import Choice
    from relbounds.explore.groups import Groups
    from relbounds.explore.risk import RiskBound
    from relbounds.explore.stability import Stability
    from relbounds.explore.sweep_delta import Sweep
    from relbounds.explore.together import Together
    from relbounds.linear.probabilities import Probabilities
    from relbounds.show.explorer import Explorer
    from relbounds.show.report import Section

# Grouping asks two what-ifs a feature; in a report it is done for more features than this only when asked for.
MOST_GROUPED = 40
THIRDS = ("lowest third", "middle third", "highest third")


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
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
    >>> fit.selected("strong")
    ['x1', 'x2', 'x3']
    """

    _title = "relbounds fit"
    _kind = "fit"
    _made_of = (Fitted,)

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
        scale = design.y_scale if design.levels is None else 1.0
        weights: pd.Series | pd.DataFrame
        if design.levels is None:
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
            epsilon=scale * tuning.kind.epsilon if design.levels is None else None,
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
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.decision_function(data.data.head(3)).shape
        (3,)
        """
        X, adjust, index = self._features(newdata)
        prediction = self._predicted(X, adjust)
        if self.design.levels is None:
            return pd.Series(self._in_units(prediction.guess), index=index, name="score")
        if prediction.scores.shape[1] > 1:
            assert self.design.levels is not None
            return pd.DataFrame(prediction.scores, index=index, columns=list(self.design.levels))
        return pd.Series(prediction.scores[:, 0], index=index, name="score")

    def _predicted(self, X: np.ndarray, adjust: np.ndarray) -> Prediction:
        return self._fitted.spec.predict(self._fitted.solution.v, X, adjust)

    def _in_units(self, standard: np.ndarray) -> np.ndarray:
        return self.design.y_center + self.design.y_scale * standard

    def predict(
        self, newdata: Any = None, type: str = "class", *, times: Sequence[float] | float | None = None
    ) -> pd.Series | pd.DataFrame:
        """Predict levels, numbers, scores or probabilities; privileged columns are never needed.

        Parameters
        ----------
        newdata : DataFrame, optional
            With the columns that the regular and the adjusting part read; None means the training rows.
        type : {"class", "score", "prob"}
            Levels (or numbers; survival: the interval up to whose beginning half or more survive); the scores behind
            them; or the probability of each level. Probabilities come from a proportional-odds model of held-out
            scores (classes without order: a multinomial one); survival: from the same model, the probability of
            surviving each time.
        times : float or sequence of float, optional
            Survival with ``type="prob"``: at which times, up to the last one that levels were cut at; those by default.

        Returns
        -------
        Series or DataFrame
            Rows with missing values get a missing prediction. Probabilities have one column a level (or time).

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> len(fit.predict(data.data.head(3)))
        3
        >>> fit.predict(data.data.head(3), type="prob").sum(axis=1).round(6).tolist()
        [1.0, 1.0, 1.0]
        """
        wanted = choice("type", type, ("class", "score", "prob"))
        if times is not None and (wanted != "prob" or self.design.family != "survival"):
            raise OptionError("times belongs to type='prob' of a survival fit; leave it out here.")
        if wanted == "score":
            return self.decision_function(newdata)
        X, adjust, index = self._features(newdata)
        predicted = self._predicted(X, adjust)
        if wanted == "prob":
            return self._chances(predicted.scores, index, times)
        if self.design.levels is None:
            return pd.Series(self._in_units(predicted.guess), index=index, name=self.design.response)
        cuts = self._median_cuts
        score = predicted.scores[:, 0]
        guess = predicted.guess if cuts is None else 1.0 + (score[:, None] >= cuts).sum(axis=1)
        decoded = self.design.decode(np.where(np.isnan(score), np.nan, guess))
        return pd.Series(decoded, index=index, name=self.design.response)

    @cached_property
    def _median_cuts(self) -> np.ndarray | None:
        """Survival: the scores at which the time that half survive passes from one interval to the next.

        Thresholds part balanced sides, which lie close together where the relation is not strong: by them nearly all
        would be predicted to die first or last. None for other families, and where there are no held-out scores.
        """
        from relbounds.linear.probabilities import has_held_out

        if self.design.family != "survival" or not has_held_out(self._fitted):
            return None
        model = self.probabilities
        if model.slope > 0:
            return np.asarray(model.offsets / model.slope)
        return np.where(model.offsets <= 0, -np.inf, np.inf)

    def _chances(
        self, scores: np.ndarray, index: pd.Index, times: Sequence[float] | float | None
    ) -> pd.DataFrame:
        model = self.probabilities
        if self.design.family != "survival":
            assert self.design.levels is not None
            return pd.DataFrame(model.levels(scores), index=index, columns=list(self.design.levels))
        cuts = np.concatenate([[0.0], self.design.cut_times])
        alive = np.column_stack([np.ones(len(scores)), model.above(scores)])
        alive[np.isnan(scores[:, 0])] = np.nan
        asked = cuts[1:] if times is None else np.atleast_1d(np.asarray(times, dtype=float))
        if asked.size == 0 or not np.all((asked >= 0) & (asked <= cuts[-1])):
            raise OptionError(
                f"times must lie between 0 and {cuts[-1]:g}, the last time that levels were cut at."
            )
        # between two cut times the curve is taken as straight: nothing is known of its shape there
        found = np.array([np.interp(asked, cuts, row) for row in alive]).reshape(len(scores), len(asked))
        return pd.DataFrame(found, index=index, columns=pd.Index(asked, name="time"))

    @cached_property
    def probabilities(self) -> Probabilities:
        """How scores become probabilities of levels: a smooth model of the level on held-out scores.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> len(fit.probabilities.offsets)
        4
        """
        from relbounds.linear.probabilities import fit_probabilities

        return fit_probabilities(self._fitted)

    def calibration(self, bins: int = 10) -> pd.DataFrame:
        """Return observed shares beside predicted probabilities of held-out observations.

        Parameters
        ----------
        bins : int
            Bins of equal counts at most; each holds 15 observations or more.

        Returns
        -------
        DataFrame
            One row an event and bin: `event`, `predicted` (mean probability), `observed` (share; survival:
            Kaplan-Meier), `low` and `high` (95 % limits of the share), `n`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.calibration(bins=2)["n"].tolist()
        [30, 30]
        """
        from relbounds.linear.probabilities import calibration

        return calibration(self._fitted, integer("bins", bins, least=1))

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
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.score(data.data) < 0.1
        True
        """
        X, adjust, _ = self._features(newdata)
        answers, weights = self._answers(newdata)
        prediction = self._predicted(X, adjust)
        gone = np.isnan(prediction.scores).any(axis=1)
        for known in (answers.y, answers.low, answers.time):
            gone |= False if known is None else np.isnan(np.asarray(known, dtype=float))
        rows = np.flatnonzero(~gone)
        if not rows.size:
            raise DataError("There is no complete row to score: every row misses the response or a feature.")
        part = Prediction(prediction.scores[rows], prediction.guess[rows])
        return family_of(self.design.family).metric.measure(answers.take(rows), part, weights[rows])

    def _answers(self, newdata: Any) -> tuple[Answers, np.ndarray]:
        """Return what is known of the response of some rows, and their weights."""
        design, known = self.design, answers_of(self.design)
        if newdata is None:
            return known, design.weights
        if design.times is not None:
            time, event = design.transform_times(newdata)
            low, high = design.transform_interval(newdata)
            given: dict[str, Any] = {"y": low, "low": low, "high": high, "time": time, "event": event == 1}
        elif design.interval is not None:
            low, high = design.transform_interval(newdata)
            given = {"y": low, "low": low, "high": high}
        else:
            truth = np.asarray(design.transform_response(newdata), dtype=float)
            if design.levels is None:
                truth = (truth - design.y_center) / design.y_scale
            given = {"y": truth, "low": None, "high": None}
        return replace(known, **given), np.ones(len(given["y"]))

    def _features(self, newdata: Any) -> tuple[np.ndarray, np.ndarray, pd.Index]:
        if newdata is None:
            return self.design.X, self.design.adjust, self.design.index
        X = self.design.transform(newdata)
        mention_privileged(self._fitted, newdata)
        index = newdata.index if isinstance(newdata, pd.DataFrame) else pd.RangeIndex(len(X))
        return X, self.design.transform_adjust(newdata), index

    # -- questions -----------------------------------------------------------------------------------------

    def constrain(
        self, wishes: Mapping[str, Any], *, heredity: bool = True, noise: bool | None = None
    ) -> Self:
        """Ask what if some features are used less, more, or not at all.

        Parameters
        ----------
        wishes : mapping
            By feature or term: a number (the share of the norm it must have), a pair (least, most) with None for an
            open end, or "off", "min" or "max".
        heredity : bool
            Switch off the interactions of a term that is switched off.
        noise : bool, optional
            Draw noise anew inside the constrained set (True), or keep that of the fit, which is at least as large
            (False); by default drawn unless there are very many rows.

        Returns
        -------
        RelboundsResults
            Of the models that are still equivalent; features that were fixed read "fixed".

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.constrain({"x2": "off"}).table.loc["x3", "relevance"]
        'strong'
        """
        from relbounds.explore.constrain import constrain

        return type(self)(constrain(self._fitted, wishes, heredity=heredity, noise=noise))

    def substitutes(self, feature: str, *, heredity: bool = True) -> pd.DataFrame:
        """Return which features take over when one is off.

        Parameters
        ----------
        feature : str
            A feature or a term, weakly relevant: a strong one has no substitute.
        heredity : bool
            Switch its interactions off with it.

        Returns
        -------
        DataFrame
            One row for each other feature that was relevant or becomes so, best substitute first; see
            :func:`relbounds.explore.substitutes.substitutes` for its columns.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.substitutes("x2").loc["x3", "role"]
        'replaces'
        """
        from relbounds.explore.substitutes import substitutes

        return substitutes(self._fitted, feature, heredity=heredity)

    def level_contrasts(self, term: str, reference: Any = None) -> pd.DataFrame:
        """Compare the levels of a factor in every equivalent model.

        Parameters
        ----------
        term : str
            A factor: its name in the formula or the plain variable.
        reference : optional
            A level that all others are compared with; all pairs by default.

        Returns
        -------
        DataFrame
            One row a pair; see :func:`relbounds.explore.level_contrasts.level_contrasts` for its columns.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.datasets.load_severity()
        >>> fit = rb.relbounds("severity ~ stiffness + crp + sex", data, C=0.1, delta=0.02)
        >>> fit.level_contrasts("sex")[["level", "reference"]].values.tolist()
        [['male', 'female']]
        """
        from relbounds.explore.level_contrasts import level_contrasts

        return level_contrasts(self._fitted, term, reference)

    def together(self, names: Sequence[str]) -> Together:
        """Return the least and the most that some terms are used jointly.

        Parameters
        ----------
        names : sequence of str
            Features or terms.

        Returns
        -------
        Together
            See :func:`relbounds.explore.together.together`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> rb.relbounds(data.formula, data.data, C=1.0, delta=0.01).together(["x2", "x3"]).relevance
        'strong'
        """
        from relbounds.explore.together import together

        return together(self._fitted, names)

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
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
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
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
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
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
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
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> fit.cheapest({"x2": 500}, other=1).formula
        'y ~ x1 + x3'
        """
        from relbounds.explore.cheapest import cheapest

        return cheapest(self._fitted, cost, **options)

    def explorer(
        self,
        *,
        port: int | None = None,
        open_browser: bool = True,
        block: bool | None = None,
        idle: float = 600.0,
    ) -> Explorer:
        """Ask "what if?" by dragging bars: open a page of this fit on this machine (needs the extra ``explorer``).

        The page is served at 127.0.0.1 alone, under an address that cannot be guessed, and shows this fit only. It ends
        with Ctrl-C, with the kernel, or some time after the page is closed.

        Parameters
        ----------
        port : int, optional
            Where to serve it; a free port by default.
        open_browser : bool
            Open it in a browser; the address is printed in any case. A notebook shows the page inline instead.
        block : bool, optional
            Whether to return only when it has ended; by default in scripts, not in notebooks and interactive sessions.
        idle : float
            Seconds without a sign of life of any page after which it ends.

        Returns
        -------
        Explorer
            With ``url``, ``stop()``, ``wait()`` and ``running``; a notebook shows the page as a cell's value.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> page = fit.explorer(open_browser=False, block=False)
        Open the explorer in a browser: http://127.0.0.1:...
        >>> page.stop()
        """
        from relbounds.show.explorer import open_explorer

        return open_explorer(self._fitted, port=port, open_browser=open_browser, block=block, idle=idle)

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
        >>> rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr").risk_bound().vacuous
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
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, delta=0.01, control="fdr")
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
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, delta=0.01, control="fdr")
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
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, delta=0.01, control="fdr")
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

    def survival_curves(self, newdata: Any = None, groups: int = 3) -> pd.DataFrame:
        """Return Kaplan-Meier curves of groups of equal size by score, lowest first.

        Parameters
        ----------
        newdata : DataFrame, optional
            Rows with times and status; by default the training rows by their held-out scores.
        groups : int
            How many; tertiles by default.

        Returns
        -------
        DataFrame
            `group`, `time`, `survival`, `low`, `high`, `at_risk`, `censored`.

        Examples
        --------
        >>> import numpy as np, pandas as pd, relbounds as rb
        >>> rng = np.random.default_rng(0)
        >>> data = pd.DataFrame({"x": rng.normal(size=90), "status": rng.random(90) < 0.7})
        >>> data["time"] = np.exp(data["x"] + 0.5 * rng.normal(size=90))
        >>> fit = rb.relbounds("Surv(time, status) ~ x", data, C=1.0, bounds=False)
        >>> fit.survival_curves()["group"].unique().tolist()
        ['lowest third', 'middle third', 'highest third']
        """
        from relbounds.linear.probabilities import curves_by_score, held_out_of

        design = self.design
        if design.times is None:
            raise OptionError("Survival curves need times: fit 'Surv(time, status) ~ ...'.")
        count = integer("groups", groups, least=2, most=10)
        if newdata is None:
            held = held_out_of(self._fitted)
            score, time, event = held.scores[:, 0], design.times[0][held.rows], design.times[1][held.rows]
        else:
            time, status = design.transform_times(newdata)
            score, event = np.asarray(self.decision_function(newdata), dtype=float), status == 1
        names = THIRDS if count == 3 else tuple(f"{i + 1} of {count} by score" for i in range(count))
        return curves_by_score(score, time, event, names)

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

    # -- report --------------------------------------------------------------------------------------------

    def write_report(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        groups: bool | None = None,
        sweep: bool = False,
        stability: int = 0,
        interactive: bool | None = None,
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
        interactive : bool, optional
            Whether to add a slider for each term that shows how all bounds answer as it is held, computed beforehand.
            By default for up to 8 terms: the work grows with the number of pairs.

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile, relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fit.write_report(folder + "/report.html", groups=False).name
        'report.html'
        """
        from relbounds.show.report import check_report
        from relbounds.show.what_if_section import what_if_section

        check_report(path)
        more = [what_if_section(self._fitted, interactive)]
        if groups is None:
            groups = 3 <= self.design.X.shape[1] <= MOST_GROUPED and not self.constraints
        if groups:
            more.append(self._groups_section())
        if sweep:
            more.append(self._sweep_section())
        if stability:
            more.append(self._stability_section(stability))
        return self._write_report(path, title, *more)

    def _sections(self) -> list[Section]:
        from relbounds.show import report

        if self.table["upper"].isna().all():  # no bounds were asked for
            return [report.table_section(self.facts, "Weights"), self._model_section()]
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

        found = self.groups()
        caption = (
            "Terms that play the same role: how all other intervals move when a term is held at its least and at its "
            "greatest use. Dashed: where the tree is cut."
        )
        drawn = report.figure_block(self.plot_groups(groups=found), caption)
        return report.Section("Groups", (drawn, report.table_block(groups_table(found))))

    def _sweep_section(self) -> Section:
        from relbounds.show import report

        found = self.sweep_delta()
        caption = "Bounds along the tolerance: the height of a band is the interval, its colour the class."
        drawn = report.figure_block(self.plot_sweep_delta(sweep=found), caption)
        return report.Section(
            "Tolerance", (drawn, report.list_block(("", text) for text in found.explanation))
        )

    def _stability_section(self, n_resamples: int) -> Section:
        from relbounds.show import report

        found = self.stability(n_resamples)
        caption = f"Classes over {n_resamples} subsamples of {found.fraction:.0%} of the rows."
        drawn = report.figure_block(self.plot_stability(stability=found), caption)
        blocks = [drawn, report.table_block(stability_table(found))]
        if found.fraction == 0.5:
            blocks.append(
                report.text_block(
                    f"{len(found.selected())} terms are relevant in at least 75 % of the halves; of these, at most "
                    f"{found.false_selections():.2g} are expected to be no better than chance."
                )
            )
        return report.Section("Stability", tuple(blocks))

    def _content(self) -> Fitted:
        return self._fitted

    @classmethod
    def _rebuild(cls, content: Any) -> Self:
        return cls(content)


def _margins(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return by how much each row's own level is ahead of the best other one; missing where its level is."""
    out = np.full(len(scores), np.nan)
    known = np.flatnonzero(~np.isnan(truth))
    own = truth[known].astype(int) - 1
    rivals = scores[known].copy()
    rivals[np.arange(len(known)), own] = -np.inf
    out[known] = scores[known, own] - rivals.max(axis=1)
    return out


def load(path: str | Path, functions: Mapping[str, Any] | None = None) -> Any:
    """Read what the `save()` of a fit wrote, whichever of this package's functions made it.

    Files hold data only: nothing in them is run, and nothing is imported because they say so.

    Parameters
    ----------
    path : str or Path
    functions : mapping, optional
        Functions of your own that the fit uses, by name: a kernel, or what its formula calls.

    Returns
    -------
    RelboundsResults, SvorResults or ForestResults

    Examples
    --------
    >>> import tempfile, relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rb.load(fit.save(folder + "/fit.relbounds")).selected("strong")
    ['x1', 'x2', 'x3']
    """
    from relbounds.forest.results import ForestResults
    from relbounds.kernel.results import SvorResults

    return read_file(path, (RelboundsResults, ForestResults, SvorResults), functions)


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
