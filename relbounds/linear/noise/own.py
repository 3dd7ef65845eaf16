"""Has a relevant term an effect of its own, beside all the others? A permutation test, so that "strong" is tested too.

That every equally good model uses a term is what the bounds say, up to their tolerance. A noisy reading of another term
can get there by chance: the other has an effect, the reading only stands in for it. The hypothesis about a term: given
the other terms, it says nothing about the response. Then its score in the smooth model of all the others is due to
chance. What the others do not say of its columns is permuted, and the score compared with permuted ones; exact copies
leave nothing to permute, and none of them is strong.

The others are all terms, found relevant or not: with few rows the term that a reading reads may not be found, and
beside what was found alone the reading would pass for it. Where there are too many columns for the rows, they are the
relevant terms and those that say most of the term in question.

P-values are adjusted for every term that could pass for another: the relevant ones, and those of which some other term
says something. Adjusted for the relevant ones alone they would be too small, since chance has its part in what is
found relevant. Copies, of which nothing is left to test, do not count. So the chance that any term which only stands in
for others is called strong is at most alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc

from relbounds.linear.noise.even import (
    MANY_ROWS,
    Table,
    beside_each,
    fit_model,
    is_even,
    make_table,
    move,
    observed_values,
)
from relbounds.linear.noise.moves import IntArray, Rows, make_rows, maps_of
from relbounds.linear.noise.score import DRAWS, FIRST, enough
from relbounds.linear.noise.smooth import FloatArray, Response, fit_smooth
from relbounds.linear.noise.statistics import (
    FLOOR,
    TIE,
    WIDE,
    Loads,
    Terms,
    kept_columns,
    make_loads,
    make_terms,
    quadratic,
    take_terms,
    to_normal,
)
from relbounds.parallel import chunks, run

# Columns that a term is tested beside, at most, as a share of the observations: with more, the model describes chance.
ROOM = 1 / 5
# The smallest level that a term is tested at: more possible stand-ins than it allows for would ask for more than 20,000
# permutations.
LEAST = 1e-4
# With no more observations than this draws are cheap, and so many of them that a level is met by this part of it: a
# p-value from few draws is uncertain, which costs power.
FEW_ROWS, FINE = 500, 6
# A term that has so much of its variance beside others is no copy of theirs.
CLEAR = 1e-4
# Terms that are looked at to count possible stand-ins: with more, the share among some of them stands for all.
LOOKED = 500
# How many of them are looked at in one product: a matter of memory.
AT_ONCE = 50
# Numbers of one round of draws. After each a term may be given up, so p-values of such terms depend on it.
ROUND = 6_000_000
# Numbers of permuted columns that statistics are made of at a time, so that they stay in the processor's cache.
CACHED = 60_000
# Terms that are drawn together, of one width: fixed, so that the pieces of work do not depend on the number of workers.
PIECE = 5


def own_effects(
    blocks: Sequence[FloatArray],
    responses: Sequence[Response],
    others: Mapping[int, Sequence[int]],
    asked: Sequence[int],
    *,
    alpha: float,
    adjusted: Callable[[FloatArray], FloatArray],
    rng: Sequence[np.random.Generator],
    adjust: FloatArray | None = None,
    cluster: NDArray | None = None,
    n_jobs: int = 1,
    client: Any = None,
) -> dict[int, float]:
    """Ask of relevant terms whether they have effects of their own, for all of them together.

    Parameters
    ----------
    blocks : sequence of arrays (n, p)
        The columns of all terms.
    responses : sequence of Response
        What they are to explain: one, or several, of which each may show the effect.
    others : mapping
        For each relevant term the terms that could explain it.
    asked : sequence of int
        The relevant terms that are tested.
    alpha : float
    adjusted : function
        How p-values are adjusted for one another: Holm's method, or that of Benjamini and Hochberg.
    rng : sequence of Generator
        One a response.
    adjust, cluster
        As in `score_test`.
    n_jobs, client
        As in `relbounds.parallel.run`.

    Returns
    -------
    dict
        An adjusted p-value for each term that was asked for.
    """
    terms, widths = make_terms(blocks), np.array([np.size(block) // len(block) for block in blocks])
    related = count_related(terms, others)
    level = max(alpha / ((len(others) + related) * len(responses)), LEAST)
    beside = {t: choose_beside(terms, widths, t, own, others) for t, own in others.items()}
    del terms  # as large as the data
    found = [
        own_test(
            blocks,
            response,
            beside,
            asked,
            level=level,
            draws=enough(
                DRAWS if response.n <= MANY_ROWS or cluster is None else 0,
                level,
                FINE if response.n <= FEW_ROWS else 2,
            ),
            rng=one,
            adjust=adjust,
            cluster=cluster,
            n_jobs=n_jobs,
            client=client,
        )
        for response, one in zip(responses, rng, strict=True)
    ]
    # of exact copies nothing is left to test: they cannot be called strong, and cost the others nothing
    tested = list(found[0])
    p = len(responses) * np.min([[one[t] for t in tested] for one in found], axis=0)
    most = int(alpha / (LEAST * len(responses)))
    p = np.append(p, np.ones(max(0, min(related, most - len(p)))))
    known = dict(zip(tested, np.minimum(1.0, adjusted(p)), strict=False))
    return {t: float(known.get(t, 1.0)) for t in asked}


def choose_beside(
    terms: Terms, widths: IntArray, term: int, others: Collection[int], relevant: Collection[int]
) -> list[int]:
    """Return the terms beside which one is tested: all others, or as many as the rows have room for.

    Parameters
    ----------
    terms : Terms
    widths : array of int
        The columns that each term has in a model.
    term : int
        The term in question.
    others : collection of int
        All that could explain it.
    relevant : collection of int
        Those that come first: what explains the response. Then those that explain most of the term.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(12, 6))
    >>> x[:, 5] = x[:, 0] + 0.1 * x[:, 5]
    >>> choose_beside(make_terms(list(x.T)), np.ones(6, dtype=int), 0, range(1, 6), relevant=[2])
    [2, 5]
    """
    each = np.array(list(others), dtype=np.intp)
    room = ROOM * len(terms.columns)
    if widths[each].sum() <= room:
        return each.tolist()
    alike = _alike(terms, [term])[0]
    first = np.isin(each, list(relevant))
    chosen: list[int] = []
    for t in each[np.lexsort((-alike[each], ~first))].tolist():
        if widths[t] <= room:
            chosen.append(t)
            room -= widths[t]
    return chosen


def count_related(terms: Terms, besides: Collection[int]) -> int:
    """Return how many terms, besides some, could pass for another: some other term says something of them.

    Correlations count that are beyond what chance explains; by chance one term is expected to be counted.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(100, 6))
    >>> x[:, 1] += x[:, 0]
    >>> terms = make_terms(list(x.T))
    >>> count_related(terms, besides=[]), count_related(terms, besides=[1])
    (2, 1)
    """
    rest = [t for t in range(terms.count) if t not in besides]
    if not rest or terms.count == 1:
        return 0
    some = rest[:: -(-len(rest) // LOOKED)]
    level = 1 / (terms.count * max(1, terms.count - 1))
    n, width = len(terms.columns), terms.widths
    found = 0
    for piece in chunks(len(some), AT_ONCE):
        here = [some[i] for i in piece]
        alike = _alike(terms, here)
        alike[np.arange(len(here)), here] = 0.0
        related = np.zeros(len(here), dtype=bool)
        for w in np.unique(width[width > 0]):
            # of terms with as many columns the one that says most has the smallest tail
            most = n * np.max(alike[:, width == w], axis=1)
            related |= gammaincc(np.maximum(width[here] * w, 1) / 2, most / 2) <= level
        found += int(np.sum(related))
    return round(found * len(rest) / len(some))


def _alike(terms: Terms, some: Sequence[int]) -> FloatArray:
    """Return how much each term says of some, as a sum of squared correlations, shape (some, terms)."""
    own = take_terms(terms, some)
    products = (own.columns.T @ terms.columns) ** 2
    out = np.zeros((own.count, terms.count))
    each, every = own.widths > 0, terms.widths > 0
    if each.any():
        sums = np.add.reduceat(
            np.add.reduceat(products, own.starts[each], axis=0), terms.starts[every], axis=1
        )
        out[np.ix_(each, every)] = sums
    return out


def own_test(
    blocks: Sequence[FloatArray],
    response: Response,
    beside: Mapping[int, Sequence[int]],
    asked: Collection[int] | None = None,
    *,
    level: float = 0.05,
    draws: int = 999,
    rng: np.random.Generator | int = 0,
    adjust: FloatArray | None = None,
    cluster: NDArray | None = None,
    n_jobs: int = 1,
    client: Any = None,
) -> dict[int, float]:
    """Ask of some terms whether they have an effect of their own, each beside others.

    Parameters
    ----------
    blocks : sequence of arrays (n, p)
        The columns of each term.
    response : Response
    beside : mapping
        For each term in question the terms that it is tested beside, see `choose_beside`.
    asked : collection of int or None
        The terms that are tested; None: all in question.
    level : float
        The level at which a p-value decides: a term that can no longer reach it is not drawn to the end.
    draws, rng, adjust, cluster
        As in `score_test`.
    n_jobs, client
        As in `relbounds.parallel.run`.

    Returns
    -------
    dict
        A p-value for each term in question, not adjusted: 1 for those that are not tested, none for those of which
        the others leave nothing to test.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(150, 3))
    >>> y = (x[:, 0] + x[:, 1] + 0.5 * rng.normal(size=150) > 0).astype(int)
    >>> reading = x[:, 1] + 0.3 * x[:, 2]
    >>> beside = {0: [1, 2], 1: [0, 2], 2: [0, 1]}
    >>> found = own_test([x[:, 0], x[:, 1], reading], Response("binary", y), beside)
    >>> [found[t] <= 0.05 for t in range(3)]
    [True, True, False]
    """
    n = response.n
    arrays = [np.asarray(block, dtype=float).reshape(n, -1) for block in blocks]
    seed = int(np.random.default_rng(rng).integers(2**62))
    rows = make_rows(n, cluster, None if cluster is None else np.concatenate(arrays, axis=1))
    if response.n > draws:
        terms = make_terms(arrays, adjust)
        if is_even(terms, rows):
            alone, kept = beside_each(make_table(terms, adjust), beside)
            del terms  # as large as the data
            return _own_of_many(alone, kept, response, asked, seed, draws)
    out: dict[int, float] = {}
    bases = {k: kept_columns(arrays, [k], None, n) for k in {k for others in beside.values() for k in others}}
    fixed = kept_columns(arrays, [], adjust, n)
    tested = [t for t in beside if asked is None or t in asked]
    for t, others in beside.items():
        if t not in tested:
            given = _given(fixed, bases, others)
            if _says_more(arrays[t], given) or make_terms([arrays[t]], given).columns.shape[1]:
                out[t] = 1.0
    shared = (
        {t: (arrays[t], beside[t]) for t in tested},
        fixed,
        {k: bases[k] for t in tested for k in beside[t]},
        (response, rows, seed, draws, level),
    )
    pieces = [[tested[i] for i in piece] for piece in chunks(len(tested), PIECE)]
    for found in run(_p_values, pieces, shared=shared, n_jobs=n_jobs, client=client):
        out.update(found)
    return out


def _given(fixed: FloatArray, bases: Mapping[int, FloatArray], others: Sequence[int]) -> FloatArray:
    """Return the columns that a term is tested beside."""
    return np.concatenate([fixed, *(bases[k] for k in others)], axis=1)


def _p_values(piece: Sequence[int], shared: tuple) -> dict[int, float]:
    """Return the p-values of some terms, but for those of which the others leave nothing."""
    asked, fixed, bases, question = shared
    tested = {}
    for t in piece:
        own, others = asked[t]
        given = _given(fixed, bases, others)
        left = make_terms([own], given).columns
        if left.shape[1]:
            tested[t] = left, given
    out: dict[int, float] = {}
    for width in sorted({left.shape[1] for left, _ in tested.values()}):
        alike = [t for t, (left, _) in tested.items() if left.shape[1] == width]
        out.update(zip(alike, _p_values_of([tested[t] for t in alike], *question), strict=True))
    return out


def _p_values_of(
    terms: list[tuple[FloatArray, FloatArray]],
    response: Response,
    rows: Rows,
    seed: int,
    draws: int,
    level: float,
) -> list[float]:
    """Return the p-values of some terms, each given by what is its own and by the columns that it is tested beside."""
    n, width = terms[0][0].shape
    loads = [make_loads(fit_smooth(response, given)) for _, given in terms]
    observed = [
        float(moved_values(left, own, np.arange(n)[None])[0])
        for (left, _), own in zip(terms, loads, strict=True)
    ]
    p, reached, waiting, done = [1.0] * len(terms), [0] * len(terms), list(range(len(terms))), 0
    while waiting and done < draws:
        stop = min(done + max(1, ROUND // (n * width)), draws, FIRST if done < FIRST else draws)
        maps = maps_of(rows, seed, range(done, stop))
        done = stop
        for i in list(waiting):
            values = moved_values(terms[i][0], loads[i], maps)
            reached[i] += int(np.sum(values >= observed[i] * (1 - TIE)))
            p[i] = (1 + reached[i]) / (1 + done)
            if 1 + reached[i] > level * (1 + draws) + TIE:
                waiting.remove(i)
    return p


def _says_more(own: FloatArray, given: FloatArray) -> bool:
    """Say whether columns are clearly not made up of others: a quick look, which need not tell copies exactly.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(20, 3))
    >>> _says_more(x[:, :1], x[:, 1:]), _says_more(x[:, :1], x)
    (True, False)
    """
    base, own = given - given.mean(axis=0), own - own.mean(axis=0)
    gram = base.T @ base
    # what is added makes the others say less than they do by no more than a share of CLEAR squared
    gram.flat[:: len(gram) + 1] += CLEAR**2 * float(np.max(gram, initial=0.0)) + 1e-200
    shared = base.T @ own
    size = np.sum(own**2, axis=0)
    left = size - np.sum(shared * np.linalg.solve(gram, shared), axis=0)
    return bool(np.any(left > CLEAR * size))


def _own_of_many(
    alone: Table,
    kept: Mapping[int, IntArray],
    response: Response,
    asked: Collection[int] | None,
    seed: int,
    draws: int,
) -> dict[int, float]:
    """Return the same for many observations, all terms drawn together, from what each says beyond others."""
    number = {t: k for k, t in enumerate(kept) if alone.terms.widths[k]}
    out = dict.fromkeys(number, 1.0)
    tested = [t for t in number if asked is None or t in asked]
    if not tested:
        return out
    models = [fit_model(alone, response, kept[t], [number[t]]) for t in tested]
    moved = move(alone, models, seed, draws)
    for i, t in enumerate(tested):
        observed = float(observed_values(alone, models[i])[0, 0])
        reached = np.sum(moved.values(i, slice(None)) >= observed * (1 - TIE))
        out[t] = float(1 + reached) / (1 + moved.draws)
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
    n, w = columns.shape
    own = np.ascontiguousarray(columns.T)
    step = max(1, CACHED // (n * w))
    return np.concatenate([_moved(own[:, maps[i : i + step]], loads) for i in range(0, len(maps), step)])


def _moved(X: FloatArray, loads: Loads) -> FloatArray:
    """Return the statistic of a term whose columns in some draws are given, (w, draws, n)."""
    w, draws, n = X.shape
    s = len(loads.mean)
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
