"""Ten fits of every kind give the tables they gave before: moving code changes no number."""

import json
import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "fixtures"))
from make_stored_fits import STORED, as_json, frames

EXPECTED = json.loads(STORED.read_text())


@pytest.fixture(scope="module")
def found():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: as_json(frame) for name, frame in frames().items()}


@pytest.mark.parametrize("name", list(EXPECTED))
def test_a_stored_fit_gives_its_table(found, name):
    assert list(found[name]) == list(EXPECTED[name])
    for column, expected in EXPECTED[name].items():
        for one, other in zip(found[name][column], expected, strict=True):
            if other.startswith(("0x", "-0x")):
                # another processor's BLAS may round the last digits otherwise
                assert float.fromhex(one) == pytest.approx(float.fromhex(other), rel=1e-5, abs=1e-6)
            else:
                assert one == other
