"""From a polytope to the arrays an interior point works on, and back.

Fixed variables are put in, bounds become hard rows, rows without a price are dropped, columns are brought to unit size,
and where the loss budget is zero the loss rows become hard rows: a set without slack has an interior only that way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from relbounds.solver.columns import Columns
from relbounds.solver.core import Core
from relbounds.solver.grams import Grams
from relbounds.solver.model import Model
from relbounds.solver.polytope import Polytope
from relbounds.solver.tolerances import FAR_ORIGIN, NO_LOSS


@dataclass(frozen=True)
class Duals:
    """Multipliers in the units of the polytope: budgets (B, K), loss rows (B, R) and hard rows (B, m)."""

    lam: np.ndarray
    beta: np.ndarray
    alpha: np.ndarray

    def take(self, some: np.ndarray | slice) -> Duals:
        """Return those of some directions."""
        return Duals(self.lam[some], self.beta[some], self.alpha[some])

    def put(self, some: np.ndarray, other: Duals) -> None:
        """Write those of some directions, in place."""
        self.lam[some], self.beta[some], self.alpha[some] = other.lam, other.beta, other.alpha


@dataclass(frozen=True)
class Reduced:
    """A polytope in the form of `Core`, with the way back.

    Parameters
    ----------
    polytope : Polytope
        Where it came from.
    core : Core
        The arrays.
    free : ndarray of int
        The variables of the core, in its order.
    origin : ndarray, shape (q,)
        Values of fixed variables, and of free ones where their core variable is 0.
    unit : ndarray
        Original variable = origin plus unit times core variable.
    height : float
        Original margins = height times core margins.
    rows : ndarray of int
        Loss rows kept as loss rows.
    hard : ndarray of int
        Loss rows turned into hard rows.
    """

    polytope: Polytope
    core: Core
    free: np.ndarray
    origin: np.ndarray
    unit: np.ndarray
    height: float
    rows: np.ndarray
    hard: np.ndarray

    def into(self, v: np.ndarray) -> np.ndarray:
        """Return core variables of original points."""
        return (v[..., self.free] - self.origin[self.free]) / self.unit

    def back(self, v: np.ndarray) -> np.ndarray:
        """Return original points of core variables."""
        out = np.tile(self.origin, (len(v), 1))
        out[:, self.free] += v * self.unit
        return out

    def duals(self, z4: np.ndarray, alpha: np.ndarray, lam: np.ndarray) -> Duals:
        """Return the multipliers in original units; those of bounds are left to the certificate."""
        model = self.polytope.model
        beta = np.zeros((len(lam), model.h.size))
        beta[:, self.rows] = z4 / self.height
        m = model.a.size
        if self.hard.size:
            beta[:, self.hard] = alpha[:, m : m + self.hard.size] / self.height
            p = self.polytope.budgets[0]
            full = np.zeros((len(lam), p.size))
            full[:, : lam.shape[1]] = lam
            lam = full
        return Duals(lam, beta, alpha[:, :m] / self.height)

    @property
    def place(self) -> np.ndarray:
        """Where each variable is in core units, -1 where it is not."""
        place = np.full(self.origin.size, -1)
        place[self.free] = np.arange(self.free.size)
        return place

    def columns(self, columns: Columns) -> Columns:
        """Return replaced columns in core units."""
        model, core = self.polytope.model, self.core
        at = self.place[columns.index]
        factor = (self.unit[at] / self.height)[:, :, None]
        m = model.a.size
        hard = core.A.T[at].copy()
        if columns.A is not None:
            hard[:, :, :m] = columns.A * factor
        if self.hard.size:
            hard[:, :, m : m + self.hard.size] = columns.G[:, :, self.hard] * factor
        linear = model.linear[columns.index] if columns.linear is None else columns.linear
        G = np.ascontiguousarray(columns.G[:, :, self.rows] * factor)
        return Columns(at, G, hard, linear * self.unit[at])


def is_lossless(polytope: Polytope) -> bool:
    """Return whether the loss budget leaves no room, so that every loss row is in truth a hard one.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> is_lossless(Polytope(model, norm=1.0, loss=0.0, start=np.ones(1)))
    True
    """
    model = polytope.model
    if polytope.joint is not None or model.linear.any() or not model.h.size:
        return False
    return bool(polytope.loss <= NO_LOSS * model.height * float(model.c.sum()))  # type: ignore[operator]


def reduce(polytope: Polytope) -> Reduced:
    """Return the polytope in the form an interior point works on.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 2)), np.ones(1), np.ones(1), np.array([0.0, 1.0]))
    >>> reduce(Polytope(model, norm=1.0, loss=1.0, start=np.zeros(2))).free.tolist()
    [1, 0]
    """
    model = polytope.model
    p, l, B = polytope.budgets
    settled = model.upper <= model.lower
    origin = np.where(
        settled, 0.5 * (np.where(settled, model.lower, 0) + np.where(settled, model.upper, 0)), 0.0
    )
    penalised = np.flatnonzero(~settled & (model.penalty > 0))
    free = np.concatenate([penalised, np.flatnonzero(~settled & (model.penalty <= 0))])
    identity = free.size == model.q and bool((free == np.arange(model.q)).all())
    G, A = (model.G, model.A) if identity else (model.G[:, free], model.A[:, free])
    if not settled.any():
        origin = _near_rows(model, origin)
    h, a, height = model.h, model.a, model.height
    if origin.any():
        h, a = h - model.G @ origin, a - model.A @ origin
        B = B - p * (model.penalty @ np.abs(origin)) - l * (model.linear @ origin)
        height = max(float(np.max(np.abs(x), initial=0.0)) for x in (h, a)) or height
    size = np.maximum(_rms(G), _rms(A))
    unit = height / np.where(size > 0, size, 1.0)
    priced = np.flatnonzero(model.c > 0)
    hard = priced if is_lossless(polytope) else priced[:0]
    rows = priced[:0] if hard.size else priced
    low, high = np.flatnonzero(np.isfinite(model.lower[free])), np.flatnonzero(np.isfinite(model.upper[free]))
    A_core = np.vstack(
        [A * unit / height, G[hard] * unit / height, _unit_rows(low, free.size), -_unit_rows(high, free.size)]
    )
    a_core = np.concatenate(
        [
            a / height,
            h[hard] / height,
            ((model.lower - origin)[free] / unit)[low],
            -((model.upper - origin)[free] / unit)[high],
        ]
    )
    G_core = (G if rows.size == len(G) else G[rows]) * (unit / height)
    if hard.size:
        p, l, B = p[:1], l[:1], B[:1]
    core = Core(
        G=G_core,
        h=h[rows] / height,
        c=model.c[rows] * height,
        pen=(model.penalty[free] * unit)[: penalised.size],
        A=A_core,
        a=a_core,
        p=p,
        l=l,
        Lin=np.outer(l, model.linear[free] * unit),
        B=B,
        gram_G=Grams(G_core),
        gram_A=Grams(A_core),
    )
    return Reduced(polytope, core, free, origin, unit, height, rows, hard)


def _unit_rows(where: np.ndarray, size: int) -> np.ndarray:
    """Return some rows of an identity matrix, without the others: with 20,000 variables these take gigabytes."""
    out = np.zeros((where.size, size))
    out[np.arange(where.size), where] = 1.0
    return out


def _near_rows(model: Model, origin: np.ndarray) -> np.ndarray:
    """Return free variables that bring the origin near the rows, where these are all far from it.

    A response with a large mean is the same problem as one without: its intercept only has to begin there.
    """
    free = np.flatnonzero(model.penalty <= 0)
    # rows in pairs ask for margins of either sign; where all ask for the same nothing is far
    if not free.size or min(float(np.min(x, initial=0.0)) for x in (model.h, model.a)) >= 0:
        return origin
    G, A = model.G[:, free], model.A[:, free]
    unit = 1.0 / np.maximum(np.maximum(_rms(G), _rms(A)), 1e-300)
    G, A = G * unit, A * unit
    x = np.linalg.pinv(G.T @ G + A.T @ A, rcond=1e-12, hermitian=True) @ (model.h @ G + model.a @ A)
    left = max(float(np.max(np.abs(r), initial=0.0)) for r in (model.h - G @ x, model.a - A @ x))
    if left * FAR_ORIGIN > model.height:
        return origin
    out = origin.copy()
    out[free] = unit * x
    return np.clip(out, model.lower, model.upper)


def _rms(matrix: np.ndarray) -> np.ndarray:
    if not len(matrix):
        return np.zeros(matrix.shape[1])
    largest = np.maximum(matrix.max(axis=0), -matrix.min(axis=0))
    safe = np.where(largest > 0, largest, 1.0)
    total = np.zeros(matrix.shape[1])
    # block by block: no second copy of a large matrix
    for first in range(0, len(matrix), 8192):
        part = matrix[first : first + 8192] / safe
        total += np.einsum("rj,rj->j", part, part)
    return safe * np.sqrt(total / len(matrix))


def relaxed(core: Core, columns: Columns | None, width: np.ndarray) -> tuple[Core, Columns | None]:
    """Return the core with one more variable that loosens every budget and hard row as it grows.

    The variable is the last one; it stays above -1. `width` says by how much it loosens each budget.
    """
    q = core.q
    G = np.hstack([core.G, np.zeros((len(core.G), 1))])
    last = np.zeros((1, q + 1))
    last[0, q] = 1.0
    A = np.vstack([np.hstack([core.A, np.ones((len(core.A), 1))]), last])
    Lin = np.hstack([core.Lin, -width[:, None]])
    wide = replace(
        core, G=G, A=A, a=np.append(core.a, -1.0), Lin=Lin, gram_G=core.gram_G.padded(), gram_A=Grams(A)
    )
    if columns is not None:
        hard = np.concatenate([columns.hard, np.zeros((*columns.index.shape, 1))], axis=2)
        columns = Columns(columns.index, columns.G, hard, columns.linear)
    return wide, columns
