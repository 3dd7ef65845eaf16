"""The methods of `methods.py`: each reads one CSV file with the terms and the response `y`, and says what matters.

This file runs in the environments of `environments.py`, among them old ones, so it needs numpy and pandas alone until
a method is called. Every method runs by its documented defaults; the text of each call stands in `METHODS`, beside the
question that the method asks by its own documentation.

The methods of R stand in `selectors_of_features.R`. The answer is one letter a term: S needed by every good model, W
relevant but replaceable, R relevant (methods without that distinction), - not relevant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

ALPHA = 0.05


@dataclass(frozen=True)
class Method:
    """Who asks what, and how it is called."""

    environment: str
    question: str
    """"all": which terms carry information at all? "needed": which add to all others? "model": which to put into one
    good model? "both": the first two."""
    call: str
    promise: str
    slow: bool = False
    """Many seconds a fit: run on some of the scenes alone."""
    draws: int = 20
    """Data sets a scene: fewer where a fit takes seconds."""
    wide: int = 10
    """The same for scenes with many columns or rows."""
    pairs: int = 5
    """How many of the data sets are seen once more without one row in twenty, for the stability of the answer."""


METHODS: dict[str, Method] = {
    "relbounds": Method("main", "both", 'rb.relbounds("y ~ .", data)', "any noise: 0.05", wide=5),
    "relbounds, fdr": Method(
        "main",
        "both",
        'rb.relbounds("y ~ .", data, control="fdr")',
        "share of noise: 0.05",
        draws=10,
        wide=3,
    ),
    "relbounds, published": Method(
        "main",
        "both",
        'rb.relbounds("y ~ .", data, **rb.published)',
        "none that holds",
        draws=10,
        wide=3,
    ),
    "relbounds, forest": Method(
        "main",
        "both",
        'rb.forest_relevance("y ~ .", data)',
        "any noise: 0.05",
        slow=True,
        draws=5,
        pairs=2,
    ),
    "Holm": Method(
        "peers",
        "needed",
        'OrderedModel(y, X, distr="logit").fit(method="bfgs") / Logit(y, X).fit() / OLS(y, X).fit(); Wald test of each '
        'term; multipletests(p, method="holm"), alpha 0.05 (statsmodels); columns that others add up to are left out '
        "first, as R does",
        "any not needed: 0.05",
    ),
    "backward": Method(
        "peers",
        "model",
        "the same models; the term with the largest p is left out until all are at most 0.05",
        "none",
        draws=10,
        wide=3,
    ),
    "step AIC": Method(
        "R",
        "model",
        "step(polr(y ~ .)) / step(glm(y ~ ., family = binomial)) / step(lm(y ~ .)) (R, MASS)",
        "none",
    ),
    "glmnet": Method(
        "R",
        "model",
        'cv.glmnet(X, y, family = "binomial" or "gaussian"); coefficients at lambda.1se that are not 0; grades enter '
        "as numbers (R)",
        "none",
    ),
    "stability selection": Method(
        "peers",
        "model",
        "L1 path of the proportional-odds, logistic or linear model on 50 complementary pairs of halves; cutoff 0.75; "
        "the first q terms of each path, q from at most 1 false selection expected (Shah and Samworth, unimodal bound, "
        "the defaults of R's stabs)",
        "expected number of noise: 1",
    ),
    "knockoffs": Method(
        "peers",
        "needed",
        'KnockoffFilter(fstat="lasso", ksampler="gaussian").forward(X, y, fdr=0.1, shrinkage="ledoitwolf") (knockpy); '
        "grades enter as numbers",
        "share not needed: 0.1",
    ),
    "CFI": Method(
        "peers",
        "needed",
        "CFICV(model, KFold(5, shuffle=True)).fit_importance(X, y); fwer_selection(0.05) (hidimstat); model: RidgeCV() "
        'on grades and numbers, LogisticRegressionCV() with method="predict_proba", loss=log_loss on classes',
        "any not needed: 0.05",
        draws=10,
        wide=3,
    ),
    "LOCO": Method(
        "peers",
        "needed",
        "LOCOCV(model, KFold(5, shuffle=True)).fit_importance(X, y); fwer_selection(0.05) (hidimstat); models as for "
        "CFI",
        "any not needed: 0.05",
        draws=10,
        wide=3,
    ),
    "d0CRT": Method(
        "peers",
        "needed",
        "D0CRT(LassoCV() or an L1 LogisticRegressionCV(), screening_threshold=100).fit_importance(X, y); "
        "fwer_selection(0.05) (hidimstat); 10, its default, with 100 columns or more: of a dozen it tests one",
        "any not needed: 0.05",
        wide=3,
    ),
    "permutation": Method(
        "peers",
        "all",
        "permutation_importance(forest, X_test, y_test, n_repeats=30) on a held-out quarter, random forest; relevant "
        "where mean - 2 sd > 0 (scikit-learn)",
        "none",
        slow=True,
        draws=10,
        pairs=3,
    ),
    "boruta": Method(
        "peers",
        "all",
        'BorutaPy(RandomForestClassifier(class_weight="balanced", max_depth=5), n_estimators="auto").fit(X, y); '
        "numbers: RandomForestRegressor(max_depth=5)",
        "each noise: 0.05",
        slow=True,
        draws=5,
        pairs=2,
    ),
    "arfs": Method(
        "arfs",
        "all",
        'GrootCV(objective="binary" or "rmse").fit(X, y); grades enter as numbers',
        "none",
        slow=True,
        draws=5,
        pairs=2,
    ),
    "powershap": Method(
        "peers",
        "all",
        "PowerShap(model=CatBoostClassifier(n_estimators=250, verbose=0, use_best_model=True)).fit(X, y); numbers: "
        "CatBoostRegressor",
        "each noise: 0.01",
        slow=True,
        draws=5,
        pairs=2,
    ),
    "ranger": Method(
        "R",
        "all",
        'importance_pvalues(ranger(y ~ ., importance = "permutation"), method = "altmann", formula = y ~ ., '
        "data = data); p at most 0.05 (R)",
        "each noise: 0.05",
        slow=True,
        draws=5,
        pairs=2,
    ),
    "fri": Method(
        "fri",
        "both",
        "FRI(ProblemName.ORDINALREGRESSION, CLASSIFICATION or REGRESSION).fit(StandardScaler().fit_transform(X), y)",
        "none that holds",
        slow=True,
        draws=5,
        pairs=2,
    ),
}


@dataclass(frozen=True)
class Table:
    """The data as matrix methods want them: numbers, factors as 0/1 columns without their first level."""

    data: pd.DataFrame
    family: str
    X: np.ndarray
    term: np.ndarray
    """Which term each column of X belongs to."""
    names: list[str]
    seed: int

    @property
    def y(self) -> np.ndarray:
        return self.data["y"].to_numpy()

    @cached_property
    def standard(self) -> np.ndarray:
        return (self.X - self.X.mean(axis=0)) / self.X.std(axis=0)

    def free(self, columns: np.ndarray) -> np.ndarray:
        """Leave out columns that those before them add up to, as R's models do; the others stop with an error."""
        basis, out = np.zeros((len(self.X), 0)), []
        for column in columns:
            rest = self.standard[:, column] - basis @ (basis.T @ self.standard[:, column])
            if np.linalg.norm(rest) > 1e-6 * np.sqrt(len(rest)):
                basis, out = np.column_stack([basis, rest / np.linalg.norm(rest)]), [*out, column]
        return np.array(out, dtype=int)

    def by_term(self, chosen: Any) -> list[str]:
        """A term is relevant where any of its columns is."""
        mask = np.zeros(len(self.term), bool)
        mask[np.asarray(chosen)] = True
        return ["R" if mask[self.term == k].any() else "-" for k in range(len(self.names))]


def read(file: str, family: str, seed: int) -> Table:
    data = pd.read_csv(file)
    names = [c for c in data.columns if c != "y"]
    columns, term = [], []
    for k, name in enumerate(names):
        own = data[name]
        wide = own.to_frame() if own.dtype.kind in "if" else pd.get_dummies(own, drop_first=True)
        columns.append(wide.to_numpy(float))
        term += [k] * wide.shape[1]
    return Table(data, family, np.hstack(columns), np.array(term), names, seed)


def relbounds(table: Table, name: str) -> list[str]:
    import relbounds as rb

    data = table.data.copy()
    if table.family != "regression":
        data["y"] = pd.Categorical(data["y"], ordered=True)
    for column in table.names:
        if data[column].dtype.kind not in "if":
            data[column] = pd.Categorical(data[column])
    options: dict[str, Any] = {"seed": table.seed, "progress": False}
    if name == "relbounds, forest":
        found = rb.forest_relevance("y ~ .", data, **options).table
    else:
        options |= rb.published if name.endswith("published") else {}
        options |= {"control": "fdr"} if name.endswith("fdr") else {}
        found = rb.relbounds("y ~ .", data, **options).table
        found = found[found["row"] == "term"].set_index("term")
    return [{"strong": "S", "weak": "W"}.get(found.loc[c, "relevance"], "-") for c in table.names]


def term_p_values(table: Table, kept: list[int]) -> np.ndarray:
    """Wald p-values of terms in the standard model of the family; 1 where the model cannot tell."""
    import statsmodels.api as sm
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    columns = table.free(np.flatnonzero(np.isin(table.term, kept)))
    X, first = table.standard[:, columns], 0
    if table.family == "ordinal":
        fit = OrderedModel(table.y, X, distr="logit").fit(method="bfgs", disp=False, maxiter=200)
    elif table.family == "binary":
        fit, first = sm.Logit(table.y - table.y.min(), sm.add_constant(X)).fit(disp=False), 1
    else:
        fit, first = sm.OLS(table.y, sm.add_constant(X)).fit(), 1
    out = []
    for k in kept:
        own = first + np.flatnonzero(table.term[columns] == k)
        if len(own) == 0:
            out.append(1.0)
        elif len(own) == 1:
            out.append(float(np.asarray(fit.pvalues)[own[0]]))
        else:
            select = np.eye(len(fit.params))[own]
            out.append(float(np.squeeze(fit.wald_test(select, scalar=True).pvalue)))
    return np.nan_to_num(np.array(out), nan=1.0)


def need_rows(table: Table) -> None:
    if table.X.shape[1] >= 0.9 * len(table.X):
        raise ValueError("more columns than the model can have")


def holm(table: Table, name: str) -> list[str]:
    from statsmodels.stats.multitest import multipletests

    need_rows(table)
    p = term_p_values(table, list(range(len(table.names))))
    return ["R" if x else "-" for x in multipletests(p, alpha=ALPHA, method="holm")[0]]


def backward(table: Table, name: str) -> list[str]:
    need_rows(table)
    kept = list(range(len(table.names)))
    while kept:
        p = term_p_values(table, kept)
        if p.max() <= ALPHA:
            break
        kept.pop(int(p.argmax()))
    return ["R" if k in kept else "-" for k in range(len(table.names))]


def l1_entries(X: np.ndarray, y: np.ndarray, family: str, most: int) -> np.ndarray:
    """Shares of the largest penalty at which each column enters the L1 path, for many samples at once (FISTA).

    X is samples by rows by columns; grades and classes follow the proportional-odds model, numbers the linear one.
    """
    samples, n, d = X.shape
    X = (X - X.mean(axis=1, keepdims=True)) / np.maximum(X.std(axis=1, keepdims=True), 1e-12)
    Xt = np.ascontiguousarray(X.transpose(0, 2, 1))
    if family == "regression":
        y = (y - y.mean(axis=1, keepdims=True)) / y.std(axis=1, keepdims=True)
        cuts = np.zeros((samples, 0))
    else:
        levels = np.unique(y)
        shares = np.stack([(y <= level).mean(axis=1) for level in levels[:-1]], axis=1).clip(
            0.5 / n, 1 - 0.5 / n
        )
        cuts = np.log(shares / (1 - shares))
        code = np.searchsorted(levels, y)
    square = np.linalg.norm(X, ord=2, axis=(1, 2)) ** 2 / n
    curve = (1.0 if family == "regression" else 0.5) * square + (0.0 if family == "regression" else 0.5)
    step = (1 / curve)[:, None]

    def slopes(w: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        score = np.einsum("snd,sd->sn", X, w, optimize=True)
        if family == "regression":
            return np.einsum("sdn,sn->sd", Xt, score - y) / n, np.zeros_like(b)
        edge = np.concatenate([np.full((samples, 1), -40.0), b, np.full((samples, 1), 40.0)], axis=1)
        low = 1 / (1 + np.exp(score - np.take_along_axis(edge, code, axis=1)))
        high = 1 / (1 + np.exp(score - np.take_along_axis(edge, code + 1, axis=1)))
        # the derivative of -log(high - low) by the score, and by either edge
        by_score = 1 - low - high
        gap = np.maximum(high - low, 1e-12)
        by_high, by_low = -high * (1 - high) / gap, low * (1 - low) / gap
        db = np.zeros((samples, edge.shape[1]))
        rows = np.broadcast_to(np.arange(samples)[:, None], code.shape)
        np.add.at(db, (rows, code + 1), by_high)
        np.add.at(db, (rows, code), by_low)
        return np.einsum("sdn,sn->sd", Xt, by_score) / n, db[:, 1:-1] / n

    w, b = np.zeros((samples, d)), cuts.copy()
    top = np.abs(slopes(w, b)[0]).max(axis=1, keepdims=True)
    entered = np.zeros((samples, d))
    for share in np.geomspace(0.95, 0.02, 40):
        ahead, ahead_b, momentum = w.copy(), b.copy(), 1.0
        for _ in range(25):
            dw, db = slopes(ahead, ahead_b)
            new = ahead - step * dw
            new = np.sign(new) * np.maximum(np.abs(new) - step * share * top, 0)
            new_b = np.sort(ahead_b - step * db, axis=1)
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = new + (momentum - 1) / following * (new - w)
            ahead_b = new_b + (momentum - 1) / following * (new_b - b)
            w, b, momentum = new, new_b, following
        # among columns that enter at one penalty the larger is first
        fresh = (entered == 0) & (w != 0)
        entered[fresh] = share + 1e-3 * (np.abs(w) / (1 + np.abs(w)))[fresh]
        if ((entered > 0).sum(axis=1) >= most).all():
            break
    return entered


def stability_selection(
    table: Table, name: str, pairs: int = 50, cutoff: float = 0.75, bound: float = 1.0
) -> list[str]:
    """Complementary pairs; q from the bound for unimodal selection shares (Shah and Samworth 2013, theorem 2)."""
    d, n = table.X.shape[1], len(table.X)
    q = max(1, int(np.sqrt(bound * d * 2 * (2 * cutoff - 1 - 1 / (2 * pairs)))))
    rng = np.random.default_rng(table.seed)
    halves = []
    for _ in range(pairs):
        order = rng.permutation(n)
        halves += [order[: n // 2], order[n // 2 : 2 * (n // 2)]]
    counts = np.zeros(d)
    for start in range(0, len(halves), 20):
        rows = np.array(halves[start : start + 20])
        entered = l1_entries(table.X[rows], table.y[rows], table.family, q)
        first = np.argsort(-entered, axis=1)[:, :q]
        taken = np.take_along_axis(entered, first, axis=1) > 0
        np.add.at(counts, first[taken], 1)
    return table.by_term(counts / len(halves) >= cutoff)


def knockoffs(table: Table, name: str) -> list[str]:
    from knockpy.knockoff_filter import KnockoffFilter

    np.random.seed(table.seed)
    y = (table.y - table.y.min()).astype(float)
    found = KnockoffFilter(fstat="lasso", ksampler="gaussian").forward(
        X=table.standard, y=y, fdr=0.1, shrinkage="ledoitwolf"
    )
    return table.by_term(np.asarray(found) > 0)


def hidimstat_model(table: Table) -> tuple[Any, dict[str, Any]]:
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV
    from sklearn.metrics import log_loss

    if table.family == "binary":
        return LogisticRegressionCV(), {"method": "predict_proba", "loss": log_loss}
    return RidgeCV(), {}


def folds_of_importance(table: Table, name: str) -> list[str]:
    from hidimstat import CFICV, LOCOCV
    from sklearn.model_selection import KFold

    model, options = hidimstat_model(table)
    if name == "CFI":
        options["random_state"] = table.seed
    kind = CFICV if name == "CFI" else LOCOCV
    own = kind(model, KFold(5, shuffle=True, random_state=table.seed), **options)
    # a column of two values is a class to hidimstat, and its values must look like it
    two = np.array([len(np.unique(column)) == 2 for column in table.X.T])
    own.fit_importance(np.where(two, table.X, table.standard), table.y)
    return table.by_term(np.asarray(own.fwer_selection(ALPHA)) > 0)


def d0crt(table: Table, name: str) -> list[str]:
    from hidimstat import D0CRT
    from sklearn.linear_model import LassoCV, LogisticRegressionCV

    options: dict[str, Any] = {}
    model: Any = LassoCV(random_state=table.seed)
    if table.family == "binary":
        # the same kind of model must screen, which takes its L1 form
        model = LogisticRegressionCV(l1_ratios=(1.0,), solver="liblinear")
        options["lasso_screening"] = LogisticRegressionCV(l1_ratios=(1.0,), solver="liblinear")
    # the default looks at a tenth of the columns, which of a dozen is one
    screened = 100 if table.X.shape[1] < 100 else 10
    own = D0CRT(model, screening_threshold=screened, random_state=table.seed, **options)
    # its screening lasso has no intercept
    own.fit_importance(
        table.standard, table.y - (table.y.min() if table.family == "binary" else table.y.mean())
    )
    return table.by_term(np.asarray(own.fwer_selection(ALPHA)) > 0)


def permutation(table: Table, name: str) -> list[str]:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import train_test_split

    kind = RandomForestRegressor if table.family == "regression" else RandomForestClassifier
    X, X_test, y, y_test = train_test_split(table.X, table.y, random_state=table.seed)
    forest = kind(random_state=table.seed).fit(X, y)
    found = permutation_importance(forest, X_test, y_test, n_repeats=30, random_state=table.seed)
    return table.by_term(found.importances_mean - 2 * found.importances_std > 0)


def boruta(table: Table, name: str) -> list[str]:
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    if table.family == "regression":
        forest: Any = RandomForestRegressor(max_depth=5, n_jobs=1)
    else:
        forest = RandomForestClassifier(class_weight="balanced", max_depth=5, n_jobs=1)
    found = BorutaPy(forest, n_estimators="auto", random_state=table.seed).fit(table.X, table.y)
    return table.by_term(found.support_)


def arfs(table: Table, name: str) -> list[str]:
    from arfs.feature_selection.allrelevant import GrootCV

    # its "multiclass" stops with an error beside the shap of today
    objective = "binary" if table.family == "binary" else "rmse"
    X = pd.DataFrame(table.X, columns=[f"c{k}" for k in range(table.X.shape[1])])
    np.random.seed(table.seed % 2**32)
    found = GrootCV(objective=objective, n_jobs=1).fit(X, pd.Series(table.y - table.y.min()))
    return table.by_term(found.get_support())


def powershap(table: Table, name: str) -> list[str]:
    from catboost import CatBoostClassifier, CatBoostRegressor
    from powershap import PowerShap

    kind = CatBoostRegressor if table.family == "regression" else CatBoostClassifier
    model = kind(n_estimators=250, verbose=0, use_best_model=True, thread_count=1, allow_writing_files=False)
    np.random.seed(table.seed % 2**32)
    y = table.y if table.family == "regression" else (table.y - table.y.min()).astype(int)
    found = PowerShap(model=model, show_progress=False).fit(
        pd.DataFrame(table.X, columns=[f"c{k}" for k in range(table.X.shape[1])]), y
    )
    return table.by_term(found.get_support())


def fri_method(table: Table, name: str) -> list[str]:
    import fri
    from sklearn.preprocessing import StandardScaler

    kind = {
        "ordinal": fri.ProblemName.ORDINALREGRESSION,
        "binary": fri.ProblemName.CLASSIFICATION,
        "regression": fri.ProblemName.REGRESSION,
    }[table.family]
    y = table.y if table.family == "regression" else (table.y - table.y.min()).astype(int)
    model = fri.FRI(kind, random_state=table.seed, n_jobs=1, verbose=0)
    model.fit(StandardScaler().fit_transform(table.X), y)
    found = np.asarray(model.relevance_classes_)
    best = [found[table.term == k].max() for k in range(len(table.names))]
    return ["-WS"[int(c)] for c in best]


FUNCTIONS: dict[str, Callable[[Table, str], Any]] = {
    "Holm": holm,
    "backward": backward,
    "stability selection": stability_selection,
    "knockoffs": knockoffs,
    "CFI": folds_of_importance,
    "LOCO": folds_of_importance,
    "d0CRT": d0crt,
    "permutation": permutation,
    "boruta": boruta,
    "arfs": arfs,
    "powershap": powershap,
    "fri": fri_method,
}


def select(method: str, file: str, family: str, seed: int) -> dict[str, Any]:
    """Ask one method; {"classes": one letter a term} and, where the method knows better than its process, "cpu"."""
    found = FUNCTIONS.get(method, relbounds)(read(file, family, seed), method)
    return found if isinstance(found, dict) else {"classes": found}


def warm_up(environment: str) -> None:
    """Import what the methods of an environment need, and fit once where something is compiled on first use."""
    import importlib

    modules = {
        "main": ["relbounds", "lightgbm"],
        "peers": [
            "statsmodels.api", "statsmodels.miscmodels.ordinal_model", "hidimstat", "knockpy.knockoff_filter", "boruta",
            "powershap", "catboost", "sklearn.ensemble", "sklearn.inspection",
        ],
        "arfs": ["arfs.feature_selection.allrelevant"],
        "fri": ["fri", "sklearn.preprocessing"],
    }  # fmt: skip
    for module in modules[environment]:
        importlib.import_module(module)
    if environment == "main":
        import relbounds as rb

        small = rb.simulate.paper_set(1)
        rb.relbounds(small.formula, small.data, C=0.5, progress=False)
