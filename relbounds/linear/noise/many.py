"""Many terms, each by itself, with a bound on the share of false discoveries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.noise.score import Draws, draw, rows_of
from relbounds.linear.noise.smooth import FloatArray, Response, fit_smooth
from relbounds.linear.noise.statistics import TIE, make_loads, make_terms


@dataclass(frozen=True)
class ManyFound:
    """Single-term p-values with a bound on the share of false discoveries."""

    statistic: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    draws: int


def many_test(
    blocks: Sequence[FloatArray],
    response: Response,
    *,
    draws: int = 199,
    rng: np.random.Generator | int = 0,
    adjust: FloatArray | None = None,
    kept: Sequence[FloatArray] = (),
    cluster: NDArray | None = None,
    scores: str = "normal",
) -> ManyFound:
    """Test each of many terms by itself, and bound the share of false discoveries (Benjamini-Hochberg).

    A term's statistic is compared with the permuted values of all terms, which are on one scale: so a p-value can be
    as small as one over draws times terms, as many tests need. Where a term's own permuted values reach further than
    that, which is so for columns with heavy tails, its own tail counts.

    Parameters
    ----------
    blocks, response, rng, adjust, cluster, scores
        As in `score_test`.
    draws : int
        Permutations.
    kept : sequence of arrays
        Columns that the small model has beside the adjusting ones.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(100, 50))
    >>> y = (x[:, 2] + 0.5 * rng.normal(size=100) > 0).astype(int)
    >>> found = many_test(list(x.T), Response("binary", y))
    >>> np.flatnonzero(found.p_adjusted <= 0.05).tolist()
    [2]
    """
    n = response.n
    seed = int(np.random.default_rng(rng).integers(2**62))
    terms = make_terms(blocks, adjust)
    fixed = [] if adjust is None else [np.asarray(adjust, dtype=float).reshape(n, -1)]
    columns = np.concatenate([np.zeros((n, 0)), *fixed, *(np.reshape(one, (n, -1)) for one in kept)], axis=1)
    loads = make_loads(fit_smooth(response, columns, scores))
    arrays = [np.asarray(block, dtype=float).reshape(n, -1) for block in blocks]
    values = draw(terms, loads, Draws(rows_of(cluster, arrays, n), seed, draws, 1.0), pooled=True)
    observed, permuted = values[0], values[1:]
    pool = np.sort(permuted, axis=None)
    beyond = len(pool) - np.searchsorted(pool, observed * (1 - TIE), side="left")
    pooled = (1 + beyond) / (1 + len(pool))
    reached = np.sum(permuted >= observed[None, :] * (1 - TIE), axis=0)
    p = np.where(reached > 0, np.maximum(pooled, (1 + reached) / (1 + draws)), pooled)
    return ManyFound(observed, p, step_up(p), draws)


def step_up(p: FloatArray) -> FloatArray:
    """Return p-values adjusted by Benjamini and Hochberg.

    Examples
    --------
    >>> step_up(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.03]
    """
    m = len(p)
    order = np.argsort(p)[::-1]
    ranked = np.minimum.accumulate(p[order] * m / np.arange(m, 0, -1)) if m else p
    out = np.empty(m)
    out[order] = np.minimum(ranked, 1.0)
    return out
