"""Would other patients have given the same answer? The fit again on complementary halves of the rows.

Half samples come in pairs that share no row, so that the two fits of a pair are nearly independent. A term that is
noise is then rarely found by both, which bounds how many such terms are found often (Shah and Samworth 2013).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from relbounds.checks import is_number, is_whole
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
# Which quantiles of the bounds are shown.
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Stability:
    """How often each row falls into each class, and how far its bounds move, when the fit is repeated on subsamples.

    Attributes
    ----------
    table : DataFrame
        The table of the fit with a column ``stability``: the share of subsamples that give the same class.
    frequencies : DataFrame
        The shares of "strong", "weak" and "irrelevant" for each row.
    quantiles : DataFrame
        Quantiles of the bounds over the subsamples: ``lower_05``, ``lower_50``, ``lower_95``, ``upper_05``, ...
    draws : DataFrame
        One row a subsample and row of the table: ``lower``, ``upper``, ``relevance``.
    n_resamples, failed : int
        Subsamples drawn, and those of them that gave no fit.
    fraction : float
        The share of rows in a subsample; 0.5 draws complementary halves.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
    >>> fit.stability(n_resamples=4).frequencies.sum(axis=1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    table: pd.DataFrame
    frequencies: pd.DataFrame
    quantiles: pd.DataFrame
    draws: pd.DataFrame
    n_resamples: int
    failed: int
    fraction: float

    @property
    def relevant(self) -> pd.Series:
        """The share of subsamples in which each term is relevant, strongly or weakly."""
        whole = (self.table["row"] == "term") & (self.table["relevance"] != "")
        shares = self.frequencies.loc[self.table.index[whole], ["strong", "weak"]].sum(axis=1)
        return shares.rename("relevant")

    def selected(self, threshold: float = 0.75) -> list[str]:
        """Return the terms that are relevant in at least this share of the subsamples.

        Parameters
        ----------
        threshold : float
            The share.

        Returns
        -------
        list of str

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> "x1" in fit.stability(n_resamples=4).selected(0.5)
        True
        """
        return self.relevant.index[self.relevant >= threshold - 1e-12].tolist()

    def false_selections(self, threshold: float = 0.75, *, unimodal: bool = False) -> float:
        """Return a bound on the expected number of selected terms that are no better than chance.

        No better than chance is a term whose chance of being relevant in a half sample is at most that of a term
        drawn at random, ``q / p``, with q terms relevant on average among p.

        Parameters
        ----------
        threshold : float
            Terms count as selected from this share of the subsamples on; above 0.5.
        unimodal : bool
            Assume that the share of pairs in which both halves find a term has one peak: a sharper bound. Without it
            nothing is assumed.

        Returns
        -------
        float

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> found = fit.stability(n_resamples=4)
        >>> found.false_selections(0.9) <= found.false_selections(0.75)
        True
        """
        if self.fraction != 0.5:
            raise OptionError("The bound holds for complementary halves only; use fraction=0.5.")
        if not is_number(threshold) or not 0.5 < threshold <= 1:
            raise OptionError(f"threshold={threshold!r} must lie above 0.5 and be 1 at most.")
        p, q = len(self.relevant), float(self.relevant.sum())
        return false_selections(q, p, float(threshold), self.n_resamples // 2, unimodal)

    def __repr__(self) -> str:
        failed = f", {self.failed} of them without a fit" if self.failed else ""
        head = f"{self.n_resamples} subsamples of {self.fraction:.0%} of the rows{failed}"
        shown = pd.concat([self.table["relevance"], self.frequencies, self.quantiles], axis=1)
        text = head + "\n" + shown.to_string(float_format="{:.2f}".format)
        if self.fraction == 0.5:
            text += (
                f"\n{len(self.selected())} terms are relevant in at least 75% of the halves; of these, at most "
                f"{self.false_selections():.2g} are expected to be no better than chance."
            )
        return text


def false_selections(q: float, p: int, threshold: float, pairs: int, unimodal: bool = False) -> float:
    """Return the bound of Shah and Samworth on the expected number of false selections.

    With q terms relevant on average in a half sample, of p, and B pairs of halves: ``q^2 / (p (2 t - 1))`` at a
    threshold t, and with one peak ``C(t, B) q^2 / p`` where ``C = 1 / (2 (2 t - 1 - 1 / (2 B)))`` up to t = 3/4
    and ``4 (1 - t + 1 / (2 B)) / (1 + 1 / B)`` above.

    Examples
    --------
    >>> false_selections(4.0, 100, 0.75, 50), round(false_selections(4.0, 100, 0.9, 50, unimodal=True), 4)
    (0.32, 0.069)
    """
    if p == 0:
        return 0.0
    plain = q * q / (p * (2 * threshold - 1))
    if unimodal:
        share = q / p
        lowest = min(0.5 + share**2, 0.5 + 1 / (2 * pairs) + 0.75 * share**2)
        room = 2 * threshold - 1 - 1 / (2 * pairs)
        if threshold > 0.75:
            factor = 4 * (1 - threshold + 1 / (2 * pairs)) / (1 + 1 / pairs)
            plain = min(plain, factor * q * q / p)
        elif threshold > lowest and room > 0:
            plain = min(plain, q * q / (2 * room * p))
    return min(plain, q)


def stability(
    fitted: Fitted,
    n_resamples: int = 50,
    *,
    fraction: float = 0.5,
    probes: int | None = None,
    n_jobs: int | None = None,
    seed: int | None = None,
) -> Stability:
    """Repeat the fit on subsamples of the rows: count classes, and see how far the bounds move.

    Rows (whole clusters, where there are any) are dealt level by level into complementary halves. Tuned numbers are
    kept; C prices one row, so that it is raised as the rows get fewer. The features stay scaled as they were.

    Parameters
    ----------
    fitted : Fitted
    n_resamples : int
        How many subsamples; half as many pairs of complementary halves.
    fraction : float
        The share of rows in each. Any other than 0.5 draws subsamples one by one, without a bound on false selections.
    probes : int, optional
        Permuted features in each repetition, for ``control="published"``; as many as in the fit by default.
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
    >>> fit = rb.relbounds("severity ~ age + stiffness + sodium", data, C=0.1, delta=0.02, control="fdr")
    >>> float(fit.stability(n_resamples=4).frequencies.loc["stiffness", "strong"])
    1.0
    """
    refuse_wishes(fitted, "stability")
    if not is_whole(n_resamples) or n_resamples < 2:
        raise OptionError(f"n_resamples={n_resamples!r} must be a whole number, 2 or more.")
    if not is_number(fraction) or not 0 < fraction < 1:
        raise OptionError(f"fraction={fraction!r} must lie strictly between 0 and 1; 0.5 is the default.")
    if fraction == 0.5 and n_resamples % 2:
        raise OptionError(f"n_resamples={n_resamples!r} must be even: halves come in pairs.")
    count, options = int(n_resamples), fitted.options
    design = _used(fitted)
    with stage("stability", count, options.progress) as done:
        found = run(
            _refit,
            list(range(count)),
            shared=(
                design,
                _options(fitted, probes),
                fitted.tuning.C,
                float(fraction),
                options.seed if seed is None else seed,
            ),
            n_jobs=options.n_jobs if n_jobs is None else n_jobs,
            client=options.client,
            progress=done,
        )
    tables = {i: table for i, table in enumerate(found) if not isinstance(table, str)}
    if len(tables) < 2:
        reason = next(text for text in found if isinstance(text, str))
        raise OptionError(
            f"{count - len(tables)} of {count} subsamples gave no fit ({reason}); use a larger fraction."
        )
    return _summed_up(fitted.table, pd.concat(tables, names=["resample", "feature"]), count, float(fraction))


def _used(fitted: Fitted) -> Design:
    """Return the design, without privileged features where the fit did without them."""
    design = fitted.design
    if fitted.privileged is None or fitted.privileged.way != "none":
        return design
    terms = tuple(term for term in design.design_terms if term.part != "privileged")
    return replace(design, Z=design.Z[:, :0], priv_names=(), priv_terms=(), design_terms=terms)


def _options(fitted: Fitted, probes: int | None) -> Options:
    """Return the options with everything that was tuned or chosen."""
    kind, design = fitted.tuning.kind, fitted.design
    scale = design.y_scale if design.levels is None else 1.0
    way = fitted.privileged.way if fitted.privileged is not None else fitted.options.privileged
    return fitted.options.replace(
        n_jobs=1,
        client=None,
        progress=False,
        probes=fitted.options.probes if probes is None else probes,
        order=kind.order,
        epsilon=scale * kind.epsilon,
        gamma=kind.gamma,
        residual=kind.residual,
        privileged=way if way in ("slack", "teacher") else fitted.options.privileged,
    )


def _summed_up(table: pd.DataFrame, draws: pd.DataFrame, count: int, fraction: float) -> Stability:
    """Count classes and take quantiles of bounds."""
    judged = draws[draws["relevance"].isin(CLASSES)]
    counts = pd.crosstab(judged.index.get_level_values("feature"), judged["relevance"], normalize="index")
    frequencies = counts.reindex(index=table.index, columns=list(CLASSES), fill_value=0.0)
    frequencies.columns.name = None
    own = [
        frequencies.at[name, label] if label in CLASSES else np.nan
        for name, label in table["relevance"].items()
    ]
    by_row = draws.groupby(level="feature")
    columns = {
        f"{end}_{round(100 * level):02d}": by_row[end].quantile(level).reindex(table.index)
        for end in ("lower", "upper")
        for level in QUANTILES
    }
    failed = count - draws.index.get_level_values("resample").nunique()
    quantiles = pd.DataFrame(columns, index=table.index)
    return Stability(table.assign(stability=own), frequencies, quantiles, draws, count, failed, fraction)


def _refit(i: int, shared: tuple[Design, Options, float, float, int]) -> pd.DataFrame | str:
    """Fit one subsample; a reason in words where there is no fit."""
    design, options, C, fraction, seed = shared
    if fraction == 0.5:
        rows = halves(design, stream(seed, "stability", i // 2))[i % 2]
    else:
        rows = subsample(design, fraction, stream(seed, "stability", i))
    smaller = design.subset(rows)
    share = float(smaller.weights.sum() / design.weights.sum())
    with threadpool_limits(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RelboundsWarning)
        try:
            return fit_any(smaller, options.replace(C=C / share)).table[["lower", "upper", "relevance"]]
        except RelboundsError as error:
            return str(error)


def halves(design: Design, rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Deal the rows into two halves that share none, level by level; clusters stay whole.

    Examples
    --------
    >>> from relbounds.design import design_from_arrays
    >>> design = design_from_arrays([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [1, 1, 1, 1, 2, 2])
    >>> one, two = halves(design, np.random.default_rng(0))
    >>> design.y[one].tolist(), sorted([*one, *two]) == list(range(6))
    ([1, 1, 2], True)
    """
    strata = _strata(design)
    one, two = [], []
    first = 0
    for members in strata:
        order = rng.permutation(members)
        # the odd one out goes to either half in turn
        cut = (len(order) + first) // 2
        first = (first + len(order)) % 2
        one.append(order[:cut])
        two.append(order[cut:])
    return _rows(design, np.concatenate(one)), _rows(design, np.concatenate(two))


def subsample(design: Design, fraction: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw a share of the rows without replacement, level by level, at least one of each; clusters stay whole.

    Examples
    --------
    >>> from relbounds.design import design_from_arrays
    >>> design = design_from_arrays([[0.0], [1.0], [2.0], [3.0], [4.0]], [1, 1, 1, 1, 2])
    >>> rows = subsample(design, 0.5, np.random.default_rng(0))
    >>> design.y[rows].tolist()
    [1, 1, 2]
    """
    some = [
        rng.choice(members, size=min(len(members), max(1, round(fraction * len(members)))), replace=False)
        for members in _strata(design)
    ]
    return _rows(design, np.concatenate(some))


def _strata(design: Design) -> list[NDArray[np.intp]]:
    """Return what is drawn, by level: rows, or clusters by the level of their first row."""
    if design.cluster is None:
        y, units = np.asarray(design.y), np.arange(len(design.y))
    else:
        units, first = np.unique(design.cluster, return_index=True)
        y = np.asarray(design.y)[first]
    if design.levels is None or design.family == "survival":
        return [units]
    return [units[y == code] for code in range(1, len(design.levels) + 1) if (y == code).any()]


def _rows(design: Design, units: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the rows of drawn rows or clusters, in order."""
    if design.cluster is None:
        return np.sort(units)
    return np.flatnonzero(np.isin(design.cluster, units))
