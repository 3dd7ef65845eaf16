"""Slacks as functions: against a generic solver on the primal, and the laws of the mixture."""

from __future__ import annotations

import cvxopt
import numpy as np
import pytest

from relbounds.kernel.fitting import Sample, fit_machine, fit_mixes
from relbounds.kernel.kernels import Kernel, root
from relbounds.kernel.machine import supporting
from relbounds.kernel.margins import make_margin_rows
from relbounds.kernel.options import SvorOptions
from relbounds.kernel.slacks import SlackGrams, solve_modelled


def primal(K, K_slack, rows, gamma):
    """The primal in explicit features, all of it dense: v = (w, b, w*_1, d_1, w*_2, d_2, ...)."""
    R, S = root(K), root(K_slack)
    p, s, m, g = R.shape[1], S.shape[1], rows.n_thresholds, rows.n_functions
    size = p + m + g * (s + 1)
    P, q = np.zeros((size, size)), np.zeros(size)
    P[:p, :p] = np.eye(p)
    margin, sign = np.zeros((len(rows), size)), np.zeros((len(rows), size))
    margin[:, :p] = rows.sign[:, None] * R[rows.sample]
    margin[np.arange(len(rows)), p + rows.threshold] = -rows.sign
    for k in range(g):
        start = p + m + k * (s + 1)
        P[start : start + s, start : start + s] = gamma * np.eye(s)
        mine = rows.function == k
        sign[mine, start : start + s] = S[rows.sample[mine]]
        sign[mine, start + s] = 1.0
    margin += sign
    q += rows.upper @ sign
    G, h = [-margin, -sign], [-rows.h, np.zeros(len(rows))]
    if rows.ordered:
        order = np.zeros((m - 1, size))
        for j in range(m - 1):
            order[j, p + j], order[j, p + j + 1] = 1.0, -1.0
        G.append(order)
        h.append(np.zeros(m - 1))
    options = {"show_progress": False, "abstol": 1e-10, "reltol": 1e-10, "feastol": 1e-10}
    found = cvxopt.solvers.qp(*map(cvxopt.matrix, (P, q, np.vstack(G), np.concatenate(h))), options=options)
    return found["primal objective"]


@pytest.mark.parametrize("order", ["explicit", "implicit"])
@pytest.mark.parametrize(
    ("levels", "C", "gamma"), [(2, 1.0, 1.0), (2, 50.0, 0.01), (4, 1.0, 100.0), (4, 10.0, 0.1)]
)
def test_the_dual_reaches_the_primal_of_a_generic_solver(make, order, levels, C, gamma):
    X, y = make(36, 3, levels, 1.0)
    Z = np.random.default_rng(1).normal(size=(36, 2))
    kernel, slack = Kernel("rbf", 1.5), Kernel("rbf", 1.0)
    options = SvorOptions(order=order, width=1.5, slack_width=1.0, C=C, gamma=gamma, slack="modelled")
    for home in (None, Z):
        machine = fit_machine(X, y, levels, options, Z=home)
        space = X if home is None else home
        expected = primal(kernel(X, X), slack(space, space), machine.rows, gamma)
        assert machine.optimality.dual == pytest.approx(expected, rel=1e-5)
        assert machine.optimality.primal == pytest.approx(expected, rel=1e-5)
        assert machine.optimality.violation < 1e-3 and machine.optimality.residual < 1e-7
        assert (np.diff(machine.b) >= 0).all()


def test_one_function_per_threshold_or_per_side(make):
    _, y = make(40, 2, 4)
    implicit, explicit = make_margin_rows(y, 4, "implicit"), make_margin_rows(y, 4, "explicit")
    assert implicit.n_functions == 3
    np.testing.assert_array_equal(implicit.function, implicit.threshold)
    assert explicit.n_functions == 2
    np.testing.assert_array_equal(explicit.function, explicit.sign > 0)
    assert make_margin_rows(np.array([1, 2]), 2, "explicit").n_functions == 1


def test_the_correcting_functions_give_the_slacks(make):
    X, y = make(60, 2, 3, 1.0)
    rows = make_margin_rows(y, 3, "implicit", 2.0)
    K = Kernel("rbf", 1.0)(X, X)
    found = solve_modelled(SlackGrams(K, K), rows, gamma=0.5)
    values = found.coefficients @ K / 0.5 + found.offset[:, None]
    np.testing.assert_allclose(values[rows.function, rows.sample], found.slack, atol=1e-10)
    assert found.slack.min() > -1e-7
    np.testing.assert_allclose(found.coefficients.sum(axis=1), 0, atol=1e-6)


@pytest.mark.parametrize("levels", [2, 4])
def test_a_mixture_of_nothing_modelled_is_the_free_machine(make, levels):
    X, y = make(80, 2, levels, 1.0)
    options = SvorOptions(order="implicit", width=2.0, C=5.0, tol=1e-7, slack_width=1.0)
    free = fit_machine(X, y, levels, options)
    mixed = fit_machine(X, y, levels, options.replace(slack="mixed", mix=0.0))
    np.testing.assert_allclose(mixed.f, free.f, atol=2e-3)
    np.testing.assert_allclose(mixed.b, free.b, atol=2e-3)


def test_the_mixture_needs_no_more_slack_than_it_was_given(make):
    X, y = make(90, 2, 4, 1.5)
    options = SvorOptions(order="implicit", width=2.0, C=5.0, slack="mixed", slack_width=1.0)
    for machine in fit_mixes(Sample(X, y, 4), options, [0.0, 0.4, 1.0]):
        rows = machine.rows
        margin = rows.sign * (machine.f[rows.sample] - machine.b[rows.threshold])
        assert (margin + machine.slack - 1 > -2e-4).all()
        assert machine.optimality.violation < 1e-3
        assert (np.diff(machine.b) >= 0).all()


def test_mixtures_fitted_together_equal_those_fitted_apart(make):
    X, y = make(60, 2, 3, 1.0)
    options = SvorOptions(order="implicit", width=2.0, C=5.0, slack="mixed", slack_width=1.0)
    together = fit_mixes(Sample(X, y, 3), options, [0.2, 0.8])
    for mix, machine in zip([0.2, 0.8], together, strict=True):
        apart = fit_machine(X, y, 3, options.replace(mix=mix))
        np.testing.assert_allclose(apart.f, machine.f, atol=1e-9)
        assert machine.options.mix == mix


def test_mixed_slacks_need_fewer_support_vectors(make):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(1, 1, (100, 2)), rng.normal(-1, 1, (100, 2))])
    y = np.repeat([2, 1], 100)
    counts = {}
    for slack in ("free", "mixed"):
        options = SvorOptions(order="implicit", kernel="linear", C=1.0, slack=slack, mix=0.9, slack_width=1.0)
        counts[slack] = supporting(fit_machine(X, y, 2, options)).sum()
    assert counts["mixed"] < counts["free"] / 2


@pytest.fixture
def two_gaussians():
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(1, 1, (100, 2)), rng.normal(-1, 1, (100, 2))])
    return X, np.repeat([2, 1], 100)


@pytest.mark.parametrize("width", [1.0, 3.0])
def test_slacks_that_leave_little_of_the_margin_are_recovered_as_exactly_as_others(two_gaussians, width):
    X, y = two_gaussians
    options = SvorOptions(order="implicit", kernel="linear", C=1.0, gamma=1000.0, slack_width=width)
    modelled = fit_machine(X, y, 2, options.replace(slack="modelled"))
    again = fit_machine(X, y, 2, options.replace(slack="mixed", mix=1.0))
    size = np.ptp(modelled.f)
    assert 1e-7 < size < 1e-2
    np.testing.assert_allclose(again.f, modelled.f, atol=1e-3 * size)
    np.testing.assert_allclose(again.b, modelled.b, atol=1e-3 * size)
    assert supporting(again).sum() < 50  # of 200


def test_slacks_that_leave_nothing_of_the_margin_leave_nothing_to_predict_with(two_gaussians):
    X, y = two_gaussians
    options = SvorOptions(order="implicit", kernel="linear", C=1.0, gamma=1000.0, slack_width=10.0)
    for slack in ("modelled", "mixed"):
        machine = fit_machine(X, y, 2, options.replace(slack=slack, mix=1.0))
        assert len(np.unique(machine.levels_of(machine.decision_function(X)))) == 1
        assert machine.optimality.gap < 1e-8
        assert not supporting(machine).any()


def test_privileged_features_that_know_the_slacks_help():
    # A fifth of the labels are wrong, and the privileged column holds the slacks of the true model: an
    # oracle.
    rng = np.random.default_rng(2)
    n, errors = 60, {"free": [], "modelled": []}
    for _ in range(4):
        X = rng.normal(size=(n + 1000, 4))
        score = X[:, 0] + X[:, 1]
        truth = 1 + (score > 0)
        y = np.where(rng.random(n) < 0.2, 3 - truth[:n], truth[:n])
        Z = np.maximum(0, 1 - (2 * y - 3) * score[:n])[:, None]
        for slack, found in errors.items():
            options = SvorOptions(kernel="linear", C=1.0, slack=slack, slack_kernel="linear", gamma=0.001)
            machine = fit_machine(X[:n], y, 2, options, Z=Z)
            found.append((machine.levels_of(machine.decision_function(X[n:])) != truth[n:]).mean())
    assert np.mean(errors["free"]) > 0.1
    assert np.mean(errors["modelled"]) < 0.02
