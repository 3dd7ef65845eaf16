"""Has a relevant term an effect of its own, beside all the others? A permutation test, so that "strong" is tested too.

That every equally good model uses a term is what the bounds say, up to their tolerance. A noisy reading of another term
can get there by chance: the other has an effect, the reading only stands in for it. The hypothesis about a term: given
the other relevant terms, it says nothing about the response. Then its score in the smooth model of all the others is
due to chance. What the others do not say of its columns is permuted, and the score compared with permuted ones; exact
copies leave nothing to permute, and none of them is strong.

P-values are adjusted over all relevant terms of a fit. So the chance that any term which only stands in for relevant
ones is called strong is at most alpha.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.noise.moves import IntArray, make_rows, maps_of
from relbounds.linear.noise.score import FIRST
from relbounds.linear.noise.smooth import FloatArray, Response, fit_smooth
from relbounds.linear.noise.statistics import (
    CHUNK,
    FLOOR,
    TIE,
    WIDE,
    Loads,
    kept_columns,
    make_loads,
    make_terms,
    quadratic,
    to_normal,
)


def own_test(
    blocks: Sequence[FloatArray],
    response: Response,
    asked: Sequence[int],
    *,
    level: float = 0.05,
    draws: int = 999,
    rng: np.random.Generator | int = 0,
    adjust: FloatArray | None = None,
    cluster: NDArray | None = None,
) -> FloatArray:
    """Ask of some terms whether they have an effect of their own, given all the terms that are handed over.

    Parameters
    ----------
    blocks : sequence of arrays (n, p)
        The columns of each relevant term.
    response : Response
    asked : sequence of int
        Positions of the terms in question.
    level : float
        The level at which a p-value decides: a term that can no longer reach it is not drawn to the end.
    draws, rng, adjust, cluster
        As in `score_test`.

    Returns
    -------
    array
        A p-value for each term in question, not adjusted; 1 for a term that the others determine.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(150, 3))
    >>> y = (x[:, 0] + x[:, 1] + 0.5 * rng.normal(size=150) > 0).astype(int)
    >>> reading = x[:, 1] + 0.3 * x[:, 2]
    >>> (own_test([x[:, 0], x[:, 1], reading], Response("binary", y), [0, 1, 2]) <= 0.05).tolist()
    [True, True, False]
    """
    n = response.n
    arrays = [np.asarray(block, dtype=float).reshape(n, -1) for block in blocks]
    seed = int(np.random.default_rng(rng).integers(2**62))
    rows = make_rows(n, cluster, None if cluster is None else np.concatenate(arrays, axis=1))
    out = np.ones(len(asked))
    waiting: dict[int, tuple[FloatArray, Loads, float]] = {}
    for k, t in enumerate(asked):
        others = kept_columns(arrays, [i for i in range(len(arrays)) if i != t], adjust, n)
        left = make_terms([arrays[t]], others).columns
        if left.shape[1]:
            loads = make_loads(fit_smooth(response, others))
            waiting[k] = left, loads, float(moved_values(left, loads, np.arange(n)[None])[0])
    reached, done = np.zeros(len(asked), dtype=int), 0
    while waiting and done < draws:
        widest = max(left.shape[1] for left, _, _ in waiting.values())
        stop = min(done + max(1, CHUNK // (n * widest)), draws, FIRST if done < FIRST else draws)
        maps = maps_of(rows, seed, range(done, stop))
        done = stop
        for k, (left, loads, observed) in list(waiting.items()):
            reached[k] += int(np.sum(moved_values(left, loads, maps) >= observed * (1 - TIE)))
            out[k] = (1 + reached[k]) / (1 + done)
            if 1 + reached[k] > level * (1 + draws) + TIE:
                del waiting[k]
    return out


def moved_values(columns: FloatArray, loads: Loads, maps: IntArray) -> FloatArray:
    """Return the score statistic of one term in each permuted data set, as an absolute normal value.

    As `score_values`, which moves the model instead of the columns: that pays for many terms beside one model, this
    for one term beside many kept ones.

    Examples
    --------
    >>> y = np.array([0, 0, 1, 1, 0, 1])
    >>> loads = make_loads(fit_smooth(Response("binary", y)))
    >>> moved_values(make_terms([y.astype(float)]).columns, loads, np.arange(6)[None]).round(3)
    array([2.449])
    """
    draws, n = maps.shape
    w, s = columns.shape[1], len(loads.mean)
    X = np.ascontiguousarray(columns.T)[:, maps]
    flat = X.reshape(w * draws, n)
    u = (flat @ loads.residuals).reshape(w, draws, s)
    c = (flat @ loads.cross.reshape(n, -1)).reshape(w, draws, s, -1)
    V = np.broadcast_to(np.kron(loads.mean, np.eye(w)) * (1 + FLOOR), (draws, s * w, s * w)).copy()
    V = V.reshape(draws, s, w, s, w)
    V -= np.einsum("idam,jdbm->daibj", c, c)
    if loads.varying is not None and w <= WIDE:
        for i in range(w):
            for j in range(i, w):
                value = ((X[i] * X[j]) @ loads.varying.reshape(n, s * s)).reshape(draws, s, s)
                V[:, :, i, :, j] += value
                if i != j:
                    V[:, :, j, :, i] += value
    flat_u = u.transpose(1, 2, 0).reshape(draws, 1, s * w)
    return to_normal(quadratic(flat_u, V.reshape(draws, 1, s * w, s * w)), s * w)[:, 0]
