"""Questions to a fit, asked by R: the method of that name is called, its answer told in plain types."""

from __future__ import annotations

import inspect
import io
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import pandas as pd

import relbounds as rb
from relbounds.errors import RelboundsError
from relbounds.interop.plain import kinds, listed, restore, unpack
from relbounds.interop.tell import tell, whole

if TYPE_CHECKING:
    from relbounds.show.explorer import Explorer


def ask(kind: str, content: bytes, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
    """Call a method of the fit that R kept, or look up one of its facts, and tell the answer.

    Parameters
    ----------
    kind : {"relbounds", "svor", "relbounds_forest"}
        The class of the fit in R.
    content : bytes
        The fit as R kept it.
    name : str
        The method.
    arguments : mapping
        By name; whole numbers may come as doubles, pairs as lists.

    Examples
    --------
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
    >>> ask("relbounds", fit.to_bytes(), "selected", {"kind": "strong"})
    ['x1']
    """
    if name.startswith("_") or not hasattr(kinds()[kind], name):
        raise RelboundsError(
            f"The installed Python side (version {rb.__version__}) cannot answer {name}(). "
            "Run install_relbounds() for the one that belongs to this package."
        )
    given = {key: whole(value) for key, value in dict(arguments or {}).items()}
    answer = getattr(restore(content, kind), name)
    return tell(answer(**given) if callable(answer) else answer)


def constrain(content: bytes, wishes: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> Any:
    """Return the fit under constraints; R has lists where Python has pairs."""
    read = {
        name: tuple(float(v) for v in wish) if isinstance(wish, list | tuple) else wish
        for name, wish in wishes.items()
    }
    return tell(restore(content).constrain(read, **dict(options or {})))


def cheapest(content: bytes, cost: Mapping[str, float], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cheapest features that support an equivalent model, and the what-if with all others off."""
    found = restore(content).cheapest(dict(cost), **{k: v for k, v in options.items() if v is not None})
    return {**tell(found), "results": tell(found.fitted)}


def explorer(content: bytes, options: Mapping[str, Any] | None = None) -> Explorer:
    """Serve the page of a fit; R opens it in its browser, and waits.

    Examples
    --------
    >>> data = rb.simulate.binary(n=60, strong=1, weak=2, irrelevant=1, seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, probes=10)
    >>> with explorer(fit.to_bytes(), {"idle": 60.0}) as page:
    ...     page.wait(0.1)
    True
    """
    given = {key: whole(value) for key, value in dict(options or {}).items()}
    with redirect_stdout(io.StringIO()):  # R says where it is, in its own words
        return restore(content).explorer(open_browser=False, block=False, **given)


def probabilities(content: bytes, scores: bytes, rows: float, times: Any = None) -> dict[str, Any]:
    """Return probabilities of levels (survival: of surviving times) for scores that R has computed."""
    fit = restore(content)
    values = unpack(scores, int(rows))
    return tell(fit._chances(values, pd.RangeIndex(len(values)), None if times is None else listed(times)))


def predict_rows(kind: str, content: bytes, rows: Mapping[str, Any], form: str) -> Any:
    """Predict rows whose columns R has made, by a kernel or forest fit."""
    return tell(restore(content, kind).predict(unpack(rows["values"], int(rows["n"])), type=form))


def compare(fits: Mapping[str, Any], options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return fits side by side: bounds and classes by feature, facts by fit, and the table for a paper."""
    known = {name: restore(*one) if isinstance(one, list) else restore(one) for name, one in fits.items()}
    found = rb.compare_fits(known, **dict(options or {}))
    return {
        "table": tell(found.table),
        "facts": tell(found.facts.astype(str)),
        "markdown": found.to_markdown(),
        "latex": found.to_latex(),
    }


def signatures() -> dict[str, dict[str, list[str]]]:
    """Return the arguments of every public function, and of every public method of the three kinds of fit.

    Examples
    --------
    >>> signatures()["relbounds"]["risk_bound"]
    ['tau']
    """
    functions = {
        name: _arguments(getattr(rb, name))
        for name in rb.__all__
        if inspect.isfunction(getattr(rb, name)) and not name.startswith("_")
    }
    methods = {
        kind: {
            name: _arguments(one)[1:]
            for name, one in inspect.getmembers(made, inspect.isfunction)
            if not name.startswith("_")
        }
        for kind, made in kinds().items()
    }
    return {"functions": functions, **methods}


def _arguments(function: Any) -> list[str]:
    return [
        ("**" if p.kind is inspect.Parameter.VAR_KEYWORD else "") + name
        for name, p in inspect.signature(function).parameters.items()
    ]
