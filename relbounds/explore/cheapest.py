"""The cheapest set of terms that still supports an equivalent model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relbounds.checks import is_number
from relbounds.errors import InfeasibleError, OptionError, SolverError, shortened
from relbounds.explore.constrain import constrain, need_bounds
from relbounds.explore.cutting import at_most, occupied
from relbounds.explore.naming import find_row, parents, term_rows
from relbounds.linear.asked import Asked
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted

# Up to this many terms whose use is open, the choice is exact.
MOST_EXACT = 30
# Beyond that, the search stops after this many needs; a count, not a time, so that answers can be repeated.
MOST_NEEDS = 60
# Among sets of equal cost the smaller one is taken: a term costs this share of the dearest one extra.
NUDGE = 1e-6


@dataclass(frozen=True)
class Choice:
    """A cheapest set of terms.

    Attributes
    ----------
    terms : list of str
        What to measure.
    features : list of str
        The rows of the table that these terms have.
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
    off : dict
        The wishes that switch off all other terms, for ``fit.constrain(choice.off)``.
    fitted : Fitted
        That what-if: the intervals left, and the best model.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01)
    >>> fit.cheapest({"x1": 1, "x2": 5, "x3": 2, "x4": 1}).terms
    ['x1', 'x3']
    """

    terms: list[str]
    features: list[str]
    formula: str
    cost: float
    cost_of_all: float
    costs: pd.Series
    exact: bool
    bound: float
    off: dict[str, str]
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
    heredity: bool = True,
) -> Choice:
    """Find the cheapest terms that support a model as good as the best one.

    Strongly relevant terms are always in; weakly relevant ones stand in for each other, and the cheapest
    completion is found by integer programming over what sets without a model show to be needed. Terms that count
    as irrelevant are left out, unless no equivalent model does without them all.

    Parameters
    ----------
    fitted : Fitted
    cost : mapping
        The cost of each term, by its name in the formula or the plain variable; a term with several columns is paid
        for once. Privileged features are not needed for prediction and cost nothing.
    other : float, optional
        The cost of every term that `cost` does not name.
    exact : bool, optional
        Prove the set cheapest however long it takes (True) or use the heuristic (False): stop the search early,
        drop terms from the dearest to the cheapest as long as an equivalent model is left, and say how much
        cheaper another set could be. By default exact for up to 30 terms whose use is open.
    heredity : bool
        An interaction brings the terms it is made of, and their cost.

    Returns
    -------
    Choice

    Examples
    --------
    An ultrasound and three blood tests that read the same inflammation:

    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> formula = "severity ~ age + stiffness + platelets + crp + esr + il6"
    >>> fit = rb.relbounds(formula, data, C=0.1)
    >>> found = fit.cheapest({"age": 0, "stiffness": 90, "platelets": 4, "crp": 6, "esr": 3, "il6": 40})
    >>> found.formula
    'severity ~ age + stiffness + platelets + esr'
    """
    need_bounds(fitted)
    rows = term_rows(fitted)
    weights = read_costs(fitted, rows, cost, other)
    problem = Terms(fitted, tuple(rows), _families(rows) if heredity else ())
    classes = fitted.table.loc[[row.title for row in rows], "relevance"].to_numpy()
    strong = problem.closed(classes == "strong")
    relevant = problem.closed(classes != "irrelevant")
    found = _solve(problem, weights, strong, relevant, exact)
    if found is None:
        # the noise threshold hides what the budgets need: let every term in
        found = _solve(problem, weights, strong, np.ones(len(rows), dtype=bool), exact)
    if found is None:
        raise InfeasibleError(
            "No set of regular terms supports an equivalent model; this fit cannot be thinned out."
        )
    chosen, bound, proved = found
    names = [rows[t].key.term for t in np.flatnonzero(chosen)]
    off = {row.title: "off" for row, used in zip(rows, chosen, strict=True) if not used}
    price = float(weights[chosen].sum())
    return Choice(
        terms=names,
        features=[
            row.title for row in fitted.spec.asked if row.key.part == "regular" and row.key.term in names
        ],
        formula=f"{fitted.design.response} ~ " + (" + ".join(names) or "1"),
        cost=price,
        cost_of_all=float(weights[relevant | chosen].sum()),
        costs=pd.Series(weights[chosen], index=pd.Index(names, name="term"), name="cost"),
        exact=proved,
        bound=price if proved else bound,
        off=off,
        fitted=constrain(fitted, off, heredity=False) if off else fitted,
    )


def read_costs(
    fitted: Fitted, rows: Sequence[Asked], cost: Mapping[str, float], other: float | None
) -> FloatArray:
    """Return the cost of every term; what is unknown, negative or missing is an error."""
    if not isinstance(cost, Mapping):
        raise OptionError("cost must map terms to numbers, such as {'mri': 500, 'crp': 6}.")
    place = {row.key: i for i, row in enumerate(rows)}
    found = np.full(len(rows), np.nan)
    for name, value in cost.items():
        key = find_row(fitted, name, what="given a cost").key.whole
        if key not in place:
            raise OptionError(f"'{name}' is a privileged feature, which no prediction needs: it has no cost.")
        found[place[key]] = _cost(str(name), value)
    missing = [row.key.term for row, value in zip(rows, found, strict=True) if math.isnan(value)]
    if missing and other is None:
        raise OptionError(
            f"There is no cost for {shortened(missing)}; add them, or give other=... for all of them."
        )
    rest = 0.0 if other is None else _cost("other", other)
    return np.where(np.isnan(found), rest, found)


def _cost(name: str, value: Any) -> float:
    if not is_number(value) or not math.isfinite(value):
        raise OptionError(f"The cost of '{name}' is {value!r}; it must be a finite number.")
    if value < 0:
        raise OptionError(f"The cost of '{name}' is negative ({value:g}); costs are 0 or more.")
    return float(value)


def _families(rows: Sequence[Asked]) -> tuple[tuple[int, int], ...]:
    """Return pairs (interaction, a term it is made of), by their places."""
    keys = [row.key for row in rows]
    return tuple((i, keys.index(parent)) for i, key in enumerate(keys) for parent in parents(key, keys))


@dataclass(frozen=True)
class Terms:
    """The terms to choose from, the sets they move in, and which term brings which."""

    fitted: Fitted
    rows: tuple[Asked, ...]
    brings: tuple[tuple[int, int], ...]

    def closed(self, chosen: np.ndarray) -> np.ndarray:
        """Return a set of terms with everything they bring."""
        out = np.array(chosen, dtype=bool)
        for child, parent in self.brings:
            out[parent] |= out[child]
        return out

    def allows(self, chosen: np.ndarray) -> bool:
        """Return whether an equivalent model exists on some of the terms."""
        for polytope in self.fitted.polytopes:
            for row, used in zip(self.rows, chosen, strict=True):
                polytope = polytope if used else at_most(polytope, row, 0.0)
            if occupied(polytope) is not None:
                return True
        return False


def _solve(
    problem: Terms, weights: FloatArray, strong: np.ndarray, allowed: np.ndarray, exact: bool | None
) -> tuple[np.ndarray, float, bool] | None:
    """Return the chosen terms, a lower bound on any cost, and whether the choice is proved; or None.

    A set of terms that supports no equivalent model proves that one of the others is needed. The cheapest set that
    meets all such needs known so far costs no more than the one that is sought: if it supports a model it is the
    answer, and otherwise it shows one more need.
    """
    if not problem.allows(allowed):
        return None
    keep = strong & allowed
    proved = exact if exact is not None else int(np.sum(allowed & ~keep)) <= MOST_EXACT
    needs: list[np.ndarray] = []
    bound = 0.0
    while proved or len(needs) < MOST_NEEDS:
        chosen = meet_needs(problem, weights, keep, allowed, needs)
        bound = float(weights[chosen].sum())
        if problem.allows(chosen):
            return chosen, bound, True
        needs.append(allowed & ~grow(problem, weights, chosen, allowed))
    chosen = thin_out(problem, allowed, keep, weights)
    return chosen, bound, bound >= float(weights[chosen].sum()) - NUDGE * float(weights.max(initial=0.0))


def meet_needs(
    problem: Terms, weights: FloatArray, keep: np.ndarray, allowed: np.ndarray, needs: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the cheapest terms that hold one of each need, everything they bring, and all that is kept."""
    if not needs:
        return keep.copy()
    from scipy.optimize import Bounds, LinearConstraint, milp

    count = len(weights)
    constraints = [LinearConstraint(np.array(needs, dtype=float), lb=np.ones(len(needs)))]
    if problem.brings:
        heirs = np.zeros((len(problem.brings), count))
        for i, (child, parent) in enumerate(problem.brings):
            heirs[i, child], heirs[i, parent] = 1.0, -1.0
        constraints.append(LinearConstraint(heirs, ub=np.zeros(len(heirs))))
    scale = max(float(weights.max(initial=0.0)), 1e-12)
    found: Any = milp(
        weights / scale + NUDGE,
        integrality=np.ones(count),
        bounds=Bounds(keep.astype(float), allowed.astype(float)),
        constraints=constraints,
        options={"mip_rel_gap": 0.0, "disp": False},
    )
    if found.x is None:
        raise SolverError(f"The search for the cheapest terms ended early: {found.message} Try exact=False.")
    return np.asarray(found.x) > 0.5


def grow(problem: Terms, weights: FloatArray, chosen: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Add terms, the dearest first, as long as no equivalent model is supported: one of the others is needed then."""
    chosen = chosen.copy()
    for t in np.argsort(-weights, kind="stable"):
        if allowed[t] and not chosen[t]:
            more = chosen.copy()
            more[t] = True
            more = problem.closed(more)
            if not problem.allows(more):
                chosen = more
    return chosen


def thin_out(problem: Terms, chosen: np.ndarray, keep: np.ndarray, weights: FloatArray) -> np.ndarray:
    """Drop terms from the dearest to the cheapest as long as an equivalent model is left.

    A term that another chosen term brings is not tried.
    """
    chosen = chosen.copy()
    for t in np.argsort(-weights, kind="stable"):
        needed = any(parent == t and chosen[child] for child, parent in problem.brings)
        if chosen[t] and not keep[t] and not needed:
            chosen[t] = False
            if not problem.allows(chosen):
                chosen[t] = True
    return chosen
