"""Formulas: "grade ~ x1 + log(x2) | adjust(age) | priv(z1)" read into terms, each of which patsy can evaluate."""

from __future__ import annotations

import builtins
import itertools
import math
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import patsy.builtins

from relbounds.design.censored import Surv, between
from relbounds.design.formula_terms import Factor, Reader, Term, has_dot, is_dot
from relbounds.design.safe_formula import check_safe
from relbounds.design.tokens import Token, is_call, quote, references, tokenize
from relbounds.errors import FormulaError, nearest

_PART_OF_CALL = {"adjust": "adjust", "priv": "privileged"}
_CALLS = {part: call for call, part in _PART_OF_CALL.items()}
_NO_FEATURE = "There is no feature on the right-hand side. Name at least one, or '.' for all other columns."


@dataclass(frozen=True)
class ParsedFormula:
    """A formula taken apart: the response, and the terms of its parts."""

    text: str
    response: str
    response_factor: Factor
    regular_terms: tuple[Term, ...]
    adjust_terms: tuple[Term, ...]
    privileged_terms: tuple[Term, ...]

    @property
    def response_variables(self) -> tuple[str, ...]:
        """The columns the response reads."""
        return self.response_factor.variables

    @property
    def variables(self) -> tuple[str, ...]:
        """The columns the formula reads, the response first."""
        terms = (*self.regular_terms, *self.adjust_terms, *self.privileged_terms)
        of_terms = (v for t in terms for f in t.factors for v in f.variables)
        return tuple(dict.fromkeys((*self.response_variables, *of_terms)))


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
    table |= {"between": between, "Surv": Surv}
    return table


def parse(
    formula: str,
    columns: Sequence[str],
    *,
    known: Container[str] = (),
    exclude: Iterable[str] = (),
    safe: bool = False,
) -> ParsedFormula:
    """Read a formula against the columns of the data.

    Parameters
    ----------
    formula : str
        `response ~ terms`, to which `| adjust(terms)` and `| priv(terms)` may be added in either order.
    columns : sequence of str
        Column names of the data; what `.` stands for.
    known : container of str
        Further names that the formula may use (functions and constants of the caller).
    safe : bool
        Allow names, numbers, operators and known functions only; see :mod:`relbounds.design.safe_formula`.
    exclude : iterable of str
        Columns that `.` leaves out besides those of the response and of the other parts.

    Returns
    -------
    ParsedFormula
        With `.` written out, and without an intercept.

    Examples
    --------
    >>> parsed = parse("grade ~ . - id | priv(biopsy)", ["grade", "id", "age", "bmi", "biopsy"])
    >>> parsed.response, [t.name for t in parsed.regular_terms], [t.name for t in parsed.privileged_terms]
    ('grade', ['age', 'bmi'], ['biopsy'])
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
    left, parts = _split(text, tokens)
    if safe:
        check_safe(text, tokens, frozenset(columns))
    _check_names(text, tokens, columns, known)
    _check_responses(text, parts)
    reader = Reader(text, frozenset(columns))
    response = reader.response(left)
    terms = _read_parts(reader, parts, columns, {*response.variables, *exclude})
    if not terms["regular"]:
        raise FormulaError(_NO_FEATURE, text, parts["regular"][0].start)
    for part in ("adjust", "privileged"):
        if part in parts and not terms[part]:
            raise FormulaError(f"{_CALLS[part]}() holds no feature.", text, parts[part][0].start)
    _check_roles(text, response, terms)
    return ParsedFormula(
        text=text,
        response=response.code,
        response_factor=response,
        regular_terms=tuple(terms["regular"]),
        adjust_terms=tuple(terms["adjust"]),
        privileged_terms=tuple(terms["privileged"]),
    )


def _read_parts(
    reader: Reader, parts: Mapping[str, list[Token]], columns: Sequence[str], taken: set[str]
) -> dict[str, list[Term]]:
    """Read the terms of each part; '.' stands for what no other part names."""
    dots = [part for part, tokens in parts.items() if has_dot(tokens)]
    if len(dots) > 1:
        tokens = parts[dots[1]]
        dot = next(t for i, t in enumerate(tokens) if is_dot(tokens, i))
        raise FormulaError(
            "'.' cannot stand in two parts. List the columns of one of them.", reader.text, dot.start
        )
    terms: dict[str, list[Term]] = {"regular": [], "adjust": [], "privileged": []}
    for part in sorted(parts, key=lambda part: part in dots):
        named = taken.union(*(t.variables for found in terms.values() for t in found))
        terms[part] = reader.terms(parts[part], [c for c in columns if c not in named])
    return terms


def _split(text: str, tokens: list[Token]) -> tuple[list[Token], dict[str, list[Token]]]:
    """Cut the tokens into the response and the parts: regular, and the insides of adjust() and priv()."""
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
    early = next((t for t in left if t.text == "|" and t.depth == 0), None)
    if early is not None:
        raise FormulaError(
            "The '|' belongs to the right of '~': 'grade ~ age | priv(biopsy)'.", text, early.start
        )
    if not left:
        raise FormulaError("There is no response to the left of '~'.", text, tokens[tildes[0]].start)
    bars = [i for i, t in enumerate(right) if t.text == "|" and t.depth == 0]
    regular = right[: bars[0]] if bars else right
    for some in (left, regular):
        for i, token in enumerate(some):
            if token.text in _PART_OF_CALL and is_call(some, i):
                raise FormulaError(
                    f"{token.text}() stands at the end, after a '|': 'grade ~ age | {token.text}(x)'.",
                    text,
                    token.start,
                )
    if not regular:
        raise FormulaError(_NO_FEATURE, text, right[bars[0]].start if bars else len(text.rstrip()))
    parts = {"regular": regular}
    for i, at in enumerate(bars):
        tail = right[at + 1 : bars[i + 1] if i + 1 < len(bars) else None]
        part, inside = _inside_call(text, right[at], tail)
        if part in parts:
            call = _CALLS[part]
            raise FormulaError(
                f"A second {call}(). Put everything into one: '| {call}(z1, z2)'.", text, right[at].start
            )
        parts[part] = inside
    return left, parts


def _inside_call(text: str, bar: Token, tail: list[Token]) -> tuple[str, list[Token]]:
    """Return the part that follows a '|', and what stands inside its brackets."""
    if not tail:
        raise FormulaError(
            "Nothing follows '|'. Write '| priv(z1, z2)' or '| adjust(age)', or remove it.", text, bar.start
        )
    call = tail[0].text
    if call not in _PART_OF_CALL or not is_call(tail, 0):
        raise FormulaError(
            "After '|' comes priv(...) with the privileged features, or adjust(...) with covariates that every "
            "model holds: '| priv(z1, z2)'.",
            text,
            tail[0].start,
        )
    close = next(i for i, t in enumerate(tail) if t.text == ")" and t.depth == 0)
    if close + 1 < len(tail):
        raise FormulaError(
            f"Nothing may follow {call}(...) but another '|'. Put regular features before the '|'.",
            text,
            tail[close + 1].start,
        )
    inside = [Token(t.kind, t.text, t.start, t.depth - 1) for t in tail[2:close]]
    if not inside:
        raise FormulaError(
            f"{call}() is empty. Name what belongs there, or remove '| {call}()'.", text, tail[0].start
        )
    # A comma between terms means the same as a plus.
    for i, token in enumerate(inside):
        if token.text == "," and token.depth == 0:
            if i in (0, len(inside) - 1) or inside[i + 1].text == ",":
                raise FormulaError("A feature is missing beside this comma.", text, token.start)
            inside[i] = Token("op", "+", token.start, 0)
    return _PART_OF_CALL[call], inside


def _check_responses(text: str, parts: Mapping[str, list[Token]]) -> None:
    for tokens in parts.values():
        for name, token, call in references(tokens):
            if call and name in ("Surv", "between"):
                raise FormulaError(
                    f"{name}() makes a response: it stands to the left of '~'.", text, token.start
                )


def _check_names(text: str, tokens: list[Token], columns: Sequence[str], known: Container[str]) -> None:
    present = set(columns)
    there = {name for name, _, _ in references(tokens)}
    spare = [c for c in columns if c not in there]
    table = set(functions())
    callable_ = table | set(dir(builtins))
    for name, token, call in references(tokens):
        if call and name in _PART_OF_CALL:
            continue
        if token.kind == "string" or (not call and token.kind == "name"):
            if name in present or (token.kind == "name" and (name in table or name in known)):
                continue
            hint = _dotted(tokens, token, present) or nearest(name, spare)
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


def _check_roles(text: str, response: Factor, terms: Mapping[str, list[Term]]) -> None:
    """A response among the features, or a feature in two parts, would make the answer meaningless."""
    # With several variables (a change score, a ratio) one of them may rightly be a feature as well.
    sole = set(response.variables) if len(response.variables) == 1 else set()
    for term in itertools.chain(*terms.values()):
        if response.code in term.key or sole & term.variables:
            name = next(iter(sole), response.code)
            raise FormulaError(
                f"{name!r} is the response and cannot be a feature as well. Remove it from the features.",
                text,
                _place(term, sole),
            )
    features = {t.variables for t in terms["regular"]}
    for term in terms["adjust"]:
        if term.variables in features:
            raise FormulaError(
                f"{term.name!r} stands in both parts. What every model is adjusted for cannot be a feature as well; "
                "keep it in one part only.",
                text,
                _place(term, term.variables),
            )
    known = frozenset().union(*(t.variables for t in (*terms["regular"], *terms["adjust"])))
    for term in terms["privileged"]:
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
