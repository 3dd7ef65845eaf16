"""Who takes over when a feature is switched off, and who carries the same information?"""

from __future__ import annotations

import numpy as np
import pandas as pd

from relbounds.errors import InfeasibleError, OptionError, nearest
from relbounds.explore.constrain import constrain
from relbounds.linear.fitted import Fitted

# Two features overlap when half of one's use costs the other this share of what it costs a copy.
OVERLAP = 0.5


def substitutes(fitted: Fitted, feature: str) -> pd.DataFrame:
    """Return what happens to the other features when one is switched off, and when it is half used.

    Parameters
    ----------
    fitted : Fitted
    feature : str
        A feature or a term, weakly relevant: a strong one has no substitute.

    Returns
    -------
    DataFrame
        One row for each other feature that was relevant or becomes so, best substitute first.

        - ``lower_off``, ``upper_off``: the bounds of its use without `feature`.
        - ``upper_half``: the most it can be used when `feature` has half of its own upper bound, and
          ``overlap``, the share of its upper bound that is lost then, doubled: 1 for a copy, 0 for a feature
          that has nothing to do with `feature` (both missing for a term with several columns).
        - ``role``: "replaces" when it becomes strong without `feature`; "shares" when it does not but overlaps
          by half or more, so that it carries the same information together with others; "" otherwise.

    Examples
    --------
    In the breast cancer data, radius, perimeter and area of the worst nuclei stand in for each other:

    >>> import relbounds as rb
    >>> data = rb.datasets.load_breast_cancer()
    >>> names = ["radius", "perimeter", "area", "texture", "concave_points", "smoothness"]
    >>> formula = "diagnosis ~ texture_se + symmetry_se + " + " + ".join(f"worst_{name}" for name in names)
    >>> fit = rb.relbounds(formula, data, C=0.1, probes=20)
    >>> fit.substitutes("worst_radius")["role"].head(3).to_dict()
    {'worst_area': 'shares', 'worst_perimeter': 'shares', 'symmetry_se': ''}

    Without two of them, the third is needed:

    >>> both = fit.constrain({"worst_perimeter": "off"})
    >>> both.substitutes("worst_radius")["role"].head(1).to_dict()
    {'worst_area': 'replaces'}
    """
    table = fitted.table
    if feature not in table.index and feature not in set(table["term"]):
        known = [*table.index, *table["term"]]
        raise OptionError(f"There is no feature '{feature}' in the fit.{nearest(str(feature), known)}")
    try:
        off = constrain(fitted, {feature: "off"}).table
    except InfeasibleError as error:
        raise InfeasibleError(
            f"'{feature}' has no substitute: every equivalent model uses it. {error}"
        ) from None
    own = (table.index == feature) | (table["term"] == feature).to_numpy()
    relevant = (table["relevance"] != "irrelevant") | (off["relevance"] != "irrelevant")
    found = pd.DataFrame(
        {
            "relevance": table["relevance"],
            "lower": table["lower"],
            "upper": table["upper"],
            "relevance_off": off["relevance"],
            "lower_off": off["lower"],
            "upper_off": off["upper"],
            "upper_half": half_used(fitted, feature)["upper"] if feature in table.index else np.nan,
        }
    )[relevant.to_numpy() & ~own]
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


def half_used(fitted: Fitted, feature: str) -> pd.DataFrame:
    """Return the table with a feature held half way from its least to its greatest use."""
    least, most = fitted.table.loc[feature, ["lower", "upper"]]
    return constrain(fitted, {feature: 0.5 * float(least + most)}).table
