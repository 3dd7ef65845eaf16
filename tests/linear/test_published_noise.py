import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import relbounds as rb
from relbounds.linear.noise.published import classify, prediction_interval, tail_probability


def test_interval_by_hand():
    values = np.array([0.1, 0.2, 0.3, 0.4])
    interval = prediction_interval(values, 0.975)
    half = stats.t.ppf(0.975, 3) * np.std(values, ddof=1) * np.sqrt(1.25)
    assert interval.upper == pytest.approx(0.25 + half)
    assert interval.lower == 0.0 and interval.m == 4


def test_interval_by_order_statistics():
    values = np.arange(1.0, 100.0)
    assert prediction_interval(values, 0.95, "order").upper == 95.0
    assert prediction_interval(values, 0.999, "order").upper == 99.0
    p = tail_probability(np.array([200.0, 50.0]), prediction_interval(values, 0.95, "order"))
    assert p.tolist() == [0.01, 0.51]


def test_fewer_than_two_probes_leave_zero():
    for values in ([], [0.3]):
        interval = prediction_interval(np.array(values), 0.999)
        assert interval.upper == 0.0
        assert tail_probability(np.array([0.2, 0.0]), interval).tolist() == [0.0, 1.0]


@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=60),
    st.floats(0.5, 0.9999),
    st.sampled_from(["t", "order"]),
)
def test_p_value_and_threshold_say_the_same(values, level, kind):
    values = np.array(values)
    interval = prediction_interval(values, level, kind)
    if np.std(values) < 1e-5 or kind == "order":
        return
    p = tail_probability(np.array([interval.upper * 1.01 + 1e-6, interval.upper * 0.99 - 1e-6]), interval)
    assert p[0] < 1 - level + 1e-9 and p[1] > 1 - level - 1e-9


def test_classes_need_both_ends():
    noise = prediction_interval(np.array([0.0, 0.1]), 0.9)
    zero = prediction_interval(np.array([0.0, 0.0]), 0.9)
    lower, upper = np.array([0.5, 0.0, 0.2]), np.array([0.6, 0.6, 0.21])
    assert classify(lower, upper, zero, noise).tolist() == ["strong", "weak", "irrelevant"]


def test_probes_are_drawn_until_enough_are_feasible():
    simulated = rb.simulate.paper_set(1, seed=0)
    fit = rb.relbounds(simulated.formula, simulated.data, C=1.0, probes=20)
    row = fit.intervals.loc[("regular", "upper")]
    assert row["probes"] == 20 and row["infeasible"] > 0 and row["drawn"] >= 20 + 1


def test_every_feature_needed_is_said():
    data = rb.simulate.paper_set(1, seed=0).data
    data = data[["x1", "x2", "x3", "x4", "x5", "x6", "y"]]
    with pytest.warns(rb.RelboundsWarning, match="every informative feature is indispensable"):
        fit = rb.relbounds("y ~ .", data, C=5.0, probes=3, delta=0.001)
    assert set(fit.table["relevance"]) == {"strong"}
    assert any("indispensable" in note for note in fit.notes)


def test_a_factor_of_noise_is_irrelevant():
    # weights on the two levels of a factor can cancel out, so they look relevant by themselves
    data = rb.simulate.paper_set(1, noise=0.3, seed=0).data
    rng = np.random.default_rng(0)
    data = data.assign(sex=rng.choice(["female", "male"], size=len(data)))
    data["arm"] = np.where(data["x1"] > 0, "low", "high")
    fit = rb.relbounds("y ~ . - x1", data, C=0.5, probes=20)
    assert fit.table.loc[["sex[female]", "sex[male]"], "relevance"].tolist() == ["irrelevant"] * 2
    assert set(fit.table.loc[["arm[low]", "arm[high]"], "relevance"]) <= {"weak", "strong"}
    own, shared = (fit.intervals.loc[(part, "upper"), "upper"] for part in ("regular: sex", "regular"))
    assert own > shared


def test_interval_of_two_ends_by_hand():
    ends = np.array([[0.1, 0.3], [0.2, 0.25], [0.4, 0.15]])
    interval = prediction_interval(ends.max(axis=1), 0.99, "refit", ends)
    half = stats.t.ppf(0.995, 2) * np.std(ends, ddof=1) * np.sqrt(1 + 1 / 3)
    assert interval.upper == pytest.approx(ends.mean() + half)
    p = tail_probability(np.array([interval.upper, 0.0]), interval)
    assert p[0] == pytest.approx(0.01) and p[1] == 1.0
    fewer = prediction_interval(ends.max(axis=1), 0.99, "refit", ends, independent=2)
    assert fewer.upper > interval.upper
    assert tail_probability(np.array([fewer.upper]), fewer)[0] == pytest.approx(0.01)


def test_two_ends_keep_the_level_where_the_greater_one_does_not():
    # the greater of two normal ends has a longer tail than the normal distribution fitted to it
    rng = np.random.default_rng(0)
    passed = {"t": 0, "refit": 0}
    for _ in range(400):
        ends = 1.0 + 0.1 * rng.standard_normal((51, 1)) * np.array([1.0, -1.0])
        values = ends.max(axis=1)
        for kind in passed:
            interval = prediction_interval(values[1:], 0.99, kind, ends[1:])
            new = 1.0 + 0.1 * np.abs(rng.standard_normal(50))
            passed[kind] += int(np.sum(new > interval.upper))
    assert passed["t"] > 1.5 * 200
    assert passed["refit"] < 1.2 * 200


def test_lucky_permutations_are_no_noise():
    # two columns that every nearly optimal model needs: a permutation of one that fits was a lucky one
    wine = rb.datasets.load_wine()
    wine["warm"] = (wine["temp"] == "warm").astype(float)
    wine["skins"] = (wine["contact"] == "yes").astype(float)
    with pytest.warns(rb.RelboundsWarning, match="every informative feature is indispensable"):
        fit = rb.relbounds("rating ~ warm + skins", wine, delta=0.01, C=0.5)
    assert set(fit.table["relevance"]) == {"strong"}
