"""The options of a fit, checked before any work is done."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relbounds.errors import OptionError, nearest

CHOICES: dict[str, tuple[str, ...]] = {
    "order": ("explicit", "implicit"),
    "tolerance": ("split", "joint"),
    "solver": ("cvxopt", "batch", "highs", "auto"),
    "rule": ("best", "1se"),
    "interval": ("t", "order", "refit"),
    "privileged": ("slack", "teacher"),
    "correcting": ("sides", "shared"),
}


@dataclass(frozen=True)
class Options:
    """Every option of :func:`relbounds.relbounds` that acts after the design is made.

    Examples
    --------
    >>> Options(delta=0.001).tolerance
    'split'
    >>> Options(tolerance="splitt")
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: tolerance='splitt' is not known; use 'split' or 'joint'. Did you mean 'split'?
    """

    order: str = "explicit"
    C: float | Sequence[float] | None = None
    gamma: float | Sequence[float] | None = None
    epsilon: float | Sequence[float] | None = None
    delta: float | str = "1se"
    tolerance: str = "split"
    probes: int = 50
    level: float = 0.999
    interval: str = "t"
    cv: int = 5
    rule: str = "best"
    privileged: str = "slack"
    residual: float | str = math.inf
    correcting: str = "sides"
    screen: bool | None = None
    solver: str = "auto"
    n_jobs: int = 1
    client: Any = None
    seed: int = 0
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            _check_choice(name, getattr(self, name), allowed)
        _check_grid("C", self.C, positive=True)
        _check_grid("gamma", self.gamma, positive=True)
        _check_grid("epsilon", self.epsilon, positive=False)
        _check_delta(self.delta)
        _check_residual(self.residual)
        _check_integer("probes", self.probes, 2)
        _check_integer("cv", self.cv, 2)
        _check_integer("seed", self.seed, 0)
        if not isinstance(self.n_jobs, numbers.Integral) or self.n_jobs == 0:
            raise OptionError(
                f"n_jobs={self.n_jobs!r} must be a whole number other than 0; -1 uses all cores."
            )
        if not _is_number(self.level) or not 0 < self.level < 1:
            raise OptionError(
                f"level={self.level!r} must lie strictly between 0 and 1; 0.999 is the default."
            )

    def replace(self, **changes: Any) -> Options:
        """Return the options with some of them changed."""
        return make_options(**{**self.as_dict(), **changes})

    def as_dict(self) -> dict[str, Any]:
        """Return the options by name, without looking inside them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}


def make_options(**given: Any) -> Options:
    """Build options from keywords; an unknown one is an error that lists the known ones.

    Examples
    --------
    >>> make_options(probs=20)
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: There is no option 'probs'. Did you mean 'probes'? ...
    """
    known = [field.name for field in dataclasses.fields(Options)]
    for name in given:
        if name not in known:
            raise OptionError(
                f"There is no option '{name}'.{nearest(name, known)} The options are: {', '.join(known)}."
            )
    for name in ("probes", "cv", "seed", "n_jobs"):
        # R hands over whole numbers as doubles
        value = given.get(name)
        if isinstance(value, float) and value.is_integer():
            given[name] = int(value)
    for name in ("C", "gamma", "epsilon"):
        value = given.get(name)
        if isinstance(value, np.ndarray | list | tuple):
            given[name] = tuple(
                float(v) if _is_number(v) else v for v in np.ravel(np.asarray(value, dtype=object))
            )
    return Options(**given)


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_) and not math.isnan(value)
    )


def _check_choice(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        words = ", ".join(repr(a) for a in allowed[:-1]) + f" or {allowed[-1]!r}"
        raise OptionError(f"{name}={value!r} is not known; use {words}.{nearest(str(value), allowed)}")


def _check_grid(name: str, value: Any, positive: bool) -> None:
    if value is None:
        return
    values = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
    wanted = "positive" if positive else "0 or more"
    if len(values) == 0:
        raise OptionError(
            f"{name} is an empty sequence; give a number, a sequence of numbers, or None to tune it."
        )
    for v in values:
        if not _is_number(v) or not math.isfinite(v) or v < 0 or (positive and v == 0):
            raise OptionError(
                f"{name}={v!r} must be a finite number, {wanted}; None lets cross-validation choose it."
            )


def _check_delta(delta: Any) -> None:
    if isinstance(delta, str):
        _check_choice("delta", delta, ("1se", "2se"))
    elif not _is_number(delta) or not math.isfinite(delta) or delta < 0:
        raise OptionError(f"delta={delta!r} must be '1se', '2se' or a finite number, 0 or more.")


def _check_residual(residual: Any) -> None:
    if isinstance(residual, str):
        _check_choice("residual", residual, ("auto", "inf"))
    elif not _is_number(residual) or residual < 1:
        raise OptionError(
            f"residual={residual!r} must be a number of at least 1 (the price of slack that privileged features "
            "do not explain), infinity for the published model, or 'auto' to tune it."
        )


def _check_integer(name: str, value: Any, least: int) -> None:
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise OptionError(f"{name}={value!r} must be a whole number, {least} or more.")
