"""Which terms stand in for each other? Groups by how all other intervals move when one term is held.

Section "Groups" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from threadpoolctl import threadpool_limits

from relbounds.checks import choice, is_number, is_whole
from relbounds.errors import OptionError
from relbounds.explore.constrain import need_bounds
from relbounds.explore.exact_bounds import with_exact_bounds
from relbounds.explore.holding import context_distances, make_contexts, overlaps
from relbounds.explore.naming import term_rows
from relbounds.explore.together import Together, measure_together
from relbounds.linear.asked import Asked
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.term_groups import TermGroups

# Where the tree is cut by default, as a share of its tallest link; for overlaps the tallest possible is 1.
CUT = {"context": 0.5, "overlap": 0.3}
# Terms whose distance is below this share of a typical context play one role, however short all links are.
ALIKE = 0.1
# Terms that have no stand-in join the tree this much above its tallest link.
APART = 1.1
WAYS = ("context", "overlap")


@dataclass(frozen=True)
class Groups(TermGroups):
    """Terms that stand in for each other, as labels and as a tree.

    Attributes
    ----------
    labels : Series
        The group of each term, numbered from 1 in the order of the table.
    linkage : ndarray
        The tree in scipy's form, for ``scipy.cluster.hierarchy.dendrogram``; cut at `height` it gives the labels.
    height : float
        Where the tree was cut.
    distance : DataFrame
        Distances between terms, before classes have their say.
    contexts : DataFrame
        How the bounds of every term (columns) move when one term (rows) is held at its least and at its
        greatest use; for `by="overlap"`, how much every term overlaps with the one that is half used.
    together : tuple of Together
        The joint use of each group of several terms that are not noise.
    by : {"context", "overlap"}
        What the distances were made of.
    fitted : Fitted
        The fit that was explored.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> found = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01).groups()
    >>> bool(found.labels["x2"] == found.labels["x3"])
    True
    """

    linkage: FloatArray
    height: float
    distance: pd.DataFrame
    contexts: pd.DataFrame
    fitted: Fitted
    by: str = "context"
    together: tuple[Together, ...] = ()
    rows: tuple[Asked, ...] = field(default=(), repr=False)

    @property
    def table(self) -> pd.DataFrame:
        """One row a group of several terms: its members, their joint use and its class."""
        numbers = {tuple(names): number for number, names in self.members.items()}
        records = [
            {
                "group": numbers[one.terms],
                "terms": ", ".join(one.terms),
                "lower": one.lower,
                "upper": one.upper,
                "exact": one.exact,
                "relevance": one.relevance,
                "needed_together": one.replaceable,
            }
            for one in self.together
        ]
        columns = ["group", "terms", "lower", "upper", "exact", "relevance", "needed_together"]
        return pd.DataFrame(records, columns=columns).set_index("group")

    def cut(self, cut: float | None = None, k: int | None = None, *, by_class: bool = True) -> Groups:
        """Cut the same tree elsewhere; only the joint use of the new groups is computed anew.

        Parameters
        ----------
        cut : float, optional
            The height to cut at.
        k : int, optional
            How many groups to make instead.
        by_class : bool
            Keep terms of different classes apart.

        Returns
        -------
        Groups

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> found = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01).groups()
        >>> len(found.cut(k=4))
        4
        """
        check_cut(cut, k)
        tree, height = make_tree(self, cut, k, by_class)
        labels = pd.Series(labels_at(tree, height, k), index=self.labels.index, name="group")
        found = replace(self, labels=labels, linkage=tree, height=height, together=())
        return replace(found, together=joint_use(found))

    def __repr__(self) -> str:
        lines = [f"{len(self)} groups of {len(self.labels)} terms (cut at {self.height:.3g})"]
        said = {one.terms: one for one in self.together}
        for number, names in self.members.items():
            joint = said.get(tuple(names))
            more = ""
            if joint is not None:
                most = f"{joint.upper:.3f}" if joint.exact else f"at most {joint.upper:.3f}"
                more = f" (together {joint.lower:.3f} to {most}, {joint.relevance}"
                more += "; each is replaceable, together they are needed)" if joint.replaceable else ")"
            lines.append(f"  {number}: {', '.join(names)}{more}")
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
    """Group terms by the role they play.

    By context, as published: each term is held once at the least and once at the greatest use any equivalent
    model makes of it. How the intervals of all others move is its context; terms with similar contexts play
    the same role. Two terms are compared on all terms but themselves.

    By overlap: each term is half used, and what each other term loses of its upper bound tells how much
    the two carry the same information. Where the tolerance is wide, full use of any term exhausts the budgets
    and all contexts look alike; half use leaves room, so that overlaps still tell stand-ins from the rest.

    Parameters
    ----------
    fitted : Fitted
    cut : float, optional
        Where to cut the tree, as a share of its tallest link, 0.5 by default; by overlap the share that may
        be missing from a full overlap, 0.3 by default.
    k : int, optional
        The wanted number of groups instead.
    part : {"regular", "privileged"}
        Which terms.
    by : {"context", "overlap"}
        What makes two terms alike.
    by_class : bool
        Let the classes speak too: a strong term has no stand-in and joins the tree at its top, irrelevant
        terms, which nothing tells apart from noise, join at its bottom, and the tallest link is sought among
        relevant terms only. False makes the tree of the distances alone, as published.

    Returns
    -------
    Groups

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> fit = rb.relbounds("severity ~ age + stiffness + platelets + crp + esr", data, C=0.1)
    >>> labels = fit.groups().labels
    >>> bool(labels["crp"] == labels["esr"])
    True
    """
    need_bounds(fitted)
    fitted = with_exact_bounds(fitted)
    check_cut(cut, k)
    choice("by", by, WAYS)
    explored = fitted
    if part == "privileged" and fitted.privileged is not None and fitted.privileged.teacher is not None:
        explored, part = fitted.privileged.teacher, "regular"
    rows = term_rows(explored, part)
    if not rows:
        raise OptionError(f"The fit has no {part} terms; part='regular' groups the regular ones.")
    if len(rows) < 3:
        raise OptionError(f"Groups need at least three {part} terms; there are {len(rows)}.")
    if k is not None and k > len(rows):
        raise OptionError(f"k={k} groups cannot be made of {len(rows)} terms.")
    with threadpool_limits(limits=1, user_api="blas"):
        moved = make_contexts(explored, rows, (0.0, 1.0) if by == "context" else (0.5,))
        names = pd.Index([row.title for row in rows], name="feature")
        if by == "context":
            columns = pd.MultiIndex.from_product([names, ["min", "max"], ["lower", "upper"]])
            contexts = pd.DataFrame(moved.reshape(len(names), -1), index=names, columns=columns)
            distance = context_distances(moved)
        else:
            shared = overlaps(moved[:, :, 0, 1], explored.table.loc[names, "upper"].to_numpy())
            contexts = pd.DataFrame(shared, index=names, columns=names)
            distance = 1.0 - (shared + shared.T) / 2
        found = Groups(
            labels=pd.Series(1, index=names, name="group"),
            linkage=np.zeros((0, 4)),
            height=0.0,
            distance=pd.DataFrame(distance, index=names, columns=names),
            contexts=contexts,
            fitted=explored,
            by=by,
            rows=tuple(rows),
        )
        return found.cut(cut, k, by_class=by_class)


def joint_use(found: Groups) -> tuple[Together, ...]:
    """Return how much each group of several terms is used jointly; groups of noise are left out."""
    by_title = {row.title: row for row in found.rows}
    classes = found.fitted.table["relevance"]
    several = [names for names in found.members.values() if len(names) > 1]
    relevant = [names for names in several if (classes[names] != "irrelevant").any()]
    with threadpool_limits(limits=1, user_api="blas"):
        return tuple(measure_together(found.fitted, [by_title[name] for name in names]) for names in relevant)


def make_tree(found: Groups, cut: float | None, k: int | None, by_class: bool) -> tuple[FloatArray, float]:
    """Return the tree and the height at which it is cut."""
    distance = found.distance.to_numpy()
    classes = found.fitted.table.loc[found.labels.index, "relevance"].to_numpy()
    relevant = classes != "irrelevant"
    if by_class:
        distance = by_classes(distance, classes)
    tree = linkage(squareform(distance, checks=False), method="single")
    share = CUT[found.by] if cut is None else float(cut)
    if k is not None:
        heights = np.concatenate([[0.0], np.sort(tree[:, 2]), [tree[:, 2].max()]])
        place = len(distance) - k
        return tree, float(heights[place : place + 2].mean())
    if found.by == "overlap":
        return tree, share
    if not by_class:
        return tree, share * float(tree[:, 2].max())
    return tree, _height(found, relevant, classes == "weak", share)


def by_classes(distance: FloatArray, classes: np.ndarray) -> FloatArray:
    """Return distances in which strong terms are far from all others, and irrelevant ones near each other only.

    Examples
    --------
    >>> near = np.array([[0.0, 0.1, 0.2], [0.1, 0.0, 0.3], [0.2, 0.3, 0.0]])
    >>> by_classes(near, np.array(["strong", "irrelevant", "irrelevant"])).round(2).tolist()[1]
    [0.33, 0.0, 0.0]
    """
    out = distance.copy()
    noise, lone = classes == "irrelevant", (classes == "strong") | (classes == "fixed")
    far = APART * float(distance.max(initial=0.0)) or 1.0
    apart = lone[:, None] | lone[None, :] | (noise[:, None] != noise[None, :])
    out[apart] = far
    out[noise[:, None] & noise[None, :]] = 0.0
    np.fill_diagonal(out, 0.0)
    return out


def _height(found: Groups, relevant: np.ndarray, weak: np.ndarray, share: float) -> float:
    """Return where to cut: a share of the tallest link among relevant terms, but never between terms quite alike."""
    if weak.sum() < 2:
        return 0.0
    among = found.distance.to_numpy()[np.ix_(relevant, relevant)]
    tallest = float(linkage(squareform(among, checks=False), method="single")[:, 2].max())
    typical = float(np.median(np.linalg.norm(found.contexts.to_numpy(), axis=1)[relevant]))
    # below the links that classes put at the top
    return min(max(share * tallest, ALIKE * typical), float(found.distance.to_numpy().max()))


def labels_at(tree: FloatArray, height: float, k: int | None = None) -> list[int]:
    """Return the group of each term, numbered in the terms' order.

    Examples
    --------
    >>> labels_at(np.array([[0, 1, 0.1, 2], [2, 3, 1.0, 3]]), 0.5)
    [1, 1, 2]
    """
    # k groups exist even where links are of equal height: the last k - 1 of them are cut
    raw = fcluster(tree, height, criterion="distance") if k is None else _last_links(tree, k)
    return _renumber(raw)


def _renumber(raw: Iterable[int]) -> list[int]:
    """Number groups from 1 in the order in which they appear."""
    found = list(raw)
    order = {one: i for i, one in enumerate(dict.fromkeys(found), start=1)}
    return [order[one] for one in found]


def check_cut(cut: float | None, k: int | None) -> None:
    """Refuse a cut that makes no sense."""
    if cut is not None and k is not None:
        raise OptionError("Give cut or k, not both: each of them says where the tree is cut.")
    if cut is not None and (not is_number(cut) or not 0 <= cut <= 1):
        raise OptionError(f"cut={cut!r} must be a share of the tallest link, between 0 and 1.")
    if k is not None and (not is_whole(k) or k < 1):
        raise OptionError(f"k={k!r} must be a whole number of groups, 1 or more.")


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
