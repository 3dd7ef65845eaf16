"""The loss rows of every family in one shape: ``sign * (score - threshold) + xi >= h``.

Section "Loss rows" of docs/method.md defines what each family asks for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class ModelKind:
    """The choices that fix a model, all but C.

    `balance` gives both sides of every threshold the same weight. `slack` says that privileged features model the
    slacks; `gamma`, `residual` and `correcting` say how. `epsilon` is in units of the response's spread.

    Examples
    --------
    >>> ModelKind(order="implicit").balance
    False
    """

    order: str = "explicit"
    epsilon: float = 0.0
    balance: bool = False
    slack: bool = False
    gamma: float = 1.0
    residual: float = math.inf
    correcting: str = "sides"


@dataclass(frozen=True)
class Answers:
    """What is known of the response of each observation.

    Parameters
    ----------
    y : ndarray, shape (n,)
        Codes 1..L, or numbers.
    n_levels : int
        L; 0 for numbers.
    low, high : ndarray of int, shape (n,), or None
        The lowest and the highest level an observation may have, where some are known to lie between two only.
    time, event : ndarray, or None
        Survival times, and whether they ended in an event.

    Examples
    --------
    >>> Answers(np.array([1, 2, 2]), 2).take(np.array([0, 2])).y.tolist()
    [1, 2]
    """

    y: NDArray
    n_levels: int = 0
    low: NDArray[np.intp] | None = None
    high: NDArray[np.intp] | None = None
    time: FloatArray | None = None
    event: NDArray[np.bool_] | None = None

    def take(self, some: NDArray) -> Answers:
        """Return the answers of some observations (positions or a mask)."""

        def of(values: NDArray | None) -> NDArray | None:
            return None if values is None else values[some]

        return replace(
            self,
            y=self.y[some],
            low=of(self.low),
            high=of(self.high),
            time=of(self.time),
            event=of(self.event),
        )

    @property
    def least(self) -> NDArray:
        """The lowest level each observation may have."""
        return self.y if self.low is None else self.low

    @property
    def most(self) -> NDArray:
        """The highest level each observation may have."""
        return self.y if self.high is None else self.high


@dataclass(frozen=True)
class Rows:
    """Loss rows ``sign_r * (w.x[sample_r] - b[threshold_r]) + xi_r >= h_r`` with weights.

    Parameters
    ----------
    sample : ndarray of int, shape (R,)
        Which observation a row speaks of.
    sign : ndarray, shape (R,)
        +1. or -1.
    threshold : ndarray of int, shape (R,)
        Which threshold enters the row; regression's intercept is minus its only threshold.
    h : ndarray, shape (R,)
        The margin the row asks for.
    weight : ndarray, shape (R,)
        The price of one unit of the row's slack.
    n_thresholds : int
        Number of thresholds.
    ordered : bool
        Whether the thresholds must be held in order by constraints.
    other : ndarray of int, shape (R,), or None
        With several weight vectors, one a class: the class `threshold` is compared with this one, and the row reads
        ``(f_threshold - f_other) + xi >= h`` with ``f_k = w_k.x - b_k``.
    n_classes : int
        Number of weight vectors.

    Examples
    --------
    >>> from relbounds.linear.families import make_rows
    >>> rows = make_rows(np.array([1, 2, 2]), "binary")
    >>> rows.sample.tolist(), rows.sign.tolist()
    ([0, 1, 2], [-1.0, 1.0, 1.0])
    """

    sample: NDArray[np.intp]
    sign: FloatArray
    threshold: NDArray[np.intp]
    h: FloatArray
    weight: FloatArray
    n_thresholds: int
    ordered: bool
    other: NDArray[np.intp] | None = None
    n_classes: int = 1

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.sample.size)

    def take(self, some: NDArray) -> Rows:
        """Return some of the rows (positions or a mask)."""
        other = None if self.other is None else self.other[some]
        names = ("sample", "sign", "threshold", "h", "weight")
        return replace(self, other=other, **{name: getattr(self, name)[some] for name in names})

    @property
    def sides(self) -> NDArray[np.intp]:
        """A number for each side of each threshold (each class, where there are classes): what balance makes equal."""
        if self.other is not None:
            return self.threshold
        return 2 * self.threshold + (self.sign > 0)

    def balanced(self, weight: FloatArray) -> FloatArray:
        """Return prices with which both sides of every threshold weigh the same, each threshold's total as before.

        Examples
        --------
        >>> from relbounds.linear.families import make_rows
        >>> rows = make_rows(np.array([1, 2, 2, 2]), "binary")
        >>> rows.balanced(rows.weight).round(3).tolist()
        [2.0, 0.667, 0.667, 0.667]
        """
        sides = self.sides
        group = np.zeros_like(self.threshold) if self.other is not None else self.threshold
        per_side = np.bincount(sides, weights=weight, minlength=int(sides.max(initial=0)) + 1)
        total = np.bincount(group, weights=weight, minlength=int(group.max(initial=0)) + 1)
        # a side without weight has no say: the others share the total
        owner = np.zeros(per_side.size, dtype=np.intp)
        owner[sides] = group
        count = np.bincount(owner[per_side > 0], minlength=total.size)
        with np.errstate(all="ignore"):
            factor = np.where(per_side > 0, total[owner] / (count[owner] * per_side), 0.0)
        return weight * factor[sides]
