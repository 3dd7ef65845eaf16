"""The plain model of some loss rows: weights of the features, of adjusting covariates, and thresholds."""

from __future__ import annotations

import numpy as np

from relbounds.linear.families.rows import FloatArray, Rows
from relbounds.solver.model import Model, make_model


def plain_model(X: FloatArray, rows: Rows, adjust: FloatArray | None = None) -> Model:
    """Return the model without privileged information; its variables are ``v = (w, a, b)``.

    With K classes, w holds K vectors one after the other, and so does a, the coefficients of the adjusting
    covariates, which have no penalty.

    Examples
    --------
    >>> from relbounds.linear.families import make_rows
    >>> model = plain_model(np.array([[0.0], [1.0], [2.0]]), make_rows(np.array([1, 2, 3]), "ordinal"))
    >>> model.G.shape, model.A.tolist()
    ((4, 3), [[0.0, -1.0, 1.0]])
    """
    X = np.asarray(X, dtype=float)
    K, k, R = rows.n_classes, rows.n_thresholds, len(rows)
    parts = [X] if adjust is None or not adjust.shape[1] else [X, adjust]
    width = sum(part.shape[1] for part in parts) * K
    G = np.zeros((R, width + k))
    start = 0
    for part in parts:
        _put(G[:, start : start + part.shape[1] * K], part, rows)
        start += part.shape[1] * K
    each = np.arange(R)
    G[each, width + rows.threshold] = -rows.sign
    if rows.other is not None:
        G[each, width + rows.other] = 1.0
    order = np.zeros((k - 1 if rows.ordered else 0, width + k))
    for j in range(order.shape[0]):
        order[j, width + j], order[j, width + j + 1] = -1.0, 1.0
    penalty = np.zeros(width + k)
    penalty[: X.shape[1] * K] = 1.0
    return make_model(G, rows.h, rows.weight, penalty, A=order, a=np.zeros(order.shape[0]))


def _put(block: FloatArray, values: FloatArray, rows: Rows) -> None:
    """Write the columns that some features have in the loss rows, class after class."""
    d, own = values.shape[1], values[rows.sample]
    for c in range(rows.n_classes):
        np.multiply(own, _signs(rows, c)[:, None], out=block[:, c * d : (c + 1) * d])


def _signs(rows: Rows, c: int) -> FloatArray:
    """Return what the rows multiply the features' weights of a class with."""
    if rows.other is None:
        return rows.sign
    return (rows.threshold == c).astype(float) - (rows.other == c)


def plain_columns(rows: Rows, values: FloatArray) -> FloatArray:
    """Return the columns of ``G`` that features with these values (..., k, n) have in a plain model, class after class.

    Examples
    --------
    >>> from relbounds.linear.families import make_rows
    >>> plain_columns(make_rows(np.array([1, 2]), "binary"), np.array([[3.0, 4.0]])).tolist()
    [[-3.0, 4.0]]
    """
    values = np.asarray(values, dtype=float)
    *many, k, n = values.shape
    out = np.empty((*many, rows.n_classes, k, len(rows)))
    parts = out.reshape(-1, rows.n_classes, k, len(rows))
    for part, own in zip(parts, values.reshape(-1, k, n), strict=True):
        for c in range(rows.n_classes):
            np.take(own, rows.sample, axis=1, out=part[c], mode="clip")
            part[c] *= _signs(rows, c)
    return out.reshape(*many, rows.n_classes * k, len(rows))
