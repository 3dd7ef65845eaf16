"""How often forest_relevance() calls noise relevant, against what it promises: python benchmarks/forest_calibration.py

Small fits on fresh seeds, without any relation and beside real ones; the share of fits with a false positive, with its
95 % interval (Clopper and Pearson), and how many of the real terms were found. Writes
results/forest_calibration.md.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd
from common import RESULTS, markdown
from scipy import stats

import relbounds as rb

FIRST_SEED = 20_000
QUICK = {"probes": 4, "repeats": 1, "folds": 2, "trees": 10, "progress": False}


def no_relation(rng: np.random.Generator, n: int, correlation: float) -> tuple[pd.DataFrame, set[str]]:
    """Five correlated features and a factor of three levels, all noise."""
    common = rng.normal(size=(n, 1))
    X = np.sqrt(1 - correlation) * rng.normal(size=(n, 5)) + np.sqrt(correlation) * common
    data = pd.DataFrame(X, columns=[f"x{k}" for k in range(1, 6)])
    data["site"] = rng.choice(list("ABC"), n)
    data["y"] = rng.integers(1, 4, n)
    return data, set()


def beside_relations(rng: np.random.Generator, n: int, correlation: float) -> tuple[pd.DataFrame, set[str]]:
    """The same noise, one feature that counts by its square, one by its sign."""
    data, _ = no_relation(rng, n, correlation)
    data["a"], data["b"] = rng.normal(size=n), rng.normal(size=n)
    score = data["a"] ** 2 + 1.5 * data["b"] + rng.normal(size=n)
    data["y"] = pd.qcut(score, 3, labels=False) + 1
    return data, {"a", "b"}


SETTINGS = {
    "no relation": (no_relation, 60, 0.0),
    "no relation, correlation 0.5": (no_relation, 60, 0.5),
    "beside relations": (beside_relations, 120, 0.0),
    "beside relations, correlation 0.5": (beside_relations, 120, 0.5),
}


def measure(name: str, fits: int, first: int) -> dict[str, object]:
    """Fit one setting so many times."""
    make, n, correlation = SETTINGS[name]
    wrong, found, began = 0, 0.0, time.process_time()
    for seed in range(first, first + fits):
        data, truth = make(np.random.default_rng(seed), n, correlation)
        chosen = set(rb.forest_relevance("y ~ .", data, seed=seed, **QUICK).selected())
        wrong += bool(chosen - truth)
        found += len(chosen & truth) / max(len(truth), 1)
    low = stats.beta.ppf(0.025, wrong, fits - wrong + 1) if wrong else 0.0
    high = stats.beta.ppf(0.975, wrong + 1, fits - wrong)
    return {
        "setting": name,
        "n": n,
        "fits": fits,
        "with a false positive": wrong,
        "share": f"{wrong / fits:.3f}",
        "95 % interval": f"{low:.3f} to {high:.3f}",
        "real terms found": f"{found / fits:.2f}" if make is beside_relations else "-",
        "seconds a fit": f"{(time.process_time() - began) / fits:.2f}",
    }


def main() -> None:
    """Measure the settings asked for and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=FIRST_SEED)
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS))
    args = parser.parse_args()
    rows = []
    for name in args.settings:
        rows.append(measure(name, args.fits, args.seed))
        print(rows[-1], flush=True)
    text = f"# forest_relevance() at its default alpha = 0.05\n\n{markdown(pd.DataFrame(rows))}\n"
    (RESULTS / "forest_calibration.md").write_text(text)


if __name__ == "__main__":
    main()
