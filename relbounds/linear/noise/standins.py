"""Terms that can take the place of a kept one: an exact permutation test, without refits.

The score part keeps terms with an effect of their own. A copy of a kept term has none, yet equally good models may use
it in place of the other. Whether it says what the kept term says shows in the model *without* that term: there a copy
has a score, and noise has none. Where several kept terms say much the same (noisy readings of one thing), another
such reading shows only without all of these. So the kept terms are arranged in a tree by their correlations, and for
every branch of it the small smooth model is fitted with the kept terms outside the branch; each term that was not
kept is scored in it.

If the terms that are not kept are noise, permuting their rows changes nothing in the distribution of all these scores.
The largest is compared with the permuted maxima, over all terms and all branches that are left out; a term that is
beyond them is set aside, and so on with the rest. A score depends on its own term, the kept ones and the response
only, so the same permutations serve every step, and the chance that any term of noise is set aside is at most the
level.

A term whose columns span what those of a kept one span needs no test: whatever is said of the one holds for the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage

from relbounds.linear.noise.even import fit_model, is_even, make_table, move, observed_values
from relbounds.linear.noise.moves import IntArray, Moves, Rows, make_moves, maps_of, stay
from relbounds.linear.noise.score import ScoreFound, rows_of
from relbounds.linear.noise.single import in_single, look_again
from relbounds.linear.noise.smooth import FloatArray, Response, fit_smooth
from relbounds.linear.noise.statistics import (
    TIE,
    Loads,
    Moved,
    Terms,
    basis_of,
    chunk_of,
    kept_columns,
    make_loads,
    make_terms,
    score_values,
    take_terms,
)

# The score part's share of alpha. Effects of ordinary size are near the threshold, copies of them are far beyond it:
# with 0.8 the score part loses 0.02 of its recall, with one half 0.07, and stand-ins lose nothing that was seen.
SHARE = 0.8
# After so many draws it is asked which p-values are still of use.
LOOK = 100


@dataclass(frozen=True)
class StandIns:
    """Which terms take the place of kept ones; arrays have an entry a term that was not kept.

    Attributes
    ----------
    left : tuple of int
        Positions of these terms.
    place : tuple of tuples of int
        The kept terms in whose place each says most.
    statistic : array
        Its score in the model without these, as an absolute normal value.
    p : array
        Against its own permuted values.
    p_adjusted : array
        With the promise for all terms together.
    draws : int
    twins : mapping
        For a term that is an exact copy of a kept one: that one.
    """

    left: tuple[int, ...]
    place: tuple[tuple[int, ...], ...]
    statistic: FloatArray
    p: FloatArray
    p_adjusted: FloatArray
    draws: int
    twins: Mapping[int, int] = field(default_factory=dict)

    def aside(self, level: float) -> tuple[int, ...]:
        """Return the terms that say what kept ones say, those at the very level included, as `combine` has it."""
        passed = {t for t, p in zip(self.left, self.p_adjusted, strict=True) if p <= level * (1 + TIE)}
        return tuple(t for t in self.left if t in passed or t in self.twins)


def standin_test(
    blocks: Sequence[FloatArray],
    response: Response,
    kept: Sequence[int],
    *,
    draws: int = 499,
    rng: np.random.Generator | int = 0,
    adjust: FloatArray | None = None,
    cluster: NDArray | None = None,
    scores: str = "normal",
    of_use: float = 1.0,
) -> StandIns:
    """Ask of every term that is not kept whether it says what a kept one says.

    Parameters
    ----------
    blocks, response, rng, adjust, cluster, scores
        As in `score_test`.
    kept : sequence of int
        The terms that `score_test` kept.
    draws : int
        Permutations.
    of_use : float
        A p-value that is certain to be larger may be given as 1, and saves what draws would tell of it.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(100, 3))
    >>> y = (x[:, 0] + 0.5 * rng.normal(size=100) > 0).astype(int)
    >>> blocks = [x[:, 0], 2 * x[:, 0] + 0.3 * x[:, 1], x[:, 2]]
    >>> found = standin_test(blocks, Response("binary", y), kept=[0])
    >>> found.left, (found.p_adjusted <= 0.01).tolist(), found.place[0]
    ((1, 2), [True, False], (0,))
    """
    n = response.n
    arrays = [np.asarray(block, dtype=float).reshape(n, -1) for block in blocks]
    left = tuple(t for t in range(len(arrays)) if t not in set(kept))
    if not left or not kept:
        nothing = np.ones(len(left))
        return StandIns(left, ((),) * len(left), 0 * nothing, nothing, nothing, draws)
    terms = make_terms(arrays, adjust)
    dropped = branches([arrays[t] for t in kept])
    others = [[t for k, t in enumerate(kept) if k not in branch] for branch in dropped]
    seed = int(np.random.default_rng(rng).integers(2**62))
    rows = rows_of(cluster, [arrays[t] for t in left], n)
    if is_even(terms, rows):
        table = make_table(terms, adjust)
        models = [fit_model(table, response, table.kept(some), left, scores=scores) for some in others]
        alone = np.concatenate([observed_values(table, one) for one in models])
        found = move(table, models, seed, draws)
        moved = found.values(0, slice(None))
        for i in range(1, len(models)):
            np.maximum(moved, found.values(i, slice(None)), out=moved)
        own, adjusted = _p_values(alone.max(axis=0), moved, scaled=False)
    else:
        terms = take_terms(terms, left)
        loads = [
            make_loads(fit_smooth(response, kept_columns(arrays, some, adjust, n), scores)) for some in others
        ]
        alone = np.concatenate([score_values(terms, Moved(one, stay(n))) for one in loads])
        if rows.strata:
            moved = _moved_values(terms, loads, rows, seed, draws)
            own, adjusted = _p_values(alone.max(axis=0), moved, scaled=True)
        else:
            own, adjusted = _counted(terms, loads, alone.max(axis=0), (rows, seed, draws), of_use)
    place = tuple(tuple(kept[k] for k in dropped[best]) for best in np.argmax(alone, axis=0))
    return StandIns(left, place, alone.max(axis=0), own, adjusted, draws, twins_of(arrays, left, kept))


def twins_of(blocks: Sequence[FloatArray], left: Sequence[int], kept: Sequence[int]) -> dict[int, int]:
    """Return, for terms whose columns span what those of a kept term span, that kept term.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(50, 2))
    >>> twins_of([x[:, :1], x[:, 1:], 1 - 2 * x[:, :1], x], left=[2, 3], kept=[0, 1])
    {2: 0}
    """
    out: dict[int, int] = {}
    for k in kept:
        base = basis_of(blocks[k] - blocks[k].mean(axis=0))
        same = [t for t in left if blocks[t].shape[1] == blocks[k].shape[1] and t not in out]
        if not same or not base.size:
            continue
        columns = np.hstack([blocks[t] for t in same])
        columns = columns - columns.mean(axis=0)
        rest = np.linalg.norm(columns - base @ (base.T @ columns), axis=0)
        inside = (rest <= TIE * np.linalg.norm(columns, axis=0)).reshape(len(same), -1).all(axis=1)
        for t in np.array(same)[inside].tolist():
            if basis_of(blocks[t] - blocks[t].mean(axis=0)).shape[1] == base.shape[1]:
                out[t] = k
    return out


def _p_values(observed: FloatArray, permuted: FloatArray, scaled: bool) -> tuple[FloatArray, FloatArray]:
    """Return the p-values of terms alone, and adjusted for all of them."""
    if scaled:
        # as in the score part: observations of a cluster are not independent, so terms need a common scale
        both = np.concatenate([observed[None], permuted])
        scale = np.maximum(np.sqrt(np.mean(both**2, axis=0)), 1e-300)
        observed, permuted = observed / scale, permuted / scale
    own = (1 + np.sum(permuted >= observed * (1 - TIE), axis=0)) / (1 + len(permuted))
    return own, step_down(observed, permuted)


def _moved_values(terms: Terms, loads: Sequence[Loads], rows: Rows, seed: int, draws: int) -> FloatArray:
    """Return each term's largest statistic beside any of the models, in permuted data."""
    models = [(terms, one) for one in loads]
    size = min(chunk_of(one) for one in loads)
    return np.concatenate([_largest(models, moves) for moves in _moves(rows, seed, draws, size)])


def _moves(rows: Rows, seed: int, draws: int, size: int) -> Iterator[Moves]:
    """Return the row maps of all draws, so many at a time."""
    for first in range(0, draws, size):
        maps = maps_of(rows, seed, range(first, min(first + size, draws)))
        yield make_moves(maps, rows.one_to_one)


def _counted(
    terms: Terms, loads: Sequence[Loads], observed: FloatArray, how: tuple[Rows, int, int], of_use: float
) -> tuple[FloatArray, FloatArray]:
    """Return the p-values of terms alone, and adjusted for all of them, without clusters.

    It is certain on which side of a term's observed statistic each permuted one lies, and so is the largest of the
    terms that come no earlier; what else single precision loses of them nobody asks for. Terms of which it is certain
    that neither p-value is of use are not looked at further.
    """
    rows, seed, draws = how
    limit = observed * (1 - TIE)
    order = _order(observed)
    own, beyond = np.zeros(len(observed), dtype=int), np.zeros(len(observed), dtype=int)
    rough = [pair for one in loads if (pair := in_single(terms, one)) is not None]
    some, together = np.arange(len(observed)), True
    for moves in _moves(rows, seed, draws, min(LOOK, *(chunk_of(one) for one in loads))):
        exact = partial(_exact, terms, loads, moves, some)
        reached = partial(_reached, order) if together else None
        if rough:
            values = _largest(rough, moves)
            look_again(values, observed[some], reached, exact)
        else:
            values = exact(np.ones(moves.draws, dtype=bool), np.arange(some.size))
        own[some] += np.sum(values >= limit[some], axis=0)
        if reached is not None:
            beyond += np.sum(reached(values) >= limit, axis=0)
            together = bool(np.any(_adjusted(beyond, order, draws) <= of_use))
        if not together:
            # the others' largest values are no longer asked for
            still = ((1 + own) / (1 + draws) <= of_use)[some]
            if not still.any():
                break
            if not still.all():
                some = some[still]
                places = np.flatnonzero(still).tolist()
                rough = [(take_terms(few, places), one) for few, one in rough]
    p, adjusted = (1 + own) / (1 + draws), _adjusted(beyond, order, draws)
    return np.where(p > of_use, 1.0, p), np.where(adjusted > of_use, 1.0, adjusted)


def _order(observed: FloatArray) -> IntArray:
    """Return the terms from the one that says least to the one that says most."""
    return np.argsort(-observed, kind="stable")[::-1]


def _adjusted(beyond: IntArray, order: IntArray, draws: int) -> FloatArray:
    """Return adjusted p-values, or what they are at least: from the first term on none is smaller than one before."""
    out = np.empty(len(beyond))
    first = order[::-1]
    out[first] = np.maximum.accumulate((1 + beyond[first]) / (1 + draws))
    return out


def _reached(order: IntArray, values: FloatArray) -> FloatArray:
    """Return the largest of the values of each column and of those before it in the order."""
    out = np.empty_like(values)
    out[:, order] = np.maximum.accumulate(values[:, order], axis=1)
    return out


def _exact(
    terms: Terms,
    loads: Sequence[Loads],
    moves: Moves,
    some: IntArray,
    draws: NDArray[np.bool_],
    columns: IntArray,
) -> FloatArray:
    """Return the statistics of some terms in double precision, in some of the draws."""
    few = take_terms(terms, some[columns].tolist())
    return _largest([(few, one) for one in loads], moves.take(draws))


def _largest(models: Sequence[tuple[Terms, Loads]], moves: Moves) -> FloatArray:
    """Return each term's largest statistic beside any of some models."""
    out: FloatArray | None = None
    # one model after the other: all their values take much memory
    for terms, one in models:
        values = score_values(terms, Moved(one, moves))
        out = values if out is None else np.maximum(out, values, out=out)
    assert out is not None
    return out


def branches(blocks: Sequence[FloatArray]) -> list[tuple[int, ...]]:
    """Return every branch of a tree of terms by correlation: each alone, pairs most alike, ..., all.

    Two terms are as alike as their largest canonical correlation; a branch joins the one it is closest to on average.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(50, 2))
    >>> branches([x[:, :1], x[:, 1:], x[:, :1] + 0.1 * x[:, 1:]])
    [(0,), (1,), (2,), (0, 2), (0, 1, 2)]
    """
    out: list[tuple[int, ...]] = [(k,) for k in range(len(blocks))]
    if len(blocks) < 2:
        return out
    bases = [basis_of(block - block.mean(axis=0)) for block in blocks]
    alike = [
        min(1.0, _size(bases[i].T @ bases[j])) for i in range(len(bases)) for j in range(i + 1, len(bases))
    ]
    members = dict(enumerate(out))
    for step, (one, other, *_) in enumerate(linkage(1 - np.array(alike), "average")):
        members[len(blocks) + step] = tuple(sorted(members[int(one)] + members[int(other)]))
        out.append(members[len(blocks) + step])
    return out


def _size(matrix: FloatArray) -> float:
    """Return the largest singular value of a matrix; 0 where it is empty."""
    return float(np.linalg.norm(matrix, 2) if matrix.size > 1 else np.abs(matrix).sum())


def step_down(observed: FloatArray, permuted: FloatArray) -> FloatArray:
    """Return p-values adjusted by permuted maxima, over a term and all whose values are smaller.

    Examples
    --------
    >>> permuted = np.array([[1.0, 0.0], [0.0, 2.0], [0.5, 0.5]])
    >>> step_down(np.array([1.5, 0.2]), permuted).tolist()
    [0.5, 0.75]
    """
    order = _order(observed)
    beyond = np.sum(_reached(order, permuted) >= observed * (1 - TIE), axis=0)
    return _adjusted(beyond, order, len(permuted))


@dataclass(frozen=True)
class Verdict:
    """Both parts together, an entry a term.

    Attributes
    ----------
    p : array
        The term alone.
    p_adjusted : array
        Relevant exactly where this is at most alpha.
    relevant : array of bool
    place : mapping
        For a term that was found as a stand-in: the kept terms whose place it can take.
    """

    p: FloatArray
    p_adjusted: FloatArray
    relevant: NDArray[np.bool_]
    place: Mapping[int, tuple[int, ...]]


def combine(
    score: ScoreFound, found: StandIns, usable: NDArray[np.bool_], alpha: float = 0.05, share: float = SHARE
) -> Verdict:
    """Combine the two parts: each adjusted p-value over the part's share of alpha, the smaller counts.

    Parameters
    ----------
    score : ScoreFound
        Tested at ``alpha * share``.
    found : StandIns
        Tested at ``alpha * (1 - share)``.
    usable : array of bool
        Whether equivalent models use each term more than noise. What they do not use takes no other term's place.
    alpha, share : float

    Examples
    --------
    >>> score = ScoreFound((0,), np.zeros(2), np.array([0.001, 0.4]), np.zeros(2), np.array([0.004, 0.72]), np.zeros(2))
    >>> found = StandIns((1,), ((0,),), np.array([5.0]), np.array([0.002]), np.array([0.002]), 499)
    >>> verdict = combine(score, found, np.array([True, True]))
    >>> verdict.p_adjusted.round(3).tolist(), dict(verdict.place)
    ([0.005, 0.01], {1: (0,)})
    """
    by_score = score.p_adjusted / share
    by_place, own = np.full(len(by_score), np.inf), np.full(len(by_score), np.inf)
    left = np.array(found.left, dtype=np.intp)
    by_place[left], own[left] = found.p_adjusted / (1 - share), found.p / (1 - share)
    by_place[~usable] = own[~usable] = np.inf
    p_adjusted = np.minimum(1.0, np.minimum(by_score, by_place))
    # shares of alpha are not exact numbers: what is equal to it but for rounding is equal
    p_adjusted = np.where(np.abs(p_adjusted - alpha) <= TIE * alpha, alpha, p_adjusted)
    twins, theirs = list(found.twins), list(found.twins.values())
    p_adjusted[twins] = p_adjusted[theirs]
    relevant = p_adjusted <= alpha
    p = np.minimum(p_adjusted, np.minimum(score.p / share, own))
    p[twins] = p[theirs]
    place = {t: where for t, where in zip(found.left, found.place, strict=True) if relevant[t]}
    place |= {t: (k,) for t, k in found.twins.items()}
    return Verdict(p, p_adjusted, relevant, place)
