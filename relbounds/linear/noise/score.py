"""Does a term say something about the response that the kept terms do not? An exact permutation test by scores.

H_k: the terms that are not kept are noise, that is, their rows, all columns together, are exchangeable given the kept
terms and the response. Under it any statistic of (block, kept terms, response) has the same distribution in permuted
data as in the observed ones. Here it is the score statistic of each term: the derivative of the log-likelihood of a
small smooth model with the kept terms only, standardised by its information given what that model estimated. So
neither the model nor its residuals change from permutation to permutation, and thousands of these are a few matrix
products. Terms that hide one another (correlated, with effects of opposite sign) say little one by one; where there
are observations enough, each term's statistic given all others, in one Newton step, counts if it is larger.

Top down: while the largest statistic is beyond the permuted maxima, keep that term, fit the small model again and go
on; stop at the first block that is not rejected. So only one true hypothesis is ever tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.noise.beside import partial_values
from relbounds.linear.noise.even import (
    Model,
    Table,
    fit_model,
    is_even,
    make_table,
    move,
    observed_values,
)
from relbounds.linear.noise.moves import Moves, Rows, make_moves, make_rows, maps_of, stay
from relbounds.linear.noise.single import in_single, look_again
from relbounds.linear.noise.smooth import FloatArray, Response, fit_smooth
from relbounds.linear.noise.statistics import (
    TIE,
    Loads,
    Moved,
    Terms,
    chunk_of,
    kept_columns,
    make_loads,
    make_terms,
    pairs_of,
    score_values,
    see,
    take_terms,
)

# Terms are also looked at together where their columns are no more than this share of the observations (beyond, what
# is left of a column given all others is mostly chance), and their squared number times the observations is no more
# than this (the cost of a draw).
TOGETHER_SHARE, TOGETHER_COST = 1 / 4, 4_000_000
# Permutations: matrix products, no refits.
DRAWS = 999
# Draws of the first look: when they already show that the block is not rejected, the rest are not drawn.
FIRST = 199
# With very many observations the next step is taken before any draw while a term's statistic is larger than this, up to
# so many steps: draws are then made for all of them at once.
CLEAR, AHEAD = 4.0, 20
# Row maps are kept from step to step up to this many entries.
MOST_KEPT = 2_000_000
# Kept columns at most, as a share of the observations; a model with more describes chance.
ROOM = 1 / 3


@dataclass(frozen=True)
class ScoreFound:
    """What the score part says of each term; arrays have an entry a term.

    Attributes
    ----------
    order : tuple of int
        The kept terms, in the order in which they were kept.
    statistic : array
        Score statistic as an absolute normal value, when the term was kept, or in the last block.
    p : array
        The term alone: against its own permuted values.
    p_step : array
        Against the largest permuted value of the block, when the term was kept, or in the last block.
    p_adjusted : array
        The running maximum of `p_step` along the order: at most `alpha` for kept terms, and above it for others.
    draws : array of int
        Permutations behind the p-values.
    """

    order: tuple[int, ...]
    statistic: FloatArray
    p: FloatArray
    p_step: FloatArray
    p_adjusted: FloatArray
    draws: NDArray[np.intp]

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Whether each term was kept."""
        out = np.zeros(len(self.p), dtype=bool)
        out[list(self.order)] = True
        return out


def score_test(
    blocks: Sequence[FloatArray],
    response: Response,
    *,
    alpha: float = 0.025,
    draws: int = 999,
    rng: np.random.Generator | int = 0,
    adjust: FloatArray | None = None,
    kept: Sequence[int] = (),
    cluster: NDArray | None = None,
    scores: str = "normal",
) -> ScoreFound:
    """Keep terms as long as the most telling one is beyond what permuted blocks reach.

    Parameters
    ----------
    blocks : sequence of arrays (n, p)
        The columns of each term.
    response : Response
    alpha : float
        The level of each step.
    draws : int
        Permutations.
    rng : Generator or int
        Where the permutations' seed comes from.
    adjust : array (n, a) or None
        Columns that every model has and that are not tested.
    kept : sequence of int
        Terms that are kept from the start, without test; their p-values are 0.
    cluster : array or None
        The cluster of each observation: whole clusters change places.
    scores : {"normal", "plain"}
        See `fit_smooth`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(100, 4))
    >>> y = (x[:, 2] + 0.5 * rng.normal(size=100) > 0).astype(int)
    >>> found = score_test(list(x.T), Response("binary", y), rng=0)
    >>> found.order, bool((found.p_adjusted <= 0.025).tolist() == found.kept.tolist())
    ((2,), True)
    """
    count = len(blocks)
    seed = int(np.random.default_rng(rng).integers(2**62))
    arrays = [np.asarray(block, dtype=float).reshape(response.n, -1) for block in blocks]
    terms = make_terms(arrays, adjust)
    statistic, p, p_step = np.full(count, np.inf), np.zeros(count), np.zeros(count)
    p_adjusted, used = np.zeros(count), np.zeros(count, dtype=np.intp)
    order = [int(t) for t in kept]
    left = [t for t in range(count) if t not in order]
    room = ROOM * response.n
    highest = 0.0
    steps = _Steps(arrays, terms, response, adjust, scores, room)
    plan: Draws | None = None
    ahead: list[tuple[FloatArray, bool]] = []
    while left:
        if not ahead:
            # which clusters may change places depends on the columns that move
            if plan is None or cluster is not None:
                plan = Draws(rows_of(cluster, [arrays[t] for t in left], response.n), seed, draws, alpha)
            ahead = steps.draw(order, left, plan)
        values, full = ahead.pop(0)
        observed, permuted = values[0], values[1:]
        largest = permuted.max(axis=1)
        top = _top(observed)
        block_p = _tail(observed, largest[:, None])
        if not full and block_p[top] <= alpha + TIE:
            t = left.pop(top)
            order.append(t)
            highest = max(highest, float(block_p[top]))
            statistic[t], p_step[t], p_adjusted[t], used[t] = (
                observed[top],
                block_p[top],
                highest,
                len(permuted),
            )
            p[t] = _tail(observed[top : top + 1], permuted[:, top : top + 1])[0]
            continue
        at = np.array(left)
        statistic[at], p_step[at], used[at] = observed, block_p, len(permuted)
        p[at] = _tail(observed, permuted)
        p_adjusted[at] = 1.0 if full else np.maximum(block_p, highest)
        break
    return ScoreFound(tuple(order[len(kept) :]), statistic, p, p_step, p_adjusted, used)


@dataclass(frozen=True)
class _Steps:
    """What the models of the steps are fitted to."""

    arrays: Sequence[FloatArray]
    terms: Terms
    response: Response
    adjust: FloatArray | None
    scores: str
    room: float

    def draw(self, order: Sequence[int], left: Sequence[int], plan: Draws) -> list[tuple[FloatArray, bool]]:
        """Return observed and permuted statistics of the next steps, and whether their models are full.

        Few observations: of one step. Many: of as many as are clear beforehand, so that each draw serves all of them.
        """
        if is_even(self.terms, plan.rows):
            return self._draw_ahead(list(order), list(left), plan)
        columns = kept_columns(self.arrays, order, self.adjust, self.response.n)
        loads = make_loads(fit_smooth(self.response, columns, self.scores), columns)
        return [(draw(take_terms(self.terms, left), loads, plan), columns.shape[1] >= self.room)]

    def _draw_ahead(self, order: list[int], left: list[int], plan: Draws) -> list[tuple[FloatArray, bool]]:
        table = make_table(self.terms, self.adjust)
        models: list[Model] = []
        full: list[bool] = []
        while True:
            models.append(
                fit_model(table, self.response, table.kept(order), left, scores=self.scores, together=True)
            )
            full.append(len(models[-1].kept) >= self.room)
            observed = observed_values(table, models[-1])[0]
            top = _top(observed)
            if full[-1] or observed[top] <= CLEAR or len(left) == 1 or len(models) == AHEAD:
                return list(zip(draw_many(table, models, plan), full, strict=True))
            order, left = [*order, left[top]], left[:top] + left[top + 1 :]


def draw_many(table: Table, models: Sequence[Model], plan: Draws) -> list[FloatArray]:
    """Return, for each model, the observed statistics (first row) and those of permuted blocks."""
    moved = move(table, models, plan.seed, plan.count)
    allowed = int(plan.alpha * (moved.draws + 1) + TIE) - 1
    looks = min(FIRST, moved.draws)
    out = []
    for i, one in enumerate(models):
        values = np.concatenate([observed_values(table, one), moved.values(i, slice(looks))])
        exceeding = int(np.sum(values[1:].max(axis=1) >= values[0].max() * (1 - TIE)))
        if exceeding <= allowed:
            values = np.concatenate([values, moved.values(i, slice(looks, None))])
        out.append(values)
    return out


def rows_of(cluster: NDArray | None, arrays: Sequence[FloatArray], n: int) -> Rows:
    """Say how the rows of some terms may change places."""
    return make_rows(n) if cluster is None else make_rows(n, cluster, np.concatenate(arrays, axis=1))


def enough(draws: int, level: float, least: int = 2) -> int:
    """Return as many draws as given, or as let a p-value of a `least`-th part of the level show."""
    return max(draws, int(np.ceil(least / level - 1e-9)) - 1)


@dataclass(frozen=True)
class Draws:
    """Which permutations: how rows move, the seed, how many, and the level at which they decide.

    Those of few observations are kept, for the next step of a test.
    """

    rows: Rows
    seed: int
    count: int
    alpha: float
    kept: dict[range, Moves] = field(default_factory=dict)

    def moves(self, draws: range, looks: int) -> Moves:
        """Return the row maps of some draws, which are all before or all after the first look."""
        if self.count * self.rows.n > MOST_KEPT:
            return self._make(draws)
        look = range(looks) if draws.stop <= looks else range(looks, self.count)
        if look not in self.kept:
            self.kept[look] = self._make(look)
        return self.kept[look].take(slice(draws.start - look.start, draws.stop - look.start))

    def _make(self, draws: range) -> Moves:
        return make_moves(maps_of(self.rows, self.seed, draws), self.rows.one_to_one)


def draw(terms: Terms, loads: Loads, plan: Draws, pooled: bool = False) -> FloatArray:
    """Return the observed statistics (first row) and those of permuted blocks.

    Where these are `pooled`, that is, compared with observed ones of all terms, terms are looked at one by one only.
    Otherwise it is certain on which side of its term's observed value each lies, and the largest of a draw on which
    side of every observed one; what else single precision loses of them nobody asks for.
    """
    rows, n = plan.rows, plan.rows.n
    D = terms.columns.shape[1]
    s = loads.mean.shape[0]
    together = not pooled and D > 1 and D * s <= TOGETHER_SHARE * n and D * D * n <= TOGETHER_COST
    # of one linear predictor, terms together have the information of each draw
    pairs = pairs_of(terms.columns) if together and s == 1 and loads.varying is not None else None
    pieces = [_values(terms, Moved(loads, stay(n)), together, pairs)]
    allowed = int(plan.alpha * (plan.count + 1) + TIE) - 1
    # clusters: the information takes observations for independent, so terms need a common scale, from all draws
    scaled = bool(rows.strata)
    looks = plan.count if scaled else min(FIRST, plan.count)
    rough = None if pooled or together or scaled else in_single(terms, loads)
    observed = pieces[0][0]
    size = chunk_of(loads, D * D if together else 0)
    exceeding = done = 0
    while done < plan.count:
        stop = min(done + size, looks if done < looks else plan.count)
        moves = plan.moves(range(done, stop), looks)
        if rough is None:
            values = _values(terms, Moved(loads, moves), together, pairs)
        else:
            values = score_values(rough[0], Moved(rough[1], moves))
            exact = partial(_exact_values, terms, loads, moves)
            look_again(values, observed, lambda values: values.max(axis=1, keepdims=True), exact)
        pieces.append(values)
        exceeding += int(np.sum(values.max(axis=1) >= observed.max() * (1 - TIE)))
        done = stop
        if done == looks and exceeding > allowed:
            break
    out = np.concatenate(pieces)
    if scaled:
        # the observed value is one of them, so that all arrangements are treated alike
        out = out / np.maximum(np.sqrt(np.mean(out**2, axis=0)), 1e-300)
    return out


def _exact_values(
    terms: Terms, loads: Loads, moves: Moves, draws: NDArray[np.bool_], columns: NDArray[np.intp]
) -> FloatArray:
    return score_values(take_terms(terms, columns.tolist()), Moved(loads, moves.take(draws)))


def _values(terms: Terms, given: Moved, together: bool, pairs: FloatArray | None) -> FloatArray:
    """Return the larger of each term's statistics: by itself, and given all other terms."""
    if not together:
        return score_values(terms, given)
    seen = see(terms.columns, given, pairs)
    return np.maximum(score_values(terms, given, seen), np.abs(partial_values(terms, given, seen)))


def _top(observed: FloatArray) -> int:
    """Return the first of the largest values: rounding does not choose among copies."""
    return int(np.flatnonzero(observed >= observed.max() * (1 - TIE))[0])


def _tail(observed: FloatArray, permuted: FloatArray) -> FloatArray:
    """Return (1 + number of permuted values that reach the observed one) / (1 + number of draws)."""
    reached = np.sum(permuted >= observed[None, :] * (1 - TIE), axis=0)
    return (1 + reached) / (1 + len(permuted))
