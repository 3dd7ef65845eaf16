"""How much worse than the best a model may be and still be as good as the best.

Section "Equivalent models" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relbounds.design import Design
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.model import Spec
from relbounds.linear.privileged.models import build_any
from relbounds.linear.tuning import subsample
from relbounds.options import Options
from relbounds.parallel import Job, run_together
from relbounds.seeds import stream
from relbounds.solver.model import Model
from relbounds.solver.optimum import Solution, fit_baseline, fit_weighted
from relbounds.solver.pricing import more_than_few
from relbounds.solver.tolerances import EXACT

# No tolerance that is worked out from the data is smaller: below it lies what the optimum itself is uncertain by.
SMALLEST_DELTA = 0.001
# Resampled refits. 40 leave the 0.68 quantile uncertain by some 15 %.
REFITS = 40
# Of models of many columns so many are a task, which processes can share; half as many of those with so many rows:
# that is no slower, and processes end together.
PIECE, LARGE = 20, 1000
# Models with correcting functions have several times as many variables and rows.
SLOW_REFITS = 20
QUANTILES = {"resample": 0.68, "resample90": 0.9}
# Accuracy of a refit relative to its objective: with it the tolerance is known to five digits, to three or four where
# there are many columns.
FINE = 1e-7
# Beyond this many observations refits work on a subsample: the excess is inversely proportional to their number.
LARGEST_RESAMPLED = 4000


@dataclass(frozen=True)
class Tolerance:
    """The tolerance and how it came about.

    Parameters
    ----------
    delta : float
    rule : str
        "resample", "1se", ..., or "given".
    refits : int
        Resampled models behind it.
    excesses : tuple of float
        How much worse each of these models is on the data as they are.
    rows : int
        Observations they were fitted to, where that is a subsample; 0 otherwise.
    """

    delta: float
    rule: str
    refits: int = 0
    excesses: tuple[float, ...] = ()
    rows: int = 0


def find_tolerance(design: Design, spec: Spec, solution: Solution, options: Options) -> Tolerance:
    """Return the tolerance that the options ask for."""
    if not isinstance(options.delta, str):
        return Tolerance(float(options.delta), "given")
    if is_resampled(options):
        return resampled_tolerance(resample_models(design, spec, solution, options), options)
    losses = spec.sample_losses(solution.v)
    return Tolerance(standard_error(options.delta, losses), options.delta)


def standard_error(rule: str, losses: FloatArray) -> float:
    """Return one or two standard errors of the total loss, relative to it.

    Examples
    --------
    >>> round(standard_error("1se", np.array([0.0, 1.0, 0.0, 1.0])), 3)
    0.577
    """
    rho = float(losses.sum())
    # a loss that is rounding beside the largest one: the data are separable, and there is nothing to be relative to
    if len(losses) < 2 or rho <= 1e-12 * len(losses):
        return SMALLEST_DELTA
    one = float(np.sqrt(len(losses)) * np.std(losses, ddof=1) / rho)
    return max(SMALLEST_DELTA, one) * (2.0 if rule == "2se" else 1.0)


@dataclass(frozen=True)
class Resampled:
    """Models of resampled data beside the best one.

    Parameters
    ----------
    excess : ndarray
        How much larger than the best model's its loss is on the data as they are, as a share.
    longer : ndarray
        How much larger its norm is, as a share of the best model's; 0 where it is smaller.
    rows : int
        Observations they were fitted to, where that is a subsample; 0 otherwise.
    """

    excess: FloatArray
    longer: FloatArray
    rows: int


def is_resampled(options: Options) -> bool:
    """Say whether the tolerance that is asked for takes models of resampled data."""
    return options.delta in QUANTILES


def resampled_tolerance(found: Resampled, options: Options) -> Tolerance:
    """Return the quantile of how much worse models of resampled data are on the data as they are."""
    rule = str(options.delta)
    delta = max(SMALLEST_DELTA, float(np.quantile(found.excess, QUANTILES[rule])))
    return Tolerance(delta, rule, len(found.excess), tuple(found.excess.tolist()), found.rows)


@dataclass(frozen=True)
class Resampling:
    """Models to be fitted to resampled data.

    Parameters
    ----------
    spec, solution
        The program and its best model.
    rate : float
        The share of all observations' weight that it has.
    rows : int
        Its observations, where they are a subsample; 0 otherwise.
    job : Job
        The models to be fitted, piece by piece.
    """

    spec: Spec
    solution: Solution
    rate: float
    rows: int
    job: Job

    def compare(self, pieces: Sequence[FloatArray]) -> Resampled:
        """Compare the loss and the norm of the fitted models with those of the best one.

        Excess is relative to the loss of the best model, or to the part of the objective that the norm has, where
        that is larger: separable data have no loss.
        """
        found = np.concatenate(pieces)
        model, best = self.spec.model, self.solution
        loss = np.array([model.loss_of(v) for v in found])
        unit = max(best.loss, 0.5 * best.penalty / best.C)
        excess = np.maximum(loss - best.loss, 0.0) / unit if unit > 0 else np.zeros(len(loss))
        norms = np.array([model.penalty_of(v) for v in found])
        longer = np.maximum(norms / best.penalty - 1, 0.0) if best.penalty > 0 else np.zeros(len(norms))
        # excess is inversely proportional to the number of observations, what a norm varies by to its root
        return Resampled(excess * self.rate, longer * np.sqrt(self.rate), self.rows)


def resample_models(design: Design, spec: Spec, solution: Solution, options: Options) -> Resampled:
    """Fit the model again to resampled data, and compare loss and norm with the best model's."""
    plan = plan_resampling(design, spec, solution, options)
    return plan.compare(run_together([plan.job], n_jobs=options.n_jobs, client=options.client)[0])


def plan_resampling(design: Design, spec: Spec, solution: Solution, options: Options) -> Resampling:
    """Return the models that are to be fitted to resampled data.

    Each observation (each cluster, where there are any) gets a weight drawn from the exponential distribution, and
    the model is fitted again at the same C.
    """
    small, _, rate, _ = subsample(design, options.seed, LARGEST_RESAMPLED)
    rows = 0
    if small is not design:
        rows, C = len(small.y), solution.C / rate
        spec = build_any(small, spec.kind)
        solution = fit_baseline(spec.model, C)
    rng = stream(options.seed, "tolerance")
    if small.cluster is None:
        factors = rng.exponential(size=(REFITS, len(small.y)))
    else:
        factors = rng.exponential(size=(REFITS, int(small.cluster.max()) + 1))[:, small.cluster]
    if spec.functions:
        job = Job(_refit_functions, [factors[:SLOW_REFITS]], (spec, solution.C))
        return Resampling(spec, solution, rate, rows, job)
    prices = np.array([spec.prices(one) for one in factors])
    # pieces of a size that does not depend on the number of workers
    size = PIECE // (1 + (spec.model.h.size > LARGE)) if more_than_few(spec.model) else REFITS
    tasks = [prices[i : i + size] for i in range(0, REFITS, size)]
    return Resampling(
        spec, solution, rate, rows, Job(_refit_priced, tasks, (spec.model, solution.C, solution.v))
    )


def _refit_priced(prices: FloatArray, shared: tuple[Model, float, FloatArray]) -> FloatArray:
    """Fit a model again with each of several sets of row prices."""
    model, C, best = shared
    return fit_weighted(model, C, prices, FINE, near=best)


def _refit_functions(factors: FloatArray, shared: tuple[Spec, float]) -> FloatArray:
    """Fit a model with correcting functions again, in one run, each observation's weight multiplied by each factor."""
    spec, C = shared
    weights = np.array([spec.prices(one) for one in factors])
    # the first hard rows are the corrections, which make up the loss; free slack, where it is sold, has its own price
    linear = weights @ spec.model.A[: len(spec.rows)]
    prices = weights[:, :0] if spec.hard else spec.kind.residual * weights
    # most of that loss no choice of weights changes, so it must be known well
    return fit_weighted(spec.model, C, prices, EXACT, linear=linear)
