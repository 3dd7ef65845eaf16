"""What is asked of the built site: no broken link, a page for every public name, words for every picture."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import command_line
import python_reference
import r_reference


class _Page(HTMLParser):
    """The anchors, links, pictures and foreign scripts of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.bare: list[str] = []  # pictures without words
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what matters of a tag."""
        facts = {name: value or "" for name, value in attrs}
        self.anchors.update(facts[name] for name in ("id", "name") if facts.get(name))
        if tag == "a" and "href" in facts:
            self.links.append(facts["href"])
        if tag in ("img", "script", "iframe") and "src" in facts:
            self.loaded.append(facts["src"])
        if tag == "link" and facts.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(facts["href"])
        if tag == "img" and not facts.get("alt"):
            self.bare.append(facts.get("src", "?"))


def read(site: Path) -> dict[Path, _Page]:
    """Return what every page of the site holds."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.parts:  # parts of the theme
            continue
        page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
        found[path.resolve()] = page
    return found


def check(site: Path, root: Path) -> list[str]:
    """Return every fault of the site, one line each."""
    pages = read(site)
    return [
        *broken_links(site, pages),
        *faulty_pages(site, pages),
        *missing_names(site, root, pages),
    ]


def broken_links(site: Path, pages: dict[Path, _Page]) -> list[str]:
    """Return links to files and anchors that are not there. Addresses outside the site are not visited."""
    out = []
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        for link in [*page.links, *page.loaded]:
            if re.match(r"(https?|mailto|data|javascript):", link):
                continue
            target, anchor = urldefrag(unquote(link))
            file = (path.parent / target.partition("?")[0]).resolve() if target else path
            if file.is_dir():
                file = file / "index.html"
            if not file.exists():
                out.append(f"{where}: {link} leads nowhere")
            elif anchor and file in pages and anchor not in pages[file].anchors:
                out.append(f"{where}: {link} has no such place")
    return out


def faulty_pages(site: Path, pages: dict[Path, _Page]) -> list[str]:
    """Return pages that need a network, have pictures without words, or show what should have been run."""
    out = []
    for path, page in pages.items():
        where = path.relative_to(site.resolve())
        out += [f"{where}: loads {address}" for address in page.loaded if re.match(r"(https?:)?//", address)]
        out += [f"{where}: {picture} has no words" for picture in page.bare]
        text = path.read_text(encoding="utf-8")
        out += [
            f"{where}: {text[m.start() : m.end() + 40]!r} was not run"
            for m in re.finditer(r"`r (?=\w)|<!-- chunk", text)
        ]
    return out


def missing_names(site: Path, root: Path, pages: dict[Path, _Page]) -> list[str]:
    """Return public names of Python, of R and of the command line that have no place in the reference."""
    anchors = {anchor for page in pages.values() for anchor in page.anchors}
    homes = {name: name for name in python_reference.public_names()}
    out = [
        f"Python's {name} has no page"
        for name in homes
        if f"relbounds.{name}" not in anchors
        and not (site / "reference" / "python" / f"{name}.html").exists()
    ]
    if len(list((site / "reference" / "r").glob("*.html"))) > 1:  # R was there
        out += [
            f"R's {name}() has no page"
            for name in r_reference.exports(root / "r-package")
            if f"r-{name}".replace("_", "-").lower() not in {anchor.lower() for anchor in anchors}
        ]
    text = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    out += [
        f"The flag {flag} is not explained"
        for flag in command_line.flags()
        if not re.search(rf"{flag}\b", text)
    ]
    return out
