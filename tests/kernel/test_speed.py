"""What makes grid searches quick must not change what they find."""

from __future__ import annotations

import cvxopt
import numpy as np
import pytest

from relbounds.errors import SolverError
from relbounds.folds import deal_folds
from relbounds.kernel import qp
from relbounds.kernel.box_qp import BoxQP
from relbounds.kernel.fitting import Sample, fit_machine, fit_mixes
from relbounds.kernel.kernels import Kernel
from relbounds.kernel.lean_qp import interior_point
from relbounds.kernel.margins import make_margin_rows
from relbounds.kernel.options import SvorOptions
from relbounds.kernel.qp import Gram, solve_qp
from relbounds.kernel.slacks import SlackGrams, solve_modelled
from relbounds.kernel.smo import SmoLimits, scaled_start, solve_smo
from relbounds.kernel.tuning import Search, choose, tune
from relbounds.metrics import mae


def no_cvxopt(*_, **__):
    raise AssertionError("the lean method should have got there")


@pytest.mark.parametrize("levels", [2, 4])
@pytest.mark.parametrize(("C", "width", "gamma"), [(1.0, 0.1, 0.01), (50.0, 1.0, 1.0), (500.0, 5.0, 100.0)])
def test_the_lean_interior_point_method_finds_what_cvxopt_finds(make, monkeypatch, levels, C, width, gamma):
    X, y = make(50, 2, levels, 1.0)
    rows = make_margin_rows(y, levels, "explicit", C)
    K, K_slack = Kernel("rbf", 1.0)(X, X), Kernel("rbf", width)(X, X)
    reference = solve_modelled(SlackGrams(K, K_slack), rows, gamma, lean=False)
    free, b, _ = solve_qp(Gram(K), rows)
    monkeypatch.setattr(qp, "solve_with_cvxopt", no_cvxopt)
    found = solve_modelled(SlackGrams(K, K_slack), rows, gamma)
    beta, expected = rows.coefficients(found.alpha), rows.coefficients(reference.alpha)
    np.testing.assert_allclose(K @ beta, K @ expected, atol=1e-4)
    np.testing.assert_allclose(found.b, reference.b, atol=1e-4)
    np.testing.assert_allclose(found.slack, reference.slack, atol=1e-4)
    again, b_again, _ = solve_qp(Gram(K), rows, lean=True)
    np.testing.assert_allclose(K @ rows.coefficients(again), K @ rows.coefficients(free), atol=1e-4)
    np.testing.assert_allclose(b_again, b, atol=1e-4)


def test_cvxopt_takes_over_where_the_lean_method_gives_up(make, monkeypatch):
    X, y = make(40, 2, 3, 1.0)
    rows = make_margin_rows(y, 3, "implicit", 1.0)
    K = Kernel("rbf", 1.0)(X, X)
    expected = solve_modelled(SlackGrams(K, K), rows, 1.0)

    def give_up(*_, **__):
        raise SolverError("no")

    monkeypatch.setattr(qp, "interior_point", give_up)
    np.testing.assert_allclose(solve_modelled(SlackGrams(K, K), rows, 1.0).slack, expected.slack, atol=1e-5)


def test_the_lean_method_says_when_it_does_not_get_there():
    A = np.ones((1, 2))  # x + y = -1 with x, y >= 0: no solution
    with pytest.raises(SolverError, match="accuracy"):
        interior_point(
            BoxQP(
                lambda x: x,
                lambda D: lambda v: (v.T / (1 + D)).T,
                np.ones(2),
                upper=np.full(2, np.inf),
                A=A,
                a=-np.ones(1),
                size=1.0,
            ),
            1e-9,
            1e-9,
        )


def test_modelled_slacks_against_the_primal_in_the_features_themselves(make):
    # Linear kernels, so that nothing but the data enters: v = (w, b, w*, d), two levels.
    X, y = make(40, 3, 2, 1.5)
    C, gamma, d = 2.0, 0.5, 3
    sign = np.where(y == 2, 1.0, -1.0)
    size = 2 * d + 2
    P, q = np.zeros((size, size)), np.zeros(size)
    P[:d, :d], P[d + 1 : 2 * d + 1, d + 1 : 2 * d + 1] = np.eye(d), gamma * np.eye(d)
    slack = np.column_stack([np.zeros((40, d + 1)), X, np.ones(40)])
    margin = np.column_stack([sign[:, None] * X, -sign, np.zeros((40, d + 1))]) + slack
    q += C * slack.sum(axis=0)
    G, h = -np.vstack([margin, slack]), -np.concatenate([np.ones(40), np.zeros(40)])
    options = {"show_progress": False, "abstol": 1e-11, "reltol": 1e-11, "feastol": 1e-11}
    v = np.array(cvxopt.solvers.qp(*map(cvxopt.matrix, (P, q, G, h)), options=options)["x"])[:, 0]
    options = SvorOptions(kernel="linear", slack_kernel="linear", C=C, gamma=gamma, slack="modelled")
    machine = fit_machine(X, y, 2, options)
    np.testing.assert_allclose(machine.X.T @ machine.coefficients, v[:d], atol=1e-5)
    np.testing.assert_allclose(machine.b, v[d], atol=1e-5)
    np.testing.assert_allclose(machine.slack, slack @ v, atol=1e-5)


@pytest.mark.parametrize("levels", [2, 4])
def test_a_mixture_of_modelled_slacks_alone_is_the_modelled_machine(make, levels):
    # For fixed correcting functions the modelled problem is the one that recovers the margin, and strictly
    # convex.
    X, y = make(60, 2, levels, 1.0)
    options = SvorOptions(order="implicit", width=2.0, C=5.0, slack="modelled", slack_width=1.0)
    modelled = fit_machine(X, y, levels, options)
    mixed = fit_mixes(Sample(X, y, levels), options.replace(slack="mixed"), [1.0])[0]
    np.testing.assert_allclose(mixed.f, modelled.f, atol=5e-3)


@pytest.mark.parametrize("order", ["explicit", "implicit"])
@pytest.mark.parametrize("ratio", [0.1, 1.0, 3.0, 100.0])
def test_a_start_from_another_C_leads_to_the_same_optimum(make, order, ratio):
    pytest.importorskip("numba")
    X, y = make(80, 3, 4, 0.8)
    kernel = Kernel("rbf", 2.0)
    K = kernel(X, X)
    before = make_margin_rows(y, 4, order, 2.0)
    first = solve_smo(X, kernel, before, K, SmoLimits(1e-6))
    rows = make_margin_rows(y, 4, order, 2.0 * ratio)
    begin = scaled_start(rows, first.alpha, first.f, ratio)
    assert begin is not None and (begin <= rows.upper).all()
    cold, warm = (
        solve_smo(X, kernel, rows, K, SmoLimits(1e-6)),
        solve_smo(X, kernel, rows, K, SmoLimits(1e-6), start=begin),
    )
    np.testing.assert_allclose(warm.f, cold.f, atol=2e-4)
    assert ratio != 1.0 or warm.steps == 0


def test_candidates_given_up_early_could_not_have_won(make):
    X, y = make(70, 2, 3, 1.0)
    arrays, base = Sample(X, y, 3), SvorOptions(solver="qp")
    given = {"C": [0.01, 1.0, 100.0], "width": [0.02, 1.0, 30.0]}
    found = tune(arrays, base, given, Search("mae", progress=False))
    assert found.table["folds"].min() < 5
    fold, _ = deal_folds(y, "abc", 5, 0)
    for row in found.table.itertuples():
        scores = []
        for f in range(5):
            machine = fit_machine(X[fold != f], y[fold != f], 3, base.replace(C=row.C, width=row.width))
            scores.append(mae(y[fold == f], machine.levels_of(machine.decision_function(X[fold == f]))))
        assert np.mean(scores) >= found.score - 1e-12
        assert row.mean == pytest.approx(np.mean(scores)) or row.folds < 5
    assert found.table["folds"].iloc[choose(found.table)] == 5
