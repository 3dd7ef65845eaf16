"""Folds: alike, reproducible, and clusters whole."""

import numpy as np
import pytest

from relbounds.folds import deal_folds


def old_folds(y, levels, cv, seed):
    """The folds of the first version, written out: numbers of stored fits depend on them."""
    rng = np.random.default_rng([seed, 0])
    fold = np.full(len(y), -1)
    counts = np.bincount(y, minlength=len(levels) + 1)[1:]
    held_out = counts[counts > 1]
    folds = cv if len(held_out) == 0 else int(max(2, min(cv, held_out.min())))
    start = 0
    for code in range(1, len(levels) + 1):
        members = rng.permutation(np.flatnonzero(y == code))
        if len(members) > 1:
            fold[members] = (start + np.arange(len(members))) % folds
            start = (start + len(members)) % folds
    return fold


@pytest.mark.parametrize("seed", range(5))
def test_folds_of_levels_are_those_of_the_first_version(seed):
    y = np.random.default_rng(seed).integers(1, 5, 47)
    fold, _ = deal_folds(y, list("abcd"), 5, seed)
    np.testing.assert_array_equal(fold, old_folds(y, list("abcd"), 5, seed))


def test_every_fold_holds_its_share_of_every_level():
    y = np.repeat([1, 2, 3], [50, 30, 20])
    fold, notes = deal_folds(y, ["a", "b", "c"], 5, 0)
    for code, count in ((1, 10), (2, 6), (3, 4)):
        np.testing.assert_array_equal(np.bincount(fold[y == code], minlength=5), count)
    assert notes == ()


def test_a_level_with_one_sample_is_never_held_out():
    fold, notes = deal_folds(np.array([1, 1, 1, 2]), ["a", "b"], 3, 0)
    assert fold[3] == -1 and (fold[:3] >= 0).all()
    assert notes == ("Level b has one sample, which is never held out.",)


def test_numbers_of_every_size_are_in_every_fold():
    y = np.random.default_rng(0).normal(size=100)
    fold, _ = deal_folds(y, None, 5, 0)
    means = [y[fold == f].mean() for f in range(5)]
    assert np.ptp(means) < 0.2
    fold, notes = deal_folds(y[:3], None, 5, 0)
    assert sorted(fold) == [0, 1, 2] and "only 3 rows" in notes[0]


@pytest.mark.parametrize("levels", [None, ["a", "b", "c"]])
def test_clusters_stay_whole_and_folds_alike(levels):
    rng = np.random.default_rng(3)
    cluster = np.repeat(np.arange(50), 5)[rng.permutation(250)]
    y = rng.integers(1, 4, 250) if levels else rng.normal(size=250)
    fold, notes = deal_folds(y, levels, 5, 1, cluster)
    assert all(len(set(fold[cluster == c])) == 1 for c in range(50))
    assert notes == ()
    sizes = np.bincount(fold, minlength=5)
    assert sizes.min() >= 35 and sizes.max() <= 65
    if levels:
        for code in (1, 2, 3):
            counts = np.bincount(fold[y == code], minlength=5)
            assert counts.min() >= 0.5 * counts.mean()
    np.testing.assert_array_equal(fold, deal_folds(y, levels, 5, 1, cluster)[0])
    assert not np.array_equal(fold, deal_folds(y, levels, 5, 2, cluster)[0])


def test_clusters_of_one_row_are_dealt_as_evenly_as_sklearn_does():
    model = pytest.importorskip("sklearn.model_selection")
    rng = np.random.default_rng(5)
    cluster = rng.integers(0, 30, 200)
    y = rng.choice([1, 2, 3], 200, p=[0.6, 0.3, 0.1])
    fold, _ = deal_folds(y, ["a", "b", "c"], 4, 0, cluster)
    theirs = np.empty(200, dtype=int)
    for f, (_, held) in enumerate(
        model.StratifiedGroupKFold(4, shuffle=True, random_state=0).split(y, y, cluster)
    ):
        theirs[held] = f

    def unevenness(fold):
        counts = np.array([[np.sum((fold == f) & (y == k)) for k in (1, 2, 3)] for f in range(4)])
        return np.std(counts / counts.sum(axis=0), axis=0).sum()

    assert unevenness(fold) < 1.5 * unevenness(theirs) + 1e-12


def test_the_only_cluster_of_a_level_is_never_held_out():
    y = np.array([1, 1, 1, 1, 2, 2, 1])
    cluster = np.array([0, 0, 1, 1, 2, 2, 2])
    fold, notes = deal_folds(y, ["a", "b"], 2, 0, cluster)
    assert (fold[4:] == -1).all() and set(fold[:4]) == {0, 1}
    assert any("Level b has one cluster" in note for note in notes)
