"""A linear fit as it is held: its facts, best model, noise and certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import pandas as pd

from relbounds.linear.fitted import Fitted
from relbounds.linear.noise.facts import NoiseKey
from relbounds.noise_intervals import Interval
from relbounds.protocol import Results
from relbounds.show.facts import Facts
from relbounds.show.linear_facts import constraints_of, linear_facts


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


class HeldFit(Results):
    """The facts of a linear fit."""

    _title = "relbounds fit"
    _kind = "fit"
    _made_of = (Fitted,)

    def __init__(self, fitted: Fitted) -> None:
        super().__init__(fitted.design, fitted.table, fitted.notes)
        self._fitted = fitted

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

    def _content(self) -> Fitted:
        return self._fitted

    @classmethod
    def _rebuild(cls, content: Any) -> Self:
        return cls(content)
