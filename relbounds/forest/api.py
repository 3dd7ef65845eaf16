"""The front door of the non-linear method: ``forest_relevance(formula, data)``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from relbounds.design import Design, make_design
from relbounds.errors import DataError, OptionError
from relbounds.forest.learner import Learner, Problem, lightgbm
from relbounds.forest.options import ForestOptions, make_options
from relbounds.forest.removal import removal_relevance
from relbounds.forest.results import ForestResults
from relbounds.forest.sequential import sequential_relevance
from relbounds.parallel import one_thread
from relbounds.progress import Hook

FEWEST_ROWS = 20


def forest_relevance(
    formula: str,
    data: Any,
    *,
    method: str = "removal",
    family: str = "auto",
    control: str | None = None,
    alpha: float = 0.05,
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
    """Find strongly and weakly relevant terms where the relation need not be a straight line.

    Parameters
    ----------
    formula : str
        ``"grade ~ ."``, as for :func:`relbounds.relbounds`; there is no privileged part.
    data : DataFrame
        One row per observation.
    method : {"removal", "sequential"}
        "removal" judges terms by a permutation test and by the held-out loss without them, one by one and in
        groups of stand-ins; "sequential" is the published method (Boruta, a sparse forest, training loss), with
        its defaults; how its text is read where it is open, and what that reproduces, stands in
        :mod:`relbounds.forest.sequential`.
    family : {"auto", "ordinal", "binary", "regression", "nominal"}
        "auto" takes three or more levels without an order as "nominal".
    control : {"fwer", "fdr", "published"} or None
        What is promised of the terms called relevant: that with a chance of at most `alpha` any of them is noise; that
        at most a share `alpha` of them is, on average; or what prediction intervals of permuted terms (`probes`,
        `level`) say. None is "fwer", for "sequential" always "published".
    alpha : float
        The error allowed. A term is relevant exactly where its `p_adjusted` is not above it; the others are called
        irrelevant: not distinguishable from noise.
    probes : int or None
        Number of permuted terms behind the noise intervals of the loss; None is 30, for "sequential" the published 50.
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
    options = make_options(
        method=method,
        control=control,
        alpha=alpha,
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
    return _analyse(design, options)


def forest_design(design: Design, **options: Any) -> ForestResults:
    """Analyse a design: everything that comes after the formula.

    Parameters
    ----------
    design : Design
        From :func:`relbounds.design.make_design` or :func:`relbounds.design.design_from_arrays`.
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
    return _analyse(design, make_options(**options))


def _analyse(design: Design, options: ForestOptions) -> ForestResults:
    _check_design(design)
    problem = make_problem(design)
    n_levels = 0 if design.levels is None else len(design.levels)
    learner = Learner(design.family, n_levels, trees=options.trees)
    find = removal_relevance if options.method == "removal" else sequential_relevance
    # the fits are many and small, and the numbers must not depend on the thread count
    with one_thread():
        return ForestResults(design, find(problem, learner, options), options)


def make_problem(design: Design) -> Problem:
    """Return the design as arrays whose terms are judged as a whole.

    Examples
    --------
    >>> from relbounds.design import design_from_arrays
    >>> make_problem(design_from_arrays(np.eye(3), [1.0, 2.0, 4.0], family="regression")).units
    ((0,), (1,), (2,))
    """
    units = tuple(term.columns for term in design.design_terms if term.part == "regular")
    y = np.asarray(design.y, dtype=float)
    return Problem(design.X, y, design.weights, units, design.levels, design.cluster)


def _check_design(design: Design) -> None:
    """Refuse what forests have no answer to."""
    for part, columns in (("priv", design.Z), ("adjust", design.adjust)):
        if columns.shape[1]:
            kind = "privileged" if part == "priv" else "adjusting"
            raise OptionError(
                f"forest_relevance() has no {kind} part. Leave out '| {part}(...)', or use relbounds() for it."
            )
    if design.interval is not None or design.times is not None:
        raise OptionError(
            "forest_relevance() cannot use responses that are known as intervals only. Use relbounds() for them."
        )
    if not design.X.shape[1]:
        raise DataError("The formula has no term, so that there is nothing to judge.")
    if len(design.y) < FEWEST_ROWS:
        raise DataError(
            f"{len(design.y)} rows are too few for held-out tests; {FEWEST_ROWS} are the least, "
            "and a hundred or more make sense."
        )
