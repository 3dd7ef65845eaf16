"""Where the time of a default fit goes, step by step, beside what its arithmetic alone would take.

    python benchmarks/where_time_goes.py              # the paper's set 7, with and without noise, and a real table
    python benchmarks/where_time_goes.py --sets 1 8 --tables

The floor of a step is the number of its floating point operations in Gram matrices, factors and products with the
rows, over the speed of this machine's matrix products, measured in the same run. What is left between the two is
memory, small arrays and Python. Processor seconds; set OMP_NUM_THREADS=1 so that one thread works.
"""

from __future__ import annotations

import argparse
import functools
import warnings
from collections.abc import Iterator
from time import process_time

import numpy as np
import pandas as pd
from common import provenance, write
from real_speed import table_of

import relbounds as rb
import relbounds.linear.fit as steps
from relbounds.linear.noise import ahead, fwer, judge
from relbounds.solver import predictor_corrector as interior

STEPS = (
    (steps, "tune_beside", "tuning: C and order by 5 folds"),
    (steps, "fit_baseline", "best model"),
    (steps, "tolerance_and_tests", "tolerance: 40 resampled models"),
    (ahead, "scores_of", "tests by scores"),
    (steps, "measure_sets", "bounds"),
    (judge, "own_effects", "tests of effects of their own"),
    (judge, "row_p_values", "tests of levels"),
    (fwer, "_refits", "19 refits of noise"),
)


class Watch:
    """Seconds and operations by step; those of an inner step are not counted again in the outer one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.operations: dict[str, float] = {}
        self.at = ["the rest"]
        self.inner = [0.0]

    def around(self, module, name: str, label: str) -> None:  # type: ignore[no-untyped-def]
        """Have a function's time counted under a label."""
        inner = getattr(module, name)

        @functools.wraps(inner)
        def outer(*args, **kwargs):  # type: ignore[no-untyped-def]
            first = process_time()
            self.at.append(label)
            self.inner.append(0.0)
            try:
                return inner(*args, **kwargs)
            finally:
                self.at.pop()
                taken = process_time() - first
                self.seconds[label] = self.seconds.get(label, 0.0) + taken - self.inner.pop()
                self.inner[-1] += taken

        setattr(module, name, outer)

    def count(self) -> None:
        """Have the operations of every iteration counted."""
        inner = interior._advance

        @functools.wraps(inner)
        def outer(core, at, *args):  # type: ignore[no-untyped-def]
            rows, q = core.rows + core.a.size, core.q
            each = rows * q * (q + 1) + q**3 / 3 + 4 * q * q + 12 * rows * q
            here = self.at[-1]
            self.operations[here] = self.operations.get(here, 0.0) + len(at.v) * each
            return inner(core, at, *args)

        interior._advance = outer


def speed(n: int = 400) -> float:
    """Return the operations a second of a matrix product."""
    A = np.random.default_rng(0).normal(size=(n, n))
    best = np.inf
    for _ in range(20):
        first = process_time()
        A @ A
        best = min(best, process_time() - first)
    return 2 * n**3 / best


def scenes(sets: list[int], tables: list[str]) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Give a title, a formula and data of every fit that is looked at."""
    for number in sets:
        for noise in (0.0, 0.5):
            title = f"Set {number}, {'noisy' if noise else 'clean'}"
            yield title, "y ~ .", rb.simulate.paper_set(number, noise=noise, seed=0).data
    for name in tables:
        data, formula, *_ = table_of(name)
        yield f"Table {name}, {len(data)} rows", formula, data


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="*", type=int, default=[7])
    parser.add_argument("--tables", nargs="*", default=["recidivism"])
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    small = rb.simulate.paper_set(1)
    rb.relbounds(small.formula, small.data, progress=False)  # imports and caches
    watch = Watch()
    for module, name, label in STEPS:
        watch.around(module, name, label)
    watch.count()
    rate = speed()
    lines = ["# Where the time of a default fit goes"]
    for title, formula, data in scenes(args.sets, args.tables):
        watch.seconds.clear()
        watch.operations.clear()
        first = process_time()
        rb.relbounds(formula, data, seed=0, progress=False)
        total = process_time() - first
        lines += [
            "",
            f"## {title}: {total:.2f} s",
            "",
            "| step | seconds | share | floor |",
            "|---|---|---|---|",
        ]
        rest = total - sum(watch.seconds.values())
        found = [*((label, watch.seconds.get(label, 0.0)) for _, _, label in STEPS), ("the rest", rest)]
        for label, seconds in found:
            done = watch.operations.get(label)
            floor = f"{done / rate:.3f} s" if done else ""
            lines.append(f"| {label} | {seconds:.3f} | {100 * seconds / total:.0f} % | {floor} |")
    lines += [
        "",
        f"Floor: operations at {rate / 1e9:.0f} GFlop/s, the speed of a 400 x 400 matrix product here.",
        "",
    ]
    lines.append(
        provenance("python benchmarks/where_time_goes.py", "0", ("relbounds", "numpy", "scipy", "pandas"))
    )
    write("where_time_goes", "\n".join(lines))


if __name__ == "__main__":
    main()
