"""The cheat sheet: one page, both languages, as HTML and, where Chromium is, as PDF."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import tomllib
from pathlib import Path

from jinja2 import Environment

from relbounds.version import __version__

FORMULA = "severity ~ age + sex + bmi + crp + esr + il6"
PRINTED = "relbounds-cheat-sheet.pdf"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


def read(folder: Path) -> dict:
    """Return sections and options of the sheet."""
    return tomllib.loads((folder / "sheet.toml").read_text(encoding="utf-8"))


def write(folder: Path, source: Path) -> None:
    """Write the sheet, its PDF and the page that links to them."""
    sheet = read(folder)
    template = Environment(autoescape=True, trim_blocks=False).from_string(
        (folder / "template.html").read_text(encoding="utf-8")
    )
    page = template.render(
        version=__version__, formula=FORMULA, sections=sheet["section"], options=sheet["options"]
    )
    out = source / "extra" / "cheat-sheet"  # what Sphinx copies as it stands
    out.mkdir(parents=True, exist_ok=True)
    (out / "sheet.html").write_text(page, encoding="utf-8")
    links = '- <a href="sheet.html">The sheet</a>\n'
    browser = find_browser()
    if browser is None:
        print("The PDF of the cheat sheet is skipped: Chromium is not installed.")
        links += "- The PDF is missing: Chromium was not installed. Print the sheet instead.\n"
    else:
        count = print_pdf(browser, out / "sheet.html", out / PRINTED)
        if count != 1:
            raise SystemExit(f"The cheat sheet has {count} pages; it must fit on one.")
        links += f'- <a href="{PRINTED}">As PDF, one page A4</a>\n'
    text = (folder / "index.md").read_text(encoding="utf-8")
    (source / "cheat-sheet").mkdir(exist_ok=True)
    (source / "cheat-sheet" / "index.md").write_text(text.replace("{{ links }}", links), encoding="utf-8")


def find_browser() -> str | None:
    """Return where Chromium is, if it is."""
    return next((found for name in CHROMIUM if (found := shutil.which(name))), None)


def print_pdf(browser: str, page: Path, pdf: Path) -> int:
    """Print a page and return how many sheets it took."""
    with tempfile.TemporaryDirectory() as profile:
        command = [
            browser,
            *FLAGS,
            f"--user-data-dir={profile}",
            "--no-pdf-header-footer",
            f"--print-to-pdf={pdf}",
        ]
        subprocess.run([*command, page.resolve().as_uri()], check=True, capture_output=True, timeout=300)
    return len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes()))
