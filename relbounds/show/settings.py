"""Options of a fit as readers see them."""

from __future__ import annotations

from typing import Any

from relbounds.show.facts import Pairs

# Options that say how the work was done, not what was computed.
HIDDEN = ("client", "progress", "n_jobs")


def settings_of(options: dict[str, Any]) -> Pairs:
    """Return the options of a fit as they are read, without those that change no number."""
    return tuple((name, say(value)) for name, value in options.items() if name not in HIDDEN)


def say(value: Any) -> str:
    """Write an option's value in a few characters.

    Examples
    --------
    >>> say((0.1, 1.0)), say(None), say(float("inf"))
    ('0.1, 1', 'auto', 'inf')
    """
    if value is None:
        return "auto"
    if isinstance(value, tuple | list):
        return ", ".join(say(one) for one in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
