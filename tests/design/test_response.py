import numpy as np
import pandas as pd
import pytest

from relbounds.design import make_design
from relbounds.errors import DataError, OptionError

# -- response


def respond(y, formula="y ~ x", **options):
    data = pd.DataFrame({"y": y})
    data["x"] = np.arange(len(data)) ** 1.5
    return make_design(formula, data, **options)


@pytest.mark.parametrize(
    "y, family, levels",
    [
        (
            pd.Categorical(["lo", "hi", "mid", "lo"], ["lo", "mid", "hi"], ordered=True),
            "ordinal",
            ("lo", "mid", "hi"),
        ),
        (pd.Categorical(["lo", "hi", "hi", "lo"], ["lo", "mid", "hi"], ordered=True), "binary", ("lo", "hi")),
        (pd.Categorical(["b", "a", "b", "a"], ["b", "a"]), "binary", ("b", "a")),
        (["yes", "no", "no", "yes"], "binary", ("no", "yes")),
        ([True, False, True, True], "binary", (False, True)),
        ([0, 1, 1, 0], "binary", (0, 1)),
        ([3, 1, 2, 5], "ordinal", (1, 2, 3, 5)),
        ([0.0, 1.0, 1.0, 0.0], "binary", (0.0, 1.0)),
        ([3.0, 1.0, None, 2.0], "ordinal", (1, 2, 3)),
        ([3.0, 1.0, 2.0, 2.0], "regression", None),
        (list(range(11)), "regression", None),
        ([0.5, 1.0, 2.5, 3.0], "regression", None),
    ],
)
def test_family_chosen(y, family, levels):
    design = respond(y)
    assert design.family == family
    assert design.levels == levels
    assert design.notes[0].startswith(f"Family chosen: {family} (")
    if levels is not None:
        assert set(design.y) == set(range(1, len(levels) + 1))
        assert design.y.dtype.kind == "i"
    else:
        assert design.y.dtype == float


def test_levels_given_in_the_formula():
    design = respond(["lo", "hi", "mid", "lo"], "C(y, levels=['lo', 'mid', 'hi', 'top']) ~ x")
    assert design.family == "ordinal" and design.levels == ("lo", "mid", "hi")
    assert design.y.tolist() == [1, 3, 2, 1]
    assert any("'top'" in note for note in design.notes)
    decoded = design.decode([1, 3])
    assert isinstance(decoded, pd.Categorical) and decoded.ordered
    np.testing.assert_array_equal(design.transform_response(pd.DataFrame({"y": ["mid", "hi"]})), [2, 3])
    with pytest.raises(DataError, match=r"'mid'.*not among the levels"):
        respond(["lo", "hi", "mid"], "C(y, levels=['lo', 'hi']) ~ x")
    for levels, message in (("3", "must be a list"), ("['lo', 'hi', 'lo']", "not all different")):
        with pytest.raises(DataError, match=message):
            respond(["lo", "hi", "lo"], f"C(y, levels={levels}) ~ x")
    assert respond([3, 1, 2, 11, 5, 6, 7, 8, 9, 10, 4, 12], "C(y) ~ x").family == "ordinal"


def test_levels_without_order_are_refused_with_code_to_paste():
    y = ["lo", "hi", "mid", "lo"]
    for values in (y, pd.Categorical(y)):
        with pytest.raises(DataError) as caught:
            respond(values, family="ordinal")
        message = str(caught.value)
        assert "3 levels without an order" in message
        code = next(line for line in message.splitlines() if "pandas.Categorical" in line).strip()
        data = pd.DataFrame({"y": y, "x": [1.0, 2.0, 3.0, 5.0]})
        exec(code, {"data": data, "pandas": pd})
        assert make_design("y ~ x", data).family == "ordinal"
        formula = message.splitlines()[-2].strip().replace("...", "x")
        assert make_design(formula, data).family == "ordinal"
        assert "family='nominal'" in message


def test_levels_without_order_are_nominal_and_say_how_to_order_them():
    y = ["lo", "hi", "mid", "lo"]
    for values in (y, pd.Categorical(y)):
        design = respond(values)
        assert design.family == "nominal" and design.levels == ("hi", "lo", "mid")
        assert any("C(y, levels=['hi', 'lo', 'mid']) ~" in note for note in design.notes)
    assert respond([1, 2, 3, 2], family="nominal").family == "nominal"
    assert respond(pd.Categorical(y, ordered=True), family="nominal").family == "nominal"
    two = respond(["a", "b", "a"], family="nominal")
    assert two.family == "binary" and two.notes == ("Two levels: family 'nominal' is 'binary'.",)
    many = [f"town {k}" for k in range(40)] * 3
    for family in ("auto", "nominal"):
        with pytest.raises(DataError, match="40 levels without an order, too many"):
            respond(many, family=family)
    assert respond(many[:39] * 3).family == "nominal"


def test_family_given():
    assert respond([1, 2, 1, 2], family="ordinal").family == "ordinal"
    assert respond([1, 2, 1, 2], family="regression").levels is None
    assert respond([1.5, 2.5, 1.5, 3.5], family="ordinal").levels == (1.5, 2.5, 3.5)
    assert not respond([1, 2, 1, 2], family="binary").notes
    with pytest.raises(DataError, match="needs two levels, but the response 'y' has 3"):
        respond([1, 2, 3, 2], family="binary")
    with pytest.raises(DataError, match="needs numbers, but the response 'y' holds text"):
        respond(["a", "b", "a"], family="regression")
    with pytest.raises(OptionError, match="Did you mean 'ordinal'"):
        respond([1, 2], family="ordnal")
    with pytest.raises(DataError, match="too fine"):
        respond(np.random.default_rng(0).normal(size=150), family="ordinal")


@pytest.mark.parametrize(
    "y, kind",
    [
        ([3, 1, 2, 1], np.int64),
        ([True, False, True, False], bool),
        (["a", "b", "a", "b"], object),
        ([0.0, 1.0, 1.0, 0.0], float),
    ],
)
def test_labels_come_back_in_their_type(y, kind):
    design = respond(y)
    labels = design.decode(design.y)
    assert labels.dtype == kind
    assert labels.tolist() == y
    missing = design.decode([1.0, np.nan])
    assert pd.isna(missing[1]) and missing[0] == sorted(y)[0]
    with pytest.raises(DataError, match="between 1 and"):
        design.decode([9])
    with pytest.raises(DataError, match="whole numbers"):
        design.decode(["a"])


def test_transformed_response(data):
    design = make_design("log(x2) ~ x1", data)
    np.testing.assert_allclose(design.y, np.log(data["x2"]))
    assert design.response == "log(x2)"
    np.testing.assert_array_equal(design.transform_response(data), design.y)
    design = make_design("I(x1 > 0) ~ x2", data)
    assert design.family == "binary"
    design = make_design("I(x2 - x1) ~ x1", data)
    assert design.family == "regression" and design.names == ("x1",)


def test_dates_as_response():
    with pytest.raises(DataError, match="dates"):
        respond(pd.date_range("2020", periods=4))
