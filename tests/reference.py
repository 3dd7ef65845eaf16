"""The definitions written out as plain linear programs for scipy's HiGHS: slow, simple, independent."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def rows_of(X, y, family, order, n_levels, weights, epsilon):
    """Loss rows, one at a time, as the definitions read: coefficients on (w, b), right-hand side, weight."""
    n, d = X.shape
    thresholds = 1 if family == "regression" else n_levels - 1
    coefficients, rhs, price = [], [], []

    def add(i, j, sign, h):
        row = np.zeros(d + thresholds)
        row[:d] = sign * X[i]
        row[d + j] = -sign
        coefficients.append(row)
        rhs.append(h)
        price.append(weights[i])

    for i in range(n):
        if family == "regression":
            add(i, 0, 1.0, y[i] - epsilon)
            add(i, 0, -1.0, -y[i] - epsilon)
            continue
        for j in range(thresholds):
            level = j + 1
            if order == "explicit" and y[i] not in (level, level + 1):
                continue
            add(i, j, -1.0 if y[i] <= level else 1.0, 1.0)
    return np.array(coefficients), np.array(rhs), np.array(price)


class Reference:
    """min 1/2 |w| + C loss, and ranges over the equivalent models, with variables (w, b, t, xi)."""

    def __init__(self, X, y, family, *, order="explicit", n_levels=2, weights=None, epsilon=0.0):
        weights = np.ones(len(y)) if weights is None else weights
        G, h, self.price = rows_of(X, y, family, order, n_levels, weights, epsilon)
        self.d, self.q, self.R = X.shape[1], G.shape[1], len(h)
        d, q, R = self.d, self.q, self.R
        blocks = [np.hstack([-G, np.zeros((R, d)), -np.eye(R)])]
        right = [-h]
        for sign in (1.0, -1.0):
            block = np.zeros((d, q + d + R))
            block[:, :d] = sign * np.eye(d)
            block[:, q : q + d] = -np.eye(d)
            blocks.append(block)
            right.append(np.zeros(d))
        if family == "ordinal" and order == "explicit":
            for j in range(q - d - 1):
                row = np.zeros((1, q + d + R))
                row[0, d + j], row[0, d + j + 1] = 1.0, -1.0
                blocks.append(row)
                right.append(np.zeros(1))
        self.A, self.b = np.vstack(blocks), np.concatenate(right)
        self.norm_row = np.concatenate([np.zeros(q), np.ones(d), np.zeros(R)])
        self.loss_row = np.concatenate([np.zeros(q + d), self.price])
        self.bounds = [(None, None)] * q + [(0, None)] * (d + R)

    def solve(self, cost, A=None, b=None):
        result = linprog(
            cost,
            A_ub=self.A if A is None else np.vstack([self.A, A]),
            b_ub=self.b if b is None else np.concatenate([self.b, b]),
            bounds=self.bounds,
            method="highs",
        )
        return result

    def baseline(self, C):
        result = self.solve(0.5 * self.norm_row + C * self.loss_row)
        assert result.status == 0
        return result.fun

    def budgets(self, norm=None, loss=None, joint=None):
        if joint is not None:
            C, most = joint
            return np.array([0.5 * self.norm_row + C * self.loss_row]), np.array([most])
        return np.array([self.norm_row, self.loss_row]), np.array([norm, loss])

    def three_programs(self, k, **budgets):
        """minrel by min |w_k|, maxrel by the larger of max w_k (w_k >= 0) and max -w_k (w_k <= 0)."""
        A, b = self.budgets(**budgets)
        least = np.zeros(len(self.norm_row))
        least[self.q + k] = 1.0
        low = self.solve(least, A, b)
        assert low.status == 0, low.message
        most = []
        for sign in (1.0, -1.0):
            row = np.zeros((1, len(self.norm_row)))
            row[0, k] = -sign
            high = self.solve(row[0], np.vstack([A, row]), np.concatenate([b, [0.0]]))
            if high.status == 0:
                most.append(-high.fun)
        return low.fun, max(most)
