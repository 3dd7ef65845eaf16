"""Probabilities from held-out scores: equal to what others fit, calibrated, and refused where there are none."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.duration.survfunc import SurvfuncRight
from statsmodels.miscmodels.ordinal_model import OrderedModel

import relbounds as rb
from relbounds.linear.families.rows import Answers
from relbounds.linear.probabilities import fit_on, kaplan_meier, wilson


def test_proportional_odds_equal_statsmodels():
    rng = np.random.default_rng(0)
    score = rng.normal(3, 4, 400)
    y = 1 + np.digitize(0.4 * score + rng.logistic(size=400), [0.5, 1.5, 2.5])
    found = fit_on(Answers(y, 4), score[:, None], np.ones(400))
    theirs = OrderedModel(y, score[:, None], distr="logit").fit(method="bfgs", disp=0, gtol=1e-8)
    np.testing.assert_allclose(found.levels(score[:, None]), theirs.predict(score[:, None]), atol=2e-5)


def test_weights_are_counts():
    rng = np.random.default_rng(1)
    score = rng.normal(size=60)
    y = 1 + np.digitize(score + rng.logistic(size=60), [-1, 1])
    counts = rng.integers(1, 4, 60)
    one = fit_on(Answers(y, 3), score[:, None], counts.astype(float))
    two = fit_on(Answers(np.repeat(y, counts), 3), np.repeat(score, counts)[:, None], np.ones(counts.sum()))
    np.testing.assert_allclose(one.levels(score[:, None]), two.levels(score[:, None]), atol=1e-4)


def test_two_classes_are_a_logistic_model():
    rng = np.random.default_rng(2)
    score = rng.normal(size=(300, 2))
    y = 1 + (score[:, 1] - score[:, 0] + rng.logistic(size=300) > 0.3)
    classes = fit_on(Answers(y, 2), score, np.ones(300))
    binary = fit_on(Answers(y, 2), (score[:, 1] - score[:, 0])[:, None], np.ones(300))
    np.testing.assert_allclose(
        classes.levels(score), binary.levels((score[:, 1] - score[:, 0])[:, None]), atol=1e-4
    )


def test_separable_scores_and_unseen_levels_have_probabilities():
    score = np.arange(40.0)[:, None]
    y = np.where(np.arange(40) < 20, 1, 3)
    found = fit_on(Answers(y, 3), score, np.ones(40)).levels(score)
    assert np.isfinite(found).all() and np.allclose(found.sum(axis=1), 1)
    assert found[0, 0] > 0.9 and found[-1, 2] > 0.9 and (found[:, 1] > 0).any()


def test_an_open_interval_takes_no_side():
    rng = np.random.default_rng(3)
    score = rng.normal(size=300)
    y = 1 + np.digitize(1.5 * score + rng.logistic(size=300), [-1, 1])
    low, high = y.copy(), y.copy()
    low[::3], high[::3] = 1, 3  # nothing is known of every third
    part = fit_on(Answers(y, 3, low=low, high=high), score[:, None], np.ones(300))
    kept = np.arange(300) % 3 != 0
    alone = fit_on(Answers(y[kept], 3), score[kept][:, None], np.ones(kept.sum()))
    np.testing.assert_allclose(part.levels(score[:, None]), alone.levels(score[:, None]), atol=1e-4)


def test_kaplan_meier_equals_statsmodels():
    rng = np.random.default_rng(4)
    time, event = rng.exponential(size=80).round(1) + 0.1, rng.random(80) < 0.6
    found, theirs = kaplan_meier(time, event), SurvfuncRight(time, event.astype(int))
    at = found.set_index("time").loc[theirs.surv_times]
    np.testing.assert_allclose(at["survival"], theirs.surv_prob)
    np.testing.assert_array_equal(at["at_risk"], theirs.n_risk)
    inside = at["survival"].between(1e-9, 1 - 1e-9).to_numpy()
    lower = at["survival"] ** np.exp(
        1.959964 * theirs.surv_prob_se / theirs.surv_prob / np.abs(np.log(theirs.surv_prob))
    )
    np.testing.assert_allclose(at["low"][inside], lower[inside], rtol=1e-6)


@pytest.fixture(scope="module")
def graded():
    rng = np.random.default_rng(5)
    data = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    score = 1.2 * data["a"] - 0.8 * data["b"] + rng.logistic(size=400)
    data["grade"] = pd.Categorical.from_codes(
        np.digitize(score, [-1, 1]), ["low", "mid", "high"], ordered=True
    )
    return data


@pytest.fixture(scope="module")
def fit(graded):
    return rb.relbounds("grade ~ a + b + c", graded, bounds=False)


def test_probabilities_of_levels(fit, graded):
    found = fit.predict(graded, type="prob")
    assert list(found.columns) == ["low", "mid", "high"]
    assert np.allclose(found.sum(axis=1), 1) and (found > 0).all(axis=None)
    # as sharp as the model that made the data, fitted to the features themselves
    X = graded[["a", "b", "c"]].to_numpy()
    theirs = OrderedModel(graded["grade"], X, distr="logit").fit(method="bfgs", disp=0).predict(X)
    codes = graded["grade"].cat.codes.to_numpy()
    ours = np.log(found.to_numpy()[np.arange(400), codes]).mean()
    assert ours > np.log(np.asarray(theirs)[np.arange(400), codes]).mean() - 0.03
    holed = graded.head(3).assign(a=[1.0, np.nan, 0.0])
    assert fit.predict(holed, type="prob").isna().all(axis=1).tolist() == [False, True, False]
    assert fit.predict(graded, type="score").equals(fit.decision_function(graded))


def test_held_out_probabilities_are_calibrated(fit):
    found = fit.calibration(bins=5)
    assert found["event"].unique().tolist() == ["above low", "above mid"]
    assert found.groupby("event")["n"].sum().tolist() == [400, 400]
    inside = found["predicted"].between(found["low"], found["high"])
    assert inside.mean() >= 0.8
    ax = fit.plot_calibration(bins=5)
    assert len(ax.get_legend().get_texts()) == 3


def test_probabilities_with_everything_fixed(graded):
    tuned = rb.relbounds("grade ~ a + b + c", graded, C=0.05, order="explicit", bounds=False)
    assert tuned._fitted.tuning.held_out is None
    assert np.allclose(tuned.predict(graded.head(5), type="prob").sum(axis=1), 1)


def test_numbers_have_no_probabilities(graded):
    numeric = rb.relbounds("c ~ a + b", graded, C=1.0, epsilon=0.1, bounds=False)
    with pytest.raises(rb.OptionError, match="no probabilities"):
        numeric.predict(graded, type="prob")
    with pytest.raises(rb.OptionError, match="Did you mean 'prob'"):
        numeric.predict(graded, type="probs")


def test_classes_without_order(graded):
    kinds = graded.assign(kind=graded["grade"].astype(str))
    found = rb.relbounds("kind ~ a + b", kinds, family="nominal", C=1.0, bounds=False)
    chances = found.predict(kinds, type="prob")
    assert np.allclose(chances.sum(axis=1), 1)
    assert (chances.idxmax(axis=1) == kinds["kind"]).mean() > 0.5
    assert set(found.calibration()["event"]) == {"low", "mid", "high"}


@pytest.fixture(scope="module")
def followed():
    rng = np.random.default_rng(6)
    data = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    time = rng.exponential(np.exp(0.8 * data["a"]))
    stop = rng.exponential(3.0, 300)
    return data.assign(time=np.minimum(time, stop), status=(time <= stop).astype(int))


def test_survival_probabilities_fall_with_time(followed):
    fit = rb.relbounds("Surv(time, status) ~ a + b", followed, C=1.0, bounds=False)
    found = fit.predict(followed.head(8), type="prob")
    assert tuple(found.columns) == pytest.approx(fit.design.cut_times)
    assert (found.diff(axis=1).iloc[:, 1:] <= 1e-12).all(axis=None)
    middle = float(np.mean(fit.design.cut_times[:2]))
    between = fit.predict(followed.head(8), type="prob", times=[0.0, middle])
    assert np.allclose(between[0.0], 1.0)
    assert np.allclose(between[middle], found.iloc[:, :2].mean(axis=1))
    with pytest.raises(rb.OptionError, match="last time"):
        fit.predict(followed, type="prob", times=[1e9])
    with pytest.raises(rb.OptionError, match="belongs to"):
        fit.predict(followed, times=[1.0])
    assert fit.score(followed) == pytest.approx(fit.score())
    assert fit.score(followed.head(50)) > 0.5


def test_survival_curves_are_ordered_by_score(followed):
    fit = rb.relbounds("Surv(time, status) ~ a + b", followed, C=1.0, bounds=False)
    curves = fit.survival_curves()
    at = curves[curves["time"] <= 1.0].groupby("group", sort=False)["survival"].last()
    assert at["lowest third"] < at["middle third"] < at["highest third"]
    assert fit.survival_curves(followed, groups=2)["group"].nunique() == 2
    ax = fit.plot_survival()
    assert ax.get_ylabel() == "share surviving"
    calibration = fit.calibration(bins=4)
    assert calibration["predicted"].between(calibration["low"], calibration["high"]).mean() >= 0.7
    with pytest.raises(rb.OptionError, match="Surv"):
        rb.relbounds("a ~ b", followed, C=1.0, epsilon=0.1, bounds=False).survival_curves()


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_limits_of_a_share_hold_the_share(share):
    for n in range(15, 200):
        low, high = wilson(share, n)
        assert low <= share <= high
