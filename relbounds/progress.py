"""A progress bar for long work in a terminal, silence otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

Update = Callable[[int], None]


@contextmanager
def stage(name: str, total: int | None, show: bool | None) -> Iterator[Update]:
    """Show what is being done; yield a function to call with the number of finished pieces.

    Parameters
    ----------
    name : str
        "tuning", "bounds", "probes", ...
    total : int or None
        The number of pieces, None when it is not known beforehand.
    show : bool or None
        None shows the bar only in a terminal, and only once the work has taken a second.

    Examples
    --------
    >>> with stage("bounds", 2, show=False) as done:
    ...     done(1)
    ...     done(1)
    """
    if show is None:
        show = sys.stderr.isatty()
        delay = 1.0
    else:
        delay = 0.0
    with tqdm(total=total, desc=name, disable=not show, delay=delay, leave=False, file=sys.stderr) as bar:

        def update(pieces: int) -> None:
            bar.update(pieces)

        yield update
