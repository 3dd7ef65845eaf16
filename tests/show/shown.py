"""Facts that no fit stands behind: every kind of row, part and class, made by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import linkage

from relbounds.show.facts import Facts

COLUMNS = (
    "weight", "lower", "upper", "signed_lower", "signed_upper", "p_noise", "p_adjusted", "relevance", "direction",
    "constraint",
)  # fmt: skip
NAN = float("nan")
ROWS = [
    # feature, part, term, row, then COLUMNS
    ("age", "regular", "age", "term", 0.20, 0.15, 0.25, 0.15, 0.25, 0.001, 0.002, "strong", "+"),
    ("C(site)", "regular", "C(site)", "term", 0.22, 0.10, 0.30, NAN, NAN, 0.001, 0.002, "strong", ""),
    ("site[A]", "regular", "C(site)", "level", -0.12, 0.05, 0.18, -0.18, -0.05, 0.010, 0.020, "strong", "-"),
    ("site[B]", "regular", "C(site)", "level", 0.02, 0.00, 0.08, -0.04, 0.08, 0.300, 0.400, "irrelevant", "?"),
    ("site[C]", "regular", "C(site)", "level", 0.10, 0.03, 0.15, 0.03, 0.15, 0.010, 0.020, "strong", "+"),
    ("sex: male - female", "regular", "sex", "term", 0.01, 0.00, 0.06, -0.02, 0.06, 0.600, 1.000, "irrelevant", "?"),
    ("crp", "regular", "crp", "term", -0.10, 0.00, 0.20, -0.20, 0.05, 0.002, 0.004, "weak", "?"),
    ("bs(bmi, 2)", "regular", "bs(bmi, 2)", "term", 0.12, 0.00, 0.22, NAN, NAN, 0.020, 0.040, "weak", ""),
    ("bs(bmi, 2)[0]", "regular", "bs(bmi, 2)", "column", 0.05, 0.0, 0.12, -0.02, 0.12, 0.1, 0.2, "irrelevant", "?"),
    ("bs(bmi, 2)[1]", "regular", "bs(bmi, 2)", "column", 0.07, 0.0, 0.14, -0.01, 0.14, 0.03, 0.05, "weak", "?"),
    ("smoker", "adjust", "smoker", "term", 0.31, NAN, NAN, 0.20, 0.42, NAN, NAN, "", "+"),
    ("biopsy", "privileged", "biopsy", "term", 0.08, 0.02, 0.11, 0.02, 0.11, 0.005, 0.010, "strong", "+"),
]  # fmt: skip
NOTES = ("Strong: needed by every model; irrelevant: not distinguishable from noise.", "5 rows were dropped.")


def table() -> pd.DataFrame:
    """A factor of three levels, a pair, a spline, an adjusting covariate and a privileged feature."""
    names = ["feature", "part", "term", "row", *COLUMNS[:-1]]
    return pd.DataFrame(ROWS, columns=names).set_index("feature")


def facts(**changes) -> Facts:
    """What a fit with this table shows."""
    given = {
        "title": "Relevance bounds",
        "formula": "grade ~ age + C(site) + sex + crp + bs(bmi, 2) | adjust(smoker) | priv(biopsy)",
        "response": "grade",
        "table": table(),
        "columns": COLUMNS,
        "left": (("Response:", "grade"), ("Seed:", "0")),
        "right": (("C:", "0.1 (fixed)"),),
        "notes": NOTES,
        "smallest_p": 0.001,
        "noise": {("regular", None): 0.09, ("regular", "C(site)"): 0.12, ("privileged", None): 0.03},
        "compared": (("Observations", "100"), ("C", "0.1")),
        "settings": (("C", "0.1"), ("seed", "0")),
        "methods": "We did this.\n\nA paper (2020).",
    }
    return Facts(**{**given, **changes})


def what_if() -> Facts:
    """The same with one term held."""
    held = table()
    held.loc["crp", ["lower", "upper", "relevance"]] = [0.0, 0.0, "fixed"]
    held["constraint"] = ["= 0" if name == "crp" else "" for name in held.index]
    return facts(table=held, constraints={"crp": (0.0, 0.0)}, before=table())


def groups() -> SimpleNamespace:
    """Four features, two of which stand in for each other."""
    names = ["age", "crp", "sex: male - female", "bs(bmi, 2)"]
    tree = linkage(np.array([0.9, 0.8, 1.0, 0.7, 0.1, 0.75]), method="single")
    joint = SimpleNamespace(
        terms=("crp", "bs(bmi, 2)"), lower=0.1, upper=0.3, exact=True, relevance="strong", replaceable=True
    )
    members = {1: ["age"], 2: ["crp", "bs(bmi, 2)"], 3: ["sex: male - female"]}
    labels = pd.Series([1, 2, 3, 2], index=names)
    return SimpleNamespace(labels=labels, linkage=tree, height=0.4, together=(joint,), members=members)


def sweep() -> SimpleNamespace:
    """Three tolerances; crp turns from weak to irrelevant."""
    deltas = np.array([0.001, 0.05, 3.0])
    tables = [table() for _ in deltas]
    tables[2].loc["crp", "relevance"] = "irrelevant"
    joined = pd.concat(tables, keys=deltas, names=["delta", "feature"])
    monotone = pd.Series([name != "age" for name in table().index], index=table().index)
    return SimpleNamespace(deltas=deltas, table=joined, delta=0.05, monotone=monotone)


def stability() -> SimpleNamespace:
    """Classes over ten subsamples."""
    own = table()
    shares = pd.DataFrame({"strong": 0.7, "weak": 0.2, "irrelevant": 0.1}, index=own.index)
    own["stability"] = 0.7
    moved = pd.DataFrame(
        {f"{end}_{q}": 0.1 * i for end in ("lower", "upper") for i, q in enumerate(("05", "50", "95"))},
        index=own.index,
    )
    return SimpleNamespace(table=own, frequencies=shares, quantiles=moved, n_resamples=10, failed=1)


def contrasts(reference: str | None = None) -> pd.DataFrame:
    """Pairs of sites."""
    rows = [
        ("C(site)", "B", "A", 0.05, 0.20, "always above", 0.002),
        ("C(site)", "C", "A", 0.10, 0.30, "always above", 0.0005),
        ("C(site)", "C", "B", -0.02, 0.16, "open", 0.3),
    ]
    names = ["term", "level", "reference", "signed_lower", "signed_upper", "direction", "p_adjusted"]
    found = pd.DataFrame(rows, columns=names)
    return found if reference is None else found[found["reference"] == reference]
