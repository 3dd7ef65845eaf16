"""Which features resemble each other, in a line or along any curve, and how they join into clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage, to_tree
from scipy.spatial.distance import squareform

from relbounds.seeds import stream

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Likeness:
    """How the columns resemble each other, pair by pair.

    Attributes
    ----------
    either : array (d, d)
        0 (independent) to 1 (one determines the other, whichever).
    mutual : array (d, d)
        1 where each of the two determines the other.
    told : array (d, d)
        Entry j, k: the share of column k that column j tells.
    """

    either: Array
    mutual: Array
    told: Array


def likeness(X: Array, seed: int = 0) -> Likeness:
    """Compare every pair of columns, in a line and along any curve.

    Spearman's rank correlation, sign dropped, and Chatterjee's coefficient, which also sees curves that go up
    and down again. The latter has a direction: x tells all about its square, the square not the sign of x.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 201)
    >>> found = likeness(np.column_stack([x, x**2]))
    >>> bool(found.either[0, 1] > 0.9), bool(found.mutual[0, 1] > 0.9)
    (True, False)
    >>> bool(found.told[0, 1] > 0.9), bool(found.told[1, 0] > 0.9)
    (True, False)
    """
    spearman, curve = _spearman(X), _curve(X, seed)
    most = 1 - 3 / (len(X) + 1)  # what Chatterjee's coefficient reaches without ties
    return Likeness(
        either=_tidy(np.fmax(np.fmax(curve, curve.T), spearman)),
        mutual=_tidy(np.fmax(np.fmin(curve, curve.T), spearman)),
        told=_tidy(np.fmax(curve / most, spearman**2)),
    )


def likeness_of_units(X: Array, units: Sequence[tuple[int, ...]], seed: int = 0) -> Likeness:
    """Compare terms: as the most alike of their columns.

    Examples
    --------
    >>> x = np.linspace(-1, 1, 60)
    >>> found = likeness_of_units(np.column_stack([x, -x, x**2]), [(0, 2), (1,)])
    >>> found.either.shape, bool(found.mutual[0, 1] > 0.9)
    ((2, 2), True)
    """
    found = likeness(X, seed)
    if all(len(unit) == 1 for unit in units):
        order = np.ix_(*2 * ([unit[0] for unit in units],))
        return Likeness(found.either[order], found.mutual[order], found.told[order])

    def join(matrix: Array) -> Array:
        return _tidy(np.array([[matrix[np.ix_(a, b)].max() for b in units] for a in units]))

    return Likeness(join(found.either), join(found.mutual), join(found.told))


def _tidy(matrix: Array) -> Array:
    matrix = np.clip(np.nan_to_num(matrix, nan=0.0), 0.0, 1.0)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def _spearman(X: Array) -> Array:
    from scipy.stats import rankdata  # slow to load

    ranks = np.apply_along_axis(rankdata, 0, X) if X.shape[1] else X
    centred = ranks - ranks.mean(axis=0)
    norm = np.sqrt((centred**2).sum(axis=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.abs(centred.T @ centred / np.outer(norm, norm))


def _curve(X: Array, seed: int) -> Array:
    """Return Chatterjee's coefficient: entry j, k is how well column k follows some curve over column j."""
    from scipy.stats import rankdata  # slow to load

    n, d = X.shape
    ties = stream(seed, "ties").random(n)
    curve = np.zeros((d, d))
    top = np.apply_along_axis(rankdata, 0, X, method="max")
    # how many rows are at least this large
    bottom = n + 1 - np.apply_along_axis(rankdata, 0, X, method="min")
    spread = 2 * (bottom * (n - bottom)).sum(axis=0)
    for j in range(d):
        order = np.lexsort(np.vstack([ties, X[:, j]]))
        steps = np.abs(np.diff(top[order], axis=0)).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            curve[j] = 1 - n * steps / spread
    return curve


def clusters(resemblance: Array, floor: float) -> list[tuple[tuple[int, ...], float]]:
    """Return every cluster of two or more that average linkage forms at a similarity of at least `floor`.

    Smallest first, so that a feature meets its closest relatives before the distant ones.

    Examples
    --------
    >>> s = np.array([[1, 0.9, 0.1], [0.9, 1, 0.1], [0.1, 0.1, 1]])
    >>> clusters(s, floor=0.5)
    [((0, 1), 0.9)]
    """
    d = len(resemblance)
    if d < 2:
        return []
    joined = linkage(squareform(1 - resemblance, checks=False), method="average")
    _, nodes = to_tree(joined, rd=True)
    found = [
        (tuple(sorted(int(leaf) for leaf in node.pre_order())), round(float(1 - node.dist), 12))
        for node in nodes
        if node.count > 1 and 1 - node.dist >= floor - 1e-12
    ]
    return sorted(found, key=lambda cluster: (-cluster[1], len(cluster[0]), cluster[0]))


def flat(resemblance: Array, floor: float) -> list[tuple[int, ...]]:
    """Return the partition of the features into the largest clusters of at least that similarity.

    Examples
    --------
    >>> flat(np.array([[1, 0.9, 0.1], [0.9, 1, 0.1], [0.1, 0.1, 1]]), floor=0.5)
    [(0, 1), (2,)]
    """
    taken: dict[int, tuple[int, ...]] = {k: (k,) for k in range(len(resemblance))}
    for members, _ in clusters(resemblance, floor):
        for k in members:
            if len(members) > len(taken[k]):
                taken[k] = members
    return sorted(set(taken.values()))


def halves(found: list[tuple[int, ...]]) -> dict[tuple[int, ...], tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the two parts that each cluster was joined from.

    Examples
    --------
    >>> halves([(0, 1), (0, 1, 2)])
    {(0, 1): ((0,), (1,)), (0, 1, 2): ((0, 1), (2,))}
    """
    parts = {}
    for members in found:
        inside = [c for c in found if len(c) < len(members) and set(c) <= set(members)]
        one = max(inside, key=len, default=members[:1])
        parts[members] = (one, tuple(k for k in members if k not in one))
    return parts
