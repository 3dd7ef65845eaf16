"""The loss of each kind of response, one file a family.

Gets what is known of the response (:class:`~relbounds.linear.families.rows.Answers`). Gives loss rows, predictions
from scores, and the score that models are tuned by. A new family is one file with a
:class:`~relbounds.linear.families.family.Family`, added to ``FAMILIES`` here or by :func:`register`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from relbounds.errors import OptionError, nearest
from relbounds.linear.families.binary import BINARY
from relbounds.linear.families.family import Family
from relbounds.linear.families.nominal import NOMINAL
from relbounds.linear.families.ordinal import ORDINAL
from relbounds.linear.families.regression import REGRESSION
from relbounds.linear.families.rows import Answers, FloatArray, ModelKind, Rows
from relbounds.linear.families.survival import SURVIVAL

FAMILIES: dict[str, Family] = {
    family.name: family for family in (ORDINAL, BINARY, REGRESSION, NOMINAL, SURVIVAL)
}
ORDERS = ("explicit", "implicit")


def register(family: Family) -> None:
    """Make a family known by its name.

    Examples
    --------
    >>> register(FAMILIES["ordinal"])
    """
    FAMILIES[family.name] = family


def family_of(name: str) -> Family:
    """Return a family by its name.

    Examples
    --------
    >>> family_of("binary").metric.name
    'F1'
    """
    if name not in FAMILIES:
        raise OptionError(
            f"family={name!r} is not one of {', '.join(FAMILIES)}.{nearest(str(name), FAMILIES)}"
        )
    return FAMILIES[name]


def make_rows(
    y: NDArray,
    family: str,
    order: str = "explicit",
    n_levels: int | None = None,
    weights: FloatArray | None = None,
    *,
    epsilon: float = 0.1,
) -> Rows:
    """Return the loss rows of a response whose every level is known.

    Parameters
    ----------
    y : ndarray, shape (n,)
        Codes 1..L, or numbers for regression.
    family : str
    order : {"explicit", "implicit"}
    n_levels : int, optional
        L; by default the largest code.
    weights : ndarray, shape (n,), optional
        Case weights, 1 by default.
    epsilon : float, optional
        Half the width of regression's tube.

    Examples
    --------
    >>> y = np.array([1, 2, 3])
    >>> len(make_rows(y, "ordinal")), len(make_rows(y, "ordinal", "implicit"))
    (4, 6)
    >>> make_rows(np.array([0.5, 2.0]), "regression", epsilon=0.1).h.tolist()
    [0.4, 1.9, -0.6, -2.1]
    """
    kind = family_of(family)
    if order not in ORDERS:
        raise OptionError(f"order={order!r} is not one of {', '.join(ORDERS)}.{nearest(str(order), ORDERS)}")
    y = np.asarray(y)
    price = np.ones(y.size) if weights is None else np.asarray(weights, dtype=float)
    if price.shape != (y.size,):
        raise OptionError(
            f"weights has shape {price.shape}, but there are {y.size} samples: give one weight per sample."
        )
    levels = 0 if kind.name == "regression" else int(y.max()) if n_levels is None else int(n_levels)
    return kind.rows(Answers(y, levels), ModelKind(order=order, epsilon=float(epsilon)), price)
