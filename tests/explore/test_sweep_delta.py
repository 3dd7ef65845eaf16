"""Sweeps along the tolerance: intervals only widen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from explored import copies, privileged, severity
from hypothesis import given, settings
from hypothesis import strategies as st

import relbounds as rb


@settings(max_examples=5, deadline=None)
@given(st.lists(st.floats(0.0005, 0.5), min_size=2, max_size=3, unique=True))
def test_intervals_only_widen(deltas):
    found = copies().sweep_delta(deltas, probes=3)
    for low, high in (("lower", "upper"), ("signed_lower", "signed_upper")):
        falls = found.table[low].unstack("delta").diff(axis=1).iloc[:, 1:]
        rises = found.table[high].unstack("delta").diff(axis=1).iloc[:, 1:]
        assert (falls.to_numpy() < 1e-6).all() and (rises.to_numpy() > -1e-6).all()


def test_the_fit_itself_is_one_of_the_tolerances():
    fit = severity()
    found = fit.sweep_delta()
    assert fit.delta in found.deltas
    here = found.table.loc[fit.delta]
    assert np.allclose(here["upper"], fit.table["upper"], atol=1e-6)
    assert here["relevance"].tolist() == fit.table["relevance"].tolist()
    assert list(found.deltas) == sorted(found.deltas)


def test_changes_say_where_a_class_ends():
    fit = severity()
    found = fit.sweep_delta([0.0005, 0.1, 2.0], probes=5)
    for _, row in found.changes.iterrows():
        assert found.table.loc[(row["after"], row["feature"]), "relevance"] == row["was"]
        assert found.table.loc[(row["by"], row["feature"]), "relevance"] == row["becomes"]
    until = found.strong_until
    assert until["stiffness"] >= 0.1
    never = until.index[until.isna()]
    assert (found.table.loc[0.0005].loc[never, "relevance"] != "strong").all()
    assert "Sweep over 3 tolerances" in repr(found)


def test_words_are_tolerances_too():
    fit = copies()
    found = fit.sweep_delta(["1se", "2se"], probes=3)
    assert found.deltas[1] == pytest.approx(2 * found.deltas[0])


def test_a_teacher_is_swept_along():
    found = privileged("teacher").sweep_delta([0.01, 0.1], probes=3)
    assert set(found.table["part"]) == {"regular", "privileged"}
    assert {"regular", "privileged"} <= set(found.noise.columns)


@pytest.mark.parametrize(
    ("deltas", "words"), [([], "empty"), ([-0.1], "0 or more"), (["3se"], "not known"), ([None], "delta")]
)
def test_bad_tolerances(deltas, words):
    with pytest.raises(rb.OptionError, match=words):
        copies().sweep_delta(deltas)


def test_a_what_if_is_not_swept():
    with pytest.raises(rb.OptionError, match="without constraints"):
        copies().constrain({"x2": 0}).sweep_delta([0.1])


def test_the_best_models_alone_are_part_of_the_default():
    found = copies().sweep_delta()
    assert found.deltas[0] == 0.0 and len(found.noise) == len(found.deltas)
    widths = (found.table["upper"] - found.table["lower"]).unstack("delta")
    assert (widths[0.0] <= widths.iloc[:, -1] + 1e-6).all()


def test_a_class_that_rises_again_is_named_and_explained():
    found = copies().sweep_delta([0.01, 0.1, 0.5], probes=3)
    table = found.table.copy()
    for delta, label in zip((0.01, 0.1, 0.5), ("weak", "irrelevant", "weak"), strict=True):
        table.loc[(delta, "x4"), "relevance"] = label
    turned = replace(found, table=table)
    assert not turned.monotone["x4"]
    (said,) = [text for text in turned.explanation if text.startswith("x4")]
    assert "weak from 0.01, irrelevant from 0.1, weak from 0.5" in said and "noise" in said
    assert said in repr(turned)
