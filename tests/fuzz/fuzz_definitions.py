"""What the method defines, written out row by row for scipy's linprog: slow, simple, and none of the package's code.

Everything starts from the data as a user has them, in whatever unit; standardising is done here in long doubles.
The variables are (w, a, b, u, d, |w|, |u|, slack): weights, coefficients of adjusting covariates, thresholds,
correcting functions, absolute values, free slack of each row.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
from scipy.optimize import linprog

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def standardised(columns, weights):
    """Mean 0 and standard deviation 1 by the case weights."""
    values = np.asarray(columns, dtype=np.longdouble)
    share = np.asarray(weights, dtype=np.longdouble)
    share = share / share.sum()
    mean = share @ values
    sd = np.sqrt(share @ (values - mean) ** 2)
    return ((values - mean) / sd).astype(float), mean, sd


def coded(factor, weights):
    """One column a level, centred, all divided by the common scale; and the levels' shares."""
    levels = sorted(set(factor))
    share = np.array([weights[np.array(factor) == level].sum() for level in levels]) / weights.sum()
    scale = np.sqrt(0.5 * np.sum(share * (1 - share)))
    values = np.array([[float(v == level) for level in levels] for v in factor])
    return (values - share) / scale, share


def loss_rows(problem, y):
    """(sample, sign, threshold, other, margin) of every loss row, one at a time."""
    rows = []
    for i in range(len(y)):
        if problem.family == "regression":
            rows.append((i, 1.0, 0, None, y[i] - problem.epsilon))
            rows.append((i, -1.0, 0, None, -y[i] - problem.epsilon))
        elif problem.family == "nominal":
            own = int(y[i]) - 1
            rows += [(i, 1.0, own, other, 1.0) for other in range(problem.n_levels) if other != own]
        else:
            for j in range(problem.n_levels - 1):
                near = y[i] in (j + 1, j + 2)
                if near or problem.order == "implicit":
                    rows.append((i, -1.0 if y[i] <= j + 1 else 1.0, j, None, 1.0))
    return rows


def prices_of(problem, rows):
    """Case weights; balanced: both sides of each threshold (all classes) weigh the same, the total as before."""
    price = np.array([problem.weights[row[0]] for row in rows]) / problem.weights.mean()
    if not problem.balance or problem.family == "regression":
        return price
    nominal = problem.family == "nominal"
    side = [row[2] if nominal else (row[2], row[1]) for row in rows]
    group = [0 if nominal else row[2] for row in rows]
    out = np.empty(len(rows))
    for r in range(len(rows)):
        total = sum(p for p, g in zip(price, group, strict=True) if g == group[r])
        mine = sum(p for p, s in zip(price, side, strict=True) if s == side[r])
        sides = len({s for s, g in zip(side, group, strict=True) if g == group[r]})
        out[r] = price[r] * total / (sides * mine)
    return out


class Truth:
    """The linear programs of one problem."""

    def __init__(self, problem):
        self.problem = problem
        weights = problem.weights
        n = len(problem.y)
        X = np.zeros((n, 0)) if problem.X is None else problem.X
        # linprog has absolute tolerances: columns that are taken as they come are given sizes near 1 here, weights w
        # are then w * unit and C is C * unit
        self.unit = 1.0 if problem.standardize else float(np.sqrt(np.mean(X**2)))
        X = standardised(X, weights)[0] if problem.standardize else X / self.unit
        self.shares = None
        if problem.factor is not None:
            F, self.shares = coded(problem.factor, weights)
            X = np.hstack([X, F])
        a = standardised(problem.adjust, weights)[0] if problem.adjust is not None else np.zeros((n, 0))
        Z = standardised(problem.Z, weights)[0] if problem.Z is not None else np.zeros((n, 0))
        y = np.asarray(problem.y, dtype=np.longdouble)
        self.epsilon = problem.epsilon
        if problem.family == "regression":
            share = np.asarray(weights, dtype=np.longdouble) / np.sum(
                np.asarray(weights, dtype=np.longdouble)
            )
            centre = share @ y
            self.y_scale = np.sqrt(share @ (y - centre) ** 2)
            y = (y - centre) / self.y_scale
        rows = loss_rows(problem, y.astype(float))
        self._lay_out(problem, X, a, Z, rows)

    def _lay_out(self, problem, X, a, Z, rows):
        K = problem.n_levels if problem.family == "nominal" else 1
        d, p, m = X.shape[1], Z.shape[1], a.shape[1]
        k = 1 if problem.family == "regression" else K if K > 1 else problem.n_levels - 1
        R = len(rows)
        self.functions = self._functions(problem, rows) if p else []
        F = len(self.functions)
        names = [("w", K * d), ("a", K * m), ("b", k), ("u", F * p), ("d", F), ("|w|", K * d), ("|u|", F * p)]
        hinge = p == 0 or np.isfinite(problem.residual)
        names.append(("slack", R if hinge else 0))
        self.at, start = {}, 0
        for name, size in names:
            self.at[name] = np.arange(start, start + size)
            start += size
        q = self.q = start
        price = prices_of(problem, rows)
        lhs, rhs = [], []

        def at_least(entries, least):
            row = np.zeros(q)
            for place, value in entries:
                row[place] += value
            lhs.append(-row)
            rhs.append(-least)

        self.norm, self.loss = np.zeros(q), np.zeros(q)
        self.norm[self.at["|w|"]] = 1.0
        self.norm[self.at["|u|"]] = problem.gamma
        for r, (i, sign, j, other, margin) in enumerate(rows):
            correction = []
            for f, members in enumerate(self.functions):
                if r in members:
                    correction = [(self.at["u"][f * p + z], Z[i, z]) for z in range(p)]
                    correction.append((self.at["d"][f], 1.0))
            entries = []
            for c, s in ((j, sign), (other, -sign)) if other is not None else ((0, sign),):
                entries += [(self.at["w"][c * d + v], s * X[i, v]) for v in range(d)]
                entries += [(self.at["a"][c * m + v], s * a[i, v]) for v in range(m)]
            entries.append((self.at["b"][j], -sign))
            if other is not None:
                entries.append((self.at["b"][other], sign))
            slack = [(self.at["slack"][r], 1.0)] if hinge else []
            at_least(entries + correction + slack, margin)
            if correction:
                at_least(correction, 0.0)
                for place, value in correction:
                    self.loss[place] += price[r] * value
            if hinge:
                self.loss[self.at["slack"][r]] = price[r] * (problem.residual if p else 1.0)
        if problem.order == "explicit" and problem.family == "ordinal":
            for j in range(k - 1):
                at_least([(self.at["b"][j], -1.0), (self.at["b"][j + 1], 1.0)], 0.0)
        for plain, size in (("w", "|w|"), ("u", "|u|")):
            for one, two in zip(self.at[plain], self.at[size], strict=True):
                at_least([(two, 1.0), (one, 1.0)], 0.0)
                at_least([(two, 1.0), (one, -1.0)], 0.0)
        self.lhs, self.rhs = np.array(lhs), np.array(rhs)
        positive = {*self.at["|w|"], *self.at["|u|"], *self.at["slack"]}
        self.bounds = [(0 if j in positive else None, None) for j in range(q)]
        self.sizes = (K, d, p, F)

    @staticmethod
    def _functions(problem, rows):
        everyone = range(len(rows))
        if problem.correcting == "shared":
            return [set(everyone)]
        if problem.family == "nominal" or (
            problem.family == "ordinal" and problem.order == "implicit" and problem.n_levels > 2
        ):
            return [{r for r in everyone if rows[r][2] == j} for j in sorted({row[2] for row in rows})]
        return [{r for r in everyone if rows[r][1] < 0}, {r for r in everyone if rows[r][1] > 0}]

    def solve(self, cost, lhs=None, rhs=None, bounds=None):
        """Minimise; None where there is no point."""
        A = self.lhs if lhs is None else np.vstack([self.lhs, lhs])
        b = self.rhs if rhs is None else np.concatenate([self.rhs, rhs])
        found = linprog(cost, A_ub=A, b_ub=b, bounds=self.bounds, method="highs", options=EXACT)
        return found.fun if found.status == 0 else None

    def best(self, C):
        """The least 1/2 norm + C loss."""
        return self.solve(0.5 * self.norm + C * self.loss)

    def parts(self, w, b, u, d, a):
        """Norm and loss of a model, the slack of each row as small as it may be."""
        fixed = np.concatenate([w, a, b, u, d])
        places = np.concatenate([self.at[name] for name in ("w", "a", "b", "u", "d")])
        point = np.zeros(self.q)
        point[places] = fixed
        point[self.at["|w|"]], point[self.at["|u|"]] = np.abs(w), np.abs(u)
        if len(self.at["slack"]):
            own = -self.lhs[:, self.at["slack"]]
            first = np.argmax(own, axis=0)
            point[self.at["slack"]] = np.maximum(0.0, self.lhs[first] @ point - self.rhs[first])
        worst = float(np.max(self.lhs @ point - self.rhs, initial=0.0))
        return float(self.norm @ point), float(self.loss @ point), worst

    def set_of(self, C, norm, loss, wider=0.0):
        """The rows that say: as good as a model of this norm and loss."""
        problem = self.problem
        more = 1 + problem.delta + wider
        if problem.tolerance == "joint":
            return np.array([0.5 * self.norm + C * self.loss]), np.array([more * (0.5 * norm + C * loss)])
        return np.array([self.norm, self.loss]), np.array([more * norm, more * loss])

    def largest(self, tops, budget):
        """The greatest value that the largest of some linear functions has in the set."""
        found = [self.solve(-top, *budget) for top in tops]
        return None if any(f is None for f in found) else max(-f for f in found)

    def least(self, tops, budget):
        """The least value of the largest of some linear functions in the set: one more variable above all of them."""
        lhs = np.vstack([self.lhs, budget[0], np.array(tops)])
        above = np.zeros((len(lhs), 1))
        above[-len(tops) :] = -1.0
        rhs = np.concatenate([self.rhs, budget[1], np.zeros(len(tops))])
        cost = np.zeros(self.q + 1)
        cost[-1] = 1.0
        found = linprog(
            cost,
            A_ub=np.hstack([lhs, above]),
            b_ub=rhs,
            bounds=[*self.bounds, (None, None)],
            method="highs",
            options=EXACT,
        )
        return found.fun if found.status == 0 else None

    def along(self, entries):
        """A linear function of the variables."""
        row = np.zeros(self.q)
        for place, value in entries:
            row[place] += value
        return row

    def asked(self):
        """By row of the table: the groups of linear functions whose largest is meant; the largest group counts."""
        K, d, p, F = self.sizes
        numbers = d - (0 if self.shares is None else len(self.shares))
        out = {}
        for v in range(numbers):
            if K == 1:
                one = self.along([(self.at["w"][v], 1.0)])
                out["regular", v, None] = [[one, -one]]
            else:
                pairs = [
                    self.along([(self.at["w"][s * d + v], 1.0), (self.at["w"][t * d + v], -1.0)])
                    for s, t in permutations(range(K), 2)
                ]
                out["regular", v, None] = [pairs]
        if self.shares is not None and K == 1:
            places = self.at["w"][numbers:]
            contrasts = [
                self.along([(places[s], 1.0), (places[t], -1.0)])
                for s, t in permutations(range(len(places)), 2)
            ]
            out["regular", "factor", None] = [contrasts]
            for level in range(len(places)):
                entries = [(places[level], 1.0)]
                entries += [(place, -share) for place, share in zip(places, self.shares, strict=True)]
                one = self.along(entries)
                out["regular", "factor", level] = [[one, -one]]
        for z in range(p):
            each = [self.along([(self.at["u"][f * p + z], 1.0)]) for f in range(F)]
            out["privileged", z, None] = [[one, -one] for one in each]
        return out

    def range_of(self, groups, budget):
        """The least and the greatest relevance of a row; None where the set is empty."""
        low = [self.least(tops, budget) for tops in groups]
        high = [self.largest(tops, budget) for tops in groups]
        if any(v is None for v in (*low, *high)):
            return None
        return max(0.0, *low), max(high)
