"""What the user holds after a kernel fit."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import SimpleTable
from statsmodels.iolib.tableformatting import fmt_2cols, fmt_params

from relbounds.design import Design
from relbounds.design.stored_factors import FORMATS
from relbounds.errors import DataError, OptionError, nearest
from relbounds.kernel.kkt import Optimality
from relbounds.kernel.machine import Machine, bounded, supporting
from relbounds.kernel.tuning import SCORES, Tuned
from relbounds.saving import Kept

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLAT = 0.1  # a decision function that varies by less is made of correcting functions alone
METHODS = {
    # slack: name with two levels, with more, and with a privileged part
    "free": ("SVM, free slacks", "SVOR, free slacks", "SVOR, free slacks"),
    "modelled": ("SVM, modelled slacks", "SVOR, modelled slacks", "modelled slacks (SVM+)"),
    "mixed": ("SVM, mixed slacks", "SVOR, mixed slacks", "mixed slacks (SVM+)"),
}


class TallSummary(Summary):
    """A summary whose tables differ in width: LaTeX gets one tabular each instead of one for all."""

    def as_latex(self) -> str:
        """Return the tables one below the other, then the notes."""
        parts = [table.as_latex_tabular() for table in self.tables]
        return "\n\n".join([*parts, self.extra_txt.replace("\n", " \\newline\n ")])


class SvorResults(Kept):
    """A kernel ordinal regression; made by :func:`relbounds.svor`, nothing here changes after the fit.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.paper_set(3, seed=1).data
    >>> fit = rb.svor("y ~ .", data, kernel="linear", C=1.0, solver="qp")
    >>> fit.kkt.ordered, len(fit.thresholds)
    (True, 4)
    """

    _kind = "svor"
    _formats = FORMATS
    _made_of = (Design, Machine, Tuned)

    def __init__(self, design: Design, machine: Machine, tuned: Tuned, options: dict[str, Any]) -> None:
        self.design = design
        self.machine = machine
        self.tuned = tuned
        self.options = options

    # -- facts ---------------------------------------------------------------------------------------------

    @property
    def formula(self) -> str:
        """The formula as it was written."""
        return self.design.formula

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
        """Return f(x); None means the training rows; privileged columns are never needed.

        With a precomputed kernel give `kernel`, the kernel values between the new rows and the training rows.

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

    def predict(self, newdata: Any = None, *, kernel: np.ndarray | None = None) -> pd.Series:
        """Predict levels; rows with missing values get a missing prediction; None means the training rows.

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1).data
        >>> fit = rb.svor("y ~ .", data, kernel="linear", C=1.0, solver="qp")
        >>> len(fit.predict(data.head(3)))
        3
        """
        f = self.decision_function(newdata, kernel=kernel)
        codes = self.machine.levels_of(f.to_numpy())
        return pd.Series(self.design.decode(codes), index=f.index, name=self.design.response)

    def score(self, newdata: Any = None, metric: str = "mmae", *, kernel: np.ndarray | None = None) -> float:
        """Return "mze", "mae" or "mmae" on data that hold the response; None means the training rows.

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

    def summary(self) -> Summary:
        """Return the summary table, a statsmodels ``Summary`` (text, LaTeX, HTML).

        Examples
        --------
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1).data
        >>> print(rb.svor("y ~ .", data, kernel="linear", C=1.0, solver="qp").summary())
                                  Support vector ordinal regression...
        """
        left, right = self._header()
        pairs = [[*one, *two] for one, two in zip(left, right, strict=True)]
        out = TallSummary()
        head = SimpleTable(
            [row[1:] for row in pairs],
            stubs=[row[0] for row in pairs],
            title="Support vector ordinal regression",
            txt_fmt={
                **fmt_2cols,
                "colwidths": 20,
                "data_fmts": ["%s", "%s", "%s"],
                "data_aligns": "rlr",
                "colsep": "   ",
            },
        )
        limits = SimpleTable(
            [[f"{value:.4f}"] for value in self.thresholds],
            headers=["threshold"],
            stubs=list(self.thresholds.index),
            txt_fmt=fmt_params,
        )
        table = self.support
        cells = [
            [str(r.n), str(r.support), str(r.at_limit), str(r.wrong), f"{r.off:.3f}"]
            for r in table.itertuples()
        ]
        body = SimpleTable(
            cells,
            headers=["rows", "support", "at limit", "wrong", "mean miss"],
            stubs=list(table.index),
            txt_fmt=fmt_params,
        )
        out.tables = [head, limits, body]
        lines = ["Notes:"]
        for i, note in enumerate(self._notes(), start=1):
            lines += textwrap.wrap(f"[{i}] {note}", 92, subsequent_indent="    ")
        out.add_extra_txt(lines)
        return out

    def _header(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        design, machine, setting = self.design, self.machine, self.machine.options
        privileged = design.Z.shape[1]
        name = METHODS[setting.slack][0 if len(self.levels) == 2 else 1]
        if privileged and setting.slack != "free":
            name = METHODS[setting.slack][2]
        how = (
            ""
            if self.tuned.score is None or "C" not in self.tuned.table
            else f" ({self.tuned.folds}-fold CV)"
        )
        metric = self.tuned.metric
        total = int(supporting(machine).sum())
        left = [
            ("Response:", design.response),
            ("Levels:", str(len(self.levels))),
            ("No. Observations:", str(len(design.y))),
            ("Dropped (missing):", str(design.n_dropped)),
            ("Features:", f"{design.X.shape[1]}" + (f" + {privileged} privileged" if privileged else "")),
            ("Method:", name),
            ("Order:", setting.order),
            ("Solver:", f"{machine.solver}, {machine.steps} steps"),
        ]
        right = [
            ("Kernel:", machine.kernel.label),
            ("C:", f"{setting.C:.4g}{how}"),
            ("Support vectors:", f"{total} ({100 * total / len(design.y):.0f} %)"),
            ("Dual objective:", f"{self.kkt.dual:.6g}"),
            ("KKT violation:", f"{self.kkt.violation:.1e}"),
            ("Thresholds ordered:", "yes" if self.kkt.ordered else "NO"),
            (f"{metric.upper()}, training:", f"{self.score(metric=metric):.3f}"),
            (
                f"{metric.upper()}, cross-validated:",
                "-" if self.tuned.score is None else f"{self.tuned.score:.3f}",
            ),
        ]
        if setting.slack != "free":
            left += [("Slack kernel:", setting.slack_kernel_made().label)]
            right += [
                (
                    "Gamma:",
                    f"{setting.gamma:.4g}" + (f", mix {setting.mix:.3g}" if setting.slack == "mixed" else ""),
                )
            ]
        return left, right

    def _notes(self) -> list[str]:
        setting = self.machine.options
        notes = [
            "A row is predicted to be of the level between whose thresholds its decision value lies. "
            "Support vectors are the rows "
            "that the decision function is made of; at limit: rows whose multiplier reached its limit, C "
            "times their weight.",
            f"The KKT violation is recomputed from the multipliers and thresholds; duality gap "
            f"{self.kkt.gap:.1e}.",
        ]
        if setting.balance:
            notes.append(
                "Both sides of every threshold weigh the same, however many rows they hold; balance=False is the "
                "published model."
            )
        if setting.order == "none":
            notes.append("order='none' does not keep the thresholds in order; it is there for comparison.")
        if setting.slack == "mixed":
            notes.append(
                "Slacks are fixed at a mixture of free and modelled ones; multipliers then have no limit."
            )
        spread = float(np.ptp(self.machine.f))
        if setting.slack != "free" and spread < FLAT:
            flat = f"nearly flat (it varies by {spread:.2g}, while a margin is 1 wide)"
            notes.append(
                f"The decision function is {flat if spread else 'flat and predicts one level'}: "
                "the correcting functions do its work. Use a smaller slack_width, another gamma, or "
                "slack='free'."
            )
        if setting.slack == "free" and self.design.Z.shape[1]:
            notes.append("slack='free': the privileged features are not used.")
        if not np.isfinite(self.machine.b).all():
            notes.append("A level without rows at either end is never predicted.")
        return [*notes, *self.tuned.notes, *self.design.notes]

    def __repr__(self) -> str:
        count = int(supporting(self.machine).sum())
        share = f"{count} of {len(self.design.y)} rows support"
        return f"<relbounds svor: {self.formula}; {self.machine.kernel.label}; {share}>"

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().as_html()

    def plot(self, features: tuple[str, str] | None = None, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the decision function over two features; see :func:`relbounds.kernel.plots.plot_contour`.

        Examples
        --------
        >>> import matplotlib; matplotlib.use("Agg")
        >>> import relbounds as rb
        >>> data = rb.simulate.paper_set(3, seed=1).data
        >>> ax = rb.svor("y ~ x1 + x2", data, width=1.0, C=1.0, solver="qp").plot()
        """
        from relbounds.kernel.plots import (
            plot_contour,
        )  # plotting libraries load only when a figure is asked for

        return plot_contour(self, features=features, ax=ax, **options)

    # -- keeping -------------------------------------------------------------------------------------------

    def _content(self) -> Any:
        return self.design, self.machine, self.tuned, self.options

    @classmethod
    def _rebuild(cls, content: Any) -> SvorResults:
        return cls(*content)
