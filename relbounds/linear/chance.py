"""Is the model any better than chance? Where it is not, relevance has nothing to be measured on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from relbounds.linear.tuning import METRICS, Tuning

# A model counts as better than chance when its score is so many standard errors beyond it. C was chosen by the same
# score, and the best of many scores is a lucky one; ordered levels need less, since a model of noise does much worse
# there than one level for all rows.
STANDARD_ERRORS = {"ordinal": 1.0, "binary": 3.0, "regression": 2.0}


def chance_score(y: NDArray, family: str) -> float:
    """Return the best score that needs no feature: one level for every row, or levels drawn by their frequency.

    Examples
    --------
    >>> chance_score(np.array([1, 1, 2, 2, 3, 3]), "ordinal"), chance_score(np.array([1, 1, 2, 2]), "binary")
    (0.6666666666666666, 0.5)
    """
    if family == "regression":
        return 0.0
    _, measure, larger = METRICS[family]
    levels, counts = np.unique(y, return_counts=True)
    constants = [measure(y, np.full(len(y), level)) for level in levels]
    if not larger:
        return float(min(constants))
    # of levels drawn by frequency, precision and recall of each is its frequency
    return float(max(*constants, np.sum((counts / counts.sum()) ** 2)))


def chance_note(tuning: Tuning, y: NDArray, family: str) -> str | None:
    """Return a note where the cross-validated score is no better than chance, and None where it is.

    Examples
    --------
    >>> import pandas as pd
    >>> from relbounds.linear.model import Setting
    >>> table = pd.DataFrame({"C": [1.0], "mean": [0.64], "se": [0.05]})
    >>> tuning = Tuning(1.0, Setting(), "MMAE", 0.64, table, 5, "best", ())
    >>> chance_note(tuning, np.array([1, 1, 2, 2, 3, 3]), "ordinal")[:69]
    'Not clearly better than chance: the cross-validated MMAE is 0.640 (st'
    """
    if tuning.score is None or not len(tuning.table):
        return None
    chance = chance_score(y, family)
    nearest = (tuning.table["mean"] - tuning.score).abs().idxmin()
    error = float(tuning.table.loc[nearest, "se"])
    gain = tuning.score - chance if METRICS[family][2] else chance - tuning.score
    if gain > STANDARD_ERRORS[family] * error:
        return None
    word = "No" if gain <= 0 else "Not clearly"
    return (
        f"{word} better than chance: the cross-validated {tuning.metric} is {tuning.score:.3f} (standard error "
        f"{error:.3f}), and {chance:.3f} needs no feature at all. If the response has nothing to do with the "
        "features, whatever is called relevant is noise."
    )
