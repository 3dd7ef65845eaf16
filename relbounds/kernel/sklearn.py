"""The scikit-learn face of the kernel models (needs the extra `sklearn`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from relbounds.errors import DataError, MissingExtraError
from relbounds.kernel.fitting import fit_machine
from relbounds.kernel.kernels import check_matrix
from relbounds.kernel.machine import supporting
from relbounds.kernel.options import SvorOptions

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise MissingExtraError(
        "The scikit-learn estimator needs scikit-learn, which is not installed. Install it with: pip "
        "install 'relbounds[sklearn]'."
    ) from error


class SVOR(ClassifierMixin, BaseEstimator):
    """Support vector ordinal regression as a scikit-learn classifier; classes count in sorted order.

    Features are taken as they come: put a ``StandardScaler`` in front. Parameters are those of
    :func:`relbounds.svor`;
    ``kernel="precomputed"`` takes the kernel matrix as X.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 30)[:, None]
    >>> y = np.repeat([1, 2, 3], 10)
    >>> SVOR(kernel="linear", C=100.0, solver="qp").fit(X, y).predict([[-0.9], [0.0], [0.9]])
    array([1, 2, 3])
    """

    def __init__(
        self,
        *,
        order: str = "explicit",
        balance: bool = True,
        kernel: Any = "rbf",
        C: float = 1.0,
        width: float = 1.0,
        slack: str = "free",
        mix: float = 0.5,
        slack_kernel: Any = "rbf",
        slack_width: float | None = None,
        gamma: float = 1.0,
        cost: Any = None,
        solver: str = "auto",
        tol: float = 1e-3,
    ) -> None:
        self.order = order
        self.balance = balance
        self.kernel = kernel
        self.C = C
        self.width = width
        self.slack = slack
        self.mix = mix
        self.slack_kernel = slack_kernel
        self.slack_width = slack_width
        self.gamma = gamma
        self.cost = cost
        self.solver = solver
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None, Z: Any = None) -> SVOR:
        """Fit; `Z` holds privileged features of the training rows, where modelled slacks then live."""
        X, y = validate_data(self, X, y, dtype=float)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        here = np.unique(codes if weights is None else codes[weights > 0])
        if len(here) < 2:
            raise DataError("SVOR needs samples of at least 2 classes; the data have one class only.")
        K = check_matrix(X, len(X)) if isinstance(self.kernel, str) and self.kernel == "precomputed" else None
        options = SvorOptions(**self.get_params(deep=False))
        private = None if Z is None else np.asarray(Z, dtype=float)
        self.machine_ = fit_machine(
            X, codes + 1, len(self.classes_), options, Z=private, weights=weights, K=K
        )
        self.thresholds_ = self.machine_.b
        self.support_ = np.flatnonzero(supporting(self.machine_))
        self.n_iter_ = self.machine_.steps
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return how far f(x) lies inside the interval of each class (negative: outside, by how much).

        With two classes one number, f(x) minus the threshold, as scikit-learn has it.
        """
        f = self.latent(X)
        if len(self.classes_) == 2:
            return f - self.thresholds_[0]
        edges = np.concatenate([[-np.inf], self.thresholds_, [np.inf]])
        return np.minimum(f[:, None] - edges[:-1], edges[1:] - f[:, None])

    def latent(self, X: Any) -> np.ndarray:
        """Return f(x), the one number per row that the thresholds cut into levels."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=float, reset=False)
        given = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return self.machine_.decision_function(K=X) if given else self.machine_.decision_function(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the class between whose thresholds f(x) lies."""
        f = self.latent(X)
        return self.classes_[self.machine_.levels_of(f).astype(int) - 1]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn about precomputed kernels."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags
