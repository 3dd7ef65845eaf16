"""Smooth models against statsmodels; nothing raises on hopeless data."""

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.duration.hazard_regression import PHReg
from statsmodels.miscmodels.ordinal_model import OrderedModel

from relbounds.linear.noise.smooth import Response, fit_smooth


def _data(seed=0, n=200, k=3):
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(n, k)) * [1.0, 3.0, 0.2] + [0.0, 5.0, -1.0]
    eta = K @ [0.8, 0.1, -2.0] + rng.logistic(size=n)
    return rng, K, eta


def _score_statistic(found, x):
    u = x @ found.residuals[:, 0]
    V = x**2 @ found.information[:, 0, 0] - np.sum((x @ found.cross[:, 0, :]) ** 2)
    return u * u / V


def test_proportional_odds_equals_ordered_model():
    _, K, eta = _data()
    y = np.digitize(eta, np.quantile(eta, [0.2, 0.5, 0.9]))
    found = fit_smooth(Response("ordinal", y), K)
    other = OrderedModel(y, K, distr="logit").fit(method="bfgs", disp=0, gtol=1e-8, maxiter=500)
    np.testing.assert_allclose(found.coefficients[:, 0], other.params[:3], rtol=1e-3)
    assert found.loglik == pytest.approx(other.llf, rel=1e-7)
    # residuals: derivative of the log-likelihood by the linear predictor, by differences
    thresholds = OrderedModel(y, K, distr="logit").transform_threshold_params(other.params)
    from scipy.special import expit

    linear = K @ other.params[:3]

    def loglik(shift):
        P = expit(thresholds[None, 1:] - linear[:, None] - shift) - expit(
            thresholds[None, :-1] - linear[:, None] - shift
        )
        return np.log(P[np.arange(len(y)), y])

    np.testing.assert_allclose(found.residuals[:, 0], (loglik(1e-5) - loglik(-1e-5)) / 2e-5, atol=1e-3)


def test_score_statistic_is_near_the_likelihood_ratio():
    rng, K, eta = _data(1, n=600)
    x = rng.normal(size=600) + 0.5 * K[:, 0]
    y = np.digitize(eta + 0.25 * x, np.quantile(eta, [0.3, 0.6, 0.9]))
    without = OrderedModel(y, K, distr="logit").fit(method="bfgs", disp=0)
    wide = OrderedModel(y, np.c_[K, x], distr="logit").fit(method="bfgs", disp=0)
    ratio = 2 * (wide.llf - without.llf)
    assert _score_statistic(fit_smooth(Response("ordinal", y), K), x) == pytest.approx(ratio, rel=0.05)


def test_logistic_residuals_and_weights():
    rng, K, eta = _data(2)
    y = (eta > 0.2).astype(int)
    other = sm.Logit(y, sm.add_constant(K)).fit(disp=0, tol=1e-12)
    found = fit_smooth(Response("binary", y), K)
    np.testing.assert_allclose(found.coefficients[:, 0], other.params[1:], rtol=1e-4)
    np.testing.assert_allclose(found.residuals[:, 0], y - other.predict(), atol=1e-4)
    # whole weights are repeated rows
    c = rng.integers(1, 4, size=len(y))
    weighted = fit_smooth(Response("binary", y, weights=c.astype(float)), K)
    repeated = fit_smooth(Response("binary", np.repeat(y, c)), np.repeat(K, c, axis=0))
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, rtol=1e-6)


def test_score_statistic_equals_that_of_a_generalised_linear_model():
    rng, K, eta = _data(3)
    y = (eta > 0.2).astype(int)
    x = rng.normal(size=len(y)) + K[:, 0]
    glm = sm.GLM(y, sm.add_constant(K), family=sm.families.Binomial()).fit(tol=1e-12)
    expected = np.ravel(glm.score_test(exog_extra=x[:, None])[0])[0]
    assert _score_statistic(fit_smooth(Response("binary", y), K), x) == pytest.approx(expected, rel=1e-4)


def test_least_squares():
    rng, K, eta = _data(4)
    x = rng.normal(size=len(eta)) + K[:, 0]
    ols = sm.OLS(eta, sm.add_constant(K)).fit()
    found = fit_smooth(Response("regression", eta), K, scores="plain")
    np.testing.assert_allclose(found.coefficients[:, 0], ols.params[1:], rtol=1e-5)
    assert found.loglik == pytest.approx(ols.llf)
    assert np.corrcoef(found.residuals[:, 0], ols.resid)[0, 1] == pytest.approx(1)
    glm = sm.GLM(eta, sm.add_constant(K), family=sm.families.Gaussian()).fit()
    expected = np.ravel(glm.score_test(exog_extra=x[:, None])[0])[0]
    assert _score_statistic(found, x) == pytest.approx(expected, rel=0.03)


def test_normal_scores_do_not_mind_wild_values():
    rng, K, eta = _data(5)
    x = rng.normal(size=len(eta))
    wild = eta + 0.6 * x
    tame = _score_statistic(fit_smooth(Response("regression", wild), K), x)
    wild[:3] += [1e6, -1e6, 1e5]
    assert _score_statistic(fit_smooth(Response("regression", wild), K), x) > 0.7 * tame
    assert _score_statistic(fit_smooth(Response("regression", wild), K, scores="plain"), x) < 0.3 * tame


def test_multinomial():
    _, K, eta = _data(6)
    y = np.digitize(eta, np.quantile(eta, [0.3, 0.6]))
    other = sm.MNLogit(y, sm.add_constant(K)).fit(disp=0, method="newton", tol=1e-12)
    found = fit_smooth(Response("nominal", y), K)
    np.testing.assert_allclose(found.coefficients, np.asarray(other.params)[1:], rtol=2e-4, atol=1e-5)
    seen = np.eye(3)[y]
    np.testing.assert_allclose(found.residuals, (seen - other.predict())[:, 1:], atol=1e-3)


@pytest.mark.parametrize("ties", [False, True])
def test_cox(ties):
    rng, K, eta = _data(7)
    time = np.exp(-eta / 2 + rng.normal(size=len(eta)))
    time = np.ceil(time * 5) if ties else time
    event = rng.random(len(eta)) < 0.6
    other = PHReg(time, K, status=event.astype(int), ties="breslow").fit()
    found = fit_smooth(Response("survival", time, event=event), K)
    np.testing.assert_allclose(found.coefficients[:, 0], other.params, rtol=1e-3)
    # the score and the information of columns that are not in the model
    x = rng.normal(size=(len(eta), 2)) + K[:, :2]
    wide = PHReg(time, np.c_[K, x], status=event.astype(int), ties="breslow")
    at = np.r_[other.params, 0, 0]
    np.testing.assert_allclose(x.T @ found.residuals[:, 0], wide.score(at)[3:], rtol=1e-3, atol=1e-3)
    score, hessian = wide.score(at)[3], -wide.hessian(at)[:4, :4]
    expected = score**2 * np.linalg.inv(hessian)[3, 3]
    assert _score_statistic(found, x[:, 0]) == pytest.approx(expected, rel=0.1)


def test_censored_levels():
    rng, K, eta = _data(8, n=400)
    y = np.digitize(eta, np.quantile(eta, [0.25, 0.5, 0.75]))
    same = fit_smooth(Response("ordinal", y, high=y), K)
    plain = fit_smooth(Response("ordinal", y), K)
    np.testing.assert_allclose(same.coefficients, plain.coefficients, rtol=1e-3)
    hidden = rng.random(400) < 0.3
    lo, hi = y.copy(), y.copy()
    hi[hidden] = 3
    some = fit_smooth(Response("ordinal", lo, high=hi), K)
    assert some.converged
    np.testing.assert_allclose(some.coefficients, plain.coefficients, atol=0.5)
    # two levels that nobody tells apart are one
    both_lo, both_hi = np.where(y >= 2, 2, y), np.where(y >= 2, 3, y)
    merged = fit_smooth(Response("ordinal", np.minimum(y, 2)), K)
    unsure = fit_smooth(Response("ordinal", both_lo, high=both_hi), K)
    np.testing.assert_allclose(unsure.coefficients, merged.coefficients, rtol=1e-3)


KINDS = ["ordinal", "binary", "regression", "nominal", "survival"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("what", ["separable", "constant", "collinear", "wide", "tiny", "constant column"])
def test_never_raises(kind, what):
    rng = np.random.default_rng(9)
    n = 4 if what == "tiny" else 60
    K = rng.normal(size=(n, 80 if what == "wide" else 2))
    latent = K[:, 0] if what == "separable" else K[:, 0] + rng.normal(size=n)
    y = np.digitize(latent, [0.0] if kind == "binary" else [-0.5, 0.5]).astype(float)
    if what == "constant":
        y[:] = 1.0
    if what == "collinear":
        K = np.c_[K, K[:, 0], K[:, 0] + K[:, 1]]
    if what == "constant column":
        K[:, 1] = 7.0
    with np.errstate(all="raise", under="ignore"):
        found = fit_smooth(Response(kind, y), K)
    assert np.isfinite(found.residuals).all()
    assert np.isfinite(found.information).all() and np.isfinite(found.cross).all()
    # orthogonal to the kept columns, so that a copy of one has no score
    scale = np.linalg.norm(found.residuals) * np.linalg.norm(K - K.mean(axis=0), axis=0).max() + 1e-12
    if what != "wide":
        assert np.abs((K - K.mean(axis=0)).T @ found.residuals).max() < 1e-3 * scale


def test_cox_with_risks_of_every_size():
    x = np.linspace(-40.0, 40.0, 30)[:, None]
    with np.errstate(all="raise", under="ignore"):
        found = fit_smooth(Response("survival", np.exp(-x[:, 0]), event=np.arange(30) % 3 > 0), x)
    assert np.isfinite(found.residuals).all() and found.coefficients[0, 0] > 0


def test_without_what_is_shared_the_rest_is_the_same():
    rng = np.random.default_rng(8)
    columns = rng.normal(size=(300, 3))
    y = np.digitize(columns[:, 0] + rng.logistic(size=300), [-1.0, 0.0, 1.0]).astype(float)
    high = np.where(rng.random(300) < 0.2, 3.0, y)
    for response in (Response("ordinal", y), Response("ordinal", y, rng.random(300), high=high)):
        whole, lean = fit_smooth(response, columns), fit_smooth(response, columns, shared=False)
        assert lean.cross.shape[2] == 0
        assert np.allclose(lean.residuals, whole.residuals, rtol=0, atol=1e-12)
        assert np.array_equal(lean.information, whole.information) and lean.loglik == whole.loglik
        # orthogonal to what was estimated, the ridge notwithstanding
        assert np.abs(columns.T @ lean.residuals).max() < 1e-9
