"""Noise that the model was fitted to, and the note on models that are no better than chance."""

import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds.linear.chance import chance_note, chance_score
from relbounds.linear.model import Setting
from relbounds.linear.tuning import Tuning


def random_labels(n, d, correlation, seed):
    """Correlated features and levels that have nothing in common."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 1))
    X = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.standard_normal((n, d))
    data = pd.DataFrame(X, columns=[f"x{k}" for k in range(d)])
    return data.assign(y=pd.Categorical(rng.permutation(np.arange(n) % 4), ordered=True))


def test_correlated_noise_is_seen_through():
    # published probes break the correlation among the features, which lets weights on real noise cancel out
    passed = {"t": 0, "refit": 0}
    for seed in range(3):
        data = random_labels(100, 8, 0.7, seed)
        for interval in passed:
            fit = rb.relbounds("y ~ .", data, C=0.3, interval=interval, level=0.99, probes=30)
            passed[interval] += len(fit.selected())
    assert passed["t"] >= 3
    assert passed["refit"] <= 1


def test_signal_is_kept():
    simulated = rb.simulate.paper_set(3, noise=0.5, seed=1)
    published, refitted = (
        rb.relbounds(simulated.formula, simulated.data, C=0.3, interval=interval)
        for interval in ("t", "refit")
    )
    found = refitted.table["relevance"].loc[simulated.truth.index]
    assert ((found != "irrelevant") == (simulated.truth != "irrelevant")).all()
    bounds = ["lower", "upper", "signed_lower", "signed_upper"]
    assert published.table[bounds].equals(refitted.table[bounds])
    assert any("permuted together" in note for note in refitted.notes)


def test_relevance_must_pass_both_thresholds():
    data = random_labels(100, 8, 0.7, 0)
    published, refitted = (
        rb.relbounds("y ~ .", data, C=0.3, interval=interval) for interval in ("t", "refit")
    )
    end = ("regular", "upper")
    assert refitted.intervals.loc[end, "upper"] >= published.intervals.loc[end, "upper"]
    assert set(refitted.selected()) <= set(published.selected())


def test_same_numbers_on_one_core_and_two():
    data = random_labels(60, 5, 0.5, 1)
    one, two = (
        rb.relbounds("y ~ .", data, C=0.5, interval="refit", probes=10, n_jobs=jobs) for jobs in (1, 2)
    )
    pd.testing.assert_frame_equal(one.intervals, two.intervals)
    pd.testing.assert_frame_equal(one.table, two.table)


def test_without_noise_the_probes_stand():
    data = rb.simulate.paper_set(6, noise=0.3, seed=0).data
    fit = rb.relbounds("y ~ .", data, C=0.3, interval="refit", probes=20)
    again = rb.relbounds("y ~ .", data, C=0.3, probes=20)
    assert fit.intervals.equals(again.intervals)
    assert any("No feature looks like noise" in note for note in fit.notes)


def test_all_features_are_noise_where_the_model_is_no_better_than_chance():
    # the published threshold lets all of them pass, which leaves no feature that looks like noise
    data = random_labels(300, 8, 0.7, 3)
    passed = {
        interval: rb.relbounds("y ~ .", data, interval=interval, probes=30).selected()
        for interval in ("t", "refit")
    }
    assert len(passed["t"]) == 8 and not passed["refit"]


def test_factors_of_noise_are_refitted_as_a_whole():
    data = rb.simulate.paper_set(1, noise=0.3, seed=0).data
    data["sex"] = np.random.default_rng(0).choice(["female", "male", "unknown"], size=len(data))
    fit = rb.relbounds("y ~ . - x1", data, C=0.5, probes=20, interval="refit")
    assert fit.table.loc[["sex[female]", "sex[male]", "sex[unknown]"], "relevance"].eq("irrelevant").all()
    own, shared = (fit.intervals.loc[(part, "upper"), "upper"] for part in ("regular: sex", "regular"))
    assert own > shared


@pytest.mark.parametrize("options", [{"residual": 3.0}, {"privileged": "teacher"}])
def test_privileged_features_have_refitted_noise_of_their_own(options):
    simulated = rb.simulate.paper_privileged_set(1, seed=0)
    data = simulated.data.head(80)
    fit = rb.relbounds(
        simulated.formula, data, C=1.0, gamma=1.0, interval="refit", probes=10, delta=0.05, **options
    )
    assert {"regular", "privileged"} <= set(fit.intervals.index.get_level_values("part"))
    assert np.isfinite(fit.intervals["upper"]).all()


def test_an_unknown_interval_names_the_known_ones():
    with pytest.raises(rb.OptionError, match="'t', 'order' or 'refit'"):
        rb.relbounds("y ~ .", random_labels(20, 2, 0.0, 0), interval="shadow")


def test_chance_is_said_for_random_labels_and_not_for_relations():
    fit = rb.relbounds("y ~ .", random_labels(80, 4, 0.0, 0), probes=5)
    assert any("better than chance" in note for note in fit.notes)
    assert "better than chance" in str(fit.summary()).replace("\n    ", " ")
    simulated = rb.simulate.paper_set(3, noise=0.3, seed=0)
    fit = rb.relbounds(simulated.formula, simulated.data, probes=5)
    assert not any("better than chance" in note for note in fit.notes)


def test_chance_scores_by_hand():
    assert chance_score(np.array([1, 1, 2, 3]), "ordinal") == pytest.approx(2 / 3)
    # three of four in one class: always that class gives precision 3/4, recall 1, weighted by 3/4
    assert chance_score(np.array([1, 1, 1, 2]), "binary") == pytest.approx(0.75 * (6 / 7))
    assert chance_score(np.array([0.5, 2.0]), "regression") == 0.0


@pytest.mark.parametrize(("score", "word"), [(0.70, "No better"), (0.63, "Not clearly better"), (0.40, None)])
def test_chance_note_goes_by_standard_errors(score, word):
    table = pd.DataFrame({"C": [1.0, 2.0], "mean": [score, 0.9], "se": [0.05, 0.0]})
    tuning = Tuning(1.0, Setting(), "MMAE", score, table, 5, "best", ())
    note = chance_note(tuning, np.array([1, 1, 2, 2, 3, 3]), "ordinal")
    assert note is None if word is None else note.startswith(word)


def test_a_fixed_C_has_no_score_to_judge():
    tuning = Tuning(1.0, Setting(), "MMAE", None, pd.DataFrame(), 0, "fixed", ())
    assert chance_note(tuning, np.array([1, 2, 3]), "ordinal") is None


def test_features_that_no_C_makes_useful_are_said_to_be():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.standard_normal((60, 3)), columns=list("abc"))
    data["y"] = pd.Categorical([1] * 40 + [2] * 12 + [3] * 8, ordered=True)
    for options in ({}, {"C": 10.0}):
        with pytest.raises(rb.OptionError, match=r"at any C.*weights="):
            rb.relbounds("y ~ .", data, **options)
