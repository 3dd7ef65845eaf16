"""A look at permuted statistics in single precision, which takes half the time.

A p-value counts the permuted values that reach an observed one. Those too close to it for single precision to tell are
computed again in double precision, so that the count is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.noise.smooth import FloatArray
from relbounds.linear.noise.statistics import Loads, Terms

# Values this close to an observed one are computed again. Rounding moves those whose information is known well by a
# fifth of it at most, a hundredth as a rule.
CLOSE = 1e-4


def in_single(terms: Terms, loads: Loads) -> tuple[Terms, Loads] | None:
    """Return terms and a smooth model whose products are made in single precision, where that tells enough.

    It does for terms of one column beside one linear predictor. Information of several is a matrix, which may be close
    to singular.

    Examples
    --------
    >>> from relbounds.linear.noise.smooth import Response, fit_smooth
    >>> from relbounds.linear.noise.statistics import make_loads, make_terms
    >>> loads = make_loads(fit_smooth(Response("binary", np.array([0, 1, 1, 0]))))
    >>> in_single(make_terms([np.arange(4.0)]), loads)[0].columns.dtype
    dtype('float32')
    """
    if len(loads.mean) > 1 or terms.widths.max(initial=0) > 1:
        return None
    varying = None if loads.varying is None else _rounded(loads.varying)
    return (
        replace(terms, columns=_rounded(terms.columns)),
        replace(loads, residuals=_rounded(loads.residuals), varying=varying, cross=_rounded(loads.cross)),
    )


def _rounded(values: FloatArray) -> np.ndarray:
    return values.astype(np.float32)


def close_to(values: FloatArray, observed: FloatArray, times: float = 1.0) -> NDArray[np.bool_]:
    """Return which values are not known, or so many times as close to the observed ones as rounding may bring them.

    Parameters
    ----------
    values : array (draws, columns)
    observed : array (columns,)
    times : float

    Examples
    --------
    >>> close_to(np.array([[1.0, 2.0], [1.0, 3.0], [np.nan, 2.0]]), np.array([4.0, 3.00001])).tolist()
    [[False, False], [False, True], [True, False]]
    """
    return np.asarray(~(np.abs(values - observed) > times * CLOSE * np.maximum(observed, 1.0)))


def look_again(
    values: FloatArray,
    observed: FloatArray,
    reached: Callable[[FloatArray], FloatArray] | None,
    exact: Callable[[NDArray[np.bool_], NDArray[np.intp]], FloatArray],
) -> None:
    """Compute again, in place, what single precision leaves open: each value's side of its column's observed one.

    Then the side on which the largest of some values lie, too, if that is asked for.

    Parameters
    ----------
    values : array (draws, columns)
    observed : array (columns,)
    reached : callable or None
        The largest of some of the values of each draw, (draws, columns) or (draws, 1), for each observed value.
    exact : callable
        ``exact(draws, columns)`` gives values in double precision, for a mask of draws and numbers of columns.

    Examples
    --------
    >>> values = np.array([[1.0, 2.99999], [1.0, 1.0]])
    >>> def exact(draws, columns):
    ...     return np.full((draws.sum(), columns.size), 3.0)
    >>> look_again(values, np.array([9.0, 3.0]), lambda values: values.max(axis=1, keepdims=True), exact)
    >>> values.tolist()
    [[1.0, 3.0], [1.0, 1.0]]
    """
    _again(values, close_to(values, observed), exact)
    if reached is None:
        return
    near = close_to(reached(values), observed)
    again: NDArray[np.bool_] = np.zeros(values.shape, dtype=bool)
    for b in np.flatnonzero(near.any(axis=1)):
        # those that may be the largest are as close to the observed value as the largest is, but for rounding
        for limit in np.unique(observed[near[b]]):
            again[b] |= close_to(values[b : b + 1], limit, 2.0)[0]
    _again(values, again, exact)


def _again(
    values: FloatArray,
    some: NDArray[np.bool_],
    exact: Callable[[NDArray[np.bool_], NDArray[np.intp]], FloatArray],
) -> None:
    draws, columns = np.asarray(some.any(axis=1)), np.flatnonzero(some.any(axis=0))
    if columns.size:
        values[np.ix_(draws, columns)] = exact(draws, columns)
