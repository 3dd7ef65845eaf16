"""The best models of programs of one shape that differ in their columns, all of them in one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.few_each import Each, begin_of, fit_each, fits_each
from relbounds.solver.folded_stack import FoldedStack, different_rows, fold_of
from relbounds.solver.model import Model
from relbounds.solver.optimum import Solution, fit_baseline, solution_at
from relbounds.solver.priced import accurate, priced_core, priced_start
from relbounds.solver.pricing import has_many
from relbounds.solver.reduced import Reduced
from relbounds.solver.stack import Stack
from relbounds.solver.tolerances import OPTIMAL


def fit_alike(models: Sequence[Model], C: float, *, accuracy: float) -> list[Solution]:
    """Return the optimum of each of several models at one C, as :func:`relbounds.solver.optimum.fit_baseline` does.

    Models of one shape that differ in the columns of penalised variables are one run, on few columns each where these
    are many; others are fitted one by one.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> models = [make_model(np.full((1, 1), size), np.ones(1), np.ones(1), np.ones(1)) for size in (1.0, 2.0)]
    >>> [round(float(one.v[0]), 4) for one in fit_alike(models, 5.0, accuracy=1e-8)]
    [1.0, 0.5]
    """
    first = models[0]
    if len(models) == 1 or not are_alike(models):
        return [fit_baseline(model, C, accuracy=accuracy) for model in models]
    if has_many(first):
        return _on_few(models, C, accuracy)
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


def _on_few(models: Sequence[Model], C: float, accuracy: float) -> list[Solution]:
    """Return the optima of models of many columns, each fitted on those it has a use for."""
    reduced = priced_core(models[0])
    stack = _penalised_rows(models, reduced)
    if stack is None:
        return [fit_baseline(model, C, accuracy=accuracy) for model in models]
    price, nothing = np.full(len(models), C), np.zeros((len(models), 0))
    found = fit_each(Each(reduced.core, stack, price, None, begin_of(reduced, C)), accuracy)
    points, duals = reduced.back(found.v), reduced.duals(found.beta, found.alpha, nothing)
    out = []
    for i, model in enumerate(models):
        one = solution_at(model, C, points[i], duals.beta[i], duals.alpha[i])
        good = one.certified <= max(OPTIMAL, accuracy)
        out.append(one if good else fit_baseline(model, C, accuracy=accuracy))
    return out


def _penalised_rows(models: Sequence[Model], like: Reduced) -> Stack | None:
    """Return the rows of several models, each different one once where few are; None where this is not the same in all.

    Hard rows must be the same, and use no penalised variable.
    """
    core, free, scale = like.core, like.free, like.unit / like.height
    if not fits_each(like) or any(model.A[:, model.penalty > 0].any() for model in models):
        return None
    fold, owner = fold_of(core), np.arange(len(models))
    rows = ((model.G[like.rows][:, free] * scale).T for model in models)
    if fold is None:
        return Stack(np.stack(list(rows)), None, owner)
    found = different_rows(core, fold, rows)
    return None if found is None else FoldedStack(found, None, owner, fold=fold)


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
