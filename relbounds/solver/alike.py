"""The best models of programs of one shape that differ in their columns, all of them in one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.model import Model
from relbounds.solver.optimum import Solution, fit_baseline, solution_at
from relbounds.solver.priced import accurate, priced_core, priced_start
from relbounds.solver.pricing import has_many
from relbounds.solver.reduced import Reduced
from relbounds.solver.stack import Stack


def fit_alike(models: Sequence[Model], C: float, *, accuracy: float) -> list[Solution]:
    """Return the optimum of each of several models at one C, as :func:`relbounds.solver.optimum.fit_baseline` does.

    Models of one shape that differ in the columns of penalised variables are one run; others are fitted one by one.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> models = [make_model(np.full((1, 1), size), np.ones(1), np.ones(1), np.ones(1)) for size in (1.0, 2.0)]
    >>> [round(float(one.v[0]), 4) for one in fit_alike(models, 5.0, accuracy=1e-8)]
    [1.0, 0.5]
    """
    first = models[0]
    if len(models) == 1 or has_many(first) or not are_alike(models):
        return [fit_baseline(model, C, accuracy=accuracy) for model in models]
    reduced = priced_core(first)
    core, count = reduced.core, len(models)
    stack = stack_alike(models, reduced)
    linear = stack.linear
    assert linear is not None
    start = priced_start(core, reduced, np.full(count, C), np.full(count, 0.5), np.full(count, np.inf))
    end = interior.solve(
        core,
        -C * linear,
        start,
        np.full(count, -1.0),
        columns=replace(stack, linear=None),
        stop=accurate(core, linear, accuracy),
    )
    points, duals = reduced.back(end.v), reduced.duals(end.z4, end.alpha, end.lam)
    return [solution_at(model, C, points[i], duals.beta[i], duals.alpha[i]) for i, model in enumerate(models)]


def stack_alike(models: Sequence[Model], like: Reduced) -> Stack:
    """Return the rows of several models as those of one of them are reduced.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> models = [make_model(np.full((1, 1), size), np.ones(1), np.ones(1), np.ones(1)) for size in (1.0, 2.0)]
    >>> stack_alike(models, priced_core(models[0])).G.ravel().tolist()
    [1.0, 2.0]
    """
    free, scale = like.free, like.unit / like.height
    G = np.stack([(model.G[like.rows][:, free] * scale).T for model in models])
    A = np.stack([(model.A[:, free] * scale).T for model in models])
    linear = np.stack([model.linear[free] * like.unit for model in models])
    return Stack(G, A, np.arange(len(models)), linear=linear).in_blocks()


def are_alike(models: Sequence[Model]) -> bool:
    """Return whether models have everything in common but the columns of penalised variables, and no bounds.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> models = [make_model(np.full((1, 1), size), np.full(1, size), np.ones(1), np.ones(1)) for size in (1.0, 2.0)]
    >>> are_alike(models), are_alike(models[:1])
    (False, True)
    """
    return all(_alike(models[0], model) for model in models)


def _alike(one: Model, other: Model) -> bool:
    """Return whether two models have everything in common but the columns of penalised variables."""
    loose = one.penalty <= 0
    same = all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("h", "c", "penalty", "a")
    )
    return (
        same
        and not np.isfinite(one.lower).any()
        and not np.isfinite(one.upper).any()
        and np.array_equal(one.lower, other.lower)
        and np.array_equal(one.upper, other.upper)
        and np.array_equal(one.G[:, loose], other.G[:, loose])
        and np.array_equal(one.A[:, loose], other.A[:, loose])
    )
