"""What the user holds after a fit."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from relbounds.errors import DataError, RelboundsWarning
from relbounds.linear.families import family_of
from relbounds.linear.families.family import Prediction
from relbounds.linear.fitted import Fitted
from relbounds.linear.model import answers_of
from relbounds.linear.noise.facts import NoiseKey
from relbounds.noise_intervals import Interval
from relbounds.protocol import Analysis
from relbounds.questions import Explore

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary


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


class RelboundsResults(Analysis, Explore):
    """Relevance intervals of every feature, with the model they were measured on.

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

    # -- predictions ---------------------------------------------------------------------------------------

    def decision_function(self, newdata: Any = None) -> pd.Series:
        """Return the scores w.x (regression: the predicted numbers); None means the training rows.

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

    def predict(self, newdata: Any = None) -> pd.Series:
        """Predict levels or numbers; privileged columns are never needed; None means the training rows.

        Rows with missing values get a missing prediction.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
        >>> len(fit.predict(data.data.head(3)))
        3
        """
        X, adjust, index = self._features(newdata)
        guess = self._predicted(X, adjust).guess
        if self.design.family == "regression":
            return pd.Series(self._in_units(guess), index=index, name=self.design.response)
        return pd.Series(self.design.decode(guess), index=index, name=self.design.response)

    def score(self, newdata: Any = None) -> float:
        """Return the family's score on data that hold the response: MMAE, weighted F1 or R squared.

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

    # -- showing -------------------------------------------------------------------------------------------

    def summary(self) -> Summary:
        """Return the summary table, a statsmodels ``Summary`` (text, LaTeX, HTML).

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
        >>> print(fit.summary())
                                Relevance bounds...
        """
        from relbounds.show import summary as tables  # statsmodels is slow to load

        return tables.summary("Relevance bounds", *self._header(), self.table, self._explained())

    def _header(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        design, options, base = self.design, self._fitted.options, self.baseline
        family = design.family if design.levels is None else f"{design.family}, {len(design.levels)} levels"
        how = "fixed" if self._fitted.tuning.rule == "fixed" else f"{self._fitted.tuning.folds}-fold CV"
        classes = self.table["relevance"].value_counts()
        tolerance = (
            f"{options.delta}: {self.delta:.3g}" if isinstance(options.delta, str) else f"{self.delta:.3g}"
        )
        privileged = f" + {design.Z.shape[1]} privileged" if design.Z.shape[1] else ""
        left = [
            ("Response:", design.response),
            ("Family:", family),
            ("No. Observations:", str(len(design.y))),
            ("Dropped (missing):", str(design.n_dropped)),
            ("Features:", f"{design.X.shape[1]}{privileged}"),
            (
                "Strong/weak/irrelevant:",
                "/".join(str(classes.get(k, 0)) for k in ("strong", "weak", "irrelevant")),
            ),
        ]
        if design.family == "ordinal":
            left.insert(2, ("Order:", self._fitted.tuning.kind.order))
        if self._fitted.privileged is not None:
            left.append(("Privileged:", self._fitted.privileged.way))
        if base.gamma is not None and base.residual is not None:
            left.append(("Gamma, residual price:", f"{base.gamma:g}, {base.residual:g}"))
        if base.epsilon is not None:
            left.insert(2, ("Epsilon:", f"{base.epsilon:.4g}"))
        name = base.metric
        right = [
            ("C:", f"{base.C:.4g} ({how})"),
            ("Norm (mu):", f"{base.mu:.4g}"),
            ("Loss (rho):", f"{base.rho:.4g}"),
            (f"{name}, training:", f"{self.score():.3f}"),
            (f"{name}, cross-validated:", "-" if base.cv_score is None else f"{base.cv_score:.3f}"),
            ("Delta:", f"{tolerance} ({options.tolerance})"),
            ("Probes:", self._probe_text()),
            ("Certified gap:", f"{self.certificate:.1e}"),
        ]
        return left, right

    def _probe_text(self) -> str:
        noise = self._fitted.noise
        if noise.control != "published":
            return f"{noise.permutations} permutations, {noise.refits} refits"
        populations = [one for key, one in noise.populations.items() if key.term is None]
        return " + ".join(f"{len(p.upper)} of {p.draws} drawn" for p in populations)

    def _explained(self) -> list[str]:
        fitted, options = self._fitted, self._fitted.options
        ends = {str(key): pair[1].upper for key, pair in fitted.noise.intervals.items()}
        noise = "; ".join(
            f"{value:.3f} ({part})" if len(ends) > 1 else f"{value:.3f}" for part, value in ends.items()
        )
        notes = [
            "lower and upper are the least and the most that any equivalent model uses a feature, as shares of "
            "the baseline's norm. Strong: used by every equivalent model; weak: by some; irrelevant: by none.",
            f"Noise threshold of upper: {noise} (level {options.level:g}, seed {options.seed}); P>noise is the "
            "chance that a permuted feature reaches upper; P adj. is Benjamini-Hochberg.",
            f"Solver: {', '.join(dict.fromkeys(fitted.measured.solver))}; every bound proved by duality to the "
            "certified gap.",
        ]
        return notes + list(self.notes)

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
