"""The methods paragraph of a non-linear relevance analysis."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from relbounds.errors import counted
from relbounds.show.citations import SEQUENTIAL, THESIS, list_references
from relbounds.show.settings import settings_of
from relbounds.version import __version__

if TYPE_CHECKING:
    from relbounds.forest.results import ForestResults

STEPS = {
    "removal": "The held-out loss of the model was compared with that of models without each term, and without the "
    "term and those that can stand in for it. A term is strong if the loss rises when it is removed or if the model "
    "uses it and the others cannot predict it, weak if it has stand-ins; all others are not distinguishable from "
    "noise, that is, from permuted terms.",
    "sequential": "Relevant terms were found by comparison with shadow features and by a sparse forest; those whose "
    f"removal raises the loss beyond what noise does are strong, the others weak ({SEQUENTIAL.cited}). All others "
    "are not distinguishable from noise.",
}


def forest_methods(fit: ForestResults) -> str:
    """Return what was done, in words that a journal accepts, and the references under it."""
    design = fit.design
    dropped = (
        f" ({counted(design.n_dropped, 'further row')} with missing values left out)"
        if design.n_dropped
        else ""
    )
    settings = ", ".join(f"{name} {value}" for name, value in settings_of(fit.options) if name != "method")
    text = (
        f"The relevance of {counted(len(fit.table), 'term')} for the {design.family} response {design.response} was "
        f"measured with a {fit._found.learner} model on {counted(len(design.y), 'observation')}{dropped}. "
        f"{STEPS[fit.method]} Settings: {settings}. Computations were done with relbounds {__version__} under Python "
        f"{platform.python_version()}; the formula was {design.formula}."
    )
    return f"{text}\n\n{list_references((THESIS, SEQUENTIAL))}"
