"""The front door: ``relbounds(formula, data)``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
from patsy import EvalEnvironment

from relbounds.design import Design, make_design
from relbounds.errors import DataError, RelboundsError
from relbounds.linear.fitted import Fitted
from relbounds.linear.imputed import fit_imputed
from relbounds.linear.privileged.fit import fit_any
from relbounds.options import make_options
from relbounds.parallel import no_collecting, one_thread
from relbounds.progress import Hook
from relbounds.results import RelboundsResults


def relbounds(
    formula: str,
    data: Any,
    *,
    family: str = "auto",
    order: str = "auto",
    balance: bool = True,
    C: float | Sequence[float] | None = None,
    gamma: float | Sequence[float] | None = None,
    epsilon: float | Sequence[float] | None = None,
    delta: float | str = "resample",
    tolerance: str = "split",
    control: str = "fwer",
    alpha: float = 0.05,
    probes: int = 50,
    level: float = 0.999,
    interval: str = "t",
    standardize: bool = True,
    weights: Any = None,
    frequency: Any = None,
    cluster: Any = None,
    cv: int = 5,
    rule: str = "best",
    privileged: str = "auto",
    residual: float | str = math.inf,
    correcting: str = "sides",
    missing: str = "drop",
    screen: bool | None = None,
    bounds: bool = True,
    solver: str = "auto",
    n_jobs: int = 1,
    client: Any = None,
    seed: int = 0,
    progress: bool | Hook | None = None,
    safe: bool = False,
) -> RelboundsResults:
    """Compute the relevance interval of every term of a formula.

    Parameters
    ----------
    formula : str
        ``"grade ~ x1 + log(x2) + C(site) | adjust(sex) | priv(z1, z2)"``: everything patsy understands, ``.`` for all
        other columns; after ``|`` covariates that every model has, and privileged features, known for training rows
        only. The response may also be ``between(lo, hi)`` or ``Surv(time, status)``.
    data : DataFrame, or a list or dict of DataFrames
        One row per observation. Several completed data sets of multiple imputation give one pooled result.
    family : {"auto", "ordinal", "binary", "regression", "nominal", "survival"}
        "auto" goes by the response: ordered categories or few integers, two levels, numbers, unordered levels.
    order : {"auto", "explicit", "implicit"}
        Ordinal responses: thresholds kept in order by constraints between neighbouring levels, or by letting
        every observation count at every threshold; "auto" takes whichever predicts better, ties going to the former.
    balance : bool
        Both sides of every threshold weigh the same, so that unequal levels do not make the model a constant.
    C : float, sequence of float, or None
        The price of a unit of loss. None tunes it by cross-validation, a sequence is the grid to choose from.
    gamma : float, sequence of float, or None
        The weight of the privileged features' norm, likewise.
    epsilon : float, sequence of float, or None
        Regression: half the width of the tube in which errors cost nothing, likewise.
    delta : {"resample", "resample90", "1se", "2se"} or float
        How much worse than the best an equivalent model may be: as much as models of resampled data are (the 0.68 or
        0.9 quantile), one or two standard errors of the best loss, or a relative tolerance.
    tolerance : {"split", "joint"}
        Whether norm and loss have a budget each, or share one.
    control : {"fwer", "fdr", "published"}
        What is promised of the terms called relevant: with probability 1 - alpha none of them is noise; the expected
        share of noise among them is at most alpha; or the papers' threshold, where `probes`, `level` and `interval`
        hold.
    alpha : float
        The error rate that is promised.
    probes : int
        ``control="published"``: the number of permuted features that show how relevant noise can look.
    level : float
        Likewise: confidence of the noise threshold.
    interval : {"t", "order"}
        Likewise: noise threshold by Student's t distribution, as published, or by order statistics of the probes.
    standardize : bool
        Bring every feature to mean 0 and standard deviation 1.
    weights : array, str or None
        Importance weights of the rows, or the name of a column that holds them.
    frequency : array, str or None
        How many observations each row stands for, or the name of a column that holds it.
    cluster : array, str or None
        Which rows belong together (patients, centres), or the name of a column that says so.
    cv : int
        Number of cross-validation folds.
    rule : {"best", "1se"}
        Take the best C, or the smallest within one standard error of it.
    privileged : {"auto", "slack", "teacher"}
        How privileged features help: they model the slacks, or teach the weights of the training rows; "auto" takes
        whichever predicts best, leaving them out included.
    residual : float or "auto"
        The price of slack that the privileged features do not explain; infinite in the published model.
    correcting : {"sides", "shared"}
        Binary responses: one correcting function per side or one for both.
    missing : {"drop", "raise"}
        What to do with rows that have missing values.
    screen : bool or None
        Bound terms that scores do not tell from noise only down to twice what noise reaches: it is proved that no
        equivalent model uses them more than their limit, and their upper bound reads "<=" ("at most"; True in the
        table's column `screened`).
        None does so with more than 120 rows, False never.
    bounds : bool
        False fits and predicts only: no bounds, no classes.
    solver : {"auto", "cvxopt", "batch", "highs"}
        Which linear programming engine; the numbers are the same whichever. "auto" solves all programs of a fit
        in one batch and hands what it cannot certify to CVXOPT.
    n_jobs : int
        Number of worker processes; the numbers do not depend on it.
    client : dask.distributed.Client or None
        A Dask cluster to work on.
    seed : int
        Seed of folds, resamples and permutations.
    progress : bool, callable or None
        None shows a bar only in a terminal and only when the work is long; a callable gets the stage, what is done
        and what there is in all.
    safe : bool
        Refuse formulas that call anything but a list of known functions.

    Returns
    -------
    RelboundsResults

    Examples
    --------
    >>> import relbounds as rb
    >>> simulated = rb.simulate.paper_set(3, seed=1)
    >>> fit = rb.relbounds("y ~ .", simulated.data)
    >>> fit.selected("strong")
    ['x1', 'x2', 'x3']
    """
    options = make_options(
        order=order,
        balance=balance,
        C=C,
        gamma=gamma,
        epsilon=epsilon,
        delta=delta,
        tolerance=tolerance,
        control=control,
        alpha=alpha,
        probes=probes,
        level=level,
        interval=interval,
        cv=cv,
        rule=rule,
        privileged=privileged,
        residual=residual,
        correcting=correcting,
        screen=screen,
        bounds=bounds,
        solver=solver,
        n_jobs=n_jobs,
        client=client,
        seed=seed,
        progress=progress,
    )
    env = EvalEnvironment.capture(1)
    designs = []
    for number, one in enumerate(completed(data), start=1):
        try:
            with no_collecting():
                design = make_design(
                    formula,
                    one,
                    family=family,
                    weights=weights,
                    frequency=frequency,
                    cluster=cluster,
                    missing=missing,
                    standardize=standardize,
                    safe=safe,
                    env=env,
                )
        except RelboundsError as error:
            if number == 1:
                raise
            raise DataError(f"Data set {number}: {error}") from error
        designs.append(design)
    if len(designs) == 1:
        return fit_design(designs[0], **options.as_dict())
    with one_thread():
        return _results(fit_imputed(designs, options))


def completed(data: Any) -> list[Any]:
    """Return the completed data sets that the data hold: several where they were imputed, one otherwise.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [1, 2]})
    >>> len(completed([frame, frame])), len(completed(frame)), len(completed({"x": [1, 2]}))
    (2, 1, 1)
    """
    several = list(data.values()) if isinstance(data, Mapping) else data
    if isinstance(several, list | tuple) and not several:
        raise DataError(
            "The list is empty. Give a DataFrame, or several completed ones of multiple imputation."
        )
    if isinstance(several, list | tuple) and several and all(_is_table(one) for one in several):
        return list(several)
    return [data]


def _is_table(value: Any) -> bool:
    return isinstance(value, pd.DataFrame) or (hasattr(value, "to_pandas") and hasattr(value, "columns"))


def fit_design(design: Design, **options: Any) -> RelboundsResults:
    """Fit a design: everything that comes after the formula.

    Parameters
    ----------
    design : Design
        From :func:`relbounds.design.make_design` or :func:`relbounds.design.design_from_arrays`.
    **options
        Those of :func:`relbounds`, but for the ones that shape the design.

    Returns
    -------
    RelboundsResults

    Examples
    --------
    >>> import relbounds as rb
    >>> from relbounds.design import make_design
    >>> simulated = rb.simulate.paper_set(3, seed=1)
    >>> fit_design(make_design("y ~ .", simulated.data), C=1.0).selected("strong")
    ['x1', 'x2', 'x3']
    """
    checked = make_options(**options)
    # One BLAS thread: the programs are many and small, and the numbers must not depend on the thread count.
    with one_thread():
        fitted = fit_any(design, checked)
    return _results(fitted)


def _results(fitted: Fitted) -> RelboundsResults:
    # a cluster is for this fit; what is kept must outlive it
    return RelboundsResults(replace(fitted, options=fitted.options.replace(client=None)))
