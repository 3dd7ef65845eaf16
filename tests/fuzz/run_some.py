"""Compare many problems and show the worst: ``python tests/fuzz/run_some.py FIRST LAST``."""

from __future__ import annotations

import sys
import time
import traceback

from fuzz_compare import PROMISED, compare
from fuzz_problems import make_problem


def main() -> None:
    first, last = (int(text) for text in sys.argv[1:3])
    start, bad = time.process_time(), 0
    for seed in range(first, last):
        problem = make_problem(seed)
        try:
            found = compare(problem)
        except Exception:
            bad += 1
            print(problem)
            print("   ", traceback.format_exc().splitlines()[-1])
            continue
        if not (found.objective <= PROMISED and found.bounds <= PROMISED):
            bad += 1
            print(problem)
            print(f"    objective {found.objective:.1e}, bounds {found.bounds:.1e} {found.worst}")
            print(f"    proved to {found.certificate:.0e}")
    print(f"{bad} of {last - first} differ; {time.process_time() - start:.0f} s")


if __name__ == "__main__":
    main()
