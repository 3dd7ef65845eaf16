"""Odd inputs for every public function: calls that must end well, or in an error of the package's own."""

from __future__ import annotations

import inspect
import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd

import relbounds as rb


class Mute:
    def __repr__(self):
        raise RuntimeError("no words")


VALUES = {
    "None": None,
    "empty text": "",
    "a word": "odd",
    "zero byte": "a\0b",
    "long text": "x" * 5000,
    "bytes": b"x",
    "-1": -1,
    "0": 0,
    "half": 0.5,
    "huge": 1e308,
    "huge whole": 10**400,
    "inf": math.inf,
    "-inf": -math.inf,
    "nan": math.nan,
    "complex": 1j,
    "true": True,
    "numpy true": np.True_,
    "numpy float": np.float32(0.25),
    "numpy whole": np.int8(3),
    "no dimension": np.array(2.0),
    "fraction": Fraction(1, 3),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "date": pd.Timestamp("2020-01-01"),
    "empty list": [],
    "list": [1, "a", None],
    "nested": [[1.0, 2.0], [3.0, 4.0]],
    "dict": {"a": 1},
    "set": {1, 2},
    "matrix": np.eye(2),
    "no rows": np.zeros((0, 3)),
    "frame": pd.DataFrame({"a": [1, 2]}),
    "series": pd.Series([1.0, 2.0]),
    "function": print,
    "object": object(),
    "mute": Mute(),
    "type": int,
}

FORMULAS = (
    *(
        "",
        " ",
        "~",
        "y",
        "y ~",
        "~ a",
        "y ~ ~ a",
        "y ~ a +",
        "y ~ + a",
        "y ~ a b",
        "y ~ (a",
        "y ~ a)",
        "y ~ 0",
        "y ~ 1",
    ),
    *(
        "y ~ -1",
        "y ~ a - a",
        "y ~ y",
        "a ~ a",
        "y ~ .",
        "y ~ . - .",
        "y ~ .:.",
        "y ~ a:a",
        "y ~ a*b*c",
        "y ~ a**2",
    ),
    *(
        "y ~ (a + b)**99",
        "y ~ a/b",
        "y ~ a/0",
        "y ~ 1/0",
        "y ~ log(-a)",
        "y ~ log(a*0)",
        "y ~ nothing",
        "y ~ a.b",
    ),
    *(
        "y ~ a.__class__",
        "y ~ a[0]",
        "y ~ lambda: a",
        "y ~ [a]",
        "y ~ {a}",
        "y ~ 'a'",
        'y ~ "a',
        "y ~ a\0b",
        "y ~ ä",
    ),
    *(
        "y ~ a | b",
        "y ~ a |",
        "y ~ a | priv()",
        "y ~ a | priv(b",
        "y ~ a | priv(b) | priv(c)",
        "y ~ a | priv(a)",
    ),
    *(
        "y ~ a | adjust()",
        "y ~ a | adjust(a)",
        "y ~ a | other(b)",
        "y ~ priv(a)",
        "y ~ a | adjust(b) | adjust(c)",
    ),
    *(
        "C(y) ~ a",
        "C(y, levels=[1]) ~ a",
        "C(y, levels=3) ~ a",
        "log(y) ~ a",
        "y + a ~ b",
        "between(y, y) ~ a",
    ),
    *("between(y) ~ a", "Surv(a, b) ~ c", "Surv(a) ~ c", "Surv(a, y, b) ~ c", "y ~ bs(a)", "y ~ bs(a, df=1)"),
    *(
        "y ~ bs(a, df=999)",
        "y ~ bs(a, df='x')",
        "y ~ cr(a, df=2)",
        "y ~ center()",
        "y ~ Q('zz')",
        "y ~ Q(3)",
        "y ~ np.nan",
    ),
    *(
        "y ~ a; import os",
        "y ~ a\n + b",
        "y ~ a # b",
        "y ~ exec('1')",
        "y ~ I(a > 0)",
        "y ~ a == 1",
        "y ~ a if b else c",
    ),
    *(
        "y ~ C(a)",
        "y ~ C(C(a))",
        "y ~ a @ b",
        "y ~ *a",
        "y ~ a,b",
        "y ~ f'{a}'",
        "y ~ None",
        "y ~ 1e999",
        "y ~ __import__('os')",
    ),
)


def people(n: int = 24) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    data = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return data.assign(y=1 + np.searchsorted([-0.5, 0.5], data["a"] + 0.3 * data["b"]))


def frames() -> dict[str, object]:
    """Tables that something is wrong with, or odd."""
    data = people()
    n = len(data)
    out: dict[str, object] = {
        "no columns": pd.DataFrame(),
        "no rows": data.head(0),
        "one row": data.head(1),
        "two rows": data.head(2),
        "three rows": data.head(3),
        "only y": data[["y"]],
        "no y": data.drop(columns="y"),
        "y twice": pd.concat([data, data[["y"]]], axis=1),
        "a twice": pd.concat([data, data[["a"]]], axis=1),
        "all missing": data.assign(a=np.nan),
        "y missing": data.assign(y=np.nan),
        "one y": data.assign(y=1),
        "y a sample each": data.assign(y=range(n)),
        "infinite": data.assign(a=np.inf),
        "one infinite": data.assign(a=[np.inf, *data["a"][1:]]),
        "complex": data.assign(a=data["a"] + 1j),
        "dates": data.assign(a=pd.date_range("2020-01-01", periods=n)),
        "spans": data.assign(a=pd.to_timedelta(range(n), unit="h")),
        "y dates": data.assign(y=pd.date_range("2020-01-01", periods=n)),
        "y complex": data.assign(y=data["y"] + 1j),
        "huge": data.assign(a=1e308 * data["a"]),
        "tiny": data.assign(a=1e-308 * data["a"]),
        "constant": data.assign(a=3.0),
        "nearly constant": data.assign(a=1 + 1e-15 * data["a"]),
        "lists inside": data.assign(a=[[1]] * n),
        "objects inside": data.assign(a=[object()] * n),
        "mixed": data.assign(a=[1, "b", None, 2.5] * (n // 4)),
        "numbers as text": data.assign(a=data["a"].astype(str)),
        "decimal commas": data.assign(a=data["a"].map(lambda v: f"{v:.3f}".replace(".", ","))),
        "text all different": data.assign(a=[f"id{i}" for i in range(n)]),
        "long text": data.assign(a=["x" * 10_000, "y"] * (n // 2)),
        "truth": data.assign(a=data["a"] > 0),
        "nullable": data.assign(a=pd.array([1, None, 3] * (n // 3), dtype="Int64")),
        "nullable truth": data.assign(a=pd.array([True, None, False] * (n // 3), dtype="boolean")),
        "empty levels": data.assign(a=pd.Categorical(["u", "v"] * (n // 2), categories=list("uvwxyz"))),
        "missing levels": data.assign(a=pd.Categorical([None] * n, categories=["u"])),
        "intervals": data.assign(a=pd.cut(data["a"], 3)),
        "periods": data.assign(a=pd.period_range("2020-01", periods=n, freq="M")),
        "sparse": data.assign(a=pd.arrays.SparseArray(data["a"])),
        "numbered columns": data.set_axis([0, 1, 2, "y"], axis=1),
        "columns of tuples": data.set_axis([("a", 1), "b", "c", "y"], axis=1),
        "a column called None": data.set_axis([None, "b", "c", "y"], axis=1),
        "a column called nan": data.set_axis([np.nan, "b", "c", "y"], axis=1),
        "odd names": data.set_axis(["a b", "1", "~", "y"], axis=1),
        "names with NUL": data.set_axis(["a\0", "b", "c", "y"], axis=1),
        "two levels of columns": pd.concat({"u": data}, axis=1),
        "two levels of rows": data.set_index(["a", "b"], drop=False),
        "rows all called alike": data.set_axis([0] * n, axis=0),
        "array": data.to_numpy(),
        "records": data.to_dict("records"),
        "mapping": data.to_dict("list"),
        "uneven mapping": {"y": [1, 2], "a": [1.0]},
        "text": "y,a\n1,2",
        "number": 3,
        "none": None,
    }
    return out


def quiet(call):
    def quietly():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call()

    return quietly


def calls_of_function(function, formula, data, fixed):
    """One call for every option and every odd value."""
    out = {}
    for name in inspect.signature(function).parameters:
        if name in ("formula", "data"):
            continue
        for label, value in VALUES.items():
            if name == "progress" and callable(value):
                continue  # what a function of the user's does is the user's affair
            if name == "n_jobs" and isinstance(value, int | float | np.number) and not abs(value) < 3:
                continue  # so many processes would be started, if they were needed
            given = {**fixed, name: value}
            out[f"{function.__name__}({name}={label})"] = lambda given=given: function(formula, data, **given)
    return out


def calls() -> dict[str, object]:
    """Every odd call, by what it is."""
    data = people()
    quick = {"C": 1.0, "order": "explicit", "epsilon": 0.1, "bounds": False}
    out = calls_of_function(rb.relbounds, "y ~ a + b", data, quick)
    out |= {f"formula {f[:40]!r}": lambda f=f: rb.relbounds(f, data, **quick) for f in FORMULAS}
    out |= {
        f"safe formula {f[:40]!r}": lambda f=f: rb.relbounds(f, data, safe=True, **quick) for f in FORMULAS
    }
    for label, frame in frames().items():
        out[f"data: {label}"] = lambda frame=frame: rb.relbounds("y ~ .", frame, **quick)
        out[f"data of a regression: {label}"] = lambda frame=frame: rb.relbounds(
            "y ~ .", frame, family="regression", **quick
        )
    for label, value in VALUES.items():
        out[f"formula of {label}"] = lambda v=value: rb.relbounds(v, data, **quick)
        out[f"load({label})"] = lambda v=value: rb.load(v)
        out[f"from_bytes({label})"] = lambda v=value: rb.RelboundsResults.from_bytes(v)
    out |= calls_of_function(rb.svor, "y ~ a + b", data, {"C": 1.0, "width": 1.0, "kernel": "linear"})
    small = {"probes": 2, "repeats": 1, "folds": 2, "trees": 3}
    out |= {
        name: call
        for name, call in calls_of_function(rb.forest_relevance, "y ~ a + b", data, small).items()
        if "huge" not in name and "n_jobs" not in name  # so many trees would be grown, or processes started
    }
    for name in ("mze", "mae", "mmae"):
        for label, value in VALUES.items():
            out[f"metrics.{name}({label})"] = lambda name=name, v=value: getattr(rb.metrics, name)(v, v)
            out[f"metrics.{name}(y, {label})"] = lambda name=name, v=value: getattr(rb.metrics, name)(
                [1, 2], v
            )
    for name in ("paper_set", "paper_binary_set", "paper_privileged_set", "binary", "regression", "ordinal"):
        make = getattr(rb.simulate, name)
        for label, value in VALUES.items():
            if "huge" not in label:
                out[f"simulate.{name}({label})"] = lambda make=make, v=value: make(v)
                out[f"simulate.{name}(seed={label})"] = lambda make=make, v=value: make(1, seed=v)
    out |= calls_of_fit(
        rb.relbounds("y ~ a + b", data, **{**quick, "bounds": True, "delta": 0.1, **PUBLISHED})
    )
    return out


PUBLISHED = {"control": "published", "probes": 3}
METHODS = (
    *(
        "selected",
        "selected_formula",
        "predict",
        "decision_function",
        "score",
        "constrain",
        "substitutes",
        "together",
    ),
    *(
        "level_contrasts",
        "cheapest",
        "sweep_delta",
        "risk_bound",
        "to_latex",
        "to_markdown",
        "to_html",
        "to_csv",
        "save",
    ),
)


def calls_of_fit(fit) -> dict[str, object]:
    """Every method of a fit with every odd value as its first argument."""
    out = {}
    for name in METHODS:
        method = getattr(fit, name, None)
        if method is None:
            continue
        for label, value in VALUES.items():
            if name.startswith(("to_", "save", "write")) and label in ("a word", "long text"):
                continue  # a good name of a file
            out[f"fit.{name}({label})"] = lambda method=method, value=value: method(value)
    return out
