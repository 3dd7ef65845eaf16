"""The least value of a convex piecewise linear function over a polytope.

Such a function is the least ``cost.y`` with ``E v + F y >= 0``: the largest contrast of some variables with
``y = (M, m)``, a sum of absolute values with one entry of ``y`` per term. The auxiliary variables ``y`` join those of
the model, the rows its hard rows, and the program is solved like any other push.

The certificate needs neither. For multipliers ``alpha >= 0`` of the rows with ``F' alpha = cost``, ``cost.y`` is at
least ``-(E' alpha).v``, so the least value is at least minus the largest value along ``E' alpha``: a bound of a plain
push.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from relbounds.solver.certificates import dual_bound, inside, largest_values
from relbounds.solver.engines.answer import Answer
from relbounds.solver.engines.batch import push_batch
from relbounds.solver.engines.registry import Engine, engines_for
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals
from relbounds.solver.tolerances import PROMISED, SIMPLEX

# The auxiliary variables are kept within this many times what the rows may ask of them, so that the set has a middle.
# Less could cut the optimum off; much more would put the middle far from it.
BOX = 3.0
# Auxiliary variables solved together: each adds to the size of every program of the run.
TOGETHER = 24


@dataclass(frozen=True)
class Form:
    """A convex piecewise linear function: the least ``cost.y`` such that ``E v + F y >= 0``.

    Parameters
    ----------
    E : ndarray, shape (m, q)
        Coefficients of the model's variables.
    F : ndarray, shape (m, p)
        Coefficients of the auxiliary variables.
    cost : ndarray, shape (p,)
        What these cost.

    Examples
    --------
    >>> import numpy as np
    >>> absolute = Form(np.array([[1.0], [-1.0]]), np.ones((2, 1)), np.ones(1))
    >>> round(absolute.value_at(np.array([-3.0]))[0], 6)
    3.0
    """

    E: np.ndarray
    F: np.ndarray
    cost: np.ndarray

    def value_at(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value at a point and the auxiliary variables that give it (infinite where none do)."""
        from scipy.optimize import linprog

        asked = self.E @ v
        size = float(np.max(np.abs(asked), initial=0.0)) or 1.0
        found = linprog(
            self.cost,
            A_ub=-self.F,
            b_ub=asked / size,
            bounds=(None, None),
            method="highs-ds",
            options={"primal_feasibility_tolerance": SIMPLEX, "dual_feasibility_tolerance": SIMPLEX},
        )
        if found.status != 0:
            return np.inf, np.zeros(self.cost.size)
        return float(found.fun) * size, np.asarray(found.x) * size


@dataclass(frozen=True)
class Least:
    """The least value of a function over a polytope.

    Parameters
    ----------
    value : float
        Reached at `point`: the least value is at most this (nan where the polytope is empty).
    bound : float
        Proved by multipliers: the least value is at least this.
    point : ndarray, shape (q,)
        A point of the polytope.
    gap : float
        ``value - bound``.

    Examples
    --------
    >>> import numpy as np
    >>> Least(1.0, 1.0, np.zeros(1), 0.0).gap
    0.0
    """

    value: float
    bound: float
    point: np.ndarray
    gap: float


def largest_contrast(variables: Sequence[int], q: int) -> Form:
    """Return the largest difference between two of some variables, as a function of all `q`.

    It is M - m with m below and M above all of them.

    Examples
    --------
    >>> import numpy as np
    >>> round(largest_contrast([0, 2], 3).value_at(np.array([1.0, 9.0, -1.0]))[0], 6)
    2.0
    """
    pick = np.eye(q)[list(variables)]
    k = len(pick)
    F = np.zeros((2 * k, 2))
    F[:k, 0], F[k:, 1] = 1.0, -1.0
    return Form(np.vstack([-pick, pick]), F, np.array([1.0, -1.0]))


def sum_of_sizes(variables: Sequence[int], q: int) -> Form:
    """Return the sum of the absolute values of some variables, as a function of all `q`.

    Examples
    --------
    >>> import numpy as np
    >>> round(sum_of_sizes([0, 2], 3).value_at(np.array([1.0, 9.0, -1.0]))[0], 6)
    2.0
    """
    pick = np.eye(q)[list(variables)]
    k = len(pick)
    return Form(np.vstack([-pick, pick]), np.vstack([np.eye(k), np.eye(k)]), np.ones(k))


def least_value(
    polytope: Polytope, E: np.ndarray, F: np.ndarray, cost: np.ndarray, solver: str = "auto"
) -> Least:
    """Return the least ``cost.y`` over points ``v`` of the polytope and ``y`` with ``E v + F y >= 0``.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> found = least_value(tope, np.array([[1.0], [-1.0]]), np.ones((2, 1)), np.ones(1))
    >>> round(found.value, 5), bool(found.gap < 1e-6)
    (0.5, True)
    """
    form = Form(*(np.asarray(x, dtype=float) for x in (E, F, cost)))
    return least_values(polytope, [form], solver)[0]


def least_values(
    polytope: Polytope, forms: Sequence[Form], solver: str = "auto", *, rough: float | None = None
) -> list[Least]:
    """Return the least value of each of several functions, worked on together.

    With `rough`, values this share of the norm above the least will do, and one engine is asked.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.ones(2))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.4, 0.4]))
    >>> forms = [sum_of_sizes([0, 1], 2), sum_of_sizes([0], 2), largest_contrast([0, 1], 2)]
    >>> [abs(round(found.value, 5)) for found in least_values(tope, forms)]
    [0.5, 0.0, 0.0]
    """
    found: list[Least | None] = [None] * len(forms)
    engines = engines_for(solver)
    if rough is not None and engines[0].name == "batch":
        engines = [Engine("batch", partial(_roughly, gap=rough))]
    for engine in engines:
        open_ = [i for i, one in enumerate(found) if one is None or one.gap > PROMISED * polytope.size]
        for group in _groups([forms[i].cost.size for i in open_]):
            some = [open_[i] for i in group]
            for i, one in zip(some, _solve(polytope, [forms[i] for i in some], engine), strict=True):
                found[i] = _better(found[i], one)
    return [one for one in found if one is not None]


def _roughly(polytope: Polytope, directions: np.ndarray, gap: float) -> Answer:
    return push_batch(polytope, directions, None, gap)


def _groups(sizes: Sequence[int]) -> list[list[int]]:
    """Return positions in groups of limited total size."""
    groups: list[list[int]] = []
    total = 0
    for i, size in enumerate(sizes):
        if not groups or total + size > TOGETHER:
            groups.append([])
            total = 0
        groups[-1].append(i)
        total += size
    return groups


def _better(old: Least | None, new: Least) -> Least:
    """Return the better value and the better bound of two answers."""
    if old is None:
        return new
    value, point = (old.value, old.point) if old.value <= new.value else (new.value, new.point)
    bound = max(old.bound, new.bound)
    return Least(value, bound, point, max(value - bound, 0.0))


@dataclass(frozen=True)
class _Extended:
    """A polytope whose variables are those of another one and the auxiliary ones of some forms."""

    polytope: Polytope
    directions: np.ndarray
    rows: tuple[slice, ...]
    box: tuple[float, ...]
    factor: float


def _solve(polytope: Polytope, forms: Sequence[Form], engine: Engine) -> list[Least]:
    """Return what one engine finds, certified."""
    extended = _extend(polytope, forms)
    answer = engine.push(extended.polytope, extended.directions)
    return [_certified(polytope, form, extended, answer, i) for i, form in enumerate(forms)]


def _extend(polytope: Polytope, forms: Sequence[Form]) -> _Extended:
    model = polytope.model
    q, m = model.q, model.a.size
    widths = [form.cost.size for form in forms]
    counts = [len(form.E) for form in forms]
    total, added = sum(widths), sum(counts)
    A = np.zeros((m + added, q + total))
    A[:m, :q] = model.A
    directions = np.zeros((len(forms), q + total))
    start, box, rows = [polytope.start], [], []
    limit = np.zeros(total)
    column, row = q, m
    # rows in the units of the others: variables as large as the start's make up the height
    factor = model.height / polytope.size
    for i, (form, width, count) in enumerate(zip(forms, widths, counts, strict=True)):
        here = slice(row, row + count)
        A[here, :q], A[here, column : column + width] = factor * form.E, factor * form.F
        directions[i, column : column + width] = -form.cost
        most = _reach(polytope, form)
        limit[column - q : column - q + width] = most
        start.append(_start(form, polytope.start, most))
        box.append(most)
        rows.append(here)
        column, row = column + width, row + count
    pad = np.zeros((len(model.G), total))
    none = np.zeros(total)
    wider = replace(
        model,
        G=np.hstack([model.G, pad]),
        penalty=np.concatenate([model.penalty, none]),
        linear=np.concatenate([model.linear, none]),
        A=A,
        a=np.concatenate([model.a, np.zeros(added)]),
        lower=np.concatenate([model.lower, -limit]),
        upper=np.concatenate([model.upper, limit]),
        inner=None,
    )
    larger = replace(polytope, model=wider, start=np.concatenate(start))
    return _Extended(larger, directions, tuple(rows), tuple(box), factor)


def _reach(polytope: Polytope, form: Form) -> float:
    """Return how large an auxiliary variable may have to be."""
    largest = largest_values(polytope)
    used = np.abs(form.E) @ np.where((form.E != 0).any(axis=0), largest, 0.0)
    step = np.abs(form.F[form.F != 0])
    return BOX * (float(np.max(used, initial=0.0)) or 1.0) / float(np.min(step, initial=np.inf))


def _start(form: Form, v: np.ndarray, most: float) -> np.ndarray:
    """Return auxiliary variables with as much room in every row as there is."""
    from scipy.optimize import linprog

    p = form.cost.size
    asked = form.E @ v / most
    found = linprog(
        np.append(np.zeros(p), -1.0),
        A_ub=np.hstack([-form.F, np.ones((len(form.F), 1))]),
        b_ub=asked,
        bounds=[(-0.5, 0.5)] * p + [(None, 0.5)],
        method="highs-ds",
    )
    return np.asarray(found.x[:p]) * most if found.status == 0 else np.zeros(p)


def _certified(polytope: Polytope, form: Form, extended: _Extended, answer: Answer, i: int) -> Least:
    """Return what an answer proves: a value at a point inside, and a bound from repaired multipliers."""
    q, m = polytope.model.q, polytope.model.a.size
    if not answer.feasible[i]:
        return Least(np.nan, np.nan, np.full(q, np.nan), 0.0)
    points, kept = inside(polytope, answer.points[i : i + 1, :q], answer.anchor[i : i + 1, :q])
    value, _ = form.value_at(points[0])
    alpha, left = _balanced(form, extended.factor * answer.duals.alpha[i, extended.rows[i]])
    own = Duals(*(x[i : i + 1] for x in (answer.duals.lam, answer.duals.beta, answer.duals.alpha[:, :m])))
    # what the rows do not balance is charged with the largest value of an auxiliary variable
    bound = -float(dual_bound(polytope, (form.E.T @ alpha)[None, :], own)[0]) - left * extended.box[i]
    if not kept[0]:
        # a point that keeps the budgets only up to rounding still tells where the optimum is
        value = max(form.value_at(answer.points[i, :q])[0], bound)
    return Least(max(value, bound), bound, points[0], max(value - bound, 0.0))


def _balanced(form: Form, alpha: np.ndarray) -> tuple[np.ndarray, float]:
    """Return multipliers, each moved in proportion to itself, with ``F' alpha = cost``, and what is left of it."""
    F = form.F
    alpha = np.maximum(alpha, 0.0)
    for _ in range(3):
        lack = form.cost - F.T @ alpha
        M = (F.T * alpha) @ F
        unit = 1.0 / np.sqrt(np.maximum(M.diagonal(), 1e-300))
        x = unit * (np.linalg.pinv(M * unit[:, None] * unit, rcond=1e-13, hermitian=True) @ (unit * lack))
        alpha = np.maximum(alpha + alpha * (F @ x), 0.0)
    return alpha, float(np.abs(form.cost - F.T @ alpha).sum())
