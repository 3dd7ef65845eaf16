"""Figures: what is drawn, where, in which colour, and that no labels overlap."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from explored import copies, eight, privileged, regression, severity
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

import relbounds as rb
from relbounds.show.facts import Facts
from relbounds.show.figures.bounds import plot_bounds
from relbounds.show.figures.style import colours, lines_of, shorten


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def wide(d=60, privileged=5):
    """A table with many features, a term of four levels, a long name and a privileged part; no fit behind it."""
    rng = np.random.default_rng(0)
    names = [f"marker_{k}" for k in range(d)]
    terms = list(names)
    for k, level in zip(range(5, 9), "ABCD", strict=True):
        names[k], terms[k] = f"site[{level}]", "site"
    names[2] = terms[2] = "a_very_long_column_name_of_some_blood_marker_2"
    extra = [f"biopsy_{k}" for k in range(privileged)]
    upper = rng.uniform(0.01, 0.4, d + privileged)
    lower = np.where(rng.random(d + privileged) < 0.3, 0.5 * upper, 0.0)
    table = pd.DataFrame(
        {
            "part": ["regular"] * d + ["privileged"] * privileged,
            "term": terms + extra,
            "weight": upper / 2,
            "lower": lower,
            "upper": upper,
            "relevance": np.where(lower > 0, "strong", np.where(upper > 0.1, "weak", "irrelevant")),
            "direction": rng.choice(["+", "-", "?"], d + privileged),
        },
        index=pd.Index(names + extra, name="feature"),
    )
    noise = {("regular", None): 0.1, ("privileged", None): 0.15}
    return Facts("Bounds", "y ~ .", "y", table=table, columns=("lower", "upper"), noise=noise)


def bars(ax):
    return {
        p.get_label(): p for p in ax.patches if isinstance(p, Rectangle) and not p.get_label().startswith("_")
    }


def overlapping(texts):
    figure = texts[0].figure
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    return sum(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


def test_bars_reach_from_lower_to_upper_in_the_colour_of_their_class():
    fit = severity()
    ax = fit.plot()
    drawn = bars(ax)
    assert list(drawn) == fit.table.index.tolist()
    for name, row in fit.table.iterrows():
        bar = drawn[name]
        assert bar.get_x() == pytest.approx(row["lower"])
        assert bar.get_width() == pytest.approx(row["upper"] - row["lower"], abs=0.01)
        assert to_rgb(bar.get_facecolor()) == to_rgb(colours()[row["relevance"]])
    assert ax.get_xlim()[0] == 0 and ax.get_xlim()[1] > fit.table["upper"].max()


def test_labels_terms_and_parts():
    labels = [line.label for line in lines_of(severity().table)]
    assert labels == [
        "age",
        "stiffness",
        "platelets",
        "crp",
        "esr",
        "il6",
        "sodium",
        "sex",
        "  female",
        "  male",
    ]
    fit = privileged()
    texts = [text.get_text() for text in fit.plot().get_yticklabels()]
    assert "regular features" in texts and "privileged features" in texts
    assert texts.index("privileged features") > texts.index("x1")


def test_noise_is_drawn_for_each_part_and_each_term_of_several_columns():
    fit = severity()
    ax = fit.plot()
    noise = {line.get_label(): line for line in ax.lines if line.get_label().startswith("_noise")}
    assert set(noise) == {"_noise regular", "_noise regular: sex"}
    assert noise["_noise regular"].get_xdata()[0] == pytest.approx(fit._fitted.intervals["regular"][1].upper)


def test_directions_are_marked_beside_the_bars():
    fit = severity()
    ax = fit.plot()
    relevant = fit.table[fit.table["relevance"] != "irrelevant"]
    for sign, marker in (("+", "^"), ("-", "v")):
        marks = [line for line in ax.lines if line.get_label() == f"_direction {sign}"]
        assert len(marks) == (relevant["direction"] == sign).sum()
        assert all(line.get_marker() == marker for line in marks)
        # beyond the longest bar, where no mark can be taken for the end of one
        assert all(line.get_xdata()[0] > fit.table["upper"].max() for line in marks)
    assert not [line for line in fit.plot(direction=False).lines if line.get_label().startswith("_direction")]


@pytest.mark.parametrize("orientation", ["horizontal", "vertical"])
def test_no_labels_overlap_at_sixty_features(orientation):
    ax = plot_bounds(wide(), orientation=orientation)
    axis = ax.yaxis if orientation == "horizontal" else ax.xaxis
    assert overlapping(axis.get_ticklabels()) == 0
    assert all(text.get_fontsize() >= 6.5 for text in axis.get_ticklabels())
    assert ax.figure.get_figwidth() < 5 or orientation == "vertical"


def test_labels_shrink_to_fit_axes_that_were_given():
    _, axes = plt.subplots(1, 2, figsize=(7, 5))
    assert plot_bounds(wide(40), ax=axes[0]) is axes[0]
    assert overlapping(axes[0].get_yticklabels()) == 0
    assert not axes[1].patches


def test_everything_fits_into_the_figure():
    ax = plot_bounds(wide(20), title="Twenty")
    figure = ax.figure
    figure.canvas.draw()
    tight, size = ax.get_tightbbox(), figure.bbox
    assert tight.x0 >= -1 and tight.y0 >= -1 and tight.x1 <= size.x1 + 1 and tight.y1 <= size.y1 + 1


def test_sorting_and_selecting():
    fit = severity()
    by_upper = list(bars(fit.plot(sort="upper")))
    assert by_upper[0] == fit.table["upper"].idxmax() or by_upper[0].startswith("sex")
    assert list(bars(fit.plot(features=["crp", "age"]))) == ["age", "crp"]
    assert next(iter(bars(fit.plot(sort="name")))) == "age"


def test_a_what_if_shows_what_was_and_what_was_wished():
    held = severity().constrain({"crp": "off", "age": (0.1, 0.25)})
    ax = held.plot()
    before = [patch for patch in ax.patches if patch.get_label() == "_before"]
    assert len(before) == len(held.table)
    texts = {text.get_text(): text for text in ax.get_yticklabels()}
    assert texts["crp"].get_fontstyle() == "italic" and texts["esr"].get_fontstyle() == "normal"
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "before" in legend and "constraint" in legend


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"orientation": "diagonal"}, "orientation"),
        ({"sort": "size"}, "sort"),
        ({"features": ["crb"]}, "Did you mean 'crp'"),
        ({"features": []}, "empty"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(rb.OptionError, match=words):
        severity().plot(**options)


def test_colours_can_be_told_apart_without_hue():
    def light(colour):
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    lights = sorted(light(colours()[name]) for name in ("strong", "weak", "irrelevant"))
    assert lights[1] / lights[0] > 1.3 and lights[2] / lights[1] > 1.3


def test_shorten_keeps_both_ends():
    assert shorten("x" * 10 + "y" * 40, 20).startswith("x") and shorten("x" * 40 + "y", 20).endswith("y")
    assert len(shorten("z" * 99, 20)) == 20


def test_vector_output(tmp_path):
    for ending in ("pdf", "svg"):
        path = tmp_path / f"bounds.{ending}"
        copies().plot().figure.savefig(path)
        assert path.stat().st_size > 1000


def test_groups_share_the_order_of_the_tree():
    found = eight(0.1).groups()
    ax = eight(0.1).plot_groups(groups=found)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert sorted(names) == sorted(found.labels.index)
    # stand-ins are neighbours
    places = sorted(names.index(name) for name in ("x5", "x6", "x7"))
    assert places[2] - places[0] == 2
    assert ax.tree.get_ylim() == ax.get_ylim()
    assert any(line.get_xdata()[0] == pytest.approx(found.height) for line in ax.tree.lines)
    assert overlapping(ax.get_yticklabels()) == 0


def test_groups_into_axes():
    _, ax = plt.subplots()
    assert copies().plot_groups(ax=ax, k=3) is ax


def test_sweep_changes_colour_where_the_class_does():
    found = copies().sweep_delta([0.001, 0.05, 3.0], probes=3)
    ax = copies().plot_sweep_delta(sweep=found)
    shades = {to_rgb(c.get_facecolor()[0]) for c in ax.collections}
    assert shades == {to_rgb(colours()[name]) for name in set(found.table["relevance"])}
    assert len(ax.collections) == len(found.classes) + len(found.changes)
    assert ax.get_xscale() == "log" and ax.get_xlim() == (0.001, 3.0)
    _, given = plt.subplots()
    assert copies().plot_sweep_delta(given, sweep=found, features=["x1"]) is given


def test_stability_bars_fill_the_row():
    found = copies().stability(n_resamples=3, probes=3)
    ax = copies().plot_stability(stability=found)
    widths = np.array([patch.get_width() for patch in ax.patches]).reshape(3, -1)
    assert np.allclose(widths.sum(axis=0), 1.0)
    assert [text.get_text() for text in ax.get_yticklabels()] == found.table.index.tolist()
    _, given = plt.subplots()
    assert copies().plot_stability(given, stability=found) is given


def test_scores_by_level_with_thresholds():
    fit = severity()
    ax = fit.plot_scores()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["none", "mild", "moderate", "severe"]
    drawn = sum(len(c.get_offsets()) for c in ax.collections)
    assert drawn == len(fit.design.y)
    dashed = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"]
    assert np.allclose(sorted(dashed), fit.baseline.thresholds)
    _, given = plt.subplots()
    assert fit.plot_scores(rb.datasets.load_severity().head(40), ax=given) is given
    assert sum(len(c.get_offsets()) for c in given.collections) == 40


def test_scores_of_a_regression():
    ax = regression().plot_scores()
    assert ax.get_xlabel() == "prediction"


def test_scores_need_rows():
    empty = rb.datasets.load_severity().head(3).assign(age=np.nan)
    with pytest.raises(rb.OptionError, match="no complete row"):
        severity().plot_scores(empty)


def test_tuning():
    data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    fit = rb.relbounds(data.formula, data.data, C=[0.1, 1.0, 10.0], probes=3, solver="auto")
    ax = fit.plot_tuning()
    assert ax.get_xscale() == "log" and ax.lines[-1].get_xdata()[0] == fit.baseline.C
    with pytest.raises(rb.OptionError, match="fixed"):
        copies().plot_tuning()
