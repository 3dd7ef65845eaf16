"""Every public name of both languages has a place in the reference; `make docs` looks for it in the built pages."""

import re
import sys
from pathlib import Path

import pytest

import relbounds as rb

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "docs" / "tools").exists():
    pytest.skip("The documentation is not part of this distribution.", allow_module_level=True)
sys.path.insert(0, str(ROOT / "docs" / "tools"))

import browser_checks  # noqa: E402
import command_line  # noqa: E402
import python_reference  # noqa: E402
import r_reference  # noqa: E402
import site_checks  # noqa: E402


def test_every_name_of_python_has_a_page(tmp_path):
    python_reference.write(tmp_path)
    text = "\n".join(path.read_text() for path in tmp_path.glob("*.md"))
    for name in python_reference.public_names():
        if name in ("datasets", "simulate", "metrics"):
            assert (tmp_path / f"{name}.md").exists()
        else:
            assert re.search(rf"(auto\w+|py:data):: relbounds\.{re.escape(name)}$", text, re.M), name
    index = (tmp_path / "index.md").read_text()
    assert all(f"({path.name})" in index for path in tmp_path.glob("*.md") if path.stem != "index")


def test_every_export_of_r_has_a_help_page_and_every_help_page_a_place():
    package = ROOT / "r-package"
    helped = {
        alias: path.stem
        for path in (package / "man").glob("*.Rd")
        for alias in re.findall(r"^\\alias\{(.*)\}$", path.read_text(), re.M)
    }
    exported = r_reference.exports(package)
    assert exported and [name for name in exported if name not in helped] == []
    listed = {helped.get(name, name) for _, names in r_reference._sections(package) for name in names}
    assert {path.stem for path in (package / "man").glob("*.Rd")} <= listed


def test_every_flag_is_explained(tmp_path):
    command_line.write(tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "--frequency" in command_line.flags()
    assert [flag for flag in command_line.flags() if not re.search(rf"`[^`]*{flag}\b", text)] == []


def test_broken_links_and_bare_pictures_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="top">A</h1><a href="b.html#there"></a><img src="a.png">')
    (tmp_path / "b.html").write_text(
        '<a href="a.html#top"></a><a href="c.html"></a><script src="https://x.y/z.js"></script>'
    )
    found = site_checks.read(tmp_path)
    assert sorted(site_checks.broken_links(tmp_path, found)) == [
        "a.html: a.png leads nowhere",
        "a.html: b.html#there has no such place",
        "b.html: c.html leads nowhere",
    ]
    assert site_checks.faulty_pages(tmp_path, found) == [
        "a.html: a.png has no words",
        "b.html: loads https://x.y/z.js",
    ]


def test_wide_pages_and_pictures_that_do_not_load_are_seen(tmp_path):
    pytest.importorskip("selenium")
    head = '<!DOCTYPE html><meta name="viewport" content="width=device-width"><main>'
    (tmp_path / "good.html").write_text(
        f"{head}<p>words</p><pre style='overflow-x: auto'>{'wide ' * 99}</pre>"
    )
    (tmp_path / "wide.html").write_text(f"{head}<div style='width: 900px'>words</div>")
    (tmp_path / "bare.html").write_text(f"{head}<img src='nothing.png'>")
    with browser_checks.opened() as browser:
        if browser is None:
            pytest.skip("no browser (Debian: chromium chromium-driver)")
        found = browser_checks.narrow(browser, tmp_path)
    assert {line.partition(":")[0] for line in found} == {"wide.html", "bare.html"}
    assert any("wider than a phone" in line for line in found)
    assert any("does not show" in line for line in found)


def test_errors_are_listed():
    assert [name for name in rb.__all__ if name.endswith(("Error", "Warning"))] == python_reference.ERRORS
