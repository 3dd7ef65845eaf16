"""The definitions of every family as plain linear programs for scipy: slow, simple, independent of the solver.

Variables are (w, a, b, t, xi): weights class after class, adjusting coefficients, thresholds, moduli, slacks.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


class Program:
    """Loss rows as the definitions read, budgets of a fit, and the least and greatest of linear functions."""

    def __init__(self, fit):
        design, kind = fit.design, fit._fitted.tuning.kind
        self.X, self.A = design.X, design.adjust
        self.n, self.d = self.X.shape
        self.a = self.A.shape[1]
        self.family, self.L = design.family, len(design.levels or ())
        self.K = self.L if self.family == "nominal" else 1
        self.T = {"nominal": self.L, "regression": 1}.get(self.family, self.L - 1)
        self.q = self.K * (self.d + self.a) + self.T
        self.rows = list(self._rows(design, kind))
        self.G = np.array([row[0] for row in self.rows])
        self.h = np.array([row[1] for row in self.rows])
        self.c = self._prices(design, kind)
        ordered = self.family in ("ordinal", "survival") and kind.order == "explicit"
        self.order = self._order() if ordered else np.zeros((0, self.q))
        self.pen = np.zeros(self.q)
        self.pen[: self.K * self.d] = 1.0

    def _row(self, i, terms):
        """terms: (class, threshold, sign) of scores minus thresholds."""
        row = np.zeros(self.q)
        for k, j, sign in terms:
            row[k * self.d : (k + 1) * self.d] += sign * self.X[i]
            start = self.K * self.d + k * self.a
            row[start : start + self.a] += sign * self.A[i]
            row[self.K * (self.d + self.a) + j] -= sign
        return row

    def _rows(self, design, kind):
        for i in range(self.n):
            if self.family == "regression":
                y = (design.y[i] - design.y_center) / design.y_scale
                yield self._row(i, [(0, 0, 1)]), y - kind.epsilon, i, 0
                yield self._row(i, [(0, 0, -1)]), -y - kind.epsilon, i, 1
            elif self.family == "nominal":
                own = int(design.y[i]) - 1
                for other in range(self.L):
                    if other != own:
                        yield self._row(i, [(own, own, 1), (other, other, -1)]), 1.0, i, own
            else:
                low, high = (design.y[i],) * 2 if design.interval is None else (x[i] for x in design.interval)
                for j in range(1, self.L):
                    if kind.order == "explicit" or self.L == 2:
                        below, above = high == j, low == j + 1
                    else:
                        below, above = high <= j, low > j
                    if below:
                        yield self._row(i, [(0, j - 1, -1)]), 1.0, i, 2 * j
                    if above:
                        yield self._row(i, [(0, j - 1, 1)]), 1.0, i, 2 * j + 1

    def _prices(self, design, kind):
        price = np.array([design.weights[row[2]] for row in self.rows])
        if not kind.balance:
            return price
        side = np.array([row[3] for row in self.rows])
        group = np.zeros_like(side) if self.family == "nominal" else side // 2
        out = price.copy()
        for g in np.unique(group):
            sides = np.unique(side[group == g])
            total = price[group == g].sum()
            for s in sides:
                out[side == s] *= total / (len(sides) * price[side == s].sum())
        return out

    def _order(self):
        out = np.zeros((self.T - 1, self.q))
        for j in range(self.T - 1):
            out[j, self.q - self.T + j], out[j, self.q - self.T + j + 1] = -1.0, 1.0
        return out

    def minimise(self, cost, budgets=(), more=0, rows=()):
        """Minimise over (v, t, xi, extra variables); budgets are (norm factor, loss factor, limit)."""
        q, R = self.q, len(self.h)
        N = 2 * q + R + more
        lhs, rhs = [], []

        def add(block, limit):
            lhs.append(block)
            rhs.append(np.atleast_1d(limit))

        add(np.hstack([-self.G, np.zeros((R, q)), -np.eye(R), np.zeros((R, more))]), -self.h)
        for sign in (1.0, -1.0):
            add(np.hstack([sign * np.eye(q), -np.eye(q), np.zeros((q, R + more))]), np.zeros(q))
        if len(self.order):
            pad = np.zeros((len(self.order), N - q))
            add(np.hstack([-self.order, pad]), np.zeros(len(self.order)))
        for norm, loss, limit in budgets:
            row = np.concatenate([np.zeros(q), norm * self.pen, loss * self.c, np.zeros(more)])
            add(row[None, :], limit)
        for row in rows:
            add(row[None, :], 0.0)
        box = [(None, None)] * q + [(0, None)] * (q + R) + [(None, None)] * more
        out = linprog(cost, A_ub=np.vstack(lhs), b_ub=np.concatenate(rhs), bounds=box, method="highs")
        assert out.status == 0, out.message
        return out.fun

    def best(self, C):
        """The least objective."""
        cost = np.concatenate([np.zeros(self.q), 0.5 * self.pen, C * self.c])
        return self.minimise(cost)

    def budgets_of(self, fit):
        """The budgets of a fit's set, as defined, from its best model."""
        fitted = fit._fitted
        solution, delta = fitted.solution, fitted.delta
        if fitted.options.tolerance == "joint":
            return [(0.5, solution.C, (1 + delta) * solution.objective)]
        return [(1.0, 0.0, (1 + delta) * solution.penalty), (0.0, 1.0, (1 + delta) * solution.loss)]

    def greatest(self, direction, budgets):
        """The greatest value of a linear function of v."""
        cost = np.concatenate([-np.asarray(direction, dtype=float), np.zeros(self.q + len(self.h))])
        return -self.minimise(cost, budgets)

    def least_largest(self, directions, budgets):
        """The least value of the largest of several linear functions of v."""
        N = 2 * self.q + len(self.h)
        rows = [np.concatenate([d, np.zeros(N - self.q), [-1.0]]) for d in directions]
        return self.minimise(np.concatenate([np.zeros(N), [1.0]]), budgets, more=1, rows=rows)
