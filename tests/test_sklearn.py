import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import relbounds as rb
from relbounds.errors import DataError, OptionError, RelboundsWarning
from relbounds.sklearn import RelboundsClassifier, RelboundsRegressor


@pytest.fixture(scope="module")
def simulated():
    data = rb.simulate.paper_set(3, seed=1).data
    return data.drop(columns="y"), data["y"]


def quick(**options):
    # one order and published noise: quick
    fixed = {"C": 1.0, "order": "explicit", "delta": 0.05, "control": "published", "probes": 4}
    return RelboundsClassifier(**fixed | options)


EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "cv is a number of folds; scaling does not weigh rows"
}


@pytest.mark.parametrize(
    "estimator",
    [
        RelboundsClassifier(C=1.0, order="explicit", delta=0.05, control="published", probes=2),
        RelboundsRegressor(C=1.0, epsilon=0.1, delta=0.05, control="published", probes=2),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator):
    check_estimator(estimator, expected_failed_checks=EXPECTED, on_skip=None)


def test_the_same_numbers_as_the_formula(simulated):
    X, y = simulated
    model = quick(probes=20).fit(X, y)
    fit = rb.relbounds(
        "y ~ .", X.assign(y=y), C=1.0, order="explicit", delta=0.05, control="published", probes=20
    )
    np.testing.assert_allclose(model.relevance_bounds_, fit.table[["lower", "upper"]].to_numpy(), atol=1e-9)
    assert model.relevance_.tolist() == fit.table["relevance"].tolist()
    assert model.get_feature_names_out().tolist() == fit.selected()
    np.testing.assert_array_equal(model.predict(X), np.asarray(fit.predict(X)))


def test_classes_and_decision(simulated):
    X, y = simulated
    model = quick().fit(X, y)
    assert model.classes_.tolist() == sorted(set(y))
    assert model.predict(X).dtype == model.classes_.dtype
    values = model.decision_function(X)
    assert values.shape == (len(X), len(model.classes_))
    np.testing.assert_array_equal(model.classes_[values.argmax(axis=1)], model.predict(X))
    assert model.score(X, y) > 0.9
    two = quick().fit(X, y > 3)
    np.testing.assert_array_equal(two.decision_function(X) > 0, two.predict(X))


def test_selection(simulated):
    X, y = simulated
    model = quick(probes=20, select="strong").fit(X, y)
    kept = model.transform(X)
    assert kept.shape[1] == model.get_support().sum() == (model.relevance_ == "strong").sum()
    assert model.set_params(select="relevant").get_support().sum() == (model.relevance_ != "irrelevant").sum()
    with pytest.raises(OptionError, match="'relevant' or 'strong'"):
        quick(select="weak").fit(X, y)


def test_order_of_classes(simulated):
    X, y = simulated
    names = {1: "very low", 2: "low", 3: "middle", 4: "high", 5: "very high"}
    text = np.array([names[v] for v in y])
    model = quick(levels=list(names.values())).fit(X, text)
    assert model.classes_.tolist() == list(names.values())
    np.testing.assert_array_equal(model.predict(X), [names[v] for v in quick().fit(X, y).predict(X)])
    declared = pd.Series(pd.Categorical(text, list(names.values()), ordered=True))
    assert quick().fit(X, declared).classes_.tolist() == list(names.values())
    with pytest.warns(RelboundsWarning, match="alphabetical order: high < low"):
        quick().fit(X, text)
    with pytest.raises(DataError, match="very high"):
        quick(levels=["low", "very low", "middle", "high"]).fit(X, text)


def test_weights_and_constant_features(simulated):
    X, y = simulated
    weights = np.ones(len(X))
    np.testing.assert_allclose(
        quick().fit(X, y, sample_weight=weights).relevance_bounds_, quick().fit(X, y).relevance_bounds_
    )
    weights[:20] = 0
    np.testing.assert_array_equal(
        quick().fit(X, y, sample_weight=weights).relevance_bounds_,
        quick().fit(X.iloc[20:], y.iloc[20:]).relevance_bounds_,
    )
    with pytest.warns(RelboundsWarning, match="'one'"):
        model = quick().fit(X.assign(one=1.0), y)
    assert model.relevance_bounds_[-1].tolist() == [0.0, 0.0] and not model.get_support()[-1]
    assert model.predict(X.assign(one=2.0)).shape == (len(X),)
    with pytest.raises(ValueError, match="negative"):
        quick().fit(X, y, sample_weight=-weights)


def test_privileged_features(simulated):
    X, y = simulated
    rng = np.random.default_rng(0)
    Z = pd.DataFrame(rng.normal(size=(len(X), 3)), columns=["reading", "doubt", "day"])
    Z["reading"] += y.to_numpy()
    model = quick(privileged="teacher", probes=10).fit(X, y, Z=Z)
    assert model.results_.design.priv_names == ("reading", "doubt", "day")
    assert model.relevance_bounds_.shape == (X.shape[1], 2)
    assert model.predict(X).shape == (len(X),)
    with pytest.raises(DataError, match="Z has 3 rows"):
        quick().fit(X, y, Z=Z.iloc[:3])


def test_inside_scikit_learn(simulated):
    X, y = simulated
    scores = cross_val_score(make_pipeline(StandardScaler(), quick(probes=2)), X, y, cv=3)
    assert scores.min() > 0.6
    model = quick(probes=5).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert clone(model).get_params() == model.get_params()


def test_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = 2 * X[:, 0] - X[:, 2] + 0.05 * rng.normal(size=80)
    model = RelboundsRegressor(C=1.0, epsilon=0.1, probes=20).fit(X, y)
    assert model.get_support().tolist() == [True, False, True, False]
    assert model.score(X, y) > 0.95
    assert model.results_.design.family == "regression"


def test_seeds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    with warnings.catch_warnings():
        # a seed that nobody chose may draw too few probes, and says so
        warnings.simplefilter("ignore", RelboundsWarning)
        seeds = [
            quick(random_state=s).fit(X, y).results_.options["seed"]
            for s in (3, np.random.RandomState(3), None)
        ]
        assert seeds[0] == 3
        one, two = (quick(random_state=np.random.RandomState(5)).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(one.relevance_bounds_, two.relevance_bounds_)


def test_without_bounds_it_fits_and_predicts_only(simulated, monkeypatch):
    X, y = simulated
    whole = quick().fit(X, y)
    monkeypatch.setattr(
        "relbounds.linear.fit.measure_and_judge", lambda *_, **__: pytest.fail("bounds were computed")
    )
    monkeypatch.setattr(
        "relbounds.linear.fit.find_tolerance", lambda *_, **__: pytest.fail("a tolerance was")
    )
    bare = quick(bounds=False).fit(X, y)
    np.testing.assert_array_equal(bare.predict(X), whole.predict(X))
    assert not hasattr(bare, "relevance_") and not hasattr(bare, "relevance_bounds_")
    with pytest.raises(OptionError, match="fit it with bounds=True"):
        bare.get_support()
    scores = cross_val_score(quick(bounds=False), X, y, cv=3)
    assert len(scores) == 3 and np.isfinite(scores).all()
    search = GridSearchCV(quick(bounds=False), {"C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert search.best_params_["C"] in (0.1, 1.0)


def test_bounds_of_an_earlier_fit_do_not_stay(simulated):
    X, y = simulated
    model = quick().fit(X, y)
    assert model.relevance_.shape == (X.shape[1],)
    assert not hasattr(model.set_params(bounds=False).fit(X, y), "relevance_")
