"""Noise of many observations, from a part of them."""

from __future__ import annotations

import numpy as np

import relbounds as rb
from relbounds.linear.noise import thinning


def test_noise_of_a_part_is_that_of_all_rows_once_it_is_scaled(monkeypatch):
    data = rb.simulate.draw("ordinal", 2400, 2, 0, 3, noise=0.5, seed=1)
    options = {"C": 0.05, "delta": 0.008, "progress": False}
    whole = rb.relbounds(data.formula, data.data, **options)
    assert not any("subsample" in note for note in whole.notes)
    monkeypatch.setattr(thinning, "MANY", 1000)
    monkeypatch.setattr(thinning, "LEAST", 600)
    part = rb.relbounds(data.formula, data.data, **options)
    assert any("subsample of about 600 of 2400 rows" in note for note in part.notes)
    reached = [
        np.median(one.populations[key].upper)
        for one in (whole._fitted.noise, part._fitted.noise)
        for key in one.populations
    ]
    assert 0.7 < reached[1] / reached[0] < 1.4
    # bounds and tests use all rows
    assert whole.table[["lower", "upper", "p_adjusted"]].equals(part.table[["lower", "upper", "p_adjusted"]])
    assert whole.table["relevance"].equals(part.table["relevance"])
