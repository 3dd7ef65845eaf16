"""Class frequencies over subsamples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from explored import copies, privileged, regression, severity
from scipy.optimize import linprog

import relbounds as rb
from relbounds.explore.stability import false_selections, halves, subsample
from relbounds.show.paper_tables import paper_table


def test_frequencies_add_up_and_the_table_has_its_column():
    fit = severity()
    found = fit.stability(n_resamples=4, probes=5)
    assert np.allclose(found.frequencies.sum(axis=1), 1.0)
    assert list(found.table.columns) == [*fit.table.columns, "stability"]
    own = [found.frequencies.at[name, label] for name, label in fit.table["relevance"].items()]
    assert found.table["stability"].tolist() == own
    assert found.frequencies.loc["stiffness"].idxmax() == "strong"
    assert "4 subsamples of 50% of the rows" in repr(found)
    assert (
        "stability"
        in paper_table(replace(fit.facts, table=found.table, columns=("stability",))).to_markdown()
    )


def test_workers_and_seeds():
    fit = copies()
    one = fit.stability(n_resamples=4, probes=3)
    two = fit.stability(n_resamples=4, probes=3, n_jobs=2)
    other = fit.stability(n_resamples=4, probes=3, seed=5)
    assert one.draws.equals(two.draws)
    assert not np.allclose(one.draws["upper"], other.draws["upper"])


@pytest.mark.parametrize("make", [regression, privileged])
def test_every_kind_of_fit(make):
    found = make().stability(n_resamples=2, probes=3)
    assert found.failed == 0
    assert found.frequencies.index.equals(make().table.index)


def test_subsamples_keep_every_level():
    design = severity().design
    rows = subsample(design, 0.02, np.random.default_rng(0))
    assert set(design.y[rows]) == set(design.y)
    assert len(np.unique(rows)) == len(rows)


def test_halves_share_nothing_and_lose_nothing():
    design = severity().design
    one, two = halves(design, np.random.default_rng(3))
    assert sorted([*one, *two]) == list(range(len(design.y)))
    for level in set(design.y):
        assert abs(np.sum(design.y[one] == level) - np.sum(design.y[two] == level)) <= 1


def test_clusters_stay_whole():
    cluster = np.repeat(np.arange(30), 5)
    design = replace(severity().design, cluster=cluster)
    one, two = halves(design, np.random.default_rng(3))
    assert not set(cluster[one]) & set(cluster[two])
    assert set(cluster[one]) | set(cluster[two]) == set(cluster)
    some = subsample(design, 0.3, np.random.default_rng(3))
    assert all(np.isin(np.flatnonzero(cluster == c), some).all() for c in set(cluster[some]))


def test_quantiles_of_bounds_are_those_of_the_draws():
    found = copies().stability(n_resamples=6, probes=3)
    values = found.draws.xs("x1", level="feature")["upper"]
    assert found.quantiles.loc["x1", "upper_95"] == pytest.approx(np.quantile(values, 0.95))
    assert found.quantiles.loc["x1", "upper_05"] <= found.quantiles.loc["x1", "upper_50"]


def test_the_bound_on_false_selections_holds_where_the_truth_is_known():
    """Selection at random: p terms, each found by a half with chance q / p, halves of a pair independent."""
    rng = np.random.default_rng(0)
    p, q, pairs = 40, 8, 25
    for threshold in (0.6, 0.75, 0.9):
        counts = []
        for _ in range(300):
            hits = rng.random((2 * pairs, p)) < q / p
            counts.append(np.sum(hits.mean(axis=0) >= threshold))
        assert np.mean(counts) <= false_selections(q, p, threshold, pairs, unimodal=True) + 0.01
        sharp = false_selections(q, p, threshold, pairs, unimodal=True)
        assert sharp <= false_selections(q, p, threshold, pairs)


def worst_tail(pairs, mean, least):
    """The largest chance of `least` pairs or more, over all counts of one peak with at most this mean share."""
    counts = np.arange(pairs + 1)
    worst = 0.0
    for peak in counts:
        rises = np.where(counts[:-1] < peak, 1.0, -1.0)[:, None] * (
            np.eye(pairs + 1)[:-1] - np.eye(pairs + 1)[1:]
        )
        found = linprog(
            -(counts >= least).astype(float),
            A_ub=np.vstack([rises, counts / pairs]),
            b_ub=np.append(np.zeros(pairs), mean),
            A_eq=np.ones((1, pairs + 1)),
            b_eq=[1.0],
            bounds=(0, None),
        )
        worst = max(worst, -found.fun if found.status == 0 else 0.0)
    return worst


@pytest.mark.parametrize("pairs, least", [(5, 2), (5, 4), (12, 4), (12, 6), (12, 8), (12, 12)])
def test_the_bound_with_one_peak_is_the_worst_case_by_linear_programming(pairs, least):
    # both halves of a pair find a term of chance 0.1 with chance 0.01; a share t of all halves needs 2 t - 1 of pairs
    threshold = 0.5 + 0.5 * least / pairs
    bound = false_selections(100.0, 1000, threshold, pairs, unimodal=True) / 1000
    assert bound == pytest.approx(worst_tail(pairs, 0.01, least), rel=1e-6)


def test_the_bound_needs_halves():
    found = copies().stability(n_resamples=2, fraction=0.8, probes=3)
    with pytest.raises(rb.OptionError, match="complementary halves"):
        found.false_selections()
    halved = copies().stability(n_resamples=2, probes=3)
    with pytest.raises(rb.OptionError, match="must lie above"):
        halved.false_selections(0.5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_resamples": 1}, "2 or more"),
        ({"n_resamples": 2.5}, "whole number"),
        ({"n_resamples": 5}, "even"),
        ({"fraction": 1.0}, "strictly between"),
        ({"fraction": "half"}, "strictly between"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(rb.OptionError, match=words):
        copies().stability(**options)
