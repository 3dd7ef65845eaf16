"""Builds the documentation site: ``python docs/tools/build.py``, or ``make docs``. No network is used.

Pages are gathered in build/docs/source: those of docs/ as they stand, the ones with code (``.Rmd``, vignettes
included) after running it, the references from docstrings, help pages and the parser, the evidence from
benchmarks/results. Sphinx turns them into docs/_build, where every warning is an error; then every link is followed,
every public name looked up, and every page opened in a browser.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
ROOT = TOOLS.parent.parent
DOCS = ROOT / "docs"
WORK = ROOT / "build" / "docs"
SOURCE = WORK / "source"
FRESH = WORK / "fresh"  # what is gathered, before it takes the place of what was there
SITE = DOCS / "_build"
sys.path.insert(0, str(TOOLS))

import browser_checks  # noqa: E402
import cheatsheet  # noqa: E402
import command_line  # noqa: E402
import evidence  # noqa: E402
import pages  # noqa: E402
import python_reference  # noqa: E402
import r_reference  # noqa: E402
import site_checks  # noqa: E402


def gather(*, stale: bool = False) -> None:
    """Put every page into the source folder; files that did not change are left alone, so that Sphinx skips them."""
    shutil.rmtree(FRESH, ignore_errors=True)
    FRESH.mkdir(parents=True)
    for path in sorted(DOCS.rglob("*")):
        place = path.relative_to(DOCS)
        if path.is_file() and path.suffix != ".Rmd" and not {"_build", "__pycache__"} & set(place.parts):
            (FRESH / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, FRESH / place)
    pages.about(ROOT, FRESH / "about")
    python_reference.write(FRESH / "reference" / "python")
    command_line.write(FRESH / "reference" / "command-line.md")
    r_reference.write(ROOT / "r-package", FRESH / "reference" / "r")
    evidence.write(ROOT / "benchmarks" / "results", FRESH / "evidence")
    cheatsheet.write(DOCS / "cheat-sheet", FRESH)
    pages.run(ROOT, FRESH, WORK / "cache", stale=stale)
    for path in FRESH.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(evidence.lead(text, len(path.relative_to(FRESH).parts) - 1), encoding="utf-8")
    new = {path.relative_to(FRESH) for path in FRESH.rglob("*") if path.is_file()}
    for path in [path for path in SOURCE.rglob("*") if path.is_file()]:
        if path.relative_to(SOURCE) not in new:
            path.unlink()
    for place in new:
        there = SOURCE / place
        if not there.exists() or there.read_bytes() != (FRESH / place).read_bytes():
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(FRESH / place, there)


def show() -> None:
    """Turn the gathered pages into HTML; a warning is an error."""
    from sphinx.cmd.build import build_main

    front, settings = SITE / "index.html", SOURCE / "conf.py"
    anew = not front.exists() or settings.stat().st_mtime > front.stat().st_mtime
    options = [
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "-d",
        str(WORK / "doctrees"),
        *(["-a"] if anew else []),
    ]
    if build_main([*options, str(SOURCE), str(SITE)]):
        raise SystemExit("Sphinx found something to complain about: see above.")


def main() -> None:
    """Build the whole site, and check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stale", action="store_true", help="run no code: show what pages gave before")
    given = parser.parse_args()
    started = time.perf_counter()
    gather(stale=given.stale)
    show()
    problems = [*site_checks.check(SITE, ROOT), *browser_checks.check(SITE)]
    if problems:
        raise SystemExit("\n".join(problems))
    count = len(list(SITE.rglob("*.html")))
    print(
        f"The site: {SITE.relative_to(ROOT)}/index.html, {count} pages, {time.perf_counter() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
