"""The front door of the kernel models: ``svor(formula, data)``."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from relbounds.design import Design, make_design
from relbounds.errors import DataError, OptionError
from relbounds.kernel.kernels import check_matrix
from relbounds.kernel.machine import Setting, check_setting, fit_machine
from relbounds.kernel.results import SvorResults
from relbounds.kernel.tuning import TUNED, Arrays, tune
from relbounds.progress import Hook


def svor(
    formula: str,
    data: Any,
    *,
    order: str | None = None,
    kernel: Any = "rbf",
    C: float | Sequence[float] | None = None,
    width: float | Sequence[float] | None = None,
    slack: str | None = None,
    mix: float | Sequence[float] = 0.5,
    slack_kernel: Any = "rbf",
    slack_width: float | Sequence[float] | None = None,
    gamma: float | Sequence[float] = 1.0,
    cost: Any = None,
    weights: Any = None,
    score: str = "mmae",
    cv: int = 5,
    solver: str = "auto",
    tol: float = 1e-3,
    standardize: bool = True,
    missing: str = "drop",
    n_jobs: int = 1,
    seed: int = 0,
    progress: bool | Hook | None = None,
) -> SvorResults:
    """Fit a support vector ordinal regression, linear or with a kernel.

    One function f and thresholds between the levels: a row is predicted to be of the level between whose
    thresholds its f lies. The margin is the L2 one; two levels give the support vector machine.

    Parameters
    ----------
    formula : str
        As for :func:`relbounds.relbounds`; a part ``| priv(...)`` holds features known for training rows
        only.
    data : DataFrame
        One row per observation. The response must have levels: ordered categories, integers, or two values.
    order : {"explicit", "implicit", "none"} or None
        Thresholds kept in order by constraints, each between its two neighbouring levels; or by letting
        every sample count at every threshold; or not at all (for comparison: the thresholds may come out
        disordered). None: "explicit" with free slacks, "implicit" with modelled or mixed ones, which were
        made for it.
    kernel : {"linear", "rbf"}, function, or array
        "rbf" is ``exp(-|x - x'|^2 / (2 width^2))``. A function takes two arrays of features and returns the
        matrix of kernel values. An array is the kernel matrix itself, one row and column per row of `data`;
        the features of the formula then serve for nothing, and predictions need kernel values too.
    C : float, sequence of float, or None
        The price of slack. None searches 0.001 .. 1000, coarse then fine; a sequence is the grid to choose
        from.
    width : float, sequence of float, or None
        The width of the rbf kernel, likewise (None searches 0.03 .. 32).
    slack : {"free", "modelled", "mixed"} or None
        Slacks as free numbers; as smooth functions of the privileged features, or of the features where
        there are no privileged ones; or a mixture of both, from which the margin is recovered. None:
        "modelled" with a privileged part, else "free".
    mix : float or sequence of float
        Weight of the modelled slacks in the mixture, 0 to 1; a sequence is a grid.
    slack_kernel, slack_width
        The kernel of the functions that model the slacks, and its width (None: `width`, or 1 for a linear
        kernel); a sequence of widths is a grid.
    gamma : float or sequence of float
        The price of the norm of those functions; a sequence is a grid.
    cost : array (L, L), optional
        What it costs to predict level l when the truth is k, for ``order="implicit"``; the default is |k -
        l|. Rows must not fall away from the diagonal.
    weights : array, str or None
        Case weights, or the name of a column that holds them.
    score : {"mmae", "mae", "mze"}
        What cross-validation minimises.
    cv : int
        Number of folds.
    solver : {"auto", "smo", "qp"}
        SMO (compiled, needs the extra `fast`), or CVXOPT's quadratic programming. "auto": SMO where it can be
        had, with the other for small data on which it takes long. Modelled slacks always use the latter.
    tol : float
        How far SMO may leave the optimality conditions violated, in units of the margin.
    standardize, missing, n_jobs, seed, progress
        As for :func:`relbounds.relbounds`.

    Returns
    -------
    SvorResults

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1).data
    >>> fit = rb.svor("y ~ .", data, kernel="linear", C=1.0)
    >>> fit.score(metric="mze") < 0.1
    True
    """
    matrix = None if isinstance(kernel, str) or callable(kernel) else np.asarray(kernel, dtype=float)
    if isinstance(kernel, str) and kernel == "precomputed":
        raise OptionError(
            "kernel='precomputed': give the kernel matrix itself, e.g. svor(formula, data, kernel=K)."
        )
    if matrix is not None:
        data = pd.DataFrame(data).reset_index(drop=True)  # so that the index tells which rows were kept
    design = make_design(
        formula, data, family="ordinal", weights=weights, missing=missing, standardize=standardize, env=1
    )
    kept = None
    if matrix is not None:
        matrix = check_matrix(matrix, len(data))
        kept = design.index.to_numpy()
        matrix = matrix[np.ix_(kept, kept)]
    fit = fit_svor(
        design,
        order=order,
        kernel="precomputed" if matrix is not None else kernel,
        C=C,
        width=width,
        slack=slack,
        mix=mix,
        slack_kernel=slack_kernel,
        slack_width=slack_width,
        gamma=gamma,
        cost=cost,
        score=score,
        cv=cv,
        solver=solver,
        tol=tol,
        n_jobs=n_jobs,
        seed=seed,
        progress=progress,
        K=matrix,
    )
    if kept is not None:
        fit.options.update(rows_kept=kept, rows_given=len(data))
    return fit


def fit_svor(
    design: Design,
    *,
    K: np.ndarray | None = None,
    slack: str | None = None,
    score: str = "mmae",
    cv: int = 5,
    n_jobs: int = 1,
    seed: int = 0,
    progress: bool | Hook | None = None,
    **options: Any,
) -> SvorResults:
    """Fit a design: everything of :func:`svor` after the formula.

    Examples
    --------
    >>> from relbounds.design import design_from_arrays
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> design = design_from_arrays(X, [1, 1, 2, 2], names=["x"], levels=["low", "high"])
    >>> fit_svor(design, kernel="linear", C=10.0, solver="qp").predict().tolist()
    ['low', 'low', 'high', 'high']
    """
    if design.levels is None:
        raise DataError(
            f"The response {design.response!r} is a number without levels. Cut it into levels first, e.g. "
            f"pandas.qcut(data[{design.response!r}], 5, labels=False)."
        )
    if slack is None:
        slack = "modelled" if design.Z.shape[1] else "free"
    if options.get("order") is None:
        options["order"] = "explicit" if slack == "free" and options.get("cost") is None else "implicit"
    _check_search(cv, seed, n_jobs)
    cost = options.pop("cost", None)
    given = {name: _number_or_grid(name, options.pop(name, None)) for name in TUNED}
    fixed = {name: value for name, value in given.items() if value is not None and np.ndim(value) == 0}
    for name, value in given.items():  # a bad value in a grid should not wait for its turn to be found
        if value is not None:
            for v in np.ravel(value):
                check_setting(Setting(slack="mixed", order="implicit").replace(**{name: float(v)}))
    setting = Setting(
        slack=slack, cost=None if cost is None else np.asarray(cost, dtype=float), **options, **fixed
    )
    if K is not None and slack != "free" and not design.Z.shape[1] and setting.slack_kernel == "precomputed":
        raise OptionError(
            "slack_kernel: a precomputed matrix is not supported there; use 'linear', 'rbf' or a function."
        )
    check_setting(setting)
    weights = None if np.all(design.weights == 1) else design.weights
    arrays = Arrays(
        design.X, design.y, len(design.levels), design.Z if design.Z.shape[1] else None, weights, K
    )
    tuned = tune(arrays, setting, given, score=score, cv=cv, seed=seed, n_jobs=n_jobs, progress=progress)
    machine = fit_machine(
        arrays.X, arrays.y, arrays.n_levels, tuned.setting, Z=arrays.Z, weights=arrays.weights, K=arrays.K
    )
    kept = {"score": score, "cv": cv, "seed": seed, "n_jobs": n_jobs}
    return SvorResults(design, machine, tuned, kept)


def _check_search(cv: Any, seed: Any, n_jobs: Any) -> None:
    """Say what is wrong with the options of the search before anything is fitted."""
    for name, value, least in (("cv", cv, 2), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise OptionError(f"{name}={value!r} must be a whole number, {least} or more.")
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise OptionError(f"n_jobs={n_jobs!r} must be a whole number other than 0; -1 uses all cores.")


def _number_or_grid(name: str, value: Any) -> Any:
    """Whole numbers from R come as floats and sequences as lists; a sequence of one is a number."""
    if value is None or np.ndim(value) == 0:
        return value if value is None else _as_float(name, value)
    return [_as_float(name, v) for v in np.ravel(np.asarray(value, dtype=object))]


def _as_float(name: str, value: Any) -> float:
    if isinstance(value, str | bool) or not isinstance(value, Real):
        raise OptionError(
            f"{name}={value!r} is not a number; give a number, a sequence of numbers, or None to tune it."
        )
    return float(value)
