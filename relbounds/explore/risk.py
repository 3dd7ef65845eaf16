"""How wrong can an equivalent model be on new data? A bound from Rademacher complexity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from relbounds import checks
from relbounds.errors import OptionError
from relbounds.linear.fitted import Fitted
from relbounds.solver.polytope import Polytope


@dataclass(frozen=True)
class RiskBound:
    """An upper bound on the expected loss of every equivalent model, and its three parts.

    Attributes
    ----------
    value : float
        The bound: loss + complexity + confidence.
    loss, complexity, confidence : float
        The training loss a row, the price of searching among models of this norm, and of being 1 - tau sure.
    tau : float
        The chance that the bound does not hold.
    limit : float
        What no model can exceed anyway; a bound above it says nothing.
    n_needed : int
        Rows at which the last two parts would shrink to half the limit, all else equal.

    Examples
    --------
    >>> bound = RiskBound(1.7, loss=0.2, complexity=1.1, confidence=0.4, tau=0.05, limit=1.0, n_needed=3000)
    >>> bound.vacuous
    True
    """

    value: float
    loss: float
    complexity: float
    confidence: float
    tau: float
    limit: float
    n_needed: int

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing, because no model can be that wrong."""
        return self.value >= self.limit

    def __float__(self) -> float:
        return self.value

    def __repr__(self) -> str:
        parts = f"loss {self.loss:.3g} + complexity {self.complexity:.3g} + confidence {self.confidence:.3g}"
        head = f"Risk bound {self.value:.3g} with probability {1 - self.tau:g} ({parts})"
        if not self.vacuous:
            return head
        return (
            f"{head}. It is vacuous: no model's risk exceeds {self.limit:g}. The data are too few for this "
            f"norm (complexity and confidence would need about {self.n_needed:,} rows); "
            "rely on cross-validation."
        )


def risk_bound(fitted: Fitted, tau: float = 0.05) -> RiskBound:
    """Bound the risk of every equivalent model on new data of the same kind.

    With n rows (or their total weight), d features, ``R = max |x|`` over the training rows, and the budgets
    of the set for norm B and loss S, with probability 1 - tau:

    - two classes: ``S/n + 2 B R sqrt(2 ln(2d)/n) + sqrt(2 ln(2/tau)/n)`` bounds the share of wrong answers;
    - L levels: ``L (S/n + 4 B R sqrt(2 ln(2d)/n) + 2 sqrt(2 ln(2/tau)/n))`` bounds the mean number of
      thresholds on whose wrong side a row falls, which is at most L - 1.

    The bound is honest, not tight: on small data it often says nothing, and then says that.

    Parameters
    ----------
    fitted : Fitted
    tau : float
        The chance that the bound does not hold.

    Returns
    -------
    RiskBound

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.datasets.load_breast_cancer()
    >>> fit = rb.relbounds("diagnosis ~ worst_radius + worst_area + radius_se", data, C=0.01, probes=10)
    >>> fit.risk_bound()
    Risk bound ...It is vacuous...
    """
    tau = checks.number("tau", tau, above=0, below=1, hint="0.05 is the default.")
    design = fitted.design
    if design.levels is None:
        raise OptionError(
            "There is no risk bound for a regression: its loss is unbounded. Use cross-validated scores."
        )
    n = float(design.weights.sum())
    d, L = design.X.shape[1], len(design.levels)
    R = float(np.abs(design.X).max())
    factor, times, limit = (1.0, 2.0, 1.0) if L == 2 else (float(L), 4.0, float(L - 1))
    sure = 1.0 if L == 2 else 2.0
    rate = times * R * math.sqrt(2 * math.log(2 * d) / n)
    norm, loss = worst_budgets(fitted.polytope, rate, n)
    parts = (factor * loss / n, factor * rate * norm, factor * sure * math.sqrt(2 * math.log(2 / tau) / n))
    needed = math.ceil(n * (2 * (parts[1] + parts[2]) / limit) ** 2)
    return RiskBound(sum(parts), *parts, tau=float(tau), limit=limit, n_needed=needed)


def worst_budgets(polytope: Polytope, rate: float, n: float) -> tuple[float, float]:
    """Return the norm and loss within the budgets that make the bound largest.

    Both budgets of a split set can be used up at once. A joint budget is spent on one of them: the bound is
    linear in both, so its maximum lies at an end.
    """
    if polytope.joint is None:
        assert polytope.norm is not None and polytope.loss is not None
        return polytope.norm, polytope.loss
    C, J = polytope.joint
    return max(((2 * J, 0.0), (0.0, J / C)), key=lambda pair: rate * pair[0] + pair[1] / n)
