"""Every public function and method says what it takes, what it gives, and shows itself at work."""

import inspect
import re
from importlib import import_module

import pytest

import relbounds as rb

# What a user holds, whether by name or as the answer to a question.
KINDS = {
    **{
        kind.__name__: kind for kind in (rb.RelboundsResults, rb.SvorResults, rb.ForestResults, rb.Comparison)
    },
    **{
        name.rpartition(".")[2]: getattr(
            import_module(f"relbounds.{name.rpartition('.')[0]}"), name.rpartition(".")[2]
        )
        for name in (
            "explore.together.Together",
            "explore.groups.Groups",
            "explore.cheapest.Choice",
            "explore.sweep_delta.Sweep",
            "explore.stability.Stability",
            "explore.risk.RiskBound",
            "term_groups.TermGroups",
        )
    },
}


def members(kind):
    """Return what a class has, inherited or not, without calling anything."""
    return {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}


def functions():
    for name in rb.__all__:
        thing = getattr(rb, name)
        if inspect.isfunction(thing):
            yield pytest.param(thing, id=name)
        elif inspect.ismodule(thing):
            for inner in thing.__all__:
                if inspect.isfunction(getattr(thing, inner)):
                    yield pytest.param(getattr(thing, inner), id=f"{name}.{inner}")
    for name, kind in KINDS.items():
        for member, method in members(kind).items():
            method = getattr(method, "__func__", method)  # class methods
            if inspect.isfunction(method):
                yield pytest.param(method, id=f"{name}.{member}")


def facts():
    for name, kind in KINDS.items():
        for member, fact in members(kind).items():
            if isinstance(fact, property) or hasattr(fact, "attrname"):
                yield pytest.param(getattr(fact, "func", None) or fact.fget, id=f"{name}.{member}")


@pytest.mark.parametrize("function", list(functions()))
def test_parameters_returns_examples(function):
    said = inspect.getdoc(function) or ""
    takes = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    assert "Returns\n-------" in said
    assert ">>> " in said
    if takes:
        assert "Parameters\n----------" in said
        for name in takes:
            assert explained(name, said), f"{name} is not explained"


def explained(name, said):
    """Whether a name has a line of its own, alone or with others, among the parameters."""
    section = said.partition("Parameters\n----------\n")[2].partition("Returns\n---")[0]
    return re.search(rf"^(?:[\w*, ]+, )?\**{name}(?:, [\w*, ]+)?(?: :|$)", section, re.M) is not None


def test_what_counts_as_explained():
    said = "Draw.\n\nParameters\n----------\nmax : int\n    The most.\nb, c : float\n    Two.\n\nReturns\n-------\nAxes"
    assert all(explained(name, said) for name in ("max", "b", "c"))
    assert not any(explained(name, said) for name in ("ax", "The", "Axes"))


@pytest.mark.parametrize("fact", list(facts()))
def test_facts_say_what_they_are(fact):
    assert (inspect.getdoc(fact) or "").strip()


def test_help_of_the_figure_lists_every_option():
    said = inspect.getdoc(rb.RelboundsResults.plot)
    for name in inspect.signature(rb.RelboundsResults.plot).parameters:
        assert name == "self" or explained(name, said)


def test_what_a_fit_carries_is_explained():
    data = rb.simulate.paper_set(3, seed=1)
    fits = (
        rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr"),
        rb.svor("y ~ x1 + x2", data.data, kernel="linear", C=1.0, solver="qp"),
        rb.forest_relevance("y ~ x1 + x2", data.data, repeats=1, probes=10),
    )
    for fit in fits:
        said = inspect.getdoc(type(fit)).partition("Attributes\n----------\n")[2]
        carried = [name for name in vars(fit) if not name.startswith("_") and not hasattr(type(fit), name)]
        assert "table" in carried
        assert [name for name in carried if not re.search(rf"^{name} :", said, re.M)] == []
    assert all(f"`{name}`" in inspect.getdoc(rb.RelboundsResults) for name in fits[0].table.columns)
