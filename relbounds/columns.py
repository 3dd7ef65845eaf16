"""Terms into columns: factors evaluated once on the training data, remembered, applied to new data."""

from __future__ import annotations

import functools
import importlib
import itertools
import pickle
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from patsy import EvalEnvironment, EvalFactor, PatsyError
from patsy.builtins import C

from relbounds.errors import DataError, FormulaError
from relbounds.formula import Factor, Term, functions
from relbounds.frames import plain
from relbounds.tokens import references, tokenize, unquote

FloatArray = NDArray[np.float64]
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

    Pickles whenever it can: a function that cannot be stored makes the factor unusable after loading, not the fit.
    """

    factor: Factor
    formula: str
    eval_code: str
    transforms: Mapping[str, Any]
    namespace: Mapping[str, Any]

    def value(self, data: Mapping[str, pd.Series], what: str = "data") -> Any:
        """Evaluate the factor on columns without missing values."""
        lost = [v.name for v in (*self.transforms.values(), *self.namespace.values()) if isinstance(v, Lost)]
        if lost:
            raise DataError(
                f"{self.factor.code!r} uses {', '.join(map(repr, lost))}, which could not be stored with the fit. "
                "Define it in a module that can be imported, or refit."
            )
        if self.factor.code in data:
            return data[self.factor.code]
        names = {v: data[v] for v in self.factor.variables}
        if not self.factor.functions or self.factor.functions == ("Q",):
            quoted = _quoted(self.factor)
            if quoted is not None:
                return data[quoted]
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
        where = "" if what == "data" else f" on the {what}"
        return FormulaError(
            f"{self.factor.code!r} cannot be computed{where}: {detail}", self.formula, self.factor.position
        )

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["transforms"] = {
            k: _pack(v if isinstance(v, Lost) else (type(v), vars(v))) for k, v in self.transforms.items()
        }
        state["namespace"] = {k: _pack(v) for k, v in self.namespace.items()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        state["namespace"] = {k: _unpack(k, v) for k, v in state["namespace"].items()}
        state["transforms"] = {k: _revive(_unpack(k, v)) for k, v in state["transforms"].items()}
        self.__dict__.update(state)

    def __deepcopy__(self, memo: dict[int, Any]) -> FactorRecipe:
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


def _quoted(factor: Factor) -> str | None:
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
        if _quoted(factor) is not None or tokens[0].text == "C" and tokens[-1].text == ")":
            return factor.variables[0]
    return factor.code


def memorize(factor: Factor, data: Mapping[str, pd.Series], env: EvalEnvironment, formula: str) -> FactorRecipe:
    """Fit the stateful transforms of a factor to the training rows."""
    if factor.code in data or _quoted(factor) is not None:
        return FactorRecipe(factor, formula, factor.code, {}, {})
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
    except PatsyError as error:
        raise recipe.trouble(error) from error
    except Exception as error:  # whatever a user's own transform may raise
        raise recipe.trouble(error) from error
    used = {name for name, _, _ in references(tokenize(state["eval_code"]))}
    kept = {k: v for k, v in namespace.items() if k in used}
    return FactorRecipe(factor, formula, state["eval_code"], dict(state["transforms"]), kept)


def _namespace(factor: Factor, data: Mapping[str, pd.Series], env: EvalEnvironment, formula: str) -> dict[str, Any]:
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
        if own is not None and not (call and (name in ("C", "Q", "I") or not callable(own))):
            if not call and name not in table and _looks_like_data(own, n):
                raise FormulaError(
                    f"{name!r} is not a column of the data. A variable of that name exists where the formula was "
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


@dataclass(frozen=True, eq=False)
class Coded:
    """A factor as numbers: its columns, their name endings, and the levels when it is categorical."""

    values: FloatArray
    endings: tuple[str, ...]
    levels: tuple[Any, ...] | None


def code(
    recipe: FactorRecipe, data: Mapping[str, pd.Series], n: int, what: str = "data", levels: Any = None
) -> Coded:
    """Evaluate a factor into columns; `levels` are those of the training data when the data are new."""
    value = recipe.value(data, what)
    name = recipe.factor.code
    wanted = None
    boxed = is_box(value)
    if boxed:
        wanted, value = value.levels, value.data
    array = value if isinstance(value, pd.Series) else np.asarray(value)
    if getattr(array, "ndim", 1) == 2 and array.dtype.kind in "fiub" and not boxed:
        values = np.asarray(array, dtype=float)
        if len(values) != n:
            raise recipe.trouble(ValueError(_rows(len(values), n)), what)
        return Coded(values, tuple(f"[{k}]" for k in range(values.shape[1])), None)
    if array.ndim == 0:
        array = np.full(n, array[()])
    if array.ndim != 1 or len(array) != n:
        raise recipe.trouble(ValueError(_rows(len(array), n)), what)
    index = next(iter(data.values())).index if data else None
    if not isinstance(array, pd.Series):
        array = pd.Series(value if isinstance(value, pd.Categorical) else array, index=index)
    series = plain(array.rename(name))
    if not boxed and series.dtype.kind in "fiub":
        return Coded(series.to_numpy(dtype=float)[:, None], ("",), None)
    if levels is None:
        levels = used_levels(series, wanted)
    codes = level_codes(series, levels, plain_name(recipe.factor), what)
    values = (codes[:, None] == np.arange(len(levels))).astype(float)
    values[codes < 0] = np.nan
    return Coded(values, tuple(f"[{label(v)}]" for v in levels), tuple(levels))


def _rows(got: int, n: int) -> str:
    return f"it gives {got} value{'s' * (got != 1)} for {n} rows."


def label(level: Any) -> str:
    """A level as it is written in a column name; whole floats without their '.0'.

    Examples
    --------
    >>> label(2.0), label("A"), label(True)
    ('2', 'A', 'True')
    """
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    return str(level)


def used_levels(series: pd.Series, wanted: Sequence[Any] | None = None) -> tuple[Any, ...]:
    """The levels that occur, in the order asked for, or of the categories, or sorted.

    Examples
    --------
    >>> used_levels(pd.Series(["b", "a", "b"]))
    ('a', 'b')
    """
    present = series.dropna().unique()
    if wanted is None and isinstance(series.dtype, pd.CategoricalDtype):
        wanted = list(series.cat.categories)
    if wanted is None:
        order = sorted(present)
    else:
        seen = set(present)
        unknown = [v for v in present if v not in set(wanted)]
        if unknown:
            raise DataError(
                f"{series.name!r} holds {_list(unknown)}, which {'is' if len(unknown) == 1 else 'are'} not among the "
                f"levels given: {_list(wanted)}. Add {'it' if len(unknown) == 1 else 'them'} to levels=[...]."
            )
        order = [v for v in wanted if v in seen]
    return tuple(v.item() if isinstance(v, np.generic) else v for v in order)


def level_codes(series: pd.Series, levels: Sequence[Any], name: str, what: str) -> NDArray[np.intp]:
    """Return the place of each value among the levels, -1 where missing; an unknown level is an error.

    Examples
    --------
    >>> level_codes(pd.Series(["a", "b", None]), ("a", "b"), "site", "new data")
    array([ 0,  1, -1])
    """
    values = series.astype(object) if isinstance(series.dtype, pd.CategoricalDtype) else series
    codes = pd.Index(list(levels), dtype=object).get_indexer(pd.Index(values, dtype=object))
    codes = np.asarray(codes, dtype=np.intp)
    unseen = (codes < 0) & ~series.isna().to_numpy()
    if unseen.any():
        strange = list(pd.unique(values[unseen]))
        raise DataError(
            f"Column {name!r} of the {what} holds {_list(strange)} ({int(unseen.sum())} "
            f"row{'s' * (int(unseen.sum()) > 1)}), not seen in the training data. Known levels: {_list(levels)}. "
            "Recode or remove these rows."
        )
    return codes


def _list(items: Sequence[Any], most: int = 8) -> str:
    shown = [repr(v.item() if isinstance(v, np.generic) else v) for v in list(items)[:most]]
    return ", ".join(shown) + (f" and {len(items) - most} more" if len(items) > most else "")


@dataclass(frozen=True, eq=False)
class Recipe:
    """Terms, remembered: everything needed to compute the same columns for new rows."""

    terms: tuple[Term, ...]
    factors: Mapping[str, FactorRecipe]
    levels: Mapping[str, tuple[Any, ...] | None]
    names: tuple[str, ...]
    of_term: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns of the data that are needed."""
        return tuple(dict.fromkeys(v for t in self.terms for f in t.factors for v in f.variables))

    def matrix(self, data: Mapping[str, pd.Series], n: int, what: str = "new data") -> FloatArray:
        """Compute the columns for rows without missing values."""
        coded = {
            key: code(recipe, data, n, what, self.levels[key]).values for key, recipe in self.factors.items()
        }
        return _assemble(self.terms, coded, n)


def learn(
    terms: Sequence[Term], data: Mapping[str, pd.Series], n: int, env: EvalEnvironment, formula: str
) -> tuple[Recipe, FloatArray, list[str]]:
    """Evaluate terms on the training rows: the recipe, its columns, and what the user should be told."""
    recipes: dict[str, FactorRecipe] = {}
    coded: dict[str, Coded] = {}
    notes = []
    for term in terms:
        for factor in term.factors:
            if factor.code not in recipes:
                recipes[factor.code] = memorize(factor, data, env, formula)
                coded[factor.code] = code(recipes[factor.code], data, n)
                if "C" in factor.functions and getattr(recipes[factor.code].value(data), "contrast", None) is not None:
                    notes.append(f"the contrast in {factor.code} is not used: every level has a column of its own")
    short: list[str] = []
    full: list[str] = []
    of_term: list[str] = []
    for term in terms:
        for picks in _combinations([len(coded[f.code].endings) for f in term.factors]):
            ends = [coded[f.code].endings[k] for f, k in zip(term.factors, picks, strict=True)]
            short.append(":".join(plain_name(f) + e for f, e in zip(term.factors, ends, strict=True)))
            full.append(":".join(f.code + e for f, e in zip(term.factors, ends, strict=True)))
            of_term.append(term.name)
    recipe = Recipe(
        tuple(terms), recipes, {k: c.levels for k, c in coded.items()}, _unique(short, full), tuple(of_term)
    )
    return recipe, _assemble(terms, {k: c.values for k, c in coded.items()}, n), notes


def _unique(short: list[str], full: list[str]) -> tuple[str, ...]:
    """Short names where they are unique, else the full ones, numbered if even those coincide."""
    counts: dict[str, int] = {}
    for name in short:
        counts[name] = counts.get(name, 0) + 1
    names: list[str] = []
    seen: set[str] = set()
    for name, long in zip(short, full, strict=True):
        chosen = name if counts[name] == 1 else long
        k = 2
        base = chosen
        while chosen in seen:
            chosen, k = f"{base}#{k}", k + 1
        seen.add(chosen)
        names.append(chosen)
    return tuple(names)


def _combinations(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    # As in R and patsy, the first factor's columns vary fastest.
    return [c[::-1] for c in itertools.product(*(range(s) for s in reversed(sizes)))]


def _assemble(terms: Sequence[Term], coded: Mapping[str, FloatArray], n: int) -> FloatArray:
    blocks = []
    for term in terms:
        parts = [coded[f.code] for f in term.factors]
        if len(parts) == 1:
            blocks.append(parts[0])
            continue
        picks = _combinations([p.shape[1] for p in parts])
        block = np.ones((n, len(picks)))
        for j, pick in enumerate(picks):
            for part, k in zip(parts, pick, strict=True):
                block[:, j] *= part[:, k]
        blocks.append(block)
    return np.hstack(blocks) if blocks else np.zeros((n, 0))
