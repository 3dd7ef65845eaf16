"""The loss rows of every family in one shape: ``sign * (w.x - b) + xi >= h``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relbounds.errors import OptionError, nearest

FAMILIES = ("ordinal", "binary", "regression")
ORDERS = ("explicit", "implicit")


@dataclass(frozen=True)
class Rows:
    """Loss rows ``sign_r * (w.x[sample_r] - b[threshold_r]) + xi_r >= h_r`` with weights.

    Parameters
    ----------
    sample : ndarray of int, shape (R,)
        Which sample a row speaks of.
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

    Examples
    --------
    >>> import numpy as np
    >>> rows = make_rows(np.array([1, 2, 2]), "binary")
    >>> rows.sample.tolist(), rows.sign.tolist()
    ([0, 1, 2], [-1.0, 1.0, 1.0])
    """

    sample: np.ndarray
    sign: np.ndarray
    threshold: np.ndarray
    h: np.ndarray
    weight: np.ndarray
    n_thresholds: int
    ordered: bool

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.sample.size)

    def per_sample(self, losses: np.ndarray, n: int) -> np.ndarray:
        """Return the weighted loss of each of ``n`` samples, given the slack of each row.

        Examples
        --------
        >>> import numpy as np
        >>> rows = make_rows(np.array([1, 2, 3]), "ordinal")
        >>> rows.per_sample(np.ones(len(rows)), 3).tolist()
        [1.0, 2.0, 1.0]
        """
        return np.bincount(self.sample, weights=self.weight * losses, minlength=n)


def make_rows(
    y: np.ndarray,
    family: str,
    order: str = "explicit",
    n_levels: int | None = None,
    weights: np.ndarray | None = None,
    epsilon: float | None = None,
) -> Rows:
    """Return the loss rows of a response.

    Parameters
    ----------
    y : ndarray, shape (n,)
        Codes 1..L for ordinal and binary responses, numbers for regression.
    family : {"ordinal", "binary", "regression"}
        What kind of response `y` is.
    order : {"explicit", "implicit"}, optional
        Explicit: each threshold parts its two neighbouring levels, and constraints keep the thresholds in
        order. Implicit: each threshold parts all samples, and the order follows by itself.
    n_levels : int, optional
        L; by default the largest code.
    weights : ndarray, shape (n,), optional
        Case weights, 1 by default.
    epsilon : float, optional
        Half the width of regression's tube, 0.1 by default.

    Returns
    -------
    Rows

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1, 2, 3])
    >>> len(make_rows(y, "ordinal")), len(make_rows(y, "ordinal", "implicit"))
    (4, 6)
    >>> make_rows(np.array([0.5, 2.0]), "regression", epsilon=0.1).h.tolist()
    [0.4, 1.9, -0.6, -2.1]
    """
    if family not in FAMILIES:
        raise OptionError(
            f"family={family!r} is not one of {', '.join(FAMILIES)}.{nearest(str(family), FAMILIES)}"
        )
    if order not in ORDERS:
        raise OptionError(f"order={order!r} is not one of {', '.join(ORDERS)}.{nearest(str(order), ORDERS)}")
    y = np.asarray(y)
    n = y.size
    price = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    if price.shape != (n,):
        raise OptionError(
            f"weights has shape {price.shape}, but there are {n} samples: give one weight per sample."
        )
    if family == "regression":
        return _regression(np.asarray(y, dtype=float), price, 0.1 if epsilon is None else float(epsilon))
    codes = y.astype(int)
    levels = int(codes.max()) if n_levels is None else int(n_levels)
    if family == "binary" or levels == 2 or order == "explicit":
        return _explicit(codes, price, levels)
    return _implicit(codes, price, levels)


def _regression(y: np.ndarray, price: np.ndarray, epsilon: float) -> Rows:
    if epsilon < 0:
        raise OptionError(f"epsilon={epsilon} is negative: give half the width of the tube, 0 or more.")
    n = y.size
    once = np.arange(n)
    return Rows(
        sample=np.concatenate([once, once]),
        sign=np.concatenate([np.ones(n), -np.ones(n)]),
        threshold=np.zeros(2 * n, dtype=int),
        h=np.concatenate([y - epsilon, -y - epsilon]),
        weight=np.concatenate([price, price]),
        n_thresholds=1,
        ordered=False,
    )


def _explicit(codes: np.ndarray, price: np.ndarray, levels: int) -> Rows:
    sample, sign, threshold = [], [], []
    for j in range(levels - 1):
        below, above = np.flatnonzero(codes == j + 1), np.flatnonzero(codes == j + 2)
        sample += [below, above]
        sign += [-np.ones(below.size), np.ones(above.size)]
        threshold.append(np.full(below.size + above.size, j))
    return _labelled(sample, sign, threshold, price, levels, ordered=levels > 2)


def _implicit(codes: np.ndarray, price: np.ndarray, levels: int) -> Rows:
    everyone = np.arange(codes.size)
    sample = [everyone] * (levels - 1)
    sign = [np.where(codes > j + 1, 1.0, -1.0) for j in range(levels - 1)]
    threshold = [np.full(codes.size, j) for j in range(levels - 1)]
    return _labelled(sample, sign, threshold, price, levels, ordered=False)


def _labelled(
    sample: list[np.ndarray],
    sign: list[np.ndarray],
    threshold: list[np.ndarray],
    price: np.ndarray,
    levels: int,
    ordered: bool,
) -> Rows:
    owner = np.concatenate(sample)
    return Rows(
        sample=owner,
        sign=np.concatenate(sign),
        threshold=np.concatenate(threshold),
        h=np.ones(owner.size),
        weight=price[owner],
        n_thresholds=levels - 1,
        ordered=ordered,
    )
