"""Dealing rows into folds: one function for every model that is tuned or judged on held-out rows.

Folds are as alike as can be: rows of one level (of similar numbers, where the response has no levels) are spread
over all of them. Rows of one cluster stay together, so that no model is judged on a patient it has seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relbounds.seeds import stream

Folds = NDArray[np.intp]
# Where a response without levels is dealt by clusters: as many bins of similar numbers as there are, at most this many.
BINS = 10


def deal_folds(
    y: NDArray[Any],
    levels: Sequence[Any] | None,
    folds: int,
    seed: int,
    cluster: NDArray[np.intp] | None = None,
) -> tuple[Folds, tuple[str, ...]]:
    """Return the fold of each row (-1: never held out), and what a reader should know about the folds.

    A level with fewer samples (or clusters) than folds lowers the number of folds. What is the only sample, or the
    only cluster, of its level stays in training in every fold: without it the level could not be learned.

    Parameters
    ----------
    y : array
        Level codes 1..L, or numbers where `levels` is None.
    levels : sequence or None
        The levels, named in the notes.
    folds : int
        The number of folds wanted.
    seed : int
        The same seed gives the same folds.
    cluster : array of int, optional
        Rows with the same number belong together.

    Examples
    --------
    >>> y = np.array([1, 1, 1, 1, 2, 2])
    >>> fold, notes = deal_folds(y, ["low", "high"], 3, seed=0)
    >>> np.bincount(fold), notes
    (array([3, 3]), ('2 folds instead of 3: level high has only 2 samples.',))
    >>> fold, _ = deal_folds(y, ["low", "high"], 2, seed=0, cluster=np.array([0, 0, 1, 1, 0, 1]))
    >>> len(set(fold[[0, 1, 4]])), len(set(fold[[2, 3, 5]]))
    (1, 1)
    """
    rng = stream(seed, "folds")
    if cluster is not None:
        return _deal_clusters(_strata(y, levels), levels, folds, cluster, rng)
    return _deal_numbers(y, folds, rng) if levels is None else _deal_levels(y, levels, folds, rng)


def _deal_numbers(y: NDArray[Any], folds: int, rng: np.random.Generator) -> tuple[Folds, tuple[str, ...]]:
    """Deal rows of similar numbers to different folds."""
    n, wanted = len(y), folds
    folds = min(wanted, n)
    fold = np.full(n, -1, dtype=np.intp)
    order = np.argsort(y, kind="stable")
    for start in range(0, n, folds):
        block = order[start : start + folds]
        fold[block] = rng.permutation(folds)[: len(block)]
    notes = () if folds == wanted else (f"{folds} folds instead of {wanted}: there are only {n} rows.",)
    return fold, notes


def _deal_levels(
    y: NDArray[Any], levels: Sequence[Any], folds: int, rng: np.random.Generator
) -> tuple[Folds, tuple[str, ...]]:
    """Deal the rows level by level, each level going on where the last one ended."""
    counts = np.bincount(np.asarray(y, dtype=int), minlength=len(levels) + 1)[1:]
    folds, notes = _fewer(counts, levels, folds, "sample")
    fold = np.full(len(y), -1, dtype=np.intp)
    start = 0
    for code in range(1, len(levels) + 1):
        members = rng.permutation(np.flatnonzero(y == code))
        if len(members) > 1:
            fold[members] = (start + np.arange(len(members))) % folds
            start = (start + len(members)) % folds
    return fold, notes


def _fewer(
    counts: NDArray[Any], levels: Sequence[Any], wanted: int, noun: str
) -> tuple[int, tuple[str, ...]]:
    """Return how many folds the levels allow for, and notes on those that are too small."""
    notes = []
    several = counts[counts > 1]
    folds = wanted if len(several) == 0 else int(max(2, min(wanted, several.min())))
    if folds < wanted:
        smallest = levels[int(np.flatnonzero(counts == several.min())[0])]
        notes.append(f"{folds} folds instead of {wanted}: level {smallest} has only {several.min()} {noun}s.")
    for level, count in zip(levels, counts, strict=True):
        if count == 1:
            notes.append(f"Level {level} has one {noun}, which is never held out.")
    return folds, tuple(notes)


def _strata(y: NDArray[Any], levels: Sequence[Any] | None) -> NDArray[np.intp]:
    """Return which rows are alike, as numbers from 0: those of a level, or of similar numbers."""
    if levels is not None:
        return np.asarray(y, dtype=np.intp) - 1
    place = np.empty(len(y), dtype=np.intp)
    place[np.argsort(y, kind="stable")] = np.arange(len(y))
    return place * min(BINS, len(y)) // len(y)


def _too_few(folds: int, wanted: int, clusters: int) -> str:
    return f"{folds} folds instead of {wanted}: there are only {clusters} clusters."


def _deal_clusters(
    strata: NDArray[np.intp],
    levels: Sequence[Any] | None,
    folds: int,
    cluster: NDArray[np.intp],
    rng: np.random.Generator,
) -> tuple[Folds, tuple[str, ...]]:
    """Deal whole clusters, the large ones first, each to the fold that lacks its levels most."""
    names, member = np.unique(cluster, return_inverse=True)
    table = np.zeros((len(names), (len(levels) if levels is not None else strata.max() + 1)))
    np.add.at(table, (member, strata), 1.0)
    kept: NDArray[Any] = np.zeros(len(names), dtype=bool)
    notes: tuple[str, ...] = ()
    wanted = folds
    if levels is None:
        folds = min(folds, len(names))
        notes = (_too_few(folds, wanted, len(names)),) if folds < wanted else ()
    else:
        holders = (table > 0).sum(axis=0)
        folds, notes = _fewer(holders, levels, folds, "cluster")
        if len(names) == folds < wanted:
            # no level is to blame: there are no more clusters
            notes = (_too_few(folds, wanted, len(names)), *notes[1:])
        kept = np.any(table[:, holders == 1] > 0, axis=1)
    # what a fold should hold of each level, in shares: a rare level counts as much as a common one
    share = table / np.maximum(table.sum(axis=0), 1.0)
    order = rng.permutation(len(names))
    order = order[np.argsort(-share[order].sum(axis=1), kind="stable")]
    held, fold_of = np.zeros((folds, table.shape[1])), np.full(len(names), -1, dtype=np.intp)
    for one in order[~kept[order]]:
        after = held + share[one]
        # squares grow most where a fold already has much: the least growth keeps all folds alike
        growth = np.square(after).sum(axis=1) - np.square(held).sum(axis=1)
        best = int(np.argmin(growth + 1e-9 * held.sum(axis=1)))
        held[best], fold_of[one] = after[best], best
    return fold_of[member], notes
