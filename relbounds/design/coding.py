"""Terms into columns: one per number, one per level, products for interactions; the same for new data."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from patsy import EvalEnvironment

from relbounds.design.data import plain
from relbounds.design.factors import FactorRecipe, is_box, memorize, plain_name
from relbounds.design.terms import Factor, Term
from relbounds.errors import DataError, counted, listed

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coded:
    """A factor as numbers: its columns, their name endings, and the levels when it is categorical."""

    values: FloatArray
    endings: tuple[str, ...]
    levels: tuple[Any, ...] | None
    contrast: bool = False  # whether the user asked for a coding of their own


def code(
    recipe: FactorRecipe, data: Mapping[str, pd.Series], n: int, what: str = "data", levels: Any = None
) -> Coded:
    """Evaluate a factor into columns; `levels` are those of the training data when the data are new."""
    value = recipe.value(data, what)
    if recipe.column is not None and levels is None and value.dtype.kind in "fiub":  # by far the most common
        return Coded(value.to_numpy(dtype=float)[:, None], ("",), None)
    name = recipe.factor.code
    wanted = contrast = None
    boxed = is_box(value)
    if boxed:
        wanted, contrast, value = value.levels, value.contrast, value.data
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
    if isinstance(array, pd.Series) and index is not None and not array.index.equals(index):
        raise recipe.trouble(ValueError("it changes the order or the labels of the rows."), what)
    if not isinstance(array, pd.Series):
        array = pd.Series(value if isinstance(value, pd.Categorical) else array, index=index)
    series = plain(array.rename(name))
    if levels is None and not boxed and series.dtype.kind in "fiub":
        return Coded(series.to_numpy(dtype=float)[:, None], ("",), None)
    if levels is None:
        levels = used_levels(series, wanted)
    codes = level_codes(series, levels, plain_name(recipe.factor), what)
    values = (codes[:, None] == np.arange(len(levels))).astype(float)
    values[codes < 0] = np.nan
    return Coded(values, tuple(f"[{label(v)}]" for v in levels), tuple(levels), contrast is not None)


def _rows(got: int, n: int) -> str:
    return f"it gives {counted(got, 'value')} for {counted(n, 'row')}."


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


def check_levels(levels: Any, name: str) -> list[Any]:
    """Return levels that a user gave as a list, or say why they are none.

    Examples
    --------
    >>> check_levels(("low", "high"), "grade")
    ['low', 'high']
    """
    if isinstance(levels, str) or not hasattr(levels, "__iter__"):
        raise DataError(f"The levels of {name!r} must be a list such as ['low', 'high'], not {levels!r}.")
    found = [v.item() if isinstance(v, np.generic) else v for v in levels]
    try:
        different = len(set(found)) == len(found)
    except TypeError:
        raise DataError(f"The levels of {name!r} must be numbers or text, not {found[0]!r}.") from None
    if not different:
        raise DataError(f"The levels of {name!r} are not all different: {listed(found)}.")
    return found


def used_levels(series: pd.Series, wanted: Sequence[Any] | None = None) -> tuple[Any, ...]:
    """The levels that occur, in the order asked for, or of the categories, or sorted.

    Examples
    --------
    >>> used_levels(pd.Series(["b", "a", "b"]))
    ('a', 'b')
    """
    present = series.dropna().unique()
    if wanted is not None:
        wanted = check_levels(wanted, str(series.name))
    if wanted is None and isinstance(series.dtype, pd.CategoricalDtype):
        wanted = list(series.cat.categories)
    if wanted is None:
        order = sorted(present)
    else:
        seen, allowed = set(present), set(wanted)
        unknown = [v for v in present if v not in allowed]
        if unknown:
            raise DataError(
                f"{series.name!r} holds {listed(unknown)}, which "
                f"{'is' if len(unknown) == 1 else 'are'} not among the levels given: {listed(wanted)}. "
                f"Add {'it' if len(unknown) == 1 else 'them'} to levels=[...]."
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
            f"Column {name!r} of the {what} holds {listed(strange)} ({counted(int(unseen.sum()), 'row')}), "
            f"not seen in the training data. Known levels: {listed(levels)}. Recode or remove these rows."
        )
    return codes


@dataclass(frozen=True, eq=False)
class Recipe:
    """Terms, remembered: everything needed to compute the same columns for new rows."""

    terms: tuple[Term, ...]
    factors: Mapping[str, FactorRecipe]
    levels: Mapping[str, tuple[Any, ...] | None]
    widths: Mapping[str, int]
    names: tuple[str, ...]
    of_term: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns of the data that are needed."""
        return tuple(dict.fromkeys(v for t in self.terms for f in t.factors for v in f.variables))

    def only(self, columns: Sequence[int]) -> tuple[Recipe, list[int]]:
        """The recipe of the terms that some columns belong to, and the places of those columns in it."""
        wanted = {self.of_term[j] for j in columns}
        there = [j for j, term in enumerate(self.of_term) if term in wanted]
        terms = tuple(t for t in self.terms if t.name in wanted)
        codes = {f.code for t in terms for f in t.factors}
        smaller = Recipe(
            terms,
            {k: v for k, v in self.factors.items() if k in codes},
            {k: v for k, v in self.levels.items() if k in codes},
            {k: v for k, v in self.widths.items() if k in codes},
            tuple(self.names[j] for j in there),
            tuple(self.of_term[j] for j in there),
        )
        place = {j: k for k, j in enumerate(there)}
        return smaller, [place[int(j)] for j in columns]

    def matrix(self, data: Mapping[str, pd.Series], n: int, what: str = "new data") -> FloatArray:
        """Compute the columns for rows without missing values."""
        coded = {key: code(recipe, data, n, what, self.levels[key]) for key, recipe in self.factors.items()}
        for key, now in coded.items():
            if self.levels[key] is None and now.levels is not None:
                raise DataError(
                    f"{key!r} was a number in the training data, but holds {listed(now.levels)} in the "
                    f"{what}. Convert it to numbers."
                )
            if len(now.endings) != self.widths[key]:
                columns = counted(len(now.endings), "column")
                raise DataError(
                    f"{key!r} gives {columns} for the {what}, but {self.widths[key]} in training."
                )
        return _assemble(self.terms, {key: c.values for key, c in coded.items()}, n)


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
                notes += _too_fine(factor, coded[factor.code].levels, n)
                if coded[factor.code].contrast:
                    notes.append(
                        f"The contrast in {factor.code} is not used: every level has a column of its own."
                    )
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
        tuple(terms),
        recipes,
        {k: c.levels for k, c in coded.items()},
        {k: len(c.endings) for k, c in coded.items()},
        _unique(short, full),
        tuple(of_term),
    )
    return recipe, _assemble(terms, {k: c.values for k, c in coded.items()}, n), notes


def _too_fine(factor: Factor, levels: Sequence[Any] | None, n: int) -> list[str]:
    """An identifier is not a category: a column for each patient explains everything and nothing."""
    if levels is None or len(levels) < 20 or 2 * len(levels) < n:
        return []
    what = f"{plain_name(factor)!r} has {len(levels)} different values in {n} rows"
    if len(levels) > 100:
        raise DataError(
            f"{what}: an identifier rather than a category. Leave it out; with '.', write "
            f"'. - {factor.code}'."
        )
    return [f"{what}: if it is an identifier, leave it out of the formula."]


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
