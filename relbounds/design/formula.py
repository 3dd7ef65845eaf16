"""Formulas: "grade ~ x1 + log(x2) | priv(z1)" read into terms, each of which patsy can evaluate."""

from __future__ import annotations

import builtins
import math
from collections.abc import Collection, Container, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import patsy.builtins

from relbounds.design.terms import Factor, Reader, Term, has_dot, is_dot
from relbounds.design.tokens import Token, is_call, quote, references, tokenize
from relbounds.errors import FormulaError, nearest


@dataclass(frozen=True)
class ParsedFormula:
    """A formula taken apart: patsy strings for its parts, and the terms behind them."""

    text: str
    response: str
    regular: str
    privileged: str | None
    response_factor: Factor
    regular_terms: tuple[Term, ...]
    privileged_terms: tuple[Term, ...]

    @property
    def response_variables(self) -> tuple[str, ...]:
        """The columns the response reads."""
        return self.response_factor.variables


def functions() -> dict[str, object]:
    """Return what a formula may use without importing it: numpy's elementwise functions, patsy's transforms.

    Examples
    --------
    >>> sorted(set(functions()) & {"log", "center", "bs", "np"})
    ['bs', 'center', 'log', 'np']
    """
    table: dict[str, object] = {k: v for k, v in vars(np).items() if isinstance(v, np.ufunc)}
    table |= {"np": np, "numpy": np, "where": np.where, "clip": np.clip, "pi": math.pi}
    table |= {"round": np.round, "abs": np.abs}
    table |= {k: v for k, v in vars(patsy.builtins).items() if not k.startswith(("_", "test_"))}
    return table


def parse(
    formula: str, columns: Sequence[str], *, known: Container[str] = (), exclude: Iterable[str] = ()
) -> ParsedFormula:
    """Read a formula against the columns of the data.

    Parameters
    ----------
    formula : str
        `response ~ terms`, or `response ~ terms | priv(terms)`.
    columns : sequence of str
        Column names of the data; what `.` stands for.
    known : container of str
        Further names that the formula may use (functions and constants of the caller).
    exclude : iterable of str
        Columns that `.` leaves out besides those of the response and of the privileged part.

    Returns
    -------
    ParsedFormula
        With `.` written out, and without an intercept.

    Examples
    --------
    >>> parsed = parse("grade ~ . - id | priv(biopsy)", ["grade", "id", "age", "bmi", "biopsy"])
    >>> parsed.response, parsed.regular, parsed.privileged
    ('grade', 'age + bmi', 'biopsy')
    """
    if not isinstance(formula, str):
        raise FormulaError(
            f"The formula must be a string such as 'grade ~ age + bmi', not {type(formula).__name__}."
        )
    # One line, so that a caret can point into it.
    text = "".join(" " if c in "\t\n\r\f\v" else c for c in formula).strip()
    if not text:
        raise FormulaError("The formula is empty. Write for example 'grade ~ age + bmi'.")
    tokens = tokenize(text)
    left, right, private = _split(text, tokens)
    _check_names(text, tokens, columns, known)
    reader = Reader(text, frozenset(columns))

    response = reader.response(left)
    of_response = set(response.variables)
    if private is None:
        privileged: list[Term] = []
        regular = reader.terms(right, [c for c in columns if c not in of_response.union(exclude)])
    elif has_dot(private):
        if has_dot(right):
            dot = next(t for i, t in enumerate(private) if is_dot(private, i))
            raise FormulaError(
                "'.' cannot stand in both parts. List the columns of one of them.", text, dot.start
            )
        regular = reader.terms(right, [])
        taken = of_response.union(*(t.variables for t in regular), exclude)
        privileged = reader.terms(private, [c for c in columns if c not in taken])
    else:
        privileged = reader.terms(private, [])
        taken = of_response.union(*(t.variables for t in privileged), exclude)
        regular = reader.terms(right, [c for c in columns if c not in taken])

    start = right[0].start if right else len(text)
    if not regular:
        raise FormulaError(
            "There is no feature on the right-hand side. Name at least one, or '.' for all other columns.",
            text,
            start,
        )
    if private is not None and not privileged:
        raise FormulaError("priv() holds no feature.", text, private[0].start)
    _check_roles(text, response, regular, privileged)
    return ParsedFormula(
        text=text,
        response=response.code,
        regular=" + ".join(t.name for t in regular),
        privileged=" + ".join(t.name for t in privileged) if private is not None else None,
        response_factor=response,
        regular_terms=tuple(regular),
        privileged_terms=tuple(privileged),
    )


def _split(text: str, tokens: list[Token]) -> tuple[list[Token], list[Token], list[Token] | None]:
    """Cut the tokens into response, regular part and the inside of priv() (None without one)."""
    tildes = [i for i, t in enumerate(tokens) if t.text == "~" and t.depth == 0]
    if not tildes:
        raise FormulaError(
            "The formula has no '~'. Write the response to its left and the features to its right: "
            "'grade ~ age + bmi'.",
            text,
            tokens[0].end if tokens else 0,
        )
    if len(tildes) > 1:
        raise FormulaError("A formula has one '~'; remove the second one.", text, tokens[tildes[1]].start)
    left, right = tokens[: tildes[0]], tokens[tildes[0] + 1 :]
    bars = [i for i, t in enumerate(tokens) if t.text == "|" and t.depth == 0]
    if bars and bars[0] < tildes[0]:
        raise FormulaError(
            "The '|' belongs to the right of '~': 'grade ~ age | priv(biopsy)'.", text, tokens[bars[0]].start
        )
    if len(bars) > 1:
        raise FormulaError(
            "A second '|'. Put all privileged features into one priv(): '| priv(z1, z2)'.",
            text,
            tokens[bars[1]].start,
        )
    if not left:
        raise FormulaError("There is no response to the left of '~'.", text, tokens[tildes[0]].start)
    private = None
    if bars:
        bar = tokens[bars[0]]
        right, tail = tokens[tildes[0] + 1 : bars[0]], tokens[bars[0] + 1 :]
        private = _inside_priv(text, bar, tail)
    rest = [*left, *right]
    for i, token in enumerate(rest):
        if token.text == "priv" and is_call(rest, i):
            raise FormulaError(
                "priv() stands at the end, after a '|': 'grade ~ age | priv(biopsy)'.", text, token.start
            )
    if not right:
        at = tokens[bars[0]].start if bars else len(text.rstrip())
        raise FormulaError(
            "There is no feature on the right-hand side. Name at least one, or '.' for all other columns.",
            text,
            at,
        )
    return left, right, private


def _inside_priv(text: str, bar: Token, tail: list[Token]) -> list[Token]:
    if not tail:
        raise FormulaError("Nothing follows '|'. Write '| priv(z1, z2)' or remove it.", text, bar.start)
    if tail[0].text != "priv" or not is_call(tail, 0):
        raise FormulaError(
            "After '|' comes priv(...) with the privileged features: '| priv(z1, z2)'.", text, tail[0].start
        )
    close = next(i for i, t in enumerate(tail) if t.text == ")" and t.depth == 0)
    if close + 1 < len(tail):
        raise FormulaError(
            "Nothing may follow priv(...). Put regular features before the '|' and privileged ones "
            "inside priv().",
            text,
            tail[close + 1].start,
        )
    inside = [Token(t.kind, t.text, t.start, t.depth - 1) for t in tail[2:close]]
    if not inside:
        raise FormulaError(
            "priv() is empty. Name the privileged features, or remove '| priv()'.", text, tail[0].start
        )
    # A comma between privileged terms means the same as a plus.
    for i, token in enumerate(inside):
        if token.text == "," and token.depth == 0:
            if i in (0, len(inside) - 1) or inside[i + 1].text == ",":
                raise FormulaError("A feature is missing beside this comma.", text, token.start)
            inside[i] = Token("op", "+", token.start, 0)
    return inside


def _check_names(text: str, tokens: list[Token], columns: Sequence[str], known: Container[str]) -> None:
    present = set(columns)
    table = set(functions())
    callable_ = table | set(dir(builtins))
    for name, token, call in references(tokens):
        if name == "priv" and call:
            continue
        if token.kind == "string" or (not call and token.kind == "name"):
            if name in present or (token.kind == "name" and (name in table or name in known)):
                continue
            hint = _dotted(tokens, token, present) or nearest(name, columns)
            shown = ", ".join(list(columns)[:8]) + (", ..." if len(columns) > 8 else "")
            raise FormulaError(
                f"{name!r} is not a column of the data.{hint or f' The columns are: {shown}.'}",
                text,
                token.start,
            )
        if name not in callable_ and name not in known:
            if name in present:
                message = f"{name!r} is a column, not a function."
            else:
                message = f"There is no function {name!r}.{nearest(name, callable_)}"
            raise FormulaError(message, text, token.start)


def _dotted(tokens: list[Token], token: Token, present: set[str]) -> str:
    """Help with a column such as `weight.kg`, which Python would read as an attribute."""
    i = tokens.index(token)
    name = token.text
    while i + 2 < len(tokens) and tokens[i + 1].text == "." and tokens[i + 2].kind in ("name", "number"):
        name += "." + tokens[i + 2].text
        i += 2
        if name in present:
            return f" For the column {name!r} write {quote(name)}."
    return ""


def _check_roles(text: str, response: Factor, regular: list[Term], privileged: list[Term]) -> None:
    """A response among the features, or a feature in both parts, would make the answer meaningless."""
    # With several variables (a change score, a ratio) one of them may rightly be a feature as well.
    sole = set(response.variables) if len(response.variables) == 1 else set()
    for term in (*regular, *privileged):
        if response.code in term.key or sole & term.variables:
            name = next(iter(sole), response.code)
            raise FormulaError(
                f"{name!r} is the response and cannot be a feature as well. Remove it from the features.",
                text,
                _place(term, sole),
            )
    known = frozenset().union(*(t.variables for t in regular))
    for term in privileged:
        if term.variables and term.variables <= known:
            raise FormulaError(
                f"{term.name!r} stands in both parts. A privileged feature is unknown for new rows; "
                "keep it in one part only.",
                text,
                _place(term, known),
            )


def _place(term: Term, variables: Collection[str]) -> int:
    return next(
        (f.position for f in term.factors if set(f.variables) & set(variables)), term.factors[0].position
    )
