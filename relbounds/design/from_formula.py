"""A design from a formula and data: the steps from rows as they come to parts that are scaled."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from patsy import EvalEnvironment

from relbounds.checks import choice, flag
from relbounds.design.censored import Between, SurvivalTimes
from relbounds.design.complete_rows import complete_rows, made_missing
from relbounds.design.design import Design
from relbounds.design.factors import FactorRecipe, is_box, memorize
from relbounds.design.formula import ParsedFormula, parse
from relbounds.design.from_parts import Rows, put_together
from relbounds.design.new_rows import FormulaColumns, FormulaResponse
from relbounds.design.observations import Observations, take_observations
from relbounds.design.part import make_part
from relbounds.design.read_response import FAMILIES, GivenResponse, read_response
from relbounds.design.term_columns import Learned, learn
from relbounds.design.user_data import as_frame, keep_rows, take
from relbounds.design.weights import cluster_codes, cluster_note
from relbounds.errors import DataError, RelboundsWarning


def make_design(
    formula: str,
    data: Any,
    *,
    family: str = "auto",
    weights: Any = None,
    frequency: Any = None,
    cluster: Any = None,
    missing: str = "drop",
    standardize: bool = True,
    safe: bool = False,
    env: int | EvalEnvironment = 0,
) -> Design:
    """Read a formula against data.

    Parameters
    ----------
    formula : str
        `response ~ terms`, to which `| adjust(terms)` (covariates that every model holds, without penalty) and
        `| priv(terms)` (features known for training rows only) may be added, in either order. Terms are those of
        patsy: names, transforms, interactions, `C()`, `Q()`, `I()`, and `.` for all columns that have no other
        role. There is never an intercept column. A category has one column per level, centred and with one scale
        for all of them; one with two levels, and truth values, are one column: the second level minus the first.
    data : DataFrame
        A dict of columns will do.
    family : {"auto", "ordinal", "binary", "regression", "nominal", "survival"}
        "auto": two levels are binary; ordered categories, and integers with at most ten values, are ordinal; three or
        more levels without an order are nominal; other numbers are a regression. Whole floats count as integers if
        values were missing, since pandas stores such integers as floats. `between(low, high) ~` gives levels that are
        known to lie between two, `Surv(time, status) ~` times that may be censored.
    weights : None, str or array-like
        Importance weights: one per row of the data before any row is dropped, or a column's name. They enter means,
        standard deviations and shares of levels. Rows of weight 0 are left out.
    frequency : None, str or array-like
        How many observations each row stands for; such rows are written out.
    cluster : None, str or array-like
        Which observations belong together: a column's name, or one value per row.
    missing : {"drop", "raise"}
        Rows with missing values in a column that the formula reads are dropped and counted, or an error.
    standardize : bool
        Scale every feature to mean 0 and standard deviation 1.
    safe : bool
        A formula is code that is evaluated. With True only names of columns, numbers, operators and known functions are
        allowed (log, sqrt, C, Q, I, bs, center and the like), for formulas from people one does not know.
    env : int or patsy.EvalEnvironment
        Where functions and constants of the formula are looked up: 0 is the caller, 1 the caller's caller.

    Returns
    -------
    Design

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"grade": [1, 2, 3, 1], "x": [1.0, 5.0, 9.0, 2.0], "z": [0.0, 1.0, 2.0, 1.0]})
    >>> design = make_design("grade ~ log(x) | priv(z)", data)
    >>> design.names, design.priv_names, design.notes
    (('log(x)',), ('z',), ('Family chosen: ordinal (3 integer values).',))
    """
    safe, standardize = flag("safe", safe), flag("standardize", standardize)
    env = EvalEnvironment([{}]) if safe else EvalEnvironment.capture(env, reference=1)
    missing, family = choice("missing", missing, ("drop", "raise")), choice("family", family, FAMILIES)
    seen = take_observations(_filled(data), weights=weights, frequency=frequency, cluster=cluster)
    parsed = parse(formula, list(seen.frame.columns), known=env.namespace, exclude=seen.roles, safe=safe)
    rows = _whole_rows(parsed, seen, env, missing)
    was_missing = bool(seen.frame[list(parsed.response_variables)].isna().any(axis=None))
    own = seen.weights[rows.kept]
    given = GivenResponse(
        rows.value,
        parsed.response,
        order=rows.order,
        boxed=rows.boxed,
        was_missing=was_missing,
        column=parsed.response_variables[0] if len(parsed.response_variables) == 1 else None,
        library=str(seen.frame.attrs.get("library", "pandas")),
    )
    response = read_response(given, family, own)
    parts = {
        part: make_part(
            part,
            FormulaColumns(learned.recipe),
            learned.shapes,
            learned.values,
            weights=own,
            standardize=standardize,
        )
        for part, learned in rows.parts.items()
    }
    said = [*rows.said, *(note for learned in rows.parts.values() for note in learned.notes)]
    said += [note for part in parts.values() for note in part.notes]
    for note in said:
        warnings.warn(note, RelboundsWarning, stacklevel=3)
    groups = None if seen.cluster is None else cluster_codes(seen.cluster[rows.kept])
    alone = cluster_note(groups, len(own))
    return put_together(
        parsed.text,
        parts,
        response,
        FormulaResponse(rows.factor),
        rows=Rows(
            index=seen.frame.index[rows.kept],
            weights=own,
            cluster=groups,
            cluster_name=None if seen.cluster is None else str(seen.cluster.name),
            n_dropped=len(seen.frame) - int(rows.kept.sum()),
        ),
        notes=(*response.notes, *seen.notes, *alone, *rows.notes, *said),
    )


def _filled(data: Any) -> pd.DataFrame:
    frame = as_frame(data)
    if frame.shape[0] == 0:
        raise DataError("The data are empty: there are no rows. Check how they were read or filtered.")
    if frame.shape[1] == 0:
        raise DataError("The data are empty: there are no columns. Check how they were read.")
    return frame


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """A formula computed on rows without missing values."""

    parts: Mapping[str, Learned]
    factor: FactorRecipe
    value: pd.Series | Between | SurvivalTimes
    order: Any
    boxed: bool
    kept: NDArray[np.bool_]
    notes: tuple[str, ...]  # for the results
    said: tuple[str, ...]  # worth a warning besides


def _whole_rows(parsed: ParsedFormula, seen: Observations, env: EvalEnvironment, missing: str) -> _Evaluated:
    """Compute the formula on the rows that have every value, also after the transforms.

    A transform may itself give missing values (the log of a negative number). Then those rows go, and everything is
    learnt from the others: levels, cells and the state of transforms.
    """
    columns = take(seen.frame, parsed.variables)
    asked = dict(columns)
    if seen.cluster is not None:
        asked.setdefault(str(seen.cluster.name), seen.cluster)
    kept, notes = complete_rows(asked, len(seen.frame), missing)
    said: list[str] = []
    while True:
        found = _evaluate(parsed, keep_rows(columns, kept), int(kept.sum()), env)
        whole = ~_missing(found.value)
        for learned in found.parts.values():
            whole &= ~np.isnan(learned.values).any(axis=1)
        if whole.all():
            break
        message = made_missing(found.parts.values(), _missing(found.value), whole)
        if missing == "raise":
            raise DataError(f"{message}. Remove these rows, or use missing='drop'.")
        if not whole.any():
            raise DataError(f"{message}: no row is left. Check the transform.")
        said.append(f"{message}: dropped.")
        kept[kept] = whole
    return replace(found, kept=kept, notes=tuple(notes), said=tuple(said))


def _evaluate(
    parsed: ParsedFormula, rows: Mapping[str, pd.Series], n: int, env: EvalEnvironment
) -> _Evaluated:
    parts = {
        "regular": learn(parsed.regular_terms, rows, n, env, parsed.text),
        "adjust": learn(parsed.adjust_terms, rows, n, env, parsed.text),
        "privileged": learn(parsed.privileged_terms, rows, n, env, parsed.text),
    }
    factor = memorize(parsed.response_factor, rows, env, parsed.text)
    value = factor.value(rows)
    order, boxed = None, is_box(value)
    if boxed:
        order, value = value.levels, value.data
    if not isinstance(value, Between | SurvivalTimes):
        value = _as_series(value, next(iter(rows.values())).index, parsed.response)
    return _Evaluated(parts, factor, value, order, boxed, np.ones(n, dtype=bool), (), ())


def _missing(value: pd.Series | Between | SurvivalTimes) -> NDArray[np.bool_]:
    return value.missing() if isinstance(value, Between | SurvivalTimes) else value.isna().to_numpy()


def _as_series(value: Any, index: pd.Index, name: str) -> pd.Series:
    if isinstance(value, pd.Series):
        return value
    if np.ndim(value) != 1 or len(value) != len(index):
        raise DataError(
            f"The response {name!r} must give one value per row; it gives the shape {np.shape(value)}."
        )
    return pd.Series(value, index=index)
