"""The plain model of some loss rows: weights of the features and thresholds."""

from __future__ import annotations

import numpy as np

from relbounds.linear.families.rows import Rows
from relbounds.solver.model import Model, make_model


def plain_model(X: np.ndarray, rows: Rows) -> Model:
    """Return the model without privileged information; its variables are ``v = (w, b)``.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.linear.families.rows import make_rows
    >>> model = plain_model(np.array([[0.0], [1.0], [2.0]]), make_rows(np.array([1, 2, 3]), "ordinal"))
    >>> model.G.shape, model.A.tolist()
    ((4, 3), [[0.0, -1.0, 1.0]])
    """
    X = np.asarray(X, dtype=float)
    d, k, R = X.shape[1], rows.n_thresholds, len(rows)
    G = np.zeros((R, d + k))
    np.multiply(X[rows.sample], rows.sign[:, None], out=G[:, :d])
    G[np.arange(R), d + rows.threshold] = -rows.sign
    order = np.zeros((k - 1 if rows.ordered else 0, d + k))
    for j in range(order.shape[0]):
        order[j, d + j], order[j, d + j + 1] = -1.0, 1.0
    penalty = np.concatenate([np.ones(d), np.zeros(k)])
    return make_model(G, rows.h, rows.weight, penalty, A=order, a=np.zeros(order.shape[0]))


def plain_column(rows: Rows, column: np.ndarray) -> np.ndarray:
    """Return the column of ``G`` that a feature with values `column` has in a plain model.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.linear.families.rows import make_rows
    >>> plain_column(make_rows(np.array([1, 2]), "binary"), np.array([3.0, 4.0])).tolist()
    [-3.0, 4.0]
    """
    return rows.sign * np.asarray(column, dtype=float)[rows.sample]
