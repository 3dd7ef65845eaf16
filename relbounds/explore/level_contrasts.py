"""Is one level of a factor above another in every equally good model?

A difference between two levels is a linear function of the weights that no recoding changes. Its signed range over the
set of equivalent models is two linear programs. Section "Terms" of docs/method.md.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from relbounds.design.design_terms import DesignTerm
from relbounds.errors import OptionError, nearest
from relbounds.explore.constrain import need_bounds
from relbounds.explore.what_if_noise import evidence_of
from relbounds.linear.families.rows import FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.linear.noise.judge import response_of
from relbounds.linear.noise.levels import codes_of, pair_test
from relbounds.linear.ranges import ZERO
from relbounds.seeds import stream
from relbounds.solver.engines.dispatch import push_many

COLUMNS = ("term", "level", "reference", "signed_lower", "signed_upper", "direction", "p_adjusted")


def level_contrasts(fitted: Fitted, term: str, reference: Any = None) -> pd.DataFrame:
    """Return the signed range of differences between levels of a factor.

    Parameters
    ----------
    fitted : Fitted
    term : str
        A factor: its name in the formula or the plain variable.
    reference : optional
        A level that all others are compared with; all pairs by default.

    Returns
    -------
    DataFrame
        One row a pair: ``term``, ``level``, ``reference``, the least and the greatest difference of the two in any
        equivalent model (``signed_lower``, ``signed_upper``, shares of the norm), ``direction`` ("always above",
        "always below" or "open") and ``p_adjusted``, of the hypothesis that the two levels are exchangeable, for all
        pairs shown. For a nominal response, which has a score for each class, ``response`` says between which
        classes. ``attrs["monotone"]`` of an ordered factor is "rising" or "falling" where each level is at or above
        (below) the one before it in every equivalent model, "open" otherwise; None for levels without order.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.datasets.load_severity()
    >>> fit = rb.relbounds("severity ~ stiffness + crp + sex", data, C=0.1)
    >>> fit.level_contrasts("sex")[["level", "reference"]].values.tolist()
    [['male', 'female']]
    """
    need_bounds(fitted)
    asked = factor_named(fitted, term)
    pairs = _pairs(asked, reference)
    with threadpool_limits(limits=1, user_api="blas"):
        found = contrast_ranges(fitted, asked, pairs)
        monotone = _monotone(fitted, asked) if asked.ordered else None
    table = found.assign(p_adjusted=_p_values(fitted, asked, pairs, found))
    table = table[[*COLUMNS, *(["response"] if "response" in table else [])]]
    table.attrs["monotone"] = monotone
    return table


def factor_named(fitted: Fitted, name: Any) -> DesignTerm:
    """Return the factor that a name means; a term without levels is an error."""
    term = fitted.design.find_term(name)
    if term.part == "privileged" and not fitted.spec.functions:
        raise OptionError(
            f"'{name}' is a privileged feature of the teacher; name a factor of the model itself."
        )
    if len(term.levels) < 2:
        factors = [t.name for t in fitted.design.design_terms if len(t.levels) > 1]
        there = f" Factors are: {', '.join(factors[:8])}." if factors else " This fit has no factor."
        raise OptionError(f"'{name}' has no levels to compare.{there}")
    return term


def _pairs(term: DesignTerm, reference: Any) -> list[tuple[int, int]]:
    """Return the pairs (level, reference) that are compared, by their places."""
    k = len(term.levels)
    if reference is None:
        return [(b, a) for a, b in itertools.combinations(range(k), 2)]
    known = [str(level) for level in term.levels]
    if str(reference) not in known:
        hint = nearest(str(reference), known) or f" Levels are: {', '.join(known[:12])}."
        raise OptionError(f"'{term.name}' has no level {reference!r}.{hint}")
    place = known.index(str(reference))
    return [(one, place) for one in range(k) if one != place]


def contrast_ranges(fitted: Fitted, term: DesignTerm, pairs: list[tuple[int, int]]) -> pd.DataFrame:
    """Return the signed ranges of some pairs over the union of sets, in shares of the norm."""
    named = _directions(fitted, term, pairs)
    directions = np.array([direction for *_, direction in named])
    lower, upper = np.full(len(named), np.inf), np.full(len(named), -np.inf)
    for polytope in fitted.polytopes:
        wide = np.zeros((2 * len(named), polytope.model.q))
        wide[:, : directions.shape[1]] = np.vstack([directions, -directions])
        pushed = push_many(polytope, wide, fitted.options.solver)
        upper = np.maximum(upper, pushed.value[: len(named)])
        lower = np.minimum(lower, -pushed.value[len(named) :])
    lower, upper = lower / fitted.norm, upper / fitted.norm
    above, below = lower > ZERO, upper < -ZERO
    table = pd.DataFrame(
        {
            "term": term.name,
            "level": [term.levels[pair[0]] for pair, *_ in named],
            "reference": [term.levels[pair[1]] for pair, *_ in named],
            "signed_lower": lower,
            "signed_upper": upper,
            "direction": np.where(above, "always above", np.where(below, "always below", "open")),
        }
    )
    if any(response for _, response, _ in named):
        table["response"] = [response for _, response, _ in named]
    return table


def _directions(
    fitted: Fitted, term: DesignTerm, pairs: list[tuple[int, int]]
) -> list[tuple[tuple[int, int], str, FloatArray]]:
    """Return the linear function of each pair; for each pair of classes too where a response has no order."""
    q = fitted.spec.model.q
    out = []
    for pair in pairs:
        for response, places in _places(fitted, term):
            direction = np.zeros(q)
            for sign, columns in places:
                if len(columns) == 1:
                    # two levels as one column: the second minus the first
                    direction[columns[0]] += sign * (1.0 if pair == (1, 0) else -1.0)
                else:
                    direction[columns[pair[0]]] += sign
                    direction[columns[pair[1]]] -= sign
            out.append((pair, response, direction))
    return out


Places = list[tuple[float, list[int]]]


def _places(fitted: Fitted, term: DesignTerm) -> list[tuple[str, Places]]:
    """Return the variables of a term's columns with their signs, for each difference that there is to look at."""
    spec = fitted.spec
    if term.part == "privileged":
        return [(f.name, [(1.0, [f.start + k for k in term.columns])]) for f in spec.functions]
    classes, first = spec.sizes.classes, 0
    width = spec.sizes.features
    if term.part == "adjust":
        first, width = spec.sizes.weights, spec.sizes.adjust
    own = [[first + c * width + k for k in term.columns] for c in range(classes)]
    if classes == 1:
        return [("", [(1.0, own[0])])]
    levels = fitted.design.levels
    assert levels is not None
    return [
        (f"{levels[b]} - {levels[a]}", [(1.0, own[b]), (-1.0, own[a])])
        for a, b in itertools.combinations(range(classes), 2)
    ]


def _monotone(fitted: Fitted, term: DesignTerm) -> str:
    """Say whether the effect of ordered levels goes one way in every equivalent model."""
    steps = contrast_ranges(fitted, term, [(k + 1, k) for k in range(len(term.levels) - 1)])
    if (steps["signed_lower"] >= -ZERO).all():
        return "rising"
    return "falling" if (steps["signed_upper"] <= ZERO).all() else "open"


def _p_values(
    fitted: Fitted, term: DesignTerm, pairs: list[tuple[int, int]], found: pd.DataFrame
) -> FloatArray:
    """Return p-values of the pairs, by scores given the other relevant terms; never below that of the whole term."""
    if term.part != "regular":
        return np.full(len(found), np.nan)
    design, alpha = fitted.design, fitted.options.alpha
    before = fitted.table if fitted.before is None else fitted.before
    whole = before[(before["row"] == "term") & (before["part"] == "regular")].set_index("term")["p_adjusted"]
    others = [t for t in design.design_terms if t.part == "regular" and t.name != term.name]
    kept = [j for t in others if whole[t.name] <= alpha for j in t.columns]
    own = design.X[:, list(term.columns)]
    codes = codes_of(own) if len(term.columns) > 1 else (own[:, 0] > 0).astype(int)
    tested = pair_test(
        codes,
        response_of(evidence_of(fitted)),
        pairs=pairs,
        kept=design.X[:, kept],
        rng=stream(fitted.options.seed, "level contrasts"),
        cluster=design.cluster,
        adjust=design.adjust if design.adjust.shape[1] else None,
    )
    by_pair = dict(zip(pairs, np.maximum(tested.p_adjusted, float(whole[term.name])), strict=True))
    levels = {level: k for k, level in enumerate(term.levels)}
    each = zip(found["level"], found["reference"], strict=True)
    return np.array([by_pair[levels[one], levels[two]] for one, two in each])
