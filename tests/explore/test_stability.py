"""Class frequencies over subsamples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from explored import copies, privileged, regression, severity

import relbounds as rb
from relbounds.explore.stability import subsample
from relbounds.show.paper_tables import paper_table


def test_frequencies_add_up_and_the_table_has_its_column():
    fit = severity()
    found = fit.stability(n_resamples=4, probes=5)
    assert np.allclose(found.frequencies.sum(axis=1), 1.0)
    assert list(found.table.columns) == [*fit.table.columns, "stability"]
    own = [found.frequencies.at[name, label] for name, label in fit.table["relevance"].items()]
    assert found.table["stability"].tolist() == own
    assert found.frequencies.loc["stiffness"].idxmax() == "strong"
    assert "4 subsamples of 80% of the rows" in repr(found)
    assert (
        "stability"
        in paper_table(replace(fit.facts, table=found.table, columns=("stability",))).to_markdown()
    )


def test_workers_and_seeds():
    fit = copies()
    one = fit.stability(n_resamples=3, probes=3)
    two = fit.stability(n_resamples=3, probes=3, n_jobs=2)
    other = fit.stability(n_resamples=3, probes=3, seed=5)
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


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_resamples": 1}, "2 or more"),
        ({"n_resamples": 2.5}, "whole number"),
        ({"fraction": 1.0}, "strictly between"),
        ({"fraction": "half"}, "strictly between"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(rb.OptionError, match=words):
        copies().stability(**options)
