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
    "Beside other tools": ["methods", "vs_fri", "peers", "vs_boruta"],
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
        text = re.sub(r"\]\((?:benchmarks/results/|results/)?(\w+)\.csv\)", r"](\1.csv)", text)
        for figure in re.findall(r"!\[[^\]]*\]\(([\w.-]+)\)", text):
            if (results / figure).exists():
                shutil.copy(results / figure, folder)
            else:  # rows may be measured anew before their figure is drawn
                print(f"{path.name} shows {figure}, which is not there: left out.")
                text = re.sub(rf"!\[[^\]]*\]\({re.escape(figure)}\)\n?", "", text)
        (folder / f"{name}.md").write_text(_levels(text), encoding="utf-8")
    lines, listed = [HEAD], []
    rest = [name for name in tables if not any(name in names for names in SECTIONS.values())]
    for heading, names in {**SECTIONS, "More": rest}.items():
        there = [name for name in names if name in tables]
        if there:
            lines += [f"## {heading}", "", *(f"- [{titles[name]}]({name}.md)" for name in there), ""]
            listed += there
    lines += ["```{toctree}", ":hidden:", "", *listed, "```", ""]
    (folder / "index.md").write_text("\n".join(lines), encoding="utf-8")


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
