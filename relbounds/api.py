"""The front door: ``relbounds(formula, data)``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from relbounds.design import Design, make_design
from relbounds.linear.privileged.fit import fit_any
from relbounds.options import make_options
from relbounds.parallel import one_thread
from relbounds.progress import Hook
from relbounds.results import RelboundsResults


def relbounds(
    formula: str,
    data: Any,
    *,
    family: str = "auto",
    order: str = "explicit",
    C: float | Sequence[float] | None = None,
    gamma: float | Sequence[float] | None = None,
    epsilon: float | Sequence[float] | None = None,
    delta: float | str = "1se",
    tolerance: str = "split",
    probes: int = 50,
    level: float = 0.999,
    interval: str = "t",
    standardize: bool = True,
    weights: Any = None,
    cv: int = 5,
    rule: str = "best",
    privileged: str = "slack",
    residual: float | str = math.inf,
    correcting: str = "sides",
    missing: str = "drop",
    screen: bool | None = None,
    solver: str = "auto",
    n_jobs: int = 1,
    client: Any = None,
    seed: int = 0,
    progress: bool | Hook | None = None,
) -> RelboundsResults:
    """Compute the relevance interval of every feature of a formula.

    Parameters
    ----------
    formula : str
        ``"grade ~ x1 + log(x2) + C(site) | priv(z1, z2)"``: everything patsy understands, ``.`` for all other
        columns, and after ``|`` the privileged features, known for training rows only.
    data : DataFrame
        One row per observation.
    family : {"auto", "ordinal", "binary", "regression"}
        "auto" goes by the response: ordered categories or few integers, two levels, or numbers.
    order : {"explicit", "implicit"}
        Ordinal responses: thresholds kept in order by constraints between neighbouring levels, or by letting
        every sample count at every threshold.
    C : float, sequence of float, or None
        The price of a unit of loss. None tunes it by cross-validation, a sequence is the grid to choose from.
    gamma : float, sequence of float, or None
        The weight of the privileged features' norm, likewise.
    epsilon : float, sequence of float, or None
        Regression: half the width of the tube in which errors cost nothing, likewise.
    delta : {"1se", "2se"} or float
        How much worse than the best an equivalent model may be: one or two standard errors of the best loss,
        or a relative tolerance.
    tolerance : {"split", "joint"}
        Whether norm and loss have a budget each, or share one.
    probes : int
        The number of permuted features that show how relevant noise can look.
    level : float
        Confidence of the noise threshold.
    interval : {"t", "order", "refit"}
        Noise threshold by Student's t distribution, as published, or by order statistics of the probes. "refit" is
        stricter and takes two to three times as long: features must also stand out from noise that the model was
        fitted to, correlations among the noise included; use it where features are correlated or the model
        predicts badly.
    standardize : bool
        Bring every feature to mean 0 and standard deviation 1.
    weights : array, str or None
        Case weights, or the name of a column that holds them.
    cv : int
        Number of cross-validation folds.
    rule : {"best", "1se"}
        Take the best C, or the smallest within one standard error of it.
    privileged : {"slack", "teacher"}
        How privileged features help: they model the slacks, or teach the weights of the training rows.
    residual : float or "auto"
        The price of slack that the privileged features do not explain; infinite in the published model.
    correcting : {"sides", "shared"}
        Binary responses: one correcting function per side or one for both.
    missing : {"drop", "raise"}
        What to do with rows that have missing values.
    screen : bool or None
        Skip the linear programs of features that a cheap bound already shows to be irrelevant; None does so
        beyond 1000 features.
    solver : {"auto", "cvxopt", "batch", "highs"}
        Which linear programming engine; the numbers are the same whichever. "auto" solves all programs of a fit
        in one batch and hands what it cannot certify to CVXOPT.
    n_jobs : int
        Number of worker processes; the numbers do not depend on it.
    client : dask.distributed.Client or None
        A Dask cluster to work on.
    seed : int
        Seed of folds and probes.
    progress : bool, callable or None
        None shows a bar only in a terminal and only when the work is long; a function is called with the stage's
        name, the pieces done and their number.

    Returns
    -------
    RelboundsResults

    Examples
    --------
    >>> import relbounds as rb
    >>> simulated = rb.simulate.paper_set(3, seed=1)
    >>> fit = rb.relbounds("y ~ .", simulated.data, C=1.0, probes=20)
    >>> fit.selected("strong")
    ['x1', 'x2', 'x3']
    """
    options = make_options(
        order=order,
        C=C,
        gamma=gamma,
        epsilon=epsilon,
        delta=delta,
        tolerance=tolerance,
        probes=probes,
        level=level,
        interval=interval,
        cv=cv,
        rule=rule,
        privileged=privileged,
        residual=residual,
        correcting=correcting,
        screen=screen,
        solver=solver,
        n_jobs=n_jobs,
        client=client,
        seed=seed,
        progress=progress,
    )
    design = make_design(
        formula, data, family=family, weights=weights, missing=missing, standardize=standardize, env=1
    )
    return fit_design(design, **options.as_dict())


def fit_design(design: Design, **options: Any) -> RelboundsResults:
    """Fit a design: everything that comes after the formula.

    Parameters
    ----------
    design : Design
        From :func:`relbounds.design.make_design` or :func:`relbounds.design.design_from_arrays`.
    **options
        Those of :func:`relbounds`, but for the ones that shape the design.

    Examples
    --------
    >>> import relbounds as rb
    >>> from relbounds.design import make_design
    >>> simulated = rb.simulate.paper_set(3, seed=1)
    >>> fit_design(make_design("y ~ .", simulated.data), C=1.0, probes=20).selected("strong")
    ['x1', 'x2', 'x3']
    """
    checked = make_options(**options)
    # One BLAS thread: the programs are many and small, and the numbers must not depend on the thread count.
    with one_thread():
        fitted = fit_any(design, checked)
    # a cluster is for this fit; what is kept must outlive it
    return RelboundsResults(replace(fitted, options=fitted.options.replace(client=None)))
