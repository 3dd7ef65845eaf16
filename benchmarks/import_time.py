"""How long the package takes to load, beside another checkout: processor time of a fresh interpreter.

``python benchmarks/import_time.py OTHER`` with the folder of the other checkout. Three lines: importing the package;
importing it and reaching for the front door; ``relbounds --help``. The libraries that nothing can do without (pandas,
patsy, scipy.linalg) are timed as well: no import can be faster than what it needs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
TASKS = {
    "import relbounds": "import relbounds",
    "relbounds.relbounds": "import relbounds; relbounds.relbounds",
    "relbounds --help": "import contextlib\nwith contextlib.suppress(SystemExit):\n"
    "    from relbounds.cli import main\n    main(['--help'])",
}
NEEDED = "import pandas, patsy, scipy.linalg"
TIMED = """
import os, sys, time
sys.stdout = open(os.devnull, "w")
start = time.process_time()
{code}
print(time.process_time() - start, file=sys.stderr)
"""


def seconds(code: str, folder: Path, repeats: int) -> float:
    """Return the median processor time of a piece of code in fresh interpreters."""
    env = {**os.environ, "PYTHONPATH": str(folder)}
    found = []
    for _ in range(repeats + 1):
        call = [sys.executable, "-c", TIMED.format(code=code)]
        out = subprocess.run(call, env=env, cwd=folder, capture_output=True, text=True, check=True)
        found.append(float(out.stderr.split()[-1]))
    return statistics.median(found[1:])  # the first one may write byte code


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", help="another checkout of the project")
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    print(f"{'needed libraries':24} {seconds(NEEDED, HERE, given.repeats):8.3f} s")
    for name, code in TASKS.items():
        own = seconds(code, HERE, given.repeats)
        line = f"{name:24} {own:8.3f} s"
        if given.other is not None:
            other = seconds(code, given.other.resolve(), given.repeats)
            line += f"   other {other:8.3f} s   {other / own:5.1f} times faster"
        print(line)


if __name__ == "__main__":
    main()
