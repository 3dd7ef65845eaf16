"""From a design and the numbers that fix a model to its linear program, and back to predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relbounds.design import Design
from relbounds.lp.problem import Model, plain_model
from relbounds.rows import Rows, make_rows

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """The numbers that fix a model, all but C."""

    order: str = "explicit"
    epsilon: float = 0.0


@dataclass(frozen=True)
class Target:
    """A feature whose relevance is asked for, and the variables of the program that stand for it."""

    name: str
    term: str
    part: str
    variables: tuple[int, ...]


@dataclass(frozen=True)
class Spec:
    """A linear program with names: which variable is which feature, which are thresholds."""

    model: Model
    rows: Rows
    targets: tuple[Target, ...]
    n_features: int
    n_samples: int

    def weights_of(self, v: FloatArray) -> FloatArray:
        """Return w, the weights of the regular features."""
        return v[: self.n_features]

    def thresholds_of(self, v: FloatArray) -> FloatArray:
        """Return b, the thresholds (regression: minus the intercept)."""
        return v[self.n_features : self.n_features + self.rows.n_thresholds]

    def sample_losses(self, v: FloatArray) -> FloatArray:
        """Return each sample's weighted loss, the sum over its rows."""
        losses = self.model.c * self.model.hinge(v)
        return np.bincount(self.rows.sample, weights=losses, minlength=self.n_samples)


def build(design: Design, setting: Setting) -> Spec:
    """Return the plain model of a design: v = (w, b)."""
    rows = make_rows(
        design.y,
        design.family,
        setting.order,
        len(design.levels) if design.levels is not None else 0,
        design.weights,
        setting.epsilon,
    )
    targets = tuple(
        Target(name, term, "regular", (k,))
        for k, (name, term) in enumerate(zip(design.names, design.terms, strict=True))
    )
    return Spec(plain_model(design.X, rows), rows, targets, design.X.shape[1], design.X.shape[0])


def decide(scores: FloatArray, thresholds: FloatArray, family: str) -> NDArray:
    """Turn scores w.x into level codes 1..L (ordinal, binary) or numbers (regression)."""
    if family == "regression":
        return scores - thresholds[0]
    codes = 1 + np.searchsorted(np.sort(thresholds), scores, side="right")
    return np.where(np.isnan(scores), np.nan, codes) if np.isnan(scores).any() else codes
