import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

# The same examples in every run: a change of the code makes a test fail, never the draw of the day.
settings.register_profile("relbounds", derandomize=True, deadline=None)
settings.load_profile("relbounds")

collect_ignore = ["fixtures/make_fri.py"]  # runs with fri in an environment of its own


@pytest.fixture
def data():
    """Sixty patients with every kind of column a design must read."""
    rng = np.random.default_rng(1)
    n = 60
    return pd.DataFrame(
        {
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "x1": rng.normal(size=n),
            "x2": rng.exponential(size=n) + 0.1,
            "x3": rng.normal(5, 2, size=n),
            "site": rng.choice(list("ABC"), n),
            "stage": pd.Categorical(rng.choice(["I", "II"], n), ["I", "II"], ordered=True),
            "smoker": rng.random(n) < 0.5,
            "z1": rng.normal(size=n),
            "z2": rng.exponential(size=n) + 0.1,
            "rater": rng.integers(1, 4, n),
            "odd name": rng.normal(size=n),
        },
        index=pd.Index([f"p{i}" for i in range(n)], name="patient"),
    )
