"""The one vocabulary of option checks: each returns the value as plain Python, or says what is wrong with it.

Numbers may come as Python's, as NumPy's scalars, as arrays without dimensions, or, from R, whole numbers as doubles
and vectors of one as numbers.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np

from relbounds.errors import OptionError, nearest


def is_number(value: Any) -> bool:
    """Say whether a value is a real number; truth values and NaN are none.

    Examples
    --------
    >>> is_number(np.float32(2.5)), is_number(True), is_number(float("nan")), is_number("2")
    (True, False, False, False)
    """
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, numbers.Rational) or not math.isnan(value)


def is_whole(value: Any) -> bool:
    """Say whether a value is a whole number, be it an integer or, as R hands them over, a double.

    Examples
    --------
    >>> is_whole(3), is_whole(3.0), is_whole(np.int8(3)), is_whole(3.5), is_whole(True)
    (True, True, True, False, False)
    """
    if isinstance(value, numbers.Integral):
        return not isinstance(value, bool | np.bool_)
    return is_number(value) and math.isfinite(value) and float(value).is_integer()


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return one of the allowed words.

    Examples
    --------
    >>> choice("rule", "bets", ("best", "1se"))
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: rule='bets' is not known; use 'best' or '1se'. Did you mean 'best'?
    """
    known = tuple(allowed)
    value = _plain(value)
    if isinstance(value, str) and value in known:
        return str(value)
    words = ", ".join(repr(a) for a in known[:-1]) + (" or " if len(known) > 1 else "") + f"{known[-1]!r}"
    raise OptionError.about(name, shown(value), f"is not known; use {words}.{_meant(value, known)}")


def number(
    name: str,
    value: Any,
    *,
    least: float = -math.inf,
    above: float = -math.inf,
    most: float = math.inf,
    below: float = math.inf,
    finite: bool = True,
    hint: str = "",
) -> float:
    """Return a number within its limits: ``least <= value <= most`` and ``above < value < below``.

    Parameters
    ----------
    name, value : str, object
        The option as the user knows it, and what was given.
    least, above, most, below : float
        The limits; the message names those that are set.
    finite : bool
        Whether infinity is refused.
    hint : str
        A sentence at the end of the message: what to do instead.

    Examples
    --------
    >>> number("level", np.float64(0.9), above=0, below=1)
    0.9
    >>> number("alpha", 1, above=0, below=1)
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: alpha=1 must lie strictly between 0 and 1.
    """
    value = _plain(value)
    good = is_number(value) and (_is_finite(value) or not finite)
    # infinity is beyond no limit that is not set
    good = good and least <= value <= most and (value > above or above == -math.inf)
    if good and (value < below or below == math.inf):
        return _as_float(name, value)
    tail = f" {hint}" if hint else ""
    raise OptionError.about(name, shown(value), f"must {_limits(least, above, most, below, finite)}.{tail}")


def integer(name: str, value: Any, *, least: int = 0, most: float = math.inf, hint: str = "") -> int:
    """Return a whole number of at least `least`.

    Examples
    --------
    >>> integer("cv", 5.0, least=2)
    5
    >>> integer("cv", 1, least=2)
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: cv=1 must be a whole number, 2 or more.
    """
    value = _plain(value)
    if is_whole(value) and least <= value <= most:
        return int(value)
    limit = f"{least} or more" if most == math.inf else f"from {least} to {most:g}"
    tail = f" {hint}" if hint else ""
    raise OptionError.about(name, shown(value), f"must be a whole number, {limit}.{tail}")


def jobs(name: str, value: Any) -> int:
    """Return a number of worker processes: any whole number but 0; negative ones count from all cores down.

    Examples
    --------
    >>> jobs("n_jobs", -1)
    -1
    """
    value = _plain(value)
    if is_whole(value) and value != 0:
        return int(value)
    raise OptionError.about(name, shown(value), "must be a whole number other than 0; -1 uses all cores.")


def flag(name: str, value: Any) -> bool:
    """Return a truth value.

    Examples
    --------
    >>> flag("standardize", np.True_)
    True
    >>> flag("standardize", "no")
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: standardize='no' must be True or False.
    """
    value = _plain(value)
    if isinstance(value, bool):
        return value
    raise OptionError.about(name, shown(value), "must be True or False.")


def grid(name: str, value: Any, *, positive: bool = True) -> float | tuple[float, ...] | None:
    """Return a number, the numbers to choose from, or None: cross-validation makes a grid of its own.

    Examples
    --------
    >>> grid("C", [1, np.float64(10.0)])
    (1.0, 10.0)
    >>> grid("C", 0)
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: C=0 must be a finite number, positive; None lets cross-validation choose it.
    """
    value = _plain(value)
    if value is None:
        return None
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return _of_grid(name, value, positive)
    if isinstance(value, dict) or np.ndim(np.asarray(value, dtype=object)) > 1:
        raise OptionError(f"{name} must be a number or a plain sequence of numbers, not {_kind(value)}.")
    values = tuple(_of_grid(name, _plain(v), positive) for v in value)
    if not values:
        raise OptionError(
            f"{name} is an empty sequence; give a number, a sequence of numbers, or None to tune it."
        )
    return values


def names(name: str, value: Any, hint: str = "") -> list[str]:
    """Return names as a list: one, or several in any plain sequence.

    Examples
    --------
    >>> names("terms", "crp"), names("terms", ("crp", "esr"))
    (['crp'], ['crp', 'esr'])
    """
    value = _plain(value)
    if isinstance(value, str):
        return [str(value)]
    found = list(value) if isinstance(value, Iterable) and not isinstance(value, bytes | dict) else [value]
    if any(not isinstance(one, str) for one in found) or np.ndim(value) > 1:
        tail = f" {hint}" if hint else ""
        raise OptionError(f"{name} must be a name or a list of names, not {shown(value)}.{tail}")
    return [str(one) for one in found]


def shown(value: Any, most: int = 60) -> str:
    """Return a value as a message shows it, cut short where it is long.

    Examples
    --------
    >>> shown("a" * 100, most=12)
    "'aaaaaaaa..."
    """
    try:
        text = repr(value)
    except Exception:  # an object of the user's whose own repr fails must not hide what was wrong with it
        text = f"<{_kind(value)}>"
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 3] + "..."


def _of_grid(name: str, value: Any, positive: bool) -> float:
    if is_number(value) and _is_finite(value) and value >= 0 and not (positive and value == 0):
        return _as_float(name, value)
    wanted = "positive" if positive else "0 or more"
    raise OptionError.about(
        name, shown(value), f"must be a finite number, {wanted}; None lets cross-validation choose it."
    )


def _is_finite(value: Any) -> bool:
    # an integer of hundreds of digits is finite, though no float
    return isinstance(value, numbers.Rational) or math.isfinite(value)


def _as_float(name: str, value: Any) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise OptionError.about(name, shown(value), "is too large for a floating point number.") from error


def _limits(least: float, above: float, most: float, below: float, finite: bool) -> str:
    if above > -math.inf and below < math.inf:
        return f"lie strictly between {above:g} and {below:g}"
    words = []
    if least > -math.inf:
        words.append(f"{least:g} or more")
    if above > -math.inf:
        words.append("positive" if above == 0 else f"above {above:g}")
    if most < math.inf:
        words.append(f"at most {most:g}")
    if below < math.inf:
        words.append(f"below {below:g}")
    kind = "finite number" if finite else "number"
    return f"be a {kind}" + (", " + " and ".join(words) if words else "")


def _plain(value: Any) -> Any:
    """Take NumPy's scalars and arrays without dimensions for what they hold."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    return value


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}" if type(value).__name__ != "ndarray" else "an array"


def _meant(value: Any, known: tuple[str, ...]) -> str:
    return nearest(value, known) if isinstance(value, str) else ""
