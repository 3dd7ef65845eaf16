"""Short cells of tables stay on one line: numbers with their intervals are read as one."""

from typing import Any

from docutils import nodes

SHORT = 24  # characters


def _mark(app: Any, tree: nodes.document, page: str) -> None:
    for entry in tree.findall(nodes.entry):
        if len(entry.astext()) <= SHORT:
            entry["classes"].append("short")


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx to look at every table."""
    app.connect("doctree-resolved", _mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
