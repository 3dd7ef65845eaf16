"""How much are several terms used jointly? At least so much of them is in every equally good model.

Each of a few stand-ins can be left out, so that the least use of each is zero. What no model leaves out is their sum.
The sum is taken over what the rows of the terms report: the size of a weight, the largest contrast of a factor (no
recoding of its levels changes it), the sum of sizes of several columns. One term alone therefore gives its own row.
Section "Terms" of docs/method.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from relbounds import checks
from relbounds.errors import OptionError
from relbounds.explore.constrain import need_bounds
from relbounds.explore.naming import find_row
from relbounds.linear.asked import Asked, Functional, directions_of
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.linear.ranges import ZERO
from relbounds.solver.engines.dispatch import push_many
from relbounds.solver.largest import push_largest
from relbounds.solver.least import least_value
from relbounds.solver.polytope import Polytope

# Sums of more linear functions than this are bounded, not maximised: eight columns of open sign.
MOST_TOPS = 256


@dataclass(frozen=True)
class Together:
    """The joint use of some terms.

    Attributes
    ----------
    terms : tuple of str
        Whose.
    lower, upper : float
        The least and the most that equivalent models use them together, as shares of the norm.
    exact : bool
        Whether some model reaches `upper`; False where it is a bound that none exceeds.
    relevance : str
        "strong": every equivalent model uses some of them, beyond what noise is used; "weak": some models do;
        "irrelevant": not distinguishable from noise; "fixed" where a what-if holds all of them.
    p_adjusted : float
        The smallest of theirs: if one of them is no noise, they are not all noise.
    members : DataFrame
        The rows of the terms.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> found = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01).together(["x2", "x3"])
    >>> found.relevance, found.members["relevance"].tolist()
    ('strong', ['weak', 'weak'])
    """

    terms: tuple[str, ...]
    lower: float
    upper: float
    exact: bool
    relevance: str
    p_adjusted: float
    members: pd.DataFrame

    @property
    def replaceable(self) -> bool:
        """Whether each of several terms can be left out, but not all of them."""
        lone = bool((self.members["relevance"] == "weak").all())
        return len(self.terms) > 1 and self.relevance == "strong" and lone

    def __repr__(self) -> str:
        names = ", ".join(self.terms[:-1]) + (" and " if len(self.terms) > 1 else "") + self.terms[-1]
        most = f"{self.upper:.3f}" if self.exact else f"{self.upper:.3f} (at most)"
        said = f"{names} together: {self.lower:.3f} to {most} of the norm, {self.relevance}"
        return f"{said}; each is replaceable, together they are needed" if self.replaceable else said


def together(fitted: Fitted, names: Iterable[str]) -> Together:
    """Return the least and the most that some terms are used jointly.

    Parameters
    ----------
    fitted : Fitted
    names : iterable of str
        Terms: rows of the table, terms of the formula, or plain variables.

    Returns
    -------
    Together

    Examples
    --------
    Three readings of inflammation: each can be left out, all of them cannot.

    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> fit = rb.relbounds("severity ~ age + stiffness + platelets + crp + esr + il6", data, C=0.1)
    >>> fit.together(["crp", "esr", "il6"]).replaceable
    True
    """
    need_bounds(fitted)
    given = checks.names("names", names, "Name terms of the table, such as together(['crp', 'esr']).")
    rows = {row.key: row for row in (find_row(fitted, name, what="summed up") for name in given)}
    if not rows:
        raise OptionError("Name at least one term, such as together(['crp', 'esr']).")
    whole = {key.whole for key in rows if key.label is not None}
    if whole & set(rows):
        double = ", ".join(sorted(key.term for key in whole & set(rows)))
        raise OptionError(f"'{double}' is named as a whole and by its levels; name one of the two.")
    with threadpool_limits(limits=1, user_api="blas"):
        return measure_together(fitted, list(rows.values()))


def measure_together(fitted: Fitted, rows: Sequence[Asked]) -> Together:
    """Return the joint use of some rows of the table."""
    solver, norm = fitted.options.solver, fitted.norm
    lower, upper, exact = np.inf, 0.0, True
    for polytope in fitted.polytopes:
        lower = min(lower, least_sum(polytope, rows, solver))
        most, reached = largest_sum(polytope, rows, solver)
        upper, exact = max(upper, most), exact and reached
    members = fitted.table.loc[[row.title for row in rows]]
    lower, upper = lower / norm, max(upper, lower) / norm
    p = float(members["p_adjusted"].min()) if members["p_adjusted"].notna().any() else float("nan")
    return Together(
        terms=tuple(row.title for row in rows),
        lower=lower,
        upper=upper,
        exact=exact,
        relevance=_relevance(fitted, members["relevance"].tolist(), lower),
        p_adjusted=p,
        members=members,
    )


def _relevance(fitted: Fitted, classes: Sequence[str], lower: float) -> str:
    """Judge the sum: relevant if one of its members is; strong if every model uses more than noise is ever used."""
    if all(one == "fixed" for one in classes):
        return "fixed"
    if "strong" in classes:
        return "strong"
    if "weak" not in classes:
        return "irrelevant"
    # the least use of several terms of noise is at most the sum of what each is used
    noise = len(classes) * fitted.noise.least_end
    return "strong" if lower > noise + ZERO else "weak"


def least_sum(polytope: Polytope, rows: Sequence[Asked], solver: str) -> float:
    """Return the least sum of what some rows report: one linear program."""
    blocks = [_form(row) for row in rows]
    q = polytope.model.q
    m, p = sum(len(E) for _, E, _, _ in blocks), sum(cost.size for *_, cost in blocks)
    E_all, F_all, cost_all = np.zeros((m, q)), np.zeros((m, p)), np.zeros(p)
    row = column = 0
    for variables, E, F, cost in blocks:
        here, there = slice(row, row + len(E)), slice(column, column + cost.size)
        E_all[here, variables], F_all[here, there], cost_all[there] = E, F, cost
        row, column = here.stop, there.stop
    return max(float(least_value(polytope, E_all, F_all, cost_all, solver).value), 0.0)


Form = tuple[list[int], FloatArray, FloatArray, FloatArray]


def _form(row: Asked) -> Form:
    """Return what a row reports as the least ``cost.y`` with ``E u + F y >= 0``."""
    parts = [_one_form(functional) for functional in row.functionals]
    if len(parts) == 1:
        return parts[0]
    # the largest of several: one more variable above each of them
    variables = [j for places, *_ in parts for j in places]
    m, p = sum(len(E) for _, E, _, _ in parts), sum(cost.size for *_, cost in parts)
    E_all, F_all = np.zeros((m + len(parts), len(variables))), np.zeros((m + len(parts), p + 1))
    row_at = column = place = 0
    for i, (places, E, F, cost) in enumerate(parts):
        here, there = slice(row_at, row_at + len(E)), slice(column, column + cost.size)
        E_all[here, place : place + len(places)], F_all[here, there] = E, F
        F_all[m + i, there], F_all[m + i, p] = -cost, 1.0
        row_at, column, place = here.stop, there.stop, place + len(places)
    return variables, E_all, F_all, np.append(np.zeros(p), 1.0)


def _one_form(functional: Functional) -> Form:
    if functional.least is not None:
        return list(functional.variables), *functional.least
    return list(functional.variables), -functional.tops, np.ones((len(functional.tops), 1)), np.ones(1)


def largest_sum(polytope: Polytope, rows: Sequence[Asked], solver: str) -> tuple[float, bool]:
    """Return the largest sum of what some rows report, and whether it is reached.

    The sum is the largest over all combinations of the rows' linear functions. A weight whose sign is the same in the
    whole set has only one; beyond a number of combinations the sum of the single largest values, and the budget of
    the norm, bound it.
    """
    q = polytope.model.q
    choices, singles, complete = [], [], True
    for row in rows:
        tops = directions_of(row.functionals, q)
        pushed = push_many(polytope, tops, solver)
        if all(functional.exact for functional in row.functionals):
            singles.append(float(pushed.bound.max()))
            # a direction that is negative throughout is never the largest of a pair of opposites
            useful = pushed.bound > 0
            choices.append(tops[useful] if row.signed and useful.any() else tops)
        else:
            complete = False
            singles.append(_sum_of_sizes(row, pushed.bound))
    count = np.prod([float(len(one)) for one in choices])
    if complete and count <= MOST_TOPS:
        directions = np.array([np.sum(some, axis=0) for some in itertools.product(*choices)])
        return float(push_largest(polytope, directions, solver).value), True
    return min(sum(singles), _norm_budget(polytope, rows)), False


def _sum_of_sizes(row: Asked, bound: FloatArray) -> float:
    """Return a bound on the sum of sizes of many columns from bounds on each, both ways."""
    most, begin = 0.0, 0
    for functional in row.functionals:
        k = len(functional.variables)
        ends = bound[begin : begin + 2 * k]
        most, begin = max(most, float(np.maximum(ends[:k], ends[k:]).sum())), begin + 2 * k
    return most


def _norm_budget(polytope: Polytope, rows: Sequence[Asked]) -> float:
    """Return what the budget of the norm leaves for some rows at most: contrasts and sums never exceed it."""
    used = sorted({j for row in rows for functional in row.functionals for j in functional.variables})
    price = polytope.model.penalty[used]
    if not (price > 0).all() or any(row.row == "level" for row in rows):
        return float("inf")
    p, _, B = polytope.budgets
    most = float(np.min(B[p > 0] / p[p > 0]))
    return most / float(price.min())
