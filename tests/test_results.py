import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from statsmodels.iolib.summary import Summary

import relbounds as rb

COLUMNS = [
    "part", "term", "weight", "lower", "upper", "signed_lower", "signed_upper", "p_noise", "p_adjusted", "relevance",
    "direction",
]  # fmt: skip


@pytest.fixture(scope="module")
def simulated():
    return rb.simulate.paper_set(3, noise=0.3, seed=1)


@pytest.fixture(scope="module")
def fit(simulated):
    return rb.relbounds(simulated.formula, simulated.data, C=0.5, probes=20)


def test_table_has_the_promised_columns(fit):
    assert [c for c in fit.table.columns if c in COLUMNS] == COLUMNS
    assert fit.table.index.name == "feature"
    table = fit.table
    assert np.all(table["lower"] <= table["weight"].abs() + 1e-6)
    assert np.all(table["weight"].abs() <= table["upper"] + 1e-6)
    assert np.all(table["p_adjusted"] >= table["p_noise"] - 1e-12)
    assert table.loc[table["relevance"] == "strong", "direction"].isin(["+", "-"]).all()


def test_summary_is_a_statsmodels_summary_in_three_blocks(fit):
    summary = fit.summary()
    assert (
        isinstance(summary, Summary) and len(summary.tables) == 2 and summary.extra_txt.startswith("Notes:")
    )
    text = summary.as_text()
    for word in (
        "Response:",
        "Family:",
        "No. Observations:",
        "Delta:",
        "Control:",
        "Permutations, refits:",
        "Seed:",
        "Certificate:",
        "not distinguishable from noise",
        "P>noise",
    ):
        assert word in text
    lines = text.splitlines()
    rows = {line.split()[0]: line for line in lines if line and line.split()[0] in fit.table.index}
    assert set(rows) == set(fit.table.index)
    upper = {name: float(line.split()[3]) for name, line in rows.items()}
    assert all(abs(upper[name] - fit.table.loc[name, "upper"]) <= 5e-4 for name in upper)
    rules = {len(line) for line in lines if set(line) in ({"="}, {"-"}) and len(line) > 20}
    assert max(rules) - min(rules) <= 1
    assert "\\begin{tabular}" in summary.as_latex() and "<table" in summary.as_html()
    assert "<table" in fit._repr_html_() and "strong" in repr(fit)


def test_levels_stand_under_their_term():
    data = rb.datasets.load_severity().iloc[:150]
    data["site"] = np.array(list("ABC"))[np.arange(150) % 3]
    fit = rb.relbounds("severity ~ age + crp + sex + site", data, C=0.1, probes=4)
    lines = fit.summary().as_text().splitlines()
    here = next(i for i, line in enumerate(lines) if line.split()[:1] == ["site"])
    assert lines[here + 1].startswith("  site[A]") and lines[here + 3].startswith("  site[C]")
    assert fit.table["term"].tolist() == ["age", "crp", "sex", *["site"] * 4]
    assert fit.table.index[2] == "sex: male - female"


def test_predictions_follow_the_thresholds(fit, simulated):
    scores = fit.decision_function(simulated.data)
    w, b = fit.baseline.weights, fit.baseline.thresholds
    np.testing.assert_allclose(scores, fit.design.X @ w.to_numpy())
    levels = np.array(fit.design.levels)[(scores.to_numpy()[:, None] >= b.to_numpy()).sum(axis=1)]
    predicted = fit.predict(simulated.data)
    assert predicted.tolist() == levels.tolist()
    assert predicted.equals(fit.predict())
    assert fit.score(simulated.data) == pytest.approx(rb.metrics.mmae(fit.design.y, 1 + predicted.cat.codes))


def test_missing_features_give_missing_predictions(fit, simulated):
    head = simulated.data.head(3).copy()
    head.loc[head.index[1], "x1"] = np.nan
    predicted = fit.predict(head)
    assert predicted.isna().tolist() == [False, True, False]


def test_selection(fit):
    assert fit.selected() == fit.selected("strong") + fit.selected("weak")
    assert fit.selected_formula("strong") == "y ~ " + " + ".join(fit.selected("strong"))
    with pytest.raises(rb.OptionError, match="'relevant'"):
        fit.selected("some")


def test_selected_formula_keeps_the_response_as_written():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"a": rng.normal(size=50), "site": rng.choice(list("uv"), size=50)})
    data["b"] = rng.normal(size=50)
    data["dose"] = np.exp(data["a"] + (data["site"] == "u") + 0.01 * rng.normal(size=50))
    fit = rb.relbounds("log(dose) ~ a + b + C(site)", data, C=1.0, epsilon=0.05, probes=10)
    again = rb.relbounds(fit.selected_formula() + " + b", data, C=1.0, epsilon=0.05, probes=10)
    assert again.design.response == fit.design.response and "a" in again.table.index


def test_save_and_load_in_a_new_process(fit, simulated, tmp_path):
    path = fit.save(tmp_path / "fit.relbounds")
    assert rb.load(path).table.equals(fit.table)
    frame = tmp_path / "new.pkl"
    frame.write_bytes(pickle.dumps(simulated.data.head(5)))
    code = (
        "import sys, pickle, relbounds as rb; fit = rb.load(sys.argv[1]);"
        "print(','.join(map(str, fit.predict(pickle.load(open(sys.argv[2], 'rb'))))))"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, path, frame], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == ",".join(map(str, fit.predict(simulated.data.head(5))))


def test_loading_something_else_is_explained(tmp_path):
    with pytest.raises(rb.DataError, match="no file"):
        rb.load(tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(rb.DataError, match="not a saved relbounds fit"):
        rb.load(tmp_path / "text")


def test_certificate_is_small(fit):
    assert 0 <= fit.certificate <= 1e-6


def test_numbers_of_the_user_interface_are_in_the_summary(fit, simulated):
    text = str(fit.summary())
    noise = fit._fitted.noise
    assert f"{noise.permutations}, {noise.refits}" in text and "fwer, alpha 0.05" in text
    row = fit.intervals.loc[("regular", "upper")]
    assert f"{row['upper']:.3f}" in text
    published = rb.relbounds(simulated.formula, simulated.data, C=0.5, probes=20, **rb.published)
    text, row = str(published.summary()), published.intervals.loc[("regular", "upper")]
    assert f"{row['probes']:.0f} of {row['drawn']:.0f} drawn" in text and "published, level 0.999" in text


def test_selection_speaks_of_terms():
    data = rb.datasets.load_severity().iloc[:150]
    data["site"] = np.array(list("ABC"))[np.arange(150) % 3]
    fit = rb.relbounds("severity ~ stiffness + C(site) | adjust(sex)", data, C=0.1, delta=0.05)
    every = fit.selected() + fit.selected("irrelevant")
    assert sorted(every) == ["C(site)", "stiffness"]
    assert fit.selected_formula("strong") == "severity ~ stiffness | adjust(sex)"
    text = fit.summary().as_text()
    assert "adjusted for" in text and "no class" in text


def test_methods_text_names_every_setting(fit):
    text = fit.methods_text()
    for words in (
        "10 terms", "ordinal response y with 5 levels", "150 observations", "C = 0.5", "40 refits", "999 permutations",
        "seed 0", "at most 0.05", "not distinguishable from noise", rb.__version__, "10.1016/j.neucom.2019.12.133",
        "10.1016/j.neucom.2017.11.074", "Chu, W.", "y ~ .",
    ):  # fmt: skip
        assert words in text, words
