"""Which features stand in for each other? Groups by how all other intervals move when one feature is held."""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from threadpoolctl import threadpool_limits

from relbounds.errors import OptionError, nearest
from relbounds.explore.holding import context_distances, make_contexts, overlaps
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted

# Where the tree is cut by default, as a share of its tallest link; for overlaps the tallest possible is 1.
CUT = {"context": 0.5, "overlap": 0.3}
# Features whose distance is below this share of a typical context play one role, however short all links are.
ALIKE = 0.1
WAYS = ("context", "overlap")


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
        greatest use; for `by="overlap"`, how much every feature overlaps with the one that is half used.
    height : float
        Where the tree was cut.
    by : {"context", "overlap"}
        What the distances were made of.
    fitted : Fitted
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
    fitted: Fitted
    by: str = "context"

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
        labels, height = label(self, cut, k, by_class)
        return replace(self, labels=labels, height=height)

    def __repr__(self) -> str:
        lines = [f"{len(self)} groups of {len(self.labels)} features (cut at {self.height:.3g})"]
        for number, names in self.members.items():
            lines.append(f"  {number}: {', '.join(names)}")
        return "\n".join(lines)


def groups(
    fitted: Fitted,
    cut: float | None = None,
    k: int | None = None,
    *,
    part: str = "regular",
    by: str = "context",
    by_class: bool = True,
) -> Groups:
    """Group features by the role they play.

    By context, as published: each feature is held once at the least and once at the greatest use any equivalent
    model makes of it. How the intervals of all others move is its context; features with similar contexts play
    the same role. Two features are compared on all features but themselves.

    By overlap: each feature is half used, and what each other feature loses of its upper bound tells how much
    the two carry the same information. Where the tolerance is wide, full use of any feature exhausts the budgets
    and all contexts look alike; half use leaves room, so that overlaps still tell stand-ins from the rest.

    Parameters
    ----------
    fitted : Fitted
    cut : float, optional
        Where to cut the tree, as a share of its tallest link, 0.5 by default; by overlap the share that may
        be missing from a full overlap, 0.3 by default.
    k : int, optional
        The wanted number of groups instead, by the tree alone.
    part : {"regular", "privileged"}
        Which features.
    by : {"context", "overlap"}
        What makes two features alike.
    by_class : bool
        Let the classes speak too: a strong feature has no stand-in and is a group of its own, irrelevant
        features are one group, and the tallest link is sought among relevant features only. False cuts the
        tree of all features and asks nothing else, as published.

    Returns
    -------
    Groups

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> fit = rb.relbounds("severity ~ age + stiffness + platelets + crp + esr", data, C=0.1, probes=10)
    >>> labels = fit.groups(k=4).labels
    >>> bool(labels["crp"] == labels["esr"])
    True

    Radius, perimeter and area of cell nuclei stand in for each other, and for nothing else:

    >>> data = rb.datasets.load_breast_cancer()
    >>> names = ["radius", "perimeter", "area", "texture", "concave_points", "smoothness"]
    >>> formula = "diagnosis ~ texture_se + symmetry_se + " + " + ".join(f"worst_{name}" for name in names)
    >>> fit = rb.relbounds(formula, data, C=0.1, probes=20)
    >>> found = fit.groups(by="overlap").labels
    >>> found.index[found == found["worst_area"]].tolist()
    ['worst_radius', 'worst_perimeter', 'worst_area']
    """
    check_cut(cut, k)
    if by not in WAYS:
        raise OptionError(f"by={by!r} is not known; use 'context' or 'overlap'.{nearest(str(by), WAYS)}")
    table = fitted.table
    names = table.index[table["part"] == part]
    if len(names) == 0:
        raise OptionError(f"The fit has no {part} features; part='regular' groups the regular ones.")
    if len(names) < 3:
        raise OptionError(f"Groups need at least three {part} features; there are {len(names)}.")
    if k is not None and k > len(names):
        raise OptionError(f"k={k} groups cannot be made of {len(names)} features.")
    asked, place = fitted, part
    if part == "privileged" and fitted.privileged is not None and fitted.privileged.teacher is not None:
        asked, place = fitted.privileged.teacher, "regular"
    with threadpool_limits(limits=1, user_api="blas"):
        moved = make_contexts(asked, place, (0.0, 1.0) if by == "context" else (0.5,))
    if by == "context":
        columns = pd.MultiIndex.from_product([names, ["min", "max"], ["lower", "upper"]])
        contexts = pd.DataFrame(moved.reshape(len(names), -1), index=names, columns=columns)
        distance = context_distances(moved)
    else:
        shared = overlaps(moved[:, :, 0, 1], table.loc[names, "upper"].to_numpy())
        contexts = pd.DataFrame(shared, index=names, columns=names)
        distance = 1.0 - (shared + shared.T) / 2
    tree = linkage(squareform(distance, checks=False), method="single")
    found = Groups(
        labels=pd.Series(1, index=names, name="group"),
        linkage=tree,
        distance=pd.DataFrame(distance, index=names, columns=names),
        contexts=contexts,
        height=0.0,
        fitted=fitted,
        by=by,
    )
    return found.cut(cut, k, by_class=by_class)


def label(found: Groups, cut: float | None, k: int | None, by_class: bool) -> tuple[pd.Series, float]:
    """Return the group of each feature, and the height at which the tree is cut for it."""
    check_cut(cut, k)
    names = found.labels.index
    if k is not None or not by_class:
        return cut_tree(found.linkage, names, CUT[found.by] if cut is None and k is None else cut, k)
    classes = found.fitted.table.loc[names, "relevance"].to_numpy()
    weak = np.flatnonzero(classes == "weak")
    height = cut_height(found, classes != "irrelevant", CUT[found.by] if cut is None else float(cut))
    # 0 holds the irrelevant features, negative numbers the strong ones
    raw = np.where(classes == "strong", -1 - np.arange(len(names)), 0)
    raw[weak] = 1
    if len(weak) > 1:
        among = found.distance.to_numpy()[np.ix_(weak, weak)]
        raw[weak] = fcluster(linkage(squareform(among, checks=False), method="single"), height, "distance")
    return pd.Series(_renumber(raw), index=names, name="group"), height


def cut_height(found: Groups, relevant: NDArray[np.bool_], cut: float) -> float:
    """Return where to cut, by the tallest link among relevant features; overlaps have a scale of their own."""
    if found.by == "overlap":
        return cut
    if relevant.sum() < 2:
        return 0.0
    among = found.distance.to_numpy()[np.ix_(relevant, relevant)]
    tallest = float(linkage(squareform(among, checks=False), method="single")[:, 2].max())
    typical = float(np.median(np.linalg.norm(found.contexts.to_numpy(), axis=1)[relevant]))
    return max(cut * tallest, ALIKE * typical)


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
        height = (CUT["context"] if cut is None else float(cut)) * float(heights.max())
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
