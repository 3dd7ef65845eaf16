"""Tables for papers, fits side by side, and the report."""

from __future__ import annotations

import csv
import html.parser
import io
import re
import shutil
import subprocess
import warnings

import pandas as pd
import pytest
import shown
from explored import copies, privileged, regression, severity

import relbounds as rb
from relbounds.show.comparison import compare_fits
from relbounds.show.escaping import escape_latex
from relbounds.show.paper_tables import PaperRow, PaperTable, csv_of, paper_table
from relbounds.show.question_tables import groups_table, stability_table
from relbounds.show.summary import summarise

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
    facts = shown.facts()
    nasty = shown.facts(table=shown.table().rename(index=dict(zip(shown.table().index, NASTY, strict=False))))
    body = "\n".join(
        [
            AWKWARD.to_latex(),
            paper_table(facts, caption="Bounds of 100%", label="tab:fit_1").to_latex(),
            paper_table(nasty, columns=["signed_lower", "signed_upper", "relevance"]).to_latex(),
            compare_fits({"all & more": Shown(facts), "no_crp": Shown(shown.what_if())}).to_latex(
                caption="Two fits"
            ),
            summarise(nasty).as_latex(),
        ]
    )
    compile_latex(body, tmp_path)


class Shown:
    """Anything that has facts can be compared."""

    def __init__(self, facts):
        self.facts = facts


def test_latex_uses_booktabs_and_no_siunitx():
    text = paper_table(shown.facts(), caption="A", label="tab:a").to_latex()
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
    assert r"\multicolumn{10}{l}{\textit{adjusted for}}" in text
    assert r"\quad site[A]" in text and "C(site) & 0.220" in text


NASTY = [
    '<script>alert("x")</script>', "$x_1^2$ & 50% #1 {a} ~b \\c", "*bold* _it_ `code` [a](b) | c", "=cmd|' /C calc'!A0",
    "+1+1", "-2+3", "@SUM(A1)", "line\nbreak", "\x1b[31mred", "[bracket]", "\u202eright to left", "TNF-α ≤ 5",
]  # fmt: skip


def nasty_facts():
    return shown.facts(
        table=shown.table().rename(index=dict(zip(shown.table().index, NASTY, strict=True))),
        response="<i>y</i>",
        formula="<b>y</b> ~ .",
        notes=("<u>note</u> with $ and =1",),
        left=(("Response:", "<i>y</i>"), ("=1+1", "=2+2")),
    )


class Words(html.parser.HTMLParser):
    """Gathers the text of a page and the names of its tags."""

    def __init__(self):
        super().__init__()
        self.text, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.text.append(data)


def read_page(text):
    words = Words()
    words.feed(text)
    return "".join(words.text), words.tags


def visible_nasty():
    return [name.replace("\n", "\\n").replace("\x1b", "\\x1b").replace("\u202e", "\\u202e") for name in NASTY]


def test_html_shows_names_as_text():
    facts = nasty_facts()
    for text in (summarise(facts).as_html(), paper_table(facts).to_html(), summarise(facts)._repr_html_()):
        said, tags = read_page(text)
        assert tags <= {"div", "p", "strong", "table", "thead", "tbody", "tfoot", "tr", "th", "td", "br"}
        assert all(name in said for name in visible_nasty())


def test_csv_holds_no_formula():
    for text in (
        csv_of(nasty_facts()),
        paper_table(nasty_facts()).to_csv(),
        summarise(nasty_facts()).as_csv(),
    ):
        for row in csv.reader(io.StringIO(text)):
            for cell in row:
                assert not cell.startswith(("=", "@", "\t", "\r")), cell
                if cell.startswith(("+", "-")) and len(cell) > 1:
                    float(cell)
    # the name itself is still there
    assert "'=cmd|' /C calc'!A0" in csv_of(nasty_facts())


@pytest.mark.skipif(shutil.which("pandoc") is None, reason="no pandoc")
def test_markdown_shows_names_as_text():
    text = paper_table(nasty_facts()).to_markdown()
    done = subprocess.run(
        ["pandoc", "-f", "gfm", "-t", "html"], input=text, capture_output=True, text=True, check=True
    )
    said, tags = read_page(done.stdout)
    assert not tags & {"script", "a", "code", "b", "i", "u"}
    assert all(name in said for name in visible_nasty())


def test_markdown_escapes_what_it_would_read():
    text = paper_table(nasty_facts()).to_markdown()
    assert "<script>" not in text and "&lt;script&gt;" in text
    assert r"\*bold\* \_it\_ \`code\` \[a\](b) \| c" in text


def test_word_shows_names_as_text(tmp_path):
    docx = pytest.importorskip("docx", reason="python-docx is not installed")
    path = paper_table(nasty_facts()).to_word(tmp_path / "table.docx")
    cells = [row.cells[0].text.strip() for row in docx.Document(str(path)).tables[0].rows]
    assert all(name in cells for name in visible_nasty())


def test_text_stays_in_its_lines():
    text = summarise(nasty_facts()).as_text()
    assert "\x1b" not in text and "\u202e" not in text
    assert any(line.lstrip().startswith("line\\nbreak") for line in text.splitlines())


def test_every_caveat_is_in_every_table():
    facts = shown.facts()
    table = paper_table(facts)
    for text in (
        str(summarise(facts)).replace("\n    ", " "), summarise(facts).as_html(), summarise(facts).as_latex(),
        summarise(facts).as_csv(), table.to_latex(), table.to_markdown(), table.to_html(), table.to_csv(),
        table.to_text(), csv_of(facts), compare_fits({"one": Shown(facts)}).to_markdown(),
    ):  # fmt: skip
        for note in shown.NOTES:
            assert note in text


def test_levels_stand_under_their_term_and_adjusting_ones_apart():
    lines = summarise(shown.facts()).as_text().splitlines()
    names = [
        line.split("  ")[0] if not line.startswith(" ") else line.strip().split("  ")[0] for line in lines
    ]
    here = names.index("C(site)")
    assert lines[here + 1].startswith("  site[A]") and lines[here + 3].startswith("  site[C]")
    assert lines[here].split()[1:] == ["0.220", "0.100", "0.300", "0.001", "0.002", "strong"]
    block = names.index("adjusted for")
    assert block > names.index("regular features") and names.index("privileged features") > block
    # a coefficient, a range, a sign, and no class
    assert lines[block + 1].split() == ["smoker", "0.310", "0.200", "0.420", "+"]
    row = next(row for row in paper_table(shown.facts()).rows if row.stub == "smoker")
    assert row.cells == ("0.310", "", "", "0.200", "0.420", "", "", "", "+")


def test_groups_say_what_is_needed_together():
    text = groups_table(shown.groups()).to_markdown()
    assert (
        "| 2 | crp, bs(bmi, 2) | 0.100 | 0.300 | strong | each is replaceable, together they are needed |"
        in text
    )


def test_stability_says_how_far_bounds_move():
    rows = {row.stub: row for row in stability_table(shown.stability()).rows}
    assert rows["age"].cells == ("strong", "0.70", "0.000 to 0.200", "0.000 to 0.200")
    assert rows["site[A]"].kind == "inner" and "smoker" not in rows


def test_imputed_tables_show_how_bounds_move():
    moving = shown.table().assign(lower_moves=0.01, upper_moves=0.02)
    text = str(summarise(shown.facts(table=moving, columns=("upper", "lower_moves", "upper_moves"))))
    assert "(moves" in text and "moves)" in text and "0.020" in text


def test_p_values_are_never_smaller_than_the_permutations_can_show():
    table = shown.table()
    table["p_adjusted"] = 1e-24
    text = paper_table(shown.facts(table=table, smallest_p=1 / 51), columns=["p_adjusted"]).to_markdown()
    assert "&lt;0.02" in text and "0.000" not in text


def test_escapes():
    assert escape_latex("a_b%") == r"a\_b\%"
    assert escape_latex("β Ω") == r"\ensuremath{\beta} \ensuremath{\Omega}"
    assert "x\\|y" in PaperTable(("a", "b"), (PaperRow("x|y", ("1",)),), (True,)).to_markdown()
    assert "&lt;0.001" in AWKWARD.to_html()


def test_markdown_is_a_rectangle():
    for table in (AWKWARD, paper_table(shown.facts())):
        lines = [line for line in table.to_markdown().splitlines() if line.startswith("|")]
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
        assert counts == {len(table.heads) + 1}


def test_html_is_well_formed():
    seen = parse(AWKWARD.to_html())
    assert sum(tag == "tr" for tag, _ in seen) == 2 + len(AWKWARD.rows) + 1
    parse(severity().to_html(caption="x < y"))


def test_csv_has_every_digit():
    fit = severity()
    again = pd.read_csv(io.StringIO(fit.to_csv()), index_col="feature", float_precision="round_trip")
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
        with pytest.raises(rb.RelboundsError, match="does not exist"):
            getattr(fit, f"to_{kind}")(tmp_path / "nowhere" / "table")
    with pytest.raises(rb.RelboundsError, match="does not exist"):
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
    facts, held = shown.facts(), shown.what_if()
    both = compare_fits({"all": Shown(facts), "no crp": Shown(held)})
    assert both.table.loc["crp", ("all", "upper")] == 0.2
    assert both.facts.loc["Observations"].tolist() == ["100", "100"]
    text = repr(both)
    assert text.splitlines()[0].split() == ["all", "no", "crp"]
    assert "**" in text and "[0.000, 0.000]\n" in text
    parse(both.to_html())
    assert both.to_csv(notes=False).splitlines()[0] == ",all,no crp"
    assert r"\begin{tabular}{lrr}" in both.to_latex()


def test_compare_fits_of_different_formulas():
    one = shown.facts(table=shown.table().drop(["biopsy", "crp"]))
    two = shown.facts(table=shown.table().drop("age"))
    both = compare_fits({"one": Shown(one), "two": Shown(two)})
    assert both.table["one"].loc["biopsy"].isna().all()
    text = both.to_markdown()
    assert "*privileged features*" in text
    row = next(line for line in text.splitlines() if line.startswith("| biopsy"))
    assert row.split("|")[2].strip() == "-"
    # levels stay with their term, whichever fit came first
    stubs = [row.stub for row in both.paper().rows]
    assert stubs[stubs.index("C(site)") :][:4] == ["C(site)", "site[A]", "site[B]", "site[C]"]


def test_compare_fits_of_real_fits():
    both = rb.compare_fits({"one": copies(), "two": privileged()})
    assert "Strong/weak/irrelevant" in repr(both)


def test_compare_fits_refuses_nonsense():
    with pytest.raises(rb.OptionError, match="mapping"):
        rb.compare_fits([copies()])
    with pytest.raises(rb.OptionError, match="not a fit"):
        rb.compare_fits({"a": 3})


@pytest.mark.parametrize("make", [severity, privileged, regression])
def test_report_is_one_file_without_links_outside(make, tmp_path):
    fit = make()
    path = fit.write_report(tmp_path / "report.html", title="A & B", groups=False, interactive=False)
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
    for heading in ("Summary", "Relevance", "Model", "Data", "Settings", "Methods", "How to cite"):
        assert f"<h2>{heading}</h2>" in text


def test_report_with_everything(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = copies().write_report(
            tmp_path / "report.html", groups=True, sweep=True, stability=2, interactive=True
        )
    text = path.read_text(encoding="utf-8")
    for heading in ("What if?", "Groups", "Tolerance", "Stability"):
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


def test_a_report_shows_names_as_text(tmp_path):
    from relbounds.show.figures.bounds import plot_bounds
    from relbounds.show.report import (
        figure_block,
        methods_section,
        summary_section,
        table_section,
        write_page,
    )

    facts = nasty_facts()
    drawn = figure_block(plot_bounds(facts), "A <figure> of $ and --> names")
    sections = [summary_section(facts), table_section(facts, "Relevance", drawn), methods_section(facts)]
    text = write_page(facts, sections, tmp_path / "report.html", title="<h1>x</h1>").read_text(
        encoding="utf-8"
    )
    said, tags = read_page(text)
    parse(text)
    assert not tags & {"script", "b", "i", "u"} and "<h1>x</h1>" in said
    assert all(name in said for name in visible_nasty())
