"""A fitted kernel model: its decision function, its thresholds, and which rows it rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relbounds.errors import DataError
from relbounds.kernel.kernels import Kernel
from relbounds.kernel.kkt import Optimality, shares
from relbounds.kernel.margins import MarginRows
from relbounds.kernel.options import SvorOptions
from relbounds.kernel.slacks import ModelledSolution

# A multiplier counts from this share of its limit on: interior point solutions never reach 0 exactly.
SUPPORT = 1e-5


@dataclass(frozen=True)
class Machine:
    """A fitted model: ``f(x) = sum_i coefficients_i K(x_i, x)``, level = 1 + number of thresholds at or
    below f(x)."""

    options: SvorOptions
    kernel: Kernel
    X: np.ndarray  # the support vectors
    coefficients: np.ndarray  # of the support vectors
    support: np.ndarray  # positions of the support vectors among the training rows
    b: np.ndarray  # one threshold between any two neighbouring levels
    f: np.ndarray  # decision values of the training rows
    rows: MarginRows
    alpha: np.ndarray
    slack: np.ndarray  # of each row
    optimality: Optimality
    solver: str
    steps: int
    n_levels: int
    correcting: ModelledSolution | None = None

    def decision_function(self, X: np.ndarray | None = None, K: np.ndarray | None = None) -> np.ndarray:
        """Return f for new rows, or from kernel values K between new rows and all training rows."""
        if K is not None:
            K = np.asarray(K, dtype=float)
            if K.ndim != 2 or K.shape[1] != self.rows.n:
                raise DataError(
                    f"kernel: expected one column per training row ({self.rows.n}), got shape {K.shape}."
                )
            return K[:, self.support] @ self.coefficients
        assert X is not None
        out = np.empty(len(X))
        for start in range(0, len(X), 2000):  # new data may be large; the kernel block should not be
            part = slice(start, start + 2000)
            out[part] = self.kernel(X[part], self.X) @ self.coefficients
        return out

    @property
    def middle(self) -> float:
        """The mean of the thresholds: where decision values of different machines may be compared from."""
        return float(np.mean(self.b[np.isfinite(self.b)]))

    def levels_of(self, f: np.ndarray) -> np.ndarray:
        """Return level codes 1..L; a missing decision value gives a missing code."""
        codes = 1 + (f[:, None] >= self.b[None, :]).sum(axis=1)
        return np.where(np.isnan(f), np.nan, codes) if np.isnan(f).any() else codes


def supporting(machine: Machine) -> np.ndarray:
    """Return which training rows are support vectors: those with a multiplier that is not 0.

    Examples
    --------
    >>> from relbounds.kernel.fitting import fit_machine
    >>> x = np.array([[-3.0], [-1.0], [1.0], [3.0]])
    >>> supporting(fit_machine(x, np.array([1, 1, 2, 2]), 2, SvorOptions(kernel="linear", C=10.0, solver="qp")))
    array([False,  True,  True, False])
    """
    share, _ = shares(machine.rows, machine.alpha)
    return np.bincount(machine.rows.sample, share > SUPPORT, minlength=machine.rows.n) > 0


def bounded(machine: Machine) -> np.ndarray:
    """Return which training rows have a multiplier at its limit (never with modelled slacks: there is none).

    Examples
    --------
    >>> from relbounds.kernel.fitting import fit_machine
    >>> x = np.array([[-3.0], [1.0], [-1.0], [3.0]])
    >>> bounded(fit_machine(x, np.array([1, 1, 2, 2]), 2, SvorOptions(kernel="linear", C=0.1, solver="qp")))
    array([False,  True,  True, False])
    """
    if machine.options.slack != "free":
        return np.zeros(machine.rows.n, dtype=bool)
    share, _ = shares(machine.rows, machine.alpha)
    return np.bincount(machine.rows.sample, share > 1 - SUPPORT, minlength=machine.rows.n) > 0
