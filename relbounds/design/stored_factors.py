"""Factors of a formula as data: the state of their transforms, the names they use, and code that is checked when read.

A factor remembers the code that computes it. What comes from a file is believed only as far as it does no more than
compute: names of columns, of known functions and of what the reader handed over, numbers, text, operators and calls.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import numpy as np
from patsy import mgcv_cubic_splines, splines, state

from relbounds.design.factors import FactorRecipe, Lost
from relbounds.design.formula import functions
from relbounds.design.formula_terms import Factor

# patsy's transforms that remember something of the training rows, by the names that files use.
TRANSFORMS = {
    "center": state.Center,
    "standardize": state.Standardize,
    "bs": splines.BS,
    "cr": mgcv_cubic_splines.CR,
    "cc": mgcv_cubic_splines.CC,
    "te": mgcv_cubic_splines.TE,
}
COMPUTES = (
    *(ast.Expression, ast.Call, ast.keyword, ast.Name, ast.Load, ast.Constant, ast.Attribute),
    *(ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop, ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop),
    *(ast.IfExp, ast.List, ast.Tuple),
)


def factor_as_data(recipe: FactorRecipe) -> dict[str, Any]:
    """Return a factor as plain values; functions of the user's stay in it, for whoever stores them to name.

    Examples
    --------
    >>> factor_as_data(FactorRecipe(Factor("x", ("x",), ()), "y ~ x", "x", {}, {}, "x"))["column"]
    'x'
    """
    table = functions()
    return {
        "factor": recipe.factor,
        "formula": recipe.formula,
        "code": recipe.eval_code,
        "column": recipe.column,
        "transforms": {name: _transform_as_data(one) for name, one in recipe.transforms.items()},
        "known": tuple(name for name, one in recipe.namespace.items() if table.get(name) is one),
        "own": {name: one for name, one in recipe.namespace.items() if table.get(name) is not one},
    }


def factor_from_data(data: Mapping[str, Any]) -> FactorRecipe:
    """Make a factor again; one whose code does more than compute can be shown, not used."""
    table = functions()
    factor, code, column = data["factor"], data["code"], data["column"]
    if not isinstance(factor, Factor) or not isinstance(code, str):
        raise ValueError("a factor of the formula is not what it claims to be")
    transforms = {str(name): _transform_from_data(name, one) for name, one in data["transforms"].items()}
    namespace = {str(name): table[name] for name in data["known"]} | dict(data["own"])
    if column is None and not only_computes(code, {*factor.variables, *namespace}, set(transforms)):
        namespace = {"code": Lost(factor.code)}
    return FactorRecipe(factor, str(data["formula"]), code, transforms, namespace, column)


def only_computes(code: str, names: set[str], transforms: set[str]) -> bool:
    """Say whether code does nothing but compute with some names and the `transform` of some objects.

    Examples
    --------
    >>> only_computes("np.log(x) + 1", {"x", "np"}, set())
    True
    >>> only_computes("np.load('x')", {"x", "np"}, set()), only_computes("x.__class__", {"x"}, set())
    (False, False)
    """
    try:
        tree = ast.parse(code, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    of_numpy = {name for name, one in vars(np).items() if isinstance(one, np.ufunc)} | {"where", "clip", "pi"}
    for node in ast.walk(tree):
        if not isinstance(node, COMPUTES):
            return False
        if isinstance(node, ast.Name) and node.id not in names | transforms:
            return False
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            of_np = owner in ("np", "numpy") and node.attr in of_numpy
            if not of_np and not (owner in transforms and node.attr == "transform"):
                return False
        if isinstance(node, ast.Call) and _writes(node):
            return False
    return True


def _writes(call: ast.Call) -> bool:
    """Say whether an elementwise function has more arguments than it reads: it would write to the rest."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    known = vars(np).get(name)
    return isinstance(known, np.ufunc) and (len(call.args) > known.nin or bool(call.keywords))


def _transform_as_data(transform: Any) -> Any:
    for name, kind in TRANSFORMS.items():
        if type(transform) is kind:
            return (name, dict(vars(transform)))
    return transform


def _transform_from_data(name: str, data: Any) -> Any:
    if not isinstance(data, tuple):
        return Lost(str(name)) if callable(data) else data
    kind, remembered = data
    revived = TRANSFORMS[kind].__new__(TRANSFORMS[kind])
    revived.__dict__.update(remembered)
    return revived


FORMATS: dict[type, Any] = {FactorRecipe: (factor_as_data, factor_from_data)}
