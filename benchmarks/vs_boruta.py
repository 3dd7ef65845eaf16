"""relbounds and boruta_py on the same sets: processor seconds of one thread.

    python benchmarks/vs_boruta.py --sets 1 4 5 8

boruta 0.4.3 with the forest its authors suggest runs in the peer's environment of vs_fri.py.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import vs_fri

RESULTS = Path(__file__).resolve().parent / "results"
PEER = """
import json, sys, time, warnings
import numpy as np
warnings.filterwarnings("ignore")
from boruta import BorutaPy
from sklearn.ensemble import RandomForestClassifier
stored = np.load(sys.argv[1])
forest = RandomForestClassifier(n_jobs=1, class_weight="balanced", max_depth=5, random_state=0)
first = time.process_time()
BorutaPy(forest, n_estimators="auto", random_state=0).fit(stored["X"], stored["y"])
print(json.dumps({"seconds": time.process_time() - first}))
"""


def main() -> None:
    import numpy as np
    import pandas as pd

    from relbounds.simulate import paper_set

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="*", type=int, default=[1, 2, 3, 4, 5, 6, 7, 8])
    args = parser.parse_args()
    python = vs_fri.make_environment()
    stream = RESULTS / "vs_boruta.csv"
    RESULTS.mkdir(exist_ok=True)
    rows = pd.read_csv(stream).to_dict("records") if stream.exists() else []
    for number in args.sets:
        for noise in (0.0, 0.5):
            simulated = paper_set(number, noise=noise, seed=0)
            features = [c for c in simulated.data.columns if c in simulated.truth.index]
            response = next(c for c in simulated.data.columns if c not in simulated.truth.index)
            codes = pd.Categorical(simulated.data[response]).codes.astype(int)
            seconds, _ = vs_fri.ours(simulated.data, "default", vs_fri.ROOT)
            with tempfile.NamedTemporaryFile(suffix=".npz") as file:
                np.savez(file, X=simulated.data[features].to_numpy(float), y=codes)
                file.flush()
                done = subprocess.run(
                    [str(python), "-c", PEER, file.name], capture_output=True, text=True, check=True
                )
            label = f"{number} {'noisy' if noise else 'clean'}"
            row = {"set": label, "boruta": json.loads(done.stdout)["seconds"], "relbounds": seconds}
            row["ratio"] = row["boruta"] / row["relbounds"]
            rows = [other for other in rows if other["set"] != label] + [row]
            print(json.dumps(row), flush=True)
            pd.DataFrame(rows).to_csv(stream, index=False)
    table = pd.DataFrame(rows).sort_values("set")
    print("| set | boruta | relbounds | ratio |\n|---|---|---|---|")
    for row in table.to_dict("records"):
        print(f"| {row['set']} | {row['boruta']:.1f} s | {row['relbounds']:.2f} s | {row['ratio']:.0f} |")
    figure_of(table)


def figure_of(table) -> None:  # type: ignore[no-untyped-def]
    import matplotlib.pyplot as plt
    import numpy as np

    figure, axes = plt.subplots(figsize=(7, 3.5), constrained_layout=True)
    places = np.arange(len(table))
    axes.bar(places - 0.2, table["boruta"], 0.4, label="boruta")
    axes.bar(places + 0.2, table["relbounds"], 0.4, label="relbounds")
    axes.set_yscale("log")
    axes.set_xticks(places, table["set"], rotation=60, ha="right")
    axes.set_ylabel("seconds, one thread")
    axes.legend(frameon=False)
    figure.savefig(RESULTS / "vs_boruta.png", dpi=150)


if __name__ == "__main__":
    main()
