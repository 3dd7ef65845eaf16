"""Formula and data in, arrays out.

Gets a formula and a table. Gives a :class:`Design`: features as arrays, with names, terms, levels and scales, which
applies itself to new rows. Knows nothing of models.
"""

from relbounds.design.design import Design
from relbounds.design.design_terms import DesignTerm
from relbounds.design.from_arrays import design_from_arrays
from relbounds.design.from_formula import make_design

__all__ = ["Design", "DesignTerm", "design_from_arrays", "make_design"]
