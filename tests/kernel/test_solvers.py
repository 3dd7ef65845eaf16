"""SMO against CVXOPT, both against the optimality conditions, and the binary case against scikit-learn."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from relbounds.errors import DataError, MissingExtraError, OptionError, SolverError
from relbounds.kernel import kkt, smo
from relbounds.kernel.fitting import fit_machine
from relbounds.kernel.kernels import Kernel, check_matrix, make_kernel
from relbounds.kernel.machine import supporting
from relbounds.kernel.margins import Pricing, check_cost, make_margin_rows, row_weights
from relbounds.kernel.options import SvorOptions
from relbounds.kernel.qp import Gram, solve_qp
from relbounds.kernel.smo import SmoLimits, solve_smo

ORDERS = ("explicit", "implicit", "none")


def cubic(A, B):
    return (1.0 + A @ B.T) ** 3


KERNELS = [("linear", None), ("rbf", 1.0), ("rbf", 5.0), (cubic, None)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("kernel", "width"), KERNELS)
@pytest.mark.parametrize(
    ("levels", "C", "noise"), [(2, 10.0, 1.0), (4, 0.1, 2.0), (5, 1.0, 0.3), (7, 30.0, 1.0)]
)
def test_smo_and_qp_agree_and_are_optimal(make, order, kernel, width, levels, C, noise):
    X, y = make(70, 3, levels, noise, seed=levels)
    if kernel is cubic:
        X = X / 3
    options = SvorOptions(order=order, kernel=kernel, width=width, C=C, tol=1e-6)
    one = fit_machine(X, y, levels, options.replace(solver="smo"))
    two = fit_machine(X, y, levels, options.replace(solver="qp"))
    scale = 1 + abs(two.optimality.dual)
    assert abs(one.optimality.dual - two.optimality.dual) <= 1e-6 * scale
    new, _ = make(200, 3, levels, noise, seed=99)
    guesses = [m.levels_of(m.decision_function(new)) for m in (one, two)]
    # a new row closer to a threshold than the solvers' accuracy could fall on either side
    near = np.abs(two.decision_function(new)[:, None] - two.b).min(axis=1) < 1e-4
    np.testing.assert_array_equal(guesses[0][~near], guesses[1][~near])
    for machine in (one, two):
        found = machine.optimality
        assert found.violation < 1e-3 and found.residual < 1e-7
        assert abs(found.gap) < 1e-4
        assert found.ordered or order == "none"


@pytest.mark.parametrize("order", ["explicit", "implicit"])
@pytest.mark.parametrize("seed", range(6))
def test_thresholds_are_always_ordered(make, order, seed):
    # levels that hardly differ, uneven sizes: where the unordered form goes wrong
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = np.concatenate([[1, 2, 3, 4, 5], rng.choice(5, 35, p=[0.1, 0.4, 0.05, 0.05, 0.4]) + 1])
    for solver in ("smo", "qp"):
        machine = fit_machine(X, y, 5, SvorOptions(order=order, width=1.0, C=0.5, solver=solver))
        assert (np.diff(machine.b) >= 0).all()


def rare_middle(*sizes):
    """Levels the feature cannot tell apart; a threshold left to itself goes with the larger of its two."""
    y = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    return np.random.default_rng(3).normal(size=(len(y), 1)), y


def test_without_the_constraint_thresholds_come_out_disordered():
    X, y = rare_middle(10, 2, 10)
    for solver in ("smo", "qp"):
        options = SvorOptions(order="none", kernel="linear", C=0.1, solver=solver, balance=False)
        broken = fit_machine(X, y, 3, options)
        assert broken.b[1] < broken.b[0] - 1 and not broken.optimality.ordered
        tied = fit_machine(X, y, 3, options.replace(order="explicit"))
        assert tied.b[0] == pytest.approx(tied.b[1]) and tied.optimality.ordered
        assert kkt.order_multipliers(tied.rows, tied.alpha)[1] > 0
        assert fit_machine(X, y, 3, options.replace(order="implicit")).optimality.ordered


def test_ties_are_followed_through_a_chain():
    # All four thresholds are tied; the most violating pair may stand at the two ends of the chain.
    X, y = rare_middle(20, 3, 2, 3, 20)
    rows = make_margin_rows(y, 5, "explicit", 1.0)
    K = 0.1 * X @ X.T
    found = solve_smo(X, Kernel("precomputed"), rows, K, SmoLimits(tol=1e-7))
    alpha, guess, _ = solve_qp(Gram(K), rows)
    f = K @ rows.coefficients(alpha)
    reference = kkt.check_free(rows, alpha, kkt.thresholds(rows, alpha, f, 1e-5, guess=guess), f)
    b = kkt.thresholds(rows, found.alpha, found.f, 1e-6)
    mine = kkt.check_free(rows, found.alpha, b, found.f)
    assert found.cross_steps > 0
    assert (kkt.order_multipliers(rows, found.alpha)[1:] > 0).all()
    assert np.ptp(b) < 1e-6
    assert mine.dual == pytest.approx(reference.dual, rel=1e-6)
    assert mine.violation < 1e-5


def test_the_check_sees_a_wrong_solution(make):
    X, y = make(50, 2, 3)
    machine = fit_machine(X, y, 3, SvorOptions(width=1.0, C=1.0, solver="qp"))
    rows, b = machine.rows, machine.b
    shifted = kkt.check_free(rows, machine.alpha, b + 0.2, machine.f)
    assert shifted.violation > 0.05
    halved = kkt.check_free(rows, machine.alpha * 0.5, b, machine.f * 0.5)
    assert halved.violation > 0.05
    alpha = machine.alpha.copy()
    alpha[np.argmax(alpha)] += 0.3
    assert kkt.check_free(rows, alpha, b, machine.f).residual > 0.05


def test_second_order_partners_give_the_same_optimum(make):
    X, y = make(120, 3, 5, 1.0)
    rows = make_margin_rows(y, 5, "explicit", 10.0)
    found = [
        solve_smo(X, Kernel("rbf", 1.0), rows, limits=SmoLimits(1e-6, second_order=s)) for s in (False, True)
    ]
    values = [float(s.alpha.sum()) - 0.5 * rows.coefficients(s.alpha) @ s.f for s in found]
    assert values[0] == pytest.approx(values[1], rel=1e-7)


def test_a_small_cache_and_shrinking_change_nothing(make):
    X, y = make(400, 3, 4, 1.0)
    rows = make_margin_rows(y, 4, "implicit", 50.0)
    kernel = Kernel("rbf", 1.0)
    small = solve_smo(X, kernel, rows, limits=SmoLimits(1e-5, cache_mb=0.02))  # six rows
    whole = solve_smo(X, kernel, rows, kernel(X, X), SmoLimits(1e-5))
    np.testing.assert_allclose(small.f, whole.f, atol=1e-3)
    np.testing.assert_allclose(small.f, kernel(X, X) @ rows.coefficients(small.alpha), atol=1e-8)


@pytest.mark.parametrize("order", ["explicit", "implicit"])
@pytest.mark.parametrize(("kernel", "width"), [("linear", 1.0), ("rbf", 0.7)])
def test_two_levels_are_the_support_vector_machine_of_scikit_learn(make, order, kernel, width):
    svm = pytest.importorskip("sklearn.svm")
    X, y = make(120, 3, 2, 1.0)
    peer = svm.SVC(C=2.0, kernel=kernel, gamma=1 / (2 * width**2), tol=1e-7).fit(X, y)
    ours = fit_machine(X, y, 2, SvorOptions(order=order, kernel=kernel, width=width, C=2.0, tol=1e-7))
    new, _ = make(50, 3, 2, seed=5)
    np.testing.assert_allclose(
        ours.decision_function(new) - ours.b[0], peer.decision_function(new), atol=1e-5
    )
    signed = peer.dual_coef_[0]
    K = make_kernel(kernel, width)(X[peer.support_], X[peer.support_])
    dual = np.abs(signed).sum() - 0.5 * signed @ K @ signed
    assert ours.optimality.dual == pytest.approx(dual, rel=1e-7)
    np.testing.assert_array_equal(np.flatnonzero(supporting(ours)), np.sort(peer.support_))


def test_case_weights_are_repeated_rows(make):
    X, y = make(40, 2, 3, 1.0)
    weights = np.tile([1.0, 2.0, 0.0, 3.0], 10)
    weights[:12] = 1.0
    repeated = np.repeat(np.arange(40), weights.astype(int))
    options = SvorOptions(width=1.0, C=1.0, solver="qp")
    one = fit_machine(X, y, 3, options, weights=weights)
    two = fit_machine(X[repeated], y[repeated], 3, options)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(one.b, two.b, atol=1e-5)


def test_a_level_without_rows_gets_an_empty_interval(make):
    X, y = make(60, 2, 3, 0.2)
    spread = np.array([0, 2, 3, 5])[y]  # levels 1 and 4 of 5 have no rows
    machine = fit_machine(X, spread, 5, SvorOptions(order="implicit", width=1.0, C=10.0))
    whole = fit_machine(X, y, 3, SvorOptions(order="implicit", width=1.0, C=10.0))
    assert machine.b[0] == -np.inf and machine.b[2] == machine.b[3]
    np.testing.assert_array_equal(
        np.array([0, 2, 3, 5])[whole.levels_of(whole.f)], machine.levels_of(machine.f)
    )


# -- costs -------------------------------------------------------------------------------------------------


def test_absolute_costs_are_the_default(make):
    X, y = make(80, 3, 4, 1.0)
    cost = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    plain = fit_machine(X, y, 4, SvorOptions(order="implicit", width=1.0, solver="qp"))
    priced = fit_machine(X, y, 4, SvorOptions(order="implicit", width=1.0, solver="qp", cost=cost))
    np.testing.assert_allclose(plain.f, priced.f, atol=1e-7)


def test_dear_misses_become_rarer(make):
    X, y = make(300, 3, 4, 3.0)
    gap = np.abs(np.subtract.outer(np.arange(4), np.arange(4))).astype(float)
    dear = gap.copy()
    dear[3, :3] = [30.0, 20.0, 10.0]  # missing the highest level costs ten times as much
    shares = []
    for cost in (gap, dear):
        machine = fit_machine(X, y, 4, SvorOptions(order="implicit", kernel="linear", C=1.0, cost=cost))
        guess = machine.levels_of(machine.f)
        shares.append(((guess < 4) & (y == 4)).mean())
        assert (np.diff(machine.b) >= 0).all()
    assert shares[1] < shares[0]
    np.testing.assert_allclose(row_weights(dear)[3], [10, 10, 10])


@pytest.mark.parametrize("solver", ["smo", "qp"])
def test_costs_that_level_off_keep_the_order_by_constraint(make, solver):
    X, y = make(90, 2, 4, 3.0)
    capped = 1.0 - np.eye(4)  # every miss costs the same: rows far from the threshold cost nothing more
    assert make_margin_rows(y, 4, "implicit", pricing=Pricing(cost=capped)).ordered
    machine = fit_machine(X, y, 4, SvorOptions(order="implicit", width=1.0, cost=capped, solver=solver))
    assert machine.optimality.ordered and machine.optimality.violation < 1e-3


@pytest.mark.parametrize(
    ("cost", "says"),
    [
        (np.ones((2, 2)), "shape"),
        (np.ones((3, 3)), "diagonal"),
        (np.array([[0, 1, -1], [1, 0, 1], [2, 1, 0]]), "not negative"),
        (np.array([[0, 2, 1], [1, 0, 1], [2, 1, 0]]), "row 1 falls"),
        (np.array([[0, 0, 1], [1, 0, 1], [2, 1, 0]]), "must cost something"),
    ],
)
def test_bad_costs_are_named(cost, says):
    with pytest.raises(OptionError, match=says):
        check_cost(cost, 3)


def test_costs_need_the_implicit_order(make):
    X, y = make(20, 2, 3)
    with pytest.raises(OptionError, match="implicit"):
        fit_machine(X, y, 3, SvorOptions(cost=np.abs(np.subtract.outer(np.arange(3), np.arange(3)))))


# -- kernels and bad input ---------------------------------------------------------------------------------


def test_a_kernel_that_is_no_inner_product_is_named(make):
    X, y = make(30, 2, 3)
    with pytest.raises(DataError, match=r"not positive semidefinite: its smallest eigenvalue is -"):
        fit_machine(X, y, 3, SvorOptions(kernel=lambda A, B: -A @ B.T))
    with pytest.raises(DataError, match="not symmetric"):
        check_matrix(np.array([[1.0, 0.5], [0.0, 1.0]]))
    with pytest.raises(DataError, match="square"):
        check_matrix(np.ones((2, 3)))
    with pytest.raises(DataError, match="row 1, column 0"):
        check_matrix(np.array([[1.0, 0.0], [np.nan, 1.0]]))
    with pytest.raises(OptionError, match="shape"):
        fit_machine(X, y, 3, SvorOptions(kernel=lambda A, B: np.ones(len(A))))
    assert check_matrix(np.ones((3, 3))).shape == (3, 3)  # semidefinite is enough


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"order": "explict"}, "Did you mean 'explicit'"),
        ({"kernel": "rfb"}, "Did you mean 'rbf'"),
        ({"solver": "lp"}, "solver='lp'"),
        ({"C": 0.0}, "C=0.0"),
        ({"C": np.nan}, "C=nan"),
        ({"width": -1.0}, "width"),
        ({"slack": "modeled"}, "Did you mean 'modelled'"),
        ({"slack": "mixed", "mix": 1.5}, "mix=1.5"),
        ({"slack": "modelled", "gamma": 0.0}, "gamma"),
        ({"slack": "modelled", "order": "none"}, "order='none'"),
    ],
)
def test_bad_choices_are_named(make, changes, says):
    X, y = make(20, 2, 3)
    with pytest.raises(OptionError, match=says):
        fit_machine(X, y, 3, SvorOptions().replace(**changes))


def test_one_level_is_not_enough(make):
    X, _ = make(10, 2, 2)
    with pytest.raises(DataError, match="one level"):
        fit_machine(X, np.ones(10, dtype=int), 2, SvorOptions())


def test_steps_that_run_out_are_reported(make):
    X, y = make(100, 3, 3, 1.0)
    with pytest.raises(SolverError, match="SMO took 5 steps"):
        solve_smo(
            X, Kernel("rbf", 1.0), make_margin_rows(y, 3, "explicit", 100.0), limits=SmoLimits(max_steps=5)
        )


def test_where_smo_takes_long_small_problems_go_to_the_qp(make, monkeypatch):
    X, y = make(40, 2, 3, 2.0)
    monkeypatch.setattr("relbounds.kernel.fitting.PATIENCE", 100)
    hard = fit_machine(X, y, 3, SvorOptions(C=1000.0, width=5.0))
    assert hard.solver == "qp"
    patient = fit_machine(X, y, 3, SvorOptions(C=1000.0, width=5.0, solver="smo", tol=1e-6))
    assert patient.optimality.dual == pytest.approx(hard.optimality.dual, rel=1e-6)


def test_without_numba_the_qp_steps_in(make, monkeypatch):
    X, y = make(30, 2, 3)
    monkeypatch.setattr(smo, "have_numba", lambda: False)
    monkeypatch.setattr("relbounds.kernel.fitting.have_numba", lambda: False)
    assert fit_machine(X, y, 3, SvorOptions()).solver == "qp"
    with pytest.raises(MissingExtraError, match=r"relbounds\[fast\]"):
        fit_machine(X, y, 3, SvorOptions(solver="smo"))


def test_importing_the_package_does_not_load_numba():
    code = (
        "import sys, relbounds.kernel; assert 'numba' not in sys.modules\n"
        "import numpy as np\n"
        "from relbounds.kernel import SvorOptions, fit_machine\n"
        "x = np.arange(6.0)[:, None]\n"
        "fit_machine(x, np.repeat([1, 2], 3), 2, SvorOptions(solver='qp')); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
