import numpy as np
import pandas as pd
from sklearn.svm import LinearSVC

import relbounds as rb
from relbounds.design import make_design
from relbounds.folds import deal_folds
from relbounds.linear.families.rows import ModelKind
from relbounds.linear.fit import jobs_beside
from relbounds.linear.model import build
from relbounds.linear.tuning import choose, tune, tune_beside
from relbounds.options import Options
from relbounds.parallel import Job
from relbounds.solver.optimum import fit_baseline


def ordinal(n=60, seed=0, levels=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=n)
    grade = pd.qcut(score, levels, labels=list("abcdefg"[:levels]))
    return pd.DataFrame(X, columns=["x1", "x2", "x3"]).assign(grade=pd.Categorical(grade, ordered=True))


def test_folds_are_stratified_and_reproducible():
    design = make_design("grade ~ .", ordinal(62))
    fold, notes = deal_folds(design.y, design.levels, 5, 0)
    again, _ = deal_folds(design.y, design.levels, 5, 0)
    assert np.array_equal(fold, again) and not notes
    for code in (1, 2, 3):
        counts = np.bincount(fold[design.y == code], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert np.ptp(np.bincount(fold)) <= 1


def test_rare_levels_lower_the_number_of_folds_and_say_so():
    data = ordinal(40)
    keep = np.concatenate([np.flatnonzero(data["grade"] != "c"), np.flatnonzero(data["grade"] == "c")[:3]])
    design = make_design("grade ~ .", data.iloc[keep])
    fold, notes = deal_folds(design.y, design.levels, 5, 0)
    assert fold.max() == 2 and "3 folds instead of 5: level c has only 3 samples." in notes
    single = data.iloc[keep[:-2]]
    fit = rb.relbounds("grade ~ .", single, probes=4)
    assert any("Level c has one sample, which is never held out." in note for note in fit.notes)


def test_regression_folds_spread_the_response():
    data = pd.DataFrame({"x": np.arange(20.0), "y": np.arange(20.0) ** 1.1})
    design = make_design("y ~ x", data)
    fold, _ = deal_folds(design.y, design.levels, 4, 1)
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
    assert tune(design, Options(C=0.7, order="explicit")).C == 0.7
    grid = tune(design, Options(C=(0.05, 0.5, 5.0)))
    assert grid.C in (0.05, 0.5, 5.0) and sorted(set(grid.table["C"])) == [0.05, 0.5, 5.0]


def test_epsilon_is_tuned_for_regression():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    data["y"] = 2 * data["a"] + 0.1 * rng.normal(size=60)
    fit = rb.relbounds("y ~ a + b", data, probes=4)
    assert fit.baseline.epsilon / fit.design.y_scale in fit.baseline.scores["epsilon"].tolist()
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
    spec = build(design, ModelKind())
    solution = fit_baseline(spec.model, 1.0)
    other = LinearSVC(penalty="l1", dual=False, C=2.0, max_iter=100000).fit(design.X, y)
    v = np.concatenate([other.coef_[0], -other.intercept_])
    assert solution.objective <= spec.model.objective_of(v, 1.0) + 1e-9
    agree = spec.predict(solution.v, design.X).guess == 1 + other.predict(design.X)
    assert agree.mean() > 0.9


def unequal(n=300, seed=5):
    """Levels of 60, 30 and 10 %, and a relation of ordinary strength."""
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 3)), columns=["x1", "x2", "x3"])
    score = 0.8 * data["x1"] - 0.5 * data["x2"] + rng.logistic(size=n)
    cuts = np.quantile(score, [0.6, 0.9])
    data["grade"] = pd.Categorical.from_codes(np.digitize(score, cuts), list("abc"), ordered=True)
    return data


def test_unequal_levels_are_no_constant_model():
    data = unequal()
    plain = rb.relbounds("grade ~ .", data, balance=False, order="explicit", bounds=False)
    balanced = rb.relbounds("grade ~ .", data, bounds=False)
    assert balanced.predict().nunique() == 3
    assert balanced.score() < plain.score()


def test_balance_changes_nothing_where_levels_are_equal():
    design = make_design("grade ~ .", ordinal(90))
    one, two = (build(design, ModelKind(balance=balance)).model for balance in (False, True))
    np.testing.assert_allclose(one.c, two.c)


def test_order_is_chosen_by_the_score():
    tuned = tune(make_design("grade ~ .", unequal()), Options())
    best = tuned.table.groupby("order")["mean"].min()
    assert set(best.index) == {"explicit", "implicit"} and best[tuned.kind.order] == best.min()


def test_other_jobs_are_done_beside_tuning_or_left_to_do():
    design = make_design("grade ~ .", ordinal())
    job = Job(lambda task, shared: task + shared, [1, 2], 10)
    tuning, found = tune_beside(design, Options(), [job])
    assert found == [[11, 12]]
    assert tuning.table.equals(tune(design, Options()).table)
    assert tune_beside(design, Options(C=1.0, order="explicit"), [job])[1] is None


def test_several_workers_test_the_data_beside_tuning_where_there_is_a_use_for_it():
    design = make_design("grade ~ .", ordinal())
    assert len(jobs_beside(design, Options(n_jobs=2))) == 1
    assert not jobs_beside(design, Options())
    assert not jobs_beside(design, Options(n_jobs=2, bounds=False))
    assert not jobs_beside(design, Options(n_jobs=2, control="published"))
