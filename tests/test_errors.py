import pickle

import pytest

from relbounds import errors


def test_every_error_is_a_relbounds_error_and_a_value_error():
    kinds = [errors.FormulaError, errors.DataError, errors.OptionError, errors.InfeasibleError]
    kinds += [errors.SolverError, errors.MissingExtraError]
    for kind in kinds:
        assert issubclass(kind, errors.RelboundsError)
        assert issubclass(kind, ValueError)
    assert issubclass(errors.MissingExtraError, ImportError)
    assert issubclass(errors.RelboundsWarning, UserWarning)


def test_caret_stands_under_the_spot():
    lines = str(errors.FormulaError("Wrong.", "y ~ abc", 4)).splitlines()
    assert lines[0] == "Wrong."
    assert lines[1][lines[2].index("^")] == "a"


def test_formula_without_position_has_no_caret():
    assert "^" not in str(errors.FormulaError("Wrong.", "y ~ abc"))


def test_formula_error_survives_pickling():
    error = errors.FormulaError("Wrong.", "y ~ abc", 4)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize(
    "name, candidates, expected",
    [
        ("bmj", ["age", "bmi"], " Did you mean 'bmi'?"),
        ("zzz", ["age"], ""),
        ("x", [], ""),
        ("1", [1, 10], " Did you mean '1'?"),
    ],
)
def test_nearest(name, candidates, expected):
    assert errors.nearest(name, candidates) == expected


def test_listed_cuts_long_lists_short():
    assert errors.listed(range(10), most=3) == "0, 1, 2 and 7 more"
    assert errors.listed(["a"]) == "'a'"
