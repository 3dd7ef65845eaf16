"""Running independent tasks in order, on one core, several, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from joblib import Parallel, delayed


def chunks(count: int, size: int) -> list[range]:
    """Return the ranges that cut ``0..count-1`` into pieces of `size`; the cut never depends on `n_jobs`.

    Examples
    --------
    >>> [list(piece) for piece in chunks(5, 2)]
    [[0, 1], [2, 3], [4]]
    """
    return [range(first, min(first + size, count)) for first in range(0, count, size)]


def run(
    function: Callable[..., Any],
    tasks: Sequence[Any],
    *,
    n_jobs: int = 1,
    shared: Any = None,
    progress: Callable[[int], object] | None = None,
    client: Any = None,
) -> list[Any]:
    """Return ``[function(task, shared) for task in tasks]``, in order.

    Examples
    --------
    >>> run(lambda task, shared: shared + task, [1, 2], shared=10)
    [11, 12]
    """
    if n_jobs == 1:
        found = []
        for task in tasks:
            found.append(function(task, shared))
            if progress is not None:
                progress(1)
        return found
    return list(Parallel(n_jobs=n_jobs)(delayed(function)(task, shared) for task in tasks))
