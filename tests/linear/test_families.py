"""Loss rows against the definitions, one at a time."""

import numpy as np
import pytest
from reference import rows_of
from scipy import stats

from relbounds.errors import OptionError
from relbounds.linear.families import make_rows
from relbounds.linear.families.family import somers_d, somers_d_of_orders
from relbounds.linear.families.regression import REGRESSION
from relbounds.linear.families.rows import Answers
from relbounds.linear.plain import plain_columns, plain_model


@pytest.mark.parametrize(
    ("family", "order", "levels"),
    [
        ("ordinal", "explicit", 4),
        ("ordinal", "implicit", 4),
        ("ordinal", "explicit", 2),
        ("ordinal", "implicit", 2),
        ("binary", "explicit", 2),
        ("binary", "implicit", 2),
        ("regression", "explicit", 0),
    ],
)
def test_same_rows_as_the_definitions(family, order, levels):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(20, 3)), rng.uniform(0, 2, 20)
    y = rng.normal(size=20) if family == "regression" else rng.permutation(np.arange(20) % levels) + 1
    rows = make_rows(y, family, order, levels, weights, epsilon=0.3)
    model = plain_model(X, rows)
    G, h, price = rows_of(X, y, family, order, levels, weights, epsilon=0.3)
    ours = np.column_stack([model.G, model.h, model.c])
    theirs = np.column_stack([G, h, price])
    assert ours.shape == theirs.shape
    assert np.allclose(ours[np.lexsort(ours.T)], theirs[np.lexsort(theirs.T)])


def test_thresholds_are_ordered_only_where_constraints_are_needed():
    y = np.array([1, 2, 3, 1, 2, 3])
    assert make_rows(y, "ordinal").ordered
    assert not make_rows(y, "ordinal", "implicit").ordered
    assert not make_rows(np.array([1, 2]), "binary").ordered
    assert plain_model(np.ones((6, 1)), make_rows(y, "ordinal")).A.tolist() == [[0.0, -1.0, 1.0]]


def test_a_column_of_the_model_from_a_column_of_the_data():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(9, 2)), np.arange(9) % 3 + 1
    rows = make_rows(y, "ordinal")
    assert np.array_equal(plain_columns(rows, X.T[[1]])[0], plain_model(X, rows).G[:, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"family": "ordnial"}, "Did you mean 'ordinal'"),
        ({"family": "ordinal", "order": "implict"}, "Did you mean 'implicit'"),
        ({"family": "ordinal", "weights": np.ones(3)}, "give one"),
        ({"family": "regression", "epsilon": -1.0}, "negative"),
    ],
)
def test_errors_say_what_to_do(options, message):
    with pytest.raises(OptionError, match=message):
        make_rows(np.array([1, 2]), **options)


@pytest.mark.parametrize("ties", [False, True])
def test_somers_d_of_many_orders_is_that_of_each(ties):
    rng = np.random.default_rng(3)
    levels, score = rng.integers(1, 5, 60), rng.normal(size=70)
    if ties:
        score = np.round(score, 0)
    orders = np.array([rng.permutation(70)[:60] for _ in range(40)])
    each = [somers_d(levels, score[order]) for order in orders]
    assert somers_d_of_orders(levels, score, orders).tolist() == each


@pytest.mark.parametrize("whole", [False, True])
def test_rank_correlations_of_many_orders_are_those_of_scipy(whole):
    rng = np.random.default_rng(5)
    y, score = rng.normal(size=(2, 40))
    y, score = (np.round(y), np.round(score)) if whole else (y, score)
    orders = np.array([rng.permutation(40) for _ in range(9)])
    found = REGRESSION.ranks(Answers(y), score, orders)
    expected = [stats.spearmanr(y, score[order]).statistic for order in orders]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert REGRESSION.rank(Answers(y), score[orders[3]], np.ones(40)) == found[3]
    assert not REGRESSION.ranks(Answers(y), np.ones(40), orders).any()
