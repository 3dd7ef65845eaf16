import datetime
import decimal
import fractions
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from relbounds.errors import DataError
from relbounds.saving.archive import read_archive, write_archive
from relbounds.saving.values import Decoder, Encoder, Lost, declared, hints, suits


@dataclass(frozen=True)
class Inner:
    name: str
    values: np.ndarray


@dataclass(frozen=True)
class Outer:
    inner: Inner
    others: tuple[Inner, ...] = ()
    by_name: Mapping[str, "Inner | None"] = field(default_factory=dict)
    anything: Any = None


INNER = next(iter(declared(Inner)))


def there_and_back(value, functions=None):
    known = declared(Outer)
    encoder = Encoder({}, known)
    content = encoder.value(value)
    stored = read_archive(write_archive("test", content, encoder.arrays))
    assert stored.content == json.loads(json.dumps(content))
    return Decoder(known, {}, stored.array, functions).value(stored.content)


SCALARS = [
    None,
    True,
    0,
    -(10**30),
    1.5,
    -0.0,
    1e-310,
    0.1 + 0.2,
    "",
    "größer\x00\ud800",
    b"\x00\xff",
    2j,
    np.float32(0.1),
    np.int8(-3),
    np.bool_(True),
    np.str_("word"),
    np.datetime64("2020-02-03"),
    pd.Timestamp("2020-01-02 03:04:05.123456789"),
    pd.Timestamp("2020-07-01", tz="Europe/Berlin"),
    pd.Timedelta("3 days 2 ns"),
    pd.Period("2020-03", freq="M"),
    pd.Interval(0.5, 1.5, closed="left"),
    pd.Interval(pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")),
    datetime.date(2020, 1, 2),
    datetime.datetime(2020, 1, 2, 3, 4, 5, 6),
    datetime.time(1, 2, 3),
    datetime.timedelta(1, 2, 3),
    decimal.Decimal("0.10"),
    fractions.Fraction(1, 3),
]


@pytest.mark.parametrize("value", SCALARS, ids=lambda v: type(v).__name__)
def test_single_values_come_back_as_they_were(value):
    again = there_and_back(value)
    assert again == value and type(again) is type(value)
    assert there_and_back((value, [value])) == (value, [value])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks(value):
    assert repr(there_and_back(value)) == repr(value)


def test_missing_values_keep_their_kind():
    assert there_and_back(pd.NA) is pd.NA and there_and_back(pd.NaT) is pd.NaT


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10)[::3],
        np.zeros((0, 4)),
        np.array(3.5),
        np.array(["a", "bc"]),
        np.array(["2020-01-01", "NaT"], dtype="M8[ns]"),
        np.array([True, False]),
        np.array([1 + 2j]),
        np.array([], dtype=int),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_arrays_come_back_to_the_bit(array):
    again = there_and_back(array)
    assert again.dtype == array.dtype and again.shape == array.shape
    assert again.tobytes() == array.tobytes() and again.flags.writeable
    assert (
        again.flags.f_contiguous == np.ascontiguousarray(array).flags.f_contiguous or array.flags.f_contiguous
    )


def test_arrays_of_objects_are_written_value_by_value():
    array = np.array([["a", None], [1.5, pd.Timestamp("2020-01-01")]], dtype=object)
    again = there_and_back(array)
    assert again.dtype == object and again.tolist() == array.tolist()


def test_an_array_that_occurs_twice_is_stored_once():
    array = np.arange(1000.0)
    encoder = Encoder({})
    assert encoder.value((array, array, array.copy())) == [{"array": 0}, {"array": 0}, {"array": 1}]
    first, second = there_and_back((array, array))
    assert first is second


FRAMES = {
    "plain": pd.DataFrame({"a": [1, 2], "b": [0.5, np.nan], "c": ["x", None]}),
    "types": pd.DataFrame(
        {
            "cat": pd.Categorical(["lo", "hi", None], categories=["lo", "mid", "hi"], ordered=True),
            "int": pd.array([1, None, 3], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "date": pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
            "zone": pd.to_datetime(["2020-01-01", None, "2021-06-01"]).tz_localize("Europe/Berlin"),
            "span": pd.to_timedelta([1, 2, None], unit="h"),
            "month": pd.PeriodIndex(["2020-01", "2020-02", None], freq="M"),
            "bin": pd.cut([1.0, 2.0, 3.0], 2),
        },
        index=pd.Index(["r", "s", "t"], name="row"),
    ),
    "multi": pd.DataFrame(
        np.eye(2),
        index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["x", None]),
        columns=pd.MultiIndex.from_product([["u"], ["v", "w"]]),
    ),
    "dates": pd.DataFrame({"a": [1, 2]}, index=pd.to_datetime(["2020-01-01", "2020-01-03"])),
    "repeated": pd.DataFrame([[1, 2.5]], columns=["a", "a"]),
    "numbered": pd.DataFrame([[1, 2.5]], columns=[0, 1.5]),
    "empty": pd.DataFrame(),
    "no rows": pd.DataFrame({"a": pd.Series([], dtype=float)}),
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_come_back_as_they_were(name):
    frame = FRAMES[name]
    pd.testing.assert_frame_equal(there_and_back(frame), frame, check_freq=False, check_exact=True)
    pd.testing.assert_index_equal(there_and_back(frame.index), frame.index, exact=True)


def test_series_and_categories():
    series = pd.Series([1.0, 2.0], index=["a", "b"], name=("x", 1))
    pd.testing.assert_series_equal(there_and_back(series), series)
    pd.testing.assert_index_equal(
        there_and_back(pd.RangeIndex(2, 9, 3, name="n")), pd.RangeIndex(2, 9, 3, name="n")
    )
    categories = pd.Categorical([1, 2, 1], categories=[2, 1])
    pd.testing.assert_extension_array_equal(there_and_back(categories), categories)


def test_facts_and_mappings():
    fact = Outer(
        Inner("a", np.ones(2)), (Inner("b", np.zeros(1)),), MappingProxyType({"c": None}), {(1, "x"): [2]}
    )
    again = there_and_back(fact)
    assert type(again) is Outer and again.others[0].name == "b" and again.by_name == {"c": None}
    assert again.anything == {(1, "x"): [2]} and again.inner.values.tolist() == [1.0, 1.0]


def test_only_declared_classes_are_written():
    @dataclass(frozen=True)
    class Stranger:
        x: int

    with pytest.raises(DataError, match=r"fit.anything holds a Stranger"):
        there_and_back(Outer(Inner("a", np.ones(1)), anything=Stranger(1)))
    with pytest.raises(DataError, match=r"fit.anything is of type object"):
        there_and_back(Outer(Inner("a", np.ones(1)), anything=object()))


@pytest.mark.parametrize(
    "content",
    [
        {"fact": ["os.system", {}]},
        {"fact": ["tests.saving.test_values.Inner", {"name": "a"}]},
        {"fact": [INNER, {"name": 3, "values": {"array": 0}}]},
        {"fact": [INNER, {"name": "a", "values": {"array": 0}, "more": 1}]},
        {"fact": [INNER, {"name": "a"}]},
        {"array": 7},
        {"array": "../relbounds"},
        {"eval": "1"},
        {"__class__": 1},
        {"list": [], "dict": []},
        {},
        {"numpy": ["O", "AAAAAAAAAAA="]},
        {"numpy": ["<f8", "AAAA"]},
        {"objects": [[5], [1]]},
        {"frame": [1, 2]},
        {"moment": ["x", "ns", None]},
    ],
    ids=str,
)
def test_crafted_values_are_refused(content):
    with pytest.raises((ValueError, KeyError, TypeError)):
        Decoder(declared(Outer), {}, read_archive(write_archive("t", 1, [np.ones(2)])).array).value(content)


def mine(a, b):
    return a @ b.T


def test_functions_are_named_and_handed_over():
    encoder = Encoder({}, {})
    assert encoder.value(mine) == {"function": "mine"} and encoder.functions == ["mine"]
    assert there_and_back(mine, functions={"mine": mine}) is mine
    lost = there_and_back(mine)
    assert lost == Lost("mine")
    with pytest.raises(DataError, match=r"functions=\{'mine': mine\}"):
        lost(1, 2)


def test_declared_types_are_found_through_containers():
    assert set(declared(Outer).values()) == {Outer, Inner}
    assert hints(Outer)["inner"] is Inner


def test_suits():
    assert suits(np.float64(1), float) and suits(None, int | None) and suits(print, Any)
    assert not suits(True, float) and not suits("a", np.ndarray) and not suits([1], tuple[int, ...])
