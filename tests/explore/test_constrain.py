"""What-ifs: the thesis's example, laws, words, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from explored import QUICK, copies, eight, privileged, regression, severity
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import plain_max

import relbounds as rb
from relbounds.explore import what_if_noise
from relbounds.explore.constrain import phrase
from relbounds.linear.noise.facts import NoiseKey
from relbounds.linear.ranges import ZERO

LOOSE = 1e-5


def inside(after, before):
    assert (after["lower"] >= before["lower"] - LOOSE).all()
    assert (after["upper"] <= before["upper"] + LOOSE).all()
    signed = before["signed_lower"].notna()
    assert (after["signed_lower"] >= before["signed_lower"] - LOOSE)[signed].all()
    assert (after["signed_upper"] <= before["signed_upper"] + LOOSE)[signed].all()


def test_eight_features_have_the_published_classes():
    assert eight().table["relevance"].tolist() == ["strong"] * 4 + ["weak"] * 3 + ["irrelevant"]


def test_feature_five_at_its_minimum_leaves_the_others_as_they_were():
    fit = eight()
    held = fit.constrain({"x5": "min"}).table
    others = fit.table.index != "x5"
    for end in ("lower", "upper"):
        assert np.allclose(held.loc[others, end], fit.table.loc[others, end], atol=2e-4)
    assert held.loc["x5", "upper"] == 0


def test_feature_five_at_its_maximum_takes_six_and_seven_to_zero():
    fit = eight()
    held = fit.constrain({"x5": "max"}).table
    assert held.loc["x5", "upper"] == pytest.approx(fit.table.loc["x5", "upper"], abs=LOOSE)
    assert (held.loc[["x6", "x7"], "upper"] < 2e-3).all()
    # and no other interval has room left
    assert ((held["upper"] - held["lower"]) < 2e-3).all()


def test_switching_off_one_of_two_copies_makes_the_other_strong():
    fit = copies()
    assert fit.table.loc["x3", "relevance"] == "weak"
    assert fit.constrain({"x2": "off"}).table.loc["x3", "relevance"] == "strong"


def with_a_factor():
    rng = np.random.default_rng(3)
    site = rng.choice(list("abcd"), size=150)
    X = rng.standard_normal((150, 4))
    score = X[:, 0] + 0.5 * X[:, 1] + 0.7 * (site == "b") + rng.standard_normal(150)
    data = dict(zip(["x1", "x2", "x3", "x4"], X.T, strict=True))
    data |= {"site": site, "y": np.digitize(score, [-0.5, 0.8]) + 1}
    return rb.relbounds(
        "y ~ x1 + x2 + x3 + x4 + C(site)", pd.DataFrame(data), C=0.5, delta=0.02, control="fdr"
    )


def test_what_the_fit_knows_of_extreme_points_only_saves_work():
    fit = with_a_factor()
    fitted = fit._fitted
    assert fitted.measured.extremes is not None
    forgot = type(fit)(replace(fitted, measured=replace(fitted.measured, extremes=None)))
    wishes = [
        {"x1": (None, float(fit.table.loc["x1", "upper"]) - 0.01)},
        {"x3": "off"},
        {"C(site)": (None, 0.2)},
    ]
    for wish in wishes:
        one, two = fit.constrain(wish), forgot.constrain(wish)
        for end in ("lower", "upper", "signed_lower", "signed_upper"):
            assert np.allclose(one.table[end], two.table[end], atol=2e-6, equal_nan=True)
        assert max(one.certificate, two.certificate) <= 1e-6
        # rows of one linear function, against the plain program
        polytope = one._fitted.polytope
        for row in fitted.spec.asked[:3]:
            direction = row.functionals[0].directions(polytope.model.q)[0]
            upper = plain_max(polytope, direction) / fitted.norm
            assert upper == pytest.approx(float(one.table.loc[row.title, "signed_upper"]), abs=2e-6)


@settings(max_examples=6, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["x1", "x5", "x6", "x8"]),
        st.tuples(st.floats(0, 1), st.floats(0, 1)),
        min_size=1,
        max_size=2,
    )
)
def test_constrained_intervals_lie_inside_and_keep_their_wishes(shares):
    fit = eight(0.1)
    wishes = {}
    for name, (a, b) in shares.items():
        low, high = fit.table.loc[name, ["lower", "upper"]]
        ends = sorted((low + a * (high - low), low + b * (high - low)))
        wishes[name] = tuple(ends)
    try:
        held = fit.constrain(wishes)
    except rb.InfeasibleError:
        assert len(wishes) > 1  # one wish inside its interval can always be granted
        return
    inside(held.table, fit.table)
    for name, (low, high) in wishes.items():
        assert held.table.loc[name, "lower"] >= low - LOOSE
        assert held.table.loc[name, "upper"] <= high + LOOSE
    # the best model of the what-if is one of the equivalent models
    assert fit._fitted.polytope.excess_of(held._fitted.solution.v) < 1e-5 * fit.baseline.mu


def test_an_open_sign_is_tried_both_ways():
    fit = severity()
    spans = fit.table[(fit.table["signed_lower"] < -0.02) & (fit.table["signed_upper"] > 0.02)]
    name = spans.index[0]
    low = 0.5 * float(min(-spans["signed_lower"].iloc[0], spans["signed_upper"].iloc[0]))
    held = fit.constrain({name: (low, None)})
    row = held.table.loc[name]
    assert len(held._fitted.polytopes) == 2
    assert row["signed_lower"] < -low + LOOSE and row["signed_upper"] > low - LOOSE
    # the size never falls below the wish, although the signed hull spans zero
    assert row["lower"] == pytest.approx(low, abs=LOOSE)
    assert row["direction"] == "?"


def test_a_union_agrees_with_its_pieces_by_brute_force():
    fit = severity()
    low = 0.02
    held = fit.constrain({"crp": (low, None)})
    tope, norm = fit._fitted.polytope, fit._fitted.norm
    j = fit.design.names.index("crp")
    age = fit.design.names.index("age")
    lower, upper = [], []
    for sign in (1, -1):
        a, b = np.full(tope.model.q, -np.inf), np.full(tope.model.q, np.inf)
        (a if sign > 0 else b)[j] = sign * low * norm
        piece = tope.bounded(a, b)
        e = np.zeros(tope.model.q)
        e[age] = 1.0
        most = plain_max(piece, e)
        if most is None:
            continue
        upper.append(most / norm)
        lower.append(-plain_max(piece, -e) / norm)
    assert held.table.loc["age", "signed_upper"] == pytest.approx(max(upper), abs=LOOSE)
    assert held.table.loc["age", "signed_lower"] == pytest.approx(min(lower), abs=LOOSE)


def test_sequential_wishes_equal_wishes_at_once():
    fit = severity()
    once = fit.constrain({"crp": "off", "age": (0.0, 0.25)})
    twice = fit.constrain({"crp": "off"}).constrain({"age": (0.0, 0.25)})
    for end in ("lower", "upper", "signed_lower", "signed_upper"):
        assert np.allclose(once.table[end], twice.table[end], atol=LOOSE, equal_nan=True)
    assert once.constraints == twice.constraints == {"crp": (0.0, 0.0), "age": (0.0, 0.25)}


def test_a_second_wish_for_one_feature_narrows_the_first():
    held = severity().constrain({"age": (0.0, 0.25)}).constrain({"age": (0.2, None)})
    assert held.constraints == {"age": (0.2, 0.25)}


def test_a_what_if_is_a_fit_like_any_other():
    fit = severity()
    held = fit.constrain({"crp": 0, "sex": "off"})
    assert held.table.loc["crp", "constraint"] == "= 0"
    assert held.table.loc[["sex", "sex[male]"], "upper"].tolist() == [0, 0]
    assert (held.table.loc[["crp", "sex", "sex[male]"], "relevance"] == "fixed").all()
    assert held.table.loc["crp", ["p_noise", "p_adjusted"]].isna().all()
    assert "What if crp = 0" in str(held.summary())
    assert "crp = 0" in held.to_markdown()
    assert held.baseline.weights["crp"] == 0
    assert len(held.predict()) == len(fit.design.y)
    again = type(fit).from_bytes(held.to_bytes())
    assert again.table.equals(held.table) and again.constraints == held.constraints


def test_budgets_stay_those_of_the_fit():
    fit = severity()
    held = fit.constrain({"crp": 0})
    assert held._fitted.polytope.norm == fit._fitted.polytope.norm
    assert held._fitted.polytope.loss == fit._fitted.polytope.loss


@pytest.mark.parametrize("make", [lambda: severity("joint"), regression])
def test_every_kind_of_fit_can_be_constrained(make):
    fit = make()
    name = fit.table.index[fit.table["relevance"] == "weak"][0]
    held = fit.constrain({name: "off"})
    inside(held.table, fit.table)
    assert held.certificate < ZERO


@pytest.mark.parametrize("solver", ["cvxopt", "batch", "highs"])
def test_every_solver_gives_the_same_what_if(solver):
    simulated = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    fit = rb.relbounds(simulated.formula, simulated.data, C=1.0, delta="1se", **{**QUICK, "solver": solver})
    held = fit.constrain({"x2": (0.05, 0.1)}).table
    known = copies().constrain({"x2": (0.05, 0.1)}).table
    for end in ("lower", "upper"):
        assert np.allclose(held[end], known[end], atol=LOOSE)


def test_privileged_features_in_the_slack_can_be_switched_off():
    fit = privileged("slack")
    held = fit.constrain({"z1": "off"})
    assert held.table.loc["z1", "upper"] == 0
    inside(held.table[held.table["part"] == "regular"], fit.table[fit.table["part"] == "regular"])


def test_a_teacher_stays_as_it_is():
    fit = privileged("teacher")
    held = fit.constrain({"x2": "off"})
    rows = fit.table["part"] == "privileged"
    assert np.allclose(held.table.loc[rows, "upper"], fit.table.loc[rows, "upper"])
    with pytest.raises(rb.OptionError, match="privileged feature of the teacher"):
        fit.constrain({"z1": "off"})


def test_an_infeasible_wish_names_the_feature_and_its_range():
    fit = severity()
    low, high = fit.table.loc["stiffness", ["lower", "upper"]]
    with pytest.raises(rb.InfeasibleError, match=f"'stiffness' = 0.*{low:.3f} to {high:.3f}"):
        fit.constrain({"stiffness": "off"})
    with pytest.raises(rb.InfeasibleError, match=r"'crp' >= 0\.9"):
        fit.constrain({"crp": (0.9, None)})


def test_wishes_that_cannot_be_granted_together_say_so():
    fit = copies()
    with pytest.raises(rb.InfeasibleError, match="Given x2 = 0, it can have"):
        fit.constrain({"x2": "off", "x3": "off"})


def test_a_rounded_bound_is_granted():
    fit = severity()
    for name in ("stiffness", "crp"):
        for end in ("lower", "upper"):
            held = fit.constrain({name: round(float(fit.table.loc[name, end]), 3)}, noise=False)
            assert held.table.loc[name, "upper"] == pytest.approx(fit.table.loc[name, end], abs=1e-3)


@pytest.mark.parametrize(
    ("wishes", "words"),
    [
        ({"crb": 0}, "no term 'crb'.*Did you mean 'crp'"),
        ({"crp": -0.1}, "negative"),
        ({"crp": (0.1, -0.2)}, "negative"),
        ({"crp": (0.3, 0.1)}, "swap"),
        ({"crp": "of"}, "Did you mean 'off'"),
        ({"crp": (0.1, 0.2, 0.3)}, "pair"),
        ({"crp": float("nan")}, "not a number"),
        ({"crp": True}, "not a number"),
        ({}, "mapping"),
        (["crp"], "mapping"),
    ],
)
def test_bad_wishes(wishes, words):
    with pytest.raises(rb.OptionError, match=words):
        severity().constrain(wishes)


def test_phrases():
    assert phrase((0.1, 0.25)) == "in [0.1, 0.25]"
    assert phrase((0.125, 0.125)) == "= 0.125"


def with_factors(n=250):
    rng = np.random.default_rng(11)
    x = rng.normal(size=(n, 4))
    x[:, 1] += x[:, 0]
    site, unit = rng.choice(list("abc"), n), rng.choice(list("pqrs"), n)
    grade = np.digitize(x[:, 0] + 0.5 * (site == "a") + rng.normal(size=n), [-0.5, 0.5]) + 1
    data = pd.DataFrame(x, columns=list("stuv")).assign(
        grade=pd.Categorical(grade, ordered=True), site=site, unit=unit
    )
    return "grade ~ s + t + u + v + C(site) + C(unit)", data


def counted(monkeypatch):
    """Return a list that refits enter which are done one by one."""
    alone, one_by_one = [], what_if_noise._refit_cut

    def count(number, shared):
        alone.append(number)
        return one_by_one(number, shared)

    monkeypatch.setattr(what_if_noise, "_refit_cut", count)
    return alone


@pytest.mark.parametrize("tolerance", ["split", "joint"])
def test_noise_without_terms_is_the_same_in_one_run_and_one_by_one(monkeypatch, tolerance):
    formula, data = with_factors()
    # a small tolerance: some models of permuted data need what chance made of noise
    fit = rb.relbounds(formula, data, C=0.1, delta=0.006, tolerance=tolerance, seed=1)
    wishes = [{"t": "off"}, {"v": "off", "unit": "off"}]
    with monkeypatch.context() as m:
        alone = counted(m)
        found = [fit.constrain(wish)._fitted.noise for wish in wishes]
        assert len(alone) < 19
    monkeypatch.setattr(what_if_noise, "together", lambda *_: None)
    for one, wish in zip(found, wishes, strict=True):
        single = fit.constrain(wish)._fitted.noise
        for key, population in one.populations.items():
            assert population.upper.max() > 0.01
            # some of the sets are so thin that the last digit of their budgets shows
            assert population.upper == pytest.approx(single.populations[key].upper, abs=2e-5)
            assert population.lower == pytest.approx(single.populations[key].lower, abs=2e-5)
    assert found[0].populations[NoiseKey("regular")].lower.max() > 1e-3


def test_noise_of_sets_that_the_best_model_of_what_is_left_is_not_in(monkeypatch):
    # the copy is needed by the models of permuted data too, and the rest at the same C spends too much
    data = rb.simulate.draw("ordinal", 1500, 4, 4, 6, noise=0.5, seed=3)
    fit = rb.relbounds(data.formula, data.data, C=0.005, delta=0.004, seed=0)
    alone = counted(monkeypatch)
    less = fit.constrain({"x6": "off"})
    assert alone and less._fitted.noise.refits == 19


def test_notes_on_classes_do_not_name_what_is_fixed():
    data = rb.simulate.ordinal(n=150, strong=2, weak=2, irrelevant=2, seed=1)
    fit = rb.relbounds(data.formula, data.data, seed=1)

    def named(found, words):
        return [note.rsplit(": ", 1)[1] for note in found.notes if words in note]

    assert named(fit, "so they are weak") == ["x3, x5."] and named(fit, "can take their place") == [
        "x4 (x3)."
    ]
    less = fit.constrain({"x3": (None, 0.7 * fit.table.loc["x3", "upper"])})
    assert less.table.loc["x3", "relevance"] == "fixed" and named(less, "so they are weak") == ["x5."]
    less = fit.constrain({"x4": (None, 0.7 * fit.table.loc["x4", "upper"])})
    assert less.table.loc["x4", "relevance"] == "fixed" and not named(less, "can take their place")


def test_substitutes_of_one_of_two_copies():
    found = copies().substitutes("x2")
    assert found.index[0] == "x3"
    assert found.loc["x3", "role"] == "replaces"
    assert found.loc["x3", "lower_off"] > found.loc["x3", "lower"]
    assert "x2" not in found.index


def test_substitutes_of_one_of_three_copies_share():
    found = eight().substitutes("x5")
    assert found.index[:2].tolist() == ["x6", "x7"]
    assert (found.loc[["x6", "x7"], "role"] == "shares").all()
    assert found.loc[["x6", "x7"], "overlap"].tolist() == pytest.approx([1.0, 1.0], abs=0.01)
    assert (found.loc[["x1", "x2", "x3", "x4"], "role"] == "").all()
    assert (found.loc[["x1", "x2", "x3", "x4"], "overlap"] < 0.05).all()


def test_readings_of_one_quantity_overlap_and_others_do_not():
    overlap = severity().substitutes("crp")["overlap"]
    assert (overlap[["esr", "il6"]] > 0.7).all()
    assert (overlap.drop(["esr", "il6"]) < 0.3).all()


def test_a_strong_feature_has_no_substitute():
    with pytest.raises(rb.InfeasibleError, match="no substitute"):
        copies().substitutes("x1")
    with pytest.raises(rb.OptionError, match="no term 'x9'"):
        copies().substitutes("x9")


def test_substitutes_of_a_term():
    found = severity().substitutes("sex")
    assert not found.index.str.startswith("sex").any()
    assert (found["overlap"] < 0.3).all()


def test_with_many_rows_a_copy_can_be_switched_off():
    # the search for a point inside starts far outside of what is left, where its steps are tiny
    simulated = rb.simulate.binary(n=6000, strong=3, weak=2, irrelevant=3, seed=1)
    fit = rb.relbounds(simulated.formula, simulated.data, C=1.0, delta=0.01, control="fdr", progress=False)
    for name, other in (("x4", "x5"), ("x5", "x4")):
        off = fit.constrain({name: "off"}, noise=False)
        assert off.table.loc[other, "lower"] > 0.1 and off.certificate < 1e-6
