"""What the user holds after a fit."""

from __future__ import annotations

import gzip
import pickle
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary

from relbounds import tables
from relbounds.design import Design
from relbounds.difficulty import Lessons, mention_privileged
from relbounds.errors import DataError, OptionError
from relbounds.explore import Explore
from relbounds.fit import Fitted
from relbounds.probes import PARTS, Interval
from relbounds.spec import decide
from relbounds.tune import METRICS

KINDS = {
    "relevant": ("strong", "weak"),
    "strong": ("strong",),
    "weak": ("weak",),
    "irrelevant": ("irrelevant",),
}
MAGIC = b"relbounds fit 1\n"


@dataclass(frozen=True)
class BaselineView:
    """The best model: its weights and thresholds, its norm `mu` and loss `rho`, and how it was tuned."""

    weights: pd.Series
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


class RelboundsResults(Explore, Lessons):
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

    def __init__(self, fitted: Fitted) -> None:
        self._fitted = fitted
        self.table: pd.DataFrame = fitted.table

    # -- facts ---------------------------------------------------------------------------------------------

    @property
    def design(self) -> Design:
        """The data as arrays, with names, terms and levels."""
        return self._fitted.design

    @property
    def options(self) -> dict[str, Any]:
        """The options of the fit."""
        return self._fitted.options.as_dict()

    @property
    def formula(self) -> str:
        """The formula as it was written."""
        return self.design.formula

    @property
    def delta(self) -> float:
        """The tolerance as a number."""
        return self._fitted.delta

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table should know."""
        return self.design.notes + self._fitted.notes

    @property
    def baseline(self) -> BaselineView:
        """The best model and how it was tuned."""
        fitted, design = self._fitted, self.design
        spec, v, tuning = fitted.spec, fitted.solution.v, fitted.tuning
        b = spec.thresholds_of(v)
        if design.levels is None:
            thresholds = pd.Series(-b, index=["intercept"], name="threshold")
        else:
            pairs = [f"{one}|{two}" for one, two in zip(design.levels[:-1], design.levels[1:], strict=True)]
            thresholds = pd.Series(b, index=pairs, name="threshold")
        return BaselineView(
            weights=pd.Series(
                spec.weights_of(v), index=pd.Index(design.names, name="feature"), name="weight"
            ),
            thresholds=thresholds,
            mu=fitted.norm,
            rho=float(spec.sample_losses(v).sum()),
            C=tuning.C,
            gamma=tuning.setting.gamma if tuning.setting.slack else None,
            residual=tuning.setting.residual if tuning.setting.slack else None,
            epsilon=tuning.setting.epsilon if design.family == "regression" else None,
            scores=tuning.table,
            metric=tuning.metric,
            cv_score=tuning.score,
        )

    @property
    def intervals(self) -> pd.DataFrame:
        """The prediction intervals of noise: what counts as zero, for each part and each end."""
        rows = {}
        for part, pair in self._fitted.intervals.items():
            for name, interval in zip(("lower", "upper"), pair, strict=True):
                rows[(part, name)] = self._interval_row(part, interval)
        frame = pd.DataFrame.from_dict(rows, orient="index")
        frame.index = pd.MultiIndex.from_tuples(list(rows), names=["part", "bound"])
        return frame

    def _interval_row(self, part: str, interval: Interval) -> dict[str, Any]:
        population = self._fitted.populations[part]
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
        fits = [self._fitted]
        if self._fitted.help is not None and self._fitted.help.teacher is not None:
            fits.append(self._fitted.help.teacher)
        return max(float(fit.ranges.gap.max() / fit.norm) for fit in fits)

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
        X, index = self._features(newdata)
        v = self._fitted.solution.v
        scores = X @ self._fitted.spec.weights_of(v)
        if self.design.family == "regression":
            scores = decide(scores, self._fitted.spec.thresholds_of(v), "regression")
        return pd.Series(scores, index=index, name="score")

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
        scores = self.decision_function(newdata)
        if self.design.family == "regression":
            return scores.rename(self.design.response)
        codes = decide(
            scores.to_numpy(), self._fitted.spec.thresholds_of(self._fitted.solution.v), self.design.family
        )
        return pd.Series(self.design.decode(codes), index=scores.index, name=self.design.response)

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
        X, _ = self._features(newdata)
        truth = self.design.y if newdata is None else self.design.transform_response(newdata)
        v, spec = self._fitted.solution.v, self._fitted.spec
        guess = decide(X @ spec.weights_of(v), spec.thresholds_of(v), self.design.family)
        known = ~(np.isnan(guess.astype(float)) | np.isnan(np.asarray(truth, dtype=float)))
        if not known.any():
            raise DataError("There is no complete row to score: every row misses the response or a feature.")
        return METRICS[self.design.family][1](np.asarray(truth)[known], guess[known])

    def _features(self, newdata: Any) -> tuple[np.ndarray, pd.Index]:
        if newdata is None:
            return self.design.X, self.design.index
        X = self.design.transform(newdata)
        mention_privileged(self._fitted, newdata)
        index = newdata.index if isinstance(newdata, pd.DataFrame) else pd.RangeIndex(len(X))
        return X, index

    # -- selection -----------------------------------------------------------------------------------------

    def selected(self, kind: str = "relevant") -> list[str]:
        """Return the names of the regular features of a class: "relevant", "strong", "weak" or "irrelevant".

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
        >>> fit.selected("irrelevant")
        ['x8', 'x9', 'x10']
        """
        return self._of_kind(kind).index.tolist()

    def selected_formula(self, kind: str = "relevant") -> str:
        """Return a formula with the terms of the selected features.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
        >>> fit.selected_formula("strong")
        'y ~ x1 + x2 + x3'
        """
        terms = list(dict.fromkeys(self._of_kind(kind)["term"]))
        if not terms:
            raise OptionError(f"No feature is {kind} here, so there is no formula to make.")
        return f"{self.design.response} ~ " + " + ".join(terms)

    def _of_kind(self, kind: str) -> pd.DataFrame:
        if kind not in KINDS:
            raise OptionError(f"kind={kind!r} is not known; use one of {', '.join(map(repr, KINDS))}.")
        regular = self.table[self.table["part"] == "regular"]
        return regular[regular["relevance"].isin(KINDS[kind])]

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
            left.insert(2, ("Order:", options.order))
        if self._fitted.help is not None:
            left.append(("Privileged:", self._fitted.help.way))
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
        populations = [one for part, one in self._fitted.populations.items() if part in PARTS]
        feasible = " + ".join(str(len(p.upper)) for p in populations)
        return f"{feasible} ({' + '.join(str(p.infeasible) for p in populations)} infeasible)"

    def _explained(self) -> list[str]:
        fitted, options = self._fitted, self._fitted.options
        ends = {part: pair[1].upper for part, pair in fitted.intervals.items()}
        noise = "; ".join(
            f"{value:.3f} ({part})" if len(ends) > 1 else f"{value:.3f}" for part, value in ends.items()
        )
        notes = [
            "lower and upper are the least and the most that any equivalent model uses a feature, as shares of "
            "the baseline's norm. Strong: used by every equivalent model; weak: by some; irrelevant: by none.",
            f"Noise threshold of upper: {noise} (level {options.level:g}, seed {options.seed}); P>noise is the "
            "chance that a permuted feature reaches upper; P adj. is Benjamini-Hochberg.",
            f"Solver: {', '.join(dict.fromkeys(fitted.ranges.solver))}; every bound proved by duality to the "
            "certified gap.",
        ]
        return notes + list(self.notes)

    def __repr__(self) -> str:
        classes = self.table["relevance"].value_counts()
        counts = ", ".join(f"{classes.get(k, 0)} {k}" for k in ("strong", "weak", "irrelevant"))
        return f"<relbounds fit: {self.formula}; {counts}>"

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    # -- keeping -------------------------------------------------------------------------------------------

    def to_bytes(self) -> bytes:
        """Return the fit as bytes, for :meth:`from_bytes`."""
        from relbounds import __version__

        head = MAGIC + f"{__version__} {platform.python_version()}\n".encode()
        return head + gzip.compress(pickle.dumps(self._fitted, protocol=5), compresslevel=3, mtime=0)

    @classmethod
    def from_bytes(cls, content: bytes) -> RelboundsResults:
        """Rebuild a fit from :meth:`to_bytes`. Only open content you trust: it is a pickle."""
        if not content.startswith(MAGIC):
            raise DataError("This is not a saved relbounds fit; files made by fit.save() can be loaded.")
        version, _, body = content[len(MAGIC) :].partition(b"\n")
        try:
            return cls(pickle.loads(gzip.decompress(body)))
        except Exception as error:
            raise DataError(
                f"The saved fit was made by relbounds {version.decode()} and cannot be read by this version "
                f"({type(error).__name__}: {error}). Fit it again."
            ) from error

    def save(self, path: str | Path) -> Path:
        """Write the fit to a file; :func:`relbounds.load` reads it back.

        Examples
        --------
        >>> import tempfile, relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=20)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = rb.load(fit.save(folder + "/fit.relbounds"))
        >>> again.table.equals(fit.table)
        True
        """
        path = Path(path)
        path.write_bytes(self.to_bytes())
        return path


def load(path: str | Path) -> RelboundsResults:
    """Read a fit that :meth:`RelboundsResults.save` wrote. Only open files you trust: it is a pickle."""
    path = Path(path)
    if not path.is_file():
        raise DataError(f"There is no file '{path}'.")
    return RelboundsResults.from_bytes(path.read_bytes())
