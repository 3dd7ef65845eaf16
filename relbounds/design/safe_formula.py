"""Formulas from people one does not know: names, numbers, operators and known functions only.

A formula is Python code that patsy evaluates. With `safe=True` its tokens are checked before anything is evaluated, and
the functions of the caller are out of its reach.
"""

from __future__ import annotations

import keyword
from collections.abc import Collection, Sequence

from relbounds.design.formula_terms import is_dot
from relbounds.design.tokens import Token, is_call
from relbounds.errors import FormulaError, nearest

# How many arguments a function may have: a second one of log() would be written to.
_ONE = (
    "abs absolute arccos arcsin arctan cbrt ceil cos exp exp2 expm1 fabs floor isfinite isinf isnan log log10 log1p "
    "log2 negative rint sign sin sinh sqrt square tan tanh trunc I Q center standardize scale"
)
_TWO = "fmax fmin hypot maximum minimum power round"
SAFE = (
    dict.fromkeys(_ONE.split(), 1)
    | dict.fromkeys(_TWO.split(), 2)
    | {"where": 3, "clip": 3, "between": 3, "Surv": 3, "C": 3, "bs": 8, "cr": 6, "cc": 6, "te": 6}
    | {"priv": 10**6, "adjust": 10**6}
)
_SPLINES = frozenset(("bs", "cr", "cc", "te"))
_OURS = frozenset(("I", "Q", "C", "center", "standardize", "scale", "between", "Surv", "priv", "adjust"))
SAFE_OF_NUMPY = frozenset(SAFE) - _SPLINES - _OURS
_SIZES = frozenset(("bins", "degree", "df"))
_NAMED = _SIZES | {
    "bound_knots",
    "constraints",
    "include_intercept",
    "knots",
    "levels",
    "lower_bound",
    "upper_bound",
}
_WORDS = frozenset(("and", "or", "not", "in", "True", "False", "None"))
MOST_COLUMNS = 1000  # of one spline; a memory can be filled by a number
MOST_POWER = 10  # more would write out interactions by the million, or numbers without end


def check_safe(text: str, tokens: Sequence[Token], columns: Collection[str]) -> None:
    """Raise, with a caret under the spot, where a formula holds more than known functions and operators.

    Examples
    --------
    >>> from relbounds.design.tokens import tokenize
    >>> check_safe("y ~ log(x)", tokenize("y ~ log(x)"), ["x", "y"])
    >>> check_safe("y ~ open(x)", tokenize("y ~ open(x)"), ["x", "y"])
    Traceback (most recent call last):
    ...
    relbounds.errors.FormulaError: The function 'open' is not among those of safe formulas.
        y ~ open(x)
            ^
    """
    for i, token in enumerate(tokens):
        before = tokens[i - 1] if i else None
        if token.kind == "name":
            problem = _name(tokens, i, columns)
        elif token.kind == "op":
            problem = _operator(tokens, i, before, columns)
        else:
            problem = None
        if problem is not None:
            raise FormulaError(problem, text, token.start)


def _name(tokens: Sequence[Token], i: int, columns: Collection[str]) -> str | None:
    token, name = tokens[i], tokens[i].text
    if i and tokens[i - 1].text == "." and not is_dot(tokens, i - 1):
        of_numpy = i > 1 and tokens[i - 2].text in ("np", "numpy") and name in SAFE_OF_NUMPY
        if not of_numpy or not is_call(tokens, i):
            return "Safe formulas know no attributes but numpy's elementwise functions, such as np.log(x)."
        return _arguments(tokens, i, name)
    if name in ("np", "numpy") and i + 1 < len(tokens) and tokens[i + 1].text == ".":
        return None
    if is_call(tokens, i) and name not in _WORDS:
        if name not in SAFE:
            return f"The function {name!r} is not among those of safe formulas.{nearest(name, SAFE)}"
        return _arguments(tokens, i, name)
    if token.depth and i + 1 < len(tokens) and tokens[i + 1].text == "=":
        return None if name in _NAMED else f"Safe formulas know no argument {name!r}.{nearest(name, _NAMED)}"
    if keyword.iskeyword(name):
        return None if name in _WORDS else f"{name!r} has no place in a safe formula."
    if name in columns or name == "pi":
        return None
    spare = set(columns) - {t.text for t in tokens}
    return f"{name!r} is not a column of the data. A safe formula sees nothing else.{nearest(name, sorted(spare))}"


def _arguments(tokens: Sequence[Token], i: int, name: str) -> str | None:
    """Say so where a call has more arguments than it may."""
    depth = tokens[i + 1].depth
    commas = 0
    for j in range(i + 2, len(tokens)):
        token = tokens[j]
        if token.depth == depth:  # the closing bracket
            break
        commas += token.text == "," and token.depth == depth + 1
        if token.kind == "number" and float(token.text) > MOST_COLUMNS and name in _SPLINES:
            named = tokens[j - 2].text if tokens[j - 1].text == "=" else ""
            if named in _SIZES or (tokens[j - 1].text == "," and token.depth == depth + 1):
                return f"{name}() makes at most {MOST_COLUMNS} columns in a safe formula."
    if commas + 1 > SAFE[name]:
        return f"{name}() takes {SAFE[name]} argument{'s' * (SAFE[name] > 1)} in a safe formula."
    return None


def _operator(tokens: Sequence[Token], i: int, before: Token | None, columns: Collection[str]) -> str | None:
    text = tokens[i].text
    after_value = before is not None and (
        before.kind in ("name", "string", "number") or before.text in (")", "]")
    )
    if text == "." and not is_dot(tokens, i) and not (before is not None and before.text in ("np", "numpy")):
        return "Safe formulas know no attributes but numpy's elementwise functions, such as np.log(x)."
    if text in ("{", "@", "<<", ">>"):
        return f"{text!r} has no place in a safe formula."
    if text == "[" and after_value and not keyword.iskeyword(before.text if before else ""):
        return "A safe formula takes no parts of values: no [...] after a name or a bracket."
    if text == "(" and before is not None and (before.kind == "string" or before.text in (")", "]")):
        return "Only a function by its name can be called in a safe formula."
    if text in ("*", "%", "**"):
        beside = [t for t in (before, tokens[i + 1] if i + 1 < len(tokens) else None) if t is not None]
        if any(t.kind == "string" or t.text in ("[", "]") for t in beside):
            return "Text and lists cannot be multiplied in a safe formula."
    if text == "**":
        return _power(tokens, i, columns)
    return None


def _power(tokens: Sequence[Token], i: int, columns: Collection[str]) -> str | None:
    """Say so where a power has no column in its base, or a large exponent: it might never end."""
    start = i - 1
    if start >= 0 and tokens[start].text == ")":
        depth = tokens[start].depth
        while start > 0 and not (tokens[start].text == "(" and tokens[start].depth == depth):
            start -= 1
    base = tokens[max(start, 0) : i]
    if not any(t.text in columns or t.kind == "string" or t.text == "." for t in base):
        return "A power of numbers alone has no place in a safe formula: write the number."
    after = tokens[i + 1] if i + 1 < len(tokens) else None
    if (
        after is None
        or (after.kind == "number" and float(after.text) <= MOST_POWER)
        or after.text in ("-", "+")
    ):
        return None
    return f"The power in a safe formula must be a number up to {MOST_POWER}."
