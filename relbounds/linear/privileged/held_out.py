"""Models fitted without each fold in turn, all folds and prices in one run.

Hard rows bind whatever their price, so the rows of a fold cannot be left out by pricing them at 0. They are moved out
of reach instead: a row that asks for a margin of minus a million never binds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.families.rows import FloatArray
from relbounds.linear.model import Spec
from relbounds.solver import predictor_corrector as interior
from relbounds.solver.core import Core, State, dot, make_state
from relbounds.solver.engines.batch import chunk_size
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import reduce

# By how much the rows of a held-out fold are loosened; margins are of order 1.
FAR = 1e6


@dataclass(frozen=True)
class Trials:
    """Fits to be done: the fold each leaves out, its price of loss, and the price of free slack in units of that.

    The last is 1 where the model sells free slack at its own price.
    """

    fold: NDArray[np.intp]
    C: FloatArray
    residual: FloatArray

    def take(self, some: slice) -> Trials:
        """Return some of the fits."""
        return Trials(self.fold[some], self.C[some], self.residual[some])


def fit_held_out(spec: Spec, sample_fold: NDArray[np.intp], trials: Trials, gap: float) -> FloatArray:
    """Return the optimal variables of each fit, one row each.

    Parameters
    ----------
    spec : Spec
        The model on all samples, with correcting functions or plain; equal rows not merged.
    sample_fold : ndarray of int, shape (n,)
        The fold of each sample.
    trials : Trials
        What to fit.
    gap : float
        Relative accuracy of the objective.

    Examples
    --------
    >>> from relbounds.design import design_from_arrays
    >>> from relbounds.linear.privileged.models import build_slack
    >>> from relbounds.linear.families.rows import ModelKind
    >>> X, Z = np.arange(6.0)[:, None], np.array([[0.0], [1.0], [0.0], [1.0], [0.0], [1.0]])
    >>> design = design_from_arrays(X, [1, 1, 1, 2, 2, 2], Z=Z, priv_names=["z"])
    >>> spec = build_slack(design, ModelKind(slack=True), merged=False)
    >>> trials = Trials(np.array([0, 1]), np.array([5.0, 5.0]), np.ones(2))
    >>> fit_held_out(spec, np.array([0, 1, 0, 1, 0, 1]), trials, 1e-8).shape
    (2, 6)
    """
    model, rows = spec.model, spec.rows
    inner = _inner(spec)
    reduced = reduce(Polytope(model, joint=(1.0, np.inf), start=inner))
    none = np.zeros(0)
    core = replace(reduced.core, p=none, l=none, Lin=np.zeros((0, reduced.core.q)), B=none)
    step = chunk_size(core.h.size + core.a.size)
    folds = np.arange(sample_fold.max() + 1)
    out = (sample_fold[rows.sample] == folds[:, None]).astype(float)
    hard = np.zeros((len(folds), model.a.size))
    linear = np.zeros((len(folds), core.q))
    if spec.functions:
        # the first hard rows are the corrections; what a fold pays for them is the part of its training rows
        slopes = (rows.weight * (1.0 - out)) @ model.A[: len(rows)]
        linear = slopes[:, reduced.free] * reduced.unit
        hard[:, : len(rows)] = out
    if spec.hard:
        hard[:, len(rows) : 2 * len(rows)] = out
    loss = out[:, :0] if spec.hard else out[:, reduced.rows]
    v = reduced.into(inner)
    found = np.empty((trials.C.size, model.q))
    for first in range(0, trials.C.size, step):
        here = slice(first, min(first + step, trials.C.size))
        some = trials.take(here)
        cost = linear[some.fold]
        start = _start(core, v, some, cost, FAR * loss[some.fold], FAR * hard[some.fold])

        def enough(
            at: State, left: np.ndarray, lack: np.ndarray, some: Trials = some, cost: FloatArray = cost
        ) -> np.ndarray:
            scale = 0.5 * (at.t @ core.pen) + some.C[at.which] * np.abs(dot(at.v, cost[at.which]))
            scale += dot(at.xi, at.z3 + at.z4) if core.h.size else 0.0
            return (left <= gap * scale) & (lack <= gap * scale)

        never = np.full(some.C.size, -1.0)
        states = interior.solve(core, -some.C[:, None] * cost, start, never, stop=enough)
        found[here] = reduced.back(states.v)
    return found


def _inner(spec: Spec) -> FloatArray:
    """Return a point with room in every hard row: thresholds apart, and offsets where there are functions."""
    if spec.model.inner is not None:
        return spec.model.inner
    v = np.zeros(spec.model.q)
    k = spec.rows.n_thresholds
    v[spec.sizes.thresholds_start : spec.sizes.thresholds_start + k] = (
        np.linspace(-0.5, 0.5, k) if k > 1 else 0.0
    )
    return v


def _start(
    core: Core, v: FloatArray, trials: Trials, cost: FloatArray, far: FloatArray, far_hard: FloatArray
) -> State:
    """Return a start at a point that keeps every hard row with room, multipliers of about the size of prices."""
    s, B = core.pen.size, trials.C.size
    price = trials.C * trials.residual
    mu = price * float(np.mean(core.c)) * 0.5 if core.h.size else trials.C * (np.abs(cost).max() + 1e-3)
    points = np.tile(v, (B, 1))
    margin = points @ core.G.T - core.h + far
    t = np.abs(points[:, :s]) + np.clip(4.0 * mu, 1e-2, 10.0)[:, None] * np.minimum(1.0, 1.0 / core.pen)
    xi = np.maximum(-margin, 0.0) + 0.5
    u1, u2, f, g = t - points[:, :s], t + points[:, :s], margin + xi, points @ core.A.T - core.a + far_hard
    half, priced = 0.5 * core.pen, price[:, None] * core.c
    z1, z2 = half * u2 / (u1 + u2), half * u1 / (u1 + u2)
    z3, z4 = priced * f / (xi + f), priced * xi / (xi + f)
    none = np.zeros((B, 0))
    multipliers = [z1, z2, z3, z4, mu[:, None] / g, none]
    return make_state(points, [u1, u2, xi, f, g, none], multipliers, np.full(B, 0.5), price)
