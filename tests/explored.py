"""Small fits that several test modules explore; each is made once a process."""

from __future__ import annotations

from functools import lru_cache

import matplotlib
import numpy as np

import relbounds as rb

matplotlib.use("Agg")
QUICK = {"probes": 10, "control": "published", "balance": False, "order": "explicit", "solver": "auto"}


@lru_cache
def eight(delta: float = 0.001):
    """Two classes, eight features: 1-4 strong, 5-7 copies of one another, 8 noise."""
    simulated = rb.simulate.binary(n=120, strong=4, weak=3, irrelevant=1, seed=3)
    return rb.relbounds(simulated.formula, simulated.data, C=1.0, delta=delta, **QUICK)


@lru_cache
def copies():
    """One strong feature, one of two copies, one noise."""
    simulated = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    return rb.relbounds(simulated.formula, simulated.data, C=1.0, delta="1se", **QUICK)


@lru_cache
def severity(tolerance: str = "split"):
    """Real names, four levels, a term with three columns."""
    formula = "severity ~ age + stiffness + platelets + crp + esr + il6 + sodium + sex"
    data = rb.datasets.load_severity().iloc[:150]
    data["sex"] = data["sex"].astype(str).where(np.arange(150) % 10 > 0, "unknown")
    return rb.relbounds(formula, data, C=0.1, delta="1se", tolerance=tolerance, **QUICK)


@lru_cache
def privileged(way: str = "slack"):
    """A fit with privileged features, used in either way: x2 and x3 are copies, z the clean values."""
    simulated = rb.simulate.privileged("clean", 80, 1, 2, 1, noise=0.1, seed=1)
    options = {"C": 1.0, "gamma": 1.0, "residual": 3.0, "delta": "1se", **QUICK}
    return rb.relbounds(simulated.formula, simulated.data, privileged=way, **options)


@lru_cache
def regression():
    """A numeric response."""
    simulated = rb.simulate.regression(n=60, strong=2, weak=2, irrelevant=1, noise=0.2, seed=2)
    return rb.relbounds(simulated.formula, simulated.data, C=1.0, epsilon=0.1, delta="1se", **QUICK)
