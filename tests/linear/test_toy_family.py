"""A new family is one small piece of code: the example of docs/architecture.md, run as it stands there."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from relbounds.api import fit_design
from relbounds.design import make_design
from relbounds.linear import families

DOCUMENT = Path(__file__).parents[2] / "docs" / "architecture.md"


@pytest.fixture
def median():
    code = re.search(r"## Adding a family.*?```python\n(.*?)```", DOCUMENT.read_text(), re.S).group(1)
    exec(code, {})
    yield "median"
    del families.FAMILIES["median"]


def test_the_documented_family_fits_and_selects(median):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    data["y"] = 2 * data["a"] + rng.laplace(size=80)
    design = make_design("y ~ a + b + c", data)
    plain = fit_design(design, C=0.2, epsilon=0.0)
    toy = fit_design(replace(design, family=median), C=0.1, epsilon=0.0)
    assert toy.selected("strong") == ["a"]
    # rows at twice the price and half the C: the same model
    np.testing.assert_allclose(toy._fitted.solution.v, plain._fitted.solution.v, atol=1e-6)
