"""Many features: solving with few columns and proving that the others do not matter.

At an extreme point most weights are zero. With the other columns left out the set is smaller, so its answer is reached
in the whole set too; and when the multipliers of that answer hold every column left out at zero, it is exact.
Otherwise the columns that would rather move join, and it is solved again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from relbounds.solver.certificates import pull_of
from relbounds.solver.columns import Columns
from relbounds.solver.model import Model
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals
from relbounds.solver.tolerances import FINE, NEGLIGIBLE, PROMISED

# Sets with fewer penalised variables are solved with all of them.
WIDE = 100
# So are those with no more than this many, or whose start uses more than this share of them.
MANY, FEW_OF_MANY = 60, 0.2
# Columns that join for one direction at a time, more where there are few directions, up to so many in all; and
# directions worked on together: each brings columns of its own. Those that end as soon as something is proved of them
# hardly meet any, so that more of them go together.
JOINING, JOINING_IN_ALL, TOGETHER, TOGETHER_TO_PROVE = 15, 120, 32, 64
# Columns pulled at by this share of what they are held by join along with those pulled at by more.
CLOSE = 0.9
# With this many times more columns than rows hardly two directions have a use for the same ones: then only so many are
# worked on together, and hand nothing on.
MUCH_WIDER, FEW_TOGETHER = 2, 8
# Accuracy of a first look at which columns are of use, relative to the norm of the baseline. All are taken where it is
# more than this share of them. Systems of more columns than rows are solved from the side of the rows: for them all
# columns cost little more than some, and what more joins later costs as much again.
LOOK, MOST_OF_USE, MOST_IF_WIDER = 1e-2, 0.8, 0.35


def is_wide(polytope: Polytope) -> bool:
    """Return whether a set has so many variables that it pays to leave out those that stay zero.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> is_wide(Polytope(model, norm=1.0, loss=1.0, start=np.ones(1)))
    False
    """
    return len(polytope.start) == polytope.model.q and int(np.sum(polytope.model.penalty > 0)) > WIDE


def uses_few(polytope: Polytope) -> bool:
    """Return whether it pays to push with few columns: in wide sets, and where the start uses few of many.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> uses_few(Polytope(model, norm=1.0, loss=1.0, start=np.ones(1)))
    False
    """
    if is_wide(polytope) or len(polytope.start) != polytope.model.q:
        return is_wide(polytope)
    penalised = polytope.model.penalty > 0
    count = int(penalised.sum())
    return count > MANY and int(np.sum(polytope.start[penalised] != 0)) <= FEW_OF_MANY * count


def is_much_wider(polytope: Polytope) -> bool:
    """Return whether a set has so many more columns than rows that hardly two directions use the same ones.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 3)), np.ones(1), np.ones(1), np.ones(3))
    >>> is_much_wider(Polytope(model, norm=1.0, loss=1.0, start=np.ones(3)))
    True
    """
    model = polytope.model
    return model.q > MUCH_WIDER * (model.h.size + model.a.size)


def needed_columns(polytope: Polytope) -> np.ndarray:
    """Return the columns to begin with: those the start uses, free ones, and those with bounds of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.ones(2))
    >>> needed_columns(Polytope(model, norm=1.0, loss=1.0, start=np.array([1.0, 0.0]))).tolist()
    [True, False]
    """
    model = polytope.model
    bounded = np.isfinite(model.lower) | np.isfinite(model.upper)
    return (polytope.start != 0) | (model.penalty <= 0) | bounded


def with_columns(polytope: Polytope, chosen: np.ndarray) -> Polytope:
    """Return the set in which only the chosen columns are used.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.ones(2))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.array([1.0, 0.0]))
    >>> with_columns(tope, np.array([True, False])).model.q
    1
    """
    return replace(polytope, model=model_with(polytope.model, chosen), start=polytope.start[chosen])


def model_with(model: Model, chosen: np.ndarray) -> Model:
    """Return the model in which only the chosen columns are used.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.ones(2))
    >>> model_with(model, np.array([True, False])).q
    1
    """
    return replace(
        model,
        G=model.G[:, chosen],
        A=model.A[:, chosen],
        penalty=model.penalty[chosen],
        linear=model.linear[chosen],
        lower=model.lower[chosen],
        upper=model.upper[chosen],
        inner=None if model.inner is None else model.inner[chosen],
    )


def ask_to_join(
    polytope: Polytope,
    directions: np.ndarray,
    duals: Duals,
    chosen: np.ndarray,
    accuracy: float,
    replaced: Columns | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns to join the chosen ones, and which directions ask for any.

    Those that a direction asks for most, and those that it nearly asks for: with more columns it may.
    """
    p, l, B = polytope.budgets
    penalty = polytope.model.penalty
    pull = np.abs(pull_of(polytope, directions, duals, duals.lam @ l, replaced))
    offered = (duals.lam @ p)[:, None]
    with np.errstate(all="ignore"):
        over = np.where(chosen, -np.inf, pull / penalty - offered)
    more = np.any(over * B[0] / p[0] > NEGLIGIBLE * accuracy * polytope.size, axis=1)
    joining = np.zeros(chosen.size, dtype=bool)
    most = max(JOINING, JOINING_IN_ALL // max(int(more.sum()), 1))
    for row, held in zip(over[more], offered[more, 0], strict=True):
        first = np.argsort(-row, kind="stable")[:most]
        joining[first[row[first] > (CLOSE - 1.0) * held]] = True
    return joining, more


Solve = Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, Duals]]
Settled = Callable[[np.ndarray, Duals], tuple[np.ndarray, Duals]]


def on_few_columns(
    polytope: Polytope,
    directions: np.ndarray,
    solve: Solve,
    replaced: Columns | None = None,
    settled: Settled | None = None,
    accuracy: float = PROMISED,
    first: np.ndarray | None = None,
) -> tuple[np.ndarray, Duals]:
    """Return points and multipliers for each direction, solved on columns that all directions share.

    Parameters
    ----------
    polytope : Polytope
        The whole set.
    directions : ndarray, shape (k, q)
        Directions.
    solve : callable
        ``solve(some, chosen, gap)`` gives points, with an entry per chosen column, and multipliers of the
        directions `some`.
    replaced : Columns, optional
        Columns that differ from direction to direction.
    settled : callable, optional
        ``settled(some, duals)`` says which directions need no more, whatever columns would still join, and gives the
        multipliers that show it.
    accuracy : float, optional
        What may be left open, relative to the norm of the baseline.
    first : ndarray of bool, shape (q,), optional
        Columns that are likely to be of use, beside those to begin with in any case.
    """
    model, B = polytope.model, polytope.budgets[2]
    count = len(directions)
    points = np.zeros((count, model.q))
    duals = Duals(np.empty((count, B.size)), np.empty((count, model.h.size)), np.empty((count, model.a.size)))
    needed = needed_columns(polytope) if first is None else needed_columns(polytope) | first
    shared, apart = needed, is_much_wider(polytope)
    together = TOGETHER if settled is None else TOGETHER_TO_PROVE
    step = FEW_TOGETHER if apart else together
    wider = settled is None and model.q > model.h.size + model.a.size
    most = MOST_IF_WIDER if wider else MOST_OF_USE
    for begin in range(0, count, step):
        pending = np.arange(begin, min(begin + step, count))
        if apart:
            shared = needed
        # what directions have a use for is seen long before they end
        look = settled is None and first is None and (apart or not begin)
        while pending.size:
            chosen = shared | (directions[pending] != 0).any(axis=0)
            if chosen.mean() > most:
                chosen[:], look = True, False
            found, own = solve(pending, chosen, LOOK if look else FINE * accuracy / PROMISED)
            points[pending] = 0.0
            points[np.ix_(pending, np.flatnonzero(chosen))] = found
            raw, left = own, np.arange(pending.size)
            if settled is not None:
                enough, own = settled(pending, own)
                left = np.flatnonzero(~enough)
            for name in ("lam", "beta", "alpha"):
                getattr(duals, name)[pending] = getattr(own, name)
            if chosen.all() or not left.size:
                break
            rest = Duals(raw.lam[left], raw.beta[left], raw.alpha[left])
            left = pending[left]
            columns = None if replaced is None else replaced.take(left)
            joining, more = ask_to_join(polytope, directions[left], rest, chosen, accuracy, columns)
            shared = shared | joining
            pending = left if look else left[more]
            look = False
    return points, duals
