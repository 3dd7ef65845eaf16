"""Text that is returned, and written to a file where one is named."""

from __future__ import annotations

from pathlib import Path

from relbounds.files import write_whole


def write_text(text: str, path: str | Path | None) -> str:
    """Return a text, and write it to a file when there is a path.

    Examples
    --------
    >>> write_text("a table", None)
    'a table'
    """
    if path is not None:
        write_whole(path, text)
    return text
