import numpy as np
import pandas as pd
import pytest
from sklearn.svm import LinearSVC

import relbounds as rb
from relbounds.design import make_design
from relbounds.linear.model import Setting, build, decide
from relbounds.linear.tuning import choose, make_folds, tune
from relbounds.options import Options
from relbounds.solver.optimum import fit_baseline


def ordinal(n=60, seed=0, levels=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=n)
    grade = pd.qcut(score, levels, labels=list("abcdefg"[:levels]))
    return pd.DataFrame(X, columns=["x1", "x2", "x3"]).assign(grade=pd.Categorical(grade, ordered=True))


def test_folds_are_stratified_and_reproducible():
    design = make_design("grade ~ .", ordinal(62))
    fold, notes = make_folds(design, 5, 0)
    again, _ = make_folds(design, 5, 0)
    assert np.array_equal(fold, again) and not notes
    for code in (1, 2, 3):
        counts = np.bincount(fold[design.y == code], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert np.ptp(np.bincount(fold)) <= 1


def test_rare_levels_lower_the_number_of_folds_and_say_so():
    data = ordinal(40)
    keep = np.concatenate([np.flatnonzero(data["grade"] != "c"), np.flatnonzero(data["grade"] == "c")[:3]])
    design = make_design("grade ~ .", data.iloc[keep])
    fold, notes = make_folds(design, 5, 0)
    assert fold.max() == 2 and "3 folds instead of 5: level c has only 3 samples." in notes
    single = data.iloc[keep[:-2]]
    fit = rb.relbounds("grade ~ .", single, probes=4)
    assert any("Level c has one sample, which is never held out." in note for note in fit.notes)


def test_regression_folds_spread_the_response():
    data = pd.DataFrame({"x": np.arange(20.0), "y": np.arange(20.0) ** 1.1})
    design = make_design("y ~ x", data)
    fold, _ = make_folds(design, 4, 1)
    means = [design.y[fold == f].mean() for f in range(4)]
    assert max(means) - min(means) < 0.3 * np.std(design.y)


def test_choice_rules_and_ties():
    table = pd.DataFrame({"C": [0.1, 1.0, 10.0, 100.0], "mean": [0.5, 0.22, 0.2, 0.2], "se": [0.05] * 4})
    assert choose(table, "best", larger=False) == 2
    assert choose(table, "1se", larger=False) == 1
    table["mean"] = [0.5, 0.88, 0.9, 0.9]
    assert choose(table, "best", larger=True) == 2
    assert choose(table, "1se", larger=True) == 1


def test_tuning_finds_a_C_that_predicts():
    data = ordinal(80)
    design = make_design("grade ~ .", data)
    best = tune(design, Options())
    one_se = tune(design, Options(rule="1se"))
    assert best.metric == "MMAE" and best.score < 0.35
    assert one_se.C <= best.C and one_se.score >= best.score
    assert {"C", "mean", "se"} <= set(best.table.columns) and best.folds == 5


def test_a_number_is_taken_and_a_sequence_is_the_grid():
    design = make_design("grade ~ .", ordinal())
    assert tune(design, Options(C=0.7)).C == 0.7
    grid = tune(design, Options(C=(0.05, 0.5, 5.0)))
    assert grid.C in (0.05, 0.5, 5.0) and grid.table["C"].tolist() == [0.05, 0.5, 5.0]


def test_epsilon_is_tuned_for_regression():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    data["y"] = 2 * data["a"] + 0.1 * rng.normal(size=60)
    fit = rb.relbounds("y ~ a + b", data, probes=4)
    assert fit.baseline.epsilon in fit.baseline.scores["epsilon"].tolist()
    assert fit.baseline.scores["epsilon"].nunique() == 4
    assert fit.baseline.cv_score > 0.95
    assert rb.relbounds("y ~ a + b", data, probes=4, epsilon=0.2, C=1.0).baseline.epsilon == 0.2


def test_large_data_are_tuned_on_a_subsample(monkeypatch):
    monkeypatch.setattr("relbounds.linear.tuning.LARGEST_TUNED", 100)
    data = ordinal(400)
    whole = make_design("grade ~ .", data)
    tuned = tune(whole, Options())
    assert any("subsample of 100 of 400 rows" in note for note in tuned.notes)
    fresh = ordinal(400, seed=9)
    small = rb.relbounds("grade ~ .", data, probes=4).score(fresh)
    monkeypatch.undo()
    assert small <= rb.relbounds("grade ~ .", data, probes=4).score(fresh) + 0.05


def test_binary_baseline_is_the_l1_support_vector_machine():
    # scikit-learn's squared hinge differs, so the hinge objective of its solution can only be larger
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=80) > 0).astype(int)
    data = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    design = make_design("y ~ .", data, family="binary")
    spec = build(design, Setting())
    solution = fit_baseline(spec.model, 1.0)
    other = LinearSVC(penalty="l1", dual=False, C=2.0, max_iter=100000).fit(design.X, y)
    v = np.concatenate([other.coef_[0], -other.intercept_])
    assert solution.objective <= spec.model.objective_of(v, 1.0) + 1e-9
    agree = decide(design.X @ solution.v[:4], solution.v[4:], "binary") == 1 + other.predict(design.X)
    assert agree.mean() > 0.9


@pytest.mark.parametrize("balanced", [False, True])
def test_balanced_weights_help_the_rare_level(balanced):
    data = ordinal(90, seed=5)
    rare = np.concatenate([np.flatnonzero(data["grade"] != "c"), np.flatnonzero(data["grade"] == "c")[:6]])
    counts = data["grade"].iloc[rare].value_counts()
    weights = (
        len(rare) / (3 * data["grade"].iloc[rare].map(counts).to_numpy(dtype=float)) if balanced else None
    )
    fit = rb.relbounds("grade ~ .", data.iloc[rare], C=0.05, probes=4, weights=weights)
    found = (fit.predict() == "c").sum()
    assert found >= (4 if balanced else 0)
