"""Columns that take the place of a model's own: one class, for one problem or many, in any units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from relbounds.solver.model import Model


@dataclass(frozen=True)
class Columns:
    """New columns of k variables, for each of B problems.

    Parameters
    ----------
    index : ndarray of int, shape (B, k)
        Whose columns they are.
    G : ndarray, shape (B, k, R)
        Their columns of the loss rows.
    A : ndarray, shape (B, k, m), or None
        Their columns of the hard rows; None where these stay.
    linear : ndarray, shape (B, k), or None
        Their entries in the linear part of the loss; None where these stay.

    Examples
    --------
    >>> new_columns((0,), np.ones((1, 3))).index.tolist()
    [[0]]
    """

    index: np.ndarray
    G: np.ndarray
    A: np.ndarray | None = None
    linear: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.index)

    @property
    def variables(self) -> tuple[int, ...]:
        """Whose columns they are, in the first problem."""
        return tuple(int(j) for j in self.index[0])

    @property
    def each(self) -> np.ndarray:
        """The number of every problem, shaped to go with `index`."""
        return np.arange(len(self.index))[:, None]

    def values(self, v: np.ndarray) -> np.ndarray:
        """Return the values of the variables whose columns differ."""
        return v[self.each, self.index]

    @property
    def hard(self) -> np.ndarray:
        """The columns of the hard rows, where none are left to the model."""
        assert self.A is not None
        return self.A

    @property
    def slopes(self) -> np.ndarray:
        """The entries in the linear part of the loss, where none are left to the model."""
        assert self.linear is not None
        return self.linear

    def take(self, some: np.ndarray | slice) -> Columns:
        """Return the columns of some problems."""
        A, linear = (None if x is None else x[some] for x in (self.A, self.linear))
        return Columns(self.index[some], self.G[some], A, linear)

    def filled(self, model: Model) -> Columns:
        """Return the same with nothing left to the model."""
        A = model.A.T[self.index] if self.A is None else self.A
        linear = model.linear[self.index] if self.linear is None else self.linear
        return Columns(self.index, self.G, A, linear)


def new_columns(
    variables: Sequence[int] | np.ndarray,
    G: np.ndarray,
    A: np.ndarray | None = None,
    linear: np.ndarray | None = None,
) -> Columns:
    """Return the columns of one problem: `G` is (k, R), `A` (k, m) and `linear` (k,).

    Examples
    --------
    >>> new_columns((0, 2), np.zeros((2, 3))).variables
    (0, 2)
    """
    index = np.asarray(variables, dtype=int)[None, :]
    rest = (None if x is None else np.asarray(x, dtype=float)[None] for x in (A, linear))
    return Columns(index, np.asarray(G, dtype=float)[None], *rest)


def stack_columns(problems: Sequence[Columns], model: Model | None = None) -> Columns:
    """Return the columns of several problems as one; what some leave to the model and others do not is filled in.

    Without a model all must leave the same to it.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.ones(2))
    >>> stack_columns([new_columns((0,), np.ones((1, 1))), new_columns((1,), np.zeros((1, 1)))], model).index.tolist()
    [[0], [1]]
    """
    kept = {name: all(getattr(one, name) is None for one in problems) for name in ("A", "linear")}
    full = problems if model is None else [one.filled(model) for one in problems]
    A, linear = (None if kept[n] else np.concatenate([getattr(one, n) for one in full]) for n in kept)
    return Columns(
        np.concatenate([one.index for one in full]), np.concatenate([one.G for one in full]), A, linear
    )


def join_columns(parts: Sequence[Columns]) -> Columns:
    """Return the columns of the same problems, of other variables each, as one.

    Examples
    --------
    >>> join_columns([new_columns((0,), np.ones((1, 3))), new_columns((2,), np.zeros((1, 3)))]).variables
    (0, 2)
    """
    A, linear = (
        None
        if getattr(parts[0], name) is None
        else np.concatenate([getattr(part, name) for part in parts], axis=1)
        for name in ("A", "linear")
    )
    index, G = (np.concatenate([getattr(part, name) for part in parts], axis=1) for name in ("index", "G"))
    return Columns(index, G, A, linear)


def put_columns(model: Model, columns: Columns, problem: int = 0) -> Model:
    """Return the model with the new columns of one problem in place.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.ones(2))
    >>> put_columns(model, new_columns((1,), np.array([[5.0]]))).G.tolist()
    [[1.0, 5.0]]
    """
    where = columns.index[problem]
    G = model.G.copy()
    G[:, where] = columns.G[problem].T
    out = replace(model, G=G)
    if columns.A is not None:
        A = model.A.copy()
        A[:, where] = columns.A[problem].T
        out = replace(out, A=A)
    if columns.linear is not None:
        linear = model.linear.copy()
        linear[where] = columns.linear[problem]
        out = replace(out, linear=linear)
    return out
