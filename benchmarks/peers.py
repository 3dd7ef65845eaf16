"""Other ways to select features, as the papers ran them, so that they can be run beside relbounds."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
FRI_PYTHON = ROOT / ".fri-venv" / "bin" / "python"


class ElasticNetOrdinal:
    """Explicit-order ordinal model with the penalty p |w|_1 + (1 - p)/2 |w|_2^2, by proximal steps.

    The loss is the squared hinge, so that gradients exist; the papers' surrogate has the plain hinge.
    Follows scikit-learn's estimator protocol as far as RFECV needs it.
    """

    def __init__(self, C: float = 1.0, p: float = 0.5, steps: int = 150) -> None:
        self.C, self.p, self.steps = C, p, steps

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"C": self.C, "p": self.p, "steps": self.steps}

    def set_params(self, **values: Any) -> ElasticNetOrdinal:
        for name, value in values.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    def fit(self, X: Any, y: Any) -> ElasticNetOrdinal:
        X, y = np.asarray(X, float), np.asarray(y)
        self.levels_, codes = np.unique(y, return_inverse=True)
        n_cuts, d = len(self.levels_) - 1, X.shape[1]
        rows, signs, cuts = [], [], []
        for j in range(n_cuts):
            for level, sign in ((j, -1.0), (j + 1, 1.0)):
                members = np.flatnonzero(codes == level)
                rows.append(members)
                signs.append(np.full(len(members), sign))
                cuts.append(np.full(len(members), j))
        sample, sign, cut = map(np.concatenate, (rows, signs, cuts))
        G = np.zeros((len(sample), d + n_cuts))
        G[:, :d] = sign[:, None] * X[sample]
        G[np.arange(len(sample)), d + cut] = -sign
        smooth = 2 * self.C * np.linalg.norm(G, 2) ** 2 + (1 - self.p)
        v = np.zeros(d + n_cuts)
        v[d:] = np.linspace(-1, 1, n_cuts) if n_cuts > 1 else 0.0
        ahead, momentum = v.copy(), 1.0
        for _ in range(self.steps):
            slack = np.maximum(0.0, 1.0 - G @ ahead)
            gradient = -2 * self.C * (G.T @ slack)
            gradient[:d] += (1 - self.p) * ahead[:d]
            new = ahead - gradient / smooth
            new[:d] = np.sign(new[:d]) * np.maximum(0.0, np.abs(new[:d]) - self.p / smooth)
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = new + (momentum - 1) / following * (new - v)
            v, momentum = new, following
        self.coef_, self.cuts_ = v[:d], np.sort(v[d:])
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.levels_[np.searchsorted(self.cuts_, np.asarray(X, float) @ self.coef_, side="right")]


def elastic_net_rfe(X: np.ndarray, y: np.ndarray, seed: int) -> list[int]:
    """Elastic-net ordinal model, C and p by 5-fold CV, then recursive elimination with 5-fold CV (MMAE)."""
    from sklearn.feature_selection import RFECV
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    from relbounds.metrics import mmae

    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    scorer = make_scorer(mmae, greater_is_better=False)
    grid = {"C": [1e-3, 1e-2, 1e-1, 1.0, 10.0], "p": [0.0, 0.01, 0.1, 0.2, 0.5, 0.7, 1.0]}
    best = GridSearchCV(ElasticNetOrdinal(), grid, scoring=scorer, cv=folds).fit(X, y).best_params_
    selector = RFECV(ElasticNetOrdinal(**best), scoring=scorer, cv=folds, importance_getter="coef_").fit(X, y)
    return np.flatnonzero(selector.support_).tolist()


def elastic_net_logistic(X: np.ndarray, y: np.ndarray, seed: int) -> list[int]:
    """Logistic elastic net with equal parts of L1 and L2, penalty by 5-fold CV; |weight| > 1e-5 selects."""
    from sklearn.linear_model import LogisticRegressionCV

    model = LogisticRegressionCV(
        Cs=np.logspace(-3, 2, 10),
        cv=5,
        solver="saga",
        l1_ratios=[0.5],
        penalty="elasticnet",
        max_iter=500,
        tol=1e-3,
        random_state=seed,
    ).fit(X, y)
    return np.flatnonzero(np.abs(model.coef_[0]) > 1e-5).tolist()


def stability_selection(X: np.ndarray, y: np.ndarray, seed: int, cutoff: float = 0.9) -> list[int]:
    """Meinshausen and Buehlmann: 100 half samples, the first d/2 features on the lasso path, share >= cutoff.

    Levels and classes enter as numbers.
    """
    from sklearn.linear_model import lars_path

    rng = np.random.default_rng(seed)
    n, d = X.shape
    q = max(1, d // 2)
    target = np.asarray(y, float)
    counts = np.zeros(d)
    for _ in range(100):
        half = rng.choice(n, n // 2, replace=False)
        centred = X[half] - X[half].mean(axis=0)
        _, _, path = lars_path(centred, target[half] - target[half].mean(), method="lasso", max_iter=4 * q)
        entered = [int(k) for k in np.argsort(np.argmax(path != 0, axis=1)) if path[k].any()]
        counts[entered[:q]] += 1
    return np.flatnonzero(counts / 100 >= cutoff).tolist()


def boruta(X: np.ndarray, y: np.ndarray, seed: int, classes: bool) -> list[int]:
    """Boruta with a random forest of depth 5; confirmed features."""
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if classes else RandomForestRegressor
    forest = kind(max_depth=5, n_jobs=1, random_state=seed)
    selector = BorutaPy(forest, n_estimators=100, max_iter=60, random_state=seed)
    selector.fit(X, np.asarray(y, float) if not classes else np.asarray(y))
    return np.flatnonzero(selector.support_).tolist()


FRI_CODE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import fri
data = np.load(sys.argv[1])
kind = {"ordinal": fri.ProblemName.ORDINALREGRESSION, "binary": fri.ProblemName.CLASSIFICATION}[sys.argv[2]]
model = fri.FRI(kind, n_jobs=1, random_state=int(sys.argv[3]), verbose=0)
from sklearn.preprocessing import StandardScaler
model.fit(StandardScaler().fit_transform(data["X"]), data["y"])
print(json.dumps([int(c) for c in model.relevance_classes_]))
"""


def fri(X: np.ndarray, y: np.ndarray, seed: int, family: str) -> list[str]:
    """The reference implementation, version 9, in an environment of its own; classes by feature."""
    if not FRI_PYTHON.exists():
        raise FileNotFoundError("benchmarks/vs_fri.py makes the environment of fri; run it once before this")
    y = np.asarray(y, int)
    y = y - y.min() if family == "ordinal" else np.where(y > 0, 1, -1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(path, X=X, y=y)
        done = subprocess.run(
            [str(FRI_PYTHON), "-c", FRI_CODE, str(path), family, str(seed)],
            capture_output=True,
            text=True,
            timeout=900,
        )
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "fri failed")
    return [("irrelevant", "weak", "strong")[c] for c in json.loads(done.stdout.strip().splitlines()[-1])]


def select(
    method: str, data: pd.DataFrame, features: list[str], family: str, seed: int
) -> pd.Series | list[str]:
    """Run one peer on the columns of a simulated set; classes (fri) or names of the selected features."""
    X = data[features].to_numpy(float)
    y = data["y"].astype(int).to_numpy()
    if method == "fri":
        return pd.Series(fri(X, y, seed, family), index=features)
    if method == "elastic net":
        picked = elastic_net_rfe(X, y, seed) if family == "ordinal" else elastic_net_logistic(X, y, seed)
    elif method == "stability":
        picked = stability_selection(X, y, seed)
    else:
        picked = boruta(X, y, seed, classes=family == "binary")
    return [features[k] for k in picked]
