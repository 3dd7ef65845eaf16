"""The one protocol: every kind of fit has the same methods, with the same argument names."""

from __future__ import annotations

import html.parser
import inspect
import io

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from statsmodels.iolib.summary import Summary

import relbounds as rb
from relbounds.protocol import Results
from relbounds.show.facts import Facts

METHODS = (
    "summary", "selected", "selected_formula", "predict", "score", "plot", "paper_table", "to_latex", "to_markdown",
    "to_html", "to_csv", "to_word", "methods_text", "write_report", "save", "to_bytes",
)  # fmt: skip
# Arguments that mean the same thing have the same name, whichever fit they belong to.
SHARED = {
    "selected": ["kind"],
    "selected_formula": ["kind"],
    "predict": ["newdata", "type"],
    "score": ["newdata"],
    "plot": ["ax", "legend", "title", "features"],
    "write_report": ["path", "title"],
    "save": ["path"],
    "to_csv": ["path", "notes"],
    **{f"to_{kind}": ["path"] for kind in ("latex", "markdown", "html", "word")},
}


def patients(n=90):
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(n, 2)), columns=["age", "bmi"])
    score = data["age"] + 0.5 * data["bmi"] + 0.5 * rng.normal(size=n)
    data["grade"] = pd.Categorical.from_codes(
        np.digitize(score, [-0.6, 0.6]), ["none", "<mild>", "severe"], ordered=True
    )
    return data


@pytest.fixture(scope="module")
def data():
    return patients()


def linear(data):
    return rb.relbounds("grade ~ age + bmi", data, C=1.0, delta=0.05, progress=False)


def kernel(data):
    return rb.svor("grade ~ age + bmi", data, C=1.0, width=1.0)


def forest(data):
    pytest.importorskip("lightgbm")
    return rb.forest_relevance("grade ~ age + bmi", data, probes=4, repeats=1, folds=3, progress=False)


@pytest.fixture(scope="module", params=[linear, kernel, forest], ids=["linear", "kernel", "forest"])
def fit(request, data):
    return request.param(data)


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_methods_and_arguments(fit):
    assert isinstance(fit, Results)
    for name in METHODS:
        assert callable(getattr(fit, name)), name
        said = inspect.getdoc(getattr(fit, name)) or ""
        assert said, f"{name} says nothing of itself"
    for name, arguments in SHARED.items():
        known = inspect.signature(getattr(fit, name)).parameters
        assert set(arguments) <= set(known), (name, set(arguments) - set(known))
    assert next(iter(inspect.signature(fit.plot).parameters)) == "ax"


def test_facts(fit):
    assert isinstance(fit.facts, Facts) and fit.facts.table is fit.table
    assert isinstance(fit.notes, tuple) and all(isinstance(note, str) for note in fit.notes)
    assert set(fit.notes) <= set(fit.facts.notes)
    assert fit.formula == "grade ~ age + bmi" and fit.design.response == "grade"
    assert fit.facts.settings and fit.facts.compared
    assert rb.__version__ in fit.methods_text() and "(20" in fit.methods_text()


def test_summary(fit):
    summary = fit.summary()
    assert isinstance(summary, Summary)
    text = summary.as_text()
    for name in fit.table.index:
        assert str(name) in text
    assert "Notes:" in text and str(fit) == str(summary)
    assert "\\begin{tabular}" in summary.as_latex()
    page = fit._repr_html_()
    html.parser.HTMLParser().feed(page)
    assert "<table" in page and "<mild>" not in page
    assert repr(fit).startswith("<") and "grade ~ age + bmi" in repr(fit)


def test_selection(fit):
    if "relevance" not in fit.table:
        with pytest.raises(rb.OptionError, match="tests no feature"):
            fit.selected()
        with pytest.raises(rb.OptionError, match="tests no feature"):
            fit.selected_formula()
        return
    every = [name for kind in ("strong", "weak", "irrelevant") for name in fit.selected(kind)]
    assert sorted(every) == ["age", "bmi"]
    assert fit.selected_formula().startswith("grade ~ ")
    with pytest.raises(rb.OptionError, match="'relevant'"):
        fit.selected("good")


def test_predictions(fit, data):
    guess = fit.predict(data)
    assert len(guess) == len(data) and guess.name == "grade"
    assert set(guess.astype(str)) <= {"none", "<mild>", "severe"}
    assert (guess.astype(str) == data["grade"].astype(str)).mean() > 0.5
    assert np.isfinite(fit.score(data)) and np.isfinite(fit.score())
    chances = fit.predict(data, type="prob")
    assert list(chances.columns) == ["none", "<mild>", "severe"] and np.allclose(chances.sum(axis=1), 1.0)
    assert len(fit.predict(data, type="score")) == len(data)
    with pytest.raises(rb.OptionError, match="type="):
        fit.predict(data, type="odds")


def test_tables(fit, tmp_path):
    for kind in ("latex", "markdown", "html", "csv"):
        path = tmp_path / f"table.{kind}"
        text = getattr(fit, f"to_{kind}")(path)
        assert path.read_text(encoding="utf-8") == text
        first = fit.facts.notes[0].split(".")[0][:30]
        assert first in text
    again = pd.read_csv(io.StringIO(fit.to_csv(notes=False)), index_col=0)
    assert list(again.columns) == list(fit.table.columns) and len(again) == len(fit.table)
    assert "My words" in fit.to_markdown(notes=["My words"], caption="A table")
    docx = pytest.importorskip("docx")
    grid = docx.Document(str(fit.to_word(tmp_path / "table.docx"))).tables[0]
    assert len(grid.rows) == 1 + len(fit.table)


def test_report(fit, tmp_path):
    text = fit.write_report(tmp_path / "report.html", title="A & B").read_text(encoding="utf-8")
    for heading in ("Summary", "Data", "Settings", "Methods", "How to cite"):
        assert f"<h2>{heading}</h2>" in text
    assert "<title>A &amp; B</title>" in text and "<svg" in text and "<script src" not in text
    assert "&lt;mild&gt;" in text and "<mild>" not in text
    with pytest.raises(rb.OptionError, match=r"ends in \.html"):
        fit.write_report(tmp_path / "report.pdf")


def test_figure(fit):
    ax = fit.plot(legend=False)
    assert ax.get_legend() is None
    _, given = plt.subplots()
    assert fit.plot(given, title="A $title$") is given
    given.figure.canvas.draw()


def test_files(fit, data, tmp_path):
    again = rb.load(fit.save(tmp_path / "fit.relbounds"))
    assert type(again) is type(fit) and again.table.equals(fit.table)
    assert again.predict(data).equals(fit.predict(data))
    assert str(again.summary()) == str(fit.summary())
