"""Formula and data in, arrays out.

Gets a formula and a table. Gives a :class:`Design`: features as arrays, with names, terms, levels and scales, which
applies itself to new rows. Knows nothing of models.

The way of a formula: `tokens` and `formula_terms` take it apart, `formula` reads it against the columns of the data.
`user_data`, `weights` and `observations` check rows and what goes with them; `factors`, `factor_columns` and
`term_columns` compute the columns of every term; `complete_rows` drops what has gaps; `scales` and `part` scale the
columns and describe the terms (`design_terms`); `censored`, `response` and `read_response` do the left-hand side.
`from_formula` and `from_arrays` lead through these steps, and `from_parts` puts the `design` together. `new_rows`
computes the same columns for new rows, `stored_factors` says how files hold a formula's functions, and `safe_formula`
what a formula from a stranger may hold.
"""

from relbounds.design.design import Design
from relbounds.design.design_terms import DesignTerm
from relbounds.design.from_arrays import design_from_arrays
from relbounds.design.from_formula import make_design

__all__ = ["Design", "DesignTerm", "design_from_arrays", "make_design"]
