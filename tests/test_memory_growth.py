"""Fits leave nothing behind: 200 of them in one process need no more memory than a few."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

FITS = """
import json, os, warnings
import relbounds as rb

warnings.simplefilter("ignore")


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


data = rb.simulate.draw("ordinal", 80, 2, 2, 2, noise=0.5, seed=1)
factor = data.data.assign(site=[f"s{i % 3}" for i in range(80)])
sizes = []
for i in range(200):
    formula = data.formula + " + C(site)" if i % 2 else data.formula
    fit = rb.relbounds(formula, factor, seed=i, progress=False)
    if i % 4 == 0:
        fit.constrain({"x3": (None, 0.9 * fit.table.loc["x3", "upper"])})
    sizes.append(resident())
print(json.dumps(sizes))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_two_hundred_fits_do_not_let_memory_grow():
    done = subprocess.run([sys.executable, "-c", FITS], capture_output=True, text=True, check=True)
    sizes = json.loads(done.stdout.splitlines()[-1])
    # what the first fits load and keep for the next ones is there by then
    assert max(sizes[150:]) - max(sizes[40:50]) < 5.0, sizes[::10]
