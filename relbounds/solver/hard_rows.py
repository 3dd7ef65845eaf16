"""Sets with many hard rows, most of which they never come near: pushes leave these out, certificates look at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from relbounds.solver.centre import centred
from relbounds.solver.columns import Columns
from relbounds.solver.newton import factor_of
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import reduce
from relbounds.solver.starts import Ready

# With fewer hard rows than this, or with a larger share of them near, nothing is gained by leaving any out.
FEW, MOST_NEAR = 200, 0.8
# Rows are near within this many standard widths of the set, seen from its middle: fewer are met by some push, which
# then has to be made again, more cost time in every iteration.
WIDTHS = 1.4


def near_hard_rows(ready: Ready) -> tuple[np.ndarray, Ready]:
    """Return the numbers of the hard rows that a set, or one like it, is wide enough to come near, and its middle.

    Examples
    --------
    >>> from relbounds.solver.starts import prepare
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1), A=np.ones((2, 1)), a=[0.0, -9.0])
    >>> near_hard_rows(prepare(Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))))[0].tolist()
    [0, 1]
    """
    m = ready.polytope.model.a.size
    every = np.arange(m)
    if m < FEW or not ready.interior:
        return every, ready
    core = ready.reduced.core
    centre = centred(core, ready.v[None, :], None)
    with np.errstate(all="ignore"):
        # the barrier's metric is in units of the mean product of slack and multiplier
        unit = np.sqrt(centre.products()[0] / centre.S.shape[1])
        moved = factor_of(core, centre, None).solve(core.A[None, :m].transpose(0, 2, 1))[0]
        reach = unit * np.sqrt(np.maximum(np.einsum("rq,qr->r", core.A[:m], moved), 0.0))
        near = np.flatnonzero(~(centre.g[0, :m] > WIDTHS * np.sqrt(m) * reach))
    return near if near.size <= MOST_NEAR * m else every, replace(ready, v=centre.v[0])


def ready_with(ready: Ready, rows: np.ndarray) -> Ready:
    """Return a set with some of its hard rows, ready to be pushed from the same point.

    Examples
    --------
    >>> from relbounds.solver.starts import prepare
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1), A=np.ones((2, 1)), a=[0.0, -9.0])
    >>> ready = prepare(Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7])))
    >>> ready_with(ready, np.array([1])).reduced.core.a.size
    1
    """
    if rows.size == ready.polytope.model.a.size:
        return ready
    few = with_hard_rows(ready.polytope, rows)
    reduced = reduce(few)
    v = reduced.into(ready.reduced.back(ready.v[None, :]))[0]
    return replace(ready, polytope=few, reduced=reduced, v=v)


def with_hard_rows(polytope: Polytope, rows: np.ndarray) -> Polytope:
    """Return the set with some of its hard rows.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1), A=np.ones((2, 1)), a=[0.0, -9.0])
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> with_hard_rows(tope, np.array([1])).model.a.tolist()
    [-9.0]
    """
    model = polytope.model
    if rows.size == model.a.size:
        return polytope
    return replace(polytope, model=replace(model, A=model.A[rows], a=model.a[rows]))


def columns_with(columns: Columns, rows: np.ndarray) -> Columns:
    """Return replaced columns with some of the hard rows.

    Examples
    --------
    >>> from relbounds.solver.columns import new_columns
    >>> columns_with(new_columns((0,), np.ones((1, 1)), np.array([[2.0, 3.0]])), np.array([1])).A.tolist()
    [[[3.0]]]
    """
    if columns.A is None or rows.size == columns.A.shape[2]:
        return columns
    return replace(columns, A=np.ascontiguousarray(columns.A[:, :, rows]))
