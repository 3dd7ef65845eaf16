"""The comparison of methods: what it draws is what it says, and its stored rows are answers to it."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def bench():
    """Import the modules of benchmarks/ that need numpy and pandas alone."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import scenes
        import selectors_of_features as methods

        yield scenes, methods
    finally:
        sys.path.remove(str(BENCHMARKS))


def rows():
    with (BENCHMARKS / "results" / "methods.csv").open() as file:
        return list(csv.DictReader(file))


def test_scenes_have_the_rows_and_terms_they_state(bench):
    scenes, _ = bench
    for scene in scenes.SCENES.values():
        data, kinds = scene.draw(1)
        assert data.shape == (scene.n, scene.d + 1)
        assert len(kinds) == scene.d
        if scene.family != "regression":
            shares = data["y"].value_counts(normalize=True).sort_index().to_numpy()
            assert np.allclose(shares, scenes.SHARES[scene.family], atol=1 / scene.n)


def test_copies_are_copies_and_noise_is_noise(bench):
    scenes, _ = bench
    exact, _ = scenes.SCENES["exact copies"].draw(2)
    assert np.array_equal(exact["x3"], exact["x4"]) and np.array_equal(exact["x5"], exact["x6"])
    many, kinds = scenes.SCENES["many rows"].draw(2)
    found = many.corr(method="spearman")["y"].drop("y").abs()
    noise = np.array(kinds) == "noise"
    assert found[noise].max() < 0.08 < found[~noise].min()


def test_every_stored_row_answers_for_every_term(bench):
    scenes, methods = bench
    for row in rows():
        own = methods.METHODS[row["method"]]
        letters = row["classes"][1:]
        assert letters or row["why"], row
        if letters:
            assert len(letters) == scenes.SCENES[row["scene"]].d
            assert set(letters) <= set("SW-" if own.question == "both" else "R-")


def test_rows_are_on_fresh_seeds():
    assert min(int(row["seed"]) for row in rows()) >= 50_000


def test_the_table_shows_the_call_of_every_method(bench):
    _, methods = bench
    text = (BENCHMARKS / "results" / "methods.md").read_text()
    for name, own in methods.METHODS.items():
        assert own.call.replace("|", " ") in text, name


def test_the_l1_path_of_stability_selection_is_optimal(bench):
    """Columns enter where a general solver says so: at a penalty just above none is used, just below one is."""
    _, methods = bench
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = np.digitize(X[:, 1] + 0.5 * X[:, 2] + rng.logistic(size=200), [-0.5, 1.0])
    entered = methods.l1_entries(X[None], y[None], "ordinal", 4)[0]
    assert entered.argmax() == 1 and np.argsort(-entered)[1] == 2
    twice = methods.l1_entries(np.stack([X, X]), np.stack([y, y]), "ordinal", 4)
    assert np.allclose(twice, entered)
