"""From a design and the numbers that fix a model to its linear program, and back to predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from relbounds.design import Design
from relbounds.linear.families.rows import Rows, make_rows
from relbounds.linear.plain import plain_column, plain_model
from relbounds.solver.changes import Change
from relbounds.solver.model import Model

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """The numbers that fix a model, all but C.

    `slack` says that privileged features model the slacks; `gamma`, `residual` and `correcting` say how.
    """

    order: str = "explicit"
    epsilon: float = 0.0
    slack: bool = False
    gamma: float = 1.0
    residual: float = math.inf
    correcting: str = "sides"


@dataclass(frozen=True)
class Target:
    """A feature whose relevance is asked for, and the variables of the program that stand for it."""

    name: str
    term: str
    part: str
    variables: tuple[int, ...]


@dataclass(frozen=True)
class Function:
    """A correcting function u.z + d: its name, the loss rows it corrects, and where its variables stand."""

    name: str
    rows: NDArray[np.intp]
    start: int
    width: int

    @property
    def offset(self) -> int:
        """The position of d."""
        return self.start + self.width


@dataclass(frozen=True)
class Spec:
    """A linear program with names: which variable is which feature, which are thresholds.

    With correcting functions, `Z` holds the privileged features they read.
    """

    model: Model
    rows: Rows
    targets: tuple[Target, ...]
    n_features: int
    n_samples: int
    functions: tuple[Function, ...] = ()
    Z: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def weights_of(self, v: FloatArray) -> FloatArray:
        """Return w, the weights of the regular features."""
        return v[: self.n_features]

    def used_by(self, v: FloatArray) -> float:
        """Return the norm of the regular features' weights."""
        return float(np.abs(self.weights_of(v)).sum())

    def norm_of(self, v: FloatArray) -> float:
        """Return the norm that relevance is a share of: all weights, and those of the correcting functions."""
        return self.used_by(v) + sum(float(np.abs(v[f.start : f.offset]).sum()) for f in self.functions)

    def thresholds_of(self, v: FloatArray) -> FloatArray:
        """Return b, the thresholds (regression: minus the intercept)."""
        return v[self.n_features : self.n_features + self.rows.n_thresholds]

    def sample_losses(self, v: FloatArray) -> FloatArray:
        """Return each sample's weighted loss, the sum over its rows."""
        losses = self.rows.weight * self.corrections(v)
        if self.model.h.size:
            losses = losses + self.model.c * self.model.hinge(v)
        return np.bincount(self.rows.sample, weights=losses, minlength=self.n_samples).astype(float)

    def corrections(self, v: FloatArray) -> FloatArray:
        """Return the slack that the correcting functions give each row, 0 without such functions."""
        out = np.zeros(len(self.rows))
        for f in self.functions:
            out[f.rows] = self.Z[self.rows.sample[f.rows]] @ v[f.start : f.offset] + v[f.offset]
        return out

    def change(self, part: str, k: int, column: FloatArray) -> Change:
        """Return what changes in the program when the k-th feature of a part has other values."""
        if part == "regular":
            G = plain_column(self.rows, column)[None, :]
            # without a price for free slack the loss rows are hard rows
            return Change((k,), G[:, :0], self._hard(G)) if self.hard else Change((k,), G)
        values = column[self.rows.sample]
        G = np.zeros((len(self.functions), len(self.rows)))
        for f, function in enumerate(self.functions):
            G[f, function.rows] = values[function.rows]
        variables = tuple(function.start + k for function in self.functions)
        linear = G @ self.rows.weight
        A = self._hard(G, G)
        return Change(variables, G[:, :0] if self.hard else G, A, linear)

    @property
    def hard(self) -> bool:
        """Whether the correcting functions must cover every row, since no other slack is sold."""
        return bool(self.functions) and not self.model.h.size

    def _hard(self, G: FloatArray, corrections: FloatArray | float = 0.0) -> FloatArray:
        """Return columns of the hard rows: corrections, loss rows if these are hard, order of thresholds."""
        R = len(self.rows)
        A = np.zeros((len(G), len(self.model.a)))
        A[:, :R] = corrections
        if self.hard:
            A[:, R : 2 * R] = G
        return A


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
