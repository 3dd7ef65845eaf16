"""The default method: what a feature's absence costs on rows that the model has not seen.

Three questions, each against permuted features that show what noise can do:

1. Does a forest find use for it, its look-alikes out of the way? (importance)
2. Does the held-out loss rise without it, all others present? Then nothing stands in for it: strong.
   (removal)
3. Do features that resemble each other cost nothing one by one and something together? Then they are a group
   of stand-ins, and each of them that helps when the rest of the group is gone is weak. (groups)

A feature that the forest uses and that the others cannot predict is strong as well, though its own share of
the loss may be too small to measure: if x is independent of the other features X', then
I(y; x | X') = I(y, X'; x), which is no less than what x tells about y together with any part of X'.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from relbounds.forest import cluster
from relbounds.forest.facts import Array, Found, Group, Settings
from relbounds.forest.importance import chance, importance_interval, shadow_importance
from relbounds.forest.learner import Learner, Problem, constant_loss, heldout, splits
from relbounds.noise_intervals import Interval, prediction_interval
from relbounds.parallel import run
from relbounds.progress import stage
from relbounds.seeds import stream

ALIKE = 0.7
"""Similarity from which features take turns in the importance forest."""
COPIES = 0.95
"""Similarity from which features count as copies of each other."""
RELATED = 0.3
"""Similarity down to which clusters are tried as groups of stand-ins."""
SCREEN = 0.2
"""Where features are many, those whose importance noise reaches more often than this are not tested."""
FEW = 30
"""Up to this many features all are tested."""
SHARE = 0.2
"""A part of a cluster is a group of its own if it accounts for this share of what the cluster costs."""
DETERMINED = 0.95
"""Features that the others explain this well cannot be strong: they tell nothing that is not told already."""

Held = list[tuple[NDArray[np.intp], int]]
# features taken away, probe number (-1: none)
Task = tuple[tuple[int, ...], int]


def removal_relevance(problem: Problem, family: str, n_levels: int, settings: Settings) -> Found:
    """Classify every feature by importance, removal and groups of stand-ins."""
    d = problem.X.shape[1]
    learner = Learner(family, n_levels, trees=settings.trees).with_params(settings.params)
    like = cluster.likeness(problem.X, settings.seed)
    alike = like.either
    tight = cluster.flat(alike, ALIKE)
    importance, shadows = shadow_importance(
        problem,
        learner,
        tight,
        cluster.flat(like.mutual, COPIES),
        seed=settings.seed,
        n_jobs=settings.n_jobs,
        progress=settings.progress,
    )
    importance_noise = importance_interval(shadows, settings.level)
    tested = _tested(importance, importance_noise, tight)

    bench = _Bench(problem, learner, settings, tested).choose_learner()
    without = bench.losses([((), -1), *(((k,), -1) for k in tested)], "removal")
    # taking away what no forest uses repeats the full model; the median steadies where differences start
    idle = chance(importance, importance_noise) > SCREEN
    full = float(np.median(without[np.append(True, idle[list(tested)])]))
    constant = constant_loss(problem, learner)
    removal = np.full(d, np.nan)
    removal[list(tested)] = without[1:] - full
    removal_noise = bench.noise()
    enough = max(removal_noise.upper, settings.tolerance * max(constant - full, 0.0))
    # a model that predicts no better than a constant shows no feature to be of use
    useful = full < constant
    # importance and loss should point the same way; if not, the one that speaks must be beyond doubt
    beyond = 1 - (1 - settings.level) ** 2
    together = bench.joint(cluster.flat(alike, COPIES), removal, full)
    doubtless = importance_interval(shadows, beyond).upper
    used = useful & (importance > np.where(together > 0, importance_noise.upper, doubtless))
    strict = prediction_interval(removal_noise.values, beyond).upper
    needed = useful & (np.nan_to_num(removal, nan=-np.inf) > np.where(idle, max(enough, strict), enough))
    replaceable = np.full(d, np.nan)
    relevant = [k for k in tested if used[k] or needed[k]]
    replaceable[relevant] = np.fmax(bench.replaceable(relevant), _told(like.told, tested)[relevant])

    # what removal costs must be a fair share of what it costs with all look-alikes: in a forest each of two
    # stand-ins is worth a little beside the other
    strong = needed & (replaceable < DETERMINED) & (np.nan_to_num(removal) >= SHARE * together)
    # x tells its square all and the square tells nothing of the sign: related both ways
    related = np.fmax(replaceable, _told(np.fmax(like.told, like.told.T), tested))
    strong |= used & (related < settings.stand_in)
    groups = _groups(bench, alike, strong, full, enough) if useful else ()
    alone = _alone(bench, groups, d)
    weak = ~strong & (used | needed | (np.nan_to_num(alone, nan=-np.inf) > enough))
    groups = tuple(
        Group(members, group.loss, group.similarity)
        for group in groups
        if len(members := tuple(k for k in group.members if weak[k])) > 1
    )
    return Found(
        importance=importance,
        removal=removal,
        alone=alone,
        replaceable=replaceable,
        relevance=np.where(strong, "strong", np.where(weak, "weak", "irrelevant")),
        importance_noise=importance_noise,
        removal_noise=removal_noise,
        groups=groups,
        loss=full,
        constant=constant,
        learner="trees on a linear score" if bench.learner.linear else "trees",
        notes=_notes(d, len(tested), useful),
    )


def _tested(importance: Array, noise: Interval, tight: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Return the features worth the removal tests, look-alikes of a promising one included."""
    if len(importance) <= FEW:
        return tuple(range(len(importance)))
    promising = chance(importance, noise) < SCREEN
    if not promising.any():
        promising = importance >= np.sort(importance)[-FEW]
    return tuple(sorted(k for members in tight if promising[list(members)].any() for k in members))


def _told(told: Array, tested: tuple[int, ...]) -> Array:
    """Return the largest share of each feature that one of the others tells."""
    others = told - np.eye(len(told))
    return np.asarray(others[list(tested)].max(axis=0, initial=0.0))


def _notes(d: int, tested: int, useful: bool) -> tuple[str, ...]:
    notes = []
    if tested < d:
        notes.append(
            f"{d - tested} of {d} features, no more important than noise, were not tested by removal."
        )
    if not useful:
        notes.append(
            "The model predicts held-out rows no better than a constant: no feature is called relevant."
        )
    return tuple(notes)


class _Bench:
    """Held-out losses of models on the tested features, some taken away, on the same splits."""

    def __init__(
        self, problem: Problem, learner: Learner, settings: Settings, tested: tuple[int, ...]
    ) -> None:
        self.problem, self.learner, self.settings, self.tested = problem, learner, settings, tested
        self.held: Held = splits(problem.y, learner.family, settings.folds, settings.repeats, settings.seed)

    def losses(self, tasks: Sequence[Task], name: str) -> Array:
        """Return the mean loss of each task."""
        shared = (self.problem, self.learner, self.tested, self.held, self.settings.seed)
        with stage(name, len(tasks), self.settings.progress) as done:
            found = run(_loss, list(tasks), shared=shared, n_jobs=self.settings.n_jobs, progress=done)
        return np.array(found, dtype=float)

    def choose_learner(self) -> _Bench:
        """Let the trees start from a linear score where that predicts better."""
        both = [
            _Bench(self.problem, self.learner.with_linear(linear), self.settings, self.tested)
            for linear in (False, True)
        ]
        loss = [float(bench.losses([((), -1)], "learner")[0]) for bench in both]
        return both[int(loss[1] < loss[0])]

    def noise(self) -> Interval:
        """Return the interval of what a feature seems to be worth that is a permuted column."""
        loss = self.losses([((), probe) for probe in range(self.settings.probes)], "probes")
        return prediction_interval(loss.mean() - loss, self.settings.level)

    def joint(self, copies: list[tuple[int, ...]], removal: Array, full: float) -> Array:
        """Return the loss without each feature and all its copies; without copies, its removal loss."""
        several = [c for c in copies if len(c) > 1 and set(c) <= set(self.tested)]
        out = np.nan_to_num(removal, nan=0.0)
        for members, loss in zip(several, self.losses([(c, -1) for c in several], "copies"), strict=True):
            out[list(members)] = loss - full
        return out

    def replaceable(self, features: Sequence[int]) -> Array:
        """Return the held-out share of each feature's variance that the other features explain."""
        shared = (self.problem, self.settings)
        tasks = [(k, tuple(j for j in self.tested if j != k)) for k in features]
        with stage("stand-ins", len(tasks), self.settings.progress) as done:
            return np.array(run(_explained, tasks, shared=shared, n_jobs=self.settings.n_jobs, progress=done))


def _loss(task: Task, shared: tuple[Problem, Learner, tuple[int, ...], Held, int]) -> float:
    (gone, probe), (problem, learner, tested, held, seed) = task, shared
    extra = None
    if probe >= 0:
        rng = stream(seed, "removal probes", probe)
        extra = rng.permutation(problem.X[:, tested[int(rng.integers(len(tested)))]])
    rows = heldout(learner, problem, tested, held, gone=gone, extra=extra)
    return float(np.average(rows, weights=problem.weights))


def _explained(task: tuple[int, tuple[int, ...]], shared: tuple[Problem, Settings]) -> float:
    (k, others), (problem, settings) = task, shared
    if not others:
        return 0.0
    x = problem.X[:, k]
    target = Problem(problem.X, x, problem.weights)
    learner = Learner("regression", 0, linear=True, trees=settings.trees)
    held = splits(x, "regression", settings.folds, 1, settings.seed)
    loss = np.average(np.square(heldout(learner, target, others, held)), weights=problem.weights)
    mean = np.average(x, weights=problem.weights)
    return float(1 - loss / max(np.average(np.square(x - mean), weights=problem.weights), 1e-300))


def _groups(
    bench: _Bench, alike: Array, strong: NDArray[np.bool_], full: float, enough: float
) -> tuple[Group, ...]:
    """Walk the clustering of the features that are not strong, from large clusters to small ones.

    A cluster whose joint removal hurts is a group, unless its two halves cost something each: then each half
    is looked at for itself, and so is the one half that costs nearly all, if the halves hardly resemble each
    other.
    """
    rest = [k for k in bench.tested if not strong[k]]
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
