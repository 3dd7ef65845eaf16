"""What a fit can be asked beyond its table: what-ifs, groups, sensitivity, choices, figures, reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from relbounds.explore.cheapest import Choice
    from relbounds.explore.groups import Groups
    from relbounds.explore.risk import RiskBound
    from relbounds.explore.stability import Stability
    from relbounds.explore.sweep_delta import Sweep
    from relbounds.results import RelboundsResults


class Explore:
    """The exploring half of :class:`relbounds.RelboundsResults`; each method asks the module that knows.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
    >>> isinstance(fit, Explore)
    True
    """

    @property
    def _whole(self) -> RelboundsResults:
        return cast("RelboundsResults", self)

    # -- questions -----------------------------------------------------------------------------------------

    def constrain(self, wishes: Mapping[str, Any]) -> RelboundsResults:
        """Ask what if some features are used less, more, or not at all; see :mod:`relbounds.explore.constrain`.

        Parameters
        ----------
        wishes : mapping
            By feature: a number, a pair (least, most), or "off", "min" or "max".

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.constrain({"x2": "off"}).table.loc["x3", "relevance"]
        'strong'
        """
        from relbounds.explore.constrain import constrain

        whole = self._whole
        return type(whole)(constrain(whole._fitted, wishes))

    @property
    def constraints(self) -> dict[str, tuple[float, float]]:
        """The constraints of a what-if, by feature; empty for a fit."""
        return dict(self._whole._fitted.wishes)

    def substitutes(self, feature: str) -> pd.DataFrame:
        """Return which features take over when one is off; see :func:`relbounds.explore.substitutes.substitutes`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.substitutes("x2").loc["x3", "role"]
        'replaces'
        """
        from relbounds.explore.substitutes import substitutes

        return substitutes(self._whole._fitted, feature)

    def groups(
        self,
        cut: float | None = None,
        k: int | None = None,
        *,
        part: str = "regular",
        by: str = "context",
        by_class: bool = True,
    ) -> Groups:
        """Group features that play the same role; see :func:`relbounds.explore.groups.groups`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.groups(k=3).members[2]
        ['x2', 'x3']
        """
        from relbounds.explore.groups import groups

        return groups(self._whole._fitted, cut, k, part=part, by=by, by_class=by_class)

    def sweep_delta(self, delta: Sequence[float | str] | None = None, *, probes: int | None = None) -> Sweep:
        """Recompute bounds and classes along the tolerance; see :func:`relbounds.explore.sweep_delta.sweep_delta`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.sweep_delta([0.001, 0.01]).deltas.tolist()
        [0.001, 0.01]
        """
        from relbounds.explore.sweep_delta import sweep_delta

        return sweep_delta(self._whole._fitted, delta, probes=probes)

    def stability(self, n_resamples: int = 50, **options: Any) -> Stability:
        """Count classes over subsamples; see :func:`relbounds.explore.stability.stability`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.stability(n_resamples=2).n_resamples
        2
        """
        from relbounds.explore.stability import stability

        return stability(self._whole._fitted, n_resamples, **options)

    def cheapest(self, cost: Mapping[str, float], **options: Any) -> Choice:
        """Find the cheapest features that support an equivalent model; see :func:`relbounds.explore.cheapest.cheapest`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.cheapest({"x2": 500}, other=1).formula
        'y ~ x1 + x3'
        """
        from relbounds.explore.cheapest import cheapest

        return cheapest(self._whole._fitted, cost, **options)

    def risk_bound(self, tau: float = 0.05) -> RiskBound:
        """Bound the risk of every equivalent model on new data; see :func:`relbounds.explore.risk.risk_bound`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> rb.relbounds(data.formula, data.data, C=1.0, probes=10).risk_bound().vacuous
        True
        """
        from relbounds.explore.risk import risk_bound

        return risk_bound(self._whole._fitted, tau)

    @property
    def correcting(self) -> pd.DataFrame:
        """The fitted correcting functions; see :func:`relbounds.explore.difficulty.correcting`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, probes=5)
        >>> fit.correcting.columns.tolist()
        ['too high', 'too low']
        """
        from relbounds.explore.difficulty import correcting

        return correcting(self._whole._fitted)

    @property
    def correcting_bounds(self) -> pd.DataFrame:
        """The bounds of privileged features by function; see :func:`relbounds.explore.difficulty.correcting_bounds`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, probes=5)
        >>> fit.correcting_bounds.index.tolist()[:2]
        [('z1', 'too high'), ('z1', 'too low')]
        """
        from relbounds.explore.difficulty import correcting_bounds

        return correcting_bounds(self._whole._fitted)

    def difficulty(self) -> pd.DataFrame:
        """Return how hard each training row is to grade, and why; see :func:`relbounds.explore.difficulty.difficulty`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, probes=5)
        >>> fit.difficulty().columns.tolist()[:3]
        ['y', 'predicted', 'slack']
        """
        from relbounds.explore.difficulty import difficulty

        return difficulty(self._whole._fitted)

    # -- figures -------------------------------------------------------------------------------------------

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the relevance interval of every feature; see :func:`relbounds.show.figures.bounds.plot_bounds`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, probes=10).plot()
        >>> len(ax.get_yticklabels())
        4
        """
        from relbounds.show.figures.bounds import (
            plot_bounds,  # plotting libraries load only when a figure is asked for
        )

        return plot_bounds(self._whole, ax=ax, **options)

    def plot_groups(
        self,
        ax: Axes | None = None,
        *,
        cut: float | None = None,
        k: int | None = None,
        part: str = "regular",
        by: str = "context",
        **options: Any,
    ) -> Axes:
        """Draw the tree of features beside their bars; see :func:`relbounds.show.figures.others.plot_groups`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, probes=10).plot_groups(k=3)
        """
        from relbounds.show.figures.others import plot_groups

        return plot_groups(self.groups(cut, k, part=part, by=by), ax=ax, **options)

    def plot_sweep(
        self,
        ax: Axes | None = None,
        *,
        delta: Sequence[float | str] | None = None,
        probes: int | None = None,
        **options: Any,
    ) -> Axes:
        """Draw bounds and classes along the tolerance; see :func:`relbounds.show.figures.others.plot_sweep`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, probes=10).plot_sweep(delta=[0.001, 0.1])
        """
        from relbounds.show.figures.others import plot_sweep

        return plot_sweep(self.sweep_delta(delta, probes=probes), ax=ax, **options)

    def plot_stability(
        self,
        ax: Axes | None = None,
        *,
        n_resamples: int = 50,
        fraction: float = 0.8,
        probes: int | None = None,
        **options: Any,
    ) -> Axes:
        """Draw class frequencies over subsamples; see :func:`relbounds.show.figures.others.plot_stability`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, probes=10).plot_stability(n_resamples=2)
        """
        from relbounds.show.figures.others import plot_stability

        return plot_stability(self.stability(n_resamples, fraction=fraction, probes=probes), ax=ax, **options)

    def plot_difficulty(self, ax: Axes | None = None, most: int = 20) -> Axes:
        """Draw the rows that are hardest to grade, coloured by the privileged feature that adds most.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        most : int
            How many rows to show.

        Examples
        --------
        >>> import matplotlib; matplotlib.use("Agg")
        >>> import relbounds as rb
        >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, probes=5)
        >>> ax = fit.plot_difficulty(most=10)
        """
        from relbounds.show.figures.difficulty import plot_difficulty

        return plot_difficulty(self.difficulty(), ax=ax, most=most)

    def plot_scores(self, newdata: Any = None, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw scores by level with the thresholds; see :func:`relbounds.show.figures.others.plot_scores`.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> ax = rb.relbounds(data.formula, data.data, C=1.0, probes=10).plot_scores()
        """
        from relbounds.show.figures.others import plot_scores

        return plot_scores(self._whole, newdata, ax=ax, **options)

    # -- tables and reports --------------------------------------------------------------------------------

    def to_latex(self, path: str | Path | None = None, **options: Any) -> str:
        r"""Return the table as LaTeX (booktabs), and write it when a path is given.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> print(fit.to_latex(caption="Bounds").splitlines()[2])
        \caption{Bounds}
        """
        from relbounds.show.paper_tables import fit_table

        return fit_table(self._whole, **options).to_latex(path)

    def to_markdown(self, path: str | Path | None = None, **options: Any) -> str:
        """Return the table as Markdown, and write it when a path is given.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.to_markdown().splitlines()[0]
        '| feature | weight | lower | upper | P>noise | P adj. | relevance | dir. |'
        """
        from relbounds.show.paper_tables import fit_table

        return fit_table(self._whole, **options).to_markdown(path)

    def to_html(self, path: str | Path | None = None, **options: Any) -> str:
        """Return the table as HTML, and write it when a path is given.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> rb.relbounds(data.formula, data.data, C=1.0, probes=10).to_html().startswith("<table")
        True
        """
        from relbounds.show.paper_tables import fit_table

        return fit_table(self._whole, **options).to_html(path)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the whole table as CSV with all digits, and write it when a path is given.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> fit.to_csv().splitlines()[0][:25]
        'feature,part,term,weight,'
        """
        from relbounds.show.paper_tables import write

        return write(self._whole.table.to_csv(lineterminator="\n"), path)

    def to_word(self, path: str | Path, **options: Any) -> Path:
        """Write the table to a Word document (needs the extra ``word``).

        Examples
        --------
        >>> import tempfile, relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fit.to_word(folder + "/table.docx").name
        'table.docx'
        """
        from relbounds.show.paper_tables import fit_table

        return fit_table(self._whole, **options).to_word(path)

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write one self-contained HTML file about the fit; see :func:`relbounds.show.report.write_report`.

        Examples
        --------
        >>> import tempfile, relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fit.report(folder + "/report.html", groups=False).name
        'report.html'
        """
        from relbounds.show.report import write_report

        return write_report(self._whole, path, **options)
