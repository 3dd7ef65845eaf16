"""Terms: contrasts and sums against programs written out, and the laws that no coding may break."""

import warnings
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import Program

import relbounds as rb

QUICK = settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
NUMBERS = ["weight", "lower", "upper", "signed_lower", "signed_upper", "p_noise", "p_adjusted"]


def patients(seed=0, n=70):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(
        {
            "age": rng.normal(60, 10, n),
            "marker": rng.exponential(size=n),
            "site": rng.choice(["A", "B", "C", "D"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "sex": rng.choice(["female", "male"], n),
            "noise": rng.normal(size=n),
        }
    )
    score = data["age"] / 10 + (data["site"] == "C") * 1.5 + (data["sex"] == "male") + rng.logistic(size=n)
    cuts = np.quantile(score, [0.5, 0.8])
    data["grade"] = pd.Categorical.from_codes(np.digitize(score, cuts), list("abc"), ordered=True)
    data["number"] = score
    data["ill"] = np.where(score > cuts[0], "yes", "no")
    data["kind"] = pd.Categorical(data["grade"].astype(str))
    return data


def fit(formula, data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rb.relbounds(formula, data, **{"C": 0.2, "order": "explicit", "progress": False, **options})


def rows_of(found, term):
    return [row for row in found._fitted.asked if row.key.term == term]


@pytest.mark.parametrize("response", ["grade", "number", "ill", "kind"])
@pytest.mark.parametrize("tolerance", ["split", "joint"])
def test_contrasts_and_sums_equal_programs_written_out(response, tolerance):
    found = fit(
        f"{response} ~ age + site + sex + np.column_stack([marker, marker**2])",
        patients(),
        tolerance=tolerance,
    )
    program = Program(found)
    fitted = found._fitted
    assert fitted.solution.objective == pytest.approx(program.best(fitted.solution.C), rel=1e-7)
    budgets = program.budgets_of(found)
    for row, lower, upper in zip(fitted.asked, found.table["lower"], found.table["upper"], strict=True):
        (functional,) = row.functionals
        directions = functional.directions(program.q)
        most = max(program.greatest(d, budgets) for d in directions)
        least = program.least_largest(directions, budgets)
        assert upper * fitted.norm == pytest.approx(most, abs=1e-6 * fitted.norm)
        assert lower * fitted.norm == pytest.approx(max(least, 0.0), abs=1e-6 * fitted.norm)
    assert found.certificate < 1e-6


def test_what_the_rows_of_a_factor_mean():
    found = fit("grade ~ site + age", patients())
    term = next(t for t in found.design.design_terms if t.name == "site")
    whole, *levels = rows_of(found, "site")
    places, shares = list(term.columns), np.array(term.shares)
    v = np.arange(found._fitted.spec.model.q, dtype=float) ** 2
    pairs = [v[i] - v[j] for i, j in permutations(places, 2)]
    assert whole.functionals[0].at(v) == pytest.approx(max(pairs))
    for j, row in zip(places, levels, strict=True):
        assert row.functionals[0].at(v) == pytest.approx(v[j] - shares @ v[places])


def test_the_sum_over_columns():
    found = fit("grade ~ np.column_stack([age, marker, noise]) + sex", patients())
    whole = found._fitted.asked[0].functionals[0]
    assert len(whole.tops) == 8
    v = np.random.default_rng(0).normal(size=found._fitted.spec.model.q)
    assert whole.at(v) == pytest.approx(np.abs(v[:3]).sum())
    assert {tuple(top) for top in whole.tops} == set(product((1.0, -1.0), repeat=3))


@pytest.mark.parametrize("response", ["grade", "number", "ill"])
@QUICK
@given(seed=st.integers(0, 1000))
def test_two_levels_are_the_variable_coded_by_hand(response, seed):
    data = patients(seed)
    data["male"] = (data["sex"] == "male").astype(int)
    one, two = fit(f"{response} ~ age + sex + noise", data), fit(f"{response} ~ age + male + noise", data)
    np.testing.assert_allclose(one.table[NUMBERS], two.table[NUMBERS], atol=1e-9)
    assert one.table["relevance"].tolist() == two.table["relevance"].tolist()
    assert one.table.index.tolist() == ["age", "sex: male - female", "noise"]


@QUICK
@given(seed=st.integers(0, 1000), shuffle=st.permutations(["A", "B", "C", "D"]))
def test_no_recoding_of_a_factor_changes_anything(seed, shuffle):
    data = patients(seed)
    names = dict(zip(["A", "B", "C", "D"], ["w", "x", "y", "z"], strict=True))
    other = data.assign(
        site=pd.Categorical(data["site"].map(names), [names[k] for k in shuffle] + ["unused"])
    )
    one, two = fit("grade ~ age + site", data).table, fit("grade ~ age + site", other).table
    two = two.rename(index={f"site[{new}]": f"site[{old}]" for old, new in names.items()}).loc[one.index]
    np.testing.assert_allclose(one[NUMBERS], two[NUMBERS], atol=2e-6)
    assert one["relevance"].tolist() == two["relevance"].tolist()


@pytest.mark.parametrize("response", ["grade", "number", "ill"])
def test_counts_are_rows_written_out(response):
    data = patients(3, n=40).assign(times=np.arange(40) % 4)
    data["age"] = data["age"].round(-1)
    counted = fit(f"{response} ~ age + site + sex", data, frequency="times", C=None)
    written = fit(f"{response} ~ age + site + sex", data.loc[data.index.repeat(data["times"])], C=None)
    pd.testing.assert_frame_equal(counted.table, written.table)
    assert counted.delta == written.delta and counted.baseline.C == written.baseline.C


@pytest.mark.parametrize("response", ["grade", "number"])
def test_rows_of_weight_zero_have_no_influence(response):
    data = patients(4)
    weights = np.where(np.arange(len(data)) % 5 == 0, 0.0, 1.5)
    some = fit(f"{response} ~ age + site", data, weights=weights, C=None)
    fewer = fit(f"{response} ~ age + site", data[weights > 0], weights=weights[weights > 0], C=None)
    pd.testing.assert_frame_equal(some.table, fewer.table)


def test_equal_rows_are_merged():
    data = patients(5, n=200)
    found = fit("grade ~ site + sex", data)
    cells = data.groupby(["site", "sex", "grade"], observed=True).ngroups
    assert len(found._fitted.spec.rows) <= 2 * cells
    assert len(found._fitted.spec.full) > 4 * len(found._fitted.spec.rows)


def test_a_needed_treatment_is_strong():
    rng = np.random.default_rng(6)
    n = 240
    data = pd.DataFrame({"arm": rng.choice(["placebo", "low", "high"], n), "x": rng.normal(size=n)})
    score = data["arm"].map({"placebo": 0.0, "low": 1.5, "high": 3.0}) + data["x"] + rng.logistic(size=n)
    data["grade"] = pd.qcut(score, 3, labels=["a", "b", "c"])
    table = fit("grade ~ arm + x", data, C=None).table
    assert table.loc["arm", "relevance"] == "strong"
    assert table.loc["arm[high]", "direction"] == "+" and table.loc["arm[placebo]", "direction"] == "-"


def test_class_and_p_value_agree():
    found = fit("grade ~ age + site + sex + noise + marker", patients(7, n=150))
    judged = found.table[found.table["relevance"] != ""]
    assert ((judged["p_adjusted"] <= 0.05) == (judged["relevance"] != "irrelevant")).all()
    levels = found.table[found.table["row"] == "level"]
    assert (levels["p_adjusted"] >= found.table.loc["site", "p_adjusted"] - 1e-12).all()


def test_adjusting_covariates_are_free_and_unjudged():
    data = patients(8, n=90)
    found = fit("grade ~ site + noise | adjust(age, C(sex))", data)
    program = Program(found)
    assert found._fitted.solution.objective == pytest.approx(program.best(found._fitted.solution.C), rel=1e-7)
    apart = found.table[found.table["part"] == "adjust"]
    assert apart.index.tolist() == ["age", "sex: male - female"]
    assert (apart["relevance"] == "").all() and apart["p_adjusted"].isna().all()
    budgets = program.budgets_of(found)
    unit = found._fitted.norm
    for row, end in zip(found._fitted.asked, found.table["signed_upper"], strict=True):
        if row.key.part == "adjust":
            d = row.functionals[0].directions(program.q)[0]
            assert end * unit == pytest.approx(program.greatest(d, budgets), abs=1e-6 * unit)


def test_two_classes_without_order_are_binary():
    data = patients(9)
    one = fit("ill ~ age + site + noise", data)
    two = fit("ill ~ age + site + noise", data, family="nominal")
    np.testing.assert_allclose(one.table[["lower", "upper"]], two.table[["lower", "upper"]], atol=2e-6)
    assert one.predict().tolist() == two.predict().tolist()


@pytest.mark.parametrize("formula", ["between(low, high) ~ age + noise", "Surv(time, event) ~ age + noise"])
@pytest.mark.parametrize("order", ["explicit", "implicit"])
def test_censored_levels_equal_programs_written_out(formula, order):
    rng = np.random.default_rng(10)
    data = patients(10, n=60)
    data["low"] = data["grade"].cat.codes + 1
    data["high"] = np.minimum(data["low"] + (rng.random(60) < 0.3), 3)
    data["time"], data["event"] = np.exp(data["number"] / 3), (rng.random(60) < 0.6).astype(int)
    found = fit(formula, data, order=order, C=0.1)
    program = Program(found)
    fitted = found._fitted
    assert fitted.solution.objective == pytest.approx(program.best(0.1), rel=1e-7)
    budgets = program.budgets_of(found)
    for row, end in zip(fitted.asked, found.table["signed_upper"], strict=True):
        d = row.functionals[0].directions(program.q)[0]
        assert end * fitted.norm == pytest.approx(program.greatest(d, budgets), abs=1e-6 * fitted.norm)


def test_nothing_censored_is_ordinal():
    data = patients(11).assign(
        low=lambda f: f["grade"].cat.codes + 1, high=lambda f: f["grade"].cat.codes + 1
    )
    one, two = fit("grade ~ age + noise", data), fit("between(low, high) ~ age + noise", data)
    np.testing.assert_allclose(one.table[NUMBERS], two.table[NUMBERS], atol=1e-7)


def test_no_relation_is_a_result():
    rng = np.random.default_rng(12)
    data = pd.DataFrame({"x": np.tile([0.0, 1.0], 20), "y": np.repeat([1, 2], 20), "z": rng.normal(size=40)})
    found = fit("y ~ x", data, C=None, family="binary")
    assert found.table["relevance"].tolist() == ["irrelevant"]
    assert any("No relation found" in note for note in found.notes)
    assert found.predict().nunique() == 1
