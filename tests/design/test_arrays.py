import pickle

import numpy as np
import pandas as pd
import pytest

from relbounds.design import design_from_arrays, make_design
from relbounds.errors import DataError, RelboundsError, RelboundsWarning

# -- arrays


def test_arrays():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(8, 3)), rng.normal(size=(8, 1))
    y = [1, 2, 3, 1, 2, 3, 1, 2]
    design = design_from_arrays(
        X,
        y,
        names=["a", "b[1]", "b[2]"],
        terms=["a", "b", "b"],
        levels=["l", "m", "h"],
        Z=Z,
        priv_names=["z"],
        response="grade",
        formula="grade ~ a + b | priv(z)",
    )
    assert design.family == "ordinal" and design.levels == ("l", "m", "h")
    assert design.terms == ("a", "b", "b") and design.priv_terms == ("z",)
    assert design.y.tolist() == y
    np.testing.assert_array_equal(design.transform(X), design.X)
    frame = pd.DataFrame(X, columns=["a", "b[1]", "b[2]"])
    np.testing.assert_array_equal(design.transform(frame), design.X)
    np.testing.assert_array_equal(design.transform_response(["h", "l"]), [3, 1])
    np.testing.assert_array_equal(design.transform_response(pd.DataFrame({"grade": ["h", "l"]})), [3, 1])
    again = pickle.loads(pickle.dumps(design))
    np.testing.assert_array_equal(again.transform(X), design.X)


def test_arrays_equal_formula(data):
    one = make_design("grade ~ x1 + x2 | priv(z1)", data)
    two = design_from_arrays(data[["x1", "x2"]], data["grade"], Z=data[["z1"]])
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.Z, two.Z)
    np.testing.assert_array_equal(one.y, two.y)
    assert one.names == two.names and one.family == two.family and one.index.equals(two.index)


def test_arrays_equal_formula_for_numbers_by_levels(data):
    """R hands over the columns of a number that is cut into levels: they have one scale, as in a formula."""
    one = make_design("grade ~ x1 + x1:site", data)
    cut = np.column_stack([data["x1"] * (data["site"] == s) for s in "ABC"])
    X, terms = np.column_stack([data["x1"], cut]), ["x1", "x1:site", "x1:site", "x1:site"]
    two = design_from_arrays(
        X, data["grade"], names=one.names, terms=terms, term_numbers={"x1:site": [0, 0, 0]}
    )
    np.testing.assert_allclose(one.X, two.X)
    with pytest.raises(DataError, match="a number for each of its 3 columns"):
        design_from_arrays(X, data["grade"], terms=terms, term_numbers={"x1:site": [0]})


@pytest.mark.parametrize("y", [["l", "h", "l", "m"], [1, 3, 1, 2], [1.0, 3.0, 1.0, 2.0]])
def test_labels_or_codes(y):
    design = design_from_arrays(np.arange(8.0).reshape(4, 2) ** 2, y, levels=("l", "m", "h"))
    assert design.y.tolist() == [1, 3, 1, 2]
    assert design.names == ("x1", "x2")


def test_labels_win_over_codes():
    design = design_from_arrays(np.arange(4.0)[:, None], [0, 1, 2, 1], levels=(0, 1, 2))
    assert design.y.tolist() == [1, 2, 3, 2]


def test_constant_columns_of_arrays():
    X = np.c_[np.ones(4), np.arange(4.0)]
    with pytest.warns(RelboundsWarning, match="'x1'"):
        design = design_from_arrays(X, [1.0, 2.5, 3.0, 4.0])
    np.testing.assert_array_equal(design.transform(X), design.X)
    np.testing.assert_array_equal(design.transform(pd.DataFrame({"x2": X[:, 1]})), design.X)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"X": np.zeros((0, 2))}, "no rows"),
        ({"X": np.arange(4.0)}, "two dimensions"),
        ({"X": [["a", "b"]] * 4}, "array of numbers"),
        ({"X": pd.DataFrame({"a": list("abcd"), "b": [1, 2, 3, 4]})}, "'a' is not"),
        ({"X": [[1, np.nan], [2, 1], [3, 1], [4, 2]]}, r"missing values in 'x2' \(1\)"),
        ({"X": [[1, np.inf], [2, 1], [3, 1], [4, 2]]}, r"infinite values in 'x2' \(1\)"),
        ({"y": [1, 2]}, "same number of rows"),
        ({"y": [1, 2, None, 1]}, "misses 1"),
        ({"y": [[1, 2]] * 4}, "one value per row"),
        ({"names": ["a"]}, "2 columns but 1 names"),
        ({"names": ["a", "a"]}, "more than once"),
        ({"levels": ["a", "a"]}, "not all different"),
        ({"levels": ["a", "b"], "y": [0, 1, 0, 1]}, "labels 'a', 'b' or the codes 1 to 2"),
        ({"weights": "x"}, "one number per row"),
        ({"weights": "balanced"}, "balance=True"),
        ({"weights": [1, 2]}, "4 rows"),
        ({"Z": np.zeros((2, 1))}, "same number of rows"),
        ({"terms": ["a"]}, "terms"),
        ({"y": None}, "one value per row"),
        ({"y": 3}, "one value per row"),
        ({"X": np.zeros((4, 0))}, "no columns"),
        ({"weights": list("abcd")}, "must be numbers"),
        ({"levels": [[1], [2]]}, "numbers or text"),
        ({"levels": "ab"}, "must be a list"),
    ],
)
def test_arrays_that_cannot_be_used(change, message):
    arguments = {"X": np.arange(8.0).reshape(4, 2) ** 2, "y": [1, 2, 2, 1]} | change
    with pytest.raises(RelboundsError, match=message):
        design_from_arrays(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_new_arrays_of_the_wrong_width():
    design = design_from_arrays(np.arange(8.0).reshape(4, 2) ** 2, [1, 2, 2, 1])
    with pytest.raises(DataError, match="3 columns, but 2 were used to fit"):
        design.transform(np.zeros((1, 3)))
    assert np.isnan(design.transform([[np.nan, 1.0]])).all()
