"""Everything a fit found, as frozen facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pandas as pd

from relbounds.design import Design
from relbounds.linear.asked import Asked, RowKey
from relbounds.linear.model import Spec
from relbounds.linear.noise.evidence import Memory
from relbounds.linear.noise.facts import Noise
from relbounds.linear.ranges import Measured
from relbounds.linear.tolerance import Tolerance
from relbounds.linear.tuning import Tuning
from relbounds.options import Options
from relbounds.solver.optimum import Solution
from relbounds.solver.polytope import Polytope

Wish = tuple[float, float]


@dataclass(frozen=True)
class Fitted:
    """Everything a fit found, in arrays; :class:`relbounds.results.RelboundsResults` shows it to the user.

    Parameters
    ----------
    design, options : what the user gave
    tuning : Tuning
        C, order and epsilon, and how they were chosen.
    spec : Spec
        The linear program with names.
    solution : Solution
        The best model.
    norm : float
        Its norm, of which bounds are shares; 1 where it is 0.
    tolerance : Tolerance
        How much worse an equivalent model may be.
    polytopes : tuple of Polytope
        The sets whose union is meant: one for a fit, several for a what-if that leaves a sign open; none where no
        bounds were asked for or no relation was found.
    asked : tuple of Asked
        The rows of the table, in order.
    measured : Measured
        Their bounds.
    noise : Noise
        What counts as zero, and what that rests on.
    table : DataFrame
    notes : tuple of str
    privileged : Help or None
        What privileged features did.
    no_relation : bool
        Whether the best model is a constant.
    wishes, before
        What a what-if asks for, by row, and the table without it; empty and None for a fit.
    imputations : tuple of Fitted
        The fits of imputed data sets that the table pools; empty for a single data set.
    memory : Memory
        Tests of the data that what-ifs share; empty after a fit was saved.
    """

    _not_stored: ClassVar[tuple[str, ...]] = ("memory",)

    design: Design
    options: Options
    tuning: Tuning
    spec: Spec
    solution: Solution
    norm: float
    tolerance: Tolerance
    polytopes: tuple[Polytope, ...]
    asked: tuple[Asked, ...]
    measured: Measured
    noise: Noise
    table: pd.DataFrame
    notes: tuple[str, ...]
    privileged: Help | None = None
    no_relation: bool = False
    wishes: Mapping[RowKey, Wish] = field(default_factory=dict)
    before: pd.DataFrame | None = None
    imputations: tuple[Fitted, ...] = ()
    memory: Memory = field(default_factory=Memory, compare=False, repr=False)

    @property
    def delta(self) -> float:
        """The tolerance as a number."""
        return self.tolerance.delta

    @property
    def polytope(self) -> Polytope:
        """The set of equivalent models; in a what-if the one that holds the best of them."""
        return self.polytopes[0]

    @property
    def certificate(self) -> float:
        """What the proofs leave open, at worst: of the best model and of every bound, relative to their size."""
        gaps = self.measured.gap[~np.isnan(self.measured.gap)]
        own = max(float(np.max(gaps, initial=0.0)) / self.norm, self.solution.certified)
        teacher = self.privileged.teacher if self.privileged is not None else None
        return max(own, teacher.certificate) if teacher is not None else own


@dataclass(frozen=True)
class Help:
    """What privileged features did for a fit.

    Parameters
    ----------
    way : {"none", "slack", "teacher"}
        How they were used.
    score, without, error : float
        Cross-validated scores with and without them, and the standard error of the former.
    collapsed : bool
        Whether the model with them uses no regular feature.
    teacher : Fitted or None
        The model on the privileged features that weighed the training rows.
    tried : mapping of str to float
        The cross-validated score of every way that was tried.
    """

    way: str
    score: float
    without: float
    error: float
    collapsed: bool = False
    teacher: Fitted | None = None
    tried: Mapping[str, float] = field(default_factory=dict)
