"""P-values of the rows under a term: levels of a factor, pairs of levels, columns of a term with several.

A level is compared with the rest, against noise of the same level: the factor's values change places among all
observations, given the other kept terms. So a rare level, which chance moves further, is held against its own chance.
Two levels are compared by letting their values change places among the observations of the two, given the other kept
terms and the other levels. Both are exact permutation tests by score statistics, as in `score`; the p-values of one
term are adjusted by Holm's method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.noise.beside import partial_values
from relbounds.linear.noise.even import fit_model, is_even, make_table, move, observed_values
from relbounds.linear.noise.moves import IntArray, Rows, make_moves, make_rows, maps_of, stay
from relbounds.linear.noise.smooth import FloatArray, Response, Smooth, fit_smooth
from relbounds.linear.noise.statistics import (
    TIE,
    Loads,
    Moved,
    Terms,
    chunk_of,
    make_loads,
    make_terms,
    score_values,
)


@dataclass(frozen=True)
class RowsFound:
    """P-values of a term's rows.

    Attributes
    ----------
    statistic : array
        Score statistic as a normal value, positive where the row's score is above what the model without it says.
        Nominal responses have no such side: absolute values.
    p : array
        Against the row's own permuted values, two-sided.
    p_adjusted : array
        Adjusted by Holm's method over the rows.
    draws : int
    """

    statistic: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    draws: int


def holm(p: FloatArray) -> FloatArray:
    """Return p-values adjusted by Holm's method.

    Examples
    --------
    >>> holm(np.array([0.01, 0.5, 0.02])).tolist()
    [0.03, 0.5, 0.04]
    """
    m = len(p)
    order = np.argsort(p, kind="stable")
    out = np.empty(m)
    out[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(m, 0, -1))) if m else p
    return out


def codes_of(columns: FloatArray) -> IntArray:
    """Return the level of each observation from the columns of a factor, one column a level.

    Centring and a common scale leave an observation's own level the largest.

    Examples
    --------
    >>> codes_of(np.array([[0.5, -0.2], [-0.5, 0.8]])).tolist()
    [0, 1]
    """
    return np.argmax(columns, axis=1)


def level_test(
    codes: IntArray,
    response: Response,
    *,
    count: int | None = None,
    kept: FloatArray | None = None,
    draws: int = 999,
    rng: np.random.Generator | int = 0,
    cluster: NDArray | None = None,
    adjust: FloatArray | None = None,
) -> RowsFound:
    """Compare each level of a factor with the rest, against noise of the same level.

    Parameters
    ----------
    codes : array of int
        The level of each observation, 0..L-1; levels that do not occur get a p-value of 1.
    response : Response
    count : int or None
        The number of levels; None: as many as the codes show.
    kept : array (n, k) or None
        Columns of the other kept terms.
    draws, rng, cluster, adjust
        As in `score_test`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.integers(3, size=150)
    >>> y = (rng.logistic(size=150) + 2 * (codes == 1) > 0.5).astype(int)
    >>> found = level_test(codes, Response("binary", y))
    >>> (found.p_adjusted <= 0.05).tolist(), np.sign(found.statistic).tolist()
    ([True, True, True], [-1.0, 1.0, -1.0])
    """
    L = int(codes.max()) + 1 if count is None else count
    seen = (np.asarray(codes)[:, None] == np.arange(L)[None, :]).astype(float)
    return _each(list(seen.T), seen, response, kept, (draws, rng, cluster, adjust))


def column_test(
    columns: FloatArray,
    response: Response,
    *,
    kept: FloatArray | None = None,
    draws: int = 999,
    rng: np.random.Generator | int = 0,
    cluster: NDArray | None = None,
    adjust: FloatArray | None = None,
) -> RowsFound:
    """Test each column of a term with several numeric columns, given the term's other columns.

    The columns change places together among the observations; a column's statistic is its coefficient in one step
    from the model without the term, over its standard error.

    Parameters
    ----------
    columns : array (n, p)
    response, kept, draws, rng, cluster, adjust
        As in `level_test`.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=150)
    >>> y = (x**2 + 0.5 * np.random.default_rng(1).normal(size=150) > 1).astype(int)
    >>> found = column_test(np.column_stack([x, x**2]), Response("binary", y))
    >>> (found.p_adjusted <= 0.05).tolist()
    [False, True]
    """
    n = response.n
    seed = int(np.random.default_rng(rng).integers(2**62))
    loads = make_loads(_model(response, kept, adjust), _given(n, kept, adjust))
    rows = make_rows(n, cluster, columns)
    terms = make_terms(list(np.asarray(columns, dtype=float).T), adjust)
    observed = partial_values(terms, Moved(loads, stay(n)))[0]
    p = _own_tails(
        np.abs(observed), lambda given: np.abs(partial_values(terms, given)), loads, (rows, seed, draws)
    )
    return RowsFound(observed, p, holm(p), draws)


def pair_test(
    codes: IntArray,
    response: Response,
    *,
    pairs: Sequence[tuple[int, int]] | None = None,
    kept: FloatArray | None = None,
    draws: int = 999,
    rng: np.random.Generator | int = 0,
    cluster: NDArray | None = None,
    adjust: FloatArray | None = None,
) -> RowsFound:
    """Compare pairs of levels: the first with the second.

    Parameters
    ----------
    codes : array of int
        The level of each observation, 0..L-1.
    response : Response
    pairs : sequence of (int, int), or None
        None: every level with every earlier one.
    kept, draws, rng, cluster, adjust
        As in `level_test`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> codes = rng.integers(3, size=150)
    >>> y = (rng.logistic(size=150) + 2 * (codes == 1) > 0.5).astype(int)
    >>> found = pair_test(codes, Response("binary", y), pairs=[(1, 0), (2, 0)])
    >>> (found.p_adjusted <= 0.05).tolist(), np.sign(found.statistic).tolist()[0]
    ([True, False], 1.0)
    """
    codes = np.asarray(codes)
    L = int(codes.max()) + 1
    chosen = [(a, b) for a in range(1, L) for b in range(a)] if pairs is None else list(pairs)
    seed = int(np.random.default_rng(rng).integers(2**62))
    n = response.n
    others = np.zeros((n, 0)) if kept is None else np.asarray(kept, dtype=float).reshape(n, -1)
    statistic, p = np.zeros(len(chosen)), np.ones(len(chosen))
    for k, (one, other) in enumerate(chosen):
        merged = np.where(codes == one, other, codes)
        levels = np.unique(merged)[1:]
        dummies = (merged[:, None] == levels[None, :]).astype(float)
        base = _model(response, np.concatenate([others, dummies], axis=1), adjust)
        here = np.flatnonzero((codes == one) | (codes == other))
        if not 0 < np.sum(codes[here] == one) < len(here):
            continue
        loads = make_loads(_some(base, here))
        column = (codes[here] == one).astype(float)
        part = None if cluster is None else np.asarray(cluster)[here]
        fixed = None if adjust is None else np.asarray(adjust, dtype=float).reshape(n, -1)[here]
        rows = make_rows(len(here), part, column[:, None])
        found = _tails(make_terms([column], fixed), loads, (rows, seed, draws))
        statistic[k], p[k] = found[0][0], found[1][0]
    return RowsFound(statistic, p, holm(p), draws)


def _given(n: int, *parts: FloatArray | None) -> FloatArray:
    """Return the columns of the other terms and the adjusting ones beside each other."""
    known = [np.asarray(part, dtype=float).reshape(n, -1) for part in parts if part is not None]
    return np.concatenate([np.zeros((n, 0)), *known], axis=1)


def _model(response: Response, kept: FloatArray | None, adjust: FloatArray | None) -> Smooth:
    """Fit the model with the other terms only."""
    return fit_smooth(response, _given(response.n, adjust, kept))


def _some(smooth: Smooth, rows: IntArray) -> Smooth:
    return replace(
        smooth,
        residuals=smooth.residuals[rows],
        information=smooth.information[rows],
        cross=smooth.cross[rows],
    )


def _each(
    columns: Sequence[FloatArray],
    block: FloatArray,
    response: Response,
    kept: FloatArray | None,
    how: tuple[int, np.random.Generator | int, NDArray | None, FloatArray | None],
) -> RowsFound:
    draws, rng, cluster, adjust = how
    seed = int(np.random.default_rng(rng).integers(2**62))
    terms, rows = make_terms(columns, adjust), make_rows(response.n, cluster, block)
    if is_even(terms, rows):
        table = make_table(terms, _given(response.n, adjust, kept))
        model = fit_model(table, response, table.kept([]), range(terms.count))
        moved = move(table, [model], seed, draws)
        observed = observed_values(table, model)[0]
        p = (1 + np.sum(moved.values(0, slice(None)) >= observed * (1 - TIE), axis=0)) / (1 + moved.draws)
        statistic = observed * _signs(terms, model.residuals)
        return RowsFound(statistic, p, holm(p), moved.draws)
    base = _model(response, kept, adjust)
    statistic, p = _tails(terms, make_loads(base), (rows, seed, draws))
    return RowsFound(statistic, p, holm(p), draws)


def _signs(terms: Terms, residuals: FloatArray) -> FloatArray:
    """Return the signs of single columns' scores; ones where there are several linear predictors."""
    sign = np.ones(terms.count)
    if residuals.shape[1] == 1:
        # the basis of a single column is the column itself, scaled: its score has the column's sign
        sign[terms.widths > 0] = np.sign(terms.columns.T @ residuals[:, 0])
    return sign


def _tails(terms: Terms, loads: Loads, how: tuple[Rows, int, int]) -> tuple[FloatArray, FloatArray]:
    """Return signed statistics and own tails of terms with one column each."""
    observed = score_values(terms, Moved(loads, stay(how[0].n)))[0]
    p = _own_tails(observed, lambda given: score_values(terms, given), loads, how)
    return observed * _signs(terms, loads.residuals), p


def _own_tails(
    observed: FloatArray, values: Callable[[Moved], FloatArray], loads: Loads, how: tuple[Rows, int, int]
) -> FloatArray:
    """Return the share of draws, the observed one among them, in which each statistic reaches the observed one."""
    rows, seed, draws = how
    reached = np.zeros(len(observed))
    size = chunk_of(loads)
    for first in range(0, draws, size):
        maps = maps_of(rows, seed, range(first, min(first + size, draws)))
        found = values(Moved(loads, make_moves(maps, rows.one_to_one)))
        reached += np.sum(found >= observed * (1 - TIE), axis=0)
    return (1 + reached) / (1 + draws)
