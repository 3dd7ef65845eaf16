"""A design from arrays whose columns are the features already, as R and scikit-learn hand them over."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relbounds.checks import flag
from relbounds.design.censored import Between, SurvivalTimes
from relbounds.design.design import Design
from relbounds.design.from_parts import Rows, put_together
from relbounds.design.new_rows import ArrayColumns, NamedResponse, as_matrix, refuse_infinite
from relbounds.design.observations import take_observations
from relbounds.design.part import Part, make_part
from relbounds.design.read_response import GivenResponse, read_response, response_from_codes
from relbounds.design.scales import FloatArray
from relbounds.design.term_columns import TermShape, pair_title, with_titles
from relbounds.design.user_data import refuse_nul
from relbounds.design.weights import cluster_codes, cluster_note
from relbounds.errors import DataError, OptionError, RelboundsWarning, listed


def design_from_arrays(
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    terms: Sequence[str] | None = None,
    levels: Sequence[Any] | None = None,
    family: str = "auto",
    Z: Any = None,
    priv_names: Sequence[str] | None = None,
    priv_terms: Sequence[str] | None = None,
    adjust: Any = None,
    adjust_names: Sequence[str] | None = None,
    adjust_terms: Sequence[str] | None = None,
    term_levels: Mapping[str, Sequence[Any]] | None = None,
    ordered_terms: Collection[str] = (),
    term_variables: Mapping[str, Sequence[str]] | None = None,
    term_numbers: Mapping[str, Sequence[int]] | None = None,
    weights: Any = None,
    frequency: Any = None,
    cluster: Any = None,
    standardize: bool = True,
    response: str = "y",
    formula: str = "",
) -> Design:
    """Make a design from arrays whose columns are the features already.

    Parameters
    ----------
    X : array-like (n, d)
        Regular features.
    y : array-like (n,)
        Labels or numbers; with `levels`, labels among them, or else codes 1..L. Also what
        :func:`~relbounds.design.censored.between` and :func:`~relbounds.design.censored.Surv` return.
    names, terms : sequence of str
        Name and term of each column; the columns of a DataFrame, or x1, x2, ..., when not given. Columns of a term
        stand side by side.
    levels : sequence or None
        The labels of an ordered response from lowest to highest.
    family : {"auto", "ordinal", "binary", "regression", "nominal", "survival"}
    Z, adjust : array-like or None
        Privileged features; covariates that every model holds.
    priv_names, priv_terms, adjust_names, adjust_terms : sequence of str
        As `names` and `terms`, for Z and for `adjust`.
    term_levels : mapping or None
        The levels of the terms that are factors. Their columns are 0 or 1, one per level; with two levels one
        column, that of the second, will do.
    ordered_terms : collection of str
        The factors whose levels have an order.
    term_variables : mapping or None
        The columns of the user's data behind each term; the term itself when not given.
    term_numbers : mapping or None
        For terms that are products of numbers and levels: which number each column holds. Columns with the same number
        have one scale, as in a formula; each column has its own when not given.
    weights, frequency, cluster : None or array-like (n,)
        As for :func:`make_design`.
    standardize : bool
    response, formula : str
        What to show in results.

    Returns
    -------
    Design
        Its `transform` takes an array with the columns of X, or a DataFrame with columns `names`.

    Examples
    --------
    >>> design = design_from_arrays([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0]], [1, 2, 2], levels=["low", "high"])
    >>> design.names, design.family, design.levels
    (('x1', 'x2'), 'binary', ('low', 'high'))
    """
    standardize = flag("standardize", standardize)
    facts = _Facts(
        dict(term_levels or {}),
        frozenset(ordered_terms),
        dict(term_variables or {}),
        dict(term_numbers or {}),
    )
    given = {
        "regular": _Given("X", X, "x", names, terms),
        "adjust": _Given("adjust", adjust, "a", adjust_names, adjust_terms),
        "privileged": _Given("Z", Z, "z", priv_names, priv_terms),
    }
    n = _rows_of(X, y, given)
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(n)
    for what, role in (("weights", weights), ("frequency", frequency), ("cluster", cluster)):
        if isinstance(role, str) and role != "balanced":
            raise OptionError(f"{what}={role!r}: with arrays, give one number per row.")
    places = pd.DataFrame({"row": np.arange(n)}, index=index)
    seen = take_observations(places, weights=weights, frequency=frequency, cluster=cluster)
    rows = seen.frame["row"].to_numpy()
    parts = {
        part: _part(part, one, facts, rows, weights=seen.weights, standardize=standardize)
        for part, one in given.items()
    }
    labels = _chosen(y, rows)
    known = (
        read_response(GivenResponse(labels, response), family, seen.weights)
        if levels is None
        else response_from_codes(labels, levels, response, family)
    )
    said = [note for part in parts.values() for note in part.notes]
    for note in said:
        warnings.warn(note, RelboundsWarning, stacklevel=3)
    groups = None if seen.cluster is None else cluster_codes(seen.cluster)
    return put_together(
        formula,
        parts,
        known,
        NamedResponse(response),
        rows=Rows(
            index=index[rows],
            weights=seen.weights,
            cluster=groups,
            cluster_name=None if seen.cluster is None else str(seen.cluster.name),
            n_dropped=0,
        ),
        notes=(*known.notes, *seen.notes, *cluster_note(groups, len(rows)), *said),
    )


@dataclass(frozen=True, eq=False)
class _Given:
    """One part as it was given: what it is called, its values, and what its columns are called."""

    what: str
    values: Any
    stem: str
    names: Sequence[str] | None
    terms: Sequence[str] | None


@dataclass(frozen=True, eq=False)
class _Facts:
    """What was said about terms: levels of factors, which of them are ordered, variables behind terms, numbers."""

    levels: Mapping[str, Sequence[Any]]
    ordered: frozenset[str]
    variables: Mapping[str, Sequence[str]]
    numbers: Mapping[str, Sequence[int]]


def _rows_of(X: Any, y: Any, given: Mapping[str, _Given]) -> int:
    """Return the number of rows, or say which of the arrays have others."""
    n = int(np.shape(X)[0]) if len(np.shape(X)) else 0
    if not n:
        raise DataError("X is empty: there are no rows.")
    if np.ndim(y) == 0 and not isinstance(y, Between | SurvivalTimes):
        raise DataError(f"y must be one value per row of X, not {y!r}.")
    counts = {"y": len(y)} | {
        one.what: int(np.shape(one.values)[0])
        for one in given.values()
        if one.values is not None and len(np.shape(one.values))
    }
    if len(set(counts.values())) > 1:
        raise DataError(
            f"{', '.join(counts)} must have the same number of rows, but have "
            f"{', '.join(map(str, counts.values()))}."
        )
    return n


def _part(
    part: str, given: _Given, facts: _Facts, rows: Any, *, weights: FloatArray, standardize: bool
) -> Part:
    """Check one array, find out what its terms are, and scale it."""
    if given.values is None:
        nothing = np.zeros((len(rows), 0))
        return make_part(part, ArrayColumns((), ()), (), nothing, weights=weights, standardize=standardize)
    label = {"X": "names", "Z": "priv_names"}.get(given.what, "adjust_names")
    names = _column_names(given.values, given.names, given.stem, label)
    terms = names if given.terms is None else [str(t) for t in given.terms]
    matrix = as_matrix(given.values, given.what)
    if not matrix.size:
        raise DataError(f"{given.what} is empty: there are no {'columns' if len(matrix) else 'rows'}.")
    _check_matrix(matrix, names, terms, given.what)
    matrix = matrix[rows]
    shapes: list[TermShape] = []
    used: list[int] = []
    labels: list[str] = []
    places: dict[str, list[int]] = {}
    for j, term in enumerate(terms):
        places.setdefault(term, []).append(j)
    for term, mine in places.items():
        if mine[-1] - mine[0] + 1 != len(mine):
            raise DataError(f"The columns of the term {term!r} of {given.what} must stand side by side.")
        shape, own, called = _shaped(term, mine, names, matrix, facts)
        shapes.append(shape)
        used += own
        labels += called
    source = ArrayColumns(tuple(names), tuple(used))
    described = with_titles(shapes, labels)
    return make_part(part, source, described, matrix[:, used], weights=weights, standardize=standardize)


def _shaped(
    term: str, mine: Sequence[int], names: Sequence[str], matrix: FloatArray, facts: _Facts
) -> tuple[TermShape, list[int], list[str]]:
    """Return what a term is, which of its columns are used, and what they are called."""
    variables = tuple(map(str, facts.variables.get(term, (term,))))
    called = [names[j] for j in mine]
    if term not in facts.levels:
        kind = "number" if len(mine) == 1 else "columns"
        numbers = tuple(facts.numbers.get(term, range(len(mine))))
        if len(numbers) != len(mine):
            raise DataError(
                f"term_numbers of {term!r} must hold a number for each of its {len(mine)} columns."
            )
        return TermShape(term, kind, variables, numbers), list(mine), called
    levels = list(facts.levels[term])
    values = matrix[:, mine]
    if len(levels) == 2 and len(mine) == 1:
        mine, values = [-1, mine[0]], np.column_stack([1 - values[:, 0], values[:, 0]])
        called = ["", *called]
    if (
        len(levels) != len(mine)
        or not np.all((values == 0) | (values == 1))
        or np.any(values.sum(axis=1) != 1)
    ):
        raise DataError(
            f"The factor {term!r} has the levels {listed(levels)}: its columns must be 0 or 1, one per level, with "
            "a single 1 in each row."
        )
    there = [k for k in range(len(levels)) if values[:, k].any()]
    found = tuple(levels[k] for k in there)
    ordered = term in facts.ordered
    if len(there) == 2:
        stem = variables[0] if len(variables) == 1 else term
        shape = TermShape(term, "pair", variables, (0,), levels=found, ordered=ordered)
        second = mine[there[1]]
        return shape, [second], [pair_title(stem, found)]
    if there == [0] and mine[0] < 0:  # a pair of which only the first level occurs: its column is all 0
        there, found = [1], (levels[0],)
    shape = TermShape(term, "factor", variables, (0,) * len(there), levels=found, ordered=ordered)
    return shape, [mine[k] for k in there], [called[k] for k in there]


def _chosen(y: Any, rows: Any) -> Any:
    """Return the labels of some rows, of the type they had."""
    if isinstance(y, Between | SurvivalTimes):
        return y.take(rows)
    if isinstance(y, pd.Series):
        return y.iloc[rows]
    if isinstance(y, pd.Categorical | np.ndarray):
        return y[rows]
    if len(rows) == len(y) and np.array_equal(rows, np.arange(len(y))):
        return y
    return [y[i] for i in rows]


def _column_names(values: Any, names: Sequence[str] | None, stem: str, what: str) -> list[str]:
    """Return one name per column: those given, those of a DataFrame, or x1, x2, ..."""
    if names is None:
        if isinstance(values, pd.DataFrame):
            names = [str(c) for c in values.columns]
        else:
            shape = np.shape(values)
            names = [f"{stem}{k + 1}" for k in range(shape[1] if len(shape) == 2 else 0)]
    names = [str(v) for v in names]
    refuse_nul(names, what)
    doubled = sorted({v for v in names if names.count(v) > 1}) if len(set(names)) < len(names) else []
    if doubled:
        raise DataError(f"{what} holds {listed(doubled)} more than once. Give each column its own name.")
    return names


def _check_matrix(values: FloatArray, names: Sequence[str], terms: Sequence[str], what: str) -> None:
    """Raise unless there is one name and one term per column, and every value is a finite number."""
    if values.shape[1] != len(names):
        raise DataError(f"{what} has {values.shape[1]} columns but {len(names)} names.")
    if len(names) != len(terms):
        raise DataError(f"{what} has {len(names)} columns but {len(terms)} terms.")
    missing = np.isnan(values).sum(axis=0)
    if missing.any():
        shown = [f"{name!r} ({int(count)})" for name, count in zip(names, missing, strict=True) if count]
        raise DataError(
            f"{what} has missing values in {', '.join(shown[:8])}. Drop these rows or fill them in."
        )
    refuse_infinite(values, names, what)
