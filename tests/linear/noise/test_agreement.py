"""Class and p-value say the same, whatever is fitted: relevant exactly where P adj. is at most alpha."""

import numpy as np
import pandas as pd
import pytest

import relbounds as rb


def _data(seed=0, n=80):
    rng = np.random.default_rng(seed)
    data = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    data["b2"] = data["b"] + 0.3 * rng.normal(size=n)
    data["site"] = rng.choice(list("xyz"), n)
    data["z"] = data["a"] + 0.3 * rng.normal(size=n)
    latent = 1.5 * data["a"] + 1.5 * data["b"] + 1.5 * (data["site"] == "x") + rng.logistic(size=n)
    data["number"] = latent
    data["level"] = np.digitize(latent, [-1.0, 1.0])
    data["two"] = (latent > 0).astype(int)
    data["kind"] = pd.Categorical(np.array(list("pqr"))[data["level"]])
    data["time"], data["event"] = np.exp(0.5 * latent), rng.integers(0, 2, n)
    data["ward"] = np.arange(n) // 4
    return data


def _agrees(fit, alpha, least=0.0):
    """Check every judged row of a fit; return its table."""
    table = fit.table[fit.table["relevance"].isin(["strong", "weak", "irrelevant"])]
    relevant = table["relevance"] != "irrelevant"
    assert ((table["p_adjusted"] <= alpha) == relevant).all()
    # strong is what every model needs
    assert (table.loc[table["relevance"] == "strong", "lower"] > 0).all()
    assert (table["p_adjusted"] >= table["p_noise"] - 1e-12).all()
    assert (table["p_noise"] >= least - 1e-12).all()
    # a level is never better than its term
    term = table[table["row"] == "term"].set_index("term")["p_adjusted"]
    assert (table["p_adjusted"] >= table["term"].map(term) - 1e-12).all()
    return table


TERMS = "a + b + b2 + c + d + site"
FAMILIES = {
    "ordinal": "level",
    "binary": "two",
    "regression": "number",
    "nominal": "kind",
    "survival": "Surv(time, event)",
}


@pytest.mark.parametrize(("control", "alpha"), [("fwer", 0.05), ("fdr", 0.2)])
@pytest.mark.parametrize("family", list(FAMILIES))
def test_in_every_family_and_control(family, control, alpha):
    fit = rb.relbounds(
        f"{FAMILIES[family]} ~ {TERMS}",
        _data(),
        family=family,
        control=control,
        alpha=alpha,
        C=0.3,
        progress=False,
    )
    table = _agrees(fit, alpha, 1 / (1 + fit._fitted.noise.permutations))
    assert (table["relevance"] != "irrelevant").any()


@pytest.mark.parametrize(
    "formula, options",
    [
        (f"level ~ {TERMS} | priv(z)", {"privileged": "slack", "residual": 1.3, "gamma": 0.1}),
        (f"level ~ {TERMS} | priv(z)", {"privileged": "teacher"}),
        (f"level ~ {TERMS} | adjust(z)", {}),
        (f"level ~ {TERMS}", {"cluster": "ward"}),
        ("level ~ bs(a, df=3) + b:site + c", {}),
    ],
)
def test_in_every_part(formula, options):
    _agrees(rb.relbounds(formula, _data(1), C=0.3, progress=False, **options), 0.05)


def test_imputed_and_constrained():
    data = [_data(2).assign(c=np.random.default_rng(k).normal(size=80)) for k in range(3)]
    _agrees(rb.relbounds(f"level ~ {TERMS}", data, C=0.3, progress=False), 0.05)
    fit = rb.relbounds(f"level ~ {TERMS}", data[0], C=0.3, delta=0.3, progress=False)
    for wish in ({"b2": 0}, {"a": (0, float(fit.table.loc["a", "lower"]) + 0.01)}):
        held = fit.constrain(wish)
        assert (held.table.loc[list(wish), "relevance"] == "fixed").all()
        _agrees(held, 0.05)


def test_shares_of_alpha_that_are_no_exact_numbers():
    from relbounds.linear.noise.score import ScoreFound
    from relbounds.linear.noise.standins import StandIns, combine

    nothing = np.ones(1)
    score = ScoreFound((), 0 * nothing, nothing, nothing, nothing, np.ones(1, dtype=int))
    # 5 of 500 is the level of the second part exactly
    found = StandIns((0,), ((),), nothing, 0.01 * nothing, 0.01 * nothing, 499)
    verdict = combine(score, found, np.array([True]))
    assert verdict.relevant[0] and verdict.p_adjusted[0] <= 0.05
