"""What noise is judged on: the fit as far as it has come."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from relbounds.design import Design
from relbounds.linear.asked import RowKey
from relbounds.linear.model import Spec
from relbounds.linear.ranges import Measured
from relbounds.options import Options
from relbounds.solver.optimum import Solution
from relbounds.solver.polytope import Polytope


@dataclass(frozen=True)
class Memory:
    """What was found before for the same data: tests and models that do not depend on the tolerance.

    Examples
    --------
    >>> memory = Memory()
    >>> memory.recall("two", lambda: 1 + 1), memory.recall("two", lambda: 3)
    (2, 2)
    """

    answers: dict[Hashable, Any] = field(default_factory=dict)

    def recall(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what was found under a key, or find it."""
        if key not in self.answers:
            self.answers[key] = make()
        return self.answers[key]


@dataclass(frozen=True)
class Evidence:
    """The design and options, the program and its best model, and the bounds over the set of equivalent models.

    `memory` is shared by several pieces of evidence on the same data that differ in the tolerance, or in what is asked
    of the same set. `without` are terms that a what-if rules out: the others are tested as if these were not there.
    `fixed` are those it holds or bounds: they have no class, so notes on classes do not name them.
    """

    design: Design
    options: Options
    spec: Spec
    solution: Solution
    norm: float
    delta: float
    polytope: Polytope
    measured: Measured
    memory: Memory = field(default_factory=Memory)
    without: frozenset[RowKey] = frozenset()
    fixed: frozenset[RowKey] = frozenset()
