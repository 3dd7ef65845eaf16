"""One page for every public name of the Python package; Sphinx fills them from the docstrings."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import relbounds as rb

# In the order in which a reader needs them.
SECTIONS = {
    "Fit": ["relbounds", "svor", "forest_relevance", "published", "fit_design"],
    "Results": ["RelboundsResults", "SvorResults", "ForestResults"],
    "Files and tables": ["load", "compare_fits", "Comparison"],
    "Data": ["datasets", "simulate", "metrics"],
    "Other faces": ["sklearn"],
    "What questions answer": [
        "explore.together.Together",
        "explore.groups.Groups",
        "explore.cheapest.Choice",
        "explore.sweep_delta.Sweep",
        "explore.stability.Stability",
        "explore.risk.RiskBound",
        "results.BaselineView",
        "show.explorer.server.Explorer",
    ],
}
ERRORS = [name for name in rb.__all__ if name.endswith(("Error", "Warning"))]
SKLEARN = ["RelboundsClassifier", "RelboundsRegressor"]


def public_names() -> list[str]:
    """Return every public name, methods and properties included, as it is written after ``relbounds.``."""
    names = [name for name in rb.__all__ if not name.startswith("_")]
    for name in list(names):
        thing = getattr(rb, name)
        if inspect.ismodule(thing):
            names += [f"{name}.{inner}" for inner in thing.__all__]
        elif inspect.isclass(thing) and name not in ERRORS:
            names += [f"{name}.{member}" for member in _members(thing)]
    return names + [f"sklearn.{name}" for name in SKLEARN]


def write(folder: Path) -> None:
    """Write the pages and their index."""
    folder.mkdir(parents=True, exist_ok=True)
    index = ["# Python", "", "```python", "import relbounds as rb", "```", ""]
    made = []
    for heading, names in SECTIONS.items():
        index += [f"## {heading}", ""]
        for name in names:
            page = name.rsplit(".", 1)[-1] if name.startswith(("explore.", "results.", "show.")) else name
            index.append(f"[`{page}`]({page}.md)\n: {_first_line(name)}\n")
            (folder / f"{page}.md").write_text(_page(name, page), encoding="utf-8")
            made.append(page)
    index += ["## Errors", "", f"[All of them](errors.md)\n: {', '.join(f'`{name}`' for name in ERRORS)}\n"]
    (folder / "errors.md").write_text(_errors(), encoding="utf-8")
    index += ["```{toctree}", ":hidden:", "", *made, "errors", "```", ""]
    (folder / "index.md").write_text("\n".join(index), encoding="utf-8")


def _find(name: str) -> Any:
    module, _, last = name.rpartition(".")
    if name == "sklearn":
        return import_module("relbounds.sklearn")
    return getattr(import_module(f"relbounds.{module}") if module else rb, last)


def _first_line(name: str) -> str:
    if name == "published":
        return "The settings of the papers: `rb.relbounds(formula, data, **rb.published)`."
    return (inspect.getdoc(_find(name)) or "").partition("\n\n")[0].replace("\n", " ").replace("``", "`")


def _members(kind: type) -> list[str]:
    return [name for name in dir(kind) if not name.startswith("_")]


def _page(name: str, shown: str) -> str:
    thing = _find(name)
    full = f"relbounds.{name}"
    lines = [f"# {shown}", "", "```{eval-rst}"]
    if name == "published":
        lines += _published()
    elif inspect.ismodule(thing):
        names = SKLEARN if name == "sklearn" else list(thing.__all__)
        lines += [
            f".. automodule:: {full}",
            "   :no-members:",
            "   :no-index:",
            "",
            f".. currentmodule:: {full}",
            "",
        ]
        lines += ["```", ""]
        for inner in names:
            inside = getattr(thing, inner)
            lines += [f"## {inner}", "", "```{eval-rst}", f".. currentmodule:: {full}", ""]
            lines += (
                _class(f"{full}.{inner}", inside)
                if inspect.isclass(inside)
                else [f".. autofunction:: {full}.{inner}"]
            )
            lines += ["```", ""]
        lines = lines[:-2]
    elif inspect.isclass(thing):
        lines += _class(full, thing)
    else:
        lines += [f".. autofunction:: {full}"]
    return "\n".join([*lines, "```", ""])


def _class(full: str, kind: type) -> list[str]:
    members = _members(kind)
    if full.startswith("relbounds.sklearn."):
        members = ["fit", "predict", "decision_function", "transform", "get_support"]
        members = [name for name in members if hasattr(kind, name)]
    methods = [name for name in members if callable(getattr(kind, name))]
    facts = [name for name in members if name not in methods]
    out = [f".. autoclass:: {full}", ""]
    for heading, names in (("Facts", facts), ("Methods", methods)):
        if names:
            out += [f"   .. rubric:: {heading}", ""]
            out += [line for name in names for line in _entry(full, kind, name)] + [""]
    out += [f"   .. autoattribute:: {full}.{name}" for name in facts]
    out += [f"   .. automethod:: {full}.{name}" for name in methods]
    return out


def _entry(full: str, kind: type, name: str) -> list[str]:
    """Return a line of the list of members: what it is called and its first sentence."""
    member = inspect.getattr_static(kind, name)
    member = getattr(member, "func", getattr(member, "fget", None) or member)  # properties, cached ones too
    said = (inspect.getdoc(member) or "").partition("\n\n")[0].replace("\n", " ")
    return [f"   - :py:obj:`{name} <{full}.{name}>`: {said}"]


def _published() -> list[str]:
    said = "\n".join(f"   - ``{key} = {value!r}``" for key, value in rb.published.items())
    return [
        ".. py:data:: relbounds.published",
        "",
        "   The settings of the papers, as a dictionary: ``rb.relbounds(formula, data, **rb.published)``.",
        "",
        said,
        "",
        "   >>> import relbounds as rb",
        '   >>> rb.published["control"]',
        "   'published'",
    ]


def _errors() -> str:
    lines = ["# Errors", "", "Each says what is wrong, where, and what to do next.", "", "```{eval-rst}"]
    for name in ERRORS:
        lines += [f".. autoexception:: relbounds.{name}", "   :show-inheritance:", ""]
    return "\n".join([*lines, "```", ""])
