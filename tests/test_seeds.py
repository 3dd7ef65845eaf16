import re
from pathlib import Path

import numpy as np
import pytest

import relbounds
from relbounds.seeds import STREAMS, stream

PACKAGE = Path(relbounds.__file__).parent


def test_streams_have_numbers_of_their_own():
    assert len(set(STREAMS.values())) == len(STREAMS)
    first = {name: stream(7, name).random(4).tolist() for name in STREAMS}
    assert len({tuple(v) for v in first.values()}) == len(STREAMS)


def test_streams_are_those_of_the_stored_fits():
    assert stream(5, "folds").random() == np.random.default_rng([5, 0]).random()
    assert stream(5, "privileged probes", 9).random() == np.random.default_rng([5, 2, 9]).random()


def test_an_unknown_stream_is_an_error():
    with pytest.raises(KeyError):
        stream(0, "luck")


def test_nobody_makes_a_generator_from_the_users_seed_by_hand():
    made = re.compile(r"default_rng\(\[")
    for path in PACKAGE.rglob("*.py"):
        if path.name != "seeds.py":
            assert not made.search(path.read_text()), path
