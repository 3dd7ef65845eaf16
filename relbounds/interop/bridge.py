"""The door that the R package knocks at: one function to call, plain things in and out, no tracebacks."""

from __future__ import annotations

import atexit
import importlib.metadata
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

import relbounds as rb
from relbounds.api import fit_design
from relbounds.errors import MissingExtraError, OptionError, RelboundsError, RelboundsWarning, nearest
from relbounds.interop import explore
from relbounds.interop.forest import forest
from relbounds.interop.plain import as_plain, make_design
from relbounds.interop.svor import svor
from relbounds.interop.tell import columns, scalar, series, whole
from relbounds.interop.words import in_r
from relbounds.linear.imputed import fit_imputed
from relbounds.options import make_options
from relbounds.parallel import one_thread

NEEDED = (
    "numpy",
    "pandas",
    "scipy",
    "patsy",
    "statsmodels",
    "cvxopt",
    "seaborn",
    "joblib",
    "tqdm",
    "threadpoolctl",
)
OPTIONAL = ("highspy", "lightgbm", "boruta")


def call(name: str, arguments: list[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """Run a function of the bridge; its value, its warnings and its error, if any, come back as plain things.

    Examples
    --------
    >>> call("versions", [])["value"]["relbounds"] == rb.__version__
    True
    >>> call("nothing", [])["error"]["message"]
    "The installed Python side ... has no 'nothing'. ..."
    """
    answer: dict[str, Any] = {"value": None, "warnings": [], "error": None}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", RelboundsWarning)
        try:
            answer["value"] = _run(name, arguments)
        except Exception as error:  # R shows the message; a traceback would tell its users nothing
            answer["error"] = {"type": _kind(error), "message": _message(error)}
    answer["warnings"] = list(dict.fromkeys(in_r(str(w.message)) for w in caught))
    return answer


def _run(name: str, arguments: list[Any] | Mapping[str, Any]) -> Any:
    functions: dict[str, Callable[..., Any]] = {
        "fit": fit,
        "fit_imputed": imputed,
        "forest": forest,
        "svor": svor,
        "published": published,
        "versions": versions,
        "signature": signature,
        "signatures": explore.signatures,
        "simulate": simulate,
        "ask": explore.ask,
        "constrain": explore.constrain,
        "cheapest": explore.cheapest,
        "compare": explore.compare,
        "explorer": explore.explorer,
        "predict_rows": explore.predict_rows,
        "probabilities": explore.probabilities,
    }
    if name not in functions:
        raise RelboundsError(
            f"The installed Python side (version {rb.__version__}) has no '{name}'. "
            "Run install_relbounds() for the one that belongs to this package."
        )
    if isinstance(arguments, Mapping):
        return functions[name](**arguments)
    return functions[name](*arguments)


def _kind(error: Exception) -> str:
    if isinstance(error, MissingExtraError):
        return "python_error"
    if isinstance(error, RelboundsError):
        return type(error).__name__.removesuffix("Error").lower() + "_error"
    return "internal_error"


def _message(error: Exception) -> str:
    if isinstance(error, RelboundsError):
        return in_r(str(error))
    return f"{type(error).__name__}: {error}"


def fit(design: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Fit the design that R described."""
    return as_plain(fit_design(make_design(design), **options))


def imputed(designs: list[Mapping[str, Any]], options: Mapping[str, Any]) -> dict[str, Any]:
    """Fit the designs of several completed data sets and pool them; say whose model it is that predicts."""
    made = [make_design(design) for design in designs]
    with one_thread():
        fitted = fit_imputed(made, make_options(**options))
    which = next(k for k, design in enumerate(made) if design is fitted.design)
    return {**as_plain(rb.RelboundsResults(fitted)), "nearest": which + 1, "imputations": len(made)}


def published() -> dict[str, Any]:
    """Return the papers' settings.

    Examples
    --------
    >>> published()["control"]
    'published'
    """
    return dict(rb.published)


def farewell() -> None:
    """Do what Python does at its end; R ends without telling it, and would leave worker processes behind.

    Examples
    --------
    >>> callable(farewell)
    True
    """
    atexit._run_exitfuncs()


def versions() -> dict[str, Any]:
    """Return the version of this package and of those it needs; "" where one is absent.

    Examples
    --------
    >>> versions()["packages"]["numpy"] != ""
    True
    """
    found = {}
    for name in NEEDED + OPTIONAL:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = ""
    return {"relbounds": rb.__version__, "packages": found, "optional": list(OPTIONAL)}


def signature(name: str = "relbounds") -> dict[str, Any]:
    """Return names and defaults of a function's arguments; "(required)" where there is no default.

    Examples
    --------
    >>> signature()["delta"]
    'resample'
    """
    parameters = inspect.signature(getattr(rb, name)).parameters
    return {
        key: "(required)" if p.default is inspect.Parameter.empty else scalar(p.default)
        for key, p in parameters.items()
    }


def simulate(kind: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Simulate data with known truth, by the name of a function of :mod:`relbounds.simulate`.

    Examples
    --------
    >>> simulate("paper_set", {"number": 3.0, "seed": 1.0})["formula"]
    'y ~ ...'
    """
    function = getattr(rb.simulate, kind)
    known = inspect.signature(function).parameters
    for name in arguments:
        if name not in known:
            raise OptionError(
                f"simulate '{kind}' has no argument '{name}'.{nearest(name, known)} "
                f"It has: {', '.join(known)}."
            )
    # R's numbers are doubles; the simulators count rows and features with whole numbers
    made = function(**{name: whole(value) for name, value in arguments.items()})
    dtype = made.data["y"].dtype
    levels = list(dtype.categories) if isinstance(dtype, pd.CategoricalDtype) else []
    return {
        "data": columns(made.data),
        "levels": [scalar(v) for v in levels],
        "formula": made.formula,
        "truth": series(made.truth),
        "truth_privileged": series(made.truth_privileged),
        "groups": series(made.groups),
    }
