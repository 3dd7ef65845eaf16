"""The data of `methods.py`: sixteen kinds whose truth is known, drawn afresh for every seed.

A term is "strong" (it has an effect and no stand-in), "weak" (it has an effect and a copy), "bystander" (no effect of
its own, correlated with a term that has one) or "noise" (independent of the response and of every other kind).
The latent score is a sum of effects plus logistic noise; levels are cut at fixed shares of the rows, numbers are the
score itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

Drawn = tuple[pd.DataFrame, np.ndarray, list[str]]
"""Terms, score without noise, kind of each term."""

SHARES = {"ordinal": (0.4, 0.3, 0.2, 0.1), "binary": (0.6, 0.4)}


@dataclass(frozen=True)
class Scene:
    """One kind of data: what is drawn, of which family, how much of it."""

    name: str
    family: str
    n: int
    d: int
    make: Callable[[np.random.Generator, int, int], Drawn]

    def draw(self, seed: int) -> tuple[pd.DataFrame, list[str]]:
        """Draw the data, with the response `y`, and the kind of each term."""
        rng = np.random.default_rng([seed, self.n, self.d])
        X, score, kinds = self.make(rng, self.n, self.d)
        latent = score + rng.logistic(size=self.n)
        if self.family == "regression":
            y = latent
        else:
            rank = np.argsort(np.argsort(latent))
            y = np.searchsorted(np.cumsum(SHARES[self.family])[:-1] * self.n, rank, side="right") + 1
        return X.assign(y=y), kinds


def frame(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"x{k + 1}" for k in range(X.shape[1])])


def independent(*effects: float, tails: float = 1.0) -> Callable[..., Drawn]:
    """Independent columns; those with effects come first. `tails` is a power of the normal values."""

    def make(rng: np.random.Generator, n: int, d: int) -> Drawn:
        Z = rng.standard_normal((n, d))
        X = np.sign(Z) * np.abs(Z) ** tails
        # the spread of a power of a normal value, so that effects are per standard deviation
        X /= np.sqrt(np.mean(np.abs(np.random.default_rng(0).standard_normal(100_000)) ** (2 * tails)))
        k = len(effects)
        return frame(X), X[:, :k] @ np.array(effects), ["strong"] * k + ["noise"] * (d - k)

    return make


def copies(strong: int, pairs: int, spread: float, effect: float = 1.0) -> Callable[..., Drawn]:
    """Strong columns, then pairs that read one hidden value, each with an error of its own."""

    def make(rng: np.random.Generator, n: int, d: int) -> Drawn:
        Z = rng.standard_normal((n, d))
        hidden = rng.standard_normal((n, pairs))
        for k in range(pairs):
            for column in (strong + 2 * k, strong + 2 * k + 1):
                Z[:, column] = hidden[:, k] + spread * Z[:, column]
        score = effect * (Z[:, :strong].sum(axis=1) + hidden.sum(axis=1))
        rest = d - strong - 2 * pairs
        return frame(Z), score, ["strong"] * strong + ["weak"] * (2 * pairs) + ["noise"] * rest

    return make


def blocks(rho: float, effect: float) -> Callable[..., Drawn]:
    """Blocks of four columns with correlation rho; the first of each of the first three blocks has an effect."""

    def make(rng: np.random.Generator, n: int, d: int) -> Drawn:
        shared = np.repeat(rng.standard_normal((n, -(-d // 4))), 4, axis=1)[:, :d]
        X = np.sqrt(rho) * shared + np.sqrt(1 - rho) * rng.standard_normal((n, d))
        kinds = (["strong"] + ["bystander"] * 3) * 3 + ["noise"] * (d - 12)
        return frame(X), effect * X[:, [0, 4, 8]].sum(axis=1), kinds

    return make


def factors(rng: np.random.Generator, n: int, d: int) -> Drawn:
    """A number, a factor of four levels and one of two with effects; factors and numbers without."""
    X = frame(rng.standard_normal((n, d)))
    X["x2"] = np.array(list("abcd"))[rng.choice(4, n, p=(0.4, 0.3, 0.2, 0.1))]
    X["x3"] = np.array(list("ab"))[rng.choice(2, n, p=(0.6, 0.4))]
    for k, levels in zip(range(4, 4 + 4), (2, 3, 6, 3), strict=True):
        share = rng.dirichlet(np.full(levels, 5.0))
        X[f"x{k}"] = np.array(list("abcdef"))[rng.choice(levels, n, p=share)]
    effect = X["x2"].map({"a": 0.0, "b": 0.8, "c": 1.6, "d": 2.4}) + X["x3"].map({"a": 0.0, "b": 1.5})
    return X, (X["x1"] + effect).to_numpy(float), ["strong"] * 3 + ["noise"] * (d - 3)


def curved(rng: np.random.Generator, n: int, d: int) -> Drawn:
    """Relations no line has: a square, a product; and one line."""
    X = rng.standard_normal((n, d))
    score = 1.5 * (X[:, 0] ** 2 - 1) + 2 * X[:, 1] * X[:, 2] + 1.5 * X[:, 3]
    return frame(X), score, ["strong"] * 4 + ["noise"] * (d - 4)


SCENES = {
    scene.name: scene
    for scene in (
        Scene("no relation", "ordinal", 100, 10, independent()),
        Scene("independent", "ordinal", 150, 12, independent(1.2, 0.9, 0.6, 0.4)),
        Scene("exact copies", "ordinal", 200, 12, copies(2, 2, 0.0)),
        Scene("noisy copies", "ordinal", 300, 12, copies(2, 2, 0.3)),
        Scene("blocks", "ordinal", 300, 20, blocks(0.7, 1.0)),
        Scene("heavy tails", "ordinal", 200, 10, independent(1.0, 1.0, 1.0, tails=2.0)),
        Scene("factors", "ordinal", 300, 10, factors),
        Scene("many rows", "ordinal", 2000, 20, copies(3, 2, 0.3, 0.5)),
        Scene("binary", "binary", 200, 10, independent(1.2, 0.9, 0.6)),
        Scene("binary, noisy copies", "binary", 400, 20, copies(3, 3, 0.3)),
        Scene("binary, wide", "binary", 150, 200, copies(3, 1, 0.0, 1.5)),
        Scene("numbers, blocks", "regression", 200, 20, blocks(0.7, 1.0)),
        Scene("numbers, exact copies", "regression", 200, 12, copies(2, 2, 0.0)),
        Scene("numbers, wide", "regression", 200, 500, copies(3, 1, 0.0, 1.5)),
        Scene("numbers, many effects", "regression", 500, 100, independent(*[0.3] * 25)),
        Scene("curved", "binary", 400, 10, curved),
    )
}
