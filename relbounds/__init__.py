"""Which variables matter in every equally good model, in some, or in none.

Examples
--------
>>> import relbounds as rb
>>> simulated = rb.simulate.paper_set(3, seed=1)
>>> fit = rb.relbounds("y ~ .", simulated.data, C=1.0, probes=20)
>>> fit.selected("strong")
['x1', 'x2', 'x3']
"""

from relbounds import datasets, metrics, simulate
from relbounds.api import fit_design, relbounds
from relbounds.errors import (
    DataError,
    FormulaError,
    InfeasibleError,
    MissingExtraError,
    OptionError,
    RelboundsError,
    RelboundsWarning,
    SolverError,
)
from relbounds.forest import ForestResults, forest_relevance
from relbounds.kernel import SvorResults, svor
from relbounds.results import RelboundsResults, load
from relbounds.show.comparison import Comparison, compare

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "DataError",
    "ForestResults",
    "FormulaError",
    "InfeasibleError",
    "MissingExtraError",
    "OptionError",
    "RelboundsError",
    "RelboundsResults",
    "RelboundsWarning",
    "SolverError",
    "SvorResults",
    "compare",
    "datasets",
    "fit_design",
    "forest_relevance",
    "load",
    "metrics",
    "relbounds",
    "simulate",
    "svor",
]
