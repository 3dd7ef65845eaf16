"""Every public method of a result says what it takes, what it gives, and shows itself at work."""

import inspect

import pytest

import relbounds as rb
from relbounds.protocol import Results
from relbounds.show.comparison import compare_fits

KINDS = (Results, rb.RelboundsResults, rb.SvorResults, rb.ForestResults)
# Their words come from statsmodels, or they only say what a subclass must do.
BARE = {"plot", "predict", "score"}


def public_methods():
    for kind in KINDS:
        for name, method in vars(kind).items():
            if name.startswith("_") or not inspect.isfunction(method):
                continue
            if kind is Results and name in BARE:
                continue
            yield pytest.param(method, id=f"{kind.__name__}.{name}")
    yield pytest.param(compare_fits, id="compare_fits")


@pytest.mark.parametrize("method", list(public_methods()))
def test_parameters_returns_examples(method):
    said = inspect.getdoc(method) or ""
    takes = [name for name in inspect.signature(method).parameters if name != "self"]
    assert "Returns\n-------" in said
    assert ">>> " in said
    if takes:
        assert "Parameters\n----------" in said
        for name in takes:
            assert name in said, f"{name} is not explained"
