"""Simulators whose rows carry columns that only training data would have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from relbounds.checks import integer
from relbounds.errors import OptionError, nearest
from relbounds.simulate.recipe import (
    Simulated,
    assemble,
    check_options,
    clean_columns,
    cut_levels,
    gaussian,
    make_layout,
    make_response,
    standardise,
)

KINDS = ("clean", "noise", "irrelevant", "rater")


def privileged(
    kind: str = "clean",
    n: int = 200,
    strong: int = 3,
    weak: int = 4,
    irrelevant: int = 3,
    *,
    family: str = "ordinal",
    groups: int | Sequence[int] = 1,
    n_levels: int = 5,
    noise: float = 0.2,
    imbalance: float = 0.0,
    correlation: float = 0.0,
    label_noise: float = 0.0,
    n_privileged: int = 3,
    seed: int | None = 0,
) -> Simulated:
    """Simulate data with privileged columns z1, z2, ... that only training rows would have.

    Parameters
    ----------
    kind : {"clean", "noise", "irrelevant", "rater"}
        - "clean": z are the features before the noise was added, x = z + noise, the response comes from z;
          irrelevant columns of x and z are drawn apart. Both parts have the same classes.
        - "noise": z tell how much noise was added, one column for each strong feature: z_k = x_k - clean x_k.
          Half the rows, drawn at random, have none, so that rows differ in how hard they are. All are
          "strong".
        - "irrelevant": ``n_privileged`` columns of pure noise.
        - "rater": labels are wrong at the rate ``label_noise``; z1 is a second reading of the true level
          (Gaussian error, sd 0.3 levels), z2 the rater's doubt (larger where the label is wrong). Their
          classes depend on how privileged columns are used, so `truth_privileged` holds missing values.
    family, n, strong, weak, irrelevant, groups, n_levels, noise, imbalance, correlation, label_noise, seed
        As in `draw`; the score's weights are uniform on [0.5, 1].
    n_privileged : int
        Columns of kind "irrelevant".

    Returns
    -------
    Simulated
        Data, formula and truth.

    Examples
    --------
    >>> sim = privileged("clean", n=100, strong=1, weak=2, irrelevant=1)
    >>> sim.formula
    'y ~ . | priv(z1, z2, z3, z4)'
    >>> sim.truth_privileged.tolist()
    ['strong', 'weak', 'weak', 'irrelevant']
    """
    if kind not in KINDS:
        raise OptionError(f"kind was {kind!r}; choose one of {', '.join(KINDS)}.{nearest(kind, KINDS)}")
    if kind == "noise" and strong < 1:
        raise OptionError("kind 'noise' needs strong features, whose noise the privileged columns tell.")
    if kind == "rater" and family == "regression":
        raise OptionError("kind 'rater' reads levels; use family 'ordinal' or 'binary'.")
    n_levels = check_options(family, n, n_levels, noise, imbalance, correlation, label_noise)
    layout = make_layout(strong, weak, irrelevant, groups)
    rng = np.random.default_rng(integer("seed", seed))
    informative = gaussian(rng, n, layout.n_informative, correlation)
    score = informative @ rng.uniform(0.5, 1.0, size=layout.n_informative)
    y = make_response(rng, score, family, n_levels, imbalance, label_noise)
    clean = clean_columns(rng, informative, layout, correlation)
    added = noise * rng.standard_normal(clean.shape)

    classes: list[object]
    if kind == "clean":
        X = clean + added
        apart = np.array(layout.source) < 0
        X[:, apart] = gaussian(rng, n, int(apart.sum()), correlation)
        Z, classes = standardise(clean), list(layout.classes)
    elif kind == "noise":
        added *= rng.permutation(np.arange(n) % 2)[:, None]
        X = clean + added
        Z, classes = added[:, :strong], ["strong"] * strong
    elif kind == "irrelevant":
        X = clean + added
        Z, classes = rng.standard_normal((n, n_privileged)), ["irrelevant"] * n_privileged
    else:
        X = clean + added
        level = cut_levels(score, n_levels, imbalance)
        given = y.to_numpy(dtype=np.int64) + (1 if family == "binary" else 0)
        reading = level + 0.3 * rng.standard_normal(n)
        doubt = (given != level) + 0.3 * rng.standard_normal(n)
        Z, classes = np.column_stack([reading, doubt]), [pd.NA, pd.NA]
    return assemble(y, standardise(X), layout, Z, classes)


def noise_per_group(
    seed: int | None = 0, sds: Sequence[float] = (0.1, 0.5, 2.0), size: int = 100
) -> Simulated:
    """Four groups of rows: in each of the first three, one of three strong features is noisy.

    The published example of what privileged relevance means: ``size`` rows a group, three strong and three
    irrelevant features, five levels, noise of sd 0.1, 0.5 and 2.0 on feature 1, 2 and 3 in groups 1, 2 and 3,
    none in the fourth. z_k is the noise added to x_k, 0 outside its group. The noisier the feature, the more
    a model gains from being told.

    Parameters
    ----------
    seed : int or None
    sds : sequence of float
        Standard deviation of the noise in each of the first groups.
    size : int
        Rows a group.

    Returns
    -------
    Simulated
        Data, formula and truth.

    Examples
    --------
    >>> sim = noise_per_group(seed=1)
    >>> len(sim.data), sim.truth_privileged.tolist()
    (400, ['strong', 'strong', 'strong'])
    """
    rng = np.random.default_rng(integer("seed", seed))
    q = len(sds)
    n = size * (q + 1)
    layout = make_layout(q, 0, q, 1)
    informative = rng.standard_normal((n, q))
    y = make_response(rng, informative.sum(axis=1), "ordinal", 5, 0.0, 0.0)
    Z = np.zeros((n, q))
    for k, sd in enumerate(sds):
        Z[k * size : (k + 1) * size, k] = sd * rng.standard_normal(size)
    X = clean_columns(rng, informative, layout, 0.0)
    X[:, :q] += Z
    return assemble(y, standardise(X), layout, Z, ["strong"] * q)
