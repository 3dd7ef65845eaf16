"""One page for every help page of the R package, in the order of its index."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

TOOLS = Path(__file__).resolve().parent


def exports(package: Path) -> list[str]:
    """Return what the R package exports."""
    return re.findall(r"^export\((\w+)\)$", (package / "NAMESPACE").read_text(), re.M)


def write(package: Path, folder: Path) -> None:
    """Write the pages and their index; where R is absent, a page that says so."""
    folder.mkdir(parents=True, exist_ok=True)
    rscript = shutil.which("Rscript")
    if rscript is None:
        print("The R reference is skipped: R is not installed.")
        said = "R was not installed where this site was built, so that the help pages of the R package are missing."
        (folder / "index.md").write_text(f"# R\n\n{said}\n", encoding="utf-8")
        return
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([rscript, str(TOOLS / "rd.R"), str(package / "man"), scratch], check=True)
        rows = [line.split("\t") for line in (Path(scratch) / "pages.tsv").read_text().splitlines()]
        for page in Path(scratch).glob("*.md"):
            shutil.copy(page, folder)
    homes = {alias: page for page, _, aliases in rows for alias in aliases.split()}
    titles = {page: title for page, title, _ in rows}
    lines = ["# R", "", "```r", "library(relbounds)", "```", ""]
    listed: list[str] = []
    for heading, names in _sections(package):
        lines += [f"## {heading}", ""]
        for page in dict.fromkeys(homes.get(name, name) for name in names):
            lines.append(f"[`{page}`]({page}.md)\n: {titles[page]}\n")
            listed.append(page)
    missing = sorted(set(titles) - set(listed))
    if missing:
        raise SystemExit(f"r-package/_pkgdown.yml does not list these help pages: {', '.join(missing)}")
    (folder / "index.md").write_text(
        "\n".join([*lines, "```{toctree}", ":hidden:", "", *listed, "```", ""]), encoding="utf-8"
    )
    for page, _, aliases in rows:  # every name can be linked to and searched for
        text = (folder / f"{page}.md").read_text(encoding="utf-8")
        anchors = "".join(f"(r-{alias})=\n" for alias in aliases.split() if re.fullmatch(r"[\w.]+", alias))
        others = ", ".join(f"`{alias}`" for alias in aliases.split() if alias != page)
        title, _, rest = text.removeprefix("# ").partition("\n")
        head = f"# {page}\n\n**{title}**" + (f"\n\nAlso on this page: {others}." if others else "")
        (folder / f"{page}.md").write_text(f"{anchors}{head}\n{rest}", encoding="utf-8")


def _sections(package: Path) -> list[tuple[str, list[str]]]:
    """Return headings and pages of the index that pkgdown would make."""
    text = (package / "_pkgdown.yml").read_text(encoding="utf-8").split("reference:")[1].split("articles:")[0]
    found = re.findall(r"- title: (.*)\n\s+contents: (.*)", text)
    return [(title.strip(), re.findall(r"[\w.-]+", contents)) for title, contents in found]
