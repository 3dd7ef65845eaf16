"""Several completed data sets as one fit.

Each data set is fitted with the same folds and seeds. The table shows the median of every bound and how far bounds
move between the data sets. The p-value of one completed data set takes imputed values for known and is too small, so
medians of p-values are too; they are pooled by Rubin's rules, which add what varies between the data sets to what
varies inside each. Section "Imputed data" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from relbounds.design import Design
from relbounds.errors import DataError, shortened
from relbounds.linear.asked import RowKey
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.linear.noise.fwer import STANDIN_DRAWS
from relbounds.linear.noise.judge import design_response
from relbounds.linear.noise.smooth import fit_smooth
from relbounds.linear.noise.standins import SHARE
from relbounds.linear.privileged.fit import fit_any
from relbounds.linear.ranges import ZERO
from relbounds.linear.rubin import Effect, combined, pooled_effects
from relbounds.options import Options

BOUNDS = ("weight", "lower", "upper", "signed_lower", "signed_upper")
PART = {"regular": "X", "privileged": "Z"}


def fit_imputed(designs: Sequence[Design], options: Options) -> Fitted:
    """Fit every completed data set and pool the fits."""
    check_alike(designs)
    return pool([fit_any(design, options) for design in designs])


def check_alike(designs: Sequence[Design]) -> None:
    """Refuse data sets that are not completions of one: other rows, columns, levels, clusters or responses."""
    first = designs[0]
    for number, design in enumerate(designs[1:], start=2):
        if len(design.y) != len(first.y):
            raise DataError(
                f"Data set {number} has {len(design.y)} complete rows, data set 1 has {len(first.y)}. Imputed data "
                "sets must hold the same observations, in the same order, without missing values."
            )
        if not design.index.equals(first.index) and set(design.index) == set(first.index):
            raise DataError(
                f"Data set {number} has the rows of data set 1 in another order, by its index. Sort both alike, or "
                "drop the index of all (reset_index(drop=True)) if the rows do correspond."
            )
        if design.levels != first.levels or design.family != first.family:
            raise DataError(f"Data set {number} has other levels of the response than data set 1.")
        if not _equal(design.cluster, first.cluster):
            raise DataError(
                f"Data set {number} has other clusters than data set 1. Which rows belong together must be known and "
                "the same in all of them."
            )
        titles, wanted = ([t.title for t in d.design_terms] for d in (design, first))
        if titles != wanted or [t.labels for t in design.design_terms] != [
            t.labels for t in first.design_terms
        ]:
            raise DataError(
                f"Data set {number} gives other terms or levels than data set 1. Give factors the same levels in all "
                "data sets, and leave out columns that are constant in some of them."
            )


def _equal(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return one is other
    return np.array_equal(one, other)


def pool(fits: Sequence[Fitted]) -> Fitted:
    """Return one fit: the table of all, and the model of the data set nearest to it.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> one = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01)
    >>> pool([one._fitted, one._fitted]).table["p_adjusted"].equals(one.table["p_adjusted"])
    True
    """
    tables = [fit.table for fit in fits]
    table = tables[0].copy()
    for name in BOUNDS:
        table[name] = np.median([t[name].to_numpy(dtype=float) for t in tables], axis=0)
    pooling = _pooling(fits)
    for name in ("p_noise", "p_adjusted"):
        values = np.array([t[name].to_numpy(dtype=float) for t in tables])
        table[name] = [
            pooling.pooled(row.key, values[:, i], name == "p_adjusted") for i, row in enumerate(fits[0].asked)
        ]
    table["p_adjusted"] = np.fmax(table["p_adjusted"], table["p_noise"])
    for name in ("lower", "upper"):
        values = np.array([t[name].to_numpy(dtype=float) for t in tables])
        table[f"{name}_moves"] = np.ptp(values, axis=0)
    table["relevance"] = _classes(fits, table, pooling)
    low, high = table["signed_lower"].to_numpy(), table["signed_upper"].to_numpy()
    with np.errstate(invalid="ignore"):
        signs = np.where(low > ZERO, "+", np.where(high < -ZERO, "-", "?"))
    table["direction"] = np.where(tables[0]["direction"] == "", "", signs)
    nearest = int(np.argmin([_distance(t, table) for t in tables]))
    note = _note(tables, nearest)
    return replace(fits[nearest], table=table, notes=(note, *fits[nearest].notes), imputations=tuple(fits))


@dataclass(frozen=True)
class Pooling:
    """What pooling needs: the effect of every tested term, by part and name, and the smallest p-value there can be."""

    effects: Mapping[tuple[str, str], Effect]
    smallest: float

    def pooled(self, key: RowKey, p: FloatArray, adjusted: bool) -> float:
        """Pool the p-values of a row; rows under a term share the effect of the term."""
        effect = self.effects.get((key.part, key.term))
        if effect is None:
            return float(p[0])
        count = sum(part == key.part for part, _ in self.effects) if adjusted else 1
        return combined(p, effect, self.smallest, count)


def _pooling(fits: Sequence[Fitted]) -> Pooling:
    draws = max(fit.noise.permutations for fit in fits)
    # stand-ins have a smaller share of alpha, and their permutations show nothing smaller than this
    return Pooling(_effects(fits), max(1 / (draws + 1), 1 / (STANDIN_DRAWS + 1)) / (1 - SHARE))


def _effects(fits: Sequence[Fitted]) -> dict[tuple[str, str], Effect]:
    """Return the effect of every tested term, by part and name, in each of the data sets."""
    found: dict[tuple[str, str], Effect] = {}
    designs = [fit.design for fit in fits]
    residuals = [fit_smooth(design_response(design), design.adjust).residuals for design in designs]
    for part, block in PART.items():
        terms = [term for term in designs[0].design_terms if term.part == part]
        if terms:
            # the last level of a factor is what the others leave
            own = [term.columns[:-1] if len(term.levels) > 2 else term.columns for term in terms]
            columns = [getattr(design, block) for design in designs]
            effects = pooled_effects(residuals, columns, own)
            found |= {(part, term.name): effect for term, effect in zip(terms, effects, strict=True)}
    return found


def _classes(fits: Sequence[Fitted], table: pd.DataFrame, pooling: Pooling) -> list[str]:
    """Return classes that agree with the combined p-values.

    Strong is what most data sets call so, if its effect beside the other terms holds for all of them together.
    """
    out, alpha = [], fits[0].options.alpha
    for i, q in enumerate(table["p_adjusted"]):
        own = [fit.table["relevance"].iloc[i] for fit in fits]
        key = fits[0].asked[i].key.whole
        each = np.array([fit.noise.own.get(key, 1.0 if fit.noise.own else 0.0) for fit in fits])
        p = pooling.pooled(key, each, True)
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
    shown = shortened([str(name) for name in differ])
    which = (
        f"Classes differ between them for {shown}." if differ else "Every class is the same in all of them."
    )
    return (
        f"{len(tables)} imputed data sets: bounds are medians, p-values are pooled by Rubin's rules, which count what "
        f"the missing values leave open. {which} Predictions and what-ifs are those of data set {nearest + 1}, whose "
        "bounds are nearest to the medians."
    )
