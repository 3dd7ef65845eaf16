"""Long tables are shown in part, say so, and mark limits as such."""

import numpy as np
import pandas as pd
import pytest

import relbounds as rb
from relbounds.show import walk
from relbounds.show.walk import LONG, MORE, part_shown, shown_rows


@pytest.fixture(scope="module")
def fit():
    data = rb.simulate.draw("ordinal", 60, 2, 0, 38, noise=0.2, seed=5)
    # as if 40 rows were many
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "LONG", 20)
        yield rb.relbounds(data.formula, data.data, C=0.1, order="explicit", delta=0.02, seed=0, screen=True)


def test_what_is_shown_and_where_the_rest_is(fit):
    table = fit.table
    relevant = table.index[table["relevance"] != "irrelevant"].tolist()
    assert len(table) == 40 and relevant
    text = str(fit.summary())
    assert all(f"\n{name} " in text for name in relevant)
    lines = sum(line.startswith("x") for line in text.splitlines())
    assert lines == len(relevant) + MORE
    assert f"{lines} of 40 rows" in " ".join(text.split())
    for shown in (fit.to_markdown(), fit.to_latex(), fit.to_html(), fit.summary().as_html()):
        assert "of 40 rows" in " ".join(shown.split())
    assert len(pd.read_csv(pd.io.common.StringIO(fit.to_csv()))) == 40
    bars = fit.plot().get_yticklabels()
    assert len(bars) == lines


def test_limits_are_marked_everywhere(fit):
    table = fit.table
    assert table["screened"].any() and (table["relevance"][table["screened"]] == "irrelevant").all()
    rows = [i for i in shown_rows(table) if table["screened"].iloc[i]]
    assert rows
    for shown in (str(fit.summary()), fit.to_markdown()):
        line = next(line for line in shown.splitlines() if table.index[rows[0]] in line)
        assert "<=" in line or "&lt;=" in line or r"\<=" in line
    assert "screened" in fit.to_csv()
    assert np.isfinite(table["upper"]).all()


def test_short_tables_are_shown_whole():
    table = pd.DataFrame(
        {"part": "regular", "term": range(LONG // 8), "upper": 0.1, "relevance": "irrelevant"}
    )
    assert shown_rows(table) is None and part_shown(table) == ()
