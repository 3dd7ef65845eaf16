"""The HTML of tables and reports as jinja2 templates; whatever comes from data is escaped on the way in."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from relbounds.show.escaping import visible

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # loaded when the first page is made
    from markupsafe import Markup

    return Environment(
        loader=PackageLoader("relbounds.show", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # text is shown on one line; what is already markup (a figure, a table) stays as it is
        finalize=lambda value: (
            visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
        ),
    )


def render(name: str, **given: Any) -> str:
    """Return a template of this folder, filled in.

    Examples
    --------
    >>> from relbounds.show.paper_tables import PaperRow, PaperTable
    >>> "&lt;b&gt;" in render("table.html", table=PaperTable(("", "n"), (PaperRow("<b>", ("1",)),), (True,)))
    True
    """
    return _environment().get_template(name).render(**given)


def source(name: str) -> str:
    """Return a file of this folder as it is: a script or a style sheet, in which nothing is filled in.

    Examples
    --------
    >>> source("report.css").startswith(":root")
    True
    """
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def markup(text: str) -> Any:
    """Mark a text as HTML that was made here and needs no escaping."""
    from markupsafe import Markup

    return Markup(text)
