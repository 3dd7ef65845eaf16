"""A response as the small models read it, and a fitted model as a score test needs it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Response:
    """What the kept columns are to explain, as arrays.

    Parameters
    ----------
    kind : {"ordinal", "binary", "regression", "nominal", "survival"}
    y : array
        Levels as whole numbers (any codes, in order), numbers, or times.
    weights : array or None
        Case weights; None: 1 each.
    high : array or None
        Ordinal: the highest level that an observation may have, where it is only known to lie between `y` and this.
    event : array of bool or None
        Survival: whether the time is that of an event (True) or of censoring.

    Examples
    --------
    >>> Response("binary", np.array([0, 1, 1])).n
    3
    """

    kind: str
    y: FloatArray
    weights: FloatArray | None = None
    high: FloatArray | None = None
    event: NDArray[np.bool_] | None = None

    @property
    def n(self) -> int:
        """The number of observations."""
        return len(self.y)

    @property
    def case_weights(self) -> FloatArray:
        """The weights, ones if none were given."""
        return np.ones(self.n) if self.weights is None else np.asarray(self.weights, dtype=float)


@dataclass(frozen=True)
class Smooth:
    """A fitted smooth model, reduced to what a score test needs. s is the number of linear predictors.

    For a column x that is not in the model, ``x @ residuals`` is its score, and its information, given everything
    that was estimated, is ``sum_i x_i^2 information_i - sum_m (x @ cross_m)^2``.

    Attributes
    ----------
    residuals : array (n, s)
        Derivative of the log-likelihood by the linear predictors; orthogonal to what was estimated.
    information : array (n, s, s)
        Expected second derivative (observed, where a level is censored).
    cross : array (n, s, m)
        Information shared with the m estimated parameters, scaled so that theirs is the identity.
    coefficients : array (k, s)
        Of the kept columns.
    loglik : float
        Log-likelihood (regression: of the normal model).
    converged : bool
    """

    residuals: FloatArray
    information: FloatArray
    cross: FloatArray
    coefficients: FloatArray
    loglik: float
    converged: bool


def nothing(n: int, k: int, s: int = 1) -> Smooth:
    """Return the model of a response that does not vary: no residuals, no information."""
    return Smooth(np.zeros((n, s)), np.zeros((n, s, s)), np.zeros((n, s, 0)), np.zeros((k, s)), 0.0, True)
