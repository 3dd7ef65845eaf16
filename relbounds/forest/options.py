"""How a non-linear relevance analysis is done, and what makes sense among its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from relbounds import checks
from relbounds.errors import OptionError, nearest
from relbounds.progress import Hook, check_progress

METHODS = ("removal", "sequential")
CONTROLS = ("fwer", "fdr", "published")


@dataclass(frozen=True)
class ForestOptions:
    """How the work is done; the numbers depend on all of it but `n_jobs` and `progress`."""

    method: str = "removal"
    control: str = "fwer"
    alpha: float = 0.05
    probes: int = 30
    level: float = 0.999
    folds: int = 5
    repeats: int = 2
    tolerance: float = 0.01
    stand_in: float = 0.5
    trees: int = 100
    params: tuple[tuple[str, Any], ...] = ()
    n_jobs: int = 1
    seed: int = 0
    progress: bool | Hook | None = None

    _not_stored: ClassVar[tuple[str, ...]] = ("progress",)  # a file does not keep it

    def __getstate__(self) -> dict[str, Any]:
        # what goes to another process leaves the bar behind
        return {**self.__dict__, "progress": False}


# What the published method was run with.
PUBLISHED = {"control": "published", "probes": 50, "level": 1 - 1e-6}


def make_options(**given: Any) -> ForestOptions:
    """Return the options as plain numbers, or say what is wrong with one; None is the default of the method.

    Examples
    --------
    >>> make_options(method="sequential", probes=None).probes
    50
    >>> make_options(probs=3)
    Traceback (most recent call last):
    ...
    relbounds.errors.OptionError: There is no option 'probs'. Did you mean 'probes'? ...
    """
    known = [f.name for f in fields(ForestOptions)]
    for name in given:
        if name not in known:
            raise OptionError(
                f"There is no option '{name}'.{nearest(name, known)} The options are: {', '.join(known)}."
            )
    given = {name: value for name, value in given.items() if value is not None}
    method = checks.choice("method", given.get("method", "removal"), METHODS)
    if method == "sequential":
        if given.get("control", "published") != "published":
            raise OptionError(
                f"control={given['control']!r}: method='sequential' is the published method, with thresholds of "
                "its own. Use control='published' with it, or method='removal'."
            )
        given = {**PUBLISHED, **given}
    return ForestOptions(**{name: _checked(name, value) for name, value in given.items()})


def _checked(name: str, value: Any) -> Any:
    if name in ("method", "control"):
        return checks.choice(name, value, METHODS if name == "method" else CONTROLS)
    if name in LEAST:
        return checks.integer(name, value, least=LEAST[name])
    if name in ("alpha", "level", "stand_in"):
        return checks.number(name, value, above=0, below=1)
    if name == "tolerance":
        return checks.number(name, value, least=0, below=1)
    if name == "n_jobs":
        return checks.jobs(name, value)
    if name == "progress":
        return check_progress(name, value)
    if not isinstance(value, Mapping | tuple):
        raise OptionError("params must map LightGBM's setting names to values, such as {'max_depth': 4}.")
    return tuple(dict(value).items())


LEAST = {"probes": 2, "folds": 2, "repeats": 1, "trees": 1, "seed": 0}
