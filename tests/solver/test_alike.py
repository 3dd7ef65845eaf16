"""Best models of several programs of one shape, against scipy's linprog and one by one."""

from dataclasses import replace

import numpy as np
import pytest
from problems import plain_max
from scipy.optimize import linprog

from relbounds.design import design_from_arrays
from relbounds.linear.equivalent import equivalent_models
from relbounds.linear.families.rows import ModelKind
from relbounds.linear.privileged.models import build_slack
from relbounds.solver import alike, largest_alike
from relbounds.solver.alike import fit_alike, stack_alike
from relbounds.solver.largest_alike import push_alike
from relbounds.solver.optimum import fit_baseline
from relbounds.solver.priced import priced_core


def least_objective(model, C):
    """The same program in the form that linprog takes: v = v+ - v-, a slack for every loss row."""
    R = model.h.size
    cost = np.concatenate(
        [0.5 * model.penalty + C * model.linear, 0.5 * model.penalty - C * model.linear, C * model.c]
    )
    loss = np.hstack([-model.G, model.G, -np.eye(R)])
    hard = np.hstack([-model.A, model.A, np.zeros((model.a.size, R))])
    found = linprog(
        cost, A_ub=np.vstack([loss, hard]), b_ub=-np.concatenate([model.h, model.a]), method="highs"
    )
    return found.fun


def specs(residual, part, n=60, share=0.8, first=0, noise=0.0):
    """Return four programs that differ in the columns of a part from `first` on; `share` is that of Z in the score."""
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(n, 4)), rng.normal(size=(n, 3))
    score = X[:, 0] + share * Z[:, 0] + (noise * rng.normal(size=n) if noise else 0.0)
    y = 1 + (score > 0).astype(int) + (score > 1)
    out = []
    for _ in range(4):
        order = rng.permutation(n)
        own = {"X": X.copy(), "Z": Z.copy()}
        own[part][:, first:] = own[part][order, first:]
        design = design_from_arrays(own["X"], y, Z=own["Z"], priv_names=["p", "q", "r"])
        out.append(build_slack(design, ModelKind(slack=True, residual=residual), merged=False))
    return out


def models(residual, part, n=60):
    return [spec.model for spec in specs(residual, part, n)]


@pytest.mark.parametrize("residual", [np.inf, 2.0])
@pytest.mark.parametrize("part", ["X", "Z"])
def test_the_best_models_are_those_of_linprog(residual, part, monkeypatch):
    several = models(residual, part)
    single = [fit_baseline(model, 0.7) for model in several]
    monkeypatch.setattr(alike, "fit_baseline", lambda *_, **__: pytest.fail("not in one run"))
    for model, one, found in zip(several, single, fit_alike(several, 0.7, accuracy=1e-8), strict=True):
        expected = least_objective(model, 0.7)
        assert found.objective == pytest.approx(expected, rel=1e-7)
        assert found.certified <= 1e-7
        assert found.objective == pytest.approx(one.objective, rel=1e-7)
        assert model.violation_of(found.v) <= 1e-9


def test_models_that_are_not_alike_are_fitted_one_by_one(monkeypatch):
    first, second, *_ = models(2.0, "Z")
    other = replace(second, c=2.0 * second.c)
    seen = []
    monkeypatch.setattr(alike, "fit_baseline", lambda model, *_, **__: seen.append(model))
    fit_alike([first, other], 0.7, accuracy=1e-8)
    assert seen == [first, other]


def sets_of(residual, part, noise=None):
    """Return the equivalent models of four programs that use features."""
    if np.isinf(residual):
        several = specs(residual, part, share=0.1, first=2, noise=0.1 if noise is None else noise)
    else:
        several = specs(residual, part, share=0.1, first=1, noise=0.3)
    best = [fit_baseline(one.model, 20.0) for one in several]
    assert min(one.penalty for one in best) > 1
    return [equivalent_models(one, v, 0.1, "split") for one, v in zip(several, best, strict=True)]


def both_ways(model):
    d = np.eye(model.q)[model.penalty > 0]
    return np.vstack([d, -d])


@pytest.mark.parametrize("residual", [np.inf, 2.0])
@pytest.mark.parametrize("part", ["X", "Z"])
def test_the_largest_values_of_alike_sets_are_those_of_linprog(residual, part):
    topes = sets_of(residual, part)
    d = both_ways(topes[0].model)
    every, few = push_alike(topes, d, 1e-6), push_alike(topes, d, 1e-6, count=6)
    for tope, one, some in zip(topes, every, few, strict=True):
        most = max(plain_max(tope, direction) for direction in d)
        assert one.value == pytest.approx(most, abs=2e-6 * tope.size)
        assert most > 0.1 * tope.size
        # the six that go farthest as the middle tells
        assert some.value == pytest.approx(most, abs=2e-6 * tope.size) and len(some.seen) == 6
        assert max(tope.excess_of(v) for v in one.seen) <= 1e-9 * tope.size


@pytest.mark.parametrize("residual", [np.inf, 2.0])
@pytest.mark.parametrize("part", ["X", "Z"])
def test_what_alike_sets_need_at_least_is_that_of_linprog(residual, part):
    topes = sets_of(residual, part)
    d = both_ways(topes[0].model)
    # directions against what the best models use
    against = np.array([d @ tope.start < -1e-9 for tope in topes])
    found = push_alike(topes, d, 1e-6, against=against, count=3)
    for tope, one, some in zip(topes, found, against, strict=True):
        least = max(-plain_max(tope, direction) for direction in d[some])
        assert one.least == pytest.approx(max(least, 0.0), abs=2e-6 * tope.size)
        assert one.value == pytest.approx(max(plain_max(tope, direction) for direction in d), rel=2e-2)
    assert max(one.least for one in found) > 0.1 * topes[0].size


def test_sets_without_loss_are_pushed_in_the_same_run():
    """What keeps every row with nothing to spare lies at the edge of its set: a point inside is sought for all."""
    topes = sets_of(np.inf, "X", noise=0.0)
    lossless = [tope.loss < 1e-6 for tope in topes]
    assert any(lossless) and not all(lossless)
    d = both_ways(topes[0].model)[[0, 1, 2, 3]]
    for tope, one in zip(topes, push_alike(topes, d, 1e-6), strict=True):
        assert one.value == pytest.approx(max(plain_max(tope, x) for x in d), abs=1e-4 * tope.size)


def test_sets_that_are_not_alike_are_not_pushed_in_one_run():
    first, second, *_ = sets_of(2.0, "Z")
    d = both_ways(first.model)
    other = replace(second, model=replace(second.model, c=2.0 * second.model.c))
    assert push_alike([first, other], d, 1e-6) == [None, None]
    assert push_alike([first], d, 1e-6) == [None]
    # a set without any model, beside one that has some
    there, none = push_alike(
        [first, replace(second, loss=0.5 * second.loss, norm=0.1 * second.norm)], d, 1e-6
    )
    assert none is None and there.value == pytest.approx(
        push_alike([first, second], d, 1e-6)[0].value, rel=1e-6
    )


def test_gram_matrices_of_blocks_are_those_of_all_rows():
    several = models(2.0, "Z", n=400)
    stack = stack_alike(several, priced_core(several[0]))
    assert stack.blocks is not None
    rng = np.random.default_rng(0)
    owner = np.array([0, 0, 2, 3, 3])
    for hard, matrix in ((False, stack.G), (True, stack.A)):
        D = rng.uniform(size=(5, matrix.shape[2]))
        found = stack.of(owner).gram(D, hard)
        for one, p, weights in zip(found, owner, D, strict=True):
            assert np.triu(one) == pytest.approx(np.triu(matrix[p] * weights @ matrix[p].T), abs=1e-9)
        some = stack.take(np.array([1, 3]))
        assert np.triu(some.gram(D[:2], hard)[1]) == pytest.approx(
            np.triu(matrix[3] * D[1] @ matrix[3].T), abs=1e-9
        )


def test_products_by_block_are_those_of_all_rows():
    several = models(2.0, "Z", n=400)
    stack = stack_alike(several, priced_core(several[0])).of(np.repeat([0, 2], 5))
    assert stack.blocks is not None
    rng = np.random.default_rng(0)
    for hard, matrix in ((False, stack.G), (True, stack.A)):
        v, y = rng.normal(size=(10, matrix.shape[1])), rng.normal(size=(10, matrix.shape[2]))
        for p, one, other, forth, back in zip(
            stack.owner, v, y, stack.times(v, hard), stack.times_t(y, hard), strict=True
        ):
            assert forth == pytest.approx(one @ matrix[p], abs=1e-9)
            assert back == pytest.approx(matrix[p] @ other, abs=1e-9)


def test_points_that_step_away_from_hard_rows_need_no_search(monkeypatch):
    first, *rest = sets_of(np.inf, "X")
    d = both_ways(first.model)
    expected = [one.value for one in push_alike([first, *rest], d, 1e-6)]
    # the best models of regular sets have room for that
    monkeypatch.setattr(largest_alike, "strictly", at_second_glance(largest_alike.strictly))
    monkeypatch.setattr(largest_alike, "descend", lambda *_: pytest.fail("sought for"))
    found = [one.value for one in push_alike([first, *rest], d, 1e-6)]
    assert found == pytest.approx(expected, rel=1e-6)


def at_second_glance(strictly):
    """Have points be strictly inside only when that is asked for the second time."""
    seen = []

    def look(*given):
        seen.append(1)
        return strictly(*given) & (len(seen) > 1)

    return look
