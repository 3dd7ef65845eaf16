"""A look at permuted statistics in single precision, which takes half the time.

A p-value counts the permuted values that reach an observed one. Draws with a value too close to it for single precision
to tell are computed again in double precision, so that the count is the same.
"""

from __future__ import annotations

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


def close_to(values: FloatArray, observed: FloatArray) -> NDArray[np.bool_]:
    """Return the draws with a value that is not known, or close to the observed one of its column.

    Parameters
    ----------
    values : array (draws, columns)
    observed : array (columns,)

    Examples
    --------
    >>> close_to(np.array([[1.0, 2.0], [1.0, 3.0], [np.nan, 2.0]]), np.array([4.0, 3.00001])).tolist()
    [False, True, True]
    """
    apart = np.abs(values - observed)
    return np.asarray(~np.all(apart > CLOSE * np.maximum(observed, 1.0), axis=1))
