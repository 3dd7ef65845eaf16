"""Noise that the model was fitted to: the yardstick of ``interval="refit"``.

The published probes put one permuted feature in the place of a real one and keep the model's budgets. Two things
tell such a probe from a real feature of noise: the model never had the chance to adapt to it, and permuting one
column alone breaks its correlation with the others, which lets weights on real noise cancel out. Both make real
noise look more relevant than the probes.

Here all features that look like noise are permuted together, row by row, so that they keep their correlations with
one another; the model is fitted again at the same C, with budgets of its own, and the relevance of the permuted
features is measured in it. If these features have nothing to do with the response and with the features left as they
are, the permuted data are as likely as the observed ones, and so are the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from relbounds.design import Design
from relbounds.linear.model import FloatArray, Setting, Spec, Target
from relbounds.linear.noise.published import Interval, Population
from relbounds.linear.privileged.models import build_any, roomy
from relbounds.linear.ranges import ZERO, equivalent_models, relevance
from relbounds.options import Options
from relbounds.parallel import run
from relbounds.progress import stage
from relbounds.seeds import stream
from relbounds.solver.engines.dispatch import ranges
from relbounds.solver.optimum import fit_baseline

# Features measured per refitted model. More of them cost little but say little, too: correlated noise rises and falls
# together.
PER_MODEL = 5
# Models at least, if there are as many probes.
LEAST_MODELS = 10
# Draws at most, as a multiple of the models wanted: one that uses no feature at all shows nothing.
MOST_DRAWS = 3

Pair = tuple[Interval, Interval]


@dataclass(frozen=True)
class Refitted:
    """The noise that a fit is judged by: populations and intervals by part or term, and the terms permuted."""

    populations: Mapping[str, Population]
    intervals: Mapping[str, Pair]
    noise: tuple[tuple[str, str], ...]


def refit_noise(
    design: Design,
    setting: Setting,
    C: float,
    delta: float,
    spec: Spec,
    upper: FloatArray,
    published: Mapping[str, Population],
    intervals_of: Callable[[Population], Pair],
    options: Options,
    chance: bool = False,
) -> Refitted:
    """Return noise thresholds that models fitted to permuted noise have a say in.

    The published thresholds say which terms to permute: all of them, if the model is no better than chance, since then
    even all may have passed. What is relevant must pass both thresholds, so the higher one is returned; what noise is
    used at least is taken from the refitted models.

    Parameters
    ----------
    design, setting, C, delta
        What the model was fitted to and with, and its tolerance: the standard error of a small loss varies a lot
        from one permutation to the next, and the bounds it is compared with come from this one.
    spec : Spec
        The model.
    upper : array
        The greatest relevance of each of its targets.
    published : mapping
        The probes' populations, by part (and by part and term, for terms with several columns).
    intervals_of : callable
        From a population to its prediction intervals.
    options : Options
    chance : bool
        Whether the model is no better than chance.
    """
    keys = [(target.part, target.term) for target in spec.targets]
    ends = {name: intervals_of(one)[1].upper for name, one in published.items()}
    passed = {key for key, value in zip(keys, upper, strict=True) if value > _end(ends, key) + ZERO}
    noise = set(keys) if chance else set(keys) - passed
    populations = {
        name: _population(design, setting, C, delta, spec, noise, name, one, options) if noise else one
        for name, one in published.items()
    }
    intervals: dict[str, Pair] = {}
    for name, one in published.items():
        before, after = intervals_of(one), intervals_of(populations[name])
        if after[1].m < 2:
            populations[name], intervals[name] = one, before
        elif after[1].upper < before[1].upper:
            populations[name], intervals[name] = one, (after[0], before[1])
        else:
            intervals[name] = after
    return Refitted(populations, intervals, tuple(key for key in dict.fromkeys(keys) if key in noise))


def refit_note(refitted: Refitted, spec: Spec) -> str:
    """Say what the threshold rests on."""
    of = len({(target.part, target.term) for target in spec.targets})
    if not refitted.noise:
        return "No feature looks like noise, so there was none to fit again: the noise threshold is that of the probes."
    return (
        f"The noise threshold also holds in models fitted again after {len(refitted.noise)} of {of} terms, which "
        "look like noise, were permuted together."
    )


def _end(ends: Mapping[str, float], key: tuple[str, str]) -> float:
    part, term = key
    return ends.get(f"{part}: {term}", ends[part])


def _population(
    design: Design,
    setting: Setting,
    C: float,
    delta: float,
    spec: Spec,
    noise: set[tuple[str, str]],
    name: str,
    published: Population,
    options: Options,
) -> Population:
    """Return the population of one part or term; the published one where there is no noise to permute."""
    part, _, term = name.partition(": ")
    keys = [(target.part, target.term) for target in spec.targets]
    if term:
        permuted = noise | {(part, term)}
        asked = [i for i, key in enumerate(keys) if key == (part, term)]
    else:
        permuted = noise
        here = [i for i, key in enumerate(keys) if key[0] == part and key in noise]
        alone = [i for i in here if keys.count(keys[i]) == 1]
        asked = alone or (here if not any(keys.count(key) == 1 for key in keys if key[0] == part) else [])
    if not asked:
        return published
    each = min(PER_MODEL, len(asked), max(1, options.probes // LEAST_MODELS))
    wanted = math.ceil(options.probes / each)
    shared = (
        design,
        setting,
        C,
        delta,
        sorted(permuted),
        tuple(spec.targets[i] for i in asked),
        each,
        options,
    )
    lower: list[float] = []
    upper: list[float] = []
    ends: list[tuple[float, float]] = []
    owner: list[int] = []
    draws = idle = 0
    with stage(f"refitted noise, {name}", wanted, options.progress) as done:
        while len(upper) < options.probes and draws < MOST_DRAWS * wanted:
            wave = min(math.ceil((options.probes - len(upper)) / each), MOST_DRAWS * wanted - draws)
            found = run(
                _refit,
                list(range(draws, draws + wave)),
                shared=shared,
                n_jobs=options.n_jobs,
                client=options.client,
                progress=done,
            )
            draws += wave
            for own, (some, others, both) in enumerate(found, start=draws):
                lower += some
                upper += others
                ends += both
                owner += [own] * len(others)
                idle += not others
    most = options.probes
    known = np.array(ends[:most]) if len(ends) == len(upper) and ends else np.zeros((0, 2))
    least, greatest = np.array(lower[:most]), np.array(upper[:most])
    return Population(least, greatest, draws, idle, known, independent(greatest, owner[:most]))


def independent(values: FloatArray, owner: Sequence[int]) -> float:
    """Return how many independent values are worth as much as these, which come from several models.

    Values of one model that are as different as any two count in full; values that rise and fall together count
    as one.

    Examples
    --------
    >>> independent(np.array([1.0, 1.0, 2.0, 2.0, 4.0, 4.0]), [0, 0, 1, 1, 2, 2])
    3.0
    """
    models, place, sizes = np.unique(np.asarray(owner), return_inverse=True, return_counts=True)
    m, groups = len(values), len(models)
    if groups < 2 or m == groups:
        return float(m)
    means = np.bincount(place, weights=values) / sizes
    within = float(np.sum((values - means[place]) ** 2)) / (m - groups)
    between = float(np.sum(sizes * (means - values.mean()) ** 2)) / (groups - 1)
    size = m / groups
    if between <= within:
        return float(m)
    alike = (between - within) / (between + (size - 1) * within)
    return float(m / (1 + (size - 1) * alike))


def _refit(draw: int, shared: tuple) -> tuple[list[float], list[float], list[tuple[float, float]]]:
    """Permute the noise, fit again, and return the relevance of some permuted features; nothing if w is 0.

    For features with one variable also how far each goes in either direction.
    """
    design, setting, C, delta, permuted, asked, each, options = shared
    rng = stream(options.seed, "refits", draw)
    order = rng.permutation(len(design.y))
    X = _permuted(design.X, [("regular", term) for term in design.terms], permuted, order)
    Z = _permuted(design.Z, [("privileged", term) for term in design.priv_terms], permuted, order)
    own = replace(design, X=X, Z=Z)
    spec = build_any(own, setting)
    solution = fit_baseline(spec.model, C)
    norm = spec.norm_of(solution.v)
    if norm <= ZERO:
        return [], [], []
    polytope = roomy(spec, equivalent_models(spec.model, solution, delta, options.tolerance))
    some: Sequence[Target] = [asked[i] for i in rng.choice(len(asked), size=each, replace=False)]
    found = ranges(polytope, [j for target in some for j in target.variables], options.solver)
    least, greatest = relevance(found.lower / norm, found.upper / norm)
    out: tuple[list[float], list[float], list[tuple[float, float]]] = ([], [], [])
    position = 0
    for target in some:
        here = slice(position, position + len(target.variables))
        position = here.stop
        if found.feasible[here].all():
            out[0].append(float(least[here].max()))
            out[1].append(float(greatest[here].max()))
            if len(target.variables) == 1:
                out[2].append((float(-found.lower[here][0]) / norm, float(found.upper[here][0]) / norm))
    return out


def _permuted(
    columns: FloatArray,
    keys: Sequence[tuple[str, str]],
    permuted: Sequence[tuple[str, str]],
    order: NDArray[np.intp],
) -> FloatArray:
    """Return the columns with those of some terms permuted together."""
    chosen = [k for k, key in enumerate(keys) if key in permuted]
    if not chosen:
        return columns
    out = columns.copy()
    out[:, chosen] = columns[order][:, chosen]
    return out
