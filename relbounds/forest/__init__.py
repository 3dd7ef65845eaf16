"""Relevance where the relation need not be a straight line: strong, weak and irrelevant terms by forests.

Gets a design; gives a table with one row a term. ``block_test`` says which terms are distinguishable from noise,
``removal`` what their absence costs and what stands in for them (``importance``, ``cluster`` and ``learner`` do its
work), ``sequential`` is the published method. LightGBM and Boruta are optional: nothing here imports them before they
are used.
"""

from relbounds.forest.api import forest_design, forest_relevance
from relbounds.forest.results import ForestResults

__all__ = ["ForestResults", "forest_design", "forest_relevance"]
