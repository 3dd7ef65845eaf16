"""The promise of forests: what is called relevant is distinguishable from noise, by an exact permutation test."""

import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds.forest import block_test
from relbounds.forest.block_test import _p_values, draws_for
from relbounds.forest.cluster import likeness
from relbounds.forest.learner import Learner, Problem
from relbounds.forest.options import ForestOptions

pytest.importorskip("lightgbm")
QUICK = {"probes": 3, "repeats": 1, "folds": 2, "trees": 10, "progress": False}


def problem_of(X, y):
    return Problem(X, y, np.ones(len(y)), tuple((k,) for k in range(X.shape[1])))


def test_p_values_against_scipy():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    values = rng.normal(size=(100, 3))
    values[0, 1] = 2.5
    own, largest = _p_values(values, pooled=False)
    z = (values - values.mean(axis=0)) / values.std(axis=0)
    for k in range(3):
        assert own[k] == pytest.approx((np.sum(z[1:, k] >= z[0, k]) + 1) / 100)
        rank = stats.rankdata(np.append(-z[0, k], -z[1:].max(axis=1)), method="max")[0]
        assert largest[k] == pytest.approx(rank / 100)
    assert (largest >= own).all()


def test_under_noise_the_smallest_p_value_is_uniform(monkeypatch):
    """The test itself, without forests: statistics of noise are exchangeable, so p is uniform on its grid."""
    rng = np.random.default_rng(3)
    smallest = [_p_values(rng.gamma(2.0, size=(20, 5)), pooled=False)[1].min() for _ in range(2000)]
    # 20 rows: p <= 0.05 with a chance of 1/20 and no more
    share = np.mean(np.array(smallest) <= 0.05 + 1e-9)
    assert 0.035 < share < 0.066


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_terms_are_found_one_block_after_the_other(n_jobs):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 5))
    y = 3 * X[:, 0] + 0.8 * X[:, 3] ** 2 + 0.5 * rng.normal(size=150)
    options = ForestOptions(n_jobs=n_jobs, seed=1)
    found = block_test.block_test(problem_of(X, y), Learner("regression", 0), likeness(X), options)
    assert (found.p_adjusted <= 0.05).tolist() == [True, False, False, True, False]
    assert (found.p_adjusted >= found.p - 1e-12).all()
    assert found.p_adjusted.min() >= 1 / (draws_for(0.05) + 1)


def test_copies_speak_for_each_other():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 8))
    X[:, 1:6] = X[:, :1] + 0.1 * rng.normal(size=(120, 5))
    y = X[:, 0] + 0.5 * rng.normal(size=120)
    found = block_test.block_test(
        problem_of(X, y), Learner("regression", 0), likeness(X), ForestOptions(seed=1)
    )
    assert (found.p_adjusted[:6] <= 0.05).all() and (found.p_adjusted[6:] > 0.05).all()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    data = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    data["site"] = rng.choice(list("ABCD"), 120)
    data["y"] = np.abs(data.a) + (data.site == "B") + 0.2 * rng.normal(size=120)
    return data


@pytest.mark.parametrize("control", ["fwer", "fdr", "published"])
def test_classes_and_p_values_agree(data, control):
    fit = rb.forest_relevance("y ~ .", data, control=control, alpha=0.1, **QUICK)
    table = fit.table
    assert {"a"} <= set(fit.selected())
    assert table.index.tolist() == ["a", "b", "c", "site"]  # a factor is one term
    if control != "published":
        assert "site" in fit.selected()
        relevant = table["relevance"] != "irrelevant"
        assert (relevant == (table["p_adjusted"] <= 0.1)).all()
        assert "not distinguishable from noise" in " ".join(str(fit.summary()).split())
    assert fit.options["control"] == control


def test_alpha_and_control_are_checked(data):
    with pytest.raises(rb.OptionError, match="alpha=0"):
        rb.forest_relevance("y ~ .", data, alpha=0)
    with pytest.raises(rb.OptionError, match="Did you mean 'fwer'"):
        rb.forest_relevance("y ~ .", data, control="fwe")
    with pytest.raises(rb.OptionError, match="published method"):
        rb.forest_relevance("y ~ .", data, method="sequential", control="fwer")


def test_numbers_of_numpy_are_numbers(data):
    given = {
        "alpha": np.float32(0.05), "probes": np.int64(3), "repeats": np.int8(1), "folds": np.float64(2.0),
        "trees": np.array(10), "seed": np.uint8(0), "n_jobs": np.int16(1), "progress": False,
    }  # fmt: skip
    fit = rb.forest_relevance("y ~ a + b", data, **given)
    assert all(type(v) in (int, float, str, bool, tuple) for v in fit.options.values())


@pytest.mark.parametrize("family", ["ordinal", "binary", "nominal", "regression"])
def test_predictions_of_every_family(family):
    rng = np.random.default_rng(6)
    data = pd.DataFrame(rng.normal(size=(90, 2)), columns=["a", "b"])
    score = data.a + 0.1 * rng.normal(size=90)
    cut = {"ordinal": 3, "binary": 2, "nominal": 3, "regression": 0}[family]
    data["y"] = score if not cut else np.array(["u", "v", "w"])[pd.qcut(score, cut, labels=False)]
    if family == "ordinal":
        data["y"] = pd.Categorical(data["y"], ["u", "v", "w"], ordered=True)
    fit = rb.forest_relevance("y ~ .", data, family=family, **{**QUICK, "trees": 40})
    new = data.drop(columns="y").head(5).copy()
    new.loc[new.index[1], "a"] = np.nan
    guess = fit.predict(new)
    assert guess.isna().tolist() == [False, True, False, False, False]
    assert fit.score(data) == pytest.approx(fit.score())
    assert fit.score() > 0.7 if family != "ordinal" else fit.score() < 0.3
    again = rb.ForestResults.from_bytes(fit.to_bytes())
    assert again.predict(new).equals(guess)
    if cut:
        chances = fit.predict(new, type="prob")
        assert list(chances.columns) == list(fit.design.levels)
        np.testing.assert_allclose(chances.drop(index=new.index[1]).sum(axis=1), 1.0)
        top = chances.drop(index=new.index[1]).idxmax(axis=1).astype(str)
        assert (top == guess.drop(index=new.index[1]).astype(str)).mean() >= 0.75
    else:
        with pytest.raises(rb.OptionError, match="needs levels"):
            fit.predict(new, type="prob")
    with pytest.raises(rb.OptionError, match="type="):
        fit.predict(new, type="odds")


ODD = {
    "one row a level": lambda n: list(range(n)),
    "a level of one row": lambda n: [9] + [1, 2] * ((n - 1) // 2) + [1] * ((n - 1) % 2),
    "more levels than rows a fold": lambda n: [k // 2 for k in range(n)],
}


@pytest.mark.parametrize("kind", list(ODD))
@pytest.mark.parametrize("n", [3, 24])
def test_small_and_odd_data_give_a_fit_or_a_clear_error(kind, n):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "y": ODD[kind](n)})
    try:
        fit = rb.forest_relevance("y ~ .", data, family="ordinal", **QUICK)
    except rb.RelboundsError as error:
        assert len(str(error)) > 20
        assert n == 3 or kind == "one row a level"
    else:
        assert len(fit.table) == 2 and np.isfinite(fit.loss)
