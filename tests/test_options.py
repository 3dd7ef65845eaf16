import math

import numpy as np
import pytest

from relbounds.errors import OptionError
from relbounds.options import Options, make_options


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"C": 0}, "C=0 must be a finite number, positive"),
        ({"C": -1.0}, "C=-1.0"),
        ({"C": []}, "C is an empty sequence"),
        ({"C": [1.0, math.nan]}, "C=nan"),
        ({"C": "large"}, "C='large'"),
        ({"epsilon": -0.1}, "epsilon=-0.1"),
        ({"delta": -0.001}, "delta=-0.001"),
        ({"delta": "3se"}, "'1se' or '2se'"),
        ({"level": 1.0}, "level=1.0 must lie strictly between 0 and 1"),
        ({"level": 0}, "level=0"),
        ({"probes": 1}, "probes=1"),
        ({"probes": 2.5}, "probes=2.5"),
        ({"cv": 1}, "cv=1"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"seed": -1}, "seed=-1"),
        ({"order": "explict"}, "Did you mean 'explicit'"),
        ({"tolerance": "both"}, "'split' or 'joint'"),
        ({"solver": "gurobi"}, "solver='gurobi'"),
        ({"residual": 0.5}, "residual=0.5"),
        ({"probe": 10}, "Did you mean 'probes'"),
    ],
)
def test_senseless_options_are_named(given, words):
    with pytest.raises(OptionError) as caught:
        make_options(**given)
    assert words in str(caught.value)


def test_whole_numbers_may_come_as_doubles():
    options = make_options(probes=20.0, seed=3.0, C=np.array([0.1, 1.0]))
    assert options.probes == 20 and options.seed == 3 and options.C == (0.1, 1.0)


def test_options_round_trip():
    options = Options(C=(0.1, 1.0), delta=0.01)
    assert make_options(**options.as_dict()) == options
    assert options.replace(delta="2se").delta == "2se"
