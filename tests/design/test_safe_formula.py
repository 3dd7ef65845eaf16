"""Safe formulas: what is allowed, what is refused, and where the caret stands."""

import contextlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relbounds.design import make_design
from relbounds.design.formula import functions
from relbounds.design.safe_formula import SAFE, SAFE_OF_NUMPY
from relbounds.errors import FormulaError, RelboundsError

ALLOWED = [
    "grade ~ .",
    "grade ~ . - z1 | priv(z1) | adjust(x3)",
    "grade ~ x1 + log(x2) + np.log1p(x2) + C(site) + Q('odd name') + I(x1**2) + x1:x3",
    "grade ~ bs(x3, df=4) + cr(x3, df=3) + center(x1) + standardize(x2) + scale(x3)",
    "grade ~ (x1 + x2 + x3)**2 + site/x1 + smoker * stage",
    "grade ~ I((x1 > 0) & (x2 < 1)) + x1",
    "C(grade, levels=['low', 'mid', 'high']) ~ where(x1 > 0, x1, 0) + clip(x2, 0.2, 1) + sqrt(x2)",
    "grade ~ C(site, levels=['C', 'B', 'A']) + maximum(x1, x2) + np.minimum(x1, 0) + round(x1, 1)",
    "between(rater, maximum(rater, 2)) ~ x1",
    "Surv(x2, smoker, bins=4) ~ x1 + te(cr(x1, df=3), cr(x3, df=3))",
    "grade ~ I(x1 ** -1) + I(2 * x2 ** 0.5)",
]


@pytest.mark.parametrize("formula", ALLOWED)
def test_allowed_and_the_same_as_unsafe(data, formula):
    safe, plain = make_design(formula, data, safe=True), make_design(formula, data)
    np.testing.assert_array_equal(safe.X, plain.X)
    np.testing.assert_array_equal(safe.transform(data), safe.X)


def shout(x):
    raise AssertionError("a safe formula ran the caller's code")


REFUSED = [
    ("grade ~ __import__('os').system('true')", "__import__"),
    ("grade ~ x1 + shout(x2)", "shout"),
    ("grade ~ x1 + np.load('x')", "load"),
    ("grade ~ x1 + np.random.normal(x2)", "random"),
    ("grade ~ x1.to_csv('x')", "."),
    ("grade ~ I(x1.values)", ".values"),
    ("grade ~ x1 + log(x2, x1)", "log"),
    ("grade ~ x1 + log(x2, out=x1)", "log"),
    ("grade ~ x1 + I(log(out=x1))", "out"),
    ("grade ~ x1 + eval('1')", "eval"),
    ("grade ~ x1 + I([1, 2][0] + x2)", "[0]"),
    ("grade ~ x1 + I('a'.join(x2))", ".join"),
    ("grade ~ x1 + I((lambda: x2)())", "lambda"),
    ("grade ~ x1 + I({'a': x2})", "{"),
    ("grade ~ x1 + I(9**9**9 + x2)", "**9**9"),
    ("grade ~ x1 + I((9)**9 + x2)", "**9"),
    ("grade ~ (x1 + x2)**99", "**99"),
    ("grade ~ x1 + I(x2**(9))", "**(9)"),
    ("grade ~ x1 + I('a' * 9 + x2)", "* 9"),
    ("grade ~ x1 + I([0] * 9 + x2)", "* 9"),
    ("grade ~ x1 + C(site, Treatment)", "Treatment"),
    ("grade ~ x1 + I(secret + x2)", "secret"),
    ("grade ~ x1 + log(x2)(x1)", "(x1)"),
    ("grade ~ I(x2 if x1 else x3)", "if"),
    ("shout(grade) ~ x1", "shout"),
    ("grade ~ x1 | priv(shout(z1))", "shout"),
    ("grade ~ x1 | adjust(np.load(z1))", "load"),
    ("grade ~ np + x1", "np"),
    ("grade ~ x1 + x9", "x9"),
    ("grade ~ x1 + bs(x3, df=99999999)", "bs"),
    ("grade ~ x1 + bs(x3, 99999999)", "bs"),
]


@pytest.mark.parametrize("formula, at", REFUSED)
def test_refused_with_a_caret(data, formula, at):
    secret = 3.0  # noqa: F841
    with pytest.raises(FormulaError) as caught:
        make_design(formula, data, safe=True)
    *_, shown, caret = str(caught.value).splitlines()
    assert shown[caret.index("^") :].startswith(at)


def test_the_functions_of_the_caller_do_not_stand_in_for_known_ones(data):
    def log(x):
        return shout(x)

    design = make_design("grade ~ log(x2)", data, safe=True, standardize=False)
    np.testing.assert_array_equal(design.X[:, 0], np.log(data["x2"]))
    assert log is not None


def test_what_is_allowed_exists_and_changes_nothing(data):
    table = functions()
    assert set(SAFE) - {"priv", "adjust"} <= set(table)
    before = data.copy()
    x = data["x2"].clip(0.01, 0.99)
    for name in SAFE_OF_NUMPY:
        assert getattr(np, name) is table[name] or name in ("round", "abs", "where", "clip")
        arguments = {"where": [x > 0.5, x, x], "clip": [x, 0.1, 0.5], "round": [x, 1]}.get(name)
        if arguments is None:
            arguments = [x] * (2 if SAFE[name] == 2 else 1)
        assert len(table[name](*arguments)) == len(x)
    pd.testing.assert_frame_equal(before, data)


PIECES = [
    *("x1", "x2", "site", "grade", "np", "log", "exec", "open", "secret", "I", "C", "Q", "'x1'", "3", "1e9"),
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ",",
        "+",
        "-",
        "*",
        "**",
        ":",
        "~",
        "|",
        "=",
        "lambda",
        "for",
        "in",
        "if",
    ),
]


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8), st.booleans())
@settings(max_examples=400)
def test_anything_is_read_or_refused(pieces, glued):
    data = pd.DataFrame(
        {"grade": [1, 2, 3, 1, 2], "x1": [1.0, 2, 4, 3, 1], "x2": [0.5, 1, 2, 3, 5], "site": list("ABABC")}
    )
    formula = "grade ~ x1 + " + ("" if glued else " ").join(pieces)
    with contextlib.suppress(RelboundsError):
        make_design(formula, data, safe=True)
    assert data["x1"].tolist() == [1.0, 2, 4, 3, 1]
