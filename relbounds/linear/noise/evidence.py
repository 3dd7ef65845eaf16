"""What noise is judged on: the fit as far as it has come."""

from __future__ import annotations

from dataclasses import dataclass

from relbounds.design import Design
from relbounds.linear.model import Spec
from relbounds.linear.ranges import Measured
from relbounds.options import Options
from relbounds.solver.optimum import Solution
from relbounds.solver.polytope import Polytope


@dataclass(frozen=True)
class Evidence:
    """The design and options, the program and its best model, and the bounds over the set of equivalent models."""

    design: Design
    options: Options
    spec: Spec
    solution: Solution
    norm: float
    delta: float
    polytope: Polytope
    measured: Measured
