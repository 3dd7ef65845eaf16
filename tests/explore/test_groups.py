"""Groups of features that play the same role."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from explored import copies, eight, privileged, severity

import relbounds as rb
from relbounds.explore.groups import labels_at
from relbounds.explore.holding import context_distances


def test_copies_are_one_group_and_nothing_else_is():
    found = eight(0.1).groups()
    labels = found.labels
    assert labels["x5"] == labels["x6"] == labels["x7"]
    assert (labels == labels["x5"]).sum() == 3
    assert labels[["x1", "x2", "x3", "x4", "x8"]].nunique() == 5
    assert len(found) == 6 and found.members[int(labels["x5"])] == ["x5", "x6", "x7"]


def test_overlaps_find_copies_too():
    found = eight(0.1).groups(by="overlap")
    assert found.members[int(found.labels["x5"])] == ["x5", "x6", "x7"]
    assert found.contexts.loc["x5", "x6"] == pytest.approx(1.0, abs=0.02)
    assert found.contexts.loc["x5", "x1"] < 0.1
    substitutes = eight(0.1).substitutes("x5")
    assert found.contexts.loc["x5", "x6"] == pytest.approx(substitutes.loc["x6", "overlap"], abs=1e-3)
    labels = severity().groups(by="overlap").labels
    assert labels["crp"] == labels["esr"] == labels["il6"]
    assert (labels == labels["crp"]).sum() == 3


def test_published_sets_of_identical_pairs():
    simulated = rb.simulate.paper_group_set(3, seed=0)
    fit = rb.relbounds(simulated.formula, simulated.data, C=1.0, probes=5, solver="auto")
    found = fit.groups()
    table = pd.crosstab(found.labels, simulated.groups)
    assert (table > 0).to_numpy().sum() == 5  # five groups, one label each


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2, 3])
def test_published_sets_with_defaults(number):
    """Wide tolerances, where all contexts look alike, are where a careless cut merges everything."""
    simulated = rb.simulate.paper_group_set(number, seed=1)
    fit = rb.relbounds(simulated.formula, simulated.data, C=0.3, probes=10)
    for by in ("context", "overlap"):
        table = pd.crosstab(fit.groups(by=by).labels, simulated.groups)
        pairs = [g for g in table.columns if g > 0]
        # no two pairs share a group, and no pair is torn apart
        assert ((table[pairs] > 0).sum(axis=0) == 1).all() and ((table[pairs] > 0).sum(axis=1) <= 1).all()


def test_copies_alone_are_one_group():
    simulated = rb.simulate.binary(n=80, strong=0, weak=4, irrelevant=2, seed=2)
    fit = rb.relbounds(simulated.formula, simulated.data, C=1.0, control="fdr")
    for by in ("context", "overlap"):
        labels = fit.groups(by=by).labels
        assert labels[["x1", "x2", "x3", "x4"]].nunique() == 1 and labels["x5"] != labels["x1"]


def test_contexts_are_what_the_what_if_says():
    fit = copies()
    found = fit.groups(k=3)
    held = fit.constrain({"x2": "max"}).table
    moved = found.contexts.loc["x2"]
    for name in ("x1", "x3"):
        for end in ("lower", "upper"):
            expected = fit.table.loc[name, end] - held.loc[name, end]
            assert moved[(name, "max", end)] == pytest.approx(expected, abs=1e-4)
    assert (moved["x2"] == 0).all()
    off = fit.constrain({"x2": "off"}).table
    assert moved[("x3", "min", "lower")] == pytest.approx(-off.loc["x3", "lower"], abs=1e-4)


def test_identical_features_have_distance_zero():
    found = copies().groups(k=3)
    assert found.distance.loc["x2", "x3"] < 1e-4 * found.distance.to_numpy().max()
    assert np.allclose(found.distance, found.distance.T)


def test_distances_leave_out_both_features():
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(4, 4, 2, 2))
    contexts[np.arange(4), np.arange(4)] = 0
    distance = context_distances(contexts)
    for a in range(4):
        for b in range(4):
            others = [i for i in range(4) if i not in (a, b)]
            by_hand = np.sqrt(((contexts[a] - contexts[b])[others] ** 2).sum())
            assert distance[a, b] == pytest.approx(by_hand if a != b else 0.0)


def test_cuts():
    found = severity().groups(cut=0.3)
    for k in (1, 3, len(found.labels)):
        assert len(found.cut(k=k)) == k
    assert len(found.cut(0.0, by_class=False)) >= len(found.cut(0.5, by_class=False)) >= 1
    assert len(found.cut(1.0, by_class=False)) == 1
    assert found.labels.iloc[0] == 1
    assert "groups of 8 terms" in repr(found)
    labels = found.cut().labels
    assert labels["crp"] == labels["esr"] == labels["il6"]


def test_equal_links_can_still_be_cut_into_any_number():
    tree = np.array([[0, 1, 0.5, 2], [2, 3, 0.5, 2], [4, 5, 0.5, 4]])
    for k in (1, 2, 3, 4):
        assert len(set(labels_at(tree, 0.5, k))) == k


@pytest.mark.parametrize("way", ["slack", "teacher"])
def test_privileged_features_have_groups_of_their_own(way):
    fit = privileged(way)
    found = fit.groups(part="privileged", k=2)
    assert found.labels.index.tolist() == fit.table.index[fit.table["part"] == "privileged"].tolist()


def test_groups_of_a_what_if():
    held = eight(0.1).constrain({"x5": "off"})
    labels = held.groups().labels
    assert labels["x6"] == labels["x7"] != labels["x1"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cut": 0.5, "k": 2}, "not both"),
        ({"cut": 1.5}, "between 0 and 1"),
        ({"k": 0}, "1 or more"),
        ({"k": 99}, "cannot be made"),
        ({"part": "privileged"}, "no privileged"),
        ({"by": "overlaps"}, "Did you mean 'overlap'"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(rb.OptionError, match=words):
        copies().groups(**options)


@pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")
def test_two_features_are_too_few():
    simulated = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    fit = rb.relbounds("y ~ x2 + x3", simulated.data, C=1.0, probes=5, solver="auto")
    with pytest.raises(rb.OptionError, match="at least three"):
        fit.groups()
