"""The front door of the non-linear method: ``forest_relevance(formula, data)``."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from relbounds.design import Design, make_design
from relbounds.errors import DataError, OptionError, nearest
from relbounds.forest.facts import Settings
from relbounds.forest.learner import Problem, lightgbm
from relbounds.forest.removal import removal_relevance
from relbounds.forest.results import ForestResults
from relbounds.forest.sequential import LEVEL, PROBES, sequential_relevance
from relbounds.progress import Hook

METHODS = {"removal": removal_relevance, "sequential": sequential_relevance}
FEWEST_ROWS = 20


def forest_relevance(
    formula: str,
    data: Any,
    *,
    method: str = "removal",
    family: str = "auto",
    probes: int | None = None,
    level: float | None = None,
    folds: int = 5,
    repeats: int = 2,
    tolerance: float = 0.01,
    stand_in: float = 0.5,
    trees: int = 100,
    params: Mapping[str, Any] | None = None,
    weights: Any = None,
    missing: str = "drop",
    n_jobs: int = 1,
    seed: int = 0,
    progress: bool | Hook | None = None,
) -> ForestResults:
    """Find strongly and weakly relevant features where the relation need not be a straight line.

    Parameters
    ----------
    formula : str
        ``"grade ~ ."``, as for :func:`relbounds.relbounds`; there is no privileged part.
    data : DataFrame
        One row per observation.
    method : {"removal", "sequential"}
        "removal" judges features by the held-out loss without them, one by one and in groups of stand-ins;
        "sequential" is the published method (Boruta, a sparse forest, training loss), with its defaults; how its
        text is read where it is open, and what that reproduces, stands in :mod:`relbounds.forest.sequential`.
    family : {"auto", "ordinal", "binary", "regression", "nominal"}
        "auto" takes three or more levels without an order as "nominal".
    probes : int or None
        Number of permuted features; None is 30, for "sequential" the published 50.
    level : float or None
        Confidence of the noise intervals; None is 0.999, for "sequential" the published 1 - 1e-6.
    folds, repeats : int
        Cross-validation of the held-out loss.
    tolerance : float
        A rise in loss below this share of what all features explain counts as none.
    stand_in : float
        A feature that the forest uses counts as strong if the others explain less than this share of it.
    trees : int
        Trees of each model.
    params : mapping, optional
        LightGBM settings to change, by its names.
    weights : array, str or None
        Case weights, or the name of a column that holds them.
    missing : {"drop", "raise"}
        What to do with rows that have missing values.
    n_jobs : int
        Number of worker processes; the numbers do not depend on it.
    seed : int
        Seed of folds, trees and probes.
    progress : bool or None
        None shows a bar only in a terminal and only when the work is long.

    Returns
    -------
    ForestResults

    Examples
    --------
    >>> import numpy as np, pandas as pd, relbounds as rb
    >>> rng = np.random.default_rng(0)
    >>> data = pd.DataFrame(rng.normal(size=(300, 4)), columns=["a", "b", "c", "d"])
    >>> data["y"] = np.where(data.a * data.b > 0, "yes", "no")
    >>> rb.forest_relevance("y ~ .", data, probes=10, repeats=1).selected("strong")
    ['a', 'b']
    """
    settings = _settings(
        method=method,
        probes=probes,
        level=level,
        folds=folds,
        repeats=repeats,
        tolerance=tolerance,
        stand_in=stand_in,
        trees=trees,
        params=params,
        n_jobs=n_jobs,
        seed=seed,
        progress=progress,
    )
    lightgbm()  # say what is missing before any work is done
    design = make_design(formula, data, family=family, weights=weights, missing=missing, env=1)
    return _analyse(design, method, settings)


def forest_design(design: Design, *, method: str = "removal", **options: Any) -> ForestResults:
    """Analyse a design: everything that comes after the formula.

    Parameters
    ----------
    design : Design
        From :func:`relbounds.design.make_design` or :func:`relbounds.design.design_from_arrays`.
    method : {"removal", "sequential"}
    **options
        Those of :func:`forest_relevance`, but for the ones that shape the design.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.design import design_from_arrays
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> design = design_from_arrays(X, np.abs(X[:, 0]), family="regression")
    >>> forest_design(design, probes=10, repeats=1).selected()
    ['x1']
    """
    known = [name for name in Settings.__dataclass_fields__]
    for name in options:
        if name not in known:
            raise OptionError(
                f"There is no option '{name}'.{nearest(name, known)} The options are: {', '.join(known)}."
            )
    return _analyse(design, method, _settings(method=method, **options))


def _analyse(design: Design, method: str, settings: Settings) -> ForestResults:
    if design.Z.shape[1]:
        raise OptionError(
            "forest_relevance() has no privileged part. Leave out '| priv(...)', or use relbounds() for it."
        )
    if len(design.y) < FEWEST_ROWS:
        raise DataError(
            f"{len(design.y)} rows are too few for held-out tests; {FEWEST_ROWS} are the least, "
            "and a hundred or more make sense."
        )
    if design.levels is not None:
        counts = np.bincount(np.asarray(design.y, dtype=int), minlength=len(design.levels) + 1)[1:]
        rare = [level for level, n in zip(design.levels, counts, strict=True) if n < 2]
        if rare:
            raise DataError(
                f"Level {rare[0]!r} of the response {design.response!r} has a single row; "
                "held-out tests need two. Merge it with another level or drop the row."
            )
    problem = Problem(design.X, np.asarray(design.y, dtype=float), design.weights)
    n_levels = 0 if design.levels is None else len(design.levels)
    # One BLAS thread: the fits are many and small, and the numbers must not depend on the thread count.
    with threadpool_limits(limits=1, user_api="blas"):
        found = METHODS[method](problem, design.family, n_levels, settings)
    return ForestResults(design, found, method, settings)


def _settings(*, method: str, **given: Any) -> Settings:
    if method not in METHODS:
        words = " or ".join(map(repr, METHODS))
        raise OptionError(f"method={method!r} is not known; use {words}.{nearest(str(method), METHODS)}")
    published = method == "sequential"
    if given.get("probes") is None:
        given["probes"] = PROBES if published else Settings.probes
    if given.get("level") is None:
        given["level"] = LEVEL if published else Settings.level
    for name, least in (("probes", 2), ("folds", 2), ("repeats", 1), ("trees", 1), ("seed", 0)):
        if name in given:
            given[name] = _whole(name, given[name], least)
    for name in ("level", "stand_in"):
        if name in given and not (_number(given[name]) and 0 < given[name] < 1):
            raise OptionError(f"{name}={given[name]!r} must lie strictly between 0 and 1.")
    if "tolerance" in given and not (_number(given["tolerance"]) and 0 <= given["tolerance"] < 1):
        raise OptionError(f"tolerance={given['tolerance']!r} must be 0 or more and below 1.")
    jobs = given.get("n_jobs", 1)
    if isinstance(jobs, float) and jobs.is_integer():
        jobs = given["n_jobs"] = int(jobs)
    if not isinstance(jobs, numbers.Integral) or isinstance(jobs, bool) or jobs == 0:
        raise OptionError(f"n_jobs={jobs!r} must be a whole number other than 0; -1 uses all cores.")
    params = given.get("params") or ()
    if params and not isinstance(params, Mapping | tuple):
        raise OptionError("params must map LightGBM's setting names to values, such as {'max_depth': 4}.")
    given["params"] = tuple(dict(params).items())
    return Settings(**given)


def _number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # R hands over whole numbers as doubles
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise OptionError(f"{name}={value!r} must be a whole number, {least} or more.")
    return int(value)
