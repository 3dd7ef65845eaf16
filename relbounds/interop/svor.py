"""Kernel ordinal regression for R: a described design in, plain things out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import relbounds as rb
from relbounds.errors import OptionError
from relbounds.interop.plain import make_design, said, unpack
from relbounds.interop.tell import columns, scalar, whole
from relbounds.kernel.api import fit_svor
from relbounds.kernel.machine import supporting
from relbounds.kernel.tuning import SCORES


def svor(design: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Fit the design that R described; what R needs to predict by itself comes back with it.

    Examples
    --------
    >>> X = {"values": np.arange(4.0).tobytes(), "names": ["x"], "terms": ["x"]}
    >>> sent = {"n": 4, "X": X, "y": np.array([1.0, 1.0, 2.0, 2.0]).tobytes(), "levels": ["low", "high"]}
    >>> sent |= {"standardize": True, "response": "y", "formula": "y ~ x"}
    >>> answer = svor(sent, {"kernel": "linear", "C": 10.0, "cv": 5.0, "seed": 0.0, "n_jobs": 1.0, "solver": "qp"})
    >>> answer["levels"], answer["supporting"]
    (['low', 'high'], [2, 3])
    """
    chosen = {name: value for name, value in options.items() if value is not None}
    if "cost" in chosen:
        side = round(len(chosen["cost"]) ** 0.5)
        chosen["cost"] = np.array(chosen["cost"], dtype=float).reshape((side, -1), order="F")
    for name in ("kernel", "slack_kernel"):
        if callable(chosen.get(name)):
            chosen[name] = _lent(chosen[name])
    for name in ("cv", "seed", "n_jobs"):
        chosen[name] = whole(chosen[name])
    fit = fit_svor(make_design({**design, "family": "ordinal"}), **chosen)
    machine, setting, known = fit.machine, fit.machine.options, fit.design
    return {
        "levels": [scalar(level) for level in fit.levels],
        "thresholds": [float(v) for v in fit.thresholds],
        "kernel": machine.kernel.name,
        "width": machine.kernel.width,
        "vectors": bytearray(np.asfortranarray(machine.X).tobytes(order="F")),
        "coefficients": [float(v) for v in machine.coefficients],
        "names": list(known.names),
        "center": [float(v) for v in known.center],
        "scale": [float(v) for v in known.scale],
        "support": columns(fit.table.reset_index()),
        "supporting": [int(v) + 1 for v in np.flatnonzero(supporting(machine))],
        "C": float(setting.C),
        "gamma": float(setting.gamma),
        "mix": float(setting.mix),
        "slack": setting.slack,
        "order": setting.order,
        "solver": machine.solver,
        "dual_objective": fit.dual_objective,
        "violation": fit.kkt.violation,
        "scores": columns(fit.scores),
        "training": {name: fit.score(metric=name) for name in SCORES},
        "cv_score": scalar(fit.tuned.score),
        "metric": fit.tuned.metric,
        "nobs": len(known.y),
        **said(fit),
        "sent": [int(j) + 1 for j in getattr(known._columns, "used", ())],
        "version": rb.__version__,
        # a function of the user's own lives in R, and cannot be kept here
        "serialized": None if machine.kernel.name == "function" else bytearray(fit.to_bytes()),
    }


def _lent(kernel: Any) -> Any:
    """Return a kernel that R computes: matrices go there and come back as bytes."""

    def function(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        sent = [bytearray(np.asarray(M, dtype=float).tobytes(order="F")) for M in (A, B)]
        values = unpack(kernel(sent[0], len(A), sent[1], len(B)))
        if values.size != len(A) * len(B):
            raise OptionError(
                f"kernel: the function returned {values.size} numbers for inputs of {len(A)} and {len(B)} rows; its "
                f"shape must be ({len(A)}, {len(B)})."
            )
        return values.reshape((len(A), len(B)), order="F")

    return function
