"""The scikit-learn estimator."""

from __future__ import annotations

import numpy as np
import pytest

from relbounds.errors import DataError

pytest.importorskip("sklearn")
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from relbounds.kernel.sklearn import SVOR


@parametrize_with_checks([SVOR(solver="qp")])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


def test_it_works_in_a_search_over_a_pipeline(make):
    X, y = make(90, 3, 3)
    labels = np.array(["a", "b", "c"])[y - 1]
    search = GridSearchCV(make_pipeline(StandardScaler(), SVOR()), {"svor__C": [0.1, 10.0]}, cv=3).fit(
        X, labels
    )
    assert search.score(X, labels) > 0.7
    assert set(search.predict(X)) <= {"a", "b", "c"}


def test_the_largest_decision_value_is_the_prediction(make):
    X, y = make(90, 3, 4)
    model = SVOR(order="implicit", C=5.0).fit(X, y)
    assert model.decision_function(X).shape == (90, 4)
    np.testing.assert_array_equal(model.classes_[model.decision_function(X).argmax(1)], model.predict(X))
    assert (np.diff(model.thresholds_) >= 0).all() and len(model.support_) > 0


def test_a_precomputed_kernel(make):
    X, y = make(60, 3, 3)
    K = X @ X.T
    given = SVOR(kernel="precomputed", tol=1e-6).fit(K, y)
    named = SVOR(kernel="linear", tol=1e-6).fit(X, y)
    np.testing.assert_allclose(given.latent(K[:5]), named.latent(X[:5]), atol=1e-5)
    with pytest.raises(DataError, match="positive semidefinite"):
        SVOR(kernel="precomputed").fit(K - np.eye(60), y)


def test_privileged_features_take_part_in_training_only(make):
    X, y = make(60, 3, 3)
    model = SVOR(order="implicit", slack="modelled", C=10.0).fit(X, y, Z=X[:, :1])
    assert model.predict(X).shape == (60,)
