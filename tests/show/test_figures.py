"""Figures: what is drawn, where, in which colour, and that no labels overlap."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import shown
from explored import copies, regression, severity
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

import relbounds as rb
from relbounds.show.facts import Facts
from relbounds.show.figures.bounds import plot_bounds
from relbounds.show.figures.calibration import plot_calibration
from relbounds.show.figures.groups import plot_groups
from relbounds.show.figures.level_contrasts import plot_level_contrasts
from relbounds.show.figures.scores import MOST_POINTS, Scores, plot_scores
from relbounds.show.figures.stability import plot_stability
from relbounds.show.figures.style import CLASS_COLOURS, OTHER_COLOURS, colours, lines_of, shorten
from relbounds.show.figures.survival import plot_survival
from relbounds.show.figures.sweep_delta import plot_sweep_delta
from relbounds.show.figures.tuning import plot_tuning


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def wide(d=60, privileged=5):
    """A table with many features, a term of four levels, a long name and a privileged part; no fit behind it."""
    rng = np.random.default_rng(0)
    names = [f"marker_{k}" for k in range(d)]
    terms = list(names)
    kinds = ["term"] * (d + privileged)
    for k, level in zip(range(5, 9), "ABCD", strict=True):
        names[k], terms[k], kinds[k] = f"site[{level}]", "site", "level"
    names[2] = terms[2] = "a_very_long_column_name_of_some_blood_marker_2"
    extra = [f"biopsy_{k}" for k in range(privileged)]
    upper = rng.uniform(0.01, 0.4, d + privileged)
    lower = np.where(rng.random(d + privileged) < 0.3, 0.5 * upper, 0.0)
    table = pd.DataFrame(
        {
            "part": ["regular"] * d + ["privileged"] * privileged,
            "term": terms + extra,
            "row": kinds,
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


def outside(ax):
    """Return by how many pixels anything of the axes is cut by the figure."""
    figure = ax.figure
    figure.canvas.draw()
    tight, size = ax.get_tightbbox(), figure.bbox
    return max(-tight.x0, -tight.y0, tight.x1 - size.x1, tight.y1 - size.y1)


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def drawn_figures():
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 5, 300)
    levels = ("none", "mild", "moderate", "severe")
    scores = Scores(truth + rng.normal(size=300), truth, levels, np.array([1.5, 2.5, 3.5]), "severity")
    tuned = pd.DataFrame(
        {"C": [0.1, 1, 10] * 2, "order": ["explicit"] * 3 + ["implicit"] * 3, "mean": 0.3, "se": 0.02}
    )
    calibration = pd.DataFrame(
        {
            "event": ["> none"] * 3 + ["> mild"] * 3,
            "predicted": [0.2, 0.5, 0.8] * 2,
            "observed": [0.25, 0.5, 0.7] * 2,
            "low": 0.1,
            "high": 0.9,
            "n": 30,
        }
    )
    return {
        "bounds": lambda: plot_bounds(shown.facts()),
        "what-if": lambda: plot_bounds(shown.what_if(), title="Without crp"),
        "vertical": lambda: plot_bounds(shown.facts(), orientation="vertical"),
        "groups": lambda: plot_groups(shown.groups(), shown.facts()),
        "sweep": lambda: plot_sweep_delta(shown.sweep()),
        "stability": lambda: plot_stability(shown.stability()),
        "scores": lambda: plot_scores(scores),
        "tuning": lambda: plot_tuning(tuned, 1.0, "MMAE"),
        "contrasts": lambda: plot_level_contrasts(shown.contrasts()),
        "calibration": lambda: plot_calibration(calibration),
        "survival": lambda: plot_survival(curves()),
    }


def curves():
    rows = []
    for group, rate in (("low score", 0.8), ("middle", 0.4), ("high score", 0.15)):
        for k, time in enumerate(np.linspace(0, 10, 12)):
            alive = np.exp(-rate * time / 3)
            rows.append(
                (group, time, alive, max(alive - 0.1, 0), min(alive + 0.1, 1), 40 - 3 * k, k % 3 == 2)
            )
    names = ["group", "time", "survival", "low", "high", "at_risk", "censored"]
    return pd.DataFrame(rows, columns=names)


@pytest.mark.parametrize("name", list(drawn_figures()))
def test_nothing_is_cut_and_the_legend_hides_nothing(name):
    ax = drawn_figures()[name]()
    assert outside(ax) <= 1
    legend = ax.get_legend().get_window_extent()
    assert not legend.overlaps(ax.get_window_extent())
    for text in [*ax.get_xticklabels(), ax.xaxis.label]:
        assert not text.get_text() or not legend.overlaps(text.get_window_extent())


@pytest.mark.parametrize("name", list(drawn_figures()))
def test_on_dark_ground_nothing_is_black(name):
    with plt.style.context("dark_background"):
        ax = drawn_figures()[name]()
        for line in ax.lines:
            if line.get_linestyle() != "None" or line.get_marker() not in ("", "None", None):
                assert max(to_rgb(line.get_color())) > 0.25, line.get_label()


def test_bars_reach_from_lower_to_upper_in_the_colour_of_their_class():
    table = shown.table()
    ax = plot_bounds(shown.facts())
    drawn = bars(ax)
    assert list(drawn) == table.index[table["part"] != "adjust"].tolist()
    for name, bar in drawn.items():
        row = table.loc[name]
        assert bar.get_x() == pytest.approx(row["lower"])
        assert bar.get_width() == pytest.approx(row["upper"] - row["lower"], abs=0.01)
        assert to_rgb(bar.get_facecolor()) == to_rgb(colours()[row["relevance"]])
    assert ax.get_xlim()[0] == 0 and ax.get_xlim()[1] > table["upper"].max()
    # levels are thinner than terms
    assert drawn["site[A]"].get_height() < drawn["age"].get_height()


def test_labels_terms_and_parts():
    labels = [line.label for line in lines_of(shown.table())]
    assert labels == [
        "regular features", "age", "C(site)", "    A", "    B", "    C", "sex: male - female", "crp", "bs(bmi, 2)",
        "    0", "    1", "adjusted for", "smoker", "privileged features", "biopsy",
    ]  # fmt: skip
    drawn = [text.get_text() for text in plot_bounds(shown.facts()).get_yticklabels()]
    assert "adjusted for" not in drawn and "privileged features" in drawn


def test_noise_is_drawn_for_each_part_and_each_term_of_several_columns():
    ax = plot_bounds(shown.facts())
    noise = {line.get_label(): line for line in ax.lines if line.get_label().startswith("_noise")}
    assert set(noise) == {"_noise regular", "_noise regular: C(site)", "_noise privileged"}
    assert noise["_noise regular: C(site)"].get_xdata()[0] == 0.12
    places = dict(zip([t.get_text() for t in ax.get_yticklabels()], ax.get_yticks(), strict=True))
    ends = noise["_noise regular: C(site)"].get_ydata()
    assert min(ends) < places["C(site)"] < max(ends) < places["    A"]


def test_directions_are_marked_beside_the_bars():
    table = shown.table()
    ax = plot_bounds(shown.facts())
    relevant = table[table["relevance"].isin(["strong", "weak"])]
    for sign, marker in (("+", "^"), ("-", "v")):
        marks = [line for line in ax.lines if line.get_label() == f"_direction {sign}"]
        assert len(marks) == (relevant["direction"] == sign).sum()
        assert all(line.get_marker() == marker for line in marks)
        # beyond the longest bar, where no mark can be taken for the end of one
        assert all(line.get_xdata()[0] > table["upper"].max() for line in marks)
    plain = plot_bounds(shown.facts(), direction=False)
    assert not [line for line in plain.lines if line.get_label().startswith("_direction")]


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


def test_sorting_and_selecting():
    facts = shown.facts()
    by_upper = list(bars(plot_bounds(facts, sort="upper")))
    # a term's levels stay with it
    assert by_upper[:5] == ["C(site)", "site[A]", "site[B]", "site[C]", "age"]
    assert list(bars(plot_bounds(facts, features=["crp", "age"]))) == ["age", "crp"]
    assert list(bars(plot_bounds(facts, features=["C(site)"]))) == [
        "C(site)",
        "site[A]",
        "site[B]",
        "site[C]",
    ]
    assert "site[A]" not in bars(plot_bounds(facts, levels=False))
    assert next(iter(bars(plot_bounds(facts, sort="name")))) == "C(site)"


def test_a_what_if_shows_what_was_and_what_was_wished():
    ax = plot_bounds(shown.what_if())
    before = [patch for patch in ax.patches if patch.get_label() == "_before"]
    assert len(before) == len(bars(ax))
    texts = {text.get_text(): text for text in ax.get_yticklabels()}
    assert texts["crp"].get_fontstyle() == "italic" and texts["age"].get_fontstyle() == "normal"
    assert {"before", "constraint", "fixed"} <= set(legend_texts(ax))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"orientation": "diagonal"}, "orientation"),
        ({"sort": "size"}, "sort"),
        ({"features": ["crb"]}, "Did you mean 'crp'"),
        ({"features": []}, "empty"),
        ({"features": ["smoker"]}, "nothing to draw"),
        ({"palette": {"storng": "red"}}, "Did you mean 'strong'"),
    ],
)
def test_bad_options(options, words):
    with pytest.raises(rb.OptionError, match=words):
        plot_bounds(shown.facts(), **options)


def light(colour):
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_can_be_told_apart_without_hue():
    lights = sorted(light(colours()[name]) + 0.05 for name in ("strong", "weak", "irrelevant"))
    assert lights[1] / lights[0] > 1.5 and lights[2] / lights[1] > 1.3


def test_one_colour_one_meaning():
    assert not {to_rgb(c) for c in OTHER_COLOURS} & {to_rgb(c) for c in CLASS_COLOURS.values()}
    tree = plot_groups(shown.groups(), shown.facts()).tree
    classes = {to_rgb(CLASS_COLOURS[name]) for name in ("strong", "weak", "irrelevant")}
    assert not {to_rgb(line.get_color()) for line in tree.lines} & classes


def test_shorten_keeps_both_ends():
    assert shorten("x" * 10 + "y" * 40, 20).startswith("x") and shorten("x" * 40 + "y", 20).endswith("y")
    assert len(shorten("z" * 99, 20)) == 20


def test_names_are_text_not_mathematics():
    table = shown.table().rename(index={"crp": r"$\frac{a}{$ b_1^2 $x$"})
    ax = plot_bounds(shown.facts(table=table))
    ax.figure.canvas.draw()  # mathematics that cannot be read would raise here
    text = next(t for t in ax.get_yticklabels() if "frac" in t.get_text())
    assert text._preprocess_math(text.get_text()) == (r"$\frac{a}{$ b_1^2 $x$", False)


def test_vector_output(tmp_path):
    for ending in ("pdf", "svg"):
        path = tmp_path / f"bounds.{ending}"
        plot_bounds(shown.facts()).figure.savefig(path)
        assert path.stat().st_size > 1000


def test_groups_share_the_order_of_the_tree():
    found = shown.groups()
    ax = plot_groups(found, shown.facts())
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert sorted(names) == sorted(found.labels.index)
    # stand-ins are neighbours
    assert abs(names.index("crp") - names.index("bs(bmi, 2)")) == 1
    assert ax.tree.get_ylim() == ax.get_ylim()
    assert any(line.get_xdata()[0] == pytest.approx(found.height) for line in ax.tree.lines)
    assert overlapping(ax.get_yticklabels()) == 0 and "cut" in legend_texts(ax)
    assert "2: needed together" in [text.get_text() for text in ax.tree.texts]
    _, given = plt.subplots()
    assert plot_groups(found, shown.facts(), given) is given


def test_sweep_changes_colour_where_the_class_does():
    found = shown.sweep()
    ax = plot_sweep_delta(found)
    shades = {to_rgb(c.get_facecolor()[0]) for c in ax.collections}
    assert shades == {to_rgb(colours()[name]) for name in ("strong", "weak", "irrelevant")}
    assert len(ax.collections) == len(shown.table()) - 1 + 1  # a band a row, one of them in two colours
    assert ax.get_xscale() == "log" and ax.get_xlim() == (0.001, 3.0)
    texts = [text.get_text() for text in ax.texts]
    assert "0" in texts and "0.3" in texts  # the scale of the height
    # a class that rises again is marked, and the legend says why
    assert [t.get_text() for t in ax.get_yticklabels() if t.get_text().endswith("*")] == ["age *"]
    assert legend_texts(ax)[-1].startswith("class rises again")
    _, given = plt.subplots()
    assert plot_sweep_delta(found, given, features=["age"]) is given


def test_sweep_with_delta_zero_has_a_scale():
    found = shown.sweep()
    found.deltas = np.array([0.0, 0.05, 3.0])
    found.table = found.table.rename(index={0.001: 0.0}, level="delta")
    assert plot_sweep_delta(found).get_xscale() == "symlog"


def test_stability_bars_fill_the_row():
    found = shown.stability()
    ax = plot_stability(found)
    widths = np.array([patch.get_width() for patch in ax.patches]).reshape(3, -1)
    assert np.allclose(widths.sum(axis=0), 1.0) and widths.shape[1] == len(found.table) - 1
    assert ax.get_xlabel() == "share of 9 subsamples"
    _, given = plt.subplots()
    assert plot_stability(found, given) is given


def test_scores_by_level_with_labelled_thresholds():
    fit = severity()
    ax = fit.plot_scores()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["none", "mild", "moderate", "severe"]
    assert sum(len(c.get_offsets()) for c in ax.collections) == len(fit.design.y)
    dashed = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"]
    assert np.allclose(sorted(dashed), np.sort(fit.baseline.thresholds))
    assert {"none | mild", "mild | moderate", "moderate | severe"} == set(
        ", ".join(text.get_text() for text in ax.texts).split(", ")
    )
    _, given = plt.subplots()
    assert fit.plot_scores(rb.datasets.load_severity().head(40), ax=given) is given
    assert sum(len(c.get_offsets()) for c in given.collections) == 40


def test_many_scores_are_densities():
    rng = np.random.default_rng(0)
    truth = rng.integers(1, 4, 6000)
    scores = Scores(truth + rng.normal(size=6000), truth, ("a", "b", "c"), np.array([1.5, 2.5]), "y")
    ax = plot_scores(scores)
    assert len(ax.collections) == 3 and all(len(c.get_offsets()) <= 1 for c in ax.collections)
    few = Scores(scores.scores[:MOST_POINTS], truth[:MOST_POINTS], scores.levels, scores.thresholds, "y")
    assert sum(len(c.get_offsets()) for c in plot_scores(few).collections) == MOST_POINTS


def test_thresholds_that_fall_together_share_a_label():
    truth = np.array([1.0, 2.0, 3.0])
    ax = plot_scores(Scores(np.array([-5.0, 0.0, 5.0]), truth, ("a", "b", "c"), np.array([1.0, 1.0]), "y"))
    assert [text.get_text() for text in ax.texts] == ["a | b, b | c"]


def test_scores_of_a_regression():
    assert regression().plot_scores().get_xlabel() == "prediction"
    rng = np.random.default_rng(0)
    many = Scores(rng.normal(size=6000), rng.normal(size=6000), None, np.zeros(0), "y")
    assert plot_scores(many).collections[0].get_array().sum() == 6000  # hexagons that count


def test_scores_need_rows():
    empty = rb.datasets.load_severity().head(3).assign(age=np.nan)
    with pytest.raises(rb.OptionError, match="no complete row"):
        severity().plot_scores(empty)


def test_tuning():
    data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    fit = rb.relbounds(data.formula, data.data, C=[0.1, 1.0, 10.0], bounds=False)
    ax = fit.plot_tuning()
    assert ax.get_xscale() == "log" and ax.lines[-1].get_xdata()[0] == fit.baseline.C
    with pytest.raises(rb.OptionError, match="fixed"):
        copies().plot_tuning()


def test_contrasts_are_drawn_about_zero():
    ax = plot_level_contrasts(shown.contrasts())
    assert [text.get_text() for text in ax.get_yticklabels()] == ["B - A", "C - A", "C - B"]
    middles = [line for line in ax.lines if line.get_label() == "_middle"]
    assert [line.get_marker() for line in middles] == ["D", "D", "o"]
    texts = [text.get_text() for text in ax.texts]
    assert "[0.050, 0.200]" in texts and "<0.001" in texts
    against = plot_level_contrasts(shown.contrasts("A"))
    assert [text.get_text() for text in against.get_yticklabels()] == ["B", "C"]
    assert "difference to A" in against.get_xlabel()
    classes = shown.contrasts("A").assign(response="x / y")
    classes.attrs["monotone"] = "rising"
    ax = plot_level_contrasts(classes)
    assert ax.get_yticklabels()[0].get_text() == "B, x / y" and "rising in every model" in ax.get_title(
        "left"
    )
    with pytest.raises(rb.OptionError, match="no contrast"):
        plot_level_contrasts(shown.contrasts("Z"))


def test_survival_curves_with_numbers_at_risk():
    ax = plot_survival(curves())
    assert len([line for line in ax.lines if line.get_drawstyle() == "steps-post"]) == 3
    texts = [text.get_text() for text in ax.texts]
    assert "at risk" in texts and texts.count("40") == 3
    assert legend_texts(ax) == ["low score", "middle", "high score", "censored"]
