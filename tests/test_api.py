"""The front door: what a user types, what comes back, and what bad input says."""

import warnings

import numpy as np
import pandas as pd
import pytest

import relbounds as rb


def grades(n=60, seed=0):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 4)), columns=["age", "bmi", "marker", "noise"])
    score = data["age"] + data["bmi"] - data["marker"] + 0.2 * rng.normal(size=n)
    data["grade"] = pd.Categorical(pd.qcut(score, 4, labels=["I", "II", "III", "IV"]), ordered=True)
    return data


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("number", range(1, 6))
def test_paper_sets_clean_every_class_is_right(number, seed):
    simulated = rb.simulate.paper_set(number, seed=seed)
    fit = rb.relbounds(simulated.formula, simulated.data)
    assert fit.table["relevance"].to_dict() == simulated.truth.to_dict()


@pytest.mark.parametrize("number", range(1, 6))
def test_paper_sets_noisy_are_found(number):
    simulated = rb.simulate.paper_set(number, noise=0.5, seed=1)
    fit = rb.relbounds(simulated.formula, simulated.data)
    truth = simulated.truth.loc[fit.table.index] != "irrelevant"
    found = fit.table["relevance"] != "irrelevant"
    precision, recall = (truth & found).sum() / found.sum(), (truth & found).sum() / truth.sum()
    assert precision == 1.0 and 2 * precision * recall / (precision + recall) >= 0.95


def test_duplicating_a_strong_feature_makes_both_weak():
    data = grades()
    options = {"C": 1.0, "probes": 20}
    assert rb.relbounds("grade ~ .", data, **options).table.loc["age", "relevance"] == "strong"
    twice = rb.relbounds("grade ~ .", data.assign(copy=2 * data["age"] + 1), **options).table
    assert twice.loc[["age", "copy"], "relevance"].tolist() == ["weak", "weak"]
    assert twice.loc["bmi", "relevance"] == "strong"


def test_more_features_than_rows():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(25, 60)), columns=[f"x{k}" for k in range(60)])
    data["y"] = 1 + (np.argsort(np.argsort(data["x0"])) * 3) // 25
    fit = rb.relbounds("y ~ .", data, probes=10)
    assert len(fit.table) == 60 and fit.table["upper"].idxmax() == "x0"


def test_same_seed_same_table_whatever_n_jobs():
    simulated = rb.simulate.paper_set(3, noise=0.5, seed=2)
    one = rb.relbounds(simulated.formula, simulated.data, probes=20, cv=3)
    two = rb.relbounds(simulated.formula, simulated.data, probes=20, cv=3, n_jobs=2)
    again = rb.relbounds(simulated.formula, simulated.data, probes=20, cv=3)
    other = rb.relbounds(simulated.formula, simulated.data, probes=20, cv=3, seed=1)
    pd.testing.assert_frame_equal(one.table, two.table, check_exact=True)
    pd.testing.assert_frame_equal(one.table, again.table, check_exact=True)
    assert not one.table["p_noise"].equals(other.table["p_noise"])


def test_breast_cancer_standard_errors_find_the_area():
    data = rb.datasets.load_breast_cancer()
    columns = [c for c in data.columns if c.endswith("_se")]
    fit = rb.relbounds("diagnosis ~ " + " + ".join(columns), data, delta=0.001, probes=20)
    assert fit.design.family == "binary" and len(fit.table) == 10
    assert fit.table["upper"].idxmax() == "area_se"
    assert fit.table.loc["area_se", "relevance"] == "strong"


def test_regression_on_diabetes_agrees_with_lasso_on_the_leading_feature():
    from sklearn.datasets import load_diabetes
    from sklearn.linear_model import LassoCV

    frame = load_diabetes(as_frame=True).frame
    fit = rb.relbounds("target ~ .", frame, C=1.0, epsilon=10.0, probes=20)
    assert fit.design.family == "regression"
    X = frame.drop(columns="target")
    lasso = LassoCV().fit((X - X.mean()) / X.std(ddof=0), frame["target"])
    assert X.columns[np.argsort(-np.abs(lasso.coef_))[0]] in fit.selected()
    assert "bmi" in fit.selected("strong") and fit.table.loc["bmi", "direction"] == "+"
    assert fit.score() > 0.4


@pytest.mark.parametrize(
    ("formula", "change", "error", "words"),
    [
        ("grade ~ age + bmj", None, rb.FormulaError, "Did you mean 'bmi'"),
        ("grade ~ age + ", None, rb.FormulaError, "grade ~ age +"),
        ("grade ~ age | priv(bmi) | priv(marker)", None, rb.FormulaError, "^"),
        ("grade ~ age | priv()", None, rb.FormulaError, "priv()"),
        ("grade ~ age | priv(age)", None, rb.FormulaError, "age"),
        ("grade ~ age + grade", None, rb.FormulaError, "grade"),
        ("age + bmi", None, rb.FormulaError, "~"),
        ("grade ~ .", lambda d: d.iloc[:0], rb.DataError, "no rows"),
        ("grade ~ .", lambda d: d.assign(grade="I"), rb.DataError, "only one value"),
        ("grade ~ .", lambda d: d.assign(age=np.inf), rb.DataError, "age"),
        ("grade ~ .", lambda d: d.assign(age=np.nan), rb.DataError, "age"),
        ("grade ~ .", lambda d: pd.concat([d, d[["age"]]], axis=1), rb.DataError, "age"),
    ],
)
def test_bad_input_is_explained(formula, change, error, words):
    data = grades() if change is None else change(grades())
    with pytest.raises(error) as caught:
        rb.relbounds(formula, data)
    assert words in str(caught.value)


def test_constant_features_are_dropped_and_named():
    with pytest.warns(rb.RelboundsWarning, match="site_code"):
        fit = rb.relbounds("grade ~ .", grades().assign(site_code=3.0), C=1.0, probes=4)
    assert "site_code" not in fit.table.index
    assert any("site_code" in note for note in fit.notes)


@pytest.mark.parametrize("weights", [[1.0, 2.0], -np.ones(60), "nothing"])
def test_wrong_weights_are_explained(weights):
    with pytest.raises(rb.RelboundsError, match="weights"):
        rb.relbounds("grade ~ .", grades(), weights=weights)


def test_a_useless_C_names_the_smallest_useful_one():
    with pytest.raises(rb.OptionError, match="smallest useful C here is") as caught:
        rb.relbounds("grade ~ .", grades(), C=1e-6)
    least = float(str(caught.value).split("useful C here is ")[1].split(";")[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rb.RelboundsWarning)
        assert rb.relbounds("grade ~ .", grades(), C=1.05 * least, probes=4).baseline.mu > 0


def test_new_data_lacking_a_column_or_with_an_unseen_level():
    data = grades().assign(site=np.where(np.arange(60) % 2, "A", "B"))
    fit = rb.relbounds("grade ~ age + site", data, C=1.0, probes=4)
    with pytest.raises(rb.DataError, match="age"):
        fit.predict(data[["site"]])
    with pytest.raises(rb.DataError, match="C"):
        fit.predict(data.assign(site="C"))


def test_missing_values_are_dropped_and_counted():
    data = grades()
    data.loc[[3, 7], "age"] = np.nan
    fit = rb.relbounds("grade ~ .", data, C=1.0, probes=4)
    assert fit.design.n_dropped == 2 and len(fit.design.y) == 58
    assert "2" in str(fit.summary()).split("Dropped")[1].split("\n")[0]
    with pytest.raises(rb.DataError, match="age"):
        rb.relbounds("grade ~ .", data, missing="raise")


def test_a_silent_run_prints_nothing(capfd):
    rb.relbounds("grade ~ .", grades(), probes=4)
    assert capfd.readouterr() == ("", "")


def test_progress_names_the_stages(capfd):
    rb.relbounds("grade ~ .", grades(), progress=True)
    shown = capfd.readouterr().err
    assert all(stage in shown for stage in ("tuning", "bounds", "noise refits"))
