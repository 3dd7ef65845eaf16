"""Random problems of every kind, and plain independent answers to them."""

from dataclasses import replace

import numpy as np
from scipy.optimize import linprog

from relbounds.linear.families import make_rows
from relbounds.linear.plain import plain_model
from relbounds.solver.columns import new_columns, stack_columns
from relbounds.solver.optimum import fit_baseline
from relbounds.solver.polytope import Polytope
from relbounds.solver.smallest import smallest_C

FAMILIES = (
    ("ordinal", "explicit"),
    ("ordinal", "implicit"),
    ("binary", "explicit"),
    ("regression", "explicit"),
)
KINDS = (
    "noisy",
    "separable",
    "copied columns",
    "copied rows",
    "wide",
    "scales",
    "constant column",
    "weights",
    "lopsided",
)


def random_model(seed, family="ordinal", order="explicit", kind="noisy", n=None, d=None):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n = n or int(rng.integers(14, 40))
    d = d or int(rng.integers(2, 7))
    if kind == "wide":
        n, d = 10, 18
    X = rng.standard_normal((n, d))
    score = X[:, : min(d, 3)] @ rng.uniform(0.5, 1.5, min(d, 3))
    noise = 0.0 if kind in ("separable", "wide") else 0.7
    score = score + noise * rng.standard_normal(n)
    weights = np.ones(n)
    if kind == "copied columns":
        X[:, -1] = X[:, 0]
    if kind == "copied rows":
        half = n // 2
        X[half : 2 * half], score[half : 2 * half] = X[:half], score[:half]
    if kind == "scales":
        X = X * 10.0 ** rng.choice([-8.0, 0.0, 8.0], d)
    if kind == "constant column":
        X[:, -1] = 1.0
    if kind == "weights":
        weights = rng.uniform(0.0, 3.0, n) * (rng.random(n) > 0.2)
    levels = 2 if family == "binary" else 4
    if family == "regression":
        y = score
    else:
        share = np.linspace(0, 1, levels + 1)[1:-1] ** (4 if kind == "lopsided" else 1)
        y = 1 + np.searchsorted(np.quantile(score, share), score)
        y[:levels] = 1 + np.arange(levels)
        if kind in ("separable", "wide"):
            y[:levels] = 1 + np.searchsorted(np.quantile(score, share), score[:levels])
    return plain_model(X, make_rows(y, family, order, levels, weights, epsilon=0.2))


def random_polytope(
    seed, family="ordinal", order="explicit", kind="noisy", delta=0.05, tolerance="split", **size
):
    """Return the equivalent models of a random problem at a C where features are used."""
    model = random_model(seed, family, order, kind, **size)
    C = smallest_C(model) * (1e4 if kind in ("separable", "wide") else 10.0)
    solution = fit_baseline(model, C)
    return polytope_of(model, solution, delta, tolerance), solution


def polytope_of(model, solution, delta, tolerance):
    if tolerance == "joint":
        return Polytope(model, joint=(solution.C, (1 + delta) * solution.objective), start=solution.v)
    return Polytope(
        model, norm=(1 + delta) * solution.penalty, loss=(1 + delta) * solution.loss, start=solution.v
    )


def plain_program(model, p, l, B):
    """The set as dense inequalities over (v, t, xi): written out, nothing clever."""
    q, R = model.q, model.h.size
    lhs, rhs = [], []
    for r in range(R):
        row = np.zeros(2 * q + R)
        row[:q], row[2 * q + r] = -model.G[r], -1.0
        lhs.append(row)
        rhs.append(-model.h[r])
    for j in range(q):
        for sign in (1.0, -1.0):
            row = np.zeros(2 * q + R)
            row[j], row[q + j] = sign, -1.0
            lhs.append(row)
            rhs.append(0.0)
    for row_A, a in zip(model.A, model.a, strict=True):
        lhs.append(np.concatenate([-row_A, np.zeros(q + R)]))
        rhs.append(-a)
    for k in range(len(B)):
        lhs.append(np.concatenate([l[k] * model.linear, p[k] * model.penalty, l[k] * model.c]))
        rhs.append(B[k])
    bounds = [*zip(model.lower, model.upper, strict=True)] + [(0, None)] * (q + R)
    bounds = [(None if lo == -np.inf else lo, None if hi == np.inf else hi) for lo, hi in bounds]
    return np.array(lhs), np.array(rhs), bounds


def unit_columns(model):
    """The model with columns of size one, and their old sizes: HiGHS's tolerances are absolute."""
    size = np.maximum(np.abs(model.G).max(axis=0, initial=0), np.abs(model.A).max(axis=0, initial=0))
    size[size == 0] = 1.0
    arrays = {"G": model.G / size, "A": model.A / size, "penalty": model.penalty / size}
    arrays |= {"linear": model.linear / size, "lower": model.lower * size, "upper": model.upper * size}
    return replace(model, **arrays), size


def plain_max(polytope, direction):
    """The maximum by scipy's HiGHS on the plain program; None when the set is empty."""
    model, size = unit_columns(polytope.model)
    lhs, rhs, bounds = plain_program(model, *polytope.budgets)
    cost = np.concatenate([-direction / size, np.zeros(lhs.shape[1] - direction.size)])
    scale = np.abs(cost).max()
    cost = cost / scale
    found = linprog(cost, A_ub=lhs, b_ub=rhs, bounds=bounds, method="highs")
    return -found.fun * scale if found.status == 0 else None


def plain_baseline(model, C):
    model, _ = unit_columns(model)
    lhs, rhs, bounds = plain_program(model, [], [], [])
    cost = np.concatenate([C * model.linear, 0.5 * model.penalty, C * model.c])
    found = linprog(cost, A_ub=lhs, b_ub=rhs, bounds=bounds, method="highs")
    assert found.status == 0
    return found.fun


def feature_directions(model):
    features = np.flatnonzero(model.penalty > 0)
    eye = np.eye(model.q)[features]
    return np.vstack([-eye, eye])


def with_free_columns(model, seed, how="noise", count=2):
    """The model with further columns that cost nothing: adjusting covariates, beside the thresholds."""
    rng = np.random.default_rng(seed)
    features = model.penalty > 0
    R = model.h.size
    added = {
        "noise": rng.standard_normal((R, count)),
        "constant": np.repeat(model.G[:, ~features].sum(axis=1, keepdims=True), count, axis=1),
        "copy": np.repeat(model.G[:, :1], count, axis=1),
        "large": 1e5 * rng.standard_normal((R, count)),
    }[how]
    none = np.zeros(count)
    return replace(
        model,
        G=np.hstack([model.G[:, features], added, model.G[:, ~features]]),
        A=np.hstack([model.A[:, features], np.zeros((len(model.A), count)), model.A[:, ~features]]),
        penalty=np.concatenate([model.penalty[features], none, model.penalty[~features]]),
        linear=np.concatenate([model.linear[features], none, model.linear[~features]]),
        lower=np.concatenate([model.lower[features], none - np.inf, model.lower[~features]]),
        upper=np.concatenate([model.upper[features], none + np.inf, model.upper[~features]]),
    )


def plain_least(polytope, E, F, cost):
    """The least cost.y with E v + F y >= 0 over the set, by scipy's HiGHS."""
    model, size = unit_columns(polytope.model)
    lhs, rhs, bounds = plain_program(model, *polytope.budgets)
    p = len(cost)
    rows = np.zeros((len(E), lhs.shape[1] + p))
    rows[:, : model.q], rows[:, -p:] = -E / size, -F
    lhs = np.vstack([np.hstack([lhs, np.zeros((len(lhs), p))]), rows])
    rhs = np.concatenate([rhs, np.zeros(len(E))])
    objective = np.concatenate([np.zeros(lhs.shape[1] - p), cost])
    found = linprog(objective, A_ub=lhs, b_ub=rhs, bounds=bounds + [(None, None)] * p, method="highs")
    return found.fun if found.status == 0 else None


def stacked(model, columns):
    """Pairs of a variable and its new column as replaced columns, one problem each."""
    return stack_columns([new_columns((j,), column[None, :]) for j, column in columns], model)
