"""The errors and warnings a user can meet; each message says what was wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class RelboundsError(ValueError):
    """Any problem that relbounds reports; catch this one to catch them all."""


class DataError(RelboundsError):
    """The data cannot be used as they are."""


class UnorderedError(DataError):
    """The response has levels, and nothing says which comes first.

    Other faces than Python's read `response` and `levels` and say in their own words how to order them.
    """

    def __init__(self, message: str, response: str = "", levels: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.response, self.levels = response, tuple(levels)


class OptionError(RelboundsError):
    """An argument has a value that makes no sense.

    Where the error is about one option, `option` is its name, `given` the value as shown, and `wanted` the rest of the
    sentence, so that other faces than Python's can call the option by the name it has there.

    Examples
    --------
    >>> error = OptionError.about("cv", "1", "must be a whole number, 2 or more.")
    >>> str(error), error.option
    ('cv=1 must be a whole number, 2 or more.', 'cv')
    """

    option: str | None = None
    given: str = ""
    wanted: str = ""

    @classmethod
    def about(cls, option: str, given: str, wanted: str) -> OptionError:
        """Return the error for a value of one option."""
        error = cls(f"{option}={given} {wanted}")
        error.option, error.given, error.wanted = option, given, wanted
        return error


class InfeasibleError(RelboundsError):
    """No equivalent model satisfies the constraints asked for."""


class SolverError(RelboundsError):
    """A linear program could not be solved to the promised accuracy."""


class OutputError(RelboundsError):
    """A file could not be written; nothing was left half-written."""


class WorkerError(RelboundsError):
    """Worker processes ended before their work was done, again and again."""


class MissingExtraError(RelboundsError, ImportError):
    """An optional package is needed for this and is not installed."""


class FormulaError(RelboundsError):
    """The formula cannot be read; the message shows it with a caret under the spot.

    Examples
    --------
    >>> print(FormulaError("'bmj' is not a column of the data.", "grade ~ bmj", 8))
    'bmj' is not a column of the data.
        grade ~ bmj
                ^
    """

    def __init__(self, message: str, formula: str | None = None, position: int | None = None) -> None:
        if formula is not None:
            message = f"{message}\n    {formula}"
            if position is not None:
                message += "\n    " + " " * position + "^"
        super().__init__(message)


class RelboundsWarning(UserWarning):
    """Something the user should know; the result is still right."""


def listed(items: Iterable[object], most: int = 8) -> str:
    """Return the items as a message shows them: quoted, and cut short when there are many.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    return shortened([repr(v.item() if hasattr(v, "item") else v) for v in items], most)


def shortened(words: Sequence[str], most: int = 8, between: str = ", ") -> str:
    """Return words one after the other, cut short when there are many.

    Examples
    --------
    >>> shortened(["a", "b", "c"], most=2, between="; ")
    'a; b and 1 more'
    """
    return between.join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one.

    Examples
    --------
    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{n} {noun}{'' if n == 1 else 's'}"


def nearest(name: str, candidates: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the closest candidate, or an empty string.

    Examples
    --------
    >>> nearest("bmj", ["age", "bmi"])
    " Did you mean 'bmi'?"
    """
    close = difflib.get_close_matches(str(name), [str(c) for c in candidates], n=1, cutoff=0.5)
    return f" Did you mean '{close[0]}'?" if close else ""
