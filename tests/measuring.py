"""Signed ranges of single variables, as tests ask for them."""

from types import SimpleNamespace

import numpy as np

from relbounds.linear.asked import Asked, RowKey, size_of
from relbounds.linear.ranges import measure
from relbounds.options import Options


def signed_ranges(polytope, variables, options=None):
    """Return lower and upper ends and gaps of some variables over a polytope."""
    asked = [Asked(RowKey("regular", str(j)), str(j), "term", (size_of(int(j)),)) for j in variables]
    found = measure([polytope], asked, options or Options(progress=False))
    return SimpleNamespace(lower=found.signed_lower, upper=found.signed_upper, gap=found.gap)


def relevance(lower, upper):
    """Turn signed ranges into least and greatest absolute values."""
    least = np.where((lower <= 0) & (upper >= 0), 0.0, np.minimum(np.abs(lower), np.abs(upper)))
    return least, np.maximum(np.abs(lower), np.abs(upper))
