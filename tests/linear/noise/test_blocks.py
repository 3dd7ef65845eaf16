"""Refits of permuted blocks: all in one run, and one by one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds.linear.ends import least
from relbounds.linear.noise import fwer, refits


def data(family, n=70):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 5))
    frame = pd.DataFrame(X, columns=list("abcde"))
    score = X[:, 0] + 0.5 * rng.normal(size=n)
    frame["g"] = rng.choice(["u", "v", "w"], n)
    if family == "regression":
        frame["y"] = score
    else:
        frame["y"] = pd.Categorical(
            pd.qcut(score, 3, labels=["lo", "mid", "hi"]), ordered=family == "ordinal"
        )
    return frame


@pytest.mark.parametrize(
    ("family", "formula", "tolerance"),
    [
        ("ordinal", "y ~ a + b + c + d", "split"),
        ("ordinal", "y ~ a + b + C(g) | adjust(e)", "joint"),
        ("regression", "y ~ a + b + c + C(g)", "split"),
        ("nominal", "y ~ a + b + c", "split"),
    ],
)
def test_one_run_gives_what_single_refits_give(monkeypatch, family, formula, tolerance):
    frame = data(family)
    found = []
    whole = fwer._refits

    def both(shared, count):
        found.append((shared, whole(shared, 6)))
        return found[-1][1]

    monkeypatch.setattr(fwer, "_refits", both)
    rb.relbounds(formula, frame, family=family, tolerance=tolerance, seed=1, progress=False)
    shared, together = found[0]
    monkeypatch.setattr(fwer, "together", lambda *_: None)
    singly = whole(shared, 6)
    norm = shared.evidence.norm
    for name in ("largest", "least"):
        one, other = ([getattr(x, name) / norm for x in values] for values in (together, singly))
        assert one == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize("family", ["ordinal", "regression", "binary"])
def test_few_directions_of_many_numbers_reach_what_all_of_them_do(monkeypatch, family):
    drawn = rb.simulate.draw(family, 100, 3, 2, 25, noise=0.6, seed=50_021)
    kept, whole, pushed = [], fwer._refits, []
    monkeypatch.setattr(fwer, "_refits", lambda shared, _: kept.append(shared) or whole(shared, 6))
    rb.relbounds(drawn.formula, drawn.data, seed=0, progress=False)
    (shared,) = kept
    assert len(shared.measured) > 20
    ahead = whole(shared, 6)
    with monkeypatch.context() as patch:
        inner = fwer.together
        patch.setattr(fwer, "together", lambda *rest: replace(inner(*rest), likely=None))
        every = whole(shared, 6)
    # one by one
    monkeypatch.setattr(fwer, "together", lambda *_: None)
    push = refits.push_largest
    monkeypatch.setattr(
        refits,
        "push_largest",
        lambda tope, d, *rest, **more: pushed.append(len(d)) or push(tope, d, *rest, **more),
    )
    singly = whole(shared, 6)
    assert set(pushed) == {refits.AHEAD + refits.NEAR}
    norm = shared.evidence.norm
    for few, one, most in zip(ahead, singly, every, strict=True):
        assert few.largest == pytest.approx(most.largest, abs=1e-5 * norm)
        assert one.largest == pytest.approx(most.largest, abs=1e-5 * norm)
        assert few.least == pytest.approx(most.least, abs=1e-5 * norm)


def test_the_refits_of_a_block_do_not_depend_on_the_number_of_processes():
    frame = data("ordinal", n=200)
    fits = [rb.relbounds("y ~ a + b + c + d + e", frame, n_jobs=k, seed=2, progress=False) for k in (1, 2)]
    pd.testing.assert_frame_equal(fits[0].table, fits[1].table)


def test_the_largest_least_use_of_privileged_noise_is_that_of_all_rows_one_by_one(monkeypatch):
    known = rb.simulate.paper_privileged_set(1, seed=3)
    seen = []
    whole, refits = fwer.values_in_each, fwer._refits

    def noted(found, rows, solver):
        values = whole(found, rows, solver)
        seen.extend((one, rows, value.least) for one, value in zip(found, values, strict=True))
        return values

    monkeypatch.setattr(fwer, "values_in_each", noted)
    monkeypatch.setattr(fwer, "_refits", lambda shared, _: refits(shared, 6))
    rb.relbounds(
        known.formula, known.data, privileged="slack", residual=3.0, delta=1e-4, seed=3, progress=False
    )
    used = [one for one in seen if one[0].polytope is not None and one[1][0].key.part == "privileged"]
    assert any(value > 0 for _, _, value in used)
    for found, rows, value in used:
        each = [least(found.polytope, row, "batch") for row in rows]
        assert value == pytest.approx(max(each), abs=1e-5 * found.polytope.size)


def test_rows_that_seen_points_use_with_the_other_sign_are_not_pushed_toward_zero(monkeypatch):
    known = rb.simulate.paper_privileged_set(1, seed=3)
    kept, before = [], fwer._refits
    whole = fwer.values_in_each

    def noted(found, rows, solver):
        kept.extend((one, rows, solver) for one in found)
        return whole(found, rows, solver)

    monkeypatch.setattr(fwer, "_refits", lambda shared, _: before(shared, 3))
    monkeypatch.setattr(fwer, "values_in_each", noted)
    rb.relbounds(known.formula, known.data, privileged="slack", residual=3.0, seed=3, progress=False)
    pushed = []
    push = refits.push_past
    monkeypatch.setattr(
        refits, "push_past", lambda tope, d, *rest: pushed.append(len(d)) or push(tope, d, *rest)
    )
    counts = []
    for found, rows, solver in kept:
        _, seen = refits.largest_in(found, rows, solver)
        values = []
        for points in (None, seen):
            pushed.clear()
            values.append(refits.largest_least_in(found, rows, solver, points))
            counts.append(sum(pushed))
        assert values[0] == pytest.approx(values[1], abs=1e-6 * found.solution.penalty)
    assert sum(counts[1::2]) < 0.5 * sum(counts[::2])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "seed"), [("ordinal", 50_010), ("regression", 50_011), ("binary", 50_012)]
)
def test_what_noise_of_many_features_reaches_is_near_the_largest_of_all_directions(monkeypatch, family, seed):
    drawn = rb.simulate.draw(family, 200, 5, 6, 149, noise=0.5, seed=seed)
    inner, shares = fwer.refit_together, []

    def both(evidence, task, columns, values):
        found = inner(evidence, task, columns, values)
        exact = inner(evidence, replace(task, likely=None), columns, values)
        shares.extend(few.largest / all_.largest for few, all_ in zip(found, exact, strict=True))
        return found

    monkeypatch.setattr(fwer, "refit_together", both)
    rb.relbounds(drawn.formula, drawn.data, seed=0, progress=False)
    assert len(shares) == 19 and np.median(shares) > 0.999
    assert min(shares) > 0.9 and max(shares) < 1 + 1e-5
