"""Who takes over when a term is switched off, and who carries the same information?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from relbounds.errors import InfeasibleError
from relbounds.explore.constrain import constrain, need_bounds
from relbounds.explore.exact_bounds import with_exact_bounds
from relbounds.explore.holding import extremes, held_bounds
from relbounds.explore.naming import find_row, offspring
from relbounds.linear.asked import Asked
from relbounds.linear.fitted import Fitted

# Two terms overlap when half of one's use costs the other this share of what it costs a copy.
OVERLAP = 0.5


def substitutes(fitted: Fitted, term: str, *, heredity: bool = True) -> pd.DataFrame:
    """Return what happens to the other terms when one is switched off, and when it is half used.

    Parameters
    ----------
    fitted : Fitted
    term : str
        A term, weakly relevant: a strong one has no substitute.
    heredity : bool
        Switch its interactions off with it.

    Returns
    -------
    DataFrame
        One row for each other term that was relevant or becomes so, best substitute first.

        - ``lower_off``, ``upper_off``: the bounds of its use without `term`.
        - ``upper_half``: the most it can be used when `term` is held half way between its own bounds, and
          ``overlap``, the share of its upper bound that is lost then, doubled: 1 for a copy, 0 for a term
          that has nothing to do with `term`.
        - ``role``: "replaces" when it becomes strong without `term`; "shares" when it does not but overlaps
          by half or more, so that it carries the same information together with others; "" otherwise.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01)
    >>> fit.substitutes("x2")["role"].head(1).to_dict()
    {'x3': 'replaces'}
    """
    need_bounds(fitted)
    fitted = with_exact_bounds(fitted)
    row = find_row(fitted, term, what="switched off")
    try:
        off = constrain(fitted, {row.title: "off"}, heredity=heredity).table
    except InfeasibleError as error:
        raise InfeasibleError(
            f"'{term}' has no substitute: every equivalent model uses it. {error}"
        ) from None
    gone = {row.key.whole, *(offspring(row.key, [one.key for one in fitted.spec.asked]) if heredity else [])}
    others = [one for one in fitted.spec.asked if _other(one, row) and one.key not in gone]
    titles = [one.title for one in others]
    with threadpool_limits(limits=1, user_api="blas"):
        half = _upper_half(fitted, row, others)
    before, after = fitted.table.loc[titles], off.loc[titles]
    found = pd.DataFrame(
        {
            "relevance": before["relevance"],
            "lower": before["lower"],
            "upper": before["upper"],
            "relevance_off": after["relevance"],
            "lower_off": after["lower"],
            "upper_off": after["upper"],
            "upper_half": half,
        },
        index=pd.Index(titles, name="feature"),
    )
    relevant = (found["relevance"] != "irrelevant") | (found["relevance_off"] != "irrelevant")
    return _ranked(found[relevant])


def _other(one: Asked, row: Asked) -> bool:
    return one.row == "term" and one.key.part != "adjust" and one.key.whole != row.key.whole


def _upper_half(fitted: Fitted, row: Asked, others: list[Asked]) -> np.ndarray:
    """Return the most of every other row with one held half way from its least to its greatest use."""
    place = {one.key: i for i, one in enumerate(fitted.spec.asked)}
    measured, i = fitted.measured, place[row.key]
    value = 0.5 * float(measured.lower[i] + measured.upper[i])
    (end,) = extremes(fitted, [row])
    return held_bounds(fitted, [row, *others], 0, end, value)[1:, 1] / fitted.norm


def _ranked(found: pd.DataFrame) -> pd.DataFrame:
    """Add overlaps and roles, best substitutes first."""
    found = found.copy()
    found["overlap"] = (2 * (1 - found["upper_half"] / found["upper"].where(found["upper"] > 0))).clip(0, 1)
    replaces = (found["relevance_off"] == "strong") & (found["relevance"] != "strong")
    shares = ~replaces & (found["overlap"] >= OVERLAP)
    found["role"] = np.where(replaces, "replaces", np.where(shares, "shares", ""))
    order = pd.DataFrame(
        {
            "rank": found["role"].map({"replaces": 0, "shares": 1, "": 2}),
            "gain": (found["lower"] - found["lower_off"]).round(6),
            "overlap": -found["overlap"].fillna(0.0).round(6),
        }
    ).sort_values(["rank", "gain", "overlap"], kind="stable")
    return found.loc[order.index]
