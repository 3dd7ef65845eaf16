"""Strong is tested: terms that only stand in for others have no effect of their own."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import relbounds as rb
from relbounds.linear.noise.moves import make_moves, make_rows, maps_of
from relbounds.linear.noise.own import choose_beside, count_related, moved_values, own_test
from relbounds.linear.noise.smooth import Response, fit_smooth
from relbounds.linear.noise.statistics import Moved, make_loads, make_terms, score_values


def _reading(seed, n=120, error=0.5, kind="ordinal"):
    """Two features with an effect, and a noisy reading of the second."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    latent = X[:, 0] + X[:, 1] + rng.logistic(size=n)
    blocks = [X[:, 0], X[:, 1], X[:, 1] + error * X[:, 2]]
    if kind == "regression":
        return blocks, Response(kind, latent)
    cuts = [0.0] if kind == "binary" else [-1.0, 1.0]
    return blocks, Response(kind, np.digitize(latent, cuts).astype(float))


ALL = {0: [1, 2], 1: [0, 2], 2: [0, 1]}


@pytest.mark.parametrize("kind", ["ordinal", "binary", "regression", "nominal"])
def test_a_reading_has_no_effect_of_its_own(kind):
    found = [own_test(*_reading([3, seed], kind=kind), ALL, draws=99) for seed in range(60)]
    p = np.array([[one[t] for t in range(3)] for one in found])
    # uniform p-values for the reading, small ones for what has an effect
    share = np.mean(p[:, 2] <= 0.1)
    assert share <= 0.1 + 2.5 * np.sqrt(0.09 / 60)
    assert p[:, 2].mean() > 0.35
    assert np.mean(p[:, 0] <= 0.05) > 0.9
    assert np.mean(p[:, 1] <= 0.05) > 0.3


def test_exact_copies_leave_nothing_to_test():
    blocks, response = _reading(1)
    blocks = [blocks[0], blocks[1], 2 * blocks[1] + 1]
    assert list(own_test(blocks, response, ALL)) == [0]


def test_what_is_not_asked_for_is_not_tested():
    blocks, response = _reading(1)
    found = own_test(blocks, response, ALL, [1])
    assert found[0] == found[2] == 1.0 and found[1] == own_test(blocks, response, ALL)[1] < 1


def test_a_term_is_tested_beside_what_was_not_found_too():
    """With few rows x2 may not be found, and its reading would pass for it."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 4))
    blocks = [*x.T, x[:, 1] + 0.2 * rng.normal(size=60)]
    widths = np.ones(35, dtype=int)
    assert choose_beside(make_terms(blocks), widths, 4, range(4), relevant=[0]) == [0, 1, 2, 3]
    many = make_terms([*blocks, *rng.normal(size=(30, 60))])
    chosen = choose_beside(many, widths, 4, [t for t in range(35) if t != 4], relevant=[0])
    # no room for all: the relevant ones come first, then what says most of the term
    assert len(chosen) == 12 and chosen[:2] == [0, 1]


def test_possible_stand_ins_are_counted():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 40))
    assert count_related(make_terms(list(x.T)), ()) <= 8
    x[:, :20] += 2 * rng.normal(size=(200, 1))
    assert 20 <= count_related(make_terms(list(x.T)), ()) <= 26
    assert count_related(make_terms(list(x.T)), range(20)) <= 6
    factor = (rng.integers(3, size=200)[:, None] == np.arange(3)).astype(float)
    assert count_related(make_terms([factor, 2 * factor[:, 0] + rng.normal(size=200)]), ()) == 2


def test_possible_stand_ins_are_those_that_scipy_finds_correlated():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(150, 130))
    x[:, 10:60:5] += rng.normal(size=(150, 1))
    x[:, 7] = 1.0  # nothing to say
    alike = np.corrcoef(np.delete(x, 7, axis=1).T) ** 2
    np.fill_diagonal(alike, 0.0)
    tails = chi2.sf(150 * alike, 1)
    expected = int(np.sum(tails.min(axis=1) <= 1 / (130 * 129)))
    assert count_related(make_terms(list(x.T)), ()) == expected >= 10
    assert count_related(make_terms([x[:, 0]]), ()) == 0


def test_many_columns_of_few_rows_keep_the_level():
    """Twelve columns beside the term, sixty rows: likelihood ratio tests are far off there, permutations are not."""
    p = []
    for seed in range(100):
        rng = np.random.default_rng([seed, 4])
        x = rng.normal(size=(60, 13))
        y = np.digitize(x[:, :3].sum(axis=1) + rng.logistic(size=60), [-1.0, 1.0])
        p.append(own_test(list(x.T), Response("ordinal", y.astype(float)), {12: range(12)}, draws=99)[12])
    assert np.mean(np.array(p) <= 0.1) <= 0.1 + 2.5 * np.sqrt(0.09 / 100)


def test_main_effects_are_not_tested_beside_their_interactions():
    """The columns of an interaction say all that those of its main effects say."""
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.normal(size=200), "f": np.array(list("abc"))[rng.integers(3, size=200)]})
    data["y"] = np.digitize(2 * data["x"] + rng.logistic(size=200), [-1.0, 1.0])
    fit = rb.relbounds("y ~ x + f + x:f", data, C=0.1, delta=0.01, progress=False)
    own = {key.term: p for key, p in fit._fitted.noise.own.items()}
    assert own["x"] <= 0.05 and fit.table.loc["x", "relevance"] == "strong"


def test_the_way_it_is_computed_changes_nothing():
    rng = np.random.default_rng(0)
    given = rng.normal(size=(50, 2))
    maps = maps_of(make_rows(50), 3, range(12))
    for kind, y in (("ordinal", rng.integers(3, size=50)), ("nominal", rng.integers(3, size=50))):
        loads = make_loads(fit_smooth(Response(kind, y.astype(float)), given))
        for width in (1, 3):
            terms = make_terms([rng.normal(size=(50, width))], given)
            wanted = score_values(terms, Moved(loads, make_moves(maps)))[:, 0]
            np.testing.assert_allclose(moved_values(terms.columns, loads, maps), wanted, rtol=1e-10)


def _table(seed=0, n=150):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    data = pd.DataFrame(X, columns=list("abcde"))
    data["b2"] = data["b"] + 0.2 * rng.normal(size=n)
    data["y"] = np.digitize(2 * data["a"] + 2 * data["b"] + rng.logistic(size=n), [-1.0, 1.0])
    return data


def test_what_every_model_needs_without_an_effect_of_its_own_is_weak(monkeypatch):
    data = _table()
    fit = rb.relbounds("y ~ .", data, C=1.0, progress=False)
    own = fit._fitted.noise.own
    table = fit.table
    strong = table.index[table["relevance"] == "strong"]
    assert "a" in strong
    assert {key.term for key, p in own.items() if p <= 0.05} == set(strong)
    # the same data, were no effect shown
    monkeypatch.setattr(
        "relbounds.linear.noise.judge.own_effects",
        lambda blocks, responses, others, asked, **_: dict.fromkeys(asked, 1.0),
    )
    other = rb.relbounds("y ~ .", data, C=1.0, progress=False)
    assert not (other.table["relevance"] == "strong").any()
    assert (other.table["p_adjusted"] == table["p_adjusted"]).all()
    assert "no effect of their own was shown" in " ".join(str(other.summary()).split())


def test_a_stand_in_is_strong_once_the_other_may_not_be_used():
    fit = rb.relbounds("y ~ .", _table(), C=1.0, delta=0.15, progress=False)
    assert fit.table.loc["b2", "relevance"] == "weak"
    held = fit.constrain({"b": 0})
    assert held.table.loc["b", "relevance"] == "fixed"
    assert held.table.loc["b2", "relevance"] == "strong"


def test_p_values_of_a_what_if_are_its_own():
    data = _table()
    fit = rb.relbounds("y ~ .", data, C=1.0, delta=0.15, progress=False)
    held = fit.constrain({"b": 0})
    other = rb.relbounds("y ~ .", data.drop(columns="b"), C=1.0, delta=0.15, progress=False)
    rows = ["a", "c", "d", "e", "b2"]
    # tests of scores know nothing of bounds: the same as if the term had never been there
    assert np.allclose(held.table.loc[rows, "p_adjusted"], other.table.loc[rows, "p_adjusted"])
    assert fit.table.loc["b2", "p_adjusted"] != held.table.loc["b2", "p_adjusted"]
    assert "made anew without the terms that may not be used (b)" in " ".join(str(held.summary()).split())
    # nothing is ruled out: the tests are those of the fit
    bounded = fit.constrain({"b": (0.0, 0.4)})
    assert np.allclose(bounded.table.loc[rows, "p_adjusted"], fit.table.loc[rows, "p_adjusted"])


def test_terms_that_are_not_asked_for_count_unless_they_are_copies():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(120, 4))
    blocks = [x[:, 0], x[:, 1], x[:, 0].copy(), x[:, 2] + 1e-3 * x[:, 3], x[:, 2], np.zeros(120)]
    beside = {t: [k for k in range(6) if k != t] for t in range(6)}
    response = Response("binary", (x[:, 1] > 0).astype(int))
    whole = own_test(blocks, response, beside)
    some = own_test(blocks, response, beside, asked=[1])
    # a quick look decides for those that are not asked for, and must say the same of copies and of constants
    assert set(whole) == set(some) == {1, 3, 4}
    assert some == {1: whole[1], 3: 1.0, 4: 1.0}


def test_effects_of_their_own_are_the_same_with_two_workers():
    """Terms of different widths, in several pieces."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(120, 8))
    blocks = [*(x[:, [j]] for j in range(6)), x[:, 6:], np.eye(3)[rng.integers(3, size=120)]]
    y = np.digitize(x[:, :6].sum(axis=1) + x[:, 6] + rng.normal(size=120), [-1.0, 1.0])
    beside = {t: [k for k in range(8) if k != t] for t in range(8)}
    one, two = (
        own_test(blocks, Response("ordinal", y.astype(float)), beside, n_jobs=jobs) for jobs in (1, 2)
    )
    assert one == two and len(one) == 8 and min(one.values()) < 0.05
