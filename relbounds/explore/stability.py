"""Would other patients have given the same answer? Class frequencies over subsamples."""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from relbounds.design import Design
from relbounds.errors import OptionError, RelboundsError, RelboundsWarning
from relbounds.explore.sweep_delta import refuse_wishes
from relbounds.linear.fitted import Fitted
from relbounds.linear.privileged.fit import fit_any
from relbounds.options import Options
from relbounds.parallel import run
from relbounds.progress import stage
from relbounds.seeds import stream

CLASSES = ("strong", "weak", "irrelevant")


@dataclass(frozen=True)
class Stability:
    """How often each feature falls into each class when the fit is repeated on subsamples.

    Attributes
    ----------
    table : DataFrame
        The table of the fit with a column ``stability``: the share of subsamples that give the same class.
    frequencies : DataFrame
        The shares of "strong", "weak" and "irrelevant" for each feature.
    draws : DataFrame
        One row a subsample and feature: ``lower``, ``upper``, ``relevance``.
    n_resamples, failed : int
        Subsamples drawn, and those of them that gave no fit.
    fraction : float
        The share of rows in a subsample.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
    >>> fit.stability(n_resamples=3).frequencies.sum(axis=1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    table: pd.DataFrame
    frequencies: pd.DataFrame
    draws: pd.DataFrame
    n_resamples: int
    failed: int
    fraction: float

    def __repr__(self) -> str:
        failed = f", {self.failed} of them without a fit" if self.failed else ""
        head = f"{self.n_resamples} subsamples of {self.fraction:.0%} of the rows{failed}"
        shown = pd.concat([self.table["relevance"], self.frequencies], axis=1)
        return head + "\n" + shown.to_string(float_format="{:.2f}".format)


def stability(
    fitted: Fitted,
    n_resamples: int = 50,
    *,
    fraction: float = 0.8,
    probes: int | None = None,
    n_jobs: int | None = None,
    seed: int | None = None,
) -> Stability:
    """Repeat the fit on subsamples of the rows and count classes.

    Rows are drawn without replacement, level by level. Tuned numbers are kept; C prices one row, so that it
    is raised as the rows get fewer. The features stay scaled as they were.

    Parameters
    ----------
    fitted : Fitted
    n_resamples : int
        How many subsamples.
    fraction : float
        The share of rows in each.
    probes : int, optional
        Permuted features in each repetition; as many as in the fit by default.
    n_jobs : int, optional
        Worker processes; as in the fit by default. The numbers do not depend on it.
    seed : int, optional
        As in the fit by default.

    Returns
    -------
    Stability

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> fit = rb.relbounds("severity ~ age + stiffness + sodium", data, C=0.1, probes=10)
    >>> float(fit.stability(n_resamples=3).frequencies.loc["stiffness", "strong"])
    1.0
    """
    refuse_wishes(fitted, "stability")
    if not isinstance(n_resamples, numbers.Integral) or isinstance(n_resamples, bool) or n_resamples < 2:
        raise OptionError(f"n_resamples={n_resamples!r} must be a whole number, 2 or more.")
    if not isinstance(fraction, numbers.Real) or not 0 < fraction < 1:
        raise OptionError(f"fraction={fraction!r} must lie strictly between 0 and 1; 0.8 is the default.")
    options = fitted.options
    workers = options.n_jobs if n_jobs is None else n_jobs
    first = options.seed if seed is None else seed
    fixed = {name: getattr(fitted.tuning.setting, name) for name in ("epsilon", "gamma", "residual")}
    inner = options.replace(
        n_jobs=1, client=None, progress=False, probes=options.probes if probes is None else probes, **fixed
    )
    with stage("stability", n_resamples, options.progress) as done:
        found = run(
            _refit,
            list(range(n_resamples)),
            shared=(fitted.design, inner, fitted.tuning.C, float(fraction), first),
            n_jobs=workers,
            client=options.client,
            progress=done,
        )
    tables = {i: table for i, table in enumerate(found) if not isinstance(table, str)}
    if len(tables) < 2:
        reason = next(text for text in found if isinstance(text, str))
        raise OptionError(
            f"{n_resamples - len(tables)} of {n_resamples} subsamples gave no fit ({reason}); "
            "use a larger fraction."
        )
    draws = pd.concat(tables, names=["resample", "feature"])
    counts = pd.crosstab(draws.index.get_level_values("feature"), draws["relevance"], normalize="index")
    frequencies = counts.reindex(index=fitted.table.index, columns=list(CLASSES), fill_value=0.0)
    frequencies.columns.name = None
    own = [frequencies.at[name, label] for name, label in fitted.table["relevance"].items()]
    table = fitted.table.assign(stability=own)
    return Stability(table, frequencies, draws, int(n_resamples), len(found) - len(tables), float(fraction))


def _refit(i: int, shared: tuple[Design, Options, float, float, int]) -> pd.DataFrame | str:
    """Fit one subsample; a reason in words where there is no fit."""
    design, options, C, fraction, seed = shared
    rows = subsample(design, fraction, stream(seed, "stability", i))
    smaller = design.subset(rows)
    share = float(smaller.weights.sum() / design.weights.sum())
    with threadpool_limits(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RelboundsWarning)
        try:
            return fit_any(smaller, options.replace(C=C / share)).table[["lower", "upper", "relevance"]]
        except RelboundsError as error:
            return str(error)


def subsample(design: Design, fraction: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw a share of the rows without replacement, level by level, at least one of each.

    Examples
    --------
    >>> from relbounds.design import design_from_arrays
    >>> design = design_from_arrays([[0.0], [1.0], [2.0], [3.0], [4.0]], [1, 1, 1, 1, 2])
    >>> rows = subsample(design, 0.5, np.random.default_rng(0))
    >>> design.y[rows].tolist()
    [1, 1, 2]
    """
    if design.levels is None:
        n = len(design.y)
        return np.sort(rng.choice(n, size=max(2, round(fraction * n)), replace=False))
    rows = []
    for code in range(1, len(design.levels) + 1):
        members = np.flatnonzero(design.y == code)
        rows.append(
            rng.choice(members, size=min(len(members), max(1, round(fraction * len(members)))), replace=False)
        )
    return np.sort(np.concatenate(rows))
