"""Rows that read "at most": proved, below twice what noise reaches, and nothing else changes."""

import pickle

import joblib
import numpy as np
import pytest
from problems import plain_max

import relbounds as rb
from relbounds.linear import at_most
from relbounds.linear.asked import largest_contrast, size_of
from relbounds.linear.noise.facts import NoiseKey


def both(control, seed=3, **options):
    data = rb.simulate.draw("ordinal", 80, 3, 2, 45, noise=0.3, seed=seed)
    given = {"C": 0.1, "control": control, "order": "explicit", "seed": 1, **options}
    return [rb.relbounds(data.formula, data.data, screen=screen, **given) for screen in (True, False)]


@pytest.mark.parametrize("control", ["fwer", "fdr"])
def test_limits_hold_and_other_rows_are_exact(control):
    few, exact = both(control)
    at_most = few.table["screened"].to_numpy()
    assert at_most.sum() >= 20
    assert few.table["relevance"].tolist() == exact.table["relevance"].tolist()
    assert np.allclose(few.table["p_adjusted"], exact.table["p_adjusted"])
    for end in ("lower", "upper", "signed_lower", "signed_upper"):
        assert np.allclose(few.table[end][~at_most], exact.table[end][~at_most], atol=2e-6)
    assert set(few.table["relevance"][at_most]) == {"irrelevant"}
    # limits are proved from outside, and no larger than twice what noise reaches
    assert np.all(few.table["upper"][at_most] >= exact.table["upper"][at_most] - 1e-9)
    assert np.all(few.table["signed_lower"][at_most] <= exact.table["signed_lower"][at_most] + 1e-9)
    assert np.all(exact.table["lower"][at_most] == 0)
    level = few._fitted.noise.intervals[NoiseKey("regular")][1].upper
    assert np.all(few.table["upper"][at_most] <= 2 * level + 1e-9)
    assert few.certificate <= 1e-6
    assert any("<=" in note for note in few.notes)


@pytest.mark.parametrize(("n", "d", "C"), [(80, 45, 0.1), (40, 150, 0.05), (40, 150, 1.0)])
def test_limits_hold_by_plain_linear_programming(n, d, C):
    data = rb.simulate.draw("ordinal", n, 3, 2, d, noise=0.3, seed=4)
    few = rb.relbounds(data.formula, data.data, screen=True, C=C, delta=0.1, order="explicit", seed=1)
    fitted = few._fitted
    polytope, norm = fitted.polytopes[0], fitted.norm
    screened = np.flatnonzero(few.table["screened"].to_numpy())
    # those nearest to their limit: it was proved by a push
    rows = screened[np.argsort(-few.table["upper"].to_numpy()[screened])[:12]]
    assert len(rows) == 12
    for i in rows:
        variable = fitted.asked[i].functionals[0].variables[0]
        for sign, end in (
            (1.0, few.table["signed_upper"].iloc[i]),
            (-1.0, -few.table["signed_lower"].iloc[i]),
        ):
            direction = np.zeros(polytope.model.q)
            direction[variable] = sign
            assert plain_max(polytope, direction) <= end * norm + 1e-7 * norm


def test_terms_that_the_best_model_uses_need_no_exact_bounds_where_others_do_without():
    data = rb.simulate.draw("ordinal", 100, 3, 2, 195, noise=0.5, seed=3)
    fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, order="explicit", seed=1)
    fitted, table = fit._fitted, fit.table
    polytope, v = fitted.polytopes[0], fitted.solution.v
    screened = table["screened"].to_numpy()
    used = [
        i
        for i in np.flatnonzero(screened)
        if not at_most._does_without(polytope, v, fitted.asked[i].functionals[0].variables[0])
    ]
    # these are more than are measured, and one end of the range of each is on the other side of 0
    assert len(used) > 20 and len(used) > np.sum(~screened)
    for i in used[::5]:
        variable = fitted.asked[i].functionals[0].variables[0]
        direction = np.zeros(polytope.model.q)
        direction[variable] = -np.sign(v[variable])
        assert plain_max(polytope, direction) >= -1e-9 * polytope.size
    # a term that every model needs is measured
    needed = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, order="explicit", seed=1, screen=False)
    assert not screened[needed.table["lower"].to_numpy() > 1e-6].any()


def test_the_same_whatever_the_number_of_processes():
    data = rb.simulate.draw("ordinal", 80, 3, 2, 45, noise=0.3, seed=3)
    one, two = (
        rb.relbounds(data.formula, data.data, screen=True, C=0.1, order="explicit", n_jobs=jobs)
        for jobs in (1, 2)
    )
    assert one.table.equals(two.table)


def test_questions_that_compare_bounds_work_them_out():
    few, exact = both("fwer", seed=4)
    row = few.table.index[few.table["screened"]][0]
    one, two = (fit.substitutes(row)[["upper", "upper_half"]].sort_index() for fit in (few, exact))
    assert one.index.tolist() == two.index.tolist()
    assert np.allclose(one, two, atol=1e-5)
    assert few.table["screened"].any()


def test_many_rows_are_handed_to_workers_without_an_array_each(tmp_path):
    rows = [size_of(k) for k in range(50)]
    joblib.dump(rows, tmp_path / "rows")
    assert b"NumpyArrayWrapper" not in (tmp_path / "rows").read_bytes()
    again = joblib.load(tmp_path / "rows")
    assert [one.variables for one in again] == [one.variables for one in rows]
    assert np.array_equal(again[7].tops, rows[7].tops) and again[7].signed
    other = largest_contrast((1, 2, 3))
    assert np.array_equal(pickle.loads(pickle.dumps(other)).tops, other.tops)
