"""The options of a fit, checked before any work is done."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from relbounds import checks
from relbounds.errors import OptionError, nearest
from relbounds.parallel import check_client
from relbounds.progress import Hook, check_progress

CHOICES: dict[str, tuple[str, ...]] = {
    "order": ("auto", "explicit", "implicit"),
    "tolerance": ("split", "joint"),
    "solver": ("cvxopt", "batch", "highs", "auto"),
    "rule": ("best", "1se"),
    "control": ("fwer", "fdr", "published"),
    "interval": ("t", "order"),
    "privileged": ("auto", "slack", "teacher"),
    "correcting": ("sides", "shared"),
}
# A model this many times worse than the best is as good as any model.
MOST_DELTA = 1e6
DELTAS = ("resample", "resample90", "1se", "2se")
# The settings of the papers, for ``rb.relbounds(formula, data, **rb.published)``.
published: dict[str, Any] = {
    "delta": 0.001,
    "control": "published",
    "balance": False,
    "order": "explicit",
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

    order: str = "auto"
    balance: bool = True
    C: float | Sequence[float] | None = None
    gamma: float | Sequence[float] | None = None
    epsilon: float | Sequence[float] | None = None
    delta: float | str = "resample"
    tolerance: str = "split"
    control: str = "fwer"
    alpha: float = 0.05
    probes: int = 50
    level: float = 0.999
    interval: str = "t"
    cv: int = 5
    rule: str = "best"
    privileged: str = "auto"
    residual: float | str = math.inf
    correcting: str = "sides"
    screen: bool | None = None
    bounds: bool = True
    solver: str = "auto"
    n_jobs: int = 1
    client: Any = None
    seed: int = 0
    progress: bool | Hook | None = None

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            name: checks.choice(name, getattr(self, name), allowed) for name, allowed in CHOICES.items()
        }
        checked["C"] = checks.grid("C", self.C)
        checked["gamma"] = checks.grid("gamma", self.gamma)
        checked["epsilon"] = checks.grid("epsilon", self.epsilon, positive=False)
        checked["delta"] = _delta(self.delta)
        checked["residual"] = _residual(self.residual)
        for name, least in (("probes", 2), ("cv", 2), ("seed", 0)):
            checked[name] = checks.integer(name, getattr(self, name), least=least)
        checked["n_jobs"] = checks.jobs("n_jobs", self.n_jobs)
        checked["level"] = checks.number("level", self.level, above=0, below=1, hint="0.999 is the default.")
        checked["alpha"] = checks.number("alpha", self.alpha, above=0, below=1, hint="0.05 is the default.")
        for name in ("balance", "bounds"):
            checked[name] = checks.flag(name, getattr(self, name))
        checked["screen"] = None if self.screen is None else checks.flag("screen", self.screen)
        checked["client"] = check_client(self.client)
        checked["progress"] = check_progress("progress", self.progress)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    # what belongs to this process: a file does not keep it
    _not_stored: ClassVar[tuple[str, ...]] = ("client", "progress")

    def __getstate__(self) -> dict[str, Any]:
        # what goes to another process leaves the cluster and the bar behind
        return {**self.__dict__, "client": None, "progress": False}

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
    return Options(**given)


def _delta(delta: Any) -> float | str:
    if isinstance(delta, str):
        return checks.choice("delta", delta, DELTAS)
    words = ", ".join(map(repr, DELTAS))
    return checks.number(
        "delta", delta, least=0, most=MOST_DELTA, hint=f"It is a share of the best loss; or one of {words}."
    )


def _residual(residual: Any) -> float | str:
    if isinstance(residual, str):
        return checks.choice("residual", residual, ("auto", "inf"))
    return checks.number(
        "residual",
        residual,
        least=1,
        finite=False,
        hint="It is the price of slack that privileged features do not explain; infinity is the published model, "
        "'auto' tunes it.",
    )
