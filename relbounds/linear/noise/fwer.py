"""The ordered block test of a part's terms: scores for effects of their own, refitted blocks for stand-ins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relbounds.design import Design
from relbounds.design.design_terms import DesignTerm
from relbounds.linear.asked import Asked, RowKey
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.noise.blocks import Refit, largest_in, largest_least_in, refit
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.noise.facts import Population
from relbounds.linear.noise.moves import make_rows, maps_of
from relbounds.linear.noise.score import score_test
from relbounds.linear.noise.smooth import Response
from relbounds.linear.noise.walk import BlockValues, WalkFound, combine, walk
from relbounds.noise_intervals import Interval, prediction_interval
from relbounds.parallel import run
from relbounds.progress import stage
from relbounds.seeds import stream

# Permutations of the score part: matrix products, no refits.
DRAWS = 999


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
        The terms that were permuted together in the last refits.
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


def test_terms(evidence: Evidence, terms: Sequence[DesignTerm], response: Response) -> Tested:
    """Test the terms of one part: p-values with the promise for all of them together.

    Half of alpha goes to the score part, half to the walk through refitted blocks.
    """
    design, options = evidence.design, evidence.options
    part = terms[0].part
    values = design.X if part == "regular" else design.Z
    score = score_test(
        [values[:, list(term.columns)] for term in terms],
        response,
        alpha=options.alpha / 2,
        draws=max(DRAWS, int(np.ceil(4 / options.alpha)) - 1),
        rng=stream(options.seed, "score test", int(part == "privileged")),
        adjust=_adjusting(design),
        cluster=design.cluster,
    )
    kept = score.kept
    rows = tuple(evidence.spec.asked[_place(evidence, term)] for term in terms)
    upper = np.array([evidence.measured.upper[_place(evidence, term)] for term in terms])
    left = {k: float(upper[k]) for k in np.flatnonzero(~kept)}
    found = None
    # a term that no equivalent model uses stands in for nothing
    if left and max(left.values()) > 0:
        shared = Shared(evidence, part, rows, tuple(term.columns for term in terms))
        with stage("noise refits", 19, options.progress) as done:
            found = walk(left, _Waves(shared, done), alpha=options.alpha / 2)
    verdict = combine(score, found, options.alpha)
    names = tuple(terms[int(k)].name for k in found.last_block) if found is not None else ()  # type: ignore[call-overload]
    population, intervals = _noise(evidence, found)
    return Tested(
        part=part,
        p=verdict.p,
        p_adjusted=verdict.p_adjusted,
        floor=intervals[0].upper if intervals is not None else 0.0,
        intervals=intervals,
        population=population,
        permutations=int(score.draws.max(initial=0)),
        refits=0 if found is None else found.refits,
        block=names,
    )


def _place(evidence: Evidence, term: DesignTerm) -> int:
    return next(i for i, row in enumerate(evidence.spec.asked) if row.key == RowKey(term.part, term.name))


def _adjusting(design: Design) -> FloatArray | None:
    return design.adjust if design.adjust.shape[1] else None


class _Waves:
    """Waves of refits, shared among processes; the same for any number of them."""

    def __init__(self, shared: Shared, done: object) -> None:
        self.shared, self.done = shared, done

    def __call__(self, draws: range, block: tuple) -> list[BlockValues]:
        options = self.shared.evidence.options
        return run(
            _refit_block,
            [(draw, block) for draw in draws],
            shared=self.shared,
            n_jobs=options.n_jobs,
            client=options.client,
            progress=self.done,  # type: ignore[arg-type]
        )


def _refit_block(task: tuple[int, tuple[int, ...]], shared: Shared) -> BlockValues:
    """Permute a block of terms, fit again, and measure how relevant the permuted terms look."""
    draw, block = task
    evidence = shared.evidence
    found = refit_permuted(evidence, shared.part, [j for k in block for j in shared.columns[k]], draw)
    rows = [shared.rows[k] for k in block]
    solver = evidence.options.solver
    largest, which = largest_in(found, rows, solver)
    by_term = {block[which]: largest} if which >= 0 else {}
    return BlockValues(largest, by_term, {"block": largest_least_in(found, rows, solver)})


def refit_permuted(evidence: Evidence, part: str, columns: list[int], draw: int) -> Refit:
    """Permute some columns of a part together, row by row, and fit again; the same for every draw of that number."""
    design = evidence.design
    values = design.X if part == "regular" else design.Z
    own = values[:, columns]
    rows = make_rows(len(own), design.cluster, own)
    order = maps_of(rows, _seed(evidence.options.seed, part), range(draw, draw + 1))[0]
    permuted = values.copy()
    permuted[:, columns] = _shuffled(own, order, design.adjust)
    return refit(evidence, permuted, part)


def _seed(seed: int, part: str) -> int:
    return int(stream(seed, "downward walk", int(part == "privileged")).integers(2**62))


def _shuffled(columns: FloatArray, order: np.ndarray, adjust: FloatArray) -> FloatArray:
    """Return columns in another order of rows; what adjusting covariates say of them stays where it is."""
    if not adjust.shape[1]:
        return columns[order]
    base = np.column_stack([np.ones(len(adjust)), adjust])
    fit = base @ np.linalg.lstsq(base, columns, rcond=None)[0]
    return fit + (columns - fit)[order]


def _noise(
    evidence: Evidence, found: WalkFound | None
) -> tuple[Population | None, tuple[Interval, Interval] | None]:
    """Return what the last refitted block shows of noise, as shares of the norm."""
    if found is None or not found.last:
        return None, None
    lower = np.array([one.least.get("block", 0.0) for one in found.last]) / evidence.norm
    upper = np.array([one.largest for one in found.last]) / evidence.norm
    level = 1 - evidence.options.alpha
    pair = (prediction_interval(lower, level, "order"), prediction_interval(upper, level, "order"))
    return Population(lower, upper, len(upper)), pair
