"""Both sides of every threshold weigh the same, unless the published model is asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds.errors import SolverError
from relbounds.kernel import qp
from relbounds.kernel.fitting import fit_machine
from relbounds.kernel.margins import Pricing, make_margin_rows
from relbounds.kernel.options import SvorOptions


@pytest.fixture
def unequal():
    """Levels of 60, 25 and 15 %, and a relation of ordinary strength."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3))
    score = 0.8 * X[:, 0] - 0.5 * X[:, 1] + rng.logistic(size=400)
    data = pd.DataFrame(X, columns=["a", "b", "c"])
    data["grade"] = 1 + np.searchsorted(np.quantile(score, [0.6, 0.85]), score)
    return data


@pytest.mark.parametrize("order", ["explicit", "implicit"])
def test_the_sides_of_a_threshold_weigh_the_same_and_their_total_stays(order):
    rng = np.random.default_rng(0)
    y, weights = rng.choice([1, 2, 3, 4], 90, p=[0.6, 0.2, 0.15, 0.05]), rng.uniform(0.5, 2.0, 90)
    gap = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) ** 2.0
    cost = gap if order == "implicit" else None
    plain = make_margin_rows(y, 4, order, pricing=Pricing(2.0, weights, cost))
    even = make_margin_rows(y, 4, order, pricing=Pricing(2.0, weights, cost, balance=True))
    for j in range(3):
        here = even.threshold == j
        below, above = (even.upper[here & (even.sign == side)].sum() for side in (-1, 1))
        assert below == pytest.approx(above)
        assert below + above == pytest.approx(plain.upper[here].sum())


def test_levels_of_equal_size_are_fitted_as_published(make):
    X, y = make(60, 2, 3, 1.0)
    assert len(set(np.bincount(y)[1:])) == 1
    even, plain = (fit_machine(X, y, 3, SvorOptions(C=2.0, width=1.0, balance=b)) for b in (True, False))
    np.testing.assert_array_equal(even.f, plain.f)


@pytest.mark.parametrize("solver", ["smo", "qp"])
def test_two_levels_are_the_balanced_support_vector_machine_of_sklearn(solver):
    svm = pytest.importorskip("sklearn.svm")
    if solver == "smo":
        pytest.importorskip("numba")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 2))
    y = 1 + (X[:, 0] + rng.normal(size=120) > 1.0)
    ours = fit_machine(X, y, 2, SvorOptions(C=3.0, width=1.0, solver=solver, tol=1e-6))
    theirs = svm.SVC(C=3.0, gamma=0.5, class_weight="balanced", tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.f - ours.b[0], theirs.decision_function(X), atol=1e-3)


def test_balance_finds_a_relation_where_the_published_model_is_a_constant(unequal):
    published = rb.svor("grade ~ .", unequal, kernel="linear", C=1.0, balance=False)
    even = rb.svor("grade ~ .", unequal, kernel="linear", C=1.0)
    assert published.score() > even.score() + 0.2
    assert set(published.predict()) != {1, 2, 3}
    assert set(even.predict()) == {1, 2, 3}


@pytest.mark.parametrize("order", ["explicit", "implicit"])
def test_thresholds_stay_in_order_whatever_the_sizes_of_the_levels(order, unequal):
    fit = rb.svor("grade ~ .", unequal, order=order, C=10.0, width=2.0)
    assert fit.kkt.ordered and fit.kkt.violation < 5e-3


def test_held_out_levels_are_sensible_beside_ordinal_regression(unequal):
    models = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    train, test = unequal.iloc[:250], unequal.iloc[250:]
    fit = rb.svor("grade ~ .", train, kernel="linear", C=[0.01, 0.1, 1.0])
    other = models.OrderedModel(train["grade"], train[["a", "b", "c"]], distr="logit").fit(
        method="bfgs", disp=False
    )
    guess = 1 + np.asarray(other.predict(test[["a", "b", "c"]])).argmax(axis=1)
    assert fit.score(test) < rb.metrics.mmae(test["grade"], guess) + 0.05


def test_balance_is_said_and_checked(unequal):
    text = str(rb.svor("grade ~ a", unequal, kernel="linear", C=1.0).summary())
    assert "Both sides of every threshold weigh the same" in " ".join(text.split())
    text = str(rb.svor("grade ~ a", unequal, kernel="linear", C=1.0, balance=False).summary())
    assert "Both sides" not in text
    with pytest.raises(rb.OptionError, match="balance='yes'"):
        rb.svor("grade ~ a", unequal, balance="yes")


@pytest.mark.parametrize(("order", "seed", "C"), [("implicit", 0, 50.0), ("explicit", 8, 1000.0)])
def test_rounding_joins_no_thresholds(order, seed, C):
    # skewed features and a large C: what the balance of one threshold lacks adds up over the others
    rng = np.random.default_rng(seed)
    X = rng.lognormal(size=(150, 4))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    score = X.sum(axis=1) + 0.5 * rng.normal(size=150)
    y = 1 + np.searchsorted(np.quantile(score, np.arange(1, 8) / 8), score)
    options = SvorOptions(order=order, C=C, width=5.0 if C < 100 else 10.0, solver="qp")
    found = fit_machine(X, y, 8, options)
    assert abs(found.optimality.gap) < 1e-4


@pytest.mark.parametrize(("order", "seed", "C"), [("implicit", 0, 50.0), ("explicit", 8, 1000.0)])
def test_refined_steps_reach_what_rounding_keeps_cvxopt_from(monkeypatch, order, seed, C):
    # with several threads of BLAS CVXOPT ended short of any accuracy here; without it refined steps do all the work
    def ends(*_):
        raise SolverError("rounding")

    monkeypatch.setattr(qp, "solve_with_cvxopt", ends)
    test_rounding_joins_no_thresholds(order, seed, C)
    with monkeypatch.context() as patch, pytest.raises(SolverError):
        patch.setattr(qp, "REFINED", 0)
        test_rounding_joins_no_thresholds(order, seed, C)
