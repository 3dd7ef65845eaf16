"""Formulas: "grade ~ x1 + log(x2) | priv(z1)" read into terms, each of which patsy can evaluate."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import patsy.builtins
from patsy import INTERCEPT, ModelDesc, PatsyError

from relbounds.errors import FormulaError, nearest
from relbounds.tokens import Token, is_call, quote, references, tokenize, unquote


_OUTSIDE_CALLS = {
    "^": "Write powers as I(x**2), and all interactions up to order two as (a + b)**2.",
    "%": "'%' has no meaning between features. For all levels within levels write 'a:b'.",
    ",": "Features are separated by '+'; commas belong inside priv() or a function.",
    "=": "A single '=' has no meaning here. Wrap a comparison in I(): 'I(x == 2)'.",
}


@dataclass(frozen=True)
class Factor:
    """One factor of a term: Python code, the columns it reads, the functions it calls, where it stood."""

    code: str
    variables: tuple[str, ...] = field(compare=False)
    functions: tuple[str, ...] = field(compare=False)
    position: int = field(compare=False, default=0)


@dataclass(frozen=True)
class Term:
    """A product of factors, `x1:x2`; one factor in most formulas."""

    factors: tuple[Factor, ...]

    @property
    def name(self) -> str:
        """The term as it would be written in a formula."""
        return ":".join(f.code for f in self.factors)

    @property
    def variables(self) -> frozenset[str]:
        """The columns of the data that the term reads."""
        return frozenset(v for f in self.factors for v in f.variables)

    @property
    def key(self) -> frozenset[str]:
        """What makes two terms the same, whatever the order of their factors."""
        return frozenset(f.code for f in self.factors)


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
    text = "".join(" " if c.isspace() else c for c in formula)
    if not text.strip():
        raise FormulaError("The formula is empty. Write for example 'grade ~ age + bmi'.")
    tokens = tokenize(text)
    left, right, private = _split(text, tokens)
    _check_names(text, tokens, columns, known)
    reader = _Reader(text, frozenset(columns))

    response = reader.response(left)
    of_response = set(response.variables)
    if private is None:
        privileged: list[Term] = []
        regular = reader.terms(right, [c for c in columns if c not in of_response.union(exclude)])
    elif _has_dot(private):
        if _has_dot(right):
            dot = next(t for i, t in enumerate(private) if _is_dot(private, i))
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
        text=formula,
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
        raise FormulaError(
            "A formula has one '~'; remove the second one.", text, tokens[tildes[1]].start
        )
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
            "Nothing may follow priv(...). Put regular features before the '|' and privileged ones inside priv().",
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
    table = set(functions()) | set(dir(builtins))
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
        if name not in table and name not in known:
            if name in present:
                message = f"{name!r} is a column, not a function."
            else:
                message = f"There is no function {name!r}.{nearest(name, table)}"
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
    return next((f.position for f in term.factors if set(f.variables) & set(variables)), term.factors[0].position)


def _is_dot(tokens: Sequence[Token], i: int) -> bool:
    """A '.' that stands for columns, and not the one of `np.log`."""
    if tokens[i].text != ".":
        return False
    return i == 0 or (tokens[i - 1].kind == "op" and tokens[i - 1].text not in (")", "]", "."))


def _has_dot(tokens: Sequence[Token]) -> bool:
    return any(_is_dot(tokens, i) for i in range(len(tokens)))


@dataclass(frozen=True)
class _Reader:
    """Turns tokens into terms. Sums are taken apart here, products and powers by patsy."""

    text: str
    columns: frozenset[str]

    def column(self, name: str, position: int) -> Term:
        """The term that is one column as it stands."""
        return Term((Factor(quote(name), (name,), (), position),))

    def factor(self, code: str, position: int) -> Factor:
        refs = references(tokenize(code))
        variables = dict.fromkeys(n for n, t, call in refs if not call and n in self.columns)
        called = dict.fromkeys(n for n, t, call in refs if call)
        clash = next((v for v in variables if v in called), None)
        if clash is not None:
            raise FormulaError(
                f"{clash!r} is used here both as a column and as a function. Rename the column.",
                self.text,
                position,
            )
        if not variables:
            raise FormulaError(
                f"{code!r} names no column of the data. The variables of a formula come from the data alone.",
                self.text,
                position,
            )
        return Factor(code, tuple(variables), tuple(called), position)

    def response(self, tokens: list[Token]) -> Factor:
        if _has_dot(tokens):
            raise FormulaError("'.' cannot stand for the response.", self.text, tokens[0].start)
        terms = self.terms(tokens, [])
        if len(terms) != 1 or len(terms[0].factors) != 1:
            raise FormulaError(
                "There must be exactly one response. Wrap arithmetic in I(): 'I(after - before) ~ x'.",
                self.text,
                tokens[0].start,
            )
        return terms[0].factors[0]

    def terms(self, tokens: list[Token], dot: list[str]) -> list[Term]:
        found: dict[frozenset[str], Term] = {}
        for sign, piece in self._pieces(tokens):
            for term in self._piece(piece, dot):
                if sign > 0:
                    found.setdefault(term.key, term)
                else:
                    found.pop(term.key, None)
        return list(found.values())

    def _pieces(self, tokens: list[Token]) -> Iterable[tuple[int, list[Token]]]:
        """Cut a sum at its outermost signs: a long sum would be too deep for a recursive parser."""
        sign, piece, last = 1, [], tokens[0]
        for i, token in enumerate(tokens):
            outer = token.depth == 0 and token.kind == "op"
            if outer and token.text in "+-" and (not piece or piece[-1].text not in ("**", "*", "/", ":")):
                if piece:
                    yield sign, piece
                    sign, piece = 1, []
                sign = -sign if token.text == "-" else sign
                if i + 1 == len(tokens):
                    raise FormulaError("A feature is missing after this sign.", self.text, token.start)
            else:
                piece.append(token)
            last = token
        if not piece:
            raise FormulaError("A feature is missing here.", self.text, last.start)
        yield sign, piece

    def _piece(self, piece: list[Token], dot: list[str]) -> list[Term]:
        start = piece[0].start
        if len(piece) == 1:
            token = piece[0]
            if token.text == ".":
                return [self.column(c, start) for c in dot]
            if token.kind == "name" and token.text in self.columns:
                return [self.column(token.text, start)]
            if token.text in ("0", "1"):  # the intercept: there is never a column for it
                return []
        for i, token in enumerate(piece):
            if token.depth == 0 and token.text in _OUTSIDE_CALLS:
                raise FormulaError(_OUTSIDE_CALLS[token.text], self.text, token.start)
            if i and token.kind != "op" and (piece[i - 1].kind != "op" or piece[i - 1].text == ")"):
                raise FormulaError("A '+' or another operator is missing before this.", self.text, token.start)
            if token.text == "." and _is_dot(piece, i) and self._in_call(piece, i):
                raise FormulaError("'.' cannot stand inside a function.", self.text, token.start)
        source, places = self._expand(piece, dot)
        return self._by_patsy(source, places)

    @staticmethod
    def _in_call(piece: list[Token], i: int) -> bool:
        depth = piece[i].depth
        for j in range(i - 1, -1, -1):
            if piece[j].depth < depth and piece[j].text in ("(", "[", "{"):
                if piece[j].text != "(" or (j and piece[j - 1].kind == "name"):
                    return True
                depth = piece[j].depth
        return False

    def _expand(self, piece: list[Token], dot: list[str]) -> tuple[str, list[int]]:
        """Write '.' out; `places` maps each character back to its place in the formula."""
        source, places = "", []
        for i, token in enumerate(piece):
            gap = " " if i and token.start > piece[i - 1].end else ""
            text = _balanced([quote(c) for c in dot]) if _is_dot(piece, i) else token.text
            source += gap + text
            places += [token.start] * len(gap)
            if text == token.text:
                places += list(range(token.start, token.end))
            else:
                places += [token.start] * len(text)
        return source, places

    def _by_patsy(self, source: str, places: list[int]) -> list[Term]:
        def place(at: int) -> int:
            return places[min(at, len(places) - 1)]

        try:
            terms = ModelDesc.from_formula(source).rhs_termlist
        except PatsyError as error:
            at = place(error.origin.start) if error.origin is not None else places[0]
            raise FormulaError(_reworded(error.message), self.text, at) from None
        except Exception as error:  # patsy's parser asserts in places; never show that to a user
            raise FormulaError(f"This cannot be read: {error}", self.text, places[0]) from None
        found = []
        for term in terms:
            if term == INTERCEPT:
                continue
            factors = []
            for factor in term.factors:
                at = factor.origin.start if factor.origin is not None else 0
                self._check_python(factor.code, place(at))
                factors.append(self.factor(factor.code, place(at)))
            found.append(Term(tuple(factors)))
        return found

    def _check_python(self, code: str, position: int) -> None:
        try:
            tree = ast.parse(code, mode="eval")
        except SyntaxError as error:
            raise FormulaError(f"{code!r} cannot be read: {error.msg}.", self.text, position) from None
        banned = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr)
        if any(isinstance(node, banned) for node in ast.walk(tree)):
            raise FormulaError(
                f"{code!r} holds a lambda or a comprehension. Define a function and call it here.",
                self.text,
                position,
            )


def _balanced(names: list[str]) -> str:
    """A sum as a balanced tree of brackets, so that thousands of names do not nest deeply."""
    if not names:
        return "0"
    if len(names) == 1:
        return names[0]
    half = len(names) // 2
    return f"({_balanced(names[:half])} + {_balanced(names[half:])})"


def _reworded(message: str) -> str:
    hints: list[tuple[str, Callable[[], str]]] = [
        ("numbers besides", lambda: "A number is not a feature. Wrap arithmetic in I(): 'I(2 * x)'."),
        ("expected a noun", lambda: "A feature is missing here."),
        ("expected an operator", lambda: "A '+' (or another operator) is missing here."),
        ("Unary minus", lambda: "A minus must follow a feature or '.': 'grade ~ . - id'."),
        ("requires a positive integer", lambda: "'**' between features needs a whole number: '(a + b)**2'."),
    ]
    for start, hint in hints:
        if start in message:
            return hint()
    return f"The formula cannot be read here: {message}."


__all__ = ["Factor", "ParsedFormula", "Term", "functions", "parse", "quote", "unquote"]
