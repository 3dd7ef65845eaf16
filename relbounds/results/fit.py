"""The class of a linear fit, with everything it can do."""

from __future__ import annotations

from relbounds.results.report import ReportedFit


class RelboundsResults(ReportedFit):
    """Relevance intervals of every term, with the model they were measured on.

    Made by :func:`relbounds.relbounds`; nothing here changes after the fit.

    Attributes
    ----------
    table : DataFrame
        A row for each term and, under a factor or a term with several columns, one for each of its levels or columns;
        index `feature`. `part` ("regular", "adjust", "privileged"), `term`, `row` ("term", "level", "column");
        `weight` of the best model; `lower` and `upper`, the least and the most that any equally good model uses it
        (of a factor: its largest contrast), and `signed_lower`, `signed_upper`, the range of the weight itself (of a
        level: of its deviation from the average level), all as shares of the best model's norm; `p_noise`, the chance
        that noise looks as relevant as this one, and `p_adjusted`, which holds for all terms together; `relevance`
        ("strong", "weak", "irrelevant"); `direction` ("+", "-", or "?" where equally good models differ). `screened`
        is there where some rows were only proved to stay below noise: their `upper` is a limit, not the exact bound.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
    >>> fit.selected("strong")
    ['x1', 'x2', 'x3']
    """
