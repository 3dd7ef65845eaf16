"""Small and odd data: a fit, or an error that says what to do; numbers of NumPy are numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relbounds as rb

ODD = {
    "one row a level": lambda n: list(range(n)),
    "a level of one row": lambda n: [9] + [1, 2] * ((n - 1) // 2) + [1] * ((n - 1) % 2),
    "more levels than rows a fold": lambda n: [k // 2 for k in range(n)],
    "two levels": lambda n: [1] + [2] * (n - 1),
}


@pytest.mark.parametrize("kind", list(ODD))
@pytest.mark.parametrize("n", [3, 4, 8])
@pytest.mark.parametrize("options", [{}, {"C": 1.0, "width": 1.0}, {"order": "implicit", "C": [0.1, 1.0]}])
def test_small_and_odd_data_give_a_fit_or_a_clear_error(kind, n, options):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "y": ODD[kind](n)})
    try:
        fit = rb.svor("y ~ .", data, progress=False, **options)
    except rb.RelboundsError as error:
        assert len(str(error)) > 20
        # only where nothing can be held out to choose by
        assert data["y"].is_unique and not {"C", "width"} <= set(options)
    else:
        assert len(fit.predict()) == n and fit.kkt.ordered
        assert len(str(fit.summary())) > 100


def test_nothing_to_hold_out_says_what_to_give():
    data = pd.DataFrame({"a": [0.0, 1.0, 2.0], "y": [1, 2, 3]})
    with pytest.raises(rb.DataError, match="Give a number for each of C, width"):
        rb.svor("y ~ a", data)
    fit = rb.svor("y ~ a", data, C=10.0, width=1.0)
    assert fit.predict().tolist() == [1, 2, 3]
    with pytest.raises(rb.DataError, match="held out"):
        fit.predict(type="prob")


def test_numbers_of_numpy_are_numbers():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"a": rng.normal(size=30), "y": np.repeat([1, 2, 3], 10)})
    given = {
        "C": np.float32(1.0), "width": np.array(2.0), "gamma": np.int64(1), "mix": np.float64(0.5),
        "tol": np.float32(1e-3), "cv": np.int8(3), "seed": np.uint16(0), "n_jobs": np.float64(1.0),
        "balance": np.True_,
    }  # fmt: skip
    fit = rb.svor("y ~ a", data, **given)
    plain = rb.svor("y ~ a", data, C=1.0, width=2.0, tol=float(np.float32(1e-3)))
    np.testing.assert_array_equal(fit.decision_function(), plain.decision_function())
    tuned = rb.svor("y ~ a", data, C=np.array([0.1, 1.0]), width=np.float64(1.0), cv=np.int64(2))
    assert tuned.tuned.folds == 2


def test_responses_known_in_part_and_adjustment_are_refused():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"a": rng.normal(size=30), "b": rng.normal(size=30), "y": np.repeat([1, 2, 3], 10)})
    with pytest.raises(rb.OptionError, match="no adjusting part"):
        rb.svor("y ~ a | adjust(b)", data, C=1.0)


@pytest.mark.parametrize("levels", [2, 4])
def test_probabilities_of_new_rows_are_as_good_as_those_of_an_ordinal_regression(levels):
    models = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1200, 2))
    score = 1.5 * X[:, 0] + rng.logistic(size=1200)
    data = pd.DataFrame(X, columns=["a", "b"])
    data["y"] = 1 + np.searchsorted(np.quantile(score, np.arange(1, levels) / levels), score)
    train, test = data.iloc[:300], data.iloc[300:]
    fit = rb.svor("y ~ .", train, kernel="linear", C=0.1)
    chances = fit.predict(test, type="prob")
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    other = models.OrderedModel(train["y"], train[["a", "b"]], distr="logit").fit(method="bfgs", disp=False)
    theirs = np.asarray(other.predict(test[["a", "b"]]))
    row, place = np.arange(len(test)), test["y"].to_numpy() - 1
    loss = [-np.log(np.maximum(p[row, place], 1e-12)).mean() for p in (chances.to_numpy(), theirs)]
    assert loss[0] < loss[1] + 0.03


@pytest.mark.parametrize("order", ["explicit", "implicit"])
def test_the_same_numbers_for_every_number_of_jobs_and_threads(order):
    limits = pytest.importorskip("threadpoolctl")
    rng = np.random.default_rng(5)
    data = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    data["y"] = pd.qcut(data.a + data.b**2, 3, labels=False)
    options = {"order": order, "C": [0.1, 1.0, 10.0], "width": [0.5, 2.0], "cv": 3, "progress": False}
    one = rb.svor("y ~ .", data, **options)
    two = rb.svor("y ~ .", data, n_jobs=2, **options)
    with limits.threadpool_limits(2):
        three = rb.svor("y ~ .", data, **options)
    for other in (two, three):
        pd.testing.assert_frame_equal(one.scores, other.scores, check_exact=True)
        np.testing.assert_array_equal(one.machine.alpha, other.machine.alpha)
