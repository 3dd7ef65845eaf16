"""The front door of the kernel models: ``svor(formula, data)``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from relbounds import checks
from relbounds.design import Design, make_design
from relbounds.errors import DataError, OptionError
from relbounds.kernel.fitting import Sample, fit_machine
from relbounds.kernel.kernels import check_matrix
from relbounds.kernel.options import SLACKS, SvorOptions, check_options
from relbounds.kernel.results import SvorResults
from relbounds.kernel.tuning import TUNED, Search, tune
from relbounds.progress import Hook, check_progress


def svor(
    formula: str,
    data: Any,
    *,
    order: str | None = None,
    balance: bool = True,
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
    balance : bool
        Whether both sides of every threshold weigh the same, in fitting and in the choice by cross-validation. Where
        one level holds most of the rows, the best unbalanced model is often a constant. False is the published model.
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
        What it costs to predict level l when the truth is k, for ``order="implicit"``; the default is
        ``|k - l|``. Rows must not fall away from the diagonal.
    weights : array, str or None
        Case weights, or the name of a column that holds them.
    score : {"mmae", "mae", "mze"}
        What cross-validation minimises.
    cv : int
        Number of folds.
    solver : {"auto", "smo", "qp"}
        SMO (compiled, needs the extra `fast`), or an interior point method to full accuracy. "auto": SMO where it can
        be had and is the quicker one, else the interior point method, as exact as `tol` asks. Modelled slacks always
        use the latter.
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
    options = {
        "order": order,
        "balance": balance,
        "C": C,
        "width": width,
        "slack": slack,
        "mix": mix,
        "slack_kernel": slack_kernel,
        "slack_width": slack_width,
        "gamma": gamma,
        "cost": cost,
        "score": score,
        "cv": cv,
        "solver": solver,
        "tol": tol,
        "n_jobs": n_jobs,
        "seed": seed,
        "progress": progress,
    }
    if isinstance(kernel, str) and kernel == "precomputed":
        raise OptionError(
            "kernel='precomputed': give the kernel matrix itself, e.g. svor(formula, data, kernel=K)."
        )
    given = not (isinstance(kernel, str) or callable(kernel))
    if given:
        data = pd.DataFrame(data).reset_index(drop=True)  # so that the index tells which rows were kept
    design = make_design(
        formula, data, family="ordinal", weights=weights, missing=missing, standardize=standardize, env=1
    )
    if not given:
        return fit_svor(design, kernel=kernel, **options)
    kept = design.index.to_numpy()
    matrix = check_matrix(_as_matrix(kernel), len(data))[np.ix_(kept, kept)]
    return fit_svor(design, kernel="precomputed", K=matrix, rows_kept=kept, rows_given=len(data), **options)


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
    rows_kept: np.ndarray | None = None,
    rows_given: int | None = None,
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
    if design.interval is not None or design.times is not None:
        raise OptionError(
            "svor() cannot use responses that are known as intervals only. Use relbounds() for them."
        )
    if design.adjust.shape[1]:
        raise OptionError(
            "svor() has no adjusting part. Leave out '| adjust(...)', or use relbounds() for it."
        )
    if slack is None:
        slack = "modelled" if design.Z.shape[1] else "free"
    slack = checks.choice("slack", slack, SLACKS)
    if options.get("order") is None:
        options["order"] = "explicit" if slack == "free" and options.get("cost") is None else "implicit"
    search = Search(
        score=score,
        cv=checks.integer("cv", cv, least=2),
        seed=checks.integer("seed", seed),
        n_jobs=checks.jobs("n_jobs", n_jobs),
        progress=check_progress("progress", progress),
        levels=tuple(design.levels),
        cluster=design.cluster,
    )
    given = {name: checks.grid(name, options.pop(name, None), positive=name != "mix") for name in TUNED}
    chosen = _check_model(slack, given, options)
    weights = None if np.all(design.weights == 1) else design.weights
    private = design.Z if design.Z.shape[1] else None
    sample = Sample(design.X, design.y, len(design.levels), private, weights, K)
    tuned = tune(sample, chosen, given, search)
    machine = fit_machine(sample.X, sample.y, sample.n_levels, tuned.options, Z=private, weights=weights, K=K)
    kept = {"score": score, "cv": search.cv, "seed": search.seed, "n_jobs": search.n_jobs}
    if rows_kept is not None:
        kept |= {"rows_kept": rows_kept, "rows_given": rows_given}
    return SvorResults(design, machine, tuned, kept)


def _check_model(slack: str, given: dict[str, Any], options: dict[str, Any]) -> SvorOptions:
    """Say what is wrong with the model before anything is fitted; what is to be tuned keeps its default."""
    for name, value in given.items():  # a bad value in a grid should not wait for its turn to be found
        for v in np.ravel([] if value is None else value):
            check_options(SvorOptions(slack="mixed", order="implicit").replace(**{name: float(v)}))
    cost = options.pop("cost", None)
    if "balance" in options:
        options["balance"] = checks.flag("balance", options["balance"])
    if "tol" in options:
        options["tol"] = checks.number("tol", options["tol"], above=0)
    fixed: dict[str, Any] = {name: value for name, value in given.items() if isinstance(value, float)}
    return check_options(
        SvorOptions(slack=slack, cost=None if cost is None else _as_cost(cost), **options, **fixed)
    )


def _as_matrix(kernel: Any) -> np.ndarray:
    try:
        return np.asarray(kernel, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise OptionError(
            f"kernel={checks.shown(kernel)} is not known. Use 'linear', 'rbf', a function of two arrays, or a matrix."
        ) from error


def _as_cost(cost: Any) -> np.ndarray:
    try:
        return np.asarray(cost, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise OptionError(
            "cost must be a square table of numbers, one row and one column a level."
        ) from error
