"""Named streams of random numbers: every use of chance draws from one of its own, so that none disturbs another.

A stream is fixed by the user's seed, by its name, and where there are several of a kind (draws, folds, trees) by
their numbers. It never depends on how many processes share the work.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

# A number once given is never given to another stream: stored tables would change.
STREAMS = MappingProxyType(
    {
        "folds": 0,
        "regular probes": 1,
        "privileged probes": 2,
        "refits": 3,
        "stability": 4,
        "tolerance": 5,
        "shuffled features": 6,
        "forest folds": 7,
        "kernel folds": 8,
        "ties": 11,
        "score test": 12,
        "noise refits": 13,
        "level contrasts": 14,
        "subsample": 15,
        "teacher": 16,
        "jitter": 17,
        "chance": 18,
        "stand-ins": 19,
        "own effects": 20,
        "turns": 21,
        "shadows": 22,
        "removal probes": 31,
        "sparse forest": 41,
        "forest probes": 42,
        "forest losses": 43,
        "block forests": 44,
        "forest predictions": 45,
    }
)


def stream(seed: int, name: str, *which: int) -> np.random.Generator:
    """Return the generator of a named stream.

    Parameters
    ----------
    seed : int
        The user's seed, 0 or more.
    name : str
        One of ``STREAMS``.
    *which : int
        Which one of several of that name, 0 or more.

    Examples
    --------
    >>> int(stream(0, "regular probes", 3).integers(100)) == int(stream(0, "regular probes", 3).integers(100))
    True
    >>> stream(0, "folds").random() == stream(0, "refits", 1).random()
    False
    """
    return np.random.default_rng([int(seed), STREAMS[name], *(int(k) for k in which)])
