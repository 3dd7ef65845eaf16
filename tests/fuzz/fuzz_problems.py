"""Random problems of every family, kind and unit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Problem:
    """Data as a user has them, and every choice that fixes a model."""

    seed: int
    family: str
    order: str
    n_levels: int
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    C: float
    delta: float
    tolerance: str
    balance: bool
    epsilon: float = 0.0  # in units of the response's spread
    standardize: bool = True
    factor: tuple | None = None
    adjust: np.ndarray | None = None
    Z: np.ndarray | None = None
    gamma: float = 1.0
    residual: float = np.inf
    correcting: str = "sides"
    solver: str = "auto"

    @property
    def formula(self) -> str:
        terms = [f"x{j}" for j in range(self.X.shape[1])] + (["site"] if self.factor else [])
        text = "y ~ " + " + ".join(terms)
        if self.adjust is not None:
            text += " | adjust(" + ", ".join(f"a{j}" for j in range(self.adjust.shape[1])) + ")"
        if self.Z is not None:
            text += " | priv(" + ", ".join(f"z{j}" for j in range(self.Z.shape[1])) + ")"
        return text

    @property
    def data(self) -> pd.DataFrame:
        columns = {f"x{j}": self.X[:, j] for j in range(self.X.shape[1])}
        if self.factor is not None:
            columns["site"] = list(self.factor)
        if self.adjust is not None:
            columns |= {f"a{j}": self.adjust[:, j] for j in range(self.adjust.shape[1])}
        if self.Z is not None:
            columns |= {f"z{j}": self.Z[:, j] for j in range(self.Z.shape[1])}
        if self.family == "regression":
            columns["y"] = self.y
        elif self.family == "ordinal":
            columns["y"] = pd.Categorical(self.y, categories=list(range(1, self.n_levels + 1)), ordered=True)
        else:
            columns["y"] = [f"level {int(v)}" for v in self.y]
        return pd.DataFrame(columns)

    def __str__(self) -> str:
        parts = [f"seed {self.seed}", self.family, self.order, f"n {len(self.y)}", f"d {self.X.shape[1]}"]
        parts += [f"C {self.C:.3g}", f"delta {self.delta:g}", self.tolerance]
        for name in ("balance", "standardize"):
            parts.append(name if getattr(self, name) else f"no {name}")
        if self.Z is not None:
            parts.append(
                f"priv {self.Z.shape[1]} {self.correcting} gamma {self.gamma:g} residual {self.residual:g}"
            )
        parts += ["factor"] * (self.factor is not None) + ["adjust"] * (self.adjust is not None)
        parts += ["weighted"] * bool(np.ptp(self.weights) > 0)
        return ", ".join(parts)


FAMILIES = ("ordinal", "ordinal", "binary", "regression", "regression", "nominal")


def make_problem(seed: int) -> Problem:
    """Draw a problem; the same seed gives the same one."""
    rng = np.random.default_rng([seed, 20_261])
    family = str(rng.choice(FAMILIES))
    n_levels = {"binary": 2, "regression": 0, "nominal": 3}.get(family, int(rng.integers(3, 5)))
    d = int(rng.integers(1, 4))
    n = int(rng.integers(8, 18))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = np.round(2 * X)  # ties
    if d > 1 and rng.random() < 0.3:
        X[:, 1] = X[:, 0] + 0.1 * rng.normal(size=n)  # near copies
    score = X @ rng.normal(size=d) + rng.choice([0.05, 0.5, 2.0]) * rng.normal(size=n)
    y = _response(rng, score, family, n_levels)
    privileged = rng.random() < 0.3 and family != "nominal"
    problem = Problem(
        seed=seed,
        family=family,
        order=str(rng.choice(["explicit", "implicit"])) if family == "ordinal" else "explicit",
        n_levels=n_levels,
        X=X,
        y=y,
        weights=np.ones(n) if rng.random() < 0.6 else rng.choice([0.5, 1.0, 2.0, 5.0], size=n),
        C=float(10 ** rng.uniform(-0.7, 1.5)),
        delta=float(rng.choice([0.0, 1e-6, 0.001, 0.05, 0.3])),
        tolerance=str(rng.choice(["split", "joint"])),
        balance=bool(rng.random() < 0.5),
        epsilon=float(rng.choice([0.0, 0.1, 0.5])) if family == "regression" else 0.0,
    )
    if privileged:
        problem = replace(
            problem,
            Z=np.column_stack([np.abs(score - np.median(score)), rng.normal(size=n)])[
                :, : rng.integers(1, 3)
            ],
            gamma=float(rng.choice([0.1, 1.0, 10.0])),
            residual=float(rng.choice([np.inf, 1.5, 5.0])),
            correcting=str(rng.choice(["sides", "sides", "shared"])) if family == "binary" else "sides",
        )
    elif rng.random() < 0.2 and family != "nominal" and n >= 9:
        problem = replace(problem, factor=tuple(rng.permutation(np.resize(list("abc"), n)).tolist()))
    if rng.random() < 0.2 and family != "nominal":
        problem = replace(problem, adjust=rng.normal(size=(n, 1)) + 0.3 * score[:, None])
    return in_other_units(problem, rng)


def _response(rng, score, family, n_levels):
    if family == "regression":
        return score
    edges = np.quantile(score, np.linspace(0, 1, n_levels + 1)[1:-1])
    y = 1 + np.searchsorted(edges, score)
    y[rng.choice(len(y), n_levels, replace=False)] = np.arange(1, n_levels + 1)  # each level occurs
    return y if family != "nominal" else rng.permutation(n_levels)[y - 1] + 1


def in_other_units(problem: Problem, rng) -> Problem:
    """Change every unit: columns, response, weights; what the definitions say stays the same."""

    def moved(values, largest_shift):
        size = 10 ** rng.uniform(-12, 12, size=values.shape[1])
        shift = rng.choice([0.0, 1.0, largest_shift], size=values.shape[1])
        return size * (values + shift)

    kind = rng.random()
    if kind < 0.25:  # columns as they come
        same = 10 ** rng.uniform(-6, 6)
        own = 10 ** rng.uniform(-0.7, 0.7, size=problem.X.shape[1])
        problem = replace(problem, standardize=False, X=same * own * problem.X, C=problem.C / same)
        if problem.factor is not None:
            problem = replace(problem, factor=None)
        if problem.Z is not None:
            problem = replace(problem, Z=None)
        if problem.adjust is not None:
            problem = replace(problem, adjust=None)
    else:
        problem = replace(problem, X=moved(problem.X, 1e5))
        if problem.Z is not None:
            problem = replace(problem, Z=moved(problem.Z, 1e3))
        if problem.adjust is not None:
            problem = replace(problem, adjust=moved(problem.adjust, 1e3))
    if problem.family == "regression":
        size = 10 ** rng.uniform(-12, 12)
        problem = replace(problem, y=size * (problem.y + rng.choice([0.0, 10.0, 1e5])))
    by = 10 ** rng.uniform(-6, 6) if rng.random() < 0.3 else 1.0
    return replace(problem, weights=by * problem.weights, C=problem.C / by)
