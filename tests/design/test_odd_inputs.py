"""Odd calls, drawn at random: whatever is wrong, a reader meets one clear error."""

import random

import numpy as np
import pandas as pd
import pytest

from relbounds.design import design_from_arrays, make_design
from relbounds.errors import FormulaError, RelboundsError

pytestmark = pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")
N = 30


def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "y": rng.integers(1, 4, N),
            "x": rng.normal(size=N),
            "s": rng.choice(list("abc"), N),
            "b": rng.random(N) < 0.5,
            "t": rng.exponential(size=N) + 0.1,
            "o": pd.Categorical(rng.choice(list("lmh"), N), list("lmh"), ordered=True),
            "small": rng.integers(0, 3, N).astype("int8"),
            "gaps": pd.array(rng.choice([True, False, None], N), dtype="boolean"),
            "date": pd.date_range("2020", periods=N),
            "span": pd.timedelta_range("1D", periods=N),
            "complex": np.ones(N) * 1j,
            "lists": [[1]] * N,
            "mixed": [1, "a"] * (N // 2),
            "empty": np.nan,
            "endless": np.inf,
            "cut": pd.cut(rng.normal(size=N), 4),
            "period": pd.period_range("2020", periods=N, freq="D"),
            "text": pd.array(list("pq") * (N // 2), dtype="string"),
            "bytes": [b"a", b"b"] * (N // 2),
            "comma": ["1,5", "2"] * (N // 2),
            "none": [None] * N,
        }
    )


FORMULAS = [
    *(
        "y ~ {a}",
        "{a} ~ x",
        "y ~ {a}:{b}",
        "y ~ {a}*{b}",
        "y ~ x | adjust({a})",
        "y ~ x | priv({a}) | adjust({b})",
    ),
    *(
        "Surv({a}, {b}) ~ x",
        "between({a}, {b}) ~ x",
        "C({a}) ~ {b}",
        "y ~ C({a})",
        "y ~ log({a})",
        "I({a}+{b}) ~ x",
    ),
    *(
        "y ~ bs({a}, df=4)",
        "y ~ center({a}) + {b}:x",
        "y ~ . - {a}",
        "between({a}, {b}, levels=['l', 'm', 'h']) ~ x",
    ),
    *(
        "Surv({a}, {b}, {a}) ~ x",
        "Surv({a}) ~ {b}",
        "y ~ {a} + {a}",
        "y ~ Q('{a}') + te(cr({a}, 3), cr({b}, 3))",
    ),
]
ODD = [
    *(
        None,
        0,
        1,
        -1,
        1.5,
        np.nan,
        np.inf,
        "",
        "x",
        "y",
        "zz",
        [],
        {},
        (),
        np.ones(N),
        np.ones(N - 1),
        np.zeros(N),
    ),
    *(
        -np.ones(N),
        np.ones((N, 1)),
        np.array(3),
        pd.Series(np.ones(N)),
        pd.Series(np.ones(N), index=range(1, N + 1)),
    ),
    *(["a"] * N, object(), True, pd.NA, b"x", len, np.arange(N) // 3, pd.Categorical(list("ab") * (N // 2))),
    *(pd.date_range("2020", periods=N), "date", "complex", "s", "empty", "none", "cut"),
]


def use(formula, data, **options):
    """Make a design and apply it to its own data; only a RelboundsError may come of it."""
    try:
        design = make_design(formula, data, **options)
        design.transform(data)
        design.transform_adjust(data)
        design.transform_response(data)
        design.subset([0, 1])
        if design.levels is not None:
            design.transform_interval(data)
    except RelboundsError as error:
        assert str(error) and (isinstance(error, FormulaError) or str(error)[-1] in ".?)")


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 30))])
def test_odd_columns(seed):
    draw, data = random.Random(seed), frame()
    for _ in range(150):
        names = {name: draw.choice(list(data.columns)) for name in "ab"}
        use(draw.choice(FORMULAS).format(**names), data, safe=draw.random() < 0.3)


@pytest.mark.parametrize(
    "option", ["weights", "frequency", "cluster", "family", "missing", "standardize", "safe"]
)
def test_odd_options(option):
    data = frame()
    for value in ODD:
        use("y ~ x + s", data, **{option: value})


def test_odd_formulas_data_and_arrays():
    data = frame()
    for one in ODD:
        use(one, data)
        use("y ~ x", one)
        for other in ODD[::3]:
            try:
                design_from_arrays(one, other)
            except RelboundsError as error:
                assert str(error)
