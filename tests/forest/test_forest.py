"""Non-linear relevance: truth found, groups found, the same numbers for any n_jobs, clear errors."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds.design import design_from_arrays
from relbounds.forest import cluster, forest_design, learner

lightgbm = pytest.importorskip("lightgbm")
QUICK = {"probes": 6, "repeats": 1, "folds": 3, "trees": 60, "progress": False}


def frame(n, d, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, d)), columns=[f"x{k + 1}" for k in range(d)]), rng


def product_of_two(seed):
    """Four noise features, and four grades by the product of two others: no direction tells anything.

    Each pair of values comes with both signs turned, so that this holds in every sample and not on average.
    """
    data, _ = frame(300, 6, seed)
    data.loc[150:, ["x1", "x2"]] = -data.loc[:149, ["x1", "x2"]].to_numpy()
    data["grade"] = pd.qcut(data.x1 * data.x2, 4, labels=False) + 1
    return data


def stand_ins(fit):
    """The groups of several terms that are not noise, by name."""
    found = fit.groups()
    return [found.members[number] for number in found.table.index]


@pytest.fixture(scope="module")
def product():
    return product_of_two(1)


@pytest.fixture(scope="module")
def product_fit(product):
    return rb.forest_relevance("grade ~ .", product, **QUICK)


@pytest.fixture(scope="module")
def copies_fit():
    """Three kinds, no order; x1 and x6 are nearly the same."""
    data, rng = frame(240, 5, 1)
    data["x6"] = data.x1 + 0.05 * rng.normal(size=240)
    data["kind"] = np.where(data.x1 > 0.4, "a", np.where(data.x2 > 0, "b", "c"))
    return rb.forest_relevance("kind ~ .", data, **QUICK)


@pytest.mark.parametrize(
    "seed", [0, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_sees_a_product_that_linear_bounds_cannot_see(seed):
    data = product_of_two(seed)
    fit = rb.forest_relevance("grade ~ .", data, **QUICK)
    assert fit.design.family == "ordinal"
    assert fit.selected("strong") == ["x1", "x2"]
    assert fit.selected("irrelevant") == ["x3", "x4", "x5", "x6"]
    assert rb.relbounds("grade ~ .", data, C=1.0, progress=False).selected() == []


RESPONSES = {
    "binary": lambda score: np.where(score > 0.7, "yes", "no"),
    "ordinal": lambda score: pd.qcut(score, 4, labels=False) + 1,
    "regression": lambda score: score,
}


def with_square(seed):
    """x2 is the square of x1, which tells all of it; x2 tells all of x1 but the sign."""
    data, rng = frame(300, 5, [seed, 99])
    data["x2"] = data.x1**2
    return data, 0.3 * rng.normal(size=300)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("family", list(RESPONSES))
def test_a_feature_and_its_square_stand_in_for_each_other(family, seed):
    data, noise = with_square(seed)
    data["y"] = RESPONSES[family](data.x2 + 0.7 * data.x3 + noise)
    fit = rb.forest_relevance("y ~ .", data, family=family, **QUICK)
    assert fit.selected("strong") == ["x3"]
    assert fit.selected("weak") == ["x1", "x2"]
    assert stand_ins(fit) == [["x1", "x2"]]


@pytest.mark.parametrize("curve", [0.0, 1.0])
def test_the_square_does_not_stand_in_for_the_sign(curve):
    data, noise = with_square(3)
    data["y"] = data.x1 + curve * data.x2 + data.x3 + noise
    fit = rb.forest_relevance("y ~ .", data, **QUICK)
    assert fit.selected("strong") == ["x1", "x3"]
    # even without a curve the square tells something: where it is large, y spreads more
    assert fit.table.loc["x2", "relevance"] == "weak"


def test_ordinal_loss_counts_levels(product_fit):
    # four equally frequent levels: the median is off by 0, 1, 1 or 2
    assert product_fit._found.constant == pytest.approx(1.0)
    assert product_fit.loss < 0.75


def test_linear_set_with_copies_is_classified_as_made():
    sim = rb.simulate.binary(n=150, strong=3, weak=4, irrelevant=3, seed=5)
    fit = rb.forest_relevance("y ~ .", sim.data, probes=20, progress=False)
    assert fit.table["relevance"].to_dict() == sim.truth.to_dict()
    assert stand_ins(fit) == [sim.truth.index[sim.truth == "weak"].tolist()]
    table = fit.table
    assert (table["upper"] >= table["lower"]).all()
    assert (table.loc[sim.truth == "weak", "upper"] > 10 * table.loc[sim.truth == "weak", "lower"]).all()


def test_levels_without_an_order_and_their_stand_ins(copies_fit):
    assert copies_fit.design.family == "nominal"
    assert copies_fit.selected("strong") == ["x2"]
    assert copies_fit.selected("weak") == ["x1", "x6"]
    assert stand_ins(copies_fit) == [["x1", "x6"]]
    groups = copies_fit.groups().table
    # removing both costs much more than removing either
    assert groups["removal_loss"].iloc[0] > 5 * copies_fit.table.loc[["x1", "x6"], "lower"].max()
    assert copies_fit.table.loc[["x1", "x6"], "group"].tolist() == [1, 1]


def test_regression_on_a_curve():
    data, rng = frame(250, 5, 2)
    data["y"] = np.abs(data.x1) + np.cos(2 * data.x2) + 0.1 * rng.normal(size=250)
    fit = rb.forest_relevance("y ~ .", data, **QUICK)
    assert fit.design.family == "regression"
    assert fit.selected("strong") == ["x1", "x2"]


def test_categories_and_weights_reach_the_trees():
    data, rng = frame(200, 3, 7)
    data["site"] = rng.choice(["A", "B", "C"], size=200)
    data["y"] = ((data.site == "B") ^ (data.x1 > 0)).astype(int)
    fit = rb.forest_relevance("y ~ x1 + x2 + C(site)", data, weights=np.full(200, 2.0), **QUICK)
    assert set(fit.selected()) == {"x1", "C(site)"}
    assert fit.selected_formula() == "y ~ x1 + C(site)"
    assert fit.table.index.tolist() == ["x1", "x2", "C(site)"]


def test_random_labels_give_nothing():
    # one such set in twenty may give something: benchmarks/forest_calibration.py counts them
    data, rng = frame(150, 8, 12)
    data["y"] = rng.integers(0, 2, size=150)
    assert rb.forest_relevance("y ~ .", data, **QUICK).selected() == []


def test_same_numbers_whatever_the_number_of_workers():
    data, _ = frame(80, 3, 4)
    data["y"] = (data.x1 * data.x2 > 0).astype(int)
    options = {"probes": 3, "repeats": 1, "folds": 2, "trees": 20, "progress": False}
    for method in ("sequential", "removal"):
        one = rb.forest_relevance("y ~ .", data, method=method, **options)
        two = rb.forest_relevance("y ~ .", data, method=method, n_jobs=2, **options)
        pd.testing.assert_frame_equal(one.table, two.table, check_exact=True)
    other = rb.forest_relevance("y ~ .", data, seed=1, **options)
    assert not np.array_equal(other.table["importance"], one.table["importance"])


def test_published_method_with_its_defaults():
    sim = rb.simulate.binary(n=200, strong=2, weak=0, irrelevant=4, seed=1)
    fit = rb.forest_relevance("y ~ .", sim.data, method="sequential", progress=False)
    assert fit.options["probes"] == 50
    assert fit.options["level"] == pytest.approx(1 - 1e-6)
    assert fit.selected("strong") == ["x1", "x2"]
    assert "sequential" in str(fit.summary())


def test_many_features_are_screened():
    data, _ = frame(150, 40, 9)
    data["y"] = (data.x1 + data.x2 > 0).astype(int)
    fit = rb.forest_relevance("y ~ .", data, **QUICK)
    assert fit.selected("strong") == ["x1", "x2"]
    assert fit.table["removal_loss"].isna().sum() > 10
    assert any("not tested by removal" in note for note in fit.notes)


def test_what_the_user_holds(product_fit):
    table = product_fit.table
    assert table.index.name == "feature"
    for column in ("part", "term", "lower", "upper", "p_noise", "p_adjusted", "relevance", "importance",
                   "importance_noise", "removal_loss", "removal_noise", "replaceable", "group"):  # fmt: skip
        assert column in table
    text = product_fit.summary().as_text()
    assert "Forest relevance" in text
    assert "strong" in text
    assert "tabular" in product_fit.to_latex()
    assert "<table" in product_fit._repr_html_()
    assert product_fit.to_csv().startswith("feature,")
    assert "2 strong" in repr(product_fit)
    assert product_fit.selected_formula("strong") == "grade ~ x1 + x2"
    assert list(product_fit.intervals.index) == ["importance", "removal_loss"]
    with pytest.raises(rb.OptionError, match="kind='some'"):
        product_fit.selected("some")


def test_saved_and_loaded(product_fit, tmp_path):
    again = rb.load(product_fit.save(tmp_path / "grades.relbounds"))
    assert isinstance(again, rb.ForestResults)
    pd.testing.assert_frame_equal(again.table, product_fit.table)
    assert str(again) == str(product_fit)
    assert again.options == product_fit.options
    with pytest.raises(rb.DataError, match="holds a forest"):
        rb.RelboundsResults.from_bytes(product_fit.to_bytes())


def test_figure_shows_every_feature(product_fit):
    import matplotlib

    matplotlib.use("Agg")
    ax = product_fit.plot(title="Grades")
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"x{k}" for k in range(1, 7)]
    assert len(ax.patches) == 6
    matplotlib.pyplot.close(ax.figure)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "sequental"}, "Did you mean 'sequential'"),
        ({"probes": 1}, "probes=1"),
        ({"level": 1.0}, "level=1.0"),
        ({"tolerance": -1}, "tolerance=-1"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"params": 3}, "params"),
        ({"family": "nominl"}, "Did you mean 'nominal'"),
    ],
)
def test_bad_options_are_named(product, options, message):
    with pytest.raises(rb.OptionError, match=message):
        rb.forest_relevance("grade ~ .", product, **options)


def test_bad_data_are_named(product):
    with pytest.raises(rb.OptionError, match="no privileged part"):
        rb.forest_relevance("grade ~ x1 | priv(x2)", product)
    with pytest.raises(rb.DataError, match="too few"):
        rb.forest_relevance("grade ~ .", product.head(10))
    with pytest.raises(rb.OptionError, match="no adjusting part"):
        rb.forest_relevance("grade ~ x1 | adjust(x2)", product)
    with pytest.raises(rb.FormulaError):
        rb.forest_relevance("grade ~ x99", product)
    with pytest.raises(rb.OptionError, match="Did you mean 'probes'"):
        forest_design(design_from_arrays(product[["x1"]], product["grade"]), probs=3)


@pytest.mark.parametrize(("package", "method"), [("lightgbm", "removal"), ("boruta", "sequential")])
def test_missing_extras_name_the_command(monkeypatch, product, package, method):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(rb.MissingExtraError, match=r"pip install 'relbounds\[forest\]'"):
        rb.forest_relevance("grade ~ .", product, method=method, progress=False)


def test_importing_the_package_loads_no_optional_one():
    code = "import sys, relbounds; print([m for m in ('lightgbm', 'boruta', 'sklearn') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_folds_cover_every_row_once_and_spread_the_levels():
    y = np.repeat([1.0, 2.0, 3.0], [40, 15, 5])
    problem = learner.Problem(np.zeros((60, 1)), y, np.ones(60), levels=("a", "b", "c"))
    held, notes = learner.splits(problem, folds=5, repeats=2, seed=0)
    assert notes == ()
    assert len(held) == 10
    for repeat in (held[:5], held[5:]):
        assert sorted(np.concatenate([rows for rows, _ in repeat])) == list(range(60))
        assert all(np.sum(y[rows] == 3) == 1 for rows, _ in repeat)


def test_linear_start_predicts_each_row_as_if_left_out():
    data, rng = frame(40, 3, 6)
    X = data.to_numpy()
    y = X @ [1.0, -1.0, 0.5] + rng.normal(size=40)
    c = np.ones(40)
    _, held = learner._ridge(X, y, c)
    for i in (0, 17):
        rest = np.arange(40) != i
        w, _ = learner._ridge(X[rest], y[rest], c[rest])
        assert held[i] == pytest.approx(w[0] + X[i] @ w[1:], abs=1e-8)
    target = (y > 0).astype(float)
    _, score = learner._logistic(X, target, c)
    exact = []
    for i in range(40):
        rest = np.arange(40) != i
        w, _ = learner._logistic(X[rest], target[rest], c[rest])
        exact.append(w[0] + X[i] @ w[1:])
    assert np.corrcoef(score, exact)[0, 1] > 0.99


def test_similarity_sees_curves_and_clusters_keep_closest_together():
    data, rng = frame(300, 2, 8)
    X = np.column_stack([data.x1, data.x1**2, data.x1 + 0.1 * rng.normal(size=300), data.x2])
    found = cluster.likeness(X)
    s = found.either
    assert np.allclose(s, s.T)
    assert s[0, 1] > 0.8
    assert s[0, 3] < 0.3
    # a number tells its square, the square not the sign; a noisy copy and the original tell each other
    assert found.told[0, 1] > 0.9
    assert found.told[1, 0] < 0.5
    assert found.mutual[0, 1] < 0.5
    assert found.mutual[0, 2] > 0.9
    assert cluster.clusters(s, 0.9)[0][0] == (0, 2)
    assert cluster.flat(s, 0.95) == [(0, 2), (1,), (3,)]
    assert cluster.halves([(0, 2), (0, 1, 2)])[(0, 1, 2)] == ((0, 2), (1,))


@pytest.mark.slow
def test_separate_groups_stay_separate():
    sim = rb.simulate.binary(n=300, strong=1, weak=6, irrelevant=3, groups=[3, 3], seed=2)
    fit = rb.forest_relevance("y ~ .", sim.data, progress=False)
    assert fit.table["relevance"].to_dict() == sim.truth.to_dict()
    assert stand_ins(fit) == [["x2", "x3", "x4"], ["x5", "x6", "x7"]]
