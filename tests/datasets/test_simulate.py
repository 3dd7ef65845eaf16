import numpy as np
import pandas as pd
import pytest

from relbounds import simulate
from relbounds.errors import OptionError


def features(sim):
    return sim.data[list(sim.truth.index)]


def score_fit(X, target):
    """R^2 of the least-squares fit: how much of the target the columns can tell."""
    X = np.column_stack([np.ones(len(X)), X])
    residual = target - X @ np.linalg.lstsq(X, target, rcond=None)[0]
    return 1 - residual.var() / np.var(target)


@pytest.mark.parametrize("number", simulate.papers.PAPER_SETS)
def test_paper_sets_have_the_published_sizes(number):
    sim = simulate.paper_set(number, noise=0.5, seed=1)
    n, *counts = simulate.papers.PAPER_SETS[number]
    assert len(sim.data) == n
    assert [int((sim.truth == c).sum()) for c in ("strong", "weak", "irrelevant")] == counts
    assert sim.data["y"].cat.ordered
    assert sim.data["y"].value_counts().max() - sim.data["y"].value_counts().min() <= 1
    assert np.allclose(features(sim).mean(), 0) and np.allclose(features(sim).std(ddof=0), 1)


def test_truth_is_true_in_clean_data():
    """Strong features cannot be left out, any single copy is enough, all copies gone is not."""
    sim = simulate.regression(n=300, strong=2, weak=6, groups=2, irrelevant=3, seed=4)
    X, y = features(sim), sim.data["y"].to_numpy()
    strong, weak, idle = (sim.truth.index[sim.truth == c] for c in ("strong", "weak", "irrelevant"))
    first, second = (sim.groups.index[sim.groups == g] for g in (3, 4))
    assert sorted([*first, *second]) == sorted(weak)
    assert score_fit(X[[*strong, first[0], second[-1]]], y) == pytest.approx(1)
    for one in strong:
        assert score_fit(X.drop(columns=one), y) < 0.9
    for one in [*weak, *idle]:
        assert score_fit(X.drop(columns=one), y) == pytest.approx(1)
    assert score_fit(X.drop(columns=first), y) < 0.9


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_irrelevant_features_stay_irrelevant_under_noise_and_correlation(correlation):
    sim = simulate.regression(20_000, 3, 4, 3, noise=0.7, correlation=correlation, seed=2)
    X, y = features(sim), sim.data["y"].to_numpy()
    coefficient = np.linalg.lstsq(X.to_numpy(), y - y.mean(), rcond=None)[0]
    assert np.all(np.abs(coefficient[sim.truth == "irrelevant"]) < 0.04)
    assert np.all(coefficient[sim.truth != "irrelevant"] > 0.1)


def test_correlation_is_what_was_asked():
    sim = simulate.ordinal(20_000, 3, 0, 3, correlation=0.5)
    r = features(sim).corr().to_numpy()
    inside = r[:3, :3][np.triu_indices(3, 1)]
    assert np.allclose(inside, 0.5, atol=0.03)
    assert np.allclose(r[3:, 3:][np.triu_indices(3, 1)], 0.5, atol=0.03)
    assert np.allclose(r[:3, 3:], 0, atol=0.03)


def test_imbalance_is_what_was_asked():
    counts = simulate.ordinal(1500, n_levels=4, imbalance=0.5).data["y"].value_counts(sort=False)
    assert counts.tolist() == [800, 400, 200, 100]


def test_label_noise_is_what_was_asked():
    clean = simulate.ordinal(500, seed=3).data["y"].astype(int)
    noisy = simulate.ordinal(500, seed=3, label_noise=0.2).data["y"].astype(int)
    assert (clean != noisy).sum() == 100
    assert simulate.binary(500, label_noise=0.1).data["y"].isin([0, 1]).all()


def test_same_seed_same_data_other_seed_other_data():
    one, two = simulate.ordinal(seed=5), simulate.ordinal(seed=5)
    pd.testing.assert_frame_equal(one.data, two.data)
    assert not one.data.equals(simulate.ordinal(seed=6).data)


def test_clean_privileged_features_are_the_regular_ones_before_the_noise():
    sim = simulate.privileged("clean", 5000, 2, 4, 2, noise=0.5, seed=1)
    X, Z = features(sim).to_numpy(), sim.data[list(sim.truth_privileged.index)].to_numpy()
    r = [np.corrcoef(x, z)[0, 1] for x, z in zip(X.T, Z.T, strict=True)]
    assert np.allclose(r[:6], 1 / np.sqrt(1.25), atol=0.02)
    assert np.allclose(r[6:], 0, atol=0.05)
    assert sim.truth.tolist() == sim.truth_privileged.tolist()


def test_noise_kind_tells_the_noise():
    sim = simulate.privileged("noise", 4000, 3, 0, 1, noise=1.0, family="regression")
    X, Z = features(sim), sim.data[["z1", "z2", "z3"]]
    assert ((Z == 0).all(axis=1)).mean() == 0.5
    y = sim.data["y"].to_numpy()
    assert score_fit(X, y) < 0.9 and score_fit(X.join(Z), y) == pytest.approx(1)


def test_rater_kind_doubts_wrong_labels():
    sim = simulate.privileged("rater", 400, label_noise=0.3, seed=2)
    z1, z2, y = sim.data["z1"], sim.data["z2"], sim.data["y"].astype(int)
    wrong = (z1 - y).abs() > 0.95
    assert 0.2 < wrong.mean() < 0.4
    assert z2[wrong].mean() > z2[~wrong].mean() + 0.5
    assert sim.truth_privileged.isna().all()


def test_noise_per_group_follows_the_recipe():
    sim = simulate.noise_per_group(seed=0)
    Z = sim.data[["z1", "z2", "z3"]].to_numpy()
    for k, sd in enumerate((0.1, 0.5, 2.0)):
        inside = Z[k * 100 : (k + 1) * 100, k]
        assert inside.std() == pytest.approx(sd, rel=0.2)
        assert np.count_nonzero(Z[:, k]) == 100
    assert not Z[300:].any()


@pytest.mark.parametrize("number", simulate.papers.PAPER_PRIVILEGED_SETS)
def test_privileged_paper_sets_have_the_published_sizes(number):
    sim = simulate.paper_privileged_set(number)
    n, *counts = simulate.papers.PAPER_PRIVILEGED_SETS[number]
    assert len(sim.data) == n
    for truth in [sim.truth] + [sim.truth_privileged] * (number <= 6):
        assert [int((truth == c).sum()) for c in ("strong", "weak", "irrelevant")] == counts


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weak": 1}, "no stand-in"),
        ({"weak": 4, "groups": [3, 2]}, "add up to 5"),
        ({"strong": 0, "weak": 0}, "No feature is informative"),
        ({"strong": -1}, "0 or more"),
        ({"noise": -0.1}, "noise"),
        ({"imbalance": 1.0}, "imbalance"),
        ({"correlation": 1.0}, "correlation"),
        ({"label_noise": 1.1}, "label_noise"),
        ({"n": 5}, "at least 10 rows"),
        ({"n_levels": 1}, "at least 2"),
        ({"groups": 0}, "groups"),
    ],
)
def test_bad_options_say_what_to_do(options, words):
    with pytest.raises(OptionError, match=words):
        simulate.ordinal(**options)


def test_bad_names_suggest_the_nearest():
    with pytest.raises(OptionError, match="'ordinal'"):
        simulate.draw("ordnal")
    with pytest.raises(OptionError, match="'clean'"):
        simulate.privileged("cleen")
    with pytest.raises(OptionError, match="no set 10"):
        simulate.paper_set(10)
