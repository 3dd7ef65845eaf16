from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from relbounds import checks
from relbounds.errors import OptionError

ODD = [
    None,
    "x",
    b"1",
    [],
    {},
    {"a": 1},
    object(),
    1j,
    np.nan,
    pd.NaT,
    pd.NA,
    pd.Timestamp("2020-01-01"),
    np.datetime64("2020-01-01"),
    np.zeros((2, 2)),
    [[1.0, 2.0]],
    -np.inf,
    10**400,
    True,
    print,
    "\x00",
]


class Silent:
    def __repr__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize("value", [*ODD, Silent()], ids=lambda v: type(v).__name__)
def test_odd_values_are_refused_by_name(value):
    for check in (
        lambda: checks.number("it", value, least=0, most=5),
        lambda: checks.number("it", value, above=0, below=1),
        lambda: checks.integer("it", value, most=9),
        lambda: checks.choice("it", value, ("a", "b")),
        lambda: checks.grid("it", None if value is None else value) and None,
    ):
        try:
            found = check()
        except OptionError as error:
            assert "it" in str(error) and len(str(error)) < 400
        else:
            assert found is None


@pytest.mark.parametrize("value", [3, 3.0, np.int8(3), np.float32(3), np.array(3), np.uint64(3), Fraction(3)])
def test_numpys_and_rs_numbers_are_numbers(value):
    assert checks.integer("it", value) == 3 and type(checks.integer("it", value)) is int
    assert checks.number("it", value) == 3.0 and type(checks.number("it", value)) is float
    assert checks.grid("it", value) == 3.0
    assert checks.jobs("it", value) == 3


@pytest.mark.parametrize("values", [[1, 2.0], (1, 2), np.array([1, 2]), pd.Series([1, 2]), range(1, 3)])
def test_grids_come_in_many_forms(values):
    assert checks.grid("C", values) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: checks.number("a", -1, least=0), "a=-1 must be a finite number, 0 or more."),
        (lambda: checks.number("a", 0, above=0), "a=0 must be a finite number, positive."),
        (lambda: checks.number("a", 2, least=0, most=1), "0 or more and at most 1"),
        (lambda: checks.number("a", np.inf, least=0), "a=inf"),
        (lambda: checks.integer("a", 2.5), "a=2.5 must be a whole number, 0 or more."),
        (lambda: checks.integer("a", 12, most=10), "from 0 to 10"),
        (lambda: checks.integer("a", True), "a=True"),
        (lambda: checks.jobs("n_jobs", 0), "other than 0"),
        (lambda: checks.flag("a", 1), "a=1 must be True or False"),
        (lambda: checks.grid("a", [1, 0]), "a=0 must be"),
        (lambda: checks.grid("a", [1, "b"]), "a='b'"),
        (lambda: checks.grid("a", {"b": 1}), "not a dict"),
        (lambda: checks.grid("a", 10**400), "too large"),
        (lambda: checks.choice("a", np.str_("c"), ("one",)), "use 'one'"),
    ],
)
def test_messages_say_what_is_wanted(call, words):
    with pytest.raises(OptionError) as caught:
        call()
    assert words in str(caught.value)


def test_infinity_is_a_number_where_it_is_allowed():
    assert checks.number("residual", np.inf, least=1, finite=False) == np.inf
    assert checks.grid("epsilon", 0, positive=False) == 0.0


def test_numpy_words_and_truths():
    assert checks.choice("a", np.str_("b"), ("a", "b")) == "b"
    assert checks.flag("a", np.bool_(True)) is True
