import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relbounds.errors import DataError
from relbounds.metrics import f1_weighted, mae, mmae, mze, r2


def test_three_ordinal_scores_by_hand():
    # level 1: off by 0 and 1 -> 0.5; level 2: off by 0 -> 0; level 4: off by 3, 1, 2, 0 -> 1.5
    y = [1, 1, 2, 4, 4, 4, 4]
    p = [1, 2, 2, 1, 3, 2, 4]
    assert mze(y, p) == pytest.approx(4 / 7)
    assert mae(y, p) == pytest.approx(7 / 7)
    assert mmae(y, p) == pytest.approx((0.5 + 0 + 1.5) / 3)


def test_mmae_of_the_commonest_level_is_not_flattered_by_imbalance():
    y = np.r_[np.ones(98), 2, 3]
    p = np.ones(100)
    assert mze(y, p) == pytest.approx(0.02)
    assert mmae(y, p) == pytest.approx((0 + 1 + 2) / 3)


def test_mmae_counts_only_levels_that_occur():
    assert mmae([1, 3], [2, 2]) == 1.0


def test_perfect_and_balanced():
    y = np.repeat([1, 2, 3], 5)
    p = np.roll(y, 1)
    assert mze(y, y) == mae(y, y) == mmae(y, y) == 0.0
    assert mmae(y, p) == pytest.approx(mae(y, p))  # equal level sizes: the two means agree


def test_ordered_categories_count_by_place():
    levels = ["none", "mild", "severe"]
    y = pd.Categorical(["none", "severe", "mild"], levels, ordered=True)
    p = pd.Categorical(["severe", "severe", "none"], levels, ordered=True)
    assert mae(y, p) == pytest.approx(1.0)
    assert mae(pd.Series(y), np.asarray(p)) == pytest.approx(1.0)
    assert mae(np.asarray(y), p) == pytest.approx(1.0)


def test_r2_by_hand():
    assert r2([1, 2, 3, 4], [1, 2, 3, 4]) == 1.0
    assert r2([1, 2, 3, 4], [2.5] * 4) == 0.0
    assert r2([0, 2], [2, 0]) == pytest.approx(1 - 8 / 2)
    assert r2([3, 3], [3, 3]) == 1.0
    assert r2([3, 3], [3, 4]) == 0.0


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=30))
def test_equal_to_scikit_learn(pairs):
    sk = pytest.importorskip("sklearn.metrics")
    y, p = map(np.array, zip(*pairs, strict=True))
    assert mze(y, p) == pytest.approx(sk.zero_one_loss(y, p))
    assert mae(y, p) == pytest.approx(sk.mean_absolute_error(y, p))
    assert f1_weighted(y, p) == pytest.approx(sk.f1_score(y, p, average="weighted", zero_division=0))
    by_level = [sk.mean_absolute_error(y[y == k], p[y == k]) for k in np.unique(y)]
    assert mmae(y, p) == pytest.approx(np.mean(by_level))
    if len(y) > 1 and len(set(y)) > 1:
        assert r2(y, p) == pytest.approx(sk.r2_score(y, p))


@pytest.mark.parametrize(
    ("y", "p", "words"),
    [
        ([1, 2], [1], "one for one"),
        ([], [], "empty"),
        ([1.0, np.nan], [1, 1], "missing"),
        (["a"], ["b"], "not numbers"),
        (pd.Categorical(["a"], ["a", "b"]), ["c"], "'c'"),
    ],
)
def test_bad_input_says_what_to_do(y, p, words):
    with pytest.raises(DataError, match=words):
        mze(y, p)
