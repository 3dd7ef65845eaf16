"""Files are written whole or not at all: first under another name beside their place, then renamed."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import Any

from relbounds.checks import shown
from relbounds.errors import OutputError


def write_whole(path: str | Path, content: str | bytes) -> Path:
    """Write a file so that its place holds either all of the new content or what was there before.

    Parameters
    ----------
    path : str or Path
        Where to; a symbolic link is followed, a pipe or a terminal is written to as it is.
    content : str or bytes
        Text is written as UTF-8.

    Returns
    -------
    Path
        The path as given.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(folder + "/note.txt", "all of it").read_text()
    'all of it'
    """
    target = check_target(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        if target.exists() and not target.is_file():
            # a pipe or a device: there is nothing to rename
            target.write_bytes(data)
        else:
            _replace(target.resolve(), data)
    except OSError as error:
        raise _trouble(path, error) from error
    return Path(path)


def check_target(path: Any, called: str = "") -> Path:
    """Return a path that a file can be written to, or say why none can; `called` is put before the path.

    Examples
    --------
    >>> check_target("no/such/folder/table.tex")
    Traceback (most recent call last):
    ...
    relbounds.errors.OutputError: no/such/folder/table.tex: the folder 'no/such/folder' does not exist.
    """
    try:
        target = Path(path)
    except TypeError:
        raise OutputError(f"{called or 'The path'} must be text or a Path, not {shown(path)}.") from None
    named = f"{called} {path}" if called else f"{path}"
    if not str(path) or "\0" in str(path):
        raise OutputError(f"{called or 'The path'} {str(path)!r} names no file.")
    try:
        if target.is_dir():
            raise OutputError(f"{named}: this is a folder; give the name of a file in it.")
        folder = target.resolve().parent
        if not folder.is_dir():
            raise OutputError(f"{named}: the folder '{target.parent}' does not exist.")
        if target.exists() and not os.access(target, os.W_OK):
            raise OutputError(f"{named}: this file must not be written to.")
        if (not target.exists() or target.is_file()) and not os.access(folder, os.W_OK | os.X_OK):
            raise OutputError(f"{named}: nothing may be written into the folder '{target.parent}'.")
    except (OSError, RuntimeError) as error:  # a name too long, or links that go in a circle
        raise _trouble(path, error) from error
    return target


def _replace(target: Path, data: bytes) -> None:
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".relbounds-", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # a full disk may show only now
        with contextlib.suppress(OSError):  # file systems without permissions
            os.chmod(name, mode)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    # there is no way to ask for it without setting it
    current = os.umask(0o077)
    os.umask(current)
    return current


def _trouble(path: Any, error: Exception) -> OutputError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return OutputError(f"{path}: it could not be written ({reason}); nothing was changed.")
