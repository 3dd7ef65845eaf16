"""Models of one shape fitted anew, all in one run, against scipy's linear programs one by one."""

import numpy as np
import pytest
from problems import FAMILIES, plain_baseline, plain_max, random_model

from relbounds.linear.equivalent import budgets_of
from relbounds.linear.families import make_rows
from relbounds.linear.plain import plain_columns, plain_model
from relbounds.solver import best_refitted, own_columns, refitted
from relbounds.solver.best_refitted import Refits
from relbounds.solver.columns import Columns, put_columns
from relbounds.solver.folded_stack import FoldedStack
from relbounds.solver.open_ends import Glance, Likely
from relbounds.solver.polytope import Polytope
from relbounds.solver.refitted import push_refitted
from relbounds.solver.smallest import smallest_C
from relbounds.solver.stack import Stack


def case(seed, family, order, kind="noisy", n=30, d=5, delta=0.1, tolerance="split", strong=10.0):
    """Return a model, a block of other columns for three refits, and the budgets and directions of a run."""
    model = random_model(seed, family, order, kind, n=n, d=d)
    rng = np.random.default_rng([seed, 77])
    index = np.tile([d - 2, d - 1], (3, 1))
    rows = np.array([rng.permutation(model.h.size) for _ in range(3)])
    sign = np.where(model.G[:, d:].sum(axis=1) > 0, -1.0, 1.0)
    own = np.stack([model.G[r][:, [d - 2, d - 1]].T * sign[r] * sign for r in rows])
    C = strong * smallest_C(model)
    budgets = budgets_of(model, C, delta, tolerance)
    directions = np.zeros((4, model.q))
    directions[[0, 1], d - 2], directions[[2, 3], d - 1] = [1.0, -1.0], [1.0, -1.0]
    return model, C, Columns(index, own), budgets, directions


def set_of(found, i, one, C, budgets):
    """Return the equivalent models of one refit."""
    B = budgets(*(x[[i]] for x in (found.penalty, found.loss, found.objective)))[2][0]
    if B.size == 1:
        return Polytope(one, joint=(C, float(B[0])), start=found.points[i])
    return Polytope(one, norm=float(B[0]), loss=float(B[1]), start=found.points[i])


def compare(model, C, columns, budgets, directions, rel=2e-6):
    found = push_refitted(
        Refits(model, columns), C, budgets, directions, np.ones(len(directions), dtype=bool)
    )
    assert found.good.all()
    for i in range(len(columns)):
        one = put_columns(model, columns, i)
        assert one.objective_of(found.points[i], C) == pytest.approx(plain_baseline(one, C), rel=1e-7)
        tope = set_of(found, i, one, C, budgets)
        most = np.array([plain_max(tope, d) for d in directions])
        size = found.size[i]
        assert found.largest[i] == pytest.approx(most.max(), abs=rel * size)
        assert found.bound[i] >= most.max() - 1e-6 * size
        ends = most.reshape(-1, 2)
        least = np.where(ends.min(axis=1) >= 0, 0.0, -ends.min(axis=1)).max()
        assert found.least[i] == pytest.approx(least, abs=rel * size)


@pytest.mark.parametrize(("family", "order"), FAMILIES)
@pytest.mark.parametrize("tolerance", ["split", "joint"])
def test_every_family_against_scipy(family, order, tolerance):
    for seed in range(2):
        compare(*case(seed, family, order, tolerance=tolerance))


@pytest.mark.parametrize(("strong", "delta", "widths"), [(10.0, 0.1, 1.0), (3.0, 0.2, 0.02), (1e6, 0.1, 1.0)])
@pytest.mark.parametrize("tolerance", ["split", "joint"])
def test_rows_that_are_the_same_but_for_their_sign_are_kept_once(
    monkeypatch, strong, delta, widths, tolerance
):
    monkeypatch.setattr(best_refitted, "MANY_COLUMNS", 0)
    monkeypatch.setattr(refitted, "MANY_COLUMNS", 0)
    monkeypatch.setattr(refitted, "SMALL", 10)
    monkeypatch.setattr(refitted, "WIDTHS", widths)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 6))
    latent = X[:, 0] - X[:, 1] + (0.0 if strong > 1e3 else 0.7) * rng.normal(size=40)
    rows = make_rows(np.digitize(latent, [-1.0, 0.0, 1.0]) + 1, "ordinal", "implicit")
    model = plain_model(X, rows)
    values = np.array([X[rng.permutation(40)][:, 2:].T for _ in range(3)])
    columns = Columns(np.tile([2, 3, 4, 5], (3, 1)), plain_columns(rows, values))
    C = strong * smallest_C(model)
    budgets = budgets_of(model, C, delta, tolerance)
    stack = Refits(model, columns).stack
    assert isinstance(stack, FoldedStack) and stack.G.shape == (3, 6, 40)
    compare(model, C, columns, budgets, both_ways(model))


def test_without_loss_every_row_is_met():
    compare(*case(3, "ordinal", "explicit", "separable", strong=1e4))


def test_a_block_that_every_equivalent_model_needs():
    model, C, columns, budgets, directions = case(5, "ordinal", "explicit", d=4, delta=0.001)
    # the first columns say what the response is; as the block's own they cannot be done without
    own = np.stack([model.G[:, [0, 1]].T] * 3)
    model = put_columns(model, Columns(np.array([[0, 1]]), 0.1 * columns.G[:1]))
    compare(model, C, Columns(columns.index, own), budgets, directions)


def test_few_rows_are_made_up_for(monkeypatch):
    one = case(6, "ordinal", "implicit", n=60, delta=0.2)
    monkeypatch.setattr(refitted, "SMALL", 10)
    for widths in (0.02, 0.4):
        monkeypatch.setattr(refitted, "WIDTHS", widths)
        compare(*one)


def test_leaders_first_and_small_runs_change_nothing(monkeypatch):
    model, C, columns, budgets, directions = case(7, "ordinal", "explicit", n=40)
    asked = Refits(model, columns), C, budgets, directions, np.ones(4, dtype=bool)
    before = push_refitted(*asked)
    monkeypatch.setattr(refitted, "FEW_DIRECTIONS", 2)
    monkeypatch.setattr(refitted, "LEADERS", 1)
    monkeypatch.setattr(refitted, "ENTRIES", 1)
    after = push_refitted(*asked)
    assert after.largest == pytest.approx(before.largest, abs=2e-6 * before.size.max())
    assert after.least == pytest.approx(before.least, abs=2e-6 * before.size.max())


def both_ways(model, pairs=()):
    """Return the directions of all penalised variables, of differences of some, and their opposites."""
    d = np.eye(model.q)[model.penalty > 0]
    d = np.vstack([d, *(d[i] - d[j] for i, j in pairs)])
    return np.stack([d, -d], axis=1).reshape(-1, model.q)


@pytest.mark.parametrize(("family", "order"), FAMILIES)
@pytest.mark.parametrize("tolerance", ["split", "joint"])
def test_multipliers_of_best_models_limit_every_direction(monkeypatch, family, order, tolerance):
    model, C, columns, budgets, _ = case(8, family, order, tolerance=tolerance, strong=3.0)
    d, inner, tops = both_ways(model, [(0, 1)]), refitted.screened, []

    def recorded(*args):
        tops.append(inner(*args))
        return tops[-1]

    monkeypatch.setattr(refitted, "screened", recorded)
    found = push_refitted(Refits(model, columns), C, budgets, d, np.ones(len(d), dtype=bool))
    (top,) = tops
    for i in range(len(columns)):
        tope = set_of(found, i, put_columns(model, columns, i), C, budgets)
        most = np.array([plain_max(tope, one) for one in d])
        assert (most <= top[i] + 1e-7 * found.size[i]).all()
        # a variable that the best model does without is limited to less than the whole norm allows
        assert (top[i] < found.size[i]).any()


def test_directions_that_cannot_lead_are_not_pushed(monkeypatch):
    model, C, columns, budgets, _ = case(3, "ordinal", "explicit", n=40, d=20, delta=0.02, strong=5.0)
    d, inner, pushed = both_ways(model), refitted._race, []

    def counted(sets, some, work, directions, want, found):
        pushed.append(int(want.sum()))
        return inner(sets, some, work, directions, want, found)

    monkeypatch.setattr(refitted, "_race", counted)
    some = push_refitted(Refits(model, columns), C, budgets, d, np.ones(len(d), dtype=bool))
    few = sum(pushed)
    pushed.clear()
    monkeypatch.setattr(refitted, "screened", lambda *args: np.full((len(columns), len(d)), np.inf))
    every = push_refitted(Refits(model, columns), C, budgets, d, np.ones(len(d), dtype=bool))
    assert few < 0.6 * sum(pushed)
    assert some.good.all() and every.good.all()
    assert some.largest == pytest.approx(every.largest, abs=2e-6 * every.size.max())
    assert some.least == pytest.approx(every.least, abs=2e-6 * every.size.max())
    compare(model, C, columns, budgets, d)


def record_narrow(monkeypatch):
    """Have the runs on few columns written down: None where all columns were taken."""
    inner, seen = refitted.narrowed, []

    def recorded(*args):
        seen.append(inner(*args))
        return seen[-1]

    monkeypatch.setattr(refitted, "narrowed", recorded)
    return seen


@pytest.mark.parametrize(("family", "order"), FAMILIES)
@pytest.mark.parametrize("tolerance", ["split", "joint"])
def test_few_columns_a_direction_against_scipy(monkeypatch, family, order, tolerance):
    seen = record_narrow(monkeypatch)
    monkeypatch.setattr(refitted, "MOST_OF_USE", 0.9)
    model, C, columns, budgets, _ = case(
        1, family, order, n=30, d=12, delta=0.03, tolerance=tolerance, strong=2.0
    )
    compare(model, C, columns, budgets, both_ways(model, [(0, 11), (10, 3)]))
    few = [one for one in seen if one is not None]
    assert few and all(one.few.core.q < model.q for one in few)


def test_columns_that_were_left_out_join(monkeypatch):
    seen = record_narrow(monkeypatch)
    monkeypatch.setattr(own_columns, "CLOSE", 0.999)
    model, C, columns, budgets, _ = case(4, "ordinal", "explicit", n=40, d=20, delta=0.05, strong=3.0)
    compare(model, C, columns, budgets, both_ways(model))
    widths = [0 if one is None else one.few.core.q for one in seen]
    assert len(set(widths)) > 1


def test_multipliers_of_few_columns_are_priced_for_all(monkeypatch):
    model, C, columns, budgets, _ = case(6, "ordinal", "explicit", n=40, d=20, delta=0.05, strong=3.0)
    d, inner, tops = both_ways(model), refitted._race, []

    def raced(sets, some, work, directions, want, found):
        out = inner(sets, some, work, directions, want, found)
        tops.append(found.top.copy())
        return out

    monkeypatch.setattr(refitted, "_race", raced)
    found = push_refitted(Refits(model, columns), C, budgets, d, np.ones(len(d), dtype=bool))
    for i in range(len(columns)):
        tope = set_of(found, i, put_columns(model, columns, i), C, budgets)
        most = np.array([plain_max(tope, one) for one in d])
        # whatever was left out when a run ended, its bounds hold for all columns
        assert all((most <= top[i] + 1e-6 * found.size[i]).all() for top in tops)


def record_ahead(monkeypatch):
    """Have what the middles of the sets tell of directions written down."""
    inner, seen = refitted.likeliest, []

    def recorded(found, ahead, *rest):
        seen.append(ahead)
        return inner(found, ahead, *rest)

    monkeypatch.setattr(refitted, "likeliest", recorded)
    return seen


@pytest.mark.parametrize("tolerance", ["split", "joint"])
@pytest.mark.parametrize(("ahead", "near"), [(8, 2), (3, 0)])
@pytest.mark.parametrize("most", [0.9, 0.0], ids=["few columns", "all columns"])
def test_likely_directions_of_many(monkeypatch, tolerance, ahead, near, most):
    monkeypatch.setattr(refitted, "MOST_FOR_FEW", most)
    model, C, columns, budgets, _ = case(
        9, "ordinal", "explicit", n=40, d=24, delta=0.03, tolerance=tolerance, strong=3.0
    )
    d, told = both_ways(model), record_ahead(monkeypatch)
    likely = Likely(ahead, near, 8, 1e-4, Glance(3, 1e-2))
    found = push_refitted(Refits(model, columns), C, budgets, d, np.ones(len(d), dtype=bool), likely=likely)
    assert found.good.all()
    for i in range(len(columns)):
        tope = set_of(found, i, put_columns(model, columns, i), C, budgets)
        most = np.array([plain_max(tope, one) for one in d])
        value = d @ found.points[i]
        some = np.argsort(-told[0][i])[:ahead]
        # the leading ones are pushed to their ends, and nothing beyond is reached
        assert found.largest[i] >= most[some].max() - 2e-4 * found.size[i]
        assert found.largest[i] <= most.max() + 1e-6 * found.size[i]
        ends = most[np.argsort(value)[:8]]
        assert found.least[i] == pytest.approx(max(0.0, -ends.min()), abs=2e-6 * found.size[i])


@pytest.mark.parametrize(("family", "order"), FAMILIES)
@pytest.mark.parametrize("tolerance", ["split", "joint"])
def test_the_middle_of_a_set_tells_which_directions_go_farthest(monkeypatch, family, order, tolerance):
    told = record_ahead(monkeypatch)
    shares = []
    for seed in range(3):
        model, C, columns, budgets, _ = case(
            20 + seed, family, order, n=40, d=20, delta=0.1, tolerance=tolerance, strong=5.0
        )
        d = both_ways(model, [(0, 19), (18, 1)])
        told.clear()
        likely = Likely(12, 2, 8, 1e-6)
        found = push_refitted(
            Refits(model, columns), C, budgets, d, np.ones(len(d), dtype=bool), likely=likely
        )
        for i in range(len(columns)):
            tope = set_of(found, i, put_columns(model, columns, i), C, budgets)
            most = np.array([plain_max(tope, one) for one in d])
            shares.append(found.largest[i] / most.max())
            # far more than chance: of 44 directions the farthest is among the first twelve, as a rule the first three
            assert np.argsort(-told[0][i]).tolist().index(int(np.argmax(most))) < 12
    assert min(shares) > 1 - 1e-5


def test_columns_of_use_have_no_price(monkeypatch):
    monkeypatch.setattr(refitted, "MOST_OF_USE", 0.9)
    model, C, columns, budgets, _ = case(3, "ordinal", "explicit", n=40, d=20, delta=0.02, strong=5.0)
    inner, prices = own_columns.Narrow.price, []

    def noted(self, at):
        prices.append(inner(self, at))
        return prices[-1]

    monkeypatch.setattr(own_columns.Narrow, "price", noted)
    push_refitted(Refits(model, columns), C, budgets, both_ways(model), np.ones(40, dtype=bool))
    assert prices and all(np.isfinite(one).all() for one in prices)


def test_gram_matrices_are_the_same_for_one_direction_and_for_many():
    rng = np.random.default_rng(0)
    G, A, owner = rng.normal(size=(2, 4, 6)), rng.normal(size=(2, 4, 3)), np.repeat([0, 1], [7, 5])
    stack = Stack(G, A, owner)
    for hard, rows in ((False, G), (True, A)):
        D = rng.random((12, rows.shape[2]))
        expected = [rows[p] @ np.diag(w) @ rows[p].T for p, w in zip(owner, D, strict=True)]
        for some in (np.arange(12), np.array([0, 1, 7])):
            found = stack.take(some).gram(D[some], hard)
            np.testing.assert_allclose(np.triu(found), np.triu(np.array(expected)[some]))
