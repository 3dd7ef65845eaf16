"""What a linear fit says of itself: headers, notes and columns for every kind of response."""

import numpy as np
import pandas as pd
import pytest

import relbounds as rb

QUICK = {"C": 0.5, "delta": 0.05, "progress": False}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = 120
    data = pd.DataFrame(
        {"a": rng.normal(size=n), "b": rng.normal(size=n), "site": rng.choice(list("ABC"), n)}
    )
    score = data["a"] + 0.8 * (data["site"] == "B") + 0.5 * rng.normal(size=n)
    data["sex"] = rng.choice(["m", "f"], n)
    data["patient"] = np.repeat(np.arange(n // 4), 4)
    data["grade"] = pd.Categorical.from_codes(
        np.digitize(score, [-0.5, 0.7]), ["low", "mid", "high"], ordered=True
    )
    data["kind"] = np.where(score > 0.6, "x", np.where(data["b"] > 0, "y", "z"))
    data["time"], data["status"] = np.exp(score), (rng.random(n) < 0.7).astype(int)
    return data


def head_of(fit):
    return dict((*fit.facts.left, *fit.facts.right))


def test_header_of_an_ordinal_fit(data):
    holed = data.copy()
    holed.loc[3, "a"] = np.nan
    fit = rb.relbounds(
        "grade ~ a + b + C(site) | adjust(sex)", holed, cluster="patient", progress=False, C=0.5
    )
    head = head_of(fit)
    assert head["Order:"].endswith("(chosen)") and head["Balance:"] == "yes"
    assert head["Clusters:"] == "30 (patient)" and head["Dropped (missing):"] == "1"
    assert head["Terms:"] == "3 + 1 adjusting" and head["Control:"] == "fwer, alpha 0.05"
    assert head["Delta:"] == f"{fit.delta:.3g} (resample x 40, split)"
    assert head["Certificate:"].startswith("proved to") and head["Seed:"] == "0"
    text = " ".join(fit.facts.notes)
    assert (
        "largest contrast between two levels" in text and "no class" in text and "proved by duality" in text
    )
    assert "adjusted, without penalty, for sex" in fit.methods_text() and "30 clusters" in fit.methods_text()


def test_a_gap_is_not_called_a_proof(data):
    from dataclasses import replace

    from relbounds.results import RelboundsResults

    fit = rb.relbounds("grade ~ a + b", data, **QUICK)
    wide = replace(fit._fitted.measured, gap=np.full(2, 0.01 * fit._fitted.norm))
    open_ = RelboundsResults(replace(fit._fitted, measured=wide))
    assert head_of(open_)["Certificate:"] == "gap 1.0e-02"
    assert "not everything is proved" in str(open_.summary()) and "are proved" not in str(open_.summary())


def test_a_given_order_is_not_called_chosen(data):
    fit = rb.relbounds("grade ~ a + b", data, order="implicit", balance=False, **QUICK)
    assert head_of(fit)["Order:"] == "implicit" and head_of(fit)["Balance:"] == "no"
    assert head_of(fit)["Delta:"] == "0.05 (given, split)"
    assert "set beforehand" in fit.methods_text() and "weighed the same" not in fit.methods_text()


def test_false_discoveries_and_published_control(data):
    fdr = rb.relbounds("grade ~ a + b", data, control="fdr", alpha=0.1, **QUICK)
    assert head_of(fdr)["Control:"] == "fdr, alpha 0.1"
    assert "expected share of noise" in str(fdr.summary()).replace("\n    ", " ")
    published = rb.relbounds("grade ~ a + b", data, C=0.5, probes=10, **rb.published)
    assert "drawn" in head_of(published)["Probes:"] and "level 0.999" in head_of(published)["Control:"]
    probes = int(head_of(published)["Probes:"].split()[0])
    assert published.facts.smallest_p == pytest.approx(1 / (1 + probes))


def test_classes_without_order_have_no_signs(data):
    fit = rb.relbounds("kind ~ a + b + C(site)", data, family="nominal", **QUICK)
    assert "signed_lower" not in fit.facts.columns and "Order:" not in head_of(fit)
    assert "between two levels of the response" in str(fit.summary()).replace("\n    ", " ")
    ax = fit.plot_scores()
    assert ax.get_xlabel() == "margin over the next level"
    right = sum((c.get_offsets()[:, 0] > 0).sum() for c in ax.collections)
    assert right == (fit.predict(data).astype(str) == data["kind"]).sum()


def test_survival_says_which_way_is_up(data):
    fit = rb.relbounds("Surv(time, status) ~ a + b", data, **QUICK)
    assert head_of(fit)["Events:"] == str(data["status"].sum())
    assert "longer survival" in str(fit.summary()) and "Harrell" not in str(fit.summary())


def test_a_fit_without_bounds_shows_weights(data, tmp_path):
    fit = rb.relbounds("grade ~ a + b + C(site)", data, C=0.5, bounds=False)
    assert fit.facts.title == "Linear model" and fit.facts.columns == ("weight",)
    text = str(fit.summary())
    assert "Strong" not in text and "weight is a term's weight" in text.replace("\n    ", " ")
    page = fit.write_report(tmp_path / "report.html", groups=False, interactive=False).read_text(
        encoding="utf-8"
    )
    assert "<h2>Weights</h2>" in page


def test_no_relation_is_a_result(tmp_path):
    data = pd.DataFrame({"y": ["u", "v"] * 30, "x": np.repeat(np.arange(30.0), 2)})
    fit = rb.relbounds("y ~ x", data, progress=False)
    assert fit.selected("irrelevant") == ["x"]
    assert "No relation found" in str(fit.summary()) and "No relation was found" in fit.methods_text()
    assert fit.write_report(tmp_path / "report.html", groups=False, interactive=False).exists()
    fit.plot()
