"""Questions about terms: factors, several columns, interactions; against plain linear programs on the definitions."""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from problems import plain_max, plain_program
from scipy.optimize import linprog

import relbounds as rb
from relbounds.explore.cutting import with_rows
from relbounds.explore.naming import find_row

LOOSE = 1e-5


@lru_cache
def clinic():
    """A factor that matters, one that does not, two stand-ins, a term of two columns, and an interaction."""
    rng = np.random.default_rng(4)
    n = 160
    site = rng.choice(list("ABCD"), n, p=[0.4, 0.3, 0.2, 0.1])
    signal = rng.normal(size=n)
    data = pd.DataFrame(
        {
            "crp": signal + 0.1 * rng.normal(size=n),
            "esr": signal + 0.1 * rng.normal(size=n),
            "age": rng.normal(size=n),
            "dose": rng.uniform(1, 3, size=n),
            "site": site,
            "ward": rng.choice(["I", "II", "III"], n),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    score = (
        1.5 * signal
        + 1.2 * (site == "B")
        - 1.2 * (site == "C")
        + 0.8 * data["age"]
        + 0.5 * rng.normal(size=n)
    )
    data["grade"] = pd.Categorical.from_codes(
        np.searchsorted(np.quantile(score, [0.35, 0.7]), score), ["low", "mid", "high"], ordered=True
    )
    return data


@lru_cache
def fit():
    formula = "grade ~ crp + esr + age + C(site) + ward + sex"
    return rb.relbounds(formula, clinic(), C=0.3, delta=0.1, order="explicit")


@lru_cache
def several():
    formula = "grade ~ crp + site + bs(age, df=3) + log1p(dose) + sex + crp:sex"
    return rb.relbounds(formula, clinic(), C=0.3, delta=0.05, order="explicit", control="fdr")


def least_of(polytope, E, F, cost):
    """The least cost.y with E v + F y >= 0 by scipy on the plain program."""
    lhs, rhs, bounds = plain_program(polytope.model, *polytope.budgets)
    m, p = F.shape
    top = np.hstack([lhs, np.zeros((len(lhs), p))])
    below = np.hstack([-E, np.zeros((m, lhs.shape[1] - E.shape[1])), -F])
    found = linprog(
        np.concatenate([np.zeros(lhs.shape[1]), cost]),
        A_ub=np.vstack([top, below]),
        b_ub=np.concatenate([rhs, np.zeros(m)]),
        bounds=[*bounds, *[(None, None)] * p],
        method="highs",
    )
    assert found.status == 0
    return found.fun


def contrasts(fitted, term):
    row = find_row(fitted, term)
    return row, row.functionals[0].directions(fitted.spec.model.q)


def test_a_factor_can_be_held_below():
    whole = fit()._fitted
    _, tops = contrasts(whole, "site")
    limit = 0.8 * float(fit().table.loc["C(site)", "upper"])
    held = fit().constrain({"site": (None, limit)}).table
    cut = with_rows(whole.polytope, -tops, np.full(len(tops), -limit * whole.norm))
    for name in ("age", "crp"):
        e = np.eye(cut.model.q)[whole.design.names.index(name)]
        assert held.loc[name, "signed_upper"] == pytest.approx(plain_max(cut, e) / whole.norm, abs=LOOSE)
        assert held.loc[name, "signed_lower"] == pytest.approx(-plain_max(cut, -e) / whole.norm, abs=LOOSE)
    assert held.loc["C(site)", "upper"] <= limit + LOOSE
    assert held.loc["C(site)", "relevance"] == "fixed" and held.loc["C(site)", "constraint"].startswith("<=")


def test_a_factor_held_above_is_a_union_over_pairs():
    whole = fit()._fitted
    _, tops = contrasts(whole, "ward")
    least = 0.6 * float(fit().table.loc["ward", "upper"])
    held = fit().constrain({"ward": (least, None)})
    e = np.eye(whole.spec.model.q)[whole.design.names.index("age")]
    found = [
        plain_max(with_rows(whole.polytope, top[None], np.array([least * whole.norm])), e) for top in tops
    ]
    known = [value for value in found if value is not None]
    assert held.table.loc["age", "signed_upper"] == pytest.approx(max(known) / whole.norm, abs=LOOSE)
    assert held.table.loc["ward", "lower"] >= least - LOOSE
    assert 1 < len(held._fitted.polytopes) == len(known)


def test_off_means_no_weight_at_all():
    held = fit().constrain({"ward": "off"})
    assert (held.table.loc[held.table["term"] == "ward", "upper"] == 0).all()
    assert (held.table.loc[held.table["term"] == "ward", "relevance"] == "fixed").all()
    whole = held._fitted
    places = [j for j, name in enumerate(whole.design.names) if name.startswith("ward")]
    assert np.all(whole.solution.v[places] == 0)


def test_a_factor_that_every_model_needs_cannot_be_off():
    with pytest.raises(rb.InfeasibleError, match=r"'C\(site\)' = 0. It can have"):
        fit().constrain({"site": "off"})


@pytest.mark.parametrize("name", ["log1p(dose)", "dose"])
def test_plain_names_and_terms_mean_the_same(name):
    assert several().constrain({name: "off"}).constraints == {"log1p(dose)": (0.0, 0.0)}


def test_ambiguous_and_unknown_names_list_what_was_meant():
    with pytest.raises(rb.OptionError, match=r"no term 'sight'.*Did you mean 'site'"):
        several().constrain({"sight": 0})


def test_switching_off_a_term_takes_its_interactions_along():
    held = several().constrain({"sex": "off"})
    assert set(held.constraints) == {"sex: m - f", "crp:sex"}
    alone = several().constrain({"sex": "off"}, heredity=False)
    assert set(alone.constraints) == {"sex: m - f"}
    # the other way round nothing is inherited
    assert set(several().constrain({"crp:sex": "off"}).constraints) == {"crp:sex"}


def test_a_term_of_several_columns_is_held_by_its_sum():
    whole = several()._fitted
    title = "bs(age, df=3)"
    row = find_row(whole, "age")
    assert row.title == title
    reach = several().table.loc[title, ["lower", "upper"]]
    limit = 0.5 * float(reach["lower"] + reach["upper"])
    held = several().constrain({"age": (None, limit)}).table
    k = list(row.functionals[0].variables)
    patterns = np.zeros((2 ** len(k), whole.spec.model.q))
    patterns[:, k] = list(itertools.product((1.0, -1.0), repeat=len(k)))
    cut = with_rows(whole.polytope, -patterns, np.full(len(patterns), -limit * whole.norm))
    e = np.eye(cut.model.q)[whole.design.names.index("crp")]
    assert held.loc["crp", "signed_upper"] == pytest.approx(plain_max(cut, e) / whole.norm, abs=LOOSE)
    assert held.loc[title, "upper"] <= limit + LOOSE


def test_a_cheapest_interaction_brings_its_terms():
    found = several().cheapest({"sex": 7.0}, other=1.0)
    if "crp:sex" in found.terms:
        assert {"crp", "sex"} <= set(found.terms)
    assert "site" in found.terms
    dear = fit().cheapest({"site": 3.0, "crp": 9.0}, other=1.0)
    assert dear.costs["C(site)"] == 3.0 and "esr" in dear.terms and "crp" not in dear.terms


def test_heredity_holds_in_the_choice_itself():
    from relbounds.explore.cheapest import Terms, meet_needs

    problem = Terms(several()._fitted, (), ((2, 0), (2, 1)))
    needs = [np.array([False, False, True])]
    chosen = meet_needs(problem, np.array([1.0, 2.0, 1.0]), np.zeros(3, bool), np.ones(3, bool), needs)
    assert chosen.tolist() == [True, True, True]


def test_the_substitute_of_a_term():
    found = fit().substitutes("crp")
    assert found.index[0] == "esr" and found.loc["esr", "role"] == "replaces"
    assert set(found.index) <= set(fit().table.index[fit().table["row"] == "term"])


def test_joint_use_is_one_linear_program():
    whole = fit()._fitted
    q, names = whole.spec.model.q, whole.design.names
    j = [names.index("crp"), names.index("esr")]
    E = np.zeros((4, q))
    E[:2, j], E[2:, j] = np.eye(2), -np.eye(2)
    least = least_of(whole.polytope, E, np.vstack([np.eye(2), np.eye(2)]), np.ones(2)) / whole.norm
    most = 0.0
    for signs in itertools.product((1.0, -1.0), repeat=2):
        direction = np.zeros(q)
        direction[j] = signs
        most = max(most, plain_max(whole.polytope, direction) / whole.norm)
    found = fit().together(["crp", "esr"])
    assert found.lower == pytest.approx(least, abs=LOOSE) and found.upper == pytest.approx(most, abs=LOOSE)
    assert found.exact and found.relevance == "strong" and found.replaceable
    assert "each is replaceable, together they are needed" in repr(found)


def test_one_term_together_is_its_own_row():
    for name in ("age", "site", "ward"):
        found = fit().together([name])
        row = fit().table.loc[found.terms[0]]
        assert found.lower == pytest.approx(row["lower"], abs=LOOSE)
        assert found.upper == pytest.approx(row["upper"], abs=LOOSE)
        assert found.relevance == row["relevance"]


def test_joint_use_with_a_factor_does_not_depend_on_its_coding():
    recoded = clinic().assign(site=clinic()["site"].map(dict(zip("ABCD", "dacb", strict=True))))
    other = rb.relbounds(
        "grade ~ crp + esr + age + C(site) + ward + sex",
        recoded,
        C=0.3,
        delta=0.1,
        order="explicit",
        control="fdr",
    )
    one, two = (f.together(["site", "crp"]) for f in (fit(), other))
    assert one.lower == pytest.approx(two.lower, abs=LOOSE) and one.upper == pytest.approx(
        two.upper, abs=LOOSE
    )


def test_too_many_combinations_are_bounded_and_say_so(monkeypatch):
    exact = fit().together(["site", "ward", "crp"])
    monkeypatch.setattr("relbounds.explore.together.MOST_TOPS", 2)
    bounded = fit().together(["site", "ward", "crp"])
    assert not bounded.exact and bounded.upper >= exact.upper - LOOSE
    assert "(at most)" in repr(bounded)


def test_joint_use_names_its_mistakes():
    with pytest.raises(rb.OptionError, match="at least one term"):
        fit().together([])
    with pytest.raises(rb.OptionError, match="as a whole and by its levels"):
        fit().together(["ward", "ward[I]"])


def test_level_contrasts_are_two_linear_programs_each():
    whole = fit()._fitted
    found = fit().level_contrasts("site")
    assert found.columns.tolist() == [
        "term",
        "level",
        "reference",
        "signed_lower",
        "signed_upper",
        "direction",
        "p_adjusted",
    ]
    assert len(found) == 6 and found.attrs["monotone"] is None
    term = whole.design.find_term("site")
    columns = dict(zip(term.levels, term.columns, strict=True))
    for row in found.itertuples():
        direction = np.zeros(whole.spec.model.q)
        direction[columns[row.level]], direction[columns[row.reference]] = 1.0, -1.0
        assert row.signed_upper == pytest.approx(plain_max(whole.polytope, direction) / whole.norm, abs=LOOSE)
        assert row.signed_lower == pytest.approx(
            -plain_max(whole.polytope, -direction) / whole.norm, abs=LOOSE
        )
    pair = found.set_index(["level", "reference"])
    assert pair.loc[("C", "B"), "direction"] == "always below" and pair.loc[("C", "B"), "p_adjusted"] <= 0.05
    # no pair is more certain than that there is a difference at all
    assert (found["p_adjusted"] >= fit().table.loc["C(site)", "p_adjusted"]).all()


def test_contrasts_with_a_reference():
    found = fit().level_contrasts("C(site)", reference="A")
    assert found["reference"].unique().tolist() == ["A"] and found["level"].tolist() == ["B", "C", "D"]
    assert found["direction"].tolist()[:2] == ["always above", "always below"]
    pair = fit().level_contrasts("sex")
    row = fit().table.loc["sex: m - f"]
    assert pair.loc[0, ["level", "reference"]].tolist() == ["m", "f"]
    assert pair.loc[0, "signed_upper"] == pytest.approx(row["signed_upper"], abs=LOOSE)
    turned = fit().level_contrasts("sex", reference="m")
    assert turned.loc[0, "signed_lower"] == pytest.approx(-row["signed_upper"], abs=LOOSE)


def test_ordered_levels_say_whether_they_rise():
    rng = np.random.default_rng(2)
    stage = rng.integers(0, 4, 150)
    noise = 0.4 * rng.normal(size=150)
    data = pd.DataFrame(
        {
            "y": pd.Categorical.from_codes(
                np.searchsorted([0.5, 1.5, 2.5], stage + noise), list("abcd"), ordered=True
            ),
            "stage": pd.Categorical.from_codes(stage, ["I", "II", "III", "IV"], ordered=True),
            "other": pd.Categorical.from_codes(rng.integers(0, 3, 150), list("xyz"), ordered=True),
            "x": rng.normal(size=150),
        }
    )
    found = rb.relbounds("y ~ stage + other + x", data, C=0.3, delta=0.02, order="explicit", control="fdr")
    assert found.level_contrasts("stage").attrs["monotone"] == "rising"
    assert found.level_contrasts("other").attrs["monotone"] == "open"
    assert (found.level_contrasts("stage")["direction"] == "always above").all()


def test_contrasts_name_their_mistakes():
    with pytest.raises(rb.OptionError, match="no levels to compare"):
        fit().level_contrasts("age")
    with pytest.raises(rb.OptionError, match="no level 'E'"):
        fit().level_contrasts("site", reference="E")


def test_the_list_the_tree_and_the_line_of_groups_agree():
    from scipy.cluster.hierarchy import fcluster

    found = fit().groups()
    assert list(found.labels.index) == fit().table.index[fit().table["row"] == "term"].tolist()
    for one in (
        found,
        found.cut(0.2),
        found.cut(0.9),
        found.cut(by_class=False),
        found.cut(0.1, by_class=False),
    ):
        raw = fcluster(one.linkage, one.height, criterion="distance")
        assert pd.crosstab(raw, one.labels.to_numpy()).gt(0).sum().sum() == len(one)
    assert found.labels["crp"] == found.labels["esr"]
    joint = next(one for one in found.together if set(one.terms) == {"crp", "esr"})
    assert joint.replaceable
    assert "each is replaceable, together they are needed" in repr(found)
    assert found.table.loc[found.labels["crp"], "needed_together"]


def test_noise_is_drawn_in_the_constrained_set():
    whole, held = fit(), fit().constrain({"crp": "off"}, noise=True)
    key = next(iter(whole._fitted.noise.populations))
    before, after = whole._fitted.noise.populations[key].upper, held._fitted.noise.populations[key].upper
    assert len(after) >= 19
    # the same permutations, in sets that are cut: noise reaches less
    assert np.sort(after).max() <= np.sort(before).max() + LOOSE
    kept = fit().constrain({"crp": "off"}, noise=False)
    assert any("noise of this what-if" in note for note in kept.notes)
    assert np.allclose(kept.table["upper"], held.table["upper"], atol=LOOSE)


def test_nothing_is_explored_where_there_are_no_bounds():
    bare = rb.relbounds("grade ~ crp + age", clinic(), C=0.3, bounds=False, order="explicit")
    for ask in (lambda: bare.constrain({"crp": 0}), lambda: bare.groups(), lambda: bare.together(["crp"])):
        with pytest.raises(rb.OptionError, match="no equivalent models"):
            ask()


def test_few_refits_that_grant_a_wish_hold_nothing_back():
    data = rb.datasets.load_severity()
    fit = rb.relbounds(
        "severity ~ stiffness + platelets + crp + esr + bmi + il6", data, C=1.0, progress=False
    )
    what_if = fit.constrain({"il6": "off"}).table
    assert (what_if.loc[["stiffness", "platelets"], "relevance"] == "strong").all()
    assert (what_if.loc[["stiffness", "platelets"], "p_adjusted"] <= 0.05).all()
