"""A progress bar for long work in a terminal, silence otherwise, or whatever the caller makes of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from relbounds.checks import shown
from relbounds.errors import OptionError

Update = Callable[[int], None]
# Called with the stage's name, the number of pieces done, and how many there are (None: not known).
Hook = Callable[[str, int, int | None], object]


def check_progress(name: str, value: Any) -> bool | Hook | None:
    """Return whether and how to show progress: None, a truth value, or a function.

    Examples
    --------
    >>> check_progress("progress", "yes")
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: progress='yes' must be True, False, None (a bar in a terminal only) or a function of
    stage, done and total.
    """
    if value is None or callable(value):
        return value
    if isinstance(value, bool) or type(value).__name__ == "bool":  # numpy's truth values
        return bool(value)
    raise OptionError(
        f"{name}={shown(value)} must be True, False, None (a bar in a terminal only) or a function of "
        "stage, done and total."
    )


@contextmanager
def stage(name: str, total: int | None, show: bool | Hook | None) -> Iterator[Update]:
    """Show what is being done; yield a function to call with the number of finished pieces.

    Parameters
    ----------
    name : str
        "tuning", "bounds", "probes", ...
    total : int or None
        The number of pieces, None when it is not known beforehand.
    show : bool, callable or None
        None shows the bar only in a terminal, and only once the work has taken a second. A callable is called as
        ``show(name, done, total)``, first with nothing done, then after every piece.

    Examples
    --------
    >>> with stage("bounds", 2, show=lambda *facts: print(facts)) as done:
    ...     done(1)
    ...     done(1)
    ('bounds', 0, 2)
    ('bounds', 1, 2)
    ('bounds', 2, 2)
    """
    if callable(show):
        yield _counting(name, total, show)
        return
    delay = 0.0 if show is not None else 1.0
    show = show if show is not None else sys.stderr.isatty()
    with tqdm(total=total, desc=name, disable=not show, delay=delay, leave=False, file=sys.stderr) as bar:

        def update(pieces: int) -> None:
            bar.update(pieces)

        yield update


def _counting(name: str, total: int | None, show: Hook) -> Update:
    done = 0
    show(name, 0, total)

    def update(pieces: int) -> None:
        nonlocal done
        done += pieces
        show(name, done, total)

    return update
