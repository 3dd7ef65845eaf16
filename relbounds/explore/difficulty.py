"""What privileged features say of training rows: correcting functions, and who is hard to grade and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from relbounds.errors import OptionError
from relbounds.linear.fitted import Fitted
from relbounds.linear.model import Spec
from relbounds.linear.ranges import measure

OFFSET = "(offset)"
SMALL = 1e-9


def correcting(fitted: Fitted) -> pd.DataFrame:
    """Return the fitted correcting functions, one column each; a teacher's weights; empty without `priv()`.

    Rows are the privileged features, in standardised units, and the offset.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, probes=5)
    >>> fit.correcting.columns.tolist(), fit.correcting.index.tolist()
    (['too high', 'too low'], ['z1', 'z2', '(offset)'])
    """
    if fitted.privileged is not None and fitted.privileged.teacher is not None:
        teacher = fitted.privileged.teacher
        names = pd.Index(teacher.design.names, name="feature")
        return pd.DataFrame({"teacher": teacher.spec.weights_of(teacher.solution.v)}, index=names)
    names = pd.Index([*fitted.design.priv_names, OFFSET] if fitted.spec.functions else [], name="feature")
    v = fitted.solution.v
    return pd.DataFrame({f.name: v[f.start : f.offset + 1] for f in fitted.spec.functions}, index=names)


def correcting_bounds(fitted: Fitted) -> pd.DataFrame:
    """Return the bounds of each privileged feature in each correcting function, in the units of the table.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, probes=5)
    >>> fit.correcting_bounds.index.tolist()[:2]
    [('z1', 'too high'), ('z1', 'too low')]
    """
    records = []
    norm, v = fitted.norm, fitted.solution.v
    for row in fitted.asked:
        if row.key.part != "privileged":
            continue
        for function, functional in zip(fitted.spec.functions, row.functionals, strict=True):
            own = measure(fitted.polytopes, [replace(row, functionals=(functional,))], fitted.options)
            ends = (own.lower[0], own.upper[0], own.signed_lower[0], own.signed_upper[0])
            records.append((row.title, function.name, functional.at(v) / norm, *(end / norm for end in ends)))
    columns = ["feature", "function", "weight", "lower", "upper", "signed_lower", "signed_upper"]
    return pd.DataFrame(records, columns=columns).set_index(["feature", "function"])


def difficulty(fitted: Fitted) -> pd.DataFrame:
    """Return, for every training row, how hard it is to grade by its privileged features, and why.

    Returns
    -------
    DataFrame
        One row per training row. ``slack``: how far its correcting function excuses the row from the
        margin (teacher: how far the teacher misses it), at the threshold where that is most.
        ``unexplained``: slack beyond that. ``function``: which way the row goes wrong. With a teacher,
        ``weight``: what the row counts for the student. ``reason``: the privileged feature adding most.
        ``from NAME``: what each privileged feature adds; the offset of the function makes up the rest.

    Examples
    --------
    >>> import relbounds as rb
    >>> data = rb.simulate.privileged("noise", n=60, strong=2, weak=0, family="binary", seed=1)
    >>> fit = rb.relbounds(data.formula, data.data, C=1.0, gamma=1.0, residual=2.0, probes=5)
    >>> fit.difficulty().columns.tolist()
    ['y', 'predicted', 'slack', 'unexplained', 'function', 'reason', 'from z1', 'from z2']
    """
    if fitted.privileged is None:
        raise OptionError(
            "Difficulty is what privileged features explain, and this fit has none; add '| priv(...)'."
        )
    facts, parts, names = _teacher(fitted) if fitted.privileged.teacher is not None else _slack(fitted)
    design, spec, v = fitted.design, fitted.spec, fitted.solution.v
    guess = spec.predict(v, design.X, design.adjust).guess
    shown = {
        design.response: design.decode(design.y),
        "predicted": guess if design.levels is None else design.decode(guess),
    }
    best = np.argmax(parts, axis=1)
    reasons = [
        names[k] if parts[i, k] > SMALL and facts["slack"][i] > SMALL else "" for i, k in enumerate(best)
    ]
    each = {f"from {name}": parts[:, k] for k, name in enumerate(names)}
    return pd.DataFrame({**shown, **facts, "reason": reasons, **each}, index=design.index)


def _slack(fitted: Fitted) -> tuple[dict[str, Any], np.ndarray, Sequence[str]]:
    """Return the largest slack that correcting functions give each sample, in which direction, and its parts.

    A sample between two thresholds has a row on either side; the sum of the two would cancel what excuses one
    of them.
    """
    spec, v = fitted.spec, fitted.solution.v
    of = _program_rows(spec)
    corrections = spec.corrections(v)[of]
    worst = _largest(spec.full.sample, corrections, spec.n_samples)
    owner = np.zeros(len(spec.rows), dtype=int)
    for k, f in enumerate(spec.functions):
        owner[f.rows] = k
    owner = owner[of]
    weights = np.array([v[f.start : f.offset] for f in spec.functions])
    free = (spec.model.hinge(v) if spec.model.h.size else np.zeros(len(spec.rows)))[of]
    names = np.array([f.name for f in spec.functions])
    known = worst >= 0
    parts = np.where(known[:, None], spec.Z * weights[owner[worst]], 0.0)
    facts = {
        "slack": np.where(known, corrections[worst], 0.0),
        "unexplained": np.where(known, free[worst], 0.0),
        "function": np.where(known, names[owner[worst]], ""),
    }
    return facts, parts, fitted.design.priv_names


def _program_rows(spec: Spec) -> np.ndarray:
    """Return the row of the program that stands for each row of an observation: equal rows are one there."""
    return np.arange(len(spec.rows)) if spec.merged.of is None else spec.merged.of


def _largest(sample: np.ndarray, values: np.ndarray, n: int) -> np.ndarray:
    """Return the row of each sample with the largest value, -1 for a sample without rows."""
    out = np.full(n, -1)
    order = np.argsort(values, kind="stable")
    out[sample[order]] = order
    return out


def _teacher(fitted: Fitted) -> tuple[dict[str, Any], np.ndarray, Sequence[str]]:
    """Return the slack each sample needs in the teacher, and what its features push the wrong way."""
    assert fitted.privileged is not None and fitted.privileged.teacher is not None
    teacher = fitted.privileged.teacher
    spec, v = teacher.spec, teacher.solution.v
    slacks = spec.slacks(v)
    of = _program_rows(spec)
    worst = _largest(spec.full.sample, (spec.model.h - spec.model.G @ v)[of], spec.n_samples)
    parts = -spec.model.G[of[worst], : spec.n_features] * spec.weights_of(v)
    parts[worst < 0] = 0.0
    # the weights in fact given: a teacher that is not listened to changes none
    rows, own = fitted.spec.full, fitted.design.weights
    weights = np.ones(len(slacks))
    counted = own[rows.sample] > 0
    weights[rows.sample[counted]] = rows.weight[counted] / own[rows.sample[counted]]
    return {"slack": slacks, "weight": weights}, parts, teacher.design.names
