import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import patsy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relbounds.design import make_design
from relbounds.errors import DataError, FormulaError, RelboundsError, RelboundsWarning


def raw(design):
    return design.X * design.scale + design.center


# -- columns


def test_columns_terms_and_parts(data):
    design = make_design("grade ~ x1 + log(x2) + C(site) + x1:x3 | priv(z1, log(z2), C(rater))", data)
    assert design.names == ("x1", "log(x2)", "site[A]", "site[B]", "site[C]", "x1:x3")
    assert design.terms == ("x1", "log(x2)", "C(site)", "C(site)", "C(site)", "x1:x3")
    assert design.priv_names == ("z1", "log(z2)", "rater[1]", "rater[2]", "rater[3]")
    assert design.priv_terms == ("z1", "log(z2)", "C(rater)", "C(rater)", "C(rater)")
    assert design.X.shape == (60, 6)
    assert design.Z.shape == (60, 5)
    assert design.index.equals(data.index)
    assert design.response == "grade"


@pytest.mark.parametrize(
    "rhs",
    [
        "x1 + np.log(x2)",
        "x1 * x3",
        "(x1 + x2 + x3)**2",
        "center(x1) + standardize(x2)",
        "bs(x3, df=4)",
        "cr(x3, df=3)",
        "I(x1 + x2) + I(x3**2)",
        "x1:bs(x3, df=4)",
        "np.sqrt(x2) + x1/x3",
        "te(cr(x1, df=3), cr(x3, df=3))",
    ],
)
def test_numbers_are_those_of_patsy(data, rhs):
    theirs = patsy.dmatrix(rhs + " - 1", data, return_type="dataframe")
    ours = make_design(f"grade ~ {rhs}", data, standardize=False)
    assert set(ours.names) == set(theirs.columns)
    np.testing.assert_array_equal(ours.X, theirs[list(ours.names)].to_numpy())


@pytest.mark.parametrize("term", ["site", "C(site)", "rater", "C(rater)"])
def test_every_level_has_a_column_in_every_term(data, term):
    data["rater"] = data["rater"].astype(str)
    design = make_design(f"grade ~ x1 + {term} + {term}:x1", data, standardize=False)
    column = term.removeprefix("C(").removesuffix(")")
    levels = sorted(data[column].unique())
    expected = [f"{column}[{v}]" for v in levels]
    assert design.names == ("x1", *expected, *(f"{e}:x1" for e in expected))
    for k, level in enumerate(levels):
        np.testing.assert_array_equal(design.X[:, 1 + k], (data[column] == level).astype(float))
        np.testing.assert_array_equal(design.X[:, 1 + len(levels) + k], data["x1"] * (data[column] == level))


def test_interaction_of_categories_is_full(data):
    design = make_design("grade ~ site:stage", data, standardize=False)
    assert len(design.names) == 6
    assert design.names[:2] == ("site[A]:stage[I]", "site[B]:stage[I]")
    np.testing.assert_array_equal(design.X.sum(axis=1), 1.0)


def test_truth_values_are_one_column(data):
    names = make_design("grade ~ smoker + I(x1 > 0)", data).names
    assert names == ("smoker: True - False", "I(x1 > 0): True - False")
    assert make_design("grade ~ C(smoker)", data).names == ("smoker: True - False",)


def test_names_stay_unique(data):
    names = make_design("grade ~ site + C(site)", data).names
    assert names == ("site[A]", "site[B]", "site[C]", "C(site)[A]", "C(site)[B]", "C(site)[C]")
    data["site[A]"] = data["x1"]
    names = make_design("grade ~ site + Q('site[A]')", data).names
    assert len(set(names)) == 4


def test_odd_names_and_dot(data):
    design = make_design("grade ~ . - site - rater | priv(z1, z2)", data)
    assert design.names == ("x1", "x2", "x3", "stage: II - I", "smoker: True - False", "odd name")
    assert design.terms[-1] == 'Q("odd name")'


@pytest.mark.parametrize("extra", ["+ 1", "+ 0", "- 1", "+ -1"])
def test_there_is_never_an_intercept(data, extra):
    assert make_design(f"grade ~ x1 {extra}", data).names == ("x1",)


def test_levels_in_the_order_asked_for_and_contrasts_refused_aloud(data):
    assert make_design("grade ~ C(site, levels=['C', 'A', 'B'])", data).names == (
        "site[C]",
        "site[A]",
        "site[B]",
    )
    with pytest.warns(RelboundsWarning, match="contrast"):
        design = make_design("grade ~ C(site, Treatment)", data)
    assert design.names == ("site[A]", "site[B]", "site[C]")
    with pytest.raises(DataError, match=r"'C'.*not among the levels"):
        make_design("grade ~ C(site, levels=['A', 'B'])", data)


def test_unused_categories_have_no_column(data):
    data["site"] = pd.Categorical(data["site"], ["C", "B", "A", "unused"])
    assert make_design("grade ~ site", data).names == ("site[C]", "site[B]", "site[A]")


def test_functions_of_the_caller_and_of_numpy(data):
    def double(x):
        return 2 * x

    power = 3
    C = 1.0  # noqa: F841  must not hide the function C()
    design = make_design("grade ~ double(x1) + I(x3**power) + log1p(x2) + C(site)", data, standardize=False)
    np.testing.assert_array_equal(design.X[:, 0], 2 * data["x1"])
    np.testing.assert_array_equal(design.X[:, 1], data["x3"] ** power)

    def outer():
        return make_design("grade ~ double(x1)", data, env=1)

    assert outer().names == ("double(x1)",)


def test_variables_come_from_the_data_alone(data):
    elsewhere = np.arange(len(data))  # noqa: F841
    series = data["x1"].rename("q")  # noqa: F841
    for formula in ("grade ~ elsewhere", "grade ~ x1 + log(elsewhere)", "grade ~ x1 + I(series + x1)"):
        with pytest.raises(FormulaError, match="column of the data"):
            make_design(formula, data)


def test_a_column_that_looks_like_a_term(data):
    data["log(x2)"] = data["x1"]
    design = make_design("grade ~ log(x2) + Q('log(x2)')", data, standardize=False)
    np.testing.assert_array_equal(design.X[:, 0], np.log(data["x2"]))
    np.testing.assert_array_equal(design.X[:, 1], data["x1"])


# -- scaling


def test_standardised(data):
    design = make_design("grade ~ x1 + x2 + site | priv(z1)", data)
    np.testing.assert_allclose(design.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(design.X[:, :2].std(axis=0), 1)
    shares = data["site"].value_counts(normalize=True).to_numpy()
    np.testing.assert_allclose(design.scale[2:], np.sqrt(np.sum(shares * (1 - shares)) / 2))
    np.testing.assert_allclose(design.Z.std(axis=0), 1)
    np.testing.assert_allclose(raw(design)[:, 0], data["x1"])
    plain = make_design("grade ~ x1", data, standardize=False)
    np.testing.assert_array_equal(plain.X[:, 0], data["x1"])
    assert plain.center.tolist() == [0.0] and plain.scale.tolist() == [1.0]


@pytest.mark.parametrize("size", [1e-300, 1e300, 1.7e308])
def test_scaling_survives_extreme_sizes(data, size):
    data["x1"] = data["x1"] / data["x1"].abs().max() * size
    design = make_design("grade ~ x1", data)
    np.testing.assert_allclose(design.X.std(axis=0), 1)


def test_nearly_constant_is_constant(data):
    data["x1"] = 1e6 + 1e-9 * data["x3"]
    with pytest.warns(RelboundsWarning, match="Constant feature left out: 'x1'"):
        design = make_design("grade ~ x1 + x2", data)
    assert design.names == ("x2",)
    assert any("'x1'" in note for note in design.notes)


def test_constants(data):
    data["one"], data["two"] = 1.0, "same"
    with pytest.warns(RelboundsWarning, match=r"Constant features left out: 'one', 'two'"):
        design = make_design("grade ~ one + x1 + two", data)
    assert design.names == ("x1",)
    np.testing.assert_array_equal(design.transform(data[["x1"]]), design.X)
    with pytest.raises(DataError, match="Every feature is constant"):
        make_design("grade ~ one + two", data)
    with pytest.raises(DataError, match="Every privileged feature is constant"):
        make_design("grade ~ x1 | priv(one)", data)
    with pytest.warns(RelboundsWarning, match="Constant privileged feature left out: 'one'"):
        assert make_design("grade ~ x1 | priv(one, z1)", data).priv_names == ("z1",)


# -- new data

FORMULAS = [
    "grade ~ x1 + log(x2) + C(site) + site:x1 + bs(x3, df=4) + center(x1) + smoker | priv(z1)",
    "grade ~ . - rater | priv(z1, z2)",
    "grade ~ standardize(x1) + scale(x3) + I(x1 > 0) + Q('odd name')",
]


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("standardize", [True, False])
def test_training_data_come_back_exactly(data, formula, standardize):
    design = make_design(formula, data, standardize=standardize)
    np.testing.assert_array_equal(design.transform(data), design.X)
    np.testing.assert_array_equal(design.transform_response(data), design.y)


@pytest.mark.parametrize("formula", FORMULAS)
def test_rows_are_transformed_one_by_one(data, formula):
    design = make_design(formula, data)
    new = data.drop(columns=["z1", "z2", "grade"]).iloc[[5, 3, 3]]
    np.testing.assert_allclose(design.transform(new), design.X[[5, 3, 3]], rtol=1e-12)
    np.testing.assert_allclose(design.transform(new.iloc[:1]), design.X[[5]], rtol=1e-12)
    assert design.transform(new.iloc[:0]).shape == (0, len(design.names))


def test_missing_values_in_new_data_stay_in_place(data):
    design = make_design("grade ~ x1 + log(x2) + site", data)
    new = data.iloc[:5].copy()
    new.iloc[1, new.columns.get_loc("x1")] = np.nan
    new.iloc[2, new.columns.get_loc("site")] = None
    new.iloc[3, new.columns.get_loc("x2")] = -1.0
    out = design.transform(new)
    assert np.isnan(out[[1, 2, 3]]).all()
    np.testing.assert_allclose(out[[0, 4]], design.X[[0, 4]], rtol=1e-12)
    new.iloc[0, new.columns.get_loc("grade")] = np.nan
    codes = design.transform_response(new)
    assert np.isnan(codes[0]) and (codes[1:] == design.y[1:5]).all()


def test_new_data_errors(data):
    design = make_design("grade ~ x1 + site + bs(x3, df=4)", data)
    with pytest.raises(DataError, match=r"lack the column 'x1'. Did you mean 'x11'"):
        design.transform(data.rename(columns={"x1": "x11"}))
    with pytest.raises(DataError, match=r"lack the columns 'x1', 'site'"):
        design.transform(data.drop(columns=["x1", "site"]))
    new = data.copy()
    new["site"] = new["site"].replace("A", "Z")
    with pytest.raises(DataError, match=r"holds 'Z' \(\d+ rows\).*Known levels: 'A', 'B', 'C'"):
        design.transform(new)
    with pytest.raises(RelboundsError, match="bs"):
        design.transform(data.assign(x3=1e6))
    with pytest.raises(DataError, match="'x1' of the new data holds 1 infinite value"):
        design.transform(data.assign(x1=[np.inf, *data["x1"].iloc[1:]]))
    with pytest.raises(DataError, match="named columns"):
        design.transform(data[["x1"]].to_numpy())
    with pytest.raises(DataError, match=r"'huge'.*not seen"):
        design.transform_response(data.assign(grade="huge"))
    with pytest.raises(DataError, match="must be numbers"):
        make_design("x1 ~ x2", data).transform_response(data.assign(x1="a"))
    with pytest.raises(RelboundsError):
        design.transform(data.assign(x1="a"))


def test_new_data_may_be_categorical_with_other_categories(data):
    design = make_design("grade ~ site", data)
    new = data.iloc[:4].copy()
    new["site"] = pd.Categorical(new["site"], ["C", "A", "B", "unused"])
    np.testing.assert_array_equal(design.transform(new), design.X[:4])


# -- pickling


def squared(x):
    return x**2


PICKLED = "grade ~ center(x1) + C(site) + bs(x3, df=4) + log(x2) + np.sqrt(x2) + cr(x3, df=3) + squared(x1)"


def test_pickles(data):
    design = make_design(PICKLED, data)
    again = pickle.loads(pickle.dumps(design))
    np.testing.assert_array_equal(again.transform(data), design.X)
    assert again.names == design.names and again.levels == design.levels
    assert list(again.decode([1, 3])) == ["low", "high"]
    np.testing.assert_array_equal(copy.deepcopy(design).transform(data), design.X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).transform(data), design.X)


def test_pickles_into_a_fresh_process(data, tmp_path):
    design = make_design(PICKLED.replace(" + squared(x1)", ""), data)
    (tmp_path / "design.pickle").write_bytes(pickle.dumps((design, data)))
    script = (
        "import pickle, numpy as np\n"
        f"design, data = pickle.load(open({str(tmp_path / 'design.pickle')!r}, 'rb'))\n"
        "np.testing.assert_array_equal(design.transform(data), design.X)\n"
        "print(design.decode(design.y[:1])[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == data["grade"].iloc[0]


def test_what_cannot_be_stored_says_so_when_needed(data):
    local = lambda x: x + 1  # noqa: E731, F841
    design = make_design("grade ~ local(x1) + x2", data)
    again = pickle.loads(pickle.dumps(design))
    np.testing.assert_array_equal(again.X, design.X)
    with pytest.raises(DataError, match=r"'local'.*could not be stored"):
        again.transform(data)


# -- subset


def test_subset(data):
    design = make_design("grade ~ x1 + site | priv(z1)", data, weights="x2")
    rows = np.array([4, 4, 0])
    small = design.subset(rows)
    for name in ("X", "Z", "y", "weights"):
        np.testing.assert_array_equal(getattr(small, name), getattr(design, name)[rows])
    assert small.index.tolist() == ["p4", "p4", "p0"]
    assert small.levels == design.levels
    np.testing.assert_array_equal(small.transform(data), design.X)
    mask = np.arange(60) < 3
    np.testing.assert_array_equal(design.subset(mask).X, design.X[:3])
    with pytest.raises(DataError, match="60"):
        design.subset([60])
    with pytest.raises(DataError, match="mask"):
        design.subset([True])
    for wrong in (None, ["a"], [[0, 1]], [0.5]):
        with pytest.raises(DataError, match="positions or a mask"):
            design.subset(wrong)


# -- laws


@given(st.integers(0, 10_000), st.permutations(["grade", "a", "b", "c", "s"]))
@settings(max_examples=40, deadline=None)
def test_order_of_the_columns_of_the_data_changes_nothing(seed, order):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(12, 3)), columns=list("abc"))
    data["s"] = rng.permutation(list("xyxyxyxyxyxy"))
    data["grade"] = rng.permutation([1, 2, 3] * 4)
    formula = "grade ~ a + s:b + center(b) | priv(c)"
    one, two = make_design(formula, data), make_design(formula, data[list(order)])
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.Z, two.Z)
    assert one.names == two.names


@given(st.integers(0, 10_000), st.lists(st.integers(0, 11), max_size=6))
@settings(max_examples=40, deadline=None)
def test_dropping_rows_beforehand_or_by_missing_values_is_the_same(seed, gone):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(12, 2)), columns=["y", "x"])
    data["s"] = rng.permutation(list("xyxyxyxyxyxy"))
    data["w"] = rng.random(12) + 0.1
    kept = data.drop(index=gone)
    holed = data.copy()
    holed.loc[gone, "x"] = np.nan
    if kept["s"].nunique() < 2:
        return
    one = make_design("y ~ center(x) + s", kept, weights="w")
    two = make_design("y ~ center(x) + s", holed, weights="w")
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.weights, two.weights)
    assert two.n_dropped == len(set(gone))
    assert one.index.equals(two.index)


@given(st.integers(0, 10_000), st.integers(1, 30))
@settings(max_examples=30, deadline=None)
def test_more_features_than_rows(seed, extra):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(5, 5 + extra)), columns=[f"x{i}" for i in range(5 + extra)])
    design = make_design("x0 ~ .", data)
    assert design.X.shape == (5, 4 + extra)
    np.testing.assert_array_equal(design.transform(data), design.X)
