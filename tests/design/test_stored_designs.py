"""Designs as data: JSON and arrays that hold everything a design needs for new rows, and nothing that runs."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest

from relbounds.design import Design, design_from_arrays, make_design
from relbounds.design.censored import Surv
from relbounds.design.stored_factors import FORMATS
from relbounds.errors import RelboundsError
from relbounds.saving.values import Decoder, Encoder, declared


def written(design):
    encoder = Encoder(FORMATS, declared(Design))
    text = json.dumps(encoder.value(design), allow_nan=False)
    assert not any(array.dtype.hasobject for array in encoder.arrays)
    return text, encoder.arrays, encoder.functions


def read(text, arrays, functions=None):
    return Decoder(declared(Design), FORMATS, lambda i: arrays[i], functions).value(json.loads(text))


def same(one, two):
    for field in dataclasses.fields(Design):
        a, b = getattr(one, field.name), getattr(two, field.name)
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
        elif field.name == "index":
            assert a.equals(b) and a.name == b.name
        elif not field.name.startswith("_") and field.name not in ("interval", "times"):
            assert a == b and type(a) is type(b), field.name


FORMULAS = [
    "grade ~ .",
    "grade ~ center(x1) + standardize(x2) + scale(x3) + C(site) + Q('odd name')",
    "grade ~ bs(x3, df=4) + cr(x3, df=3) + cc(x3, df=3) + te(cr(x1, df=3), cr(x3, df=3))",
    "grade ~ C(site, levels=['C', 'B', 'A']) + site:stage + site:x1 + smoker + I(x1 > 0) + np.log(x2)",
    "grade ~ C(rater, levels=order) + I(x1 * factor)",
    "grade ~ x1 | adjust(C(site), bs(x3, df=4)) | priv(z1, C(rater))",
    "Surv(x2, smoker) ~ x1 + site",
    "between(rater, maximum(rater, 2)) ~ x1",
    "C(grade, levels=['low', 'mid', 'high']) ~ x1",
    "x1 ~ x2 + stage",
    "site ~ x1",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_designs_come_back_whole(data, formula):
    order, factor = [3, 2, 1], 2.5  # noqa: F841
    design = make_design(formula, data, cluster=np.arange(60) // 3, weights=np.arange(60) % 4)
    text, arrays, functions = written(design)
    assert not functions
    again = read(text, arrays)
    same(design, again)
    new = data.sample(20, random_state=0)
    np.testing.assert_array_equal(again.transform(new), design.transform(new))
    np.testing.assert_array_equal(again.transform_adjust(new), design.transform_adjust(new))
    np.testing.assert_array_equal(again.transform_response(new), design.transform_response(new))
    assert list(again.decode(again.y)) == list(design.decode(design.y))
    for one, two in zip(again.interval or (), design.interval or (), strict=True):
        np.testing.assert_array_equal(one, two)
    same(again.subset([1, 2, 5]), design.subset([1, 2, 5]))
    assert written(again)[0] == text


def test_arrays_come_back_whole():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    for y in (
        rng.integers(0, 3, 30),
        rng.normal(size=30),
        Surv(rng.exponential(size=30), rng.random(30) < 0.5),
    ):
        design = design_from_arrays(X, y, adjust=X**2, frequency=np.arange(30) % 3)
        again = read(*written(design)[:2])
        same(design, again)
        np.testing.assert_array_equal(again.transform(X), design.transform(X))


def test_a_function_of_the_user_is_named_and_missed_only_when_needed(data):
    def doubled(x):
        return 2 * x

    design = make_design("grade ~ doubled(x1) + x2 | adjust(x3)", data)
    text, arrays, functions = written(design)
    assert functions == ["doubled"]
    again = read(text, arrays)
    same(design, again)
    np.testing.assert_array_equal(again.transform_adjust(data), design.adjust)
    with pytest.raises(RelboundsError, match="doubled"):
        again.transform(data)
    np.testing.assert_array_equal(read(text, arrays, {"doubled": doubled}).transform(data), design.X)


def test_code_in_a_file_only_computes(data):
    design = make_design("grade ~ log(x2) + x1", data)
    text, arrays, _ = written(design)
    for code in ("__import__('os').getcwd()", "x2.to_csv('stolen')", "(lambda: x2)()", "[v for v in x2]"):
        crafted = text.replace('"log(x2)"', json.dumps(code))
        assert crafted != text
        with pytest.raises(RelboundsError):
            read(crafted, arrays).transform(data)


def test_pandas_types_of_levels_come_back(data):
    data["when"] = pd.Categorical(pd.cut(data["x3"], 3))
    design = make_design("grade ~ when + x1", data)
    again = read(*written(design)[:2])
    assert again.design_terms == design.design_terms
    np.testing.assert_array_equal(again.transform(data), design.X)
