"""Errors in the language of the command line: its flags, not Python's arguments."""

from __future__ import annotations

from relbounds.errors import OptionError, RelboundsError, UnorderedError, listed

# Options whose flag is not their name.
FLAGS = {"n_jobs": "--jobs", "standardize": "--no-standardize", "balance": "--no-balance"}


def in_flags(error: RelboundsError) -> str:
    """Return the message of an error, with options called by their flags.

    Examples
    --------
    >>> in_flags(OptionError.about("n_jobs", "0", "must be a whole number other than 0."))
    '--jobs 0 must be a whole number other than 0.'
    """
    if isinstance(error, OptionError) and error.option is not None:
        wanted = error.wanted.replace("None lets", "leaving it out lets")
        return f"{flag(error.option)} {error.given.strip(chr(39))} {wanted}"
    if isinstance(error, UnorderedError):
        order = ",".join(str(level) for level in error.levels)
        return (
            f"The response {error.response!r} has {len(error.levels)} levels without an order: {listed(error.levels)}. "
            f"Give them from lowest to highest, such as --levels {order}, or use --family nominal if they have none."
        )
    return str(error)


def flag(option: str) -> str:
    """Return the flag of an option.

    Examples
    --------
    >>> flag("C"), flag("n_jobs")
    ('--C', '--jobs')
    """
    return FLAGS.get(option, f"--{option}")
