"""What the user holds after a non-linear relevance analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from relbounds.checks import choice
from relbounds.design import Design
from relbounds.forest.facts import Found
from relbounds.forest.groups import ForestGroups, make_groups, span_of
from relbounds.forest.options import ForestOptions
from relbounds.forest.predictions import ForestModel, predict, score
from relbounds.protocol import Results
from relbounds.show.facts import Facts

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ForestResults(Results):
    """Non-linear relevance of every feature, with the tests it rests on.

    Made by :func:`relbounds.forest_relevance`.

    Attributes
    ----------
    table : DataFrame
        Index `feature`. `lower`: what the held-out loss rises by when the feature is removed; `upper`: the
        same when its stand-ins are gone as well; both as shares of what all features explain (loss of the
        best constant prediction minus loss of the model). `importance` and `removal_loss` (in units of the
        loss) with the upper ends of their prediction intervals for noise, `importance_noise` and
        `removal_noise`; `replaceable` (share of the feature that the others predict), `p_noise` and
        `p_adjusted` (the chance that noise is as important); `group`; `relevance`.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1)
    >>> fit = rb.forest_relevance(data.formula, data.data, repeats=1, probes=10)
    >>> fit.selected("strong")
    ['x1', 'x2', 'x3']
    """

    _title = "forest relevance"
    _kind = "forest"
    _made_of = (Design, Found, ForestOptions)

    def __init__(self, design: Design, found: Found, options: ForestOptions) -> None:
        super().__init__(design, make_table(design, found), found.notes)
        self._found, self._options = found, options

    @property
    def method(self) -> str:
        """The method: "removal" or "sequential"."""
        return self._options.method

    @property
    def options(self) -> dict[str, Any]:
        """The options that the numbers depend on, and `n_jobs`."""
        return {name: value for name, value in vars(self._options).items() if name != "progress"}

    @property
    def loss(self) -> float:
        """The loss of the model with all features (held out; sequential method: on the training rows)."""
        return self._found.loss

    @property
    def unit(self) -> float:
        """What `lower` and `upper` are shares of: the part of the loss that the features explain."""
        return span_of(self._found)

    @property
    def intervals(self) -> pd.DataFrame:
        """The prediction intervals of noise for importance and removal loss."""
        pair = {"importance": self._found.importance_noise, "removal_loss": self._found.removal_noise}
        frame = pd.DataFrame(
            {
                name: {"lower": i.lower, "upper": i.upper, "level": i.level, "probes": i.m}
                for name, i in pair.items()
            }
        ).T
        return frame.astype({"probes": int}).rename_axis("bound")

    def groups(self) -> ForestGroups:
        """Return the groups of stand-ins: removing one member costs nothing, removing all of them does.

        Strong terms are groups of their own, and irrelevant ones form one.

        Returns
        -------
        ForestGroups

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1)
        >>> fit = rb.forest_relevance(data.formula, data.data, repeats=1, probes=10)
        >>> fit.groups().members[4]
        ['x4', 'x5', 'x6', 'x7']
        """
        return make_groups(self.table, self._found)

    # -- predictions ---------------------------------------------------------------------------------------

    def predict(self, newdata: Any = None, type: str = "class") -> pd.Series | pd.DataFrame:
        """Predict levels, numbers or probabilities by a model of all terms.

        Parameters
        ----------
        newdata : DataFrame, optional
            With the columns that the formula reads; None means the training rows.
        type : {"class", "score", "prob"}
            Levels (or numbers); the number behind an ordered level; or the probability of each level, for ordered ones
            by a proportional-odds model of held-out scores.

        Returns
        -------
        Series or DataFrame
            Rows with missing values get a missing prediction. Probabilities have one column a level.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.forest_relevance(data.formula, data.data, repeats=1, probes=4)
        >>> fit.predict(data.data.head(3), type="prob").shape
        (3, 2)
        """
        return predict(self._model, newdata, choice("type", type, ("class", "score", "prob")))

    def score(self, newdata: Any = None) -> float:
        """Return the family's score: MMAE, weighted F1 or R squared.

        Parameters
        ----------
        newdata : DataFrame, optional
            With the response; None means the training rows.

        Returns
        -------
        float

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> rb.forest_relevance(data.formula, data.data, repeats=1, probes=4).score() > 0.8
        True
        """
        return score(self._model, newdata)

    @property
    def _model(self) -> ForestModel:
        return ForestModel(self.design, self._options, self._found.linear)

    # -- showing -------------------------------------------------------------------------------------------

    @property
    def facts(self) -> Facts:
        """Table, header and notes: everything that is shown of the analysis, as one record."""
        from relbounds.forest.summary import forest_facts

        return forest_facts(self)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        features: Sequence[str] | None = None,
        palette: Mapping[str, Any] | None = None,
        threshold: bool = True,
        legend: bool = True,
        title: str | None = None,
    ) -> Axes:
        """Draw every term's interval from the loss without it to the loss without it and its stand-ins.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure as wide as a journal's column by default.
        features : sequence of str, optional
            Only these.
        palette : mapping, optional
            Colours of "strong", "weak" and "irrelevant".
        threshold : bool
            Draw what noise reaches.
        legend : bool
        title : str, optional

        Returns
        -------
        Axes

        Examples
        --------
        >>> import matplotlib; matplotlib.use("Agg")
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=0, irrelevant=1, seed=1)
        >>> ax = rb.forest_relevance(data.formula, data.data, repeats=1, probes=4, folds=3).plot()
        """
        from relbounds.show.figures.bounds import plot_bounds  # loaded when a figure is asked for

        return plot_bounds(
            self.facts,
            ax,
            features=features,
            palette=palette,
            threshold=threshold,
            legend=legend,
            title=title,
        )

    def _content(self) -> tuple[Design, Found, ForestOptions]:
        return self.design, self._found, self._options

    @classmethod
    def _rebuild(cls, content: Any) -> Self:
        return cls(*content)


def make_table(design: Design, found: Found) -> pd.DataFrame:
    """Gather the findings into one table, one row a term."""
    terms = [term for term in design.design_terms if term.part == "regular"]
    span = span_of(found)
    lower = np.maximum(np.nan_to_num(found.removal, nan=0.0), 0.0) / span
    upper = np.fmax(lower, np.nan_to_num(found.alone, nan=0.0) / span)
    group = np.full(len(terms), pd.NA, dtype=object)
    for number, one in enumerate(found.groups, start=1):
        group[list(one.members)] = number
    return pd.DataFrame(
        {
            "part": "regular",
            "term": [term.name for term in terms],
            "row": "term",
            "lower": lower,
            "upper": upper,
            "importance": found.importance,
            "importance_noise": found.importance_noise.upper,
            "removal_loss": found.removal,
            "removal_noise": found.removal_noise.upper,
            "replaceable": np.clip(found.replaceable, 0.0, 1.0),
            "p_noise": found.p,
            "p_adjusted": found.p_adjusted,
            "group": pd.array(group, dtype="Int64"),
            "relevance": found.relevance,
        },
        index=pd.Index([term.title for term in terms], name="feature"),
    )
