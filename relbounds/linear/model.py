"""From a design and the choices that fix a model to its linear program, and back to predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from relbounds.design import Design
from relbounds.design.design_terms import DesignTerm
from relbounds.linear.asked import Asked, asked_of
from relbounds.linear.families import family_of
from relbounds.linear.families.family import Prediction
from relbounds.linear.families.rows import Answers, FloatArray, ModelKind, Rows
from relbounds.linear.merging import MergedRows, merge
from relbounds.linear.plain import plain_columns, plain_model
from relbounds.solver.columns import Columns, new_columns, put_columns
from relbounds.solver.model import Model


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


@dataclass(frozen=True, eq=False)
class Spec:
    """A linear program with names: which variables are which features, which are thresholds.

    Parameters
    ----------
    model : Model
        The program; equal rows are merged.
    kind : ModelKind
    family : str
    full : Rows
        The loss rows of every observation, priced by case weights alone.
    merged : MergedRows
        Those of the program, with the prices of the model.
    terms : tuple of DesignTerm
        Whose columns the variables are.
    sizes : Sizes
        How many variables of each sort there are.
    functions : tuple of Function
        Correcting functions, which read the privileged features `Z`.
    """

    model: Model
    kind: ModelKind
    family: str
    full: Rows
    merged: MergedRows
    terms: tuple[DesignTerm, ...]
    sizes: Sizes
    functions: tuple[Function, ...] = ()
    Z: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    @cached_property
    def asked(self) -> tuple[Asked, ...]:
        """The rows of the table; worked out when first asked for, since most models are fitted for less."""
        classes = np.arange(self.sizes.classes)[:, None]
        first = {
            "regular": classes * self.sizes.features,
            "adjust": self.sizes.weights + classes * self.sizes.adjust,
            "privileged": np.array([f.start for f in self.functions])[:, None],
        }
        read = [term for term in self.terms if term.part != "privileged"]
        if self.functions:
            read += [term for term in self.terms if term.part == "privileged"]
        return tuple(
            row for term in read for row in asked_of(term, first[term.part] + np.array(term.columns))
        )

    @property
    def rows(self) -> Rows:
        """The loss rows of the program."""
        return self.merged.rows

    @property
    def n_samples(self) -> int:
        """The number of observations."""
        return self.sizes.samples

    @property
    def n_features(self) -> int:
        """The number of columns of regular features."""
        return self.sizes.features

    def weights_of(self, v: FloatArray) -> FloatArray:
        """Return w, the weights of the regular features; one row a class where there are classes."""
        w = v[: self.sizes.weights]
        return w if self.sizes.classes == 1 else w.reshape(self.sizes.classes, -1)

    def adjust_of(self, v: FloatArray) -> FloatArray:
        """Return the coefficients of the adjusting covariates, shape (classes, columns)."""
        here = slice(self.sizes.weights, self.sizes.weights + self.sizes.classes * self.sizes.adjust)
        return v[here].reshape(self.sizes.classes, -1)

    def thresholds_of(self, v: FloatArray) -> FloatArray:
        """Return b, the thresholds (regression: minus the intercept)."""
        start = self.sizes.thresholds_start
        return v[start : start + self.rows.n_thresholds]

    def scores(self, v: FloatArray, X: FloatArray, adjust: FloatArray | None = None) -> FloatArray:
        """Return the scores of some rows, one column a class."""
        out = X @ self.weights_of(v).reshape(self.sizes.classes, -1).T
        if self.sizes.adjust and adjust is not None:
            out = out + adjust @ self.adjust_of(v).T
        return out

    def predict(self, v: FloatArray, X: FloatArray, adjust: FloatArray | None = None) -> Prediction:
        """Return scores and the levels or (standardised) numbers they mean."""
        scores = self.scores(v, X, adjust)
        return Prediction(scores, family_of(self.family).decide(scores, self.thresholds_of(v)))

    def used_by(self, v: FloatArray) -> float:
        """Return the norm of the regular features' weights."""
        return float(np.abs(v[: self.sizes.weights]).sum())

    def norm_of(self, v: FloatArray) -> float:
        """Return the norm that relevance is a share of: all weights, and those of the correcting functions."""
        return self.used_by(v) + sum(float(np.abs(v[f.start : f.offset]).sum()) for f in self.functions)

    def prices(self, factors: FloatArray) -> FloatArray:
        """Return the prices of the program's rows when each observation's weight is multiplied by a factor.

        Balance is restored: both sides of every threshold weigh the same among the observations that count.
        """
        weight = self.full.weight * factors[self.full.sample]
        return self.merged.prices(self.full.balanced(weight) if self.kind.balance else weight)

    def sample_losses(self, v: FloatArray) -> FloatArray:
        """Return each observation's weighted loss, the sum over its rows."""
        row = self.corrections(v)
        price = 1.0
        if self.model.h.size:
            hinge = self.model.hinge(v)
            price = self.kind.residual if self.functions else 1.0
            row = row + price * hinge
        if self.merged.of is not None:
            row = row[self.merged.of]
        weight = self.full.balanced(self.full.weight) if self.kind.balance else self.full.weight
        return np.bincount(self.full.sample, weights=weight * row, minlength=self.n_samples).astype(float)

    def slacks(self, v: FloatArray, side: float | None = None) -> FloatArray:
        """Return the largest slack each observation needs, on both sides of its thresholds or on one."""
        rows = np.maximum(self._margins - self._products(v), 0.0)
        if self.merged.of is not None:
            rows = rows[self.merged.of]
        if side is not None:
            rows = np.where(self.full.sign == side, rows, 0.0)
        out = np.zeros(self.n_samples)
        np.maximum.at(out, self.full.sample, rows)
        return out

    @property
    def _margins(self) -> FloatArray:
        return self.rows.h

    def _products(self, v: FloatArray) -> FloatArray:
        G = self.model.A[len(self.rows) : 2 * len(self.rows)] if self.hard else self.model.G
        return G @ v

    def corrections(self, v: FloatArray) -> FloatArray:
        """Return the slack that the correcting functions give each row, 0 without such functions."""
        out = np.zeros(len(self.rows))
        for f in self.functions:
            out[f.rows] = self.Z[self.rows.sample[f.rows]] @ v[f.start : f.offset] + v[f.offset]
        return out

    def variables(self, part: str, k: int) -> tuple[int, ...]:
        """Return the variables of the k-th column of a part: one a class, or one a correcting function."""
        if part == "regular":
            return tuple(c * self.n_features + k for c in range(self.sizes.classes))
        return tuple(function.start + k for function in self.functions)

    def change(self, part: str, columns: Sequence[int], values: FloatArray) -> Columns:
        """Return what changes in the program when some columns of a part have other values (n, k)."""
        if part == "regular":
            where, G = self.places(columns), plain_columns(self.rows, values.T)
            # without a price for free slack the loss rows are hard rows
            return new_columns(where, G[:, :0], self._hard(G)) if self.hard else new_columns(where, G)
        G = np.zeros((len(self.functions), len(columns), len(self.rows)))
        for own, function in zip(G, self.functions, strict=True):
            own[:, function.rows] = values[self.rows.sample[function.rows]].T
        G = G.reshape(-1, len(self.rows))
        where = np.array([function.start + k for function in self.functions for k in columns], dtype=np.intp)
        return new_columns(where, G[:, :0] if self.hard else G, self._hard(G, G), G @ self.rows.weight)

    def with_values(self, part: str, values: FloatArray) -> Spec:
        """Return the same program with other values (n, k) in all columns of a part; no rows may be merged."""
        assert self.merged.of is None
        model = put_columns(self.model, self.change(part, range(values.shape[1]), values))
        return replace(self, model=model, Z=values if part == "privileged" else self.Z)

    def changes(self, columns: Sequence[int], values: FloatArray) -> Columns:
        """Return the same for several columns of the regular part, without correcting functions.

        With `values` (B, k, n) they are so many problems.
        """
        G = plain_columns(self.rows, values)
        return Columns(np.tile(self.places(columns), (len(G), 1)), G)

    def places(self, columns: Sequence[int]) -> NDArray[np.intp]:
        """Return the variables of several columns of the regular part, class after class."""
        where = [c * self.n_features + j for c in range(self.sizes.classes) for j in columns]
        return np.array(where, dtype=np.intp)

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


@dataclass(frozen=True)
class Sizes:
    """How many observations, classes, columns of features and of adjusting covariates a program has."""

    samples: int
    features: int
    adjust: int = 0
    classes: int = 1

    @property
    def weights(self) -> int:
        """The number of weights; they come first."""
        return self.classes * self.features

    @property
    def thresholds_start(self) -> int:
        """Where the thresholds begin."""
        return self.classes * (self.features + self.adjust)


def answers_of(design: Design) -> Answers:
    """Return what a design knows of the response, numbers in units of their spread."""
    if design.levels is None:
        return Answers((design.y - design.y_center) / design.y_scale)
    low, high = design.interval if design.interval is not None else (None, None)
    time, event = design.times if design.times is not None else (None, None)
    assert design.levels is not None
    return Answers(design.y, len(design.levels), low, high, time, event)


def build(design: Design, kind: ModelKind, *, merged: bool = True) -> Spec:
    """Return the plain model of a design: v = (w, a, b).

    Parameters
    ----------
    design : Design
    kind : ModelKind
    merged : bool
        Put equal rows together; columns can be replaced one by one only where this is False.
    """
    full = family_of(design.family).rows(answers_of(design), kind, design.weights)
    few = priced(full, kind, [design.X, design.adjust], merged)
    sizes = Sizes(len(design.y), design.X.shape[1], design.adjust.shape[1], full.n_classes)
    model = plain_model(design.X, few.rows, design.adjust)
    return Spec(model, kind, design.family, full, few, design.design_terms, sizes)


def priced(full: Rows, kind: ModelKind, features: Sequence[FloatArray], merged: bool) -> MergedRows:
    """Return the rows with the prices of the model, equal ones merged."""
    rows = replace(full, weight=full.balanced(full.weight)) if kind.balance else full
    return merge(rows, np.hstack(list(features))) if merged else MergedRows(rows, None)
