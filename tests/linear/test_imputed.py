"""Several completed data sets give one result."""

import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds.errors import DataError


def patients(seed=0, n=90):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    data["site"] = rng.choice(list("xyz"), n)
    score = 1.5 * data["a"] + rng.logistic(size=n)
    return data.assign(y=pd.qcut(score, 3, labels=[1, 2, 3]).astype(int))


def fit(data, **options):
    return rb.relbounds(
        "y ~ a + b + c + site", data, **{"C": 0.3, "order": "explicit", "progress": False, **options}
    )


def test_identical_imputations_are_one_fit():
    data = patients()
    one, two = fit(data), fit([data, data.copy(), data])
    columns = list(one.table.columns)
    pd.testing.assert_frame_equal(two.table[columns], one.table)
    assert (two.table["lower_moves"] == 0).all() and (two.table["upper_moves"] == 0).all()
    assert any("3 imputed data sets" in note for note in two.notes)


def test_bounds_are_medians_and_p_values_are_pooled():
    data = patients(1)
    rng = np.random.default_rng(2)
    several = {k: data.assign(b=data["b"] + 0.3 * k * rng.normal(size=len(data))) for k in range(3)}
    each = [fit(one) for one in several.values()]
    pooled = fit(several)
    for name in ("lower", "upper", "weight"):
        np.testing.assert_allclose(pooled.table[name], np.median([f.table[name] for f in each], axis=0))
    p = np.array([f.table["p_adjusted"] for f in each])
    assert (pooled.table["p_adjusted"] >= p.min(axis=0) - 1e-12).all()
    # what no data set differs in is as certain as in one
    assert pooled.table.loc["a", "p_adjusted"] == pytest.approx(p[0, 0], rel=0.5)
    assert ((pooled.table["p_adjusted"] <= 0.05) == (pooled.table["relevance"] != "irrelevant")).all()
    assert len(pooled.predict(data.head(4))) == 4 and "imputed" in str(pooled.summary())


def test_what_is_not_one_data_set_completed_is_refused():
    data = patients(3)
    with pytest.raises(DataError, match="Data set 2 has 89 complete rows"):
        fit([data, data.iloc[1:]])
    with pytest.raises(DataError, match="Data set 2: 'c' is not a column"):
        fit([data, data.drop(columns="c")])
    with pytest.raises(DataError, match="in another order"):
        fit([data, data.iloc[::-1]])
    who = np.arange(len(data)) // 3
    with pytest.raises(DataError, match="other clusters"):
        fit([data.assign(who=who), data.assign(who=np.roll(who, 1))], cluster="who")
    with pytest.raises(DataError, match="list is empty"):
        fit([])
    with pytest.raises(DataError, match="other terms or levels"):
        fit([data, data.assign(site=data["site"].replace({"z": "x"}))])
