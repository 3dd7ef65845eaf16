"""Permuted features show how relevant pure noise can look: prediction intervals, p-values and classes."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from relbounds.linear.model import FloatArray, Spec
from relbounds.linear.ranges import ZERO, relevance
from relbounds.options import Options
from relbounds.parallel import chunks, run
from relbounds.progress import stage
from relbounds.solver.changes import join_changes, push_changes
from relbounds.solver.polytope import Polytope, Ranges
from relbounds.solver.replaced import without_each

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


@dataclass(frozen=True)
class Interval:
    """A prediction interval for the relevance of one more feature that is pure noise."""

    lower: float
    upper: float
    level: float
    kind: str
    values: FloatArray
    ends: FloatArray = field(default_factory=lambda: np.zeros((0, 2)))
    independent: float = 0.0

    @property
    def m(self) -> int:
        """The number of feasible probes behind it."""
        return len(self.values)


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
    rng = np.random.default_rng([seed, PARTS.index(part) + 1, draw])
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


def prediction_interval(
    values: FloatArray,
    level: float,
    kind: str = "t",
    ends: FloatArray | None = None,
    independent: float = 0.0,
) -> Interval:
    """Return the interval in which one more noise value lies, with one-sided confidence `level`.

    Parameters
    ----------
    values : array
        Relevance of the feasible probes.
    level : float
        The confidence of the upper end.
    kind : {"t", "order", "refit"}
        "t" uses Student's t distribution; "order" the order statistics of the values, free of any assumption on
        their distribution, and as far as their number reaches; "refit" Student's t distribution of the `ends`,
        if these are given.
    ends : array of shape (m, 2), or None
        How far each probe goes in either direction, the greater being its value. The greater of two is never normal
        and has a longer tail than Student's t distribution allows for; each end by itself is nearly so.
    independent : float
        With `ends`: how many independent values are worth as much as these. Correlated noise rises and falls together
        in a model, which takes degrees of freedom away. 0 counts every value.

    Examples
    --------
    >>> interval = prediction_interval(np.array([0.01, 0.02, 0.03]), 0.95)
    >>> round(interval.upper, 4)
    0.0537
    """
    values = np.asarray(values, dtype=float)
    m = len(values)
    if m < 2:
        return Interval(0.0, 0.0, level, kind, values)
    if kind == "order":
        ordered = np.sort(values)
        rank = min(m, int(np.ceil(level * (m + 1))))
        return Interval(float(ordered[0]), float(ordered[rank - 1]), level, kind, values)
    if kind == "refit" and ends is not None and len(ends) == m:
        centre, spread = _centre(values, ends)
        half = float(stats.t.ppf((1 + level) / 2, max(independent or m, 2) - 1)) * spread
        return Interval(max(0.0, centre - half), centre + half, level, kind, values, ends, independent)
    centre, spread = _centre(values)
    half = float(stats.t.ppf(level, m - 1)) * spread
    return Interval(max(0.0, centre - half), centre + half, level, kind, values)


def _centre(values: FloatArray, ends: FloatArray | None = None) -> tuple[float, float]:
    """Return the mean of the values, or of their ends, and the standard error of predicting one more."""
    m = len(values)
    numbers = values if ends is None else ends.ravel()
    return float(np.mean(numbers)), float(np.std(numbers, ddof=1) * np.sqrt(1 + 1 / m))


def tail_probability(relevance: FloatArray, interval: Interval) -> FloatArray:
    """Return the chance that pure noise looks at least as relevant as each value.

    Examples
    --------
    >>> interval = prediction_interval(np.array([0.01, 0.02, 0.03]), 0.95)
    >>> tail_probability(np.array([0.02, 0.2]), interval).round(3)
    array([0.5  , 0.002])
    """
    values, m = interval.values, interval.m
    if m < 2:
        return np.where(relevance > ZERO, 0.0, 1.0)
    if interval.kind == "order":
        return (1 + np.sum(values[None, :] >= relevance[:, None] - ZERO, axis=1)) / (m + 1)
    sides = 2 if len(interval.ends) else 1
    centre, spread = _centre(values, interval.ends if sides == 2 else None)
    if spread < ZERO / 10:
        return np.where(relevance > centre + ZERO, 0.0, 1.0)
    freedom = max(interval.independent or m, 2) - 1
    return np.minimum(1.0, sides * stats.t.sf((relevance - centre) / spread, freedom))


def classify(lower: FloatArray, upper: FloatArray, low: Interval, high: Interval) -> NDArray[np.str_]:
    """Return "strong", "weak" or "irrelevant" for each feature.

    Relevant: the most an equivalent model uses it exceeds what noise can reach. Strong: so does the least.

    Examples
    --------
    >>> nothing = prediction_interval(np.array([0.0, 0.01, 0.02]), 0.9)
    >>> classify(np.array([0.3, 0.0, 0.0]), np.array([0.4, 0.2, 0.01]), nothing, nothing).tolist()
    ['strong', 'weak', 'irrelevant']
    """
    relevant = upper > high.upper + ZERO
    strong = relevant & (lower > low.upper + ZERO)
    return np.where(strong, "strong", np.where(relevant, "weak", "irrelevant"))
