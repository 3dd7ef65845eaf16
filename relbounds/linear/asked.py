"""What is asked of a model: a row of the table, and the functionals of the variables it reports.

A functional is the largest of some linear functions of a few variables: the size of a weight, the largest contrast
between levels, the sum of absolute weights. Its greatest value over a set is the largest of as many linear programs;
its least value is one linear program with a few more variables. Section "Terms" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from relbounds.design.design_terms import DesignTerm
from relbounds.linear.families.rows import FloatArray
from relbounds.solver import least as forms

# A sum of absolute weights over more variables than this has too many sign patterns: its greatest value is then
# bounded by the sum of the single greatest values.
MOST_SIGNS = 8


class RowKey(NamedTuple):
    """Which row of a table: the part, the term, and the level or column (None: the term's own row)."""

    part: str
    term: str
    label: str | None = None

    @property
    def whole(self) -> RowKey:
        """The row of the whole term."""
        return RowKey(self.part, self.term)


@dataclass(frozen=True, eq=False)
class Functional:
    """The largest of some linear functions of a few variables.

    Parameters
    ----------
    variables : tuple of int
        Positions in v.
    tops : ndarray, shape (m, len(variables))
        The linear functions; the value is the largest of them.
    signed : bool
        Whether it is the size of one linear function, ``tops[0]``, whose sign means something.
    exact : bool
        False where the tops bound the value from above only.
    least : (E, F, cost) or None
        ``min cost.y`` subject to ``E u + F y >= 0`` is the value at u; None for signed ones, whose least value
        follows from both ends.

    Examples
    --------
    >>> size_of(3).signed, largest_contrast((0, 1, 2)).tops.shape
    (True, (6, 3))
    """

    variables: tuple[int, ...]
    tops: FloatArray
    signed: bool = False
    exact: bool = True
    least: tuple[FloatArray, FloatArray, FloatArray] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Store the size of one variable by its number: workers map every stored array, and 20,000 are too many."""
        if self.signed and len(self.variables) == 1 and np.array_equal(self.tops, [[1.0], [-1.0]]):
            return size_of, (self.variables[0],)
        return Functional, (self.variables, self.tops, self.signed, self.exact, self.least)

    def directions(self, q: int) -> FloatArray:
        """Return the linear functions over all q variables."""
        return directions_of([self], q)

    def at(self, v: FloatArray) -> float:
        """Return the value at a point; with its sign where that means something."""
        u = v[list(self.variables)]
        if self.signed:
            return float(self.tops[0] @ u)
        if self.least is not None and not self.exact:
            return float(np.abs(u).sum())
        return float(np.max(self.tops @ u))


def directions_of(functionals: Sequence[Functional], q: int) -> FloatArray:
    """Return the linear functions of several functionals over all q variables, one below the other.

    Examples
    --------
    >>> directions_of([size_of(1)], 2).tolist()
    [[0.0, 1.0], [0.0, -1.0]]
    """
    out = np.zeros((sum(len(f.tops) for f in functionals), q))
    first = 0
    for f in functionals:
        out[first : first + len(f.tops), list(f.variables)] = f.tops
        first += len(f.tops)
    return out


def sparse_directions_of(functionals: Sequence[Functional], q: int) -> csr_array:
    """Return the same where nearly all entries are 0, as of a few variables of very many.

    Examples
    --------
    >>> sparse_directions_of([size_of(1)], 2).toarray().tolist()
    [[0.0, 1.0], [0.0, -1.0]]
    """
    width = [len(f.variables) for f in functionals for _ in f.tops]
    columns = [j for f in functionals for _ in f.tops for j in f.variables]
    values = np.concatenate([np.zeros(0), *(f.tops.ravel() for f in functionals)])
    out = csr_array((values, np.array(columns, dtype=int), np.cumsum([0, *width])), shape=(len(width), q))
    out.eliminate_zeros()
    return out


def size_of(variable: int) -> Functional:
    """Return the size of one variable."""
    return Functional((variable,), np.array([[1.0], [-1.0]]), signed=True)


def size_along(variables: tuple[int, ...], direction: FloatArray) -> Functional:
    """Return the size of one linear function of some variables."""
    return Functional(variables, np.array([direction, -direction]), signed=True)


def largest_contrast(variables: tuple[int, ...]) -> Functional:
    """Return the largest difference between two variables: the spread of a factor's levels.

    Examples
    --------
    >>> largest_contrast((4, 7, 9)).at(np.arange(10.0))
    5.0
    """
    k = len(variables)
    tops = np.zeros((k * (k - 1), k))
    for row, (one, two) in enumerate(permutations(range(k), 2)):
        tops[row, one], tops[row, two] = 1.0, -1.0
    form = forms.largest_contrast(range(k), k)
    return Functional(variables, tops, least=(form.E, form.F, form.cost))


def largest_of(variables: tuple[int, ...], tops: FloatArray) -> Functional:
    """Return the largest of given linear functions, which is 0 or more everywhere."""
    m = len(tops)
    return Functional(variables, tops, least=(-tops, np.ones((m, 1)), np.ones(1)))


def absolute_sum(variables: tuple[int, ...]) -> Functional:
    """Return the sum of absolute values of some variables.

    Examples
    --------
    >>> absolute_sum((0, 2)).at(np.array([-1.0, 5.0, 2.0]))
    3.0
    """
    k = len(variables)
    form = forms.sum_of_sizes(range(k), k)
    least = (form.E, form.F, form.cost)
    if k <= MOST_SIGNS:
        return Functional(variables, np.array(list(product((1.0, -1.0), repeat=k))), least=least)
    return Functional(variables, np.vstack([np.eye(k), -np.eye(k)]), exact=False, least=least)


@dataclass(frozen=True, eq=False)
class Asked:
    """One row of the table.

    Parameters
    ----------
    key : RowKey
    title : str
        The index of the row.
    row : {"term", "level", "column"}
    functionals : tuple of Functional
        As a rule one; a privileged feature has one for each correcting function, and its relevance is the largest.
    """

    key: RowKey
    title: str
    row: str
    functionals: tuple[Functional, ...]

    @property
    def signed(self) -> bool:
        """Whether its sign means something."""
        return all(one.signed for one in self.functionals)


def asked_of(term: DesignTerm, places: NDArray[np.intp]) -> tuple[Asked, ...]:
    """Return the rows of a term.

    Parameters
    ----------
    term : DesignTerm
    places : ndarray of int, shape (classes, columns of the term)
        The variables of its columns, one row a weight vector: one as a rule, one a class for nominal responses,
        one a correcting function for privileged features.
    """
    nominal = term.part != "privileged" and len(places) > 1
    key = RowKey(term.part, term.name)
    if len(term.columns) == 1:
        whole = _contrast_of_classes(places) if nominal else tuple(size_of(int(row[0])) for row in places)
        return (Asked(key, term.title, "term", whole),)
    row = "level" if term.kind == "factor" else "column"
    shares = np.array(term.shares) if term.kind == "factor" else None
    own: tuple[Functional, ...]
    if nominal:
        own = (_whole_of_classes(places, term.kind),)
    elif term.kind == "factor":
        own = tuple(largest_contrast(tuple(int(j) for j in one)) for one in places)
    else:
        own = tuple(absolute_sum(tuple(int(j) for j in one)) for one in places)
    out = [Asked(key, term.title, "term", own)]
    for k, label in enumerate(term.labels):
        direction = np.eye(len(term.columns))[k]
        if shares is not None:
            direction = direction - shares
        apart = (_class_pairs(places, direction),)
        below = apart if nominal else tuple(_along(one, direction) for one in places)
        out.append(Asked(RowKey(term.part, term.name, label), label, row, below))
    return tuple(out)


def _along(places: NDArray[np.intp], direction: FloatArray) -> Functional:
    used = np.flatnonzero(direction)
    return size_along(tuple(int(j) for j in places[used]), direction[used])


def _contrast_of_classes(places: NDArray[np.intp]) -> tuple[Functional, ...]:
    return (largest_contrast(tuple(int(j) for j in places[:, 0])),)


def _class_pairs(places: NDArray[np.intp], direction: FloatArray) -> Functional:
    """Return the largest difference between two classes along a direction of a term's columns."""
    used = np.flatnonzero(direction)
    K = len(places)
    tops = np.zeros((K * (K - 1), K * used.size))
    for row, (one, two) in enumerate(permutations(range(K), 2)):
        tops[row, one * used.size : (one + 1) * used.size] = direction[used]
        tops[row, two * used.size : (two + 1) * used.size] = -direction[used]
    return largest_of(tuple(int(j) for j in places[:, used].ravel()), tops)


def _whole_of_classes(places: NDArray[np.intp], kind: str) -> Functional:
    """Return the largest contrast of a term with several columns between two classes.

    Factors: over pairs of levels and of classes. Several numbers: over pairs of classes, the sum of absolute
    differences (over sign patterns).
    """
    K, k = places.shape
    variables = tuple(int(j) for j in places.ravel())
    if kind == "factor":
        inner = [np.eye(k)[a] - np.eye(k)[b] for a, b in permutations(range(k), 2)]
        pairs = list(permutations(range(K), 2))
        # swapping both pairs is the same function
        inner = inner if K > 2 or k > 2 else inner[:1]
    elif k <= MOST_SIGNS:
        inner, pairs = [np.array(s) for s in product((1.0, -1.0), repeat=k)], list(permutations(range(K), 2))
    else:
        inner, pairs = [*np.eye(k), *-np.eye(k)], list(permutations(range(K), 2))
    tops = np.zeros((len(inner) * len(pairs), K * k))
    row = 0
    for one, two in pairs:
        for direction in inner:
            tops[row, one * k : (one + 1) * k], tops[row, two * k : (two + 1) * k] = direction, -direction
            row += 1
    return largest_of(variables, tops)
