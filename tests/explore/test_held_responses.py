"""Responses to a held term: against linear programs of scipy at random positions, and against what-ifs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from explored import copies, eight, severity
from problems import plain_max, random_polytope

import relbounds as rb
from relbounds.explore.frontier import rims
from relbounds.explore.naming import term_rows
from relbounds.explore.response import FINE, count_rims, response, responses
from relbounds.show.what_if_section import MOST_RIMS


@pytest.mark.parametrize("kind", ["noisy", "copied columns", "separable"])
def test_a_rim_is_what_linear_programs_find_on_it(kind):
    polytope, _ = random_polytope(2, kind=kind, delta=0.1)
    d = int((polytope.model.penalty > 0).sum())
    eye = np.eye(polytope.model.q)
    pairs = [(i, j) for i in range(min(d, 3)) for j in range(i)]
    rng = np.random.default_rng(0)
    tolerance = 1e-4 * polytope.size
    for (i, j), rim in zip(pairs, rims(polytope, eye[:d], pairs, tolerance), strict=True):
        assert rim.error <= 1.5 * tolerance
        for axis, (held, seen) in ((0, (i, j)), (1, (j, i))):
            low, high = rim.points[:, axis].min(), rim.points[:, axis].max()
            for value in rng.uniform(low, high, 2):
                ends = np.full(polytope.model.q, -np.inf), np.full(polytope.model.q, np.inf)
                ends[0][held] = ends[1][held] = value
                held_set = polytope.bounded(*ends)
                least, most = rim.between(np.array([value]), axis)
                assert most[0] == pytest.approx(plain_max(held_set, eye[seen]), abs=1.5 * tolerance)
                assert least[0] == pytest.approx(-plain_max(held_set, -eye[seen]), abs=1.5 * tolerance)


@pytest.mark.parametrize(
    ("make", "names"), [(copies, ("x1", "x2")), pytest.param(severity, ("crp",), marks=pytest.mark.slow)]
)
def test_responses_are_what_a_what_if_says(make, names):
    fit = make()
    rng = np.random.default_rng(1)
    for name in names:
        answer = response(fit._fitted, name)
        assert answer.error <= 2 * FINE
        for share in rng.uniform(0.02, 0.98, 2):
            value = (1 - share) * answer.lower + share * answer.upper
            held = fit.constrain({name: value}, noise=False).table
            said = answer.at(value)
            for end in ("lower", "upper"):
                assert np.allclose(said[end], held.loc[said.index, end], atol=1.2e-3)


def test_a_factor_can_be_held_too():
    fit = severity()
    answer = response(fit._fitted, "sex")
    value = 0.4 * answer.lower + 0.6 * answer.upper
    held = fit.constrain({"sex": value}, noise=False).table
    said = answer.at(value)
    assert np.allclose(said["upper"], held.loc[said.index, "upper"], atol=2e-3)


def test_pairs_share_their_rims():
    fit = eight(0.1)
    fitted = fit._fitted
    every = responses(fitted)
    assert set(every) == set(fitted.table.index)
    alone = response(fitted, "x5")
    for value in np.linspace(alone.lower, alone.upper, 4):
        assert np.allclose(every["x5"].at(value), alone.at(value), atol=1e-6)
    # at its greatest use x5 has what a copy takes back, either of them: as much as a copy is ever used against the sum
    against = -fit.table.loc[["x6", "x7"], "signed_lower"]
    assert np.allclose(alone.at(alone.upper).loc[["x6", "x7"], "upper"], against, atol=1e-5)
    assert (against < 0.3 * alone.upper).all()


def test_outside_of_its_range_nothing_can_be_held():
    answer = response(copies()._fitted, "x1")
    with pytest.raises(rb.OptionError, match="can be held between"):
        answer.at(5.0)


def test_a_report_has_sliders_unless_pairs_of_terms_and_levels_are_many(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(80, 6)), columns=list("abcdef"))
    frame["g"] = rng.choice([f"level {k}" for k in range(7)], 80)
    frame["y"] = pd.qcut(frame["a"] + rng.normal(size=80), 3, labels=["lo", "mid", "hi"])
    for formula, many in (("y ~ a + b + c + d + e + f", False), ("y ~ a + b + c + d + e + C(g)", True)):
        fit = rb.relbounds(formula, frame, C=0.1, delta=0.01, control="fdr", seed=1, progress=False)
        assert (count_rims(term_rows(fit._fitted)) > MOST_RIMS) == many
        page = fit.write_report(tmp_path / "report.html", groups=False).read_text(encoding="utf-8")
        assert ("takes a while to compute" in page) == many
