"""Every measured figure in README.md and on the pages of the site stands in the results file that its block links to.

The convention: a block (paragraph, list item or table) that quotes a measured number links to one or more files
``benchmarks/results/NAME.md`` (which the site shows as its evidence), itself or through the block right before it. Each
number of the block must occur in those files, exactly or rounded as the page rounds it. Code, inline code, link
targets, versions and licences are not figures; nor are settings, which pages that define them may name without a link.

Notes (``NAME_notes.md``) say what the tables of ``NAME.md`` show, and are written into that file when it is made: their
figures must stand in the rest of it.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"
NOTES = [RESULTS / f"{name}_notes.md" for name in ("methods", "real", "privileged_pays", "published")]
# Pages with code (.Rmd) work their numbers out.
PAGES = [README, *(page for page in sorted((ROOT / "docs").glob("**/*.md")) if "_build" not in page.parts)]
LINK = re.compile(r"\((?:\.\./)*benchmarks/results/([\w.-]+\.(?:md|csv))(?:#[\w-]*)?\)")
# Numbers that pages define, promise or make up for an example, by page.
SETTINGS = {
    "comparison.md": {"0.001"},
    "explorer.md": {"127.0", "0.0005"},
    "faq.md": {"0.001", "0.03", "0.06", "0.40"},
    "glossary.md": {"0.05"},
    "method.md": {"40", "0.68", "0.001", "0.9"},
}
EXEMPT = re.compile(
    r"(?:Python|R|version|fri|Debian|relbounds)[- ]v?\d+(?:\.\d+)*\+?|GPL-\d\.\d|\d{4}-\d\d-\d\d|doi:\S+"
)


def blocks(text):
    """Prose blocks of a Markdown text, code left out."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.S | re.M)
    out = []
    for chunk in re.split(r"\n\s*\n", text):
        if re.search(r"^(    |\t)", chunk) and not re.search(r"^\s*[-*|\d]", chunk):
            continue
        out += re.split(r"\n(?=\s*(?:[-*]|\d+\.) )", chunk)
    return [block for block in out if block.strip()]


def figures(block):
    """Numbers a reader would take for measured: decimals, percentages and times."""
    text = re.sub(r"`[^`]*`", " ", block)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = EXEMPT.sub(" ", text)
    found = []
    for match in re.finditer(r"(?<![\w.-])(\d[\d,]*(?:\.\d+)?)\s?(%|ms\b|s\b|seconds\b|times\b|x\b)?", text):
        number, unit = match.group(1).rstrip(","), match.group(2)
        if "." in number or unit:
            found.append(number)
    return found


def stands_in(number, text):
    """Whether a number occurs in a text, exactly or after rounding to as many digits."""
    value = float(number.replace(",", ""))
    digits = len(number.partition(".")[2])
    for token in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?", text):
        for candidate in (float(token), 100 * float(token)):
            if round(candidate, digits) == value:
                return True
    return False


def claims(page):
    before = ""
    for block in blocks(page.read_text()):
        numbers = [number for number in figures(block) if number not in SETTINGS.get(page.name, ())]
        if numbers:
            yield block, numbers, LINK.findall(block) or LINK.findall(before)
        before = block


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_of_a_page_stands_in_the_results(page):
    for block, numbers, files in claims(page):
        assert files, f"This block quotes {numbers} and links to no file in benchmarks/results:\n{block}"
        paths = [RESULTS / name for name in files]
        paths += [path.with_stem(f"{path.stem}_notes") for path in paths]  # shown under the table
        text = "\n".join(path.read_text() for path in paths if path.exists())
        missing = [number for number in numbers if not stands_in(number, text)]
        assert not missing, f"{missing} do not stand in {files}:\n{block}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_linked_result_exists(page):
    for name in re.findall(r"benchmarks/results/([\w-]+\.\w+)", page.read_text()):
        assert (RESULTS / name).is_file(), f"{page.name} links to a missing file, {name}"


@pytest.mark.parametrize("notes", NOTES, ids=lambda notes: notes.stem)
def test_every_figure_of_notes_stands_in_the_tables_they_belong_to(notes):
    said = notes.read_text().strip()
    page = (RESULTS / f"{notes.stem.removesuffix('_notes')}.md").read_text()
    assert said in page, "The notes were changed after the page was made: run its benchmark with --report."
    rest = page.replace(said, "")
    for block in blocks(said):
        linked = [(RESULTS / name).read_text() for name in re.findall(r"\(([\w-]+\.md)\)", block)]
        missing = [n for n in figures(block) if not stands_in(n, "\n".join([rest, *linked]))]
        assert not missing, f"{missing} do not stand in the tables of {notes.stem}:\n{block}"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("F1 0.95 on Python 3.11, GPL-3.0 ([table](benchmarks/results/a.md))", ["0.95"]),
        ("set 3 has 150 rows", []),
        ("12 % of 300 rows in 5 s", ["12", "5"]),
        ("`delta=0.001` gives 0.6", ["0.6"]),
        ("40 times as fast", ["40"]),
    ],
)
def test_what_counts_as_a_figure(block, expected):
    assert figures(block) == expected


def test_rounding_is_allowed_inventing_is_not():
    assert stands_in("0.95", "| 0.9512 |")
    assert stands_in("95", "| 0.95 |")
    assert not stands_in("0.96", "| 0.9512 |")
