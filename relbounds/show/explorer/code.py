"""Constraints as code: what a user pastes into Python or R to get the same what-if."""

from __future__ import annotations

import re
from collections.abc import Mapping

Wishes = Mapping[str, tuple[float, float | None]]
# Names that R reads without backticks, and words of R that are none.
R_NAME = re.compile(r"(?:[A-Za-z]|\.(?!\d))[A-Za-z0-9._]*")
R_WORDS = {
    "if", "else", "repeat", "while", "function", "for", "next", "break", "TRUE", "FALSE", "NULL", "Inf", "NaN", "NA",
    "NA_integer_", "NA_real_", "NA_character_", "in",
}  # fmt: skip
# Arguments of constrain() in R: terms with these names go into a list.
R_ARGUMENTS = {"object", "heredity", "noise"}


def python_code(wishes: Wishes) -> str:
    """Return the call in Python.

    Examples
    --------
    >>> print(python_code({"crp": (0.0, 0.0), "age": (0.1, None), "il6": (0.0, 0.2)}))
    fit.constrain({"crp": "off", "age": (0.1, None), "il6": (0, 0.2)})
    >>> python_code({})
    'fit'
    """
    if not wishes:
        return "fit"
    pairs = ", ".join(f"{_quoted(name)}: {_python(wish)}" for name, wish in wishes.items())
    return f"fit.constrain({{{pairs}}})"


def r_code(wishes: Wishes) -> str:
    """Return the call in R.

    Examples
    --------
    >>> print(r_code({"crp": (0.0, 0.0), "age": (0.1, None), "C(site)": (0.2, 0.2)}))
    constrain(fit, crp = "off", age = c(0.1, Inf), `C(site)` = 0.2)
    >>> r_code({"noise": (0.0, 0.0)})
    'constrain(fit, list(noise = "off"))'
    """
    if not wishes:
        return "fit"
    pairs = ", ".join(f"{_r_name(name)} = {_r(wish)}" for name, wish in wishes.items())
    return f"constrain(fit, list({pairs}))" if R_ARGUMENTS & set(wishes) else f"constrain(fit, {pairs})"


def _number(value: float) -> str:
    return f"{value:.12g}"


def _python(wish: tuple[float, float | None]) -> str:
    low, high = wish
    if high is not None and high == low:
        return '"off"' if low == 0 else _number(low)
    return f"({_number(low)}, {'None' if high is None else _number(high)})"


def _r(wish: tuple[float, float | None]) -> str:
    low, high = wish
    if high is not None and high == low:
        return '"off"' if low == 0 else _number(low)
    return f"c({_number(low)}, {'Inf' if high is None else _number(high)})"


def _quoted(name: str) -> str:
    """Return a name between double quotes, as Python reads it."""
    inner = repr(name)
    if inner.startswith('"'):
        return inner
    return '"' + inner[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'


def _r_name(name: str) -> str:
    if R_NAME.fullmatch(name) and name not in R_WORDS:
        return name
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"
