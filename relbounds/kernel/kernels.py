"""Kernels: named ones, the user's own functions, and ready-made matrices, all checked before use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relbounds.errors import DataError, OptionError, RelboundsError, nearest

KernelFunction = Callable[[np.ndarray, np.ndarray], np.ndarray]
NAMES = ("linear", "rbf", "precomputed")


@dataclass(frozen=True)
class Kernel:
    """A kernel ready to be evaluated.

    ``linear``: ``x.x'``;  ``rbf``: ``exp(-|x - x'|^2 / (2 width^2))``;  ``function``: the user's own;
    ``precomputed``: the matrix is given, so there is nothing to evaluate.

    Examples
    --------
    >>> import numpy as np
    >>> Kernel("rbf", width=1.0)(np.zeros((1, 2)), np.array([[1.0, 1.0]])).round(4)
    array([[0.3679]])
    """

    name: str
    width: float | None = None
    function: KernelFunction | None = None

    def __call__(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the matrix of kernel values between the rows of A and the rows of B."""
        if self.name == "linear":
            return A @ B.T
        if self.name == "rbf":
            assert self.width is not None
            square = (A**2).sum(1)[:, None] + (B**2).sum(1)[None, :] - 2.0 * A @ B.T
            return np.exp(-np.maximum(square, 0.0) / (2.0 * self.width**2))
        if self.name == "function":
            assert self.function is not None
            try:
                value = np.asarray(self.function(A, B), dtype=float)
            except RelboundsError:
                raise  # it says what is missing
            except (TypeError, ValueError) as error:
                raise OptionError(f"kernel: the function of two arrays failed: {error}") from error
            if value.shape != (len(A), len(B)):
                raise OptionError(
                    f"kernel: the function returned an array of shape {value.shape} for inputs of {len(A)} "
                    f"and "
                    f"{len(B)} rows. It must return one value per pair, shape {(len(A), len(B))}."
                )
            return value
        raise OptionError(
            "kernel: a precomputed kernel cannot be evaluated on new rows. Give the matrix of kernel "
            "values between "
            "the new rows and the training rows, e.g. fit.predict(kernel=K_new)."
        )

    def diagonal(self, A: np.ndarray) -> np.ndarray:
        """Return the kernel of each row with itself."""
        if self.name == "linear":
            return (A**2).sum(1)
        if self.name == "rbf":
            return np.ones(len(A))
        return np.array([self(a[None], a[None])[0, 0] for a in A])

    @property
    def label(self) -> str:
        """The kernel as the summary shows it."""
        if self.name == "rbf":
            return f"rbf, width {self.width:.4g}"
        if self.name == "function":
            return getattr(self.function, "__name__", "function")
        return self.name


def make_kernel(
    kernel: str | KernelFunction | Kernel, width: float | None = None, what: str = "kernel"
) -> Kernel:
    """Turn what the user wrote into a Kernel.

    Examples
    --------
    >>> make_kernel("rbf", 2.0).label
    'rbf, width 2'
    >>> make_kernel(lambda A, B: A @ B.T).name
    'function'
    """
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Kernel("function", function=kernel)
    if not isinstance(kernel, str) or kernel not in NAMES:
        raise OptionError(
            f"{what}={kernel!r} is not known. Use 'linear', 'rbf', a function of two arrays, or a matrix."
            + (nearest(kernel, NAMES) if isinstance(kernel, str) else "")
        )
    if kernel == "rbf":
        if width is None or not np.isfinite(width) or width <= 0:
            raise OptionError(f"{what}: the width of an rbf kernel must be a positive number, not {width!r}.")
        return Kernel("rbf", float(width))
    return Kernel(kernel)


def check_matrix(K: np.ndarray, n: int | None = None, what: str = "kernel") -> np.ndarray:
    """Return K as a symmetric positive semidefinite float matrix, or say why it is not one.

    Examples
    --------
    >>> import numpy as np
    >>> check_matrix(np.array([[1.0, 2.0], [2.0, 1.0]]))
    Traceback (most recent call last):
    ...
    relbounds.errors.DataError: kernel: the matrix is not positive semidefinite: its smallest eigenvalue is
    -1 ...
    """
    K = np.asarray(K, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise DataError(f"{what}: a kernel matrix must be square, this one has shape {K.shape}.")
    if n is not None and len(K) != n:
        raise DataError(
            f"{what}: the matrix has {len(K)} rows but the data have {n}. One row per row of the data."
        )
    if not np.isfinite(K).all():
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise DataError(f"{what}: the matrix has a value that is not finite at row {i}, column {j}.")
    scale = max(float(np.abs(K).max(initial=0.0)), np.finfo(float).tiny)
    asymmetry = np.abs(K - K.T)
    if asymmetry.max(initial=0.0) > 1e-8 * scale:
        i, j = np.unravel_index(int(asymmetry.argmax()), K.shape)
        raise DataError(
            f"{what}: the matrix is not symmetric: K[{i}, {j}] = {K[i, j]:.6g}, K[{j}, {i}] = {K[j, i]:.6g}."
        )
    K = (K + K.T) / 2.0
    # A Cholesky factor of a slightly lifted matrix exists exactly when no eigenvalue is clearly negative;
    # it is an order of magnitude cheaper than the eigenvalues, which only the error message needs.
    try:
        np.linalg.cholesky(K + 1e-8 * scale * len(K) * np.eye(len(K)))
    except np.linalg.LinAlgError:
        values = np.linalg.eigvalsh(K)
        raise DataError(
            f"{what}: the matrix is not positive semidefinite: its smallest eigenvalue is {values[0]:.4g} "
            f"(largest {values[-1]:.4g}), so it is no inner product and the problem is not convex. Use "
            f"another kernel, or "
            "clip the negative eigenvalues to 0."
        ) from None
    return K


def root(K: np.ndarray) -> np.ndarray:
    """Return R with ``R @ R.T == K``, as thin as the rank of K allows.

    Examples
    --------
    >>> import numpy as np
    >>> root(np.ones((3, 3))).shape
    (3, 1)
    """
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-13 * max(float(values[-1]), np.finfo(float).tiny)
    if not keep.any():
        return np.zeros((len(K), 1))
    return vectors[:, keep] * np.sqrt(values[keep])
