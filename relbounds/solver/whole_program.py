"""The polytope as one plain sparse linear program, for simplex engines and for checks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals


@dataclass(frozen=True)
class FullLP:
    """``lhs x <= rhs`` with bounds, over ``x = (v, t, xi)``; `q` first entries of ``x`` are ``v``.

    The rows are, in order: loss rows, ``|v| <= t`` twice, hard rows, budgets.

    Examples
    --------
    >>> FullLP.__name__
    'FullLP'
    """

    lhs: sparse.csc_matrix
    rhs: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    q: int
    penalised: np.ndarray


def full_lp(polytope: Polytope) -> FullLP:
    """Return the polytope written out: a slack per loss row, a ``t_j >= |v_j|`` per penalised variable.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.array([1.0, 0.0]))
    >>> full_lp(Polytope(model, norm=1.0, loss=1.0, start=np.zeros(2))).lhs.shape
    (5, 4)
    """
    model = polytope.model
    q, R = model.q, model.h.size
    penalised = np.flatnonzero(model.penalty > 0)
    s = penalised.size
    pick = sparse.csc_matrix((np.ones(s), (np.arange(s), penalised)), shape=(s, q))
    p, l, B = polytope.budgets
    weight = model.penalty[penalised]
    blocks = [
        [sparse.csc_matrix(-model.G), None, -sparse.identity(R, format="csc")],
        [pick, -sparse.identity(s, format="csc"), None],
        [-pick, -sparse.identity(s, format="csc"), None],
        [sparse.csc_matrix(-model.A), None, None],
        [
            sparse.csc_matrix(np.outer(l, model.linear)),
            sparse.csc_matrix(np.outer(p, weight)),
            sparse.csc_matrix(np.outer(l, model.c)),
        ],
    ]
    shapes = [R, s, s, model.a.size, B.size]
    widths = [q, s, R]
    filled = [
        [
            sparse.csc_matrix((shapes[i], widths[j])) if block is None else block
            for j, block in enumerate(line)
        ]
        for i, line in enumerate(blocks)
    ]
    lhs = sparse.bmat(filled, format="csc")
    rhs = np.concatenate([-model.h, np.zeros(2 * s), -model.a, B])
    lower = np.concatenate([model.lower, np.zeros(s + R)])
    upper = np.concatenate([model.upper, np.full(s + R, np.inf)])
    return FullLP(lhs, rhs, lower, upper, q, penalised)


def full_duals(polytope: Polytope, z: np.ndarray) -> Duals:
    """Return the multipliers of a polytope from those of the rows of its full program.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.array([1.0, 0.0]))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.zeros(2))
    >>> full_duals(tope, np.arange(5.0)).lam.tolist()
    [[3.0, 4.0]]
    """
    model = polytope.model
    R, m = model.h.size, model.a.size
    s = int((model.penalty > 0).sum())
    beta, rest = z[:R], z[R + 2 * s :]
    return Duals(rest[None, m:], beta[None, :], rest[None, :m])
