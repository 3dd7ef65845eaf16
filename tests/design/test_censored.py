"""Responses known in part: levels between two, times with censoring."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relbounds.design import design_from_arrays, make_design
from relbounds.design.censored import Surv, between
from relbounds.errors import DataError, FormulaError, OptionError, RelboundsError


def grades(low, high, formula="between(low, high) ~ x", **options):
    data = pd.DataFrame({"low": low, "high": high})
    data["x"] = np.arange(len(data)) ** 1.5
    return make_design(formula, data, **options)


def times(time, status, formula="Surv(time, status) ~ x", **options):
    data = pd.DataFrame({"time": time, "status": status})
    data["x"] = np.arange(len(data)) ** 1.5
    return make_design(formula, data, **options)


# -- between


def test_intervals_of_grades():
    design = grades([1, 2, 2, 3, 1], [1, 2, 3, 3, 3])
    assert design.family == "ordinal" and design.levels == (1, 2, 3)
    low, high = design.interval
    assert low.tolist() == [1, 2, 2, 3, 1] and high.tolist() == [1, 2, 3, 3, 3]
    assert design.y.tolist() == low.tolist()
    assert any("2 of 5 observations" in note for note in design.notes)
    small = design.subset([2, 0])
    assert small.interval[1].tolist() == [3, 1]
    new = pd.DataFrame({"low": [1, None, 2], "high": [3, 3, 2]})
    low, high = design.transform_interval(new)
    np.testing.assert_array_equal(low, [1, np.nan, 2])
    np.testing.assert_array_equal(high, [3, np.nan, 2])
    np.testing.assert_array_equal(design.transform_response(new), low)


def test_no_censoring_is_the_ordinal_response(data):
    data["high"] = data["grade"]
    one = make_design("between(grade, high) ~ x1", data)
    two = make_design("grade ~ x1", data)
    assert one.interval is None and one.levels == two.levels and one.family == two.family
    np.testing.assert_array_equal(one.y, two.y)
    assert list(one.decode(one.y)) == list(two.decode(two.y))


def test_ends_of_any_type():
    order = ["none", "mild", "severe"]
    low = pd.Categorical(["none", "mild", "none", "severe"], order, ordered=True)
    high = pd.Categorical(["none", "mild", "mild", "severe"], order, ordered=True)
    design = grades(low, high)
    assert design.levels == tuple(order) and design.interval[1].tolist() == [1, 2, 2, 3]
    text = grades(list(low), list(high), f"between(low, high, levels={order}) ~ x")
    assert text.levels == tuple(order)
    with pytest.raises(DataError, match="no row is known to lie above another"):
        grades([1, 2, 3, 3], [1, 2, 3, 3], "between(low, 3) ~ x")


def test_levels_that_nothing_tells_apart_are_one():
    design = grades([1, 1, 3, 4, 5], [2, 2, 3, 4, 5])
    assert design.levels == ("1-2", 3, 4, 5)
    assert design.y.tolist() == [1, 1, 2, 3, 4] and design.interval is None
    assert any("'1-2'" in note for note in design.notes)
    np.testing.assert_array_equal(design.transform_response(pd.DataFrame({"low": [2], "high": [3]})), [1])


@pytest.mark.parametrize(
    "low, high, error, message",
    [
        ([1, 3, 2], [1, 2, 3], DataError, "low end lies above the high one in 1 row.*3 above 2 in row 1"),
        ([1, 1, 1], [3, 3, 3], DataError, "nothing to tell apart"),
        (["a", "b", "c"], ["a", "b", "c"], DataError, r"levels have no order.*levels=\['a', 'b', 'c'\]"),
        (
            pd.Categorical(["a", "b"], ["a", "b"], ordered=True),
            pd.Categorical(["a", "b"], ["b", "a"], ordered=True),
            DataError,
            "different levels",
        ),
        (np.arange(150), np.arange(150), DataError, "too fine"),
    ],
)
def test_intervals_that_cannot_be_used(low, high, error, message):
    with pytest.raises(error, match=message):
        grades(low, high)


def test_new_intervals_are_checked():
    design = grades([1, 2, 2, 3], [1, 2, 3, 3])
    with pytest.raises(DataError, match="low end lies above"):
        design.transform_interval(pd.DataFrame({"low": [3], "high": [1]}))
    with pytest.raises(DataError, match="not seen"):
        design.transform_interval(pd.DataFrame({"low": [3], "high": [9]}))
    with pytest.raises(OptionError, match="does not go with between"):
        grades([1, 2], [1, 2], family="regression")


@given(st.integers(0, 1000), st.integers(2, 6))
@settings(max_examples=40)
def test_every_threshold_has_rows_on_both_sides(seed, n_levels):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(1, n_levels + 1, (30, 2)), axis=1)
    try:
        design = grades(ends[:, 0], ends[:, 1])
    except DataError:
        assert (ends[:, 1].min() >= ends[:, 0].max()) or n_levels == 2
        return
    low, high = design.interval if design.interval is not None else (design.y, design.y)
    assert np.all(low <= high) and low.min() >= 1 and high.max() <= len(design.levels)
    for j in range(1, len(design.levels)):
        assert (high <= j).any() and (low > j).any()


# -- times


def test_times_are_cut_at_quantiles_of_the_events():
    rng = np.random.default_rng(0)
    time, event = rng.exponential(size=200), rng.random(200) < 0.7
    design = times(time, event)
    assert design.family == "survival" and len(design.levels) == 10 and len(design.cut_times) == 9
    cuts = np.quantile(time[event], np.arange(1, 10) / 10, method="inverted_cdf")
    np.testing.assert_array_equal(design.cut_times, cuts)
    low, high = design.interval
    assert np.all(low[event] == high[event]) and np.all(high[~event] == 10)
    np.testing.assert_array_equal(low[event], 1 + np.sum(cuts < time[event][:, None], axis=1))
    np.testing.assert_array_equal(low[~event], 1 + np.sum(cuts <= time[~event][:, None], axis=1))
    np.testing.assert_array_equal(design.times[0], time)
    np.testing.assert_array_equal(design.times[1], event)
    assert design.levels[0].startswith("up to ") and design.levels[-1].startswith("over ")
    assert list(design.decode([1, 10])) == [design.levels[0], design.levels[-1]]
    assert design.subset([3, 1]).times[0].tolist() == [time[3], time[1]]


def test_few_events_give_few_levels():
    rng = np.random.default_rng(1)
    for events, expected in ((1, 2), (4, 2), (12, 2), (17, 3), (49, 9), (50, 10), (500, 10)):
        time = rng.exponential(size=events + 30)
        event = np.r_[np.ones(events), np.zeros(30)]
        time[-1] = 1e9
        assert len(times(time, event).levels) == expected
    assert len(times(time, event, "Surv(time, status, bins=4) ~ x").levels) == 4


def test_status_as_people_have_it():
    time = np.arange(1.0, 13.0)
    status = np.array([1, 2] * 6)
    expected = times(time, status == 2)
    for formula in ("Surv(time, status == 2) ~ x", "Surv(time, status - 1) ~ x"):
        np.testing.assert_array_equal(times(time, status, formula).interval, expected.interval)
    np.testing.assert_array_equal(times(time, (status == 2).astype(float)).interval, expected.interval)
    assert times(time, status, "Surv(time) ~ x").times[1].all()
    with pytest.raises(DataError, match=r"holds 1, 2.*status == 2"):
        times(time, status)
    with pytest.raises(DataError, match=r"'alive', 'dead'.*status == 'dead'"):
        times(time, np.where(status == 2, "dead", "alive"))


def test_new_times():
    design = times(np.arange(1.0, 31.0), np.arange(30) % 3 > 0)
    new = pd.DataFrame({"time": [0.5, 100.0, 3.0, None], "status": [1, 0, 0, 1]})
    time, event = design.transform_times(new)
    np.testing.assert_array_equal(time, [0.5, 100, 3, np.nan])
    np.testing.assert_array_equal(event, [1, 0, 0, np.nan])
    low, high = design.transform_interval(new)
    assert low[0] == high[0] == 1 and low[1] == high[1] == len(design.levels)
    assert high[2] == len(design.levels) and np.isnan(low[3])
    np.testing.assert_array_equal(design.transform_response(new), low)
    with pytest.raises(DataError, match="give a table"):
        design.transform_response([1, 2])
    with pytest.raises(DataError, match="is not a time"):
        grades([1, 2], [1, 2]).transform_times(new.assign(low=1, high=1))


@pytest.mark.parametrize(
    "time, status, formula, error, message",
    [
        (
            [1.0, 0.0, 2.0],
            [1, 1, 0],
            "Surv(time, status) ~ x",
            DataError,
            "1 time of the data not above 0.*row 1",
        ),
        ([1.0, -3.0, -2.0], [1, 1, 0], "Surv(time, status) ~ x", DataError, "2 times.*-3 in row 1"),
        ([1.0, 2.0, 3.0], [0, 0, 0], "Surv(time, status) ~ x", DataError, "no event was seen.*censored"),
        ([5.0, 5.0, 2.0], [1, 1, 0], "Surv(time, status) ~ x", DataError, "same time, 5"),
        ([5.0, 5.0, 2.0], [1, 1, 0], "Surv(time, time, status) ~ x", FormulaError, "left truncation"),
        ([5.0, 5.0, 2.0], [1, 1, 0], "Surv(time, status, type='left') ~ x", FormulaError, "left truncation"),
        ([5.0, 4.0, 2.0], [1, 1, 0], "Surv(time, status, bins=1) ~ x", FormulaError, "from 2 to 50"),
        (["a", "b", "c"], [1, 1, 0], "Surv(time, status) ~ x", DataError, "must be numbers"),
        ([5.0, 4.0, 2.0], [1, 1, 0], "time ~ Surv(x, status)", FormulaError, "left of '~'"),
        ([5.0, 4.0, 2.0], [1, 1, 0], "time ~ x | adjust(between(x, status))", FormulaError, "left of '~'"),
    ],
)
def test_times_that_cannot_be_used(time, status, formula, error, message):
    with pytest.raises(error, match=message):
        times(time, status, formula)


def test_families_that_do_not_fit():
    with pytest.raises(OptionError, match="does not go with Surv"):
        times([1.0, 2.0, 3.0], [1, 1, 0], family="ordinal")
    with pytest.raises(OptionError, match=r"write Surv\(time, status\)"):
        times([1.0, 2.0, 3.0], [1, 1, 0], "time ~ x", family="survival")
    assert times([1.0, 2.0, 3.0], [1, 1, 0], family="survival").notes[0].startswith("2 events")


def test_missing_times_drop_the_row():
    design = times([1.0, None, 3.0, 4.0], [1, 1, 0, 1])
    assert design.n_dropped == 1 and len(design.y) == 3


def test_survival_has_no_feature_of_its_own_response():
    data = pd.DataFrame({"t": [1.0, 2.0, 4.0], "d": [1, 0, 1], "x": [1.0, 3.0, 2.0]})
    assert make_design("Surv(t, d) ~ .", data).names == ("x",)


def test_weights_and_counts_move_the_cuts_alike():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"t": rng.exponential(size=60), "d": 1, "x": rng.normal(size=60)})
    data["n"] = rng.integers(1, 4, 60)
    counts = make_design("Surv(t, d) ~ x", data, frequency="n")
    weights = make_design("Surv(t, d) ~ x", data, weights="n")
    assert counts.cut_times == weights.cut_times


def test_arrays_may_hold_either():
    rng = np.random.default_rng(0)
    X, time, event = rng.normal(size=(30, 2)), rng.exponential(size=30), rng.random(30) < 0.6
    design = design_from_arrays(X, Surv(time, event), frequency=np.r_[2, np.ones(29)])
    assert design.family == "survival" and len(design.y) == 31
    low = rng.integers(1, 4, 30)
    design = design_from_arrays(X, between(low, np.minimum(low + 1, 3)))
    assert design.family == "ordinal" and design.interval is not None
    with pytest.raises(RelboundsError, match="same number of rows"):
        design_from_arrays(X, Surv(time[:5], event[:5]))
