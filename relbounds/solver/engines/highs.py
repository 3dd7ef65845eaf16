"""HiGHS (optional extra): a warm simplex on active rows."""

from __future__ import annotations

import numpy as np

from relbounds.errors import MissingExtraError
from relbounds.solver.active_rows import Solve, push_active
from relbounds.solver.engines.answer import Answer
from relbounds.solver.engines.batch import push_batch
from relbounds.solver.engines.registry import Engine
from relbounds.solver.polytope import Polytope
from relbounds.solver.reduced import Duals
from relbounds.solver.starts import prepare
from relbounds.solver.whole_program import full_duals, full_lp


def push_highs(polytope: Polytope, directions: np.ndarray) -> Answer:
    """Return points and multipliers for many directions, by HiGHS.

    Examples
    --------
    >>> import numpy as np
    >>> from relbounds.solver.model import make_model
    >>> model = make_model(np.ones((1, 1)), np.ones(1), np.ones(1), np.ones(1))
    >>> tope = Polytope(model, norm=1.0, loss=0.5, start=np.array([0.7]))
    >>> np.round(push_highs(tope, np.array([[1.0], [-1.0]])).points.ravel(), 5).tolist()
    [1.0, 0.5]
    """
    try:
        import highspy  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "solver='highs' needs the package highspy, which is not installed."
            " Install it with: pip install 'relbounds[highs]', or use solver='auto'."
        ) from error
    ready = prepare(polytope)
    if not (ready.feasible and ready.interior):
        return push_batch(polytope, directions)
    anchor = np.repeat(ready.reduced.back(ready.v[None, :]), len(directions), axis=0)
    points, duals, _ = push_active(ready.polytope, directions, warm)
    return Answer(points, duals, anchor, np.ones(len(directions), dtype=bool))


def warm(small: Polytope) -> Solve:
    """Return a solver for one direction after the other, each starting where the last one ended."""
    import highspy

    lp = full_lp(small)
    rows, n = lp.lhs.shape
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = n, rows
    program.col_cost_ = np.zeros(n)
    program.col_lower_, program.col_upper_ = lp.lower, lp.upper
    program.row_lower_, program.row_upper_ = np.full(rows, -highspy.kHighsInf), lp.rhs
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_ = lp.lhs.indptr
    program.a_matrix_.index_ = lp.lhs.indices
    program.a_matrix_.value_ = lp.lhs.data
    highs = highspy.Highs()
    for name, value in (
        ("output_flag", False),
        ("threads", 1),
        ("primal_feasibility_tolerance", 1e-9),
        ("dual_feasibility_tolerance", 1e-9),
        # costs change from push to push, and the last basis stays primal feasible
        ("simplex_strategy", 4),
    ):
        highs.setOptionValue(name, value)
    highs.passModel(program)
    every = np.arange(lp.q, dtype=np.int32)

    def solve(_: Polytope, direction: np.ndarray) -> tuple[np.ndarray, Duals] | None:
        highs.changeColsCost(lp.q, every, -np.asarray(direction, dtype=float))
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        found = highs.getSolution()
        z = -np.asarray(found.row_dual)
        return np.asarray(found.col_value)[: lp.q], full_duals(small, np.maximum(z, 0.0))

    return solve


ENGINE = Engine("highs", push_highs, then=("batch", "simplex", "cvxopt"))
