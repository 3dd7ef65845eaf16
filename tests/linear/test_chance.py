"""What a fit says of its own predictions: no better than chance, or worse than one level for everybody."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds.metrics import mmae


def ratings(effect: float) -> pd.DataFrame:
    """Return six ratings of two products, as tastings have them: one coarse column, many levels."""
    rng = np.random.default_rng(3)
    product = np.tile([0, 1], 300)
    latent = effect * product + rng.normal(size=600)
    cuts = np.quantile(latent, [0.15, 0.3, 0.45, 0.6, 0.8])
    return pd.DataFrame(
        {"rating": np.searchsorted(cuts, latent) + 1, "product": product, "day": rng.normal(size=600)}
    )


def said(fit: rb.RelboundsResults) -> str:
    return " ".join(fit.notes)


@pytest.mark.parametrize(("effect", "expected"), [(0.5, True), (0.0, False)])
def test_levels_worse_than_the_middle_one(effect: float, expected: bool) -> None:
    fit = rb.relbounds("rating ~ product + day", ratings(effect), family="ordinal", progress=False)
    assert ("the middle level for everybody by 1.50" in said(fit)) is expected
    # without a relation the fit says that instead
    assert ("chance" in said(fit) or "No relation" in said(fit)) is not expected


def test_the_middle_level_is_the_best_constant() -> None:
    for count in range(2, 8):
        levels = np.arange(count)
        best = min(mmae(levels, np.full(count, k)) for k in levels)
        assert count**2 // 4 / count == pytest.approx(best)


def test_good_predictions_say_nothing() -> None:
    simulated = rb.simulate.paper_set(1)
    fit = rb.relbounds(simulated.formula, simulated.data, progress=False, bounds=False)
    assert "middle level" not in said(fit)
