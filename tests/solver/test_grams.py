"""Gram matrices in which every observation is worked on once."""

from dataclasses import replace

import numpy as np
import pytest

from relbounds.linear.families import make_rows
from relbounds.linear.plain import plain_model
from relbounds.solver import core as core_module
from relbounds.solver import grams
from relbounds.solver.grams import Grams, folded
from relbounds.solver.priced import priced_core
from relbounds.solver.stack import Stack


def model_of(kind, n=60, d=40):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, d))
    if kind == "regression":
        return plain_model(X, make_rows(rng.normal(size=n), "regression"))
    y = 1 + rng.integers(0, 5, size=n)
    return plain_model(X, make_rows(y, "ordinal", kind))


@pytest.mark.parametrize("kind", ["implicit", "regression", "explicit"])
@pytest.mark.parametrize("B", [1, 9])
@pytest.mark.parametrize("d", [40, 120])
def test_the_same_as_written_out(kind, B, d):
    G = model_of(kind, d=d).G
    D = np.random.default_rng(1).uniform(0.0, 3.0, size=(B, len(G)))
    expected = np.einsum("rq,br,rp->bqp", G, D, G)
    found = Grams(G)(D)
    assert np.allclose(np.triu(found), np.triu(expected), rtol=1e-12, atol=1e-12 * expected.max())


@pytest.mark.parametrize("kind", ["implicit", "regression", "explicit"])
def test_products_with_each_observation_once(kind):
    core = priced_core(model_of(kind, d=40)).core
    rng = np.random.default_rng(3)
    v, y = rng.normal(size=(4, core.q)), rng.normal(size=(4, core.rows))
    plain = core_module.times(core, v, None), core_module.times_t(core, y, None)
    fold = core.gram_G.rows_once
    if kind == "explicit" and fold is None:
        return
    last = core.G[:, fold.grams.matrix.shape[1] :]
    assert len(fold.grams.matrix) == 60
    assert np.allclose(fold.times(v, last), plain[0], atol=1e-12)
    assert np.allclose(fold.times_t(y, last), plain[1], atol=1e-12)


def test_many_columns_are_multiplied_with_each_observation_once(monkeypatch):
    core = priced_core(model_of("implicit", d=40)).core
    rng = np.random.default_rng(3)
    v, y = rng.normal(size=(4, core.q)), rng.normal(size=(4, core.rows))
    asked, inner = [], grams.Folded.times
    monkeypatch.setattr(grams.Folded, "times", lambda *a: asked.append(1) or inner(*a))
    monkeypatch.setattr(core_module, "MANY_COLUMNS", 30)
    assert np.allclose(core_module.times(core, v, None), v @ core.G.T, atol=1e-12)
    assert np.allclose(core_module.times_t(core, y, None), y @ core.G, atol=1e-12)
    assert asked
    # another matrix than the Gram matrices' is multiplied as it is
    other = replace(core, G=2.0 * core.G)
    assert np.allclose(core_module.times(other, v, None), 2.0 * v @ core.G.T, atol=1e-12)


@pytest.mark.parametrize("kind", ["implicit", "regression"])
def test_an_observation_is_there_once(kind):
    assert folded(model_of(kind).G).starts.size == 60
    # some rows of it will do
    some = np.random.default_rng(2).permutation(len(model_of(kind).G))[:110]
    assert folded(model_of(kind).G[some]).starts.size <= 60


def test_rows_that_differ_in_one_entry_are_not_folded():
    G = model_of("implicit").G.copy()
    G[5, 30] *= 1 + 1e-15
    assert folded(G) is None


def test_nothing_to_fold():
    assert folded(np.random.default_rng(0).normal(size=(100, 30))) is None
    assert folded(np.ones((300, 3))) is None


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("B", [1, 9])
def test_rows_that_use_few_of_many_columns(runs, B):
    # four correcting functions of 30 columns beside 20 common ones
    rng = np.random.default_rng(3)
    A = np.kron(np.eye(4), np.ones((150, 30))) * rng.normal(size=(600, 120))
    A = np.hstack([rng.normal(size=(600, 20)), A])
    if not runs:
        A = A[:, rng.permutation(140)]
    D = rng.uniform(0.0, 3.0, size=(B, len(A)))
    grams = Grams(A)
    expected = np.einsum("rq,br,rp->bqp", A, D, A)
    found = grams(D)
    assert len(grams.blocks) == 4
    assert np.allclose(np.triu(found), np.triu(expected), rtol=1e-12, atol=1e-12 * expected.max())


@pytest.mark.parametrize("q", [10, 104])
def test_a_few_rows_are_added_where_they_are(q):
    rng = np.random.default_rng(0)
    rows = np.zeros((3, q))
    rows[:, -4:] = rng.normal(size=(3, 4))
    D, M = rng.uniform(size=(7, 3)), rng.normal(size=(7, q, q))
    want = M + np.einsum("bi,ij,ik->bjk", D, rows, rows)
    Grams(rows).add(D, M)
    assert np.allclose(np.triu(M), np.triu(want))


@pytest.mark.parametrize("q", [9, 104])
def test_gram_matrices_of_stacked_problems(q):
    rng = np.random.default_rng(0)
    stack = Stack(rng.normal(size=(3, q, 40)), None, np.array([0, 0, 1, 2, 2, 2]))
    D = rng.uniform(size=(6, 40))
    own = stack.G[stack.owner]
    want = np.einsum("bji,bi,bki->bjk", own, D, own)
    assert np.allclose(np.triu(stack.gram(D)), np.triu(want))


@pytest.mark.parametrize("q", [52, 104])
def test_weights_in_single_precision_give_such_matrices(q):
    rng = np.random.default_rng(0)
    stack = Stack(rng.normal(size=(2, q, 40)), None, np.array([0, 1, 1]))
    D = rng.uniform(size=(3, 40))
    found = stack.gram(D.astype(np.float32))
    assert found.dtype == np.float32
    assert np.allclose(np.triu(found), np.triu(stack.gram(D)), atol=1e-4)
    wide = rng.normal(size=(40, 104))
    found = Grams(wide)(D.astype(np.float32))
    assert found.dtype == np.float32
    assert np.allclose(np.triu(found), np.triu(Grams(wide)(D)), atol=1e-4)
