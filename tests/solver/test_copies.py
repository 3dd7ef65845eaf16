"""Copies of a column are pushed once, and every one of them gets what linprog finds for it."""

from dataclasses import replace

import numpy as np
import pytest
from problems import plain_max, polytope_of, random_model

import relbounds as rb
from relbounds.linear.noise import fwer, probes
from relbounds.solver.copies import copies, distinct, fit_for_changes
from relbounds.solver.engines import dispatch
from relbounds.solver.engines.registry import engines_for
from relbounds.solver.optimum import fit_baseline


def with_copies(seed):
    """Return a program whose first column stands in it three times, once with the other sign."""
    model = random_model(seed, d=4)
    G, A = model.G.copy(), model.A.copy()
    for rows in (G, A):
        rows[:, 1], rows[:, 3] = -rows[:, 0], rows[:, 0]
    return replace(model, G=G, A=A)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("tolerance", ["split", "joint"])
def test_copies_are_pushed_once_and_agree_with_linprog(seed, tolerance, monkeypatch):
    model = with_copies(seed)
    polytope = polytope_of(model, fit_baseline(model, 1.0), 0.1, tolerance)
    asked = []
    engine = engines_for("batch")[0]

    def counted(polytope, directions):
        asked.append(len(directions))
        return engine.push(polytope, directions)

    monkeypatch.setattr(dispatch, "engines_for", lambda _: [replace(engine, push=counted)])
    mixed = np.zeros((1, model.q))
    mixed[0, :2] = 1.0
    directions = np.vstack([np.eye(model.q)[:4], -2.0 * np.eye(model.q)[:4], mixed])
    found = dispatch.push_many(polytope, directions, "batch")
    # either way along the first column, its copy with the other sign going along with the opposite way
    assert asked == [7]
    for i, d in enumerate(directions):
        assert found.value[i] == pytest.approx(plain_max(polytope, d), abs=2e-6 * polytope.size)
        assert polytope.excess_of(found.point[i]) <= 1e-12
        assert d @ found.point[i] == pytest.approx(found.value[i], abs=1e-9)
    assert found.gap.max() <= 1e-6 * polytope.size


def test_variables_with_bounds_of_their_own_are_no_copies():
    model = with_copies(0)
    upper = model.upper.copy()
    upper[3] = 0.1
    first, _ = copies(replace(model, upper=upper))
    assert first[3] == 3
    assert first[0] == first[1]
    assert len(distinct(copies(replace(model, upper=upper)), np.eye(model.q)[[0, 3]]).directions) == 2


def test_noise_of_copies_is_measured_once_and_stays_the_same(monkeypatch):
    # among its privileged features are six copies of one
    known = rb.simulate.paper_privileged_set(3, seed=1)
    ways = {"privileged": "slack", "residual": 2.0, "gamma": 1.0, "C": 0.05}
    apart, counts = fwer.Shared.measured.func, []

    def counted(shared):
        rows = apart(shared)
        counts.append((len(rows), len(shared.block)))
        return rows

    def noise():
        fit = rb.relbounds(known.formula, known.data, seed=0, progress=False, **ways)
        return fit._fitted.noise.populations

    monkeypatch.setattr(fwer.Shared, "measured", property(counted))
    once = noise()
    assert any(few < all_ for few, all_ in counts)
    monkeypatch.setattr(
        fwer.Shared, "measured", property(lambda shared: [shared.rows[k] for k in shared.block])
    )
    for key, every in noise().items():
        np.testing.assert_allclose(once[key].upper, every.upper, atol=2e-6)
        np.testing.assert_allclose(once[key].lower, every.lower, atol=2e-6)


def test_permuted_features_reach_the_same_whether_copies_are_put_together_or_not(monkeypatch):
    known = rb.simulate.paper_privileged_set(3, seed=1)
    sizes = []

    def populations():
        options = {**rb.published, "delta": 0.001, "probes": 20}
        fit = rb.relbounds(known.formula, known.data, privileged="slack", seed=0, progress=False, **options)
        return fit._fitted.noise.populations

    def counted(polytope):
        few, place = fit_for_changes(polytope)
        sizes.append((few.model.q, polytope.model.q))
        return few, place

    monkeypatch.setattr(probes, "fit_for_changes", counted)
    together = populations()
    # six copies, which two correcting functions use: two of them are left in each
    assert sizes == [(34, 42)]
    monkeypatch.setattr(probes, "fit_for_changes", lambda polytope: (polytope, np.arange(polytope.model.q)))
    for key, apart in populations().items():
        np.testing.assert_allclose(together[key].upper, apart.upper, atol=2e-6)
        np.testing.assert_allclose(together[key].lower, apart.lower, atol=2e-6)
        assert together[key].draws == apart.draws


def test_probes_of_both_parts_show_the_same_in_one_run_as_in_two(monkeypatch):
    known = rb.simulate.paper_privileged_set(3, seed=1)
    options = {**rb.published, "delta": 0.001, "probes": 20, "privileged": "slack", "seed": 0}

    def populations():
        return rb.relbounds(known.formula, known.data, progress=False, **options)._fitted.noise.populations

    together = populations()
    monkeypatch.setattr(probes, "MOST_WIDENED", -1)
    for key, apart in populations().items():
        np.testing.assert_allclose(together[key].upper, apart.upper, atol=2e-6)
        np.testing.assert_allclose(together[key].lower, apart.lower, atol=2e-6)
        assert (together[key].draws, together[key].infeasible) == (apart.draws, apart.infeasible)
