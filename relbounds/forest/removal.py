"""The default method: what a term's absence costs on rows that the model has not seen.

Three questions:

1. Does a forest find more use for it than for noise? Then it is relevant (:mod:`relbounds.forest.block_test`; under
   ``control="published"`` by prediction intervals of permuted terms instead).
2. Does the held-out loss rise without it, all others present? Then nothing stands in for it: strong.
   (removal)
3. Do relevant terms that resemble each other cost nothing one by one and something together? Then they are a group
   of stand-ins. (groups)

A feature that the forest uses and that the others cannot predict is strong as well, though its own share of
the loss may be too small to measure: if x is independent of the other features X', then
I(y; x | X') = I(y, X'; x), which is no less than what x tells about y together with any part of X'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relbounds.forest import cluster
from relbounds.forest.block_test import block_test
from relbounds.forest.facts import Array, Found, Group
from relbounds.forest.importance import chance, importance_interval, shadow_importance
from relbounds.forest.learner import Held, Learner, Problem, constant_loss, heldout, mean_loss, splits
from relbounds.forest.options import ForestOptions
from relbounds.noise_intervals import Interval, prediction_interval
from relbounds.parallel import run
from relbounds.progress import stage
from relbounds.seeds import stream

ALIKE = 0.7
"""Similarity from which terms take turns in the importance forest."""
COPIES = 0.95
"""Similarity from which terms count as copies of each other."""
RELATED = 0.3
"""Similarity down to which clusters are tried as groups of stand-ins."""
SCREEN = 0.2
"""Where terms are many, those whose importance noise reaches more often than this are not tested."""
FEW = 30
"""Up to this many terms all are tested."""
SHARE = 0.2
"""A part of a cluster is a group of its own if it accounts for this share of what the cluster costs."""
DETERMINED = 0.95
"""Terms that the others explain this well cannot be strong: they tell nothing that is not told already."""

Mask = NDArray[np.bool_]
# terms taken away, probe number (-1: none)
Task = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class _Measured:
    """What the forests say of each term, and what noise reaches: everything that classes are decided from."""

    like: cluster.Likeness
    importance: Array
    shadows: Array
    noise: Interval
    tested: tuple[int, ...]
    removal: Array
    removal_noise: Interval
    together: Array
    full: float
    constant: float
    enough: float

    @property
    def idle(self) -> Mask:
        """Terms that no forest uses."""
        return np.asarray(chance(self.importance, self.noise) > SCREEN)

    @property
    def useful(self) -> bool:
        """Whether the model predicts held-out rows better than a constant."""
        return self.full < self.constant


def removal_relevance(problem: Problem, learner: Learner, options: ForestOptions) -> Found:
    """Classify every term by the block test, by removal, and by groups of stand-ins."""
    learner = learner.with_params(options.params)
    like = cluster.likeness_of_units(problem.X, problem.units, options.seed)
    test = None if options.control == "published" else block_test(problem, learner, like, options)
    found = None if test is None else test.p_adjusted <= options.alpha
    bench, measured = _measure(problem, learner, like, options, found)
    needed = _needed(measured, options)
    relevant = _used(measured, options) | needed if found is None else found
    d = len(relevant)
    replaceable = np.full(d, np.nan)
    places = [k for k in measured.tested if relevant[k]]
    told = _told(like.told, measured.tested)
    replaceable[places] = np.fmax(bench.replaceable(places), told[places])
    strong = _strong(measured, relevant, needed, replaceable, options)
    # by intervals, a term that is not found by itself may still be of use once its stand-ins are gone
    candidates = np.ones(d, dtype=bool) if found is None else found
    groups = _groups(bench, measured, candidates & ~strong) if measured.useful else ()
    alone = _alone(bench, groups, d)
    weak = ~strong & relevant
    if found is None:
        weak |= ~strong & (np.nan_to_num(alone, nan=-np.inf) > measured.enough)
    groups = tuple(
        Group(members, group.loss, group.similarity)
        for group in groups
        if len(members := tuple(k for k in group.members if weak[k])) > 1
    )
    p, adjusted = _p_values(measured) if test is None else (test.p, test.p_adjusted)
    return Found(
        importance=measured.importance,
        removal=measured.removal,
        alone=alone,
        replaceable=replaceable,
        relevance=np.where(strong, "strong", np.where(weak, "weak", "irrelevant")),
        p=p,
        p_adjusted=adjusted,
        importance_noise=measured.noise,
        removal_noise=measured.removal_noise,
        groups=groups,
        loss=measured.full,
        constant=measured.constant,
        linear=bench.learner.linear,
        forests=0 if test is None else test.forests,
        notes=(*bench.notes, *_notes(measured, bool((strong | weak).any()))),
    )


def _measure(
    problem: Problem, learner: Learner, like: cluster.Likeness, options: ForestOptions, found: Mask | None
) -> tuple[_Bench, _Measured]:
    """Run the forests: importance beside shadows, then the held-out loss without each term."""
    tight = cluster.flat(like.either, ALIKE)
    copies = cluster.flat(like.mutual, COPIES)
    importance, shadows = shadow_importance(problem, learner, tight, copies, options)
    noise = importance_interval(shadows, options.level)
    tested = _tested(importance, noise, tight, found)
    bench = _bench(problem, learner, options, tested)
    without = bench.losses([((), -1), *(((k,), -1) for k in tested)], "removal")
    # taking away what no forest uses repeats the full model; the median steadies where differences start
    idle = chance(importance, noise) > SCREEN
    full = float(np.median(without[np.append(True, idle[list(tested)])]))
    removal = np.full(len(problem.units), np.nan)
    removal[list(tested)] = without[1:] - full
    removal_noise = bench.noise()
    constant = constant_loss(problem, learner)
    measured = _Measured(
        like=like,
        importance=importance,
        shadows=shadows,
        noise=noise,
        tested=tested,
        removal=removal,
        removal_noise=removal_noise,
        together=bench.joint(cluster.flat(like.either, COPIES), removal, full),
        full=full,
        constant=constant,
        enough=max(removal_noise.upper, options.tolerance * max(constant - full, 0.0)),
    )
    return bench, measured


def _used(measured: _Measured, options: ForestOptions) -> Mask:
    """Return which terms are more important than permuted ones, by prediction interval."""
    # importance and loss should point the same way; if not, the one that speaks must be beyond doubt
    doubtless = importance_interval(measured.shadows, _beyond(options)).upper
    limit = np.where(measured.together > 0, measured.noise.upper, doubtless)
    # a model that predicts no better than a constant shows no term to be of use
    return np.asarray(measured.useful & (measured.importance > limit))


def _needed(measured: _Measured, options: ForestOptions) -> Mask:
    """Return the terms without which the held-out loss rises beyond what noise explains."""
    strict = prediction_interval(measured.removal_noise.values, _beyond(options)).upper
    limit = np.where(measured.idle, max(measured.enough, strict), measured.enough)
    return np.asarray(measured.useful & (np.nan_to_num(measured.removal, nan=-np.inf) > limit))


def _beyond(options: ForestOptions) -> float:
    return 1 - (1 - options.level) ** 2


def _strong(
    measured: _Measured, relevant: Mask, needed: Mask, replaceable: Array, options: ForestOptions
) -> Mask:
    """Return the relevant terms that nothing stands in for."""
    # what removal costs must be a fair share of what it costs with all look-alikes: in a forest each of two
    # stand-ins is worth a little beside the other
    fair = np.nan_to_num(measured.removal) >= SHARE * measured.together
    strong = relevant & needed & (replaceable < DETERMINED) & fair
    # x tells its square all and the square tells nothing of the sign: related both ways
    told = measured.like.told
    related = np.fmax(replaceable, _told(np.fmax(told, told.T), measured.tested))
    used = relevant if options.control != "published" else _used(measured, options)
    return np.asarray(strong | (used & (related < options.stand_in)))


def _p_values(measured: _Measured) -> tuple[Array, Array]:
    """Return the chance that noise is as important, alone and adjusted for the rate of false discoveries."""
    from statsmodels.stats.multitest import multipletests  # slow to load

    p = chance(measured.importance, measured.noise)
    return p, multipletests(p, method="fdr_bh")[1]


def _tested(
    importance: Array, noise: Interval, tight: list[tuple[int, ...]], found: Mask | None
) -> tuple[int, ...]:
    """Return the terms worth the removal tests, look-alikes of a promising one included."""
    if len(importance) <= FEW:
        return tuple(range(len(importance)))
    promising = chance(importance, noise) < SCREEN
    if found is not None and found.any():
        promising = found
    if not promising.any():
        promising = importance >= np.sort(importance)[-FEW]
    return tuple(sorted(k for members in tight if promising[list(members)].any() for k in members))


def _told(told: Array, tested: tuple[int, ...]) -> Array:
    """Return the largest share of each term that one of the others tells."""
    others = told - np.eye(len(told))
    return np.asarray(others[list(tested)].max(axis=0, initial=0.0))


def _notes(measured: _Measured, any_found: bool) -> tuple[str, ...]:
    notes = []
    d, tested = len(measured.importance), len(measured.tested)
    if tested < d:
        notes.append(f"{d - tested} of {d} terms, no more important than noise, were not tested by removal.")
    if not measured.useful:
        notes.append(
            "The model predicts held-out rows no better than a constant: "
            + (
                "what is relevant tells too little to help it."
                if any_found
                else "no term is called relevant."
            )
        )
    return tuple(notes)


@dataclass(frozen=True)
class _Bench:
    """Held-out losses of models on the tested terms, some taken away, on the same splits."""

    problem: Problem
    learner: Learner
    options: ForestOptions
    tested: tuple[int, ...]
    held: Held
    notes: tuple[str, ...]

    def losses(self, tasks: Sequence[Task], name: str) -> Array:
        """Return the mean loss of each task."""
        shared = (self.problem, self.learner, self.tested, self.held, self.options.seed)
        with stage(name, len(tasks), self.options.progress) as done:
            found = run(_loss, list(tasks), shared=shared, n_jobs=self.options.n_jobs, progress=done)
        return np.array(found, dtype=float)

    def noise(self) -> Interval:
        """Return the interval of what a term seems to be worth that is permuted."""
        loss = self.losses([((), probe) for probe in range(self.options.probes)], "probes")
        return prediction_interval(loss.mean() - loss, self.options.level)

    def joint(self, copies: list[tuple[int, ...]], removal: Array, full: float) -> Array:
        """Return the loss without each term and all its copies; without copies, its removal loss."""
        several = [c for c in copies if len(c) > 1 and set(c) <= set(self.tested)]
        out = np.nan_to_num(removal, nan=0.0)
        for members, loss in zip(several, self.losses([(c, -1) for c in several], "copies"), strict=True):
            out[list(members)] = loss - full
        return out

    def replaceable(self, units: Sequence[int]) -> Array:
        """Return the held-out share of each term's variance that the other terms explain."""
        shared = (self.problem, self.options)
        tasks = [(k, tuple(j for j in self.tested if j != k)) for k in units]
        with stage("stand-ins", len(tasks), self.options.progress) as done:
            found = run(_explained, tasks, shared=shared, n_jobs=self.options.n_jobs, progress=done)
        return np.array(found, dtype=float)


def _bench(problem: Problem, learner: Learner, options: ForestOptions, tested: tuple[int, ...]) -> _Bench:
    """Set up the splits, and let the trees start from a linear score where that predicts better."""
    held, notes = splits(problem, options.folds, options.repeats, options.seed)
    both = [
        _Bench(problem, learner.with_linear(linear), options, tested, held, notes) for linear in (False, True)
    ]
    loss = [float(bench.losses([((), -1)], "learner")[0]) for bench in both]
    return both[int(loss[1] < loss[0])]


def _loss(task: Task, shared: tuple[Problem, Learner, tuple[int, ...], Held, int]) -> float:
    (gone, probe), (problem, learner, tested, held, seed) = task, shared
    extra = None
    if probe >= 0:
        rng = stream(seed, "removal probes", probe)
        columns = problem.columns([tested[int(rng.integers(len(tested)))]])
        extra = rng.permutation(problem.X[:, columns])
    return mean_loss(problem, heldout(learner, problem, tested, held, gone=gone, extra=extra))


def _explained(task: tuple[int, tuple[int, ...]], shared: tuple[Problem, ForestOptions]) -> float:
    (unit, others), (problem, options) = task, shared
    if not others:
        return 0.0
    learner = Learner("regression", 0, linear=True, trees=options.trees)
    left = total = 0.0
    for column in problem.units[unit]:
        x = problem.X[:, column]
        target = Problem(problem.X, x, problem.weights, problem.units, None, problem.cluster)
        held, _ = splits(target, options.folds, 1, options.seed)
        left += mean_loss(problem, np.square(heldout(learner, target, others, held)))
        mean = np.average(x, weights=problem.weights)
        total += float(np.average(np.square(x - mean), weights=problem.weights))
    return 1 - left / max(total, 1e-300)


def _groups(bench: _Bench, measured: _Measured, among: Mask) -> tuple[Group, ...]:
    """Walk the clustering of terms that are not strong, from large clusters to small ones.

    A cluster whose joint removal hurts is a group, unless its two halves cost something each: then each half
    is looked at for itself, and so is the one half that costs nearly all, if the halves hardly resemble each
    other.
    """
    full, enough, alike = measured.full, measured.enough, measured.like.either
    rest = [k for k in bench.tested if among[k]]
    tree = {
        tuple(rest[i] for i in places): likeness
        for places, likeness in cluster.clusters(alike[np.ix_(rest, rest)], RELATED)
    }
    halves = cluster.halves(list(tree))
    roots = [c for c in tree if not any(c in pair for pair in halves.values())]
    found: list[Group] = []
    todo = list(zip(roots, bench.losses([(c, -1) for c in roots], "groups") - full, strict=True))
    while todo:
        members, loss = todo.pop()
        if loss <= enough:
            continue
        pair = halves[members]
        each = bench.losses([(half, -1) for half in pair], "groups") - full
        hurts = (each > enough) & (each > SHARE * loss)
        split = hurts.all() or (hurts.any() and tree[members] < ALIKE)
        if split:
            todo += [(h, float(l)) for h, l, bad in zip(pair, each, hurts, strict=True) if bad and len(h) > 1]
        else:
            found.append(Group(members, float(loss), tree[members]))
    return tuple(sorted(found, key=lambda group: group.members))


def _alone(bench: _Bench, groups: tuple[Group, ...], d: int) -> Array:
    """Return what each member of a group is worth when it alone is left of the group."""
    alone = np.full(d, np.nan)
    for group in groups:
        tasks: list[Task] = [(tuple(j for j in group.members if j != k), -1) for k in group.members]
        loss = bench.losses([(group.members, -1), *tasks], "stand-ins")
        alone[list(group.members)] = loss[0] - loss[1:]
    return alone
