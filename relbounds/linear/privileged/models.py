"""Privileged features: slacks that are functions of them, or a teacher that weighs the training rows.

With rows ``g_r.v + xi_r >= h_r`` (see :mod:`relbounds.linear.families.rows`) of sample i and privileged values ``z_i``:

- slack: ``xi_r = u_f.z_i + d_f + eta_r``, both parts >= 0, where f is the correcting function of row r. The
  model minimises ``1/2 ||w||_1 + gamma/2 sum_f ||u_f||_1 + C sum_r c_r (u_f.z_i + d_f + kappa eta_r)``.
  The published model has no eta, that is kappa (`residual`) is infinite: then no variable belongs to a row,
  and the program has few variables and many hard rows. With kappa = 1 correcting functions never pay.
- teacher: a plain model on z gives each row a weight by its margin there; the student is a plain model on x.
"""

from __future__ import annotations

import numpy as np

from relbounds.design import Design
from relbounds.linear.families import family_of
from relbounds.linear.families.rows import FloatArray, ModelKind, Rows
from relbounds.linear.model import Function, Sizes, Spec, answers_of, build, priced
from relbounds.linear.plain import plain_model
from relbounds.solver.model import Model, make_model

# The least weight a teacher gives: no training row is silenced altogether.
LEAST_WEIGHT = 0.05
TOO_HIGH, TOO_LOW = "too high", "too low"


def build_any(design: Design, kind: ModelKind, *, merged: bool = True) -> Spec:
    """Return the model that a kind asks for: with correcting functions or plain."""
    make = build_slack if kind.slack else build
    return make(design, kind, merged=merged)


def build_slack(design: Design, kind: ModelKind, *, merged: bool = True) -> Spec:
    """Return the model whose slacks are functions of the privileged features: v = (w, a, b, u_1, d_1, u_2, ...).

    Examples
    --------
    >>> from relbounds.design import design_from_arrays
    >>> X = np.arange(12.0).reshape(6, 2) ** 2
    >>> design = design_from_arrays(X, [1, 1, 2, 2, 3, 3], Z=X[:, :1] % 5, priv_names=["z"])
    >>> spec = build_slack(design, ModelKind(slack=True))
    >>> [function.name for function in spec.functions], spec.model.q
    (['too high', 'too low'], 8)
    """
    full = family_of(design.family).rows(answers_of(design), kind, design.weights)
    # the slack of a row of weight 0 is free, so it must not bind a correcting function
    full = full.take(full.weight > 0)
    few = priced(full, kind, [design.X, design.adjust, design.Z], merged)
    sizes = Sizes(len(design.y), design.X.shape[1], design.adjust.shape[1], full.n_classes)
    plain = plain_model(design.X, few.rows, design.adjust)
    functions = _functions(design, few.rows, kind, start=plain.q)
    model = _slack_model(plain, few.rows, functions, design.Z, kind)
    return Spec(model, kind, design.family, full, few, design.design_terms, sizes, functions, design.Z)


def _functions(design: Design, rows: Rows, kind: ModelKind, start: int) -> tuple[Function, ...]:
    """Say which correcting function each row has, and where its variables stand."""
    everyone = np.arange(len(rows))
    if kind.correcting == "shared":
        members = {"shared": everyone}
    elif design.family in ("ordinal", "survival") and kind.order == "implicit" and rows.n_thresholds > 1:
        assert design.levels is not None
        names = [f"{a}|{b}" for a, b in zip(design.levels[:-1], design.levels[1:], strict=True)]
        members = {name: np.flatnonzero(rows.threshold == j) for j, name in enumerate(names)}
    elif rows.other is not None:
        assert design.levels is not None
        members = {str(name): np.flatnonzero(rows.threshold == j) for j, name in enumerate(design.levels)}
    else:
        members = {TOO_HIGH: np.flatnonzero(rows.sign < 0), TOO_LOW: np.flatnonzero(rows.sign > 0)}
    width = design.Z.shape[1] + 1
    return tuple(
        Function(name, here, start + f * width, width - 1) for f, (name, here) in enumerate(members.items())
    )


def _slack_model(
    plain: Model, rows: Rows, functions: tuple[Function, ...], Z: FloatArray, kind: ModelKind
) -> Model:
    """Widen a plain model by correcting functions; its loss rows become hard where no other slack is sold."""
    q = plain.q + len(functions) * (Z.shape[1] + 1)
    correction = np.zeros((len(rows), q))
    penalty = np.zeros(q)
    penalty[: plain.q] = plain.penalty
    for f in functions:
        correction[f.rows, f.start : f.offset] = Z[rows.sample[f.rows]]
        correction[f.rows, f.offset] = 1.0
        penalty[f.start : f.offset] = kind.gamma
    G = correction.copy()
    G[:, : plain.q] = plain.G
    order = np.zeros((plain.A.shape[0], q))
    order[:, : plain.q] = plain.A
    linear = rows.weight @ correction
    # no weights, thresholds a little apart, and offsets that cover every row with room to spare
    inner = np.zeros(q)
    thresholds = slice(plain.q - rows.n_thresholds, plain.q)
    inner[thresholds] = np.linspace(-0.5, 0.5, rows.n_thresholds) if rows.n_thresholds > 1 else 0.0
    offsets = [f.offset for f in functions]
    inner[offsets] = 1.0 + float(np.max(rows.h - plain.G @ inner[: plain.q], initial=0.0))
    if np.isfinite(kind.residual):
        A, a = np.vstack([correction, order]), np.concatenate([np.zeros(len(rows)), plain.a])
        price = kind.residual * rows.weight
        return make_model(G, rows.h, price, penalty, linear=linear, A=A, a=a, inner=inner)
    A = np.vstack([correction, G, order])
    a = np.concatenate([np.zeros(len(rows)), rows.h, plain.a])
    none = np.zeros(0)
    return make_model(np.zeros((0, q)), none, none, penalty, linear=linear, A=A, a=a, inner=inner)


def teacher_weights(slacks: FloatArray, family: str) -> FloatArray:
    """Turn the slack of each sample in the teacher into its weight for the student.

    Levels: a sample on its own side of every threshold has weight 1, one a whole margin beyond has the least,
    ``clip(margin + 1, 0.05, 1)`` with margin = 1 - slack. Regression has no margin of its own: there
    a unit of slack is twice the typical one, 1.4826 times the median, so that only outliers lose weight.

    Examples
    --------
    >>> teacher_weights(np.array([0.0, 1.0, 1.4, 3.0]), "ordinal").tolist()
    [1.0, 1.0, 0.6000000000000001, 0.05]
    """
    unit = 1.0
    if family == "regression":
        unit = 2 * 1.4826 * float(np.median(slacks))
        if unit <= 0:
            positive = slacks[slacks > 0]
            unit = float(np.median(positive)) if positive.size else 1.0
    return np.clip(2.0 - slacks / unit, LEAST_WEIGHT, 1.0)
