"""The numbers and choices that fix a kernel model, and what makes sense among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relbounds.checks import choice
from relbounds.errors import OptionError
from relbounds.kernel.kernels import Kernel, make_kernel
from relbounds.kernel.margins import check_order

SLACKS = ("free", "modelled", "mixed")
SOLVERS = ("auto", "smo", "qp")


@dataclass(frozen=True)
class SvorOptions:
    """The numbers and choices that fix a model.

    Examples
    --------
    >>> SvorOptions(C=2.0).replace(width=3.0).width
    3.0
    """

    order: str = "explicit"
    balance: bool = True
    kernel: Any = "rbf"
    C: float = 1.0
    width: float | None = 1.0
    slack: str = "free"
    mix: float = 0.5
    slack_kernel: Any = "rbf"
    slack_width: float | None = None  # None: as wide as the kernel (1 where the kernel has no width)
    gamma: float = 1.0
    cost: Any = None
    solver: str = "auto"
    tol: float = 1e-3

    def slack_kernel_made(self) -> Kernel:
        """Return the kernel of the correcting functions."""
        width = self.slack_width if self.slack_width is not None else (self.width or 1.0)
        return make_kernel(self.slack_kernel, width, "slack_kernel")

    def replace(self, **changes: Any) -> SvorOptions:
        """Return the options with some of it changed."""
        return replace(self, **changes)


def check_options(options: SvorOptions) -> SvorOptions:
    """Return the options if every choice in it is known and every number makes sense.

    Examples
    --------
    >>> check_options(SvorOptions(slack="modeled"))
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: slack='modeled' is not known; use 'free', 'modelled' or 'mixed'. Did you
    mean 'modelled'?
    """
    check_order(options.order)
    for name, value, known in (("slack", options.slack, SLACKS), ("solver", options.solver, SOLVERS)):
        choice(name, value, known)
    for name in ("C", "gamma", "tol"):
        value = getattr(options, name)
        if not _is_number(value) or value <= 0:
            raise OptionError(f"{name}={value!r} must be a positive number.")
    if not _is_number(options.mix) or not 0 <= options.mix <= 1:
        raise OptionError(
            f"mix={options.mix!r} must lie between 0 (free slacks only) and 1 (modelled slacks only)."
        )
    if isinstance(options.kernel, str | Kernel) or callable(options.kernel):
        make_kernel(options.kernel, options.width)
    if options.slack != "free":
        options.slack_kernel_made()
        if options.order == "none":
            raise OptionError(
                "order='none' is there to show free slacks without the order; use 'explicit' or 'implicit' "
                "here."
            )
    return options


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float | np.integer | np.floating)
        and not isinstance(value, bool)
        and np.isfinite(value)
    )
