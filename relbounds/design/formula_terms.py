"""Terms: what stands between the signs of a formula. Sums are read here, products and powers by patsy."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from patsy import INTERCEPT, ModelDesc, PatsyError

from relbounds.design.tokens import Token, quote, references, tokenize
from relbounds.errors import FormulaError

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


def is_dot(tokens: Sequence[Token], i: int) -> bool:
    """Tell whether token i is a '.' that stands for columns, and not the one of `np.log`."""
    if tokens[i].text != ".":
        return False
    return i == 0 or (tokens[i - 1].kind == "op" and tokens[i - 1].text not in (")", "]", "."))


def has_dot(tokens: Sequence[Token]) -> bool:
    """Tell whether a '.' for columns is among the tokens."""
    return any(is_dot(tokens, i) for i in range(len(tokens)))


@dataclass(frozen=True)
class Reader:
    """Turns tokens into terms. Sums are taken apart here, products and powers by patsy."""

    text: str
    columns: frozenset[str]

    def column(self, name: str, position: int) -> Term:
        """The term that is one column as it stands."""
        return Term((Factor(quote(name), (name,), (), position),))

    def factor(self, code: str, position: int) -> Factor:
        """Find out which columns and functions a piece of Python code uses."""
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
        """Read the left-hand side."""
        if has_dot(tokens):
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
        """Read a sum of terms; `dot` is what '.' stands for."""
        found: dict[frozenset[str], Term] = {}
        for sign, piece in self._pieces(tokens):
            for term in self._piece(piece, dot):
                if sign > 0:
                    found.setdefault(term.key, term)
                else:
                    found.pop(term.key, None)
        return list(found.values())

    def _pieces(self, tokens: list[Token]) -> Iterator[tuple[int, list[Token]]]:
        """Cut a sum at its outermost signs: a long sum would be too deep for a recursive parser."""
        piece: list[Token] = []
        sign, last = 1, tokens[0]
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
                raise FormulaError(
                    "A '+' or another operator is missing before this.", self.text, token.start
                )
            if token.text == "." and is_dot(piece, i) and self._in_call(piece, i):
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
            text = _balanced([quote(c) for c in dot]) if is_dot(piece, i) else token.text
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
    hints = {
        "numbers besides": "A number is not a feature. Wrap arithmetic in I(): 'I(2 * x)'.",
        "expected a noun": "A feature is missing here.",
        "expected an operator": "A '+' (or another operator) is missing here.",
        "Unary minus": "A minus must follow a feature or '.': 'grade ~ . - id'.",
        "requires a positive integer": "'**' between features needs a whole number: '(a + b)**2'.",
    }
    for start, hint in hints.items():
        if start in message:
            return hint
    return f"The formula cannot be read here: {message}."
