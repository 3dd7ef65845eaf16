"""Which features stand in for each other? Groups by how all other intervals move when one feature is held."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from threadpoolctl import threadpool_limits

from relbounds.bounds import CHUNK, ZERO, relevance
from relbounds.constraints import pieces_of, settled_ranges
from relbounds.errors import OptionError
from relbounds.fit import Fitted
from relbounds.lp.engines import push_many
from relbounds.lp.problem import Polytope
from relbounds.parallel import chunks, run
from relbounds.progress import stage
from relbounds.spec import FloatArray, Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from relbounds.results import RelboundsResults

# Where the tree is cut by default, as a share of its tallest link.
CUT = 0.5


@dataclass(frozen=True)
class Groups:
    """Features that stand in for each other, as labels and as a tree.

    Attributes
    ----------
    labels : Series
        The group of each feature, numbered from 1 in the order of the table.
    linkage : ndarray
        The tree in scipy's form, for ``scipy.cluster.hierarchy.dendrogram``.
    distance : DataFrame
        Distances between features.
    contexts : DataFrame
        How the bounds of every feature (columns) move when one feature (rows) is held at its least and at its
        greatest use.
    height : float
        Where the tree was cut.
    fit : RelboundsResults
        The fit that was explored.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> found = rb.relbounds(data.formula, data.data, C=1.0, probes=10).groups()
    >>> bool(found.labels["x2"] == found.labels["x3"])
    True
    """

    labels: pd.Series
    linkage: FloatArray
    distance: pd.DataFrame
    contexts: pd.DataFrame
    height: float
    fit: RelboundsResults

    def __len__(self) -> int:
        """Return the number of groups."""
        return int(self.labels.max())

    @property
    def members(self) -> dict[int, list[str]]:
        """The names of the features of each group."""
        return {int(g): names.index.tolist() for g, names in self.labels.groupby(self.labels, sort=True)}

    def cut(self, cut: float | None = None, k: int | None = None, *, by_class: bool = True) -> Groups:
        """Cut the same tree elsewhere; nothing is computed anew.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> found = rb.relbounds(data.formula, data.data, C=1.0, probes=10).groups()
        >>> len(found.cut(k=4))
        4
        """
        labels, height = label(self.fit, self.linkage, self.distance, self.contexts, cut, k, by_class)
        return Groups(labels, self.linkage, self.distance, self.contexts, height, self.fit)

    def plot(self, ax: Axes | None = None, **options: object) -> Axes:
        """Draw the tree over the relevance bars; see :func:`relbounds.figures.plot_groups`."""
        from relbounds.figures import plot_groups

        return plot_groups(self, ax=ax, **options)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        lines = [f"{len(self)} groups of {len(self.labels)} features (cut at {self.height:.3g})"]
        for number, names in self.members.items():
            lines.append(f"  {number}: {', '.join(names)}")
        return "\n".join(lines)


def groups(
    fit: RelboundsResults,
    cut: float | None = None,
    k: int | None = None,
    *,
    part: str = "regular",
    by_class: bool = True,
) -> Groups:
    """Group features by the role they play.

    Each feature is held once at the least and once at the greatest use any equivalent model makes of it. How
    the intervals of all others move is its context; features with similar contexts play the same role. Two
    features are compared on all features but themselves, so that the groups say more than their correlation.

    Parameters
    ----------
    fit : RelboundsResults
    cut : float, optional
        Where to cut the tree, as a share of its tallest link; 0.5 unless `k` is given.
    k : int, optional
        The wanted number of groups instead, by the tree alone.
    part : {"regular", "privileged"}
        Which features.
    by_class : bool
        Let the classes speak too: a strong feature has no stand-in and is a group of its own, irrelevant
        features are one group, and the tallest link is sought among relevant features and one that moves
        nothing. False cuts the tree of all features and asks nothing else, as published.

    Returns
    -------
    Groups

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> fit = rb.relbounds("severity ~ age + stiffness + platelets + crp + esr", data, C=0.1, probes=10)
    >>> labels = groups(fit, k=4).labels
    >>> bool(labels["crp"] == labels["esr"])
    True
    """
    check_cut(cut, k)
    fitted = fit._fitted
    names = fit.table.index[fit.table["part"] == part]
    if len(names) == 0:
        raise OptionError(f"The fit has no {part} features; part='regular' groups the regular ones.")
    if len(names) < 3:
        raise OptionError(f"Groups need at least three {part} features; there are {len(names)}.")
    if k is not None and k > len(names):
        raise OptionError(f"k={k} groups cannot be made of {len(names)} features.")
    if part == "privileged" and fitted.help is not None and fitted.help.teacher is not None:
        fitted, part = fitted.help.teacher, "regular"
    with threadpool_limits(limits=1, user_api="blas"):
        contexts = make_contexts(fitted, part)
    distance = context_distances(contexts)
    tree = linkage(squareform(distance, checks=False), method="single")
    columns = pd.MultiIndex.from_product([names, ["min", "max"], ["lower", "upper"]])
    frame = pd.DataFrame(contexts.reshape(len(names), -1), index=names, columns=columns)
    distances = pd.DataFrame(distance, index=names, columns=names)
    labels, height = label(fit, tree, distances, frame, cut, k, by_class)
    return Groups(labels, tree, distances, frame, height, fit)


def label(
    fit: RelboundsResults,
    tree: FloatArray,
    distances: pd.DataFrame,
    contexts: pd.DataFrame,
    cut: float | None,
    k: int | None,
    by_class: bool,
) -> tuple[pd.Series, float]:
    """Return the group of each feature, and the height at which the tree is cut for it."""
    check_cut(cut, k)
    names = distances.index
    if k is not None or not by_class:
        return cut_tree(tree, names, cut, k)
    classes = fit.table.loc[names, "relevance"].to_numpy()
    relevant, weak = classes != "irrelevant", np.flatnonzero(classes == "weak")
    moves = np.linalg.norm(contexts.to_numpy(), axis=1)
    far = np.zeros((relevant.sum() + 1, relevant.sum() + 1))
    far[:-1, :-1] = distances.to_numpy()[np.ix_(relevant, relevant)]
    far[:-1, -1] = far[-1, :-1] = moves[relevant]
    tallest = linkage(squareform(far, checks=False), method="single")[:, 2].max() if len(far) > 1 else 0.0
    height = (CUT if cut is None else float(cut)) * float(tallest)
    # 0 holds the irrelevant features, negative numbers the strong ones
    raw = np.where(classes == "strong", -1 - np.arange(len(names)), 0)
    if len(weak) > 1:
        inner = linkage(squareform(distances.to_numpy()[np.ix_(weak, weak)], checks=False), method="single")
        raw[weak] = fcluster(inner, height, criterion="distance")
    else:
        raw[weak] = 1
    return pd.Series(_renumber(raw), index=names, name="group"), height


def _renumber(raw: Iterable[int]) -> list[int]:
    """Number groups from 1 in the order in which they appear."""
    found = list(raw)
    order = {one: i for i, one in enumerate(dict.fromkeys(found), start=1)}
    return [order[one] for one in found]


def check_cut(cut: float | None, k: int | None) -> None:
    """Refuse a cut that makes no sense."""
    if cut is not None and k is not None:
        raise OptionError("Give cut or k, not both: each of them says where the tree is cut.")
    if cut is not None and (not isinstance(cut, numbers.Real) or not 0 <= cut <= 1):
        raise OptionError(f"cut={cut!r} must be a share of the tallest link, between 0 and 1.")
    if k is not None and (not isinstance(k, numbers.Integral) or isinstance(k, bool) or k < 1):
        raise OptionError(f"k={k!r} must be a whole number of groups, 1 or more.")


@dataclass(frozen=True)
class Extremes:
    """The two ends of each variable's range over one set, with a point of the set at either end."""

    polytope: Polytope
    lower: FloatArray
    upper: FloatArray
    low_points: FloatArray
    high_points: FloatArray

    def hold(self, i: int, j: int, value: float) -> Polytope | None:
        """Return the set cut where variable j, the i-th of the extremes, has a value; None where it has not.

        A mixture of the two extreme points has the value and lies in the set, which is convex.
        """
        width = self.upper[i] - self.lower[i]
        if not self.lower[i] <= value <= self.upper[i]:
            return None
        share = (value - self.lower[i]) / width if width > 0 else 0.0
        point = (1 - share) * self.low_points[i] + share * self.high_points[i]
        point[j] = value
        low, high = np.full(len(point), -np.inf), np.full(len(point), np.inf)
        low[j] = high[j] = value
        return replace(self.polytope.bounded(low, high), start=point)


def extremes(polytope: Polytope, variables: Sequence[int], solver: str) -> Extremes:
    """Push every variable both ways, a few dozen at a time."""
    index = np.asarray(variables)
    parts = []
    for piece in chunks(len(index), CHUNK):
        here = index[piece.start : piece.stop]
        directions = np.zeros((2 * len(here), polytope.model.q))
        directions[np.arange(len(here)), here] = -1.0
        directions[len(here) + np.arange(len(here)), here] = 1.0
        pushed = push_many(polytope, directions, solver)
        parts.append((pushed.point[: len(here)], pushed.point[len(here) :]))
    low = np.concatenate([part[0] for part in parts])
    high = np.concatenate([part[1] for part in parts])
    rows = np.arange(len(index))
    return Extremes(polytope, low[rows, index], high[rows, index], low, high)


def make_contexts(fitted: Fitted, part: str) -> FloatArray:
    """Return (d, d, 2, 2) moves: feature held, feature observed, held at min or max, lower or upper bound."""
    targets = [target for target in fitted.spec.targets if target.part == part]
    variables = [j for target in targets for j in target.variables]
    solver = fitted.options.solver
    ends = [extremes(piece, variables, solver) for piece in pieces_of(fitted)]
    before = _sizes([(one.lower, one.upper) for one in ends], targets, fitted.norm)
    tasks = list(range(len(targets)))
    with stage("groups", len(tasks), fitted.options.progress) as done:
        moved = run(
            _context,
            tasks,
            shared=(fitted, targets, variables, ends, before),
            n_jobs=fitted.options.n_jobs,
            client=fitted.options.client,
            progress=done,
        )
    return np.array(moved)


def _context(k: int, shared: tuple) -> FloatArray:
    """Return how every interval moves when feature k is held at its least, then at its greatest use."""
    fitted, targets, variables, ends, before = shared
    quiet = fitted.options.replace(n_jobs=1, client=None, progress=False)
    out = np.zeros((len(targets), 2, 2))
    for side in (0, 1):
        pieces = hold(fitted, targets, ends, before, k, greatest=side == 1)
        found = [settled_ranges(piece, variables, quiet, fitted.norm) for piece in pieces]
        out[:, side] = before - _sizes([(one.lower, one.upper) for one in found], targets, fitted.norm)
    out[k] = 0.0
    return out


def hold(
    fitted: Fitted,
    targets: Sequence[Target],
    ends: Sequence[Extremes],
    before: FloatArray,
    k: int,
    *,
    greatest: bool,
) -> list[Polytope]:
    """Cut the set so that feature k has its least or its greatest size, on the side where it is reached.

    A feature with several variables is held by the one that can be largest. The cut lies inside the rim by a
    trifle: the rest of a set cut exactly there has no interior.
    """
    first = sum(len(target.variables) for target in targets[:k])
    places = range(first, first + len(targets[k].variables))
    i = max(
        places, key=lambda place: max(np.abs([e.lower[place] for e in ends] + [e.upper[place] for e in ends]))
    )
    j = targets[k].variables[i - first]
    size = before[k, int(greatest)] * fitted.norm
    if size <= ZERO * fitted.norm:
        return [held for one in ends if (held := one.hold(i, j, 0.0)) is not None]
    values = np.array([[one.lower[i], one.upper[i]] for one in ends])
    # on equal sides the sign of the best model decides
    tie = ZERO * fitted.norm * (np.sign(values) == np.sign(fitted.solution.v[j]))
    piece, side = divmod(int(np.argmin(np.abs(np.abs(values) - size) - tie)), 2)
    rim = ZERO * (ends[piece].upper[i] - ends[piece].lower[i])
    held = ends[piece].hold(i, j, float(values[piece, side] + (rim if side == 0 else -rim)))
    return [] if held is None else [held]


def _sizes(
    ranges: Sequence[tuple[FloatArray, FloatArray]], targets: Sequence[Target], norm: float
) -> FloatArray:
    """Return the least and the greatest use of each feature over a union of sets, as shares of the norm."""
    starts = np.cumsum([0, *(len(target.variables) for target in targets)])[:-1]
    least, most = [], []
    for lower, upper in ranges:
        small, large = relevance(lower / norm, upper / norm)
        least.append(np.maximum.reduceat(small, starts))
        most.append(np.maximum.reduceat(large, starts))
    return np.stack([np.min(least, axis=0), np.max(most, axis=0)], axis=1)


def context_distances(contexts: FloatArray) -> FloatArray:
    """Return Euclidean distances of contexts, each pair compared on all features but itself.

    Examples
    --------
    >>> contexts = np.zeros((3, 3, 2, 2))
    >>> contexts[0, 2], contexts[0, 1] = 1.0, 9.0
    >>> context_distances(contexts).round(3).tolist()[0]
    [0.0, 2.0, 18.0]
    """
    d = len(contexts)
    flat = contexts.reshape(d, d, -1)
    distance = np.zeros((d, d))
    for a in range(d):
        squares = ((flat[a] - flat) ** 2).sum(axis=2)
        squares[:, a] = 0.0
        squares[np.arange(d), np.arange(d)] = 0.0
        distance[a] = np.sqrt(squares.sum(axis=1))
    return (distance + distance.T) / 2


def cut_tree(tree: FloatArray, names: pd.Index, cut: float | None, k: int | None) -> tuple[pd.Series, float]:
    """Return the group of each feature, numbered in the features' order, and the height of the cut.

    Examples
    --------
    >>> tree = np.array([[0, 1, 0.1, 2], [2, 3, 1.0, 3]])
    >>> cut_tree(tree, pd.Index(["a", "b", "c"]), 0.5, None)[0].tolist()
    [1, 1, 2]
    """
    check_cut(cut, k)
    heights = tree[:, 2]
    if k is None:
        height = (CUT if cut is None else float(cut)) * float(heights.max())
        raw = fcluster(tree, height, criterion="distance")
    else:
        # k groups exist even where links are of equal height: cut the last k - 1 of them
        raw = _last_links(tree, k)
        steps = np.concatenate([[0.0], np.sort(heights), [heights.max()]])
        height = float(steps[len(names) - k : len(names) - k + 2].mean())
    return pd.Series(_renumber(raw), index=names, name="group"), height


def _last_links(tree: FloatArray, k: int) -> list[int]:
    """Undo the last k - 1 merges of a tree."""
    n = len(tree) + 1
    owner = list(range(2 * n - 1))
    for step in range(n - k):
        for child in tree[step, :2].astype(int):
            owner[child] = n + step

    def root(node: int) -> int:
        while owner[node] != node:
            node = owner[node]
        return node

    return [root(leaf) for leaf in range(n)]
