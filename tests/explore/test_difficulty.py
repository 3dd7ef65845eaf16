"""Difficulty of training rows: rows that are alike are as hard as each other, however the program merges them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relbounds as rb


@pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")
@pytest.mark.parametrize(("way", "options"), [("slack", {"gamma": 0.1, "residual": 2.0}), ("teacher", {})])
def test_rows_that_are_alike_are_as_hard(way, options):
    simulated = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
    twice = pd.concat([simulated.data, simulated.data], ignore_index=True)
    options = {"C": 1.0, "delta": 0.05, "control": "fdr", "privileged": way, **options}
    found = rb.relbounds(simulated.formula, twice, **options).difficulty()
    numbers = found.select_dtypes("number").drop(columns=["y", "predicted"], errors="ignore")
    assert np.allclose(numbers.iloc[:60], numbers.iloc[60:])
    assert found["reason"].tolist()[:60] == found["reason"].tolist()[60:]
    if way == "teacher":
        assert found["weight"].between(0.0, 1.0 + 1e-9).all()
