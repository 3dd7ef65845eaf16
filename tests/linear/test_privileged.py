"""Privileged features: reference programs, laws, published behaviour, and what is said about it."""

import warnings

import numpy as np
import pandas as pd
import pytest
from measuring import relevance, signed_ranges
from scipy.optimize import linprog

import relbounds as rb
from relbounds.design import design_from_arrays, make_design
from relbounds.errors import DataError, FormulaError, OptionError, RelboundsWarning
from relbounds.linear.equivalent import equivalent_models
from relbounds.linear.families.rows import ModelKind
from relbounds.linear.model import build
from relbounds.linear.privileged.models import build_slack, teacher_weights
from relbounds.options import Options
from relbounds.solver.optimum import fit_baseline
from relbounds.solver.polytope import Polytope

KINDS = [
    ("ordinal", "explicit", "sides"),
    ("ordinal", "implicit", "sides"),
    ("binary", "explicit", "sides"),
    ("binary", "explicit", "shared"),
    ("regression", "explicit", "sides"),
]


def small_design(family, seed=0, n=36, noise=0.3):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 2))
    X = np.column_stack([Z[:, 0] + noise * rng.standard_normal(n), rng.standard_normal(n), Z[:, 1]])
    score = Z[:, 0] + 0.5 * Z[:, 1] + noise * rng.standard_normal(n)
    if family == "regression":
        y = score
    else:
        y = 1 + np.searchsorted(np.quantile(score, [0.5] if family == "binary" else [0.33, 0.67]), score)
    weights = rng.uniform(0.5, 1.5, n)
    names = ["x1", "x2", "x3"]
    return design_from_arrays(X, y, names=names, Z=Z, priv_names=["z1", "z2"], weights=weights, family=family)


class Reference:
    """The program written out by hand, sample by sample: split variables and one residual per row."""

    def __init__(self, design, setting):
        X, Z, y, c = design.X, design.Z, design.y, design.weights
        if design.levels is None:
            y = (y - design.y_center) / design.y_scale
        d, p = X.shape[1], Z.shape[1]
        L = 0 if design.levels is None else len(design.levels)
        k = 1 if L == 0 else L - 1
        rows = []  # sample, sign, threshold, target, function
        for i in range(len(y)):
            if L == 0:
                rows += [(i, 1, 0, y[i] - setting.epsilon, 1), (i, -1, 0, -y[i] - setting.epsilon, 0)]
                continue
            for j in range(1, L):
                if setting.order == "implicit" and L > 2:
                    rows.append((i, 1 if y[i] > j else -1, j - 1, 1.0, j - 1))
                elif y[i] == j:
                    rows.append((i, -1, j - 1, 1.0, 0))
                elif y[i] == j + 1:
                    rows.append((i, 1, j - 1, 1.0, 1))
        if setting.correcting == "shared":
            rows = [(*row[:4], 0) for row in rows]
        F = 1 + max(row[4] for row in rows)
        self.q = d + k + F * (p + 1)
        self.m = len(rows)
        margins, positive, self.right, self.price = [], [], [], []
        for i, sign, j, h, f in rows:
            part = np.zeros(self.q)
            start = d + k + f * (p + 1)
            part[start : start + p], part[start + p] = Z[i], 1.0
            whole = part.copy()
            whole[:d], whole[d + j] = sign * X[i], -sign
            margins.append(whole)
            positive.append(part)
            self.right.append(h)
            self.price.append(c[i])
        self.margins, self.positive = np.array(margins), np.array(positive)
        self.right, self.price = np.array(self.right), np.array(self.price)
        order = np.zeros((k - 1 if L and setting.order == "explicit" else 0, self.q))
        for j in range(len(order)):
            order[j, d + j], order[j, d + j + 1] = -1.0, 1.0
        self.order = order
        self.pen = np.zeros(self.q)
        self.pen[:d] = 1.0
        for f in range(F):
            start = d + k + f * (p + 1)
            self.pen[start : start + p] = setting.gamma
        self.kappa = setting.residual
        self.free = np.isfinite(self.kappa)

    def solve(self, cost, extra=(), right=()):
        """Minimise over (v+, v-, eta)."""
        q, m = self.q, self.m
        eta = np.eye(m) if self.free else np.zeros((m, m))
        lhs = [np.hstack([-self.margins, self.margins, -eta])]
        lhs += [np.hstack([-self.positive, self.positive, np.zeros((m, m))])]
        lhs += [np.hstack([-self.order, self.order, np.zeros((len(self.order), m))])]
        lhs += [np.array(extra).reshape(-1, 2 * q + m)]
        rhs = np.concatenate([-self.right, np.zeros(m + len(self.order)), np.array(right)])
        out = linprog(cost, A_ub=np.vstack(lhs), b_ub=rhs, bounds=(0, None), method="highs-ds")
        assert out.status == 0, out.message
        return out

    @property
    def norm(self):
        return np.concatenate([self.pen, self.pen, np.zeros(self.m)])

    @property
    def loss(self):
        linear = self.price @ self.positive
        return np.concatenate([linear, -linear, self.kappa * self.price if self.free else np.zeros(self.m)])

    def range(self, j, extra, right):
        cost = np.zeros(2 * self.q + self.m)
        cost[j], cost[self.q + j] = 1.0, -1.0
        return self.solve(cost, extra, right).fun, -self.solve(-cost, extra, right).fun


@pytest.mark.parametrize("tolerance", ["split", "joint"])
@pytest.mark.parametrize("residual", [np.inf, 2.5])
@pytest.mark.parametrize(("family", "order", "correcting"), KINDS)
def test_baseline_and_bounds_equal_a_program_written_by_hand(family, order, correcting, residual, tolerance):
    # the published model uses nothing at all on noisier data
    design = small_design(family, noise=0.1 if np.isinf(residual) else 0.4)
    setting = ModelKind(
        order,
        0.1 if family == "regression" else 0.0,
        slack=True,
        gamma=0.7,
        residual=residual,
        correcting=correcting,
    )
    spec = build_slack(design, setting)
    C, delta = 5.0, 0.1
    solution = fit_baseline(spec.model, C)
    reference = Reference(design, setting)
    best = reference.solve(0.5 * reference.norm + C * reference.loss)
    assert solution.objective == pytest.approx(best.fun, rel=1e-7)
    assert solution.penalty > 0.1
    assert spec.sample_losses(solution.v).sum() == pytest.approx(solution.loss, rel=1e-9)

    polytope = equivalent_models(spec, solution, delta, tolerance)
    variables = [j for row in spec.asked for f in row.functionals for j in f.variables]
    found = signed_ranges(polytope, variables, Options(solver="batch", progress=False))
    if tolerance == "split":
        extra = [reference.norm, reference.loss]
        right = [(1 + delta) * solution.penalty, (1 + delta) * solution.loss]
    else:
        extra = [0.5 * reference.norm + C * reference.loss]
        right = [(1 + delta) * solution.objective]
    unit = solution.penalty
    for i, j in enumerate(variables):
        low, high = reference.range(j, extra, right)
        assert abs(found.lower[i] - low) <= 1e-6 * unit
        assert abs(found.upper[i] - high) <= 1e-6 * unit


def test_permuted_privileged_features_are_probed_in_every_function():
    design = small_design("ordinal")
    spec = build_slack(design, ModelKind(slack=True, residual=3.0))
    values = np.random.default_rng(1).permutation(design.Z[:, 1])
    change = spec.change("privileged", [1], values[:, None])
    from relbounds.solver.columns import put_columns

    other = build_slack(
        design_from_arrays(
            design.X,
            design.y,
            names=design.names,
            Z=np.column_stack([design.Z[:, 0], values]),
            priv_names=["z1", "z2"],
            weights=design.weights,
            standardize=False,
        ),
        ModelKind(slack=True, residual=3.0),
    )
    model = put_columns(spec.model, change)
    for name in ("G", "A", "linear"):
        np.testing.assert_allclose(getattr(model, name), getattr(other.model, name), atol=1e-12)
    assert len(change.variables) == 2
    regular = spec.change("regular", [0], design.X[::-1, :1])
    assert regular.variables == (0,)
    hard = build_slack(design, ModelKind(slack=True)).change("regular", [0], design.X[::-1, :1])
    assert hard.A is not None and np.abs(hard.A).sum() > 0


@pytest.mark.parametrize("residual", [np.inf, 3.0])
@pytest.mark.parametrize("tolerance", ["split", "joint"])
@pytest.mark.parametrize(("delta", "shared"), [(0.3, False), (0.3, True), (0.01, True), (0.01, "some rows")])
def test_probes_of_several_variables_are_certified(residual, tolerance, delta, shared):
    """All probes in one run: the farthest end is that of a program of its own, and multipliers prove it."""
    from relbounds.solver.changes import leave_out, push_changes
    from relbounds.solver.columns import put_columns
    from relbounds.solver.races import begin_several, push_several, without_several
    from relbounds.solver.whole_program import full_lp

    # little noise leaves no loss, and a set of next to no width
    design = small_design("ordinal", seed=2, noise=0.1 if np.isinf(residual) and delta == 0.3 else 0.4)
    spec = build_slack(design, ModelKind(slack=True, residual=residual))
    solution = fit_baseline(spec.model, 5.0)
    tope = equivalent_models(spec, solution, delta, tolerance)
    rng = np.random.default_rng(0)
    for part, columns in (("regular", design.X), ("privileged", design.Z)):
        # what is left without each feature serves all its probes
        every = np.array([spec.variables(part, k) for k in range(columns.shape[1])])
        # a third of the hard rows, whichever: that others matter has to be noticed
        rows = np.arange(0, spec.model.a.size, 3) if shared == "some rows" else None
        without = leave_out(tope, every, rows) if shared else None
        changes = [
            spec.change(part, [k], rng.permutation(columns[:, k])[:, None])
            for k in rng.integers(columns.shape[1], size=8)
        ]
        for change, found in zip(changes, push_changes(tope, changes, "auto", without), strict=True):
            own = Polytope(
                put_columns(spec.model, change), tope.norm, tope.loss, tope.joint, start=tope.start
            )
            lp = full_lp(own)
            costs = [sign * np.eye(lp.lhs.shape[1])[j] for j in change.variables for sign in (1.0, -1.0)]
            box = np.column_stack([lp.lower, lp.upper])
            exact = [linprog(c, A_ub=lp.lhs, b_ub=lp.rhs, bounds=box, method="highs-ds") for c in costs]
            assert found.feasible.all() == (exact[0].status == 0)
            if found.feasible.all():
                ends = np.array([one.fun for one in exact]).reshape(-1, 2) * [1.0, -1.0]
                wanted, got = relevance(*ends.T), relevance(found.lower, found.upper)
                for one, other in zip(wanted, got, strict=True):
                    assert abs(one.max() - other.max()) <= 2e-6 * tope.size
                assert (found.gap <= 1e-6 * tope.size).all()
    one = changes[0]
    several = push_several(tope, begin_several(tope, one))
    assert several.solver == ("batch",) * len(one.variables)
    # what was worked out for other features is of no use here
    gone = without_several(tope, every[every[:, 0] != one.index[0, 0]])
    other = push_several(tope, begin_several(tope, one, gone))
    np.testing.assert_array_equal(other.upper, several.upper)
    np.testing.assert_array_equal(other.feasible, several.feasible)


@pytest.mark.parametrize("residual", [np.inf, 3.0])
@pytest.mark.parametrize("balance", [True, False])
def test_models_of_resampled_data_are_those_fitted_one_by_one(residual, balance):
    from dataclasses import replace

    from relbounds.linear.tolerance import SLOW_REFITS, resample_models
    from relbounds.seeds import stream
    from relbounds.solver.whole_program import full_lp

    design = small_design("ordinal", seed=7)
    kind = ModelKind(slack=True, residual=residual, balance=balance)
    spec = build_slack(design, kind)
    solution = fit_baseline(spec.model, 2.0)
    found = resample_models(design, spec, solution, Options(seed=3, progress=False))
    factors = stream(3, "tolerance").exponential(size=(40, len(design.y)))
    assert len(found.excess) == SLOW_REFITS
    for excess, one in zip(found.excess, factors, strict=False):
        own = build_slack(replace(design, weights=design.weights * one), kind).model
        alone = fit_baseline(own, 2.0)
        # the last row of that program, its budget, is the objective
        lp = full_lp(Polytope(own, joint=(2.0, 2.0 * alone.objective), start=alone.v))
        cost = lp.lhs[-1].toarray().ravel()
        box = np.column_stack([lp.lower, lp.upper])
        least = linprog(cost, A_ub=lp.lhs, b_ub=lp.rhs, bounds=box, method="highs-ds").fun
        assert alone.objective == pytest.approx(least, rel=1e-6)
        rise = max(spec.model.loss_of(alone.v) - solution.loss, 0.0)
        unit = max(solution.loss, 0.25 * solution.penalty)
        assert excess == pytest.approx(rise / unit, abs=1e-6)


@pytest.mark.parametrize("family", ["ordinal", "binary", "regression"])
def test_price_one_is_the_plain_model(family):
    design = small_design(family, seed=3)
    epsilon = 0.1 if family == "regression" else 0.0
    plain = build(design, ModelKind(epsilon=epsilon))
    priced = build_slack(design, ModelKind(epsilon=epsilon, slack=True, residual=1.0))
    one, two = fit_baseline(plain.model, 1.5), fit_baseline(priced.model, 1.5)
    assert two.objective == pytest.approx(one.objective, rel=1e-7)
    assert two.penalty == pytest.approx(one.penalty, rel=1e-5)
    options = Options(solver="batch", progress=False)
    first = signed_ranges(equivalent_models(plain, one, 0.1, "split"), range(3), options)
    second = signed_ranges(equivalent_models(priced, two, 0.1, "split"), range(3), options)
    np.testing.assert_allclose(first.lower, second.lower, atol=1e-5 * one.penalty)
    np.testing.assert_allclose(first.upper, second.upper, atol=1e-5 * one.penalty)


def test_a_high_price_is_the_published_model():
    design = small_design("ordinal", seed=4)
    published = fit_baseline(build_slack(design, ModelKind(slack=True)).model, 1.5)
    dear = fit_baseline(build_slack(design, ModelKind(slack=True, residual=1e3)).model, 1.5)
    assert dear.objective == pytest.approx(published.objective, rel=1e-6)


def test_rows_without_weight_do_not_bind():
    design = small_design("ordinal", seed=5)
    kept = np.arange(len(design.y)) >= 6
    from dataclasses import replace

    without = replace(design, weights=np.where(kept, design.weights, 0.0))
    whole = fit_baseline(build_slack(without, ModelKind(slack=True)).model, 1.0)
    fewer = fit_baseline(build_slack(design.subset(kept), ModelKind(slack=True)).model, 1.0)
    assert whole.objective == pytest.approx(fewer.objective, rel=1e-7)


OLD = {"balance": False, "order": "explicit", "control": "published", "delta": "1se", "privileged": "slack"}


# -- whole fits -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def semantic():
    sim = rb.simulate.noise_per_group(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rb.relbounds(
            sim.formula, sim.data, C=1.0, gamma=1.0, residual=3.0, probes=30, solver="batch", **OLD
        )
    return sim, fit


def test_semantic_example(semantic):
    _, fit = semantic
    table = fit.table
    assert fit.selected("strong") == ["x1", "x2", "x3"]
    assert fit.selected("irrelevant") == ["x4", "x5", "x6"]
    z = table.loc[["z1", "z2", "z3"]]
    assert z["upper"].is_monotonic_increasing
    assert (table["part"] == ["regular"] * 6 + ["privileged"] * 3).all()
    assert z.loc["z3", "relevance"] != "irrelevant"


@pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")
def test_semantic_example_as_published(semantic):
    # the published model with the papers' tolerance: every privileged feature counts, in the order of the noise
    sim, _ = semantic
    fit = rb.relbounds(sim.formula, sim.data, C=1.9, gamma=0.1, probes=10, **{**OLD, "delta": 0.001})
    assert fit.table["relevance"].tolist() == ["strong"] * 3 + ["irrelevant"] * 3 + ["strong"] * 3
    z = fit.table.loc[["z1", "z2", "z3"]]
    assert z["upper"].is_monotonic_increasing and z["lower"].is_monotonic_increasing


def test_difficulty_names_the_noisy_rows(semantic):
    _, fit = semantic
    hard = fit.difficulty()
    assert len(hard) == 400
    group = np.repeat([0, 1, 2, 3], 100)
    means = hard["slack"].groupby(group).mean()
    assert means[2] > means[3]
    top = hard.sort_values("slack", ascending=False).head(20)
    assert (top["reason"] == "z3").mean() > 0.7
    parts = hard[["from z1", "from z2", "from z3"]].to_numpy()
    assert parts.shape == (400, 3) and np.isfinite(parts).all()
    import matplotlib

    matplotlib.use("Agg")
    assert len(fit.plot_difficulty(most=7).patches) == 7


def test_correcting_functions_and_their_bounds(semantic):
    _, fit = semantic
    assert fit.correcting.columns.tolist() == ["too high", "too low"]
    assert fit.correcting.index.tolist() == ["z1", "z2", "z3", "(offset)"]
    each = fit.correcting_bounds
    assert len(each) == 6
    for name in ("z1", "z2", "z3"):
        assert each.loc[name]["upper"].max() == pytest.approx(fit.table.loc[name, "upper"])
        assert each.loc[name]["lower"].max() == pytest.approx(fit.table.loc[name, "lower"])
    weights = fit.correcting.loc["z3"].to_numpy() / fit.baseline.mu
    np.testing.assert_allclose(np.sort(weights), np.sort(each.loc["z3"]["weight"]), atol=1e-12)


def test_summary_compares_and_shows_two_blocks(semantic):
    _, fit = semantic
    text = fit.summary().as_text()
    assert "with privileged features" in text and "without" in text
    assert "regular features" in text and "privileged features" in text
    assert {"regular", "privileged"} <= set(fit.intervals.index.get_level_values("part"))
    assert fit.baseline.gamma == 1.0 and fit.baseline.residual == 3.0
    assert fit.certificate < 1e-5


def test_prediction_never_needs_privileged_columns(semantic):
    sim, fit = semantic
    bare = sim.data.drop(columns=["z1", "z2", "z3"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = fit.predict(bare)
        fit.score(bare)
    with pytest.warns(RelboundsWarning, match="never read for prediction: z1, z2, z3"):
        assert fit.predict(sim.data).equals(expected)


def test_collapse_is_said_with_remedies_and_leaves_a_table():
    sim = rb.simulate.privileged("irrelevant", n=60, strong=2, weak=0, irrelevant=1, noise=1.5, seed=2)
    with pytest.warns(RelboundsWarning, match="no regular feature"):
        fit = rb.relbounds(sim.formula, sim.data, C=0.01, gamma=1.0, probes=5, **OLD)
    text = " ".join(fit.summary().as_text().split())
    assert "larger C" in text and "residual" in text and "teacher" in text
    assert np.isfinite(fit.table[["lower", "upper", "p_noise"]].to_numpy()).all()
    assert (fit.table["relevance"] == "irrelevant").all()
    assert fit.predict().nunique() == 1
    assert len(fit.difficulty()) == 60


def test_noise_leaves_the_regular_classes_alone():
    sim = rb.simulate.privileged("irrelevant", n=120, strong=2, weak=2, irrelevant=2, noise=0.3, seed=1)
    options = {"probes": 25, "solver": "batch", "C": (0.1, 1.0)}
    plain = rb.relbounds("y ~ x1 + x2 + x3 + x4 + x5 + x6", sim.data, **options)
    for extra in ({"privileged": "teacher"}, {"residual": 2.0, "gamma": 1.0}):
        fit = rb.relbounds(sim.formula, sim.data, **options, **extra)
        regular = fit.table[fit.table["part"] == "regular"]
        assert (regular["relevance"] == plain.table["relevance"]).all(), extra


def test_teacher_weights_and_table():
    assert teacher_weights(np.array([0.0, 0.9, 1.5, 9.0]), "binary").tolist() == [1.0, 1.0, 0.5, 0.05]
    slack = np.array([0.0, 0.1, 0.1, 0.1, 5.0])
    assert teacher_weights(slack, "regression").tolist() == [1.0, 1.0, 1.0, 1.0, 0.05]
    sim = rb.simulate.privileged("rater", n=120, strong=3, weak=0, irrelevant=2, label_noise=0.3, seed=3)
    fit = rb.relbounds(sim.formula, sim.data, privileged="teacher", balance=False, solver="batch")
    assert fit.table.loc["z1", "relevance"] != "irrelevant"
    assert fit.table["part"].tolist() == ["regular"] * 5 + ["privileged"] * 2
    assert fit.correcting.columns.tolist() == ["teacher"]
    hard = fit.difficulty()
    assert hard["weight"].between(0.05, 1.0).all() and (hard["weight"] < 1.0).any()
    assert "teacher" in fit.summary().as_text()


def test_a_teacher_without_skill_is_not_listened_to():
    sim = rb.simulate.privileged("irrelevant", n=80, strong=2, weak=0, irrelevant=1, seed=4)
    fit = rb.relbounds(sim.formula, sim.data, privileged="teacher", probes=5)
    plain = rb.relbounds("y ~ x1 + x2 + x3", sim.data, probes=5)
    assert any("not listened to" in note for note in fit.notes)
    assert (fit.difficulty()["weight"] == 1.0).all()
    np.testing.assert_allclose(fit.baseline.weights, plain.baseline.weights, atol=1e-6)


def test_a_teacher_that_learns_nothing_is_no_error():
    # no direction of these columns lowers the loss of the thresholds alone
    sim = rb.simulate.privileged("irrelevant", n=1060, strong=3, weak=2, irrelevant=3, noise=0.5, seed=1)
    fit = rb.relbounds(sim.formula, sim.data.iloc[:60], **{**OLD, "privileged": "teacher"}, probes=5)
    assert any("learns nothing" in note for note in fit.notes)
    assert any("not listened to" in note for note in fit.notes)
    privileged = fit.table[fit.table["part"] == "privileged"]
    assert len(privileged) and (privileged["relevance"] == "irrelevant").all()
    assert len(fit.difficulty()) == 60 and "teacher" in fit.summary().as_text()


def test_folds_of_a_collapsed_model_are_scored_as_such():
    sim = rb.simulate.privileged("irrelevant", n=80, strong=2, weak=0, irrelevant=1, noise=1.0, seed=4)
    with pytest.warns(RelboundsWarning, match="no regular feature"):
        fit = rb.relbounds(sim.formula, sim.data, probes=2, **OLD)
    assert fit.baseline.cv_score == pytest.approx(2.0)
    assert "do not help" in " ".join(fit.summary().as_text().split())


@pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")
def test_teacher_lowers_the_error_under_wrong_labels():
    gains = []
    for seed in range(4):
        sim = rb.simulate.privileged(
            "rater", n=560, strong=3, weak=0, irrelevant=2, noise=0.3, label_noise=0.3, seed=seed
        )
        clean = rb.simulate.privileged(
            "rater", n=560, strong=3, weak=0, irrelevant=2, noise=0.3, label_noise=0.0, seed=seed
        )
        train, test = sim.data.iloc[:60], sim.data.iloc[60:].assign(y=clean.data["y"].iloc[60:])
        same = [f"x{k}" for k in range(1, 6)]
        options = {"bounds": False, "solver": "batch"}
        plain = rb.relbounds("y ~ " + " + ".join(same), train, **options)
        taught = rb.relbounds(sim.formula, train, privileged="teacher", **options)
        test = test[["y", *same]]
        gains.append(plain.score(test) - taught.score(test))
    assert np.mean(gains) > 0


@pytest.mark.filterwarnings("ignore::relbounds.errors.RelboundsWarning")
@pytest.mark.parametrize("family", ["binary", "regression"])
def test_other_families_end_to_end(family):
    sim = rb.simulate.privileged(
        "clean", n=80, strong=2, weak=0, irrelevant=1, family=family, label_noise=0.05, seed=1
    )
    fit = rb.relbounds(sim.formula, sim.data, C=1.0, gamma=1.0, residual=2.0, probes=10, solver="batch")
    assert fit.selected("strong") == ["x1", "x2"]
    taught = rb.relbounds(sim.formula, sim.data, privileged="teacher", C=1.0, probes=10, solver="batch")
    assert taught.selected("strong") == ["x1", "x2"]


def test_implicit_order_has_a_function_per_threshold():
    sim = rb.simulate.privileged("clean", n=80, strong=2, weak=0, irrelevant=1, n_levels=3, seed=1)
    options = {"C": 1.0, "gamma": 1.0, "probes": 5, "solver": "batch"}
    fit = rb.relbounds(sim.formula, sim.data, order="implicit", residual=2.0, **options)
    assert fit.correcting.columns.tolist() == ["1|2", "2|3"]
    shared = rb.relbounds(sim.formula, sim.data, correcting="shared", residual=2.0, **options)
    assert shared.correcting.columns.tolist() == ["shared"]


def test_full_patsy_terms_in_both_parts_and_saving(tmp_path):
    rng = np.random.default_rng(0)
    n = 80
    data = pd.DataFrame({"x1": rng.standard_normal(n), "x2": rng.standard_normal(n)})
    data["z1"], data["z2"] = rng.standard_normal(n), rng.uniform(1, 3, n)
    data["rater"] = rng.choice(["ann", "bob", "cat"], n)
    data["grade"] = pd.cut(data["x1"] + 0.3 * data["z1"], 3, labels=False)
    formula = "grade ~ x1 + x2 | priv(z1, log(z2), C(rater))"
    fit = rb.relbounds(formula, data, C=1.0, gamma=1.0, residual=2.0, probes=5, solver="batch")
    part = fit.table[fit.table["part"] == "privileged"]
    assert part.index.tolist() == ["z1", "log(z2)", "C(rater)", "rater[ann]", "rater[bob]", "rater[cat]"]
    assert part["term"].tolist() == ["z1", "log(z2)"] + ["C(rater)"] * 4
    again = rb.load(fit.save(tmp_path / "fit.relbounds"))
    assert again.difficulty().equals(fit.difficulty())
    plus = rb.relbounds(
        formula.replace(",", " +"), data, C=1.0, gamma=1.0, residual=2.0, probes=5, solver="batch"
    )
    assert plus.table.equals(fit.table)


def test_same_seed_same_table_whatever_the_workers():
    sim = rb.simulate.privileged("clean", n=60, strong=2, weak=0, irrelevant=1, seed=1)
    options = {"C": (0.3, 1.0), "gamma": (0.5, 1.0), "residual": 3.0, "probes": 8, "solver": "batch"}
    one = rb.relbounds(sim.formula, sim.data, **options)
    two = rb.relbounds(sim.formula, sim.data, n_jobs=2, **options)
    pd.testing.assert_frame_equal(one.table, two.table)
    assert set(one.baseline.scores["gamma"]) == {0.5, 1.0}


def test_bad_input_is_answered_in_words():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.standard_normal((40, 3)), columns=["x1", "x2", "z1"])
    data["y"] = (data["x1"] > 0).astype(int)
    for formula in ("y ~ x1 + z1 | priv(z1)", "y ~ x1 | priv()"):
        with pytest.raises(FormulaError):
            make_design(formula, data)
    holes = data.copy()
    holes.loc[:4, "z1"] = np.nan
    design = make_design("y ~ x1 + x2 | priv(z1)", holes)
    assert design.n_dropped == 5
    with pytest.raises(DataError, match="rivileged feature is constant"):
        make_design("y ~ x1 | priv(z1)", data.assign(z1=1.0))
    with pytest.warns(RelboundsWarning, match="onstant privileged feature"):
        make_design("y ~ x1 | priv(z1, z2)", data.assign(z2=1.0))
    with pytest.raises(OptionError, match="1 or more"):
        rb.relbounds("y ~ x1 | priv(z1)", data, residual=0.5)
    plain = rb.relbounds("y ~ x1 + x2", data, C=1.0, probes=5, solver="batch")
    with pytest.raises(OptionError, match="none"):
        plain.difficulty()
    assert plain.correcting.empty


def test_the_default_test_finds_what_explains_slack():
    sim = rb.simulate.noise_per_group(seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = rb.relbounds(sim.formula, sim.data, C=1.0, gamma=1.0, residual=3.0, order="explicit")
    assert fit.table.loc["z3", "relevance"] == "strong"
