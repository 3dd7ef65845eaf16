"""Which variables matter in every equally good model, in some, or in none.

Names load what they need when they are first asked for, so that importing the package takes no time to speak of.

Examples
--------
>>> import relbounds as rb
>>> simulated = rb.simulate.paper_set(3, seed=1)
>>> fit = rb.relbounds("y ~ .", simulated.data, C=1.0, probes=20)
>>> fit.selected("strong")
['x1', 'x2', 'x3']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from relbounds.errors import (
    DataError,
    FormulaError,
    InfeasibleError,
    MissingExtraError,
    OptionError,
    OutputError,
    RelboundsError,
    RelboundsWarning,
    SolverError,
    WorkerError,
)
from relbounds.version import __version__

if TYPE_CHECKING:
    from relbounds import datasets, metrics, simulate
    from relbounds.api import fit_design, relbounds
    from relbounds.forest import ForestResults, forest_relevance
    from relbounds.kernel import SvorResults, svor
    from relbounds.options import published
    from relbounds.results import RelboundsResults, load
    from relbounds.show.comparison import Comparison, compare_fits

# Where the public names are that are loaded on demand; None: the name is itself a module of the package.
_HOMES = {
    "published": "options",
    "Comparison": "show.comparison",
    "ForestResults": "forest",
    "RelboundsResults": "results",
    "SvorResults": "kernel",
    "compare_fits": "show.comparison",
    "datasets": None,
    "fit_design": "api",
    "forest_relevance": "forest",
    "load": "results",
    "metrics": None,
    "relbounds": "api",
    "simulate": None,
    "svor": "kernel",
}

__all__ = [
    "Comparison",
    "DataError",
    "ForestResults",
    "FormulaError",
    "InfeasibleError",
    "MissingExtraError",
    "OptionError",
    "OutputError",
    "RelboundsError",
    "RelboundsResults",
    "RelboundsWarning",
    "SolverError",
    "SvorResults",
    "WorkerError",
    "__version__",
    "compare_fits",
    "datasets",
    "fit_design",
    "forest_relevance",
    "load",
    "metrics",
    "published",
    "relbounds",
    "simulate",
    "svor",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'relbounds' has no attribute {name!r}", name=name, obj=None)
    home = _HOMES[name]
    if home is None:
        return import_module(f"relbounds.{name}")
    found = getattr(import_module(f"relbounds.{home}"), name)
    globals()[name] = found  # asked for once
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
