"""Permuted features show how relevant pure noise can look."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from relbounds.linear.model import FloatArray, Spec
from relbounds.linear.ranges import relevance
from relbounds.noise_intervals import Interval, classify, prediction_interval, tail_probability
from relbounds.options import Options
from relbounds.parallel import chunks, run
from relbounds.progress import stage
from relbounds.seeds import stream
from relbounds.solver.changes import join_changes, push_changes
from relbounds.solver.polytope import Polytope, Ranges
from relbounds.solver.replaced import without_each

__all__ = ["Interval", "Population", "classify", "draw_population", "prediction_interval", "tail_probability"]

# Draws per task: a matter of the problem's size alone, so that the work never depends on the number of workers.
CHUNK, LARGE_CHUNK, LARGE = 100, 10, 1_000_000
# Draws at most, as a multiple of the wanted number of feasible probes.
MOST_DRAWS = 10
# The same for a term with several columns: if it is needed, every draw is infeasible.
MOST_TERM_DRAWS = 2
# Feasible probes, as a share of those that one dispensable feature would give, below which there is none such.
RARE = 0.5
# Each part has a stream of random numbers of its own.
PARTS = ("regular", "privileged")


@dataclass(frozen=True)
class Population:
    """Relevance of permuted features: the least and the greatest use an equivalent model makes of each.

    `ends` holds, where it is known, how far each can go in either direction; the greater of the two is `upper`.
    `independent` says how many independent features are worth as much, if they were measured in several models.
    """

    lower: FloatArray
    upper: FloatArray
    draws: int
    infeasible: int
    ends: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))
    independent: float = 0.0


def draw_population(
    spec: Spec,
    X: FloatArray,
    polytope: Polytope,
    norm: float,
    options: Options,
    part: str = "regular",
    term: str | None = None,
) -> Population:
    """Permute features drawn at random until enough of them give a non-empty set.

    A probe whose set is empty was needed by every equivalent model; it is counted and left out.

    Parameters
    ----------
    spec : Spec
        The model whose features are permuted.
    X : array
        The features of the part, standardised.
    polytope : Polytope
        The equivalent models; its budgets stay those of the unpermuted baseline.
    norm : float
        The relevance unit: the norm of the baseline.
    part : {"regular", "privileged"}
        Whose population it is.
    term : str or None
        A term with several columns, permuted together: the levels of a factor add up to one, so that weights on
        them can cancel out, and only a factor of noise shows how relevant that makes them look. None draws from
        the terms with one column (from all columns, where there is no such term).
    """
    targets = [target for target in spec.targets if target.part == part]
    terms = [target.term for target in targets]
    counts = Counter(terms)
    if term is not None:
        blocks = [[k for k, one in enumerate(terms) if one == term]]
    else:
        alone = [[k] for k, one in enumerate(terms) if counts[one] == 1]
        blocks = alone or [[k] for k in range(len(terms))]
    most = (MOST_DRAWS if term is None else MOST_TERM_DRAWS) * options.probes
    lower: list[float] = []
    upper: list[float] = []
    draws = infeasible = 0
    size = LARGE_CHUNK if polytope.model.G.size + polytope.model.A.size > LARGE else CHUNK
    # what is left without a feature decides most of its probes, so it is worked out once
    wanted = part == "regular" and options.probes and polytope.model.inner is None
    variables = [block[0] for block in blocks if len(block) == 1 and wanted]
    if len(variables) > options.probes:
        # of many features only those are looked at that will be drawn to begin with
        picked = {
            blocks[_pick(options.seed, part, draw, len(blocks))[0]][0] for draw in range(options.probes)
        }
        variables = [k for k in variables if k in picked]
    without = without_each(polytope, variables)
    with stage(f"probes, {term or part}", options.probes, options.progress) as done:
        while len(lower) < options.probes and draws < most:
            # as many as should do, going by the share that was feasible so far
            rate = max(len(lower) / draws, 0.1) if draws else 1.0
            wave = min(math.ceil((options.probes - len(lower)) / rate), most - draws)
            tasks = [range(draws + piece.start, draws + piece.stop) for piece in chunks(wave, size)]
            pieces = run(
                _probe,
                tasks,
                shared=(spec, X, polytope, options.seed, options.solver, part, blocks, without),
                n_jobs=options.n_jobs,
                client=options.client,
            )
            draws += wave
            found = [one for piece in pieces for one in piece if one.feasible.all()]
            infeasible += wave - len(found)
            done(len(found))
            for one in found:
                least, greatest = relevance(one.lower, one.upper)
                lower.append(float(least.max()) / norm)
                upper.append(float(greatest.max()) / norm)
    if term is None and len(upper) < RARE * draws / len(blocks):
        # Had one feature been dispensable, every probe of it would have been feasible. These few are permutations that
        # happen to resemble the feature: no noise.
        lower, upper = [], []
    most = options.probes
    return Population(np.array(lower[:most]), np.array(upper[:most]), draws, infeasible)


def _pick(seed: int, part: str, draw: int, count: int) -> tuple[int, np.random.Generator]:
    """Return which of `count` blocks a draw permutes, and the generator it goes on with."""
    rng = stream(seed, f"{part} probes", draw)
    return int(rng.integers(count)), rng


def _probe(task: range, shared: tuple) -> list[Ranges]:
    spec, X, polytope, seed, solver, part, blocks, without = shared
    changes = []
    for draw in task:
        place, rng = _pick(seed, part, draw, len(blocks))
        block = blocks[place]
        order = rng.permutation(len(X))
        one = [spec.change(part, k, X[order, k]) for k in block]
        asked = one[int(rng.integers(len(block)))].variables
        changes.append(one[0] if len(block) == 1 else join_changes(one, asked))
    return push_changes(polytope, changes, solver, without)
