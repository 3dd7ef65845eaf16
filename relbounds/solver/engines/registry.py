"""Which engines there are: every module of this folder that declares an `ENGINE`.

A new engine is one file here with a function from a polytope and directions to an
:class:`~relbounds.solver.engines.answer.Answer`, and a line ``ENGINE = Engine("name", function, then=(...))``.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import relbounds.solver.engines as folder
from relbounds.errors import OptionError, nearest
from relbounds.solver.engines.answer import Answer
from relbounds.solver.polytope import Polytope

# The engine that answers first where none is asked for.
AUTO = "batch"


@dataclass(frozen=True)
class Engine:
    """A way to push along directions.

    Parameters
    ----------
    name : str
        What users call it.
    push : callable
        From a polytope and directions (k, q) to an Answer.
    then : tuple of str
        The engines to ask next, where its certificates leave a gap.

    Examples
    --------
    >>> find_engine("batch").then
    ('simplex', 'cvxopt')
    """

    name: str
    push: Callable[[Polytope, np.ndarray], Answer]
    then: tuple[str, ...] = ()


def all_engines() -> dict[str, Engine]:
    """Return the engines by name.

    Examples
    --------
    >>> sorted(all_engines())
    ['batch', 'cvxopt', 'highs', 'simplex']
    """
    found = {}
    for module in pkgutil.iter_modules(folder.__path__):
        engine = getattr(importlib.import_module(f"{folder.__name__}.{module.name}"), "ENGINE", None)
        if engine is not None:
            found[engine.name] = engine
    return found


def find_engine(solver: str) -> Engine:
    """Return the engine of a name, or raise OptionError.

    Examples
    --------
    >>> find_engine("auto").name
    'batch'
    """
    engines = all_engines()
    name = AUTO if solver == "auto" else solver
    if name not in engines:
        known = ("auto", *engines)
        raise OptionError(f"solver={solver!r} is not one of {', '.join(known)}.{nearest(str(solver), known)}")
    return engines[name]


def engines_for(solver: str) -> list[Engine]:
    """Return the engines to ask, the first one first.

    Examples
    --------
    >>> [engine.name for engine in engines_for("highs")]
    ['highs', 'batch', 'simplex', 'cvxopt']
    """
    first = find_engine(solver)
    return [first, *(find_engine(name) for name in first.then)]
