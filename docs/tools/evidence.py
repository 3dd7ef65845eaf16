"""The evidence pages: every table of benchmarks/results as it was written by the command that made it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

# What a reader asks, and the tables that answer; tables that are not named here come last.
SECTIONS = {
    "Is what is promised kept?": ["calibration", "factors", "forest_calibration"],
    "Does it find what is there?": [
        "published",
        "groups",
        "power",
        "tolerance",
        "real_terms",
        "real",
        "real_2018",
    ],
    "Beside other tools": ["methods", "vs_fri"],
    "Privileged features": [
        "privileged_pays",
        "privileged_ways",
        "privileged_sets",
        "privileged_semantic",
        "privileged_time",
    ],
    "Kernel machines and forests": ["svor_published", "svor_slacks", "svor_scaling", "svor_speed", "forest"],
    "Time": ["scaling", "real_speed", "speed"],
}
HEAD = """# Evidence

Every table here was printed by a command of `benchmarks/` and is shown as it was written. A table says with which
version it was made where that is not the present one. Times are processor seconds.
"""


def write(results: Path, folder: Path) -> None:
    """Write one page a table, and an index by question."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = {path.stem: path for path in sorted(results.glob("*.md")) if not path.stem.endswith("_notes")}
    titles = {}
    for name, path in tables.items():
        text = path.read_text(encoding="utf-8")
        notes = results / f"{name}_notes.md"
        if notes.exists() and notes.read_text(encoding="utf-8").strip() not in text:
            text = f"{text.rstrip()}\n\n{notes.read_text(encoding='utf-8')}"
        titles[name] = re.match(r"# (.*)", text)[1]
        for figure in re.findall(r"!\[[^\]]*\]\(([\w.-]+)\)", text):
            if (results / figure).exists():
                shutil.copy(results / figure, folder)
            else:  # rows may be measured anew before their figure is drawn
                print(f"{path.name} shows {figure}, which is not there: left out.")
                text = re.sub(rf"!\[[^\]]*\]\({re.escape(figure)}\)\n?", "", text)
        (folder / f"{name}.md").write_text(_levels(text), encoding="utf-8")
    (folder / "measured.txt").write_text(measured(results), encoding="utf-8")
    lines, listed = [HEAD], []
    rest = [name for name in tables if not any(name in names for names in SECTIONS.values())]
    for heading, names in {**SECTIONS, "More": rest}.items():
        there = [name for name in names if name in tables]
        if there:
            lines += [f"## {heading}", "", *(f"- [{titles[name]}]({name}.md)" for name in there), ""]
            listed += there
    lines += ["```{toctree}", ":hidden:", "", *listed, "```", ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


def measured(results: Path) -> str:
    """Return a table of the error rates, all rows of a section of calibration.md together."""
    text = (results / "calibration.md").read_text(encoding="utf-8")
    lines = ["| data | alpha | share with an error (95 % interval) | data sets |", "|---|---|---|---|"]
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        found = re.search(r"^All rows at alpha ([\d.]+) together: (.*) of (\d+) data sets", section, re.M)
        if found:
            lines.append(f"| {section.partition(chr(10))[0]} | {found[1]} | {found[2]} | {found[3]} |")
    if len(lines) == 2:
        raise SystemExit("calibration.md no longer says what all rows of a section have in common.")
    return "\n".join([*lines, ""])


def lead(text: str, depth: int) -> str:
    """Return the text of a page `depth` folders deep, with links to benchmarks/results leading to these pages."""
    return re.sub(
        r"\]\((?:\.\./)*benchmarks/results/([\w.-]+(?:#[\w-]*)?)\)", rf"]({'../' * depth}evidence/\1)", text
    )


def _levels(text: str) -> str:
    """Return the text without jumps between heading levels, which a table of contents cannot have."""
    out, depth, fenced = [], 0, False
    for line in text.splitlines():
        fenced ^= line.startswith("```")
        heading = re.match(r"(#+) (.*)", line)
        if heading and not fenced:
            level = min(len(heading[1]), depth + 1)
            depth = level
            line = f"{'#' * level} {heading[2]}"
        out.append(line)
    return "\n".join(out) + "\n"
