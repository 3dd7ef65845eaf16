"""Make breast_cancer.csv from the copy that scikit-learn carries: python data-raw/make_breast_cancer.py."""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_breast_cancer

HERE = Path(__file__).resolve().parents[1] / "relbounds" / "datasets"


def main() -> None:
    source = load_breast_cancer(as_frame=True)
    data = source.data.rename(columns=lambda name: name.replace(" error", "_se").replace(" ", "_"))
    # scikit-learn codes malignant as 0; words leave no doubt
    data.insert(0, "diagnosis", source.target.map({0: "malignant", 1: "benign"}))
    data.to_csv(HERE / "breast_cancer.csv", index=False, lineterminator="\n", float_format="%.6g")
    print(f"breast_cancer.csv: {data.shape[0]} rows, {data.shape[1] - 1} features")


if __name__ == "__main__":
    main()
