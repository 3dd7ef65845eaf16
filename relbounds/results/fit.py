"""The class of a linear fit, with everything it can do."""

from __future__ import annotations

from relbounds.results.report import ReportedFit


class RelboundsResults(ReportedFit):
    """Relevance intervals of every term, with the model they were measured on.

    Made by :func:`relbounds.relbounds`; nothing here changes after the fit.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
    >>> fit.selected("strong")
    ['x1', 'x2', 'x3']
    """
