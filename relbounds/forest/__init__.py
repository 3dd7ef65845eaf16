"""Relevance where the relation need not be a straight line: strong, weak and irrelevant features by forests.

LightGBM and Boruta are optional: nothing here imports them before they are used.
"""

from relbounds.forest.api import forest_design, forest_relevance
from relbounds.forest.results import ForestResults

__all__ = ["ForestResults", "forest_design", "forest_relevance"]
