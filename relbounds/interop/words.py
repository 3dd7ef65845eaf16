"""Messages in the words of R: what Python says of itself, an R user should read as R would say it.

The package's errors, warnings and notes are written once, for Python. Before they reach R, values, calls and
installing are put as they are there: ``None`` is ``NULL``, ``C=-1`` is ``C = -1``, ``fit.groups(k=3)`` is
``groups(fit, k = 3)``. What the user wrote himself, in quotes, is left alone.
"""

from __future__ import annotations

import re

VALUES = {"None": "NULL", "True": "TRUE", "False": "FALSE", "math.inf": "Inf", "np.nan": "NA"}
THINGS = {
    "pandas DataFrames": "data frames",
    "pandas DataFrame": "data frame",
    "DataFrames": "data frames",
    "DataFrame": "data frame",
    "a pandas Series": "a vector",
    "a Series": "a vector",
    "an array": "a vector",
    "a sequence of numbers": "a vector of numbers",
    "an empty sequence": "an empty vector",
    "a sequence": "a vector",
    "a dict": "a named list",
    "a mapping": "a named list",
    "whole number": "whole number",
}
INSTALL = re.compile(r"pip install (?P<quote>['\"]?)(?:relbounds|\.)\[(?P<extra>\w+)\](?P=quote)")
# a quoted piece is the user's own, or a value of an option: never a word of Python
QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
METHOD = re.compile(r"\b(?:fit|results|self)\.(?P<name>[a-z]\w*)\((?P<inside>[^()]*)\)")
FUNCTION = re.compile(r"\b(?:rb|relbounds)\.(?P<name>[a-z_]\w*)\(")
PAIR = re.compile(r"(?P<quote>['\"])(?P<name>[^'\"{}]+)(?P=quote): ")
ARGUMENT = re.compile(r"(?<![\w.=<>!])(?P<name>[A-Za-z_]\w*)=(?![=\s])")
# "None of 500 permuted features ..." is English, not a value
ENGLISH_NONE = re.compile(r"None(?= (?:of|was|were|is|are|has|have|can|could|reach|reaches)\b)")


def in_r(text: str) -> str:
    """Return a message as an R user should read it.

    Examples
    --------
    >>> in_r("C=-1 must be positive; None lets cross-validation choose it.")
    'C = -1 must be positive; NULL lets cross-validation choose it.'
    >>> in_r("None of 500 permuted features could be replaced.")
    'None of 500 permuted features could be replaced.'
    >>> in_r("It needs lightgbm: pip install 'relbounds[forest]'.")
    'It needs lightgbm: install_relbounds(extras = "forest").'
    >>> in_r("Ask fit.constrain({'age': 0}) or fit.groups().")
    "Ask constrain(fit, 'age' = 0) or groups(fit)."
    """
    text = INSTALL.sub(lambda m: f'install_relbounds(extras = "{m["extra"]}")', text)
    text = METHOD.sub(_method, text)
    text = FUNCTION.sub(lambda m: f"{m['name']}(", text)
    pieces, end = [], 0
    for quoted in QUOTED.finditer(text):
        pieces += [_outside(text[end : quoted.start()]), quoted.group()]
        end = quoted.end()
    return "".join([*pieces, _outside(text[end:])])


def _method(match: re.Match[str]) -> str:
    inside = match["inside"].strip()
    if inside.startswith("{") and inside.endswith("}"):
        inside = PAIR.sub(lambda m: f"{m['quote']}{m['name']}{m['quote']} = ", inside[1:-1])
    return f"{match['name']}(fit, {inside})" if inside else f"{match['name']}(fit)"


def _outside(text: str) -> str:
    """Translate what stands outside quotes."""
    text = ARGUMENT.sub(lambda m: f"{m['name']} = ", text)
    for theirs, ours in THINGS.items():
        text = re.sub(rf"\b{re.escape(theirs)}\b", ours, text)
    kept = ENGLISH_NONE.sub("\0", text)
    for theirs, ours in VALUES.items():
        kept = re.sub(rf"(?<![\w.]){re.escape(theirs)}\b", ours, kept)
    return kept.replace("\0", "None")
