"""Limits of many variables, proved from the middle of a set."""

from dataclasses import replace

import numpy as np
import pytest
from problems import FAMILIES, plain_max, random_polytope

from relbounds.linear import at_most
from relbounds.solver import middle_limits
from relbounds.solver.middle_limits import limits_below, middle_of


def ends_of(polytope):
    features = np.flatnonzero(polytope.model.penalty > 0)
    variables, signs = np.repeat(features, 2), np.tile([-1.0, 1.0], features.size)
    directions = np.zeros((signs.size, polytope.model.q))
    directions[np.arange(signs.size), variables] = signs
    return variables, signs, np.array([plain_max(polytope, d) for d in directions])


@pytest.mark.parametrize("tolerance", ["split", "joint"])
@pytest.mark.parametrize("delta", [0.01, 0.3])
@pytest.mark.parametrize(("family", "order"), FAMILIES)
def test_limits_hold_by_plain_linear_programming(family, order, delta, tolerance):
    polytope, _ = random_polytope(3, family, order, "noisy", delta, tolerance, n=30, d=20)
    middle = middle_of(polytope)
    variables, signs, exact = ends_of(polytope)
    shares = []
    for times in (1.05, 2.0, 3.0):
        below = times * np.median(exact)
        found = limits_below(polytope, middle, variables, signs, below)
        some = np.isfinite(found)
        assert np.all(found[some] >= exact[some] - 1e-7 * polytope.size) and np.all(found[some] <= below)
        # what is not so small has no such limit
        assert not some[exact > below].any()
        shares.append(some.sum() / np.sum(exact <= below))
    # the fatter a set, the more room its multipliers have in the middle
    assert max(shares) > (0.8 if delta > 0.1 else 0.1)


def test_sets_it_is_not_for_have_no_middle(monkeypatch):
    polytope, _ = random_polytope(0, "ordinal", "explicit", "noisy", 0.1, n=30, d=5)
    assert middle_of(polytope) is not None
    assert middle_of(replace(polytope, loss=0.1 * polytope.loss)) is None
    monkeypatch.setattr(middle_limits, "MOST", 10)
    assert middle_of(polytope) is None


def test_most_limits_of_many_features_take_no_push(monkeypatch):
    import relbounds as rb

    data = rb.simulate.draw("ordinal", 100, 3, 2, 150, noise=0.5, seed=7)
    asked, pushed = [], []
    inner, push = at_most._from_the_middle, at_most._push_ends
    monkeypatch.setattr(at_most, "_from_the_middle", lambda *a: asked.append(inner(*a)) or asked[-1])
    monkeypatch.setattr(at_most, "_push_ends", lambda ends, shared: pushed.extend(ends) or push(ends, shared))
    fit = rb.relbounds(data.formula, data.data, delta=0.3, seed=1)
    (limits,) = asked
    assert limits.size > 50 and np.isfinite(limits).mean() > 0.8
    assert len(pushed) == np.isinf(limits).sum()
    assert fit.certificate <= 1e-6
