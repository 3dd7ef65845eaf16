"""A look in single precision counts what double precision counts, also where values tie."""

import numpy as np
import pytest

from relbounds.linear.noise import score, standins
from relbounds.linear.noise.score import Draws, draw, score_test
from relbounds.linear.noise.single import in_single, look_again
from relbounds.linear.noise.smooth import Response, fit_smooth
from relbounds.linear.noise.standins import standin_test
from relbounds.linear.noise.statistics import kept_columns, make_loads, make_terms, take_terms


def _data(family, whole):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 60))
    # whole numbers: many permuted values are equal to the observed one
    X = (X > 0.5).astype(float) if whole else X
    latent = X[:, :2] @ [2.0, 1.5] + rng.logistic(size=80)
    y = latent if family == "regression" else np.digitize(latent, [-1.0, 1.0, 3.0])
    return [X[:, [j]] for j in range(60)], Response(family, y)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("family", ["ordinal", "regression"])
def test_p_values_are_those_of_double_precision(family, whole, monkeypatch):
    blocks, response = _data(family, whole)

    def found():
        kept = score_test(blocks, response, alpha=0.04, rng=0)
        stands = standin_test(blocks, response, kept.order, rng=0)
        return kept, [kept.p, kept.p_step, kept.p_adjusted, kept.draws, stands.p, stands.p_adjusted]

    kept, quick = found()
    assert kept.order
    for module in (score, standins):
        monkeypatch.setattr(module, "in_single", lambda terms, loads: None)
    for one, other in zip(quick, found()[1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_ties_are_told_only_by_the_second_look(monkeypatch):
    blocks, response = _data("ordinal", True)
    rows = score.make_rows(response.n)
    columns = kept_columns(blocks, [0], None, response.n)
    loads = make_loads(fit_smooth(response, columns), columns)
    terms = take_terms(make_terms(blocks), range(1, 60))

    def counts():
        values = draw(terms, loads, Draws(rows, 1, 999, 1.0))
        return np.sum(values[1:] >= values[0] * (1 - score.TIE), axis=0)

    exact = counts()
    monkeypatch.setattr(score, "look_again", lambda *_: None)
    assert not np.array_equal(counts(), exact)


def test_information_that_is_hardly_known_is_left_to_double_precision():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    x[:, 2] = x[:, 0] + 0.01 * x[:, 2]
    response = Response("regression", x[:, 0] + rng.normal(size=50))
    columns = kept_columns([x[:, :1]], [0], None, 50)
    loads = make_loads(fit_smooth(response, columns), columns)
    terms = make_terms([x[:, 1], x[:, 2]])
    rough = in_single(terms, loads)
    values = score.score_values(rough[0], score.Moved(rough[1], score.stay(50)))
    assert np.isnan(values).tolist() == [[False, True]]
    assert in_single(make_terms([x[:, :2]]), loads) is None


def test_of_two_that_may_be_the_largest_both_are_computed_again():
    values = np.array([[2.99995, 3.00002, 1.0], [0.0, 0.0, 0.0]])
    true = np.array([[2.99999, 2.99998, 1.0], [0.0, 0.0, 0.0]])
    observed = np.array([5.0, 6.0, 3.0])
    asked = []

    def exact(draws, columns):
        asked.append((draws.tolist(), columns.tolist()))
        return true[np.ix_(draws, columns)]

    look_again(values, observed, lambda values: values.max(axis=1, keepdims=True), exact)
    assert asked == [([True, False], [0, 1])]
    np.testing.assert_array_equal(values, true)


@pytest.mark.parametrize("family", ["ordinal", "regression"])
def test_p_values_that_are_of_no_use_cost_no_draws_and_change_no_other(family):
    blocks, response = _data(family, False)
    blocks.append(blocks[0] + 0.5 * blocks[5])
    kept = score_test(blocks, response, alpha=0.04, rng=0)
    whole = standin_test(blocks, response, kept.order, rng=0)
    some = standin_test(blocks, response, kept.order, rng=0, of_use=0.2)
    for name in ("p", "p_adjusted"):
        all_, few = getattr(whole, name), getattr(some, name)
        np.testing.assert_array_equal(few[all_ <= 0.2], all_[all_ <= 0.2])
        assert np.all(few[all_ > 0.2] > 0.2)
    assert whole.p_adjusted.min() <= 0.2 < whole.p.max()
    assert some.p.max() == 1.0
