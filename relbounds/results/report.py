"""The report of a linear fit, section by section."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from relbounds.results.figures import DrawnFit
from relbounds.show.question_tables import groups_table, stability_table

if TYPE_CHECKING:
    from relbounds.show.report import Section


# Grouping asks two what-ifs a feature; in a report it is done for more features than this only when asked for.
MOST_GROUPED = 40


class ReportedFit(DrawnFit):
    """A linear fit that writes a report about itself."""

    def write_report(
        self,
        path: str | Path,
        *,
        title: str | None = None,
        groups: bool | None = None,
        sweep: bool = False,
        stability: int = 0,
        interactive: bool | None = None,
    ) -> Path:
        """Write one self-contained HTML file about the fit that opens without a network.

        Parameters
        ----------
        path : str or Path
            Where to write, ending in .html; the folder must exist.
        title : str, optional
        groups : bool, optional
            Whether to group the features; by default for up to 40 of them, and not in a what-if.
        sweep : bool
            Whether to show the bounds along the tolerance.
        stability : int
            Subsamples for the class frequencies; 0 leaves them out.
        interactive : bool, optional
            Whether to add a slider for each term that shows how all bounds answer as it is held, computed beforehand.
            By default for up to a dozen terms, fewer with factors of many levels: the work grows with the
            number of pairs.

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile, relbounds as rb
        >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
        >>> fit = rb.relbounds(data.formula, data.data, C=1.0, delta=0.01, control="fdr")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fit.write_report(folder + "/report.html", groups=False).name
        'report.html'
        """
        from relbounds.show.report import check_report
        from relbounds.show.what_if_section import what_if_section

        check_report(path)
        more = [what_if_section(self._fitted, interactive)]
        if groups is None:
            groups = 3 <= self.design.X.shape[1] <= MOST_GROUPED and not self.constraints
        if groups:
            more.append(self._groups_section())
        if sweep:
            more.append(self._sweep_section())
        if stability:
            more.append(self._stability_section(stability))
        return self._write_report(path, title, *more)

    def _sections(self) -> list[Section]:
        from relbounds.show import report

        if self.table["upper"].isna().all():  # no bounds were asked for
            return [report.table_section(self.facts, "Weights"), self._model_section()]
        bounds = report.figure_block(
            self.plot(),
            "The least and the most that any equivalent model uses each term. Dashed: what noise reaches by chance.",
        )
        return [report.table_section(self.facts, "Relevance", bounds), self._model_section()]

    def _model_section(self) -> Section:
        from relbounds.show import report

        ordered = self.design.levels is not None
        caption = (
            "Training rows by their true level along the score of the best model."
            if ordered
            else "Response of the training rows against its prediction."
        )
        blocks = [report.figure_block(self.plot_scores(), caption)]
        base = self.baseline
        if not base.scores.empty:
            said = "Cross-validated score along C, with one standard error; dashed: the C that was chosen."
            blocks.append(report.figure_block(self.plot_tuning(), said))
        named = [(f"{name}", f"{value:.4g}") for name, value in base.thresholds.items()]
        blocks += [
            report.text_block("Thresholds" if ordered else "Intercept", small=True),
            report.pairs_block(named),
        ]
        return report.Section("Model", tuple(blocks))

    def _groups_section(self) -> Section:
        from relbounds.show import report

        found = self.groups()
        caption = (
            "Terms that play the same role: how all other intervals move when a term is held at its least and at its "
            "greatest use. Dashed: where the tree is cut."
        )
        drawn = report.figure_block(self.plot_groups(groups=found), caption)
        return report.Section("Groups", (drawn, report.table_block(groups_table(found))))

    def _sweep_section(self) -> Section:
        from relbounds.show import report

        found = self.sweep_delta()
        caption = "Bounds along the tolerance: the height of a band is the interval, its colour the class."
        drawn = report.figure_block(self.plot_sweep_delta(sweep=found), caption)
        return report.Section(
            "Tolerance", (drawn, report.list_block(("", text) for text in found.explanation))
        )

    def _stability_section(self, n_resamples: int) -> Section:
        from relbounds.show import report

        found = self.stability(n_resamples)
        caption = f"Classes over {n_resamples} subsamples of {found.fraction:.0%} of the rows."
        drawn = report.figure_block(self.plot_stability(stability=found), caption)
        blocks = [drawn, report.table_block(stability_table(found))]
        if found.fraction == 0.5:
            blocks.append(
                report.text_block(
                    f"{len(found.selected())} terms are relevant in at least 75 % of the halves; of these, at most "
                    f"{found.false_selections():.2g} are expected to be no better than chance."
                )
            )
        return report.Section("Stability", tuple(blocks))
