"""The pages of the site, as far as they can be read without running them; `make docs` runs them all."""

import ast
import re
import sys
from pathlib import Path

import pytest

import relbounds as rb

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "docs" / "tools").exists():
    pytest.skip("The documentation is not part of this distribution.", allow_module_level=True)
sys.path.insert(0, str(ROOT / "docs" / "tools"))

import pages  # noqa: E402
from knit_python import Session, knit  # noqa: E402

GUIDES = sorted((ROOT / "vignettes").glob("*.Rmd"))
RUN = pages.sources(ROOT)


def chunks(path, language, shown=False):
    found = re.findall(rf"^```\{{{language}([^}}]*)\}}\n(.*?)^```$", path.read_text(), flags=re.S | re.M)
    return [code for head, code in found if not (shown and "include = FALSE" in head)]


@pytest.mark.parametrize("path", GUIDES, ids=lambda p: p.stem)
def test_guides_show_both_languages_and_their_limits(path):
    assert chunks(path, "python") and re.search(r"^library\(relbounds\)$", "\n".join(chunks(path, "r")), re.M)
    assert "## Limits" in path.read_text()


@pytest.mark.parametrize("path", RUN.values(), ids=lambda p: p.stem)
def test_python_chunks_are_valid_python(path):
    for chunk in chunks(path, "python"):
        ast.parse(chunk)


@pytest.mark.parametrize("path", RUN.values(), ids=lambda p: p.stem)
def test_code_fits_between_the_sidebars(path):
    for language in ("python", "r", "bash"):
        for chunk in chunks(path, language, shown=True):
            assert [line for line in chunk.splitlines() if len(line) > 92] == []


def test_every_guide_is_listed():
    listed = (ROOT / "docs" / "guides" / "index.md").read_text()
    assert [path.stem for path in GUIDES if f"]({path.stem}.md)" not in listed] == []


def test_every_figure_has_words():
    for path in RUN.values():
        for head, body in re.findall(
            r"^```\{(?:python|r)([^}]*)\}\n(.*?)^```$", path.read_text(), re.S | re.M
        ):
            if "fig.width" in head or "plt.show()" in body:
                assert "fig.alt" in head or "fig.cap" in head, f"{path.name}: {body[:80]}"


def test_every_figure_is_in_the_gallery():
    gallery = (ROOT / "docs" / "gallery.Rmd").read_text()
    python = [name for name in dir(rb.RelboundsResults) if name.startswith("plot")]
    exported = re.findall(r"^export\((plot_\w+)\)$", (ROOT / "r-package" / "NAMESPACE").read_text(), re.M)
    assert [name for name in python if f".{name}(" not in gallery] == []
    assert exported and [name for name in exported if f"\n{name}(" not in gallery] == []
    for made_by in ("svor", "forest_relevance", "cheapest", "compare_fits"):  # answers that R draws
        assert f"plot({made_by}(" in gallery


@pytest.mark.parametrize("name", ["README.md", "docs/architecture.md", "docs/method.md", "docs/solver.md"])
def test_python_blocks_of_other_pages_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from relbounds.linear.families import FAMILIES

    known = dict(FAMILIES)
    try:
        for block in re.findall(r"^```python\n(.*?)^```$", (ROOT / name).read_text(), re.S | re.M):
            exec(compile(block, name, "exec"), {})
    finally:  # architecture.md registers a family
        FAMILIES.clear()
        FAMILIES.update(known)


def test_neighbours_of_two_languages_become_tabs():
    python, r = "<!-- chunk python -->\na\n<!-- end -->", "<!-- chunk r -->\nb\n<!-- end -->"
    tabbed = pages.tabs(f"before\n{python}\n\n{r}\nafter")
    assert tabbed.count("{tab-item}") == 2 and ":sync: python" in tabbed and ":sync: r" in tabbed
    assert "{tab-item}" not in pages.tabs(f"{python}\nwords\n{r}")


def test_a_page_knits_without_r(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.Rmd"
    page.write_text(
        "x is `r sprintf(\"%.1f\", py$x$low)`\n\n```{python}\nx = {'low': 0.25}\nx\n```\n\n"
        'x is `r sprintf("%.2f", 2 * py$x$low)`\n\n```{r}\nplot(fit)\n```\n'
    )
    text = knit(page)
    assert (
        "x is 0.50" in text
        and "{'low': 0.25}" in text
        and "plot(fit)" in text
        and "R was not installed" in text
    )


def test_what_cannot_be_worked_out_without_r_stands_as_it_is():
    session = Session("page")
    session.values["shares"] = [0.5, 0.25]
    assert session.inline("py$shares[[2]]") == "0.25"
    assert session.inline("paste(letters)") == "`paste(letters)`"
