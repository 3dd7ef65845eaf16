"""Questions that compare bounds need them all exact: rows that read "at most" are worked out first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from threadpoolctl import threadpool_limits

from relbounds.linear.at_most import exactly
from relbounds.linear.fitted import Fitted


def with_exact_bounds(fitted: Fitted) -> Fitted:
    """Return a fit whose bounds are all exact; the fit itself where they are."""
    rows = np.flatnonzero(fitted.measured.at_most)
    if not rows.size or len(fitted.polytopes) != 1:
        return fitted
    with threadpool_limits(limits=1, user_api="blas"):
        measured = exactly(fitted.measured, fitted.polytopes[0], fitted.asked, rows.tolist(), fitted.options)
    table = fitted.table.drop(columns="screened")
    for name in ("lower", "upper", "signed_lower", "signed_upper"):
        table[name] = getattr(measured, name) / fitted.norm
    return replace(fitted, measured=measured, table=table)
