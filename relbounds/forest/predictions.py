"""Predictions of a model of all terms: boosted trees, grown when they are asked for.

Trees grow the same from the same seed, so that a file need not hold them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relbounds.design import Design
from relbounds.errors import DataError, OptionError
from relbounds.forest.facts import Array
from relbounds.forest.learner import CLASSES, Learner, Problem, fit_predict, splits
from relbounds.forest.options import ForestOptions
from relbounds.level_odds import fit_proportional_odds
from relbounds.metrics import f1_weighted, mmae, r2
from relbounds.parallel import one_thread
from relbounds.seeds import stream

METRICS = {"ordinal": mmae, "binary": f1_weighted, "nominal": f1_weighted, "regression": r2}


@dataclass(frozen=True)
class ForestModel:
    """What a model of all terms is grown from; `linear`: the trees start from a linear score."""

    design: Design
    options: ForestOptions
    linear: bool

    @property
    def learner(self) -> Learner:
        """The trees, as they are grown."""
        levels = self.design.levels
        learner = Learner(
            self.design.family, 0 if levels is None else len(levels), self.linear, self.options.trees
        )
        return learner.with_params(self.options.params)

    @property
    def rows(self) -> Problem:
        """What they are grown on."""
        design = self.design
        y = np.asarray(design.y, dtype=float)
        return Problem(design.X, y, design.weights, (), design.levels, design.cluster)

    def raw(self, X: Array) -> Array:
        """Return numbers, or probabilities of classes; missing where a value is."""
        seed = int(stream(self.options.seed, "forest predictions").integers(2**30))
        whole = ~np.isnan(X).any(axis=1)
        with one_thread():
            found = fit_predict(self.learner, self.rows, X[whole], seed)
        out = np.full((len(X), *found.shape[1:]), np.nan)
        out[whole] = found
        return out

    def held_out(self) -> Array:
        """Return the numbers behind ordered levels by models that never saw the row."""
        rows = self.rows
        held, _ = splits(rows, self.options.folds, 1, self.options.seed)
        out = np.full(len(rows.y), np.nan)
        with one_thread():
            for away, seed in held:
                seen = np.ones(len(rows.y), dtype=bool)
                seen[away] = False
                out[away] = fit_predict(self.learner, rows.take(seen), rows.X[away], seed)
        return out


def predict(model: ForestModel, newdata: Any, kind: str) -> pd.Series | pd.DataFrame:
    """Return levels or numbers ("class"), the number behind them ("score"), or probabilities ("prob")."""
    design = model.design
    if kind == "prob" and design.levels is None:
        raise OptionError("type='prob' needs levels; a response of numbers has type='class' and 'score'.")
    if kind == "score" and design.family == "nominal":
        raise OptionError("Levels without an order have no score behind them; use type='prob'.")
    X, index = _features(design, newdata)
    raw = model.raw(X)
    if kind == "prob":
        return pd.DataFrame(_chances(model, raw), index=index, columns=list(design.levels or ()))
    if kind == "score":
        return pd.Series(raw, index=index, name="score")
    if design.levels is None:
        return pd.Series(raw, index=index, name=design.response)
    return pd.Series(design.decode(_codes(model, raw)), index=index, name=design.response)


def score(model: ForestModel, newdata: Any) -> float:
    """Return the family's score on data that hold the response."""
    design = model.design
    X, _ = _features(design, newdata)
    truth = np.asarray(design.y if newdata is None else design.transform_response(newdata), dtype=float)
    raw = model.raw(X)
    guess = raw if design.levels is None else _codes(model, raw)
    known = ~(np.isnan(truth) | np.isnan(np.asarray(guess, dtype=float)))
    if not known.any():
        raise DataError("There is no complete row to score: every row misses the response or a feature.")
    return float(METRICS[design.family](truth[known], guess[known]))


def _features(design: Design, newdata: Any) -> tuple[Array, pd.Index]:
    if newdata is None:
        return design.X, design.index
    X = design.transform(newdata)
    return X, newdata.index if isinstance(newdata, pd.DataFrame) else pd.RangeIndex(len(X))


def _codes(model: ForestModel, raw: Array) -> Array:
    """Return level codes; missing where nothing was predicted."""
    family = model.design.family
    if family == "nominal":
        codes = 1.0 + np.argmax(np.nan_to_num(raw, nan=-1.0), axis=1)
        return np.where(np.isnan(raw[:, 0]), np.nan, codes)
    if family == "binary":
        return np.where(np.isnan(raw), np.nan, 1.0 + (raw > 0.5))
    return np.clip(np.round(raw), 1, model.learner.n_levels)


def _chances(model: ForestModel, raw: Array) -> Array:
    """Return the probability of each level."""
    design = model.design
    if design.family == "binary":
        return np.column_stack([1 - raw, raw])
    if design.family in CLASSES:
        return raw
    held = model.held_out()
    known = ~np.isnan(held)
    y = np.asarray(design.y, dtype=np.int64)[known]
    odds = fit_proportional_odds(y, y, model.learner.n_levels, held[known], design.weights[known])
    return odds.levels(raw[:, None])
