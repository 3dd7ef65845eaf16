from __future__ import annotations

import numpy as np
import pytest


def ordinal(n, d, levels, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X @ rng.normal(size=d) + np.sin(2 * X[:, 0]) + noise * rng.normal(size=n)
    return X, 1 + np.searchsorted(np.quantile(score, np.arange(1, levels) / levels), score)


@pytest.fixture
def make():
    return ordinal
