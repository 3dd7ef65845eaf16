"""The cheapest set of features that still supports an equivalent model."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from relbounds.errors import InfeasibleError, OptionError, nearest
from relbounds.explore.constrain import constrain
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.linear.ranges import ZERO
from relbounds.solver.polytope import Polytope
from relbounds.solver.whole_program import full_lp

# Up to this many terms whose use is open, the choice is exact.
MOST_EXACT = 30
# Beyond that, the search stops after this many branches; a count, not a time, so that answers can be repeated.
MOST_NODES = 200
# Among sets of equal cost the smaller one is taken: a term costs this share of the dearest one extra.
NUDGE = 1e-6


@dataclass(frozen=True)
class Choice:
    """A cheapest set of features.

    Attributes
    ----------
    features, terms : list of str
        What to measure.
    formula : str
        The response on these terms.
    cost, cost_of_all : float
        The cost of the set, and of all relevant terms together.
    costs : Series
        The cost of each chosen term.
    exact : bool
        Whether the set is proved to be cheapest.
    bound : float
        No set that supports an equivalent model costs less.
    fitted : Fitted
        The what-if with every other feature switched off: the intervals left, and the best model.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
    >>> fit.cheapest({"x1": 1, "x2": 5, "x3": 2, "x4": 1}).features
    ['x1', 'x3']
    """

    features: list[str]
    terms: list[str]
    formula: str
    cost: float
    cost_of_all: float
    costs: pd.Series
    exact: bool
    bound: float
    fitted: Fitted

    @property
    def gap(self) -> float:
        """By what share of its cost another set could undercut this one; 0 when it is proved cheapest."""
        return 0.0 if self.exact or self.cost <= 0 else max(0.0, 1 - self.bound / self.cost)

    def __repr__(self) -> str:
        proof = (
            "proved cheapest" if self.exact else f"heuristic; a set cheaper by up to {self.gap:.1%} may exist"
        )
        of_all = f"{self.cost:g} of {self.cost_of_all:g} for all relevant terms"
        return f"{self.formula}\ncost {of_all} ({proof})"


def cheapest(
    fitted: Fitted,
    cost: Mapping[str, float],
    *,
    other: float | None = None,
    exact: bool | None = None,
) -> Choice:
    """Find the cheapest features that support a model as good as the best one.

    Strongly relevant features are always in; weakly relevant ones stand in for each other, and the cheapest
    completion is found by mixed-integer programming over the set of equivalent models. Features that count
    as irrelevant are left out, unless no equivalent model does without them all.

    Parameters
    ----------
    fitted : Fitted
    cost : mapping
        The cost of each term of the formula; a term with several columns is paid for once. Privileged
        features are not needed for prediction and cost nothing.
    other : float, optional
        The cost of every term that `cost` does not name.
    exact : bool, optional
        Prove the set cheapest however long it takes (True) or use the heuristic (False): stop the search early,
        drop terms from the dearest to the cheapest as long as an equivalent model is left, and say how much
        cheaper another set could be. By default exact for up to 30 terms whose use is open.

    Returns
    -------
    Choice

    Examples
    --------
    An ultrasound and three blood tests that read the same inflammation:

    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> formula = "severity ~ age + stiffness + platelets + crp + esr + il6"
    >>> fit = rb.relbounds(formula, data, C=0.1, probes=20)
    >>> found = fit.cheapest({"age": 0, "stiffness": 90, "platelets": 4, "crp": 6, "esr": 3, "il6": 40})
    >>> found.formula
    'severity ~ age + stiffness + platelets + esr'
    """
    table = fitted.table[fitted.table["part"] == "regular"]
    terms = list(dict.fromkeys(table["term"]))
    price = read_costs(terms, cost, other)
    problem = Terms(fitted, terms, [np.flatnonzero((table["term"] == term).to_numpy()) for term in terms])
    by_term = table.groupby("term", sort=False)["relevance"]
    strong = np.array([(by_term.get_group(term) == "strong").any() for term in terms])
    relevant = np.array([(by_term.get_group(term) != "irrelevant").any() for term in terms])
    weights = np.array([price[term] for term in terms])
    found = _solve(problem, weights, strong, relevant, exact)
    if found is None:
        # the noise threshold hides what the budgets need: let every feature in
        found = _solve(problem, weights, strong, np.ones(len(terms), dtype=bool), exact)
    if found is None:
        raise InfeasibleError(
            "No set of regular features supports an equivalent model; this fit cannot be thinned out."
        )
    chosen, bound, proved = found
    names = [terms[t] for t in np.flatnonzero(chosen)]
    features = table.index[table["term"].isin(names)].tolist()
    off = {name: "off" for name in table.index.difference(features, sort=False)}
    return Choice(
        features=features,
        terms=names,
        formula=f"{fitted.design.response} ~ " + (" + ".join(names) or "1"),
        cost=float(weights[chosen].sum()),
        cost_of_all=float(weights[relevant | chosen].sum()),
        costs=pd.Series(weights[chosen], index=pd.Index(names, name="term"), name="cost"),
        exact=proved,
        bound=float(weights[chosen].sum()) if proved else bound,
        fitted=constrain(fitted, off) if off else fitted,
    )


def read_costs(terms: Sequence[str], cost: Mapping[str, float], other: float | None) -> dict[str, float]:
    """Return the cost of every term; what is unknown, negative or missing is an error."""
    if not isinstance(cost, Mapping):
        raise OptionError("cost must map terms to numbers, such as {'mri': 500, 'crp': 6}.")
    for name, value in [*cost.items(), *([("other", other)] if other is not None else [])]:
        if name != "other" and name not in terms:
            raise OptionError(f"There is no term '{name}' to give a cost to.{nearest(str(name), terms)}")
        if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
            raise OptionError(f"The cost of '{name}' is {value!r}; it must be a finite number.")
        if value < 0:
            raise OptionError(f"The cost of '{name}' is negative ({value:g}); costs are 0 or more.")
    missing = [term for term in terms if term not in cost]
    if missing and other is None:
        shown = ", ".join(missing[:8]) + (f" and {len(missing) - 8} more" if len(missing) > 8 else "")
        raise OptionError(f"There is no cost for {shown}; add them, or give other=... for all of them.")
    return {term: float(cost.get(term, other if other is not None else 0.0)) for term in terms}


@dataclass(frozen=True)
class Terms:
    """The variables of each term, and the sets they move in."""

    fitted: Fitted
    names: list[str]
    columns: list[np.ndarray]

    def allows(self, chosen: np.ndarray) -> bool:
        """Return whether an equivalent model exists on some of the terms."""
        q = self.fitted.spec.model.q
        low, high = np.full(q, -np.inf), np.full(q, np.inf)
        for columns, used in zip(self.columns, chosen, strict=True):
            if not used:
                low[columns] = high[columns] = 0.0
        return any(_feasible(piece.bounded(low, high)) for piece in self.fitted.polytopes)


def _feasible(polytope: Polytope) -> bool:
    if np.any(polytope.model.lower > polytope.model.upper):
        return False
    lp = full_lp(polytope)
    found = linprog(
        np.zeros(lp.lhs.shape[1]),
        A_ub=lp.lhs,
        b_ub=lp.rhs,
        bounds=np.column_stack([lp.lower, lp.upper]),
        method="highs",
    )
    return bool(found.status == 0)


def _solve(
    problem: Terms, weights: FloatArray, strong: np.ndarray, allowed: np.ndarray, exact: bool | None
) -> tuple[np.ndarray, float, bool] | None:
    """Return the chosen terms, a lower bound on any cost, and whether the choice is proved; or None."""
    if not problem.allows(allowed):
        return None
    proved = exact if exact is not None else int(np.sum(allowed & ~strong)) <= MOST_EXACT
    most = None if proved else MOST_NODES
    found = [_program(piece, problem, weights, strong, allowed, most) for piece in problem.fitted.polytopes]
    bounds = [bound for _, bound in found]
    sets = [chosen for chosen, _ in found if chosen is not None]
    keep = strong & allowed
    if proved and sets:
        chosen = min(sets, key=lambda one: float(weights @ one))
        # what costs nothing is still left out where it is not needed
        return thin_out(problem, chosen, keep, np.where(weights > 0, np.inf, weights)), min(bounds), True
    sets = [thin_out(problem, one, keep, weights) for one in (allowed, *sets) if problem.allows(one)]
    chosen = min(sets, key=lambda one: float(weights @ one))
    bound = min(bounds)
    return chosen, bound, bound >= float(weights @ chosen) - NUDGE * float(weights.max(initial=0.0))


def thin_out(problem: Terms, chosen: np.ndarray, keep: np.ndarray, weights: FloatArray) -> np.ndarray:
    """Drop terms from the dearest to the cheapest as long as an equivalent model is left.

    A term of infinite weight is not tried.
    """
    chosen = chosen.copy()
    for t in np.argsort(-weights, kind="stable"):
        if chosen[t] and not keep[t] and np.isfinite(weights[t]):
            chosen[t] = False
            if not problem.allows(chosen):
                chosen[t] = True
    return chosen


def _program(
    polytope: Polytope,
    problem: Terms,
    weights: FloatArray,
    strong: np.ndarray,
    allowed: np.ndarray,
    nodes: int | None,
) -> tuple[np.ndarray | None, float]:
    """Minimise the cost of switches z over the set, each variable within its range times its term's switch.

    Returns the switched-on terms, None where none were found, and a bound that no set undercuts: infinite
    where there is no set.
    """
    lp = full_lp(polytope)
    fitted, count = problem.fitted, len(problem.names)
    width = lp.lhs.shape[1]
    # w_j <= hi_j z and w_j >= lo_j z: the signed range of the fit is the tightest switch there is
    margin = ZERO * fitted.norm
    low, high = fitted.ranges.lower - margin, fitted.ranges.upper + margin
    places = {j: i for i, j in enumerate(j for target in fitted.spec.targets for j in target.variables)}
    rows, cols, values = [], [], []
    row = 0
    for t, columns in enumerate(problem.columns):
        for j in columns:
            for sign, end in ((1.0, max(high[places[int(j)]], 0.0)), (-1.0, max(-low[places[int(j)]], 0.0))):
                rows += [row, row]
                cols += [int(j), width + t]
                values += [sign, -end]
                row += 1
    switches = sparse.csc_matrix((values, (rows, cols)), shape=(row, width + count))
    body = sparse.hstack([lp.lhs, sparse.csc_matrix((lp.lhs.shape[0], count))], format="csc")
    scale = max(float(weights.max(initial=0.0)), 1e-12)
    options: dict[str, Any] = {"mip_rel_gap": 0.0}
    if nodes is not None:
        options["node_limit"] = nodes
    found: Any = milp(
        np.concatenate([np.zeros(width), weights / scale + NUDGE]),
        integrality=np.concatenate([np.zeros(width), np.ones(count)]),
        bounds=Bounds(
            np.concatenate([lp.lower, strong & allowed]),
            np.concatenate([lp.upper, allowed.astype(float)]),
        ),
        constraints=[LinearConstraint(body, ub=lp.rhs), LinearConstraint(switches, ub=np.zeros(row))],
        options=options,
    )
    if found.status == 2:
        return None, math.inf
    known = getattr(found, "mip_dual_bound", None)
    bound = scale * (known - NUDGE * count) if known is not None and np.isfinite(known) else 0.0
    bound = max(bound, float(weights[strong & allowed].sum()))
    return (None if found.x is None else found.x[width:] > 0.5), bound
