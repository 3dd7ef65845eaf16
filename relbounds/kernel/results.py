"""What the user holds after a kernel fit."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relbounds.checks import choice
from relbounds.design import Design
from relbounds.errors import DataError, OptionError, nearest
from relbounds.kernel.fitting import Sample
from relbounds.kernel.kkt import Optimality
from relbounds.kernel.machine import Machine, bounded, supporting
from relbounds.kernel.tuning import SCORES, Search, Tuned, held_out_values
from relbounds.level_odds import Probabilities, fit_proportional_odds
from relbounds.protocol import Results
from relbounds.show.facts import Facts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from relbounds.show.report import Section


class SvorResults(Results):
    """A kernel ordinal regression; made by :func:`relbounds.svor`, nothing here changes after the fit.

    Attributes
    ----------
    table : DataFrame
        A row for each level: `n` rows, `support` vectors among them, those `at_limit` of their multiplier, rows
        predicted `wrong`, and by how many levels they are `off` on average.
    machine : relbounds.kernel.machine.Machine
        What predicts: support vectors, multipliers, thresholds.
    tuned : relbounds.kernel.tuning.Tuned
        What cross-validation chose, and its scores.
    options : dict
        The options of the fit.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1).data
    >>> fit = rb.svor("y ~ .", data, kernel="linear", C=1.0, solver="qp")
    >>> fit.kkt.ordered, len(fit.thresholds)
    (True, 4)
    """

    _title = "kernel ordinal regression"
    _kind = "svor"
    _made_of = (Design, Machine, Tuned)

    def __init__(self, design: Design, machine: Machine, tuned: Tuned, options: dict[str, Any]) -> None:
        super().__init__(design, pd.DataFrame(), ())
        self.machine = machine
        self.tuned = tuned
        self.options = options
        self.table = self.support

    # -- facts ---------------------------------------------------------------------------------------------

    @property
    def levels(self) -> tuple[Any, ...]:
        """The levels of the response, from lowest to highest."""
        assert self.design.levels is not None
        return self.design.levels

    @property
    def thresholds(self) -> pd.Series:
        """The thresholds, each named by the two levels it separates.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1).data
        >>> rb.svor("y ~ .", data, kernel="linear", C=1.0, solver="qp").thresholds.index.tolist()
        ['1|2', '2|3', '3|4', '4|5']
        """
        pairs = [f"{a}|{b}" for a, b in pairwise(self.levels)]
        return pd.Series(self.machine.b, index=pairs, name="threshold")

    @property
    def kkt(self) -> Optimality:
        """Objectives, duality gap and largest violation of the optimality conditions, recomputed after the
        fit."""
        return self.machine.optimality

    @property
    def dual_objective(self) -> float:
        """The value of the dual problem at the solution."""
        return self.machine.optimality.dual

    @property
    def scores(self) -> pd.DataFrame:
        """The cross-validated score of every candidate; empty when nothing was tuned."""
        return self.tuned.table

    @property
    def support_vectors(self) -> pd.Series:
        """The weight of each support vector in the decision function, by row of the data."""
        keep = supporting(self.machine)
        beta = np.zeros(len(keep))
        beta[self.machine.support] = self.machine.coefficients
        return pd.Series(beta[keep], index=self.design.index[keep], name="coefficient")

    @property
    def support(self) -> pd.DataFrame:
        """Rows, support vectors, rows at the limit C and training errors, level by level.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1).data
        >>> rb.svor("y ~ .", data, kernel="linear", C=1.0, solver="qp").support.columns.tolist()
        ['n', 'support', 'at_limit', 'wrong', 'off']
        """
        y = self.design.y
        guess = self.machine.levels_of(self.machine.f)
        inside, limit = supporting(self.machine), bounded(self.machine)
        records = []
        for code in range(1, len(self.levels) + 1):
            here = y == code
            off = np.abs(guess[here] - code)
            records.append(
                {
                    "n": int(here.sum()),
                    "support": int(inside[here].sum()),
                    "at_limit": int(limit[here].sum()),
                    "wrong": int((off > 0).sum()),
                    "off": float(off.mean()) if here.any() else np.nan,
                }
            )
        return pd.DataFrame(records, index=pd.Index([str(v) for v in self.levels], name="level"))

    @property
    def slacks(self) -> pd.DataFrame:
        """The slack of every training row at every threshold where it has one."""
        rows = self.machine.rows
        used = [v for v in self.levels if (self.design.y == self.levels.index(v) + 1).any()]
        names = np.array([f"{a}|{b}" for a, b in pairwise(used)], dtype=object)
        return pd.DataFrame(
            {
                "row": self.design.index[rows.sample],
                "threshold": names[rows.threshold],
                "side": np.where(rows.sign < 0, "below", "above"),
                "slack": np.maximum(self.machine.slack, 0.0),
            }
        )

    # -- predictions ---------------------------------------------------------------------------------------

    def decision_function(self, newdata: Any = None, *, kernel: np.ndarray | None = None) -> pd.Series:
        """Return the decision function f(x); privileged columns are never needed.

        Parameters
        ----------
        newdata : DataFrame, optional
            With the columns that the regular part reads; None means the training rows.
        kernel : ndarray, optional
            With a precomputed kernel: its values between the new rows and the training rows.

        Returns
        -------
        Series
            One value a row; missing where a feature is.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1).data
        >>> fit = rb.svor("y ~ .", data, kernel="linear", C=1.0, solver="qp")
        >>> fit.decision_function(data.head(3)).shape
        (3,)
        """
        if kernel is not None:
            matrix = self._training_columns(np.asarray(kernel, dtype=float))
            index = newdata.index if isinstance(newdata, pd.DataFrame) else pd.RangeIndex(len(matrix))
            return pd.Series(self.machine.decision_function(K=matrix), index=index, name="score")
        if newdata is None:
            return pd.Series(self.machine.f, index=self.design.index, name="score")
        X = self.design.transform(newdata)
        values = np.full(len(X), np.nan)
        whole = ~np.isnan(X).any(axis=1)
        if whole.any() or self.machine.kernel.name == "precomputed":
            values[whole] = self.machine.decision_function(X[whole])
        index = newdata.index if isinstance(newdata, pd.DataFrame) else pd.RangeIndex(len(X))
        return pd.Series(values, index=index, name="score")

    def _training_columns(self, kernel: np.ndarray) -> np.ndarray:
        """Accept one column per row of the data as well as one per row that was kept."""
        kept = self.options.get("rows_kept")
        if kernel.ndim == 2 and kept is not None and kernel.shape[1] == self.options["rows_given"]:
            return kernel[:, kept]
        return kernel

    def predict(
        self, newdata: Any = None, type: str = "class", *, kernel: np.ndarray | None = None
    ) -> pd.Series | pd.DataFrame:
        """Predict levels, decision values or probabilities.

        Parameters
        ----------
        newdata : DataFrame, optional
            With the columns that the regular part reads; None means the training rows.
        type : {"class", "score", "prob"}
            Levels; the decision function behind them; or the probability of each level, by a proportional-odds model
            of held-out decision values.
        kernel : ndarray, optional
            With a precomputed kernel: its values between the new rows and the training rows.

        Returns
        -------
        Series or DataFrame
            Rows with missing values get a missing prediction. Probabilities have one column a level.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1).data
        >>> fit = rb.svor("y ~ .", data, kernel="linear", C=1.0, solver="qp")
        >>> len(fit.predict(data.head(3)))
        3
        >>> fit.predict(data.head(3), type="prob").sum(axis=1).round(6).tolist()
        [1.0, 1.0, 1.0]
        """
        wanted = choice("type", type, ("class", "score", "prob"))
        f = self.decision_function(newdata, kernel=kernel)
        if wanted == "score":
            return f
        if wanted == "prob":
            chances = self.probabilities.levels(f.to_numpy()[:, None] - self.machine.middle)
            return pd.DataFrame(chances, index=f.index, columns=list(self.levels))
        codes = self.machine.levels_of(f.to_numpy())
        return pd.Series(self.design.decode(codes), index=f.index, name=self.design.response)

    @cached_property
    def probabilities(self) -> Probabilities:
        """How decision values become probabilities of levels: proportional odds of held-out decision values.

        Values count from the middle of the thresholds.
        """
        if self.machine.kernel.name == "precomputed":
            raise OptionError(
                "Probabilities need fits without some rows, for which a fit with a kernel matrix keeps too little. "
                "Use kernel='rbf', 'linear' or a function."
            )
        design, options = self.design, self.options
        private = design.Z if design.Z.shape[1] else None
        sample = Sample(design.X, design.y, len(self.levels), private, design.weights)
        search = Search(cv=options["cv"], seed=options["seed"], levels=self.levels, cluster=design.cluster)
        held = held_out_values(sample, self.machine.options, search)
        known = ~np.isnan(held)
        y = np.asarray(design.y, dtype=np.int64)[known]
        return fit_proportional_odds(y, y, len(self.levels), held[known], design.weights[known])

    def score(self, newdata: Any = None, metric: str = "mmae", *, kernel: np.ndarray | None = None) -> float:
        """Return how wrong predictions are.

        Parameters
        ----------
        newdata : DataFrame, optional
            With the response; None means the training rows.
        metric : {"mmae", "mae", "mze"}
            The mean over levels of the mean absolute difference in levels; that mean over rows; the share wrong.
        kernel : ndarray, optional
            With a precomputed kernel: its values between the rows and the training rows.

        Returns
        -------
        float

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1).data
        >>> rb.svor("y ~ .", data, kernel="linear", C=10.0, solver="qp").score(data, "mze") < 0.1
        True
        """
        if metric not in SCORES:
            raise OptionError(
                f"metric={metric!r} is not known. Use 'mze', 'mae' or 'mmae'.{nearest(metric, SCORES)}"
            )
        truth = self.design.y if newdata is None else self.design.transform_response(newdata)
        guess = self.machine.levels_of(self.decision_function(newdata, kernel=kernel).to_numpy())
        truth, guess = np.asarray(truth, dtype=float), np.asarray(guess, dtype=float)
        known = ~(np.isnan(truth) | np.isnan(guess))
        if not known.any():
            raise DataError("There is no complete row to score: every row misses the response or a feature.")
        return SCORES[metric](truth[known], guess[known])

    # -- showing -------------------------------------------------------------------------------------------

    @property
    def facts(self) -> Facts:
        """Table, header and notes: everything that is shown of the fit, as one record."""
        from relbounds.kernel.summary import kernel_facts

        return kernel_facts(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table should know."""
        from relbounds.kernel.summary import kernel_notes

        return tuple(kernel_notes(self))

    def _sections(self) -> list[Section]:
        from relbounds.show import report

        drawn = []
        if len(self.design.names) == 2 and self.machine.kernel.name != "precomputed":
            drawn.append(
                report.figure_block(self.plot(), "Levels predicted over the two features, and training rows.")
            )
        return [report.table_section(self.facts, "Levels", *drawn)]

    def __repr__(self) -> str:
        count = int(supporting(self.machine).sum())
        share = f"{count} of {len(self.design.y)} rows support"
        return f"<relbounds svor: {self.formula}; {self.machine.kernel.label}; {share}>"

    def plot(
        self,
        ax: Axes | None = None,
        *,
        features: tuple[str, str] | None = None,
        resolution: int = 120,
        support: bool = True,
        legend: bool = True,
        title: str | None = None,
    ) -> Axes:
        """Draw the levels predicted over two features, the thresholds between them, and the training rows.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure as wide as a journal's column by default.
        features : pair of str, optional
            The two columns of the design to draw; needed when there are more than two. The others are held at their
            mean.
        resolution : int
            Points of the grid along each side.
        support : bool
            Ring the support vectors.
        legend : bool
        title : str, optional

        Returns
        -------
        Axes

        Examples
        --------
        >>> import matplotlib; matplotlib.use("Agg")
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1).data
        >>> ax = rb.svor("y ~ x1 + x2", data, width=1.0, C=1.0, solver="qp").plot()
        """
        from relbounds.kernel.plots import plot_contour  # plotting libraries load when a figure is asked for

        return plot_contour(
            self, ax, features=features, resolution=resolution, support=support, legend=legend, title=title
        )

    # -- keeping -------------------------------------------------------------------------------------------

    def _content(self) -> Any:
        return self.design, self.machine, self.tuned, self.options

    @classmethod
    def _rebuild(cls, content: Any) -> SvorResults:
        return cls(*content)
