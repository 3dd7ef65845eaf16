"""The margin rows of support vector ordinal regression, the same shape for every order and every cost.

Row r speaks of one sample and one threshold: ``sign_r (f(x) - b_j) >= h_r - xi_r``. The dual holds one
multiplier per row,

    maximise  sum_r h_r alpha_r - 1/2 beta' K beta,     beta_i = sum of sign_r alpha_r over the rows of
    sample i subject to  0 <= alpha_r <= upper_r  and, for each threshold j,  sum_{r at j} sign_r alpha_r =
    mu_j - mu_{j+1}

with ``mu >= 0`` where the order of the thresholds is a constraint of the problem and ``mu = 0`` where it is
not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from relbounds.checks import choice
from relbounds.errors import DataError, OptionError

ORDERS = ("explicit", "implicit", "none")


@dataclass(frozen=True)
class MarginRows:
    """The rows of one problem, sorted by threshold."""

    sample: np.ndarray
    sign: np.ndarray
    threshold: np.ndarray
    h: np.ndarray
    upper: np.ndarray  # C times the weight of the row; inf where the slack is fixed
    function: np.ndarray  # which correcting function models the slack of the row
    n: int
    n_thresholds: int
    n_functions: int
    ordered: bool

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.sample)

    def coefficients(self, alpha: np.ndarray) -> np.ndarray:
        """Return beta, the weight of each sample in the decision function."""
        return np.bincount(self.sample, self.sign * alpha, minlength=self.n)

    def balance(self, alpha: np.ndarray) -> np.ndarray:
        """Return the signed sum of the multipliers of each threshold."""
        return np.bincount(self.threshold, self.sign * alpha, minlength=self.n_thresholds)

    def fixed(self, slack: np.ndarray) -> MarginRows:
        """Return the same rows with slacks that are known, so that only the margin is left to optimise."""
        return replace(self, h=self.h - slack, upper=np.full(len(self), np.inf))


def check_order(order: str) -> str:
    """Return `order` if it is known.

    Examples
    --------
    >>> check_order("implicit")
    'implicit'
    """
    return choice("order", order, ORDERS)


def check_cost(cost: np.ndarray, n_levels: int) -> np.ndarray:
    """Return the cost matrix (true level by predicted level) as floats, or say what is wrong with it.

    Examples
    --------
    >>> import numpy as np
    >>> check_cost(np.array([[0, 1, 4], [1, 0, 1], [4, 1, 0]]), 3)
    array([[0., 1., 4.],
           [1., 0., 1.],
           [4., 1., 0.]])
    """
    cost = np.asarray(cost, dtype=float)
    if cost.shape != (n_levels, n_levels):
        raise OptionError(
            f"cost has shape {cost.shape}; with {n_levels} levels it must be {(n_levels, n_levels)}."
        )
    if not np.isfinite(cost).all() or (cost < 0).any():
        raise OptionError("cost must hold finite numbers that are not negative.")
    if np.diag(cost).any():
        raise OptionError("cost: the diagonal must be 0, since a right prediction costs nothing.")
    if (cost + np.eye(n_levels) <= 0).any():
        raise OptionError(
            "cost: every wrong prediction must cost something (all entries off the diagonal positive)."
        )
    for k in range(n_levels):
        if (np.diff(cost[k, k:]) < 0).any() or (np.diff(cost[k, : k + 1]) > 0).any():
            raise OptionError(
                f"cost: row {k + 1} falls again away from the diagonal. A larger miss must not cost less "
                f"than a smaller one."
            )
    return cost


def row_weights(cost: np.ndarray) -> np.ndarray:
    """Return the weight of a row of level k at threshold j: what crossing that threshold adds to the cost.

    The weights a wrong prediction collects on its way add up to its entry in `cost`; |k - l| gives ones.

    Examples
    --------
    >>> import numpy as np
    >>> row_weights(np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]]))
    array([[1., 3.],
           [1., 1.],
           [3., 1.]])
    """
    return np.abs(np.diff(cost, axis=1))


@dataclass(frozen=True)
class Pricing:
    """What slack costs: C, times the weight of the sample, times what the cost matrix says of level and threshold.

    `balance`: at each threshold the prices of its two sides are multiplied so that both sides weigh the same and
    their total stays what it was. The hinge only asks on which side of a threshold a sample lies; where one side holds
    the majority whatever the features are, the best unbalanced model is a constant.
    """

    C: float = 1.0
    weights: np.ndarray | None = None
    cost: np.ndarray | None = None
    balance: bool = False


def make_margin_rows(
    y: np.ndarray, n_levels: int, order: str = "explicit", C: float = 1.0, *, pricing: Pricing | None = None
) -> MarginRows:
    """Return the rows for codes ``y`` in 1..n_levels, every level present; `pricing` says more than C alone.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1, 2, 3])
    >>> len(make_margin_rows(y, 3)), len(make_margin_rows(y, 3, "implicit"))
    (4, 6)
    >>> make_margin_rows(np.array([1, 1, 1, 2]), 2, pricing=Pricing(3.0, balance=True)).upper
    array([2., 2., 2., 6.])
    """
    check_order(order)
    pricing = Pricing(C) if pricing is None else pricing
    if not np.isfinite(pricing.C) or pricing.C <= 0:
        raise OptionError(f"C must be a positive number, not {pricing.C!r}.")
    n = len(y)
    y = np.asarray(y, dtype=np.int64)
    weights = np.ones(n) if pricing.weights is None else np.asarray(pricing.weights, dtype=float)
    if pricing.cost is not None and order != "implicit":
        raise OptionError(
            f"cost needs order='implicit', not {order!r}: only there does every sample have a row at every "
            "threshold, so that the size of a miss can be priced."
        )
    factor = np.ones((n_levels, n_levels - 1))
    if pricing.cost is not None:
        factor = row_weights(check_cost(pricing.cost, n_levels))
    sample, sign, threshold = _places(y, order, weights, factor)
    if pricing.balance:
        factor = factor * _balance(y, (sample, sign, threshold), weights, factor)
    # The implicit order needs rows whose price does not fall away from the diagonal (the proof of the lemma
    # compares neighbouring thresholds); where it does, the order becomes a constraint.
    convex = all(
        (np.diff(factor[k, k:]) >= 0).all() and (np.diff(factor[k, :k]) <= 0).all() for k in range(n_levels)
    )
    # One correcting function per threshold where every sample has a row there; with the explicit order one
    # per side, since a threshold sees two levels only. Two levels: one function, the published binary form.
    per_side = order != "implicit" and n_levels > 2
    return MarginRows(
        sample=sample.astype(np.int64),
        sign=sign,
        threshold=threshold.astype(np.int64),
        h=np.ones(len(sample)),
        upper=pricing.C * weights[sample] * factor[y[sample] - 1, threshold],
        function=(sign > 0).astype(np.int64) if per_side else threshold.astype(np.int64),
        n=n,
        n_thresholds=n_levels - 1,
        n_functions=2 if per_side else n_levels - 1,
        ordered=n_levels > 2 and (order == "explicit" or (order == "implicit" and not convex)),
    )


Places = tuple[np.ndarray, np.ndarray, np.ndarray]


def _places(y: np.ndarray, order: str, weights: np.ndarray, factor: np.ndarray) -> Places:
    """Return sample, sign and threshold of each row, threshold by threshold."""
    samples, signs, thresholds = [], [], []
    for j in range(factor.shape[1]):
        near = (y == j + 1) | (y == j + 2) if order != "implicit" else np.ones(len(y), dtype=bool)
        index = np.flatnonzero(near & (weights > 0) & (factor[y - 1, j] > 0))
        sign = np.where(y[index] <= j + 1, -1.0, 1.0)
        if not (sign < 0).any() or not (sign > 0).any():
            raise DataError(
                f"Threshold {j + 1} has samples on one side only. Merge levels or give weights above 0."
            )
        samples.append(index)
        signs.append(sign)
        thresholds.append(np.full(len(index), j))
    return np.concatenate(samples), np.concatenate(signs), np.concatenate(thresholds)


def _balance(y: np.ndarray, places: Places, weights: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Return by how much to multiply the prices of each level at each threshold, so that both sides weigh the same."""
    sample, sign, threshold = places
    price = weights[sample] * factor[y[sample] - 1, threshold]
    m = factor.shape[1]
    below, above = (np.bincount(threshold, price * (sign == side), minlength=m) for side in (-1.0, 1.0))
    half = (below + above) / 2.0
    levels = np.arange(1, len(factor) + 1)[:, None]
    return np.where(levels <= np.arange(1, m + 1)[None, :], half / below, half / above)
