"""What a linear fit predicts: scores, levels, numbers, probabilities, survival."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relbounds.checks import choice, integer
from relbounds.errors import DataError, OptionError, RelboundsWarning
from relbounds.linear.families import family_of
from relbounds.linear.families.family import Prediction
from relbounds.linear.families.rows import Answers
from relbounds.linear.fitted import Fitted
from relbounds.linear.model import answers_of
from relbounds.results.held import HeldFit

if TYPE_CHECKING:
    from relbounds.linear.probabilities import Probabilities


THIRDS = ("lowest third", "middle third", "highest third")


class PredictingFit(HeldFit):
    """A linear fit that predicts."""

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
