"""One factor of a term: evaluated by patsy on the training rows, remembered, and able to be stored."""

from __future__ import annotations

import functools
import importlib
import pickle
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from patsy import EvalEnvironment, EvalFactor
from patsy.builtins import C

from relbounds.design.formula import functions
from relbounds.design.formula_terms import Factor
from relbounds.design.tokens import references, tokenize, unquote
from relbounds.errors import DataError, FormulaError, listed

_Box = type(C([0]))  # what the C() of patsy returns: data, levels, contrast


def is_box(value: Any) -> bool:
    """Tell whether a value was marked as categorical with `C()`.

    Examples
    --------
    >>> is_box(C(["a"])), is_box(["a"])
    (True, False)
    """
    return isinstance(value, _Box)


@dataclass(frozen=True)
class Lost:
    """Stands for an object that could not be stored in, or read from, a file."""

    name: str


@dataclass(frozen=True, eq=False)
class FactorRecipe:
    """How to compute one factor: compiled code, the state of its transforms, the functions it needs.

    Pickles whenever it can: a function that cannot be stored makes the factor unusable after loading,
    but not the fit.
    """

    factor: Factor
    formula: str
    eval_code: str
    transforms: Mapping[str, Any]
    namespace: Mapping[str, Any]
    column: str | None = None  # set when the factor is a column as it stands

    def value(self, data: Mapping[str, pd.Series], what: str = "data") -> Any:
        """Evaluate the factor on columns without missing values."""
        if self.column is not None:
            return data[self.column]
        lost = [v.name for v in (*self.transforms.values(), *self.namespace.values()) if isinstance(v, Lost)]
        if lost:
            raise DataError(
                f"{self.factor.code!r} uses {listed(lost)}, which could not be stored with the fit. "
                "Define it in a module that can be imported, or refit."
            )
        names = {v: data[v] for v in self.factor.variables}
        scope = {**self.namespace, **self.transforms, **names}
        try:
            with np.errstate(all="ignore"):
                return eval(compile(self.eval_code, "<formula>", "eval"), {}, scope)
        except Exception as error:
            raise self.trouble(error, what) from error

    def trouble(self, error: Exception, what: str = "data") -> FormulaError:
        """Word an exception raised inside the factor."""
        cause = error.__cause__ or error
        detail = str(cause).splitlines()[0] if str(cause) else type(cause).__name__
        if isinstance(cause, NotImplementedError) and what != "data":
            # patsy's splines are not made to extrapolate, and its words do not say what to do
            detail = (
                "some values lie outside the range that the spline was made for, where it says nothing. Leave these "
                "rows out or bring the values to the ends of the range, or give lower_bound= and upper_bound= when "
                "fitting"
            )
        where = "" if what == "data" else f" on the {what}"
        return FormulaError(
            f"{self.factor.code!r} cannot be computed{where}: {detail}", self.formula, self.factor.position
        )

    def __getstate__(self) -> dict[str, Any]:
        """Store what can be stored; the rest is remembered by name only."""
        state = dict(self.__dict__)
        state["transforms"] = {
            k: _pack(v if isinstance(v, Lost) else (type(v), vars(v))) for k, v in self.transforms.items()
        }
        state["namespace"] = {k: _pack(v) for k, v in self.namespace.items()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read back what this process can read."""
        state = dict(state)
        state["namespace"] = {k: _unpack(k, v) for k, v in state["namespace"].items()}
        state["transforms"] = {k: _revive(_unpack(k, v)) for k, v in state["transforms"].items()}
        self.__dict__.update(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> FactorRecipe:
        """A recipe never changes, so a copy is itself."""
        return self


def _pack(value: Any) -> bytes | None:
    if isinstance(value, types.ModuleType):
        value = functools.partial(importlib.import_module, value.__name__)
    try:
        return pickle.dumps(value)
    except Exception:  # any object may refuse in its own way
        return None


def _unpack(name: str, packed: bytes | None) -> Any:
    if packed is None:
        return Lost(name)
    try:
        value = pickle.loads(packed)
        if isinstance(value, functools.partial) and value.func is importlib.import_module:
            return value()
        return value
    except Exception:  # the module or function may not exist in this process
        return Lost(name)


def _revive(packed: Any) -> Any:
    # patsy's transforms refuse to be pickled, but their state is plain: class and attributes rebuild them.
    if isinstance(packed, Lost):
        return packed
    kind, attributes = packed
    revived = kind.__new__(kind)
    revived.__dict__.update(attributes)
    return revived


def quoted_name(factor: Factor) -> str | None:
    """Return the column that a factor of the form Q("name") stands for, else None."""
    tokens = tokenize(factor.code)
    if len(tokens) == 4 and tokens[0].text == "Q" and tokens[2].kind == "string":
        return unquote(tokens[2].text)
    return None


def plain_name(factor: Factor) -> str:
    """The column a factor is about, as shown to readers: `C(site)` and `Q("site")` are both site.

    Examples
    --------
    >>> plain_name(Factor("C(site)", ("site",), ("C",))), plain_name(Factor("log(x)", ("x",), ("log",)))
    ('site', 'log(x)')
    """
    if len(factor.variables) == 1 and set(factor.functions) <= {"C", "Q"}:
        tokens = tokenize(factor.code)
        if quoted_name(factor) is not None or (tokens[0].text == "C" and tokens[-1].text == ")"):
            return factor.variables[0]
    return factor.code


def memorize(
    factor: Factor, data: Mapping[str, pd.Series], env: EvalEnvironment, formula: str
) -> FactorRecipe:
    """Fit the stateful transforms of a factor to the training rows."""
    column = factor.code if factor.variables == (factor.code,) else quoted_name(factor)
    if column is not None:
        return FactorRecipe(factor, formula, factor.code, {}, {}, column)
    namespace = _namespace(factor, data, env, formula)
    maker = EvalFactor(factor.code)
    state: dict[str, Any] = {}
    names = {v: data[v] for v in factor.variables}
    recipe = FactorRecipe(factor, formula, factor.code, {}, namespace)
    try:
        with np.errstate(all="ignore"):
            passes = maker.memorize_passes_needed(state, EvalEnvironment([namespace]))
            for i in range(passes):
                maker.memorize_chunk(state, i, names)
                maker.memorize_finish(state, i)
    except Exception as error:  # whatever a user's own transform may raise
        raise recipe.trouble(error) from error
    used = {name for name, _, _ in references(tokenize(state["eval_code"]))}
    kept = {k: v for k, v in namespace.items() if k in used}
    return FactorRecipe(factor, formula, state["eval_code"], dict(state["transforms"]), kept)


def _namespace(
    factor: Factor, data: Mapping[str, pd.Series], env: EvalEnvironment, formula: str
) -> dict[str, Any]:
    """What the factor's code may see besides the data: the caller's names, then numpy's and patsy's."""
    table = functions()
    caller = env.namespace
    n = len(next(iter(data.values())))
    found: dict[str, Any] = {}
    for name, _, call in references(tokenize(factor.code)):
        if name in factor.variables:
            continue
        own = caller.get(name)
        # A caller's variable C = 1.0 must not hide the function C().
        if own is not None and not (
            call and (name in ("C", "Q", "I", "Surv", "between") or not callable(own))
        ):
            if not call and name not in table and _looks_like_data(own, n):
                raise FormulaError(
                    f"{name!r} is not a column of the data. A variable of that name exists where the "
                    "formula was "
                    "written, but new rows could not have it: add it to the data.",
                    formula,
                    factor.position,
                )
            found[name] = own
        elif name in table:
            found[name] = table[name]
    return found


def _looks_like_data(value: Any, n: int) -> bool:
    if isinstance(value, pd.Series | pd.DataFrame):
        return True
    return isinstance(value, np.ndarray | list) and n > 1 and np.shape(value)[:1] == (n,)
