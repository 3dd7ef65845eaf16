import warnings

import numpy as np
import pandas as pd
import pytest
from patsy import EvalEnvironment

from relbounds.design import design_from_arrays, make_design
from relbounds.errors import DataError, FormulaError, OptionError, RelboundsError, RelboundsWarning

# -- data as they come


@pytest.mark.parametrize(
    "dtype", ["Int64", "Float64", "int8", "float32", "object", "int64[pyarrow]", "Sparse[int]"]
)
def test_numbers_of_any_type(dtype):
    data = pd.DataFrame({"y": [1.5, 2.5, 3.5, 4.0], "x": pd.Series([1, 2, 3, 7]).astype(dtype)})
    design = make_design("y ~ x + log(x)", data, standardize=False)
    np.testing.assert_array_equal(design.X[:, 0], [1, 2, 3, 7])
    np.testing.assert_allclose(design.X[:, 1], np.log([1, 2, 3, 7]), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["string", "str", "object", "category", "string[pyarrow]"])
def test_text_of_any_type(dtype):
    data = pd.DataFrame({"y": pd.Series(["no", "yes", "no", "yes", None], dtype=dtype)})
    data["s"] = pd.Series(["b", "a", "b", None, "a"], dtype=dtype)
    design = make_design("y ~ s", data)
    assert design.names == ("s: b - a",)
    assert design.levels == ("no", "yes") and design.n_dropped == 2
    assert list(design.decode([1, 2])) == ["no", "yes"]


def test_nullable_truth_values():
    data = pd.DataFrame(
        {"y": pd.Series([True, False, None, True], dtype="boolean"), "x": [1.0, 2.0, 3.0, 4.0]}
    )
    design = make_design("y ~ x", data)
    assert design.family == "binary" and design.n_dropped == 1
    data = pd.DataFrame(
        {"b": pd.Series([True, False, None, True], dtype="boolean"), "x": [1.0, 2.0, 3.0, 4.5]}
    )
    assert make_design("x ~ b", data, standardize=False).X.ravel().tolist() == [1.0, 0.0, 1.0]


def test_dict_and_number_names():
    assert make_design("y ~ x", {"y": [1.0, 2.0, 4.5], "x": [1, 2, 3]}).names == ("x",)
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(5, 3)))
    design = make_design("Q('0') ~ .", data)
    assert design.names == ("1", "2")
    np.testing.assert_array_equal(design.transform(data), design.X)


@pytest.mark.parametrize(
    "data, message",
    [
        (pd.DataFrame({"y": [], "x": []}), "no rows"),
        (pd.DataFrame(index=[1, 2]), "no columns"),
        (np.zeros((3, 2)), r"pandas.DataFrame\(array, columns"),
        ([[1, 2]], "named columns"),
        (None, "NoneType"),
        ("file.csv", "str"),
        ({"y": [1, 2], "x": [1]}, "do not fit together"),
        (pd.DataFrame([[1, 2, 3]], columns=["y", "x", "x"]), "more than one column named 'x'"),
        (pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("y", "a"), ("x", "b")])), "2 levels"),
        ({"y": [1.0, 2.0, 3.5], "x": [None, None, None]}, "'x' has no values at all"),
        ({"y": [1.0, 2.0, 3.5], "x": [1.0, np.inf, -np.inf]}, "'x' of the data holds 2 infinite values"),
        ({"y": [1.0, np.inf, 3.5], "x": [1.0, 2.0, 3.0]}, "'y' of the data holds 1 infinite value"),
        ({"y": [1.0, 2.0, 3.5], "x": [1.0, "a", 3.0]}, r"'x' mixes types: numbers \(1.0\), text \('a'\)"),
        ({"y": [1.0, 2.0, 3.5], "x": [[1], [2], [3]]}, "'x' holds values of type list"),
        ({"y": [1.0, 2.0, 3.5], "x": [1j, 2j, 3j]}, "complex"),
        ({"y": [1.0, 2.0, 3.5], "x": pd.date_range("2020", periods=3)}, "'x' holds dates"),
        ({"y": [1.0, 2.0, 3.5], "x": pd.to_timedelta([1, 2, 3], "D")}, "'x' holds durations"),
        ({"y": [2.0, 2.0, 2.0], "x": [1, 2, 3]}, "only one value: 2.0"),
        ({"y": ["a", "a", None], "x": [1, 2, 3]}, "only one value: 'a'"),
        ({"y": [1.0, None, 3.0], "x": [None, 1.0, None]}, "no row is left"),
        ({"y": [1.0, 2.0, 3.5], "x": [-1.0, -2.0, -3.0]}, "'x' is constant|no row is left|constant"),
    ],
)
def test_data_that_cannot_be_used(data, message):
    formula = "y ~ log(x)" if "left|" in message else "y ~ x"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RelboundsWarning)
        with pytest.raises(DataError, match=message):
            make_design(formula, data)


def test_infinite_by_transform(data):
    data.loc["p3", "x2"] = 0.0
    with pytest.raises(DataError, match=r"infinite values in 'log\(x2\)' \(1\)"):
        make_design("grade ~ log(x2)", data)


def test_missing_by_transform(data):
    data.loc["p3", "x2"] = -1.0
    with pytest.warns(RelboundsWarning, match=r"1 row for which a transform has no value \(log\(x2\) in 1\)"):
        design = make_design("grade ~ log(x2) + x1", data)
    assert design.n_dropped == 1 and "p3" not in design.index
    with pytest.raises(DataError, match="no value"):
        make_design("grade ~ log(x2) + x1", data, missing="raise")


def test_missing_values_are_dropped_and_counted(data):
    data.loc["p1", "x1"] = np.nan
    data.loc[["p1", "p2"], "z1"] = np.nan
    data.loc["p3", "site"] = None
    data.loc["p4", "grade"] = np.nan
    data.loc["p5", "x3"] = np.nan  # not in the formula
    design = make_design("grade ~ x1 + site | priv(z1)", data)
    assert design.n_dropped == 4 and len(design.y) == 56
    assert any(note.startswith("4 rows dropped for missing values (grade 1, x1 1") for note in design.notes)
    with pytest.raises(DataError, match=r"4 of 60 rows have missing values .*z1 2"):
        make_design("grade ~ x1 + site | priv(z1)", data, missing="raise")
    with pytest.raises(OptionError, match="'drop' or 'raise'"):
        make_design("grade ~ x1", data, missing="omit")


def test_errors_inside_a_factor_are_worded(data):
    with pytest.raises(FormulaError, match=r"'log\(site\)' cannot be computed") as caught:
        make_design("grade ~ x1 + log(site)", data)
    assert str(caught.value).splitlines()[-1].index("^") == 4 + "grade ~ x1 + log(site)".index("log")
    with pytest.raises(FormulaError, match="1 value for 60 rows"):
        make_design("grade ~ x1[:1]", data)
    with pytest.raises(FormulaError, match="order or the labels"):
        make_design("grade ~ x1.sort_values()", data)
    with pytest.raises(FormulaError, match="cannot be computed"):
        make_design("log(grade) ~ x1", data)
    with pytest.raises(RelboundsError):
        make_design("grade ~ bs(x1, df=1)", data)


def test_identifiers_are_pointed_out(data):
    data["id"] = data.index
    with pytest.warns(RelboundsWarning, match="'id' has 60 different values in 60 rows"):
        make_design("grade ~ x1 + id", data)
    large = pd.concat([data] * 3)
    large["id"] = [f"p{i}" for i in range(180)]
    with pytest.raises(DataError, match=r"identifier rather than a category.*'. - id'"):
        make_design("grade ~ .", large)


# -- weights


def test_weights(data):
    n = len(data)
    assert make_design("grade ~ x1", data).weights.tolist() == [1.0] * n
    np.testing.assert_array_equal(make_design("grade ~ x1", data, weights="x2").weights, data["x2"])
    assert "x2" not in make_design("grade ~ . - site - stage - rater", data, weights="x2").names
    data.loc["p0", "x1"] = np.nan
    given = make_design("grade ~ x1", data, weights=np.arange(n))
    np.testing.assert_array_equal(given.weights, np.arange(1, n))
    shuffled = pd.Series(np.arange(n), index=data.index)[::-1]
    np.testing.assert_array_equal(make_design("grade ~ x1", data, weights=shuffled).weights, np.arange(1, n))
    with pytest.raises(OptionError, match="not those of the data"):
        make_design("grade ~ x1", data, weights=pd.Series(np.arange(n)))


@pytest.mark.parametrize(
    "weights, message",
    [
        (np.ones(59), "60 rows"),
        (np.ones((60, 2)), "numbers|60 rows|one number per row"),
        (-np.ones(60), "not be negative: 60"),
        (np.r_[np.nan, np.ones(59)], "1 missing or infinite value"),
        (np.zeros(60), "all zero"),
        ("x9", "column of the data"),
        ("site", "must be numbers"),
        (["a"] * 60, "must be numbers"),
        (3.0, "60 rows"),
    ],
)
def test_weights_that_cannot_be_used(data, weights, message):
    with pytest.raises(OptionError, match=message):
        make_design("grade ~ x1", data, weights=weights)


def test_balanced_weights_are_now_balance(data):
    with pytest.raises(OptionError, match="balance=True"):
        make_design("grade ~ x1", data, weights="balanced")


def test_a_row_of_weight_zero_has_no_influence(data):
    weights = data["x2"].copy()
    weights.iloc[[3, 7]] = 0.0
    odd = data.copy()
    odd.iloc[3, odd.columns.get_loc("x1")] = np.inf
    odd.iloc[7, odd.columns.get_loc("site")] = "elsewhere"
    design = make_design("grade ~ x1 + site", odd, weights=weights)
    without = make_design("grade ~ x1 + site", data.drop(index=["p3", "p7"]), weights="x2")
    np.testing.assert_array_equal(design.X, without.X)
    np.testing.assert_array_equal(design.y, without.y)
    assert design.index.equals(without.index)
    assert "2 rows of weight 0 left out." in design.notes


# -- messages


@pytest.mark.parametrize("values", [["1,5", "2,25", "3"], ["0,123", "4,567", "1"], ["-1,5", "+2,5", " 3,0 "]])
@pytest.mark.parametrize("dtype", ["object", "category", "string"])
def test_decimal_commas_are_recognised(values, dtype):
    data = pd.DataFrame({"crp": pd.Series(values * 4, dtype=dtype), "y": np.arange(12) ** 1.5})
    for formula in ("y ~ crp", "crp ~ y", "y ~ I(crp)"):
        with pytest.raises(
            DataError, match=r"Column '.*crp.*' holds numbers with a decimal comma.*decimal=','"
        ):
            make_design(formula, data)
    assert make_design("y ~ C(crp)", data).design_terms[0].kind == "factor"


def test_commas_that_may_group_thousands():
    data = pd.DataFrame({"x": ["1,234", "12,345", "1,234,567"] * 4, "y": np.arange(12) ** 1.5})
    with pytest.raises(DataError, match="thousands=','"):
        make_design("y ~ x", data)
    data["x"] = ["1,2", "a,b", "3"] * 4
    assert make_design("y ~ x", data).design_terms[0].kind == "factor"


class _Polars:
    """What this package uses of a polars DataFrame."""

    def __init__(self, frame, schema):
        self.frame, self.schema = frame, schema

    def to_pandas(self):
        return self.frame.copy()


class Enum:
    categories = ("low", "mid", "high")


class Categorical:
    pass


_Polars.__module__ = "polars.dataframe.frame"


def test_polars(data):
    frame = pd.DataFrame({"grade": pd.Categorical(["mid", "low", "high", "low"]), "x": [1.0, 2.0, 4.0, 3.0]})
    design = make_design("grade ~ x", _Polars(frame, {"grade": Enum(), "x": float}))
    assert design.family == "ordinal" and design.levels == ("low", "mid", "high")
    given = _Polars(frame, {"grade": Categorical(), "x": float})
    assert make_design("grade ~ x", given).family == "nominal"
    with pytest.raises(DataError, match=r"polars.col\('grade'\).cast\(polars.Enum\(\['high', 'low', 'mid'\]"):
        make_design("grade ~ x", given, family="ordinal")

    class LazyFrame:
        def collect(self):
            return frame

    with pytest.raises(DataError, match=r"are a LazyFrame.*data.collect\(\)"):
        make_design("grade ~ x", LazyFrame())


def test_a_name_that_is_there_already_is_not_proposed(data):
    with pytest.raises(FormulaError, match="'x4' is not a column") as caught:
        make_design("grade ~ x1 + x2 + x3 + x4", data[["grade", "x1", "x2", "x3"]])
    assert "Did you mean" not in str(caught.value)
    with pytest.raises(FormulaError, match="Did you mean 'x3'"):
        make_design("grade ~ x1 + x2 + x33", data)
    design = make_design("grade ~ x1 + x2", data)
    with pytest.raises(DataError, match="lack the column 'x1'") as caught:
        design.transform(data[["x2"]])
    assert "Did you mean" not in str(caught.value)


def test_nul_bytes_are_refused_by_name(data):
    odd = data.rename(columns={"x1": "x\0one"})
    with pytest.raises(DataError, match=r"NUL bytes in the name 'x\\x00one'"):
        make_design("grade ~ x2", odd)
    data["site"] = data["site"].replace("A", "A\0")
    with pytest.raises(DataError, match=r"'A\\x00', with NUL bytes"):
        make_design("grade ~ site", data)
    with pytest.raises(DataError, match="NUL"):
        design_from_arrays(np.eye(3), [1, 2, 1], names=["a", "b\0", "c"])


def test_numpy_scalars_will_do(data):
    design = make_design(
        np.str_("grade ~ x1 + C(site, levels=order)"),
        data,
        family=np.str_("ordinal"),
        weights=np.str_("x2"),
        cluster=np.str_("rater"),
        missing=np.str_("drop"),
        standardize=np.bool_(True),
        env=EvalEnvironment([{"order": np.array(["C", "B", "A"])}]),
    )
    assert design.find_term(np.str_("site")).levels == ("C", "B", "A")
    assert design.subset(np.array([np.int8(3), np.int8(1)])).y.shape == (2,)
    assert list(design.decode(np.float64(2))) == ["mid"]
