"""One part of a design (regular, adjusting or privileged features): its columns scaled, its terms described."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from relbounds.design.design_terms import DesignTerm
from relbounds.design.new_rows import ArrayColumns, FormulaColumns, refuse_infinite
from relbounds.design.scales import FloatArray, factor_scale, moments, shared_scale, varying
from relbounds.design.term_columns import TermShape, pair_title
from relbounds.errors import DataError, listed

# An adjusting column is a combination of others when so little of it, relative to its size, is its own.
DEPENDENT = 1e-9
_WORDS = {"regular": "feature", "adjust": "adjusting covariate", "privileged": "privileged feature"}
_ADVICE = {
    "regular": "Name features that vary between rows.",
    "adjust": "Name covariates that vary between rows, or remove '| adjust(...)'.",
    "privileged": "Name privileged features that vary between rows, or remove '| priv(...)'.",
}


@dataclass(frozen=True, eq=False)
class Part:
    """The columns of one part, scaled, with their names, terms and how to get them for new rows."""

    values: FloatArray
    terms: tuple[DesignTerm, ...]
    names: tuple[str, ...]
    of_term: tuple[str, ...]
    center: FloatArray
    scale: FloatArray
    source: FormulaColumns | ArrayColumns
    notes: tuple[str, ...]


def make_part(
    part: str,
    source: FormulaColumns | ArrayColumns,
    shapes: Sequence[TermShape],
    raw: FloatArray,
    *,
    weights: FloatArray,
    standardize: bool,
) -> Part:
    """Drop what is constant, scale the rest by the terms' kinds, and describe the terms."""
    refuse_infinite(raw, [name for shape in shapes for name in shape.names], "data")
    mean, sd = moments(raw, weights)
    kept, columns, constant = _varying(shapes, varying(raw, sd))
    notes = []
    if constant:
        word = _WORDS[part]
        if not kept:
            raise DataError(f"Every {word} is constant ({listed(constant)}). {_ADVICE[part]}")
        notes.append(f"Constant {word}{'s' * (len(constant) > 1)} left out: {listed(constant)}.")
    if part == "adjust":
        kept, columns, dependent = _independent(kept, columns, raw)
        if dependent:
            notes.append(f"Adjusting columns left out, since others determine them: {listed(dependent)}.")
    values, mean, sd = raw[:, columns], mean[columns], sd[columns]
    center, scale = (mean, _scales(kept, sd)) if standardize else (np.zeros(len(mean)), np.ones(len(mean)))
    return Part(
        values=(values - center) / scale,
        terms=_described(part, kept, mean),
        names=tuple(name for shape in kept for name in shape.names),
        of_term=tuple(shape.name for shape in kept for _ in shape.names),
        center=center,
        scale=scale,
        source=source.only(columns),
        notes=tuple(notes),
    )


def _varying(
    shapes: Sequence[TermShape], moving: NDArray[np.bool_]
) -> tuple[list[TermShape], list[int], list[str]]:
    """Return the terms that vary, their columns, and the names of what is constant.

    A factor keeps all its levels or none: one that hardly counts is still a level.
    """
    kept, columns, constant, start = [], [], [], 0
    for shape in shapes:
        mine = [k for k in range(len(shape.names)) if moving[start + k]]
        if mine and shape.kind == "factor":
            mine = list(range(len(shape.names)))
        if mine:
            kept.append(shape.only(mine))
            columns += [start + k for k in mine]
            constant += [name for k, name in enumerate(shape.names) if k not in mine]
        else:
            constant.append(shape.title)
        start += len(shape.names)
    return kept, columns, constant


def _independent(
    shapes: Sequence[TermShape], columns: Sequence[int], raw: FloatArray
) -> tuple[list[TermShape], list[int], list[str]]:
    """Return terms without the columns that others determine: they have no price, so each must count for itself.

    A factor is shown against its first level.
    """
    basis = np.ones((len(raw), 1)) / np.sqrt(len(raw))
    kept: list[TermShape] = []
    left: list[int] = []
    dependent: list[str] = []
    start = 0
    for shape in shapes:
        mine = []
        names = _against_first(shape)
        for k in range(shape.kind == "factor", len(shape.names)):
            column = raw[:, columns[start + k]]
            column = column / np.abs(column).max()
            rest = column - column.mean()
            size = np.linalg.norm(rest)
            for _ in range(2):  # twice is enough to be orthogonal to rounding
                rest = rest - basis @ (basis.T @ rest)
            if np.linalg.norm(rest) > DEPENDENT * size:
                mine.append(k)
                basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
            else:
                dependent.append(names[k])
        if mine:
            free = replace(shape, kind="columns" if shape.kind == "factor" else shape.kind, names=names)
            kept.append(free.only(mine) if len(mine) < len(names) else free)
            left += [columns[start + k] for k in mine]
        start += len(shape.names)
    return kept, left, dependent


def _against_first(shape: TermShape) -> tuple[str, ...]:
    if shape.kind != "factor":
        return shape.names
    stem = shape.names[0].partition("[")[0]
    return tuple(pair_title(stem, (shape.levels[0], level)) for level in shape.levels)


def _scales(shapes: Sequence[TermShape], sd: FloatArray) -> FloatArray:
    out, start = [], 0
    for shape in shapes:
        own = sd[start : start + len(shape.names)]
        start += len(own)
        if shape.kind == "factor":
            out.append(np.full(len(own), factor_scale(own)))
        else:
            out.append(shared_scale(own, shape.numbers) if shape.kind == "columns" else own)
    return np.concatenate(out) if out else np.zeros(0)


def _described(part: str, shapes: Sequence[TermShape], mean: FloatArray) -> tuple[DesignTerm, ...]:
    """Describe the terms; the mean of a level's 0/1 column is its share."""
    out, start = [], 0
    for shape in shapes:
        columns = tuple(range(start, start + len(shape.names)))
        start += len(columns)
        shares = tuple(float(mean[j]) for j in columns)
        shares = {"pair": (1 - shares[0], *shares), "factor": shares}.get(shape.kind, ())
        levels = shape.levels if shares else ()
        out.append(
            DesignTerm(
                name=shape.name,
                part=part,
                kind=shape.kind,
                columns=columns,
                labels=shape.names,
                levels=levels,
                ordered=shape.ordered and bool(levels),
                shares=shares,
                variables=shape.variables,
                title=shape.title,
            )
        )
    return tuple(out)
