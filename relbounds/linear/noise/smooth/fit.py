"""The standard model of a response on some columns."""

from __future__ import annotations

import numpy as np

from relbounds.linear.noise.smooth.cox import cox
from relbounds.linear.noise.smooth.facts import FloatArray, Response, Smooth
from relbounds.linear.noise.smooth.least_squares import least_squares
from relbounds.linear.noise.smooth.multinomial import multinomial
from relbounds.linear.noise.smooth.proportional_odds import proportional_odds


def fit_smooth(
    response: Response, columns: FloatArray | None = None, scores: str = "normal", *, shared: bool = True
) -> Smooth:
    """Fit the standard model of a response on the given columns.

    Parameters
    ----------
    response : Response
    columns : array (n, k) or None
        Kept columns, adjusting covariates included; an intercept (thresholds, a baseline hazard) is always there.
    scores : {"normal", "plain"}
        Regression only: residuals by their normal scores (ranks; keeps its power where errors have heavy tails) or
        as they are.
    shared : bool
        Whether the information shared with the estimated parameters is asked for; without it `cross` may be empty,
        which saves ordered levels two arrays of the size of the columns.

    Examples
    --------
    >>> x = np.array([[-1.0], [-0.5], [0.0], [0.5], [1.0], [1.5]])
    >>> found = fit_smooth(Response("binary", np.array([0, 1, 0, 1, 0, 1])), x)
    >>> found.coefficients.round(2).tolist(), bool(abs(found.residuals.sum()) < 1e-8)
    ([[0.72]], True)
    """
    n = response.n
    raw = np.zeros((n, 0)) if columns is None else np.asarray(columns, dtype=float).reshape(n, -1)
    c = response.case_weights
    mean = c @ raw / c.sum()
    K = raw - mean
    spread = np.sqrt(np.einsum("ij,ij,i->j", K, K, c) / c.sum())
    spread = np.where(spread > 1e-12 * np.maximum(1.0, np.abs(mean)), spread, np.inf)
    K /= spread
    if response.kind in ("ordinal", "binary"):
        found = proportional_odds(response, K, c, shared)
    elif response.kind == "regression":
        found = least_squares(np.asarray(response.y, dtype=float), K, c, scores)
    elif response.kind == "nominal":
        found = multinomial(response, K, c)
    else:
        found = cox(response, K, c)
    return Smooth(
        found.residuals,
        found.information,
        found.cross,
        found.coefficients / spread[:, None],
        found.loglik,
        found.converged,
    )
