"""Weights, frequencies and clusters: what goes with the rows of the data."""

import numpy as np
import pandas as pd
import pytest

from relbounds.design import design_from_arrays, make_design
from relbounds.errors import OptionError, RelboundsWarning


@pytest.mark.parametrize(
    "frequency, message",
    [
        (-np.ones(60), "not be negative: 60"),
        (np.full(60, 1.5), "whole numbers.*1.5.*weights="),
        (np.zeros(60), "zero in every row"),
        (np.full(60, 1e9), "more than 50,000,000"),
        (np.r_[np.nan, np.ones(59)], "1 missing"),
        ("x9", "frequency='x9' is not a column"),
        ("site", "must be numbers"),
        (np.ones(3), "60 rows"),
    ],
)
def test_frequencies_that_cannot_be_used(data, frequency, message):
    with pytest.raises(OptionError, match=message):
        make_design("grade ~ x1", data, frequency=frequency)


def test_weights_and_frequency_each_do_their_own(data):
    counts = np.arange(60) % 3
    weights = np.where(np.arange(60) == 4, 0.0, np.arange(60) + 1.0)
    design = make_design("grade ~ x1", data, weights=weights, frequency=counts)
    rows = np.repeat(np.arange(60), np.where(weights > 0, counts, 0))
    np.testing.assert_array_equal(design.weights, weights[rows])
    assert design.index.equals(data.index[rows])
    with pytest.raises(OptionError, match="weight 0 or frequency 0"):
        make_design("grade ~ x1", data, weights=np.r_[np.zeros(59), 1], frequency=np.r_[np.ones(59), 0])


@pytest.mark.parametrize(
    "weights",
    [
        pd.Series(pd.date_range("2020-01-01", periods=60)),
        np.ones(60, dtype=complex),
        [1j] * 60,
        pd.Series(pd.timedelta_range("1 day", periods=60)).to_numpy(),
    ],
)
def test_dates_and_complex_numbers_are_no_weights(data, weights):
    weights = weights.set_axis(data.index) if isinstance(weights, pd.Series) else weights
    with pytest.raises(OptionError, match="must be numbers"):
        make_design("grade ~ x1", data, weights=weights)


def test_clusters_are_numbered_as_they_appear(data):
    data["patient"] = [f"q{i // 5}" for i in range(60)][::-1]
    design = make_design("grade ~ x1", data, cluster="patient")
    np.testing.assert_array_equal(design.cluster, np.arange(60) // 5)
    assert design.cluster_name == "patient"
    by_array = make_design("grade ~ x1", data, cluster=data["patient"].to_numpy())
    np.testing.assert_array_equal(by_array.cluster, design.cluster)
    assert by_array.cluster_name == "cluster"
    shuffled = data["patient"].sample(frac=1, random_state=0)
    np.testing.assert_array_equal(make_design("grade ~ x1", data, cluster=shuffled).cluster, design.cluster)
    small = design.subset([12, 3, 14])
    np.testing.assert_array_equal(np.unique(small.cluster), [0, 1])
    assert small.cluster[0] == small.cluster[2] != small.cluster[1]
    assert make_design("grade ~ x1", data).cluster is None


def test_rows_without_a_cluster_are_dropped(data):
    data["patient"] = [None, *(f"q{i // 5}" for i in range(59))]
    design = make_design("grade ~ x1", data, cluster="patient")
    assert design.n_dropped == 1 and len(design.cluster) == 59
    assert any("patient 1" in note for note in design.notes)


@pytest.mark.parametrize(
    "cluster, message",
    [
        ("patiend", "cluster='patiend' is not a column.*Did you mean 'patient'"),
        (np.zeros(60), "same cluster"),
        (np.arange(3), "60 rows"),
        (pd.Series(np.arange(60)), "not those of the data"),
        (3, "60 rows"),
    ],
)
def test_clusters_that_cannot_be_used(data, cluster, message):
    data["patient"] = 1
    with pytest.raises(OptionError, match=message):
        make_design("grade ~ x1", data, cluster=cluster)


def test_arrays_take_the_same_roles():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 2)), rng.integers(0, 2, 12)
    counts, weights, cluster = rng.integers(0, 3, 12), rng.random(12) + 0.5, np.arange(12) // 3
    design = design_from_arrays(
        X, y, frequency=counts, weights=weights, cluster=cluster, adjust=X[:, :1] ** 2
    )
    rows = np.repeat(np.arange(12), counts)
    two = design_from_arrays(
        X[rows], y[rows], weights=weights[rows], cluster=cluster[rows], adjust=X[rows, :1] ** 2
    )
    for name in ("X", "y", "weights", "cluster", "adjust"):
        np.testing.assert_array_equal(getattr(design, name), getattr(two, name))
    assert design.adjust_names == ("a1",)
    np.testing.assert_array_equal(design.transform_adjust(X[:, :1] ** 2)[rows], design.adjust)
    with pytest.raises(OptionError, match="one number per row"):
        design_from_arrays(X, y, cluster="row")


def test_arrays_with_factors_equal_the_formula(data):
    data["sex"] = np.where(data["smoker"], "m", "f")
    by_formula = make_design(
        "grade ~ x1 + C(site) + sex + stage | adjust(C(site)) | priv(rater)".replace(
            "| adjust(C(site)) ", ""
        ),
        data,
    )
    columns = pd.DataFrame({"x1": data["x1"]})
    for s in "ABC":
        columns[f"site[{s}]"] = (data["site"] == s).astype(float)
    columns["sex[m]"] = (data["sex"] == "m").astype(float)
    for s in ("I", "II", "III"):
        columns[f"stage[{s}]"] = (data["stage"] == s).astype(float)
    by_array = design_from_arrays(
        columns,
        data["grade"],
        terms=["x1", *["C(site)"] * 3, "sex", *["stage"] * 3],
        term_levels={"C(site)": list("ABC"), "sex": ["f", "m"], "stage": ["I", "II", "III"]},
        ordered_terms=["stage"],
        term_variables={"C(site)": ["site"]},
        Z=data[["rater"]],
    )
    np.testing.assert_array_equal(by_array.X, by_formula.X)
    assert by_array.design_terms == by_formula.design_terms
    assert by_array.names == by_formula.names
    np.testing.assert_array_equal(by_array.transform(columns), by_array.X)


def test_single_observations_as_clusters_are_noted(data):
    design = make_design("grade ~ x1", data, cluster=np.arange(60))
    assert any("single observation" in note for note in design.notes)


def test_text_is_no_weight(data):
    with pytest.raises(OptionError, match="must be numbers"):
        make_design("grade ~ x1", data, weights=["1"] * 60)


def test_weighted_moments_are_those_of_scikit_learn(data):
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    columns = data[["x1", "x2", "x3"]]
    scaler = preprocessing.StandardScaler().fit(columns, sample_weight=data["z2"])
    design = make_design("grade ~ x1 + x2 + x3", data, weights="z2")
    np.testing.assert_allclose(design.X, scaler.transform(columns), rtol=1e-10)
    np.testing.assert_allclose(design.scale, scaler.scale_)


def test_what_varies_only_where_nothing_counts_is_constant(data):
    data["rare"] = np.where(np.arange(60) == 5, "yes", "no")
    data["w"] = np.where(np.arange(60) == 5, 1e-40, 1.0)
    with pytest.warns(RelboundsWarning, match="Constant feature left out: 'rare: yes - no'"):
        design = make_design("grade ~ rare + x1", data, weights="w")
    assert np.abs(design.X).max() < 100
    data["site"] = np.where(np.arange(60) == 5, "D", data["site"])
    site = make_design("grade ~ site", data, weights="w").design_terms[0]
    assert site.levels == ("A", "B", "C", "D") and site.shares[3] < 1e-30
