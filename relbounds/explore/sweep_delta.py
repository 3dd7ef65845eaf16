"""How the answer depends on the tolerance: bounds and classes as functions of delta."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from relbounds.errors import OptionError, RelboundsWarning
from relbounds.explore.constrain import need_bounds
from relbounds.linear.equivalent import equivalent_models
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fit import measure_and_judge
from relbounds.linear.fitted import Fitted
from relbounds.linear.noise.evidence import Evidence
from relbounds.linear.ranges import not_measured
from relbounds.linear.table import make_table
from relbounds.linear.tolerance import find_tolerance, standard_error
from relbounds.options import Options

# The default grid in multiples of the fit's own tolerance: from the best models alone to loose ones.
GRID = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
# What a tolerance of 0 is computed with: budgets without any room leave no interior, and pushes then take a hundred
# times as long for bounds that differ by less than this.
LEAST = 1e-5
RANK = {"strong": 2, "weak": 1, "irrelevant": 0}


@dataclass(frozen=True)
class Sweep:
    """Bounds and classes of every feature along a grid of tolerances.

    Attributes
    ----------
    deltas : ndarray
        The tolerances, ascending.
    table : DataFrame
        One row a tolerance and feature: ``lower``, ``upper``, ``signed_lower``, ``signed_upper``,
        ``relevance`` and more, indexed by ``delta`` and ``feature``.
    noise : DataFrame
        The noise threshold of ``upper`` at each tolerance, by part.
    delta : float
        The tolerance of the fit.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> found = rb.relbounds(data.formula, data.data, C=1.0, probes=10).sweep_delta([0.001, 0.1])
    >>> found.table.loc[0.001, "relevance"].tolist()
    ['strong', 'weak', 'weak', 'irrelevant']
    """

    deltas: FloatArray
    table: pd.DataFrame
    noise: pd.DataFrame
    delta: float

    @property
    def changes(self) -> pd.DataFrame:
        """Where classes change: for each feature and change, the tolerances between which it happens.

        Columns ``feature``, ``after`` (the last tolerance of the old class), ``by`` (the first of the new
        one), ``was`` and ``becomes``.
        """
        classes = self.classes
        records = []
        for feature, row in classes.iterrows():
            values = row.to_numpy()
            for i in np.flatnonzero(values[1:] != values[:-1]):
                records.append((feature, self.deltas[i], self.deltas[i + 1], values[i], values[i + 1]))
        return pd.DataFrame(records, columns=["feature", "after", "by", "was", "becomes"])

    @property
    def classes(self) -> pd.DataFrame:
        """The class of each feature (rows) at each tolerance (columns)."""
        wide = self.table["relevance"].unstack("delta")
        return wide.loc[self.table.loc[self.deltas[0]].index]

    @property
    def monotone(self) -> pd.Series:
        """Whether the class of each row only falls as the tolerance grows: from strong to weak to irrelevant."""
        ranks = self.classes.map(lambda label: float(RANK.get(label, np.nan)))
        falls = (ranks.diff(axis=1).iloc[:, 1:].fillna(0.0) <= 0).all(axis=1)
        return falls.rename("monotone")

    @property
    def explanation(self) -> list[str]:
        """What to know of rows whose class rises again along the tolerance, one sentence each; empty if none does."""
        said = []
        classes = self.classes
        for name in self.monotone.index[~self.monotone]:
            steps = [
                (float(delta), label)
                for i, (delta, label) in enumerate(classes.loc[name].items())
                if i == 0 or label != classes.loc[name].iloc[i - 1]
            ]
            path = ", ".join(f"{label} from {delta:.3g}" for delta, label in steps)
            said.append(
                f"{name} is {path}: its interval only widens with the tolerance, but so does what noise reaches. "
                "Where its own upper bound grows faster it rises above the noise, where noise grows faster it "
                "sinks below."
            )
        return said

    @property
    def strong_until(self) -> pd.Series:
        """The largest tolerance up to which each feature is strong without a break; NaN if it never is."""
        strong = (self.classes == "strong").to_numpy()
        unbroken = np.cumprod(strong, axis=1).sum(axis=1)
        values = [self.deltas[count - 1] if count else np.nan for count in unbroken]
        return pd.Series(values, index=self.classes.index, name="strong_until")

    def __repr__(self) -> str:
        changes = self.changes
        head = f"Sweep over {len(self.deltas)} tolerances, {self.deltas[0]:.3g} to {self.deltas[-1]:.3g}"
        text = head + ("; no class changes" if changes.empty else "\n" + changes.to_string(index=False))
        return "\n".join([text, *self.explanation])


def sweep_delta(
    fitted: Fitted, delta: Sequence[float | str] | None = None, *, probes: int | None = None
) -> Sweep:
    """Recompute bounds and classes for several tolerances around the same best model.

    The set of equivalent models grows with the tolerance, so intervals only widen. What noise can reach grows
    as well; it is estimated anew at each tolerance, with the same permutations.

    Parameters
    ----------
    fitted : Fitted
    delta : sequence of float or {"resample", "resample90", "1se", "2se"}, optional
        By default seven values from 0, the best models alone, to four times the tolerance of the fit. 0 is
        computed with 0.00001, since budgets without any room leave nothing to compute in.
    probes : int, optional
        Permuted features at each tolerance; as many as in the fit by default.

    Returns
    -------
    Sweep

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> fit = rb.relbounds("severity ~ age + stiffness + crp + esr", data, C=0.1, probes=10)
    >>> found = fit.sweep_delta([0.001, 0.02, 0.5])
    >>> widths = (found.table["upper"] - found.table["lower"]).unstack("delta")
    >>> bool((widths.diff(axis=1).iloc[:, 1:] > -1e-6).all(axis=None))
    True
    """
    need_bounds(fitted)
    refuse_wishes(fitted, "sweep_delta")
    deltas = read_deltas(fitted, delta)
    options = fitted.options if probes is None else fitted.options.replace(probes=probes)
    frames, noise = [], []
    with threadpool_limits(limits=1, user_api="blas"), warnings.catch_warnings():
        # too few probes at one tolerance is no news of its own: the noise threshold shows it
        warnings.simplefilter("ignore", RelboundsWarning)
        for value in deltas:
            table, thresholds = at_delta(fitted, options.replace(delta=max(float(value), LEAST)))
            frames.append(table)
            noise.append(thresholds)
    index = pd.Index(deltas, name="delta")
    table = pd.concat(frames, keys=deltas, names=["delta", "feature"])
    return Sweep(deltas, table, pd.DataFrame(noise, index=index), fitted.delta)


def refuse_wishes(fitted: Fitted, what: str) -> None:
    """Refuse a what-if where only a fit will do."""
    if fitted.wishes:
        raise OptionError(
            f"{what}() needs a fit without constraints; call it on the fit that was constrained."
        )


def read_deltas(fitted: Fitted, delta: Sequence[float | str] | None) -> FloatArray:
    """Return the tolerances as numbers, ascending and each once."""
    losses = fitted.spec.sample_losses(fitted.solution.v)
    if delta is None:
        one = fitted.delta if fitted.delta > 0 else standard_error("1se", losses)
        return np.unique([*(one * step for step in GRID), fitted.delta])
    alone = isinstance(delta, str | bytes) or not isinstance(delta, Iterable) or np.ndim(delta) == 0
    given: list[Any] = [delta] if alone else list(delta)
    if len(given) == 0:
        raise OptionError("delta is empty; give tolerances such as [0.001, 0.01, 0.1], or leave it out.")
    # options say what is wrong with a tolerance
    asked = [fitted.options.replace(delta=value) for value in given]
    return np.unique(
        [find_tolerance(fitted.design, fitted.spec, fitted.solution, options).delta for options in asked]
    )


def at_delta(fitted: Fitted, options: Options) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return the table at another tolerance, and what noise reaches there, by part.

    Tests and refitted models do not depend on the tolerance and are those of the fit, where it remembers them; what
    noise reaches in their sets does.
    """
    spec, solution, delta = fitted.spec, fitted.solution, float(options.delta)
    polytope = equivalent_models(spec, solution, delta, options.tolerance)
    if delta <= fitted.delta and fitted.polytope.active is not None:
        # rows that the larger set does not move across their kink are not moved by a part of it
        polytope = replace(polytope, active=fitted.polytope.active)
    unknown = not_measured(spec.asked)
    evidence = Evidence(
        fitted.design, options, spec, solution, fitted.norm, delta, polytope, unknown, fitted.memory
    )
    evidence, verdicts, found = measure_and_judge(evidence)
    table = make_table(spec.asked, solution.v, evidence.measured, fitted.norm, verdicts)
    noise = {str(key): pair[1].upper for key, pair in found.intervals.items()}
    if fitted.privileged is not None and fitted.privileged.teacher is not None:
        taught, high = at_delta(fitted.privileged.teacher, options)
        table = pd.concat([table, taught.assign(part="privileged")])
        noise["privileged"] = high.get("regular", float("nan"))
    return table, noise
