"""The formula face: fitting, tuning, showing, predicting, keeping."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds.errors import DataError, FormulaError, OptionError
from relbounds.folds import deal_folds
from relbounds.kernel.fitting import Sample
from relbounds.kernel.options import SvorOptions
from relbounds.kernel.tuning import COARSE_C, COARSE_WIDTH, Search, choose, tune

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    n = 120
    frame = pd.DataFrame({"age": 50 + 10 * rng.normal(size=n), "bmi": 25 + 4 * rng.normal(size=n)})
    frame["site"] = rng.choice(["A", "B"], n)
    score = (frame["age"] - 50) / 10 + ((frame["bmi"] - 25) / 4) ** 2 - 1 + 0.3 * rng.normal(size=n)
    frame["biopsy"] = score + 0.1 * rng.normal(size=n)
    names = ["none", "mild", "severe"]
    frame["grade"] = pd.Categorical(
        np.array(names)[np.searchsorted(np.quantile(score, [0.33, 0.67]), score)],
        categories=names,
        ordered=True,
    )
    return frame


@pytest.fixture(scope="module")
def fit(data):
    return rb.svor("grade ~ age + bmi", data, C=10.0, width=1.0)


def test_levels_come_back_as_they_were(fit, data):
    guess = fit.predict(data)
    assert guess.dtype == data["grade"].dtype
    assert fit.score(data, "mze") < 0.25
    assert fit.score(data, "mze") == pytest.approx((guess != data["grade"]).mean())
    assert fit.score(metric="mae") <= fit.score(metric="mze") * 2
    assert list(fit.thresholds.index) == ["none|mild", "mild|severe"]


def test_training_rows_and_new_rows_agree(fit, data):
    np.testing.assert_allclose(fit.decision_function(), fit.decision_function(data), atol=1e-9)
    assert fit.decision_function(data).index.equals(data.index)


def test_missing_values_are_dropped_counted_and_predicted_as_missing(data):
    holed = data.copy()
    holed.loc[[3, 7], "bmi"] = np.nan
    fit = rb.svor("grade ~ age + bmi", holed, C=1.0, width=1.0)
    assert fit.design.n_dropped == 2 and len(fit.design.y) == 118
    guess = fit.predict(holed)
    assert guess.isna().sum() == 2 and guess.isna()[3]
    assert fit.score(holed) >= 0


def test_the_summary_says_what_was_done(fit):
    text = fit.summary().as_text()
    for piece in (
        "grade",
        "none|mild",
        "Dual objective",
        "KKT violation",
        "Support vectors",
        "Thresholds ordered",
        "rbf, width 1",
    ):
        assert piece in text
    assert "tabular" in fit.summary().as_latex()
    assert "<table" in fit._repr_html_()
    assert "rows support" in repr(fit)
    assert fit.support["n"].sum() == 120
    assert fit.support["support"].sum() == len(fit.support_vectors)
    assert fit.dual_objective == fit.kkt.dual


def test_slacks_are_told_row_by_row(fit):
    table = fit.slacks
    assert set(table["threshold"]) == {"none|mild", "mild|severe"}
    assert (table["slack"] >= 0).all()
    total = 10.0 * table["slack"].sum()
    assert fit.kkt.primal == pytest.approx(
        0.5 * fit.machine.coefficients @ fit.machine.f[fit.machine.support] + total, rel=1e-6
    )


def test_privileged_features_are_needed_for_training_only(data):
    fit = rb.svor("grade ~ age + bmi | priv(biopsy)", data, order="implicit", C=10.0, width=1.0)
    assert fit.machine.options.slack == "modelled"
    assert "SVM+" in fit.summary().as_text()
    fit.predict(data.drop(columns=["biopsy", "grade"]))
    ignored = rb.svor(
        "grade ~ age + bmi | priv(biopsy)", data, order="implicit", C=10.0, width=1.0, slack="free"
    )
    plain = rb.svor("grade ~ age + bmi", data, order="implicit", C=10.0, width=1.0)
    np.testing.assert_allclose(ignored.decision_function(), plain.decision_function())
    assert "not used" in ignored.summary().as_text()


def test_formula_transforms_are_remembered(data):
    fit = rb.svor("grade ~ center(age) + np.log(bmi) + site", data, C=1.0, width=2.0)
    np.testing.assert_allclose(
        fit.decision_function(data.head(5)), fit.decision_function().head(5), atol=1e-9
    )


def test_easy_linear_data_order_as_the_l1_baseline_does():
    easy = rb.simulate.paper_set(1, seed=1)
    l1 = rb.relbounds(easy.formula, easy.data, C=1.0, probes=2, order="implicit")
    l2 = rb.svor(easy.formula, easy.data, kernel="linear", C=1.0, order="implicit")
    ranks = [f.decision_function(easy.data).rank() for f in (l1, l2)]
    assert ranks[0].corr(ranks[1]) > 0.98
    assert (l1.predict(easy.data) != l2.predict(easy.data)).mean() < 0.1


def test_a_kernel_matrix_in_place_of_features(data):
    rbf = rb.svor("grade ~ age + bmi", data, C=3.0, width=1.0, tol=1e-6)
    X = rbf.design.X
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1) / 2)
    given = rb.svor("grade ~ age + bmi", data, kernel=K, C=3.0, tol=1e-6)
    np.testing.assert_allclose(given.decision_function(), rbf.decision_function(), atol=1e-5)
    assert (given.predict(kernel=K[:4]).to_numpy() == rbf.predict(data.head(4)).to_numpy()).all()
    with pytest.raises(OptionError, match="kernel=K_new"):
        given.predict(data)
    with pytest.raises(DataError, match="120"):
        given.predict(kernel=K[:4, :5])
    with pytest.raises(DataError, match="positive semidefinite"):
        rb.svor("grade ~ age + bmi", data, kernel=K - np.eye(120), C=3.0)
    with pytest.raises(DataError, match="119 rows but the data have 120"):
        rb.svor("grade ~ age + bmi", data, kernel=K[1:, 1:], C=3.0)
    with pytest.raises(OptionError, match="matrix itself"):
        rb.svor("grade ~ age + bmi", data, kernel="precomputed", C=3.0)


def test_rows_dropped_for_missing_values_leave_the_kernel_matrix_too(data):
    holed = data.copy()
    holed.loc[[0, 50], "grade"] = np.nan
    X = ((data[["age", "bmi"]] - data[["age", "bmi"]].mean()) / data[["age", "bmi"]].std()).to_numpy()
    fit = rb.svor("grade ~ age", holed, kernel=X @ X.T, C=1.0, score="mze")
    assert len(fit.design.y) == 118
    assert len(fit.predict(kernel=X @ X.T)) == 120


def test_saved_fits_come_back(fit, data, tmp_path):
    again = rb.load(fit.save(tmp_path / "fit.svor"))
    pd.testing.assert_series_equal(again.predict(data), fit.predict(data))
    assert str(again.summary()) == str(fit.summary())
    other = tmp_path / "other"
    other.write_bytes(b"something else")
    with pytest.raises(DataError, match="not a saved relbounds fit"):
        rb.load(other)
    with pytest.warns(rb.RelboundsWarning, match="lambda"):
        rb.svor("grade ~ age", data, kernel=lambda A, B: A @ B.T, C=1.0).to_bytes()


def test_weights_and_costs_reach_the_machine(data):
    rare = 1.0 / data["grade"].map(data["grade"].value_counts()).astype(float)
    fit = rb.svor("grade ~ age + bmi", data, C=1.0, width=1.0, weights=rare / rare.mean())
    assert fit.kkt.violation < 2e-3
    gap = np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    cheap = rb.svor("grade ~ age + bmi", data, order="implicit", C=1.0, width=1.0, cost=gap, balance=False)
    dear = rb.svor(
        "grade ~ age + bmi", data, order="implicit", C=1.0, width=1.0, cost=gap**2 * 2, balance=False
    )
    assert dear.machine.rows.upper.max() == pytest.approx(6.0)  # crossing the second threshold costs 8 - 2
    assert cheap.machine.rows.upper.max() == pytest.approx(1.0)
    assert np.abs(dear.decision_function() - cheap.decision_function()).max() > 0.01


# -- tuning ------------------------------------------------------------------------------------------------


def test_what_is_left_open_is_searched_coarse_then_fine(data):
    fit = rb.svor("grade ~ age + bmi", data, kernel="linear", cv=3, seed=1)
    table = fit.scores
    assert list(table["stage"].unique()) == ["coarse", "fine"]
    assert (table["stage"] == "coarse").sum() == 7 and (table["stage"] == "fine").sum() == 9
    assert fit.machine.options.C in table["C"].to_list()
    assert fit.tuned.score == pytest.approx(table["mean"].min())
    assert "3-fold CV" in fit.summary().as_text()


def test_the_published_grids():
    np.testing.assert_allclose(np.log10(COARSE_C), np.arange(-3, 4))
    np.testing.assert_allclose(np.sort(-2 * np.log10(COARSE_WIDTH)), np.arange(-3, 4))


def test_a_grid_given_is_the_grid_searched(data):
    fit = rb.svor("grade ~ age + bmi", data, C=[0.1, 10.0], width=[1.0, 3.0], cv=3, score="mze")
    assert len(fit.scores) == 4 and set(fit.scores["stage"]) == {"given"}


def test_the_number_of_jobs_changes_nothing(data):
    given = {"C": [0.1, 10.0], "width": [1.0, 3.0], "cv": 3}
    one = rb.svor("grade ~ age + bmi", data, **given)
    two = rb.svor("grade ~ age + bmi", data, n_jobs=2, **given)
    pd.testing.assert_frame_equal(one.scores, two.scores)


def test_mixing_weights_are_tuned_together(data):
    fit = rb.svor(
        "grade ~ age + bmi",
        data,
        order="implicit",
        C=10.0,
        width=1.0,
        slack="mixed",
        mix=[0.0, 0.5, 1.0],
        gamma=[0.1, 10.0],
        cv=2,
    )
    assert len(fit.scores) == 6
    assert fit.machine.options.mix in (0.0, 0.5, 1.0)
    assert "mix" in fit.summary().as_text()


def test_ties_go_to_the_smoother_model():
    table = pd.DataFrame({"C": [1.0, 0.1, 0.1], "width": [1.0, 1.0, 3.0], "mean": [0.2, 0.2, 0.2]})
    assert choose(table) == 2
    assert choose(pd.DataFrame({"C": [1.0, 2.0], "mean": [np.nan, 0.5]})) == 1


def test_few_rows_of_a_level_mean_fewer_folds(make):
    X, y = make(60, 2, 3)
    y[:] = np.where(y == 3, 2, y)
    y[:3] = 3
    found = tune(Sample(X, y, 3), SvorOptions(kernel="linear"), {"C": [1.0, 2.0]}, Search(cv=5))
    assert found.folds == 3 and "3 folds instead of 5" in found.notes[0]
    y[1:3] = 2
    assert (deal_folds(y, "abc", 3, 0)[0] == -1).sum() == 1  # a level of one row is never held out


# -- figures -----------------------------------------------------------------------------------------------


def test_contours_of_two_features(fit, data):
    ax = fit.plot()
    assert ax.get_xlabel() == "age" and ax.get_ylabel() == "bmi"
    low, high = ax.get_xlim()
    assert low < data["age"].min() and high > data["age"].max()  # in the units of the data
    labels = [t.get_text() for t in ax.get_legend().get_texts()]
    assert labels == ["none", "mild", "severe", "support vector", "threshold"]
    many = rb.svor("grade ~ age + bmi + site", data, C=1.0, width=1.0)
    with pytest.raises(OptionError, match="Say which"):
        many.plot()
    with pytest.raises(OptionError, match="Did you mean 'bmi'"):
        many.plot(features=("age", "bmj"))
    with pytest.raises(OptionError, match="two different"):
        many.plot(features=("age", "age"))
    assert "1 other feature at its mean" in many.plot(features=("age", "bmi")).get_title()
    matplotlib.pyplot.close("all")


# -- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"order": "implict"}, "Did you mean 'implicit'"),
        ({"C": -1.0}, "C=-1"),
        ({"C": [1.0, 0.0]}, "C=0"),
        ({"C": "large"}, "C='large'"),
        ({"C": []}, "empty"),
        ({"width": [1.0, -1.0]}, "width"),
        ({"score": "mmea", "C": None}, "Did you mean 'mmae'"),
        ({"cv": 1, "C": None}, "cv=1"),
        ({"slack": "modelled", "gamma": -1.0}, "gamma"),
        ({"slack": "mixed", "mix": [0.1, 2.0]}, "mix=2"),
        ({"cost": np.ones((2, 2)), "order": "implicit"}, "shape"),
        ({"cost": 1.0 - np.eye(3), "order": "explicit"}, "implicit"),
        ({"gamma": "wide", "slack": "modelled"}, "gamma='wide'"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"seed": "a"}, "seed='a'"),
        ({"cv": 1.5}, "cv=1.5"),
        ({"solver": "cvxopt"}, "solver='cvxopt'"),
    ],
)
def test_bad_options_are_named(data, changes, says):
    with pytest.raises(OptionError, match=says):
        rb.svor("grade ~ age + bmi", data, **{"C": 1.0, "width": 1.0, **changes})


def test_the_order_follows_the_slacks_unless_it_is_given(data):
    options = {"kernel": "linear", "C": 1.0, "solver": "qp"}
    cases = [({}, "explicit"), ({"slack": "modelled"}, "implicit"), ({"cost": 1.0 - np.eye(3)}, "implicit")]
    cases += [({"slack": "modelled", "order": "explicit"}, "explicit")]
    for changes, order in cases:
        assert rb.svor("grade ~ age + bmi", data, **options, **changes).machine.options.order == order


def test_a_flat_decision_function_is_pointed_out(data):
    options = {"width": 1.0, "C": 1.0, "slack": "modelled", "slack_width": 20.0, "gamma": 1000.0}
    assert "nearly flat" in str(rb.svor("grade ~ age + bmi", data, **options).summary())
    assert "nearly flat" not in str(rb.svor("grade ~ age + bmi", data, width=1.0, C=1.0).summary())


def test_bad_data_are_named(data):
    with pytest.raises(FormulaError, match="bmj"):
        rb.svor("grade ~ bmj", data)
    with pytest.raises(DataError, match="qcut"):
        rb.svor("biopsy ~ age", data)
    with pytest.raises(DataError, match="only one value"):
        rb.svor("grade ~ age", data[data["grade"] == "mild"])
    with pytest.raises(DataError):
        rb.svor("grade ~ age", data.head(0))
    with pytest.raises(OptionError, match="metric"):
        rb.svor("grade ~ age", data, C=1.0, width=1.0).score(metric="f1")
