"""Several completed data sets as one fit.

Each data set is fitted with the same folds and seeds. The table shows the median of every bound and how far bounds
move between the data sets; p-values are combined by twice their median, which is valid whatever their dependence.
Section "Imputed data" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from relbounds.design import Design
from relbounds.errors import DataError
from relbounds.linear.fitted import Fitted
from relbounds.linear.privileged.fit import fit_any
from relbounds.linear.ranges import ZERO
from relbounds.options import Options

BOUNDS = ("weight", "lower", "upper", "signed_lower", "signed_upper")


def fit_imputed(designs: Sequence[Design], options: Options) -> Fitted:
    """Fit every completed data set and pool the fits."""
    check_alike(designs)
    return pool([fit_any(design, options) for design in designs])


def check_alike(designs: Sequence[Design]) -> None:
    """Refuse data sets that are not completions of one: other rows, columns, levels or responses."""
    first = designs[0]
    for number, design in enumerate(designs[1:], start=2):
        if len(design.y) != len(first.y):
            raise DataError(
                f"Data set {number} has {len(design.y)} complete rows, data set 1 has {len(first.y)}. Imputed data "
                "sets must hold the same observations, in the same order, without missing values."
            )
        if design.levels != first.levels or design.family != first.family:
            raise DataError(f"Data set {number} has other levels of the response than data set 1.")
        titles, wanted = ([t.title for t in d.design_terms] for d in (design, first))
        if titles != wanted or [t.labels for t in design.design_terms] != [
            t.labels for t in first.design_terms
        ]:
            raise DataError(
                f"Data set {number} gives other terms or levels than data set 1. Give factors the same levels in all "
                "data sets, and leave out columns that are constant in some of them."
            )


def pool(fits: Sequence[Fitted]) -> Fitted:
    """Return one fit: the table of all, and the model of the data set nearest to it.

    Examples
    --------
    >>> combined([0.01, 0.01]), combined([0.01, 0.02, 0.5])
    (0.01, 0.04)
    """
    tables = [fit.table for fit in fits]
    table = tables[0].copy()
    for name in BOUNDS:
        table[name] = np.median([t[name].to_numpy(dtype=float) for t in tables], axis=0)
    for name in ("p_noise", "p_adjusted"):
        values = np.array([t[name].to_numpy(dtype=float) for t in tables])
        table[name] = [combined(column) for column in values.T]
    for name in ("lower", "upper"):
        values = np.array([t[name].to_numpy(dtype=float) for t in tables])
        table[f"{name}_moves"] = np.ptp(values, axis=0)
    table["relevance"] = _classes(fits, table, fits[0].options.alpha)
    low, high = table["signed_lower"].to_numpy(), table["signed_upper"].to_numpy()
    with np.errstate(invalid="ignore"):
        signs = np.where(low > ZERO, "+", np.where(high < -ZERO, "-", "?"))
    table["direction"] = np.where(tables[0]["direction"] == "", "", signs)
    nearest = int(np.argmin([_distance(t, table) for t in tables]))
    note = _note(tables, nearest)
    return replace(fits[nearest], table=table, notes=(note, *fits[nearest].notes), imputations=tuple(fits))


def combined(p: Sequence[float] | np.ndarray) -> float:
    """Return twice the median p-value; the value itself where all data sets give the same.

    Examples
    --------
    >>> combined([0.2, 0.9, 0.7])
    1.0
    """
    values = np.asarray(p, dtype=float)
    if np.isnan(values).any() or np.ptp(values) == 0:
        return float(values[0])
    return float(min(1.0, 2.0 * np.median(values)))


def _classes(fits: Sequence[Fitted], table: pd.DataFrame, alpha: float) -> list[str]:
    """Return classes that agree with the combined p-values.

    Strong is what most data sets call so, if its effect beside the other terms holds for all of them together.
    """
    out = []
    for i, q in enumerate(table["p_adjusted"]):
        own = [fit.table["relevance"].iloc[i] for fit in fits]
        key = fits[0].asked[i].key.whole
        p = combined([fit.noise.own.get(key, 1.0 if fit.noise.own else 0.0) for fit in fits])
        if own[0] == "":
            out.append("")
        elif not q <= alpha:
            out.append("irrelevant")
        else:
            out.append("strong" if 2 * own.count("strong") > len(own) and p <= alpha else "weak")
    return out


def _distance(one: pd.DataFrame, pooled: pd.DataFrame) -> float:
    columns = ["lower", "upper"]
    return float(np.nansum(np.abs(one[columns].to_numpy() - pooled[columns].to_numpy())))


def _note(tables: Sequence[pd.DataFrame], nearest: int) -> str:
    classes = pd.DataFrame({k: t["relevance"] for k, t in enumerate(tables)})
    differ = classes.index[classes.nunique(axis=1) > 1].tolist()
    shown = ", ".join(map(str, differ[:8])) + (f" and {len(differ) - 8} more" if len(differ) > 8 else "")
    which = (
        f"Classes differ between them for {shown}." if differ else "Every class is the same in all of them."
    )
    return (
        f"{len(tables)} imputed data sets: bounds are medians, p-values twice their median (valid under any "
        f"dependence). {which} Predictions and what-ifs are those of data set {nearest + 1}, whose bounds are nearest "
        "to the medians."
    )
