"""Formula text into tokens that remember where they stood, so that an error can point at the spot."""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from relbounds.errors import FormulaError

_TOKEN = re.compile(
    r"""(?P<string>[rRuUbB]{0,2}(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*)
      | (?P<op>\*\*|//|==|!=|<=|>=|<<|>>|[-+*/:~|()\[\]{},.=<>%&^@])
      | (?P<space>\s+)""",
    re.VERBOSE,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True)
class Token:
    """One piece of a formula: its kind (name, number, string, op), text, place and bracket depth."""

    kind: str
    text: str
    start: int
    depth: int

    @property
    def end(self) -> int:
        """Position just after the token."""
        return self.start + len(self.text)


def tokenize(text: str) -> list[Token]:
    """Split a formula into tokens; strange characters and unbalanced brackets are errors with a caret.

    An opening bracket and its closing one carry the depth outside them.

    Examples
    --------
    >>> [t.text for t in tokenize("y ~ log(x1)")]
    ['y', '~', 'log', '(', 'x1', ')']
    """
    tokens: list[Token] = []
    opened: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise FormulaError(_strange(text[at]), text, at)
        kind, piece = str(match.lastgroup), match.group()
        if kind != "space":
            if piece in _PAIRS:
                if not opened or opened[-1].text != _PAIRS[piece]:
                    raise FormulaError(
                        f"This {piece!r} closes a bracket that was never opened. "
                        f"Remove it, or add the {_PAIRS[piece]!r} it belongs to.",
                        text,
                        at,
                    )
                opened.pop()
            token = Token(kind, piece, at, len(opened))
            tokens.append(token)
            if piece in _PAIRS.values():
                opened.append(token)
        at = match.end()
    if opened:
        raise FormulaError(
            f"The {opened[-1].text!r} here is never closed. Add the matching bracket.", text, opened[-1].start
        )
    return tokens


def _strange(char: str) -> str:
    if char in "\"'":
        return "The quotation mark here is never closed. Add the second one."
    if char == "`":
        return 'Backticks are not read here. Write Q("odd name") for a column with an odd name.'
    if char in "“”‘’":  # word processors put these in
        return "Use straight quotation marks (\" or ') in a formula."
    return f"{char!r} has no meaning in a formula."


def is_call(tokens: Sequence[Token], i: int) -> bool:
    """Tell whether token i is the name of a function being called."""
    return i + 1 < len(tokens) and tokens[i + 1].text == "("


def references(tokens: Sequence[Token]) -> list[tuple[str, Token, bool]]:
    """List what the tokens refer to: (name, token, whether it is called as a function).

    `Q("odd name")` counts as a reference to the column. Attributes (`np.log`: log), keyword arguments and
    Python's own words are left out.

    Examples
    --------
    >>> [(name, call) for name, _, call in references(tokenize('np.log(x) + C(Q("my site"), levels=v)'))]
    [('np', False), ('x', False), ('C', True), ('Q', True), ('my site', False), ('v', False)]
    """
    found: list[tuple[str, Token, bool]] = []
    for i, token in enumerate(tokens):
        if token.kind == "string" and i >= 2 and tokens[i - 1].text == "(" and tokens[i - 2].text == "Q":
            found.append((unquote(token.text), token, False))
        if token.kind != "name" or keyword.iskeyword(token.text):
            continue
        if i and tokens[i - 1].text == ".":
            continue
        if token.depth and i + 1 < len(tokens) and tokens[i + 1].text == "=":
            continue
        found.append((token.text, token, is_call(tokens, i)))
    return found


def unquote(literal: str) -> str:
    """Return the value of a Python string literal."""
    value = ast.literal_eval(literal)
    return value if isinstance(value, str) else str(value)


def quote(name: str) -> str:
    """Write a column name as it must stand in a formula.

    Examples
    --------
    >>> quote("bmi"), quote("blood pressure"), quote("class")
    ('bmi', 'Q("blood pressure")', 'Q("class")')
    """
    # Python reads some letters as others (ligatures as their parts); such a name has to be quoted too.
    same = unicodedata.normalize("NFKC", name) == name
    if re.fullmatch(r"[^\W\d]\w*", name) and name.isidentifier() and same and not keyword.iskeyword(name):
        return name
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'Q("{escaped}")'
