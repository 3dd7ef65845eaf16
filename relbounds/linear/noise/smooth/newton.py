"""Newton's method for concave likelihoods, and what estimated parameters take from a score."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relbounds.linear.noise.smooth.facts import FloatArray

# The value of a function at a point, its gradient and negative Hessian.
Parts = tuple[float, FloatArray, FloatArray]
# Penalty on half the squared coefficients, relative to the total weight, columns being standardised: 1e-6 moves a
# coefficient by about 1e-5 of itself, and stops a separable fit where the fitted probabilities are about 1e-5.
RIDGE = 1e-6
# Newton steps at most; concave likelihoods need about six, separable ones about twenty.
STEPS = 50
# Convergence: the Newton decrement relative to the total weight. The square root of it is about the relative error of
# the linear predictor; what is left of the gradient is projected out of the residuals afterwards.
DECREMENT = 1e-12
# Halvings of a step at most before the fit is taken as it is.
HALVINGS = 30


def newton(
    start: FloatArray, parts: Callable[[FloatArray], Parts], total: float
) -> tuple[FloatArray, bool, Parts]:
    """Climb a concave function given by its parts; return where that ended, whether at the top, and the parts there."""
    point = start
    here = parts(point)
    for _ in range(STEPS):
        value, gradient, hessian = here
        step = solve(hessian, gradient)
        decrement = float(gradient @ step)
        if not np.isfinite(decrement) or decrement <= DECREMENT * total:
            return point, bool(np.isfinite(decrement)), here
        size = 1.0
        for _ in range(HALVINGS):
            new = parts(point + size * step)
            if np.isfinite(new[0]) and new[0] >= value + 1e-4 * size * decrement - 1e-12 * abs(value):
                break
            size /= 2
        else:
            return point, False, here
        point, here = point + size * step, new
    return point, False, here


def solve(hessian: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return the Newton step, the shortest one where the matrix is singular."""
    try:
        return np.asarray(np.linalg.solve(hessian, gradient), dtype=float)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(hessian, hermitian=True) @ gradient, dtype=float)


def half_inverse(matrix: FloatArray) -> FloatArray:
    """Return H with H H' the inverse, open directions left out."""
    if not len(matrix):
        return matrix
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    good = values > 1e-12 * max(float(values[-1]), 0.0)
    return vectors[:, good] / np.sqrt(values[good])


def whiten(
    residuals: FloatArray, cross: FloatArray, inner: FloatArray, gradient: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Scale the shared information, and take out of the residuals what is left of the parameters' gradient."""
    half = half_inverse(inner)
    scaled = cross @ half
    return residuals - scaled @ (half.T @ gradient), scaled
