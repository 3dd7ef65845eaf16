"""Sweeps along the tolerance: intervals only widen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from explored import copies, privileged, severity
from hypothesis import given, settings
from hypothesis import strategies as st

import relbounds as rb
from relbounds.explore.sweep_delta import sweep_delta
from relbounds.linear.noise import blocks
from relbounds.linear.noise.evidence import Memory
from relbounds.linear.noise.facts import NoiseKey
from relbounds.solver.refitted import push_refitted


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


def test_models_of_noise_are_those_that_the_fit_remembers(monkeypatch):
    data = rb.simulate.ordinal(n=120, strong=2, weak=2, irrelevant=3, seed=4)
    fit = rb.relbounds(data.formula, data.data, seed=1)._fitted
    anew = sweep_delta(replace(fit, memory=Memory()), [0.01, fit.delta])
    monkeypatch.setattr(blocks, "best_each", _never)
    known = sweep_delta(fit, [0.01, fit.delta])
    assert known.noise.equals(anew.noise)
    assert known.table.equals(anew.table)


def _never(*_):
    raise AssertionError("noise was fitted again")


def test_the_least_use_of_a_permuted_factor_is_the_same_on_the_rows_that_were_seen_to_move(monkeypatch):
    rng = np.random.default_rng(5)
    site = rng.choice(list("abcd"), size=900)
    x = rng.standard_normal(900)
    grade = np.digitize(x + rng.standard_normal(900), [-0.5, 0.5]) + 1
    data = pd.DataFrame({"grade": pd.Categorical(grade, ordered=True), "x": x, "site": site})
    # at so small a tolerance the models of permuted data need what chance made of the factor
    fit = rb.relbounds("grade ~ x + C(site)", data, C=0.1, delta=1e-4, seed=1)._fitted
    low = fit.noise.populations[NoiseKey("regular")].lower
    assert low.max() > 1e-3

    def forget(*args, **options):
        found = push_refitted(*args, **options)
        return replace(found, active=np.ones_like(found.active))

    monkeypatch.setattr(blocks, "push_refitted", forget)
    again = rb.relbounds("grade ~ x + C(site)", data, C=0.1, delta=1e-4, seed=1)._fitted
    assert again.noise.populations[NoiseKey("regular")].lower == pytest.approx(low, abs=3e-6)
