"""Tables for papers, fits side by side, and the report."""

from __future__ import annotations

import html.parser
import io
import re
import shutil
import subprocess
import warnings

import pandas as pd
import pytest
from explored import copies, privileged, regression, severity

import relbounds as rb
from relbounds.show.escaping import escape_latex
from relbounds.show.paper_tables import PaperRow, PaperTable

AWKWARD = PaperTable(
    heads=("feature", "a_b", "P>noise"),
    rows=(
        PaperRow("part one", (), "part"),
        PaperRow("C(site_x)", (), "head"),
        PaperRow('log(x_1) & 5% of $y^2$ ~ {z} #1 \\ "q" <a|b> TNF-α, µ', ("-0.250", "<0.001"), "inner"),
        PaperRow("plain", ("+", "-")),
        PaperRow("Observations", ("300", "1"), "foot"),
    ),
    numeric=(True, True),
    spans=(("both & more", 2),),
    caption="What 100% of _everything_ shows",
    label="tab:awkward",
    notes=("Lower & upper.",),
)


class Tags(html.parser.HTMLParser):
    """Checks that every tag that is opened is closed, and counts them."""

    VOID = ("meta", "link", "br", "img", "use", "path")

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def parse(text):
    tags = Tags()
    tags.feed(text)
    assert tags.open == []
    return tags.seen


def compile_latex(body, folder):
    source = (
        "\\documentclass{article}\n\\usepackage[utf8]{inputenc}\n\\usepackage{booktabs}\n"
        "\\begin{document}\n" + body + "\n\\end{document}\n"
    )
    (folder / "table.tex").write_text(source, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-1500:]
    assert (folder / "table.pdf").stat().st_size > 1000


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX engine (Debian: texlive-latex-base)")
def test_latex_compiles(tmp_path):
    fit = severity()
    both = rb.compare_fits({"all": fit, "no crp & co": fit.constrain({"crp": "off"})})
    body = "\n".join(
        [
            AWKWARD.to_latex(),
            fit.to_latex(caption="Bounds of 100%", label="tab:fit"),
            privileged().to_latex(columns=["signed_lower", "signed_upper", "relevance"]),
            both.to_latex(caption="Two fits"),
        ]
    )
    compile_latex(body, tmp_path)


def test_latex_uses_booktabs_and_no_siunitx():
    text = severity().to_latex(caption="A", label="tab:a")
    for command in (
        r"\toprule",
        r"\midrule",
        r"\bottomrule",
        r"\caption{A}",
        r"\label{tab:a}",
        r"\emph{Notes.}",
    ):
        assert command in text
    assert r"\SI" not in text and r"\num" not in text and "S[" not in text
    assert r"\multicolumn{8}{l}{\textit{sex}}" in text
    assert r"\quad sex[female]" in text


def test_escapes():
    assert escape_latex("a_b%") == r"a\_b\%"
    assert escape_latex("β Ω") == r"\ensuremath{\beta} \ensuremath{\Omega}"
    assert "x\\|y" in PaperTable(("a", "b"), (PaperRow("x|y", ("1",)),), (True,)).to_markdown()
    assert "&lt;0.001" in AWKWARD.to_html()


def test_markdown_is_a_rectangle():
    for table in (AWKWARD, severity().paper_table()):
        lines = [line for line in table.to_markdown().splitlines() if line.startswith("|")]
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
        assert counts == {len(table.heads) + 1}


def test_html_is_well_formed():
    seen = parse(AWKWARD.to_html())
    assert sum(tag == "tr" for tag, _ in seen) == 2 + len(AWKWARD.rows) + 1
    parse(severity().to_html(caption="x < y"))


def test_csv_has_every_digit():
    fit = severity()
    again = pd.read_csv(io.StringIO(fit.to_csv()), index_col="feature")
    assert list(again.columns) == [*fit.table.columns, "notes"]
    assert again["notes"].iloc[0].startswith("lower and upper") and again["notes"].iloc[1:].isna().all()
    plain = pd.read_csv(io.StringIO(fit.to_csv(notes=False)), index_col="feature")
    assert list(plain.columns) == list(fit.table.columns)
    assert again["upper"].to_numpy() == pytest.approx(fit.table["upper"].to_numpy(), abs=0)


def test_files_are_written_and_missing_folders_are_named(tmp_path):
    fit = copies()
    for kind in ("latex", "markdown", "html", "csv"):
        path = tmp_path / f"table.{kind}"
        text = getattr(fit, f"to_{kind}")(path)
        assert path.read_text(encoding="utf-8") == text
        with pytest.raises(rb.OptionError, match="does not exist"):
            getattr(fit, f"to_{kind}")(tmp_path / "nowhere" / "table")
    with pytest.raises(rb.OptionError, match="does not exist"):
        fit.write_report(tmp_path / "nowhere" / "report.html")


def test_columns_can_be_chosen():
    text = severity().to_markdown(columns=["upper", "relevance"], notes=False)
    assert text.splitlines()[0] == "| feature | upper | relevance |"
    with pytest.raises(rb.OptionError, match="Did you mean 'upper'"):
        severity().to_markdown(columns=["uper"])
    assert "My own words." in severity().to_markdown(notes=["My own words."])


def test_word(tmp_path):
    docx = pytest.importorskip("docx", reason="python-docx is not installed")
    path = privileged().to_word(tmp_path / "table.docx", caption="Bounds")
    document = docx.Document(str(path))
    grid = document.tables[0]
    assert [cell.text for cell in grid.rows[0].cells][:3] == ["feature", "weight", "lower"]
    assert "x1" in [row.cells[0].text for row in grid.rows]
    assert document.paragraphs[0].text == "Bounds"
    AWKWARD.to_word(tmp_path / "awkward.docx")


def test_compare_fits_puts_fits_side_by_side():
    fit = severity()
    held = fit.constrain({"crp": "off"})
    both = rb.compare_fits({"all": fit, "no crp": held})
    assert both.table.loc["esr", ("all", "upper")] == fit.table.loc["esr", "upper"]
    assert both.facts.loc["Observations"].tolist() == ["150", "150"]
    text = repr(both)
    assert text.splitlines()[0].split() == ["all", "no", "crp"]
    assert "**" in text and "Strong/weak/irrelevant" in text
    parse(both.to_html())
    assert both.to_csv(notes=False).splitlines()[0] == ",all,no crp"
    assert r"\begin{tabular}{lrr}" in both.to_latex()


def test_compare_fits_different_formulas():
    both = rb.compare_fits({"one": copies(), "two": privileged()})
    assert both.table["one"].loc["z1"].isna().all()
    text = both.to_markdown()
    assert "*privileged features*" in text
    row = next(line for line in text.splitlines() if line.startswith("| z1"))
    assert row.split("|")[2].strip() == "-"


def test_compare_fits_refuses_nonsense():
    with pytest.raises(rb.OptionError, match="mapping"):
        rb.compare_fits([copies()])
    with pytest.raises(rb.OptionError, match="not a fit with"):
        rb.compare_fits({"a": 3})


@pytest.mark.parametrize("make", [severity, privileged, regression])
def test_report_is_one_file_without_links_outside(make, tmp_path):
    fit = make()
    path = fit.write_report(tmp_path / "report.html", title="A & B")
    text = path.read_text(encoding="utf-8")
    seen = parse(text)
    assert "<title>A &amp; B</title>" in text
    for tag, attributes in seen:
        for name in ("src", "href", "xlink:href"):
            target = attributes.get(name) or "#"
            assert target.startswith(("#", "data:")), (tag, target)
    assert "@import" not in text and "<script" not in text
    identifiers = [attributes["id"] for _, attributes in seen if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    for name in fit.table.index:
        assert name in text
    for heading in ("Summary", "Relevance", "Model", "Data", "Settings", "How to cite"):
        assert f"<h2>{heading}</h2>" in text


def test_report_with_everything(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = copies().write_report(tmp_path / "report.html", groups=True, sweep=True, stability=2)
    text = path.read_text(encoding="utf-8")
    for heading in ("Groups", "Tolerance", "Stability"):
        assert f"<h2>{heading}</h2>" in text


@pytest.mark.skipif(shutil.which("chromium") is None, reason="no chromium (Debian: chromium)")
def test_report_opens_in_a_browser_without_errors(tmp_path):
    path = copies().write_report(tmp_path / "report.html")
    done = subprocess.run(
        [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
            "--disable-background-networking", "--disable-component-update", "--disable-quic",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr", f"--screenshot={tmp_path / 'report.png'}", "--window-size=1000,1600",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )  # fmt: skip
    assert "CONSOLE" not in done.stderr
    assert (tmp_path / "report.png").stat().st_size > 20_000
