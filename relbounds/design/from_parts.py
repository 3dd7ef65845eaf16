"""Parts, response and observations put together into a design: what formulas and arrays share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.design.design import Design
from relbounds.design.new_rows import FormulaResponse, NamedResponse
from relbounds.design.part import Part
from relbounds.design.response import Response
from relbounds.design.scales import FloatArray, moments


@dataclass(frozen=True, eq=False)
class Rows:
    """What is known of the rows of a design besides features and response."""

    index: pd.Index
    weights: FloatArray
    cluster: NDArray[np.intp] | None
    cluster_name: str | None
    n_dropped: int


def put_together(
    formula: str,
    parts: Mapping[str, Part],
    response: Response,
    source: FormulaResponse | NamedResponse,
    *,
    rows: Rows,
    notes: tuple[str, ...],
) -> Design:
    """Return the design of parts that are scaled and a response that is read."""
    regular, adjust, privileged = (parts[k] for k in ("regular", "adjust", "privileged"))
    y_center, y_scale = 0.0, 1.0
    if response.levels is None:
        center, scale = moments(response.y[:, None], rows.weights)
        # a response that varies only where nothing counts keeps its unit
        y_center, y_scale = float(center[0]), float(scale[0]) or 1.0
    return Design(
        X=regular.values,
        adjust=adjust.values,
        Z=privileged.values,
        y=response.y,
        weights=rows.weights,
        family=response.family,
        levels=response.levels,
        names=regular.names,
        terms=regular.of_term,
        adjust_names=adjust.names,
        priv_names=privileged.names,
        priv_terms=privileged.of_term,
        design_terms=(*regular.terms, *adjust.terms, *privileged.terms),
        response=response.name,
        formula=formula,
        center=regular.center,
        scale=regular.scale,
        adjust_center=adjust.center,
        adjust_scale=adjust.scale,
        priv_center=privileged.center,
        priv_scale=privileged.scale,
        y_center=y_center,
        y_scale=y_scale,
        cluster=rows.cluster,
        cluster_name=rows.cluster_name,
        interval=response.interval,
        times=response.times,
        cut_times=response.cut_times,
        index=rows.index,
        n_dropped=rows.n_dropped,
        notes=notes,
        _response=response,
        _response_source=source,
        _columns=regular.source,
        _adjust_columns=adjust.source,
        _priv_columns=privileged.source,
    )
