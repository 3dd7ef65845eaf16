"""Make severity.csv and severity_truth.csv: a simulated study of disease severity whose truth is known.

Run from anywhere: python data-raw/make_severity.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).resolve().parents[1] / "relbounds" / "datasets"
SEED = 20
N = 300
LEVELS = ("none", "mild", "moderate", "severe")
SHARES = (0.30, 0.30, 0.25, 0.15)
MISREAD = 0.08  # share of patients graded one step off

TRUTH = {
    "age": ("regular", "strong"),
    "stiffness": ("regular", "strong"),
    "platelets": ("regular", "strong"),
    "crp": ("regular", "weak"),
    "esr": ("regular", "weak"),
    "il6": ("regular", "weak"),
    "bmi": ("regular", "irrelevant"),
    "pulse": ("regular", "irrelevant"),
    "sodium": ("regular", "irrelevant"),
    "sex": ("regular", "irrelevant"),
    "biopsy": ("privileged", "strong"),
    "followup": ("privileged", "strong"),
}


def make(seed: int = SEED, n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    ageing, stiff, thrombo, inflamed = rng.standard_normal((4, n))
    organ = 1.1 * stiff + 1.0 * inflamed  # what a biopsy sees
    decline = 1.0 * ageing - 1.0 * thrombo  # what a year of follow-up shows
    score = organ + decline

    level = np.searchsorted(np.quantile(score, np.cumsum(SHARES)[:-1]), score)
    misread = rng.choice(n, size=round(MISREAD * n), replace=False)
    step = np.where(rng.random(len(misread)) < 0.5, -1, 1)
    step = np.where(level[misread] == 0, 1, np.where(level[misread] == len(LEVELS) - 1, -1, step))
    level[misread] += step

    def reading(clean: np.ndarray, error: float, mean: float, sd: float, digits: int) -> np.ndarray:
        """Give a clean standard quantity, read with an error, in the units of the clinic."""
        noisy = (clean + error * rng.standard_normal(n)) / np.hypot(1.0, error)
        values = np.round(mean + sd * noisy, digits)
        return values if digits else values.astype(int)

    idle = np.zeros(n)
    data = pd.DataFrame(
        {
            "severity": np.array(LEVELS)[level],
            "age": reading(ageing, 0.1, 56.0, 9.0, 1),
            "sex": rng.choice(["female", "male"], size=n),
            "bmi": reading(idle, 1.0, 26.5, 3.5, 1),
            "pulse": reading(idle, 1.0, 72.0, 9.0, 0),
            "sodium": reading(idle, 1.0, 140.0, 2.5, 1),
            "platelets": reading(thrombo, 0.1, 220.0, 45.0, 0),
            "stiffness": reading(stiff, 0.1, 9.0, 2.2, 2),
            "crp": reading(inflamed, 0.25, 14.0, 3.5, 1),
            "esr": reading(inflamed, 0.25, 28.0, 7.0, 0),
            "il6": reading(inflamed, 0.25, 16.0, 4.0, 1),
            "biopsy": np.round(5.0 + 1.2 * (organ + 0.1 * rng.standard_normal(n)), 2),
            "followup": np.round(-(decline + 0.1 * rng.standard_normal(n)), 2),
        }
    )
    return data


def main() -> None:
    data = make()
    data.to_csv(HERE / "severity.csv", index=False, lineterminator="\n")
    truth = pd.DataFrame([(k, *v) for k, v in TRUTH.items()], columns=["feature", "part", "relevance"])
    truth.to_csv(HERE / "severity_truth.csv", index=False, lineterminator="\n")
    print(f"severity.csv: {len(data)} rows; {data['severity'].value_counts().to_dict()}")


if __name__ == "__main__":
    main()
