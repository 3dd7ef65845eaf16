"""Primal values and dual bounds from the original data, whatever an engine claims.

A value counts only at a point that keeps every budget and constraint, and a bound only from multipliers that satisfy
the dual constraints; points and multipliers of an engine are moved until they do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relbounds.solver.columns import Columns
from relbounds.solver.factors import Factor
from relbounds.solver.grams import Grams
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals, is_lossless
from relbounds.solver.tolerances import FAR, PROMISED, ROUNDING

# Entries of the free variables' columns, times directions, up to which these are multiplied as they are.
FEW_PRODUCTS = 500_000


def slopes_of(polytope: Polytope, columns: Columns | None) -> np.ndarray:
    """Return the linear part of the loss, shape (q,) or one row per problem where it changes."""
    linear = polytope.model.linear
    if columns is None or columns.linear is None:
        return linear
    out = np.tile(linear, (len(columns.index), 1))
    out[columns.each, columns.index] = columns.linear
    return out


def rows_at(polytope: Polytope, points: np.ndarray, columns: Columns | None) -> tuple[np.ndarray, np.ndarray]:
    """Return ``G v`` and ``A v`` for every point, from the original data."""
    model = polytope.model
    Gv, Av = points @ model.G.T, points @ model.A.T
    if columns is not None:
        own = columns.values(points)[:, None, :]
        Gv += np.matmul(own, columns.G - model.G.T[columns.index])[:, 0]
        if columns.A is not None:
            Av += np.matmul(own, columns.A - model.A.T[columns.index])[:, 0]
    return Gv, Av


def _back(polytope: Polytope, duals: Duals, columns: Columns | None) -> np.ndarray:
    """Return ``G' beta + A' alpha`` from the original data."""
    model = polytope.model
    out = duals.beta @ model.G + duals.alpha @ model.A
    if columns is not None:
        each, j = columns.each, columns.index
        hard = model.A.T[j] if columns.A is None else columns.A
        out[each, j] = (columns.G @ duals.beta[:, :, None] + hard @ duals.alpha[:, :, None])[:, :, 0]
    return out


def pull_of(
    polytope: Polytope,
    directions: np.ndarray,
    duals: Duals,
    price: np.ndarray,
    columns: Columns | None = None,
) -> np.ndarray:
    """Return how hard a direction and the rows' multipliers pull at each variable; the norm has to hold it."""
    return directions - price[:, None] * slopes_of(polytope, columns) + _back(polytope, duals, columns)


def room_at(
    polytope: Polytope, v: np.ndarray, columns: Columns | None = None, rounding: float = 0.0
) -> np.ndarray:
    """Return the room that points (B, q) have in every budget, hard row and bound; negative where they break one.

    Sums are known up to the rounding of what is added up; so much of it is not held against a point.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.array([0.5]))
    >>> room_at(tope, np.array([[0.75]])).round(6).tolist()
    [[0.25, 0.75, 1.0, 1.0]]
    """
    model = polytope.model
    p, l, B = polytope.budgets
    slopes = slopes_of(polytope, columns)
    Gv, Av = rows_at(polytope, v, columns)
    margin = Gv - model.h
    loss = np.sum(v * slopes, axis=1) - np.minimum(margin, 0.0) @ model.c
    norm = np.abs(v) @ model.penalty
    room = B - p * norm[:, None] - l * loss[:, None]
    if rounding:
        added = np.sum(np.abs(v * slopes), axis=1) + np.maximum(np.abs(Gv), np.abs(model.h)) @ model.c
        room += rounding * (np.abs(B) + p * norm[:, None] + l * added[:, None])
    blur = rounding * np.maximum(np.max(np.abs(Av), axis=1, initial=0.0), model.height)[:, None]
    hard = [Av - model.a + blur, v - model.lower, model.upper - v]
    if is_lossless(polytope):
        # without a loss budget every priced row is a hard one
        room = room[:, :1]
        hard.append(margin[:, model.c > 0] + blur)
    rows = np.hstack(hard)
    # room that is infinite never limits a step
    return np.hstack([room, np.where(np.isfinite(rows), rows, 1.0)])


def inside(
    polytope: Polytope, points: np.ndarray, anchor: np.ndarray, columns: Columns | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the points pulled toward `anchor` just enough to lie in the polytope, and whether they do.

    Norm and loss are convex, so along the way to the anchor they are at most the mixture of the two ends: the
    step follows in closed form.

    Parameters
    ----------
    polytope : Polytope
        The set.
    points, anchor : ndarray, shape (B, q)
        Engine's points, and points well inside the set.
    columns : Columns, optional
        Columns that differ from point to point.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.array([0.5]))
    >>> inside(tope, np.array([[2.0]]), np.array([[0.5]]))[0].round(9).tolist()
    [[1.0]]
    """
    model = polytope.model
    points = np.clip(points, model.lower, model.upper)
    step = np.ones(len(points))
    at_anchor, good, kept = None, np.zeros(len(points), dtype=bool), np.zeros(len(points), dtype=bool)
    for shrink in (0.0, 1e-13, 1e-11, 1e-9, 1e-6):
        trial = anchor + (step * (1 - shrink))[:, None] * (points - anchor)
        trial[step * (1 - shrink) == 1.0] = points[step * (1 - shrink) == 1.0]
        trial = np.clip(trial, model.lower, model.upper)
        everything = room_at(polytope, trial, columns)
        good = np.min(everything, axis=1, initial=np.inf) >= 0
        if good.all():
            break
        if at_anchor is None:
            at_anchor = room_at(polytope, anchor, columns)
            with np.errstate(all="ignore"):
                limit = np.where(everything < 0, at_anchor / (at_anchor - everything), 1.0)
            step = np.where(good, 1.0, np.clip(np.min(limit, axis=1, initial=1.0), 0.0, 1.0))
            step = np.where(np.isfinite(step), step, 0.0)
            if np.any(step < 1.0 - PROMISED):
                # a set without interior leaves no way to go: there a point keeps the budgets up to rounding
                near = np.min(room_at(polytope, points, columns, ROUNDING), axis=1, initial=np.inf) >= 0
                kept = near & (step < 1.0 - PROMISED)
    if not good.all():
        trial = np.where(good[:, None], trial, anchor)
        good = np.min(room_at(polytope, trial, columns, ROUNDING), axis=1, initial=np.inf) >= 0
    return np.where(kept[:, None], points, trial), good | kept


def dual_bound(
    polytope: Polytope,
    directions: np.ndarray,
    duals: Duals,
    columns: Columns | None = None,
    enough: np.ndarray | None = None,
) -> np.ndarray:
    """Return upper bounds on ``max direction . v`` over the polytope by weak duality.

    Multipliers that break the dual constraints are repaired first: those of rows are clipped and moved so that free
    variables balance, and the multipliers of the budgets are raised as far as the others ask for. What is left of an
    imbalance on a free variable is charged with the largest value the variable can take. Bounds that are at most
    `enough` are not made any better.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.array([0.5]))
    >>> dual_bound(tope, np.eye(1), Duals(np.zeros((1, 2)), np.zeros((1, 1)), np.zeros((1, 0)))).tolist()
    [1.0]
    """
    return repaired(polytope, directions, duals, columns, enough)[1]


def repaired(
    polytope: Polytope,
    directions: np.ndarray,
    duals: Duals,
    columns: Columns | None = None,
    enough: np.ndarray | None = None,
) -> tuple[Duals, np.ndarray]:
    """Return multipliers as :func:`dual_bound` repairs them, and what they prove.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=1.0, start=np.array([0.5]))
    >>> repaired(tope, np.eye(1), Duals(np.zeros((1, 2)), -np.ones((1, 1)), np.zeros((1, 0))))[0].beta.tolist()
    [[0.0]]
    """
    model = polytope.model
    l = polytope.budgets[1]
    lam = np.maximum(duals.lam, 0.0)
    beta, alpha = np.maximum(duals.beta, 0.0), np.maximum(duals.alpha, 0.0)
    beta[:, model.c <= 0] = 0.0
    price = lam @ l
    strict = is_lossless(polytope)
    if not strict:
        # multipliers a hair above their ceiling are cut back; the ceiling itself is the budget's multiplier
        np.minimum(beta, price[:, None] * model.c, out=beta)
    loose = (model.penalty <= 0) & ~_boxed(polytope)
    # what is left of an imbalance on a free variable is charged with this
    charged = np.where(loose, largest_values(polytope), 0.0) if loose.any() else np.zeros(model.q)
    duals = _balance(polytope, directions, Duals(lam, beta, alpha), columns, loose, strict)
    if strict:
        with np.errstate(all="ignore"):
            need = np.max(np.where(model.c > 0, duals.beta / model.c, 0.0), axis=1, initial=0.0)
        price = np.maximum(price, need)
    reduced = pull_of(polytope, directions, duals, price, columns)
    bound = _bound_of(polytope, duals, price, charged, reduced)
    if strict or columns is not None:
        return duals, bound
    wanted = np.flatnonzero(np.ones(len(bound), dtype=bool) if enough is None else bound > enough)
    which, moved = _mend(polytope, directions, duals, loose, reduced, wanted)
    if which.size:
        # moving rows for penalised variables, free ones lose their balance where a multiplier meets its ceiling
        moved = _balance(polytope, directions[which], moved, None, loose, strict)
        price = price[which]
        again = _bound_of(polytope, moved, price, charged, pull_of(polytope, directions[which], moved, price))
        better = again < bound[which]
        some = which[better]
        bound[some], duals.beta[some], duals.alpha[some] = (
            x[better] for x in (again, moved.beta, moved.alpha)
        )
    return duals, bound


def _bound_of(
    polytope: Polytope,
    duals: Duals,
    price: np.ndarray,
    charged: np.ndarray,
    reduced: np.ndarray,
) -> np.ndarray:
    """Return what multipliers prove that leave the balance `reduced`."""
    model = polytope.model
    p, _, B = polytope.budgets
    # the multiplier of the norm must dominate every variable that nothing else holds
    with np.errstate(all="ignore"):
        slope = np.where(model.penalty > 0, np.abs(reduced) / model.penalty, 0.0)
    held = np.where(reduced > 0, model.upper < np.inf, model.lower > -np.inf)
    need = np.max(np.where(held, 0.0, slope), axis=1, initial=0.0)
    offered = duals.lam @ p
    if B.size == 2:
        norm = np.maximum(need, offered) if held.any() else need
        bound = norm * B[0] + price * B[1]
    else:
        # no loss is negative, so the joint budget limits the norm as well: what the norm lacks is charged with that
        norm = np.maximum(need, offered)
        bound = duals.lam[:, 0] * B[0] + (norm - offered) * B[0] / p[0]
    bound = bound - duals.beta @ model.h - duals.alpha @ model.a
    bound = bound + _held_terms(polytope, reduced, norm, held & ((model.penalty > 0) | _boxed(polytope)))
    loose = charged > 0
    return bound + np.abs(reduced[:, loose]) @ charged[loose]


def _boxed(polytope: Polytope) -> np.ndarray:
    """Return which variables have bounds on both sides."""
    return (polytope.model.lower > -np.inf) & (polytope.model.upper < np.inf)


def _held_terms(polytope: Polytope, reduced: np.ndarray, norm: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Return ``sum_j max (r_j v_j - norm penalty_j |v_j|)`` over the boxes of variables that have one."""
    model = polytope.model
    if not held.any():
        return np.zeros(len(reduced))
    some = held.any(axis=0)
    r, weight = reduced[:, some], norm[:, None] * model.penalty[some]
    low, high = model.lower[some], model.upper[some]
    ends = []
    for end in (low, high):
        finite = np.where(np.isfinite(end), end, 0.0)
        ends.append(np.where(np.isfinite(end), r * finite - weight * np.abs(finite), -np.inf))
    zero = np.where((low <= 0) & (high >= 0), 0.0, -np.inf)
    best = np.maximum(np.maximum(ends[0], ends[1]), zero)
    return best.sum(axis=1)


def _balance(
    polytope: Polytope,
    directions: np.ndarray,
    duals: Duals,
    columns: Columns | None,
    loose: np.ndarray,
    strict: bool,
) -> Duals:
    """Move row multipliers, each in proportion to its room, so that free variables balance exactly."""
    model = polytope.model
    if not loose.any():
        return duals
    _, l, _ = polytope.budgets
    price = (duals.lam @ l)[:, None]
    beta, alpha = duals.beta.copy(), duals.alpha.copy()
    Gf, Af = model.G[:, loose], model.A[:, loose]
    # for few products it takes longer to see how the rows are made up
    small = len(directions) * (Gf.size + Af.size) <= FEW_PRODUCTS
    grams = [_products(part) if small else Grams(part) for part in (Gf, Af)]
    ceiling = np.inf if strict else price * model.c
    aim = directions[:, loose] - price * model.linear[loose]
    for _ in range(2):
        if strict:
            room = beta
        else:
            with np.errstate(all="ignore"):
                room = np.where(ceiling > 0, beta * np.maximum(ceiling - beta, 0.0) / ceiling, 0.0)
        lack = aim + beta @ Gf + alpha @ Af
        M = np.triu(grams[0](room) + grams[1](alpha))
        M += np.triu(M, 1).transpose(0, 2, 1)
        x = _solve_each(M, -lack)
        beta = np.clip(beta + room * (x @ Gf.T), 0.0, ceiling)
        alpha = np.maximum(alpha + alpha * (x @ Af.T), 0.0)
    return Duals(duals.lam, beta, alpha)


def _products(matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from weights (B, rows) to ``matrix' diag(weights) matrix`` of each."""
    return lambda weights: np.matmul(weights[:, None, :] * matrix.T, matrix)


def _solve_each(M: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Solve small symmetric systems, one per direction; singular ones in the least-squares sense."""
    # a variable whose rows have no room cannot be helped, and dividing by none at all would overflow
    diagonal = np.einsum("bii->bi", M)
    unit = 1.0 / np.sqrt(np.where(diagonal > 1e-300, diagonal, np.inf))
    scaled = M * unit[:, :, None] * unit[:, None, :]
    np.einsum("bii->bi", scaled)[:] += 1e-13
    try:
        x = unit * np.linalg.solve(scaled, (unit * r)[:, :, None])[:, :, 0]
        if np.isfinite(x).all():
            return x
    except np.linalg.LinAlgError:
        pass
    return np.einsum("bij,bj->bi", np.linalg.pinv(M, rcond=1e-12, hermitian=True), r)


def _mend(
    polytope: Polytope,
    directions: np.ndarray,
    duals: Duals,
    loose: np.ndarray,
    reduced: np.ndarray,
    wanted: np.ndarray,
) -> tuple[np.ndarray, Duals]:
    """Move row multipliers where a penalised variable asks for more than the norm's multiplier offers.

    Raising that multiplier is dear when budgets are large; moving rows that have room costs next to nothing. Returns
    the directions, of those `wanted`, for which that is so, and their multipliers.
    """
    model = polytope.model
    p, l, B = polytope.budgets
    offered, price = duals.lam @ p, duals.lam @ l
    limit = offered[:, None] * model.penalty
    # variables with a bound of their own need no help from the norm
    own = (model.penalty > 0) & (model.lower == -np.inf) & (model.upper == np.inf)
    over = np.where(own, np.abs(reduced) - limit, 0.0)
    with np.errstate(all="ignore"):
        dear = np.max(np.where(own, over / model.penalty, 0.0), axis=1, initial=0.0) * B[0] / p[0]
    which, betas, alphas = [], [], []
    for b in wanted[dear[wanted] > 0.01 * PROMISED * polytope.size]:
        tight = loose | (np.abs(reduced[b]) > limit[b] * (1 - 1e-9)) & own
        if tight.sum() > 200:
            continue
        G, A = model.G[:, tight], model.A[:, tight]
        goal = np.where(loose, 0.0, np.sign(reduced[b]) * limit[b] * (1 - 1e-12))[tight]
        goal -= (directions[b] - price[b] * model.linear)[tight]
        beta, alpha, ceiling = duals.beta[b].copy(), duals.alpha[b].copy(), price[b] * model.c
        with np.errstate(all="ignore"):
            room = np.where(ceiling > 0, beta * np.maximum(ceiling - beta, 0.0) / ceiling, 0.0)
        # a product of a matrix with itself takes half the work
        root, hard = np.sqrt(room)[:, None] * G, np.sqrt(alpha)[:, None] * A
        factor = Factor((root.T @ root + hard.T @ hard)[None])
        for _ in range(3):
            x = factor.solve((goal - beta @ G - alpha @ A)[None, :, None])[0, :, 0]
            if not np.isfinite(x).all():  # no row has room
                break
            beta = np.clip(beta + room * (G @ x), 0.0, ceiling)
            alpha = np.maximum(alpha + alpha * (A @ x), 0.0)
        which.append(b)
        betas.append(beta)
        alphas.append(alpha)
    some = np.array(which, dtype=int)
    return some, Duals(
        duals.lam[some],
        np.reshape(betas, (some.size, model.h.size)),
        np.reshape(alphas, (some.size, model.a.size)),
    )


def largest_values(polytope: Polytope) -> np.ndarray:
    """Return a bound on ``|v_j|`` over the polytope for every variable.

    Penalised variables are limited by the norm. A free variable is limited by the rows in which it is the only free
    one: such a row cannot ask for more slack than the loss budget pays. Variables that no such row limits on both
    sides get a thousand times the size of the start, or what makes up the height.
    """
    model = polytope.model
    p, _, B = polytope.budgets
    reach = B[0] / p[0]
    with np.errstate(all="ignore"):
        largest = np.where(model.penalty > 0, reach / model.penalty, np.inf)
    free = np.flatnonzero(model.penalty <= 0)
    # a loss with a linear part leaves it open how much slack a row may ask for
    if not model.linear.any():
        largest[free] = _limits(polytope, free)
    for j in np.flatnonzero(np.isinf(largest)):
        columns = [x[:, j] for x in (model.G, model.A) if len(x)]
        size = max((float(np.sqrt(x @ x / x.size)) for x in columns), default=0.0)
        at = abs(float(polytope.start[j])) if polytope.start.size else 0.0
        largest[j] = FAR * (at + (model.height / size if size > 0 else 0.0))
    box = np.maximum(np.abs(model.lower), np.abs(model.upper))
    return np.minimum(largest, box)


def _limits(polytope: Polytope, free: np.ndarray) -> np.ndarray:
    """Return what rows with one free variable limit it to; infinite where none does on both sides."""
    model = polytope.model
    p, l, B = polytope.budgets
    with np.errstate(all="ignore"):
        slack = np.where(model.c > 0, B[-1] / l[-1] / model.c, np.inf)
        step = model.most_a_unit * (B[0] / p[0])
    single = (model.G[:, free] != 0).sum(axis=1) == 1
    out = np.empty(free.size)
    for i, j in enumerate(free):
        ends = []
        for sign in (1.0, -1.0):
            of = single & (sign * model.G[:, j] > 0)
            ends.append(np.max((model.h - slack - step)[of] / np.abs(model.G[of, j]), initial=-np.inf))
        out[i] = max(-ends[0], -ends[1])
    return out
