"""Probabilities of levels from scores: a small smooth model of the response on held-out scores, and its calibration.

A large-margin model says on which side of a threshold an observation lies, not how surely. Scores of observations by
models that never saw them tell that: ordered levels follow a proportional-odds model of the score (two levels: a
logistic one; survival: the intervals between the cut times, censored observations known to be later), classes a
multinomial one. Section "Probabilities and chance" of docs/method.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from relbounds.design import Design
from relbounds.errors import OptionError
from relbounds.folds import deal_folds
from relbounds.level_odds import Probabilities, fit_multinomial, fit_proportional_odds
from relbounds.linear.families import family_of
from relbounds.linear.families.rows import Answers, FloatArray
from relbounds.linear.fitted import Fitted
from relbounds.linear.model import answers_of, build
from relbounds.linear.tuning import HeldOut, deal, score_on
from relbounds.solver.optimum import fit_folds

# Folds of the calibration: the model of an observation's probability never saw that observation either.
FOLDS = 5
# A bin of a calibration curve holds at least this many observations; fewer would be noise.
LEAST_BIN = 15
MOST_BINS = 10
NORMAL_95 = 1.959963984540054


def fit_probabilities(fitted: Fitted) -> Probabilities:
    """Return the model of probabilities of a fit, from its held-out scores."""
    design = fitted.design
    refuse_numbers(design)
    held = held_out_of(fitted)
    return fit_on(answers_of(design).take(held.rows), held.scores, design.weights[held.rows])


def refuse_numbers(design: Design) -> None:
    """Say that a numeric response has no levels to have probabilities of."""
    if design.levels is None:
        raise OptionError(
            "A numeric response has no probabilities of levels; predict(type='class') gives numbers."
        )


def has_held_out(fitted: Fitted) -> bool:
    """Return whether there are scores by models that never saw the observation, or can be."""
    tuning = fitted.tuning
    return bool(tuning.held_out is not None and len(tuning.held_out.rows)) or not fitted.spec.functions


def held_out_of(fitted: Fitted) -> HeldOut:
    """Return the scores of observations by models that never saw them.

    Those of the tuning, if anything was tuned; otherwise models with the numbers that were given are fitted without
    each fold in turn.
    """
    tuning, design = fitted.tuning, fitted.design
    if tuning.held_out is not None and len(tuning.held_out.rows):
        return tuning.held_out
    if not has_held_out(fitted):
        raise OptionError(
            "Probabilities rest on held-out scores, and with every number of the privileged model fixed there are "
            "none; leave C or gamma out, or give a grid."
        )
    dealt = deal(design, fitted.options)
    spec = build(dealt.design, tuning.kind)
    metric = family_of(design.family).metric
    prices = np.array([spec.prices(dealt.factors(f)) for f in dealt.numbers])
    scores = np.full((len(dealt.design.y), spec.sizes.classes), np.nan)
    for f, path in zip(dealt.numbers, fit_folds(spec.model, [tuning.C], prices), strict=True):
        rows = np.flatnonzero(dealt.fold == f)
        scores[rows] = score_on(spec, path[0], dealt.design, rows, metric)[1]
    known = dealt.fold >= 0
    return HeldOut(dealt.rows[known], scores[known])


def fit_on(answers: Answers, scores: FloatArray, weights: FloatArray) -> Probabilities:
    """Fit probabilities of levels to scores.

    Parameters
    ----------
    answers : Answers
        What is known of each observation's level.
    scores : ndarray, shape (n, 1) or (n, classes)
    weights : ndarray
        Case weights.
    """
    if scores.shape[1] > 1:
        return fit_multinomial(np.asarray(answers.y, dtype=int), scores, weights)
    low = np.asarray(answers.y if answers.low is None else answers.low, dtype=int)
    high = np.asarray(answers.y if answers.high is None else answers.high, dtype=int)
    return fit_proportional_odds(low, high, answers.n_levels, scores[:, 0], weights)


def calibration(fitted: Fitted, bins: int = MOST_BINS) -> pd.DataFrame:
    """Return observed shares beside predicted probabilities of held-out observations.

    Scores are those of models that never saw the observation, and so are the probabilities made of them: their model is
    fitted anew without each of five folds.

    Parameters
    ----------
    fitted : Fitted
    bins : int
        Bins of equal counts at most; each holds 15 observations or more.

    Returns
    -------
    DataFrame
        One row an event and bin: `event`, `predicted` (mean probability), `observed` (share; survival: Kaplan-Meier),
        `low` and `high` (95 % limits of the share), `n`.
    """
    design = fitted.design
    refuse_numbers(design)
    held = held_out_of(fitted)
    answers, weights = answers_of(design).take(held.rows), design.weights[held.rows]
    cluster = None if design.cluster is None else design.cluster[held.rows]
    fold, _ = deal_folds(design.y[held.rows], design.levels, FOLDS, fitted.options.seed, cluster)
    assert design.levels is not None
    predicted = np.full((len(held.rows), len(design.levels)), np.nan)
    for f in np.unique(fold):
        inside, others = np.flatnonzero(fold == f), np.flatnonzero(fold != f)
        model = fit_on(answers.take(others), held.scores[others], weights[others])
        predicted[inside] = model.levels(held.scores[inside])
    frames = [
        _curve(name, chance, outcome, bins) for name, chance, outcome in _events(design, held.rows, predicted)
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


Outcome = tuple[FloatArray, NDArray[np.bool_], float] | FloatArray


def _events(
    design: Design, rows: NDArray[np.intp], predicted: FloatArray
) -> list[tuple[str, FloatArray, Outcome]]:
    """Return the events that probabilities are checked on: their names, probabilities, and what came of them."""
    assert design.levels is not None
    levels = [str(level) for level in design.levels]
    above = 1.0 - np.cumsum(predicted, axis=1)
    y = np.asarray(design.y, dtype=float)[rows]
    if design.times is not None:
        time, event = design.times[0][rows], design.times[1][rows]
        places = np.unique(np.linspace(0, len(design.cut_times) - 1, 5).round().astype(int)[1:-1])
        return [
            (f"survives {design.cut_times[j]:.4g}", above[:, j], (time, event, float(design.cut_times[j])))
            for j in places
        ]
    if not family_of(design.family).thresholds:
        return [(name, predicted[:, k], (y == k + 1).astype(float)) for k, name in enumerate(levels)]
    if len(levels) == 2:
        return [(levels[1], predicted[:, 1], (y == 2).astype(float))]
    found: list[tuple[str, FloatArray, Outcome]] = []
    for j, name in enumerate(levels[:-1]):
        outcome = (y > j + 1).astype(float)
        if design.interval is not None:
            low, high = design.interval[0][rows], design.interval[1][rows]
            # an observation that may lie on either side of the threshold tells nothing about it
            outcome = np.where(low > j + 1, 1.0, np.where(high <= j + 1, 0.0, np.nan))
        found.append((f"above {name}", above[:, j], outcome))
    return found


def _curve(name: str, chance: FloatArray, outcome: Outcome, bins: int) -> pd.DataFrame:
    """Return one event's bins of equal counts."""
    if not isinstance(outcome, tuple):
        known = ~np.isnan(outcome)
        chance, outcome = chance[known], outcome[known]
    count = max(1, min(bins, len(chance) // LEAST_BIN))
    records = []
    for rows in np.array_split(np.argsort(chance, kind="stable"), count):
        if not rows.size:
            continue
        if isinstance(outcome, tuple):
            curve = kaplan_meier(outcome[0][rows], outcome[1][rows])
            share, low, high = survival_at(curve, outcome[2])
        else:
            share = float(outcome[rows].mean())
            low, high = wilson(share, len(rows))
        records.append((name, float(chance[rows].mean()), share, low, high, len(rows)))
    return pd.DataFrame(records, columns=["event", "predicted", "observed", "low", "high", "n"])


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % limits of a share.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(0.5, 20)]
    [0.299, 0.701]
    """
    z2 = NORMAL_95**2 / n
    centre = (share + z2 / 2) / (1 + z2)
    half = NORMAL_95 * np.sqrt(share * (1 - share) / n + z2 / (4 * n)) / (1 + z2)
    # rounding must not leave a share of 0 or 1 outside its own limits: figures draw the distances
    return min(share, max(0.0, float(centre - half))), max(share, min(1.0, float(centre + half)))


# -- survival ------------------------------------------------------------------------------------------------


def kaplan_meier(
    time: FloatArray, event: NDArray[np.bool_], weights: FloatArray | None = None
) -> pd.DataFrame:
    """Return the Kaplan-Meier curve with Greenwood's 95 % limits on the log-log scale.

    Returns
    -------
    DataFrame
        One row for 0 and for each time: `time`, `survival` (from this time on), `low`, `high`, `at_risk` (just before),
        `censored` (at this time).

    Examples
    --------
    >>> kaplan_meier(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))["survival"].round(3).tolist()
    [1.0, 0.667, 0.667, 0.0]
    """
    price = np.ones(len(time)) if weights is None else weights
    order = np.argsort(time, kind="stable")
    time, event, price = (
        np.asarray(time, dtype=float)[order],
        np.asarray(event, dtype=bool)[order],
        price[order],
    )
    times, place = np.unique(time, return_inverse=True)
    deaths = np.bincount(place, price * event)
    gone = np.bincount(place, price)
    at_risk = gone[::-1].cumsum()[::-1]
    survival = np.cumprod(1 - deaths / at_risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.cumsum(deaths / (at_risk * (at_risk - deaths)))) / np.abs(np.log(survival))
        low, high = survival ** np.exp(NORMAL_95 * spread), survival ** np.exp(-NORMAL_95 * spread)
    inside = (survival > 0) & (survival < 1)
    table = pd.DataFrame(
        {
            "time": times,
            "survival": survival,
            "low": np.where(inside, low, survival),
            "high": np.where(inside, high, survival),
            "at_risk": np.bincount(place)[::-1].cumsum()[::-1],
            "censored": np.bincount(place, ~event).astype(int),
        }
    )
    first = pd.DataFrame(
        {
            "time": [0.0],
            "survival": [1.0],
            "low": [1.0],
            "high": [1.0],
            "at_risk": [len(time)],
            "censored": [0],
        }
    )
    return pd.concat([first, table], ignore_index=True)


def survival_at(curve: pd.DataFrame, time: float) -> tuple[float, float, float]:
    """Return a curve and its limits at a time.

    Examples
    --------
    >>> survival_at(kaplan_meier(np.array([1.0, 2.0]), np.array([True, True])), 1.5)[0]
    0.5
    """
    row = curve[curve["time"] <= time].iloc[-1]
    return float(row["survival"]), float(row["low"]), float(row["high"])


def curves_by_score(
    score: FloatArray, time: FloatArray, event: NDArray[np.bool_], names: Sequence[str]
) -> pd.DataFrame:
    """Return the Kaplan-Meier curves of groups of equal size by score, lowest first.

    Examples
    --------
    >>> found = curves_by_score(np.arange(4.0), np.arange(1.0, 5.0), np.ones(4, dtype=bool), ("low", "high"))
    >>> found.groupby("group", sort=False)["at_risk"].max().tolist()
    [2, 2]
    """
    known = np.flatnonzero(~np.isnan(score) & ~np.isnan(time))
    if len(known) < len(names):
        raise OptionError(f"{len(known)} complete rows cannot be parted into {len(names)} groups.")
    order = known[np.argsort(score[known], kind="stable")]
    frames = [
        kaplan_meier(time[rows], event[rows]).assign(group=name)
        for name, rows in zip(names, np.array_split(order, len(names)), strict=True)
    ]
    return pd.concat(frames, ignore_index=True)
