"""Data as clinics have them: adjustment, clusters, censored times, classes without order, by their laws."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from programs import Program

import relbounds as rb

QUICK = {"C": 0.2, "delta": 0.05, "progress": False}
NUMBERS = ["weight", "lower", "upper", "signed_lower", "signed_upper"]


@pytest.fixture(scope="module")
def patients():
    rng = np.random.default_rng(0)
    n = 75
    data = pd.DataFrame(
        {"age": rng.normal(60, 10, n), "crp": rng.normal(size=n), "noise": rng.normal(size=n)}
    )
    data["site"] = rng.choice(list("ABC"), n)
    score = data["age"] / 10 + data["crp"] + (data["site"] == "B") + rng.logistic(size=n)
    data["time"] = np.exp(score / 4)
    data["event"] = rng.random(n) < 0.6
    data["kind"] = pd.Categorical.from_codes(pd.qcut(score, 3, labels=False), ["flu", "cold", "none"])
    data["patient"] = np.arange(n) // 3
    return data


def test_times_that_are_all_events_are_ordered_levels(patients):
    survival = rb.relbounds("Surv(time) ~ age + crp + noise", patients, **QUICK)
    cuts = np.array(survival.design.cut_times)
    level = 1 + np.searchsorted(cuts, patients["time"], side="left")
    ordinal = rb.relbounds(
        "level ~ age + crp + noise", patients.assign(level=level), family="ordinal", order="implicit", **QUICK
    )
    np.testing.assert_allclose(survival.table[NUMBERS], ordinal.table[NUMBERS], atol=1e-7)


def test_clusters_of_one_are_no_clusters(patients):
    formula = "kind ~ age + crp + site"
    one = rb.relbounds(formula, patients, **QUICK)
    two = rb.relbounds(formula, patients.assign(row=range(75)), cluster="row", **QUICK)
    pd.testing.assert_frame_equal(one.table, two.table)
    assert any("single observation" in note for note in two.notes)


@pytest.mark.parametrize("left", ["kind", "Surv(time, event)"])
def test_adjusted_programs_written_out(patients, left):
    found = rb.relbounds(f"{left} ~ crp + noise | adjust(age)", patients, **{**QUICK, "C": 0.05})
    program, fitted = Program(found), found._fitted
    assert fitted.solution.objective == pytest.approx(program.best(0.05), rel=1e-7)
    budgets = program.budgets_of(found)
    for row, end in zip(fitted.asked, found.table["upper"], strict=True):
        if row.key.part == "regular":
            ends = [program.greatest(d, budgets) for f in row.functionals for d in f.directions(program.q)]
            assert end * fitted.norm == pytest.approx(max(ends), abs=1e-6 * fitted.norm)


def test_contrasts_of_levels_between_classes(patients):
    found = rb.relbounds("kind ~ crp + site", patients, **QUICK)
    table = found.level_contrasts("site")
    assert table["response"].unique().tolist() == ["cold - flu", "none - flu", "none - cold"]
    assert len(table) == 9 and (table["p_adjusted"].between(0, 1)).all()
    program, fitted = Program(found), found._fitted
    budgets = program.budgets_of(found)
    levels, classes = list(found.design.find_term("site").levels), list(found.design.levels)
    columns = found.design.find_term("site").columns
    for row in table.itertuples():
        d = np.zeros(program.q)
        for sign, name in zip((1, -1), row.response.split(" - "), strict=True):
            start = classes.index(name) * program.d
            d[start + columns[levels.index(row.level)]] += sign
            d[start + columns[levels.index(row.reference)]] -= sign
        assert row.signed_upper * fitted.norm == pytest.approx(
            program.greatest(d, budgets), abs=1e-6 * fitted.norm
        )
    against = found.level_contrasts("site", reference="A")
    assert set(against["reference"]) == {"A"} and len(against) == 6


def test_classes_in_all_of_the_package(patients):
    found = rb.relbounds("kind ~ age + crp + noise", patients, **QUICK)
    held = found.constrain({"noise": 0.0})
    assert held.table.loc["noise", "relevance"] == "fixed"
    assert (held.table["upper"] <= found.table["upper"] + 1e-6).all()
    assert found.together(["age", "crp"]).upper >= found.table.loc["crp", "upper"] - 1e-6
    assert len(found.groups().labels) == 3
    assert set(found.cheapest({"age": 1.0, "crp": 1.0, "noise": 5.0}).terms) <= {"age", "crp", "noise"}
    for draw in (found.plot, found.plot_scores, found.plot_calibration):
        assert draw() is not None
        plt.close("all")
    assert "flu" in found.to_latex() + found.to_markdown()
    assert "one weight vector a class" in found.methods_text()


def test_clusters_nested_in_levels_of_the_response(patients):
    # every patient has one level: folds, resamples and permutations keep patients whole all the same
    nested = patients.assign(grade=np.repeat(np.arange(25) % 3, 3) + 1)
    nested["crp"] = nested["crp"] + nested["grade"]
    found = rb.relbounds("grade ~ crp + noise", nested, cluster="patient", delta=0.05, progress=False)
    assert found.table.loc["crp", "relevance"] == "strong"
    assert "25 (patient)" in str(found.summary())
    assert "in 25 clusters" in found.methods_text()


@pytest.mark.parametrize("left", ["number", "grade"])
def test_adjusting_covariates_that_explain_everything(patients, left):
    data = patients.assign(number=3 * patients["age"] + 1, grade=(patients["age"] > 60).astype(int))
    found = rb.relbounds(f"{left} ~ crp + noise | adjust(age)", data, progress=False)
    assert (found.table.loc[["crp", "noise"], "relevance"] == "irrelevant").all()
    assert any("explain the response perfectly" in note for note in found.notes)
    assert found.table.loc["age", ["signed_lower", "signed_upper"]].isna().all()
    assert found.predict(data).corr(data[left]) == pytest.approx(1)
    assert "No relation beyond the adjusting covariates" in found.methods_text()


def test_few_clusters_are_said(patients):
    few = patients.assign(centre=np.arange(75) % 3)
    found = rb.relbounds("kind ~ age + crp", few, cluster="centre", bounds=False, progress=False)
    said = " ".join(found.notes)
    assert "3 clusters only" in said and "3 folds instead of 5: there are only 3 clusters" in said


def test_the_predicted_interval_is_where_half_survive(patients):
    found = rb.relbounds("Surv(time, event) ~ age + crp", patients, C=0.2, bounds=False)
    half = (found.predict(type="prob") >= 0.5).sum(axis=1)
    assert found.predict().cat.codes.tolist() == half.tolist() and half.nunique() > 2
    one = found.predict(patients.head(3), type="prob", times=float(found.design.cut_times[0]))
    assert one.shape == (3, 1)
    gone = found.predict(patients.head(3).assign(age=[50.0, np.nan, 60.0]))
    assert gone.isna().tolist() == [False, True, False]


def test_predictions_need_what_was_adjusted_for(patients):
    found = rb.relbounds("kind ~ crp | adjust(age, bs(noise, 4))", patients, C=0.2, bounds=False)
    with pytest.raises(rb.DataError, match="lack the columns 'age', 'noise'"):
        found.predict(patients[["crp"]])
    with pytest.raises(rb.FormulaError, match="outside the range that the spline was made for"):
        found.predict(patients.assign(noise=99.0))
