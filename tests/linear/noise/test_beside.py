"""Terms given all others: roots of inverses, and statistics from them, against inverses written out."""

import numpy as np
import pytest
from scipy import stats

from relbounds.linear.noise.beside import beside_kept, beside_others, inverse_root


def _positive(rng, count, size):
    A = rng.normal(size=(count, size, 2 * size))
    return A @ A.swapaxes(1, 2)


def test_roots_square_to_the_inverse():
    matrices = _positive(np.random.default_rng(0), 5, 7)
    root = inverse_root(np.tril(matrices))
    np.testing.assert_allclose(root.swapaxes(1, 2) @ root, np.linalg.inv(matrices), rtol=1e-9, atol=1e-12)
    assert inverse_root(np.zeros((3, 0, 0))).shape == (3, 0, 0)


def test_a_matrix_short_of_positive_spoils_no_other_one():
    matrices = _positive(np.random.default_rng(1), 2, 4)
    matrices[1] = np.diag([1.0, 1.0, 1.0, -1e-15])
    root = inverse_root(matrices)
    assert np.isfinite(root).all()
    np.testing.assert_allclose(root[0].T @ root[0], np.linalg.inv(matrices[0]), rtol=1e-9)


@pytest.mark.parametrize("predictors", [1, 2])
@pytest.mark.parametrize("common", [False, True])
def test_statistics_are_those_of_the_inverse_written_out(predictors, common):
    rng = np.random.default_rng(2)
    widths = np.array([1, 2, 0, 1])
    u = rng.normal(size=(6, predictors, 4))
    root, fixed = rng.normal(size=(1 if common else 6, 5, 4)), _positive(rng, 1, 4)[0]
    found = beside_others(widths, u, root, fixed)
    inverse = np.broadcast_to(root.swapaxes(1, 2) @ root + fixed, (6, 4, 4))
    for b in range(6):
        beta = u[b] @ inverse[b]
        for t, (first, last) in enumerate([(0, 1), (1, 3), (3, 3), (3, 4)]):
            own, V = beta[:, first:last], inverse[b][first:last, first:last]
            Q = float(np.sum(own * np.linalg.solve(V, own.T).T))
            # the normal value with the tail of a chi-square one
            expected = -stats.norm.ppf(stats.chi2.sf(Q, predictors * widths[t]) / 2) if widths[t] else 0.0
            assert abs(found[b, t]) == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize("kept", [0, 1, 3])
def test_what_kept_columns_take_is_taken_from_one_inverse(kept):
    rng = np.random.default_rng(3)
    widths, u = np.array([1, 1, 2]), rng.normal(size=(5, 1, 4))
    among, taken = _positive(rng, 1, 4)[0], 0.3 * rng.normal(size=(5, kept, 4))
    whole = among - taken.swapaxes(1, 2) @ taken
    np.testing.assert_allclose(
        beside_kept(widths, u, among, taken), beside_others(widths, u, inverse_root(whole)), rtol=1e-9
    )
