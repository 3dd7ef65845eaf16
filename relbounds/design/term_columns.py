"""Terms into columns: numbers, levels, cells of an interaction of factors, products; the same for new rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from patsy import EvalEnvironment

from relbounds.design.factor_columns import FactorCoding, FloatArray, apply_coding, learn_coding
from relbounds.design.factors import FactorRecipe, memorize, plain_name
from relbounds.design.formula_terms import Factor, Term
from relbounds.design.levels import label
from relbounds.errors import DataError, counted


@dataclass(frozen=True)
class TermShape:
    """What a term is, before scaling: see DesignTerm. `numbers` tells which columns hold the same number."""

    name: str
    kind: str
    variables: tuple[str, ...]
    numbers: tuple[int, ...]
    names: tuple[str, ...] = ()
    title: str = ""
    levels: tuple[Any, ...] = ()
    ordered: bool = False

    def only(self, columns: Sequence[int]) -> TermShape:
        """Return the term with some of its numeric columns."""
        kind = "number" if len(columns) == 1 and self.kind == "columns" else self.kind
        return replace(
            self,
            kind=kind,
            numbers=tuple(self.numbers[k] for k in columns),
            names=tuple(self.names[k] for k in columns),
        )


@dataclass(frozen=True)
class TermColumns:
    """How the columns of one term are made from those of its factors.

    `picks` says, for each column, which column of each factor is multiplied; `cells` are the combinations of levels
    that occurred in training, None if all did.
    """

    term: Term
    picks: tuple[tuple[int, ...], ...]
    cells: tuple[tuple[int, ...], ...] | None = None

    def values(
        self, coded: Mapping[str, FloatArray], codings: Mapping[str, FactorCoding], what: str
    ) -> FloatArray:
        """Compute the columns from those of the factors."""
        parts = [coded[f.code] for f in self.term.factors]
        if self.cells is not None:
            places = [k for k, f in enumerate(self.term.factors) if codings[f.code].levels is not None]
            self._refuse_new_cells([parts[k] for k in places], places, what)
        return np.column_stack([_product(parts, pick) for pick in self.picks])

    def _refuse_new_cells(self, parts: Sequence[FloatArray], places: Sequence[int], what: str) -> None:
        """A combination of levels that no training row had is as unknown as a new level."""
        inside = sum(_product(parts, cell) for cell in self.cells or ())
        outside = int(np.sum(inside == 0))
        if outside:
            names = " and ".join(repr(plain_name(self.term.factors[k])) for k in places)
            raise DataError(
                f"{counted(outside, 'row')} of the {what} with a combination of {names} that was not seen in the "
                "training data. Recode or remove these rows."
            )


@dataclass(frozen=True, eq=False)
class Recipe:
    """Terms, remembered: everything needed to compute the same columns for new rows."""

    factors: Mapping[str, FactorRecipe]
    codings: Mapping[str, FactorCoding]
    terms: tuple[TermColumns, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns of the data that are needed."""
        return tuple(dict.fromkeys(v for t in self.terms for f in t.term.factors for v in f.variables))

    def only(self, columns: Sequence[int]) -> Recipe:
        """Return the recipe of some columns, given in rising order."""
        terms, start, wanted = [], 0, set(columns)
        for term in self.terms:
            mine = [k for k in range(len(term.picks)) if start + k in wanted]
            start += len(term.picks)
            if mine:
                terms.append(replace(term, picks=tuple(term.picks[k] for k in mine)))
        codes = {f.code for t in terms for f in t.term.factors}
        return Recipe(
            {k: v for k, v in self.factors.items() if k in codes},
            {k: v for k, v in self.codings.items() if k in codes},
            tuple(terms),
        )

    def matrix(self, data: Mapping[str, pd.Series], n: int, what: str = "new data") -> FloatArray:
        """Compute the columns for rows without missing values."""
        coded = {
            key: apply_coding(recipe, self.codings[key], data, n, what)
            for key, recipe in self.factors.items()
        }
        return self.assemble(coded, n, what)

    def assemble(self, coded: Mapping[str, FloatArray], n: int, what: str) -> FloatArray:
        """Put the columns of the terms side by side."""
        blocks = [term.values(coded, self.codings, what) for term in self.terms]
        return np.hstack(blocks) if blocks else np.zeros((n, 0))


@dataclass(frozen=True, eq=False)
class Learned:
    """Terms on the training rows: how to compute their columns, what they are, and the columns."""

    recipe: Recipe
    shapes: tuple[TermShape, ...]
    values: FloatArray
    notes: tuple[str, ...]


def learn(
    terms: Sequence[Term], data: Mapping[str, pd.Series], n: int, env: EvalEnvironment, formula: str
) -> Learned:
    """Evaluate terms on the training rows."""
    recipes: dict[str, FactorRecipe] = {}
    codings: dict[str, FactorCoding] = {}
    coded: dict[str, FloatArray] = {}
    notes = []
    for factor in dict.fromkeys(f for term in terms for f in term.factors):
        key = factor.code
        recipes[key] = memorize(factor, data, env, formula)
        codings[key], coded[key] = learn_coding(recipes[key], data, n)
        notes += _too_fine(plain_name(factor), key, codings[key].levels, n)
        if codings[key].contrast:
            notes.append(f"The contrast in {key} is not used: every level has a column of its own.")
    found = [_shaped(term, codings, coded) for term in terms]
    for term, shape in found:
        if len(term.term.factors) > 1:
            notes += _too_fine(shape.name, shape.name, shape.levels, n)
    recipe = Recipe(recipes, codings, tuple(term for term, _ in found))
    shapes = _named([shape for _, shape in found], recipe)
    return Learned(recipe, tuple(shapes), recipe.assemble(coded, n, "data"), tuple(notes))


def _shaped(
    term: Term, codings: Mapping[str, FactorCoding], coded: Mapping[str, FloatArray]
) -> tuple[TermColumns, TermShape]:
    """Decide the kind of a term and which products are its columns."""
    own = [codings[f.code] for f in term.factors]
    places = [k for k, coding in enumerate(own) if coding.levels is not None]
    sizes = [len(coding.endings) for coding in own]
    cells = _seen_cells([coded[term.factors[k].code] for k in places]) if len(places) > 1 else None
    picks = _combinations(sizes, places, cells)
    if cells is not None and len(cells) == math.prod(sizes[k] for k in places):
        cells = None
    variables = tuple(dict.fromkeys(v for f in term.factors for v in f.variables))
    shape = TermShape(term.name, "number", variables, numbers=(0,))
    if len(places) < len(own):  # at least one number
        which = [tuple(p for k, p in enumerate(pick) if k not in places) for pick in picks]
        order = {key: k for k, key in enumerate(dict.fromkeys(which))}
        if len(picks) > 1:
            shape = replace(shape, kind="columns", numbers=tuple(order[w] for w in which))
    else:
        levels = own[0].levels if len(own) == 1 else _cell_levels(own, picks)
        shape = replace(shape, levels=tuple(levels or ()), ordered=len(own) == 1 and own[0].ordered)
        if len(picks) == 2:
            shape, picks = replace(shape, kind="pair"), picks[1:]
        else:
            shape = replace(shape, kind="factor", numbers=(0,) * len(picks))
    return TermColumns(term, tuple(picks), None if cells is None else tuple(cells)), shape


def _seen_cells(indicators: Sequence[FloatArray]) -> set[tuple[int, ...]]:
    codes = np.column_stack([np.argmax(values, axis=1) for values in indicators])
    known = ~np.any([np.isnan(values).any(axis=1) for values in indicators], axis=0)
    return {tuple(int(k) for k in row) for row in np.unique(codes[known], axis=0)}


def _cell_levels(own: Sequence[FactorCoding], picks: Sequence[tuple[int, ...]]) -> list[str]:
    """Cells by their levels, "A:I"; by their endings where that would not tell them apart."""
    short = [
        ":".join(label((coding.levels or ())[k]) for coding, k in zip(own, pick, strict=True))
        for pick in picks
    ]
    if len(set(short)) == len(short):
        return short
    return [":".join(coding.endings[k] for coding, k in zip(own, pick, strict=True)) for pick in picks]


def _named(shapes: Sequence[TermShape], recipe: Recipe) -> list[TermShape]:
    """Give every column a name and every term a title, each of them once."""
    short: list[str] = []
    full: list[str] = []
    for shape, made in zip(shapes, recipe.terms, strict=True):
        factors = made.term.factors
        for name_of, names in ((plain_name, short), (_code, full)):
            if shape.kind == "pair":
                names.append(pair_title(":".join(map(name_of, factors)), shape.levels))
                continue
            for pick in made.picks:
                ends = [recipe.codings[f.code].endings[k] for f, k in zip(factors, pick, strict=True)]
                names.append(":".join(name_of(f) + e for f, e in zip(factors, ends, strict=True)))
    return with_titles(shapes, unique_names(short, full))


def _code(factor: Factor) -> str:
    return factor.code


def with_titles(shapes: Sequence[TermShape], names: Sequence[str]) -> list[TermShape]:
    """Deal names of columns out to their terms, and give each term a title that nothing else has."""
    out, at, taken = [], 0, set(names)
    for shape in shapes:
        own = tuple(names[at : at + len(shape.numbers)])
        at += len(own)
        title = own[0] if shape.kind in ("number", "pair") else _fresh(shape.name, taken)
        taken.add(title)
        out.append(replace(shape, names=own, title=title))
    return out


def pair_title(name: str, levels: Sequence[Any]) -> str:
    """Return what a two-level term is called: the second level minus the first.

    Examples
    --------
    >>> pair_title("sex", ("female", "male"))
    'sex: male - female'
    """
    first, second = map(label, levels)
    return f"{name}: {second} - {first}"


def unique_names(short: Sequence[str], full: Sequence[str]) -> list[str]:
    """Short names where they are unique, else the full ones, numbered if even those coincide.

    Examples
    --------
    >>> unique_names(["site[A]", "site[A]", "x"], ["site[A]", "C(site)[A]", "x"])
    ['site[A]', 'C(site)[A]', 'x']
    """
    counts: dict[str, int] = {}
    for name in short:
        counts[name] = counts.get(name, 0) + 1
    names: list[str] = []
    seen: set[str] = set()
    for name, long in zip(short, full, strict=True):
        chosen = _fresh(name if counts[name] == 1 else long, seen)
        seen.add(chosen)
        names.append(chosen)
    return names


def _fresh(name: str, taken: set[str]) -> str:
    chosen, k = name, 2
    while chosen in taken:
        chosen, k = f"{name}#{k}", k + 1
    return chosen


def _too_fine(name: str, code: str, levels: Sequence[Any] | None, n: int) -> list[str]:
    """An identifier is not a category: a column for each patient explains everything and nothing."""
    if levels is None or len(levels) < 20 or 2 * len(levels) < n:
        return []
    what = f"{name!r} has {len(levels)} different values in {n} rows"
    if len(levels) > 100:
        raise DataError(
            f"{what}: an identifier rather than a category. Leave it out; with '.', write '. - {code}'."
        )
    return [f"{what}: if it is an identifier, leave it out of the formula."]


def _combinations(
    sizes: Sequence[int], places: Sequence[int], cells: Collection[tuple[int, ...]] | None
) -> list[tuple[int, ...]]:
    """List which columns of the factors are multiplied; factors at `places` in the given cells only."""
    if cells is None:
        found = list(itertools.product(*map(range, sizes)))
    else:
        others = [k for k in range(len(sizes)) if k not in places]
        found = []
        for cell in cells:
            for rest in itertools.product(*(range(sizes[k]) for k in others)):
                at = dict(zip((*places, *others), (*cell, *rest), strict=True))
                found.append(tuple(at[k] for k in range(len(sizes))))
    # As in R and patsy, the first factor's columns vary fastest.
    return sorted(found, key=lambda pick: pick[::-1])


def _product(parts: Sequence[FloatArray], pick: Sequence[int]) -> FloatArray:
    column = parts[0][:, pick[0]]
    for part, k in zip(parts[1:], pick[1:], strict=True):
        column = column * part[:, k]
    return column
