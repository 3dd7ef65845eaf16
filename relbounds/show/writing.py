"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from relbounds.errors import OptionError


def check_target(path: str | Path) -> Path:
    """Return a path that can be written to, or say why it cannot.

    Examples
    --------
    >>> check_target("nowhere/table.tex")
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: 'nowhere/table.tex' cannot be written: the folder 'nowhere' does not exist.
    """
    path = Path(path)
    folder = path.resolve().parent
    if not folder.is_dir():
        raise OptionError(f"'{path}' cannot be written: the folder '{path.parent}' does not exist.")
    if path.is_dir():
        raise OptionError(f"'{path}' cannot be written: it is a folder; name a file in it.")
    if not os.access(folder, os.W_OK):
        raise OptionError(f"'{path}' cannot be written: nothing may be written to '{folder}'.")
    return path


def write_bytes(content: bytes, path: str | Path) -> Path:
    """Write a file beside its target and move it there, so that no half of it is ever seen."""
    path = check_target(path)
    handle, name = tempfile.mkstemp(prefix=".relbounds-", dir=path.resolve().parent)
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        beside.chmod(0o666 & ~_umask())
        beside.replace(path)
    except OSError as error:
        raise OptionError(f"'{path}' could not be written: {error.strerror or error}.") from error
    finally:
        beside.unlink(missing_ok=True)
    return path


def write_text(text: str, path: str | Path | None) -> str:
    """Return a text, and write it to a file when there is a path."""
    if path is not None:
        write_bytes(text.encode("utf-8"), path)
    return text


def _umask() -> int:
    """Return the permissions that new files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
