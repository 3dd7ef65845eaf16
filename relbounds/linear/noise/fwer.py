"""The block test of a part's terms: scores for effects of their own and for stand-ins, refitted blocks for noise.

Which terms are relevant is decided by exact permutation tests of scores: has a term an effect of its own, or does it
say what kept terms say? The rest is permuted together, row by row, and the model fitted again: that shows how much
equivalent models use noise which had its chance to be fitted, and how much of it they need.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from relbounds.design import Design
from relbounds.design.design_terms import DesignTerm
from relbounds.errors import shortened
from relbounds.linear.asked import Asked, RowKey
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.noise.blocks import Together, refit_together, together
from relbounds.linear.noise.even import MANY_ROWS
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.noise.facts import Population
from relbounds.linear.noise.moves import make_rows, maps_of
from relbounds.linear.noise.refits import BlockValues, Refit, at_a_time, refit_each, values_in_each
from relbounds.linear.noise.score import DRAWS, ScoreFound, enough, score_test
from relbounds.linear.noise.smooth import Response
from relbounds.linear.noise.standins import SHARE, StandIns, combine, standin_test
from relbounds.linear.noise.thinning import thinned, thinning_note
from relbounds.linear.ranges import ZERO
from relbounds.noise_intervals import Interval, prediction_interval
from relbounds.options import Options
from relbounds.parallel import chunks, run
from relbounds.progress import stage
from relbounds.seeds import stream
from relbounds.solver.copies import copies

# Permutations for stand-ins, where a model a branch of the kept terms is scored; with many observations in clusters as
# few as the level allows.
STANDIN_DRAWS = 499
# Models fitted to permuted noise: as many as show what one in twenty reaches.
REFITS = 19
# More are fitted where alpha is smaller, down to this: they show noise, they decide nothing.
RAREST = 0.01
# Entries of all refits of one run: larger ones are several, which processes can share.
RUN = 2_000_000
# Stand-ins that a note names.
NAMED = 8


@dataclass(frozen=True)
class Tested:
    """What the block test says of a part's terms.

    Parameters
    ----------
    part : str
    p, p_adjusted : ndarray
        The term by itself, and with the promise for all terms together.
    floor : float
        The least relevance that noise reaches, as a share of the norm: strong terms are above it.
    intervals, population
        Noise as refitted blocks show it; None where no block was left.
    permutations, refits : int
    block : tuple of str
        The terms that were permuted together in the refits.
    notes : tuple of str
    """

    part: str
    p: FloatArray
    p_adjusted: FloatArray
    floor: float
    intervals: tuple[Interval, Interval] | None
    population: Population | None
    permutations: int
    refits: int
    block: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shared:
    """What every refit of a part needs."""

    evidence: Evidence
    part: str
    rows: tuple[Asked, ...]
    columns: tuple[tuple[int, ...], ...]
    block: tuple[int, ...]

    @cached_property
    def measured(self) -> list[Asked]:
        """The rows of the block, of copies one: permuted together they stay copies, and only the largest counts."""
        first, _ = copies(self.evidence.spec.model)
        apart: dict[Hashable, Asked] = {}
        for row in (self.rows[k] for k in self.block):
            single = all(f.signed and len(f.variables) == 1 for f in row.functionals)
            name = tuple((int(first[f.variables[0]]), abs(float(f.tops[0, 0]))) for f in row.functionals)
            apart.setdefault(name if single else row.key, row)
        return list(apart.values())


def block_values(
    evidence: Evidence, terms: Sequence[DesignTerm], block: tuple[int, ...]
) -> list[BlockValues]:
    """Permute a block of terms together, as often as shows what one in twenty reaches, and fit again."""
    part = terms[0].part
    rows = tuple(evidence.spec.asked[i] for i in _places(evidence, terms))
    shared = Shared(evidence, part, rows, tuple(term.columns for term in terms), block)
    count = enough(REFITS, max(evidence.options.alpha, RAREST), 1)
    # privileged terms are tested against two kinds of slack, often with the same block of noise
    found: list[BlockValues] = evidence.memory.recall(
        ("noise", part, block, evidence.delta), lambda: _refits(shared, count)
    )
    return found


# How noise is drawn: the values of a block of terms after it was permuted and the model fitted again.
Drawing = Callable[[Evidence, Sequence[DesignTerm], tuple[int, ...]], list[BlockValues]]


def test_terms(
    evidence: Evidence, terms: Sequence[DesignTerm], response: Response, drawing: Drawing = block_values
) -> Tested:
    """Test the terms of one part: p-values with the promise for all of them together."""
    part = terms[0].part
    score, stands = score_terms(evidence, terms, response)
    places = _places(evidence, terms)
    upper = evidence.measured.upper[places]
    # only what some equivalent model does without can be replaced
    dispensable = evidence.measured.lower[places] <= ZERO * evidence.norm
    free = [t for t, branch in zip(stands.left, stands.place, strict=True) if dispensable[list(branch)].any()]
    aside = stands.aside(evidence.options.alpha * (1 - SHARE))
    noise = set(stands.left) - set(aside)
    # a term that says what needed ones say is held against noise like any other; where nothing looks like noise,
    # permuted stand-ins show what noise in their place would reach
    block = tuple(t for t in stands.left if t in noise or t not in free) or aside
    found = drawing(evidence, terms, block) if block and upper[list(block)].max() > 0 else []
    reached = [one.largest for one in found]
    usable = upper > max(reached, default=0.0)
    usable[free] |= upper[free] > (float(np.median(reached)) if noise and found else 0.0)
    # rows without exact bounds are those that scores tell from noise in neither part
    usable &= ~evidence.measured.at_most[places]
    verdict = combine(score, stands, usable, evidence.options.alpha)
    population, intervals = _noise(evidence, found)
    names = [term.name for term in terms]
    named = {t for t, name in enumerate(names) if RowKey(part, name) not in evidence.fixed}
    return Tested(
        part=part,
        p=verdict.p,
        p_adjusted=verdict.p_adjusted,
        floor=intervals[0].upper if intervals is not None else 0.0,
        intervals=intervals,
        population=population,
        permutations=int(score.draws.max(initial=0)),
        refits=len(found),
        block=tuple(names[k] for k in block) if found else (),
        notes=(
            *_standin_notes(names, {t: where for t, where in verdict.place.items() if t in named}),
            *_dispensable_notes([names[t] for t in score.order if dispensable[t] and t in named]),
            *(thinning_note(evidence) if found else ()),
        ),
    )


def _standin_notes(names: Sequence[str], place: Mapping[int, tuple[int, ...]]) -> tuple[str, ...]:
    """Say which terms are relevant in the place of others only."""
    if not place:
        return ()
    each = [f"{names[t]} ({', '.join(names[k] for k in where)})" for t, where in place.items()]
    return (
        "No effect of its own was found for these terms, but each says what others say (in brackets) and can take "
        f"their place: {shortened(each, NAMED, '; ')}.",
    )


def _dispensable_notes(names: Sequence[str]) -> tuple[str, ...]:
    """Say which terms are weak although an effect was found: that need not mean that another takes their place."""
    if not names:
        return ()
    return (
        "An effect was found for these terms, yet some equally good models do without them, so they are weak; "
        f"substitutes() says whether another term takes their place: {shortened(names, NAMED)}.",
    )


def score_terms(
    evidence: Evidence, terms: Sequence[DesignTerm], response: Response
) -> tuple[ScoreFound, StandIns]:
    """Test for effects of their own, and for terms that say what those say; once for all tolerances."""
    found: tuple[ScoreFound, StandIns] = evidence.memory.recall(
        scores_key(terms, response, evidence.without),
        lambda: scores_of(None, (evidence.design, evidence.options, terms, response)),
    )
    return found


def scores_key(
    terms: Sequence[DesignTerm], response: Response, without: frozenset[RowKey] = frozenset()
) -> Hashable:
    """Return what the tests by scores of a part's terms are remembered by."""
    return "scores", terms[0].part, hash(response.y.tobytes()), without


def scores_of(
    _: None, shared: tuple[Design, Options, Sequence[DesignTerm], Response]
) -> tuple[ScoreFound, StandIns]:
    """Test for effects of their own, and for terms that say what those say."""
    design, options, terms, response = shared
    which = int(terms[0].part == "privileged")
    values = design.Z if which else design.X
    blocks = [values[:, list(term.columns)] for term in terms]
    adjust = design.adjust if design.adjust.shape[1] else None
    level = options.alpha * SHARE
    score = score_test(
        blocks,
        response,
        alpha=level,
        draws=enough(DRAWS, level),
        rng=stream(options.seed, "score test", which),
        adjust=adjust,
        cluster=design.cluster,
    )
    slow = response.n > MANY_ROWS and design.cluster is not None
    stands = standin_test(
        blocks,
        response,
        score.order,
        draws=enough(0 if slow else STANDIN_DRAWS, options.alpha - level),
        rng=stream(options.seed, "stand-ins", which),
        adjust=adjust,
        cluster=design.cluster,
        # a share of alpha makes 1 of larger ones
        of_use=1 - SHARE,
    )
    return score, stands


def _places(evidence: Evidence, terms: Sequence[DesignTerm]) -> list[int]:
    """Return the rows of the terms."""
    where = {row.key: i for i, row in enumerate(evidence.spec.asked)}
    return [where[RowKey(term.part, term.name)] for term in terms]


def block_noise(
    evidence: Evidence, terms: Sequence[DesignTerm], block: tuple[int, ...]
) -> tuple[Population, tuple[Interval, Interval]] | None:
    """Return how relevant a block of terms looks in refits after it was permuted; None where none was fitted."""
    population, intervals = _noise(evidence, block_values(evidence, terms, block))
    return None if population is None or intervals is None else (population, intervals)


def _refits(shared: Shared, count: int) -> list[BlockValues]:
    """Refit models to permuted blocks, shared among processes; the same for any number of them."""
    options = shared.evidence.options
    part, scale = thinned(shared.evidence)
    shared = replace(shared, evidence=part)
    task = together(shared.evidence, shared.part, shared.measured)
    pieces = pieces_of(task, count, at_a_time(part.spec))
    with stage("noise refits", count, options.progress) as done:
        found = run(
            _refit_block,
            pieces,
            shared=(shared, task),
            n_jobs=options.n_jobs,
            client=options.client,
            progress=lambda pieces_done: done(-(-count // len(pieces)) * pieces_done),
        )
    return [BlockValues(scale * one.largest, scale * one.least) for piece in found for one in piece]


def pieces_of(task: Together | None, count: int, single: int = 1) -> list[range]:
    """Deal draws into pieces of a size that does not depend on the number of workers.

    One where small models are refitted in one run, a few where they are larger, so that processes can share them, and
    `single` where each is measured by itself.
    """
    return chunks(count, single if task is None else int(np.clip(RUN // task.entries, 2, count)))


def _refit_block(draws: range, shared: tuple[Shared, Together | None]) -> list[BlockValues]:
    """Permute a block of terms, fit again, and measure how relevant the permuted terms look, for several draws."""
    own, task = shared
    evidence, rows = own.evidence, own.measured
    columns = [j for k in own.block for j in own.columns[k]]
    solver = evidence.options.solver
    found: list[BlockValues | None] = [None] * len(draws)
    if task is not None:
        found = refit_together(evidence, task, columns, permuted(evidence, own.part, columns, draws))
    left = [i for i, one in enumerate(found) if one is None]
    if left:
        values = [permuted(evidence, own.part, columns, draws[i : i + 1]) for i in left]
        refits = _refits_with(evidence, own.part, columns, np.concatenate(values))
        for i, one in zip(left, values_in_each(refits, rows, solver), strict=True):
            found[i] = one
    return [one for one in found if one is not None]


def permuted(evidence: Evidence, part: str, columns: list[int], draws: range) -> FloatArray:
    """Return the values of some columns of a part permuted together, row by row, shape (draws, n, columns)."""
    design = evidence.design
    own = (design.X if part == "regular" else design.Z)[:, columns]
    rows = make_rows(len(own), design.cluster, own)
    orders = maps_of(rows, _seed(evidence.options.seed, part), draws)
    return _shuffled(own, orders, design.adjust)


def _refits_with(evidence: Evidence, part: str, columns: list[int], blocks: FloatArray) -> list[Refit]:
    """Fit again with the values of each block in the place of some columns."""
    values = np.tile(evidence.design.X if part == "regular" else evidence.design.Z, (len(blocks), 1, 1))
    values[:, :, columns] = blocks
    return refit_each(evidence, list(values), part)


def refit_permuted(evidence: Evidence, part: str, columns: list[int], draw: int) -> Refit:
    """Permute some columns of a part together, row by row, and fit again; the same for every draw of that number."""
    return _refits_with(evidence, part, columns, permuted(evidence, part, columns, range(draw, draw + 1)))[0]


def _seed(seed: int, part: str) -> int:
    return int(stream(seed, "noise refits", int(part == "privileged")).integers(2**62))


def _shuffled(columns: FloatArray, orders: np.ndarray, adjust: FloatArray) -> FloatArray:
    """Return columns in other orders of rows; what adjusting covariates say of them stays where it is."""
    if not adjust.shape[1]:
        # column by column in memory: so they are looked up quickest, here and where models have them
        own, out = columns.T.copy(), np.empty((len(orders), columns.shape[1], len(columns)))
        for order, one in zip(orders, out, strict=True):
            np.take(own, order, axis=1, out=one, mode="clip")
        return out.transpose(0, 2, 1)
    base = np.column_stack([np.ones(len(adjust)), adjust])
    fit = base @ np.linalg.lstsq(base, columns, rcond=None)[0]
    return fit + (columns - fit)[orders]


def _noise(
    evidence: Evidence, found: Sequence[BlockValues]
) -> tuple[Population | None, tuple[Interval, Interval] | None]:
    """Return what the refitted blocks show of noise, as shares of the norm."""
    if not found:
        return None, None
    lower = np.array([one.least for one in found]) / evidence.norm
    upper = np.array([one.largest for one in found]) / evidence.norm
    level = 1 - evidence.options.alpha
    pair = (prediction_interval(lower, level, "order"), prediction_interval(upper, level, "order"))
    return Population(lower, upper, len(upper)), pair
