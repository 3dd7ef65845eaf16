"""Directions of one set of many columns, each pushed on the few columns that it has a use for.

Where a direction ends hardly more columns are used than there are observations near their kinks, but any two directions
use others: together they may need most of all columns. So each has columns of its own. A rough look tells which: those
that its multipliers pull at nearly as hard as the norm's multiplier holds them. At the end every column left out has to
be held; those that are not join, and the direction goes again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relbounds.solver import predictor_corrector as interior
from relbounds.solver.centre import aimed, centred
from relbounds.solver.certificates import pull_of
from relbounds.solver.core import State
from relbounds.solver.few_columns import LOOK, NEGLIGIBLE, is_wide
from relbounds.solver.few_each import alike, fits_each
from relbounds.solver.folded_stack import folded_stack
from relbounds.solver.goals import Goals
from relbounds.solver.own_columns import take_few
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals, Reduced
from relbounds.solver.stack import Stack
from relbounds.solver.starts import prepare, strictly
from relbounds.solver.tolerances import FINE, PROMISED

# Sets of fewer penalised columns are pushed with those that any direction has a use for.
FEWEST = 150
# Sets of more rows are pushed on those near their kinks, which all directions share.
MOST_ROWS = 1000
# Columns that a look pulls at by this share of what they are held by are taken; when the look had few columns, which
# says less, somewhat more of them.
CLOSE, CLOSER = 0.9, 0.85
# Where a look at few columns asks for more than this share of all, on average, the next one has all of them. Sets whose
# start uses more than this share have no use for any of this.
FEW_OF_USE, MOST_AT_START = 0.3, 0.4
# Where a look asks for no more columns than this, as a rule, it has seen enough.
FEW_ASKED = 15
# Where all directions together ask for no more columns than this they share them.
FEW_IN_ALL = 64
# Columns that may join after a look, and later.
JOINING_AT_FIRST, JOINING = 150, 60
# Entries of the rows of the directions of one run.
ENTRIES = 4_000_000
# Runs of a direction at most; what is then not settled is pushed with all columns. So is what rounding ended.
ROUNDS, ENDED = 8, 3.0


@dataclass(frozen=True)
class WideSet:
    """A set of many columns, with its rows once each.

    Parameters
    ----------
    polytope : Polytope
    reduced : Reduced
        The set in core units.
    stack : Stack
        Its rows, those that are the same but for their sign once where there are such.
    begin : ndarray, shape (1, q)
        A point strictly inside that uses few columns, in core units.
    """

    polytope: Polytope
    reduced: Reduced
    stack: Stack
    begin: np.ndarray

    @property
    def base(self) -> np.ndarray:
        """The penalised columns that this point uses."""
        found: np.ndarray = self.begin[0, : self.reduced.core.pen.size] != 0
        return found

    def had(self, directions: np.ndarray) -> np.ndarray:
        """Return the penalised columns that each direction begins with."""
        found: np.ndarray = self.base | (directions[:, self.reduced.free[: self.base.size]] != 0)
        return found

    def is_shared(self, directions: np.ndarray, pull: np.ndarray) -> bool:
        """Say whether directions that pull so have a use for few columns together: then these serve them all."""
        every = self.had(directions) | (pull > CLOSE)
        return bool(every.any(axis=0).sum() <= FEW_IN_ALL)

    def pulls(self, directions: np.ndarray, duals: Duals) -> np.ndarray:
        """Return how hard multipliers pull at each penalised column, as a share of what the norm's holds."""
        p, l, _ = self.polytope.budgets
        some = self.reduced.free[: self.reduced.core.pen.size]
        pull = np.abs(pull_of(self.polytope, directions, duals, duals.lam @ l))[:, some]
        with np.errstate(all="ignore"):
            return np.nan_to_num(pull / (self.polytope.model.penalty[some] * (duals.lam @ p)[:, None]))


def wide_set(polytope: Polytope) -> WideSet | None:
    """Return a set so that directions can have columns of their own; None where that is of no use.

    Examples
    --------
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> wide_set(Polytope(model, norm=1.0, loss=1.0, start=np.ones(1))) is None
    True
    """
    model = polytope.model
    wide = is_wide(polytope) and int(np.sum(model.penalty > 0)) >= FEWEST
    if not wide or model.h.size > MOST_ROWS or model.linear.any():
        return None
    ready = prepare(polytope)
    if not (ready.feasible and ready.interior and fits_each(ready.reduced)):
        return None
    core = ready.reduced.core
    if np.mean(ready.v[: core.pen.size] != 0) > MOST_AT_START:
        return None
    stack = folded_stack(core, Stack(core.G.T[None], None, np.zeros(1, dtype=int)))
    return WideSet(polytope, ready.reduced, stack, ready.v[None, :])


@dataclass
class Ends:
    """Where directions are, in core units.

    Points, multipliers, how hard these pull at each column, which columns each had, and whether its run ended well.
    """

    v: np.ndarray
    z4: np.ndarray
    alpha: np.ndarray
    lam: np.ndarray
    pull: np.ndarray
    had: np.ndarray
    ended: np.ndarray


def push_wide(
    wide: WideSet,
    directions: np.ndarray,
    pull: np.ndarray,
    look_at_all: Callable[[], Duals],
    goals: Goals | None = None,
) -> tuple[np.ndarray, Duals, np.ndarray]:
    """Return points and multipliers of directions, each found on columns of its own.

    Parameters
    ----------
    wide : WideSet
    directions : ndarray, shape (k, q)
    pull : ndarray, shape (k, s)
        How hard multipliers of a rough look with few columns pull at each (:meth:`WideSet.pulls`).
    look_at_all : callable
        Gives multipliers of a look with all columns, where the first one has not seen enough.
    goals : Goals, optional
        What they are pushed for: a race, in which the largest counts, or nothing but their optimum.

    Returns
    -------
    points : ndarray, shape (k, q)
    duals : Duals
    settled : ndarray of bool, shape (k,)
        The others have to be pushed with all columns.
    """
    core, reduced, size = wide.reduced.core, wide.reduced, wide.polytope.size
    k, s = len(directions), core.pen.size
    had = wide.had(directions)
    v, z4, alpha, lam = (np.zeros((k, n)) for n in (core.q, core.rows, core.a.size, core.p.size))
    ends = Ends(v, z4, alpha, lam, pull, had.copy(), np.zeros(k, dtype=bool))
    every = np.arange(k)
    if np.median(np.sum(ends.pull > CLOSE, axis=1)) > FEW_OF_USE * s:
        ends.pull = wide.pulls(directions, look_at_all())
        ends.had = had | (ends.pull > CLOSE)
    elif np.median(np.sum(ends.pull > 1.0, axis=1)) <= FEW_ASKED:
        ends.had = had | (ends.pull > CLOSE)
    else:
        _run(wide, directions, ends, every, JOINING_AT_FIRST, LOOK * size)
        ends.had = had | (ends.pull > CLOSER)
    accuracy = PROMISED if goals is None else goals.accuracy
    settled, left = np.zeros(k, dtype=bool), every
    for _ in range(ROUNDS):
        _run(wide, directions, ends, left, JOINING, FINE * accuracy / PROMISED * size, goals)
        over = np.max(np.where(ends.had[left], 0.0, ends.pull[left] - 1.0), axis=1, initial=0.0)
        cost = over * (ends.lam[left] @ core.p) * core.B[0] / core.p[0]
        held = cost <= NEGLIGIBLE * accuracy * size
        settled[left[held]] = ends.ended[left[held]]
        left = left[~held]
        if not left.size:
            break
    return reduced.back(ends.v), reduced.duals(ends.z4, ends.alpha, ends.lam), settled


def _run(
    wide: WideSet,
    directions: np.ndarray,
    ends: Ends,
    some: np.ndarray,
    joining: int,
    gap: float,
    goals: Goals | None = None,
) -> None:
    """Push some directions on the columns they had and on those that join."""
    before = ends.had[some].sum(axis=1)
    width = np.minimum(np.sum(ends.had[some] | (ends.pull[some] > CLOSE), axis=1), before + joining)
    for group in alike(np.arange(some.size), width):
        count = int(width[group].max())
        step = max(1, ENTRIES // (count * wide.stack.G.shape[2]))
        for first in range(0, group.size, step):
            _run_alike(wide, directions, ends, some[group[first : first + step]], count, gap, goals)


def _run_alike(
    wide: WideSet,
    directions: np.ndarray,
    ends: Ends,
    some: np.ndarray,
    count: int,
    gap: float,
    goals: Goals | None,
) -> None:
    """Push some directions on as many columns each, in one run."""
    reduced, core = wide.reduced, wide.reduced.core
    stack = wide.stack.of(np.zeros(some.size, dtype=int))
    # columns of the beginning first, in one order
    first = np.where(wide.base, 4.0 - np.linspace(0.0, 1.0, wide.base.size), 0.0)
    wanted = np.where(ends.had[some], 2.0, np.minimum(ends.pull[some] / (1.0 + ends.pull[some]), 1.0)) + first
    few = take_few(core, stack, stack.owner, wanted, count)
    np.put_along_axis(wanted, few.place[:, :count], np.inf, axis=1)
    ends.had[some] = np.isinf(wanted)
    centre = _middle(wide, first, count)
    if centre is None:
        return
    whole = directions[some][:, reduced.free] * reduced.unit
    d = np.take_along_axis(whole * few.unit, few.place, axis=1)
    start = aimed(few.core, centre.take(stack.owner), np.arange(some.size), d, few.stack)
    stop = None if goals is None else goals.stop(some, d, directions[some] @ reduced.origin)
    end = interior.solve(few.core, d, start, np.full(some.size, gap), columns=few.stack, stop=stop)
    ends.v[some], ends.z4[some], ends.alpha[some], ends.lam[some] = (
        few.back(end.v),
        end.z4,
        end.alpha,
        end.lam,
    )
    ends.ended[some] = interior.open_at(few.core, end, d, few.stack) <= ENDED * gap
    if goals is not None:
        ends.ended[some] |= goals.stopped[some]
    s = core.pen.size
    with np.errstate(all="ignore"):
        pull = np.abs(stack.times_t(end.z4) + whole)[:, :s] / core.pen
        ends.pull[some] = np.nan_to_num(pull / (end.lam @ core.p)[:, None])


def _middle(wide: WideSet, first: np.ndarray, count: int) -> State | None:
    """Return the middle of the set on the columns of the beginning, beside which others are idle; None if outside."""
    one = np.zeros(1, dtype=int)
    few = take_few(wide.reduced.core, wide.stack, one, first[None, :], count)
    idle = slice(int(wide.base.sum()), count)
    at = few.into(wide.begin)
    few.stack.clear(idle)
    return centred(few.core, at, few.stack) if strictly(few.core, at, few.stack).all() else None
