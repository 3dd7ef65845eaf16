"""The cheapest features: against every subset by brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from explored import copies, eight, privileged, severity
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import plain_max

import relbounds as rb


def supports(fit, features):
    """Whether an equivalent model exists on these features, by one linear program."""
    tope = fit._fitted.polytope
    low, high = np.full(tope.model.q, -np.inf), np.full(tope.model.q, np.inf)
    for j, name in enumerate(fit.design.names):
        if name not in features:
            low[j] = high[j] = 0.0
    return plain_max(tope.bounded(low, high), np.eye(tope.model.q)[0]) is not None


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=8, max_size=8))
def test_cheapest_of_all_subsets(prices):
    fit = eight(0.1)
    cost = dict(zip(fit.design.names, map(float, prices), strict=True))
    found = fit.cheapest(cost)
    relevant = fit.selected("relevant")
    strong = fit.selected("strong")
    weak = [name for name in relevant if name not in strong]
    best = min(
        sum(cost[name] for name in (*strong, *some))
        for size in range(len(weak) + 1)
        for some in itertools.combinations(weak, size)
        if supports(fit, {*strong, *some})
    )
    assert found.exact and found.cost == pytest.approx(best)
    assert found.gap == 0.0 and found.bound == pytest.approx(best)


@pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")
def test_a_refit_on_the_chosen_features_keeps_the_budgets():
    fit = severity()
    found = fit.cheapest({"il6": 1.0, "crp": 20.0}, other=5.0)
    v = found.fitted.solution.v
    assert fit._fitted.polytope.excess_of(v) < 1e-5 * fit.baseline.mu
    unused = [j for j, name in enumerate(fit.design.names) if name not in found.features]
    assert np.all(v[unused] == 0)
    assert set(fit.selected("strong")) <= set(found.features)
    assert "il6" in found.features and "crp" not in found.features
    # the formula can be fitted as it stands
    again = rb.relbounds(
        found.formula, rb.datasets.load_severity().iloc[:150], C=0.1, probes=5, solver="auto"
    )
    assert [term.name for term in again.design.design_terms] == found.terms


def test_where_even_noise_is_needed_it_is_let_in():
    fit = eight(0.001)
    found = fit.cheapest({}, other=1.0)
    assert supports(fit, found.features)


def test_free_features_are_not_taken_without_need():
    found = copies().cheapest({}, other=0.0)
    assert len(found.features) == 2 and found.cost == 0


def test_the_heuristic_states_its_gap():
    fit = eight(0.1)
    cost = {"x5": 7.0, "x6": 5.0, "x7": 6.0}
    exact = fit.cheapest(cost, other=1.0)
    heuristic = fit.cheapest(cost, other=1.0, exact=False)
    assert heuristic.bound <= exact.cost + 1e-6 <= heuristic.cost + 2e-6
    assert supports(fit, heuristic.features)
    assert heuristic.exact == (heuristic.cost == pytest.approx(heuristic.bound))
    unproved = replace(exact, exact=False, bound=0.75 * exact.cost)
    assert unproved.gap == pytest.approx(0.25)
    assert "cheaper by up to 25.0%" in repr(unproved) and "proved cheapest" in repr(exact)


def test_many_candidates_are_searched_in_part(monkeypatch):
    monkeypatch.setattr("relbounds.explore.cheapest.MOST_EXACT", 2)
    monkeypatch.setattr("relbounds.explore.cheapest.MOST_NEEDS", 1)
    fit = severity()
    found = fit.cheapest({"crp": 20.0, "il6": 3.0}, other=5.0)
    assert supports(fit, found.features) and 0 <= found.gap < 1


def test_the_solver_keeps_quiet(capfd):
    eight(0.1).cheapest({}, other=1.0)
    assert capfd.readouterr().out == ""


def test_a_term_is_paid_once():
    found = severity().cheapest({"sex": 3.0}, other=1.0)
    assert "sex" not in found.terms  # irrelevant here
    assert found.cost_of_all == len(severity().selected("relevant"))


def test_a_what_if_narrows_the_choice():
    fit = copies()
    cheap = {"x1": 1.0, "x2": 1.0, "x3": 9.0, "x4": 1.0}
    assert fit.cheapest(cheap).features == ["x1", "x2"]
    assert fit.constrain({"x2": "off"}).cheapest(cheap).features == ["x1", "x3"]


def test_privileged_features_cost_nothing():
    found = privileged().cheapest({"x2": 1.0, "x3": 9.0}, other=1.0)
    assert "x3" not in found.features
    with pytest.raises(rb.OptionError, match="privileged"):
        privileged().cheapest({"z1": 1.0}, other=1.0)


@pytest.mark.parametrize(
    ("cost", "other", "words"),
    [
        ({"x1": 1.0}, None, "no cost for x2, x3, x4"),
        ({"x11": 1.0}, 1.0, "Did you mean 'x1'"),
        ({"x1": -1.0}, 1.0, "negative"),
        ({"x1": float("inf")}, 1.0, "finite"),
        ({"x1": "dear"}, 1.0, "finite"),
        ({}, -1.0, "negative"),
        ([1.0, 2.0], None, "must map"),
        ({"x1": True}, 1.0, "finite"),
    ],
)
def test_bad_costs(cost, other, words):
    with pytest.raises(rb.OptionError, match=words):
        copies().cheapest(cost, other=other)
