"""CVXOPT: its conic interior point with our own KKT solver, and its GLPK simplex for small problems."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from relbounds.solver.active_rows import Solve, push_active
from relbounds.solver.core import Core
from relbounds.solver.engines.answer import Answer
from relbounds.solver.engines.batch import push_batch
from relbounds.solver.engines.registry import Engine
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals, reduce
from relbounds.solver.starts import balanced, prepare
from relbounds.solver.tolerances import FINE
from relbounds.solver.whole_program import full_duals, full_lp

# Variables and rows up to which a simplex takes a millisecond or two.
SMALL = 220


def push_cvxopt(polytope: Polytope, directions: np.ndarray) -> Answer:
    """Return points and multipliers for many directions, by CVXOPT.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> np.round(push_cvxopt(tope, np.array([[1.0], [-1.0]])).points.ravel(), 5).tolist()
    [1.0, 0.5]
    """
    ready = prepare(polytope)
    if not (ready.feasible and ready.interior):
        return push_batch(polytope, directions)
    anchor = ready.reduced.back(ready.v[None, :])

    def make(small: Polytope) -> Solve:
        size = small.model.h.size + small.model.a.size + 2 * int((small.model.penalty > 0).sum())
        if size <= SMALL:
            simplex = glpk(small)
            if simplex is not None:
                return simplex
        return conic(small, anchor[0], ready.thin)

    points, duals, solved = push_active(ready.polytope, directions, make)
    good = np.ones(len(directions), dtype=bool)
    answer = Answer(points, duals, np.repeat(anchor, len(directions), axis=0), good)
    if not solved.all():
        again = push_batch(polytope, directions[~solved])
        points[~solved] = again.points
        for name in ("lam", "beta", "alpha"):
            getattr(duals, name)[~solved] = getattr(again.duals, name)
    return answer


def glpk(small: Polytope) -> Solve | None:
    """Return a solver for one direction by CVXOPT's GLPK, or None where CVXOPT was built without it."""
    try:
        from cvxopt import glpk as library
        from cvxopt import matrix, spmatrix
    except ImportError:
        return None
    lp = full_lp(small)
    n = lp.lhs.shape[1]
    boxes_low, boxes_high = np.flatnonzero(np.isfinite(lp.lower)), np.flatnonzero(np.isfinite(lp.upper))
    coo = lp.lhs.tocoo()
    m = coo.shape[0]
    rows = np.concatenate(
        [coo.row, m + np.arange(boxes_low.size), m + boxes_low.size + np.arange(boxes_high.size)]
    )
    cols = np.concatenate([coo.col, boxes_low, boxes_high])
    values = np.concatenate([coo.data, -np.ones(boxes_low.size), np.ones(boxes_high.size)])
    total = m + boxes_low.size + boxes_high.size
    lhs = spmatrix(values.tolist(), rows.tolist(), cols.tolist(), (total, n))
    rhs = matrix(np.concatenate([lp.rhs, -lp.lower[boxes_low], lp.upper[boxes_high]]))
    options = {"msg_lev": "GLP_MSG_OFF", "meth": "GLP_PRIMAL", "it_lim": 20_000}

    def solve(_: Polytope, direction: np.ndarray) -> tuple[np.ndarray, Duals] | None:
        cost = np.zeros(n)
        cost[: lp.q] = -direction
        status, x, z = library.lp(matrix(cost), lhs, rhs, options=options)[:3]
        if status != "optimal" or x is None:
            return None
        return np.array(x).ravel()[: lp.q], full_duals(small, np.array(z).ravel()[:m])

    return solve


def conic(small: Polytope, anchor: np.ndarray, thin: float) -> Solve:
    """Return a solver for one direction by CVXOPT's ``conelp`` with a structured KKT solver."""
    from cvxopt import matrix, solvers

    reduced = reduce(small)
    core = reduced.core
    v0 = reduced.into(anchor)[None, :]
    size = small.size
    # budgets are thin, so their multipliers are of order 1/delta: scaled, they are of order one
    scale = thin
    start = balanced(core, v0, np.array([10.0 * thin * size * scale]), None)
    x0 = np.concatenate([start.v[0], start.t[0], start.xi[0]])
    s0 = np.concatenate([start.u1[0], start.u2[0], start.xi[0], start.f[0], start.g[0], start.s[0]])
    z0 = np.concatenate([start.z1[0], start.z2[0], start.z3[0], start.z4[0], start.alpha[0], start.lam[0]])
    cone = _Cone(core)
    rhs = np.concatenate([np.zeros(2 * cone.s + cone.R), -core.h, -core.a, core.B])

    def solve(_: Polytope, direction: np.ndarray) -> tuple[np.ndarray, Duals] | None:
        d = direction[reduced.free] * reduced.unit * scale
        cost = np.concatenate([-d, np.zeros(cone.s + cone.R)])
        aim = FINE * size * scale
        options = {"show_progress": False, "abstol": aim, "reltol": 1e-12, "feastol": 1e-9, "maxiters": 60}
        try:
            found = solvers.conelp(
                matrix(cost),
                cone.product,
                matrix(rhs),
                {"l": rhs.size, "q": [], "s": []},
                kktsolver=cone.kkt,
                primalstart={"x": matrix(x0), "s": matrix(s0)},
                dualstart={"z": matrix(z0), "y": matrix(0.0, (0, 1))},
                options=options,
            )
        except (ArithmeticError, ValueError):
            return None
        if found["x"] is None or found["z"] is None:
            return None
        z = np.array(found["z"]).ravel() / scale
        point = reduced.back(np.array(found["x"]).ravel()[None, : core.q])[0]
        if not (np.isfinite(point).all() and np.isfinite(z).all()):
            return None
        z4, alpha, lam = cone.parts(z)[3:]
        return point, reduced.duals(z4[None, :], alpha[None, :], lam[None, :])

    return solve


class _Cone:
    """The constraint matrix of the full program as functions, and its KKT systems solved by elimination."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.s, self.R, self.m, self.K = core.pen.size, core.h.size, core.a.size, core.B.size
        self.cuts = np.cumsum([self.s, self.s, self.R, self.R, self.m, self.K])[:-1]

    def parts(self, z: np.ndarray) -> list[np.ndarray]:
        return np.split(z, self.cuts)

    def _times(self, x: np.ndarray) -> np.ndarray:
        core, s, q = self.core, self.s, self.core.q
        v, t, xi = x[:q], x[q : q + s], x[q + s :]
        budget = core.p * (core.pen @ t) + core.Lin @ v + core.l * (core.c @ xi)
        return np.concatenate([v[:s] - t, -v[:s] - t, -xi, -(core.G @ v) - xi, -(core.A @ v), budget])

    def _times_t(self, z: np.ndarray) -> np.ndarray:
        core, s = self.core, self.s
        z1, z2, z3, z4, alpha, lam = self.parts(z)
        v = lam @ core.Lin - z4 @ core.G - alpha @ core.A
        v[:s] += z1 - z2
        return np.concatenate([v, -z1 - z2 + core.pen * (lam @ core.p), -z3 - z4 + core.c * (lam @ core.l)])

    def product(self, x, y, alpha=1.0, beta=0.0, trans="N"):  # type: ignore[no-untyped-def]
        """Write ``alpha * op(constraints) x + beta y`` into `y`, as CVXOPT asks."""
        out = self._times_t(_flat(x)) if trans == "T" else self._times(_flat(x))
        target = _flat(y)
        if beta == 0.0:
            target[:] = alpha * out
        else:
            target *= beta
            target += alpha * out

    def kkt(self, W):  # type: ignore[no-untyped-def]
        """Return a function that solves the KKT system with scaling `W` in place."""
        core, s, q, K = self.core, self.s, self.core.q, self.K
        d = _flat(W["d"])
        D1, D2, D3, D4, Da, Db = self.parts(1.0 / (d * d))
        i12, i34 = 1.0 / (D1 + D2), 1.0 / (D3 + D4)
        E4 = D4 * i34
        # a product of factors, never a difference: cancellation would ruin the factor
        M = core.gram_G((D3 * E4)[None, :])[0]
        if self.m:
            M = M + core.gram_A(Da[None, :])[0]
        each = np.arange(s)
        M[each, each] += 4.0 * D1 * D2 * i12
        diagonal = np.maximum(M.diagonal(), 1e-30 * M.diagonal().max() + 1e-300)
        unit = 1.0 / np.sqrt(diagonal)
        M = M * unit[:, None] * unit
        M[np.arange(q), np.arange(q)] += 1e-15
        factor, info = dpotrf(M.T, lower=1)  # of the Gram matrices the upper triangle is there
        if info:
            # CVXOPT ends cleanly on this one
            raise ArithmeticError("the normal equations are not positive definite")
        lean = (D2 - D1) * i12
        N = core.Lin - np.outer(core.l, (E4 * core.c) @ core.G)
        N[:, :s] -= np.outer(core.p, core.pen * lean)

        def normal(r: np.ndarray) -> np.ndarray:
            return (dpotrs(factor, (r * unit).T, lower=1)[0]).T * unit

        MN = normal(N)
        S = np.diag(1.0 / Db) + np.outer(core.p, core.p) * (core.pen**2 @ i12)
        S += np.outer(core.l, core.l) * (core.c**2 @ i34) + N @ MN.T

        def solve(x, y, z):  # type: ignore[no-untyped-def]
            bx, bz = _flat(x), _flat(z)
            b1, b2, b3, b4, ba, bb = self.parts(bz)
            bv, bt, bxi = bx[:q], bx[q : q + s], bx[q + s :]
            to_xi = bxi - D3 * b3 - D4 * b4
            to_t = bt - D1 * b1 - D2 * b2
            r1 = bv - (D4 * b4) @ core.G - (Da * ba) @ core.A - (E4 * to_xi) @ core.G
            r1[:s] += D1 * b1 - D2 * b2 - lean * to_t
            r2 = bb - core.p * (core.pen @ (i12 * to_t)) - core.l * (core.c @ (i34 * to_xi))
            first = normal(r1[None, :])[0]
            nu = np.linalg.solve(S, N @ first - r2)
            v = first - nu @ MN
            t = i12 * (to_t - core.pen * (core.p @ nu)) - lean * v[:s]
            xi = i34 * (to_xi - core.c * (core.l @ nu)) - E4 * (core.G @ v)
            bx[:] = np.concatenate([v, t, xi])
            rest = self._times(bx) - bz
            rest[: rest.size - K] /= d[: d.size - K]
            rest[rest.size - K :] = nu * d[d.size - K :]
            bz[:] = rest

        return solve


def _flat(x) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Return a view of a CVXOPT vector as a NumPy array."""
    return np.frombuffer(x, dtype=float) if len(x) else np.zeros(0)


ENGINE = Engine("cvxopt", push_cvxopt, then=("batch", "simplex"))
