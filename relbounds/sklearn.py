"""The scikit-learn face: estimators that predict, select features and hold relevance intervals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.api import fit_design
from relbounds.checks import choice
from relbounds.design import design_from_arrays
from relbounds.design.weights import check_weights
from relbounds.errors import DataError, MissingExtraError, OptionError, RelboundsWarning
from relbounds.results import RelboundsResults

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.feature_selection import SelectorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_array, check_is_fitted, validate_data
except ImportError as error:
    raise MissingExtraError(
        "relbounds.sklearn needs scikit-learn 1.6 or newer: pip install 'relbounds[sklearn]'."
    ) from error


# Options that both estimators hand on as they are.
SHARED = (
    *(
        "C",
        "gamma",
        "delta",
        "tolerance",
        "control",
        "alpha",
        "probes",
        "level",
        "cv",
        "privileged",
        "residual",
    ),
    *("bounds", "solver", "n_jobs"),
)


class _Relbounds(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """What the two estimators share: options, the fit, and the selection of features."""

    results_: RelboundsResults

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, Z: Any, levels: Sequence[Any] | None, **options: Any
    ) -> None:
        names = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(X.shape[1])] if names is None else list(names)
        choice("select", self.select, ("relevant", "strong"))
        design = design_from_arrays(
            X,
            y,
            names=names,
            levels=levels,
            family="regression" if levels is None else "binary" if len(levels) == 2 else "ordinal",
            Z=Z,
            priv_names=None if Z is None else [str(c) for c in Z.columns],
            weights=sample_weight,
            standardize=self.standardize,
        )
        options |= {name: getattr(self, name) for name in SHARED}
        self.results_ = fit_design(design, seed=_seed(self.random_state), progress=False, **options)
        if not self.results_.options["bounds"]:
            # an earlier fit of this object may have left its own
            for name in ("relevance_bounds_", "relevance_"):
                if hasattr(self, name):
                    delattr(self, name)
            return
        table = self.results_.table
        table = table[table["part"] == "regular"]
        # A constant feature has no interval: no model uses it.
        self.relevance_bounds_ = table[["lower", "upper"]].reindex(names, fill_value=0.0).to_numpy()
        self.relevance_ = table["relevance"].reindex(names, fill_value="irrelevant").to_numpy(dtype=object)

    def _score_of(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        return np.asarray(self.results_.decision_function(X), dtype=float)

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        if not hasattr(self, "relevance_"):
            raise OptionError(
                "The model was fitted without bounds (bounds=False), so no feature can be selected; fit it with "
                "bounds=True."
            )
        wanted = ("strong",) if self.select == "strong" else ("strong", "weak")
        return np.isin(self.relevance_.astype(str), wanted)


class RelboundsClassifier(ClassifierMixin, _Relbounds):  # type: ignore[misc]
    """Ordered classes (or two of them): prediction, and a relevance interval for every feature.

    Parameters
    ----------
    levels : sequence or None
        The classes from lowest to highest. None sorts them, which is right for numbers; for three or more
        classes named by text a warning shows the order taken.
    order, balance, C, gamma, delta, tolerance, control, alpha, probes, level, cv, privileged, residual, correcting
        As in :func:`relbounds.relbounds`.
    bounds : bool
        False fits and predicts only, which is all that `GridSearchCV` and `cross_val_score` need.
    solver, n_jobs
        As in :func:`relbounds.relbounds`.
    standardize : bool
        Bring every feature to mean 0 and standard deviation 1.
    select : {"relevant", "strong"}
        Which features `transform` and `get_support` keep.
    random_state : int, RandomState or None
        Seed of folds and probes.

    Attributes
    ----------
    results_ : RelboundsResults
        Everything: `results_.summary()`, `results_.plot()`, `results_.table`.
    relevance_bounds_ : ndarray (n_features, 2)
        Lower and upper end of each feature's relevance interval; zeros for a constant feature.
    relevance_ : ndarray (n_features,)
        "strong", "weak" or "irrelevant".
    classes_ : ndarray
        The classes in order.

    Examples
    --------
    >>> import relbounds as rb
    >>> from relbounds.sklearn import RelboundsClassifier
    >>> data = rb.simulate.paper_set(3, seed=1).data
    >>> model = RelboundsClassifier(C=1.0, probes=20).fit(data.drop(columns="y"), data["y"])
    >>> model.relevance_[:3].tolist()
    ['strong', 'strong', 'strong']
    >>> model.get_feature_names_out().tolist()
    ['x1', 'x2', 'x3', 'x4', 'x5', 'x6', 'x7']
    """

    def __init__(
        self,
        *,
        levels: Sequence[Any] | None = None,
        order: str = "auto",
        balance: bool = True,
        C: float | Sequence[float] | None = None,
        gamma: float | Sequence[float] | None = None,
        delta: float | str = "resample",
        tolerance: str = "split",
        control: str = "fwer",
        alpha: float = 0.05,
        probes: int = 50,
        level: float = 0.999,
        cv: int = 5,
        standardize: bool = True,
        privileged: str = "auto",
        residual: float | str = math.inf,
        correcting: str = "sides",
        select: str = "relevant",
        bounds: bool = True,
        solver: str = "auto",
        n_jobs: int = 1,
        random_state: Any = 0,
    ) -> None:
        self.levels = levels
        self.order = order
        self.balance = balance
        self.C = C
        self.gamma = gamma
        self.delta = delta
        self.tolerance = tolerance
        self.control = control
        self.alpha = alpha
        self.probes = probes
        self.level = level
        self.cv = cv
        self.standardize = standardize
        self.privileged = privileged
        self.residual = residual
        self.correcting = correcting
        self.select = select
        self.bounds = bounds
        self.solver = solver
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that classes are ordered, so that unordered ones may be told apart badly."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags.poor_score = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, Z: Any = None) -> RelboundsClassifier:
        """Fit to features and classes.

        Parameters
        ----------
        X : array-like (n, d)
        y : array-like (n,)
        sample_weight : array-like (n,) or None
        Z : array-like (n, p) or None
            Privileged features: known here, never needed for prediction.
        """
        # A pandas Categorical that is ordered already says what the levels are.
        declared = getattr(getattr(y, "dtype", None), "categories", None)
        ordered = bool(getattr(getattr(y, "dtype", None), "ordered", False))
        X, y = validate_data(self, X, y, dtype="numeric", ensure_min_samples=2)
        check_classification_targets(y)
        X, y, sample_weight, Z = _counting_rows(X, y, sample_weight, Z)
        self.classes_ = self._order(y, list(declared) if ordered and declared is not None else None)
        if len(self.classes_) < 2:
            only = self.classes_.tolist()[0]
            raise DataError(f"y has only one class (with weight), {only!r}: there is nothing to tell apart.")
        places = {label: k for k, label in enumerate(self.classes_.tolist())}
        codes = np.array([places[label] for label in y.tolist()]) + 1
        self._fit(
            X,
            # Integers by themselves, so that they are read as codes and not as labels.
            codes,
            sample_weight,
            Z,
            [f"{label}" for label in self.classes_.tolist()],
            order=self.order,
            balance=self.balance,
            correcting=self.correcting,
        )
        return self

    def _order(self, y: NDArray[Any], declared: list[Any] | None) -> NDArray[Any]:
        found = np.unique(y)
        levels = declared if self.levels is None else list(self.levels)
        if levels is None:
            if len(found) > 2 and found.dtype.kind in "OUS":
                shown = " < ".join(map(str, found))
                warnings.warn(
                    f"Classes taken in alphabetical order: {shown}. Give levels=[...] for another one.",
                    RelboundsWarning,
                    stacklevel=3,
                )
            return found
        strange = [v for v in found.tolist() if v not in levels]
        if strange:
            raise DataError(f"y holds {strange!r}, which levels={levels!r} does not. Add what is missing.")
        return np.array([v for v in levels if v in set(found.tolist())], dtype=found.dtype)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score above the threshold (two classes), or a value per class, largest for the chosen.

        With thresholds b, class k has the sum of `score - b_j` over the thresholds below it.
        """
        score, b = self._score_of(X), self._thresholds()
        if len(self.classes_) == 2:
            return score - b[0]
        steps = score[:, None] - b[None, :]
        return np.hstack([np.zeros((len(score), 1)), np.cumsum(steps, axis=1)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row."""
        codes = np.searchsorted(self._thresholds(), self._score_of(X), side="right")
        return self.classes_[codes]

    def _thresholds(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        return np.sort(self.results_.baseline.thresholds.to_numpy())


class RelboundsRegressor(RegressorMixin, _Relbounds):  # type: ignore[misc]
    """A number as response: prediction, and a relevance interval for every feature.

    Parameters
    ----------
    C, gamma, epsilon, delta, tolerance, control, alpha, probes, level, cv, privileged, residual
        As in :func:`relbounds.relbounds`.
    bounds : bool
        False fits and predicts only, which is all that `GridSearchCV` and `cross_val_score` need.
    solver, n_jobs
        As in :func:`relbounds.relbounds`.
    standardize : bool
        Bring every feature to mean 0 and standard deviation 1.
    select : {"relevant", "strong"}
        Which features `transform` and `get_support` keep.
    random_state : int, RandomState or None
        Seed of folds and probes.

    Attributes
    ----------
    results_, relevance_bounds_, relevance_
        As in :class:`RelboundsClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.sklearn import RelboundsRegressor
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> model = RelboundsRegressor(C=1.0, epsilon=0.1, probes=20).fit(X, 2 * X[:, 0] - X[:, 2])
    >>> model.get_support().tolist()
    [True, False, True, False]
    """

    def __init__(
        self,
        *,
        C: float | Sequence[float] | None = None,
        gamma: float | Sequence[float] | None = None,
        epsilon: float | Sequence[float] | None = None,
        delta: float | str = "resample",
        tolerance: str = "split",
        control: str = "fwer",
        alpha: float = 0.05,
        probes: int = 50,
        level: float = 0.999,
        cv: int = 5,
        standardize: bool = True,
        privileged: str = "auto",
        residual: float | str = math.inf,
        select: str = "relevant",
        bounds: bool = True,
        solver: str = "auto",
        n_jobs: int = 1,
        random_state: Any = 0,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.epsilon = epsilon
        self.delta = delta
        self.tolerance = tolerance
        self.control = control
        self.alpha = alpha
        self.probes = probes
        self.level = level
        self.cv = cv
        self.standardize = standardize
        self.privileged = privileged
        self.residual = residual
        self.select = select
        self.bounds = bounds
        self.solver = solver
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that a response is needed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, Z: Any = None) -> RelboundsRegressor:
        """Fit to features and numbers.

        Parameters
        ----------
        X : array-like (n, d)
        y : array-like (n,)
        sample_weight : array-like (n,) or None
        Z : array-like (n, p) or None
            Privileged features: known here, never needed for prediction.
        """
        X, y = validate_data(self, X, y, dtype="numeric", ensure_min_samples=2, y_numeric=True)
        X, y, sample_weight, Z = _counting_rows(X, y, sample_weight, Z)
        self._fit(X, y.astype(float), sample_weight, Z, None, epsilon=self.epsilon)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted number of each row."""
        return self._score_of(X)


def _counting_rows(X: Any, y: Any, sample_weight: Any, Z: Any) -> tuple[Any, Any, Any, pd.DataFrame | None]:
    """Check weights and privileged features, and leave out rows of weight zero, as if they were not there."""
    if Z is not None:
        names = Z.columns if isinstance(Z, pd.DataFrame) else None
        values = check_array(Z, dtype="numeric")
        if len(values) != len(X):
            raise DataError(f"Z has {len(values)} rows but X has {len(X)}. Give Z one row per row of X.")
        numbered = [f"z{j}" for j in range(values.shape[1])]
        Z = pd.DataFrame(values, columns=numbered if names is None else [str(c) for c in names])
    if sample_weight is None:
        return X, y, None, Z
    sample_weight = check_weights(
        _check_sample_weight(sample_weight, X, dtype=float), len(X), "sample_weight"
    )
    rows = sample_weight > 0
    return X[rows], y[rows], sample_weight[rows], None if Z is None else Z[rows]


def _seed(random_state: Any) -> int:
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
