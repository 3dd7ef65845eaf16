"""Small data sets to learn and test with; each knows where it came from.

Every loader returns a DataFrame with ready dtypes (ordered levels are ordered Categoricals) and says its
source and licence in ``frame.attrs["provenance"]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

__all__ = ["load_breast_cancer", "load_housing", "load_severity", "load_wine"]


def _read(name: str, provenance: str) -> pd.DataFrame:
    data = pd.read_csv(Path(__file__).with_name(name))
    data.attrs["provenance"] = provenance
    return data


def _levels(column: pd.Series, levels: Sequence[object], *, ordered: bool) -> pd.Series:
    return column.astype(pd.CategoricalDtype(list(levels), ordered=ordered))


def load_severity() -> pd.DataFrame:
    """Load the simulated study of disease severity: 300 patients, four grades, known truth.

    Grade ``severity`` (none < mild < moderate < severe) follows age, liver stiffness, platelets and
    inflammation. Inflammation itself is not a column: crp, esr and il6 are three readings of it, each of
    which stands in for the others. bmi, pulse, sodium and sex have nothing to do with the grade. ``biopsy`` and
    ``followup`` are known for study patients only (privileged); 8 % of the patients are graded one step off.

    Returns
    -------
    DataFrame
        ``attrs["truth"]`` maps each feature to "strong", "weak" or "irrelevant"; ``attrs["privileged"]``
        lists the privileged columns; ``attrs["formula"]`` is ready to use.

    Examples
    --------
    >>> data = load_severity()
    >>> data.shape
    (300, 13)
    >>> data["severity"].cat.categories.tolist()
    ['none', 'mild', 'moderate', 'severe']
    >>> data.attrs["truth"]["crp"]
    'weak'
    """
    data = _read(
        "severity.csv",
        "Simulated for relbounds by data/make_severity.py (seed 20); no patient stands behind it. "
        "Licence: GPL-3.0-or-later, as the package.",
    )
    data["severity"] = _levels(data["severity"], ["none", "mild", "moderate", "severe"], ordered=True)
    data["sex"] = _levels(data["sex"], ["female", "male"], ordered=False)
    truth = pd.read_csv(Path(__file__).with_name("severity_truth.csv"))
    data.attrs["truth"] = dict(zip(truth["feature"], truth["relevance"], strict=True))
    data.attrs["privileged"] = truth.loc[truth["part"] == "privileged", "feature"].tolist()
    data.attrs["formula"] = "severity ~ . | priv(biopsy, followup)"
    return data


def load_breast_cancer() -> pd.DataFrame:
    """Load the Wisconsin diagnostic breast cancer data: 569 masses, 30 features of cell nuclei.

    Each of ten measurements appears as mean, as standard error (``..._se``) and as mean of the three largest
    (``worst_...``). ``diagnosis`` is benign (357) or malignant (212), in that order.

    Returns
    -------
    DataFrame
        `diagnosis` and 30 numbers.

    Examples
    --------
    >>> data = load_breast_cancer()
    >>> data["diagnosis"].value_counts().to_dict()
    {'benign': 357, 'malignant': 212}
    """
    data = _read(
        "breast_cancer.csv",
        "Breast Cancer Wisconsin (Diagnostic), W. H. Wolberg, W. N. Street, O. L. Mangasarian (1995), "
        "doi:10.24432/C5DW2B, as carried by scikit-learn. Licence: CC BY 4.0.",
    )
    data["diagnosis"] = _levels(data["diagnosis"], ["benign", "malignant"], ordered=True)
    return data


def load_wine() -> pd.DataFrame:
    """Load the bitterness of wine: 72 ratings by nine judges, two treatments with two levels each.

    ``rating`` (1 < ... < 5) groups ``response``, a score from 0 to 100: use one of them, never both.

    Returns
    -------
    DataFrame
        `response`, `rating`, `temp`, `contact`, `bottle`, `judge`.

    Examples
    --------
    >>> load_wine()["rating"].value_counts(sort=False).to_dict()
    {1: 5, 2: 22, 3: 26, 4: 12, 5: 7}
    """
    data = _read(
        "wine.csv",
        "J. Randall (1989), The analysis of sensory data by generalised linear model, Biometrical Journal 7, "
        "781-793; exported from the R package ordinal. Licence: GPL-2 or later.",
    )
    data["rating"] = _levels(data["rating"], range(1, 6), ordered=True)
    for column, levels in {"temp": ["cold", "warm"], "contact": ["no", "yes"]}.items():
        data[column] = _levels(data[column], levels, ordered=False)
    for column in ("bottle", "judge"):
        data[column] = _levels(data[column], sorted(data[column].unique()), ordered=False)
    return data


def load_housing() -> pd.DataFrame:
    """Load satisfaction with housing in Copenhagen: 1681 householders in 72 weighted rows.

    Pass ``frequency="freq"`` when fitting and leave ``freq`` out of the features.

    Returns
    -------
    DataFrame
        `satisfaction`, `influence`, `type`, `contact`, `freq`.

    Examples
    --------
    >>> data = load_housing()
    >>> int(data["freq"].sum()), data["satisfaction"].cat.categories.tolist()
    (1681, ['low', 'medium', 'high'])
    """
    data = _read(
        "housing.csv",
        "M. Madsen (1976), Statistical analysis of multiple contingency tables, Scandinavian Journal of "
        "Statistics 3, 97-106; exported from the R package MASS. Licence: GPL-2 or GPL-3.",
    )
    data["satisfaction"] = _levels(data["satisfaction"], ["low", "medium", "high"], ordered=True)
    data["influence"] = _levels(data["influence"], ["low", "medium", "high"], ordered=False)
    data["type"] = _levels(data["type"], ["tower", "apartment", "atrium", "terrace"], ordered=False)
    data["contact"] = _levels(data["contact"], ["low", "high"], ordered=False)
    return data
