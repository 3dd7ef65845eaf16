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
    "term and those that can stand in for it. A relevant term is strong if the loss rises when it is removed or if the "
    "others cannot predict it, weak if it has stand-ins; all others are not distinguishable from noise.",
    "sequential": "Relevant terms were found by comparison with shadow features and by a sparse forest; those whose "
    f"removal raises the loss beyond what noise does are strong, the others weak ({SEQUENTIAL.cited}). All others "
    "are not distinguishable from noise.",
}
JUDGED = {
    "fwer": "Terms are relevant if a forest gains more from them than from any of the terms in question after a joint "
    "permutation of their rows ({forests} forests), the chance of any false positive being at most {alpha:g}. ",
    "fdr": "Terms are relevant if a forest gains more from them than from permuted ones ({forests} forests), the "
    "expected share of false positives being at most {alpha:g} (Benjamini and Hochberg). ",
    "published": "",
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
    model = "a forest"
    if fit.method == "removal":
        model = "boosted trees on a linear score" if fit._found.linear else "boosted trees"
    text = (
        f"The relevance of {counted(len(fit.table), 'term')} for the {design.family} response {design.response} was "
        f"measured with {model} on {counted(len(design.y), 'observation')}{dropped}. "
        f"{JUDGED[fit.options['control']].format(alpha=fit.options['alpha'], forests=fit._found.forests)}"
        f"{STEPS[fit.method]} Settings: {settings}. Computations were done with relbounds {__version__} under Python "
        f"{platform.python_version()}; the formula was {design.formula}."
    )
    return f"{text}\n\n{list_references((THESIS, SEQUENTIAL))}"
