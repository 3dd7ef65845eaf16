"""The block test by refitted models: can equally good models use a term in place of another?

The score part finds terms with an effect of their own. What is left is noise, or stands in for a kept term. H_k: the
terms ranked k and below, by the most that any equivalent model uses them, are noise. Their columns are permuted
together, the model is fitted again at the same settings, and the largest use of a permuted term is noted. H_k is
rejected if the observed value of term k is beyond these. From the top downward, until one is not rejected.

Cost. A hypothesis is given up as soon as it is certain that it will not be rejected. And where the first refits show
that terms further down are far beyond noise too, the walk goes on with the last of these: the hypotheses are nested,
so rejecting that one settles all above it. Which hypothesis to test next never depends on the refits that test it,
but for one thing: a test whose first refits led further down is left undecided. Its first refits were all below the
observed value, which a true hypothesis gives with probability 1 / (first + 1) at most, so that true hypotheses are
tested 1 + 1 / first times at most, on average; every adjusted p-value is raised by that factor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.noise.score import ScoreFound

FloatArray = NDArray[np.float64]
Term = Hashable

# Values equal up to this, relative to the observed one, are ties: the programs are solved to about this accuracy.
TIE = 1e-7
# A term is far beyond noise if it is above the largest refit by this many of the refits' standard deviations.
FAR = 3.0
# Refits of a first look at a block: enough to end most tests of noise, and to show that 5 % is reached.
FIRST = 19
# Refits between two looks at whether a test is lost. Enough to show what noise reaches, few enough to save most refits.
WAVE = 8


@dataclass(frozen=True)
class BlockValues:
    """What one refit after permuting a block shows, in absolute units.

    Attributes
    ----------
    largest : float
        The largest of the permuted terms' greatest relevances.
    by_term : mapping
        Greatest relevance of each permuted term, as far as it was measured.
    least : mapping
        Least relevance of each permuted term, as far as it was measured.
    """

    largest: float
    by_term: Mapping[Term, float] = field(default_factory=dict)
    least: Mapping[Term, float] = field(default_factory=dict)


Wave = Callable[[range, tuple[Term, ...]], Sequence[BlockValues]]


@dataclass(frozen=True)
class WalkFound:
    """What the walk says of each term; arrays are aligned with `terms`.

    Attributes
    ----------
    terms : tuple
        The terms, as given.
    order : tuple of int
        Positions in `terms` by falling relevance.
    relevant : array of bool
    p : array
        The term alone, against its own permuted values (where these were not measured: against the largest).
    p_adjusted : array
        Against the largest of the block, running maximum along the order.
    last_block : tuple
        The terms of the last block that was permuted.
    last : tuple of BlockValues
        Its refits: the population of noise.
    refits : int
        How many refits there were in all.
    """

    terms: tuple[Term, ...]
    order: tuple[int, ...]
    relevant: NDArray[np.bool_]
    p: FloatArray
    p_adjusted: FloatArray
    last_block: tuple[Term, ...]
    last: tuple[BlockValues, ...]
    refits: int


def one_by_one(refit: Callable[[int, tuple[Term, ...]], BlockValues]) -> Wave:
    """Make a wave of single refits.

    Examples
    --------
    >>> wave = one_by_one(lambda draw, block: BlockValues(float(draw)))
    >>> [values.largest for values in wave(range(2, 4), ("a",))]
    [2.0, 3.0]
    """
    return lambda draws, block: [refit(draw, block) for draw in draws]


def refits_needed(alpha: float, first: int = FIRST) -> int:
    """Return how many refits let a p-value reach the level, lowered for tests that are left undecided.

    Examples
    --------
    >>> refits_needed(0.025)
    42
    """
    return math.ceil((1 + 1 / first) / alpha - 1e-9) - 1


def walk(
    observed: Mapping[Term, float],
    wave: Wave,
    *,
    alpha: float = 0.025,
    draws: int | None = None,
    first: int = FIRST,
) -> WalkFound:
    """Walk downward through the terms by their greatest relevance, until a block is not rejected.

    Parameters
    ----------
    observed : mapping
        Greatest relevance of each term that is not kept yet, in absolute units.
    wave : callable
        From numbers of draws and a block of terms to a `BlockValues` each: permutes the block, fits again, measures.
        A wave may run in parallel; its size never depends on the number of workers, and a draw is known by its
        number.
    alpha : float
        The level of this part.
    draws : int or None
        Refits of a test at most; None: as few as let a p-value reach the level.
    first : int
        Refits before the first look.

    Examples
    --------
    >>> noise = lambda draw, block: BlockValues(float(np.random.default_rng(draw).random()))
    >>> found = walk({"copy": 3.0, "noise": 0.4}, one_by_one(noise))
    >>> found.relevant.tolist(), found.p_adjusted.round(3).tolist()
    ([True, False], [0.024, 0.702])
    """
    terms = tuple(observed)
    values = np.array([float(observed[term]) for term in terms])
    order = np.argsort(-values, kind="stable")
    most = refits_needed(alpha, first) if draws is None else draws
    raised = 1 + 1 / first
    allowed = math.floor(alpha / raised * (most + 1) + 1e-9) - 1
    p, p_adjusted = np.ones(len(terms)), np.ones(len(terms))
    relevant = np.zeros(len(terms), dtype=bool)
    refits = place = settled = 0
    highest = 0.0
    block: tuple[Term, ...] = ()
    found: list[BlockValues] = []
    while place < len(terms):
        block = tuple(terms[t] for t in order[place:])
        mark = values[order[place]]
        found = []
        for wanted in (min(first, most), most):
            # in waves: once too many refits have reached the term it will not be rejected
            while len(found) < wanted and _reached(found, mark) <= allowed:
                count = min(WAVE, wanted - len(found))
                found += wave(range(refits, refits + count), block)
                refits += count
            further = _furthest(values[order], place, found) if wanted < most else place
            if _reached(found, mark) > allowed or further > place:
                break
        if _reached(found, mark) <= allowed and further > place:
            place = further
            continue
        reached = _reached(found, mark)
        step = min(1.0, raised * (1 + reached) / (1 + len(found)))
        if reached > allowed:
            break
        highest = max(highest, step)
        here = order[settled : place + 1]
        relevant[here], p_adjusted[here] = True, highest
        p[here] = [_own(found, terms[t], values[t], step) for t in here]
        further = _furthest(values[order], place + 1, found) if place + 1 < len(terms) else place + 1
        settled, place = place + 1, further
    # what was passed over on the way to a test that did not reject is as doubtful as that one
    for t in order[settled:]:
        reached = _reached(found, values[t] if t in order[place:] else values[order[place]])
        step = min(1.0, raised * (1 + reached) / (1 + len(found)))
        highest = max(highest, step)
        p_adjusted[t] = highest
        p[t] = _own(found, terms[t], values[t], step)
    return WalkFound(
        terms, tuple(int(t) for t in order), relevant, p, p_adjusted, block, tuple(found), refits
    )


def _reached(found: Sequence[BlockValues], mark: float) -> int:
    return sum(one.largest >= mark * (1 - TIE) for one in found)


def _furthest(ranked: FloatArray, place: int, found: Sequence[BlockValues]) -> int:
    """Return the last place whose value is far beyond the refits; `place` if there is none.

    Where half of the refits use no permuted term at all they say little: at a C that was tuned to a relation, a model
    of noise alone is often 0. Then there is no shortcut.
    """
    largest = np.array([one.largest for one in found])
    if np.median(largest) <= 0:
        return place
    far = np.flatnonzero(ranked > largest.max() + FAR * largest.std(ddof=1) if len(largest) > 1 else False)
    return max(place, int(far[-1])) if len(far) else place


def _own(found: Sequence[BlockValues], term: Term, mark: float, otherwise: float) -> float:
    """Return the tail of a term against its own permuted values."""
    own = [one.by_term[term] for one in found if term in one.by_term]
    if len(own) < len(found) or not own:
        return otherwise
    return (1 + sum(value >= mark * (1 - TIE) for value in own)) / (1 + len(own))


def strong_p(least: Mapping[Term, float], found: WalkFound) -> dict[Term, float]:
    """Return p-values of terms' least relevance, against the largest least relevance of permuted terms.

    Parameters
    ----------
    least : mapping
        Observed least relevance of terms, in absolute units.
    found : WalkFound
        The walk, whose last refits measured least values.

    Examples
    --------
    >>> refits = tuple(BlockValues(0.1, least={"a": 0.0}) for _ in range(19))
    >>> none = np.zeros(0)
    >>> found = WalkFound((), (), none.astype(bool), none, none, ("a",), refits, 19)
    >>> strong_p({"x": 0.2, "y": 0.0}, found)
    {'x': 0.05, 'y': 1.0}
    """
    reached = np.array([max(one.least.values(), default=0.0) for one in found.last])
    # least relevance 0 is reached by everything
    return {
        term: (1 + int(np.sum(reached >= value * (1 - TIE)))) / (1 + len(reached))
        for term, value in least.items()
    }


@dataclass(frozen=True)
class Verdict:
    """Both parts together, an entry a term of the score part.

    Attributes
    ----------
    p : array
        The term alone.
    p_adjusted : array
        Relevant exactly where this is at most alpha.
    relevant : array of bool
    by : tuple of str
        Which part found it: "score", "refit" or "" (neither).
    """

    p: FloatArray
    p_adjusted: FloatArray
    relevant: NDArray[np.bool_]
    by: tuple[str, ...]


def combine(score: ScoreFound, found: WalkFound | None, alpha: float = 0.05, share: float = 0.5) -> Verdict:
    """Combine the two parts: each adjusted p-value over the part's share of alpha, the smaller counts.

    Parameters
    ----------
    score : ScoreFound
        Tested at ``alpha * share``.
    found : WalkFound or None
        Tested at ``alpha * (1 - share)``; its terms are positions in the score part. None: nothing was left.
    alpha, share : float

    Examples
    --------
    >>> score = ScoreFound((0,), np.zeros(2), np.array([0.001, 0.4]), np.zeros(2), np.array([0.001, 0.7]), np.zeros(2))
    >>> found = WalkFound((1,), (0,), np.array([True]), np.array([0.02]), np.array([0.02]), (1,), (), 42)
    >>> verdict = combine(score, found)
    >>> verdict.p_adjusted.tolist(), verdict.by
    ([0.002, 0.04], ('score', 'refit'))
    """
    by_score = score.p_adjusted / share
    by_refit, own = np.ones(len(by_score)), np.ones(len(by_score))
    if found is not None and found.terms:
        at = np.array([int(term) for term in found.terms])  # type: ignore[call-overload]
        by_refit[at], own[at] = found.p_adjusted / (1 - share), found.p / (1 - share)
    p_adjusted = np.minimum(1.0, np.minimum(by_score, by_refit))
    relevant = p_adjusted <= alpha * (1 + 1e-12)
    by = np.where(relevant, np.where(by_score <= by_refit, "score", "refit"), "")
    p = np.minimum(p_adjusted, np.minimum(score.p / share, own))
    return Verdict(p, p_adjusted, relevant, tuple(by.tolist()))
